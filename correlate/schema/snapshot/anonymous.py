"""Remove ids and paths from a snapshot's example places, so that it can be published.

Whoever has the files can still find a place: folders and files are numbered in sorted order.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from ccwire.wire.format import parse_file_name
from correlate.schema.snapshot.snapshot import ExamplePlace, Field, Seen, Snapshot

_ANONYMOUS = re.compile(r"capture \d+ exchange \d+ (request|response)|(transcript|file) \d+(:\d+)?")
_DIRECTIONS = {"req": "request", "resp": "response"}


def anonymous(snapshot: Snapshot) -> dict[str, Field]:
    """Return the snapshot with places such as `capture 1 exchange 3 request`, `transcript 2:31`."""
    sources = sorted({place.source for root in snapshot.values() for place in _places(root)})
    numbers: dict[str, dict[str, int]] = {"capture": {}, "transcript": {}, "file": {}}
    names = {source: _name(source, numbers) for source in sources}

    def rename(place: ExamplePlace | None) -> ExamplePlace | None:
        return place if place is None else ExamplePlace(names[place.source], place.line)

    return _with_places(snapshot, rename)


def without_places(snapshot: Snapshot) -> dict[str, Field]:
    return _with_places(snapshot, lambda place: None)


def _name(source: str, numbers: dict[str, dict[str, int]]) -> str:
    if _ANONYMOUS.fullmatch(source):
        return source
    path = PurePath(source)
    exchange = parse_file_name(path.name)
    if exchange:
        known = numbers["capture"]
        number = known.setdefault(str(path.parent), len(known) + 1)
        return f"capture {number} exchange {exchange[0]} {_DIRECTIONS[exchange[1]]}"
    kind = "transcript" if path.suffix == ".jsonl" else "file"
    known = numbers[kind]
    return f"{kind} {known.setdefault(source, len(known) + 1)}"


def _places(field: Field) -> Iterator[ExamplePlace]:
    seen = [*field.types.values(), *field.values.values()]
    yield from (each.at for each in seen if each.at is not None)
    if field.absent is not None:
        yield field.absent
    for child in field.children.values():
        yield from _places(child)


def _with_places(
    snapshot: Snapshot, change: Callable[[ExamplePlace | None], ExamplePlace | None]
) -> dict[str, Field]:
    def seen(all_seen: Mapping[str, Seen]) -> dict[str, Seen]:
        return {name: Seen(each.count, change(each.at)) for name, each in all_seen.items()}

    def field(old: Field) -> Field:
        return replace(
            old,
            types=seen(old.types),
            values=seen(old.values),
            absent=change(old.absent),
            children={step: field(child) for step, child in old.children.items()},
        )

    return {name: field(root) for name, root in snapshot.items()}
