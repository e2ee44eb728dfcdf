"""A search finds what reading everything finds, in every form of a session."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.storage.packing.pack import pack_session, pack_some
from addon.storage.packing.segments import SegmentWriter
from ccwire.wire.pack.files import exchange_files
from correlate.search.pattern import Pattern, PatternError
from correlate.search.session import Hit, Query, SessionHits, Source, search_session
from correlate.transcript.locate import AgentFile, SessionFiles
from tests.properties import property_test

SESSION = "7e57ab1e-0000-4000-8000-00000000000a"
LATER = 4e9

# What JSON may write in several ways, what has several cases or forms, and ordinary letters.
ODD = [
    "é",
    "e\u0301",
    "É",
    "ß",
    "\u0131",
    "\u0130",
    "\u017f",
    "\u212a",
    "/",
    "\\",
    '"',
    "\n",
    "\r\n",
    "\t",
    "<",
]
ODD += ["&", "'", "+", "😀", "\ud83d", "\u2028", "\x7f", "\0", "日", "u00e9", "\\n", "\\u0041"]
PLAIN = ["a", "b", "k", "K", "s", "S", "i", "I", " ", ".", "(", "[x]", "a*", "^", "$", "amber", "0"]
texts = st.lists(st.sampled_from(ODD + PLAIN), min_size=1, max_size=8).map("".join)


def as_javascript(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def as_ascii(value: Any) -> bytes:
    return json.dumps(value).encode()


def as_cautious(value: Any) -> bytes:
    """As writers do whose JSON is embedded in pages."""
    written = json.dumps(value).replace("/", "\\/").replace("<", "\\u003C")
    return written.replace("&", "\\u0026").replace("'", "\\u0027").replace("+", "\\u002B").encode()


WRITERS = [as_javascript, as_ascii, as_cautious]


def dumped(value: Any, write: Callable[[Any], bytes]) -> bytes:
    try:
        return write(value)
    except UnicodeEncodeError:  # a lone surrogate, which no writer of UTF-8 writes
        return as_ascii(value)


def as_open(folder: Path) -> None:
    pass


def half_packed(folder: Path) -> None:
    pack_some(folder, SegmentWriter(folder), lambda numbers: set(numbers[: len(numbers) // 2]))


def packed(folder: Path) -> None:
    pack_session(folder, now=LATER)
    assert not exchange_files(folder)


FORMS = [as_open, half_packed, packed]


def write_session(root: Path, said: list[str], write: Callable[[Any], bytes]) -> Source:
    """Write a session: call N repeats the texts before N; the last ones are in transcripts only."""
    captured, rest = said[: len(said) * 2 // 3], said[len(said) * 2 // 3 :]
    folder = root / SESSION
    folder.mkdir(parents=True)
    (folder / "exchanges.jsonl").touch()
    for number in range(1, len(captured)):
        messages = [{"role": "user", "content": text} for text in captured[:number]]
        request = {"body": {"type": "json", "data": {"system": "amber", "messages": messages}}}
        answer = {"message": {"content": [{"type": "text", "text": captured[number]}]}}
        for direction, value in (("req", request), ("resp", answer)):
            data = dumped(value, write)
            (folder / f"{number:04d}_{direction}_v1_messages.json").write_bytes(data)
    main, own = root / f"{SESSION}.jsonl", root / "agent-a1.jsonl"
    half = len(rest) // 2
    for path, some in ((main, [*captured[:2], *rest[:half]]), (own, rest[half:])):
        records = [{"type": "user", "message": {"content": text}} for text in some]
        path.write_bytes(b"".join(dumped(record, write) + b"\n" for record in records))
    return Source(SESSION, (folder,), SessionFiles(SESSION, (main,), (AgentFile("a1", own),)))


def expected(said: list[str], matches: Callable[[str], int]) -> Iterator[tuple[Any, ...]]:
    """Yield where each text that matches is first, and how often it matches."""
    captured, rest = said[: len(said) * 2 // 3], said[len(said) * 2 // 3 :]
    places: list[tuple[str, tuple[Any, ...]]] = []
    for number in range(1, len(captured)):
        places.append(("amber", (number, None, False)))
        places += [(captured[n], (number, n + 1, False)) for n in range(number)]
        places.append((captured[number], (number, None, True)))
    half = len(rest) // 2
    main = [*captured[:2], *rest[:half]]
    places += [(text, (f"{SESSION}.jsonl", line)) for line, text in enumerate(main, 1)]
    places += [(text, ("agent-a1.jsonl", line)) for line, text in enumerate(rest[half:], 1)]
    seen: set[str] = set()
    for text, place in places:
        if text not in seen and (times := matches(text)):
            yield (*place, times)
        seen.add(text)


def place_of(hit: Hit) -> tuple[Any, ...]:
    if hit.call is not None:
        return hit.call, hit.message, hit.in_answer, hit.matches
    return Path(str(hit.path)).name, hit.line, hit.matches


def search(source: Source, pattern: Pattern, **more: Any) -> SessionHits:
    return search_session(source, Query(pattern=pattern, **more), lambda text: text)


@st.composite
def searches(draw: st.DrawFn) -> tuple[list[str], str, bool, bool, bool]:
    """Draw texts and a pattern, mostly one that some text contains, with its options."""
    said = draw(st.lists(texts, min_size=1, max_size=9))
    whole = draw(st.sampled_from(said))
    start = draw(st.integers(0, len(whole) - 1))
    given_text = whole[start : start + draw(st.integers(1, 6))]
    if draw(st.booleans()):
        given_text = given_text.swapcase()
    regex, ignore_case, word = (draw(st.booleans()) for _ in range(3))
    if regex:
        part, other = re.escape(given_text), re.escape(draw(texts))
        shapes = ["{0}", "{0}|{1}", "(?:{0}|{1})", "{0}{1}?", "(?:{0})+", "(?:{0}){{1,2}}", ".{0}"]
        shapes += [
            "^{0}",
            "{0}$",
            "({0})\\1*",
            "(?i:{0})",
            "(?i){0}",
            "[{0}]",
            "{0}(?!{1})",
            "{0}\\b",
        ]
        shapes += ["(?s:.){0}", "(?<={0})", "(?:{1})?{0}", "(?x) {0}", "{0}\\s*{1}?", "(?-i:{0})"]
        given_text = draw(st.sampled_from(shapes)).format(part, other)
    return said, given_text, regex, ignore_case, word


@property_test
@given(searches(), st.sampled_from(WRITERS), st.sampled_from(FORMS))
def test_a_search_finds_what_reading_everything_finds(
    drawn: tuple[list[str], str, bool, bool, bool],
    write: Callable[[Any], bytes],
    form: Callable[[Path], None],
) -> None:
    said, given_text, regex, ignore_case, word = drawn
    try:
        pattern = Pattern(given_text, regex, ignore_case, word)
    except PatternError:
        return
    with TemporaryDirectory() as root:
        source = write_session(Path(root), said, write)
        form(source.folders[0])
        found = search(source, pattern)
    assert not found.unreadable
    times = list(expected(said, lambda text: len(list(pattern.compiled.finditer(text)))))
    assert [place_of(hit) for hit in found.hits] == times


@property_test
@pytest.mark.parametrize("word", [False, True])
@given(texts, texts, st.booleans())
def test_a_literal_matches_as_its_characters_do(
    word: bool, text: str, part: str, ignore_case: bool
) -> None:
    """Without a regular expression: the text contains the pattern, in any case if asked for."""
    if ignore_case and not (text + part).isascii():
        return
    one, other = (text.lower(), part.lower()) if ignore_case else (text, part)
    places = [n for n in range(len(one)) if one.startswith(other, n)]
    if word:
        ends = [(one[n - 1 : n], one[n + len(other) : n + len(other) + 1]) for n in places]
        places = [1 for pair in ends if not any(re.match(r"\w", around) for around in pair)]
    found = Pattern(part, False, ignore_case, word).compiled.search(text)
    assert (found is not None) == bool(places)
