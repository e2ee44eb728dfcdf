"""The atlas's scenario: one prompt that exercises as many formats as possible."""

from pathlib import Path

from ccwire.demo.stand_in.scenario import (
    Answer,
    Rule,
    Scenario,
    ServerToolUse,
    Text,
    Thinking,
    ToolUse,
    WebSearchResult,
    When,
    agent,
    bash,
    overloaded,
)

TOOLS = ("Bash", "Task", "Agent", "Read", "Write", "Edit", "Glob", "Grep", "TodoWrite", "LS")
_PROMPT = "lab:atlas This is a prompt of the lab, please go ahead."
_ERRAND = "lab:agent-1 "


def everything(cwd: Path) -> Scenario:
    """First overloaded; then thinking, a search, every common tool and a subagent in one turn; last
    a stream that is cut off and retried."""
    path = str(cwd / "notes.txt")
    todo = {"content": "One", "status": "pending", "activeForm": "Doing one", "id": "1"}
    edit = {"file_path": path, "old_string": "one", "new_string": "two"}
    first = Answer(
        (
            Thinking("All at once saves time."),
            Text("I will use every tool there is."),
            ServerToolUse("web_search", {"query": "lab weather"}),
            WebSearchResult((("Lab weather", "https://lab.example/weather"),)),
            bash("echo lab-atlas"),
            ToolUse(("Write", "Replace"), {"file_path": path, "content": "one\n"}),
            ToolUse(("Read", "View"), {"file_path": path}),
            ToolUse(("Edit",), edit),
            ToolUse(("Glob", "GlobTool"), {"pattern": "*.txt"}),
            ToolUse(("Grep", "GrepTool"), {"pattern": "two"}),
            ToolUse(("TodoWrite",), {"todos": [{**todo, "priority": "high"}]}),
            agent(f"{_ERRAND}Run one command, then say what it printed."),
        ),
        cache_writes=("5m", "1h"),
    )
    cut = Answer((Text("The tools have run and the colleague"),), cut_after=5)
    report = Answer((Text("All have reported."),))
    reported = Answer((Text("It printed that."),))
    return Scenario(
        name="everything",
        prompt=_PROMPT,
        rules=(
            Rule(When(opens=_ERRAND, tools=True, after_tool=True), (reported,)),
            Rule(When(opens=_ERRAND, tools=True), (Answer((bash("echo agent-1"),)),)),
            Rule(When(says="lab:atlas", tools=True), (overloaded(), first)),
            Rule(When(after_tool=True), (cut, report)),
        ),
        tools=TOOLS,
    )
