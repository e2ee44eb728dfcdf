"""Speed of `ccwire spend` on a large transcript tree: `python -m bench.spend`.

The baseline is the newest ccusage on the same tree. Both run from start to exit in their own
process, alternately, with what the disk cache has; elapsed time is compared. `spend` keeps what it
has read: the first run reads everything, with one processor where ccusage uses all, a run after one
file has grown only what is new, and one after nothing has changed prints what it printed before.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from bench.ccusage import ccusage_command
from bench.figure import Figure, at_least, print_figures
from bench.runs import Run, environment, run
from lab.tree import Tree, write_tree

FIRST, GROWN, SECOND = 0.1, 0.3, 10.0
_SETTLED = 1.0  # seconds after which a file counts as unchanged


@click.command()
@click.option("--megabytes", default=1024, show_default=True, help="Size of the tree.")
@click.option("--rounds", default=5, show_default=True, help="Number of runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(megabytes: int, rounds: int, as_json: bool) -> None:
    """Measure `ccwire spend` on a made-up transcript tree."""
    with tempfile.TemporaryDirectory(prefix="ccwire-bench-") as temporary:
        folder = Path(temporary)
        tree = write_tree(folder / "tree", megabytes << 20)
        ccusage = ccusage_command(folder, "daily")
        if ccusage is None:
            raise click.ClickException("npm could not fetch ccusage, to compare with it.")
        print_figures(_measure(tree, ccusage, rounds), as_json=as_json)


def _measure(tree: Tree, ccusage: list[str], rounds: int) -> list[Figure]:
    ours = [sys.executable, "-m", "ccwire", "spend", "--claude-dir", str(tree.claude_dir)]
    ours += ["--captures", str(_empty(tree))]
    runs: dict[str, list[Run]] = {"first": [], "grown": [], "second": [], "ccusage": []}
    grows = max(tree.claude_dir.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    subprocess.run(ccusage, env=environment(tree), stdout=subprocess.DEVNULL, check=True)
    for _ in range(rounds):
        runs["ccusage"].append(run(ccusage, tree))
        runs["first"].append(run([*ours, "--no-cache"], tree))
        run(ours, tree)
        with grows.open("ab") as file:
            file.write(b'{"type":"mode"}\n')
        runs["grown"].append(run(ours, tree))
        time.sleep(_SETTLED)
        run(ours, tree)
        runs["second"].append(run(ours, tree))
    return [
        _figure("spend, nothing cached", runs["first"], runs["ccusage"], FIRST, tree),
        _figure("spend, one file grown", runs["grown"], runs["ccusage"], GROWN, tree),
        _figure("spend, second run", runs["second"], runs["ccusage"], SECOND, tree),
    ]


def _empty(tree: Tree) -> Path:
    folder = tree.claude_dir.parent / "no-captures"
    folder.mkdir()
    return folder


def _figure(
    name: str, ours: Sequence[Run], theirs: Sequence[Run], reach: float, tree: Tree
) -> Figure:
    own, other = min(r.wall for r in ours), min(r.wall for r in theirs)
    return at_least(
        name,
        [their.wall / our.wall for our, their in zip(ours, theirs, strict=True)],
        reach,
        against="ccusage daily --offline",
        detail=f"elapsed {own:.2f} s and {other:.2f} s, {tree.calls} calls in {tree.size >> 20} MB",
    )


if __name__ == "__main__":
    main()
