"""The recorder: tracks exchanges from request to response and writes them to session folders.

Called from one thread only. An exchange whose process is known but has no session yet is kept under
`unknown/` and moved to the first session that the process gets.
"""

import logging
import math
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from addon.identity.lookup import SessionLookup
from addon.identity.processes import ClientProcess
from addon.identity.session import Identity, SessionEvidence, identify
from addon.recording.adoption import Adoption
from addon.recording.content.body import joined_headers
from addon.recording.content.exchange_files import (
    SpilledBody,
    elapsed,
    exchange_line,
    head,
    response_fields,
    response_pieces,
)
from addon.recording.content.request import RequestRecord, request_record
from addon.recording.content.response import answer_for
from addon.recording.drift import DriftWatch, Sighting
from addon.recording.jobs import (
    Answered,
    Begun,
    Chunk,
    Ended,
    Failed,
    Job,
    Lost,
    RequestSeen,
    ResponseSeen,
)
from addon.recording.open_exchange import OpenExchange
from addon.recording.pending import Filed, Pending, PendingExchanges
from addon.recording.recovery import LeftPart
from addon.redaction.redactor import Redactor
from addon.storage import manifest as manifests
from addon.storage.files import write_pieces, write_whole
from addon.storage.folder import CaptureStore, Slot
from addon.storage.index import Finished, SessionIndex
from addon.storage.packing.rolling import Rolling
from addon.storage.traffic_log import summary
from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import UNKNOWN, Gap
from ccwire.wire.json_text import dump
from ccwire.wire.vocabulary import EndedBy, GapKind

logger = logging.getLogger("ccwire")

_IDLE_SECONDS = 0.05  # short, so that the next request does not wait
_CLOSING_SECONDS = 2.0
_FOLDERS_AT_ONCE = 20
_MOST_UNWRITTEN = 1 << 20  # bytes of lines, after which the part file does not wait for the batch
_PATIENCE_SECONDS = 15.0  # longer than any client takes to identify its session


class Recorder:
    """Records the exchanges of one proxy."""

    def __init__(
        self,
        store: CaptureStore,
        redactor: Redactor,
        lookup: SessionLookup,
        keep_open: int | None = None,
    ) -> None:
        """`keep_open` is the number of exchanges per session that are not packed; None: all."""
        self._store = store
        self._redactor = redactor
        self._lookup = lookup
        self._open: dict[str, OpenExchange] = {}
        self._rolling = Rolling(keep_open)
        self._index = SessionIndex(store, lookup.entry, self._rolling.finished)
        self._pending = PendingExchanges(store, self._index, lookup)
        self._adoption = Adoption(store)
        self._drift = DriftWatch(self._note_drift)
        self._logged: set[str] = set()
        self._before: list[Path] | None = None  # folders of sessions to look at
        self._left: dict[str, LeftPart] = {}  # of exchanges that are replayed
        self._done: frozenset[str] = frozenset()  # flows that are replayed, but recorded already

    def resume(self, parts: Mapping[str, LeftPart], done: Collection[str]) -> None:
        """Expect a replay: of exchanges with a part file, and of ones that are in the index."""
        self._left, self._done = dict(parts), frozenset(done)

    def is_open(self, flow_id: str) -> bool:
        """Return whether the exchange is in flight."""
        return flow_id in self._open

    def handle(self, job: Job) -> None:
        """Process one job of the queue; `addon.recording.jobs` defines them."""
        match job:
            case Chunk():
                self._chunk(*job)
            case Begun(request, process):
                self._begin(request, process)
            case Answered(flow_id, response):
                self._answered(flow_id, response)
            case Ended(flow_id, at, ended_by, error):
                self._end(flow_id, at, ended_by, error)
            case Lost(flow_id):
                self._lost(flow_id)
            case Failed(failed_flow, cause):
                self._failed(failed_flow, cause)

    def _begin(self, seen: RequestSeen, process: ClientProcess | None) -> None:
        record = request_record(seen, self._redactor)
        if process is not None and record.facts.claude_version:
            self._lookup.is_client(process, record.facts.claude_version)
        elif process is not None and _is_program(record):
            self._lookup.is_program(process)
        identity = self._identify(record, process)
        if seen.flow_id in self._done:  # but what it tells about its process is news
            return
        left = self._left.pop(seen.flow_id, None)
        slot = self._store.reopen_slot(left.path, record.base["path"]) if left else None
        if left is not None and slot is not None:  # numbered already, in the session known then
            folder = slot.folder.name
            identity = Identity(None if folder == UNKNOWN else folder, left.identified_by)
        try:
            self._open[seen.flow_id] = self._opened(seen, record, identity, process, slot)
        except OSError as error:  # the session is known here, so record the loss in its manifest
            self._lose(identity.session_id, None, error)

    def _answered(self, flow_id: str, response: ResponseSeen) -> None:
        if (exchange := self._open.get(flow_id)) is None:
            return
        original = joined_headers(response.headers)
        clean = ResponseSeen(
            at=response.at,
            status=response.status,
            reason=self._redactor.text(response.reason),
            http_version=response.http_version,
            headers=self._redactor.headers(response.headers),
        )
        exchange.response = clean
        exchange.answer = answer_for(original, self._redactor, exchange.record.base["kind"])
        exchange.slot.note(dump({"response": asdict(clean)}))

    def _chunk(self, flow_id: str, at: float, data: bytes) -> None:
        if (exchange := self._open.get(flow_id)) is None or exchange.lost:
            return
        if exchange.first_byte is None:
            exchange.first_byte = at
        exchange.last_byte = at
        lines = exchange.answer.feed(elapsed(exchange.first_byte, at) * 1000, data)
        exchange.unwritten += lines
        exchange.unwritten_size += sum(map(len, lines))
        if exchange.unwritten_size > _MOST_UNWRITTEN:
            self._note(exchange)

    def _lost(self, flow_id: str) -> None:
        """The queue overflowed: the rest of this response is missing."""
        if exchange := self._open.get(flow_id):
            exchange.lost = True
            self._gap(exchange.identity.session_id, "capture_error", exchange, "disk too slow")

    def _end(self, flow_id: str, at: float, ended_by: EndedBy, error: str | None) -> None:
        if (exchange := self._open.get(flow_id)) is None:
            return
        if exchange.lost:
            ended_by, error = "proxy_stopped", "the capture fell behind and lost the rest"
        error = self._redactor.url(error) if error else None
        answer = exchange.finish(ended_by, error)
        base = exchange.record.base
        timing = {
            "request_start": base["started"],
            "request_end": exchange.request_ended,
            "first_byte": exchange.first_byte or (exchange.response and exchange.response.at),
            "last_byte": exchange.last_byte,
            "seconds": round(elapsed(base["started"], at), 6),
        }
        line = exchange_line(
            **exchange.ids,
            identity=exchange.identity,
            request=base,
            facts=asdict(exchange.record.facts),
            process=exchange.process_fields,
            response=exchange.response,
            answer=answer,
            ended=at,
            first_byte=timing["first_byte"],
        )
        top = head(exchange.ids, exchange.identity, "response", at)
        fields = response_fields(exchange.record.fields, exchange.response, answer, timing)
        slot = exchange.slot
        if isinstance(answer.body, SpilledBody):
            self._note(exchange, answer.body.last)
        write_pieces(slot.response_file, response_pieces(top, fields, slot.lines))
        del self._open[flow_id]
        session_id = exchange.identity.session_id
        finished = Finished(exchange.slot, line, len(exchange.identity.conflicts))
        self._index.enter(session_id, finished)
        if session_id is None:
            named = exchange.record.telemetry_session
            self._pending.add(exchange.process, Pending(finished, at, named))
        else:
            self._look_for_drift(session_id, finished)
        logger.info(summary(session_id, line))

    def write_parts(self) -> None:
        """Append new events to the part files, after each batch, so that they survive a kill."""
        for flow_id, exchange in list(self._open.items()):
            if exchange.unwritten:
                try:
                    self._note(exchange)
                except OSError as error:
                    self._failed(flow_id, error)

    def _note(self, exchange: OpenExchange, last: Iterable[bytes] = ()) -> None:
        lines = [*exchange.unwritten, *last]
        exchange.unwritten.clear()
        exchange.unwritten_size = 0
        if lines:
            exchange.slot.note(b"\n".join(lines))

    def settle(self) -> None:
        """Write part files and indexes, and file pending exchanges, after one or more batches."""
        self.write_parts()
        self._index.write()
        self._moved(self._pending.file(time.time() - _PATIENCE_SECONDS))
        self._rolling.catch_up(_IDLE_SECONDS)

    def idle(self) -> None:
        """Do deferred work while no jobs arrive."""
        self._adopt()
        patient_until = time.time() - _PATIENCE_SECONDS
        self._moved(self._pending.file_by_ids(patient_until, _IDLE_SECONDS))
        self._drift.look(_IDLE_SECONDS)
        self._take_up_folders()
        self._rolling.work(_IDLE_SECONDS, self._has_ended)

    def close(self) -> None:
        """Finish all open exchanges: only a killed proxy leaves any, a stopped one ends each."""
        for flow_id, exchange in list(self._open.items()):
            try:
                self._gap(
                    exchange.identity.session_id, "recovered", exchange, "the proxy was killed"
                )
                self._end(flow_id, exchange.last_seen, "proxy_stopped", "the proxy was killed")
            except Exception as error:
                self._failed(flow_id, error)
        self.settle()
        self._adopt()
        self._moved(self._pending.file_by_ids(math.inf, _CLOSING_SECONDS, at_once=True))
        self._moved(self._pending.file(math.inf))
        self._moved(self._pending.file_under_run())
        self._drift.look(_CLOSING_SECONDS)
        self._rolling.close()

    def _take_up_folders(self) -> None:
        """Look at some of the sessions from before, for exchanges that were left to be packed."""
        if self._before is None:
            root = self._store.root
            self._before = self._store.session_folders() if root.is_dir() else []
        for _ in range(min(_FOLDERS_AT_ONCE, len(self._before))):
            self._rolling.take_up(self._before.pop())

    def _has_ended(self, session_id: str) -> bool:
        entry = self._lookup.entry(session_id)
        return entry is not None and entry.state in ("exited", "crashed")

    def _failed(self, flow_id: str | None, error: Exception) -> None:
        """Give up an exchange and record the loss; its part file stays for recovery."""
        exchange = self._open.pop(flow_id, None) if flow_id else None
        if exchange is not None:
            exchange.slot.part.close()
            self._lose(exchange.identity.session_id, exchange, error)
        elif flow_id is not None:
            self._lose(None, None, error)
        else:
            self._log_once(error)

    def _opened(
        self,
        seen: RequestSeen,
        record: RequestRecord,
        identity: Identity,
        process: ClientProcess | None,
        slot: Slot | None,
    ) -> OpenExchange:
        if identity.session_id is None:
            self._adoption.hold()
        is_replayed = slot is not None  # then its part has its head, and it may have files
        slot = slot or self._store.open_slot(identity.session_id, record.base["path"])
        exchange = OpenExchange(seen.flow_id, slot, record, identity, process, seen.ended)
        try:
            if not is_replayed:
                slot.note(dump({"request": exchange.part_head()}))
            write_whole(slot.request_file, exchange.request_file(seen))
        except Exception:
            if is_replayed:
                slot.part.close()
            else:
                self._store.release(slot)
            raise
        return exchange

    def _lose(
        self, session_id: str | None, exchange: OpenExchange | None, error: Exception
    ) -> None:
        """Log each cause once, and add a gap to the manifest as soon as it can be written."""
        self._gap(session_id, "capture_error", exchange, _reason(error))
        self._log_once(error)

    def _log_once(self, error: Exception) -> None:
        if (reason := _reason(error)) in self._logged:
            return
        self._logged.add(reason)
        logger.error(
            f"ccwire: an exchange could not be captured ({reason}); Claude Code is not affected"
        )
        if not isinstance(error, OSError):
            logger.debug("ccwire: traceback of the capture error", exc_info=error)

    def _identify(self, record: RequestRecord, process: ClientProcess | None) -> Identity:
        """Identify the session; use telemetry only if the process is unknown.

        At startup, a client's telemetry may name a session that never exists. If the process is
        known, the exchange can wait for better evidence.
        """
        identity = identify(
            SessionEvidence(
                header=record.header_session,
                user_id=record.user_id_session,
                process=self._lookup.by_process(process, patient=False),
                live_record=self._lookup.by_live_record(
                    process, record.base["started"] - _PATIENCE_SECONDS
                ),
                telemetry=record.telemetry_session if process is None else None,
            )
        )
        if identity.session_id is None:
            run = self._lookup.by_run(process, is_program=_is_program(record))
            return identify(SessionEvidence(run=run))
        if identity.identified_by in ("header", "user_id"):
            self._lookup.name_session(process, identity.session_id)
        return identity

    def _adopt(self) -> None:
        """File what an earlier proxy left waiting for a session, if it has one now."""
        left = self._adoption.left(self._pending.flow_ids)
        if not left:
            return
        for process, pending in left:
            version = pending.finished.line.claude_version
            if process is not None and version:
                self._lookup.is_client(process, version)
            self._pending.add(process, pending)
        patient_until = time.time() - _PATIENCE_SECONDS
        self._moved(self._pending.file_by_ids(patient_until, _CLOSING_SECONDS, at_once=True))
        self._moved(self._pending.file(patient_until))
        self._pending.forget_adopted()

    def _moved(self, filed: Filed) -> None:
        if filed:
            self._index.write()
        for session_id, finished in filed:
            self._look_for_drift(session_id, finished)

    def _look_for_drift(self, session_id: str | None, finished: Finished) -> None:
        line = finished.line
        if line.kind in CALL_KINDS and not line.claude_version:
            return  # of another program, as in `_is_program`; only the client's formats are known
        entry = self._lookup.entry(session_id) if session_id else None
        transcript = Path(entry.transcript_path) if entry and entry.transcript_path else None
        version = line.claude_version or (entry.claude_version if entry else None)
        version = version or self._lookup.version_of(line.pid, line.process_started)
        slot = finished.slot
        self._drift.add(
            Sighting(session_id, version, slot.request_file, slot.response_file, transcript)
        )

    def _note_drift(self, session_id: str | None, found: Iterable[str]) -> None:
        self._index.change(session_id, lambda m: manifests.with_drift(m, found))

    def _gap(
        self, session_id: str | None, kind: GapKind, exchange: OpenExchange | None, detail: str
    ) -> None:
        gap: Gap = {
            "kind": kind,
            "at": time.time(),
            "sequence": exchange.slot.sequence if exchange else None,
            "detail": detail,
        }
        self._index.gap(session_id, gap)


def _is_program(record: RequestRecord) -> bool:
    """Whether a program other than the client sent it; the client's calls have its user agent."""
    return record.base["kind"] in CALL_KINDS and not record.facts.claude_version


def _reason(error: Exception) -> str:
    name = type(error).__name__
    return f"{name}: {error.strerror}" if isinstance(error, OSError) else name
