"""Measure which setting decides where the real client sends: each names another base URL.

    uv run python -m lab.settings_order 2.0.73 2.1.325

The level that gets the call is the strongest; it is then left out, until none is left. The result
is in `addon/launch/client_settings.py`. The administrator's settings were measured in the same way,
in a mount namespace with an /etc of its own.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from addon.launch.client_settings import SETTINGS_ARGUMENT
from addon.launch.proxy import Proxy
from addon.launch.road import BASE_URL, ENVIRONMENT
from ccwire.demo.real.npm import InstalledClient, fetch
from ccwire.demo.real.run import lab_home, run_once
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn

LEVELS = (
    SETTINGS_ARGUMENT,
    ".claude/settings.local.json",
    ".claude/settings.json",
    "~/.claude/settings.json",
    "~/.claude.json",
    ENVIRONMENT,
)
_SCENARIO = named("plain")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The levels that named a base URL, those that got a call, and the folders of the run."""

    levels: tuple[str, ...]
    called: tuple[str, ...]
    home: Path
    project: Path
    environment: dict[str, str]
    settings: str | None


def main(versions: Sequence[str]) -> None:
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="ccwire-order-") as folder:
            for found in measure(fetch(version), Path(folder)):
                print(f"{version:9} of {len(found.levels)}: {' and '.join(found.called) or 'none'}")


def measure(client: InstalledClient, folder: Path) -> Iterator[Outcome]:
    """Run the client once per level; each time, the strongest level is left out afterwards."""
    left = list(LEVELS)
    with ExitStack() as servers:
        apis = {
            level: servers.enter_context(StandIn(_SCENARIO, seed=seed))
            for seed, level in enumerate(LEVELS)
        }
        others = servers.enter_context(StandIn(_SCENARIO, seed=len(LEVELS)))
        proxy = servers.enter_context(
            Proxy(
                folder / "captures",
                log=folder / "proxy.log",
                upstream=others.url,
                confdir=folder / "mitmproxy",
                home=folder,
            )
        )
        while left:
            urls = {level: apis[level].url for level in left}
            before = {level: len(apis[level].ledger.messages()) for level in left}
            found = _run(client, proxy, folder / str(len(left)), urls)
            called = [lv for lv in left if len(apis[lv].ledger.messages()) > before[lv]]
            yield Outcome(tuple(left), tuple(called), *found)
            if len(called) != 1:
                return
            left.remove(called[0])


def _run(
    client: InstalledClient, proxy: Proxy, folder: Path, urls: dict[str, str]
) -> tuple[Path, Path, dict[str, str], str | None]:
    project = folder / "project"
    project.mkdir(parents=True)
    home = lab_home(folder / "home", project)
    environment = {"NO_PROXY": "127.0.0.1"}
    argument = None
    for level, url in urls.items():
        env = {BASE_URL: url}
        if level == ENVIRONMENT:
            environment |= env
        elif level == SETTINGS_ARGUMENT:
            argument = json.dumps({"env": env})
        else:
            path = home / level[2:] if level.startswith("~/") else project / level
            path.parent.mkdir(exist_ok=True)
            before = json.loads(path.read_text()) if path.exists() else {}
            path.write_text(json.dumps({**before, "env": env}))
    run_once(
        client,
        _SCENARIO.prompt,
        home=home,
        cwd=project,
        proxy_port=proxy.port,
        ca_cert=proxy.ca_cert,
        settings=json.loads(argument) if argument else None,
        tools=_SCENARIO.tools,
        extra_env=environment,
    )
    return home, project, environment, argument


if __name__ == "__main__":
    main(sys.argv[1:])
