"""Verdicts on a call and its turn, and on calls without a complete answer."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from ccwire.wire.format import file_name
from correlate.reconcile.result import counted
from lab.made_session import MadeSession
from tests.correlate.reconcile.made import SESSION, reconcile, write


@pytest.mark.parametrize(
    ("output", "verdict"), [(60, "partial"), (61, "differs"), (2, "placeholder")]
)
def test_an_output_in_between_is_partial_only_if_it_was_sent(
    tmp_path: Path, output: int, verdict: str
) -> None:
    made = MadeSession(SESSION)
    made.call(output=100)
    message = made.lines[0]["message"]
    message |= {"usage": {**message["usage"], "output_tokens": output}, "stop_reason": None}
    write(made, tmp_path)
    deltas = [{"data": {"type": "message_delta", "usage": {"output_tokens": n}}} for n in (60, 100)]
    response = {"body": {"type": "sse", "events": deltas}}
    name = file_name(1, "resp", "/v1/messages")
    (tmp_path / "captures" / SESSION / name).write_bytes(orjson.dumps(response))
    (found,) = reconcile(tmp_path).calls
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (0, "the transcript has 0 of 1 text blocks of the answer"),
        (1, "the transcript has 1 of 2 tool_use blocks of the answer"),
        (2, "the transcript has 1 of 2 tool_use blocks of the answer"),
    ],
)
def test_a_lost_line_of_an_answer_is_found_by_the_number_of_blocks(
    tmp_path: Path, lost: int, said: str
) -> None:
    made = MadeSession(SESSION)
    made.call(("text", "tool_use", "tool_use"))
    for line in made.lines:
        line.pop("apiBlockIndex", None)
    write(made, tmp_path)
    assert counted(reconcile(tmp_path).findings) == {"match": 1}
    del made.lines[lost]
    write(made, tmp_path)
    (found,) = reconcile(tmp_path).calls
    assert (found.verdict, found.evidence[-1]) == ("differs", said)


def test_blocks_of_the_apis_own_tools_may_be_missing(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(("text",))
    made.exchanges[0] = replace(made.exchanges[0], blocks={"text": 2, "server_tool_use": 1})
    write(made, tmp_path)
    assert counted(reconcile(tmp_path).findings) == {"match": 1}


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"ended_by": "server_disconnect"}, "unknown"),
        ({"ended_by": "server_disconnect", "stop_reason": None}, "failed"),
        ({"ended_by": "client_disconnect"}, "aborted"),
        ({"ended_by": "http_end", "message_id": None}, "unknown"),
        ({"ended_by": "http_end", "message_id": None, "usage_at_start": None}, "not-an-answer"),
    ],
)
def test_an_answer_that_lacks_only_its_end_is_not_explained_by_that(
    tmp_path: Path, changed: dict[str, Any], kind: str
) -> None:
    made = MadeSession(SESSION)
    made.call()
    made.call(in_transcript=False, complete=False, **changed)
    write(made, tmp_path)
    assert [finding.kind for finding in reconcile(tmp_path).calls] == ["main", kind]


def test_a_line_without_usage_equals_a_start_without_usage(tmp_path: Path) -> None:
    made = MadeSession(SESSION)
    made.call(usage_at_start=None)
    made.lines[0]["message"] |= {"usage": {"service_tier": "standard"}, "stop_reason": None}
    write(made, tmp_path)
    (found,) = reconcile(tmp_path).calls
    assert (found.verdict, found.explained) == ("placeholder", True)
