"""Judge a pair by its evidence: is every call captured, explained, and paid as the client says?

Reads the evidence only, with the code as it is now, so that all pairs can be judged again after a
change without running a client. The stand-in's ledger is the truth: it shares no code with the
capture, only the rule by which a usage is counted.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ccwire.demo.real.run import parse_result
from ccwire.demo.stand_in.ledger import Served
from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import UNKNOWN, Exchange
from ccwire.wire.usage import Tokens
from correlate.captures.folder import read_exchanges, session_folders
from correlate.reconcile.result import Reconciliation, Witness, label
from correlate.reconcile.session import SessionReconciler, TranscriptWait
from correlate.reconcile.totals import totals_of
from correlate.reconcile.witnesses.client_totals import result_totals
from correlate.transcript.locate import ClaudeDir
from lab.matrix.case import Case
from lab.matrix.evidence import CAPTURES, CLAUDE, Outcome, read_ledger, read_outcome

Mark = Literal["right", "wrong", "not known", "not run"]

_CENT = 0.005
_STARTUP_SECONDS = 0.25
_LATE_SECONDS = 1.0  # the stand-in may read a request after its client has left
_AT_ONCE = TranscriptWait(tries=0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one pair; `reason` is short and groups pairs with the same cause."""

    version: str
    case: str
    mark: Mark
    reason: str = ""
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Flaw:
    reason: str
    detail: str = ""


def judge(pair: Path, case: Case) -> Verdict | None:
    """Return the verdict on a pair; None if it was not run."""
    outcome = read_outcome(pair)
    if outcome is None:
        return None
    mark, flaw = _judge(pair, case, outcome)
    return Verdict(
        outcome.version, outcome.case, mark, flaw.reason, flaw.detail, round(outcome.seconds, 2)
    )


def _judge(pair: Path, case: Case, outcome: Outcome) -> tuple[Mark, Flaw]:
    if outcome.lacks:
        return "not known", Flaw(outcome.lacks)
    if outcome.problem:
        return "not run", Flaw(outcome.problem)
    served = read_ledger(pair)
    calls = len([call for call in served if _to_model(call)])
    if calls < case.calls:
        code = outcome.runs[-1]["code"] if outcome.runs else None
        return "not run", Flaw(f"made {calls} of {case.calls} calls and exited with code {code}")
    captured = _captured(pair / CAPTURES)
    served = _without_earlier(served, captured, outcome)
    accounts = _account_flaws(pair, case, outcome, pair_up(served, captured)[0], served)
    flaws = [*capture_flaws(served, captured), *accounts]
    if not flaws:
        return "right", Flaw("")
    reasons = dict.fromkeys(flaw.reason for flaw in flaws)
    details = dict.fromkeys(flaw.detail for flaw in flaws if flaw.detail)
    return "wrong", Flaw("; ".join(reasons), "; ".join(details))


def _without_earlier(
    served: Sequence[Served], captured: Sequence["Filed"], outcome: Outcome
) -> list[Served]:
    """Leave out telemetry of the case before, which came when this one began."""
    own = {exchange.request_id for _, exchange in captured}
    soon = outcome.started + _STARTUP_SECONDS
    return [c for c in served if c.kind in CALL_KINDS or c.started > soon or c.request_id in own]


type Filed = tuple[str, Exchange]  # a captured exchange and the name of its folder


def pair_up(
    served: Sequence[Served], captured: Sequence[Filed]
) -> tuple[dict[str, list[Filed]], list[Filed]]:
    """Return the captured exchanges of each served call, by its request id, and those left."""
    by_id: dict[str | None, list[Filed]] = defaultdict(list)
    for folder, exchange in captured:
        by_id[exchange.request_id].append((folder, exchange))
    unanswered = by_id.pop(None, [])
    found = {
        call.request_id: by_id.pop(call.request_id, []) or _unanswered(call, unanswered)
        for call in served
    }
    return found, [filed for several in by_id.values() for filed in several]


def _unanswered(call: Served, candidates: list[Filed]) -> list[Filed]:
    """Take the exchange of a call whose client left before any of the answer reached it."""
    for place, (_, exchange) in enumerate(candidates):
        ended = exchange.ended or call.started
        in_time = exchange.started <= call.started <= ended + _LATE_SECONDS
        same = (exchange.method, exchange.path, exchange.request_bytes) == (
            call.method,
            call.path.partition("?")[0],
            call.body_bytes,
        )
        if same and in_time and exchange.ended_by == "client_disconnect":
            return [candidates.pop(place)]
    return []


def capture_flaws(served: Sequence[Served], captured: Sequence[Filed]) -> Iterator[Flaw]:
    """Compare the ledger with the captures: each call once, in its session, with its usage."""
    found, left = pair_up(served, captured)
    possible = {folder for folder, _ in captured if folder != UNKNOWN}
    if not any(call.session_id for call in served):
        possible.add(UNKNOWN)  # the oldest releases name no session at all
    for call in served:
        if len(found[call.request_id]) != 1:
            times = len(found[call.request_id])
            yield Flaw(f"a {call.kind} call was captured {times} times", call.request_id)
            continue
        ((folder, exchange),) = found[call.request_id]
        yield from _misfiled(call, folder, possible)
        if exchange.request_id is not None:
            yield from _misread(call, exchange)
    for folder, exchange in left:
        yield Flaw("a captured call was not served", f"{folder} {exchange.sequence}")


def _misfiled(call: Served, folder: str, possible: set[str]) -> Iterator[Flaw]:
    if call.session_id is not None and folder != call.session_id:
        yield Flaw("a call is not in the session that it names", f"{call.session_id} {folder}")
    elif call.session_id is None and folder not in possible:
        what = "call" if call.kind in CALL_KINDS else "exchange"
        yield Flaw(f"{what} left in unknown: {call.kind}", call.request_id)


def _misread(call: Served, exchange: Exchange) -> Iterator[Flaw]:
    if exchange.status != call.status:
        yield Flaw(f"status {exchange.status} in place of {call.status}", call.request_id)
    if not _to_model(call):
        return
    if exchange.complete and call.usage and not _same_usage(call, exchange.usage or {}):
        yield Flaw("captured usage differs from the ledger", call.request_id)
    start = call.start_usage if call.events else None
    if exchange.usage_at_start != start:
        yield Flaw("captured start usage differs from the ledger", call.request_id)


def _same_usage(call: Served, usage: Mapping[str, Any]) -> bool:
    """Whether the usage is the ledger's; what only a start has is not sent if the start is bare."""
    expected = dict(call.usage or {})
    if call.events and call.start_usage is None:
        expected = {name: count for name, count in expected.items() if name in usage}
    return usage == expected and "output_tokens" in usage


def _account_flaws(
    pair: Path,
    case: Case,
    outcome: Outcome,
    found: Mapping[str, Sequence[Filed]],
    served: Sequence[Served],
) -> Iterator[Flaw]:
    captures, claude = pair / CAPTURES, ClaudeDir(pair / CLAUDE)
    reconciler = SessionReconciler(captures, claude, _AT_ONCE)
    results = _printed(outcome)
    labels: set[str] = set()
    accounted: set[str] = set()
    flows = {
        call.request_id: {exchange.flow_id for _, exchange in found[call.request_id]}
        for call in served
    }
    for session_id, folder in _sessions(captures, claude):
        result = results.get(session_id)
        totals = result_totals(result) if result else None
        account = reconciler.reconcile(folder, session_id, result=totals)
        labels |= {label(finding) for finding in account.findings}
        own = {f.call.flow_id for f in account.calls if f.call}
        accounted |= own
        mine = [c for c in served if _to_model(c) and flows[c.request_id] & own]
        seen = sum((_seen(c, found[c.request_id]) for c in mine), Tokens())
        yield from session_flaws(account, seen)
        yield from _money_flaws(account)
    has_sessions = bool(claude.session_ids()) or any(call.session_id for call in served)
    for call in served:
        if has_sessions and _to_model(call) and not flows[call.request_id] & accounted:
            yield Flaw("a call is in no session's account", call.request_id)
    if case.expects and not labels & set(case.expects):
        yield Flaw(f"no {' or '.join(case.expects)}", ", ".join(sorted(labels)))


def _seen(call: Served, filed: Sequence[Filed]) -> Tokens:
    """Return what was served; of an answer whose client left before its end, what came before."""
    for _, exchange in filed:
        if exchange.ended_by == "client_disconnect":
            return Tokens.of(exchange.usage or exchange.usage_at_start)
    return Tokens.of(call.usage or call.start_usage)


def session_flaws(account: Reconciliation, served: Tokens) -> Iterator[Flaw]:
    """Return what a session's account leaves unexplained, and where it differs from the ledger."""
    for finding in account.findings:
        if not finding.explained:
            at = finding.call.sequence if finding.call else finding.turn and finding.turn.message_id
            said = ", ".join(finding.evidence)
            yield Flaw(f"unexplained {label(finding)}", f"{account.session_id[:8]} {at}: {said}")
    for witness in account.witnesses:
        if not witness.explained:
            yield Flaw(f"unexplained witness {witness.name}", ", ".join(witness.evidence))
    wire = sum((finding.wire_tokens for finding in account.calls), Tokens())
    if served != wire:
        yield Flaw("wire tokens differ from the ledger", f"{wire} in place of {served}")


def _money_flaws(account: Reconciliation) -> Iterator[Flaw]:
    """Compare dollars where the client's tokens equal the wire's without any rule."""
    own = tuple(finding for finding in account.calls if not finding.is_other_program)
    wire = totals_of(replace(account, calls=own)).wire
    if wire.unpriced:
        yield Flaw("a model has no price", ", ".join(wire.unpriced))
    for witness in account.witnesses:
        if witness.cause == "none" and _differ(wire.usd, witness.usd):
            yield Flaw(f"dollars differ from {witness.name}", _dollars(wire.usd, witness))


def _differ(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) >= _CENT


def _dollars(wire: float | None, witness: Witness) -> str:
    return f"{wire} on the wire and {witness.usd} in {witness.name}"


def _sessions(captures: Path, claude: ClaudeDir) -> Iterator[tuple[str, Path]]:
    """Yield every session with calls, and those whose calls can only be in `unknown/`."""
    named = set()
    for folder in session_folders(captures):
        named.add(folder.name)
        if any(exchange.kind in CALL_KINDS for exchange in read_exchanges(folder)):
            yield folder.name, folder
    unknown = captures / UNKNOWN
    if unknown.is_dir():
        yield from ((name, unknown) for name in claude.session_ids() if name not in named)


def _printed(outcome: Outcome) -> dict[str, Mapping[str, Any]]:
    """Return the result that was printed last for each session, if no later run printed none."""
    found: dict[str, Mapping[str, Any]] = {}
    for run in outcome.runs:
        result = parse_result(run["stdout"])
        if result is None or not isinstance(result.get("session_id"), str):
            found.clear()
        else:
            found[result["session_id"]] = result
    return found


def _captured(captures: Path) -> list[tuple[str, Exchange]]:
    folders = [*session_folders(captures), captures / UNKNOWN]
    return [(folder.name, e) for folder in folders for e in read_exchanges(folder)]


def _to_model(call: Served) -> bool:
    return call.kind == "messages" and call.method == "POST"
