"""What tells the user how to go on: commands that work as printed, for the same folders."""

import os
import re
import shlex
from pathlib import Path

from ccwire.capture_folders import CaptureFolders, chosen_folder
from ccwire.command_name import command_line
from ccwire.wire.format import UNKNOWN, is_run_id, short_id
from ccwire.wire.format import claude_dir as default_claude_dir

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-.*")  # its start is hardly ever that of another


def session_command(
    command: str, session_id: str, captures: CaptureFolders, claude_dir: Path, more: str = ""
) -> str:
    """Return `ccwire COMMAND ID MORE` with the folders that the user has given."""
    given = captures.folders[0] if captures.is_given else None
    if given == chosen_folder(None, os.environ):
        given = None  # the environment still has it
    words = f"{command} {_name(session_id)}{f' {more}' if more else ''}"
    return command_line(words + folder_options(given, claude_dir))


def folder_options(captures: Path | None, claude_dir: Path) -> str:
    """Return the options, after a space, for these folders; None are those that are searched."""
    options = "" if captures is None else f" --captures {shlex.quote(str(captures))}"
    if claude_dir != default_claude_dir(None, os.environ):
        options += f" --claude-dir {shlex.quote(str(claude_dir))}"
    return options


def _name(session_id: str) -> str:
    """Return how to name a session in a command: in short, if that is enough."""
    is_enough = is_run_id(session_id) or session_id == UNKNOWN or _UUID.fullmatch(session_id)
    return shlex.quote(short_id(session_id) if is_enough else session_id)
