"""Times in seconds since the epoch, parsed from text and formatted as text. Pure."""

from datetime import UTC, datetime

from ccwire.wire.json_text import number


def instant(value: object) -> float | None:
    """Return the seconds since the epoch of an ISO time, or of a number of seconds."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    return number(value)


def clock(at: float) -> str:
    """Format as `14:03:59`, in local time."""
    return f"{datetime.fromtimestamp(at):%H:%M:%S}"


def iso(at: float) -> str:
    """Format as `2026-11-16T14:03:59.123+00:00`."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
