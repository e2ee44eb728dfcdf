"""docs/json.md lists every field that `sessions`, `spend` and `search` print, and no other."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from ccwire.cli import main
from lab.made_session import MadeSession

PAGE = (Path(__file__).parent.parent / "docs" / "json.md").read_text(encoding="utf-8")
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_FIELDS = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)

SESSION = "11111111-2222-4333-8444-555555555555"


def documented(command: str, table: int) -> set[str]:
    """Return the fields in a table of a command's section."""
    section = PAGE.split(f"## `ccwire {command} --json`\n")[1].split("\n## ")[0]
    rows = _FIELDS.findall(_TABLE.findall(section)[table])
    return {name for row in rows for name in re.findall(r"\w+", row)}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("json")
    made = MadeSession(SESSION)
    made.prompt("Please look for the numbat.")
    made.call()
    made.write(root / "claude", root / "captures")
    typed = {"display": "Look.", "timestamp": 1, "project": "/p", "sessionId": SESSION}
    (root / "claude" / "history.jsonl").write_bytes(orjson.dumps(typed))
    statistics = {"lastComputedDate": "2026-12-01", "totalSessions": 1, "modelUsage": {}}
    (root / "claude" / "stats-cache.json").write_bytes(orjson.dumps(statistics))
    return root


def printed(root: Path, *words: str) -> Mapping[str, Any]:
    where = ["--captures", str(root / "captures"), "--claude-dir", str(root / "claude")]
    ran = CliRunner(env={"CCWIRE_HOME": str(root / "home")}).invoke(main, [*words, *where])
    assert ran.exit_code == 0, ran.output
    found: Mapping[str, Any] = json.loads(ran.stdout)
    return found


def test_the_fields_of_sessions(root: Path) -> None:
    found = printed(root, "sessions", "--json")
    assert found.keys() == {"sessions", "more"}
    assert found["sessions"][0].keys() == documented("sessions", 0)
    assert printed(root, "sessions", "--prompts", "--json")["prompts"][0].keys() == documented(
        "sessions", 1
    )


def test_the_fields_of_spend(root: Path) -> None:
    found = printed(root, "spend", "--by", "day,model", "--json")
    assert found.keys() == documented("spend", 0)
    assert found["rows"][0].keys() == documented("spend", 1) | {"day", "model"}
    assert found["total"].keys() == documented("spend", 1)
    for name in ("cost_records", "client_statistics"):
        (row,) = re.findall(rf"^\| `{name}` .*$", PAGE, re.MULTILINE)
        assert found[name].keys() <= set(re.findall(r"`(\w+)`", row))
    (row,) = re.findall(r"^\| `tokens` .*$", PAGE, re.MULTILINE)
    assert found["total"]["tokens"].keys() == set(re.findall(r"`(\w+)`", row)) - {"tokens"}


def test_the_fields_of_search(root: Path) -> None:
    found = printed(root, "search", "numbat", "--json")
    assert found.keys() == {"hits", "is_cut"}
    (hit,) = found["hits"]
    assert hit.keys() == documented("search", 0)
    (row,) = re.findall(r"^\| `lines` .*$", PAGE, re.MULTILINE)
    assert hit["lines"][0].keys() == set(re.findall(r"`(\w+)`", row)) - {"lines"}
    (counted,) = printed(root, "search", "numbat", "--count", "--json")["sessions"]
    said = PAGE.rpartition("With `--count`")[2]
    assert counted.keys() == set(re.findall(r"`(\w+)`", said))
