"""Search one session: its calls in order, then its transcript; each text is reported once.

A text that the wire has is reported with the call in which it first appeared. Files and lines are
parsed only if their bytes may contain a match. What matched is redacted, together with the names
of its fields, and must match again, beside what was redacted.
"""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from ccwire.wire.format import Exchange
from ccwire.wire.json_text import as_dict, parse_json, parse_object, text
from ccwire.wire.pack.files import PackDamaged
from ccwire.wire.pack.reader import ExchangeFiles
from ccwire.wire.regular_file import read_regular
from ccwire.wire.times import instant
from correlate.captures.content import body_of
from correlate.captures.folder import read_exchanges
from correlate.search.candidates import file_may_match, ruled_out
from correlate.search.lines import Line, matching_lines
from correlate.search.pattern import Pattern
from correlate.search.texts import (
    OTHER,
    FoundText,
    answer_texts,
    leaves,
    note_tools,
    record_texts,
    request_texts,
)
from correlate.search.time_limit import TimeLimit
from correlate.transcript.lines import parse_line
from correlate.transcript.locate import AgentFile, SessionFiles

Clean = Callable[[Any], Any]  # redacts a text, or a value with the names of its fields

_MARK = re.compile(r"<redacted:[^>]*>")
_TOOL_USE = b'tool_use"'
_SPOKEN = ("user", "assistant", "tool_use", "tool_result")  # records


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for, and in which texts; an empty set means any."""

    pattern: Pattern
    roles: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    larger: int | None = None
    smaller: int | None = None
    context: int = 0

    def fits(self, found: FoundText) -> bool:
        """Whether a text has the role and the tool; its size is that after redacting."""
        if self.roles and found.role not in self.roles:
            return False
        return not self.tools or found.tool in self.tools

    def fits_size(self, size: int) -> bool:
        is_large = self.larger is None or size > self.larger
        return is_large and (self.smaller is None or size < self.smaller)


@dataclass(frozen=True, slots=True)
class Source:
    """A session to search: its capture folders and its transcript files, either may be missing."""

    session_id: str
    folders: tuple[Path, ...]
    files: SessionFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A text that matches, where it first appeared: a call of the wire, or a transcript line."""

    session_id: str
    role: str
    tool: str | None
    matches: int
    size: int
    lines: tuple[Line, ...]
    call: int | None = None
    message: int | None = None
    in_answer: bool = False
    folder: str | None = None  # of the capture
    agent_id: str | None = None
    agent_type: str | None = None
    at: float | None = None
    path: str | None = None
    line: int | None = None
    record_type: str | None = None

    @property
    def is_in_conversation(self) -> bool:
        """Whether a text of a transcript is part of the conversation, as `ccwire show` prints it.

        A result is there only with its call.
        """
        has_call = self.role != "tool-result" or self.tool is not None
        return has_call and self.record_type in _SPOKEN


@dataclass(slots=True)
class SessionHits:
    """What was found in a session, and which of its files could not be read."""

    session_id: str
    hits: list[Hit] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def search_session(source: Source, query: Query, clean: Clean) -> SessionHits:
    """Return the matching texts of a session; raise TooSlow if the pattern is."""
    limit = TimeLimit()
    search = _Search(source, query, clean, limit)
    with limit.ticking():
        if not query.types:
            folders = source.folders
            for folder in sorted(folders, key=_began) if len(folders) > 1 else folders:
                search.capture(folder)
        search.transcripts()
    return search.found


class _Search:
    def __init__(self, source: Source, query: Query, clean: Clean, limit: TimeLimit) -> None:
        self._source, self._query, self._clean, self._limit = source, query, clean, limit
        self._seen: set[bytes] = set()
        self._holder: Any = None  # the last value that was redacted as a whole
        self._of_holder: list[str] = []
        self.found = SessionHits(source.session_id)

    def capture(self, folder: Path) -> None:
        calls = {call.sequence: call for call in read_exchanges(folder)}
        files = ExchangeFiles(folder)
        order = {number: place for place, number in enumerate(calls)}
        keys = sorted(files.all_keys(), key=lambda key: (order.get(key[0], 1 << 60), key))
        absent = ruled_out(folder, self._query.pattern)
        for key in (key for key in keys if key not in absent):
            number, direction = key
            try:
                if not self._may_match(folder, files.name(key)):
                    continue
                file = as_dict(parse_json(files.file(key).data))
            except (OSError, ValueError, PackDamaged):
                self.found.unreadable.append(files.name(key) or f"{number:04d}_{direction}")
                continue
            is_answer = direction == "resp"
            body = body_of(file)
            texts = answer_texts(file.get("message"), body) if is_answer else request_texts(body)
            for one in texts:
                self._take(one, _place(folder, number, calls.get(number), is_answer, one))
        self.found.unreadable += [path.name for path in files.damaged()]

    def _may_match(self, folder: Path, name: str | None) -> bool:
        """Whether an exchange file may match; one that is packed is not ruled out here."""
        try:
            return name is None or file_may_match(folder / name, self._query.pattern)
        except FileNotFoundError:
            return True

    def transcripts(self) -> None:
        files = self._source.files
        named: list[tuple[Path, AgentFile | None]] = [(path, None) for path in files.main]
        named += [(agent.path, agent) for agent in files.agents]
        others: list[tuple[FoundText, dict[str, Any]]] = []
        for path, agent in named:
            try:
                for one, place in self._records(path, agent):
                    if one.role == OTHER:
                        others.append((one, place))
                    else:
                        self._take(one, place)
            except OSError:
                self.found.unreadable.append(path.name)
        for one, place in others:  # they repeat what messages contain
            self._take(one, place)

    def _records(
        self, path: Path, agent: AgentFile | None
    ) -> Iterator[tuple[FoundText, dict[str, Any]]]:
        pattern = self._query.pattern
        if not file_may_match(path, pattern):
            return
        data = read_regular(path)
        names: dict[str, str] = {}
        agent_id, agent_type = (agent.agent_id, _type_of(agent)) if agent else (None, None)
        for number, line in enumerate(data.split(b"\n"), 1):
            may_match = pattern.may_be_in(line)
            if not line or not (may_match or _TOOL_USE in line):
                continue
            record = parse_line(line)
            if isinstance(record, str):
                continue
            note_tools(record, names)
            kind = text(record.get("type")) or "untyped"
            if not may_match or (self._query.types and kind not in self._query.types):
                continue
            place = {
                "agent_id": text(record.get("agentId")) or agent_id,
                "agent_type": agent_type,
                "at": instant(record.get("timestamp")),
                "path": str(path),
                "line": number,
                "record_type": kind,
            }
            yield from ((one, place) for one in record_texts(record, names))

    def _take(self, one: FoundText, place: dict[str, Any]) -> None:
        compiled = self._query.pattern.compiled
        with self._limit:
            is_match = compiled.search(one.text) is not None
        if not is_match or not self._query.fits(one):
            return
        if not self._is_new(one.text):
            return
        words = self._cleaned(one)
        size = len(words.encode("utf-8", "surrogatepass"))
        if not self._query.fits_size(size):
            return
        with self._limit:
            found = compiled.finditer(words)
            if words != one.text:
                found = _beside_marks(words, found)
            lines, times = matching_lines(words, found, self._query.context)
        if not times:
            return
        plain = _MARK.sub("<redacted>", words)
        if plain != one.text and not self._is_new(plain):
            return
        self.found.hits.append(
            Hit(
                session_id=self._source.session_id,
                role=one.role,
                tool=one.tool,
                matches=times,
                size=size,
                lines=lines,
                **place,
            )
        )

    def _cleaned(self, one: FoundText) -> str:
        """Return the text without its secrets; an empty one if its holder has fewer texts then."""
        if one.holder is None:
            return str(self._clean(one.text))
        if self._holder is not one.holder:
            self._holder = one.holder
            self._of_holder = list(leaves(self._clean(one.holder)))
        return self._of_holder[one.leaf] if one.leaf < len(self._of_holder) else ""

    def _is_new(self, words: str) -> bool:
        digest = hashlib.blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        is_new = digest not in self._seen
        self._seen.add(digest)
        return is_new


def _beside_marks(words: str, matches: Iterator[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield the matches that have nothing in common with what was redacted."""
    marks = deque(mark.span() for mark in _MARK.finditer(words))
    for match in matches:
        start, end = match.span()
        while marks and marks[0][1] <= start:
            marks.popleft()
        if not marks or end <= marks[0][0]:
            yield match


def _began(folder: Path) -> float:
    """Return when the capture in a folder began; last, if that is not known."""
    return min((call.started for call in read_exchanges(folder)), default=inf)


def _place(
    folder: Path, number: int, call: Exchange | None, is_answer: bool, one: FoundText
) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "call": number,
        "message": one.message,
        "in_answer": is_answer,
        "agent_id": call.agent_id if call else None,
        "agent_type": call.agent_type if call else None,
        "at": call.started if call else None,
    }


def _type_of(agent: AgentFile) -> str | None:
    """Return a subagent's type from its meta.json, if there is one."""
    if agent.meta is None:
        return None
    try:
        return text(parse_object(read_regular(agent.meta)).get("agentType"))
    except OSError:
        return None
