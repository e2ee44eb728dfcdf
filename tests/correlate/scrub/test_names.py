"""Equal texts get equal replacements of the same length and kind."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ccwire.wire.format import is_run_id
from correlate.schema.observe.vocabulary import is_field_name, is_word
from correlate.scrub.names import Names
from correlate.transcript.locate import slug_of
from tests.properties import property_test

SESSION = "11111111-2222-4333-8444-5555aaaabbbb"


def names() -> Names:
    return Names(b"a key")


@property_test
@given(st.text(max_size=200))
@example("\ud800\udc80 x")
@example("😀" * 100)
def test_a_text_keeps_its_length_and_becomes_the_same_each_time(text: str) -> None:
    new = names().text(text)
    assert len(new) == len(text)
    assert len(new.encode("utf-8", "surrogatepass")) == len(text.encode("utf-8", "surrogatepass"))
    assert new == names().text(text)


def test_another_key_gives_other_words() -> None:
    assert Names(b"one").text("some text") != Names(b"two").text("some text")


@pytest.mark.parametrize(
    "text",
    ["Hello there!", "hunter2", "a@b.example", "4111 1111 1111 1111", "Straße", "one\ntwo " * 40],
)
def test_no_letter_and_no_digit_is_kept_in_its_place_throughout(text: str) -> None:
    new = names().text(text)
    assert new != text
    assert [c for c in new if c == "\n"] == [c for c in text if c == "\n"]


def test_long_texts_do_not_keep_the_length_of_their_words() -> None:
    one, other = names().text("aaaa " * 20), names().text("bb bb" * 20)
    assert len(one) == len(other) == 100
    assert [len(w) for w in one.split()] != [4] * 20


def test_ids_stay_ids_and_differ() -> None:
    made = names()
    ids = [f"{n:08x}-0000-4000-8000-{n:012x}" for n in range(300)]
    new = [made.name(value) for value in ids]
    assert len(set(new)) == 300
    assert all(len(n) == 36 and n.count("-") == 4 for n in new)
    assert set("".join(new)) <= set(string.hexdigits + "-")
    assert made.name("msg_01AbCd9Z").startswith("msg_")
    assert made.name("mcp__acme__find").startswith("mcp__")


def test_a_file_stays_in_its_folder_and_an_id_in_its_name() -> None:
    made = names()
    folder = made.text("/home/jane/The Plan")
    assert made.text("/home/jane/The Plan/a.py").startswith(folder + "/")
    assert made.text(f"/x/{SESSION}.jsonl").endswith(f"/{made.name(SESSION)}.jsonl")
    assert made.name("agent-a1b2c3d4e5.jsonl") == f"agent-{made.name('a1b2c3d4e5')}.jsonl"
    assert len(slug_of(made.text("/home/Jané/x.y_z"))) == len(slug_of("/home/Jané/x.y_z"))


def test_pinned_ids_sort_as_before() -> None:
    made = names()
    ids = sorted(f"a{n:015x}" for n in (7, 1, 900, 33, 4))
    made.pin_in_order(ids)
    assert [made.name(value) for value in ids] == sorted(made.name(value) for value in ids)


@property_test
@given(st.text(string.ascii_letters + string.digits + "-_./ :$", max_size=60))
@example("toolu_01AbCdEfGh12")
@example("claude-something")
@example("5c")
@example("deadbeef1")
def test_what_looks_like_a_name_or_an_id_to_the_schema_still_does(text: str) -> None:
    new = names().name(text)
    assert is_field_name(new) == is_field_name(text)
    assert not is_word(new) or is_word(text)


def test_the_name_of_a_run_stays_one() -> None:
    names = Names(b"key")
    names.pin_in_order(["run-20261116-184258-2725"])
    new = names.name("run-20261116-184258-2725")
    assert is_run_id(new)
    assert len(new) == 24
    assert "184258" not in new
