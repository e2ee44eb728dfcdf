"""Checks that compare a session with its scrubbed copy, without running the scrubber."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from ccwire.wire.format import Exchange, Manifest
from ccwire.wire.json_text import parse_json
from ccwire.wire.vocabulary import EndedBy, IdentifiedBy
from correlate.captures.folder import read_manifest
from correlate.reconcile.as_json import session_json
from correlate.reconcile.request_facts import PURPOSES
from correlate.reconcile.session import SessionReconciler, TranscriptWait
from correlate.reconcile.totals import totals_of
from correlate.schema.observe.vocabulary import LISTED, MAPS, SEALED
from correlate.schema.observe.walk import observe
from correlate.schema.snapshot.anonymous import without_places
from correlate.schema.snapshot.snapshot import Field, paths
from correlate.scrub.copy import Copied, Scrubbing
from correlate.scrub.words import API_STEPS, HEADERS_KEPT, PRODUCTS, SEALED_KEYS, VOCABULARY
from correlate.transcript.locate import ClaudeDir

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Not beside a digit: in there it is a piece of an id, and two ids may share one by chance.
WORD = re.compile(r"(?<![^\W_])[^\W\d_]{4,}(?![^\W_])")
_ID_FIELDS = ("session_id", "agent_id", "request_id", "message_id", "tool_use_id", "parent")
_TEXTS = ("description", "summary")  # written by a person or a model: replaced letter by letter


def scrub(captures: Path, claude_dir: Path, session: str, target: Path) -> Copied:
    scrubbing = Scrubbing(captures, ClaudeDir(claude_dir), b"a key for tests")
    target.mkdir(parents=True)
    folder = captures / session
    parts = scrubbing.parts(session, folder if folder.is_dir() else captures / "unknown")
    return scrubbing.write(parts, target, lambda size: None)


def reconcile(captures: Path, claude_dir: Path, session: str) -> dict[str, Any]:
    reconciler = SessionReconciler(captures, ClaudeDir(claude_dir), TranscriptWait(tries=0))
    folder = captures / session
    found = reconciler.reconcile(folder if folder.is_dir() else captures / "unknown", session)
    return session_json(found, totals_of(found))


def assert_same_but_for_ids(original: dict[str, Any], copy: dict[str, Any]) -> None:
    """Assert that ids and texts were replaced consistently and that nothing else differs."""
    renamed: dict[str, str] = {}
    for old, new in _ids(original, copy):
        assert renamed.setdefault(old, new) == new
        assert old != new
        assert len(old) == len(new)
    assert len(set(renamed.values())) == len(renamed)
    assert _with_ids(original, renamed) == copy


def _ids(old: Any, new: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(old, dict):
        if key == "agents":
            yield from zip(old, new, strict=True)
        for name, value in old.items() if key != "agents" else ():
            yield from _ids(value, new[name], name)
    elif isinstance(old, list):
        for ours, theirs in zip(old, new, strict=True):
            yield from _ids(ours, theirs, key)
    elif key in (*_ID_FIELDS, *_TEXTS) and isinstance(old, str) and old:
        yield old, new
    elif key == "evidence" and isinstance(old, str):
        yield from zip(_UUID.findall(old), _UUID.findall(new), strict=True)


def _with_ids(value: Any, renamed: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {_with_ids(k, renamed): _with_ids(v, renamed) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_ids(item, renamed) for item in value]
    if isinstance(value, str) and renamed:
        longest_first = sorted(map(re.escape, renamed), key=len, reverse=True)
        return re.sub("|".join(longest_first), lambda found: renamed[found[0]], value)
    return value


def session_paths(captures: Path, claude_dir: Path, session: str) -> list[Path]:
    """Return the capture files and transcripts of a session."""
    known = read_manifest(captures / session).transcript_paths
    files = ClaudeDir(claude_dir).session(session, known)
    agents = [path for agent in files.agents for path in (agent.path, agent.meta) if path]
    return [captures / session, *files.main, *agents]


def snapshot(sources: Iterable[Path]) -> dict[str, Field]:
    return without_places(observe(list(sources)).snapshot)


def assert_no_word_left(sources: Iterable[Path], copy: Path) -> None:
    """Assert that the copy contains no word of the original's texts, except words of the format.

    The scrubber's own list of kept words is not used, because it is under test.
    """
    sources = list(sources)
    documents = [document for path in sources for document in _documents(path)]
    texts = words_in(text for document in documents for text in _texts(document))
    assert len(texts) > 30
    known = words_in(key for document in documents for key in _keys(document))
    left = (texts - known - vocabulary(snapshot(sources))) & words_in(_all_of(copy))
    assert left == set(), sorted(left)


def vocabulary(known: dict[str, Field]) -> set[str]:
    """Words a copy may contain: those of schema snapshots, the scrubber's list and our format."""
    shown = [path for root in known.values() for path, _ in paths(root)]
    values = [value for root in known.values() for _, f in paths(root) for value in f.values]
    named = VOCABULARY | SEALED_KEYS | API_STEPS | PRODUCTS | set(HEADERS_KEPT)
    ours = [f.name for record in (Exchange, Manifest) for f in fields(record)]
    return words_in([*known, *shown, *values, *named, *ours, *PURPOSES, *_FIXED])


_FIXED = (
    *(*get_args(EndedBy), *get_args(IdentifiedBy)),
    "api_key oauth https not_available kept-words toolu srvtoolu",
    "application json text plain event-stream charset gzip deflate compress zstd chunked close",
    "keep-alive no-cache cors Linux stream node POST Overloaded prompt is too long tokens maximum",
    "anthropic statsig redacted device account user session opus sonnet haiku synthetic agent",
    "projects subagents sessions workflows claude jsonl meta manifest resp captures",
)


def words_in(texts: Iterable[str]) -> set[str]:
    words = {word.casefold() for text in texts for word in WORD.findall(text)}
    # Digits of an id, which another id may have by chance.
    return {word for word in words if not set(word) <= set("abcdef")}


def _texts(value: Any) -> Iterator[str]:
    """Strings written by a user or the model: prose and paths."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
    elif isinstance(value, str) and re.search(r"\s|/", value):
        yield value


def _keys(value: Any) -> Iterator[str]:
    """Field names, except those chosen by a user, a tool or a server; and names of call sources."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key == "querySource":
                yield str(item)
            if key not in SEALED | MAPS | LISTED:
                yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _documents(path: Path) -> Iterator[Any]:
    for file in _files(path):
        data = file.read_bytes()
        for line in data.splitlines() if file.suffix == ".jsonl" else [data]:
            try:
                yield parse_json(line)
            except ValueError:
                yield line.decode("utf-8", "replace")


def _all_of(copy: Path) -> Iterator[str]:
    """Everything readable in the copy: file names, their text, and the decoded strings."""
    for file in _files(copy):
        yield str(file.relative_to(copy))
        yield file.read_text("utf-8", "replace")
    for document in _documents(copy):
        yield from _texts(document)


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
