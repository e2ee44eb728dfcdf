"""Whether the usage of a turn is final, by what its lines contain. Pure.

A client that writes a line before the answer has ended writes the usage of `message_start`, and no
stop reason. Prompt tokens are final then, output tokens are not. Subagents' lines of 1.0.10 to
2.1.2 have the final usage and no stop reason all the same: their lower bound is exact, which a
transcript alone cannot show.
"""

from typing import Literal

from ccwire.wire.counting import RawUsage

# `lower-bound`: at least these tokens were used; `unknown`: the turn has no usage.
Finality = Literal["exact", "lower-bound", "unknown"]


def finality_of(usage: RawUsage | None, stop_reason: str | None) -> Finality:
    """Return how far the usage of a turn is to be trusted."""
    if usage is None:
        return "unknown"
    return "lower-bound" if stop_reason is None else "exact"
