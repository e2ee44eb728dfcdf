"""The only way to the terminal: whatever a command prints passes through here.

Text is redacted, then made safe: no control character, no turn of the reading direction and no
markup in captured text has an effect. A test checks that no other module prints.
"""

import logging
import re
import sys
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from ccwire.output.redacted import redacted, redacted_values
from ccwire.wire.json_text import dump
from ccwire.wire.safe_text import visible

_PIPE_WIDTH = 160
# In UTF-8: DEL, C1 controls, and what `visible` shows as an escape. JSON itself escapes the rest.
_UNSAFE_IN_JSON = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
)


def safe(text: str) -> str:
    """Return the text as it may be printed: redacted, and every control character visible."""
    return visible(redacted(text))


def echo(text: str = "", *, err: bool = False, nl: bool = True, redact: bool = True) -> None:
    """Print a text; without `redact` one that is to be used as a file."""
    click.echo(safe(text) if redact else visible(text), err=err, nl=nl)


def print_json(value: Any, *, indent: bool = True) -> None:
    """Print a value as JSON; lone surrogates, which transcripts may contain, are escaped."""
    click.echo(safe_json(value, indent=indent))


def write_exactly(data: bytes) -> None:
    """Write bytes as they are to a pipe or a file; a terminal gets them with controls visible."""
    if not sys.stdout.isatty():
        click.echo(data, nl=False)
        return
    text = data.decode("utf-8", "backslashreplace")
    click.echo(shown := visible(text), nl=False)
    if shown != text:
        echo("Control characters are shown as pictures; a pipe or a file gets them.", err=True)


def page(print_to: Callable[["SafeConsole"], None], *, use_pager: bool = True) -> None:
    """Print what a function prints; in a pager if the terminal has too few lines for it.

    The pager is $PAGER, else less.
    """
    to = console()
    if not (use_pager and to.is_terminal and sys.stdout.isatty() and sys.stdin.isatty()):
        print_to(to)
        return
    with to.capture() as printed:
        print_to(to)
    text = printed.get()
    if text.count("\n") < to.height:
        click.echo(text, nl=False, color=True)
    else:
        try:
            click.echo_via_pager(text.removesuffix("\n"))
        except ValueError:  # the variable PAGER has an open quotation
            click.echo(text, nl=False, color=True)


def print_json_list(name: str, items: Iterable[Any], rest: Callable[[], Any]) -> None:
    """Print an object with a list, one item at a time, so that memory stays bounded.

    `rest` is called after the last item and returns the other fields.
    """
    click.echo(f'{{"{name}":[')
    for number, item in enumerate(items):
        click.echo("," if number else "", nl=False)
        print_json(item, indent=False)
    click.echo(b"]," + safe_json(rest(), indent=False).removeprefix(b"{"))


def rendered(print_to: Callable[["SafeConsole"], None]) -> str:
    """Return what a function prints to stdout, to be printed by `echo_rendered`."""
    to = console()
    with to.capture() as printed:
        print_to(to)
    return printed.get()


def echo_rendered(text: str | bytes) -> None:
    """Print a text that `rendered`, or bytes that `safe_json` has made safe."""
    click.echo(text, nl=False, color=True)


def safe_json(value: Any, *, indent: bool = True) -> bytes:
    """Return JSON that has no effect on a terminal, redacted."""
    data = dump(redacted_values(value), for_people=indent)
    return _UNSAFE_IN_JSON.sub(_escaped, data)


class SafeConsole(Console):
    """A console that makes every text safe before it is laid out, in tables too."""

    is_pipe = False  # whether lines need not be cut

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        if isinstance(renderable, str):
            renderable = Text(safe(renderable))
        elif isinstance(renderable, Text):
            renderable = safe_text(renderable)
        return super().render(renderable, options)

    def print_indented(self, text: Text, indent: int, first: Text | None = None) -> None:
        """Print a text with a margin, wrapped to the width that is left, after a first line."""
        width, margin = max(self.width - indent, 1), " " * indent
        text = safe_text(text)
        fits = "\n" not in text.plain and text.cell_len <= width
        lines = [text] if fits else text.wrap(self, width)
        whole = Text() if first is None else safe_text(first).append("\n")
        for number, line in enumerate(lines):
            line.rstrip()
            whole.append("\n" if number else "").append(margin if line else "").append_text(line)
        self.print(whole, soft_wrap=True)

    def print_unwrapped(self, text: str, indent: int = 0) -> None:
        """Print a text of any length without laying it out: the terminal wraps its lines."""
        margin = " " * indent
        self.out(margin + safe(text).replace("\n", "\n" + margin), highlight=False)

    def print_cut(self, line: str) -> None:
        """Print one line, cut to the width of the terminal."""
        text = Text(safe(line).replace("\n", " "))
        text.truncate(self.width, overflow="ellipsis")
        self.out(text.plain, highlight=False)


def safe_text(text: Text) -> Text:
    """Return the text, made safe; one that had to be changed has a single style."""
    plain = safe(text.plain)
    if plain == text.plain:
        return text
    return Text(
        plain, text.style, justify=text.justify, overflow=text.overflow, no_wrap=text.no_wrap
    )


def console() -> SafeConsole:
    """Return a console for stdout; in a pipe it is wide and plain unless COLUMNS is set."""
    if isinstance(sys.stdout, TextIOWrapper):  # an encoding may lack a character
        sys.stdout.reconfigure(errors="backslashreplace")
    found = _console()
    if not found.is_terminal and "COLUMNS" not in found._environ:
        found = _console(width=_PIPE_WIDTH)
        found.is_pipe = True
    return found


def error_console() -> SafeConsole:
    """Return a console for stderr."""
    return _console(stderr=True)


def log_safely() -> None:
    """Let log messages without a handler pass through here too."""
    logging.lastResort = _SafeHandler(logging.WARNING)


class _SafeHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        echo(self.format(record), err=True)


def _console(**given: Any) -> SafeConsole:
    return SafeConsole(highlight=False, markup=False, emoji=False, **given)


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(found[0].decode())
