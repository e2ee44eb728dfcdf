"""A turn that is called exact is exact: real clients, with answers that take their time.

Many releases up to 2.1.96 write a block's line when the block ends, before the last event. If the
whole answer is sent at once, that event is there when the line is written, and its usage is final.
"""

from pathlib import Path

import pytest

from ccwire.demo.stand_in.scenario import Answer, Rule, Scenario, Text, Thinking, When, bash
from correlate.reconcile.match import join
from correlate.transcript.finality import finality_of
from correlate.transcript.locate import ClaudeDir
from correlate.transcript.reader import read_transcript
from tests.e2e.real_rig import VERSIONS, real_rig

pytestmark = pytest.mark.real

SLOW = Scenario(
    name="slow",
    prompt="lab:slow Go ahead.",
    tools=("Bash",),
    rules=(
        Rule(
            When(says="lab:slow", tools=True),
            (
                Answer(
                    (Thinking("Let me think."), Text("One block of text."), bash("echo slow")),
                    event_delay=0.1,
                ),
                Answer((Text("A plain answer."),), event_delay=0.1),
            ),
        ),
    ),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_turn_that_is_called_exact_has_the_usage_of_the_wire(
    version: str, tmp_path: Path
) -> None:
    with real_rig(version, tmp_path) as real:
        outcome = real.run(SLOW)
        real.wait_for(outcome.served)
        claude = ClaudeDir(real.claude_dir)
        turns = read_transcript(claude.session(outcome.session_id)).turns
        calls = [call for _, call in real.captured() if call.kind == "messages"]
        found = []
        for pair in join(calls, turns).pairs:
            assert pair.turn.usage is not None and pair.call.usage is not None
            written, served = pair.turn.usage["output_tokens"], pair.call.usage["output_tokens"]
            finality = finality_of(pair.turn.usage, pair.turn.stop_reason)
            assert written == served if finality == "exact" else written <= served
            found.append((finality, written < served))
    # The first answer of these has three blocks: its lines are written before it has ended.
    is_early = version in ("1.0.100", "2.0.73", "2.1.39")
    assert (("lower-bound", True) in found) == is_early
    assert (("exact", False) in found) == (not is_early)
