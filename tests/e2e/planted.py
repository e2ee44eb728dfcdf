"""Faults that are planted into a copy of a recorded session; each must stay unexplained.

A fault changes the capture or the transcript of session A; `other` is a second session, B. It
returns the findings that must appear: the verdict, with the kind of a call without a turn.
"""

import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ccwire.wire.format import EXCHANGES, MANIFEST, file_name
from lab.made_session import write_lines
from tests.rig import copy_capture

JsonObject = dict[str, Any]
Fault = Callable[["Copy", "Copy"], set[str]]
UNKNOWN = "wire-only: unknown"


@dataclass
class Copy:
    """A copy of a session that may be changed: its capture folder and its main transcript."""

    folder: Path
    transcript: Path

    @classmethod
    def of(cls, folder: Path, transcript: Path, into: Path) -> "Copy":
        project = into / "claude" / "projects" / transcript.parent.name
        project.mkdir(parents=True, exist_ok=True)
        copy = cls(into / "captures" / folder.name, project / transcript.name)
        copy_capture(folder, copy.folder)
        (copy.folder / MANIFEST).unlink()  # it has the path of the original transcript
        shutil.copy(transcript, copy.transcript)
        for agents in (transcript.with_suffix(""), *transcript.parent.glob("agent-*.jsonl")):
            if agents.is_dir():
                shutil.copytree(agents, project / agents.name)
            elif agents.is_file():
                shutil.copy(agents, project / agents.name)
        return copy

    def exchanges(self) -> list[JsonObject]:
        return [orjson.loads(line) for line in (self.folder / EXCHANGES).read_bytes().splitlines()]

    def lines(self) -> list[JsonObject]:
        return [orjson.loads(line) for line in self.transcript.read_bytes().splitlines()]

    def turns(self) -> list[JsonObject]:
        """Return the exchanges that have a line in the transcript, in order."""
        ids = {line["message"].get("id") for line in _answers(self.lines())}
        return [e for e in self.exchanges() if e["message_id"] in ids]

    def write_exchanges(self, exchanges: list[JsonObject]) -> None:
        write_lines(self.folder / EXCHANGES, exchanges)

    def write_transcript(self, lines: list[JsonObject]) -> None:
        write_lines(self.transcript, lines)

    def file(self, exchange: JsonObject, direction: Any) -> JsonObject:
        path = self.folder / file_name(exchange["sequence"], direction, exchange["path"])
        value: JsonObject = orjson.loads(path.read_bytes())
        return value

    def add(self, exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        """Add a call under the next number."""
        exchanges = self.exchanges()
        exchange["sequence"] = max(e["sequence"] for e in exchanges) + 1
        for direction, value in (("req", request), ("resp", response)):
            name = file_name(
                exchange["sequence"], "req" if direction == "req" else "resp", exchange["path"]
            )
            (self.folder / name).write_bytes(orjson.dumps(value))
        self.write_exchanges([*exchanges, exchange])


def _answers(lines: list[JsonObject]) -> Iterator[JsonObject]:
    return (line for line in lines if line.get("type") == "assistant")


def _plant(a: Copy, change: Callable[[JsonObject, JsonObject, JsonObject], None]) -> set[str]:
    """Add a changed copy of the last call of the conversation, with ids of its own."""
    original = a.turns()[-1]
    request, response = a.file(original, "req"), a.file(original, "resp")
    exchange = deepcopy(original)
    exchange |= {
        "flow_id": "planted",
        "request_id": "req_planted",
        "message_id": "msg_planted",
        "request_sha256": "planted",
        "started": original["started"] + 0.3,
        "ended": original["ended"] + 0.3,
    }
    change(exchange, request, response)
    a.add(exchange, request, response)
    return {UNKNOWN}


def a_copy_of_a_call(a: Copy, b: Copy) -> set[str]:
    return _plant(a, lambda exchange, request, response: None)


def an_identical_request_before_a_call(a: Copy, b: Copy) -> set[str]:
    def earlier(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        original = a.turns()[-1]
        exchange["request_sha256"] = original["request_sha256"]
        exchange["started"] = original["started"] - 0.3
        exchange["ended"] = original["started"] - 0.1

    return _plant(a, earlier)


def one_more_prompt(a: Copy, b: Copy) -> set[str]:
    """A conversation that goes on with a prompt which the transcript lacks."""

    def go_on(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        messages = request["body"]["data"]["messages"]
        messages += [
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Now write a two-word title for it."},
        ]
        exchange["messages"] = len(messages)

    return _plant(a, go_on)


def a_call_without_streaming(a: Copy, b: Copy) -> set[str]:
    return _plant(a, lambda exchange, request, response: exchange.update(stream=False))


def a_refusal_with_content(a: Copy, b: Copy) -> set[str]:
    return _plant(a, lambda exchange, request, response: exchange.update(stop_reason="refusal"))


def a_search_that_nobody_asked_for(a: Copy, b: Copy) -> set[str]:
    def search(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        body = request["body"]["data"]
        body["tools"] = [{"type": "web_search_20250305", "name": "web_search"}]
        body["messages"] = [{"role": "user", "content": "Perform a web search for: planted"}]
        exchange |= {"tools": 1, "messages": 1}

    return _plant(a, search)


def a_hook_of_another_session(a: Copy, b: Copy) -> set[str]:
    def hook(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        words = f'{{"session_id": "{b.folder.name}", "hook_event_name": "Stop"}}'
        request["body"]["data"]["messages"] = [{"role": "user", "content": words}]
        request["body"]["data"]["system"] = "You are evaluating a hook."
        exchange["messages"] = 1

    return _plant(a, hook)


def a_suggestion_for_another_conversation(a: Copy, b: Copy) -> set[str]:
    def suggest(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        request["body"]["data"]["messages"] = [
            {"role": "user", "content": "planted"},
            {"role": "assistant", "content": "planted"},
            {"role": "user", "content": "[SUGGESTION MODE: planted]"},
        ]
        exchange["messages"] = 3

    return _plant(a, suggest)


def a_summary_that_the_user_asked_for(a: Copy, b: Copy) -> set[str]:
    def ask(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        messages = request["body"]["data"]["messages"]
        words = "Please create a detailed summary of the conversation, and save it."
        messages.append({"role": "user", "content": words})
        exchange["messages"] = len(messages)

    return _plant(a, ask)


def a_call_that_does_not_name_the_client(a: Copy, b: Copy) -> set[str]:
    """A call of the client's own process, whose user agent was lost."""

    def nameless(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        exchange |= {"claude_version": None, "identified_by": "process"}
        exchange |= {"request_class": None, "agent_id": None}

    return _plant(a, nameless)


def an_answer_without_its_last_event(a: Copy, b: Copy) -> set[str]:
    def cut(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        exchange |= {"complete": False, "ended_by": "server_disconnect"}

    return _plant(a, cut)


def an_answer_without_its_start_usage_and_last_event(a: Copy, b: Copy) -> set[str]:
    def cut(exchange: JsonObject, request: JsonObject, response: JsonObject) -> None:
        error = "the stream ended without message_stop"
        exchange |= {"complete": False, "ended_by": "http_end", "error": error}
        exchange["usage_at_start"] = None

    return _plant(a, cut)


def a_call_in_another_folder(a: Copy, b: Copy) -> set[str]:
    """A call that was filed under a session which neither its request nor a transcript names."""
    last = a.turns()[-1]
    b.add(deepcopy(last), a.file(last, "req"), a.file(last, "resp"))
    return _without_call(a)


def a_call_of_another_session(a: Copy, b: Copy) -> set[str]:
    """A call that was filed under the wrong session."""
    moved = b.turns()[-1]
    a.add(deepcopy(moved), b.file(moved, "req"), b.file(moved, "resp"))
    return {UNKNOWN}


def a_wrong_count_in_the_transcript(field: str, by: int) -> Fault:
    def change(a: Copy, b: Copy) -> set[str]:
        lines = a.lines()
        last = a.turns()[-1]["message_id"]
        for line in _answers(lines):
            if line["message"].get("id") == last:
                line["message"]["usage"][field] += by
        a.write_transcript(lines)
        return {"differs"}

    return change


def a_wrong_count_on_the_wire(field: str, by: int) -> Fault:
    def change(a: Copy, b: Copy) -> set[str]:
        exchanges, last = a.exchanges(), a.turns()[-1]["sequence"]
        for exchange in exchanges:
            if exchange["sequence"] == last:
                exchange["usage"][field] += by
                if exchange["usage_at_start"]:
                    exchange["usage_at_start"][field] += by
        a.write_exchanges(exchanges)
        return {"differs"}

    return change


def a_missing_line(a: Copy, b: Copy) -> set[str]:
    lines, last = a.lines(), a.turns()[-1]["message_id"]
    kept = [line for line in lines if _message_id(line) != last]
    assert len(kept) < len(lines)
    a.write_transcript(kept)
    return {UNKNOWN}


def a_missing_call(a: Copy, b: Copy) -> set[str]:
    return _without_call(a)


def another_message_id(a: Copy, b: Copy) -> set[str]:
    """The line has the request id of the call and the id of another answer."""
    lines, last = a.lines(), a.turns()[-1]["message_id"]
    for line in _answers(lines):
        if line["message"].get("id") == last:
            line["message"]["id"] = "msg_planted"
    a.write_transcript(lines)
    return {UNKNOWN, "not-captured"}


def _without_call(a: Copy) -> set[str]:
    last = a.turns()[-1]["sequence"]
    a.write_exchanges([e for e in a.exchanges() if e["sequence"] != last])
    return {"not-captured"}


def _message_id(line: JsonObject) -> str | None:
    message = line.get("message")
    return message.get("id") if isinstance(message, dict) else None


FAULTS: dict[str, Fault] = {
    "a copy of a call": a_copy_of_a_call,
    "an identical request before a call": an_identical_request_before_a_call,
    "one more prompt": one_more_prompt,
    "a call without streaming": a_call_without_streaming,
    "a refusal with content": a_refusal_with_content,
    "a search that nobody asked for": a_search_that_nobody_asked_for,
    "a hook of another session": a_hook_of_another_session,
    "a suggestion for another conversation": a_suggestion_for_another_conversation,
    "a summary that the user asked for": a_summary_that_the_user_asked_for,
    "a call that does not name the client": a_call_that_does_not_name_the_client,
    "an answer without its last event": an_answer_without_its_last_event,
    "an answer without start usage": an_answer_without_its_start_usage_and_last_event,
    "a call in another folder": a_call_in_another_folder,
    "a call of another session": a_call_of_another_session,
    "one output token less": a_wrong_count_in_the_transcript("output_tokens", -1),
    "one input token more": a_wrong_count_in_the_transcript("input_tokens", 1),
    "one cached token more": a_wrong_count_in_the_transcript("cache_read_input_tokens", 1),
    "one input token more on the wire": a_wrong_count_on_the_wire("input_tokens", 1),
    "one cached token less on the wire": a_wrong_count_on_the_wire("cache_read_input_tokens", -1),
    "a missing line": a_missing_line,
    "a missing call": a_missing_call,
    "another message id": another_message_id,
}
