"""A real client behind the real proxy, and the checks that must pass after any run of it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from addon.claude_settings.hooks_text import hook_command, hook_settings
from addon.hooks.events import events_for
from addon.launch.proxy import Proxy
from ccwire.demo.real.npm import InstalledClient, NpmUnreachable, fetch
from ccwire.demo.real.run import RealRun, lab_home, run_once
from ccwire.demo.stand_in.ledger import Served
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from ccwire.wire.format import Exchange
from correlate.captures.folder import read_exchanges, session_folders
from correlate.reconcile.result import Reconciliation, label
from correlate.reconcile.session import SessionReconciler
from correlate.transcript.locate import ClaudeDir
from lab.screen import ClientScreen
from tests.rig import until

VERSIONS = ("1.0.100", "2.0.73", "2.1.39", "2.1.168", "2.1.325")
NEWEST = VERSIONS[-1]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def client_or_skip(version: str) -> InstalledClient:
    try:
        return fetch(version)
    except NpmUnreachable as error:
        pytest.skip(f"NOT RUN: npm is unreachable, so client {version} was not tested: {error}")


@dataclass
class RealRig:
    """A home, a project, a stand-in and a proxy for one version of the client."""

    client: InstalledClient
    api: StandIn
    proxy: Proxy
    home: Path
    cwd: Path
    hooks: dict[str, Any] | None

    @property
    def claude_dir(self) -> Path:
        return self.home / ".claude"

    def run(
        self,
        scenario: Scenario,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> "Outcome":
        """Run `claude -p` once; return its result and the calls that the stand-in served."""
        self.api.scenario = scenario
        before = len(self.api.ledger.messages())
        run = run_once(
            self.client,
            scenario.prompt,
            home=self.home,
            cwd=cwd or self.cwd,
            proxy_port=self.proxy.port,
            ca_cert=self.proxy.ca_cert,
            settings=self.hooks,
            tools=scenario.tools,
            extra_args=arguments,
            extra_env=env,
        )
        self.api.ledger.wait()
        served = self.api.ledger.messages()[before:]
        return Outcome(run, served)

    def screen(self) -> ClientScreen:
        return ClientScreen(
            self.client,
            home=self.home,
            cwd=self.cwd,
            proxy_port=self.proxy.port,
            ca_cert=self.proxy.ca_cert,
            settings=self.hooks,
        )

    def captured(self) -> list[tuple[str, Exchange]]:
        """Return every exchange with the name of its folder, including `unknown`."""
        folders = [*session_folders(self.proxy.captures), self.proxy.captures / "unknown"]
        return [(folder.name, e) for folder in folders for e in read_exchanges(folder)]

    def wait_for(self, served: Sequence[Served]) -> None:
        wanted = {call.request_id for call in served}
        until(lambda: wanted <= {e.request_id for _, e in self.captured()}, 20)
        until(lambda: not list(self.proxy.captures.rglob("*.part")), 20)

    def reconcile(self, session_id: str) -> Reconciliation:
        reconciler = SessionReconciler(self.proxy.captures, ClaudeDir(self.claude_dir))
        return reconciler.reconcile(self.proxy.captures / session_id)

    def check(self, session_id: str, served: Sequence[Served]) -> Reconciliation:
        """Check that every call is captured once, in its session, with the ledger's usage, and
        that the session is fully explained."""
        self.wait_for(served)
        captured = self.captured()
        for call in served:
            found = [(name, e) for name, e in captured if e.request_id == call.request_id]
            # At startup, a resumed client sends calls under another session id.
            assert [name for name, _ in found] == [call.session_id or session_id], call
            (exchange,) = [exchange for _, exchange in found]
            assert exchange.status == call.status
            if exchange.complete and call.usage:
                assert exchange.usage == call.usage
            assert exchange.usage_at_start == (call.start_usage if exchange.stream else None)
        account = self.reconcile(session_id)
        unexplained = [(label(f), f.evidence) for f in account.findings if not f.explained]
        witnesses = [(w.name, w.evidence) for w in account.witnesses if not w.explained]
        assert (unexplained, witnesses, account.unexplained) == ([], [], 0)
        return account

    def nothing_is_unknown(self) -> None:
        unknown = [e for name, e in self.captured() if name == "unknown"]
        assert [(e.kind, e.path, e.pid) for e in unknown] == []


@dataclass(frozen=True)
class Outcome:
    run: RealRun
    served: list[Served]

    @property
    def session_id(self) -> str:
        assert self.run.returncode == 0, (self.run.stdout, self.run.stderr)
        assert self.run.session_id is not None, self.run.stdout
        return self.run.session_id


@contextmanager
def real_rig(version: str, folder: Path, **options: Any) -> Iterator[RealRig]:
    client = client_or_skip(version)
    cwd = folder / "project"
    cwd.mkdir(parents=True)
    home = lab_home(folder / "home", cwd)
    sessions = folder / "sessions.json"
    hooks = None
    if events := events_for(numbers(version)):
        hooks = hook_settings(hook_command(sessions), events)
    with StandIn(named("plain")) as api:
        proxy = Proxy(
            folder / "captures",
            log=folder / "proxy.log",
            upstream=api.url,
            sessions=sessions,
            claude_dir=home / ".claude",
            confdir=folder / "mitmproxy",
            **options,
        )
        with proxy:
            yield RealRig(client, api, proxy, home, cwd, hooks)


def sessions_in_map(folder: Path) -> list[dict[str, Any]]:
    value: list[dict[str, Any]] = orjson.loads((folder / "sessions.json").read_bytes())["sessions"]
    return value
