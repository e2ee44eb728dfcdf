"""Reconcile a session, captured or not: read its captures and transcripts and gather the evidence.

Does the file access for `match`, `judge` and `witnesses`, which are pure.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import Exchange, Manifest
from ccwire.wire.usage import Tokens
from correlate.captures.folder import (
    has_session,
    manifest_flaw,
    read_exchange_lines,
    read_exchanges,
    request_file,
    response_file,
    session_manifest,
)
from correlate.captures.sessions import Captured, sessions_of
from correlate.reconcile.call_files import read_call_files
from correlate.reconcile.forks import ForkOrigins
from correlate.reconcile.judge import JudgeContext, judge
from correlate.reconcile.match import Joined, join
from correlate.reconcile.purpose import clients_of
from correlate.reconcile.result import Finding, Reconciliation, Witness
from correlate.reconcile.unassigned import unassigned_calls
from correlate.reconcile.witnesses.client_totals import ClientTotals, cost_state_totals
from correlate.reconcile.witnesses.compare import hold_against
from correlate.reconcile.witnesses.invocation_metrics import metrics_witness
from correlate.reconcile.witnesses.restarts import result_selections, saved_selections
from correlate.transcript.locate import ClaudeDir, SessionFiles
from correlate.transcript.reader import Progress, Transcript, read_transcript

_UNREADABLE = "exchanges.jsonl is not readable"
_MOST_MISSING = 10_000  # sequence numbers that are looked for


@dataclass(frozen=True, slots=True)
class TranscriptWait:
    """How long to wait for transcript lines that are not written yet."""

    tries: int = 40
    pause: float = 0.05
    recent: float = 5.0  # do not wait for answers that ended earlier than this
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time


class SessionReconciler:
    """Reconciles captured sessions, one at a time; the others are evidence."""

    def __init__(
        self, captures: Captured, claude: ClaudeDir, patience: TranscriptWait | None = None
    ) -> None:
        self._captures = captures
        self._claude = claude
        self._origins = ForkOrigins(captures, claude)
        self._patience = patience or TranscriptWait()

    def reconcile(
        self,
        folder: Path | None,
        session_id: str | None = None,
        *,
        result: ClientTotals | None = None,
        progress: Progress | None = None,
    ) -> Reconciliation:
        """Reconcile one session; `folder` is its capture, or `unknown/` with `session_id`.

        Without a folder, nothing of the session was captured, and its turns are `uncaptured`.
        """
        if folder is None:
            return self._uncaptured(session_id or "", result, progress)
        own = has_session(folder)
        manifest = session_manifest(folder, session_id or folder.name)
        found, torn = read_exchange_lines(folder)
        transcript, exchanges, joined = self._joined(manifest, found, own, progress)
        calls = [pair.call for pair in joined.pairs] + list(joined.calls_alone)
        origins = self._origins.of(joined.turns_alone, transcript.files)
        files = read_call_files(folder, calls, joined)
        evidence = JudgeContext(
            facts=files.facts,
            empty_answers=files.empty_answers,
            sent_outputs=files.sent_outputs,
            origins=origins,
            began=_began(manifest, exchanges),
            missing_sequences=(missing := _missing(folder, exchanges) if own else ()),
            numbered_from_one=1 not in missing,
        )
        call_findings, turn_findings = judge(joined, transcript, evidence)
        notes = [f"exchanges.jsonl:{n} is malformed" if n else _UNREADABLE for n in torn]
        if own and (flaw := manifest_flaw(folder)):
            notes.append(f"manifest.json is damaged ({flaw})")
        notes += [f"a file of call {number} is damaged" for number in files.damaged]
        return Reconciliation(
            session_id=manifest.session_id,
            claude_versions=tuple(dict.fromkeys([*manifest.claude_versions, *transcript.versions])),
            calls=call_findings,
            turns_without_call=turn_findings,
            witnesses=self._witnesses(
                transcript, call_findings, turn_findings, result, files.cut_texts
            ),
            agents=_agent_types(manifest, transcript),
            agent_details=tuple(transcript.agents.values()),
            records=transcript.records,
            notes=tuple(notes),
            bad_lines=_bad_lines(transcript),
            compacted_at=_compacted_at(transcript),
            tool_lines=transcript.tool_lines,
        )

    def _uncaptured(
        self, session_id: str, result: ClientTotals | None, progress: Progress | None
    ) -> Reconciliation:
        """Return the turns of a session that has a transcript alone, each by its own usage."""
        transcript = read_transcript(self._claude.session(session_id), progress)
        joined = join([], transcript.turns)
        origins = self._origins.of(joined.turns_alone, transcript.files)
        _, turns = judge(joined, transcript, JudgeContext(origins=origins, is_captured=False))
        state = transcript.cost_state
        claimed = [cost_state_totals(state)] if state is not None else []
        return Reconciliation(
            session_id=session_id,
            claude_versions=transcript.versions,
            calls=(),
            turns_without_call=turns,
            witnesses=tuple(map(_claim, [*claimed, *([result] if result else [])])),
            agents={agent.agent_id: agent.type for agent in transcript.agents.values()},
            agent_details=tuple(transcript.agents.values()),
            records=transcript.records,
            bad_lines=_bad_lines(transcript),
            compacted_at=_compacted_at(transcript),
            tool_lines=transcript.tool_lines,
            is_captured=False,
        )

    def _joined(
        self,
        manifest: Manifest,
        exchanges: Sequence[Exchange],
        own: bool,
        progress: Progress | None,
    ) -> tuple[Transcript, Sequence[Exchange], Joined]:
        """Read and join; repeat while the newest answers may not be written yet."""

        def read(files: SessionFiles) -> tuple[Transcript, Sequence[Exchange], Joined]:
            transcript = read_transcript(files, progress)
            mine = exchanges if own else unassigned_calls(exchanges, transcript.turns)
            return transcript, mine, join(_calls(mine), transcript.turns)

        patience = self._patience
        files = self._claude.session(manifest.session_id, manifest.transcript_paths)
        size = files.size
        found = read(files)
        progress = None
        for _ in range(patience.tries):
            since = patience.now() - patience.recent
            if not any(_is_awaited(call, since) for call in found[2].calls_alone):
                break
            patience.sleep(patience.pause)
            files = self._claude.session(manifest.session_id, manifest.transcript_paths)
            if files.size != size:
                size = files.size
                found = read(files)
        return found

    def _witnesses(
        self,
        transcript: Transcript,
        calls: Sequence[Finding],
        turns: Sequence[Finding],
        result: ClientTotals | None,
        cut_texts: Mapping[int, int],
    ) -> tuple[Witness, ...]:
        state = transcript.cost_state
        accounts = [cost_state_totals(state)] if state is not None else []
        counted = metrics_witness(calls)
        others = (counted,) if counted else ()
        if not accounts and result is None:
            return others
        inherited = [f.turn.message_id for f in turns if f.verdict == "inherited" and f.turn]
        compacted = [compaction.uuid for compaction in transcript.compactions]
        copied = filter(None, (*inherited, *compacted))
        sessions = self._origins.sharing(copied, transcript.files)
        bases = [
            cost_state_totals(base)
            for session_id in sessions
            for base in read_transcript(self._claude.session(session_id)).cost_states
        ]
        unseen = any(finding.verdict == "before-capture" for finding in turns)
        files = transcript.files.main
        own = [finding for finding in calls if not finding.is_other_program]
        saved = saved_selections(own, transcript.cost_states, files)
        compared = [
            hold_against(
                account,
                calls,
                turns,
                bases,
                earlier_unseen=unseen,
                selections=saved,
                cut_texts=cut_texts,
            )
            for account in accounts
        ]
        if result is not None:
            elsewhere = self._elsewhere(transcript.files.session_id, own)
            selections = result_selections(own, saved, files, elsewhere)
            compared.append(
                hold_against(
                    result,
                    calls,
                    turns,
                    bases,
                    earlier_unseen=unseen,
                    selections=selections,
                    elsewhere=elsewhere,
                    cut_texts=cut_texts,
                )
            )
        return (*compared, *others)

    def _elsewhere(self, session_id: str, calls: Sequence[Finding]) -> list[Finding]:
        """Return the calls of the same processes under other sessions, with negative numbers."""
        processes = clients_of(finding.call for finding in calls if finding.call)
        found = [
            exchange
            for name, folder in sessions_of(self._captures).items()
            if name != session_id
            for exchange in read_exchanges(folder)
            if exchange.kind == "messages" and (exchange.pid, exchange.process_started) in processes
        ]
        return [
            Finding(
                verdict="wire-only", kind="main", evidence=(), call=replace(one, sequence=-number)
            )
            for number, one in enumerate(found, 1)
        ]


def narrowed(
    session: Reconciliation, *, since_compact: bool = False, agent: str | None = None
) -> Reconciliation:
    """Return only the part after the last compaction, or of one agent; `main` is the main thread.

    The client's totals are omitted, because they cover the whole session.
    """
    since = max(session.compacted_at, default=None) if since_compact else None
    if since_compact and since is None:
        note = "the session has no compaction; showing the whole session"
        session = replace(session, notes=(*session.notes, note))
    if since is None and agent is None:
        return session

    def is_wanted(at: float | None, agent_id: str | None) -> bool:
        if since is not None and (at is None or at <= since):
            return False
        if agent == "main":
            return agent_id is None
        return agent is None or (agent_id or "").startswith(agent)

    def wanted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
        return tuple(one for one in findings if is_wanted(one.at, one.agent_id))

    tools = (line for line in session.tool_lines if is_wanted(line.timestamp, line.agent_id))
    return replace(
        session,
        calls=wanted(session.calls),
        turns_without_call=wanted(session.turns_without_call),
        tool_lines=tuple(tools),
        witnesses=(),
    )


def _claim(totals: ClientTotals) -> Witness:
    """Return a total of the client that there is no wire to compare with."""
    return Witness(
        name=totals.name,
        tokens=totals.tokens,
        usd=totals.usd,
        residual=Tokens(),
        cause="uncaptured",
        tells_ages=totals.tells_ages,
        evidence=("no call was captured to compare the client's own total with",),
    )


def _bad_lines(transcript: Transcript) -> tuple[str, ...]:
    return tuple(f"{bad.path.name}:{bad.line} {bad.reason}" for bad in transcript.bad_lines)


def _compacted_at(transcript: Transcript) -> tuple[float, ...]:
    return tuple(c.timestamp for c in transcript.compactions if c.timestamp is not None)


def _calls(exchanges: Sequence[Exchange]) -> list[Exchange]:
    calls = (exchange for exchange in exchanges if exchange.kind in CALL_KINDS)
    return sorted(calls, key=lambda call: (call.started, call.sequence))


def _is_awaited(call: Exchange, since: float) -> bool:
    whole = call.kind == "messages" and not call.broken
    of_a_thread = call.request_class in (None, "main", "subagent")
    return whole and of_a_thread and bool(call.tools) and (call.ended or 0) > since


def _began(manifest: Manifest, exchanges: Sequence[Exchange]) -> float | None:
    times = [exchange.started for exchange in exchanges]
    if manifest.first_seen is not None:
        times.append(manifest.first_seen)
    return min(times, default=None)


def _missing(folder: Path, exchanges: Sequence[Exchange]) -> tuple[int, ...]:
    """Return sequence numbers without a line, except those of calls in flight."""
    there = {exchange.sequence for exchange in exchanges}
    gone = (n for n in range(1, max(there, default=0) + 1) if n not in there)
    listed = islice(gone, _MOST_MISSING)  # a false number must not make this endless
    return tuple(n for n in listed if not _under_way(folder, n))


def _under_way(folder: Path, sequence: int) -> bool:
    return request_file(folder, sequence) is not None and response_file(folder, sequence) is None


def _agent_types(manifest: Manifest, transcript: Transcript) -> dict[str, str | None]:
    """Return agent types from the transcript, else from the wire or a hook."""
    types = dict(manifest.agents)
    for agent in transcript.agents.values():
        types[agent.agent_id] = agent.type or types.get(agent.agent_id)
    return types
