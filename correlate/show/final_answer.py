"""The final answer to each prompt of a session, as `claude -p` prints it. Pure.

Measured on 1.0.100 to 2.1.325: `claude -p` prints the last text block of the last message, not all
of its text blocks; an error is printed as the client's own line has it. When a background task ends
after the answer, 2.1.325 answers again, and prints all these answers with an empty line between
them. A Stop hook is given the last of them, without the space around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ccwire.wire.json_text import as_dict, text, whole
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAnswer:
    """A prompt and its final answer; `parts` are several if background tasks were answered too."""

    prompt: str
    parts: tuple[str, ...]
    started: float | None
    ended: float | None  # of the last line of the answer
    until: float | None  # when the next prompt was given
    message_id: str | None
    model: str | None
    stop_reason: str | None
    is_error: bool
    is_whole: bool  # whether nothing is awaited: the last line is an answer's text

    @property
    def text(self) -> str:
        return "\n\n".join(self.parts)


def prompt_answers(entries: Sequence[Entry]) -> list[PromptAnswer]:
    """Return the prompts of the main thread's live branch, in order, with their answers."""
    lines = threads_of(entries)[None]
    branches, _ = branch_of(lines, is_prompt)
    turns: list[list[Entry]] = []
    for place, entry in enumerate(lines):
        if branches[place] is not None:
            continue
        if _begins(entry):
            turns.append([entry])
        elif turns:
            turns[-1].append(entry)
        elif entry.type == "assistant":
            turns.append([entry])  # what came before was not recorded
    turns = [turn for turn in turns if not _is_local(turn)]
    ends = [*(turn[0].timestamp for turn in turns[1:]), None] if turns else []
    return [_answered(turn, until) for turn, until in zip(turns, ends, strict=True)]


def _begins(entry: Entry) -> bool:
    said = prompt_text(entry)
    if said is None or entry.record.get("isMeta") is True or is_interruption(said):
        return False
    return not is_notification(entry, said)


def _is_local(turn: Sequence[Entry]) -> bool:
    """Whether a turn is a command that the client ran itself, without asking the model."""
    said = prompt_text(turn[0])
    is_client = said is not None and is_note(turn[0], said)
    return is_client and not any(entry.type == "assistant" for entry in turn)


def _answered(turn: Sequence[Entry], until: float | None) -> PromptAnswer:
    parts: list[str] = []
    last: Entry | None = None
    current: str | None = None
    is_whole = is_error = False
    for entry in turn:
        said = prompt_text(entry)
        if said is not None and is_notification(entry, said):
            parts += [] if current is None else [current]
            current, is_whole = None, False
        elif entry.type == "user" and entry.record.get("isCompactSummary") is not True:
            is_whole = said is not None and is_interruption(said)
        elif entry.type == "assistant":
            last = entry
            is_error = is_synthetic(entry) and entry.record.get("isApiErrorMessage") is True
            texts = [
                t for b in entry.blocks if b.get("type") == "text" and (t := text(b.get("text")))
            ]
            current = texts[-1] if texts else current
            is_whole = bool(texts) and not _calls_tool(entry)
        elif (limit := _turn_limit(entry)) is not None:
            current, is_error, is_whole = f"Error: Reached max turns ({limit})", True, True
    parts += [] if current is None else [current]
    message = message_of(last) if last is not None else {}
    return PromptAnswer(
        prompt=prompt_text(turn[0]) or "",
        parts=tuple(parts),
        started=turn[0].timestamp,
        ended=last.timestamp if last is not None else None,
        until=until,
        message_id=text(message.get("id")),
        model=text(message.get("model")),
        stop_reason=text(message.get("stop_reason")),
        is_error=is_error,
        is_whole=is_whole,
    )


def _calls_tool(entry: Entry) -> bool:
    return any(block.get("type") == "tool_use" for block in entry.blocks)


def _turn_limit(entry: Entry) -> int | None:
    """Return the number of turns after which the client stopped, if this line reports that."""
    attachment = as_dict(entry.record.get("attachment"))
    if entry.type != "attachment" or attachment.get("type") != "max_turns_reached":
        return None
    return whole(attachment.get("maxTurns"))
