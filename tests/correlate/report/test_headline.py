"""The verdict in one sentence."""

from typing import Any

import pytest

from correlate.reconcile.verdicts import Tone
from correlate.report.headline import Headline, headline_of


def session(
    *,
    wire: int = 100,
    told: int = 100,
    prompt: tuple[int, int] = (5, 5),
    explained: tuple[bool, ...] = (True,),
    unexplained: int = 0,
    transcript: bool = True,
) -> dict[str, Any]:
    def usage(output: int, tokens: int) -> dict[str, int]:
        return {
            "output_tokens": output,
            "input_tokens": tokens,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }

    seen: dict[str, int] | None = {} if transcript else None
    return {
        "calls": [{"explained": one, "transcript": seen} for one in explained],
        "turns_without_call": [],
        "totals": {"wire": usage(wire, prompt[0]), "transcript": usage(told, prompt[1])},
        "unexplained": unexplained,
    }


@pytest.mark.parametrize(
    ("given", "sentence", "tone"),
    [
        (
            session(),
            "1 of 1 call explained; the transcript matches the wire exactly.",
            "good",
        ),
        (
            session(explained=(True,) * 41, wire=1000, told=620),
            "41 of 41 calls explained; the transcript under-reports output by 38 %.",
            "warn",
        ),
        (
            session(wire=1000, told=999),
            "1 of 1 call explained; the transcript under-reports output by less than 1 %.",
            "warn",
        ),
        (
            session(wire=1000, told=1),
            "1 of 1 call explained; the transcript under-reports output by more than 99 %.",
            "warn",
        ),
        (
            session(wire=1000, told=0),
            "1 of 1 call explained; the transcript under-reports output by 100 %.",
            "warn",
        ),
        (
            session(wire=1000, told=1250),
            "1 of 1 call explained; the transcript reports 250 more output than the wire.",
            "warn",
        ),
        (
            session(prompt=(200, 150)),
            "1 of 1 call explained; the transcript under-reports prompt tokens by 25 %.",
            "warn",
        ),
        (
            session(explained=(True, False, False), unexplained=2),
            "1 of 3 calls explained, 2 findings unexplained; "
            "the transcript matches the wire exactly.",
            "bad",
        ),
        (
            session(transcript=False, told=0),
            "1 of 1 call explained; there is no transcript to compare with.",
            "warn",
        ),
        (session(explained=()), "No call of this session was captured.", "bad"),
    ],
)
def test_the_sentence_says_what_matters(given: dict[str, Any], sentence: str, tone: Tone) -> None:
    assert headline_of(given) == Headline(sentence, tone)
