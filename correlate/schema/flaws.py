"""What the transcripts of each release are known to get wrong or leave out.

Reads `release_flaws.json`, which `lab.atlas.flaws` derives from the shipped baselines: for each
flaw the releases at which it appears and disappears. It observes nothing itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from ccwire.wire.json_text import parse_json
from ccwire.wire.versions import is_version, parse_version

FILE = Path(__file__).parent / "release_flaws.json"

FlawKey = Literal["placeholder", "no-request-id", "failed-attempts", "cost-record", "side-calls"]

# What each flaw means for a release, before the name of the release that ended it.
_SENTENCES: Mapping[FlawKey, str] = {
    "placeholder": "some lines have no stop reason: their output may be a placeholder",
    "no-request-id": "lines have no request id{until}",
    "failed-attempts": "failed attempts are not written{until}",
    "cost-record": "no cost record is written{until}",
    "side-calls": "side calls (titles, topics, count_tokens) are never written",
}


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that a release's transcripts lack, as a clause."""

    key: FlawKey
    sentence: str


def flaws_of(version: str | None) -> tuple[Flaw, ...]:
    """Return what a release is known to get wrong; of an unknown one, what every release does."""
    named = version if is_version(version) else None
    return _flaws_of(named)


@cache
def _flaws_of(version: str | None) -> tuple[Flaw, ...]:
    found = []
    for key, sentence in _SENTENCES.items():
        spans = _spans().get(key, ())
        span = next((one for one in spans if _is_within(version, one)), None)
        if span is not None:
            until = f" before {span[1]}" if span[1] else ""
            found.append(Flaw(key, sentence.format(until=until)))
    return tuple(found)


def _is_within(version: str | None, span: tuple[str | None, str | None]) -> bool:
    first, after = span
    if version is None:
        return first is None and after is None
    here = parse_version(version)
    since = first is None or here >= parse_version(first)
    return since and (after is None or here < parse_version(after))


@cache
def _spans() -> Mapping[str, tuple[tuple[str | None, str | None], ...]]:
    """Return, by flaw, the spans from the first release with it to the first without it."""
    read = parse_json(FILE.read_bytes())
    return {key: tuple((first, after) for first, after in spans) for key, spans in read.items()}
