"""Speed of `ccwire reconcile --all` on a large transcript tree: `python -m bench.reconcile`.

The baselines, on the same 1 GB tree of `lab.tree`, are `orjson.loads` on every line and the newest
ccusage, if npm can fetch it. Each runs in its own process; CPU time is compared, startup included,
so that other load on the machine does not count.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click

from bench.figure import Figure, at_least, print_figures
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


@dataclass(frozen=True, slots=True)
class Run:
    cpu: float
    wall: float


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
    ccusage = _ccusage(folder)
    runs: dict[str, list[Run]] = {"ours": [], "orjson": [], "ccusage": []}
    for _ in range(rounds):
        runs["orjson"].append(_run(baseline, tree))
        runs["ours"].append(_run(ours, tree))
        if ccusage is not None:
            runs["ccusage"].append(_run(ccusage, tree))
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
        env=_environment(tree),
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


def _run(command: list[str], tree: Tree) -> Run:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, env=_environment(tree), stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def _environment(tree: Tree) -> dict[str, str]:
    """Return the environment of the runs, in which no other transcripts are found."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(tree.claude_dir.parent),
        "CLAUDE_CONFIG_DIR": str(tree.claude_dir),
    }


def _detail(tree: Tree, ours: list[Run], theirs: list[Run]) -> str:
    own, other = min(r.cpu for r in ours), min(r.cpu for r in theirs)
    wall, other_wall = min(r.wall for r in ours), min(r.wall for r in theirs)
    return (
        f"CPU time {own:.2f} s and {other:.2f} s, elapsed {wall:.2f} s and {other_wall:.2f} s, "
        f"{tree.calls} calls in {tree.size >> 20} MB"
    )


def _ccusage(folder: Path) -> list[str] | None:
    """Install the newest ccusage and return its command; None if npm has no binary for it."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    machine = "arm64" if os.uname().machine in ("arm64", "aarch64") else "x64"
    program = f"@ccusage/ccusage-{sys.platform}-{machine}"
    found = subprocess.run([npm, "view", program, "version"], capture_output=True, text=True)
    version = found.stdout.strip()
    if found.returncode or not version:
        return None
    home = folder / "ccusage"
    home.mkdir()
    install = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(home)]
    wanted = [f"ccusage@{version}", f"{program}@{version}"]
    if subprocess.run([*install, *wanted], capture_output=True).returncode:
        return None
    script = home / "node_modules" / "ccusage" / "src" / "cli.js"
    return [node, str(script), "session", "--offline", "--json"] if script.exists() else None


if __name__ == "__main__":
    main()
