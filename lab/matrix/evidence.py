"""The evidence of a pair of release and case: a folder that is judged again and again.

<cache>/<release>/<case>/
    outcome.json     written last: a pair without it is run again
    ledger.json      what the stand-in served during the case
    captures/        the sessions of the case, packed, and its calls in `unknown/`
    claude/          the client's transcripts of the case's project
"""

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from addon.storage.packing.pack import pack_session
from ccwire.demo.stand_in.ledger import Served
from ccwire.wire.format import EXCHANGES, UNKNOWN, Exchange, parse_file_name
from ccwire.wire.pack.files import exchange_files
from correlate.captures.folder import read_exchanges, session_folders
from correlate.transcript.locate import slug_of

OUTCOME = "outcome.json"
LEDGER = "ledger.json"
CAPTURES = "captures"
CLAUDE = "claude"
_AFTER = 0.5  # seconds; some clients send a little after they have exited
_LATER = 3600.0  # the proxy has stopped: no folder is in use


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a pair went: its runs, or what the release lacks, or why it was not run."""

    version: str
    case: str
    started: float = 0.0
    ended: float = 0.0
    runs: tuple[Mapping[str, Any], ...] = ()
    lacks: str | None = None
    problem: str | None = None

    @property
    def seconds(self) -> float:
        return self.ended - self.started


@dataclass(frozen=True, slots=True)
class FinishedCase:
    """A case that was run, and what was served meanwhile, before its files are kept."""

    outcome: Outcome
    served: tuple[Served, ...]
    project: Path


def cache() -> Path:
    """Return `$CCWIRE_MATRIX_CACHE`, else a folder in the user's cache."""
    named = os.environ.get("CCWIRE_MATRIX_CACHE")
    return Path(named or Path.home() / ".cache" / "ccwire" / "matrix")


def pair_folder(root: Path, version: str, case: str) -> Path:
    return root / version / case


def read_outcome(pair: Path) -> Outcome | None:
    """Return a pair's outcome; None if it was not run, or not to its end."""
    try:
        value = json.loads((pair / OUTCOME).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return Outcome(**(value | {"runs": tuple(value.get("runs", ()))}))


def read_ledger(pair: Path) -> list[Served]:
    known = {f.name for f in fields(Served)}
    path = pair / LEDGER
    rows = json.loads(path.read_bytes()) if path.is_file() else []
    return [Served(**{name: row[name] for name in row if name in known}) for row in rows]


def keep_outcome(root: Path, outcome: Outcome) -> None:
    """Keep a pair that left no other evidence."""
    folder = _cleared(pair_folder(root, outcome.version, outcome.case))
    _write(folder, outcome)


def keep(root: Path, captures: Path, claude: Path, done: Sequence[FinishedCase]) -> None:
    """Move the files of finished cases to their pairs; the proxy must have stopped."""
    owner = _Owner(done)
    folders = {p.outcome.case: _cleared(_folder_of(root, p)) for p in done}
    for session in session_folders(captures):
        exchanges = read_exchanges(session)
        case = owner.of(exchanges[0]) if exchanges else None
        if case is not None:
            target = folders[case] / CAPTURES / session.name
            target.parent.mkdir(exist_ok=True)
            shutil.move(session, target)
            pack_session(target, now=time.time() + _LATER)
    _split_unknown(captures / UNKNOWN, folders, owner)
    for finished in done:
        folder = folders[finished.outcome.case]
        source = claude / "projects" / slug_of(str(finished.project))
        if source.is_dir():
            (folder / CLAUDE / "projects").mkdir(parents=True)
            shutil.move(source, folder / CLAUDE / "projects" / source.name)
        rows = [asdict(served) | {"event_bytes": ()} for served in finished.served]
        (folder / LEDGER).write_text(json.dumps(rows))
        _write(folder, finished.outcome)


class _Owner:
    """Finds the case of an exchange: by its request id in the ledger, else by its time."""

    def __init__(self, done: Sequence[FinishedCase]) -> None:
        self._by_id = {s.request_id: p.outcome.case for p in done for s in p.served}
        self._times = sorted((p.outcome.started, p.outcome.ended, p.outcome.case) for p in done)

    def of(self, exchange: Exchange) -> str | None:
        found = self._by_id.get(exchange.request_id or "")
        if found is not None:
            return found
        at = exchange.started  # what an interrupted case sent has no owner
        found_at = [case for start, end, case in self._times if start <= at <= end + _AFTER]
        return found_at[-1] if found_at else None


def _split_unknown(unknown: Path, folders: Mapping[str, Path], owner: _Owner) -> None:
    cases = {e.sequence: owner.of(e) for e in read_exchanges(unknown)}
    lines: dict[str, list[bytes]] = {}
    path = unknown / EXCHANGES
    for line in path.read_bytes().splitlines() if path.is_file() else ():
        case = cases.get(json.loads(line)["sequence"])
        if case is not None:
            lines.setdefault(case, []).append(line + b"\n")
    for case, own in lines.items():
        target = folders[case] / CAPTURES / UNKNOWN
        target.mkdir(parents=True)
        (target / EXCHANGES).write_bytes(b"".join(own))
    for file in exchange_files(unknown) if unknown.is_dir() else ():
        named = parse_file_name(file.name)
        case = cases.get(named[0]) if named else None
        if case is not None:
            shutil.move(file, folders[case] / CAPTURES / UNKNOWN / file.name)
    for case in lines:
        pack_session(folders[case] / CAPTURES / UNKNOWN, now=time.time() + _LATER)


def _folder_of(root: Path, finished: FinishedCase) -> Path:
    return pair_folder(root, finished.outcome.version, finished.outcome.case)


def _cleared(folder: Path) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def _write(folder: Path, outcome: Outcome) -> None:
    temporary = folder / f".{OUTCOME}"
    temporary.write_text(json.dumps(asdict(outcome)))
    temporary.replace(folder / OUTCOME)
