"""Secrets of every shape at every position in every encoding: none may be in any file or log.

A bounded part runs by default, all with `CCWIRE_SECRETS=all`. The table of docs/proof.md:
`uv run python -m tests.faults.test_secret_positions`.
"""

import logging
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from addon.redaction.log_records import redact_log_records
from ccwire.wire.vocabulary import EndedBy
from tests.addon.recording.recorders import RecorderRig
from tests.faults.made_secrets import IN_BASE64, SHAPES, Planted, found_in
from tests.faults.planting import ENCODINGS, POSITIONS, Plant, combinations

_ALL = os.environ.get("CCWIRE_SECRETS") == "all" or bool(os.environ.get("CCWIRE_LONG"))
_AT_ONCE = 5  # shapes per combination in the bounded part


def is_promised(position: str, encoding: str, shape: str) -> bool:
    if encoding.startswith("base64"):
        return position == "telemetry" or shape in IN_BASE64
    # A log line quotes text in Python's way: with a quote in the secret, that is no JSON any more.
    return (position, encoding, shape) != ("log", "\\/", "header_odd")


def shapes_for(number: int) -> list[str]:
    """Return the shapes to try: all, or another part of them for each combination."""
    names = list(SHAPES)
    if _ALL:
        return names
    start = number * _AT_ONCE % len(names)
    return [*names, *names][start : start + _AT_ONCE]


@pytest.mark.parametrize(
    ("number", "position", "encoding"),
    [(n, *found) for n, found in enumerate(combinations())],
    ids=[f"{position}, {encoding}" for position, encoding in combinations()],
)
def test_no_part_of_a_secret_is_written(
    tmp_path: Path, number: int, position: str, encoding: str
) -> None:
    found = seen(tmp_path, position, encoding, shapes_for(number))
    assert not {shape for shape in found if is_promised(position, encoding, shape)}


def seen(root: Path, position: str, encoding: str, shapes: list[str]) -> set[str]:
    """Record an exchange per shape, and return the shapes that can be read afterwards."""
    rng = random.Random(f"{position} {encoding}")
    planted = [SHAPES[shape](rng, shape) for shape in shapes]
    rig = _WatchedRig(root)
    with _log_of(rig) as log:
        for number, secret in enumerate(planted):
            POSITIONS[position][0](rig, f"flow-{number}", Plant(secret, encoding))
        rig.recorder.settle()
        rig.recorder.close()
    logged = "\n".join(log).encode("utf-8", "surrogatepass")
    return found_in(b"\n".join([_written(root), *rig.parts, logged]), planted)


class _WatchedRig(RecorderRig):
    """Keeps what the part files contain just before each exchange ends."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.parts: list[bytes] = []

    def end(
        self,
        flow: str,
        ended_by: EndedBy = "http_end",
        error: str | None = None,
        at: float = 1010.0,
    ) -> None:
        self.recorder.write_parts()
        self.parts += [path.read_bytes() for path in self.root.rglob("*.part*")]
        super().end(flow, ended_by, error, at)


def _written(root: Path) -> bytes:
    """Return the names and the contents of all files."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return b"\n".join(
        str(path.relative_to(root)).encode() + b"\n" + path.read_bytes() for path in files
    )


@contextmanager
def _log_of(rig: RecorderRig) -> Iterator[list[str]]:
    """Return the formatted records of all loggers, redacted as in the proxy's process."""
    lines: list[str] = []
    formatter = logging.Formatter()
    before, level = logging.getLogRecordFactory(), logging.root.level
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(formatter.format(record))  # type: ignore[method-assign]
    redact_log_records(rig.recorder._redactor)
    logging.root.addHandler(handler)
    logging.root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        logging.root.setLevel(level)
        logging.root.removeHandler(handler)
        logging.setLogRecordFactory(before)


def test_the_search_finds_what_is_there() -> None:
    secret = Planted("made", "x", "7abcdefghijklmnop")
    for data in (
        b"see cdefghij",
        b"\\u0063defghij",
        b"%63defghij",
        b"%2563defghij",
        b"YWJjZGVmZ2hpams",
    ):
        assert found_in(data, [secret]) == {"made"}
    assert found_in(b"cdefghi", [secret]) == set()


def table() -> Iterator[str]:
    """Return the table of positions and encodings, with the shapes found of those tried."""
    yield f"| position | {' | '.join(f'`{name}`' for name in ENCODINGS)} |"
    yield "|---" * (len(ENCODINGS) + 1) + "|"
    for position, (_, encodings) in POSITIONS.items():
        cells = []
        for encoding in ENCODINGS:
            if encoding not in encodings:
                cells.append("")
                continue
            shapes = [shape for shape in SHAPES if is_promised(position, encoding, shape)]
            with tempfile.TemporaryDirectory() as root:
                found = seen(Path(root), position, encoding, shapes)
            cells.append(f"{len(found)}/{len(shapes)}")
            if found:
                print(position, encoding, sorted(found), file=sys.stderr)
        yield f"| {position} | {' | '.join(cells)} |"


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
