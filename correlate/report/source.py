"""Read everything a report shows of a session. Unreadable files are reported, not raised.

Reads request and response files and transcript lines. Keeps only one request per thread in memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ccwire.wire.pack.files import PackDamaged
from ccwire.wire.safe_text import visible
from correlate.captures.content import (
    Block,
    CaptureFiles,
    answer_blocks,
    betas_of,
    body_of,
    thread_of,
    turn_blocks,
)
from correlate.captures.folder import session_manifest, transcript_files
from correlate.compare.requests import request_changes
from correlate.reconcile.result import Finding, Reconciliation
from correlate.reconcile.totals import Totals, totals_of
from correlate.report.contents import (
    Added,
    Piece,
    added_by,
    answer_pieces,
    body_pieces,
    fit_to_page,
    turn_pieces,
)
from correlate.report.fit import Clean
from correlate.report.request_sizes import RequestSizes, request_sizes
from correlate.report.threads import MAIN, lane_of
from correlate.report.uncaptured import Asked, asked_before, drawn_times
from correlate.transcript.about import About, read_about
from correlate.transcript.conversation import read_conversation
from correlate.transcript.lineage import HookRecords
from correlate.transcript.locate import ClaudeDir, SessionFiles, first_cwd
from correlate.transcript.reader import Progress, read_transcript
from correlate.transcript.titles import title_of
from correlate.transcript.turns import TranscriptPlace, Turn

ReadFile = Callable[[int], Mapping[str, Any]]
TranscriptBlocks = list[tuple[Block, TranscriptPlace]]  # a turn's blocks, each with its line

_TEXT_BUDGET = 1_250_000  # bytes of captured text on a page
_LEAST, _MOST = 500, 40_000  # limits for a single call
_MOST_REQUESTS = 12


@dataclass(frozen=True, slots=True)
class NamedRequest:
    """The sizes of one request, and its roles in its thread: first, largest, last."""

    lane: str
    roles: tuple[str, ...]
    sequence: int
    contents: RequestSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The data of a report. `contents` is by call sequence, `turn_contents` in order."""

    session: Reconciliation
    totals: Totals
    title: str | None = None
    cwd: str | None = None
    contents: Mapping[int, Mapping[str, Any]]
    turn_contents: Sequence[Sequence[Mapping[str, Any]]]
    requests: tuple[NamedRequest, ...]
    problems: tuple[str, ...]
    turn_calls: Sequence[Mapping[str, Any]] = ()  # turns as calls, if nothing was captured
    about: About


def read_source(
    folder: Path | None,
    session: Reconciliation,
    claude: ClaudeDir,
    progress: Progress | None = None,
    clean: Clean = str,
    hooks: HookRecords = HookRecords(),  # noqa: B008, it is frozen
) -> Source:
    """Read a session; `progress` is called with bytes that add up to `content_size`.

    `clean` redacts texts that are cut, so that no part of a secret remains. `hooks` is what the
    session's hooks recorded.
    """
    if folder is None:
        cwd, files = None, claude.session(session.session_id)
    else:
        cwd = session_manifest(folder, session.session_id).cwd
        files = transcript_files(claude, folder, session.session_id)
    transcripts = files.main
    reader = _SourceReader(folder, len(session.findings), progress or (lambda _: None), clean)
    if not transcripts:
        reader.problems.append("This session's main thread has no transcript.")
    contents = {
        finding.call.sequence: reader.call(finding) for finding in session.calls if finding.call
    }
    turn_calls: list[Mapping[str, Any]] = []
    if not session.is_captured:
        turn_calls = reader.turn_calls(session, files)
    return Source(
        session=session,
        totals=totals_of(session),
        title=title_of(transcripts[0], clean) if transcripts else None,
        cwd=cwd or (first_cwd(transcripts[0]) if transcripts else None),
        contents=contents,
        turn_contents=[reader.turn(finding) for finding in session.turns_without_call],
        requests=reader.requests.chosen(),
        problems=tuple(reader.problems),
        turn_calls=turn_calls,
        about=_about(claude, files, hooks),
    )


def _about(claude: ClaudeDir, files: SessionFiles, hooks: HookRecords) -> About:
    main = replace(files, agents=())
    try:
        entries = read_conversation(main).entries
    except OSError:  # named as a damaged line by whoever reads the turns
        entries = ()
    return read_about(claude, read_transcript(files), entries, hooks)


def content_size(session: Reconciliation) -> int:
    """Return the approximate number of bytes that `read_source` will read."""
    calls = [finding.call for finding in session.calls if finding.call]
    return sum(call.request_bytes + call.response_bytes for call in calls)


class _SourceReader:
    def __init__(
        self, folder: Path | None, findings: int, progress: Progress, clean: Clean
    ) -> None:
        self._clean = clean
        self._capture = CaptureFiles(folder) if folder is not None else None
        self._progress = progress
        self._budget = max(_LEAST, min(_MOST, _TEXT_BUDGET // max(findings, 1)))
        self._before: dict[Any, tuple[int, Mapping[str, Any]]] = {}
        self.requests = _NotableRequests()
        self.problems: list[str] = []

    @property
    def _files(self) -> CaptureFiles:
        assert self._capture is not None, "a session without a capture has no call"
        return self._capture

    def call(self, finding: Finding) -> Mapping[str, Any]:
        assert finding.call is not None
        sequence = finding.call.sequence
        problems: list[str] = []
        in_transcript = _turn_blocks(finding.turn, problems)
        added = self._request(finding, problems)
        answer = self._answer(sequence, in_transcript, problems)
        request, blocks, left_out = fit_to_page(added, answer, self._budget, self._clean)
        self.problems += problems
        self._progress(finding.call.request_bytes + finding.call.response_bytes)
        return {
            "request": request,
            "answer": blocks,
            "left_out": left_out,
            "problems": [visible(problem) for problem in problems],
            "request_file": _visible_name(self._files.request_name(sequence)),
            "response_file": _visible_name(self._files.response_name(sequence)),
        }

    def turn(self, finding: Finding) -> Sequence[Mapping[str, Any]]:
        in_transcript = _turn_blocks(finding.turn, self.problems) or []
        return fit_to_page(None, turn_pieces(in_transcript), self._budget, self._clean)[1]

    def turn_calls(self, session: Reconciliation, files: SessionFiles) -> list[Mapping[str, Any]]:
        """Return the turns of a session without a capture as the page draws calls."""
        findings = session.turns_without_call
        try:
            asked = asked_before(findings, files)
        except OSError as error:
            self.problems.append(f"Cannot read the prompts ({error.strerror}).")
            asked = [Asked(Added(None, (), ()), None) for _ in findings]
        times = drawn_times(findings, [one.at for one in asked])
        rows: list[Mapping[str, Any]] = []
        for finding, one, (started, ended) in zip(findings, asked, times, strict=True):
            answer = turn_pieces(_turn_blocks(finding.turn, []) or [])
            request, blocks, left_out = fit_to_page(one.added, answer, self._budget, self._clean)
            content = {"request": request, "answer": blocks, "left_out": left_out, "problems": []}
            is_timed = one.at is not None  # else nothing shows when the call can have begun
            rows.append(
                {"started": started, "ended": ended, "is_timed": is_timed, "content": content}
            )
        return rows

    def _request(self, finding: Finding, problems: list[str]) -> Added | None:
        call = finding.call
        assert call is not None
        request = self._read(self._files.request, call.sequence, "request", problems)
        body = body_of(request) if request is not None else None
        if request is None or not isinstance(body, dict):
            return None
        thread = thread_of(call, finding.turn)
        since, before = self._before.get(thread, (None, {}))
        self._before[thread] = (call.sequence, request)
        self.requests.add(finding, request_sizes(body))
        old = body_of(before)
        changes = request_changes(
            old if isinstance(old, dict) else None, body, betas_of(before), betas_of(request)
        )
        return added_by(changes, since)

    def _answer(
        self, sequence: int, in_transcript: TranscriptBlocks | None, problems: list[str]
    ) -> tuple[Piece, ...]:
        response = self._read(self._files.response, sequence, "response", problems)
        if response is None:
            return turn_pieces(in_transcript or [])
        blocks = answer_blocks(response)
        return (
            body_pieces(body_of(response))
            if blocks is None
            else answer_pieces(blocks, in_transcript)
        )

    def _read(
        self, read: ReadFile, sequence: int, what: str, problems: list[str]
    ) -> Mapping[str, Any] | None:
        try:
            return read(sequence)
        except FileNotFoundError:
            problems.append(f"Call {sequence} has no {what} file.")
        except (ValueError, PackDamaged):
            problems.append(f"Call {sequence}: the {what} file is damaged.")
        except OSError as error:
            problems.append(f"Call {sequence}: cannot read the {what} file ({error.strerror}).")
        return None


class _NotableRequests:
    """Collects the requests to show: the main thread's first, largest and last, and the largest
    of every other thread."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, RequestSizes]] = {}

    def add(self, finding: Finding, sizes: RequestSizes) -> None:
        assert finding.call is not None
        lane, seen = lane_of(finding), (finding.call.sequence, sizes)
        if lane == MAIN:
            self._found.setdefault((lane, "first"), seen)
            self._found[lane, "last"] = seen
        largest = self._found.setdefault((lane, "largest"), seen)
        if sizes.total > largest[1].total:
            self._found[lane, "largest"] = seen

    def chosen(self) -> tuple[NamedRequest, ...]:
        roles: dict[tuple[str, int], list[str]] = {}
        for (lane, role), (sequence, _) in self._found.items():
            roles.setdefault((lane, sequence), []).append(role)
        sizes = dict(self._found.values())
        named = [NamedRequest(lane, tuple(r), n, sizes[n]) for (lane, n), r in roles.items()]
        return tuple(
            sorted(named, key=lambda one: (one.lane != MAIN, one.sequence))[:_MOST_REQUESTS]
        )


def _turn_blocks(turn: Turn | None, problems: list[str]) -> TranscriptBlocks | None:
    if turn is None:
        return None
    try:
        return turn_blocks(turn)
    except OSError as error:
        problems.append(f"Cannot read {turn.places[0]} ({error.strerror}).")
        return None


def _visible_name(name: str | None) -> str | None:
    return None if name is None else visible(name)
