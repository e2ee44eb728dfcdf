"""Reading the data of a report; unreadable files are listed on the page."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccwire.wire.pack.files import exchange_files
from correlate.reconcile.session import SessionReconciler
from correlate.report.model import page_model
from correlate.report.page import render
from correlate.report.source import Source, content_size, read_source
from correlate.transcript.locate import ClaudeDir
from tests.addon.storage.exchange_files import pack_files
from tests.correlate.report.made import NO_WAITING, SESSION, ReportSession, small_session
from tests.properties import property_test


def again(root: Path) -> Source:
    """Read the session again from disk."""
    claude = ClaudeDir(root / "claude")
    folder = root / "captures" / SESSION
    account = SessionReconciler(root / "captures", claude, NO_WAITING).reconcile(folder)
    return read_source(folder, account, claude)


def test_a_whole_session_has_no_problems(tmp_path: Path) -> None:
    source = small_session().source(tmp_path)
    assert source.problems == ()
    assert source.title == "Please look at the file."
    assert source.cwd == "/home/lab/project"
    assert sorted(source.contents) == [1, 2, 3, 4, 5, 6]


def test_a_request_is_held_against_the_one_before_in_its_thread(tmp_path: Path) -> None:
    contents = small_session().source(tmp_path).contents
    since = {sequence: content["request"]["since"] for sequence, content in contents.items()}
    assert since == {1: None, 2: 1, 3: None, 4: 3, 5: None, 6: 2}
    assert contents[2]["request"]["pieces"] == []
    assert [piece["title"] for piece in contents[6]["request"]["pieces"]] == [
        "messages[1] assistant: thinking",
        "messages[1] assistant: text",
        "messages[1] assistant: tool_use Bash",
        "messages[2] user: tool_result",
    ]


def test_the_answer_is_paired_with_its_lines(tmp_path: Path) -> None:
    contents = small_session().source(tmp_path).contents
    assert [(piece["mark"], piece["line"]) for piece in contents[2]["answer"]] == [
        ("equal", f"{SESSION}.jsonl:2"),
        ("equal", f"{SESSION}.jsonl:3"),
        ("equal", f"{SESSION}.jsonl:4"),
    ]
    assert contents[2]["response_file"] == "0002_resp_v1_messages.json"
    assert "overloaded_error" in contents[1]["answer"][0]["text"]


def test_a_missing_response_is_reported(tmp_path: Path) -> None:
    small_session().reconcile(tmp_path)
    (tmp_path / "captures" / SESSION / "0002_resp_v1_messages.json").unlink()
    source = again(tmp_path)
    assert source.problems == ("Call 2 has no response file.",)
    content = source.contents[2]
    assert content["problems"] == ["Call 2 has no response file."]
    assert content["response_file"] is None
    assert [piece["title"] for piece in content["answer"]] == ["thinking", "text", "tool_use Bash"]


def test_a_damaged_request_of_a_call_without_a_turn_is_reported(tmp_path: Path) -> None:
    """Side requests are read twice: their purpose is inferred from the file."""
    small_session().reconcile(tmp_path)
    (tmp_path / "captures" / SESSION / "0005_req_v1_messages.json").write_bytes(b'{"cut')
    said = "Call 5: the request file is damaged."
    assert again(tmp_path).problems == (said,)


@pytest.mark.parametrize("damage", [b'{"cut', b"[]", b"\x00\xff"])
def test_a_damaged_file_is_reported(tmp_path: Path, damage: bytes) -> None:
    small_session().reconcile(tmp_path)
    (tmp_path / "captures" / SESSION / "0004_req_v1_messages.json").write_bytes(damage)
    source = again(tmp_path)
    said = "Call 4: the request file is damaged."
    assert source.problems == (said,)
    assert source.contents[4]["request"] is None
    assert source.contents[6]["request"]["since"] == 2


def test_a_body_that_is_no_object_is_no_request(tmp_path: Path) -> None:
    small_session().reconcile(tmp_path)
    path = tmp_path / "captures" / SESSION / "0002_req_v1_messages.json"
    path.write_bytes(b'{"headers": null, "body": {"type": "text", "data": "what"}}')
    assert again(tmp_path).contents[2]["request"] is None


def test_a_session_without_a_transcript_is_shown(tmp_path: Path) -> None:
    made = small_session()
    made.write_capture(tmp_path / "captures")
    source = again(tmp_path)
    assert source.problems == ("This session's main thread has no transcript.",)
    assert (source.title, source.cwd) == (None, "/home/lab/project")
    model = page_model(source)
    assert model["about"]["verdict"]["sentence"] == (
        "6 of 6 calls explained; there is no transcript to compare with."
    )
    assert "This report needs JavaScript" in render(model)


def test_a_capture_without_any_files_is_shown(tmp_path: Path) -> None:
    small_session().reconcile(tmp_path)
    for path in exchange_files(tmp_path / "captures" / SESSION):
        path.unlink()
    source = again(tmp_path)
    assert len(source.problems) == 12
    assert source.requests == ()


def test_packed_files_are_read(tmp_path: Path) -> None:
    whole = small_session().source(tmp_path)
    folder = tmp_path / "captures" / SESSION
    pack_files(folder)
    assert again(tmp_path).contents == whole.contents


def test_a_transcript_that_disappears_is_reported(tmp_path: Path) -> None:
    account = small_session().reconcile(tmp_path)
    for path in (tmp_path / "claude").rglob("*.jsonl"):
        path.unlink()
    source = read_source(tmp_path / "captures" / SESSION, account, ClaudeDir(tmp_path / "claude"))
    assert f"Cannot read {SESSION}.jsonl:2 (No such file or directory)." in source.problems


def test_a_turn_without_a_call_shows_its_lines(tmp_path: Path) -> None:
    made = small_session()
    made.call(("text",), output=9, texts=("Never captured.",), captured=False)
    (said,) = made.source(tmp_path).turn_contents
    assert [piece["text"] for piece in said] == ["Never captured."]


def test_the_requests_worth_a_look_are_kept(tmp_path: Path) -> None:
    requests = small_session().source(tmp_path).requests
    assert [(one.lane, one.roles, one.sequence) for one in requests] == [
        ("main", ("first",), 1),
        ("main", ("last", "largest"), 6),
        ("a1b2c3d4e5", ("largest",), 4),
        ("side", ("largest",), 5),
    ]


def test_progress_reaches_the_size(tmp_path: Path) -> None:
    made = ReportSession(SESSION)
    made.prompt("Go.")
    made.call(request_bytes=700, response_bytes=300)
    made.call(request_bytes=70, response_bytes=30)
    account = made.reconcile(tmp_path)
    told: list[int] = []
    claude = ClaudeDir(tmp_path / "claude")
    read_source(tmp_path / "captures" / SESSION, account, claude, told.append)
    assert (told, content_size(account)) == ([1_000, 100], 1_100)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "name", "id", "input", "source"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
BODIES = st.fixed_dictionaries({}, optional=dict.fromkeys(("messages", "system", "tools"), JSON))
FILES = st.fixed_dictionaries(
    {},
    optional={
        "headers": JSON,
        "body": st.fixed_dictionaries({"data": BODIES | JSON}) | JSON,
        "message": st.fixed_dictionaries({"content": JSON}) | JSON,
    },
)


@property_test
@given(st.lists(st.tuples(FILES, FILES), min_size=2, max_size=2))
def test_files_of_any_shape_make_a_page(files: list[tuple[Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made = ReportSession(SESSION)
        made.prompt("Go.")
        for file in files:
            made.call()
            made.files[len(made.exchanges)] = file
        assert render(page_model(made.source(root))).startswith("<!doctype html>")
