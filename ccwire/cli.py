"""The `ccwire` command: finds the subcommand's module and runs it, nothing else."""

import importlib
from typing import Any

import click

from ccwire.options import UserError

# name -> one line for `ccwire --help`; the module is ccwire/commands/<name>.py
COMMANDS = {
    "demo": "See it work: a loopback capture, no account needed.",
    "run": "Run the client and capture what it sends.",
    "sessions": "List captured and running sessions.",
    "reconcile": "Account for every token: wire, transcript and cost record, call by call.",
    "diff": "Compare content: a request with the one before, an answer with the transcript.",
    "report": "Show a session as one HTML page.",
    "watch": "See calls as they happen, in the terminal.",
    "schema": "See a change of the client's formats the day it ships.",
    "hooks": "Let the client tell which process is which session.",
    "scrub": "Make a copy to share, every text replaced by filler.",
    "pack": "Pack a session's files into one that holds what repeats once, and back.",
    "doctor": "Check that everything is in place for a capture.",
}


class LazyGroup(click.Group):
    """Imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"ccwire.commands.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """A folder that is not there, a disk that is full: one sentence, whichever command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            what = f"{error.filename}: " if error.filename else "reading or writing failed: "
            raise UserError(f"{what}{error.strerror or error}.") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ccwire")
def main() -> None:
    """Capture what Claude Code really sends, and account for every token."""
