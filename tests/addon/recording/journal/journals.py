"""A journal in memory with both of its sides, without processes."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from addon.identity.processes import ClientProcess
from addon.recording.jobs import LIMIT, Begun, Chunk, Job
from addon.recording.journal.append import Journal
from addon.recording.journal.folder import JournalFolder
from addon.recording.journal.read import JournalReader
from tests.faults import busy


class Both:
    """Both sides of a journal; `owners` contains the lookups of connections by their id."""

    def __init__(self, captures: Path, limit: int = LIMIT) -> None:
        self.folder = JournalFolder.create(captures, "run-x")
        self.owners: dict[str, Future[ClientProcess | None]] = {}
        self.woken = 0
        self.journal = Journal(self.folder.path, self._wake, self.owners.get, limit=limit)
        self.reader = JournalReader(self.folder)

    def _wake(self) -> None:
        self.woken += 1

    def exchange(self, flow_id: str, upto: int | None = None, **more: int) -> list[Job]:
        """Append the jobs of an exchange and return them."""
        jobs = busy.jobs(flow_id, busy.SESSIONS[0], **more)[:upto]
        for job in jobs:
            self.put(job)
        return jobs

    def put(self, job: Job) -> None:
        if isinstance(job, Chunk):
            self.journal.tee(job.flow_id)(job.data)
        else:
            self.journal.put(job)

    def read(self) -> list[Job]:
        jobs = self.reader.read()
        while self.reader.has_more:
            jobs += self.reader.read()
        return jobs

    def names(self) -> list[str]:
        return [file.name for file in self.folder.files()]


def owner_of(connection_id: str) -> Future[ClientProcess | None]:
    """Return the lookup of a process, which is done."""
    found: Future[ClientProcess | None] = Future()
    found.set_result(busy.process_of(connection_id))
    return found


@contextmanager
def both(captures: Path, limit: int = LIMIT) -> Iterator[Both]:
    made = Both(captures, limit)
    try:
        yield made
    finally:
        made.reader.close()
        made.journal.close()
        made.folder.remove()


def plain(jobs: list[Job]) -> list[object]:
    """Return jobs in a form that can be compared: without the times of chunks."""
    return [(job.flow_id, job.data) if isinstance(job, Chunk) else _plain(job) for job in jobs]


def _plain(job: Job) -> object:
    return (job.request, job.process) if isinstance(job, Begun) else job
