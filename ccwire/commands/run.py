"""`ccwire run`: run the client behind a capturing proxy."""

import os
import secrets
import shutil
import time
from pathlib import Path

import click

from addon.hooks.sessions import default_sessions_path
from addon.identity.processes import can_find_processes
from addon.launch.child import child_environment
from addon.launch.client import exit_on_signals, run_behind
from addon.launch.overlay import OverlayError, with_overlay
from addon.launch.overrides import overriding, repeated
from addon.launch.plan import Plan, PlanError, plan_run
from addon.launch.proxy import Proxy, ProxyError
from addon.launch.proxy_log import connections, troubles
from addon.lifetime import scratch
from addon.storage.writable import why_not_writable
from ccwire.commands import report
from ccwire.options import UserError, captures_option, claude_dir_option
from ccwire.output.run_reasons import failures_since, run_reasons, without_repeats
from ccwire.output.run_summary import print_run_summary
from ccwire.output.tables import error_console
from ccwire.output.terminal import echo
from ccwire.wire.format import run_id


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
@click.option(
    "--host",
    "more_hosts",
    metavar="HOST",
    multiple=True,
    help="Capture this host as well; `*` matches any part. Repeatable.",
)
@click.option(
    "--via",
    type=click.Choice(["proxy", "base-url"]),
    default="proxy",
    show_default=True,
    help="Give the command a proxy, or also a base URL if it obeys no proxy.",
)
@click.option("--open", "open_report", is_flag=True, help="Open the report afterwards.")
@click.option("--quiet", is_flag=True, help="Print only what failed, and no summary.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def command(
    ctx: click.Context,
    captures: Path,
    claude_dir: Path,
    upstream: str | None,
    more_hosts: tuple[str, ...],
    via: str,
    open_report: bool,
    quiet: bool,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND (`claude …`, or anything that starts it) and capture what it sends.

    The exit code is the command's own.
    """
    program = _program(command[0])
    try:
        plan = plan_run(
            os.environ,
            claude_dir,
            Path.cwd(),
            command,
            upstream=upstream,
            more_hosts=more_hosts,
            with_base_url=via == "base-url",
        )
    except PlanError as error:
        raise UserError(str(error)) from None
    captures = captures.absolute()
    if why := why_not_writable(captures):
        raise UserError(f"{captures} is not writable ({why}); give --captures DIR.")
    for line in () if quiet else plan.lines():
        echo(f"ccwire: {line}", err=True)
    started = time.time()
    password = _password(via)
    run = run_id(started, secrets.token_hex(2))
    scratch.remove_stale()
    with exit_on_signals():
        proxy = Proxy(
            captures,
            folder=scratch.new_folder(),
            upstream=upstream,
            hosts=plan.hosts,
            sessions=default_sessions_path(),
            claude_dir=claude_dir,
            run=run,
            chain=True,
            environment=plan.environment,
            reverse=plan.detour.server if plan.detour else None,
            clients=os.getpid(),
            password=password,
        )
        try:
            with proxy:
                child = _environment(plan, proxy, [program, *command[1:]], run, password)
                code = _run(plan, proxy, [program, *command[1:]], child, claude_dir)
            log = proxy.log_text()
        except OverlayError as error:
            raise UserError(str(error)) from error
        except ProxyError as error:
            raise UserError(f"the proxy did not start: {error}") from error
        except OSError as error:
            raise UserError(f"{command[0]} could not be started: {error.strerror}.") from error
    if quiet:
        reasons = failures_since(captures, started)
    else:
        had_base_url = plan.detour is not None
        reasons = run_reasons(captures, started, connections(log), had_base_url=had_base_url)
    for sentence in without_repeats(troubles(log), reasons):
        echo(f"ccwire: {sentence}", err=True)
    if not quiet:
        print_run_summary(error_console(), captures, claude_dir, started)
    if open_report:
        _open_report(ctx, captures, claude_dir)
    ctx.exit(code)


def _password(via: str) -> str | None:
    """Return a password for the proxy if it could not know which process a connection is of."""
    if can_find_processes():
        return None
    if via == "base-url":
        raise UserError(
            "--via base-url: this system does not show which process a connection belongs to,"
            " so that every local process could use the port; use --via proxy."
        )
    return secrets.token_urlsafe(24)


def _environment(
    plan: Plan, proxy: Proxy, command: list[str], run: str, password: str | None
) -> dict[str, str]:
    assert proxy.folder is not None
    return child_environment(
        plan.environment,
        command,
        port=proxy.port,
        ca_cert=proxy.ca_cert,
        hosts=plan.hosts,
        scratch=proxy.folder,
        base_urls=plan.detour.variables(proxy.reverse_port) if plan.detour else {},
        run=run,
        password=password,
    )


def _run(
    plan: Plan, proxy: Proxy, command: list[str], environment: dict[str, str], claude_dir: Path
) -> int:
    """Run the command behind the proxy and return its exit code."""
    assert proxy.folder is not None
    named = [plan.detour.variable] if plan.detour else []
    ours = repeated(environment, plan.settings, named)
    arguments = with_overlay(command, claude_dir, Path.cwd(), proxy.folder, ours)
    for sentence in overriding(
        environment, plan.settings, plan.road.hosts, arguments != command, named
    ):
        echo(f"ccwire: {sentence}", err=True)
    return run_behind(proxy, arguments, environment)


def _open_report(ctx: click.Context, captures: Path, claude_dir: Path) -> None:
    """Open the report; an error is printed, and the exit code stays that of the client."""
    try:
        ctx.invoke(
            report.command, session="latest", open_it=True, captures=captures, claude_dir=claude_dir
        )
    except click.ClickException as error:
        error.show()


def _program(name: str) -> str:
    program = shutil.which(name)
    if program is not None:
        return program
    if name.startswith("-"):
        raise UserError(f"no such option {name}; put the command after `--` if that is its name.")
    if Path(name).is_dir():
        raise UserError(f"{name} is a folder; give the program in it.")
    if os.sep in name and Path(name).exists():
        raise UserError(f"{name} is not executable; make it so with `chmod +x {name}`.")
    raise UserError(f"command {name!r} not found; is it installed and on your PATH?")
