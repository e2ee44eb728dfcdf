"""What a run says when it captured nothing, or less than it should have."""

from addon.launch.proxy_log import Connections
from ccwire.output.run_reasons import reasons_for, without_repeats
from ccwire.wire.format import Exchange
from ccwire.wire.vocabulary import EndedBy, EndpointKind

REFUSED = "upstream proxy http://127.0.0.1:3128 refused the connection"


def exchange(
    kind: EndpointKind = "messages", error: str | None = None, ended_by: EndedBy = "http_end"
) -> Exchange:
    return Exchange(
        sequence=1,
        flow_id="f",
        started=1.0,
        method="POST",
        host="api.anthropic.com",
        path="/v1/messages",
        kind=kind,
        error=error,
        ended_by=ended_by,
        status=None if error else 200,
    )


def test_calls_in_a_session_need_no_sentence() -> None:
    assert reasons_for([exchange()], [], Connections(1, {"github.com": 4})) == []


def test_a_command_that_never_connected() -> None:
    (sentence,) = reasons_for([], [], Connections())
    assert sentence.startswith("nothing was captured: the command made no connection to the proxy")
    assert "--via base-url" in sentence
    (sentence,) = reasons_for([], [], Connections(), had_base_url=True)
    assert sentence.endswith("did it start the client?")


def test_a_service_that_this_run_did_not_start_is_the_reason() -> None:
    for found in ([], [exchange("event_logging")]):
        (sentence,) = reasons_for(found, [], Connections(1, {"github.com": 1}), service=4711)
        assert (
            ": background sessions are run by a service of Claude Code (process 4711)" in sentence
        )
        assert "`claude daemon stop --any`" in sentence
    assert reasons_for([exchange()], [], Connections(1), service=4711) == []


def test_hosts_that_are_not_captured_are_named() -> None:
    (sentence,) = reasons_for([], [], Connections(3, {"gw.test": 2, "b.test": 1, "c.test": 1}))
    assert sentence == (
        "nothing was captured: the command connected to gw.test, b.test and c.test, not captured;"
        " if one of them serves the API, add --host HOST"
    )
    many = Connections(9, {f"h{number}.test": 1 for number in range(9)})
    assert "h0.test, h1.test, h2.test, h3.test, h4.test and 4 more," in reasons_for([], [], many)[0]


def test_telemetry_alone_is_no_call() -> None:
    found = reasons_for([exchange("statsig")] * 2, [], Connections(2, {"gw.test": 1}))
    assert found[0].startswith(
        "no call was captured, only 2 other requests: the command connected to gw.test,"
    )


def test_a_program_that_does_not_trust_the_certificate() -> None:
    assert reasons_for([], [], Connections(3, {"git.test": 1}, {"api.anthropic.com": 2})) == [
        "nothing was captured:"
        " the command does not trust the proxy's certificate for api.anthropic.com"
    ]


def test_a_proxy_that_was_killed() -> None:
    assert reasons_for([], [], None) == ["nothing was captured: the proxy was killed"]


def test_failed_calls_are_counted_by_their_error() -> None:
    failed = [exchange(error=REFUSED, ended_by="server_disconnect")] * 11
    left = exchange(error="client disconnected", ended_by="client_disconnect")
    other = exchange("statsig", REFUSED, "server_disconnect")
    assert reasons_for([*failed, left, other], [], Connections(12)) == [
        f"11 calls failed: {REFUSED}"
    ]


def test_calls_without_a_session_are_counted() -> None:
    unknown = [exchange(), exchange(), exchange("statsig")]
    assert reasons_for(unknown, unknown, Connections(1)) == [
        "2 calls could not be tied to a session: unknown/"
    ]


def test_a_warning_that_a_reason_repeats_is_printed_once() -> None:
    failed = f"11 calls failed: {REFUSED}"
    assert without_repeats([REFUSED, "disk full"], [failed]) == ["disk full", failed]
    assert without_repeats([REFUSED], []) == [REFUSED]


def test_of_many_changes_of_the_format_two_are_shown() -> None:
    news = [f"new in Claude Code 2.1.325: field {number}" for number in range(6)]
    shown = without_repeats([*news, "disk full"], [])
    assert shown[:3] == [*news[:2], "disk full"]
    assert shown[3].startswith("4 more like these; `")
    assert without_repeats(news[:2], []) == news[:2]


def test_failed_requests_that_are_no_calls_are_told_apart() -> None:
    gone = [exchange("statsig", REFUSED, "server_disconnect") for _ in range(2)]
    assert reasons_for([exchange(), *gone], [], Connections(3)) == [
        f"2 requests that are no calls failed: {REFUSED}"
    ]
