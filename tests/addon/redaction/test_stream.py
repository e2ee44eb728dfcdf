import itertools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.redaction.redactor import Redactor
from addon.redaction.stream import DeltaRedactor
from tests.properties import property_test

SECRETS = {
    "key": "sk-ant-api03-MADEUPsecret_0001-AA",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtYWRlLXVwIn0.c2lnbmF0dXJlMDAwMw",
    "bearer": "Bearer madeup0005token",
    "odd": 'an odd "secret" ü without a shape',
    "base64": "c2stYW50LWFwaTAzLU1BREVVUHNlY3JldF8wMDAxLUFB",
}

type Pieces = list[tuple[int, str]]


@pytest.fixture
def redactor() -> Redactor:
    redactor = Redactor(b"key")
    redactor.headers([("x-api-key", SECRETS["odd"])])
    return redactor


def through(redactor: Redactor, pieces: Pieces) -> tuple[Pieces, Pieces]:
    """Return what could be written before the end, and what only at the end."""
    across = DeltaRedactor[tuple[int, str]](redactor, lambda item, text: (item[0], text))
    early: Pieces = []
    for block, piece in pieces:
        early += across.push((block, piece), block, "text", piece)
    return early, across.flush()


def joined(pieces: Pieces) -> str:
    return "".join(text for _, text in pieces)


def fragments(secret: str) -> list[str]:
    """Return the parts of a secret that are too long to occur by chance."""
    bare = secret.removeprefix("Bearer ")
    return [bare[n : n + 8] for n in range(len(bare) - 7)]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("around", ["{}", "see {} there", "es {}, Be", '{"key": "{}"}'])
def test_a_secret_cut_anywhere_is_found(redactor: Redactor, secret: str, around: str) -> None:
    text = around.replace("{}", secret)
    expected = redactor.body(text.encode()).decode()
    assert "<redacted:" in expected
    for cut in range(len(text) + 1):
        early, late = through(redactor, [(0, text[:cut]), (0, text[cut:])])
        assert joined(early + late) == expected
        assert not any(part in joined(early + late) for part in fragments(secret))


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_secret_in_many_pieces_is_found(redactor: Redactor, secret: str, size: int) -> None:
    text = f"these words, then {secret} then {secret}; and more words."
    pieces = [(0, text[n : n + size]) for n in range(0, len(text), size)]
    early, late = through(redactor, pieces)
    assert len(early + late) == len(pieces)
    assert joined(early + late) == redactor.body(text.encode()).decode()


def test_what_is_no_secret_keeps_its_pieces(redactor: Redactor) -> None:
    pieces = [(0, piece) for piece in ("Bear", "s sk", "ip e", "y s", "", "k-a", "nt. Bearer of e")]
    early, late = through(redactor, pieces)
    assert early + late == pieces


def test_only_what_may_go_on_is_held_back(redactor: Redactor) -> None:
    across = DeltaRedactor[str](redactor, lambda item, text: text)
    assert across.push("some words ", 0, "text", "some words ") == ["some words "]
    assert across.push("then sk-a", 0, "text", "then sk-a") == []
    assert across.push("nything.", 0, "text", "nything.") == ["then sk-a", "nything."]
    assert not across.is_open


def test_a_chain_of_half_starts_is_not_held_back_for_ever(redactor: Redactor) -> None:
    """Each of these pieces ends like the start of a secret."""
    pieces = [(0, " keys") for _ in range(1000)]
    _early, late = through(redactor, pieces)
    assert len(late) == 1


def test_other_events_keep_their_place_within_a_secret(redactor: Redactor) -> None:
    across = DeltaRedactor[str](redactor, lambda item, text: text)
    out = across.push("1", 0, "text", "sk-ant-api03-")
    out += across.other("ping")
    out += across.push("2", 0, "text", "MADEUPsecret ")
    assert out == [redactor.body(b"sk-ant-api03-MADEUPsecret ").decode(), "ping", ""]


def test_texts_of_two_blocks_are_two_texts(redactor: Redactor) -> None:
    pieces = [(0, "sk-ant-api03"), (1, "hello "), (0, "-MADEUP"), (1, "there "), (0, "secret.")]
    early, late = through(redactor, pieces)
    assert [block for block, _ in early + late] == [0, 1, 0, 1, 0]
    zero = [(b, t) for b, t in early + late if b == 0]
    assert joined(zero) == redactor.body(b"sk-ant-api03-MADEUPsecret.").decode()
    assert [(b, t) for b, t in early + late if b == 1] == [(1, "hello "), (1, "there ")]


def test_the_last_block_ends_its_text(redactor: Redactor) -> None:
    across = DeltaRedactor[str](redactor, lambda item, text: text)
    assert across.push("Bear", 0, "text", "Bear") == []
    across.end(1)
    assert across.is_open
    across.end(0)
    assert across.other("stop") == []
    assert across.end_all() == ["Bear", "stop"]
    assert not across.is_open


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_in_two_blocks_is_found(redactor: Redactor, secret: str) -> None:
    for cut in range(1, len(secret)):
        across = DeltaRedactor[str](redactor, lambda item, text: text)
        out = across.push(f"see {secret[:cut]}", 0, "text", f"see {secret[:cut]}")
        across.end(0)
        out += across.other("stop")
        out += across.push(f"{secret[cut:]} there", 1, "text", f"{secret[cut:]} there")
        out += across.flush()
        assert not any(part in "".join(out) for part in fragments(secret)), cut
        assert len(out) == 3


def test_a_word_after_a_block_that_ends_in_a_secret_stays(redactor: Redactor) -> None:
    across = DeltaRedactor[str](redactor, lambda item, text: text)
    out = across.push("1", 0, "text", SECRETS["key"])
    across.end(0)
    out += across.push("2", 1, "text", "Hello there.")
    assert out == [redactor.mark("api_key", SECRETS["key"].encode()).decode(), "2"]


def test_a_secret_that_the_stream_cuts_off_is_replaced(redactor: Redactor) -> None:
    cut = SECRETS["odd"][:20]
    pieces = [(0, "see " + cut[:7]), (0, cut[7:12]), (0, cut[12:])]
    early, late = through(redactor, pieces)
    whole = joined(early + late)
    assert whole == "see " + redactor.mark("cut", cut.encode()).decode()
    assert [block for block, _ in early + late] == [0, 0, 0]
    early, late = through(redactor, [(0, "a text that ends in sk-an")])
    assert joined(early + late) == "a text that ends in sk-an"


def test_lone_surrogates_pass(redactor: Redactor) -> None:
    pieces = [(0, "\ud800 s"), (0, "k-ant-\udfff")]
    early, late = through(redactor, pieces)
    assert early + late == pieces


@pytest.mark.parametrize("secret", [SECRETS["key"], SECRETS["odd"]])
def test_tool_input_stays_json(redactor: Redactor, secret: str) -> None:
    text = json.dumps({"command": f"export KEY='{secret}'", "n": 1})
    for cut in range(len(text)):
        early, late = through(redactor, [(0, text[:cut]), (0, text[cut:])])
        command = json.loads(joined(early + late))["command"]
        assert re.fullmatch(r"export KEY='<redacted:\w+:\w+>'", command)


@property_test
@given(
    parts=st.lists(
        st.sampled_from([*SECRETS.values(), "Bearer ", "sk-ant-", "eyJ", "s", "e", " ", '"', "\n"])
        | st.text(max_size=3),
        max_size=6,
    ),
    between=st.sampled_from(["", " ", '"', "; "]),
    cuts=st.lists(st.integers(0, 120), max_size=8),
)
def test_any_text_in_any_pieces_is_as_clean_as_in_one(
    parts: list[str], between: str, cuts: list[int]
) -> None:
    redactor = Redactor(b"key")
    redactor.headers([("x-api-key", SECRETS["odd"])])
    text = between.join(parts)
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [(0, text[a:b]) for a, b in itertools.pairwise(edges)]
    early, late = through(redactor, pieces)
    clean = joined(early + late)
    assert not any(secret.removeprefix("Bearer ") in clean for secret in SECRETS.values())
    if between:  # else two adjacent secrets may count as one or two, depending on the split
        assert clean.encode() == redactor.body(text.encode())


def test_a_secret_without_end_takes_time_in_proportion(redactor: Redactor) -> None:
    pieces = [(0, "eyJaaa")] * 20_000 + [(0, " ")] + [(0, "Bearer ")] * 2_000
    early, late = through(redactor, pieces)
    assert len(early + late) == len(pieces)


@pytest.mark.parametrize("before", ["\x1b[32m", "\x1b[01;31m", r"\u001b[1m", r"\u4e2d", r"\x00"])
def test_a_token_after_a_colour_or_an_escape_is_found_wherever_it_is_cut(
    redactor: Redactor, before: str
) -> None:
    for secret in (
        "ghp_" + "0123456789abcdef" * 3,
        "DB_PASSWORD=horse-7-staple",
        "sk-" + "a1" * 24,
    ):
        text = f"{before}{secret} "
        expected = redactor.body(text.encode()).decode()
        assert "<redacted:" in expected
        for cut in range(len(text) + 1):
            early, late = through(redactor, [(0, text[:cut]), (0, text[cut:])])
            assert joined(early + late) == expected
