"""A reconciliation as plain values, as `ccwire reconcile --json` prints it. Pure."""

from dataclasses import asdict
from typing import Any

from ccwire.wire.usage import TOKEN_CLASSES, Tokens, differences
from correlate.reconcile.result import Finding, Reconciliation, Witness, counted, known_flaws
from correlate.reconcile.summary import summarize
from correlate.reconcile.totals import Cause, GrandTotal, Side, Totals


def session_json(session: Reconciliation, totals: Totals) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "claude_versions": list(session.claude_versions),
        "is_captured": session.is_captured,
        "known_flaws": _flaws(session),
        "calls": [_call(finding) for finding in session.calls],
        "turns_without_call": [_turn(finding) for finding in session.turns_without_call],
        "totals": {
            "wire": _side(totals.wire),
            "transcript": _side(totals.transcript),
            "cost_state": _side(totals.cost_state),
            "transcript_finality": totals.transcript_finality,
        },
        "cost": _cost(totals),
        "unexplained": session.unexplained,
        "verdicts": counted(session.findings),
        "transcript_alone": _alone(totals, is_captured=session.is_captured),
        "differences": [_cause(cause) for cause in totals.causes if cause.missing],
        "witnesses": [_witness(witness) for witness in session.witnesses],
        "summary": asdict(summarize(session)),
        "agents": dict(session.agents),
        "agent_details": [asdict(agent) for agent in session.agent_details],
        "records": dict(session.records),
        "bad_lines": list(session.bad_lines),
        "notes": list(session.notes),
    }


def grand_json(grand: GrandTotal) -> dict[str, Any]:
    """Return the totals of all sessions."""
    return {
        "calls": grand.calls,
        "totals": {
            "wire": _side(grand.wire),
            "transcript": _side(grand.transcript),
            "cost_state": _side(grand.cost_state),
        },
        "cost": {
            "wire_usd": grand.wire.usd,
            "wire_anthropic_usd": grand.wire.anthropic_usd,
            "price_lists": list(grand.wire.price_lists),
            "transcript_usd": grand.transcript.usd,
            "cost_state_usd": grand.cost_state.usd if grand.cost_state else None,
        },
        "unexplained": grand.unexplained,
    }


def _call(finding: Finding) -> dict[str, Any]:
    call = finding.call
    assert call is not None
    usage = finding.transcript_usage
    return {
        "sequence": call.sequence,
        "started": call.started,
        "kind": finding.kind,
        "agent_id": finding.agent_id,
        "model": call.model,
        "models": _models(finding),
        "status": call.status,
        "complete": call.complete,
        "request_id": call.request_id,
        "message_id": call.message_id,
        "wire": dict(finding.wire_usage),
        "transcript": None if usage is None else dict(usage),
        "finality": None if usage is None else finding.finality,
        "difference": _contradictions(finding),
        "verdict": finding.verdict,
        "explained": finding.explained,
        "evidence": list(finding.evidence),
    }


def _models(finding: Finding) -> dict[str, dict[str, Any]] | None:
    """Return the tokens by model, if the call was served by several models or by another one."""
    found: dict[str, Tokens] = {}
    for part in finding.wire_parts:
        name = part.model or "unknown"
        found[name] = found.get(name, Tokens()) + part.tokens
    if not found or list(found) == [finding.model]:
        return None
    return {model: tokens.to_usage() for model, tokens in found.items()}


def _turn(finding: Finding) -> dict[str, Any]:
    turn = finding.turn
    assert turn is not None
    return {
        "message_id": turn.message_id,
        "request_id": turn.request_id,
        "started": turn.started,
        "kind": finding.kind,
        "agent_id": turn.agent_id,
        "model": turn.model,
        "transcript": None if turn.usage is None else dict(turn.usage),
        "finality": finding.finality,
        "flaws": [flaw.key for flaw in finding.flaws],
        "verdict": finding.verdict,
        "explained": finding.explained,
        "evidence": list(finding.evidence),
    }


def _flaws(session: Reconciliation) -> dict[str, list[dict[str, str]]]:
    """Return, by release, what its transcripts are known to get wrong; only if uncaptured."""
    return {
        version: [{"key": flaw.key, "sentence": flaw.sentence} for flaw in flaws]
        for version, flaws in known_flaws(session).items()
    }


def _contradictions(finding: Finding) -> dict[str, dict[str, Any]]:
    if finding.turn is None:
        return {}
    return {
        difference.field: {"wire": difference.wire, "transcript": difference.transcript}
        for difference in differences(finding.wire_usage, finding.transcript_usage)
    }


def _side(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    models = {model: tokens.to_usage() for model, tokens in side.tokens.items()}
    return {**side.total.to_usage(), "models": models}


def _cost(totals: Totals) -> dict[str, Any]:
    state = totals.cost_state
    return {
        "wire_usd": totals.wire.usd,
        "wire_anthropic_usd": totals.wire.anthropic_usd,
        "price_lists": list(totals.wire.price_lists),
        "transcript_usd": totals.transcript.usd,
        "cost_state_usd": state.usd if state else None,
        "unpriced": list(dict.fromkeys([*totals.wire.unpriced, *totals.transcript.unpriced])),
        "wire_by_model": _by_model(totals.wire),
        "transcript_by_model": _by_model(totals.transcript),
    }


def _by_model(side: Side) -> dict[str, dict[str, float | None]]:
    return {
        model: {
            **{c.name: side.class_usd(model, c) for c in TOKEN_CLASSES},
            "total": float(cost.total),
        }
        for model, cost in side.costs.items()
    }


def _alone(totals: Totals, *, is_captured: bool) -> dict[str, Any]:
    """Return the transcript's totals, and how far they are from the wire's, if there is a wire."""
    wire, transcript = totals.wire.usd, totals.transcript.usd
    off = None if wire is None or transcript is None else float(wire - transcript)
    return {
        "usage": totals.transcript.total.to_usage(),
        "usd": transcript,
        "short_of_wire": totals.off.to_usage() if is_captured else None,
        "short_of_wire_usd": off,
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "verdict": cause.label,
        "findings": cause.findings,
        "wire_less_transcript": cause.missing.to_usage(),
        "usd": None if cause.usd is None else float(cause.usd),
    }


def _witness(witness: Witness) -> dict[str, Any]:
    is_compared = witness.total is not None and witness.cause != "uncaptured"
    return {
        "name": witness.name,
        "usage": None if witness.total is None else witness.total.to_usage(),
        "usd": witness.usd,
        "residual": witness.residual.to_usage() if is_compared else None,
        "residual_by_model": {
            model: tokens.to_usage() for model, tokens in witness.residual_by_model.items()
        },
        "residual_usd": witness.usd_residual,
        "cause": witness.cause,
        "agrees": witness.agrees,
        "explained": witness.explained,
        "evidence": list(witness.evidence),
    }
