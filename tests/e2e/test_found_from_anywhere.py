"""A session is found from any folder, wherever and however it was captured."""

import contextlib
import json
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from addon.launch.proxy import ADD_ON, free_port, is_written
from addon.storage.registry import registered
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from tests.rig import messages_body, new_session, until

CLIENT = f"""\
#!/bin/sh
exec {sys.executable} -c 'from ccwire.demo.client.cli import main; main()' "$@"
"""


@dataclass(frozen=True)
class Machine:
    """A user's machine, with a simulated client as `claude` and a stand-in for the API."""

    folder: Path
    api: StandIn
    scenario: Scenario

    @property
    def home(self) -> Path:
        return self.folder / "me" / ".ccwire"

    def project(self, name: str) -> Path:
        project = self.folder / name
        project.mkdir(exist_ok=True)
        return project

    def ccwire(
        self, *arguments: str, cwd: Path = Path("/"), **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ccwire", *arguments],
            env=self.environment(**environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def run(self, cwd: Path, *options: str, **environment: str) -> str:
        """Capture a session with `ccwire run` and return what it printed on stderr."""
        command = ["run", *options, "--upstream", self.api.url, "claude", "-p"]
        ran = self.ccwire(*command, self.scenario.prompt, cwd=cwd, **environment)
        assert ran.returncode == 0, ran.stderr
        return ran.stderr

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "HOME": str(self.folder / "me"),
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "TMPDIR": str(self.folder),
            "ANTHROPIC_API_KEY": "sk-ant-api03-made-up",
            "PYTHONUNBUFFERED": "1",
            **more,
        }

    def sessions(self, **environment: str) -> set[str]:
        listed = self.ccwire("sessions", "--captured", "--json", cwd=Path("/"), **environment)
        assert listed.stderr == ""
        return {row["session_id"] for row in json.loads(listed.stdout)["sessions"]}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(CLIENT)
    program.chmod(0o755)
    (tmp_path / "me").mkdir()
    scenario = named("mix")
    with StandIn(scenario) as api:
        yield Machine(tmp_path, api, scenario)


def test_a_session_is_accounted_for_from_another_folder_right_after_its_run(
    machine: Machine,
) -> None:
    project = machine.project("project")
    told = machine.run(project)
    assert list(project.iterdir()) == []
    assert f"captures: {machine.home}/captures\n" in told
    assert "--captures" not in told
    found = machine.ccwire("reconcile", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    account = json.loads(found.stdout)
    assert account["unexplained"] == 0
    served = machine.api.ledger
    assert len(account["calls"]) == len(served.messages()) + len(served.count_tokens())
    assert f"next: {sys.executable} -m ccwire reconcile {account['session_id'][:8]}\n" in told
    assert (machine.home / "captures").stat().st_mode & 0o777 == 0o700
    assert machine.home.stat().st_mode & 0o777 == 0o700


def test_sessions_of_other_folders_and_homes_are_found_too(machine: Machine) -> None:
    project = machine.project("project")
    told = machine.run(project, "--captures", "mine")
    assert f"captures: {project}/mine\n" in told
    assert "next: " in told and "--captures" not in told
    assert [entry.path for entry in registered(machine.home)] == [project / "mine"]
    machine.run(project)
    (one,) = (path.name for path in (project / "mine").glob("*-*-*-*-*"))
    (two,) = (path.name for path in (machine.home / "captures").glob("*-*-*-*-*"))
    assert machine.sessions() == {one, two}
    assert machine.ccwire("reconcile", str(project)).returncode == 0
    assert machine.ccwire("reconcile", one[:8]).returncode == 0
    assert machine.sessions(CCWIRE_CAPTURES=str(project / "mine")) == {one}


def test_another_home_has_its_own_sessions_and_hooks(machine: Machine) -> None:
    other = machine.folder / "other"
    told = machine.run(machine.project("project"), CCWIRE_HOME=str(other))
    assert f"captures: {other}/captures\n" in told
    (session,) = (path.name for path in (other / "captures").glob("*-*-*-*-*"))
    assert session in (other / "sessions.json").read_text()
    assert (other / "redaction.key").exists()
    assert not machine.home.exists()
    assert machine.sessions(CCWIRE_HOME=str(other)) == {session}


def test_the_add_on_alone_captures_here_and_registers_that(machine: Machine) -> None:
    project, session = machine.project("project"), new_session()
    with mitmdump(machine, project) as (port, certificate):
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"https": f"http://127.0.0.1:{port}"}),
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=certificate)),
        )
        machine.api.scenario = named("plain")
        body = messages_body(machine.api.scenario.prompt, session)
        url = "https://api.anthropic.com/v1/messages"
        with opener.open(url, body, timeout=20) as answer:
            assert answer.status == 200
            answer.read()
    assert (project / "captures" / session / "exchanges.jsonl").exists()
    assert [entry.path for entry in registered(machine.home)] == [project / "captures"]
    assert machine.sessions() == {session}


@contextlib.contextmanager
def mitmdump(machine: Machine, cwd: Path) -> Iterator[tuple[int, Path]]:
    port = free_port("127.0.0.1")
    command = [str(Path(sys.executable).parent / "mitmdump"), "-s", str(ADD_ON), "-p", str(port)]
    command += ["--set", f"capture_upstream={machine.api.url}"]
    log = machine.folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env=machine.environment(), cwd=cwd, stdout=out, stderr=out
        )
    try:
        certificate = machine.folder / "me" / ".mitmproxy" / "mitmproxy-ca-cert.pem"
        until(lambda: is_written(certificate) and b"ccwire: capturing" in log.read_bytes(), 30)
        yield port, certificate
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_demo_is_not_among_the_users_sessions(machine: Machine) -> None:
    ran = machine.ccwire("demo")
    assert ran.returncode == 0, ran.stderr
    assert not machine.home.exists()
    assert machine.sessions() == set()


def test_a_home_that_cannot_be_written_costs_a_run_nothing(machine: Machine) -> None:
    project = machine.project("project")
    (machine.folder / "file").touch()
    home, sessions = str(machine.folder / "file" / "home"), str(machine.folder / "sessions.json")
    told = machine.run(project, "--captures", "mine", CCWIRE_HOME=home, CCWIRE_SESSIONS=sessions)
    lines = [line for line in told.splitlines() if "could not be listed" in line]
    assert len(lines) == 1
    (following,) = (line for line in told.splitlines() if line.startswith("next: "))
    assert following.endswith(f" --captures {project}/mine")
    arguments = ("reconcile", "--captures", str(project / "mine"))
    assert machine.ccwire(*arguments, CCWIRE_HOME=home).returncode == 0
