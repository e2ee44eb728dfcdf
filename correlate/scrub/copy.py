"""Write a copy of a session without its texts: captures and transcripts.

Walks the files and writes the copy; `correlate.scrub.rules` decides how each text is replaced.
Sessions that turns were copied from are included, otherwise the copy would reconcile differently.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ccwire.wire.endpoints import kind_of
from ccwire.wire.format import EXCHANGES, MANIFEST, UNKNOWN, file_name
from ccwire.wire.json_text import parse_json
from ccwire.wire.pack.files import PackDamaged, as_ranges
from ccwire.wire.pack.reader import ExchangeFiles
from ccwire.wire.regular_file import open_regular, read_regular
from ccwire.wire.vocabulary import Direction
from correlate.captures.content import body_of
from correlate.captures.folder import has_session, read_exchanges, transcript_files
from correlate.captures.sessions import Captured, sessions_of
from correlate.reconcile.forks import ForkOrigins
from correlate.reconcile.purpose import SIDE_KINDS, TO_PROVE
from correlate.reconcile.request_facts import facts_of
from correlate.reconcile.session import SessionReconciler
from correlate.reconcile.unassigned import unassigned_calls
from correlate.schema.observe.vocabulary import RESULT_KEYS, SEALED
from correlate.scrub.json_text import scrub_json
from correlate.scrub.names import Names
from correlate.scrub.rules import CAPTURE, EXCHANGE, RECORD, Rules
from correlate.scrub.rules import MANIFEST as MANIFEST_DOCUMENT
from correlate.scrub.words import SEALED_KEYS, VOCABULARY
from correlate.transcript.locate import SLUG_LENGTH, ClaudeDir, SessionFiles, first_cwd, slug_of
from correlate.transcript.reader import Progress, read_transcript

KEPT_WORDS = "kept-words.txt"
_HEAD_END = re.compile(r'\A\{\n(?:"(?:format|session_id|identified_by|flow_id)": [^\n]*\n)*')


@dataclass(frozen=True, slots=True)
class Copied:
    """The session ids, number of files and size of a finished copy."""

    session_id: str
    other_sessions: tuple[str, ...]
    files: int
    size: int
    kept_words: int


@dataclass(frozen=True, slots=True)
class CopyPart:
    """One session: its capture, if any, and its transcripts."""

    session_id: str
    capture: Path | None
    files: SessionFiles


class Scrubbing:
    """Writes one copy. `key` is the secret for its replacement names and is not stored."""

    def __init__(self, captures: Captured, claude: ClaudeDir, key: bytes) -> None:
        self._captures = captures
        self._claude = claude
        names = Names(key, never=VOCABULARY | RESULT_KEYS | SEALED | SEALED_KEYS)
        self._rules = Rules(names)
        self._names = names
        self._files = 0
        self._size = 0

    def parts(self, session_id: str, capture: Path | None) -> list[CopyPart]:
        """Return the session, and the sessions that its turns were copied from."""
        files = self._transcripts_of(session_id, capture)
        account = SessionReconciler(self._captures, self._claude).reconcile(capture, session_id)
        turns = [finding.turn for finding in account.turns_without_call if finding.turn]
        origins = ForkOrigins(self._captures, self._claude)
        shared = [turn.message_id for turn in turns if turn.message_id]
        others = {origin.session_id for origin in origins.of(turns, files).values()}
        others.update(origins.sharing(shared, files))
        parts = [CopyPart(session_id, capture, files)]
        for other in sorted(others - {session_id}):
            folder = sessions_of(self._captures).get(other)
            parts.append(CopyPart(other, folder, self._transcripts_of(other, folder)))
        return parts

    def _transcripts_of(self, session_id: str, capture: Path | None) -> SessionFiles:
        if capture is None:
            return self._claude.session(session_id)
        return transcript_files(self._claude, capture, session_id)

    def size(self, parts: Iterable[CopyPart]) -> int:
        """Return about how many bytes there are to read."""
        folders = [part.capture for part in parts if part.capture]
        return sum(part.files.size for part in parts) + sum(
            sum(ExchangeFiles(folder).sizes().values()) for folder in folders
        )

    def write(self, parts: list[CopyPart], target: Path, progress: Progress) -> Copied:
        """Write `target/captures`, `target/claude` and the list of words kept unchanged."""
        self._pin(parts)
        (target / "captures").mkdir()  # there, even if nothing was captured
        for part in parts:
            if part.capture is not None:
                self._copy_capture(part, target / "captures", progress)
            for path in _transcripts(part.files):
                self._copy_lines(path, target / "claude" / self._place(path), RECORD, progress)
            for agent in part.files.agents:
                if agent.meta is not None:
                    place = target / "claude" / self._place(agent.meta)
                    data = self._scrubbed(read_regular(agent.meta), RECORD)
                    self._write(place, data, _written_at(agent.meta))
        kept = sorted(self._rules.kept)
        (target / KEPT_WORDS).write_text("".join(f"{word}\n" for word in kept), encoding="utf-8")
        session_id, *others = (self._names.name(part.session_id) for part in parts)
        return Copied(session_id, tuple(others), self._files, self._size, len(kept))

    def _pin(self, parts: list[CopyPart]) -> None:
        """Fix names so that ids keep their order and project folders match their directory."""
        self._names.pin_in_order(part.session_id for part in parts)
        self._names.pin_in_order(a.agent_id for part in parts for a in part.files.agents)
        for path in (path for part in parts for path in part.files.main):
            slug, cwd = path.parent.name, first_cwd(path)
            prefix = slug_of(cwd)[:SLUG_LENGTH] if cwd else ""
            if cwd and prefix and slug.startswith(prefix):
                new = slug_of(self._names.text(cwd))[: len(prefix)]
                rest = slug[len(prefix) :]
                self._names.pin(slug, new + (self._names.name(rest) if rest else ""))

    def _copy_capture(self, part: CopyPart, target: Path, progress: Progress) -> None:
        capture = part.capture
        assert capture is not None
        own = has_session(capture)
        folder = target / (self._names.name(part.session_id) if own else UNKNOWN)
        mine = None if own else self._assigned(capture, part)
        proven = self._proven(capture, part)
        files = ExchangeFiles(capture)
        if lost := files.lost(exchange.sequence for exchange in read_exchanges(capture)):
            packs = ", ".join(path.name for path in files.damaged())
            raise PackDamaged(f"{packs} in {capture.name}: exchanges {as_ranges(lost)} are lost")
        for key in files.all_keys():
            number, direction = key
            if mine is None or number in mine:
                file = files.file(key)
                text = self._exchange_file(file.data, direction, is_proven=number in proven)
                place = folder / self._file_name(file.name, number, direction, text)
                self._write(place, text, file.mtime_ns)
                progress(len(file.data))
        if (capture / EXCHANGES).exists():
            place = folder / EXCHANGES
            self._copy_lines(capture / EXCHANGES, place, EXCHANGE, progress, mine)
        if own and (manifest := capture / MANIFEST).exists():
            data = self._scrubbed(read_regular(manifest, follow=False), MANIFEST_DOCUMENT)
            self._write(folder / MANIFEST, data, _written_at(manifest))

    def _assigned(self, capture: Path, part: CopyPart) -> set[int]:
        turns = read_transcript(part.files).turns
        return {exchange.sequence for exchange in unassigned_calls(read_exchanges(capture), turns)}

    def _proven(self, capture: Path, part: CopyPart) -> set[int]:
        """Return the side calls, whose purpose the copy could not prove again."""
        reconciler = SessionReconciler(self._captures, self._claude)
        findings = reconciler.reconcile(capture, part.session_id).calls
        return {
            finding.call.sequence
            for finding in findings
            if finding.call and finding.kind in SIDE_KINDS and not finding.turn
        }

    def _exchange_file(self, data: bytes, direction: Direction, *, is_proven: bool) -> bytes:
        """Scrub an exchange file; a request's purpose is stored, as its text is lost."""
        new = self._scrubbed(data, CAPTURE)
        purpose = _purpose(data) if direction == "req" else None
        if purpose is None or (purpose in TO_PROVE and not is_proven):
            return new
        text = new.decode("utf-8", "surrogateescape")
        end = found.end() if (found := _HEAD_END.match(text)) else text.index("{") + 1
        return f'{text[:end]}"purpose": "{purpose}",\n{text[end:]}'.encode(
            "utf-8", "surrogateescape"
        )

    def _file_name(self, name: str, number: int, direction: Direction, data: bytes) -> str:
        try:
            path = parse_json(data).get("path")
        except (ValueError, AttributeError):
            path = None
        if isinstance(path, str):
            return file_name(number, direction, path)
        return f"{number:04d}_{direction}_{self._names.name(name.split('_', 2)[2])}"

    def _copy_lines(
        self,
        path: Path,
        target: Path,
        document: str,
        progress: Progress,
        only: set[int] | None = None,
    ) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open_regular(path, follow=document != EXCHANGE) as lines, target.open("wb") as out:
            for line in lines:
                if only is None or _sequence(line) in only:
                    out.write(self._scrubbed(line, document))
                progress(len(line))
        self._finish(target, _written_at(path))

    def _scrubbed(self, data: bytes, document: str) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        new = scrub_json(text, self._rules, document).encode("utf-8", "surrogateescape")
        assert len(new) == len(data), "a replacement must be as long as the original"
        return new

    def _place(self, path: Path) -> str:
        """Return a transcript's path relative to the copy's client folder."""
        try:
            relative = path.relative_to(self._claude.claude_dir)
        except ValueError:
            relative = Path("projects", *path.parts[_projects_end(path) :])
        return self._names.name(str(PurePosixPath(relative)))

    def _write(self, target: Path, data: bytes, written_at: int) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        self._finish(target, written_at)

    def _finish(self, target: Path, written_at: int) -> None:
        """Set mode and modification time; which of two files is newer is used as evidence."""
        target.chmod(0o600)
        os.utime(target, ns=(written_at, written_at))
        self._files += 1
        self._size += target.stat().st_size


def _transcripts(files: SessionFiles) -> list[Path]:
    return [*files.main, *(agent.path for agent in files.agents)]


def _written_at(path: Path) -> int:
    return path.stat().st_mtime_ns


def _purpose(data: bytes) -> str | None:
    try:
        request = parse_json(data)
    except ValueError:
        return None
    if not isinstance(request, dict):
        return None
    body = body_of(request)
    if kind_of(str(request.get("host")), str(request.get("path"))) != "messages":
        return None
    return facts_of(body, request.get("purpose")).purpose if isinstance(body, dict) else None


def _sequence(line: bytes) -> int | None:
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value.get("sequence") if isinstance(value, dict) else None


def _projects_end(path: Path) -> int:
    """Return the number of path parts before the project folder that contains a transcript."""
    parts = path.parts
    return parts.index("projects") + 1 if "projects" in parts else len(parts) - 2
