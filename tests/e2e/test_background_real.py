"""`ccwire run` with the real client in the background: its proxy, its sessions, its subcommands."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from ccwire.demo.real.npm import InstalledClient
from ccwire.demo.real.run import MADE_UP_KEY, lab_home
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from correlate.captures.folder import read_exchanges, session_folders
from correlate.reconcile.session import SessionReconciler
from correlate.transcript.locate import ClaudeDir
from tests.e2e.real_rig import client_or_skip
from tests.rig import until

pytestmark = pytest.mark.real

WITH_BACKGROUND = ("2.1.168", "2.1.250", "2.1.290", "2.1.325")
_MORE = (  # with CCWIRE_LONG=1
    "2.1.150", "2.1.160", "2.1.183", "2.1.200", "2.1.219", "2.1.235", "2.1.274", "2.1.308",
)  # fmt: skip
CAPTURED_TO_THE_END = (*WITH_BACKGROUND, *(_MORE if os.environ.get("CCWIRE_LONG") else ()))
WITHOUT = "2.0.73"
PROJECT = Path(__file__).parents[2]
SLOW = "stream:deltas=30,delay=0.05"  # it takes longer than the command that hands it over


@dataclass
class Rig:
    """A home and a stand-in; every process that is started here is ended with it."""

    client: InstalledClient
    api: StandIn
    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def captures(self) -> Path:
        return self.folder / "captures"

    def start(self, *arguments: str, linger: int = 2) -> subprocess.Popen[str]:
        options = ["--captures", str(self.captures), "--upstream", self.api.url]
        options += ["--linger", str(linger)]
        return subprocess.Popen(
            [sys.executable, "-m", "ccwire", "run", *options, *self.client.command, *arguments],
            env={
                "HOME": str(self.home),
                "PATH": "/usr/bin:/bin",
                "SHELL": "/bin/bash",
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "PYTHONPATH": str(PROJECT),
                "CCWIRE_SESSIONS": str(self.folder / "sessions.json"),
                "ANTHROPIC_API_KEY": MADE_UP_KEY,
                "DISABLE_AUTOUPDATER": "1",
            },
            cwd=self.folder / "project",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=90)
        return process.returncode, out, errors

    def served(self) -> int:
        self.api.ledger.wait()
        return len(self.api.ledger.messages())

    def captured(self) -> int:
        folders = [*session_folders(self.captures), self.captures / "unknown"]
        return sum(e.kind == "messages" for folder in folders for e in read_exchanges(folder))

    def processes(self) -> list[psutil.Process]:
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            return process.environ().get("HOME") == str(self.home)
        return False


@contextlib.contextmanager
def background_rig(version: str, folder: Path) -> Iterator[Rig]:
    (folder / "project").mkdir()
    lab_home(folder / "home", folder / "project")
    with StandIn(named(SLOW)) as api:
        rig = Rig(client_or_skip(version), api, folder)
        try:
            yield rig
        finally:
            while left := rig.processes():
                for process in left:
                    with contextlib.suppress(psutil.Error):
                        process.kill()
                psutil.wait_procs(left, 5)


def session_of(out: str) -> str:
    found = re.search(r"backgrounded · .*?\b([0-9a-f]{8})\b", out)
    assert found is not None, out
    return found[1]


@pytest.mark.parametrize("version", CAPTURED_TO_THE_END)
def test_a_session_in_the_background_is_captured_to_its_end(version: str, tmp_path: Path) -> None:
    with background_rig(version, tmp_path) as rig:
        code, out, errors = rig.run("--bg", rig.api.scenario.prompt)
        assert code == 0, errors
        session = session_of(out)
        notice = f"ccwire: Claude Code continues in the background (session {session}); capturing"
        assert errors.count(notice) == 1
        assert f"`claude stop {session}` before you continue it" in errors
        assert f"reconcile {session}" in errors
        assert rig.captured() == rig.served() > 0
        (folder,) = [f for f in session_folders(rig.captures) if f.name.startswith(session)]
        found = SessionReconciler(rig.captures, ClaudeDir(rig.home / ".claude")).reconcile(folder)
        assert found.unexplained == 0
        assert any(finding.turn for finding in found.calls)

        # Its service runs the session of the next run too, which names it.
        code, out, errors = rig.run("--bg", rig.api.scenario.prompt)
        second = session_of(out)
        service = json.loads((rig.home / ".claude" / "daemon.lock").read_bytes())["pid"]
        assert (code, second != session) == (0, True)
        assert f"run by a service of Claude Code (process {service})" in errors
        assert "continues in the background" not in errors

        # Subcommands are what they are, and the sessions keep nothing of a run.
        before = rig.served()
        assert rig.run("logs", session)[0] == 0
        for each in (session, second):
            code, out, errors = rig.run("stop", each)
            assert (code, out) == (0, f"stopped {each}\n"), errors
            state = json.loads((rig.home / ".claude" / "jobs" / each / "state.json").read_bytes())
            assert state["respawnFlags"] == []
        until(lambda: not rig.processes(), 30)
        assert rig.served() == before


def test_ctrl_c_stops_capturing_with_a_summary(tmp_path: Path) -> None:
    with background_rig(WITH_BACKGROUND[-1], tmp_path) as rig:
        process = rig.start("--bg", rig.api.scenario.prompt)
        assert process.stderr is not None
        for line in process.stderr:
            if "continues in the background" in line:
                break
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "still runs, and its calls fail from now on" in errors
        assert "captures: " in errors
        assert "Aborted" not in errors


@pytest.mark.parametrize("version", [WITHOUT, WITH_BACKGROUND[0], WITH_BACKGROUND[-1]])
def test_what_starts_a_session_is_not_changed_by_what_does_not(
    version: str, tmp_path: Path
) -> None:
    with background_rig(version, tmp_path) as rig:
        code, _, errors = rig.run("-p", rig.api.scenario.prompt)
        assert code == 0, errors
        assert "continues in the background" not in errors
        served = rig.served()
        assert rig.captured() == served > 0
        sessions = json.loads((tmp_path / "sessions.json").read_bytes())["sessions"]
        assert len(sessions) == 1  # our hooks ran
        assert rig.run("mcp", "list")[0] == 0
        assert rig.served() == served
        if version != WITHOUT:
            code, out, errors = rig.run("stop", "0a1b2c3d")
            assert code != 0
            assert "0a1b2c3d" in out + errors
            assert rig.served() == served
        until(lambda: not rig.processes(), 20)
