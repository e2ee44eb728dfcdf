"""Turns made of assistant lines, for tests that have no transcript file."""

from collections.abc import Iterable

from correlate.transcript.records import AssistantLine
from correlate.transcript.turns import Turn, TurnFolder


def fold(lines: Iterable[AssistantLine]) -> tuple[Turn, ...]:
    folder = TurnFolder()
    for line in lines:
        folder.add(line)
    return folder.turns()
