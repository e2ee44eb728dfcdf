"""The named scenarios, shared by the tests, the demo, the benchmarks and the runs of real clients.

`named("bash")` returns one; `named("stream:deltas=400,delay=0.005")` sets its parameters. Give the
client `scenario.prompt` and allow it `scenario.tools`. All text is made up.
"""

from collections.abc import Callable
from typing import Any

from ccwire.demo.stand_in.odd_scenarios import ODD_BUILDERS
from ccwire.demo.stand_in.scenario import (
    Answer,
    Failure,
    Filler,
    Raw,
    Rule,
    Scenario,
    ServerToolUse,
    Text,
    Thinking,
    Usage,
    WebSearchResult,
    When,
    agent,
    bash,
    overloaded,
    rate_limited,
    server_error,
    too_long,
)
from ccwire.demo.stand_in.scripted import prompt_of, prompted, says, with_tool

_AGENT_TOOLS = ("Bash", "Task", "Agent")
OTHER_MODEL = "claude-opus-4-5-20251101"  # the one that advises, and to which the API falls back


def named(text: str) -> Scenario:
    """Return the scenario `NAME` or `NAME:key=value,…`; raise ValueError if it is unknown."""
    name, _, given = text.partition(":")
    if name not in _BUILDERS:
        raise ValueError(f"unknown scenario {name!r}; expected one of {', '.join(NAMES)}")
    options = dict(pair.split("=", 1) for pair in given.split(",") if pair)
    return _BUILDERS[name](**{key: float(value) for key, value in options.items()})


def plain() -> Scenario:
    """One prompt, one streamed answer."""
    return prompted("plain", (says("A plain answer from the lab."),))


def bash_call() -> Scenario:
    """The model runs one harmless command, then answers."""
    return with_tool("bash", bash("echo lab-bash-was-here"))


def subagent() -> Scenario:
    """The model delegates; the subagent runs one command and reports."""
    return _delegating("subagent", 1)


def three_subagents() -> Scenario:
    """Three subagents in one turn, at the same time."""
    return _delegating("three_subagents", 3)


def retry() -> Scenario:
    """Overloaded twice, then successful."""
    return prompted("retry", (overloaded(), overloaded(), says("It worked in the end.")))


def overloaded_once() -> Scenario:
    return prompted("overloaded", (overloaded(), says("It worked after one more try.")))


def rate_limit() -> Scenario:
    return prompted("rate_limited", (rate_limited(), says("It worked once there was room.")))


def failing() -> Scenario:
    """An internal error, then successful."""
    return prompted("server_error", (server_error(), says("It worked after an error.")))


def dropped() -> Scenario:
    """The connection is closed in the middle of the stream; the next attempt succeeds."""
    cut = Answer(
        (Text("This sentence will be cut off before it has come to its end."),), cut_after=7
    )
    return prompted("dropped", (cut, says("Said again, and whole this time.")))


def error_event() -> Scenario:
    """An error event in the middle of the stream; the next attempt succeeds."""
    broken = Answer(
        (Text("This sentence runs into an error."),),
        error_after=6,
        mid_stream=Failure(status=529, type="overloaded_error", message="Overloaded"),
    )
    return prompted("error_event", (broken, says("Said again without streaming.")))


def prompt_too_long() -> Scenario:
    return prompted("too_long", (too_long(),))


def thinking() -> Scenario:
    """Thinking, a tool call with thinking before it, then the answer."""
    return with_tool("thinking", Thinking("A command will tell."), bash("echo thought"))


def server_tool() -> Scenario:
    """The API runs a web search, so that input tokens are higher at the end than at the start."""
    usage = Usage(
        input_tokens=9_413,
        start_input_tokens=2_711,
        output_tokens=367,
        cache_read_input_tokens=14_153,
        web_search_requests=2,
    )
    content = (
        Text("Looking it up."),
        ServerToolUse("web_search", {"query": "lab weather"}),
        WebSearchResult((("Lab weather", "https://lab.example/weather"),)),
        Text("The lab has no weather."),
    )
    return prompted("server_tool", (Answer(content, usage=usage),))


def advisor() -> Scenario:
    """Another model advises in the middle of the answer; the top level of the usage omits it."""
    usage = Usage(
        input_tokens=412,
        output_tokens=531,
        cache_read_input_tokens=6_007,
        extra={
            "iterations": [
                iteration("message", input_tokens=412, output_tokens=89, read=6_007),
                iteration("advisor_message", OTHER_MODEL, input_tokens=7_823, output_tokens=1_612),
                iteration("message", input_tokens=1_348, output_tokens=442, read=6_419),
            ]
        },
    )
    tool_id = "srvtoolu_01labAdvisorLabAdvisor1"
    advice = {"type": "advisor_result", "text": "Measure first."}
    content = (
        Text("Let me ask."),
        Raw({"type": "server_tool_use", "id": tool_id, "name": "advisor", "input": {}}),
        Raw({"type": "advisor_tool_result", "tool_use_id": tool_id, "content": advice}),
        Text("The advice was to measure first."),
    )
    return prompted("advisor", (Answer(content, usage=usage),))


def fallback_model() -> Scenario:
    """The asked model declines in the API, and another one serves the answer."""
    usage = Usage(
        input_tokens=1_109,
        output_tokens=307,
        cache_read_input_tokens=8_011,
        extra={
            "iterations": [
                iteration("message", input_tokens=1_103, output_tokens=3, read=8_009),
                iteration(
                    "fallback_message",
                    OTHER_MODEL,
                    input_tokens=1_109,
                    output_tokens=307,
                    read=8_011,
                ),
            ]
        },
    )
    answer = Answer((Text("Another model says this."),), usage=usage, model=OTHER_MODEL)
    return prompted("fallback_model", (answer,))


def compaction_iteration() -> Scenario:
    """The API compacts the context before it answers; the top level of the usage omits that."""
    usage = Usage(
        input_tokens=2_311,
        output_tokens=283,
        extra={
            "iterations": [
                iteration("compaction", input_tokens=18_013, output_tokens=701),
                iteration("message", input_tokens=2_311, output_tokens=283),
            ]
        },
    )
    answer = Answer((Text("Said after a summary."),), usage=usage)
    return prompted("compaction_iteration", (answer,))


def iteration(
    kind: str, model: str | None = None, *, input_tokens: int, output_tokens: int, read: int = 0
) -> dict[str, Any]:
    """Return an entry of `usage.iterations`."""
    return {
        "type": kind,
        **({"model": model} if model else {}),
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
    }


def compact() -> Scenario:
    """A long answer to the prompt, and a summary to any other call, for /compact."""
    rule = Rule(When(says="lab:compact"), (says("A long answer. " * 12),))
    summary = says("<summary>The lab was asked something and has answered.</summary>")
    return Scenario(name="compact", prompt=prompt_of("compact"), rules=(rule,), fallback=summary)


def slow(deltas: float = 60, delay: float = 0.05) -> Scenario:
    """A stream of a few seconds, so that there is time to interrupt it."""
    answer = Answer((Filler(int(deltas)),), event_delay=delay)
    return Scenario(
        name="slow",
        prompt=prompt_of("slow"),
        rules=(Rule(When(says="lab:slow", tools=True), (answer,)),),
    )


def stream(deltas: float = 400, delay: float = 0, batch: float = 1, size: float = 6) -> Scenario:
    """A stream of `deltas` deltas for every call, for benchmarks."""
    answer = Answer((Filler(int(deltas), int(size)),), event_delay=delay, batch=int(batch))
    return Scenario(name="stream", prompt=prompt_of("stream"), fallback=answer)


def equal_usage() -> Scenario:
    """Two calls of one session with identical usage."""
    usage = Usage(input_tokens=1_237, output_tokens=419, cache_read_input_tokens=15_013)
    return Scenario(
        name="equal_usage",
        prompt=prompt_of("equal_usage"),
        rules=(
            Rule(
                When(says="lab:equal_usage", tools=True),
                (Answer((bash("echo equal"),), usage=usage),),
            ),
            Rule(When(after_tool=True), (Answer((Text("Equal indeed."),), usage=usage),)),
        ),
        tools=("Bash",),
    )


def cached() -> Scenario:
    """Cache writes for 5 minutes and 1 hour, then for 1 hour only."""
    return Scenario(
        name="cached",
        prompt=prompt_of("cached"),
        rules=(
            Rule(
                When(says="lab:cached", tools=True),
                (Answer((bash("echo cached"),), cache_writes=("5m", "1h")),),
            ),
            Rule(
                When(after_tool=True),
                (Answer((Text("Kept for an hour."),), cache_writes=("1h",)),),
            ),
        ),
        tools=("Bash",),
    )


def stalled(seconds: float = 1.0) -> Scenario:
    """A stream that pauses in the middle, then continues."""
    answer = Answer((Text("Wait for it, and here it is."),), stall_after=5, stall=seconds)
    return prompted("stalled", (answer,))


def compressed(encoding: str) -> Scenario:
    """The plain answer in gzip, br, zstd or deflate."""
    answer = Answer((Text(f"A plain answer, sent as {encoding}."),), encoding=encoding)
    return Scenario(name=encoding, prompt=prompt_of(encoding), fallback=answer)


def mix() -> Scenario:
    """A retry, thinking, a command, a subagent and a dropped stream in one prompt."""
    first = Answer(
        (
            Thinking("Both at once saves time."),
            Text("I will run a command and ask a colleague."),
            bash("echo lab-mix"),
            agent("lab:agent-1 Run one command, then say what it printed."),
        ),
        cache_writes=("5m", "1h"),
    )
    cut = Answer((Text("The command has run and the colleague"),), cut_after=5)
    return Scenario(
        name="mix",
        prompt=prompt_of("mix"),
        rules=(
            *_errand(1),
            Rule(When(says="lab:mix", tools=True), (overloaded(), first)),
            Rule(When(after_tool=True), (cut, says("Both have reported."))),
        ),
        tools=_AGENT_TOOLS,
    )


def _delegating(name: str, count: int) -> Scenario:
    errands = tuple(
        agent(f"lab:agent-{n} Run one command, then say what it printed.", f"Lab errand {n}")
        for n in range(1, count + 1)
    )
    rules = [rule for n in range(1, count + 1) for rule in _errand(n)]
    return Scenario(
        name=name,
        prompt=prompt_of(name),
        rules=(
            *rules,
            Rule(When(says=f"lab:{name}", tools=True), (Answer(errands),)),
            Rule(When(after_tool=True), (says("The errands are under way or done."),)),
        ),
        tools=_AGENT_TOOLS,
    )


def _errand(number: int) -> tuple[Rule, Rule]:
    """Return a subagent's rules: one command, then its report."""
    marker = f"lab:agent-{number} "
    command = Answer((bash(f"echo agent-{number}"),))
    return (
        Rule(When(opens=marker, after_tool=True), (says(f"It printed agent-{number}."),)),
        Rule(When(opens=marker), (command,)),
    )


_BUILDERS: dict[str, Callable[..., Scenario]] = {
    "plain": plain,
    "bash": bash_call,
    "subagent": subagent,
    "three_subagents": three_subagents,
    "retry": retry,
    "rate_limited": rate_limit,
    "overloaded": overloaded_once,
    "server_error": failing,
    "dropped": dropped,
    "error_event": error_event,
    "too_long": prompt_too_long,
    "thinking": thinking,
    "server_tool": server_tool,
    "advisor": advisor,
    "fallback_model": fallback_model,
    "compaction_iteration": compaction_iteration,
    "compact": compact,
    "slow": slow,
    "stream": stream,
    "equal_usage": equal_usage,
    "cached": cached,
    "stalled": stalled,
    "gzip": lambda: compressed("gzip"),
    "br": lambda: compressed("br"),
    "zstd": lambda: compressed("zstd"),
    "deflate": lambda: compressed("deflate"),
    "mix": mix,
    **ODD_BUILDERS,
}
NAMES = tuple(_BUILDERS)
