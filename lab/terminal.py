"""As much of a terminal as it takes to read the client's screen: bytes in, lines of text out.

The client redraws only the cells that changed, so stripping escape codes would not do. Colours,
modes and wide characters are passed over.
"""

import codecs
import re

# A whole control sequence: CSI, OSC (title and the like), charset, or a single character.
_SEQUENCE = re.compile(
    r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|\]([^\x07\x1b]*)(?:\x07|\x1b\\)|[()][0-9A-Za-z]|([78=>McDEH]))"
)
# The beginning of one that may go on in the next read.
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[()])?$")
_PLAIN = re.compile(r"[^\x00-\x1f\x7f]+")


class Terminal:
    """A screen of fixed size, and the lines that have left it at the top."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows = rows
        self._columns = columns
        self._row = self._column = 0
        self._saved = (0, 0)
        self._cells = [self._blank() for _ in range(rows)]
        self._gone: list[str] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> None:
        text = self._rest + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text)
        self._rest = unfinished[0] if unfinished else ""
        text = text[: len(text) - len(self._rest)]
        at = 0
        while at < len(text):
            if plain := _PLAIN.match(text, at):
                self._write(plain[0])
                at = plain.end()
            elif sequence := _SEQUENCE.match(text, at):
                self._obey(sequence)
                at = sequence.end()
            else:
                self._control(text[at])
                at += 1

    def lines(self) -> list[str]:
        """The screen as it stands, from its first to its last row."""
        return ["".join(cells).rstrip() for cells in self._cells]

    def text(self) -> str:
        """The screen with what has scrolled off above it."""
        return "\n".join([*self._gone, *self.lines()]).rstrip()

    def _blank(self) -> list[str]:
        return [" "] * self._columns

    def _write(self, text: str) -> None:
        for character in text:
            if self._column >= self._columns:
                self._column = 0
                self._line_feed()
            self._cells[self._row][self._column] = character
            self._column += 1

    def _line_feed(self) -> None:
        if self._row < self._rows - 1:
            self._row += 1
            return
        self._gone.append("".join(self._cells.pop(0)).rstrip())
        self._cells.append(self._blank())

    def _control(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._line_feed()
        elif character == "\b":
            self._column = max(self._column - 1, 0)

    def _obey(self, sequence: re.Match[str]) -> None:
        if sequence[4] == "7":
            self._saved = (self._row, self._column)
        elif sequence[4] == "8":
            self._row, self._column = self._saved
        if sequence[2] is None or not re.fullmatch(r"[\d;]*", sequence[1]):
            return
        numbers = [int(number) if number else 0 for number in sequence[1].split(";")]
        first = max(numbers[0], 1)
        match sequence[2]:
            case "A":
                self._move(self._row - first, self._column)
            case "B":
                self._move(self._row + first, self._column)
            case "C":
                self._move(self._row, self._column + first)
            case "D":
                self._move(self._row, self._column - first)
            case "E":
                self._move(self._row + first, 0)
            case "F":
                self._move(self._row - first, 0)
            case "G":
                self._move(self._row, first - 1)
            case "d":
                self._move(first - 1, self._column)
            case "H" | "f":
                self._move(first - 1, (numbers[1] if len(numbers) > 1 else 1) - 1)
            case "K":
                self._erase_in_line(numbers[0])
            case "J":
                self._erase(numbers[0])

    def _move(self, row: int, column: int) -> None:
        self._row = min(max(row, 0), self._rows - 1)
        self._column = min(max(column, 0), self._columns - 1)

    def _erase_in_line(self, how: int) -> None:
        cells = self._cells[self._row]
        start = self._column if how == 0 else 0
        end = self._column + 1 if how == 1 else self._columns
        cells[start:end] = [" "] * (end - start)

    def _erase(self, how: int) -> None:
        if how == 3:
            self._gone.clear()
            return
        self._erase_in_line(how)
        above = range(self._row) if how in (1, 2) else range(0)
        below = range(self._row + 1, self._rows) if how in (0, 2) else range(0)
        for row in (*above, *below):
            self._cells[row] = self._blank()
