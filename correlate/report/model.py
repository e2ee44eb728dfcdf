"""A report's data as plain values, for the page to draw. Pure.

Every number of tokens and dollars comes from the output of `ccwire reconcile --json`, which is
included in full under `reconcile`.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ccwire.wire.safe_text import visible
from ccwire.wire.usage import TOKEN_CLASSES, TOKEN_GROUPS, Tokens
from correlate.reconcile.as_json import session_json
from correlate.reconcile.result import Finding, Reconciliation, label
from correlate.reconcile.verdicts import VERDICTS
from correlate.report.client_files import client_files
from correlate.report.fit import Clean
from correlate.report.headline import headline_of
from correlate.report.request_sizes import PARTS
from correlate.report.source import NamedRequest, Source
from correlate.report.threads import Lane, cache_drops, lane_of, lanes_of, outcome_of

Model = dict[str, Any]

# What a chart stacks, from the bottom: read, written and fresh input, then output. Requests are no
# tokens and are in no stack.
_STACK = sorted(
    (group for group in TOKEN_GROUPS if group.kind != "requests"), key=lambda group: group.stacking
)


def page_model(source: Source, other: Source | None = None, clean: Clean = str) -> Model:
    """Return the data for `page.html` and its scripts; `other` is a session to compare with.

    `clean` redacts names that are cut.
    """
    session = source.session
    reconciled = session_json(session, source.totals)
    drops = cache_drops(session.calls, session.compacted_at)
    turns = zip(session.turns_without_call, source.turn_contents, strict=True)
    return {
        "reconcile": reconciled,
        "token_classes": _token_classes(),
        "token_groups": _token_groups(),
        "about": _about(source, reconciled),
        "lanes": [asdict(lane) for lane in _lanes(session, clean)],
        "calls": [_call(finding, source, drops) for finding in session.calls],
        "turns": [
            {**_row(finding), "pieces": pieces, **more}
            for (finding, pieces), more in zip(turns, _turn_calls(source), strict=True)
        ],
        "compactions": sorted(session.compacted_at),
        "client_files": client_files(source.about, clean),
        "parts": list(PARTS),
        "verdicts": {name: asdict(meaning) for name, meaning in VERDICTS.items()},
        "requests": _requests(source.requests),
        "missing": [visible(problem) for problem in source.problems],
        "compare": None if other is None else _other(other),
    }


def _lanes(session: Reconciliation, clean: Clean) -> tuple[Lane, ...]:
    described = {agent.agent_id: agent.description for agent in session.agent_details}
    return lanes_of(session.findings, session.agents, clean, described)


def _about(source: Source, reconciled: Model) -> Model:
    calls = [finding.call for finding in source.session.calls if finding.call]
    began = [call.started for call in calls] or [row["started"] for row in source.turn_calls]
    return {
        "title": visible(source.title) if source.title else None,
        "project": visible(source.cwd) if source.cwd else None,
        "started": min(began, default=None),
        "verdict": asdict(headline_of(reconciled)),
    }


def _call(finding: Finding, source: Source, drops: frozenset[int]) -> Model:
    """Return what the page needs for a call beyond its entry in `reconcile`."""
    call = finding.call
    assert call is not None
    return {
        **_row(finding),
        "ended": call.ended,
        "first_byte_ms": call.first_byte_ms,
        "outcome": outcome_of(finding),
        "ended_by": call.ended_by,
        "stop_reason": call.stop_reason,
        "stream": call.stream,
        "messages": call.messages,
        "tools": call.tools,
        "request_bytes": call.request_bytes,
        "response_bytes": call.response_bytes,
        "tokens": _tokens(finding.wire_tokens),
        "drop": call.sequence in drops,
        "content": source.contents.get(call.sequence),
    }


def _turn_calls(source: Source) -> list[Model]:
    """Return what draws the turns of a session without a capture as calls; else nothing."""
    turns = source.session.turns_without_call
    if source.session.is_captured:
        return [{} for _ in turns]
    return [
        {
            **row,
            "tokens": _tokens(finding.transcript_tokens),
            "outcome": "answered",
            "drop": False,
            "stop_reason": finding.turn.stop_reason if finding.turn else None,
        }
        for finding, row in zip(turns, source.turn_calls, strict=True)
    ]


def _row(finding: Finding) -> Model:
    """Return the fields shared by calls and turns without a call."""
    turn = finding.turn
    return {
        "lane": lane_of(finding),
        "label": label(finding),
        "tone": finding.tone,
        "transcript_tokens": None if turn is None else _tokens(finding.transcript_tokens),
        "lines": [] if turn is None else [visible(str(place)) for place in turn.places],
    }


def _tokens(tokens: Tokens) -> list[int]:
    """By group, in the order in which the page stacks them."""
    return [tokens.of_group(group) for group in _STACK]


def _token_groups() -> list[Model]:
    return [
        {
            "key": group.key,
            "label": group.label,
            "heading": group.heading,
            "path": group.path,
            "prompt": group.kind == "prompt",
        }
        for group in _STACK
    ]


def _token_classes() -> list[Model]:
    return [
        {
            "name": c.name,
            "label": c.page_label,
            "path": c.path,
            "in_cost_state": c.group.client is not None,
        }
        for c in TOKEN_CLASSES
    ]


def _other(other: Source) -> Model:
    reconciled = session_json(other.session, other.totals)
    kept = ("session_id", "is_captured", "claude_versions", "totals", "cost", "unexplained")
    return {
        "reconcile": {name: reconciled[name] for name in (*kept, "summary")},
        "calls": len(reconciled["calls"]),
        "about": _about(other, reconciled),
        "requests": _requests(other.requests),
    }


def _requests(requests: Sequence[NamedRequest]) -> list[Model]:
    return [
        {
            "lane": named.lane,
            "roles": list(named.roles),
            "sequence": named.sequence,
            "sizes": [named.contents.sizes[part] for part in PARTS],
            "counts": [named.contents.counts[part] for part in PARTS],
            "items": [
                {"name": visible(item.name), "part": item.part, "size": item.size}
                for item in named.contents.items
            ],
            "servers": {visible(name): size for name, size in named.contents.servers.items()},
            "tools": [visible(name) for name in named.contents.tools],
        }
        for named in requests
    ]
