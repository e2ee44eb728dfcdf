import json

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


def test_a_literal_is_not_a_regular_expression() -> None:
    assert Pattern("a.b").compiled.search("axb") is None
    assert Pattern("a.b", regex=True).compiled.search("axb")


@pytest.mark.parametrize("pattern", ["", "("])
def test_a_wrong_pattern_has_a_reason(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"empty|not a regular expression"):
        Pattern(pattern, regex=True)
