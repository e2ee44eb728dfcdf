"""Prints what the client's files record of a session besides its turns: lineage, todos, plan."""

from collections.abc import Iterator

from rich.text import Text

from ccwire.output.tables import count, numbered
from ccwire.output.terminal import SafeConsole, safe
from ccwire.wire.format import short_id
from correlate.show.blocks import excerpt
from correlate.transcript.about import About

_MARKS = {"completed": "✓", "in_progress": "▸", "pending": "·"}
_FOLDED = (12, 1200)  # lines and characters of a plan


def about_line(about: About) -> str:
    """Return the branch, the name and the lineage of a session on one line; it may be empty."""
    lineage = about.lineage
    parts = [
        f"branch {', '.join(about.branches)}" if about.branches else "",
        f"name {about.slug}" if about.slug else "",
        f"fork of {short_id(lineage.forked_from)}" if lineage.forked_from else "",
        "resumed" if lineage.resumed else "",
        numbered(lineage.compactions, "compaction") if lineage.compactions else "",
        numbered(about.rewinds, "rewind") if about.rewinds else "",
    ]
    return " · ".join(filter(None, parts))


def print_about(to: SafeConsole, about: About, *, full: bool) -> None:
    """Print the todo lists and the plan, if there are any."""
    for title, lines in _lists(about):
        to.print()
        to.print(Text(title, "bold cyan"))
        for mark, text in lines:
            to.print_indented(Text(f"{mark} {text}", "dim" if mark == "✓" else ""), 2)
    if about.plan is not None:
        shown = _plan(about.plan, full=full)
        to.print()
        to.print(Text("plan", "bold cyan"))
        to.print_indented(Text(shown), 2)


def print_about_markdown(to: SafeConsole, about: About, *, full: bool) -> None:
    """Print the same as Markdown; a plan is Markdown already."""
    for title, lines in _lists(about):
        to.print_unwrapped(f"\n## {title}\n")
        for mark, text in lines:
            to.print_unwrapped(f"- [{'x' if mark == '✓' else ' '}] {text}")
    if about.plan is not None:
        to.print_unwrapped(f"\n## plan\n\n{_plan(about.plan, full=full)}")


def _lists(about: About) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for agent_id, todos in about.todos.items():
        own = agent_id == about.session_id
        title = "todos" if own else f"todos of agent {safe(agent_id)[:16]}"
        lines = [
            (_MARKS.get(todo.status or "", "·"), " ".join(safe(todo.content).split()))
            for todo in todos
        ]
        yield title, lines


def _plan(plan: str, *, full: bool) -> str:
    if full:
        return plan
    # What is cut must be redacted before: half a secret would not be recognized.
    shown = excerpt(safe(plan), *_FOLDED)
    more = f"\n… {count(shown.left_out)} more characters (--full)" if shown.left_out else ""
    return f"{shown.text}{more}"
