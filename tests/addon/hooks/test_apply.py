from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addon.hooks.apply import (
    KEPT_AGENTS,
    HookClient,
    PayloadError,
    apply_event,
    drop_oldest,
    mark_crashed,
    session_of,
)
from addon.hooks.events import HANDLED
from ccwire.wire.format import is_session_id

CLIENT = HookClient(process=(100, 50.0), project_dir="/proj", entrypoint="cli", version="2.1.325")
OTHER = HookClient(process=(200, 70.0), project_dir="/proj")


def _event(name: str, session_id: str = "aaa", **fields: Any) -> dict[str, Any]:
    return {
        "hook_event_name": name,
        "session_id": session_id,
        "transcript_path": f"/t/{session_id}.jsonl",
        "cwd": "/cwd",
        **fields,
    }


def _after(*steps: tuple[dict[str, Any], HookClient], start: list[Any] | None = None) -> list[Any]:
    sessions: list[Any] = start if start is not None else []
    for number, (payload, client) in enumerate(steps, 1):
        apply_event(sessions, payload, client, float(number))
    return sessions


def _states(sessions: list[Any]) -> list[tuple[str, str, str | None]]:
    return [(e["session_id"], e["state"], e["metadata"]["end_reason"]) for e in sessions]


START = _event("SessionStart", source="startup")


def test_a_start_adds_an_entry_in_the_shape_of_the_design() -> None:
    assert _after((START, CLIENT)) == [
        {
            "session_id": "aaa",
            "state": "active",
            "project_dir": "/proj",
            "transcript_path": "/t/aaa.jsonl",
            "source": "startup",
            "metadata": {
                "claude_pid": 100,
                "process_created_at": 50.0,
                "claude_version": "2.1.325",
                "started_at": 1.0,
                "ended_at": None,
                "end_reason": None,
                "entrypoint": "cli",
                "seen_at": 1.0,
            },
        }
    ]


def test_an_end_closes_the_entry_with_its_reason() -> None:
    [entry] = _after((START, CLIENT), (_event("SessionEnd", reason="prompt_input_exit"), CLIENT))
    assert entry["state"] == "exited"
    assert entry["metadata"]["ended_at"] == 2.0
    assert entry["metadata"]["end_reason"] == "prompt_input_exit"
    assert entry["metadata"]["started_at"] == 1.0


def test_clear_leaves_the_old_session_ended_and_the_new_one_last() -> None:
    sessions = _after(
        (START, CLIENT),
        (_event("SessionEnd", reason="clear"), CLIENT),
        (_event("SessionStart", "bbb", source="clear"), CLIENT),
    )
    assert _states(sessions) == [("aaa", "exited", "clear"), ("bbb", "active", None)]


def test_a_start_ends_the_previous_session_of_its_process_alone() -> None:
    sessions = _after(
        (START, CLIENT),
        (_event("SessionStart", "bbb"), OTHER),
        (_event("SessionStart", "ccc"), CLIENT),
    )
    assert _states(sessions) == [
        ("aaa", "exited", "replaced"),
        ("bbb", "active", None),
        ("ccc", "active", None),
    ]


def test_resuming_in_another_process_revives_the_entry_and_puts_it_last() -> None:
    newer = HookClient(process=(300, 90.0), project_dir="/elsewhere")
    sessions = _after(
        (START, CLIENT),
        (_event("SessionEnd", reason="other"), CLIENT),
        (_event("SessionStart", "bbb"), OTHER),
        (_event("SessionStart", source="resume"), newer),
    )
    assert _states(sessions) == [("bbb", "active", None), ("aaa", "active", None)]
    revived = sessions[1]
    assert (revived["source"], revived["project_dir"]) == ("resume", "/elsewhere")
    assert revived["metadata"]["claude_pid"] == 300
    assert revived["metadata"]["started_at"] == 4.0
    assert revived["metadata"]["claude_version"] is None


def test_one_session_open_in_two_living_processes_has_two_entries() -> None:
    sessions = _after((START, CLIENT), (_event("SessionStart", source="resume"), OTHER))
    assert [e["metadata"]["claude_pid"] for e in sessions] == [100, 200]
    apply_event(sessions, _event("SessionEnd", reason="other"), CLIENT, 9.0)
    assert [(e["metadata"]["claude_pid"], e["state"]) for e in sessions] == [
        (100, "exited"),
        (200, "active"),
    ]


def test_compacting_is_no_new_start() -> None:
    [entry] = _after((START, CLIENT), (_event("SessionStart", source="compact"), CLIENT))
    assert (entry["source"], entry["metadata"]["started_at"]) == ("compact", 1.0)


@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop"])
def test_hooks_installed_in_mid_session_learn_of_it_at_the_next_event(name: str) -> None:
    [entry] = _after((_event(name), CLIENT))
    assert entry["state"] == "active"
    assert entry["metadata"]["claude_pid"] == 100
    assert entry["metadata"]["started_at"] is None
    assert (entry["project_dir"], entry["transcript_path"]) == ("/proj", "/t/aaa.jsonl")


def test_an_end_without_a_beginning_is_noted() -> None:
    [entry] = _after((_event("SessionEnd"), HookClient()))
    assert (entry["state"], entry["metadata"]["end_reason"]) == ("exited", "other")
    assert entry["project_dir"] == "/cwd"


def test_a_prompt_ends_the_process_s_previous_session_and_a_late_stop_does_not_revive_it() -> None:
    sessions = _after(
        (START, CLIENT), (_event("UserPromptSubmit", "bbb"), CLIENT), (_event("Stop"), CLIENT)
    )
    assert _states(sessions) == [("aaa", "exited", "replaced"), ("bbb", "active", None)]


def test_a_stop_from_another_process_does_revive_it() -> None:
    sessions = _after((START, CLIENT), (_event("SessionEnd"), CLIENT), (_event("Stop"), OTHER))
    assert [(e["state"], e["metadata"]["claude_pid"]) for e in sessions] == [("active", 200)]


def test_a_session_wrongly_held_for_crashed_is_active_at_its_next_event() -> None:
    sessions = _after((START, CLIENT))
    mark_crashed(sessions, lambda pid, created_at: False)
    assert _states(sessions) == [("aaa", "crashed", "process gone")]
    assert _states(_after((_event("Stop"), CLIENT), start=sessions)) == [("aaa", "active", None)]


def test_only_active_entries_of_dead_processes_are_marked_crashed() -> None:
    sessions = _after(
        (START, CLIENT),
        (_event("SessionStart", "bbb"), OTHER),
        (_event("SessionStart", "ccc"), HookClient()),
        (_event("SessionEnd", "ddd"), HookClient(process=(400, 1.0))),
    )
    mark_crashed(sessions, lambda pid, created_at: (pid, created_at) == (200, 70.0))
    assert sorted(_states(sessions)) == [
        ("aaa", "crashed", "process gone"),
        ("bbb", "active", None),
        ("ccc", "active", None),
        ("ddd", "exited", "other"),
    ]


def test_agents_are_noted_with_their_types() -> None:
    [entry] = _after(
        (_event("SubagentStart", agent_id="a1", agent_type="Explore"), CLIENT),
        (_event("SubagentStop", agent_id="a1"), CLIENT),
        (_event("SubagentStop", agent_id="a2"), CLIENT),
        (_event("SubagentStop"), CLIENT),
    )
    assert entry["metadata"]["agents"] == {"a1": "Explore", "a2": None}


def test_agents_do_not_grow_without_end() -> None:
    sessions: list[Any] = []
    for number in range(KEPT_AGENTS + 2):
        apply_event(sessions, _event("SubagentStart", agent_id=str(number)), CLIENT, 1.0)
    agents = list(sessions[0]["metadata"]["agents"])
    assert (len(agents), agents[0], agents[-1]) == (KEPT_AGENTS, "2", str(KEPT_AGENTS + 1))


def test_what_others_wrote_is_kept() -> None:
    start: list[Any] = [
        "not an entry",
        {"session_id": "aaa", "mine": 1, "metadata": {"theirs": [2], "agents": 3}},
        {"session_id": "bbb", "metadata": None},
    ]
    sessions = _after(
        (_event("Stop", agent_id="a1"), CLIENT), (_event("Stop", "bbb"), CLIENT), start=start
    )
    assert sessions[0] == "not an entry"
    assert (sessions[1]["mine"], sessions[1]["metadata"]["theirs"]) == (1, [2])
    assert sessions[1]["metadata"]["agents"] == {"a1": None}
    assert sessions[2]["metadata"]["claude_pid"] == 100


def test_the_oldest_of_those_that_are_over_are_forgotten() -> None:
    sessions = _after(
        (START, CLIENT),
        (_event("SessionEnd", "b"), HookClient()),
        (_event("SessionEnd", "c"), HookClient()),
        (_event("Stop", "d"), HookClient()),
    )
    drop_oldest(sessions, kept=2)
    assert [entry["session_id"] for entry in sessions] == ["aaa", "c", "d"]
    drop_oldest(sessions, kept=2)
    assert len(sessions) == 3


@pytest.mark.parametrize("session_id", [None, "", 7, "../x", "a" * 65, "é"])
def test_a_payload_that_names_no_usable_session_is_refused(session_id: Any) -> None:
    sessions: list[Any] = []
    with pytest.raises(PayloadError, match="the payload has no valid session id"):
        apply_event(sessions, {"hook_event_name": "Stop", "session_id": session_id}, CLIENT, 1.0)
    assert sessions == []


def test_fields_of_another_type_are_passed_over() -> None:
    odd: dict[str, Any] = dict.fromkeys(("transcript_path", "cwd", "source", "agent_id"), 7)
    for event in HANDLED:
        [entry] = _after(({**_event(event), **odd}, HookClient()))
        assert (entry["transcript_path"], entry["project_dir"], entry["source"]) == (None,) * 3


@given(st.text(alphabet="aZ09-_. /é\n", max_size=70))
def test_the_hook_and_the_capture_agree_on_session_ids(value: str) -> None:
    try:
        accepted = session_of({"session_id": value}) == value
    except PayloadError:
        accepted = False
    assert accepted is is_session_id(value)


def test_a_stop_keeps_the_proof_of_the_last_answer_until_the_next_prompt() -> None:
    proof = {"length": 3, "hash": "aa"}
    stop = _event("Stop", last_answer=proof, last_assistant_message="yes")
    (entry,) = _after((START, CLIENT), (stop, CLIENT))
    assert entry["metadata"]["last_answer"] == {**proof, "at": 2.0}
    assert "yes" not in str(entry)
    (entry,) = _after((_event("UserPromptSubmit"), CLIENT), start=[entry])
    assert "last_answer" not in entry["metadata"]
    assert entry["metadata"]["prompted_at"] == 1.0
