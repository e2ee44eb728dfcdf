"""`ccwire pack` never loses data, and every reader works on packed sessions."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from addon.storage.folder import CaptureStore
from ccwire.cli import main
from ccwire.wire.format import EXCHANGES
from ccwire.wire.pack.files import exchange_files
from ccwire.wire.pack.reader import packs
from ccwire.wire.pack.segment import Segment
from correlate.schema.observe.walk import observe
from lab.made_session import MadeSession
from tests.addon.storage.exchange_files import all_there, contents, write_files

SESSION = "11111111-2222-4333-8444-555555555555"
OTHER = "22222222-2222-4333-8444-555555555555"


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    """Two sessions; the first has a side call whose purpose is only in its request file."""
    for session in (SESSION, OTHER):
        made = MadeSession(session)
        made.prompt("go")
        made.call(("text",))
        made.call(in_transcript=False, request_class=None, tools=0, messages=1)
        folder = made.write_capture(tmp_path / "captures")
        made.write(tmp_path / "claude")
        write_files(folder, range(1, 4))
        for path in folder.iterdir():
            os.utime(path, (1_794_000_000, 1_794_000_000))
    return tmp_path / "captures"


@pytest.fixture
def folder(captures: Path) -> Path:
    return captures / SESSION


def run(captures: Path, *arguments: str) -> Result:
    where = ["--captures", str(captures), "--claude-dir", str(captures.parent / "claude")]
    return CliRunner(env={"COLUMNS": "120"}).invoke(main, [*arguments, *where])


def test_packing_and_unpacking_brings_everything_back(captures: Path, folder: Path) -> None:
    before = contents(folder)
    packed = run(captures, "pack", SESSION, "--json")
    assert packed.exit_code == 0, packed.output
    (outcome,) = json.loads(packed.output)["sessions"]
    assert (outcome["did"], outcome["files"]) == ("packed", 6)
    assert outcome["after"] < outcome["before"]
    assert exchange_files(folder) == []
    assert [pack.name for pack in packs(folder)] == ["0001_pack.seg"]
    assert packs(folder)[0].stat().st_mode & 0o777 == 0o600
    unpacked = run(captures, "pack", SESSION, "--unpack", "--json")
    assert json.loads(unpacked.output)["sessions"][0]["did"] == "unpacked"
    assert contents(folder) == before
    assert packs(folder) == []


def test_reconcile_says_the_same_of_a_packed_session(captures: Path) -> None:
    before = run(captures, "reconcile", SESSION, "--json").output
    run(captures, "pack", SESSION)
    assert run(captures, "reconcile", SESSION, "--json").output == before
    assert "inferred: the request has no tools" in before


def test_schema_sees_the_same_in_a_packed_session(captures: Path, folder: Path) -> None:
    before = observe([captures])
    run(captures, "pack", SESSION)
    after = observe([captures])
    assert after.snapshot == before.snapshot
    assert (after.exchanges, after.unreadable) == (before.exchanges, [])
    assert before.exchanges == 6
    (pack,) = packs(folder)
    data = bytearray(pack.read_bytes())
    data[40] ^= 0xFF
    pack.write_bytes(data)
    assert [(bad.path, bad.reason) for bad in observe([captures]).unreadable] == [(pack, "damaged")]


def test_a_proxy_goes_on_numbering_behind_a_pack(captures: Path, folder: Path) -> None:
    run(captures, "pack", SESSION)
    slot = CaptureStore(captures).open_slot(SESSION, "/v1/messages")
    slot.part.close()
    assert slot.sequence == 4


def test_packing_again_takes_in_what_came_since(captures: Path, folder: Path) -> None:
    run(captures, "pack", SESSION)
    write_files(folder, range(4, 6))
    before = all_there(folder)
    assert run(captures, "pack", SESSION).exit_code == 0
    assert [pack.name for pack in packs(folder)] == ["0001_pack.seg"]
    assert all_there(folder) == before
    assert "nothing to do" in run(captures, "pack", SESSION).output


def test_keep_leaves_both(captures: Path, folder: Path) -> None:
    before = contents(folder)
    run(captures, "pack", SESSION, "--keep")
    assert contents(folder) == before
    assert len(Segment(packs(folder)[0]).names) == 6
    run(captures, "pack", SESSION)
    assert exchange_files(folder) == []
    run(captures, "pack", SESSION, "--unpack", "--keep")
    assert contents(folder) == before
    assert len(packs(folder)) == 1


def test_a_session_under_way_is_refused(captures: Path, folder: Path) -> None:
    part = folder / "0004_resp_v1_messages.part"
    part.write_bytes(b"")
    refused = run(captures, "pack", SESSION)
    assert refused.exit_code == 2
    assert "is being captured (an exchange is in flight)" in refused.output
    part.unlink()
    os.utime(folder / EXCHANGES)
    assert "written to in the last 10 seconds" in run(captures, "pack", SESSION).output
    packed = run(captures, "pack", "--all", "--json")
    assert packed.stderr == (
        f"session {SESSION} is being captured "
        "(it was written to in the last 10 seconds); skipped.\n"
    )
    every = json.loads(packed.stdout)["sessions"]
    assert [(o["session_id"], o["did"]) for o in every] == [(SESSION, "busy"), (OTHER, "packed")]
    assert len(exchange_files(folder)) == 6


def test_wrong_usage_is_an_error(captures: Path) -> None:
    assert run(captures, "pack").exit_code == 2
    assert run(captures, "pack", SESSION, "--all").exit_code == 2
    assert "no session 'nope'" in run(captures, "pack", "nope").output


def test_a_damaged_pack_is_left_alone(captures: Path, folder: Path) -> None:
    run(captures, "pack", SESSION)
    (pack,) = packs(folder)
    data = bytearray(pack.read_bytes())
    data[40] ^= 0xFF
    pack.write_bytes(data)
    told = run(captures, "pack", SESSION, "--unpack")
    assert told.exit_code == 2
    assert "nothing was removed" in told.output
    assert pack.exists()
    write_files(folder, range(4, 5))
    assert run(captures, "pack", SESSION).exit_code == 0
    assert pack.read_bytes() == data
    assert len(packs(folder)) == 2
