"""Client versions: parsed, compared and put in order. Pure."""

import re
from collections.abc import Collection

Version = tuple[int, ...]

_NAME = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,6}(-[a-z]{1,8}(\.\d{1,4})?)?")
_NUMBERS = re.compile(r"\d+")
_ANNOUNCED = re.compile(r"(\d+\.\d+\.\d+)\S*\s+\(Claude Code\)")


def is_version(value: object) -> bool:
    """Whether it is the name of a release: `2.1.39`, `1.0.0-beta.2`."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def parse_version(name: str) -> Version:
    """The numbers in the name of a release, which sort as releases do: 2.1.9 before 2.1.10."""
    return tuple(map(int, _NUMBERS.findall(name)))


def announced_version(output: str) -> Version | None:
    """The version in the output of `claude --version`."""
    found = _ANNOUNCED.search(output)
    return parse_version(found[1]) if found else None


def version_range(versions: Collection[str]) -> str:
    """`2.1.39`, `1.0.0 … 2.1.39`, or `?` where none is known."""
    if not versions:
        return "?"
    ordered = sorted(versions, key=parse_version)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} … {ordered[-1]}"


def nearest_older(version: str | None, known: Collection[str]) -> str | None:
    """The newest known version that is not newer; without a version, the newest of all."""
    older = [v for v in known if version is None or parse_version(v) <= parse_version(version)]
    return max(older, key=parse_version, default=None)
