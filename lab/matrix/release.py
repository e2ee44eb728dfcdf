"""Run one release through cases: its home, its proxy, the stand-in, and one folder per case.

All cases of a release share a home and a proxy, as the projects of a user do. The oldest releases
send no session id, so every prompt is unique: the stand-in takes equal calls for retries.
"""

import json
import mmap
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from addon.claude_settings.hooks_text import hook_command, hook_settings
from addon.hooks.events import events_for
from addon.launch.proxy import Proxy
from ccwire.demo.real.npm import InstalledClient
from ccwire.demo.real.run import (
    MADE_UP_KEY,
    end_group,
    environment,
    lab_home,
    parse_result,
    run_command,
)
from ccwire.demo.stand_in.ledger import Ledger
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from ccwire.import_path import python_command
from ccwire.wire.hosts import DEFAULT_HOSTS
from ccwire.wire.versions import parse_version
from correlate.transcript.locate import ClaudeDir
from lab.matrix.case import Case, OnScreen, Print, Step, Together
from lab.screen import ClientScreen

_HELP_SECONDS = 30.0
_NO_PROXY_THERE = 9  # the discard port: `--help` must not need the network
_GLANCE = 0.02
_INTO_THE_NEXT = 1.0  # seconds until the next call is under way
_KEY_IN_ENVIRONMENT = (1, 0, 62)
_FIRST_HOOKS = (1, 0, 62)
_ASKED_AT_START = (*DEFAULT_HOSTS, "console.anthropic.com")  # no answer: the screen gives up
_MODES = ("default", "manual")


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of the client: how it ended, and what it printed."""

    step: int
    code: int | None
    seconds: float
    session_id: str | None = None
    stdout: str = ""
    stderr: str = ""
    problem: str | None = None


@dataclass(slots=True)
class ReleaseRunner:
    """A release with everything it needs to be run; `projects` is where each case has a folder."""

    client: InstalledClient
    olders: Mapping[str, InstalledClient]
    api: StandIn
    proxy: Proxy
    home: Path
    projects: Path
    sessions: Path
    help_text: str
    helps: dict[str, str] = field(default_factory=dict)

    def lacking(self, case: Case) -> str | None:
        return case.needs.lacking(self.client.version, self.help_text, self._contains)

    def run_case(self, case: Case) -> list[Ran]:
        """Run a case's steps; a step that fails to run ends it."""
        runner = CaseRunner(self, case, self.projects / case.name)
        runner.prepare()
        done: list[Ran] = []
        for number, step in enumerate(case.steps, 1):
            done += runner.run_step(number, step)
            if any(run.problem for run in done):
                break
        self.api.ledger.wait()
        return done

    def help_of(self, client: InstalledClient) -> str:
        if client.version not in self.helps:
            env = environment(self.home, _NO_PROXY_THERE, self.proxy.ca_cert)
            command = [*client.command, "--help"]
            self.helps[client.version] = run_command(command, env, self.home, _HELP_SECONDS)[1]
        return self.helps[client.version]

    def _contains(self, word: str) -> bool:
        program = Path(self.client.command[-1])
        with (
            program.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
        ):
            return text.find(word.encode()) >= 0


@dataclass(slots=True)
class CaseRunner:
    """One case of one release while it runs."""

    release: ReleaseRunner
    case: Case
    cwd: Path

    @property
    def ledger(self) -> Ledger:
        return self.release.api.ledger

    def answer_with(self, scenario: Scenario) -> None:
        self.release.api.scenario = scenario

    def prepare(self) -> None:
        """Create the project's folder and the case's files."""
        self.cwd.mkdir(parents=True, exist_ok=True)
        client = " ".join(self.release.client.command)
        for name, text in self.case.files.items():
            path = self.cwd / name
            path.parent.mkdir(parents=True, exist_ok=True)
            for mark, value in (
                ("@PYTHON@", python_command("")[0]),
                ("@CLIENT@", client),
                ("@PROJECT@", str(self.cwd)),
            ):
                text = text.replace(mark, value)
            path.write_text(text)

    def run_step(self, number: int, step: Step) -> list[Ran]:
        match step:
            case Print():
                self.answer_with(step.scenario)
                return [self._print([(number, step)])[0]]
            case Together():
                self.answer_with(step.runs[0].scenario)
                return self._print([(number, run) for run in step.runs])
            case OnScreen():
                self.answer_with(step.scenario)
                return [self._screen(number, step)]

    def _screen(self, number: int, step: OnScreen) -> Ran:
        release, began = self.release, time.time()
        screen = ClientScreen(
            release.client,
            home=release.home,
            cwd=self.cwd,
            proxy_port=release.proxy.port,
            ca_cert=release.proxy.ca_cert,
            settings=self._settings_file(release.client),
            extra_args=(*step.options, *self._going_on(step), *self._mode(release.client, step)),
            extra_env=step.env,
        )
        try:
            with screen:
                step.drive(screen, self)
                code = screen.leave()
        except (TimeoutError, RuntimeError, OSError) as error:
            first = str(error).partition("; the screen:")[0].splitlines()[0]
            return Ran(number, None, time.time() - began, stderr=str(error), problem=first)
        return Ran(number, code, time.time() - began)

    def _print(self, runs: Sequence[tuple[int, Print]]) -> list[Ran]:
        """Start all the runs, then wait for each."""
        started = []
        try:
            for place, (number, run) in enumerate(runs):
                started.append((number, run, time.time(), self._start(place, number, run)))
            return [self._finish(*one) for one in started]
        finally:
            for *_, process in started:
                end_group(process.pid)

    def _start(self, place: int, number: int, run: Print) -> "subprocess.Popen[str]":
        client = self._client(run)
        release = self.release
        return subprocess.Popen(
            [*client.command, "-p", *self._arguments(place, number, run, client)],
            env=environment(release.home, release.proxy.port, release.proxy.ca_cert, run.env),
            cwd=self.cwd,
            stdin=subprocess.PIPE if run.sends else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def _finish(
        self, number: int, run: Print, began: float, process: "subprocess.Popen[str]"
    ) -> Ran:
        problem = None
        with process:
            try:
                if run.kill_after is not None:
                    self._kill(process, run.kill_after)
                text = "".join(json.dumps(message) + "\n" for message in run.sends)
                stdout, stderr = process.communicate(text or None, timeout=self.case.seconds)
            except subprocess.TimeoutExpired:
                end_group(process.pid)
                stdout, stderr = process.communicate()
                problem = f"did not exit within {self.case.seconds:g} s"
            finally:
                end_group(process.pid)
        result = parse_result(stdout) or {}
        session_id = result.get("session_id")
        return Ran(
            number,
            process.returncode,
            time.time() - began,
            session_id if isinstance(session_id, str) else None,
            stdout,
            stderr[-4000:],
            problem,
        )

    def _kill(self, process: "subprocess.Popen[str]", calls: int) -> None:
        """Kill the client in the call after the given number of calls to the model."""
        before = len(self.ledger.messages())
        end = time.monotonic() + self.case.seconds
        while process.poll() is None and time.monotonic() < end:
            if len([c for c in self.ledger.messages()[before:] if c.tools]) >= calls:
                time.sleep(_INTO_THE_NEXT)
                break
            time.sleep(_GLANCE)
        end_group(process.pid)

    def _client(self, run: Print) -> InstalledClient:
        current = self.release.client
        older = [v for v in run.older if parse_version(v) < parse_version(current.version)]
        return self.release.olders[older[-1]] if older else current

    def _arguments(self, place: int, number: int, run: Print, client: InstalledClient) -> list[str]:
        known = self.release.help_of(client)
        words: list[str] = []
        if not run.sends:
            unique = f" Case {self.case.name}, step {number}.{place}."
            words.append(run.prompt if run.prompt is not None else run.scenario.prompt + unique)
        words += run.options
        words += self._going_on(run)
        as_stream = run.sends or run.stream_json
        if "--output-format" in known:
            words += ["--output-format", "stream-json" if as_stream else "json"]
        if as_stream:
            words += ["--verbose"]
        if run.sends:
            words += ["--input-format", "stream-json"]
        settings = self._settings_file(client)
        if settings is not None and "--settings" in known:
            words += ["--settings", str(settings)]
        words += self._mode(client, run)
        tools = run.scenario.tools if run.tools is None else run.tools
        if tools and "--allowedTools" in known:
            words += ["--allowedTools", ",".join(tools)]
        return words

    def _mode(self, client: InstalledClient, run: Print | OnScreen) -> list[str]:
        """Ask the user; else some releases ask a model, which the stand-in cannot be."""
        known = self.release.help_of(client)
        mode = next((word for word in _MODES if f'"{word}"' in known), None)
        if "--permission-mode" not in known or mode is None or "--permission-mode" in run.options:
            return []
        return ["--permission-mode", mode]

    def _going_on(self, run: Print | OnScreen) -> list[str]:
        if run.go_on == "no":
            return []
        if run.go_on == "continue":
            return ["--continue"]
        newest = ClaudeDir(self.release.home / ".claude").sessions_of(str(self.cwd))
        if not newest:
            return ["--continue"]
        return ["--resume", newest[0].stem, *(["--fork-session"] if run.go_on == "fork" else [])]

    def _settings_file(self, client: InstalledClient) -> Path | None:
        """Write the settings to a file, because some releases accept no JSON as an argument."""
        settings = self._settings(client)
        if settings is None:
            return None
        path = self.release.home / "settings" / f"{self.case.name}-{client.version}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(settings))
        return path

    def _settings(self, client: InstalledClient) -> dict[str, Any] | None:
        """Return the hooks that `ccwire run` would add, and the case's own settings."""
        events = events_for(parse_version(client.version))
        if not events:
            return None
        settings = hook_settings(hook_command(self.release.sessions), events)
        own = dict(self.case.settings)
        for event, hooks in own.pop("hooks", {}).items():
            settings["hooks"][event] = [*settings["hooks"].get(event, []), *hooks]
        return settings | own


@contextmanager
def release_runner(
    client: InstalledClient,
    olders: Mapping[str, InstalledClient],
    folder: Path,
    confdir: Path,
    cases: Sequence[Case],
) -> Iterator[ReleaseRunner]:
    """Start the stand-in and the proxy, and create the home and the folder of each case."""
    projects = folder / "projects"
    projects.mkdir()
    home = _home(folder / "home", [projects / case.name for case in cases], client.version)
    sessions = folder / "sessions.json"
    with (
        StandIn(named("plain")) as api,
        Proxy(
            folder / "captures",
            log=folder / "proxy.log",
            upstream=api.url,
            hosts=_ASKED_AT_START if parse_version(client.version) < _FIRST_HOOKS else (),
            sessions=sessions,
            claude_dir=home / ".claude",
            confdir=confdir,
            home=folder,
        ) as proxy,
    ):
        made = ReleaseRunner(client, olders, api, proxy, home, projects, sessions, "")
        with suppress(TimeoutError):
            made.help_text = made.help_of(client)
        yield made


def _home(home: Path, projects: Sequence[Path], version: str) -> Path:
    """Create the home; on the screen, older releases read the key from it only."""
    lab_home(home, home)
    path = home / ".claude.json"
    state = json.loads(path.read_text())
    (answered,) = state["projects"].values()
    state["projects"] = {str(project): answered for project in projects}
    if parse_version(version) < _KEY_IN_ENVIRONMENT:
        state["primaryApiKey"] = MADE_UP_KEY
    path.write_text(json.dumps(state))
    return home
