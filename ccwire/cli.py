"""The `ccwire` command: imports a subcommand's module and runs it."""

import importlib
import sys
from typing import Any

import click

from ccwire.options import UserError
from ccwire.output.terminal import log_safely, safe
from ccwire.wire.json_text import DEEPEST_PARSED
from ccwire.wire.pack.files import PackDamaged

_FRAMES_PER_LEVEL = 16  # that walking one level of JSON takes; captured JSON may be that deep

# name -> one line for `ccwire --help`; the module is ccwire/commands/<name>.py
COMMANDS = {
    "demo": "Capture a session on loopback; no account needed.",
    "run": "Run the client and capture what it sends.",
    "proxy": "Start mitmproxy with the add-on, for clients that you start yourself.",
    "sessions": "List sessions, captured or not.",
    "reconcile": "Account for every token: wire, transcript and cost record, call by call.",
    "spend": "Sum tokens and dollars by day, project, model and more.",
    "show": "Show a conversation, its final answer, or an exchange.",
    "search": "Find texts in captures and transcripts, each where it first appeared.",
    "diff": "Compare a request with the previous one, and an answer with the transcript.",
    "report": "Write a session as one HTML page.",
    "watch": "Show calls as they happen, in the terminal.",
    "schema": "Detect changes in Claude Code's formats.",
    "hooks": "Install hooks that record which process belongs to which session.",
    "scrub": "Copy a session for sharing, with every text replaced.",
    "pack": "Pack a session's exchange files, or unpack them.",
    "prune": "Delete old captures.",
    "doctor": "Check that this machine is ready to capture.",
}


class LazyGroup(click.Group):
    """A command group that imports a command's module only when it is used."""

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
        """Report a missing file or a full disk in one sentence, in every command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except click.ClickException as error:
            raise _safe(error) from error.__cause__
        except PackDamaged as damage:
            raise UserError(safe(f"{damage}; repair or remove the pack first.")) from damage
        except OSError as error:
            what = f"{error.filename}: " if error.filename else "reading or writing failed: "
            raise UserError(safe(f"{what}{error.strerror or error}.")) from error

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.ClickException as error:
            raise _safe(error) from error.__cause__

    def main(self, *args: Any, **extra: Any) -> Any:
        log_safely()
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES_PER_LEVEL * DEEPEST_PARSED))
        return super().main(*args, **extra)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _safe(error: click.ClickException) -> click.ClickException:
    """Return the error with a message that may be printed: click quotes what the user typed."""
    message = safe(error.format_message())
    error.format_message = lambda: message  # type: ignore[method-assign]
    return error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ccwire")
def main() -> None:
    """Capture what Claude Code really sends, and account for every token."""
