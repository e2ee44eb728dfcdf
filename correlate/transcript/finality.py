"""Whether the usage of a turn is final, by what its lines contain. Pure.

A client that writes a line before the answer has ended writes the usage of `message_start`, and no
stop reason. Prompt tokens are final then, output tokens are not. Missing output tokens are unknown.
Lines without a stop reason may have the final usage all the same: of a subagent, of an answer with
one block, or if the whole answer came at once. That is on releases before 2.1.97, and a transcript
alone cannot show it: the count is a lower bound that is exact.
"""

from collections.abc import Iterable
from typing import Literal

from ccwire.wire.counting import RawUsage
from ccwire.wire.usage import output_of

# `lower-bound`: at least these tokens were used; `unknown`: the turn has no usage. In a sum
# with such a turn, prompt tokens are a lower bound too.
Finality = Literal["exact", "lower-bound", "unknown"]

_LEAST_FIRST: tuple[Finality, ...] = ("unknown", "lower-bound", "exact")


def finality_of(usage: RawUsage | None, stop_reason: str | None) -> Finality:
    """Return how far the usage of a turn is to be trusted."""
    if usage is None:
        return "unknown"
    return "lower-bound" if stop_reason is None or output_of(usage) is None else "exact"


def finality_of_sum(found: Iterable[Finality]) -> Finality | None:
    """Return the finality of a sum: that of its least certain part; None if it has none."""
    kinds = set(found)
    return next((kind for kind in _LEAST_FIRST if kind in kinds), None)
