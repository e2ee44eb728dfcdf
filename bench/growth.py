"""CPU time per reconciled call in short and long sessions: `python -m bench.growth`.

Sessions of 100, 1,000 and 10,000 calls, with tools, subagents, retries and calls that are missing
from the transcript. The time per call is constant if the total is linear in the session's size.
"""

import tempfile
import time
from pathlib import Path

import click

from bench.figure import Figure, at_most, print_figures
from correlate.reconcile.session import SessionReconciler
from correlate.transcript.locate import ClaudeDir
from lab.made_session import MadeSession

SIZES = (100, 1_000, 10_000)
REACH = 1.5  # a quadratic algorithm would give 100


@click.command()
@click.option("--rounds", default=7, show_default=True, help="Number of runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(rounds: int, as_json: bool) -> None:
    """Measure how the time to reconcile grows with the session."""
    with tempfile.TemporaryDirectory(prefix="ccwire-bench-") as folder:
        print_figures([_growth(Path(folder), rounds)], as_json=as_json)


def _growth(folder: Path, rounds: int) -> Figure:
    for size in SIZES:
        _session(size).write(folder / "claude", folder / "captures")
    costs: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(rounds):
        for size in SIZES:
            costs[size].append(_seconds(folder, size) / size)
    shortest, *_, longest = SIZES
    return at_most(
        "time per call, session of 10,000 calls",
        [much / little for much, little in zip(costs[longest], costs[shortest], strict=True)],
        REACH,
        against="session of 100 calls",
        detail=", ".join(f"{min(costs[size]) * 1e6:.0f} µs at {size:,} calls" for size in SIZES),
    )


def _seconds(folder: Path, size: int) -> float:
    """Return the minimum of three runs, because other load on the machine only adds time."""
    return min(_once(folder, size) for _ in range(3))


def _once(folder: Path, size: int) -> float:
    reconciler = SessionReconciler(folder / "captures", ClaudeDir(folder / "claude"))
    started = time.process_time()
    account = reconciler.reconcile(folder / "captures" / _name(size))
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
