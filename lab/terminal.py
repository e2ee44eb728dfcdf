"""A terminal to read a program's screen from: bytes in, lines of text out."""

import pyte


class Terminal:
    """A screen of fixed size, and the lines that have left it at the top."""

    def __init__(self, rows: int, columns: int) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self.feed = pyte.ByteStream(self._screen).feed

    def lines(self) -> list[str]:
        """The screen as it is now, from its first to its last row."""
        return [line.rstrip() for line in self._screen.display]

    def text(self) -> str:
        """The screen with what has scrolled off above it."""
        columns = range(self._screen.columns)
        gone = ["".join(row[at].data for at in columns) for row in self._screen.history.top]
        return "\n".join([line.rstrip() for line in gone] + self.lines()).rstrip()
