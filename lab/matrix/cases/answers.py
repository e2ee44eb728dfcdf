"""Cases of one prompt in print mode: the stand-in's named scenarios, and further odd answers."""

from ccwire.demo.stand_in.scenario import (
    Answer,
    Failure,
    Filler,
    Raw,
    Rule,
    Scenario,
    Text,
    When,
    bash,
)
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.scripted import prompt_of, prompted, says, with_tool
from lab.matrix.case import Case, Needs, Print

# The calls of each, where there is more than one: fewer means that it did not happen.
_CALLS = {
    "bash": 2, "thinking": 2, "equal_usage": 2, "cached": 2, "mix": 4, "subagent": 4,
    "three_subagents": 8, "retry": 3, "rate_limited": 2, "overloaded": 2, "server_error": 2,
    "dropped": 2, "error_event": 2, "web_search": 3,
}  # fmt: skip
_NAMED = (
    "plain", "bash", "subagent", "three_subagents", "retry", "rate_limited", "overloaded",
    "server_error", "dropped", "error_event", "too_long", "thinking", "server_tool",
    "equal_usage", "cached", "gzip", "br", "deflate", "mix", "refusal", "refusal_with_text",
    "empty_answer", "html_page", "json_page", "empty_page", "whole_message", "first_error",
    "reset_after_head", "bare_start", "unknown_events", "max_tokens", "stop_sequence",
    "pause_turn", "model_context_window_exceeded", "advisor", "compaction_iteration",
)  # fmt: skip


def _failing(name: str, status: int, kind: str, message: str) -> Scenario:
    """The main prompt fails for good."""
    failure = Failure(status=status, type=kind, message=message)
    return prompted(name, (Answer(failure=failure),))


def _unknown_block() -> Scenario:
    block = Raw({"type": "lab_block", "lab": "a block that no release knows"})
    return prompted("unknown_block", (Answer((block, Text("With a block of the lab."))),))


def _reset() -> Scenario:
    cut = Answer((Text("This is reset before it has come to its end."),), cut_after=6, reset=True)
    return prompted("reset", (cut, says("Said again after a reset.")))


def _truncated_gzip() -> Scenario:
    cut = Answer((Filler(40),), encoding="gzip", cut_after=20)
    return prompted("truncated_gzip", (cut, says("Said again, whole.")))


def _fails_after_tool() -> Scenario:
    return Scenario(
        name="fails_after_tool",
        prompt=prompt_of("fails_after_tool"),
        rules=(
            Rule(When(says="lab:fails_after_tool", tools=True), (Answer((bash("echo one"),)),)),
            Rule(
                When(after_tool=True),
                (
                    Answer(failure=Failure(status=500, type="api_error", message="Internal")),
                    says("It worked after an error."),
                ),
            ),
        ),
        tools=("Bash",),
    )


_BUILT = (
    _failing("bad_request", 400, "invalid_request_error", "messages: the lab refuses this."),
    _failing("no_credit", 400, "invalid_request_error", "Your credit balance is too low."),
    _failing("not_allowed", 403, "permission_error", "The lab does not allow this."),
    _failing("no_such_model", 404, "not_found_error", "model: lab"),
    _failing("too_large", 413, "request_too_large", "The request is too large."),
    _unknown_block(),
    _reset(),
    _truncated_gzip(),
    _fails_after_tool(),
    with_tool("three_commands", bash("echo 1"), bash("echo 2"), bash("echo 3")),
    with_tool("failing_command", bash("exit 3")),
    with_tool("text_and_command", Text("First a word."), bash("echo word")),
)

CASES = (
    *(
        Case(name=name, steps=(Print(scenario=named(name)),), calls=_CALLS.get(name, 1))
        for name in _NAMED
    ),
    Case(name="server_fallback", steps=(Print(scenario=named("fallback_model")),)),
    Case(name="stalled", steps=(Print(scenario=named("stalled:seconds=0.5")),)),
    Case(name="slow", steps=(Print(scenario=named("slow:deltas=60,delay=0.01")),)),
    Case(name="long", steps=(Print(scenario=named("stream:deltas=2000,batch=50")),)),
    Case(
        name="web_search",
        steps=(Print(scenario=named("web_search")),),
        needs=Needs(words=("WebSearch", "web_search_20250305")),
        calls=3,
    ),
    *(Case(name=built.name, steps=(Print(scenario=built),)) for built in _BUILT),
    Case(
        name="denied_command",
        steps=(Print(scenario=with_tool("denied_command", bash("touch x")), tools=()),),
        calls=2,
    ),
)
