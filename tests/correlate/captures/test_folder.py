from pathlib import Path
from typing import Any

import pytest

from addon.storage.packing.pack import pack_session
from ccwire.wire.format import Exchange
from ccwire.wire.json_text import dump
from correlate.captures.folder import (
    read_exchange_lines,
    read_exchanges,
    read_manifest,
    read_request,
    read_request_bytes,
    read_response,
    read_response_bytes,
    request_file,
    response_file,
    session_folders,
)


def line(sequence: int, started: Any = 1.0, **fields: Any) -> bytes:
    exchange = Exchange(
        sequence=sequence,
        flow_id=f"f-{sequence}",
        started=started,
        method="POST",
        host="h",
        path="/v1/messages",
        kind="messages",
    )
    return dump({**exchange.to_json(), **fields})


def write(folder: Path, *lines: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "exchanges.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return folder


def test_session_folders_are_distinguished_from_other_files(tmp_path: Path) -> None:
    for name in ("s-2", "s-1", "unknown", "not a session"):
        write(tmp_path / name, line(1))
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "s-1")
    (tmp_path / "file").write_text("x")
    assert [folder.name for folder in session_folders(tmp_path)] == ["s-1", "s-2"]
    assert session_folders(tmp_path / "nowhere") == []


def test_exchanges_come_in_the_order_they_started(tmp_path: Path) -> None:
    folder = write(tmp_path / "s", line(1, 5.0), line(3, 1.0), line(2, 1.0))
    assert [e.sequence for e in read_exchanges(folder)] == [2, 3, 1]


def test_lines_that_are_not_whole_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "s", line(1), b"", b"{torn", b"[]", b"{}", line(2), line(3)[:-9])
    exchanges, bad = read_exchange_lines(folder)
    assert [e.sequence for e in exchanges] == [1, 2]
    assert bad == [3, 4, 5, 7]


@pytest.mark.parametrize(
    "bad",
    [
        line(2, started=None),
        line(2, started="1"),
        line(2).replace(b'"sequence":2', b'"sequence":"2"'),
        line(2).replace(b'"sequence":2', b'"sequence":null'),
        line(2, usage=5),
        line(2, kind=None),
    ],
)
def test_a_line_with_something_else_in_it_is_bad(tmp_path: Path, bad: bytes) -> None:
    folder = write(tmp_path / "s", line(1), bad)
    assert [e.sequence for e in read_exchanges(folder)] == [1]
    assert read_exchange_lines(folder)[1] == [2]


def test_a_session_without_lines_has_none(tmp_path: Path) -> None:
    assert read_exchanges(tmp_path) == []


def test_lone_surrogates_are_read(tmp_path: Path) -> None:
    (exchange,) = read_exchanges(write(tmp_path / "s", line(1, model="\ud800")))
    assert exchange.model == "\ud800"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "[]",
        "{}",
        "null",
        '{"session_id":5}',
        '{"session_id":"s","counts":5}',
        '{"session_id":"s","counts":{"exchanges":"3"}}',
        '{"session_id":"s","gaps":{}}',
        '{"session_id":"s","models":null}',
        '{"session_id":"s","agents":[]}',
        '{"session_id":"s","conflicts":null}',
        '{"session_id":"s","first_seen":"yesterday"}',
    ],
)
def test_an_invalid_manifest_contains_only_the_session_id(tmp_path: Path, text: str | None) -> None:
    folder = tmp_path / "s-1"
    folder.mkdir()
    if text is not None:
        (folder / "manifest.json").write_text(text)
    manifest = read_manifest(folder)
    assert (manifest.session_id, manifest.counts, manifest.gaps) == ("s-1", {}, [])


def test_a_manifest_is_read(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"session_id":"s","models":["m"],"of_tomorrow":1}')
    assert read_manifest(tmp_path).models == ["m"]


def test_the_files_of_an_exchange_are_found(tmp_path: Path) -> None:
    for name in ("0001_req_a.json", "0001_resp_a.json", "00012_req_b.json", "0002_req_c.part"):
        (tmp_path / name).write_bytes(dump({"name": name}))
    request, response = request_file(tmp_path, 1), response_file(tmp_path, 1)
    assert request is not None
    assert response is not None
    assert (request.name, response.name) == ("0001_req_a.json", "0001_resp_a.json")
    assert read_request(tmp_path, 1) == {"name": "0001_req_a.json"}
    assert read_response(tmp_path, 1) == {"name": "0001_resp_a.json"}
    assert request_file(tmp_path, 2) is None
    with pytest.raises(FileNotFoundError, match="no req file 0002"):
        read_request(tmp_path, 2)


def test_a_file_that_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "0001_req_a.json").write_text("[]")
    with pytest.raises(ValueError, match="not a capture file"):
        read_request(tmp_path, 1)


def test_the_bytes_of_a_file_are_those_that_are_stored(tmp_path: Path) -> None:
    request, response = b'{ "a":1.0 }\n', b"\xff damaged"
    (tmp_path / "0001_req_v1_messages.json").write_bytes(request)
    (tmp_path / "0001_resp_v1_messages.json").write_bytes(response)
    for _ in ("open", "packed"):
        assert read_request_bytes(tmp_path, 1) == request
        assert read_response_bytes(tmp_path, 1) == response
        pack_session(tmp_path, now=float("inf"))
    assert not list(tmp_path.glob("0001_re*"))
    with pytest.raises(FileNotFoundError):
        read_request_bytes(tmp_path, 2)
