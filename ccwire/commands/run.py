"""`ccwire run`: run the client behind a capturing proxy."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from addon.claude_settings.files import installed_scopes
from addon.claude_settings.hooks_text import hook_command, hook_settings
from addon.hooks.events import events_for
from addon.hooks.sessions import default_sessions_path
from addon.launch.arguments import client_in, merged_settings, takes_settings, user_settings
from addon.launch.client import run_behind
from addon.launch.environment import proxied_environment
from addon.launch.proxy import Proxy, ProxyError
from addon.storage.writable import why_not_writable
from ccwire.commands import report
from ccwire.options import UserError, captures_option, claude_dir_option
from ccwire.output.run_summary import print_run_summary
from ccwire.output.tables import error_console
from ccwire.wire.hosts import DEFAULT_HOSTS, parse_base_url
from ccwire.wire.json_text import parse_json
from ccwire.wire.versions import Version, announced_version

_VERSION_SECONDS = 20


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@captures_option
@claude_dir_option
@click.option(
    "--upstream",
    metavar="URL",
    help="Send captured calls to this base URL, and refuse every other host.",
)
@click.option("--open", "open_report", is_flag=True, help="Open the report afterwards.")
@click.option("--quiet", is_flag=True, help="Print no summary afterwards.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def command(
    ctx: click.Context,
    captures: Path,
    claude_dir: Path,
    upstream: str | None,
    open_report: bool,
    quiet: bool,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND (`claude …`, or anything that starts it) and capture what it sends.

    The exit code is the command's own.
    """
    program = shutil.which(command[0])
    if program is None:
        raise UserError(f"command {command[0]!r} not found; is it installed and on your PATH?")
    _check_upstream(upstream)
    captures = captures.absolute()
    if why := why_not_writable(captures):
        raise UserError(f"{captures} is not writable ({why}); give --captures DIR.")
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="ccwire-run-") as folder:
        scratch = Path(folder)
        proxy = Proxy(
            captures,
            log=scratch / "proxy.log",
            upstream=upstream,
            sessions=default_sessions_path(),
            claude_dir=claude_dir,
        )
        arguments = _with_hooks([program, *command[1:]], claude_dir, scratch)
        try:
            with proxy:
                ca = _ca_file(proxy.ca_cert, os.environ.get("NODE_EXTRA_CA_CERTS"), scratch)
                environment = proxied_environment(os.environ, proxy.port, str(ca), DEFAULT_HOSTS)
                code = run_behind(proxy, arguments, environment)
            troubles = _troubles(proxy.log)
        except ProxyError as error:
            raise UserError(f"the proxy did not start: {error}") from error
        except OSError as error:
            raise UserError(f"{command[0]} could not be started: {error.strerror}.") from error
    for trouble in troubles:
        click.echo(trouble, err=True)
    if not quiet:
        print_run_summary(error_console(), captures, claude_dir, started)
    if open_report:
        _open_report(ctx, captures, claude_dir)
    ctx.exit(code)


def _open_report(ctx: click.Context, captures: Path, claude_dir: Path) -> None:
    """Open the report; an error is printed, and the exit code stays that of the client."""
    try:
        ctx.invoke(
            report.command, session="latest", open_it=True, captures=captures, claude_dir=claude_dir
        )
    except click.ClickException as error:
        error.show()


def _troubles(log: Path) -> list[str]:
    """Return the add-on's warnings in the proxy's log, without repeats."""
    lines = log.read_text(errors="replace").splitlines()
    messages = ["ccwire: " + line.partition("ccwire: ")[2] for line in lines if "ccwire: " in line]
    return list(
        dict.fromkeys(line for line in messages if not line.startswith("ccwire: capturing "))
    )


def _check_upstream(upstream: str | None) -> None:
    if upstream is None:
        return
    try:
        parse_base_url(upstream)
    except ValueError as error:
        raise UserError(f"--upstream: {error}.") from None


def _with_hooks(command: list[str], claude_dir: Path, scratch: Path) -> list[str]:
    """Add ccwire's hooks for this run, unless they are installed or the client lacks support."""
    words = client_in(command)
    if words is None or installed_scopes(claude_dir, Path.cwd()):
        return command
    start, arguments = command[:words], command[words:]
    version = _version(start)
    if version is None or not takes_settings(version, arguments):
        return command
    given = user_settings(arguments)
    hooks = hook_settings(hook_command(), events_for(version))["hooks"]
    merged = merged_settings(_settings(given.value), hooks)
    overlay = scratch / "settings.json"
    overlay.write_bytes(orjson.dumps(merged))
    overlay.chmod(0o600)
    return [*start, "--settings", str(overlay), *given.arguments]


def _version(start: Sequence[str]) -> Version | None:
    try:
        ran = subprocess.run(
            [*start, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return announced_version(ran.stdout)


def _settings(given: str | None) -> Mapping[str, Any]:
    """Parse the user's `--settings`: a file, or the JSON itself."""
    if given is None:
        return {}
    try:
        text = given if given.lstrip().startswith("{") else Path(given).expanduser().read_text()
        value = parse_json(text)
    except OSError as error:
        raise UserError(f"--settings {given}: {error.strerror}.") from error
    except ValueError as error:
        raise UserError(f"--settings {given[:60]}: not valid JSON ({error}).") from error
    if not isinstance(value, dict):
        raise UserError(f"--settings {given[:60]}: not a JSON object.")
    return value


def _ca_file(own: Path, users: str | None, scratch: Path) -> Path:
    """Return the proxy's certificate, bundled with the user's extra ones if there are any."""
    if not users:
        return own
    try:
        theirs = Path(users).read_bytes()
    except OSError:
        return own  # the client also ignores a file that it cannot read
    bundle = scratch / "ca-bundle.pem"
    bundle.write_bytes(theirs.rstrip() + b"\n" + own.read_bytes())
    return bundle
