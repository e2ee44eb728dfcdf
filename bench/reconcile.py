"""Speed of `ccwire reconcile --all` on a large transcript tree: `python -m bench.reconcile`.

The baselines, on the same 1 GB tree of `lab.tree`, are `orjson.loads` on every line and the newest
ccusage, if npm can fetch it. Each runs in its own process; CPU time is compared, startup included,
so that other load on the machine does not count.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import click

from bench.ccusage import ccusage_command
from bench.figure import Figure, at_least, print_figures
from bench.runs import Run, environment, run
from lab.tree import Tree, write_tree

REACH = 0.5
MEMORY_MB = 300
_BASELINE = """
import sys, orjson
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*.jsonl"):
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            orjson.loads(line)
"""
_PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


@click.command()
@click.option("--megabytes", default=1024, show_default=True, help="Size of the tree.")
@click.option("--rounds", default=5, show_default=True, help="Number of runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(megabytes: int, rounds: int, as_json: bool) -> None:
    """Measure `ccwire reconcile --all` on a made-up transcript tree."""
    with tempfile.TemporaryDirectory(prefix="ccwire-bench-") as temporary:
        folder = Path(temporary)
        tree = write_tree(folder / "tree", megabytes << 20)
        print_figures(_measure(tree, folder, rounds), as_json=as_json)


def _measure(tree: Tree, folder: Path, rounds: int) -> list[Figure]:
    ours = [sys.executable, "-c", "from ccwire.cli import main; main()", "reconcile", "--all"]
    ours += ["--captures", str(tree.captures), "--claude-dir", str(tree.claude_dir)]
    baseline = [sys.executable, "-c", _BASELINE, str(tree.claude_dir)]
    ccusage = ccusage_command(folder, "session")
    runs: dict[str, list[Run]] = {"ours": [], "orjson": [], "ccusage": []}
    for _ in range(rounds):
        runs["orjson"].append(run(baseline, tree))
        runs["ours"].append(run(ours, tree))
        if ccusage is not None:
            runs["ccusage"].append(run(ccusage, tree))
    figures = [
        at_least(
            "reconcile, speed",
            [other.cpu / own.cpu for other, own in zip(runs["orjson"], runs["ours"], strict=True)],
            REACH,
            against="orjson.loads per line",
            detail=_detail(tree, runs["ours"], runs["orjson"]),
        ),
        _memory(ours, tree),
    ]
    if runs["ccusage"]:
        pairs = zip(runs["ccusage"], runs["ours"], strict=True)
        figures.append(
            at_least(
                "reconcile, speed",
                [other.cpu / own.cpu for other, own in pairs],
                1.0,
                against="ccusage session --offline, which only sums transcripts",
                detail=_detail(tree, runs["ours"], runs["ccusage"]),
            )
        )
    return figures


def _memory(command: list[str], tree: Tree) -> Figure:
    printed = subprocess.run(
        [sys.executable, "-c", _PEAK, *command],
        env=environment(tree),
        capture_output=True,
        check=True,
    ).stdout
    megabytes = int(printed) / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return Figure(
        name="reconcile, memory",
        value=round(megabytes, 1),
        unit="MB",
        against=f"{tree.size >> 20} MB of transcripts",
        reach=f"< {MEMORY_MB}",
        ok=megabytes < MEMORY_MB,
    )


def _detail(tree: Tree, ours: list[Run], theirs: list[Run]) -> str:
    own, other = min(r.cpu for r in ours), min(r.cpu for r in theirs)
    wall, other_wall = min(r.wall for r in ours), min(r.wall for r in theirs)
    return (
        f"CPU time {own:.2f} s and {other:.2f} s, elapsed {wall:.2f} s and {other_wall:.2f} s, "
        f"{tree.calls} calls in {tree.size >> 20} MB"
    )


if __name__ == "__main__":
    main()
