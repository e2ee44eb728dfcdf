"""Scenarios in which the answer is not what was asked for, or which make the client ask on its own.

`ccwire.demo.stand_in.scenarios` lists them by name with the others. All text is made up.
"""

import json
from collections.abc import Callable

from ccwire.demo.stand_in.scenario import (
    Answer,
    Failure,
    OtherBody,
    Rule,
    Scenario,
    ServerToolUse,
    Text,
    ToolUse,
    Usage,
    WebSearchResult,
    When,
)
from ccwire.demo.stand_in.scripted import prompt_of, prompted, says, with_tool

_PAGE = b"<!doctype html><html><body><h1>Lab portal</h1>Please sign in.</body></html>"
_NOT_A_MESSAGE = json.dumps({"ok": False, "reason": "the lab's gateway is under maintenance"})


def web_search() -> Scenario:
    """The client's own tool for web searches: it makes a call whose only tool is the API's."""
    found = Answer(
        (
            ServerToolUse("web_search", {"query": "lab weather"}),
            WebSearchResult((("Lab weather", "https://lab.example/weather"),)),
            Text("The lab has no weather."),
        ),
        usage=Usage(
            input_tokens=6_113,
            start_input_tokens=1_409,
            output_tokens=211,
            web_search_requests=1,
        ),
    )
    searching = with_tool(
        "web_search", ToolUse(("WebSearch",), {"query": "lab weather"}), tools=("WebSearch",)
    )
    side_call = Rule(When(offers="web_search"), (found,))
    return Scenario(
        name=searching.name,
        prompt=searching.prompt,
        rules=(side_call, *searching.rules),
        tools=searching.tools,
    )


def prompt_hook(delay: float = 0) -> Scenario:
    """Every other call is answered as a hook that is a prompt, or an agent, expects it.

    `delay`: seconds between the events of an agent's answer.
    """
    allowed = ToolUse(("StructuredOutput", "SyntheticOutput"), {"ok": True})
    return Scenario(
        name="prompt_hook",
        prompt=prompt_of("prompt_hook"),
        rules=(
            Rule(When(offers="StructuredOutput", after_tool=True), (says("Checked."),)),
            Rule(When(offers="StructuredOutput"), (Answer((allowed,), event_delay=delay),)),
            Rule(When(says="lab:prompt_hook", tools=True), (says("A plain answer."),)),
        ),
        fallback=says('{"ok": true}'),
    )


def refusal() -> Scenario:
    """The model refuses without a word."""
    return prompted("refusal", (Answer(stop_reason="refusal"),))


def refusal_with_text() -> Scenario:
    """The model begins to answer, then refuses."""
    answer = Answer((Text("I would rather"),), stop_reason="refusal")
    return prompted("refusal_with_text", (answer,))


def empty_answer() -> Scenario:
    """A whole answer without content."""
    return prompted("empty_answer", (Answer(), says("Something after all.")))


def stopped(reason: str) -> Scenario:
    """An answer with this stop reason."""
    answer = Answer((Text("As far as it goes."),), stop_reason=reason)
    return prompted(reason, (answer, says("The rest of it.")))


def html_page() -> Scenario:
    """A web page with status 200 instead of a stream; the next attempt succeeds."""
    return _other_body("html_page", OtherBody(type="text/html; charset=utf-8", data=_PAGE))


def json_page() -> Scenario:
    """JSON that is no message, with status 200; the next attempt succeeds."""
    page = OtherBody(type="application/json", data=_NOT_A_MESSAGE.encode())
    return _other_body("json_page", page)


def empty_page() -> Scenario:
    """Status 200 and nothing else; the next attempt succeeds."""
    return _other_body("empty_page", OtherBody(type="text/event-stream"))


def whole_message() -> Scenario:
    """A message as one JSON where a stream was requested; the next attempt succeeds."""
    whole = Answer((Text("All at once."),), whole=True)
    return prompted("whole_message", (whole, says("Piece by piece.")))


def first_error() -> Scenario:
    """An error as the first event of the stream; the next attempt succeeds."""
    broken = Answer(
        (Text("Not a word of this arrives."),),
        error_after=0,
        mid_stream=Failure(status=529, type="overloaded_error", message="Overloaded"),
    )
    return prompted("first_error", (broken, says("Said after an error.")))


def reset_after_head() -> Scenario:
    """The connection is reset right after the headers; the next attempt succeeds."""
    cut = Answer((Text("Not a word of this arrives."),), cut_after=0, reset=True)
    return prompted("reset_after_head", (cut, says("Said after a reset.")))


def bare_start() -> Scenario:
    """`message_start` has no usage."""
    answer = Answer((Text("Counted at the end only."),), bare_start=True)
    return prompted("bare_start", (answer,))


def unknown_events() -> Scenario:
    """Events and blocks that no release knows."""
    event = b'event: lab_event\ndata: {"type":"lab_event","lab":1}\n\n'
    answer = Answer((Text("Events of the lab."),), inserted=(event,))
    return prompted("unknown_events", (answer,))


def _other_body(name: str, body: OtherBody) -> Scenario:
    return prompted(name, (Answer(body=body), says("Said after another body.")))


def _stopping(reason: str) -> Callable[[], Scenario]:
    return lambda: stopped(reason)


ODD_BUILDERS: dict[str, Callable[..., Scenario]] = {
    "web_search": web_search,
    "prompt_hook": prompt_hook,
    "refusal": refusal,
    "refusal_with_text": refusal_with_text,
    "empty_answer": empty_answer,
    "html_page": html_page,
    "json_page": json_page,
    "empty_page": empty_page,
    "whole_message": whole_message,
    "first_error": first_error,
    "reset_after_head": reset_after_head,
    "bare_start": bare_start,
    "unknown_events": unknown_events,
    **{
        reason: _stopping(reason)
        for reason in (
            "max_tokens",
            "stop_sequence",
            "pause_turn",
            "model_context_window_exceeded",
        )
    },
}
