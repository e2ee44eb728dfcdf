"""Prints a conversation: as text for a terminal, or as Markdown. Long results are folded."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from rich.text import Text

from ccwire.output.show.markdown import code_block, contained, quoted
from ccwire.output.tables import count, numbered
from ccwire.output.terminal import SafeConsole, safe
from ccwire.wire.format import short_id
from ccwire.wire.safe_text import one_line, shortened
from correlate.show.blocks import excerpt
from correlate.show.conversation import Item

_STEP = 2  # columns per level of subagents
_DEEPEST = 10  # levels that are indented
_FOLDED = (3, 240)  # lines and characters of a result, of thinking, or of a summary
_TOOL_LENGTH = 200
_STYLES = {
    "prompt": "bold cyan",
    "answer": "bold",
    "thinking": "dim",
    "tool": "magenta",
    "agent": "bold magenta",
    "compaction": "yellow",
    "api-error": "red",
    "branch": "yellow",
    "live": "yellow",
}
_NAMES = {"summary": "summary of the compaction", "api-error": "API error", "note": "client"}
_RULES = ("compaction", "branch", "live")


def print_conversation(
    to: SafeConsole,
    session_id: str,
    items: Sequence[Item],
    *,
    prompts: int,
    full: bool,
    notes: Iterable[str],
) -> None:
    """Print a conversation; `notes` are sentences about what it is from.

    `prompts` are those that have an answer of their own, as `--answer --turn` counts them.
    """
    about = [numbered(prompts, "prompt"), _day(items)]
    facts = "".join(f" · {fact}" for fact in about if fact)
    to.print(Text.assemble(("session ", "bold"), session_id, facts))
    for note in notes:
        to.print(Text(note, "dim"), soft_wrap=True)
    previous: Item | None = None
    for item in items:
        indent = _STEP * min(item.depth, _DEEPEST)
        head = _head(item, previous)
        if head is not None:
            to.print()
            to.print_indented(Text(head, _style(item)), indent)
        if item.kind not in _RULES:
            _print_texts(to, item, indent + _STEP, full=full)
        previous = item


def print_markdown(
    to: SafeConsole, session_id: str, items: Sequence[Item], *, full: bool, notes: Iterable[str]
) -> None:
    """Print a conversation as Markdown; subagents are quoted, one level per depth."""
    to.print_unwrapped(f"# Session {short_id(session_id)}")
    for note in notes:
        to.print_unwrapped(f"\n*{note}*")
    previous: Item | None = None
    for item in items:
        text = "\n".join(_markdown(item, previous, full=full))
        if text:
            # An HTML block ends at an empty line of its own block quote.
            depth = item.depth if previous is None else min(item.depth, previous.depth)
            to.print_unwrapped(f"{_margin(depth).rstrip()}\n{quoted(text, _margin(item.depth))}")
        previous = item


def _margin(depth: int) -> str:
    return "> " * min(depth, _DEEPEST)


def _head(item: Item, previous: Item | None) -> str | None:
    """Return the line above an item; None if it continues the answer before it."""
    at = "" if item.at is None else f"{datetime.fromtimestamp(item.at):%H:%M:%S} "
    match item.kind:
        case "branch" | "live":
            return f"── {item.text} ──"
        case "compaction":
            return f"── {at}compacted{_compaction_facts(item)} ──"
        case "agent":
            names = (safe(item.agent_id or "")[:12], item.title or "", item.text)
            return f"agent {' · '.join(filter(None, map(_flat, names)))}"
        case "prompt" | "note" | "summary":
            title = f" · {_flat(item.title)}" if item.title else ""
            return f"{at}{_NAMES.get(item.kind, item.kind)}{title}"
        case "api-error":
            return f"{at}API error{_error_facts(item)}"
    if previous is not None and _is_continued(item, previous):
        return None
    return f"{at}answer{_answer_facts(item)}"


def _is_continued(item: Item, previous: Item) -> bool:
    same_thread = (item.agent_id, item.branch) == (previous.agent_id, previous.branch)
    is_answer = previous.kind in ("answer", "thinking", "tool", "block")
    return same_thread and is_answer and item.message_id == previous.message_id


def _answer_facts(item: Item) -> str:
    call = "" if item.call is None else f" · exchange {item.call}"
    return call + (" · written by the client, not by the model" if item.synthetic else "")


def _compaction_facts(item: Item) -> str:
    facts = item.facts
    before, after = facts.get("pre_tokens"), facts.get("post_tokens")
    parts = [facts.get("trigger")]
    if before is not None and after is not None:
        parts.append(f"{count(before)} to {count(after)} tokens")
    elif before is not None:
        parts.append(f"{count(before)} tokens before")
    if lost := facts.get("lost_messages"):
        parts.append(f"{numbered(lost, 'message')} lost")
    return "".join(f" · {part}" for part in parts if part)


def _error_facts(item: Item) -> str:
    status, attempt = item.facts.get("status"), item.facts.get("retry_attempt")
    return ("" if status is None else f" {status}") + (
        "" if attempt is None else f" · retry {attempt}"
    )


def _print_texts(to: SafeConsole, item: Item, indent: int, *, full: bool) -> None:
    if item.kind == "agent":
        return
    if item.kind == "tool":
        given = item.text if full else shortened(_flat(item.text), _TOOL_LENGTH)
        to.print_indented(Text.assemble((item.title or "", _STYLES["tool"]), " ", given), indent)
        if item.result is None:
            to.print_indented(Text("no result", "dim"), indent + _STEP)
        else:
            style = "red" if item.is_error else "dim"
            _print_text(to, item.result, indent + _STEP, style, fold=not full)
        return
    if item.title and item.kind == "block":
        to.print_indented(Text(item.title, "dim"), indent)
    is_folded = item.kind in ("thinking", "summary", "block", "note") and not full
    if item.kind == "thinking":
        to.print_indented(Text(f"thinking, {count(len(item.text))} characters", "dim"), indent)
    style = "dim" if item.kind in ("thinking", "summary", "note") else ""
    _print_text(to, item.text, indent, "red" if item.is_error else style, fold=is_folded)


def _print_text(to: SafeConsole, text: str, indent: int, style: str, *, fold: bool) -> None:
    # What is cut must be redacted before: half a secret would not be recognized.
    shown = excerpt(safe(text), *_FOLDED) if fold else excerpt(text, len(text) + 1, len(text) + 1)
    if not shown.text:
        return
    body = Text(shown.text, style)
    if shown.left_out:
        body.append(f"\n… {count(shown.left_out)} more characters (--full)", "dim")
    to.print_indented(body, indent)


def _markdown(item: Item, previous: Item | None, *, full: bool) -> Iterator[str]:
    head = _head(item, previous)
    match item.kind:
        case "compaction" | "branch" | "live":
            yield f"*{str(head).strip('─ ')}*"
        case "agent":
            yield f"**{head}**"
        case "tool":
            if head is not None:
                yield f"### {head}\n"
            given = safe(item.text) if full else shortened(_flat(item.text), _TOOL_LENGTH)
            yield f"`{_flat(item.title or '')}`"
            yield from _fenced(given, fold=False)
            if item.result is not None:
                yield f"result, {count(len(item.result))} characters:"
                yield from _fenced(item.result, fold=not full)
        case _:
            if head is not None:
                yield f"{'##' if item.kind == 'prompt' else '###'} {head}\n"
            if item.title and item.kind == "block":
                yield f"`{_flat(item.title)}`"
            if item.kind in ("thinking", "summary", "note", "block"):
                yield from _fenced(item.text, fold=not full)
            else:
                yield contained(safe(item.text), _margin(item.depth))


def _fenced(text: str, *, fold: bool) -> Iterator[str]:
    """Yield a text as a code block, redacted before it is cut or quoted line by line."""
    text = safe(text)
    shown = excerpt(text, *_FOLDED) if fold else excerpt(text, len(text) + 1, len(text) + 1)
    more = f"\n… {count(shown.left_out)} more characters (--full)" if shown.left_out else ""
    yield code_block(f"{shown.text}{more}")


def _flat(text: str) -> str:
    return " ".join(one_line(safe(text)).split())


def _style(item: Item) -> str:
    return "bold red" if item.is_error and item.kind == "answer" else _STYLES.get(item.kind, "bold")


def _day(items: Sequence[Item]) -> str | None:
    at = next((item.at for item in items if item.at is not None), None)
    return None if at is None else f"{datetime.fromtimestamp(at):%Y-%m-%d}"
