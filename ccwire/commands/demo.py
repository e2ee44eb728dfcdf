"""`ccwire demo`: capture and reconcile a session on loopback, without an account."""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from addon.claude_settings.hooks_text import hook_command, hook_settings
from addon.hooks.events import events_for
from addon.launch.environment import proxied_environment
from addon.launch.proxy import Proxy, ProxyError
from addon.storage.packing.keep_open import ALL
from ccwire.command_name import command_line
from ccwire.demo.client.profiles import PROFILES, profile
from ccwire.demo.real.npm import NpmFailed, fetch, newest_version
from ccwire.demo.real.run import lab_home, run_once
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from ccwire.import_path import python_command
from ccwire.options import UserError
from ccwire.output.reconcile import print_session
from ccwire.output.terminal import console
from ccwire.wire.versions import parse_version
from correlate.captures.folder import session_folders
from correlate.reconcile.session import SessionReconciler
from correlate.reconcile.totals import totals_of
from correlate.transcript.locate import ClaudeDir

SIMULATED = "2.1.39"  # a release whose transcripts hold placeholders
_CLIENT = "from ccwire.demo.client.cli import main; main()"
_CLIENT_SECONDS = 90
_SHOWN_FILES = 12


@click.command("demo")
@click.option(
    "--real",
    is_flag=False,
    flag_value="newest",
    metavar="[VERSION]",
    help="Run the real client, fetched from npm, instead of a simulated one.",
)
@click.option(
    "--as", "version", default=SIMULATED, show_default=True, help="The release to simulate."
)
def command(real: str | None, version: str) -> None:
    """Capture and reconcile a session on loopback. Needs no account and no configuration."""
    try:
        profile(version)
    except ValueError as error:
        raise UserError(f"--as {version}: expected a release such as {SIMULATED}.") from error
    newest = max(PROFILES, key=parse_version)
    if parse_version(version) > parse_version(newest):
        raise UserError(f"--as {version}: the newest release that can be simulated is {newest}.")
    started = time.monotonic()
    to = console()
    folder = Path(tempfile.mkdtemp(prefix="ccwire-demo-"))
    captures, cwd = folder / "captures", folder / "project"
    cwd.mkdir()
    home = lab_home(folder / "home", cwd)
    scenario = named("mix")
    with StandIn(scenario) as api:
        proxy = Proxy(
            captures,
            log=folder / "proxy.log",
            upstream=api.url,
            sessions=folder / "sessions.json",
            claude_dir=home / ".claude",
            confdir=folder / "mitmproxy",
            keep_open=ALL,
            home=folder,  # the sessions are made up, and not among the user's
        )
        to.print(f"A stand-in for the API listens on {api.url}, behind a capturing proxy.")
        try:
            with proxy:
                if real is not None:
                    _run_real(to, real, scenario, proxy, folder, home, cwd)
                else:
                    _run_simulated(to, version, scenario, proxy, folder, home, cwd)
        except ProxyError as error:
            raise UserError(f"the proxy did not start: {error}") from error
        served = len(api.ledger.messages()) + len(api.ledger.count_tokens())
    _show(to, captures, home / ".claude", served)
    to.print(f"\nThis took {time.monotonic() - started:.0f} s; the traffic stayed on loopback.")


def _run_simulated(
    to: Console,
    version: str,
    scenario: Scenario,
    proxy: Proxy,
    folder: Path,
    home: Path,
    cwd: Path,
) -> None:
    to.print(f"A simulated client behaves like Claude Code {version}:")
    settings = hook_settings(
        hook_command(folder / "sessions.json"), events_for(parse_version(version))
    )
    clean = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    clean["ANTHROPIC_API_KEY"] = "sk-ant-api03-made-up-for-the-demo"
    arguments = python_command(_CLIENT, "--as", version, "-p", scenario.prompt)
    ran = subprocess.run(
        [*arguments, "--settings", json.dumps(settings)],
        env=proxied_environment(clean, proxy.port, {"NODE_EXTRA_CA_CERTS": str(proxy.ca_cert)}),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_CLIENT_SECONDS,
        check=False,
    )
    if ran.returncode:
        last = (ran.stderr or ran.stdout).strip().splitlines()[-1:]
        raise UserError(f"the simulated client failed: {' '.join(last)}")
    _quote(to, scenario.prompt, ran.stdout)


def _run_real(
    to: Console,
    version: str,
    scenario: Scenario,
    proxy: Proxy,
    folder: Path,
    home: Path,
    cwd: Path,
) -> None:
    try:
        client = fetch(newest_version() if version == "newest" else version)
    except NpmFailed as error:
        raise UserError(f"the real client could not be fetched: {error}") from error
    to.print(f"The real Claude Code {client.version}, with a made-up key and a temporary home:")
    events = events_for(parse_version(client.version))
    command = hook_command(folder / "sessions.json")
    try:
        ran = run_once(
            client,
            scenario.prompt,
            home=home,
            cwd=cwd,
            proxy_port=proxy.port,
            ca_cert=proxy.ca_cert,
            settings=hook_settings(command, events) if events else None,
            tools=scenario.tools,
            output_format=None,
        )
    except (TimeoutError, ValueError) as error:
        raise UserError(str(error)) from error
    _quote(to, scenario.prompt, ran.stdout)


def _quote(to: Console, prompt: str, answer: str) -> None:
    to.print(f"  > {prompt}")
    for line in answer.strip().splitlines():
        to.print(f"  {line}")


def _show(to: Console, captures: Path, claude_dir: Path, served: int) -> None:
    folders = session_folders(captures)
    if not folders:
        raise UserError(f"nothing was captured; see {captures.parent / 'proxy.log'}.")
    (folder, *_) = folders
    files = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    to.print(Text(f"\n{captures}/{folder.name}", "bold"), soft_wrap=True)
    for name in files[:_SHOWN_FILES]:
        to.print(f"  {name}")
    if len(files) > _SHOWN_FILES:
        to.print(f"  … and {len(files) - _SHOWN_FILES} more")
    to.print()
    session = SessionReconciler(captures, ClaudeDir(claude_dir)).reconcile(folder)
    print_session(to, session, totals_of(session), False)
    to.print(f"The stand-in served {served} calls; the capture has {len(session.calls)}.")
    places = f"--captures {captures} --claude-dir {claude_dir}"
    to.print(Text("\nNext", "bold"), soft_wrap=True)
    for line in (
        f"jq .body.data.model {folder}/*_req_v1_messages.json",
        command_line(f"show latest {places}"),
        command_line(f"reconcile latest -v {places}"),
        command_line(f"report latest --open {places}"),
        command_line("run claude        # your own session, captured"),
    ):
        to.print(f"  {line}", soft_wrap=True)
