"""Cases with agents, MCP servers, skills, commands, hooks and other programs."""

from collections.abc import Mapping
from typing import Any

from ccwire.demo.stand_in.scenario import Answer, Rule, Scenario, Text, ToolUse, When, agent, bash
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.scripted import prompt_of, says, with_tool
from lab.matrix.case import Case, Needs, Print

_AGENTS = ("Bash", "Task", "Agent")
_ERRAND = "lab:errand "
_HAIKU = "claude-haiku-4-5-20251001"

_AGENT_FILE = """---
name: lab-errand
description: Runs errands of the lab.
tools: Bash
{more}---
You run one errand of the lab.
"""
_SKILL = """---
name: lab-skill
description: What the lab knows.
---
The lab knows little.
"""
_COMMAND = "lab:command This is a command of the lab, please go ahead.\n"
_MCP_CONFIG = '{"mcpServers": {"lab": {"command": "@PYTHON@", "args": ["@PROJECT@/mcp.py"]}}}'
_MCP_SERVER = """import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, given = asked["method"], asked.get("params", {})
    if method == "initialize":
        result = {
            "protocolVersion": given["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "lab", "version": "1"},
        }
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        tool = {"name": "echo", "description": "Repeats a text.", "inputSchema": schema}
        result = {"tools": [tool]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "echoed by the lab"}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
_SCRIPT = """import json, os, ssl, urllib.request

context = ssl.create_default_context(cafile=os.environ["NODE_EXTRA_CA_CERTS"])
headers = {
    "content-type": "application/json",
    "anthropic-version": "2023-06-01",
    "x-api-key": "sk-ant-api03-made-up-for-the-script",
    "user-agent": "Anthropic/Python 0.90.0",
}
body = {
    "model": "claude-sonnet-4-5-20250929",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "A question of a script of the lab."}],
}


def send(path, body):
    data = None if body is None else json.dumps(body).encode()
    url = "https://api.anthropic.com" + path
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, context=context) as answer:
        print(answer.status, len(answer.read()))


"""
_NESTED = """#!/bin/sh
unset CLAUDECODE
@CLIENT@ -p "{prompt}" < /dev/null
"""


def _errand(*rules: Rule, ask: Answer, name: str, more: tuple[str, ...] = ()) -> Scenario:
    """The model delegates an errand; the agent runs one command and reports."""
    return Scenario(
        name=name,
        prompt=prompt_of(name),
        rules=(
            *rules,
            Rule(When(opens=_ERRAND, after_tool=True), (says("The errand is done."),)),
            Rule(When(opens=_ERRAND), (Answer((bash("echo errand"),)),)),
            Rule(When(says=f"lab:{name}", tools=True), (ask,)),
            Rule(When(after_tool=True), (says("The errand is under way or done."),)),
        ),
        tools=(*_AGENTS, *more),
    )


def _delegated(name: str, kind: str) -> Scenario:
    return _errand(ask=Answer((agent(f"{_ERRAND}Run it.", kind=kind),)), name=name)


def _in_background() -> Scenario:
    call = agent(f"{_ERRAND}Run it.")
    given = {**call.input, "run_in_background": True}
    return _errand(ask=Answer((ToolUse(call.names, given),)), name="background_agent")


def _nested_agents() -> Scenario:
    """The errand's agent delegates once more."""
    inner = "lab:inner "
    return _errand(
        Rule(When(opens=inner, after_tool=True), (says("The inner errand is done."),)),
        Rule(When(opens=inner), (Answer((bash("echo inner"),)),)),
        Rule(When(opens=_ERRAND, after_tool=True), (says("Delegated."),)),
        Rule(When(opens=_ERRAND), (Answer((agent(f"{inner}Run it."),)),)),
        ask=Answer((agent(f"{_ERRAND}Run it."),)),
        name="nested_agents",
    )


def _two_rounds() -> Scenario:
    """Two agents at once that have the same type, and text in the same turn."""
    ask = Answer((Text("Two of them."), agent(f"{_ERRAND}One."), agent(f"{_ERRAND}Two.")))
    return _errand(ask=ask, name="two_agents")


def _background_command() -> Scenario:
    given = {"command": "sleep 0.2; echo late", "description": "x", "run_in_background": True}
    return with_tool("background_command", ToolUse(("Bash",), given))


def _nested_client() -> tuple[Scenario, str]:
    inner = "lab:nested-inner Say something."
    scenario = Scenario(
        name="nested_client",
        prompt=prompt_of("nested_client"),
        rules=(
            Rule(When(says="lab:nested-inner", tools=True), (says("From inside."),)),
            Rule(When(says="lab:nested_client", tools=True), (Answer((bash("sh nested.sh"),)),)),
            Rule(When(after_tool=True), (says("Both have spoken."),)),
        ),
        tools=("Bash",),
    )
    return scenario, _NESTED.format(prompt=inner)


def _hook(event: str, **hook: object) -> Mapping[str, Any]:
    return {"hooks": {event: [{"matcher": "", "hooks": [hook]}]}}


def _script_case(name: str, *lines: str, calls: int = 2) -> Case:
    scenario = with_tool(name, bash("sh script.sh"))
    files = {"script.py": _SCRIPT + "\n".join(lines) + "\n", "script.sh": "@PYTHON@ script.py\n"}
    return Case(name=name, steps=(Print(scenario=scenario),), files=files, calls=calls)


def _hooked(name: str, since: str, settings: Mapping[str, Any], scenario: Scenario) -> Case:
    return Case(
        name=name,
        steps=(Print(scenario=scenario),),
        settings=settings,
        needs=Needs(since=since, options=("--settings",)),
        calls=1,
    )


_BLOCK_ONCE = 'test -e blocked || { touch blocked; echo "Once more, please." >&2; exit 2; }'

CASES = (
    Case(
        name="custom_agent",
        steps=(Print(scenario=_delegated("custom_agent", "lab-errand")),),
        files={".claude/agents/lab-errand.md": _AGENT_FILE.format(more="")},
        needs=Needs(since="1.0.60"),
        calls=4,
    ),
    Case(
        name="custom_agent_model",
        steps=(Print(scenario=_delegated("custom_agent_model", "lab-errand")),),
        files={".claude/agents/lab-errand.md": _AGENT_FILE.format(more="model: haiku\n")},
        needs=Needs(since="1.0.64"),
        calls=4,
    ),
    Case(
        name="agents_option",
        steps=(
            Print(
                scenario=_delegated("agents_option", "lab-option"),
                options=(
                    "--agents",
                    '{"lab-option": {"description": "Lab.", "prompt": "You run errands."}}',
                ),
            ),
        ),
        needs=Needs(options=("--agents",)),
        calls=4,
    ),
    Case(
        name="explore_agent",
        steps=(Print(scenario=_delegated("explore_agent", "Explore")),),
        needs=Needs(since="2.0.17"),
        calls=4,
    ),
    Case(name="two_agents", steps=(Print(scenario=_two_rounds()),), calls=6),
    Case(
        name="background_agent",
        steps=(Print(scenario=_in_background()),),
        needs=Needs(since="2.0.64"),
        calls=3,
    ),
    Case(name="nested_agents", steps=(Print(scenario=_nested_agents()),), calls=3),
    Case(
        name="background_command",
        steps=(Print(scenario=_background_command()),),
        needs=Needs(since="1.0.71"),
        calls=2,
    ),
    Case(
        name="mcp",
        steps=(
            Print(
                scenario=with_tool(
                    "mcp", ToolUse(("mcp__lab__echo",), {"text": "x"}), tools=("mcp__lab__echo",)
                ),
                options=("--mcp-config", "mcp.json"),
            ),
        ),
        files={"mcp.json": _MCP_CONFIG, "mcp.py": _MCP_SERVER},
        needs=Needs(options=("--mcp-config",)),
        calls=2,
    ),
    Case(
        name="skill",
        steps=(
            Print(
                scenario=with_tool(
                    "skill",
                    ToolUse(("Skill",), {"skill": "lab-skill", "command": "lab-skill"}),
                    tools=("Skill",),
                )
            ),
        ),
        files={".claude/skills/lab-skill/SKILL.md": _SKILL},
        needs=Needs(since="2.0.20"),
        calls=2,
    ),
    Case(
        name="slash_command",
        steps=(Print(scenario=named("plain"), prompt="/lab"),),
        files={".claude/commands/lab.md": _COMMAND},
        needs=Needs(since="1.0.0"),
    ),
    Case(
        name="slash_command_model",
        steps=(Print(scenario=named("plain"), prompt="/lab"),),
        files={".claude/commands/lab.md": f"---\nmodel: {_HAIKU}\n---\n{_COMMAND}"},
        needs=Needs(since="1.0.57"),
    ),
    Case(
        name="claude_md",
        steps=(Print(scenario=named("bash")),),
        files={"CLAUDE.md": "The lab prefers short answers.\n"},
        calls=2,
    ),
    Case(
        name="quiet_network",
        steps=(
            Print(scenario=named("bash"), env={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}),
        ),
        calls=2,
    ),
    Case(
        name="no_caching",
        steps=(Print(scenario=named("bash"), env={"DISABLE_PROMPT_CACHING": "1"}),),
        calls=2,
    ),
    _hooked("command_hook", "1.0.62", _hook("PreToolUse", type="command", command="true"),
            named("bash")),
    _hooked("stop_hook_blocks", "1.0.62", _hook("Stop", type="command", command=_BLOCK_ONCE),
            named("plain")),
    _hooked("prompt_hook", "2.0.30", _hook("Stop", type="prompt", prompt="Is it done? $ARGUMENTS"),
            named("prompt_hook")),
    _hooked(
        "prompt_hook_on_tool",
        "2.0.30",
        _hook("PreToolUse", type="prompt", prompt="May it? $ARGUMENTS"),
        named("bash"),
    ),
    _hooked("agent_hook", "2.1.0", _hook("Stop", type="agent", prompt="Is it done? $ARGUMENTS"),
            named("prompt_hook")),
    _hooked("agent_hook_slow", "2.1.0", _hook("Stop", type="agent", prompt="Is it? $ARGUMENTS"),
            named("prompt_hook:delay=0.1")),
    _script_case("script", 'send("/v1/messages", body)', calls=3),
    _script_case(
        "script_batches",
        'send("/v1/messages", body)',
        'send("/v1/messages/batches/msgbatch_lab", None)',
        'send("/v1/models", None)',
        calls=3,
    ),
    _script_case(
        "script_counts",
        'send("/v1/messages/count_tokens", {k: body[k] for k in ("model", "messages")})',
    ),
    Case(
        name="nested_client",
        steps=(Print(scenario=_nested_client()[0]),),
        files={"nested.sh": _nested_client()[1]},
        calls=3,
    ),
)  # fmt: skip
