"""`ccwire report` writes one file, even if parts of the session are missing."""

import webbrowser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ccwire.cli import main
from ccwire.wire.pack.files import exchange_files
from tests.correlate.report.made import SESSION, ReportSession, small_session


@pytest.fixture(autouse=True)
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReportSession:
    made = small_session()
    made.write(tmp_path / "claude", tmp_path / "captures")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return made


def report(tmp_path: Path, *arguments: str) -> Result:
    folders = ["--captures", str(tmp_path / "captures"), "--claude-dir", str(tmp_path / "claude")]
    return CliRunner().invoke(main, ["report", *arguments, *folders])


@pytest.fixture
def page(ccwire_home: Path) -> Path:
    return ccwire_home / "reports" / f"{SESSION}.html"


def test_it_is_written_to_the_home_and_named_by_the_session(tmp_path: Path, page: Path) -> None:
    result = report(tmp_path, SESSION)
    size = page.stat().st_size
    assert (result.exit_code, result.output) == (0, f"{page} ({size:,} bytes)\n")
    assert page.read_text().startswith("<!doctype html>")
    assert page.stat().st_mode & 0o777 == 0o600
    assert page.parent.stat().st_mode & 0o777 == 0o700
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("arguments", [["6f1c"], ["latest"], []])
def test_a_prefix_latest_and_nothing_will_do(
    tmp_path: Path, page: Path, arguments: list[str]
) -> None:
    assert report(tmp_path, *arguments).output.startswith(str(page))


def test_without_a_home_a_file_has_to_be_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCWIRE_HOME", "~no-such-user")
    result = report(tmp_path)
    said = "ccwire: you have no home directory for the report; give a file with -o.\n"
    assert (result.exit_code, result.stderr) == (2, said)
    (tmp_path / "file").touch()
    monkeypatch.setenv("CCWIRE_HOME", str(tmp_path / "file"))
    result = report(tmp_path)
    said = f"ccwire: cannot write to {tmp_path}/file (File exists); give a file with -o.\n"
    assert (result.exit_code, result.stderr) == (2, said)
    assert report(tmp_path, "-o", str(tmp_path / "x.html")).exit_code == 0


def test_it_is_written_to_the_given_path(tmp_path: Path) -> None:
    target = tmp_path / "out.html"
    assert report(tmp_path, SESSION, "-o", str(target)).output.startswith(str(target))
    assert SESSION in target.read_text()


def test_a_link_is_followed_only_if_the_user_names_it(tmp_path: Path, page: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("kept")
    other.chmod(0o644)
    page.parent.mkdir(parents=True)
    page.symlink_to(other)
    result = report(tmp_path, SESSION)
    assert (result.exit_code, other.read_text()) == (2, "kept")
    assert result.stderr.startswith(f"ccwire: cannot write {page} (")
    assert report(tmp_path, SESSION, "-o", str(page)).exit_code == 0
    assert other.read_text().startswith("<!doctype html>")
    assert other.stat().st_mode & 0o777 == 0o600


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "out.html"
    result = report(tmp_path, SESSION, "-o", str(target))
    said = "cannot write {} (No such file or directory); give another file with -o."
    assert (result.exit_code, result.stderr) == (2, f"ccwire: {said.format(target)}\n")


def test_a_session_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    result = report(tmp_path, "nothing")
    assert result.exit_code == 2
    assert result.stderr.startswith("ccwire: no session 'nothing' in ")
    assert list((tmp_path / "here").iterdir()) == []


def test_it_opens_in_the_browser(
    tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_it(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", open_it)
    assert report(tmp_path, SESSION, "--open").exit_code == 0
    assert opened == [page.as_uri()]


def test_without_a_browser_it_says_where_the_file_is(
    tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    result = report(tmp_path, SESSION, "--open")
    assert result.exit_code == 2
    assert result.stderr == f"ccwire: no browser could be started; open {page} yourself.\n"


def test_another_session_can_be_compared(tmp_path: Path, page: Path) -> None:
    other = ReportSession("aaaa0000-0000-4000-8000-000000000001")
    other.prompt("Once more.")
    other.call(("text",), output=7)
    other.write(tmp_path / "claude", tmp_path / "captures")
    assert report(tmp_path, SESSION, "--compare", "aaaa").exit_code == 0
    compared = page.with_name(f"{SESSION}-aaaa0000.html")
    assert other.session_id in compared.read_text()
    assert not page.exists()


def test_a_session_is_not_compared_with_itself(tmp_path: Path) -> None:
    result = report(tmp_path, SESSION, "--compare", SESSION)
    assert result.exit_code == 2
    assert result.stderr == (
        f"ccwire: --compare {SESSION} is session {SESSION} too; name another one.\n"
    )


def test_a_session_to_compare_with_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    result = report(tmp_path, SESSION, "--compare", "nothing")
    assert result.exit_code == 2
    assert result.stderr.startswith("ccwire: no session 'nothing' in ")


def test_missing_pieces_are_on_the_page_and_no_error(tmp_path: Path, page: Path) -> None:
    folder = tmp_path / "captures" / SESSION
    for path in exchange_files(folder)[2:]:
        path.unlink()
    (folder / "0001_resp_v1_messages.json").write_text("{")
    (folder / "exchanges.jsonl").open("ab").write(b'{"sequence": 7, "cut')
    for path in (tmp_path / "claude").rglob("agent-*.jsonl"):
        path.unlink()
    result = report(tmp_path, SESSION)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "Call 1: the response file is damaged." in text
    assert "Call 2 has no request file." in text
    assert "exchanges.jsonl:7 is malformed" in text


def test_a_session_of_the_unknown_folder_is_found_by_its_transcript(tmp_path: Path) -> None:
    (tmp_path / "captures" / SESSION).rename(tmp_path / "captures" / "unknown")
    result = report(tmp_path, SESSION)
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_transcript_that_no_captured_call_answers_is_drawn_alone(tmp_path: Path) -> None:
    (tmp_path / "captures" / SESSION).rename(tmp_path / "captures" / "unknown")
    other = ReportSession("aaaa0000-0000-4000-8000-000000000001")
    other.prompt("Not captured.")
    other.call(("text",))
    other.write(tmp_path / "claude")
    result = report(tmp_path, "aaaa")
    assert (result.exit_code, result.stderr) == (0, "")
