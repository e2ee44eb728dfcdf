"""`ccwire watch`: show calls as they happen."""

import os
import time
from collections.abc import Callable

import click

from addon.storage.traffic_log import summary
from ccwire.capture_folders import CaptureFolders, find_capture_folders
from ccwire.command_name import command_line
from ccwire.options import UserError, future_captures_option, json_option, raw_option
from ccwire.output.terminal import console, echo, print_json
from ccwire.output.watch.frame import FrameView
from ccwire.output.watch.screen import LiveScreen, ScreenEnded
from correlate.watch.frame import SeenCall, View, call_json, frame
from correlate.watch.tail import CaptureTail

_SECONDS = 0.25  # between two looks
_NEW_FOLDERS_SECONDS = 2.0  # between two looks for new capture folders


@click.command("watch")
@click.option("--once", is_flag=True, help="Print the current state and exit.")
@click.option("--all", "every", is_flag=True, help="Include sessions idle for over an hour.")
@future_captures_option
@json_option
@raw_option
@click.pass_context
def command(
    ctx: click.Context, once: bool, every: bool, captures: CaptureFolders, as_json: bool
) -> None:
    """Show the calls of all sessions live: tokens, cost, cache share, calls in flight, errors.

    Keys: q quits, f selects a session, e shows only errors, p pauses. In a pipe it prints one line
    per finished call, or one JSON object with --json.
    """
    if once and not any(folder.is_dir() for folder in captures.folders):
        raise UserError(
            f"nothing is captured in {captures}; give --captures DIR, or read a transcript alone "
            f"with `{command_line('reconcile')}`."
        )
    if captures.is_given:
        _ = captures.sessions  # an error if it cannot be read
    tail = FolderTail(captures, every=every)
    to = console()
    if once:
        _print_once(tail, as_json)
    elif as_json or not to.is_terminal or to.is_dumb_terminal:
        ctx.exit(_print_lines(tail, _print_json_line if as_json else _print_line))
    else:
        ctx.exit(_live(tail, LiveScreen(to)))


class FolderTail(CaptureTail):
    """The sessions of all capture folders, those registered in the meantime included."""

    def __init__(self, captures: CaptureFolders, *, every: bool) -> None:
        super().__init__(*captures.folders, every=every)
        self._is_given = captures.is_given
        self._searched_at = time.time()

    def look(self, now: float) -> list[SeenCall]:
        if not self._is_given and now - self._searched_at > _NEW_FOLDERS_SECONDS:
            self._searched_at = now
            self.follow(find_capture_folders(None, os.environ).folders)
        return super().look(now)


def _live(tail: CaptureTail, screen: LiveScreen) -> int:
    view = View()
    shown_at = time.time()
    try:
        with screen.open():
            while True:
                if not view.paused:
                    shown_at = time.time()
                    tail.look(shown_at)
                screen.show(frame(tail.sessions, view, shown_at))
                for key in screen.keys(_SECONDS):
                    if key == "q":
                        return 0
                    view = view.pressed(key, dict.fromkeys(s.session_id for s in tail.sessions))
    except ScreenEnded as ended:
        return ended.exit_code
    except KeyboardInterrupt:
        return 130


def _print_once(tail: CaptureTail, as_json: bool) -> None:
    now = time.time()
    tail.look(now)
    found = frame(tail.sessions, View(), now)
    if as_json:
        print_json(found.to_json())
    else:
        console().print(FrameView(found))


def _print_lines(tail: CaptureTail, to_stdout: Callable[[SeenCall], None]) -> int:
    """Print calls that finish from now on."""
    try:
        tail.look(time.time())
        while True:
            time.sleep(_SECONDS)
            for call in tail.look(time.time()):
                to_stdout(call)
    except KeyboardInterrupt:
        return 130


def _print_line(call: SeenCall) -> None:
    cost = "unpriced" if call.usd is None else f"${call.usd:.4f}"
    echo(f"{summary(call.session_id, call.exchange)}  {cost}")


def _print_json_line(call: SeenCall) -> None:
    print_json(call_json(call), indent=False)
