"""The parts of an answer: which model served which tokens. Pure.

The API lists the sampling iterations of an answer in `usage.iterations`: the asked model's own
(`message`), an advisor's (`advisor_message`), a summary of the context (`compaction`), and a
fallback model's (`fallback_message`). Each is billed at the rates of the model that ran it. The top
level of the usage leaves out advisors, compactions and attempts that declined.
"""

from dataclasses import dataclass, field, replace

from ccwire.wire.counting import RawUsage
from ccwire.wire.json_text import text
from ccwire.wire.models import model_key, serving_model
from ccwire.wire.usage import FALLBACK, Tokens, billed_iterations

ADVISOR = "advisor_message"
COMPACTION = "compaction"
MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Part:
    """The tokens of one iteration, its type, and the model that served it.

    `alias` is the name of the same model in the answer, if the one that was asked has no price.
    """

    model: str | None
    tokens: Tokens
    type: str = MESSAGE
    alias: str | None = field(default=None, compare=False)


def parts_of(asked: str | None, served: str | None, usage: RawUsage | None) -> tuple[Part, ...]:
    """Return what was billed, by the model that served it; nothing without a usage.

    `served` is the model that the answer names. Without a breakdown, it served the whole answer.
    Requests, such as web searches, belong to the last iteration that answers.
    """
    top_level = Tokens.of_top_level(usage)
    serving = serving_model(asked, served)
    iterations = billed_iterations(usage)
    if not iterations:
        return (Part(serving, top_level, alias=served),) if usage else ()
    has_fallback = any(one.get("type") == FALLBACK for one in iterations)
    unnamed = asked if has_fallback else serving  # an attempt that declined is of the asked model
    parts = [
        Part(
            _name(text(one.get("model")), unnamed),
            Tokens.of_top_level(one),
            text(one.get("type")) or MESSAGE,
        )
        for one in iterations
    ]
    answering = [n for n, part in enumerate(parts) if part.type in (MESSAGE, FALLBACK)]
    last = answering[-1] if answering else len(parts) - 1
    return tuple(
        replace(
            part,
            tokens=part.tokens.with_requests_of(top_level if n == last else Tokens()),
            alias=served if part.model == serving and not has_fallback else None,
        )
        for n, part in enumerate(parts)
    )


def _name(named: str | None, unnamed: str | None) -> str | None:
    """Return the iteration's model; under the name that was asked for, if it is the same model."""
    if named is None or (unnamed is not None and model_key(named) == model_key(unnamed)):
        return unnamed
    return named
