"""The content of a call: the request's body, the answer's blocks, the turn's lines.

Reads the large files one at a time and lists the folder only once.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ccwire.wire.format import Exchange
from ccwire.wire.json_text import as_dict, dicts
from ccwire.wire.pack.reader import ExchangeFiles
from correlate.captures.folder import parsed_file
from correlate.transcript.lines import line_at, parse_line
from correlate.transcript.records import message_of
from correlate.transcript.turns import TranscriptPlace, Turn

Block = dict[str, Any]


class CaptureFiles:
    """The request and response files of one capture folder, packed or not."""

    def __init__(self, folder: Path) -> None:
        self._files = ExchangeFiles(folder)

    def request_name(self, sequence: int) -> str | None:
        return self._files.name((sequence, "req"))

    def response_name(self, sequence: int) -> str | None:
        return self._files.name((sequence, "resp"))

    def request(self, sequence: int) -> Mapping[str, Any]:
        """Return the request file; raise FileNotFoundError, or ValueError or PackDamaged."""
        return parsed_file(self._files.file((sequence, "req")))

    def response(self, sequence: int) -> Mapping[str, Any]:
        return parsed_file(self._files.file((sequence, "resp")))


def body_of(file: Mapping[str, Any]) -> Any:
    """Return the parsed body, or its text; None if there is none."""
    return as_dict(file.get("body")).get("data")


def betas_of(request: Mapping[str, Any]) -> list[str]:
    given = as_dict(request.get("headers")).get("anthropic-beta")
    return [beta.strip() for beta in str(given or "").split(",") if beta.strip()]


def answer_blocks(response: Mapping[str, Any]) -> list[Block] | None:
    """Return the answer's content blocks; None if the response contains no message."""
    content = as_dict(response.get("message")).get("content")
    return dicts(content) if isinstance(content, list) else None


def turn_blocks(turn: Turn) -> list[tuple[Block, TranscriptPlace]]:
    """Return a turn's blocks in order, each with its line, read from the transcript again."""
    found: list[tuple[Block, TranscriptPlace]] = []
    for place in turn.places:
        record = parse_line(line_at(place.path, place.offset))
        content = message_of(as_dict(record)).get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [(block, place) for block in dicts(blocks)]
    return found


def without_markers(value: Any) -> Any:
    """The same value without its cache markers, which the client moves with every call."""
    if isinstance(value, dict):
        return {k: without_markers(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [without_markers(item) for item in value]
    return value


def thread_of(call: Exchange, turn: Turn | None) -> tuple[str, str | None, bool]:
    """Return a key shared by the consecutive calls of one conversation.

    Older clients record subagents only in the transcript; side calls belong to no conversation.
    """
    agent = call.agent_id or (turn.agent_id if turn else None)
    aside = call.request_class in ("auxiliary", "compaction") or not call.tools
    return (call.kind, agent, aside)
