"""Times in seconds since the epoch, parsed from text and formatted as text. Pure."""

from datetime import UTC, datetime

from ccwire.wire.json_text import number

LATEST = 253_402_000_000  # `datetime` represents years up to 9999, in any time zone


def instant(value: object) -> float | None:
    """Return the seconds since the epoch of an ISO time, or of a number of seconds."""
    if isinstance(value, str):
        try:
            return moment(datetime.fromisoformat(value).timestamp())
        except (ValueError, OverflowError):
            return None
    return moment(value)


def moment(value: object) -> float | None:
    """Return the number of seconds if it is one that a calendar has; else None."""
    at = number(value)
    return at if at is not None and 0 <= at <= LATEST else None


def clock(at: float) -> str:
    """Format as `14:03:59`, in local time."""
    return f"{datetime.fromtimestamp(at):%H:%M:%S}"


def iso(at: float) -> str:
    """Format as `2026-11-16T14:03:59.123+00:00`."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
