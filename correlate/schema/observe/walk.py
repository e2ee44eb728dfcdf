"""Walk captures and transcripts and build snapshots of their structure."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from ccwire.wire.format import EXCHANGES, MANIFEST, parse_file_name
from ccwire.wire.json_text import parse_json
from ccwire.wire.pack.files import FileKey, PackDamaged
from ccwire.wire.pack.reader import ExchangeFiles, is_pack
from ccwire.wire.regular_file import open_regular, read_regular
from ccwire.wire.versions import is_version
from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.layout import layout_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.observe.sightings import client_version, see_record, see_request, see_response
from correlate.schema.snapshot.snapshot import ExamplePlace, Field, merge
from correlate.transcript.lines import BadLine, parse_line

HISTORY = "history.jsonl"


@dataclass(frozen=True, slots=True)
class Observation:
    """Snapshots by client version, the number of inputs, and the files that could not be read."""

    by_version: dict[str | None, dict[str, Field]]
    exchanges: int
    records: int
    unreadable: list[BadLine] = field(default_factory=list)

    @property
    def snapshot(self) -> dict[str, Field]:
        """One snapshot that merges all versions."""
        return merge(self.by_version.values())


def observe(
    paths: Iterable[Path],
    *,
    version: str | None = None,
    on_file: Callable[[Path], None] | None = None,
) -> Observation:
    """Observe all files under these paths; `version` applies to those that contain none."""
    paths = list(paths)
    observer = Observer(version)
    for path in sources(paths):
        if on_file is not None:
            on_file(path)
        observer.file(path)
    for root in paths:
        observer.layout(root)
    return observer.observation()


def sources(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files to read (exchanges, transcripts, hook payloads), sorted, without symlinks.

    A packed exchange file does not exist under its path; a pack is yielded only if it is damaged.
    """
    for root in paths:
        if not root.is_dir():
            yield root
            continue
        for folder, folders, names in os.walk(root):
            folders.sort()
            yield from _sources_in(Path(folder), names)


def _sources_in(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    found = {name for name in names if _is_source(folder / name)}
    if any(is_pack(name) for name in names):
        files = ExchangeFiles(folder)
        found.update(files.names(), (pack.name for pack in files.damaged()))
    for name in sorted(found):
        if not (path := folder / name).is_symlink():
            yield path


class Observer:
    """Adds files one by one to the shapes of the client version that wrote them."""

    def __init__(self, version: str | None = None) -> None:
        self._default = version
        self._shapes: dict[str | None, Shapes] = {}
        self._folder: PurePath | None = None
        self._files: ExchangeFiles
        self._folder_version: str | None = None
        self._exchange: tuple[int, str | None] = (0, None)
        self._transcript_version = version  # of the transcript read last
        self._exchanges = 0
        self._records = 0
        self._unreadable: list[BadLine] = []

    def file(self, path: Path) -> None:
        if (key := parse_file_name(path.name)) is not None:
            self._capture(path, key)
        elif is_pack(path.name):
            self._unreadable.append(BadLine(path, 0, "damaged"))
        elif path.suffix == ".jsonl":
            self._lines(path)
        else:
            self._note(path)

    def value(self, bucket: str, value: Any) -> None:
        """Observe a value that does not come from a file."""
        self._of(self._default).see(bucket, value)

    def layout(self, root: Path) -> None:
        """Observe the paths of the client's files, if `root` is a client folder."""
        if not (root / "projects").is_dir():
            return
        shapes = self._of(self._only_version())
        for folder, _, names in os.walk(root):
            for name in names:
                relative = Path(folder, name).relative_to(root)
                shapes.place = None
                shapes.see("layout", layout_of(relative))

    def observation(self) -> Observation:
        found = {version: snapshot_of(shapes, version) for version, shapes in self._shapes.items()}
        return Observation(found, self._exchanges, self._records, self._unreadable)

    def _capture(self, path: Path, key: FileKey) -> None:
        self._enter(path.parent)
        value = self._read(path, lambda: self._files.file(key).data)
        if value is None:
            return
        sequence, direction = key
        if direction == "req":
            version = client_version(value) or self._folder_version
            self._exchange = (sequence, version)
            self._exchanges += 1
            see_request(self._of(version, ExamplePlace(str(path))), value)
        else:
            known, version = self._exchange
            version = version if known == sequence else self._folder_version
            see_response(self._of(version, ExamplePlace(str(path))), value)

    def _enter(self, folder: Path) -> None:
        """Enter a session folder; the version in its manifest applies to exchanges without one."""
        if folder == self._folder:
            return
        self._folder, self._folder_version, self._exchange = folder, self._default, (0, None)
        self._files = ExchangeFiles(folder)
        manifest = folder / MANIFEST
        is_there = manifest.is_file() and not manifest.is_symlink()
        found = self._read(manifest) if is_there else None
        versions = (found or {}).get("claude_versions")
        if isinstance(versions, list) and len(versions) == 1 and is_version(versions[0]):
            self._folder_version = versions[0]

    def _lines(self, path: Path) -> None:
        try:
            self._see_lines(path)
        except OSError as error:
            self._unreadable.append(BadLine(path, 0, f"not readable ({error.strerror})"))

    def _see_lines(self, path: Path) -> None:
        version = self._default
        waiting: list[tuple[int, dict[str, Any]]] = []  # until a line contains the version
        with open_regular(path) as file:
            for number, line in enumerate(file, 1):
                record = parse_line(line)
                if isinstance(record, str):
                    if record != "blank":
                        self._unreadable.append(BadLine(path, number, record))
                    continue
                named = record.get("version")
                if is_version(named):
                    version = named
                waiting.append((number, record))
                if version is not None or len(waiting) > 50:
                    self._see_records(path, waiting, version)
                    waiting = []
        self._see_records(path, waiting, version)
        self._transcript_version = version

    def _see_records(
        self, path: Path, records: list[tuple[int, dict[str, Any]]], version: str | None
    ) -> None:
        for number, record in records:
            shapes = self._of(version, ExamplePlace(str(path), number))
            if path.name == HISTORY:
                shapes.see("history", record)
            else:
                see_record(shapes, record)
            self._records += 1

    def _note(self, path: Path) -> None:
        """Observe a small client file next to the transcripts; few contain a version."""
        value = self._read(path)
        if value is None:
            return
        named = value.get("version")
        version = named if is_version(named) else self._transcript_version
        self._of(version, ExamplePlace(str(path))).see(_note_bucket(path), value)
        self._records += 1

    def _read(self, path: Path, read: Callable[[], bytes] | None = None) -> dict[str, Any] | None:
        try:
            value = parse_json(read() if read else read_regular(path))
        except ValueError:
            self._unreadable.append(BadLine(path, 0, "malformed"))
            return None
        except PackDamaged:
            self._unreadable.append(BadLine(path, 0, "damaged"))
            return None
        except FileNotFoundError:  # a running proxy has moved it
            self._unreadable.append(BadLine(path, 0, "gone"))
            return None
        except OSError as error:
            self._unreadable.append(BadLine(path, 0, f"not readable ({error.strerror})"))
            return None
        if isinstance(value, dict):
            return value
        self._unreadable.append(BadLine(path, 0, "not an object"))
        return None

    def _of(self, version: str | None, place: ExamplePlace | None = None) -> Shapes:
        shapes = self._shapes.get(version)
        if shapes is None:
            shapes = self._shapes[version] = Shapes()
        shapes.place = place
        return shapes

    def _only_version(self) -> str | None:
        versions = [version for version in self._shapes if version]
        return versions[0] if len(versions) == 1 else self._default


def _is_source(path: Path) -> bool:
    if path.suffix == ".jsonl":
        return path.name != EXCHANGES
    return parse_file_name(path.name) is not None or _is_note(path)


def _is_note(path: Path) -> bool:
    return path.name.endswith(".meta.json") or (
        path.parent.name == "sessions" and path.stem.isdigit() and path.suffix == ".json"
    )


def _note_bucket(path: Path) -> str:
    return "file/agent-meta" if path.name.endswith(".meta.json") else "file/live-session"
