"""Invariants of a capture folder after any fault."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ccwire.wire.format import parse_file_name
from tests.addon.storage.exchange_files import all_there


@dataclass(frozen=True)
class Filed:
    """The content of a session's folder: its lines as bytes, and its files by name."""

    lines: dict[str, bytes]  # by flow id
    files: dict[str, bytes]


def look(captures: Path) -> dict[str, Filed]:
    """Return every session's folder, without truncated lines."""
    return {
        folder.name: Filed(_lines(folder), _files(folder))
        for folder in captures.iterdir()
        if folder.is_dir()
    }


def check(captures: Path) -> dict[str, Filed]:
    """Check a folder that no proxy writes to, and return its content."""
    held = look(captures)
    for name, filed in held.items():
        folder = captures / name
        assert not list(folder.glob("*.part*")), "an exchange was left in flight"
        assert not list(folder.glob(".*.tmp")), "half a file was left"
        records = {flow: orjson.loads(line) for flow, line in filed.lines.items()}
        by_number = {line["sequence"]: flow for flow, line in records.items()}
        assert len(by_number) == len(records), "two exchanges have one number"
        pairs = {parse_file_name(file): orjson.loads(data) for file, data in filed.files.items()}
        wanted = {(number, way) for number in by_number for way in ("req", "resp")}
        # A kill before the request file was written leaves only a response, marked as incomplete.
        cut = {(line["sequence"], "req") for line in records.values() if line["status"] is None}
        assert set(pairs) <= wanted, "a file that no line tells of"
        assert wanted - set(pairs) <= cut, "a file is gone"
        for place, file in pairs.items():
            assert place is not None
            assert file["flow_id"] == by_number[place[0]]
            assert file["sequence"] == place[0]
            assert file["session_id"] == (None if name == "unknown" else name)
        for flow, line in records.items():
            answer = pairs[line["sequence"], "resp"]
            assert (line["complete"], line["ended_by"]) == (answer["complete"], answer["ended_by"])
            assert line["usage"] == (answer["message"] or {}).get("usage"), flow
        if records or (folder / "manifest.json").exists():
            check_manifest(folder, list(records.values()))
    return held


def check_manifest(folder: Path, records: list[dict[str, Any]]) -> None:
    counts = orjson.loads((folder / "manifest.json").read_bytes())["counts"]
    complete = sum(line["complete"] for line in records)
    found = {name: counts.get(name, 0) for name in ("exchanges", "complete", "incomplete")}
    assert found == {
        "exchanges": len(records),
        "complete": complete,
        "incomplete": len(records) - complete,
    }


def _lines(folder: Path) -> dict[str, bytes]:
    path = folder / "exchanges.jsonl"
    told: dict[str, bytes] = {}
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            flow = orjson.loads(line)["flow_id"]
        except orjson.JSONDecodeError:
            continue  # truncated by a kill
        assert flow not in told, "an exchange is told twice"
        told[flow] = line
    return told


def _files(folder: Path) -> dict[str, bytes]:
    return all_there(folder)
