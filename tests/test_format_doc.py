"""docs/format.md lists every file and field that is written, and no other."""

import io
import json
import re
import subprocess
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import pytest
from click.testing import CliRunner

from addon.claude_settings.hooks_text import hook_command
from addon.hooks import handle, sessions_file
from addon.hooks.apply import FIELDS
from addon.identity.session import Identity
from addon.recording.content.large_body import LARGEST_IN_MEMORY
from addon.recording.jobs import Failed
from addon.recording.recovery import recover
from addon.storage.folder import Slot
from addon.storage.move import refile
from addon.storage.packing.pack import pack_session
from addon.storage.registry import RegisteredFolder, dump_registry, register
from ccwire.commands import report, scrub
from ccwire.verdict_cache import VerdictCache
from ccwire.wire.format import Exchange, Manifest, parse_file_name
from ccwire.wire.json_text import dump, parse_json
from ccwire.wire.pack.files import PackedFile
from ccwire.wire.pack.reader import packs
from ccwire.wire.pack.segment import Segment, encode_line
from correlate.reconcile.result import Reconciliation
from correlate.transcript.locate import ClaudeDir
from tests.addon.recording.recorders import START, STOP, RecorderRig
from tests.recorded import Recorded

PAGE = (Path(__file__).parent.parent / "docs" / "format.md").read_text(encoding="utf-8")
_HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]*) \|", re.MULTILINE)

Documented = Mapping[str, str]  # a field's path -> its type


def section(*names: str) -> Documented:
    """The fields in the tables of these sections."""
    parts = _HEADING.split(PAGE)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {row[1]: row[2] for name in names for row in _ROW.finditer(texts[name])}


def found_in(values: Iterator[Any], documented: Documented) -> set[str]:
    """Every field's path; fails at a value whose type is not the documented one.

    What is documented as a map or as any value is not looked into.
    """
    found: set[str] = set()

    def look(value: Any, path: str) -> None:
        if isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    look(item, f"{path}[]")
            return
        for name, item in value.items():
            own = f"{path}.{name}" if path else name
            found.add(own)
            kinds = documented.get(own, "not documented").split(" or ")
            assert _kind(item) & {*kinds}, (
                f"{own} is {item!r:.60}, documented: {documented.get(own)}"
            )
            if isinstance(item, dict | list) and not {"map", "any"} & {*kinds}:
                look(item, own)

    for value in values:
        look(value, "")
    return found


def _kind(value: Any) -> set[str]:
    match value:
        case None:
            return {"null"}
        case bool():
            return {"boolean", "any"}
        case int():
            return {"integer", "number", "any"}
        case float():
            return {"number", "any"}
        case str():
            return {"string", "any"}
        case list():
            return {"list", "any"}
    return {"object", "map", "any"}


def _annotated(hint: Any) -> set[str]:
    """The documented types that fit an annotation."""
    origin = typing.get_origin(hint) or hint
    if origin in (types.UnionType, typing.Union):
        return set().union(*(_annotated(one) for one in typing.get_args(hint)))
    names: dict[Any, set[str]] = {
        int: {"integer"},
        float: {"number"},
        str: {"string"},
        bool: {"boolean"},
        list: {"list"},
        dict: {"object", "map", "any"},
        types.NoneType: {"null"},
        Literal: {"string"},
    }
    return names[origin]


@pytest.mark.parametrize(
    ("name", "record"),
    [("exchanges.jsonl", Exchange), ("manifest.json", Manifest)],
)
def test_a_record_has_the_documented_fields_and_types(name: str, record: type) -> None:
    documented = {path: kind for path, kind in section(name).items() if not re.search(r"\.", path)}
    assert list(documented) == [field.name for field in fields(record)]
    hints = typing.get_type_hints(record)
    for field, kind in documented.items():
        assert set(kind.split(" or ")) <= _annotated(hints[field]), field
        assert ("null" in kind) == ("null" in _annotated(hints[field])), field


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> RecorderRig:
    """What a good session does not show: every kind of body, losses, parts, moves."""
    rig = RecorderRig(tmp_path_factory.mktemp("odd"))
    rig.whole("json", "s-1")
    rig.whole("empty", "s-1", body=b"")
    rig.whole("damaged", "s-1", headers=[*_of("s-1"), ("content-encoding", "gzip")], body=b"{}")
    rig.whole("binary", "s-1", body=b"\0\xff")
    form = ("content-type", "application/x-www-form-urlencoded")
    rig.whole("form", "s-1", headers=[*_of("s-1"), form], body=b"a=1&b=2&b=3")
    rig.whole("text", "s-1", body=b"plain")
    probe = b'{"model":"m","stream":true,"max_tokens":1,"messages":[{"role":"user"}]}'
    rig.whole("probe", "s-1", body=probe)
    for encoding in ("identity", "gzip"):
        rig.begin(encoding, "s-1")
        rig.answer(encoding, b"\0\xff", headers=[("content-encoding", encoding)])
        rig.end(encoding)
    rig.begin("raw", "s-1")
    rig.answer("raw", START, b"event: odd\r\ndata: not JSON\r\n\r\n: a comment\n\n", b"cut off")
    rig.end("raw", "server_disconnect", "the server left")
    rig.begin("unanswered", "s-1")
    rig.end("unanswered", "client_disconnect")
    rig.begin("lost", "s-1")
    rig.recorder.handle(Failed("lost", OSError(28, "No space left on device")))
    rig.recorder.handle(Failed("", OSError(28, "No space left on device")))
    rig.whole("nobody")
    rig.begin("in flight", "s-2")
    rig.answer("in flight", START, STOP.replace(b"\n\n", b"\r\n\r\n"))
    rig.begin("large", "s-2")
    rig.answer("large", b"text " * LARGEST_IN_MEMORY, headers=[])
    rig.recorder.settle()
    (line,) = rig.lines(None)
    old = Slot(rig.folder(None), line["sequence"], line["path"], io.BytesIO())
    refile(rig.store, old, Exchange.from_json(line), Identity("s-3", "process"))
    return rig


def _of(session: str) -> list[tuple[str, str]]:
    return [("x-claude-code-session-id", session)]


def exchange_files(folder: Path, direction: str) -> Iterator[Any]:
    for path in sorted(folder.rglob("*.json")):
        named = parse_file_name(path.name)
        if named and named[1] == direction:
            yield parse_json(path.read_bytes())


def test_the_lines_have_the_documented_fields(recorded: Recorded, odd: RecorderRig) -> None:
    documented = section("exchanges.jsonl")
    lines = (recorded.folder / "exchanges.jsonl").read_bytes().splitlines()
    values = [*map(parse_json, lines), *odd.lines("s-1"), *odd.lines(None)]
    assert found_in(iter(values), documented) == set(documented)


def test_the_manifest_has_the_documented_fields(
    recorded: Recorded, odd: RecorderRig, tmp_path: Path
) -> None:
    documented = section("manifest.json")
    rig = RecorderRig(tmp_path)
    rig.whole("f-1", "s-1")
    (rig.folder("s-1") / "manifest.json").write_bytes(b"{")
    rig.whole("f-2", "s-1")
    good = parse_json((recorded.folder / "manifest.json").read_bytes())
    values = [good, odd.manifest("s-1"), odd.manifest(None), rig.manifest("s-1")]
    assert found_in(iter(values), documented) == set(documented)
    assert {gap["kind"] for value in values for gap in value["gaps"]} == {
        "capture_error",
        "manifest_lost",
    }


def test_the_request_file_has_the_documented_fields(
    recorded: Recorded, odd: RecorderRig, tmp_path: Path
) -> None:
    documented = section("Request and response files", "The request file")
    places = ["--captures", odd.store.root, "--claude-dir", odd.root, "-o", tmp_path / "copy"]
    ran = CliRunner().invoke(scrub.command, ["s-1", *map(str, places)], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    folders = (recorded.captures, odd.store.root, tmp_path / "copy")
    values = (value for folder in folders for value in exchange_files(folder, "req"))
    assert found_in(values, documented) == set(documented)


def test_the_response_file_has_the_documented_fields(recorded: Recorded, odd: RecorderRig) -> None:
    documented = section("Request and response files", "The response file")
    folders = (recorded.captures, odd.store.root)
    values = (value for folder in folders for value in exchange_files(folder, "resp"))
    assert found_in(values, documented) == set(documented)


def test_the_part_has_the_documented_fields(odd: RecorderRig) -> None:
    documented = section("Part files")
    parts = [odd.folder(session).glob("*.part") for session in ("s-2", "s-3")]
    lines = [line for some in parts for part in some for line in part.read_bytes().splitlines()]
    assert found_in(map(parse_json, lines), documented) == set(documented)


def test_a_segment_is_named_after_an_exchange_and_lists_its_files(tmp_path: Path) -> None:
    rig = RecorderRig(tmp_path)
    rig.whole("f-1", "s-1")
    pack_session(rig.folder("s-1"), now=float("inf"))
    (pack,) = packs(rig.folder("s-1"))
    assert pack.name == "0001_pack.seg"
    assert pack.read_bytes().startswith(bytes.fromhex("9e636377"))
    assert len(Segment(pack).names) == 2


def test_an_index_line_has_the_documented_values() -> None:
    documented = {name: kind for name, kind in section("Packs").items() if kind != "what"}
    entry = PackedFile(name="n", size=1, mode=0, mtime_ns=2, sha256="d")
    values = [*(getattr(entry, name) for name in list(documented)[:-1]), [3, 4]]
    assert parse_json(encode_line(entry, [(3, 4)])) == values


def test_the_sessions_map_has_the_documented_fields(recorded: Recorded, tmp_path: Path) -> None:
    documented = section("sessions.json")
    newer = tmp_path / "sessions.json"  # the recorded release's Stop hook does not tell the answer
    stop = {"hook_event_name": "Stop", "session_id": "s-1", "last_assistant_message": "yes"}
    subprocess.run(hook_command(newer), shell=True, input=json.dumps(stop), text=True, check=True)
    values = [parse_json(path.read_bytes()) for path in (recorded.sessions, newer)]
    assert found_in(iter(values), documented) == set(documented)


def test_the_register_of_folders_has_the_documented_fields(tmp_path: Path) -> None:
    documented = section("captures.json")
    register(tmp_path, tmp_path / "home")
    known = parse_json((tmp_path / "home" / "captures.json").read_bytes())
    unknown = parse_json(dump_registry([RegisteredFolder(tmp_path)]))
    assert found_in(iter([known, unknown]), documented) == set(documented)


def test_an_event_has_the_documented_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documented = section("Waiting events")
    left: list[Any] = []

    def leave(path: str, event: Any) -> str:
        left.append(parse_json(dump(event)))
        return str(tmp_path / "taken in already")

    monkeypatch.setattr(handle, "leave_event", leave)
    payload = dict.fromkeys(FIELDS, "x") | {"hook_event_name": "SubagentStop", "private": "words"}
    names = ("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_ENTRYPOINT")
    sessions = ["--sessions", str(tmp_path / "sessions.json")]
    handle.handle(dump(payload), sessions, dict.fromkeys(names, "x"), 1)
    assert not (tmp_path / "hook.log").exists()
    assert found_in(iter(left), documented) == set(documented)


def test_every_file_is_documented(
    recorded: Recorded, odd: RecorderRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns = {name: _pattern(name) for name in section("Files")}
    rig = RecorderRig(tmp_path)
    rig.whole("f-1", "s-1")
    rig.whole("f-2", "s-2")
    pack_session(rig.folder("s-1"), now=float("inf"))
    slot = rig.store.open_slot("s-2", "/v1/messages")
    slot.note(b'{"rubbish": 1}')
    slot.part.close()
    recover(rig.store)
    home = tmp_path / "home"
    home.mkdir()
    sessions = str(home / "sessions.json")
    sessions_file.leave_event(sessions, {})
    (home / "sessions.json").write_text("{")
    sessions_file.set_aside(sessions)
    (home / "hook.log").write_bytes(b"x" * (sessions_file.LOG_BYTES + 1))
    sessions_file.log(sessions, "full")
    sessions_file.log(sessions, "the first line of the next one")
    register(rig.store.root, home)
    monkeypatch.setenv("CCWIRE_HOME", str(home))
    given = ["--captures", str(recorded.captures), "--claude-dir", str(recorded.claude_dir)]
    assert CliRunner().invoke(report.command, given).exit_code == 0
    verdicts = VerdictCache(ClaudeDir(tmp_path), {"CCWIRE_HOME": str(home)})
    judged = Reconciliation(session_id="s", claude_versions=(), calls=(), turns_without_call=())
    verdicts.note(rig.folder("s-1"), "state", judged)
    verdicts.save()
    roots = [recorded.captures, odd.store.root, rig.store.root, home]
    beside = ("sessions.json*", "hook.log*", "redaction.key", ".lock")
    names = {str(p.relative_to(r)) for r in roots for p in r.rglob("*") if p.is_file()}
    names |= {p.name for glob in beside for p in recorded.root.glob(glob) if p.is_file()}
    seen = {name: {p for p, known in patterns.items() if known.fullmatch(name)} for name in names}
    assert [name for name, fitting in seen.items() if not fitting] == []
    in_passing = {"SESSION/.NAME.tmp", "sessions.json.tmp", ".captures.json.NAME.tmp"}
    assert set().union(*seen.values()) | in_passing == set(patterns)


def _pattern(name: str) -> re.Pattern[str]:
    words = {
        "SESSION": "[A-Za-z0-9-]{1,64}",
        "NNNN": r"\d{4,}",
        "PATH": "[A-Za-z0-9_]{1,80}",
        "NAME": ".+",
        "NANOSECONDS": r"\d+",
        "PID": r"\d+",
    }
    found = re.escape(name)
    for word, pattern in words.items():
        found = found.replace(word, pattern)
    return re.compile(found)
