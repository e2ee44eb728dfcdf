"""Which settings files the client ignores, by release."""

import json

import pytest

from addon.claude_settings.hooks_text import hook_settings
from addon.claude_settings.refused import (
    BYTE_ORDER_MARK,
    COMMENT,
    TRAILING_COMMA,
    UNKNOWN_EVENT,
    Flaw,
    flaw_of,
)
from ccwire.wire.versions import Version

HOOKS = json.dumps(hook_settings("true # ccwire"), indent=2)


@pytest.mark.parametrize("version", [None, (1, 0, 85), (2, 1, 39), (2, 1, 325), (9, 0, 0)])
def test_plain_json_is_read_by_every_release(version: Version | None) -> None:
    assert flaw_of(HOOKS, version) is None
    assert flaw_of('{"url": "https://example.com", "list": "a,]"}', version) is None


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("{} // why", COMMENT),
        ('{/* why */ "a": 1,}', COMMENT),
        ('{"a": 1,}', TRAILING_COMMA),
        ('{"a": [{"b": [1, ]}]}', TRAILING_COMMA),
        ('{"a": "tab\\u0009"}', None),
    ],
)
@pytest.mark.parametrize("version", [None, (1, 0, 62), (2, 1, 325)])
def test_comments_and_trailing_commas_are_refused_by_every_release(
    text: str, flaw: Flaw | None, version: Version | None
) -> None:
    assert flaw_of(text, version) is flaw


def test_a_byte_order_mark_is_refused_by_older_releases() -> None:
    text = "\ufeff{}"
    assert flaw_of(text) is BYTE_ORDER_MARK
    assert flaw_of(text, (2, 0, 67)) is BYTE_ORDER_MARK
    assert flaw_of(text, (2, 0, 69)) is None


def test_an_event_that_the_release_does_not_know_is_refused() -> None:
    assert flaw_of(HOOKS, (1, 0, 84)) is UNKNOWN_EVENT  # SessionEnd
    started = json.dumps(hook_settings("true # ccwire", ["SubagentStart"]))
    assert flaw_of(started, (2, 0, 42)) is UNKNOWN_EVENT
    assert flaw_of(started, (2, 0, 44)) is None


def test_the_words_name_the_release_or_the_measured_range() -> None:
    assert COMMENT.in_words((2, 1, 39)) == (
        "Claude Code 2.1.39 ignores this file, because it contains comments"
    )
    assert COMMENT.in_words(None) == (
        "Claude Code (1.0.62 to 2.1.325) ignores this file, because it contains comments"
    )
    assert BYTE_ORDER_MARK.in_words(None) == (
        "Claude Code up to 2.0.67 ignores this file, because it starts with a byte order mark"
    )
