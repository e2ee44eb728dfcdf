"""Passes the jobs of a journal to a recorder, and removes from the journal what is recorded.

An exchange stays in the journal until its line is in the index. So when a writer process is killed,
the next one replays the exchanges that were not recorded yet: under the number they had, if they
had one. What is in the index already is not recorded again.
"""

import logging
import time
from dataclasses import dataclass
from pathlib import Path

from addon.recording.jobs import Failed, handle_safely, safely
from addon.recording.journal.folder import (
    JournalFolder,
    abandoned,
    clear_forgotten,
    flow_ids_in,
    journals_of,
)
from addon.recording.journal.read import JournalReader
from addon.recording.recorder import Recorder
from addon.recording.recovery import LeftPart, left_parts, recover
from addon.recording.start import CapturePaths, recorder_for
from addon.storage.folder import CaptureStore
from addon.storage.index import indexed

logger = logging.getLogger("ccwire")

_SETTLE_SECONDS = 0.1  # at least this long between index writes: a burst of calls shares one
_MOST_UNWRITTEN = 1000  # exchanges to keep while the index cannot be written


class JournalRecorder:
    """A recorder that is fed from a journal."""

    def __init__(self, folder: JournalFolder, recorder: Recorder) -> None:
        self._recorder = recorder
        self._reader = JournalReader(folder)
        self._settled = 0.0
        self.is_due = False  # whether something is recorded that is not in the index yet

    @property
    def read(self) -> int:
        """The bytes that were read so far."""
        return self._reader.size

    @property
    def has_more(self) -> bool:
        return self._reader.has_more

    def step(self) -> None:
        """Record what is new, and write the index if that is not too soon."""
        for job in self._reader.read():
            handle_safely(self._recorder, job)
            self.is_due = True
        if not self.is_due:
            return
        if time.monotonic() - self._settled < _SETTLE_SECONDS:
            safely(self._recorder, self._recorder.write_parts)
        else:
            self._settle()

    def idle(self) -> None:
        safely(self._recorder, self._recorder.idle)

    def finish(self) -> None:
        """Record the rest: nothing more will be written to the journal."""
        while True:
            for job in self._reader.read():
                handle_safely(self._recorder, job)
            if not self._reader.has_more:
                break
            self._settle()
        for job in self._reader.end():
            handle_safely(self._recorder, job)
        safely(self._recorder, self._recorder.close)
        self._settle()
        self._reader.close()

    def _settle(self) -> None:
        self._settled = time.monotonic()
        try:
            self._recorder.settle()
        except Exception as error:
            self._recorder.handle(Failed(None, error))
            ended = [f for f in self._reader.ended if not self._recorder.is_open(f)]
            self._reader.forget(ended[:-_MOST_UNWRITTEN])
            return
        self.is_due = False
        self._reader.forget([f for f in self._reader.ended if not self._recorder.is_open(f)])


def take_over(paths: CapturePaths, journal: JournalFolder | None) -> Recorder:
    """Recover what dead processes left in these captures; return a recorder for this journal.

    Exchanges of this journal that another recorder had begun are replayed by the one returned.
    """
    store = CaptureStore(paths.captures)
    recorder = recorder_for(paths)
    try:
        store.prepare()
        clear_forgotten()
        left = [*abandoned(paths.captures)]
        own = flow_ids_in(journal.path) if journal is not None else set()
        known = _known(store, own.union(*(flow_ids_in(one.path) for one in left)))
        known.prepare(recorder, own)
        recovered = _recover(store, known)
        replayed = sum(_drain(paths, one, known) for one in left)
        if count := replayed + recovered:
            what = "1 exchange" if count == 1 else f"{count} exchanges"
            logger.warning(f"ccwire: recovered {what} left by a killed proxy")
    except OSError as error:
        logger.warning(f"ccwire: {store.root} cannot be written ({error.strerror})")
    except Exception as error:
        logger.warning(f"ccwire: could not recover exchanges left by a killed proxy ({error!r})")
    return recorder


def drain(paths: CapturePaths, journal: JournalFolder) -> None:
    """Record all of a journal that nobody writes to any more, and remove it."""
    store = CaptureStore(paths.captures)
    store.prepare()
    known = _known(store, flow_ids_in(journal.path))
    try:
        _recover(store, known)
    finally:
        _drain(paths, journal, known)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the capture folder already contains of the flows of journals."""

    done: set[str]  # in the index, or on its way to another one
    parts: dict[str, LeftPart]

    def prepare(self, recorder: Recorder, flow_ids: set[str]) -> None:
        """Prepare a recorder for the replay of these flows."""
        parts = {flow_id: part for flow_id, part in self.parts.items() if flow_id in flow_ids}
        recorder.resume(parts, self.done & flow_ids)


def _known(store: CaptureStore, flow_ids: set[str]) -> _Known:
    if not flow_ids:
        return _Known(set(), {})
    left = left_parts(store)
    done = indexed(store, flow_ids) | (left.moved & flow_ids)
    parts = {flow: part for flow, part in left.exchanges.items() if flow in flow_ids - done}
    return _Known(done, parts)


def _recover(store: CaptureStore, known: _Known) -> int:
    """Finish the parts that no journal replays.

    Before any journal is replayed: that may move an exchange whose part is not removed yet.
    """
    return recover(
        store, lambda flow_id: flow_id not in known.done and _is_replayable(store.root, flow_id)
    )


def _drain(paths: CapturePaths, journal: JournalFolder, known: _Known) -> int:
    """Record a journal and remove it; return the number of exchanges that were not in the index."""
    flow_ids = flow_ids_in(journal.path)
    recorder = recorder_for(paths._replace(run=journal.run))
    known.prepare(recorder, flow_ids)
    JournalRecorder(journal, recorder).finish()
    journal.remove()
    return len(flow_ids - known.done)


def _is_replayable(captures: Path, flow_id: str) -> bool:
    """Return whether a journal will replay the flow: then recovery must leave it alone."""
    return any(flow_id in flow_ids_in(path) for path in journals_of(captures))
