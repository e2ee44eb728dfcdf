"""Captured text on the page: control characters are visible and the size is limited."""

from hypothesis import given
from hypothesis import strategies as st

from ccwire.wire.safe_text import visible
from correlate.report.fit import FittedText, cut, fitted, size_on_page
from correlate.report.page import inert_json
from tests.properties import property_test

# A lone surrogate is what JavaScript may write and UTF-8 may not.
TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)


def test_control_characters_become_visible() -> None:
    assert visible("a\x00b\x1b[31mc\x7fd\x9be") == "a␀b␛[31mc␡d⟨U+009B⟩e"


def test_tabs_and_line_ends_stay() -> None:
    assert visible("a\tb\r\nc\nd") == "a\tb\nc\nd"


def test_a_return_that_would_overwrite_a_line_is_shown() -> None:
    assert visible("safe\revil") == "safe␍evil"


def test_what_turns_the_reading_direction_is_shown() -> None:
    assert visible("a\u202eb\u2066c\u200fd") == "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200F⟩d"


def test_a_lone_surrogate_is_spelled_out() -> None:
    assert visible("x\ud800y") == "x\\ud800y"


def test_markup_stays_as_it_is() -> None:
    text = "</script><!-- \"'&amp; --> é 漢 👍"
    assert visible(text) == text


def test_short_texts_stay_whole_and_long_ones_share_what_is_left() -> None:
    assert fitted(["ab", "x" * 50, "y" * 80], 42) == [
        FittedText("ab"),
        FittedText("x" * 20, 30),
        FittedText("y" * 20, 60),
    ]


def test_texts_that_fit_together_are_whole() -> None:
    assert fitted(["ab", "x" * 30], 32) == [FittedText("ab"), FittedText("x" * 30)]


def test_no_room_at_all_leaves_nothing() -> None:
    assert fitted(["abc"], 0) == [FittedText("", 3)]
    assert fitted([], 10) == []


def test_markup_takes_the_room_that_it_takes_escaped() -> None:
    assert cut("<<<<", 12) == FittedText("<<", 2)


@property_test
@given(TEXTS)
def test_the_size_is_that_on_the_page(text: str) -> None:
    seen = visible(text)
    assert size_on_page(seen) >= len(inert_json(seen).encode()) - 2


@property_test
@given(TEXTS)
def test_what_is_shown_has_nothing_unseen(text: str) -> None:
    assert all(c in "\t\n" or ord(c) > 31 for c in visible(text))


@property_test
@given(st.lists(TEXTS, max_size=6), st.integers(0, 600))
def test_it_never_takes_more_than_its_budget(texts: list[str], budget: int) -> None:
    shown = fitted(texts, budget)
    assert sum(size_on_page(one.text) for one in shown) <= budget
    for text, one in zip(texts, shown, strict=True):
        assert visible(text).startswith(one.text)
        assert len(visible(text)) == len(one.text) + one.left_out
