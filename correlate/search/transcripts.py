"""What a search needs of a transcript besides its texts: when it began, and an agent's type."""

from itertools import islice
from pathlib import Path

from ccwire.wire.json_text import as_dict, parse_object, text
from ccwire.wire.regular_file import read_regular
from ccwire.wire.times import instant
from correlate.transcript.lines import parse_line, read_lines
from correlate.transcript.locate import AgentFile

_FIRST_LINES = 20  # one of which has a time


def first_time(path: Path) -> float | None:
    """Return the time of a transcript's first record that has one; None if it is unreadable."""
    try:
        for line in islice(read_lines(path), _FIRST_LINES):
            at = instant(as_dict(parse_line(line.data)).get("timestamp"))
            if at is not None:
                return at
    except OSError:
        pass
    return None


def type_of(agent: AgentFile) -> str | None:
    """Return a subagent's type from its meta.json, if there is one."""
    if agent.meta is None:
        return None
    try:
        return text(parse_object(read_regular(agent.meta)).get("agentType"))
    except OSError:
        return None
