"""Options that several commands share, and the one error that ends a command with exit code 2."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from addon.storage.home import CAPTURES, find_home
from addon.storage.packing.keep_open import KEEP_OPEN, parse_keep_open
from ccwire.capture_folders import CaptureFolders, chosen_folder, find_capture_folders
from ccwire.wire.format import claude_dir


class UserError(click.ClickException):
    """An error that the user can fix: one sentence on stderr, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the message, which the command group has made safe to print."""
        click.echo(f"ccwire: {self.format_message()}", file=file, err=file is None)


def target_captures(given: Path | None) -> Path:
    """Return where to capture: `--captures DIR`, else `CCWIRE_CAPTURES`, else in the home."""
    if (chosen := chosen_folder(given, os.environ)) is not None:
        return chosen
    if (home := find_home(os.environ)) is not None:
        return home / CAPTURES
    raise UserError("you have no home directory to capture into; give --captures DIR.")


def _folder(convert: Any) -> Any:
    return lambda ctx, param, value: convert(Path(value) if value is not None else None)


def _named_folders(given: Path | None) -> CaptureFolders:
    if given is not None and not given.is_dir():
        raise UserError(f"{given} is not a folder; give another --captures DIR.")
    return find_capture_folders(given, os.environ)


def _captures_option[F: Callable[..., Any]](
    find: Callable[[Path | None], CaptureFolders],
) -> Callable[[F], F]:
    return click.option(
        "--captures",
        "captures",
        metavar="DIR",
        callback=_folder(find),
        help="The capture folder (default: $CCWIRE_CAPTURES, else all known folders).",
    )


captures_option = _captures_option(_named_folders)
future_captures_option = _captures_option(lambda given: find_capture_folders(given, os.environ))
target_captures_option = click.option(
    "--captures",
    "captures",
    metavar="DIR",
    callback=_folder(target_captures),
    help="The folder to capture into (default: $CCWIRE_CAPTURES, else ~/.ccwire/captures).",
)
claude_dir_option = click.option(
    "--claude-dir",
    "claude_dir",
    metavar="DIR",
    callback=_folder(lambda given: claude_dir(given, os.environ)),
    help="Claude Code's folder (default: $CLAUDE_CONFIG_DIR, else ~/.claude).",
)
RAW = "ccwire.raw"  # in the context of a command that was given --raw


def _note_raw(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[RAW] = value


raw_option = click.option(
    "--raw", is_flag=True, expose_value=False, callback=_note_raw, help="Show text unredacted."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def _keep_open(ctx: click.Context, param: click.Parameter, value: str) -> str:
    try:
        parse_keep_open(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None
    return value


keep_open_option = click.option(
    "--keep-open",
    "keep_open",
    metavar="N|all",
    default=KEEP_OPEN,
    show_default=True,
    callback=_keep_open,
    help="Exchanges of a running session that stay plain files; the rest is packed.",
)
