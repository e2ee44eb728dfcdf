"""`ccwire run`: run the client behind a capturing proxy."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from addon.hooks.sessions import default_sessions_path
from addon.identity.processes import can_find_processes
from addon.launch.arguments import client_in, may_use_service
from addon.launch.background import (
    LIMIT_HOURS,
    LINGER_SECONDS,
    Background,
    Patience,
    background_of,
    foreign_service,
    wait_for_background,
)
from addon.launch.child import child_environment
from addon.launch.client import NotStarted, run_behind
from addon.launch.overlay import OverlayError, with_overlay
from addon.launch.overrides import overriding, repeated
from addon.launch.plan import Plan, PlanError, plan_run
from addon.launch.proxy import Proxy, ProxyError
from addon.launch.proxy_log import connections, troubles
from addon.launch.run_signals import CutShort, RunSignals
from addon.lifetime import scratch
from addon.storage.writable import why_not_writable
from ccwire.capture_folders import CaptureFolders
from ccwire.commands import report
from ccwire.options import (
    UserError,
    claude_dir_option,
    keep_open_option,
    target_captures_option,
)
from ccwire.output.run_reasons import failures_since, run_reasons, without_repeats
from ccwire.output.run_summary import print_run_summary
from ccwire.output.tables import error_console
from ccwire.output.terminal import echo
from ccwire.sessions.argument import LATEST
from ccwire.wire.format import run_id


@click.command(
    "run",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@target_captures_option
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
@click.option(
    "--linger",
    metavar="SECONDS",
    type=click.IntRange(min=0),
    default=LINGER_SECONDS,
    show_default=True,
    help="Keep capturing an idle background session for this long.",
)
@keep_open_option
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
    linger: int,
    keep_open: str,
    open_report: bool,
    quiet: bool,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND (`claude …`, or anything that starts it) and capture what it sends.

    A client that continues in the background is captured until it has finished. The exit code is
    the command's own.
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
    with RunSignals() as signals:
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
            keep_open=keep_open,
        )
        code = 0

        def wait() -> None:
            _wait_for_background(claude_dir, run, linger, signals, quiet=quiet)

        try:
            with _started(proxy):
                words = [program, *command[1:]]
                child = _environment(plan, proxy, words, run, password)
                words = _with_hooks(plan, proxy, words, child, claude_dir)
                code = run_behind(proxy, words, child, signals, wait)
            _print_end(
                captures,
                claude_dir,
                started,
                proxy.log_text(),
                had_base_url=plan.detour is not None,
                service=_service(command, claude_dir, run, started),
                quiet=quiet,
            )
        except CutShort:
            echo(f"ccwire: stopped without a summary; the captures are in {captures}", err=True)
            ctx.exit(code)
    if open_report:
        _open_report(ctx, captures, claude_dir)
    ctx.exit(code)


@contextmanager
def _started(proxy: Proxy) -> Iterator[None]:
    """The proxy runs in this block; report in one sentence why the command was not run."""
    try:
        with proxy:
            yield
    except (OverlayError, NotStarted) as error:
        raise UserError(str(error)) from error
    except ProxyError as error:
        raise UserError(f"the proxy did not start: {error}") from error


def _service(command: tuple[str, ...], claude_dir: Path, run: str, started: float) -> int | None:
    """Return a background service that may have made the command's calls."""
    words = client_in(command)
    if words is None or not may_use_service(command[words:]):
        return None
    return foreign_service(claude_dir, run, started)


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


def _with_hooks(
    plan: Plan, proxy: Proxy, command: list[str], environment: dict[str, str], claude_dir: Path
) -> list[str]:
    """Return the command with our hooks, and print what the user's settings override."""
    assert proxy.folder is not None
    named = [plan.detour.variable] if plan.detour else []
    ours = repeated(environment, plan.settings, named)
    arguments = with_overlay(command, claude_dir, Path.cwd(), proxy.folder, ours)
    for sentence in overriding(
        environment, plan.settings, plan.road.hosts, arguments != command, named
    ):
        echo(f"ccwire: {sentence}", err=True)
    return arguments


def _wait_for_background(
    claude_dir: Path, run: str, linger: int, signals: RunSignals, *, quiet: bool
) -> None:
    """Keep the proxy for clients in the background, and print what becomes of them."""

    def say(found: Background) -> None:
        if quiet:
            return
        or_idle = f" or been idle for {linger} s" if found.sessions else ""
        echo(
            f"ccwire: Claude Code continues in the background ({found.names}); capturing until it"
            f" has ended{or_idle}, at most {LIMIT_HOURS} hours. Ctrl-C stops capturing.",
            err=True,
        )

    left = wait_for_background(
        lambda: background_of(claude_dir, run),
        lambda: signals.stops_waiting,
        say,
        Patience(idle=linger),
        now=time.monotonic,
        sleep=time.sleep,
    )
    if left.clients:
        commands = " and ".join(f"`claude stop {session}`" for session in left.sessions)
        stop = f": {commands} before you continue it" if commands else ""
        echo(
            f"ccwire: {left.names} still runs, and its calls fail from now on, because they go to"
            f" the proxy of this run, which ends{stop}",
            err=True,
        )


def _print_end(
    captures: Path,
    claude_dir: Path,
    started: float,
    log: str,
    *,
    had_base_url: bool,
    service: int | None,
    quiet: bool,
) -> None:
    """Print what failed and, unless `quiet`, the summary."""
    if quiet:
        reasons = failures_since(captures, started)
    else:
        reasons = run_reasons(
            captures, started, connections(log), had_base_url=had_base_url, service=service
        )
    for sentence in without_repeats(troubles(log), reasons):
        echo(f"ccwire: {sentence}", err=True)
    if not quiet:
        print_run_summary(error_console(), captures, claude_dir, started)


def _open_report(ctx: click.Context, captures: Path, claude_dir: Path) -> None:
    """Open the report; an error is printed, and the exit code stays that of the client."""
    try:
        ctx.invoke(
            report.command,
            session=LATEST,
            open_it=True,
            captures=CaptureFolders.of(captures),
            claude_dir=claude_dir,
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
