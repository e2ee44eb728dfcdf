"""A file's record as JSON, for the cache; anything that is not as it was written is refused."""

from collections.abc import Iterator
from typing import Any

from ccwire.wire.json_text import number, whole
from ccwire.wire.times import moment
from ccwire.wire.usage import Tokens
from correlate.spend.files import FileRecord, FileTurn

_NAMES = (
    "message_id",
    "request_id",
    "session_id",
    "model",
    "version",
    "cwd",
    "branch",
    "agent_id",
    "agent_type",
    "stop_reason",
)


def record_to_json(record: FileRecord) -> list[Any]:
    return [
        list(record.identity),
        record.offset,
        record.probe,
        _turns_to_json(record.turns),
        _turns_to_json(record.unfinished),
        dict(record.launches),
        dict(record.results),
        record.cost_usd,
        [[day, model, *tokens.counts()] for (day, model), tokens in record.lines.items()],
        record.damaged,
    ]


def record_of_json(value: Any) -> FileRecord | None:
    """Return the record; None if anything in it is not as it was written."""
    try:
        identity, offset, probe, turns, unfinished, launches, results, cost, lines, damaged = value
        device, inode, size, modified, changed = map(int, identity)
        if whole(offset) is None or offset < 0 or not isinstance(probe, str):
            return None
        return FileRecord(
            (device, inode, size, modified, changed),
            offset,
            probe,
            tuple(_turns_of_json(turns)),
            _texts(launches),
            _texts(results),
            number(cost),
            {(str(day), str(model)): Tokens(*map(int, counts)) for day, model, *counts in lines},
            tuple(_turns_of_json(unfinished)),
            int(damaged),
        )
    except (TypeError, ValueError, AttributeError, OverflowError):
        return None


def _turns_to_json(turns: tuple[FileTurn, ...]) -> list[Any]:
    return [
        [turn.at, turn.sidechain, turn.usage, *(getattr(turn, name) for name in _NAMES)]
        for turn in turns
    ]


def _turns_of_json(turns: Any) -> Iterator[FileTurn]:
    for at, sidechain, usage, *names in turns:
        if (at is not None and moment(at) is None) or not isinstance(sidechain, bool):
            raise ValueError("not a turn")
        if not (usage is None or isinstance(usage, dict)):
            raise ValueError("not a usage")
        if len(names) != len(_NAMES) or any(not isinstance(n, str | None) for n in names):
            raise ValueError("not names")
        named = dict(zip(_NAMES, names, strict=True))
        yield FileTurn(at=at, sidechain=sidechain, usage=usage, **named)


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or any(not isinstance(v, str) for v in value.values()):
        raise ValueError("not names")
    return value
