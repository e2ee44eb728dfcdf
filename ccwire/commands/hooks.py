"""`ccwire hooks`: install, remove and inspect the hooks in Claude Code's settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from addon.claude_settings.client_version import version_on_path
from addon.claude_settings.files import (
    SCOPES,
    ScopeStatus,
    SettingsError,
    disabled_by,
    ignored,
    scope_statuses,
    settings_path,
    shown_path,
)
from addon.claude_settings.hooks_text import CommentsAtStake, find_hooks, hook_command
from addon.claude_settings.install import SettingsChange, make_change, plan_install, plan_uninstall
from addon.claude_settings.refused import flaw_of
from addon.hooks.events import INSTALLED
from ccwire.command_name import command_line
from ccwire.options import UserError, claude_dir_option, json_option
from ccwire.output.tables import Column, print_table
from ccwire.output.terminal import console, echo, print_json
from ccwire.wire.versions import Version

_SCOPE = click.Choice(SCOPES)
_scope_option = click.option(
    "--scope",
    type=_SCOPE,
    default="user",
    show_default=True,
    help="Which settings file: your own, the project's, or your own for this project.",
)
_print_option = click.option(
    "--print", "only_print", is_flag=True, help="Print the settings instead of writing them."
)
_force_option = click.option(
    "--force", is_flag=True, help="Proceed even if comments inside ccwire's hooks would be lost."
)


@click.group("hooks")
def command() -> None:
    """Install hooks that record which process belongs to which session."""


@command.command()
@_scope_option
@claude_dir_option
@_print_option
@_force_option
def install(scope: str, claude_dir: Path, only_print: bool, force: bool) -> None:
    """Add the hooks to the settings; everything else in the file stays as it is."""
    path = settings_path(scope, claude_dir, Path.cwd())
    change = _planned(lambda: plan_install(path, hook_command(), force=force))
    if only_print:
        echo(change.after or "", nl=False, redact=False)
        return
    text = change.after or "{}"
    version = version_on_path()
    flaw = flaw_of(text, version)
    if change.before == change.after:
        echo(f"The hooks are already installed in {path}; nothing changed.")
    else:
        _make(change)
        effect = "" if flaw else "; every new session will be recorded"
        echo(f"Installed the hooks in {path}{effect}.")
        if scope == "project":
            echo(
                "The command in this file is a path on this machine; "
                "use `--scope local` if you share the file."
            )
    if flaw:
        echo(f"They will not run: {ignored(flaw, version)}.")
    elif find_hooks(text).disabled:
        echo('"disableAllHooks" is set in this file: the hooks will not run.')


@command.command()
@_scope_option
@claude_dir_option
@_print_option
@_force_option
def uninstall(scope: str, claude_dir: Path, only_print: bool, force: bool) -> None:
    """Remove the hooks from the settings; everything else in the file stays as it is."""
    path = settings_path(scope, claude_dir, Path.cwd())
    change = _planned(lambda: plan_uninstall(path, force=force))
    if only_print:
        echo(change.after or "", nl=False, redact=False)
    elif change.before == change.after:
        echo(f"{path} contains no hooks of ccwire; nothing changed.")
    else:
        _make(change)
        gone = change.after is None
        echo(
            f"Removed {path}, which contained nothing else."
            if gone
            else f"Removed the hooks from {path}."
        )


@command.command()
@click.option("--scope", type=_SCOPE, help="Only this scope.")
@claude_dir_option
@json_option
@click.pass_context
def status(ctx: click.Context, scope: str | None, claude_dir: Path, as_json: bool) -> None:
    """Show where the hooks are installed. Exit code 1 if they are broken or disabled."""
    version = version_on_path()
    every = scope_statuses(claude_dir, Path.cwd(), version)
    shown = [found for found in every if scope in (None, found.scope)]
    setting = disabled_by(every)
    if as_json:
        report = {"scopes": [_to_json(found, version) for found in shown], "disabled_by": setting}
        print_json(report)
    else:
        _print_status(shown, setting, version)
    installed = any(found.hooks.commands for found in shown)
    broken = any(found.drift or found.error or _is_ignored(found) for found in shown)
    ctx.exit(1 if broken or (installed and setting) else 0)


def _print_status(shown: list[ScopeStatus], setting: str | None, version: Version | None) -> None:
    to = console()
    columns = [Column("scope"), Column("hooks"), Column("settings", grows=True)]
    rows = [[found.scope, _in_words(found), shown_path(found.path, Path.cwd())] for found in shown]
    print_table(to, columns, rows)
    for found in shown:
        if found.hooks.commands:
            echo(f"{found.scope}: {', '.join(found.hooks.commands)}")
        for command in _commands(found):
            echo(f"  {command}")
        if found.error:
            echo(f"{found.error}.")
        if found.drift:
            echo(f"{found.scope}: {'; '.join(found.drift)}.")
            repair = command_line(f"hooks install --scope {found.scope}")
            echo(f"  Run `{repair}` to repair it.")
        if found.flaw and _is_ignored(found):
            echo(f"{found.scope}: {ignored(found.flaw, version)}.")
    if setting:
        echo(f"The client runs no hooks here: {setting}.")


def _commands(found: ScopeStatus) -> list[str]:
    return sorted({c for commands in found.hooks.commands.values() for c in commands})


def _in_words(found: ScopeStatus) -> str:
    if found.error:
        return "unreadable"
    if not found.hooks.commands:
        return "not installed" if found.exists else "no such file"
    events = len(set(INSTALLED) & found.hooks.commands.keys())
    state = "ignored" if found.flaw else "drifted" if found.drift else "installed"
    return f"{state}, {events} of {len(INSTALLED)} events"


def _is_ignored(found: ScopeStatus) -> bool:
    return bool(found.flaw and found.hooks.commands)


def _to_json(found: ScopeStatus, version: Version | None) -> dict[str, Any]:
    return {
        "scope": found.scope,
        "path": str(found.path),
        "exists": found.exists,
        "events": list(found.hooks.commands),
        "commands": _commands(found),
        "drift": list(found.drift),
        "disable_all_hooks": found.hooks.disabled,
        "error": found.error,
        "ignored": found.flaw.in_words(version) if found.flaw else None,
    }


def _planned(plan: Callable[[], SettingsChange]) -> SettingsChange:
    try:
        return plan()
    except SettingsError as error:
        raise UserError(f"{error}; nothing was written.") from error
    except CommentsAtStake as error:
        raise UserError(f"{error}, which would be lost; move them, or add --force.") from error


def _make(change: SettingsChange) -> None:
    try:
        backup = make_change(change)
    except SettingsError as error:
        raise UserError(f"{error}; nothing was written.") from error
    if backup:
        echo(f"The previous version is saved as {backup.name}.")
