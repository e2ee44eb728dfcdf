"""`ccwire run`: run the client behind a capturing proxy."""

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import click

from addon.hooks.sessions import default_sessions_path
from addon.launch.base_url import Detour, find_detour
from addon.launch.child import child_environment
from addon.launch.client import run_behind
from addon.launch.client_settings import read_settings_env
from addon.launch.company_proxy import CompanyProxy, UnusableProxy, company_proxy
from addon.launch.overlay import OverlayError, with_overlay
from addon.launch.overrides import overriding, repeated, users_environment
from addon.launch.proxy import Proxy, ProxyError
from addon.launch.proxy_log import connections, troubles
from addon.launch.road import Road, describe_road, find_road
from addon.storage.writable import why_not_writable
from ccwire.commands import report
from ccwire.options import UserError, captures_option, claude_dir_option
from ccwire.output.run_reasons import run_reasons, without_repeats
from ccwire.output.run_summary import print_run_summary
from ccwire.output.tables import error_console
from ccwire.wire.format import run_id
from ccwire.wire.hosts import DEFAULT_HOSTS, parse_base_url


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
@click.option("--quiet", is_flag=True, help="Print nothing before and no summary afterwards.")
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
    _check_upstream(upstream)
    _check_hosts(more_hosts)
    captures = captures.absolute()
    if why := why_not_writable(captures):
        raise UserError(f"{captures} is not writable ({why}); give --captures DIR.")
    settings = read_settings_env(claude_dir, Path.cwd(), command[1:])
    road = find_road(os.environ, settings)
    hosts = tuple(dict.fromkeys((*DEFAULT_HOSTS, *road.hosts, *more_hosts)))
    users = users_environment(os.environ, settings)
    company = _company_proxy(users) if upstream is None else None
    detour = _detour(road) if via == "base-url" else None
    if not quiet:
        click.echo(f"ccwire: {describe_road(road, more_hosts)}", err=True)
        if company is not None:
            click.echo(f"ccwire: connecting through the proxy {company.names}", err=True)
        if detour is not None:
            click.echo(
                f"ccwire: {detour.variable} is on loopback; that changes Claude Code", err=True
            )
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="ccwire-run-") as folder:
        scratch = Path(folder)
        proxy = Proxy(
            captures,
            log=scratch / "proxy.log",
            upstream=upstream,
            hosts=hosts,
            sessions=default_sessions_path(),
            claude_dir=claude_dir,
            run=run_id(started, secrets.token_hex(2)),
            chain=True,
            environment=users,
            reverse=detour.server if detour else None,
        )
        try:
            with proxy:
                environment = child_environment(
                    users,
                    command,
                    port=proxy.port,
                    ca_cert=proxy.ca_cert,
                    hosts=hosts,
                    scratch=scratch,
                    base_urls=detour.variables(proxy.reverse_port) if detour else {},
                )
                named = [detour.variable] if detour else []
                given = [program, *command[1:]]
                arguments = with_overlay(
                    given, claude_dir, Path.cwd(), scratch, repeated(environment, settings, named)
                )
                for sentence in overriding(environment, settings, arguments != given, named):
                    click.echo(f"ccwire: {sentence}", err=True)
                code = run_behind(proxy, arguments, environment)
            log = proxy.log.read_text(errors="replace")
        except OverlayError as error:
            raise UserError(str(error)) from error
        except ProxyError as error:
            raise UserError(f"the proxy did not start: {error}") from error
        except OSError as error:
            raise UserError(f"{command[0]} could not be started: {error.strerror}.") from error
    reasons = [] if quiet else run_reasons(captures, started, connections(log))
    for sentence in without_repeats(troubles(log), reasons):
        click.echo(f"ccwire: {sentence}", err=True)
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


def _company_proxy(environment: Mapping[str, str]) -> CompanyProxy | None:
    try:
        return company_proxy(environment)
    except UnusableProxy as error:
        raise UserError(f"{error}.") from None


def _program(name: str) -> str:
    program = shutil.which(name)
    if program is not None:
        return program
    if Path(name).is_dir():
        raise UserError(f"{name} is a folder; give the program in it.")
    if os.sep in name and Path(name).exists():
        raise UserError(f"{name} is not executable; make it so with `chmod +x {name}`.")
    raise UserError(f"command {name!r} not found; is it installed and on your PATH?")


def _check_upstream(upstream: str | None) -> None:
    if upstream is None:
        return
    try:
        parse_base_url(upstream)
    except ValueError as error:
        raise UserError(f"--upstream: {error}.") from None


def _detour(road: Road) -> Detour:
    try:
        return find_detour(road)
    except ValueError as error:
        raise UserError(f"--via base-url: {error}.") from None


def _check_hosts(hosts: tuple[str, ...]) -> None:
    for host in hosts:
        if not host or any(mark in host for mark in "/, @"):
            raise UserError(f"--host {host!r}: expected a host such as gateway.example.")
