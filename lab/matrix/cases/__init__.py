"""The cases, by name. To add one, add it to `CASES` of the module it belongs to."""

from collections.abc import Mapping

from lab.matrix.case import Case
from lab.matrix.cases import answers, screen, sessions, tools

_ALL = (*answers.CASES, *sessions.CASES, *tools.CASES, *screen.CASES)
CASES_BY_NAME: dict[str, Case] = {case.name: case for case in _ALL}
assert len(CASES_BY_NAME) == len(_ALL), "two cases have the same name"

# Cases that need a verdict, a kind or a rule of their own; CI runs them on four releases.
CLASSES: Mapping[str, tuple[str, ...]] = {
    "side calls that offer tools": (
        "web_search",
        "screen_suggestion",
        "screen_side_question",
        "prompt_hook",
        "prompt_hook_on_tool",
        "agent_hook",
        "agent_hook_slow",
    ),
    "answers that the client discards": ("refusal", "empty_answer", "html_page", "json_page"),
    "several models in one answer": ("advisor", "server_fallback", "compaction_iteration"),
    "a failed attempt and its retry": ("first_error", "empty_page"),
    "sums that restart": ("begun_on_older", "begun_on_older_then_twice", "killed_and_resumed"),
    "other programs in a session": ("script", "script_batches", "script_counts"),
    "a message_start without usage": ("bare_start",),
    "a reset after the headers": ("reset_after_head",),
    "lines of agents after a resume": (
        "continue_with_agents",
        "fork_with_agents",
        "compact_with_agents",
    ),
    "a conversation without tools": ("no_tools", "no_tools_no_persistence"),
}
