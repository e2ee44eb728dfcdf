"""Measure which settings files the real client ignores: with comments, a byte order mark, and more.

    uv run python -m lab.settings_files 2.1.39 2.1.325

Every scope gets a SessionStart hook that records its scope, and one scope's file gets a flaw. The
hooks that ran show what the client did with that file, and with the others. The results are in
`addon/claude_settings/refused.py` and `docs/settings.md`.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from addon.launch.proxy import Proxy
from ccwire.demo.real.npm import InstalledClient, fetch
from ccwire.demo.real.run import lab_home, run_once
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn

SCOPES = ("user", "project", "local", "overlay")  # the overlay is the file of `--settings`
_SCENARIO = named("plain")

FLAWS: dict[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "comment": lambda text: text.replace("{", "{ // a comment\n", 1),
    "block comment": lambda text: text.replace("{", "{ /* a comment */", 1),
    "trailing comma": lambda text: text.rstrip()[:-1] + ",}\n",
    "byte order mark": lambda text: "\ufeff" + text,
    "unknown event": lambda text: text.replace('"Session', '"NoSuchEvent": [], "Session', 1),
    "unknown setting": lambda text: text.replace("{", '{"noSuchSetting": 1, ', 1),
    "invalid setting": lambda text: text.replace("{", '{"cleanupPeriodDays": "soon", ', 1),
    "syntax error": lambda text: text + "}",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Which scopes' hooks ran, and what the client printed to stderr."""

    flaw: str
    scope: str
    ran: tuple[str, ...]
    stderr: str


def main(versions: Sequence[str]) -> None:
    for version in versions:
        with tempfile.TemporaryDirectory(prefix="ccwire-settings-") as folder:
            for found in measure(fetch(version), Path(folder)):
                ran = " ".join(found.ran) or "none"
                said = found.stderr.partition("\n")[0][:60]
                print(f"{version:9} {found.flaw:16} {found.scope:8} ran: {ran:27} {said}")


def measure(
    client: InstalledClient,
    folder: Path,
    flaws: Sequence[str] = tuple(FLAWS),
    scopes: Sequence[str] = SCOPES,
) -> Iterator[Outcome]:
    """Run the client once per flaw and scope, each time in a home and a project of its own."""
    with StandIn(_SCENARIO) as api:
        proxy = Proxy(
            folder / "captures",
            log=folder / "proxy.log",
            upstream=api.url,
            confdir=folder / "mitmproxy",
            home=folder,
        )
        with proxy:
            for flaw in flaws:
                for scope in scopes:
                    yield _run(client, proxy, folder / flaw / scope, flaw, scope)


def _run(client: InstalledClient, proxy: Proxy, folder: Path, flaw: str, scope: str) -> Outcome:
    cwd = folder / "project"
    (cwd / ".claude").mkdir(parents=True)
    home = lab_home(folder / "home", cwd)
    (home / ".claude").mkdir()
    paths = {
        "user": home / ".claude" / "settings.json",
        "project": cwd / ".claude" / "settings.json",
        "local": cwd / ".claude" / "settings.local.json",
        "overlay": folder / "overlay.json",
    }
    log = folder / "ran"
    log.touch()
    for name, path in paths.items():
        hook = {"type": "command", "command": f"echo {name} >> '{log}'"}
        text = json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}})
        path.write_text(FLAWS[flaw](text) if name == scope else text)
    run = run_once(
        client,
        _SCENARIO.prompt,
        home=home,
        cwd=cwd,
        proxy_port=proxy.port,
        ca_cert=proxy.ca_cert,
        settings=paths["overlay"],
        tools=_SCENARIO.tools,
    )
    ran = log.read_text().split()
    return Outcome(flaw, scope, tuple(n for n in SCOPES if n in ran), run.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
