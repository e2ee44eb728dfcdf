"""`ccwire spend`: what it counts, once, and what it says about it."""

import json
import os
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ccwire.cli import main
from ccwire.output.spend import print_spend
from ccwire.output.terminal import SafeConsole
from ccwire.spend_cache import SPEND_CACHE
from ccwire.wire.usage import Tokens
from correlate.spend.totals import Row
from lab.made_session import MadeSession, write_lines

_FINALITY = ("exact", "lower-bound", "unknown")
ONE, TWO = "1" * 8 + "-aaaa", "2" * 8 + "-bbbb"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("CCWIRE_HOME", str(folder))
    return folder


def _run(tmp_path: Path, *arguments: str) -> str:
    captures = tmp_path / "captures"
    captures.mkdir(exist_ok=True)
    given = ["--claude-dir", str(tmp_path / "claude"), "--captures", str(captures)]
    done = CliRunner().invoke(main, ["spend", *given, *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def _spend(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_run(tmp_path, "--json", *arguments))
    return found


def _made(session: str = ONE, **more: Any) -> MadeSession:
    made = MadeSession(session, **more)
    made.prompt("Please look.")
    made.call(output=100)
    made.call(output=200, agent_id="a1")
    return made


def test_a_transcript_alone_is_counted_with_its_subagents(tmp_path: Path) -> None:
    _made().write(tmp_path / "claude")
    total = _spend(tmp_path)["total"]
    assert (total["calls"], total["tokens"]["output"]) == (2, 300)
    assert (total["exact_calls"], total["lower_bound_calls"]) == (2, 0)
    rows = _spend(tmp_path, "--by", "agent")["rows"]
    assert {row["agent"]: row["tokens"]["output"] for row in rows} == {
        "main": 100,
        "subagent": 200,
    }


def test_a_fork_that_copies_lines_is_counted_once(tmp_path: Path) -> None:
    first = _made()
    path = first.write(tmp_path / "claude")
    write_lines(path.with_name(f"{TWO}.jsonl"), first.lines)
    found = _spend(tmp_path, "--by", "session")
    assert found["total"]["calls"] == 2
    assert [row["session"] for row in found["rows"]] == [ONE]


def test_the_wire_wins_over_a_placeholder_and_adds_side_calls(tmp_path: Path) -> None:
    made = _made(final=False)
    made.call(output=50, in_transcript=False)
    made.call(output=70, captured=False)
    made.write(tmp_path / "claude", tmp_path / "captures")
    total = _spend(tmp_path)["total"]
    assert (total["calls"], total["captured_calls"]) == (4, 3)
    assert (total["exact_calls"], total["lower_bound_calls"]) == (3, 1)
    assert total["tokens"]["output"] == 100 + 200 + 50 + 2


def test_a_placeholder_is_a_lower_bound_and_the_notes_give_the_reason(tmp_path: Path) -> None:
    _made(final=False).write(tmp_path / "claude")
    found = _spend(tmp_path)
    assert found["total"]["exact_usd"] == 0
    assert found["total"]["lower_bound_usd"] > 0
    assert found["notes"][0].startswith("≥ 2 calls, perhaps only with the usage of the")
    assert "≥$" in _run(tmp_path)


def test_a_model_without_a_price_is_unpriced_and_not_free(tmp_path: Path) -> None:
    _made(model="made-up-model").write(tmp_path / "claude")
    total = _spend(tmp_path)["total"]
    assert (total["unpriced_calls"], total["unpriced"]) == (2, ["made-up-model"])
    assert "unpriced" in _run(tmp_path).splitlines()[1]


def test_an_appended_file_is_read_on_and_a_replaced_one_anew(tmp_path: Path, home: Path) -> None:
    made = _made()
    path = made.write(tmp_path / "claude")
    assert _spend(tmp_path)["total"]["tokens"]["output"] == 300
    before = len(made.lines)
    made.call(output=1000)
    with path.open("ab") as file:
        for line in made.lines[before:]:
            file.write(json.dumps(line).encode() + b"\n")
    assert _spend(tmp_path)["total"]["tokens"]["output"] == 1300
    assert _spend(tmp_path, "--no-cache") == _spend(tmp_path)
    write_lines(path, made.lines[before:])
    assert _spend(tmp_path)["total"]["tokens"]["output"] == 1200
    assert (home / SPEND_CACHE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version":2,"files":7}'])
def test_a_damaged_or_deleted_cache_changes_nothing(
    tmp_path: Path, home: Path, damage: bytes
) -> None:
    path = _made().write(tmp_path / "claude")
    first = _spend(tmp_path)
    assert b"Please" not in (home / SPEND_CACHE).read_bytes()
    (home / SPEND_CACHE).write_bytes(damage)
    assert _spend(tmp_path) == first
    broken = json.dumps({"version": 2, "files": {str(path): [1, 2]}})
    (home / SPEND_CACHE).write_text(broken)
    assert _spend(tmp_path) == first
    (home / SPEND_CACHE).unlink()
    assert _spend(tmp_path) == first


def test_the_clients_own_records_are_compared(tmp_path: Path) -> None:
    made = _made()
    made.cost_state(50.0, {})
    made.write(tmp_path / "claude")
    used = {"inputTokens": 9, "outputTokens": 350}
    stats = {"lastComputedDate": "2026-12-31", "modelUsage": {made.model: used}}
    (tmp_path / "claude" / "stats-cache.json").write_text(json.dumps(stats))
    found = _spend(tmp_path)
    assert found["cost_records"]["sessions_with_more"] == 1
    assert found["client_statistics"]["beyond_calls"][made.model]["output"] == 50
    assert "stats-cache.json, up to 2026-12-31" in found["notes"][-1]


def test_csv_has_a_row_per_group_and_a_total(tmp_path: Path) -> None:
    _made().write(tmp_path / "claude")
    header, row, total = _run(tmp_path, "--csv", "--by", "model,session").splitlines()
    assert header.startswith("model,session,calls,input,output,")
    assert row.startswith(f"claude-opus-5-5,{ONE},2,")
    assert total.startswith("total,,2,")


def test_a_wrong_key_lists_the_keys(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["spend", "--by", "wek"])
    assert done.exit_code == 2
    assert "day, week, month, project, model, agent, branch, session or version" in done.stderr


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_terminal_shows_a_bar_per_row_in_any_width(columns: int) -> None:
    rows = [_row("2026-11-01", 400), _row("2026-11-02", 150), _row("2026-11-03", 0)]
    to = SafeConsole(width=columns, force_terminal=True, color_system=None, file=StringIO())
    print_spend(to, ("day",), rows, _row("", 550))
    lines = to.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert all(len(line) <= columns for line in lines)
    assert [line.partition("%")[2].strip() for line in lines[1:]] == ["█" * 8, "███", "", ""]


def _row(day: str, dollars: int) -> Row:
    tokens = Tokens(1_000_000, 2_000_000, 3_000_000_000, 40_000_000)
    return Row((day,), 9_000, tokens, Decimal(dollars), by_finality=dict.fromkeys(_FINALITY, 3_000))


def test_two_projects_with_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for session, cwd in ((ONE, "/home/a/app"), (TWO, "/home/b/app"), ("3", "/home/b/shop")):
        _made(session, cwd=cwd).write(tmp_path / "claude")
    rows = _run(tmp_path, "--by", "project").splitlines()[1:4]
    assert [row.split()[0] for row in rows] == ["a/app", "b/app", "shop"]


def test_a_key_may_be_written_as_people_name_it(tmp_path: Path) -> None:
    _made().write(tmp_path / "claude")
    assert _spend(tmp_path, "--by", "Agent type, client-version")["by"] == ["agent", "version"]


def test_notes_are_about_the_chosen_calls(tmp_path: Path) -> None:
    _made().write(tmp_path / "claude")
    _made(TWO, cwd="/home/lab/other").write(tmp_path / "claude")
    (tmp_path / "claude" / "stats-cache.json").write_text("{}")
    assert len(_spend(tmp_path)["notes"]) == 2
    assert [note[:9] for note in _spend(tmp_path, "--project", "other")["notes"]] == ["1 session"]


def test_the_first_run_makes_the_home_of_the_cache(tmp_path: Path, home: Path) -> None:
    home.rmdir()
    _made().write(tmp_path / "claude")
    _spend(tmp_path)
    assert (home / SPEND_CACHE).is_file()
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_model_that_nothing_used_leaves_no_session_and_no_note(tmp_path: Path) -> None:
    made = _made()
    made.cost_state(49.99, {})
    made.write(tmp_path / "claude")
    found = _spend(tmp_path, "--model", "no-such-model")
    assert (found["sessions"], found["total"]["calls"], found["notes"]) == (0, 0, [])
    assert found["cost_records"]["sessions"] == 0


def test_two_projects_have_different_names(tmp_path: Path) -> None:
    for session, cwd in ((ONE, "/a/x/app"), (TWO, "/b/x/app")):
        made = MadeSession(session, cwd=cwd)
        made.call(message_id=session, request_id=session)
        made.write(tmp_path / "claude")
    table = _run(tmp_path, "--by", "project")
    assert "a/x/app" in table and "b/x/app" in table


@pytest.mark.parametrize("option", ["--json", "--csv"])
def test_programs_get_utf8_whatever_the_locale_is(tmp_path: Path, option: str) -> None:
    _made(cwd="/home/lab/café", final=False).write(tmp_path / "claude")
    runner = CliRunner(charset="latin-1")
    where = ["--claude-dir", str(tmp_path / "claude"), "--captures", str(tmp_path)]
    done = runner.invoke(main, ["spend", option, "--by", "project", *where])
    assert done.exit_code == 0
    assert "café" in done.stdout_bytes.decode("utf-8")


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = _made().write(tmp_path / "claude")
    os.mkfifo(path.with_name("odd.jsonl"))
    found = _spend(tmp_path)
    assert found["total"]["calls"] == 2
    assert found["notes"][0] == f"{path.with_name('odd.jsonl')} cannot be read: not in the sums."


def test_a_damaged_cache_is_the_same_as_none(tmp_path: Path, home: Path) -> None:
    _made().write(tmp_path / "claude")
    right = _run(tmp_path)
    cache = home / SPEND_CACHE
    whole = cache.read_bytes()
    assert b'"output_tokens":100' in whole
    for damaged in (whole.replace(b'"output_tokens":100', b'"output_tokens":999'), whole[:-9]):
        cache.write_bytes(damaged)
        assert _run(tmp_path) == right


def test_damaged_lines_are_named_and_counted_once(tmp_path: Path) -> None:
    path = _made().write(tmp_path / "claude")
    whole = path.read_bytes()
    path.write_bytes(whole + b'\n{"type":"assistant","mess\n{"type":"assis')
    note = f"1 damaged line in {path}: not in the sums; `reconcile` names them."
    assert _spend(tmp_path)["notes"][0] == note
    with path.open("ab") as file:
        file.write(b"tant\n")
    grown = _spend(tmp_path)["notes"][0]
    assert (
        grown
        == _spend(tmp_path, "--no-cache")["notes"][0]
        == note.replace("1 d", "2 d").replace("line ", "lines ")
    )
