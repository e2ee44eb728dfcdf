"""Run one release of the real client through the atlas's scenarios and keep its evidence.

The evidence of a release is a folder: `captures/`, `claude/` (the client's configuration folder
after the run), `hooks.jsonl`, `printed.jsonl` and, written last, `outcome.json`.

    python -m lab.atlas.run VERSION EVIDENCE CONFDIR    # with no network but loopback
"""

import json
import mmap
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from addon.hooks.events import HANDLED
from addon.launch.proxy import Proxy
from addon.storage.packing.keep_open import ALL
from ccwire.demo.real import npm
from ccwire.demo.real.npm import InstalledClient
from ccwire.demo.real.run import MADE_UP_KEY, environment, lab_home, run_command
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from ccwire.wire.versions import parse_version
from lab.atlas.isolation import isolate
from lab.atlas.scenario import TOOLS, everything

HOOKS = (
    *HANDLED,
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "Notification",
)
OUTCOME = "outcome.json"
PAYLOADS = "hooks.jsonl"
PRINTED = "printed.jsonl"
SETTINGS = "settings-of-the-atlas.json"
FIRST_WITH_PROXY = (0, 2, 100)
_SECONDS = 100.0
# Hooks may run in parallel: each payload goes into its own file.
_HOOK = 'cat > "$(mktemp "$HOME/hooks/XXXXXXXXXX")"'
_HOOKS = [{"matcher": "", "hooks": [{"type": "command", "command": _HOOK}]}]


@dataclass(frozen=True, slots=True)
class ReleaseOutcome:
    """The outcome of a release's run; `problem` is the reason if it failed."""

    version: str
    calls: int = 0
    ran: list[str] = field(default_factory=list)
    problem: str | None = None


def run_release(version: str, evidence: Path, confdir: Path) -> ReleaseOutcome:
    """Fetch a release, run it, keep the evidence, and delete the release.

    `confdir` is the proxy's configuration folder, whose certificate is shared by every release.
    """
    kept = (npm.cache() / version).is_dir()
    try:
        npm.fetch(version)
        command = [sys.executable, "-m", "lab.atlas.run", version, str(evidence), str(confdir)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    except npm.NpmUnreachable:
        raise
    except npm.NpmFailed as error:
        _keep(ReleaseOutcome(version, problem=str(error)), evidence, None)
    finally:
        if not kept:
            npm.remove(version)
    outcome = read_outcome(evidence)
    assert outcome is not None
    return outcome


def main() -> None:
    version, evidence, confdir = sys.argv[1:]
    isolated = isolate()
    if not isolated and parse_version(version) < FIRST_WITH_PROXY:
        why = "does not support a proxy, and this system cannot isolate it from the network"
        _keep(ReleaseOutcome(version, problem=why), Path(evidence), None)
        return
    with tempfile.TemporaryDirectory(prefix="ccwire-atlas-") as folder:
        outcome = _run(npm.fetch(version), Path(folder), Path(confdir))
        _keep(outcome, Path(evidence), Path(folder))


def read_outcome(evidence: Path) -> ReleaseOutcome | None:
    """Return the outcome of an earlier run; None if it was not run or not finished."""
    path = evidence / OUTCOME
    return ReleaseOutcome(**json.loads(path.read_text())) if path.is_file() else None


def _run(client: InstalledClient, folder: Path, confdir: Path) -> ReleaseOutcome:
    cwd = folder / "work"
    cwd.mkdir()
    home = _home(folder / "home", cwd, _known_hooks(Path(client.command[-1])))
    with (
        StandIn(named("plain")) as api,
        Proxy(
            folder / "captures",
            log=folder / "proxy.log",
            upstream=api.url,
            sessions=folder / "sessions.json",
            claude_dir=home / ".claude",
            confdir=confdir,
            home=folder,
            keep_open=ALL,
        ) as proxy,
    ):
        return _prompts(client, api, proxy, home, cwd)


def _prompts(
    client: InstalledClient, api: StandIn, proxy: Proxy, home: Path, cwd: Path
) -> ReleaseOutcome:
    env = environment(home, proxy.port, proxy.ca_cert)
    ran: list[str] = []
    problem = None
    try:
        known = run_command([*client.command, "--help"], env, cwd, _SECONDS)[1]
        for scenario, prompt in _plan(cwd):
            if ran and "--continue" not in known:
                break
            api.scenario = scenario
            command = [*client.command, "-p", prompt]
            command += _options(known, home / SETTINGS, go_on=bool(ran))
            code, stdout, _ = run_command(command, env, cwd, _SECONDS)
            if not ran and (code or stdout.startswith("API Error")):
                done = "gave up after a rejected call" if api.ledger.messages() else "made no call"
                problem = f"{done}, and exited with code {code}"
                break
            ran.append(scenario.name)
            _note_printed(home, stdout)
    except TimeoutError:
        outcome = "did not exit" if api.ledger.messages() else "made no call through the proxy"
        problem = f"{outcome} within {_SECONDS:.0f} s"
    api.ledger.wait()
    return ReleaseOutcome(client.version, len(api.ledger.messages()), ran, problem)


def _plan(cwd: Path) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenarios and prompts: everything in one prompt, /compact, and a prompt that is
    too long."""
    first, summing_up, last = everything(cwd), named("compact"), named("too_long")
    yield first, first.prompt
    yield summing_up, "/compact"
    yield last, last.prompt


def _options(known: str, settings: Path, *, go_on: bool) -> list[str]:
    """Return the options that this release's `--help` lists."""
    options = ["--continue"] if go_on else []
    if "--output-format" in known:
        options += ["--output-format", "json"]
    if "--settings" in known:
        options += ["--settings", str(settings)]  # some releases accept only a file
    # Otherwise some releases ask a model about each tool call, which the stand-in cannot answer.
    mode = next((word for word in ("default", "manual") if f'"{word}"' in known), None)
    if "--permission-mode" in known and mode:
        options += ["--permission-mode", mode]
    if "--allowedTools" in known:
        options += ["--allowedTools", ",".join(TOOLS)]
    return options


def _known_hooks(program: Path) -> list[str]:
    """Return the events this release supports; an unknown event would disable every hook."""
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return [event for event in HOOKS if text.find(f'"{event}"'.encode()) >= 0]


def _home(home: Path, cwd: Path, events: list[str]) -> Path:
    """Create the home; the oldest releases read key and allowed tools from their configuration."""
    lab_home(home, cwd)
    (home / "hooks").mkdir()
    path = home / ".claude.json"
    state = json.loads(path.read_text())
    state["projects"][str(cwd)]["allowedTools"] = list(TOOLS)
    state["primaryApiKey"] = MADE_UP_KEY
    path.write_text(json.dumps(state))
    (home / SETTINGS).write_text(json.dumps({"hooks": dict.fromkeys(events, _HOOKS)}))
    return home


def _note_printed(home: Path, stdout: str) -> None:
    """Keep JSON output as one line; the oldest releases print plain text, which is not kept."""
    try:
        value = json.loads(stdout)
    except ValueError:
        return
    with (home / PRINTED).open("a") as file:
        file.write(json.dumps(value) + "\n")


def _keep(outcome: ReleaseOutcome, evidence: Path, folder: Path | None) -> ReleaseOutcome:
    if evidence.exists():
        shutil.rmtree(evidence)
    evidence.mkdir(parents=True)
    if folder is not None:
        home = folder / "home"
        for source, name in (
            (folder / "captures", "captures"),
            (home / ".claude", "claude"),
            (home / PRINTED, PRINTED),
        ):
            if source.exists():
                shutil.move(source, evidence / name)
        payloads = [path.read_text() for path in sorted((home / "hooks").iterdir())]
        (evidence / PAYLOADS).write_text("".join(f"{text.strip()}\n" for text in payloads))
    (evidence / OUTCOME).write_text(json.dumps(asdict(outcome)))
    return outcome


if __name__ == "__main__":
    main()
