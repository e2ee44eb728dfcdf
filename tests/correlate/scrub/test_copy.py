"""A scrubbed copy contains no text of the original, and everything else is unchanged."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from addon.storage.packing.pack import pack_session
from ccwire.demo.client.simulated import SimulatedClient
from ccwire.demo.stand_in.scenarios import named
from ccwire.wire.format import EXCHANGES, MANIFEST, file_name
from correlate.captures.folder import read_request, session_folders
from correlate.scrub.names import Names
from correlate.transcript.locate import slug_of
from lab.made_session import MadeSession
from tests.correlate.scrub.checks import (
    assert_no_word_left,
    assert_same_but_for_ids,
    reconcile,
    scrub,
    session_paths,
    snapshot,
)
from tests.rig import Rig, copy_capture, rig, until

SESSION = "11111111-2222-4333-8444-5555aaaabbbb"
OTHER = "99999999-2222-4333-8444-5555aaaabbbb"


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("scrub"), named("plain")) as made:
        yield made


def run(wire: Rig, home: Path, version: str, scenario: str, **more: Any) -> str:
    """Capture a session of the simulated client in a project folder next to the home."""
    cwd = home.parent / "the jabberwock project"
    cwd.mkdir(exist_ok=True)
    wire.api.scenario = named(scenario)
    port, ca_cert = wire.proxy.port, wire.proxy.ca_cert
    client = SimulatedClient(version, home=home, cwd=cwd, proxy_port=port, ca_cert=ca_cert, **more)
    client.run(wire.api.scenario.prompt)
    session = client.session_id
    wire.api.ledger.wait()
    wire.exchanges(session, len(wire.api.ledger.messages(session)))
    folder = wire.captures / session
    until(lambda: not list(folder.glob("*.part")))
    copy_capture(folder, home.parent / "captures" / session)  # telemetry may still come
    return session


def assert_copy_is_the_same(captures: Path, claude_dir: Path, session: str, target: Path) -> str:
    copied = scrub(captures, claude_dir, session, target)
    theirs = target / "captures", target / "claude", copied.session_id
    assert_same_but_for_ids(reconcile(captures, claude_dir, session), reconcile(*theirs))
    sources = session_paths(captures, claude_dir, session)
    assert snapshot(session_paths(*theirs)) == snapshot(sources)
    return copied.session_id


@pytest.mark.parametrize("version", ["1.0.100", "2.0.73", "2.1.39", "2.1.274", "2.1.325"])
@pytest.mark.parametrize("scenario", ["mix", "three_subagents"])
def test_reconcile_and_schema_give_the_same_result_for_the_copy(
    wire: Rig, tmp_path: Path, version: str, scenario: str
) -> None:
    home, target = tmp_path / "home", tmp_path / "copy"
    session = run(wire, home, version, scenario)
    captures = tmp_path / "captures"
    assert_copy_is_the_same(captures, home / ".claude", session, target)
    assert_no_word_left(session_paths(captures, home / ".claude", session), target)


def test_a_fork_takes_the_session_it_comes_from_along(wire: Rig, tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "copy"
    first = run(wire, home, "2.1.325", "bash")
    fork = run(wire, home, "2.1.325", "plain", resume=first, fork=True)
    assert_copy_is_the_same(tmp_path / "captures", home / ".claude", fork, target)
    assert len(session_folders(target / "captures")) == 2


def test_a_packed_session_is_copied_as_if_it_were_open(wire: Rig, tmp_path: Path) -> None:
    home = tmp_path / "home"
    session = run(wire, home, "2.1.325", "bash")
    captures = tmp_path / "captures"
    first = scrub(captures, home / ".claude", session, tmp_path / "open")
    pack_session(captures / session, now=4e9)
    second = scrub(captures, home / ".claude", session, tmp_path / "packed")
    assert second == first
    for path in (tmp_path / "open").rglob("*.*"):
        other = tmp_path / "packed" / path.relative_to(tmp_path / "open")
        if path.is_file():
            assert other.read_bytes() == path.read_bytes()
            assert other.stat().st_mtime_ns == path.stat().st_mtime_ns or path.suffix == ".txt"


def test_every_file_keeps_its_size_its_lines_and_its_time(wire: Rig, tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "copy"
    session = run(wire, home, "2.1.39", "bash")
    copied = scrub(tmp_path / "captures", home / ".claude", session, target)
    folder = tmp_path / "captures" / session
    told = {p.name: p for p in (target / "captures" / copied.session_id).iterdir()}
    for path in folder.glob("*_*.json"):
        purpose = b'"purpose": ' in told[path.name].read_bytes()
        assert purpose or told[path.name].stat().st_size == path.stat().st_size
        assert told[path.name].stat().st_mtime_ns == path.stat().st_mtime_ns
        assert told[path.name].stat().st_mode & 0o777 == 0o600
    (main,) = (home / ".claude").glob(f"projects/*/{session}.jsonl")
    (copy,) = (target / "claude").glob(f"projects/*/{copied.session_id}.jsonl")
    assert [*map(len, copy.read_bytes().splitlines())] == [
        *map(len, main.read_bytes().splitlines())
    ]
    cwd = json.loads(copy.read_bytes().splitlines()[-1])["cwd"]
    assert copy.parent.name == slug_of(cwd)


# Sessions made by hand, for what no run has


def made_session(tmp_path: Path, **more: Any) -> tuple[Path, Path]:
    """Side calls whose purpose is only in their text, and a retried call."""
    made = MadeSession(SESSION, **more)
    made.prompt("Feed the zebra.")
    made.call(("text", "tool_use"), output=249)
    made.tool_result("The zebra is fed.", agentId="a1b2c3d4e5", status="completed")
    for _ in range(3):
        made.call(in_transcript=False, request_class=None, tools=None, messages=1)
    made.call(in_transcript=False, request_class=None, complete=False, status=529, messages=7)
    made.call(output=30, messages=7)
    made.write(tmp_path / "claude", tmp_path / "captures")
    folder = tmp_path / "captures" / SESSION
    said: dict[int, dict[str, Any]] = {
        2: {"system": "Write a title for the zebra.", "messages": [ask("zebra")]},
        3: {"system": "x", "messages": [ask("quota")]},
        4: {"messages": [ask("Your task is to create a detailed summary of the zebra")]},
        5: {"messages": [ask("the zebra again")], "stream": True},
        6: {"messages": [ask("the zebra again")]},
    }
    for number, body in said.items():
        write_request(folder, number, body)
    return tmp_path / "captures", tmp_path / "claude"


def ask(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def write_request(folder: Path, number: int, body: dict[str, Any], **more: Any) -> None:
    record = {
        "format": 1,
        "session_id": SESSION,
        "sequence": number,
        "host": "api.anthropic.com",
        "path": "/v1/messages",
        "headers": {"user-agent": "claude-cli/2.1.325 (external, cli)"},
        "body": {"type": "json", "size": 1, "data": body},
        **more,
    }
    (folder / file_name(number, "req", "/v1/messages")).write_bytes(orjson.dumps(record))


def test_what_was_inferred_from_words_is_still_known_without_them(tmp_path: Path) -> None:
    captures, claude_dir = made_session(tmp_path)
    found = reconcile(captures, claude_dir, SESSION)
    inferred = [call["evidence"] for call in found["calls"] if "inferred" in str(call["evidence"])]
    assert len(inferred) == 3
    assert "same messages" in str(found["calls"][4]["evidence"])
    session = assert_copy_is_the_same(captures, claude_dir, SESSION, tmp_path / "copy")
    copy = tmp_path / "copy" / "captures" / session
    assert read_request(copy, 2)["purpose"] == "title"
    assert read_request(copy, 6).get("purpose") is None
    assert b"zebra" not in b"".join(p.read_bytes() for p in copy.iterdir())


def test_what_was_not_proven_is_not_proven_by_the_copy(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.call(in_transcript=False, request_class=None, tools=1, messages=1)
    made.write(tmp_path / "claude", tmp_path / "captures")
    search = [{"type": "web_search_20250305", "name": "web_search"}]
    body = {"tools": search, "messages": [ask("Perform a web search for the query: zebra")]}
    write_request(tmp_path / "captures" / SESSION, 2, body)
    found = reconcile(tmp_path / "captures", tmp_path / "claude", SESSION)
    assert (found["calls"][1]["kind"], found["unexplained"]) == ("unknown", 1)
    copied = scrub(tmp_path / "captures", tmp_path / "claude", SESSION, tmp_path / "copy")
    copy = reconcile(tmp_path / "copy/captures", tmp_path / "copy/claude", copied.session_id)
    assert (copy["calls"][1]["kind"], copy["unexplained"]) == ("unknown", 1)


def test_a_copy_of_a_copy_reconciles_the_same(tmp_path: Path) -> None:
    captures, claude_dir = made_session(tmp_path)
    first = assert_copy_is_the_same(captures, claude_dir, SESSION, tmp_path / "one")
    one = tmp_path / "one"
    assert_copy_is_the_same(one / "captures", one / "claude", first, tmp_path / "two")


def test_damaged_lines_are_reported_for_the_copy_too(tmp_path: Path) -> None:
    captures, claude_dir = made_session(tmp_path)
    main = next(claude_dir.rglob(f"{SESSION}.jsonl"))
    with main.open("ab") as file:
        file.write(b'{"type":"assistant", "a": zebra}\n\n["zebra"]\n{"type":"user","mess')
    with (captures / SESSION / EXCHANGES).open("ab") as file:
        file.write(b'{"sequence": 9, "flow_id": "zebra')
    found = reconcile(captures, claude_dir, SESSION)
    assert len(found["bad_lines"]) == 4
    assert found["notes"] == ["exchanges.jsonl:7 is malformed"]
    copied = scrub(captures, claude_dir, SESSION, tmp_path / "copy")
    copy = reconcile(tmp_path / "copy/captures", tmp_path / "copy/claude", copied.session_id)
    assert [bad.partition(":")[2] for bad in copy["bad_lines"]] == [
        bad.partition(":")[2] for bad in found["bad_lines"]
    ]
    assert copy["notes"] == found["notes"]
    everything = b"".join(p.read_bytes() for p in (tmp_path / "copy").rglob("*") if p.is_file())
    assert b"zebra" not in everything


def test_calls_under_unknown_are_copied_only_where_they_are_the_sessions(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.prompt("go")
    made.call(output=20)
    made.call(output=21)
    folder = made.write_capture(tmp_path / "captures")
    made.write(tmp_path / "claude")
    for number in (1, 2, 3):
        write_request(folder, number, {"messages": [ask(f"zebra {number}")]})
    lines = [orjson.loads(line) for line in (folder / EXCHANGES).read_bytes().splitlines()]
    stranger = {**lines[0], "sequence": 3, "flow_id": "f3", "message_id": "m", "request_id": "r"}
    stranger |= {"pid": 77}
    data = b"".join(orjson.dumps(line) + b"\n" for line in [*lines, stranger])
    (folder / EXCHANGES).write_bytes(data)
    (folder / MANIFEST).unlink()
    folder.rename(tmp_path / "captures" / "unknown")
    target = tmp_path / "copy"
    copied = scrub(tmp_path / "captures", tmp_path / "claude", SESSION, target)
    assert_same_but_for_ids(
        reconcile(tmp_path / "captures", tmp_path / "claude", SESSION),
        reconcile(target / "captures", target / "claude", copied.session_id),
    )
    copy = target / "captures" / "unknown"
    assert sorted(p.name[:8] for p in copy.glob("*.json")) == ["0001_req", "0002_req"]
    assert len((copy / EXCHANGES).read_bytes().splitlines()) == 2


PLANTED: dict[str, Callable[[str], dict[str, Any]]] = {
    "aardvark": lambda word: {"type": "user", "message": {"role": "user", "content": word}},
    "baboon": lambda word: {"type": "user", "cwd": f"/home/{word}/x", "gitBranch": word},
    "cheetah": lambda word: {"type": "system", "subtype": f"{word} with spaces", "content": word},
    "dormouse": lambda word: {"type": "attachment", "attachment": {"type": "x", "names": [word]}},
    "elephant": lambda word: {"snapshot": {"trackedFileBackups": {f"/a/{word}.py": {"v": 1}}}},
    "flamingo": lambda word: {"toolUseResult": {"stdout": word, word: {word: word}}},
    "gorilla": lambda word: {"message": {"content": [{"type": "text", "text": f"a {word}\nb"}]}},
    "hedgehog": lambda word: {
        "message": {"content": [{"type": "tool_use", "input": {word: word}}]}
    },
    "iguana": lambda word: {"customTitle": f"The {word.upper()}", "summary": word * 30},
    "jackal": lambda word: {"uuid": word, "sessionId": word, "agentId": word},
    "kangaroo": lambda word: {"servers": {f"{word}-{n}": {"url": word} for n in range(3)}},
    "leopard": lambda word: {"error": {"headers": {"x-zoo": word}, "message": word}},
    "macaque": lambda word: {"model": word, "version": word, "querySource": f"agent:custom:{word}"},
    "narwhal": lambda word: {"env": {"HOME": f"/home/{word}", word: "1"}, "mcpMeta": {word: word}},
    "Ökosystem": lambda word: {"type": "user", "message": {"content": f"Das {word} " * 9}},
    "пингвин": lambda word: {"type": "user", "message": {"content": f"это {word}"}},
    "quokka": lambda word: {"content": json.dumps({"text": word}), "user_id": f'{{"x": "{word}"}}'},
}


def test_no_planted_word_is_left_wherever_it_stood(tmp_path: Path) -> None:
    captures, claude_dir = made_session(tmp_path)
    main = next(claude_dir.rglob(f"{SESSION}.jsonl"))
    with main.open("ab") as file:
        for word, record in PLANTED.items():
            file.write(json.dumps(record(word)).encode() + b"\n")
            file.write(json.dumps(record(word), ensure_ascii=False).encode() + b"\n")
    body = {
        "system": [{"type": "text", "text": "the wombat"}],
        "tools": [{"name": "mcp__wombat__dig", "description": "wombat", "input_schema": {
            "type": "object", "properties": {"wombat": {"enum": ["wombat"]}}}}],
        "metadata": {"user_id": "user_wombat_account_wombat_session_" + SESSION},
        "messages": [ask("wombat")],
    }  # fmt: skip
    folder = captures / SESSION
    write_request(
        folder,
        9,
        body,
        headers={"x-app": "the wombat", "user-agent": "wombat/1.0", "cookie": "wombat"},
        host="llm.wombat.example",
        url="https://llm.wombat.example/wombat?wombat=wombat",
        query={"q": "wombat"},
        client={"address": "10.1.2.3"},
    )
    events = [{"event": "x y wombat", "at_ms": 1.5, "data": "wombat", "raw": "data: wombat\n\n"}]
    response = {"path": "/v1/messages", "reason": "wombat", "error": "wombat: wombat",
                "body": {"type": "sse", "size": 9, "events": events}}  # fmt: skip
    (folder / file_name(9, "resp", "/v1/messages")).write_bytes(orjson.dumps(response))
    target = tmp_path / "copy"
    assert_copy_is_the_same(captures, claude_dir, SESSION, target)
    everything = ""
    for path in target.rglob("*"):
        everything += f"{path.relative_to(target)}\n"
        if path.is_file():
            text = path.read_text("utf-8")
            everything += text + text.encode().decode("unicode_escape", "replace")
    left = [word for word in [*PLANTED, "wombat", "zebra"] if word.lower() in everything.lower()]
    assert left == []


def test_words_that_stay_are_listed(tmp_path: Path) -> None:
    captures, claude_dir = made_session(tmp_path)
    scrub(captures, claude_dir, SESSION, tmp_path / "copy")
    kept = (tmp_path / "copy" / "kept-words.txt").read_text().splitlines()
    assert {"message", "claude-opus-5-5", "end_turn", "Bash"} <= set(kept)
    assert kept == sorted(kept)


def test_the_key_makes_every_copy_another(tmp_path: Path) -> None:
    captures, claude_dir = made_session(tmp_path)
    first = scrub(captures, claude_dir, SESSION, tmp_path / "one")
    assert first.session_id == scrub(captures, claude_dir, SESSION, tmp_path / "two").session_id
    assert Names(os.urandom(16)).name(SESSION) != first.session_id
