"""Client versions in order."""

import re
from collections.abc import Collection

_NUMBERS = re.compile(r"\d+")


def version_key(version: str) -> tuple[int, ...]:
    """Sorts 2.1.9 before 2.1.10."""
    return tuple(map(int, _NUMBERS.findall(version)))


def version_range(versions: Collection[str]) -> str:
    """`2.1.39`, `1.0.0 … 2.1.39`, or `?` where none is known."""
    if not versions:
        return "?"
    ordered = sorted(versions, key=version_key)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} … {ordered[-1]}"


def nearest_older(version: str | None, known: Collection[str]) -> str | None:
    """The newest known version that is not newer; without a version, the newest of all."""
    older = [v for v in known if version is None or version_key(v) <= version_key(version)]
    return max(older, key=version_key, default=None)
