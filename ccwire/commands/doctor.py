"""`ccwire doctor`: check that this machine is ready to capture."""

import os
from pathlib import Path

import click
from rich.text import Text

from addon.claude_settings.client_version import version_on_path
from addon.claude_settings.files import scope_checks
from addon.hooks.sessions import default_sessions_path
from addon.launch.client_settings import read_settings_env
from addon.launch.overrides import users_environment
from addon.launch.proxy import default_confdir
from addon.launch.road import find_road
from addon.storage.home import find_home
from ccwire import checks
from ccwire.options import claude_dir_option, json_option, target_captures_option
from ccwire.output.tables import numbered, size
from ccwire.output.terminal import console, print_json
from correlate.captures.size import captures_size
from correlate.schema.baseline import shipped_versions


@click.command("doctor")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8080,
    show_default=True,
    help="The port for mitmdump.",
)
@target_captures_option
@claude_dir_option
@json_option
@click.pass_context
def command(ctx: click.Context, port: int, captures: Path, claude_dir: Path, as_json: bool) -> None:
    """Check that this machine is ready to capture. Exit code 1 if a check fails."""
    settings = read_settings_env(claude_dir, Path.cwd())
    road = find_road(os.environ, settings)
    found = [
        checks.python(),
        checks.mitmproxy(),
        checks.certificate(default_confdir()),
        checks.port(port),
        *(checks.Check(*line) for line in scope_checks(claude_dir, Path.cwd(), version_on_path())),
        checks.sessions_map(default_sessions_path()),
        checks.client(shipped_versions()),
        checks.road(road),
        *checks.company_proxy(users_environment(os.environ, settings)),
        *checks.environment(os.environ, settings, road),
        *checks.home(find_home(os.environ), _held),
        checks.capture_folder(captures, _held(captures)),
        checks.clock(captures),
    ]
    if as_json:
        listed = [check.to_json() for check in found]
        print_json({"checks": listed})
    else:
        to = console()
        for check in found:
            mark = Text("✓ ", "green") if check.ok else Text("✗ ", "red")
            to.print(mark + Text(f"{check.name:<13} {check.found}"), soft_wrap=True)
            if check.todo:
                to.print(Text(f"    → {check.todo}", "yellow"), soft_wrap=True)
    ctx.exit(0 if all(check.ok for check in found) else 1)


def _held(captures: Path) -> str:
    """Return how much is captured."""
    found = captures_size(captures)
    return f"{size(found.bytes)} in {numbered(found.sessions, 'session')}"
