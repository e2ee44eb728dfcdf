"""An exchange in full: wrapped between words on a terminal, and not at all in a pipe."""

import io

from ccwire.output.show.exchange import Detail, print_events, print_message, print_request
from ccwire.output.terminal import SafeConsole
from correlate.show.answer import ShownEvent
from correlate.show.request import shown_message, shown_request

FULL = Detail(full=True)
TEXT = "one two three four\n    deep inside of it\n\x1b[31mred"


def console(*, terminal: bool, width: int = 20) -> tuple[SafeConsole, io.StringIO]:
    out = io.StringIO()
    to = SafeConsole(
        file=out, width=width, force_terminal=terminal, color_system=None, highlight=False
    )
    return to, out


def message(*, terminal: bool) -> list[str]:
    """Return the lines of the text, which come after those of the title."""
    to, out = console(terminal=terminal)
    print_message(to, shown_message(1, {"role": "user", "content": TEXT}), FULL)
    return [line for line in out.getvalue().splitlines() if line.startswith("      ")]


def test_a_terminal_gets_a_text_wrapped_within_its_indent() -> None:
    lines = ["one two three", "four", "    deep", "    inside of", "    it", "␛[31mred"]
    assert message(terminal=True) == [f"      {line}" for line in lines]


def test_a_pipe_gets_the_lines_as_they_are() -> None:
    lines = ["one two three four", "    deep inside of it", "␛[31mred"]
    assert message(terminal=False) == [f"      {line}" for line in lines]


def test_a_pipe_gets_a_parameter_on_one_line() -> None:
    request = shown_request({"body": {"data": {"messages": [], "words": "one two " * 9}}})
    for terminal in (True, False):
        to, out = console(terminal=terminal)
        print_request(to, request, FULL)
        assert (f"  words {'one two ' * 9}".rstrip() in out.getvalue()) is not terminal


def test_an_event_that_does_not_fit_is_below_its_name() -> None:
    event = ShownEvent("ping", 1.5, "one two three four five six")
    to, out = console(terminal=True, width=32)
    print_events(to, [event], FULL)
    assert out.getvalue().splitlines() == [
        "     1.50 ms  ping",
        "              one two three four",
        "              five six",
    ]
    to, out = console(terminal=False, width=32)
    print_events(to, [event], FULL)
    assert out.getvalue() == f"     1.50 ms  {'ping':<19}  {event.data}\n"
