"""While capturing, each unknown is reported once, in one line."""

import subprocess
import sys
from typing import Any

from correlate.schema.live import Baseline
from correlate.schema.observe.freeze import snapshot_of
from correlate.schema.observe.shapes import Shapes
from correlate.schema.observe.sightings import see_record, see_request, see_response
from tests.correlate.schema.made_up import record, request, response


def baseline() -> Baseline:
    shapes = Shapes()
    see_request(shapes, request())
    see_response(shapes, response())
    see_record(shapes, record())
    return Baseline(snapshot_of(shapes, "2.1.325"))


def test_what_is_known_is_not_worth_a_word() -> None:
    known = baseline()
    assert known.unknowns_in_request(request(7)) == []
    assert known.unknowns_in_response(response(7)) == []
    assert known.unknowns_in_record(record()) == []


def test_a_new_event_field_header_and_value_each_once() -> None:
    known = baseline()
    sent: dict[str, Any] = request(new_option={"a": 1})
    sent["headers"]["X-New"] = "1"
    sent["headers"]["anthropic-beta"] += ",surprise-2027-01-01"
    assert known.unknowns_in_request(sent) == [
        "wire/beta = surprise-2027-01-01",
        "wire/header/request/messages x-new",
        "wire/request/messages new_option",
    ]
    assert known.unknowns_in_request(sent) == []
    answer = response(1, {"type": "context_note", "n": 1})
    assert known.unknowns_in_response(answer) == ["wire/sse/context_note"]
    assert known.unknowns_in_response(answer) == []
    assert known.unknowns_in_response(response(1, {"type": "context_note", "n": 2})) == []
    assert known.unknowns_in_record(record("surprise")) == ["transcript/surprise"]


def test_by_a_cloud_only_the_events_of_the_api_are_compared() -> None:
    known = baseline()
    cloud = {"host": "h", "path": "/model/us.anthropic.claude-x/invoke-with-response-stream"}
    assert known.unknowns_in_request(request(anthropic_version="x") | cloud) == []
    metrics = {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 1}}
    error = {"status_code": 429, "body": {"type": "json", "data": {"message": "slow down"}}}
    assert known.unknowns_in_response(response(1, metrics) | cloud) == []
    assert known.unknowns_in_response(response(1) | cloud | error) == []
    answer = response(1, {"type": "context_note", "n": 1}) | cloud
    assert known.unknowns_in_response(answer) == ["wire/sse/context_note"]


def test_a_known_field_of_another_type() -> None:
    event = {"type": "content_block_stop", "index": "0"}
    lines = baseline().unknowns_in_response(response(1, event))
    assert lines == ["wire/sse/content_block_stop index is integer or string, was integer"]


def test_what_is_missing_is_no_news() -> None:
    known = baseline()
    sent = {"method": "POST", "host": "api.anthropic.com", "path": "/v1/messages"}
    assert known.unknowns_in_request(sent) == []


def test_odd_values_do_no_harm() -> None:
    known = baseline()
    values: list[Any] = [None, 1, "x", [], {}, {"type": []}, [{"type": {}}]]
    for value in values:
        known.unknowns_in_request({"headers": value, "body": value})
        known.unknowns_in_response({"headers": value, "body": value})


def test_without_a_baseline_nothing_is_reported() -> None:
    assert Baseline({}).unknowns_in_request(request()) == []


def test_it_does_not_bring_the_proxy_or_the_terminal_along() -> None:
    program = "import sys, correlate.schema.live as _; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"mitmproxy", "rich", "click", "hypothesis"} & set(done.stdout.split())
