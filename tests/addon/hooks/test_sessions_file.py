import json
from pathlib import Path

import pytest

from addon.hooks.sessions_file import (
    LOG_BYTES,
    Lock,
    SessionsFileError,
    events_left,
    leave_event,
    log,
    make_folder,
    read_document,
    sessions_path,
    set_aside,
    write_document,
)


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_the_path_is_the_one_given_then_the_variable_then_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    elsewhere = {"CCWIRE_SESSIONS": "~/else.json"}
    assert sessions_path("/given.json", elsewhere) == "/given.json"
    assert sessions_path(None, elsewhere) == str(tmp_path / "else.json")
    assert sessions_path(None, {**elsewhere, "CCWIRE_HOME": "/h"}) == str(tmp_path / "else.json")
    assert sessions_path(None, {"CCWIRE_HOME": "~/h"}) == str(tmp_path / "h" / "sessions.json")
    assert sessions_path(None, {"CCWIRE_SESSIONS": ""}) == str(tmp_path / ".ccwire/sessions.json")


def test_a_file_that_is_not_there_is_an_empty_map(tmp_path: Path) -> None:
    assert read_document(str(tmp_path / "s.json")) == {"version": 1, "sessions": []}
    (tmp_path / "s.json").write_text("\n")
    assert read_document(str(tmp_path / "s.json")) == {"version": 1, "sessions": []}


def test_a_map_is_written_with_an_entry_a_line_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text("old")
    path.chmod(0o644)
    document = {"version": 1, "sessions": [{"session_id": "a"}, {"session_id": "é"}], "more": [1]}
    write_document(str(path), document)
    assert path.read_text() == (
        '{"version": 1, "more": [1], "sessions": [\n'
        '{"session_id": "a"},\n'
        '{"session_id": "\\u00e9"}\n'
        "]}\n"
    )
    assert read_document(str(path)) == document
    assert path.stat().st_mode & 0o777 == 0o600
    assert _names(tmp_path) == ["s.json"]


def test_an_empty_map_is_json_too(tmp_path: Path) -> None:
    write_document(str(tmp_path / "s.json"), {"version": 1, "sessions": []})
    assert json.loads((tmp_path / "s.json").read_text()) == {"version": 1, "sessions": []}


def test_what_a_killed_hook_left_behind_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "s.json.tmp").write_text("x" * 1000)
    write_document(str(tmp_path / "s.json"), {"version": 1, "sessions": []})
    assert _names(tmp_path) == ["s.json"]
    assert read_document(str(tmp_path / "s.json"))["sessions"] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"sessions": {}}', '"sessions" is not a list'),
        ("\udcff", "not JSON"),
        ("[" * 200_000, "not JSON"),
    ],
)
def test_an_invalid_file_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "s.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SessionsFileError, match=reason):
        read_document(str(tmp_path / "s.json"))


def test_files_set_aside_do_not_replace_each_other(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    for text in ("one", "two"):
        path.write_text(text)
        set_aside(str(path))
    assert sorted(file.read_text() for file in tmp_path.iterdir()) == ["one", "two"]


def test_only_one_has_the_lock(tmp_path: Path) -> None:
    first, second = (Lock(str(tmp_path / "s.json")) for _ in range(2))
    assert first.take()
    assert not second.take()
    first.give_back()
    assert second.take()
    second.give_back()


def test_events_wait_in_the_order_they_came_and_half_written_ones_are_not_seen(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "s.json")
    left = [leave_event(path, {"number": number}) for number in range(3)]
    (tmp_path / "s.json.events" / ".half").write_text("{")
    assert events_left(path) == left
    assert [json.loads(Path(file).read_text())["number"] for file in left] == [0, 1, 2]
    assert (tmp_path / "s.json.events").stat().st_mode & 0o777 == 0o700
    assert Path(left[0]).stat().st_mode & 0o777 == 0o600


def test_events_that_nobody_takes_in_do_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("addon.hooks.sessions_file.MOST_EVENTS", 2)
    path = str(tmp_path / "s.json")
    leave_event(path, 1)
    leave_event(path, 2)
    with pytest.raises(OSError, match="Too many events"):
        leave_event(path, 3)
    assert len(events_left(path)) == 2


def test_a_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    make_folder(str(tmp_path / "a" / "b" / "s.json"))
    make_folder(str(tmp_path / "a" / "b" / "s.json"))
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_home_that_is_not_there_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    with pytest.raises(FileNotFoundError):
        make_folder(sessions_path(None, {}))
    assert _names(tmp_path) == []


def test_the_log_is_a_line_a_message_and_does_not_grow_without_end(tmp_path: Path) -> None:
    for number in range(3):
        log(str(tmp_path / "s.json"), f"{number} " + "x" * (LOG_BYTES // 2))
    log(str(tmp_path / "s.json"), "last \udcff")
    assert _names(tmp_path) == ["hook.log", "hook.log.1"]
    lines = (tmp_path / "hook.log").read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["last"]
    assert (tmp_path / "hook.log").stat().st_mode & 0o777 == 0o600
