"""A conversation of the simulated client: prompts, the model's turns, tools and subagents."""

import subprocess
import threading
import uuid
from typing import Any

from ccwire.demo.client.connection import Reply
from ccwire.demo.client.session import SimulatedSession
from ccwire.demo.client.transcript import SimulatedAgent

_AGENT_TOOLS = ("Task", "Agent")
_TOOL_TIMEOUT = 60.0


class SimulatedConversation:
    """The main conversation or a subagent's. `messages` is what the next call will send."""

    def __init__(self, session: SimulatedSession, agent: SimulatedAgent | None = None) -> None:
        self.session = session
        self.agent = agent
        self.messages: list[dict[str, Any]] = []
        self.failed: Reply | None = None  # the last reply, if the call failed
        self._usage: dict[str, Any] | None = None
        self._tools_used = 0
        self._background: list[tuple[SimulatedAgent, SimulatedConversation, threading.Thread]] = []

    def say(self, text: str, *, interrupt_after: int | None = None, **line: Any) -> str:
        """Send a user message, run turns until the model is done, and return its last text."""
        self.session.transcript.user(text, self.agent, **line)
        self.session.transcript.attachment(self.agent)
        self.messages.append({"role": "user", "content": text})
        while True:
            reply, reference = self.session.call(
                self.messages,
                agent=self.agent,
                request_class="subagent" if self.agent else "main",
                interrupt_after=interrupt_after,
            )
            if reply.interrupted:
                self._interrupted(reply, reference)
                return ""
            if not reply.complete or reply.message is None:
                self.failed = reply
                return self._gave_up(reply)
            source = self.session.transcript.assistant(reply, self.agent, reference)
            self._usage = reply.usage
            content = reply.message["content"]
            self.messages.append({"role": "assistant", "content": content})
            calls = [block for block in content if block["type"] == "tool_use"]
            if not calls:
                return "".join(b["text"] for b in content if b["type"] == "text")
            self._tools_used += len(calls)
            self._use_tools(calls, source)

    def wait_for_agents(self) -> str:
        """Wait for background subagents, report them to the model, and return its last text."""
        text = ""
        while self._background:
            running, self._background = self._background, []
            for _, _, thread in running:
                thread.join()
            notes = [_notification(agent, conversation) for agent, conversation, _ in running]
            text = self.say("\n".join(notes), origin={"kind": "task-notification"})
        return text

    def _use_tools(self, calls: list[dict[str, Any]], source: str) -> None:
        """Run the requested tools, subagents in parallel, and add their results to `messages`."""
        started = {call["id"]: self._start(call) for call in calls if call["name"] in _AGENT_TOOLS}
        results = []
        for call in calls:
            if call["id"] in started:
                block, extra = self._agent_result(call, *started[call["id"]])
            else:
                block, extra = self._run(call)
            # Lines of a subagent's transcript have no toolUseResult.
            if self.agent is not None and self.session.profile.release >= (2, 1, 39):
                extra = {}
            if self.session.profile.release >= (2, 1, 39):
                extra["sourceToolAssistantUUID"] = source
            self.session.transcript.user([block], self.agent, **extra)
            results.append(block)
        self.messages.append({"role": "user", "content": results})

    def _run(self, call: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if call["name"] != "Bash":
            return _result(call, f"there is no tool {call['name']} in the lab", failed=True), {}
        command = call["input"]["command"]
        if self.session.profile.side_call == "command":
            self.session.side_call(f"Which files does this command touch? {command}")
        self.session.hook("PreToolUse", tool_name="Bash", tool_input=call["input"])
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            capture_output=True,
            text=True,
            cwd=self.session.cwd,
            env=self.session.tool_env,
            stdin=subprocess.DEVNULL,
            timeout=_TOOL_TIMEOUT,
            check=False,
        )
        details = {
            "stdout": done.stdout.rstrip("\n"),
            "stderr": done.stderr,
            "interrupted": False,
            "isImage": False,
        }
        block = _result(call, done.stdout + done.stderr, failed=done.returncode != 0)
        return block, {"toolUseResult": details}

    def _start(
        self, call: dict[str, Any]
    ) -> tuple[SimulatedAgent, "SimulatedConversation", threading.Thread]:
        given = call["input"]
        agent = SimulatedAgent(
            new_agent_id(self.session), given["subagent_type"], given["description"], call["id"]
        )
        conversation = SimulatedConversation(self.session, agent)
        thread = threading.Thread(target=run_agent, args=(conversation, given["prompt"]))
        thread.start()
        return agent, conversation, thread

    def _agent_result(
        self,
        call: dict[str, Any],
        agent: SimulatedAgent,
        conversation: "SimulatedConversation",
        thread: threading.Thread,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if self.session.profile.background:
            self._background.append((agent, conversation, thread))
            details: dict[str, Any] = {"isAsync": True, "status": "async_launched"}
            text = f"The subagent {agent.id} is on its way."
        else:
            thread.join()
            text = conversation.last_words()
            details = {"content": [{"type": "text", "text": text}], **conversation.totals()}
            if self.session.profile.release >= (2, 0, 0):
                details |= {"status": "completed"}
        if self.session.profile.release >= (2, 0, 0):
            details |= {"agentId": agent.id, "prompt": call["input"]["prompt"]}
        if self.session.profile.release >= (2, 1, 98) and not self.session.profile.background:
            details |= {"agentType": agent.type}
        return _result(call, [{"type": "text", "text": text}]), {"toolUseResult": details}

    def totals(self) -> dict[str, Any]:
        """Return the counts in a subagent's result; usage is its last call's, as in the client."""
        usage = self._usage or {}
        tokens = sum(count for count in usage.values() if isinstance(count, int))
        totals = {
            "totalDurationMs": 1,
            "totalTokens": tokens,
            "totalToolUseCount": self._tools_used,
        }
        return {**totals, "usage": usage}

    def last_words(self) -> str:
        content = self.messages[-1]["content"] if self.messages else ""
        if isinstance(content, str):
            return content
        return "\n".join(block["text"] for block in content if block["type"] == "text")

    def _interrupted(self, reply: Reply, reference: str | None) -> None:
        message = reply.message or {}
        started = any(block.get("text") for block in message.get("content", []))
        if self.session.profile.aborted_line and started:
            self.session.transcript.assistant(reply, self.agent, reference, isAbortedMidStream=True)
        text = "[Request interrupted by user]"
        named = {"interruptedMessageId": message["id"]} if "id" in message else {}
        self.session.transcript.user([{"type": "text", "text": text}], self.agent, **named)
        self.messages.append({"role": "user", "content": text})

    def _gave_up(self, reply: Reply) -> str:
        reason = str((reply.error or {}).get("message", "the connection was lost"))
        text = (
            "Prompt is too long" if reason.startswith("prompt is too long") else f"Error: {reason}"
        )
        if self.agent is None:
            self.session.transcript.synthetic(text)
        return text


def run_agent(conversation: SimulatedConversation, prompt: str) -> None:
    """Run a subagent from start to stop, with its hooks and the file beside its transcript."""
    session, agent = conversation.session, conversation.agent
    assert agent is not None
    session.hook("SubagentStart", agent_id=agent.id, agent_type=agent.type)
    conversation.say(prompt)
    session.transcript.agent_meta(agent)
    named = {"agent_id": agent.id} if session.profile.release >= (2, 0, 0) else {}
    if named:
        named["agent_transcript_path"] = str(session.transcript.agent_path(agent))
    if session.profile.release >= (2, 1, 78):
        named["agent_type"] = agent.type
    session.hook("SubagentStop", stop_hook_active=False, **named)


def new_agent_id(session: SimulatedSession) -> str:
    length = 16 if session.profile.release >= (2, 1, 78) else 6
    return "a" + uuid.uuid4().hex[:length]


def _result(call: dict[str, Any], content: Any, *, failed: bool = False) -> dict[str, Any]:
    block = {"tool_use_id": call["id"], "type": "tool_result", "content": content}
    return block if call["name"] in _AGENT_TOOLS else {**block, "is_error": failed}


def _notification(agent: SimulatedAgent, conversation: SimulatedConversation) -> str:
    return (
        f"<task-notification><task-id>{agent.id}</task-id><status>completed</status>"
        f"<result>{conversation.last_words()}</result></task-notification>"
    )
