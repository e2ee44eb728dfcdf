"""The baselines that ship with ccwire: a snapshot per client release, recorded in the lab."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from ccwire.wire.versions import is_version, nearest_older, parse_version
from correlate.schema.snapshot.file import loads
from correlate.schema.snapshot.snapshot import Field, Seen, Snapshot

FOLDER = Path(__file__).parent / "baselines"
# What the API documents, and what clients are known to send outside the lab.
DOCUMENTED = "documented.json"


def shipped_versions() -> list[str]:
    """Return the releases that have a baseline, oldest first."""
    found = [path.stem for path in FOLDER.glob("*.json") if is_version(path.stem)]
    return sorted(found, key=parse_version)


def baseline_version(version: str | None) -> str | None:
    """Return the release whose baseline applies: this one, the nearest older, else the oldest.

    A release without a baseline has the formats of the release before it.
    """
    known = shipped_versions()
    return nearest_older(version, known) or (known[0] if known else None)


@cache
def shipped(version: str | None) -> Mapping[str, Field]:
    """Return the baseline for this client version; for an unknown version, the newest."""
    found = baseline_version(version)
    base = loads((FOLDER / f"{found}.json").read_bytes()) if found else {}
    documented = FOLDER / DOCUMENTED
    return with_known(base, loads(documented.read_bytes())) if documented.is_file() else base


def with_known(base: Snapshot, known: Snapshot) -> dict[str, Field]:
    """Return the baseline with the known fields added, each seen zero times."""
    return dict(base) | {name: _graft(base.get(name), root) for name, root in known.items()}


def _graft(base: Field | None, known: Field) -> Field:
    if base is None:
        base = Field(versions=known.versions)
    children = dict(base.children)
    for step, child in known.children.items():
        children[step] = _graft(base.children.get(step), child)
    return replace(
        base,
        types={name: Seen(0) for name in known.types} | dict(base.types),
        values={value: Seen(0) for value in known.values} | dict(base.values),
        children=children,
    )
