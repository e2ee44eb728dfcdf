from pathlib import Path
from typing import get_args

import pytest

from correlate.reconcile.verdicts import (
    VERDICTS,
    FindingKind,
    RequestClass,
    ResidualCause,
    Tone,
    Verdict,
    is_explained,
    residual_agrees,
    residual_explained,
    tone_of,
)

README = Path(__file__).parents[3] / "README.md"


def test_every_verdict_has_its_meaning() -> None:
    assert tuple(VERDICTS) == get_args(Verdict)


def test_the_readme_lists_every_verdict() -> None:
    table = README.read_text().partition("| verdict |")[2].partition("\n\n")[0]
    assert [verdict for verdict in VERDICTS if f"`{verdict}`" not in table] == []


def test_only_these_findings_are_unexplained() -> None:
    unexplained = {
        (verdict, kind)
        for verdict in VERDICTS
        for kind in get_args(FindingKind)
        if not is_explained(verdict, kind)
    }
    kinds = get_args(FindingKind)
    assert unexplained == {
        *(("differs", kind) for kind in kinds),
        *(("not-captured", kind) for kind in kinds),
        ("wire-only", "unknown"),
    }


@pytest.mark.parametrize(
    ("verdict", "kind", "tone"),
    [
        ("match", "main", "good"),
        ("match", RequestClass("of a later client"), "good"),
        ("partial", "subagent", "warn"),
        ("wire-only", "retried", "info"),
        ("wire-only", "unknown", "bad"),
        ("differs", "main", "bad"),
    ],
)
def test_what_is_unexplained_looks_bad(verdict: Verdict, kind: FindingKind, tone: Tone) -> None:
    assert tone_of(verdict, kind) == tone


@pytest.mark.parametrize(
    ("cause", "agrees", "explained"),
    [
        ("none", True, True),
        ("disputed-calls", True, True),
        ("forked", True, True),
        ("calls-left-out", True, True),
        ("before-capture", False, True),
        ("unknown", False, False),
    ],
)
def test_what_a_residual_leaves_open(cause: ResidualCause, agrees: bool, explained: bool) -> None:
    assert (residual_agrees(cause), residual_explained(cause)) == (agrees, explained)
