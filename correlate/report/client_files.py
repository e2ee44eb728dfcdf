"""What the client's files record of a session besides its turns, as the page draws it. Pure."""

from collections.abc import Mapping
from typing import Any

from ccwire.wire.safe_text import visible
from correlate.report.fit import Clean, FittedText, fitted
from correlate.transcript.about import About

_TEXT_BUDGET = 60_000  # bytes of all summaries and the plan
_MOST_TODOS = 200
_LONGEST_TODO = 500


def client_files(about: About, clean: Clean = str) -> dict[str, Any]:
    """Return lineage, compactions with their summaries, todos and plan; long texts are cut."""
    found = about.to_json()
    summaries = [text for one in about.compactions if (text := one["summary"]) is not None]
    plans = [about.plan] if about.plan is not None else []
    shown = iter([_text(one) for one in fitted([*summaries, *plans], _TEXT_BUDGET, clean)])
    compactions = [
        {**one, "summary": next(shown) if one["summary"] is not None else None}
        for one in about.compactions
    ]
    return {
        "branches": [visible(name) for name in about.branches],
        "slug": visible(about.slug) if about.slug else None,
        "forked_from": found["forked_from"],
        "resumed": found["resumed"],
        "rewinds": about.rewinds,
        "compactions": compactions,
        "plan": next(shown, None),
        "todos": [
            {
                "agent": None if agent_id == about.session_id else visible(agent_id),
                "items": [
                    {"text": visible(clean(todo.content))[:_LONGEST_TODO], "status": todo.status}
                    for todo in todos[:_MOST_TODOS]
                ],
                "left_out": max(0, len(todos) - _MOST_TODOS),
            }
            for agent_id, todos in about.todos.items()
        ],
    }


def _text(fitted_text: FittedText) -> Mapping[str, Any]:
    return {"text": fitted_text.text, "left_out": fitted_text.left_out}
