"""One session, recorded end to end: stand-in, proxy, hooks, simulated client.

Token counts derive from the stand-in's seed and the order of the calls. The client makes one call
at a time here, so they are the same in every run; times, ports and numbers of exchanges may differ.
"""

from dataclasses import dataclass
from pathlib import Path

from addon.claude_settings.hooks_text import hook_command, hook_settings
from ccwire.demo.client.simulated import SimulatedClient
from ccwire.demo.stand_in.scenario import (
    Answer,
    Rule,
    Scenario,
    Text,
    Thinking,
    When,
    agent,
    bash,
    overloaded,
)
from correlate.captures.folder import read_exchanges
from tests.rig import rig, until

SESSION = "6f1c2a9e-0000-4000-8000-000000000001"
VERSION = "2.1.39"  # a release whose transcripts hold placeholders

# An overloaded API, thinking, a subagent that runs a command, and an answer that is cut off.
SCENARIO = Scenario(
    name="recorded",
    prompt="lab:recorded Please go ahead.",
    rules=(
        Rule(When(opens="lab:agent ", after_tool=True), (Answer((Text("It printed one."),)),)),
        Rule(When(opens="lab:agent "), (Answer((bash("echo one"),)),)),
        Rule(
            When(says="lab:recorded", tools=True),
            (
                overloaded(),
                Answer(
                    (Thinking("An agent can do it."), agent("lab:agent Run one command.")),
                    cache_writes=("5m", "1h"),
                ),
            ),
        ),
        Rule(
            When(after_tool=True),
            (Answer((Text("The agent has"),), cut_after=4), Answer((Text("The agent is done."),))),
        ),
    ),
    tools=("Bash", "Task"),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Where everything is; the proxy has been stopped."""

    root: Path
    captures: Path
    claude_dir: Path
    sessions: Path

    @property
    def folder(self) -> Path:
        return self.captures / SESSION


def record(root: Path) -> Recorded:
    home, cwd = root / "home", root / "project"
    cwd.mkdir()
    with rig(root, SCENARIO) as made:
        sessions = root / "sessions.json"
        SimulatedClient(
            VERSION,
            home=home,
            cwd=cwd,
            proxy_port=made.proxy.port,
            ca_cert=made.proxy.ca_cert,
            settings=hook_settings(hook_command(sessions)),
            session_id=SESSION,
        ).run(SCENARIO.prompt)
        made.api.ledger.wait()
        served = {call.request_id for call in made.api.ledger.messages(SESSION)}
        folder = made.captures / SESSION
        until(lambda: served <= {exchange.request_id for exchange in read_exchanges(folder)})
    return Recorded(root, made.captures, home / ".claude", sessions)
