"""`ccwire sessions` joins captures, live records and sessions.json."""

import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest
from click.testing import CliRunner

from ccwire.cli import main
from ccwire.wire.format import Exchange, Manifest
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

CAPTURED = "11111111-1111-4111-8111-111111111111"
RUNNING = "22222222-2222-4222-8222-222222222222"
GONE = "33333333-3333-4333-8333-333333333333"
WRITTEN = "44444444-4444-4444-8444-444444444444"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "captures" / CAPTURED
    folder.mkdir(parents=True)
    manifest = Manifest(
        session_id=CAPTURED, cwd="/projects/shop", claude_versions=["2.1.39"], first_seen=100.0
    )
    (folder / "manifest.json").write_bytes(orjson.dumps(manifest.to_json()))
    call = Exchange(
        sequence=1,
        flow_id="f",
        started=100.0,
        ended=101.0,
        method="POST",
        host="api.anthropic.com",
        path="/v1/messages",
        kind="messages",
        model="claude-sonnet-4-5",
        usage={"input_tokens": 1000, "output_tokens": 200, "cache_read_input_tokens": 9000},
        complete=True,
    )
    (folder / "exchanges.jsonl").write_bytes(orjson.dumps(call.to_json()) + b"\n")
    live = tmp_path / "claude" / "sessions"
    live.mkdir(parents=True)
    me = os.getpid()
    record: dict[str, Any] = {
        "pid": me,
        "sessionId": RUNNING,
        "cwd": "/projects/mine",
        "status": "busy",
    }
    record |= {"startedAt": time.time() * 1000, "version": "2.1.325"}
    (live / f"{me}.json").write_text(json.dumps(record))
    gone = _unused_pid()
    (live / f"{gone}.json").write_text(json.dumps({"pid": gone, "sessionId": GONE}))
    (live / "secret.key").write_text("never opened")
    (live / "secret.key").chmod(0)
    project = tmp_path / "claude" / "projects" / "-projects-old"
    project.mkdir(parents=True)
    line = {"type": "user", "cwd": "/projects/old", "message": {"content": "Mend the roof\nplease"}}
    (project / f"{WRITTEN}.jsonl").write_text(json.dumps(line) + "\n")
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "sessions.json"))
    return tmp_path


def _unused_pid() -> int:
    return next(pid for pid in range(400_000, 500_000) if not psutil.pid_exists(pid))


def listed(place: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    places = ["--captures", str(place / "captures"), "--claude-dir", str(place / "claude")]
    result = CliRunner().invoke(main, ["sessions", "--json", *places, *arguments])
    assert result.exit_code == 0, result.output
    return {row["session_id"]: row for row in json.loads(result.stdout)["sessions"]}


def test_captured_and_running_sessions_are_listed(place: Path) -> None:
    rows = listed(place, "--captured")
    assert set(rows) == {CAPTURED, RUNNING, GONE}
    captured = rows[CAPTURED]
    assert (captured["calls"], captured["input_tokens"], captured["output_tokens"]) == (
        1,
        10000,
        200,
    )
    assert captured["cost_usd"] == pytest.approx(0.003 + 0.003 + 0.0027)
    assert (captured["project"], captured["version"]) == ("/projects/shop", "2.1.39")


def test_a_record_whose_process_is_gone_is_shown_as_such(place: Path) -> None:
    rows = listed(place)
    assert (rows[RUNNING]["state"], rows[GONE]["state"]) == ("busy", "gone")


def test_a_session_that_only_has_a_transcript_is_listed(place: Path) -> None:
    row = listed(place)[WRITTEN]
    assert (row["title"], row["project"], row["captured"]) == (
        "Mend the roof please",
        "/projects/old",
        False,
    )


def test_the_table_fits_80_columns(place: Path) -> None:
    places = ["--captures", str(place / "captures"), "--claude-dir", str(place / "claude")]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(main, ["sessions", "--all", *places])
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "11111111" in result.stdout


def table(place: Path, *arguments: str, width: int = 160) -> list[str]:
    places = ["--captures", str(place / "captures"), "--claude-dir", str(place / "claude")]
    ran = CliRunner(env={"COLUMNS": str(width)}).invoke(main, ["sessions", *places, *arguments])
    assert ran.exit_code == 0, ran.output
    return ran.stdout.splitlines()


def change_call(place: Path, **fields: Any) -> None:
    """Add a call like the captured one, with other fields."""
    lines = place / "captures" / CAPTURED / "exchanges.jsonl"
    first = orjson.loads(lines.read_bytes().splitlines()[0])
    with lines.open("ab") as file:
        file.write(orjson.dumps(first | {"sequence": 2, **fields}) + b"\n")


def test_a_cost_that_leaves_calls_out_is_a_lower_limit(place: Path) -> None:
    change_call(place, model="claude-future-9")
    row = listed(place)[CAPTURED]
    assert row["cost_usd"] == pytest.approx(0.0087)
    assert row["unpriced_calls"] == 1
    assert "≥ $0.0087" in "\n".join(table(place))


def test_a_session_without_any_price_is_unpriced(place: Path) -> None:
    lines = place / "captures" / CAPTURED / "exchanges.jsonl"
    change_call(place, model="claude-future-9")
    lines.write_bytes(lines.read_bytes().splitlines()[1] + b"\n")
    row = listed(place)[CAPTURED]
    assert (row["cost_usd"], row["unpriced_calls"]) == (None, 1)
    assert "unpriced" in "\n".join(table(place))


def test_the_size_is_that_of_all_files_links_aside(place: Path) -> None:
    folder = place / "captures" / CAPTURED
    before = listed(place)[CAPTURED]["bytes"]
    assert before == sum(path.stat().st_size for path in folder.iterdir())
    (folder / "0001_req_v1_messages.json").write_bytes(b"x" * 1000)
    (folder / "link").symlink_to(Path(__file__))
    assert listed(place)[CAPTURED]["bytes"] == before + 1000


def test_the_verdict_is_that_of_the_last_reconcile(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "home").mkdir()
    monkeypatch.setenv("CCWIRE_HOME", str(place / "home"))
    assert listed(place)[CAPTURED]["unexplained"] is None
    places = ["--captures", str(place / "captures"), "--claude-dir", str(place / "claude")]
    ran = CliRunner().invoke(main, ["reconcile", CAPTURED, *places])
    assert ran.exit_code == 0, ran.output
    assert listed(place)[CAPTURED]["unexplained"] == 0
    assert "accounted" in "\n".join(table(place))
    change_call(place)
    assert listed(place)[CAPTURED]["unexplained"] is None


def test_the_newest_is_last_in_the_table_and_first_in_json(place: Path) -> None:
    assert next(iter(listed(place, "--captured"))) == RUNNING
    rows = [line.split()[0] for line in table(place, "--captured")[1:]]
    assert rows[-1] == RUNNING[:8]
    assert len(rows) == 3


def test_filters_that_match_nothing_say_so(place: Path) -> None:
    assert listed(place, "--project", "nothing") == {}
    (line,) = table(place, "--project", "nothing")
    assert line.startswith("No session matches")


def test_a_project_that_only_the_transcript_names_is_found(place: Path) -> None:
    assert set(listed(place, "--all", "--project", "/projects/old")) == {WRITTEN}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two thousand sessions, an hour apart, in no order on disk."""
    root = tmp_path_factory.mktemp("many")
    for number in range(2000):
        folder = root / "captures" / name_of(number)
        folder.mkdir(parents=True)
        at = 1_790_000_000.0 + 3600 * number
        manifest = Manifest(
            session_id=folder.name,
            cwd=f"/projects/p{number % 10}",
            first_seen=at,
            last_seen=at + number % 7,
            models=["claude-sonnet-4-5"],
            pids=[number + 1],
        )
        (folder / "manifest.json").write_bytes(orjson.dumps(manifest.to_json()))
        (folder / "exchanges.jsonl").write_bytes(b" " * (number * 37 % 2000))
    return root


def name_of(number: int) -> str:
    return f"{number * 7919 % 2000:08}-0000-4000-8000-{number:012}"


def test_all_of_many_sessions_are_listed_in_order(many: Path) -> None:
    assert list(listed(many)) == [name_of(number) for number in reversed(range(2000))]
    assert [line.split()[0] for line in table(many)[1:]] == [
        name_of(number)[:8] for number in range(2000)
    ]


def test_the_limit_keeps_the_newest_and_counts_the_rest(many: Path) -> None:
    assert list(listed(many, "--limit", "3")) == [name_of(n) for n in (1999, 1998, 1997)]
    lines = table(many, "--limit", "3")
    assert [line.split()[0] for line in lines[1:4]] == [name_of(n)[:8] for n in (1997, 1998, 1999)]
    assert lines[4:] == ["1,997 more sessions: --limit all"]
    assert len(table(many, "--limit", "all")) == 2001


def test_only_manifests_are_read_of_sessions_that_are_not_shown(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def reading(folder: Path) -> list[Exchange]:
        read.append(folder.name)
        return []

    for module in ("heads", "rows"):
        monkeypatch.setattr(f"ccwire.sessions.{module}.read_exchanges", reading)
    listed(many, "--limit", "3")
    assert sorted(read) == sorted(name_of(n) for n in (1997, 1998, 1999))


@pytest.mark.parametrize(
    ("order", "key"),
    [
        ("duration", lambda n: n % 7),
        ("project", lambda n: n % 10),
        ("started", lambda n: n),
    ],
)
def test_the_largest_come_first(many: Path, order: str, key: Callable[[int], int]) -> None:
    found = [int(name.rpartition("-")[2]) for name in listed(many, "--sort", order)]
    assert list(map(key, found)) == sorted(map(key, range(2000)), reverse=True)


def test_the_largest_on_disk_come_first(many: Path) -> None:
    sizes = [row["bytes"] for row in listed(many, "--sort", "size").values()]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] > 1900


def test_times_and_projects_choose(many: Path) -> None:
    since = datetime.fromtimestamp(1_790_000_000.0 + 3600 * 1990).isoformat()
    until = datetime.fromtimestamp(1_790_000_000.0 + 3600 * 1995).isoformat()
    assert list(listed(many, "--since", since, "--until", until)) == [
        name_of(n) for n in (1994, 1993, 1992, 1991, 1990)
    ]
    assert len(listed(many, "--project", "p3")) == 200


def test_a_terminal_shows_a_screenful(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("LINES", "20")
    lines = table(many, width=60)
    assert len(lines) == 18
    assert "1,984 more sessions" in lines[-1]


def test_no_captures_prints_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "none.json"))
    (tmp_path / "a").mkdir()
    places = ["--captures", str(tmp_path / "a"), "--claude-dir", str(tmp_path / "b")]
    result = CliRunner().invoke(main, ["sessions", *places])
    assert "ccwire run claude" in result.stdout


def test_a_session_that_its_client_never_used_is_not_listed(place: Path) -> None:
    """With `--continue`, a client has a session of its own before it goes on in the other one."""
    lines = place / "captures" / CAPTURED / "exchanges.jsonl"
    call = orjson.loads(lines.read_bytes()) | {"pid": 500, "process_started": 90.0}
    lines.write_bytes(orjson.dumps(call) + b"\n")
    start = call | {"path": "/api/hello", "kind": "hello", "usage": None}
    for session, started in (("unused", 90.0), ("other-process", 91.0)):
        folder = place / "captures" / session
        folder.mkdir()
        line = orjson.dumps(start | {"process_started": started})
        (folder / "exchanges.jsonl").write_bytes(line + b"\n")
    assert set(listed(place)) == {CAPTURED, RUNNING, GONE, WRITTEN, "other-process"}
    assert "unused" in listed(place, "--all")


def test_a_transcript_alone_shows_its_usage(place: Path) -> None:
    made = MadeSession(WRITTEN, cwd="/projects/old")
    made.call(output=100)
    made.write(place / "claude")
    row = listed(place)[WRITTEN]
    assert (row["usage_from"], row["finality"], row["captured"]) == ("transcript", "exact", False)
    assert (row["calls"], row["input_tokens"], row["output_tokens"]) == (1, 13405, 100)
    assert row["branch"] == "HEAD"
    assert row["cost_usd"] > 0


def test_a_placeholder_is_shown_as_a_lower_bound(place: Path) -> None:
    made = MadeSession(WRITTEN, cwd="/projects/old", model="claude-sonnet-4-5", final=False)
    made.call(output=100)
    made.call(output=200)
    made.write(place / "claude")
    row = listed(place)[WRITTEN]
    assert (row["finality"], row["output_tokens"]) == ("lower-bound", 4)
    line = next(line for line in table(place, width=240) if line.startswith(WRITTEN[:8]))
    assert "≥ 4" in line
    assert "≥ $" in line


def test_a_fork_and_compactions_are_shown(place: Path) -> None:
    made = MadeSession(WRITTEN, cwd="/projects/old")
    made.call()
    first = made.write(place / "claude")
    os.utime(first, (1_790_000_000, 1_790_000_000))
    made.system("compact_boundary")
    fork = "55555555-5555-4555-8555-555555555555"
    lines = [orjson.dumps(line | {"sessionId": fork}) for line in made.lines]
    (first.parent / f"{fork}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    rows = listed(place)
    assert (rows[fork]["forked_from"], rows[fork]["compactions"]) == (WRITTEN, 1)
    assert rows[WRITTEN]["forked_from"] is None
    assert f"fork of {WRITTEN[:8]}, compacted ×1" in "\n".join(table(place, width=240))  # noqa: RUF001


def test_a_session_that_a_hook_saw_resumed_is_marked(place: Path) -> None:
    entry = {"session_id": WRITTEN, "state": "exited", "source": "resume"}
    (place / "sessions.json").write_text(json.dumps({"version": 1, "sessions": [entry]}))
    assert listed(place)[WRITTEN]["resumed"] is True
    assert listed(place)[CAPTURED]["resumed"] is None


def test_transcripts_are_read_of_shown_sessions_only(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (written,) = (place / "claude" / "projects").rglob("*.jsonl")
    os.utime(written, (1000, 1000))
    monkeypatch.setattr("ccwire.sessions.heads.read_transcript", lambda files: 1 / 0)
    assert set(listed(place, "--limit", "1")) == {RUNNING}


def test_typed_prompts_are_listed(place: Path) -> None:
    lines = [
        {"display": "Mend the roof", "timestamp": 1_790_000_000_000, "project": "/projects/old"},
        {"display": "Paint it", "timestamp": 1_790_000_100_000, "project": "/p/new"},
        {"display": "Clean up", "timestamp": 1_790_000_200_000, "sessionId": WRITTEN},
    ]
    (place / "claude" / "history.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert [line.split()[-1] for line in table(place, "--prompts")[1:]] == ["roof", "it", "up"]
    only = table(place, "--prompts", "--project", "old")
    assert len(only) == 2
    assert only[1].endswith("Mend the roof")
    last = table(place, "--prompts", "--limit", "1")
    assert WRITTEN[:8] in last[1]
    assert last[2] == "2 more prompts: --limit all"


def test_project_folders_are_not_searched_per_session(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 3,000 sessions in 1,000 projects, that took a minute."""
    for number in range(20):
        made = MadeSession(f"5555555{number:02}-5555-4555-8555-555555555555", cwd=f"/lab/{number}")
        made.call()
        made.write(place / "claude")
    searches = 0
    projects = ClaudeDir._projects

    def counted(claude: ClaudeDir) -> list[Path]:
        nonlocal searches
        searches += 1
        return projects(claude)

    monkeypatch.setattr(ClaudeDir, "_projects", counted)
    assert len(listed(place)) >= 20
    assert searches < 5


def test_columns_that_only_captures_fill_are_left_out_without_one(tmp_path: Path) -> None:
    made = MadeSession(WRITTEN)
    made.call()
    made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    header, row = table(tmp_path)
    assert not {"state", "size", "verdict", "exchanges"} & set(header.split())
    assert {"calls", "out", "cost", "version"} <= set(header.split())
    assert " - " not in row


def test_the_lineage_has_a_column_if_a_session_has_one(tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    made = MadeSession(CAPTURED)
    made.prompt("Go")
    made.call()
    made.write(tmp_path / "claude")
    assert "lineage" not in table(tmp_path)[0]
    made.system("compact_boundary", compactMetadata={"trigger": "manual"})
    made.write(tmp_path / "claude")
    header, row = table(tmp_path)
    assert "lineage" in header and "compacted" in row


def test_a_copied_transcript_has_the_duration_of_its_lines(tmp_path: Path) -> None:
    made = MadeSession(WRITTEN)
    made.prompt("Please look.")
    made.call()
    path = made.write(tmp_path / "claude")
    os.utime(path, (made.now + 900_000, made.now + 900_000))
    (tmp_path / "captures").mkdir()
    where = ["--captures", str(tmp_path / "captures"), "--claude-dir", str(tmp_path / "claude")]
    result = CliRunner().invoke(main, ["sessions", "--json", *where])
    (row,) = json.loads(result.stdout)["sessions"]
    assert row["duration_seconds"] < 10
    assert row["last_seen"] < made.now + 10


def rows_of(root: Path, *more: str) -> list[dict[str, Any]]:
    """Return the rows for the client's folder and captures below a folder."""
    where = ["--captures", str(root / "captures"), "--claude-dir", str(root / "claude")]
    result = CliRunner().invoke(main, ["sessions", "--json", *more, *where])
    assert result.exit_code == 0, result.output
    rows: list[dict[str, Any]] = json.loads(result.stdout)["sessions"]
    return rows


def test_a_session_that_went_on_without_a_capture_is_as_recent_as_its_lines(
    tmp_path: Path,
) -> None:
    now = time.time()
    made = MadeSession(WRITTEN, now=now - 40 * 86_400)
    made.call(output=100)
    made.write(tmp_path / "claude", tmp_path / "captures")
    (whole,) = rows_of(tmp_path)
    assert (whole["calls"], whole["finality"]) == (1, "exact")
    made.now = now - 3600
    made.call(output=50)
    made.write(tmp_path / "claude")
    (row,) = rows_of(tmp_path, "--since", "7d")
    assert row["last_seen"] > now - 3600
    assert (row["calls"], row["output_tokens"], row["finality"]) == (1, 100, "unknown")


def test_a_resumed_session_started_with_its_first_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = MadeSession(WRITTEN)
    made.prompt("Please look.")
    made.call()
    path = made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    metadata = {"started_at": made.now + 90_000}
    resumed = {"session_id": WRITTEN, "state": "exited", "metadata": metadata}
    known = tmp_path / "sessions.json"
    known.write_bytes(orjson.dumps({"version": 1, "sessions": [resumed]}))
    monkeypatch.setenv("CCWIRE_SESSIONS", str(known))
    (row,) = rows_of(tmp_path)
    assert row["started"] < made.now
    # A fork's first lines are those of another session.
    lines = path.read_bytes().replace(WRITTEN.encode(), CAPTURED.encode(), 1)
    path.write_bytes(lines)
    (fork,) = rows_of(tmp_path)
    assert fork["started"] == made.now + 90_000


def test_an_answer_that_was_cut_off_is_a_lower_bound_in_the_table(tmp_path: Path) -> None:
    made = MadeSession(WRITTEN)
    made.call(output=1, in_transcript=False, complete=False, stop_reason=None)
    made.write(tmp_path / "claude", tmp_path / "captures")
    where = ["--captures", str(tmp_path / "captures"), "--claude-dir", str(tmp_path / "claude")]
    table = CliRunner(env={"COLUMNS": "200"}).invoke(main, ["sessions", *where]).stdout
    assert "≥ 1 " in table and "≥ $" in table


def test_a_damaged_line_leaves_the_sums_unsure(tmp_path: Path) -> None:
    made = MadeSession(WRITTEN)
    made.call()
    path = made.write(tmp_path / "claude")
    (tmp_path / "captures").mkdir()
    (whole,) = rows_of(tmp_path)
    path.write_bytes(b'{"type":"assistant","message":{"usa\n' + path.read_bytes())
    (damaged,) = rows_of(tmp_path)
    assert (whole["finality"], damaged["finality"]) == ("exact", "unknown")


def test_the_list_and_latest_agree_on_a_copied_folder(tmp_path: Path) -> None:
    for at, (session, seconds) in enumerate(((WRITTEN, 900), (GONE, 0))):
        made = MadeSession(session, now=1_794_000_000.0 + seconds)
        made.prompt("Please look.")
        path = made.write(tmp_path / "claude")
        os.utime(path, (at, at))
    (tmp_path / "captures").mkdir()
    assert [row["session_id"] for row in rows_of(tmp_path)] == [WRITTEN, GONE]
    where = ["--captures", str(tmp_path / "captures"), "--claude-dir", str(tmp_path / "claude")]
    shown = CliRunner().invoke(main, ["show", "latest", *where]).stdout
    assert shown.startswith(f"session {WRITTEN}")
