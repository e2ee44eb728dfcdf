from pathlib import Path
from typing import Any

import pytest

from correlate.captures.folder import read_exchanges
from correlate.show.listing import last_user_text, listed_exchanges, newest_within
from tests.correlate.report.made import SESSION, ReportSession, small_session

REMINDER = {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"}


@pytest.mark.parametrize(
    ("messages", "found"),
    [
        ([{"role": "user", "content": "hi"}], "hi"),
        ([{"role": "user", "content": [{"type": "text", "text": "hi"}, REMINDER]}], "hi"),
        (
            [
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": "answer"},
                {"role": "user", "content": [{"type": "tool_result", "content": "output"}]},
            ],
            "first",
        ),
        ([{"role": "assistant", "content": "answer"}], None),
        ([{"role": "user", "content": [REMINDER]}], None),
        ([{"role": "user", "content": 7}, "odd"], None),
        ({"a": 1}, None),
    ],
)
def test_the_last_text_of_the_user(messages: Any, found: str | None) -> None:
    assert last_user_text({"messages": messages}) == found


def test_each_call_has_its_words(tmp_path: Path) -> None:
    small_session().write(tmp_path / "claude", tmp_path / "captures")
    folder = tmp_path / "captures" / SESSION
    listed = listed_exchanges(folder, read_exchanges(folder), {2})
    assert [one.words for one in listed][:3] == ["Please look at the file."] * 2 + ["Go and see."]
    assert [one.in_flight for one in listed][:3] == [False, True, False]


def test_words_are_redacted_before_they_are_cut(tmp_path: Path) -> None:
    made = ReportSession(SESSION)
    made.prompt("x" * 195 + " secret and\nmore")
    made.call()
    made.write(tmp_path / "claude", tmp_path / "captures")
    folder = tmp_path / "captures" / SESSION
    exchanges = read_exchanges(folder)
    (one,) = listed_exchanges(folder, exchanges, set(), clean=lambda t: t.replace("secret", "?"))
    assert one.words == "x" * 195 + " ? an"
    (one,) = listed_exchanges(folder, exchanges, set(), whole=True)
    assert one.words == "x" * 195 + " secret and more"


def test_a_damaged_or_missing_request_has_no_words(tmp_path: Path) -> None:
    small_session().write(tmp_path / "claude", tmp_path / "captures")
    folder = tmp_path / "captures" / SESSION
    next(folder.glob("0001_req_*")).write_bytes(b"\0")
    next(folder.glob("0002_req_*")).unlink()
    listed = listed_exchanges(folder, read_exchanges(folder), set())
    assert [one.words for one in listed][:3] == [None, None, "Go and see."]


def test_only_the_newest_requests_are_read() -> None:
    made = ReportSession(SESSION)
    calls = [made.call(request_bytes=10) for _ in range(4)]
    calls.append(made.call(kind="event_logging", request_bytes=1000))
    assert newest_within(calls, 25) == {3, 4}
    assert newest_within(calls, None) == {1, 2, 3, 4}
    assert newest_within(calls, 5) == set()
