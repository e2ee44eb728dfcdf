"""What the screen shows; how escape sequences are obeyed is pyte's concern."""

from lab.terminal import Terminal


def terminal(data: bytes) -> Terminal:
    made = Terminal(2, 10)
    made.feed(data)
    return made


def test_what_scrolls_off_is_kept() -> None:
    screen = terminal(b"a\r\nb\r\nc\r\nd")
    assert screen.lines() == ["c", "d"]
    assert screen.text() == "a\nb\nc\nd"


def test_clearing_the_screen_and_its_past() -> None:
    assert terminal(b"a\r\nb\r\nc\x1b[2J\x1b[3J\x1b[Hnew").text() == "new"


def test_what_the_client_asks_of_its_terminal_leaves_no_trace() -> None:
    data = b"\x1b]0;title\x07\x1b[?25l\x1b[>0q\x1b[?u\x1b(B\x1b[c\x1b[38;5;174mtext"
    assert terminal(data).text() == "text"
