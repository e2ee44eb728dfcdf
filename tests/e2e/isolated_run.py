"""`ccwire run` in a network with loopback only, for programs that may ignore the proxy."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ccwire.demo.real.run import MADE_UP_KEY, run_command
from ccwire.wire.format import Exchange
from correlate.captures.folder import read_exchanges
from lab.isolated import NOT_PERMITTED

PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True)
class IsolatedRun:
    """The outcome of a run: its output, what the stand-in served, and what was captured."""

    returncode: int
    stdout: str
    stderr: str
    served: list[dict[str, Any]]
    captured: dict[str, list[Exchange]]

    def calls(self, folder: str) -> set[str | None]:
        return {exchange.request_id for exchange in self.captured.get(folder, [])}

    def message_request_ids(self) -> set[str]:
        return {call["request_id"] for call in self.served if call["kind"] == "messages"}


def isolated_run(
    folder: Path, *command: str, options: tuple[str, ...] = (), scenario: str = "plain", **env: str
) -> IsolatedRun:
    """Run `ccwire run COMMAND` against a stand-in; skip the test if that cannot be isolated."""
    home, ledger = folder / "home", folder / "ledger.json"
    home.mkdir(exist_ok=True)
    isolated = [sys.executable, "-m", "lab.isolated", "--ledger", str(ledger)]
    isolated += ["--scenario", scenario, "--"]
    ccwire = [sys.executable, "-m", "ccwire", "run", "--captures", str(folder / "captures")]
    returncode, stdout, stderr = run_command(
        [*isolated, *ccwire, "--upstream", "{upstream}", *options, "--", *command],
        {
            "HOME": str(home),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(PROJECT),
            "TERM": "dumb",
            "ANTHROPIC_API_KEY": MADE_UP_KEY,
            "CCWIRE_SESSIONS": str(folder / "sessions.json"),
            "DISABLE_AUTOUPDATER": "1",
            **env,
        },
        cwd=folder,
        timeout=120,
    )
    if returncode == NOT_PERMITTED and not ledger.exists():
        pytest.skip("NOT RUN: this system permits no network of its own, which keeps it offline")
    served = json.loads(ledger.read_text())
    captured = {
        found.parent.name: list(read_exchanges(found.parent))
        for found in (folder / "captures").glob("*/exchanges.jsonl")
    }
    return IsolatedRun(returncode, stdout, stderr, served, captured)


def check_filed_under_the_run(run: IsolatedRun, calls: int) -> None:
    """Check that every call is captured once, in one folder that is named after the run."""
    assert run.returncode == 0, (run.stdout, run.stderr)
    (name,) = [name for name, exchanges in run.captured.items() if exchanges]
    assert name.startswith("run-")
    exchanges = [e for e in run.captured[name] if e.kind == "messages"]
    assert len(exchanges) == calls
    assert {e.request_id for e in exchanges} == run.message_request_ids()
    assert {(e.identified_by, e.complete, e.host) for e in exchanges} == {
        ("run", True, "api.anthropic.com")
    }


def check_no_file_has_the_key(folder: Path) -> None:
    secret = MADE_UP_KEY.encode()
    leaked = [p for p in folder.rglob("*") if p.is_file() and secret in p.read_bytes()]
    assert leaked == []
