"""Calls with the same request."""

from typing import Any

from ccwire.wire.format import Exchange
from correlate.reconcile.repeats import Alike, may_repeat, repeats
from correlate.reconcile.request_facts import facts_of
from lab.made_session import MadeSession


def call(**fields: Any) -> Exchange:
    return MadeSession("5e551011").call(**fields)


def test_the_same_bytes_are_the_same_request() -> None:
    first = call(request_sha256="a")
    again = call(sequence=2, request_sha256="a", started=first.started + 1)
    assert repeats(first, again, {}) == "identical request"
    assert repeats(again, first, {}) is None
    assert repeats(first, first, {}) is None


def test_the_same_messages_are_the_same_request_however_sent() -> None:
    first, again = call(), call(sequence=2, request_sha256="b")
    marked = [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
    plain = [{"type": "text", "text": "hi"}]
    facts = {
        1: facts_of({"messages": [{"role": "user", "content": marked}], "stream": True}),
        2: facts_of({"messages": [{"role": "user", "content": plain}]}),
    }
    assert may_repeat(first, again)
    assert repeats(first, again, facts) == "same messages"
    assert not may_repeat(first, call(sequence=2, agent_id="a1"))
    assert repeats(first, call(sequence=2, agent_id="a1", request_sha256="b"), facts) is None


def test_the_first_later_call_with_the_same_request_is_the_retry() -> None:
    first = call(request_sha256="a")
    second = call(sequence=2, request_sha256="a", started=first.started + 1)
    third = call(sequence=3, request_sha256="a", started=first.started + 2)
    alike = Alike([third, first, second], {})
    assert alike.retry_of(first) == (second, "identical request")
    assert alike.retry_of(third) is None
