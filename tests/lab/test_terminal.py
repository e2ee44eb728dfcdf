"""What the screen shows, whatever the order in which it was drawn."""

from lab.terminal import Terminal


def shown(*pieces: bytes, rows: int = 4, columns: int = 20) -> list[str]:
    terminal = Terminal(rows, columns)
    for piece in pieces:
        terminal.feed(piece)
    return terminal.lines()


def test_words_placed_by_column_have_their_gaps() -> None:
    assert shown(b"\x1b[1mOpus\x1b[6G5.5\x1b[0m\r\nnext")[:2] == ["Opus 5.5", "next"]


def test_a_redraw_replaces_only_the_cells_it_writes() -> None:
    assert shown(b"one two\r\nthree", b"\x1b[1A\r\x1b[4CTWO\x1b[1B\r\x1b[K") == [
        "one TWO",
        "",
        "",
        "",
    ]


def test_what_scrolls_off_is_kept() -> None:
    terminal = Terminal(2, 10)
    terminal.feed(b"a\r\nb\r\nc\r\nd")
    assert terminal.lines() == ["c", "d"]
    assert terminal.text() == "a\nb\nc\nd"


def test_clearing_the_screen_and_its_past() -> None:
    terminal = Terminal(2, 10)
    terminal.feed(b"a\r\nb\r\nc\x1b[2J\x1b[3J\x1b[Hnew")
    assert terminal.text() == "new"


def test_titles_modes_and_queries_leave_no_trace() -> None:
    assert shown(b"\x1b]0;title\x07\x1b[?25l\x1b[>0q\x1b[?u\x1b(B\x1b[c\x1b[38;5;174mtext")[0] == (
        "text"
    )


def test_it_makes_no_difference_how_the_bytes_are_cut() -> None:
    data = "\x1b[38;5;1m\u2771\x1b[3Ghé\x1b]0;t\x1b\\llo\x1b7\r\nx\x1b8!".encode()
    assert shown(*(data[at : at + 1] for at in range(len(data)))) == shown(data)


def test_a_long_line_wraps() -> None:
    assert shown(b"abcdef", columns=4)[:2] == ["abcd", "ef"]
