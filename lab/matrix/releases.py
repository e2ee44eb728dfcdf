"""Which releases to run, and the lines of releases that the table's columns are. Pure."""

from collections.abc import Sequence

from ccwire.wire.versions import parse_version
from lab.atlas.facts import spread
from lab.matrix.case import FIRST_WITH_PROXY

# The releases that tests run.
PINNED = (
    "1.0.0", "1.0.30", "1.0.100", "2.0.73", "2.1.39", "2.1.78", "2.1.98", "2.1.139", "2.1.168",
    "2.1.274", "2.1.325",
)  # fmt: skip

# The first release of each line; a line ends before the next one.
LINES = (
    (FIRST_WITH_PROXY, "0.2.70 to 0.2.126"),
    ("1.0.0", "1.0.0 to 1.0.61"),
    ("1.0.62", "1.0.62 to 1.0.128"),
    ("2.0.0", "2.0.x"),
    ("2.1.0", "2.1.0 to 2.1.85"),
    ("2.1.86", "2.1.86 to 2.1.138"),
    ("2.1.139", "2.1.139 to 2.1.272"),
    ("2.1.273", "2.1.273 and later"),
)


def chosen(known: Sequence[str], count: int) -> list[str]:
    """Return the pinned releases and `count` evenly spread ones, the first and newest included."""
    usable = [v for v in ordered(known) if parse_version(v) >= parse_version(FIRST_WITH_PROXY)]
    pinned = [version for version in PINNED if version in usable]
    others = spread(usable, count) if count > 1 else []
    return list(dict.fromkeys([*pinned, *others]))


def line_of(version: str) -> str:
    """Return the name of the line that a release belongs to."""
    number = parse_version(version)
    return [name for first, name in LINES if parse_version(first) <= number][-1]


def ordered(versions: Sequence[str]) -> list[str]:
    return sorted(set(versions), key=parse_version)


def ranges(versions: Sequence[str], among: Sequence[str]) -> str:
    """Return releases in few words: `2.0.14 … 2.1.39 (3)` where no other was tried in between."""
    place = {version: number for number, version in enumerate(ordered(among))}
    groups: list[list[str]] = []
    for version in ordered(versions):
        if groups and place[version] - place[groups[-1][-1]] == 1:
            groups[-1].append(version)
        else:
            groups.append([version])
    return ", ".join(_range(group) for group in groups)


def _range(group: Sequence[str]) -> str:
    if len(group) < 3:
        return ", ".join(group)
    return f"{group[0]} … {group[-1]} ({len(group)})"
