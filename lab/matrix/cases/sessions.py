"""Cases of several runs in one folder: continued, resumed, forked, compacted, killed, at once."""

import json

from ccwire.demo.stand_in.scenario import (
    Answer,
    Filler,
    Rule,
    Scenario,
    ToolUse,
    When,
    bash,
    overloaded,
)
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.scripted import prompt_of, says
from lab.matrix.case import Case, Needs, Print, Together

_PLAIN, _BASH, _COMPACT = named("plain"), named("bash"), named("compact")
_SUBAGENT = named("subagent")
_OLDER = ("1.0.100", "2.1.39")
_CONTINUE = Needs(options=("--continue",))
_RESUME = Needs(options=("--resume",))
_FORK = Needs(options=("--fork-session",))
# `/compact` in print mode; before, the words went to the model.
_COMPACTS = Needs(options=("--continue",), words=("compact_boundary",))
# Some releases find one answer not enough to compact.
_TURNED = (Print(scenario=_COMPACT), Print(scenario=_COMPACT, go_on="continue"))
_COMPACTED = Print(scenario=_COMPACT, prompt="/compact", go_on="continue")
_SCHEMA = {"type": "object", "properties": {"lab": {"type": "string"}}, "required": ["lab"]}
_OPUS, _SONNET = "claude-opus-4-1-20250805", "claude-sonnet-4-5-20250929"
_IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5Erk"
    "Jggg=="
)


def _cut_short() -> Scenario:
    """A command, then an answer that takes long enough to be killed in."""
    return Scenario(
        name="cut_short",
        prompt=prompt_of("cut_short"),
        rules=(
            Rule(When(says="lab:cut_short", tools=True), (Answer((bash("echo cut"),)),)),
            Rule(When(after_tool=True), (Answer((Filler(400),), event_delay=0.05),)),
        ),
        tools=("Bash",),
    )


def _falls_back() -> Scenario:
    """One model is overloaded for good, every other one answers."""
    return Scenario(
        name="falls_back",
        prompt=prompt_of("falls_back"),
        rules=(Rule(When(says="lab:falls_back", tools=True, model="opus"), (overloaded(),)),),
        fallback=says("Another model answers."),
    )


def _structured() -> Scenario:
    """The answer as a call of the tool that `--json-schema` offers."""
    given = ToolUse(("StructuredOutput",), {"lab": "as asked"})
    return Scenario(
        name="structured",
        prompt=prompt_of("structured"),
        rules=(
            Rule(When(offers="StructuredOutput", after_tool=True), (says("Given as asked."),)),
            Rule(When(offers="StructuredOutput"), (Answer((given,)),)),
        ),
    )


def _no_tools() -> Scenario:
    """Any call with the prompt is answered, also one without tools."""
    rule = Rule(When(says="lab:no_tools"), (says("Said without tools."),))
    return Scenario(name="no_tools", prompt=prompt_of("no_tools"), rules=(rule,))


def _user(text: str, *more: dict[str, object]) -> dict[str, object]:
    content = [{"type": "text", "text": text}, *more]
    return {"type": "user", "message": {"role": "user", "content": content}}


def _picture() -> dict[str, object]:
    source = {"type": "base64", "media_type": "image/png", "data": _IMAGE}
    return {"type": "image", "source": source}


def _then(
    name: str, *steps: Print, needs: Needs = _CONTINUE, calls: int = 2, seconds: float = 45.0
) -> Case:
    return Case(name=name, steps=steps, needs=needs, calls=calls, seconds=seconds)


def _once(name: str, *options: str, scenario: Scenario = _PLAIN, calls: int = 1) -> Case:
    """One run with options; the first must be in `--help`."""
    run = Print(scenario=scenario, options=options)
    return Case(name=name, steps=(run,), needs=Needs(options=options[:1]), calls=calls)


def _stdin(name: str, *messages: dict[str, object], calls: int = 1) -> Case:
    run = Print(scenario=_PLAIN, sends=messages)
    return Case(name=name, steps=(run,), needs=Needs(options=("--input-format",)), calls=calls)


CASES = (
    _then("continue", Print(scenario=_BASH), Print(scenario=_PLAIN, go_on="continue"), calls=3),
    _then(
        "continue_twice",
        Print(scenario=_PLAIN),
        Print(scenario=_BASH, go_on="continue"),
        Print(scenario=_PLAIN, go_on="continue"),
        calls=4,
    ),
    _then("resume", Print(scenario=_BASH), Print(scenario=_BASH, go_on="resume"), needs=_RESUME),
    _then("fork", Print(scenario=_BASH), Print(scenario=_PLAIN, go_on="fork"), needs=_FORK),
    _then(
        "fork_of_fork",
        Print(scenario=_PLAIN),
        Print(scenario=_PLAIN, go_on="fork"),
        Print(scenario=_BASH, go_on="fork"),
        needs=_FORK,
        calls=4,
    ),
    _then("compact_print", *_TURNED, _COMPACTED, needs=_COMPACTS, calls=3),
    _then(
        "continue_after_compact",
        *(*_TURNED, _COMPACTED, Print(scenario=_BASH, go_on="continue")),
        needs=_COMPACTS,
        calls=5,
    ),
    _then(
        "fork_after_compact",
        *(*_TURNED, _COMPACTED, Print(scenario=_PLAIN, go_on="fork")),
        needs=Needs(options=_FORK.options, words=_COMPACTS.words),
        calls=4,
    ),
    _then(
        "continue_with_agents",
        Print(scenario=_SUBAGENT),
        Print(scenario=_SUBAGENT, go_on="continue"),
        calls=8,
    ),
    _then(
        "fork_with_agents",
        Print(scenario=_SUBAGENT),
        Print(scenario=_PLAIN, go_on="fork"),
        needs=_FORK,
        calls=5,
    ),
    _then(
        "compact_with_agents",
        Print(scenario=_SUBAGENT),
        _COMPACTED,
        Print(scenario=_PLAIN, go_on="continue"),
        needs=_COMPACTS,
        calls=6,
    ),
    _then(
        "continue_after_error",
        Print(scenario=named("too_long")),
        Print(scenario=_PLAIN, go_on="continue"),
    ),
    _then(
        "killed_and_resumed",
        Print(scenario=_cut_short(), kill_after=1),
        Print(scenario=_PLAIN, go_on="continue"),
        calls=3,
    ),
    _then(
        "begun_on_older",
        Print(scenario=_BASH, older=_OLDER),
        Print(scenario=_PLAIN, go_on="continue"),
        needs=Needs(since="1.0.101", options=("--continue",)),
        calls=3,
    ),
    _then(
        "begun_on_older_then_twice",
        Print(scenario=_PLAIN, older=_OLDER),
        Print(scenario=_BASH, go_on="continue"),
        Print(scenario=_PLAIN, go_on="continue"),
        needs=Needs(since="1.0.101", options=("--continue",)),
        calls=4,
    ),
    _then(
        "another_model",
        Print(scenario=_PLAIN),
        Print(scenario=_PLAIN, go_on="continue", options=("--model", _SONNET)),
        needs=Needs(options=("--continue", "--model")),
    ),
    Case(
        name="two_at_once",
        steps=(Together((Print(scenario=_BASH), Print(scenario=_BASH))),),
        calls=4,
    ),
    Case(
        name="three_at_once",
        steps=(Together((Print(scenario=_SUBAGENT),) * 3),),
        calls=12,
    ),
    _once("no_persistence", "--no-session-persistence", scenario=_BASH, calls=2),
    _once("session_id", "--session-id", "5ab1ab1a-0000-4000-8000-0000000000ab"),
    _once("no_tools", "--tools", "", scenario=_no_tools()),
    _once(
        "no_tools_no_persistence",
        *("--no-session-persistence", "--tools", ""),
        scenario=_no_tools(),
    ),
    _once("append_system_prompt", "--append-system-prompt", "Mention the lab.", scenario=_BASH),
    _once("system_prompt", "--system-prompt", "You are the lab."),
    Case(  # `--help` does not list it
        name="max_turns",
        steps=(Print(scenario=_BASH, options=("--max-turns", "1")),),
        needs=Needs(words=("--max-turns",)),
    ),
    _once(
        "fallback_model",
        *("--fallback-model", _SONNET, "--model", _OPUS),
        scenario=_falls_back(),
        calls=2,
    ),
    _once(
        "json_schema", "--json-schema", json.dumps(_SCHEMA), scenario=_structured()
    ),
    _once("plan_mode_print", "--permission-mode", "plan"),
    _once("haiku", "--model", "claude-haiku-4-5-20251001", scenario=_BASH, calls=2),
    Case(
        name="stream_json",
        steps=(Print(scenario=_BASH, stream_json=True),),
        needs=Needs(options=("--output-format",), words=("stream-json",)),
        calls=2,
    ),
    Case(
        name="partial_messages",
        steps=(Print(scenario=_BASH, stream_json=True, options=("--include-partial-messages",)),),
        needs=Needs(options=("--include-partial-messages",)),
        calls=2,
    ),
    _stdin("stdin_message", _user(_PLAIN.prompt)),
    _stdin("stdin_messages", _user(_PLAIN.prompt), _user(f"{_PLAIN.prompt} And more."), calls=2),
    _stdin("stdin_image", _user(_PLAIN.prompt, _picture())),
)  # fmt: skip
