"""What one more call costs to reconcile in a short and in a long session: `python -m bench.growth`.

Sessions of 100, 1,000 and 10,000 calls, with tools, subagents, retries and calls that the
transcript lacks. Compared is what each further call costs between the longer two with what it
costs between the shorter two, in processor time: 1 is linear.
"""

import tempfile
import time
from pathlib import Path

import click

from bench.figure import Figure, at_most, print_figures
from correlate.account import Accountant
from correlate.places import Places
from lab.made_session import MadeSession

SIZES = (100, 1_000, 10_000)
REACH = 1.2


@click.command()
@click.option("--rounds", default=7, show_default=True, help="Runs of each.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of lines.")
def main(rounds: int, as_json: bool) -> None:
    """Measure how the cost of reconciling grows with a session."""
    with tempfile.TemporaryDirectory(prefix="ccwire-bench-") as folder:
        print_figures([_growth(Path(folder), rounds)], as_json=as_json)


def _growth(folder: Path, rounds: int) -> Figure:
    for size in SIZES:
        _session(size).write(folder / "claude", folder / "captures")
    ratios = []
    per_call = []
    for _ in range(rounds):
        short, middle, long = (_seconds(folder, size) for size in SIZES)
        first = (middle - short) / (SIZES[1] - SIZES[0])
        then = (long - middle) / (SIZES[2] - SIZES[1])
        ratios.append(then / first)
        per_call.append(then)
    return at_most(
        "cost of a further call, session of 10,000",
        ratios,
        REACH,
        against="one of 1,000",
        detail=f"{min(per_call) * 1e6:.0f} µs a call",
    )


def _seconds(folder: Path, size: int) -> float:
    accountant = Accountant(folder / "captures", Places(folder / "claude"))
    started = time.process_time()
    account = accountant.account(folder / "captures" / _name(size))
    spent = time.process_time() - started
    assert len(account.calls) >= size, (len(account.calls), size)
    return spent


def _session(size: int) -> MadeSession:
    made = MadeSession(_name(size))
    made.prompt("Please look at the file.")
    while len(made.exchanges) < size:
        number = len(made.exchanges)
        agent = f"a{number // 200:04d}" if number % 20 >= 15 else None
        if number % 25 == 0:
            made.call((), in_transcript=False, output=0, status=529, usage_at_start=None)
        made.call(("text", "tool_use"), output=100 + number % 900, agent_id=agent)
        made.tool_result("some output " * 20, agent)
    return made


def _name(size: int) -> str:
    return f"{size:08d}-0000-4000-8000-000000000000"


if __name__ == "__main__":
    main()
