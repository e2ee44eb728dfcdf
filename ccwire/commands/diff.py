"""`ccwire diff`: compare a request with the previous one, and an answer with the transcript."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ccwire.capture_folders import CaptureFolders
from ccwire.options import UserError, captures_option, claude_dir_option, json_option, raw_option
from ccwire.output.hints import session_command
from ccwire.output.redacted import redacted_values
from ccwire.output.terminal import console, print_json
from ccwire.sessions.argument import any_session, session_and_call
from correlate.compare.answers import BlockFinding
from correlate.compare.calls import CallDiff, session_diffs
from correlate.compare.requests import RequestChange, parting, preview
from correlate.transcript.locate import ClaudeDir

_NO_WIRE = "no call of this session was captured: there is no wire to compare the transcript with"
_MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


@click.command("diff")
@click.argument("session", required=False)
@click.argument("number", required=False, type=int, metavar="[N]")
@captures_option
@claude_dir_option
@json_option
@raw_option
@click.pass_context
def command(
    ctx: click.Context,
    session: str | None,
    number: int | None,
    captures: CaptureFolders,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """Compare the content of call N of SESSION, or of every call.

    The request is compared with the previous request of its thread, the answer with the
    transcript. SESSION is an id, a unique prefix, a folder, or `latest`, which it is if left out.
    A number of up to four digits alone is N. Exit code 1 if an answer differs from the transcript.
    """
    text, number = session_and_call(session, number, captures)
    found = any_session(text, captures, claude_dir)
    if found.folder is None:
        if as_json:
            print_json({"session_id": found.session_id, "calls": [], "note": _NO_WIRE})
        else:
            console().print(f"{found.session_id}: {_NO_WIRE}.")
        return
    claude = ClaudeDir(claude_dir)
    try:
        diffs = list(session_diffs(found.folder, found.session_id, claude, number))
    except KeyError:
        raise UserError(
            f"session {found.session_id} has no call {number}; "
            f"`{session_command('reconcile', found.session_id, captures, claude_dir)}` "
            f"lists the calls."
        ) from None
    if as_json:
        calls = [_json(diff) for diff in diffs]
        print_json({"session_id": found.session_id, "calls": calls, "note": None})
    else:
        to = console()
        for diff in diffs:
            _print(to, diff)
    ctx.exit(1 if any(diff.differs for diff in diffs) else 0)


def _print(to: Console, diff: CallDiff) -> None:
    call = diff.call
    to.print(Text(f"call {call.sequence}", "bold"), Text(f"{call.path} {call.model or ''}"))
    base = f"compared with call {diff.previous}" if diff.previous else "the first of its thread"
    to.print(f"  request, {base}:")
    if not diff.request:
        to.print("    nothing changed")
    for text in _request_texts(diff):
        to.print(text, overflow="ellipsis", no_wrap=True)
    if diff.answer is None:
        to.print(f"  answer: {diff.note}")
        return
    to.print(f"  answer, compared with {', '.join(diff.places)}:")
    for block in diff.answer:
        to.print(_block_text(block), overflow="ellipsis", no_wrap=True)


def _request_texts(diff: CallDiff) -> Iterator[Text]:
    """Yield one line per change; the tools and betas of a thread's first request share a line."""
    in_one = ("tools", "betas") if diff.previous is None else ()
    for change in diff.request:
        if change.place.partition(".")[0] not in in_one:
            yield _change_text(change)
    for name in in_one:
        offered = [change for change in diff.request if change.place.partition(".")[0] == name]
        names = [c.place.partition(".")[2] or str(c.after) for c in offered]
        if names:
            yield Text(f"    + {len(names)} {name}  ", "green").append(", ".join(names), "default")


def _change_text(change: RequestChange) -> Text:
    mark, style = _MARKS[change.change]
    text = Text(f"    {mark} {change.place}  ", style)
    if change.change == "changed":
        before, after = parting(redacted_values(change.before), redacted_values(change.after))
        return text.append(f"{before} → {after}", "default")
    return text.append(
        preview(redacted_values(change.after if mark == "+" else change.before)), "default"
    )


def _block_text(block: BlockFinding) -> Text:
    style = "green" if block.verdict == "equal" else "red bold"
    text = Text(f"    [{block.index}] {block.type} ")
    text.append(block.verdict, style)
    if block.place:
        text.append(f" at {block.place}")
    if block.verdict != "equal":
        if block.wire is not None:
            text.append(f"\n        wire:       {preview(redacted_values(block.wire))}")
        if block.transcript is not None:
            text.append(f"\n        transcript: {preview(redacted_values(block.transcript))}")
    return text


def _json(diff: CallDiff) -> dict[str, Any]:
    answer = None
    if diff.answer is not None:
        answer = [
            {
                "index": block.index,
                "type": block.type,
                "verdict": block.verdict,
                "place": block.place,
                "wire": block.wire,
                "transcript": block.transcript,
            }
            for block in diff.answer
        ]
    return {
        "sequence": diff.call.sequence,
        "model": diff.call.model,
        "agent_id": diff.call.agent_id,
        "previous": diff.previous,
        "request": [
            {"place": c.place, "change": c.change, "before": c.before, "after": c.after}
            for c in diff.request
        ],
        "answer": answer,
        "transcript": list(diff.places),
        "note": diff.note,
    }
