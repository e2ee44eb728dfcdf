import json
import re
import sys

import pytest

from correlate.search.pattern import Pattern, PatternError


@pytest.mark.parametrize(
    "pattern", ["amber", 'say "amber"', "a/b/amber", "naïve", "line\nfeed", '"']
)
@pytest.mark.parametrize("plain", [True, False])
def test_bytes_of_json_are_never_ruled_out_if_their_text_matches(pattern: str, plain: bool) -> None:
    data = json.dumps({"text": f"before {pattern} after"}, ensure_ascii=plain).encode()
    assert Pattern(pattern).may_be_in(data)
    assert Pattern(pattern.upper(), ignore_case=True).may_be_in(data)


def test_bytes_without_the_literal_are_ruled_out() -> None:
    assert not Pattern("amber").may_be_in(b'{"text":"Amber"}')


def test_a_word_is_matched_whole() -> None:
    found = Pattern("ember", ignore_case=True, word=True).compiled
    assert found.search("an Ember.") and not found.search("Members")


def test_flags_within_a_regular_expression_hold_for_whole_words_too() -> None:
    found = Pattern("(?i)ember|ash", regex=True, word=True).compiled
    assert found.search("an Ember") and found.search("ASH") and not found.search("lashes")


def test_an_ascii_letter_is_not_its_lookalike() -> None:
    assert Pattern("k", ignore_case=True).compiled.search("\u212a") is None


def test_a_literal_is_not_a_regular_expression() -> None:
    assert Pattern("a.b").compiled.search("axb") is None
    assert Pattern("a.b", regex=True).compiled.search("axb")


@pytest.mark.parametrize("pattern", ["", "("])
def test_a_wrong_pattern_has_a_reason(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"empty|not a regular expression"):
        Pattern(pattern, regex=True)


@pytest.mark.parametrize(
    ("pattern", "needle"),
    [
        (r"lantern\s+basin", b"lantern"),
        (r"^(error: \d+)$", b"error: "),
        (r"(?:amber|cedar)x", b"x"),
        (r"amber?", b"ambe"),
        (r"(amber)*", None),
        (r"(?i)amber", None),
        (r"(?i:amber)", None),
        (r"[ab]", None),
        (r"a{2}bc", b"bc"),
    ],
)
def test_a_regular_expression_is_looked_for_by_what_it_must_contain(
    pattern: str, needle: bytes | None
) -> None:
    assert Pattern(pattern, regex=True).needle == needle


def test_letters_with_other_forms_are_not_looked_for_in_bytes() -> None:
    assert Pattern("desk lamp", regex=True, ignore_case=True).needle == b" lamp"
    assert Pattern("k", regex=True, ignore_case=True).needle is None
    assert Pattern("GRÜN LAMP", ignore_case=True).needle == b"n lamp"
    others = "".join(map(chr, range(0x80, sys.maxunicode + 1)))
    assert not re.findall("[a-hjl-rt-z]", others, re.IGNORECASE)


@pytest.mark.parametrize(
    "pattern", ["(?x)amber # a comment", "(?i)(?m)AMBER", "(?x)(?i) AMBER", "[[]?amber"]
)
def test_whole_words_of_any_regular_expression_are_found_without_a_warning(
    pattern: str, recwarn: pytest.WarningsRecorder
) -> None:
    compiled = Pattern(pattern, regex=True, word=True).compiled
    assert compiled.search("an amber lamp") and not compiled.search("ambers")
    assert not recwarn.list
