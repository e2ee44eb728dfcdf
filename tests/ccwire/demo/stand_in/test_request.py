"""Requests as the stand-in parses them."""

import json
from typing import Any

import pytest

from ccwire.demo.stand_in.request import Request

SESSION = "0f3c1c0a-4b5e-4d7f-9a2b-3c4d5e6f7a8b"


def read(body: Any, **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request.read("POST", "/v1/messages?beta=true", named, json.dumps(body).encode())


@pytest.mark.parametrize(
    "user_id",
    [
        f"user_abc_account__session_{SESSION}",
        json.dumps({"device_id": "d", "account_uuid": "", "session_id": SESSION}),
    ],
)
def test_the_session_is_read_from_either_form_of_user_id(user_id: str) -> None:
    assert read({"metadata": {"user_id": user_id}}).session_id == SESSION


def test_the_session_header_wins() -> None:
    body = {"metadata": {"user_id": f"user_a_account_b_session_{SESSION}"}}
    assert read(body, x_claude_code_session_id="another").session_id == "another"


@pytest.mark.parametrize("metadata", [None, {}, {"user_id": 7}, {"user_id": "user_x"}])
def test_no_session_is_none(metadata: Any) -> None:
    assert read({"metadata": metadata}).session_id is None


def test_a_tools_result_is_not_a_prompt() -> None:
    asked = {"role": "user", "content": [{"type": "text", "text": "go"}]}
    result = {"role": "user", "content": [{"type": "tool_result", "content": "go"}]}
    prompt = read({"messages": [asked]})
    after = read({"messages": [asked, {"role": "assistant", "content": []}, result]})
    assert (prompt.prompt, prompt.after_tool) == ("go", False)
    assert (after.opening, after.prompt, after.after_tool) == ("go", "", True)


def test_a_retry_is_the_same_call_even_without_streaming() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
    first = read({**body, "stream": True})
    assert first.same_call() == read(body).same_call()
    assert first.same_call() != read({**body, "model": "n"}).same_call()


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b'{"messages": "x", "tools": 3}'])
def test_any_body_can_be_read(body: bytes) -> None:
    request = Request.read("POST", "/v1/messages", {}, body)
    assert (request.model, request.messages, request.stream) == ("", 0, False)
