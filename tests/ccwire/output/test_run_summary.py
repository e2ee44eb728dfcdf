"""The summary after a run: which session it names as the next to look at."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import orjson
import pytest

from addon.storage.registry import register
from ccwire.output.run_summary import print_run_summary
from ccwire.output.tables import size
from ccwire.output.terminal import SafeConsole
from ccwire.verdict_cache import VerdictCache
from ccwire.wire.format import MANIFEST
from correlate.captures.size import folder_bytes
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

BEGIN = 1_794_000_000.0
FIRST, SECOND, SILENT = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "012")


def write(folder: Path, session_id: str, now: float, *, is_call: bool = True) -> None:
    made = MadeSession(session_id, now=now)
    made.prompt("Please look at the file.")
    made.call(("text",), output=9)
    if not is_call:
        made.exchanges = [replace(e, kind="event_logging", usage={}) for e in made.exchanges]
    made.write(folder / "claude", folder / "captures")
    manifest = folder / "captures" / session_id / MANIFEST
    manifest.write_bytes(orjson.dumps({**orjson.loads(manifest.read_bytes()), "last_seen": now}))


def summary(folder: Path) -> list[str]:
    text = StringIO()
    to = SafeConsole(file=text, width=200)
    print_run_summary(to, folder / "captures", folder / "claude", BEGIN)
    return text.getvalue().splitlines()


def next_line(folder: Path) -> str | None:
    lines = [line for line in summary(folder) if line.startswith("next: ")]
    return lines[0].split(" --captures ")[0].split()[-1] if lines else None


@pytest.mark.parametrize(("first", "second"), [(10, 20), (20, 10)])
def test_the_session_with_the_last_call_is_next(tmp_path: Path, first: int, second: int) -> None:
    write(tmp_path, FIRST, BEGIN + first)
    write(tmp_path, SECOND, BEGIN + second)
    write(tmp_path, SILENT, BEGIN + 99, is_call=False)
    assert next_line(tmp_path) == (FIRST if first > second else SECOND)[:8]


def test_a_folder_that_commands_find_is_not_named(
    tmp_path: Path, ccwire_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, FIRST, BEGIN + 1)
    captures, claude = tmp_path / "captures", tmp_path / "claude"
    assert printed_next(captures, claude).endswith(f"{FIRST[:8]} --captures {captures}")
    register(captures, ccwire_home)
    assert printed_next(captures, claude).endswith(FIRST[:8])
    monkeypatch.setenv("CCWIRE_CAPTURES", str(tmp_path / "other"))
    assert printed_next(captures, claude).endswith(f"{FIRST[:8]} --captures {captures}")


def printed_next(captures: Path, claude: Path) -> str:
    text = StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_CONFIG_DIR", str(claude))
        print_run_summary(SafeConsole(file=text, width=200), captures, claude, BEGIN)
    return text.getvalue().splitlines()[-1]


def test_without_a_call_nothing_is_next(tmp_path: Path) -> None:
    write(tmp_path, SILENT, BEGIN + 99, is_call=False)
    assert next_line(tmp_path) is None


def test_the_size_is_that_of_the_run_and_of_all(tmp_path: Path) -> None:
    write(tmp_path, FIRST, BEGIN + 10)
    own = size(folder_bytes(tmp_path / "captures" / FIRST))
    assert f"size: {own}" in summary(tmp_path)
    write(tmp_path, SECOND, BEGIN - 100)
    file = tmp_path / "captures" / SECOND / "0001_req_v1_messages.json"
    file.write_bytes(b"x" * 1_000_000)
    assert f"size: {own}, of 1.0 MB in 2 sessions" in summary(tmp_path)
    with file.open("r+b") as large:
        large.truncate(3 * 10**9)  # sparse
    said = f"size: {own}, of 3.0 GB in 2 sessions; `ccwire prune` deletes old ones"
    assert said in summary(tmp_path)


def test_the_verdict_is_kept_for_the_list_of_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("CCWIRE_HOME", str(tmp_path / "home"))
    write(tmp_path, FIRST, BEGIN + 10)
    summary(tmp_path)
    verdicts = VerdictCache(ClaudeDir(tmp_path / "claude"))
    assert verdicts.unexplained(tmp_path / "captures" / FIRST) == 0
