"""The parts that scenarios are made of: a prompt, and the answers to it."""

from ccwire.demo.stand_in.scenario import Answer, Rule, Scenario, ScriptedBlock, Text, When


def prompt_of(name: str) -> str:
    return f"lab:{name} This is a prompt of the lab, please go ahead."


def says(text: str) -> Answer:
    return Answer((Text(text),))


def prompted(name: str, answers: tuple[Answer, ...]) -> Scenario:
    """Answer the main prompt with `answers`, but not side calls, which have no tools."""
    rule = Rule(When(says=f"lab:{name}", tools=True), answers)
    return Scenario(name=name, prompt=prompt_of(name), rules=(rule,))


def with_tool(name: str, *content: ScriptedBlock, tools: tuple[str, ...] = ("Bash",)) -> Scenario:
    """Call a tool, then answer."""
    return Scenario(
        name=name,
        prompt=prompt_of(name),
        rules=(
            Rule(When(says=f"lab:{name}", tools=True), (Answer(content),)),
            Rule(When(after_tool=True), (says("The command has run."),)),
        ),
        tools=tools,
    )
