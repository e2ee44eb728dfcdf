"""A simulated client that calls the API through the proxy, runs hooks and writes a transcript,
each as the release in its profile does.

In a test, in this process (so the client's pid is this process's):

    client = SimulatedClient("2.1.39", home=home, cwd=cwd, proxy_port=port, ca_cert=ca)
    result = client.run(scenario.prompt)            # start, prompt, exit; returns what -p prints
    result["session_id"], result["result"], client.transcript_path

Step by step, like the interactive screen (`upstream=api.url` calls the stand-in directly, without
a proxy):

    with SimulatedClient("2.1.325", home=home, cwd=cwd, upstream=api.url, screen=True) as client:
        client.prompt("lab:plain Hello.")
        client.prompt("lab:slow Go.", interrupt_after=5)    # Escape after five events
        client.clear(), client.compact()

`resume=ID` and `fork=True` continue an earlier session of the same home; `persist=False` writes
no transcript. As a program, for `ccwire run` and the demo, with the real client's flags:

    python -m ccwire.demo.client [--as VERSION] -p PROMPT [--output-format json] [--resume ID]
    python -m ccwire.demo.client        # reads prompts, /clear, /compact and /exit from stdin

The program reads HOME, CLAUDE_CONFIG_DIR, HTTPS_PROXY, NODE_EXTRA_CA_CERTS and
ANTHROPIC_BASE_URL; `--as` defaults to $LAB_CLIENT_VERSION, else the newest profile.
"""

import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from ccwire.demo.client.calls import statsig, telemetry, tools
from ccwire.demo.client.connection import ApiConnection
from ccwire.demo.client.cost import Spent
from ccwire.demo.client.hooks import settings_in_force
from ccwire.demo.client.profiles import Profile, profile
from ccwire.demo.client.session import COUNT_TOKENS, SimulatedSession
from ccwire.demo.client.transcript import SimulatedAgent, TranscriptWriter, now
from ccwire.demo.client.turn import SimulatedConversation, new_agent_id, run_agent
from ccwire.wire.hosts import STATSIG_HOST


class SimulatedClient:
    """One client process; see the module docstring."""

    def __init__(
        self,
        version: str | Profile,
        *,
        home: Path,
        cwd: Path,
        proxy_port: int | None = None,
        ca_cert: Path | None = None,
        upstream: str | None = None,
        settings: str | Mapping[str, Any] | None = None,
        session_id: str | None = None,
        resume: str | None = None,
        fork: bool = False,
        persist: bool = True,
        screen: bool = False,
        patience: float = 0.0,
        config_dir: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.profile = profile(version) if isinstance(version, str) else version
        self._wire = ApiConnection(proxy_port=proxy_port, ca_cert=ca_cert, upstream=upstream)
        self._config_dir = config_dir or home / ".claude"
        self._cwd = cwd
        self._env = env or {"PATH": os.environ.get("PATH", ""), "HOME": str(home)}
        self._persist = persist
        self._screen = screen
        self._patience = patience
        self._entrypoint = "cli" if screen else "sdk-cli"
        self._settings = settings_in_force(self.profile, self._config_dir, cwd, settings)
        self._source = "startup"
        if resume is None:
            self._begin(session_id or str(uuid.uuid4()))
        else:
            self._resume(resume, fork=fork)
        self._result: dict[str, Any] = {}
        self._turns = 0

    @property
    def session_id(self) -> str:
        return self._session.id

    @property
    def transcript_path(self) -> Path:
        return self._session.transcript.path

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.exit()

    def run(self, prompt: str) -> dict[str, Any]:
        """Start, send one prompt, exit; return what `-p --output-format json` prints."""
        with self:
            self.prompt(prompt)
        return self.result()

    def start(self) -> None:
        """Do what precedes the first prompt: calls without a session, SessionStart, warm-ups."""
        for path in self.profile.starting:
            self._wire.send(path, body={} if path.startswith("/api/eval") else None)
        self._session.write_live_record()
        self._session.hook("SessionStart", source=self._source)
        if self.profile.count_tokens:
            body = {
                "model": self.profile.model,
                "messages": [{"role": "user", "content": "how many?"}],
                "tools": tools(self.profile),
            }
            self._wire.send(COUNT_TOKENS, body=body)
        for number in range(self.profile.statsig):
            body = statsig(self.profile, self.session_id, f"lab_{number}")
            self._wire.send("/v1/rgstr?k=lab", host=STATSIG_HOST, body=body)
        for _ in range(self.profile.warm_ups):
            agent = SimulatedAgent(new_agent_id(self._session), "Explore", "Warmup")
            run_agent(SimulatedConversation(self._session, agent), "Warmup")

    def prompt(self, text: str, *, interrupt_after: int | None = None) -> str:
        """Send a prompt, run the model's turns to the end, and return its last text."""
        started = time.monotonic()
        session, transcript = self._session, self._session.transcript
        transcript.prompt_id = str(uuid.uuid4())
        session.hook("UserPromptSubmit", prompt=text)
        self._queue(text)
        if self.profile.side_call == "prompt" or (
            self.profile.side_call == "screen" and self._screen
        ):
            session.side_call(f"Give this a title: {text}")
        mode = {"permissionMode": "default"} if self.profile.release >= (2, 1, 39) else {}
        self._main.failed = None
        result = self._main.say(text, interrupt_after=interrupt_after, **mode)
        result = self._main.wait_for_agents() or result
        if self._main.failed is None and interrupt_after is None:
            words = {"last_assistant_message": result} if self.profile.agent_meta else {}
            session.hook("Stop", stop_hook_active=False, **words)
        if self.profile.release >= (2, 1, 78):
            leaf: dict[str, Any] = {}
            if self.profile.agent_header:
                leaf["leafUuid"] = transcript.last_uuid()
            transcript.record("last-prompt", lastPrompt=text, **leaf)
        self._turns += 1
        self._note_result(result, time.monotonic() - started)
        return result

    def clear(self) -> None:
        """Run /clear: start a new session in the same process, on the same connections."""
        self._session.hook("SessionEnd", reason="clear")
        self._write_cost_state()
        self._begin(str(uuid.uuid4()))
        self._session.write_live_record()
        self._session.hook("SessionStart", source="clear")
        self._session.transcript.user("<command-name>/clear</command-name>")

    def compact(self) -> None:
        """Run /compact: replace the conversation with the model's summary of it."""
        session, transcript = self._session, self._session.transcript
        session.hook("PreCompact", trigger="manual", custom_instructions="")
        asked = {"role": "user", "content": "Sum up what the lab has been told so far."}
        reply, _ = session.call([*self._main.messages, asked], request_class="compaction")
        content = (reply.message or {}).get("content", [])
        summary = "".join(block.get("text", "") for block in content)
        if self.profile.compact_boundary:
            before = sum(len(str(message["content"])) for message in self._main.messages) // 4
            transcript.system(
                "compact_boundary",
                content="The lab's conversation was summed up",
                level="info",
                logicalParentUuid=transcript.last_uuid(),
                compactMetadata={
                    "trigger": "manual",
                    "preTokens": before,
                    "postTokens": len(summary) // 4,
                },
            )
        transcript.user(summary, isVisibleInTranscriptOnly=True, isCompactSummary=True)
        self._main.messages = [{"role": "user", "content": summary}]
        session.hook("SessionStart", source="compact")

    def exit(self) -> None:
        """Run the SessionEnd hooks, then send and write what the client does after them."""
        self._session.hook("SessionEnd", reason="prompt_input_exit" if self._screen else "other")
        self._write_cost_state()
        self._session.remove_live_record()
        if self.profile.ending:
            body = telemetry(self.profile, self.session_id, "lab_exit")
            self._wire.send(self.profile.ending, body=body)
        self._wire.close()

    def result(self) -> dict[str, Any]:
        """Return the result object of the last prompt."""
        return self._result

    def _begin(self, session_id: str, inherited: Mapping[str, Any] | None = None) -> None:
        transcript = TranscriptWriter(
            self.profile,
            self._config_dir,
            self._cwd,
            session_id,
            entrypoint=self._entrypoint,
            persist=self._persist,
        )
        self._session = SimulatedSession(
            self.profile,
            self._wire,
            transcript,
            config_dir=self._config_dir,
            cwd=self._cwd,
            env=self._env,
            settings=self._settings,
            entrypoint=self._entrypoint,
            spent=Spent(inherited),
            patience=self._patience,
        )
        self._main = SimulatedConversation(self._session)

    def _resume(self, session_id: str, *, fork: bool) -> None:
        if fork and not self.profile.forks:
            raise ValueError(f"{self.profile.version} does not support --fork-session")
        copies = fork or self.profile.resume_copies
        self._begin(session_id)
        lines = self._session.transcript.lines()
        if not lines:
            raise ValueError(f"no session {session_id} to resume in this home")
        costs = [line for line in lines if line["type"] == "cost-state"]
        self._begin(str(uuid.uuid4()) if copies else session_id, costs[-1] if costs else None)
        kept = [line for line in lines if line.get("uuid")]
        if self.profile.resume_copies:
            summary = {"type": "summary", "summary": "The lab's earlier session"}
            kept.insert(0, {**summary, "leafUuid": kept[-1]["uuid"]})
        self._session.transcript.take_over(kept, copy=copies)
        self._main.messages = [
            {"role": line["type"], "content": line["message"]["content"]}
            for line in lines
            if line["type"] in ("user", "assistant") and not line.get("isSidechain")
        ]
        self._source = "resume"

    def _queue(self, text: str) -> None:
        if self._screen or self.profile.release < (2, 0, 73):
            return
        if self.profile.release >= (2, 1, 78):
            self._session.transcript.record(
                "queue-operation", operation="enqueue", timestamp=now(), content=text
            )
        self._session.transcript.record("queue-operation", operation="dequeue", timestamp=now())

    def _write_cost_state(self) -> None:
        if self.profile.cost_state:
            self._session.transcript.record("cost-state", **self._session.spent.cost_state())

    def _note_result(self, result: str, seconds: float) -> None:
        failed = self._main.failed is not None
        self._result = {
            "type": "result",
            "subtype": "success",
            "is_error": failed,
            "duration_ms": int(seconds * 1000),
            "num_turns": self._turns,
            "result": result,
            "session_id": self.session_id,
            "total_cost_usd": self._session.spent.total_usd,
            "uuid": str(uuid.uuid4()),
        }
        if self.profile.release >= (2, 0, 73):
            self._result["modelUsage"] = self._session.spent.model_usage()
