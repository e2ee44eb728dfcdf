import itertools
import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.identity.session import (
    Identity,
    SessionEvidence,
    identify,
    is_usable,
    session_in_telemetry,
    session_in_user_id,
    wire_facts,
)
from ccwire.wire.format import is_session_id
from ccwire.wire.vocabulary import IdentifiedBy
from tests.properties import property_test

SOURCES: tuple[IdentifiedBy, ...] = get_args(IdentifiedBy)[:-1]  # all but "none"
UNUSABLE = ["", "../../etc/x", "a/b", "a" * 65, "a b", "unknown", "Unknown", "UNKNOWN", "ü", "a\n"]


@pytest.mark.parametrize("pair", [*itertools.combinations(SOURCES, 2)], ids=" over ".join)
def test_when_two_sources_disagree_the_stronger_wins_and_it_is_reported(
    pair: tuple[IdentifiedBy, IdentifiedBy],
) -> None:
    stronger, weaker = pair
    evidence = SessionEvidence(**{stronger: "strong", weaker: "weak"})
    assert identify(evidence) == Identity("strong", stronger, (weaker,))


@pytest.mark.parametrize("source", SOURCES)
def test_each_source_is_enough(source: IdentifiedBy) -> None:
    assert identify(SessionEvidence(**{source: "s-1"})) == Identity("s-1", source)


def test_sources_that_agree_are_no_conflict() -> None:
    assert identify(SessionEvidence(**dict.fromkeys(SOURCES, "s"))) == Identity("s", "header")


def test_every_conflict_is_reported() -> None:
    evidence = SessionEvidence(header="a", user_id="b", process="a", live_record="c", telemetry="d")
    assert identify(evidence) == Identity("a", "header", ("user_id", "live_record", "telemetry"))


def test_nothing_is_none() -> None:
    assert identify(SessionEvidence()) == Identity(None, "none")


@pytest.mark.parametrize("value", UNUSABLE)
def test_a_name_that_is_no_session_is_passed_over(value: str) -> None:
    assert not is_usable(value)
    assert identify(SessionEvidence(header=value)) == Identity(None, "none")
    assert identify(SessionEvidence(header=value, user_id="s")) == Identity("s", "user_id")


@pytest.mark.parametrize("value", ["a", "A-1", "a" * 64, "-", "0"])
def test_these_are_sessions(value: str) -> None:
    assert is_usable(value)


@property_test
@given(values=st.tuples(*[st.none() | st.text(max_size=5)] * len(SOURCES)))
def test_whatever_wins_may_be_a_folder(values: tuple[str | None, ...]) -> None:
    identity = identify(SessionEvidence(**dict(zip(SOURCES, values, strict=True))))
    assert identity.session_id is None or is_session_id(identity.session_id)


def body(user_id: Any) -> dict[str, Any]:
    return {"metadata": {"user_id": user_id}}


@pytest.mark.parametrize(
    ("user_id", "session"),
    [
        (f"user_{'a1' * 32}_account__session_s-1", "s-1"),
        ("user_x_account_11111111-2222_session_s-1", "s-1"),
        ("user_<redacted:device:0>_account_<redacted:account:1>_session_s-1", "s-1"),
        (json.dumps({"device_id": "d", "account_uuid": "", "session_id": "s-1"}), "s-1"),
        (json.dumps({"session_id": "a_session_b"}), "a_session_b"),
        (json.dumps({"session_id": 5}), None),
        (json.dumps({"session_id": None}), None),
        (json.dumps({"device_id": "d"}), None),
        ("{", None),
        ("[]", None),
        ("user_x_account_y", None),
        ("someone", None),
        ("", None),
        (None, None),
        (7, None),
        ({"session_id": "s"}, None),
    ],
)
def test_the_session_in_a_user_id(user_id: Any, session: str | None) -> None:
    assert session_in_user_id(body(user_id)) == session


@pytest.mark.parametrize("value", [None, 5, [], "x", {}, {"metadata": None}, {"metadata": []}])
def test_a_body_without_a_user_id_names_none(value: Any) -> None:
    assert session_in_user_id(value) is None


def test_a_path_in_a_user_id_is_never_used() -> None:
    for user_id in ("user_x_account__session_../../etc/x", '{"session_id":"../../etc/x"}'):
        found = session_in_user_id(body(user_id))
        assert identify(SessionEvidence(user_id=found)).session_id is None


@pytest.mark.parametrize(
    ("telemetry", "session"),
    [
        ({"session_id": "s-1"}, "s-1"),
        ({"sessionId": "s-1"}, "s-1"),
        ({"events": [{"sessionID": "s-1"}, {"session_id": "s-1"}]}, "s-1"),
        ({"event_data": json.dumps({"session_id": "s-1"})}, "s-1"),
        ({"a": json.dumps({"b": json.dumps({"session_id": "s-1"})})}, "s-1"),
        ({"events": [{"session_id": "s-1"}, {"session_id": "s-2"}]}, None),
        ({"session_id": "../../etc/x"}, None),
        ({"session_id": "a" * 65}, None),
        ({"parent_session_id_of": "s-1"}, None),
        ({}, None),
    ],
)
def test_the_one_session_that_telemetry_names(telemetry: Any, session: str | None) -> None:
    assert session_in_telemetry(json.dumps(telemetry).encode()) == session


@pytest.mark.parametrize("unit", [b"\\", b'"session_id', b'"session_id\\', b'"session_id":"a'])
def test_no_telemetry_takes_time_out_of_proportion(unit: bytes) -> None:
    assert session_in_telemetry(unit * (200_000 // len(unit))) in (None, "a")


@property_test
@given(data=st.binary(max_size=50), value=st.recursive(st.text(max_size=3), st.lists, max_leaves=3))
def test_rubbish_names_no_session(data: bytes, value: Any) -> None:
    session_in_telemetry(data)
    session_in_user_id(body(value))
    session_in_user_id(value)


def test_facts_are_parsed_from_headers() -> None:
    facts = wire_facts(
        {
            "user-agent": "claude-cli/2.1.325 (external, sdk-cli, agent)",
            "x-claude-code-agent-id": "a1",
            "x-claude-code-agent-type": "Explore",
            "x-claude-code-parent-agent-id": "a0",
            "x-claude-code-request-class": "subagent",
            "x-claude-code-prompt-id": "p1",
            "x-client-request-id": "c1",
        }
    )
    assert (facts.claude_version, facts.entrypoint) == ("2.1.325", "sdk-cli")
    assert (facts.agent_id, facts.agent_type, facts.parent_agent_id) == ("a1", "Explore", "a0")
    assert (facts.request_class, facts.prompt_id, facts.client_request_id) == (
        "subagent",
        "p1",
        "c1",
    )


@pytest.mark.parametrize(
    ("agent", "version", "entrypoint"),
    [
        ("claude-cli/1.0.0 (external, cli)", "1.0.0", "cli"),
        ("claude-code/2.0.73", "2.0.73", None),
        ("claude-cli/1.0.0 (external)", "1.0.0", None),
        ("claude-cli/1.0.0 ()", "1.0.0", None),
        ("claude-cli/next", None, None),
        ("curl/8.0", None, None),
        ("", None, None),
    ],
)
def test_version_and_entrypoint(agent: str, version: str | None, entrypoint: str | None) -> None:
    facts = wire_facts({"user-agent": agent})
    assert (facts.claude_version, facts.entrypoint) == (version, entrypoint)
