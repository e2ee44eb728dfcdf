"""The final answer to each prompt of a session, as `claude -p` prints it. Pure.

Measured on 1.0.30 to 2.1.325: `claude -p` prints the last block of the last message if that is a
text, else an empty line; an error is printed as the client's own line has it. With `--json-schema`
it prints a structured output after which the model said nothing. When a background task ends after
the answer, newer clients answer again; up to 2.1.294 they print the last of these answers, from
2.1.295 on all, with an empty line between them. A Stop hook is given the last of them, without the
space around it.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccwire.wire.json_text import as_dict, dump, text, whole
from ccwire.wire.versions import parse_version
from correlate.show.conversation import (
    is_interruption,
    is_note,
    is_notification,
    is_synthetic,
    message_of,
    prompt_text,
)
from correlate.transcript.branches import branch_of, is_prompt, threads_of
from correlate.transcript.conversation import Entry
from correlate.transcript.titles import CLIENT_TAG

_PRINTS_ALL = (2, 1, 295)  # the first release that prints the answers before background tasks too
_ANSWERING = ("assistant", "tool_use")  # other tools give a tool call a line of its own
_NO_ANSWER = "No response requested."
_STOPPED = "stop_hook_summary"  # newer clients write it when a turn has ended, if there are hooks


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAnswer:
    """A prompt and its final answer; `parts` are several if background tasks were answered too."""

    prompt: str
    parts: tuple[str, ...]
    started: float | None
    ended: float | None  # of the last line of the answer
    until: float | None  # when the next prompt was given, on an abandoned branch too
    lines: frozenset[tuple[Path, int]]
    message_ids: frozenset[str]
    message_id: str | None
    model: str | None
    stop_reason: str | None
    is_error: bool
    is_whole: bool  # whether the model, or the client, has ended it
    is_interrupted: bool = False  # by the user
    is_turn_limit: bool = False  # the client stopped at `--max-turns`
    is_unsure: bool = False  # the last line has neither a text nor a stop reason

    @property
    def text(self) -> str:
        return "\n\n".join(self.parts)

    @property
    def printed(self) -> str:
        """What `claude -p` prints: a line's end is added where there is none."""
        is_ended = self.is_turn_limit or self.text.endswith("\n")
        return self.text if is_ended else f"{self.text}\n"


def prompt_answers(entries: Sequence[Entry]) -> list[PromptAnswer]:
    """Return the prompts of the main thread's live branch, in order, with their answers."""
    lines = threads_of(entries)[None]
    branches, _ = branch_of(lines, is_prompt)
    turns: list[list[Entry]] = []
    for place, entry in enumerate(lines):
        if branches[place] is not None or _is_no_answer(entry):
            continue
        if _begins(entry):
            turns.append([entry])
        elif turns:
            turns[-1].append(entry)
        elif entry.type in _ANSWERING:
            turns.append([entry])  # what came before was not recorded
    turns = [turn for turn in turns if not _is_local(turn)]
    left = sorted(
        entry.timestamp
        for entry, branch in zip(lines, branches, strict=True)
        if branch is not None and _begins(entry) and entry.timestamp is not None
    )
    ends = [*(turn[0].timestamp for turn in turns[1:]), None] if turns else []
    pairs = zip(turns, ends, strict=True)
    return [_answered(turn, _until(turn, end, left)) for turn, end in pairs]


def _until(turn: Sequence[Entry], end: float | None, left: Sequence[float]) -> float | None:
    """Return when the next prompt was given; `left` are the prompts of abandoned branches."""
    started = turn[0].timestamp
    after = [] if started is None else left[bisect_right(left, started) :][:1]
    return min([*after, *([] if end is None else [end])], default=None)


def _begins(entry: Entry) -> bool:
    said = prompt_text(entry)
    if said is None or entry.record.get("isMeta") is True or is_interruption(said):
        return False
    return not is_notification(entry, said)


def _is_local(turn: Sequence[Entry]) -> bool:
    """Whether a turn is a command that the client ran itself, without asking the model."""
    said = prompt_text(turn[0])
    is_client = said is not None and is_note(turn[0], said)
    return is_client and not any(entry.type in _ANSWERING for entry in turn)


def _is_no_answer(entry: Entry) -> bool:
    """Whether the client wrote that there is nothing to answer, as 2.0.73 to 2.1.168 on resume."""
    if entry.type != "assistant" or not is_synthetic(entry):
        return False
    is_error = entry.record.get("isApiErrorMessage") is True
    return not is_error and [text(block.get("text")) for block in entry.blocks] == [_NO_ANSWER]


@dataclass(slots=True)
class _Turn:
    """What the lines of a turn have said so far; `current` is None before the first answer."""

    parts: list[str] = field(default_factory=list)
    current: str | None = None
    structured: str | None = None
    last: Entry | None = None
    is_whole: bool = False
    is_error: bool = False
    is_interrupted: bool = False
    is_turn_limit: bool = False
    is_unsure: bool = False

    def take(self, entry: Entry) -> None:
        said = prompt_text(entry)
        self.is_unsure = self.is_unsure and entry.type != "user"
        if said is not None and is_notification(entry, said):
            self.parts += [] if self.current is None else [self.current]
            self.current, self.is_whole = None, False
        elif entry.type == "assistant":
            self._take_answer(entry)
        elif entry.type == "tool_use":
            self.is_interrupted = self.is_whole = False
            self.structured = None
        elif entry.type == "user" and entry.record.get("isCompactSummary") is not True:
            self._take_user(entry, said)
        elif entry.subtype == _STOPPED and not self.is_whole:
            self.current, self.is_whole = "", True  # the answer was empty
        else:
            self._take_attachment(as_dict(entry.record.get("attachment")))

    def _take_user(self, entry: Entry, said: str | None) -> None:
        if said is not None and CLIENT_TAG.match(said.lstrip()):  # a client's command
            return
        if self.is_whole and entry.record.get("isMeta") is True:
            return  # a caveat before a command is one too; if it asks the model, an answer follows
        self.is_interrupted = self.is_whole = said is not None and is_interruption(said)

    def _take_answer(self, entry: Entry) -> None:
        blocks = entry.blocks
        self.last, self.is_interrupted, self.structured = entry, False, None
        self.is_error = is_synthetic(entry) and entry.record.get("isApiErrorMessage") is True
        if any(block.get("type") == "tool_use" for block in blocks):
            texts = [text(block.get("text")) for block in blocks if block.get("type") == "text"]
            self.current = next(filter(None, reversed(texts)), self.current)
            self.is_whole = False
            return
        self.current = (text(blocks[-1].get("text")) if blocks else None) or ""
        has_ended = text(message_of(entry).get("stop_reason")) not in (None, "tool_use")
        self.is_whole = has_ended or bool(self.current)
        self.is_unsure = not self.is_whole

    def _take_attachment(self, attachment: Mapping[str, Any]) -> None:
        match attachment.get("type"):
            case "max_turns_reached":
                limit = whole(attachment.get("maxTurns"))
                self.current = f"Error: Reached max turns ({limit})"
                self.is_error = self.is_whole = self.is_turn_limit = True
            case "structured_output":
                self.structured = dump(attachment.get("data")).decode()


def _answered(turn: Sequence[Entry], until: float | None) -> PromptAnswer:
    found = _Turn()
    for entry in turn:
        found.take(entry)
    said = found.current if found.structured is None else found.structured
    parts = (*found.parts, *([] if said is None else [said]))
    last = found.last
    message = message_of(last) if last is not None else {}
    version = parse_version((text(last.record.get("version")) if last else None) or "")
    if version and version < _PRINTS_ALL:
        parts = parts[-1:]
    return PromptAnswer(
        prompt=prompt_text(turn[0]) or "",
        parts=parts,
        started=turn[0].timestamp,
        ended=last.timestamp if last is not None else None,
        until=until,
        lines=frozenset((entry.path, entry.line) for entry in turn),
        message_ids=frozenset(filter(None, (text(message_of(one).get("id")) for one in turn))),
        message_id=text(message.get("id")),
        model=text(message.get("model")),
        stop_reason=text(message.get("stop_reason")),
        is_error=found.is_error,
        is_whole=found.is_whole or found.structured is not None,
        is_interrupted=found.is_interrupted,
        is_turn_limit=found.is_turn_limit,
        is_unsure=found.is_unsure,
    )
