"""Find a session's transcript files. Only this module knows these paths.

Files are found by name and read elsewhere. The exception is an older client's agent file: only its
first lines contain its session.
"""

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ccwire.wire.json_text import parse_json
from ccwire.wire.regular_file import is_file, open_regular
from ccwire.wire.times import instant
from correlate.transcript.lines import parse_line

_AGENT = re.compile(r"agent-(.+)\.jsonl")
SLUG_LENGTH = 200
_SESSION_IN_LINE = re.compile(rb'"sessionId"\s*:\s*"([^"\\]+)"')
_TIME_IN_LINE = re.compile(rb'"timestamp"\s*:\s*"([^"\\]+)"')
_CWD_IN_LINE = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.)*)"')
_MESSAGE_IN_LINE = re.compile(rb'"type"\s*:\s*"(user|assistant)"')
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A subagent's own transcript, and the meta.json next to it, if any."""

    agent_id: str
    path: Path
    meta: Path | None = None


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """All transcript files of one session; none if the session is not persisted."""

    session_id: str
    main: tuple[Path, ...] = ()
    agents: tuple[AgentFile, ...] = ()

    @property
    def exists(self) -> bool:
        return bool(self.main or self.agents)

    @property
    def size(self) -> int:
        paths = [*self.main, *(agent.path for agent in self.agents)]
        return sum(path.stat().st_size for path in paths if path.exists())


class ClaudeDir:
    """A client's folder (`~/.claude` or `CLAUDE_CONFIG_DIR`), searched on demand."""

    def __init__(self, claude_dir: Path) -> None:
        self.claude_dir = claude_dir
        self._beside: dict[Path, dict[str, list[Path]]] = {}

    def session(self, session_id: str, known: Iterable[str] = ()) -> SessionFiles:
        """Return a session's files: first the known paths, then by name, legacy folders last.

        A session resumed in another project has a file in each.
        """
        named = [path for path in map(Path, known) if is_file(path)]
        main = list(dict.fromkeys([*named, *self._by_name(session_id, legacy=not named)]))
        agents: dict[Path, AgentFile] = {}
        for path in main:
            for agent in self._agents(path, session_id):
                agents.setdefault(agent.path, agent)
        if not main:
            for folder in self._projects():
                for agent in self._agents(folder / f"{session_id}.jsonl", session_id):
                    agents.setdefault(agent.path, agent)
        return SessionFiles(session_id, tuple(main), tuple(agents.values()))

    def session_ids(self) -> dict[str, Path]:
        """Return every session with a main transcript, and its path."""
        return {session_id: paths[0] for session_id, paths in self.main_files().items()}

    def every_session(self) -> dict[str, SessionFiles]:
        """Return the files of every session with a main transcript; each folder is listed once."""
        return {name: self.files_of(name, paths) for name, paths in self.main_files().items()}

    def main_files(self) -> dict[str, tuple[Path, ...]]:
        """Return the main transcripts of every session; each folder is listed once."""
        found: dict[str, tuple[Path, ...]] = {}
        for folder in [*self._projects(), self.claude_dir / "projects", self._legacy()]:
            for path in main_transcripts(folder):
                found[path.stem] = (*found.get(path.stem, ()), path)
        return found

    def files_of(self, session_id: str, main: tuple[Path, ...]) -> SessionFiles:
        """Return the files of a session whose main transcripts `main_files` has found."""
        agents = {a.path: a for path in main for a in self._agents(path, session_id)}
        return SessionFiles(session_id, main, tuple(agents.values()))

    def sessions_of(self, cwd: str) -> list[Path]:
        """Return a directory's main transcripts, newest first; the `cwd` in the lines decides."""
        slug = slug_of(cwd)
        encoded = _base64_names(cwd)
        long = slug[:SLUG_LENGTH] + "-" if len(slug) > SLUG_LENGTH else None
        folders = [
            folder
            for folder in self._projects()
            if folder.name == slug
            or (long and folder.name.startswith(long))
            or folder.name in encoded
        ]
        paths = [
            path
            for folder in folders
            for path in main_transcripts(folder)
            if first_cwd(path) in (None, cwd)
        ]
        return sorted(paths, key=lambda path: last_used(path) or 0.0, reverse=True)

    def siblings(self, files: SessionFiles) -> Iterator[Path]:
        """Yield other sessions' main transcripts, same project first: a fork copies from these."""
        seen = set(files.main)
        folders = list(dict.fromkeys(path.parent for path in files.main))
        for folder in [*folders, *(f for f in self._projects() if f not in folders)]:
            yield from (path for path in main_transcripts(folder) if path not in seen)

    def _projects(self) -> list[Path]:
        projects = self.claude_dir / "projects"
        if not projects.is_dir():
            return []
        return sorted(path for path in projects.iterdir() if path.is_dir())

    def _legacy(self) -> Path:
        return self.claude_dir / "sessions"

    def _by_name(self, session_id: str, *, legacy: bool) -> list[Path]:
        name = f"{session_id}.jsonl"
        found = [folder / name for folder in self._projects() if is_file(folder / name)]
        if found or not legacy:
            return found
        old = [self.claude_dir / "projects" / name, self._legacy() / name]
        return [path for path in old if is_file(path)]

    def _agents(self, main: Path, session_id: str) -> Iterator[AgentFile]:
        """Yield agent files in the session's folder and, for older clients, next to its file.

        Other tools write them into one `subagents` folder for all sessions of a project.
        """
        own = main.parent / session_id / "subagents"
        paths = sorted(own.rglob("agent-*.jsonl")) if own.is_dir() else []
        for path in [*paths, *self._agents_beside(main.parent).get(session_id, ())]:
            if (name := _AGENT.fullmatch(path.name)) and is_file(path):
                meta = path.with_suffix(".meta.json")
                yield AgentFile(name[1], path, meta if is_file(meta) else None)

    def _agents_beside(self, folder: Path) -> dict[str, list[Path]]:
        if folder not in self._beside:
            by_session: dict[str, list[Path]] = {}
            shared = (folder / "subagents").glob("agent-*.jsonl")
            for path in [*sorted(folder.glob("agent-*.jsonl")), *sorted(shared)]:
                if session := _first(path, _SESSION_IN_LINE):
                    by_session.setdefault(session.decode("utf-8", "replace"), []).append(path)
            self._beside[folder] = by_session
        return self._beside[folder]


def slug_of(cwd: str) -> str:
    """Return the project folder name of a directory: only ASCII letters and digits are kept.

    Others become dashes; JavaScript counts UTF-16 units, so a surrogate pair becomes two.
    """
    return "".join(
        char if char.isascii() and char.isalnum() else "-" * (2 if ord(char) > 0xFFFF else 1)
        for char in cwd
    )


def _base64_names(cwd: str) -> set[str]:
    """Return the names of a directory's folder by older write-ups and other tools."""
    raw = cwd.encode("utf-8", "surrogateescape")
    padded = {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()}
    return padded | {name.rstrip("=") for name in padded}


def first_cwd(path: Path) -> str | None:
    """Return the first `cwd` in the file; it cannot be derived from the folder name."""
    found = _first(path, _CWD_IN_LINE)
    if found is None:
        return None
    try:
        return str(parse_json(b'"%b"' % found))
    except ValueError:  # not UTF-8
        return found.decode("utf-8", "replace")


def first_time(path: Path) -> float | None:
    """Return the first `timestamp` in the file."""
    found = _first(path, _TIME_IN_LINE)
    return None if found is None else instant(found.decode("utf-8", "replace"))


def has_message(path: Path) -> bool:
    """Return whether a prompt or an answer is in the file; a long file is not read to its end."""
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD)
            return _MESSAGE_IN_LINE.search(head) is not None or bool(file.read(1))
    except OSError:
        return False


def last_time(path: Path) -> float | None:
    """Return the `timestamp` of the last line that has one, near the end of the file."""
    try:
        with open_regular(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _HEAD))
            lines = file.read().splitlines()[size > _HEAD :]  # the first one may be cut
    except OSError:
        return None
    for line in reversed(lines):
        record = parse_line(line)
        at = None if isinstance(record, str) else instant(record.get("timestamp"))
        if at is not None:
            return at
    return None


def last_used(path: Path) -> float | None:
    """Return when a transcript ends: by its lines, for a copied file has another time.

    Without a time in them by the file; None if that is gone.
    """
    at = last_time(path)
    if at is not None:
        return at
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def main_transcripts(folder: Path) -> list[Path]:
    """Return a folder's main transcripts; folders and broken links with such a name are skipped."""
    found = sorted(folder.glob("*.jsonl"))
    return [path for path in found if not _AGENT.fullmatch(path.name) and is_file(path)]


def _first(path: Path, pattern: re.Pattern[bytes]) -> bytes | None:
    try:
        with open_regular(path) as file:
            found = pattern.search(file.read(_HEAD))
    except OSError:
        return None  # whoever reads the whole file reports the error
    return found[1] if found else None
