"""The content of a call's files, whether unpacked, packed, damaged or missing."""

from pathlib import Path

import pytest

from correlate.captures.content import (
    CaptureFiles,
    answer_blocks,
    betas_of,
    body_of,
    thread_of,
    turn_blocks,
)
from correlate.transcript.locate import SessionFiles
from correlate.transcript.reader import read_transcript
from lab.made_session import write_lines
from tests.addon.storage.exchange_files import pack_files
from tests.correlate.report.made import SESSION, small_session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_session().write_capture(tmp_path)


def test_a_request_and_its_answer_are_read(folder: Path) -> None:
    files = CaptureFiles(folder)
    request, response = files.request(2), files.response(2)
    assert body_of(request)["messages"][0]["content"][0]["text"] == "Please look at the file."
    assert betas_of(request) == ["made-up-2026-01-01"]
    blocks = answer_blocks(response)
    assert blocks is not None
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use"]
    assert files.request_name(2) == "0002_req_v1_messages.json"
    assert files.response_name(2) == "0002_resp_v1_messages.json"


def test_an_answer_without_a_message_has_no_blocks(folder: Path) -> None:
    response = CaptureFiles(folder).response(1)
    assert answer_blocks(response) is None
    assert body_of(response)["error"]["type"] == "overloaded_error"


def test_packed_files_are_read_as_if_they_lay_open(folder: Path) -> None:
    opened = [CaptureFiles(folder).request(n) for n in range(1, 7)]
    pack_files(folder)
    files = CaptureFiles(folder)
    assert [files.request(n) for n in range(1, 7)] == opened
    assert files.response_name(2) == "0002_resp_v1_messages.json"


def test_a_file_that_is_not_there_has_no_name(folder: Path) -> None:
    files = CaptureFiles(folder)
    assert (files.request_name(99), files.response_name(99)) == (None, None)
    with pytest.raises(FileNotFoundError):
        files.request(99)


@pytest.mark.parametrize("damage", [b'{"cut": ', b"[1, 2]", b""])
def test_a_damaged_file_is_a_value_error(folder: Path, damage: bytes) -> None:
    (folder / "0002_req_v1_messages.json").write_bytes(damage)
    with pytest.raises(ValueError):
        CaptureFiles(folder).request(2)


def test_a_turn_s_blocks_come_with_their_lines(tmp_path: Path) -> None:
    account = small_session().reconcile(tmp_path)
    turn = account.calls[1].turn
    assert turn is not None
    found = [(block["type"], str(place)) for block, place in turn_blocks(turn)]
    assert found == [
        ("thinking", f"{SESSION}.jsonl:2"),
        ("text", f"{SESSION}.jsonl:3"),
        ("tool_use", f"{SESSION}.jsonl:4"),
    ]


def test_threads_are_distinguished(tmp_path: Path) -> None:
    account = small_session().reconcile(tmp_path)
    threads = [thread_of(finding.call, finding.turn) for finding in account.calls if finding.call]
    main, agent = ("messages", None, False), ("messages", "a1b2c3d4e5", False)
    assert threads == [main, main, agent, agent, ("messages", None, True), main]


def test_an_answer_that_is_a_bare_string_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    write_lines(path, [{"type": "assistant", "message": "The bare answer."}])
    (turn,) = read_transcript(SessionFiles(SESSION, (path,))).turns
    found = [block for block, _ in turn_blocks(turn)]
    assert found == [{"type": "text", "text": "The bare answer."}]
