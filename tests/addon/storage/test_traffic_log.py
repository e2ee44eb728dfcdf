from typing import Any

import pytest

from addon.storage.traffic_log import block, summary
from ccwire.wire.format import Exchange


def exchange(**fields: Any) -> Exchange:
    usual: dict[str, Any] = {
        "sequence": 7,
        "flow_id": "f",
        "started": 1000.0,
        "ended": 1002.5,
        "method": "POST",
        "host": "api.anthropic.com",
        "path": "/v1/messages",
        "kind": "messages",
        "status": 200,
        "model": "claude-sonnet-4-5",
        "complete": True,
        "ended_by": "message_stop",
        "usage": {
            "input_tokens": 100,
            "cache_read_input_tokens": 900,
            "output_tokens": 1234,
            "service_tier": "standard",
        },
    }
    return Exchange(**{**usual, **fields})


def test_a_line_summarises_the_exchange() -> None:
    line = summary("11111111-2222", exchange())
    assert line.split()[1:5] == ["11111111", "messages", "claude-sonnet-4-5", "200"]
    assert line.endswith("in 1,000 out 1,234  cache 90%  2.5s")


def test_an_incomplete_exchange_is_marked() -> None:
    line = summary(None, exchange(complete=False, ended_by="client_disconnect", status=None))
    assert "unknown" in line
    assert "---" in line
    assert line.endswith("incomplete (client_disconnect)")


def test_a_block_contains_more_details() -> None:
    text = block("s-1", exchange(error=None, request_id="req_1", first_byte_ms=12.6, pid=9))
    assert "POST api.anthropic.com/v1/messages  200" in text
    assert "session s-1 by none  exchange 0007  kind messages" in text
    assert "first byte 13 ms  ended by message_stop\n" in text
    assert "request-id req_1" in text
    assert "usage input_tokens 100  cache_read_input_tokens 900  output_tokens 1,234\n" in text
    assert text.endswith("\n\n")


def test_no_answer_and_no_usage_are_no_trouble() -> None:
    text = block(None, exchange(status=None, usage=None, model=None, complete=False, ended=None))
    assert "no answer" in text
    assert "INCOMPLETE" in text
    assert "usage" not in text
    assert "s  " not in summary(None, exchange(ended=None, usage=None)).partition("200")[2]


@pytest.mark.parametrize("field", ["method", "host", "path", "model", "error", "kind", "ended_by"])
@pytest.mark.parametrize("evil", ["\x1b[2J", "a\nb", "\x9b31m", "\u202e", "\ud800", "\r"])
def test_nothing_from_the_wire_steers_a_terminal(field: str, evil: str) -> None:
    made = exchange(**{field: evil}, complete=False)
    line, text = summary("s", made), block("s", made)
    assert line.isprintable()
    assert all(part.isprintable() for part in text.split("\n"))
    assert text.count("\n") == block("s", exchange(**{field: "x"}, complete=False)).count("\n")
    text.encode()


@pytest.mark.parametrize("count", [None, "9", -5, 10**400, 1.5, [], True])
def test_counts_of_any_kind_are_no_trouble(count: Any) -> None:
    usage = {"input_tokens": count, "output_tokens": count, "cache_read_input_tokens": 10**18}
    assert "cache" in summary("s", exchange(usage=usage))
    assert "usage" in block("s", exchange(usage=usage))
