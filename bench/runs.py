"""Run a command on a made-up tree and measure its CPU time and elapsed time."""

import os
import resource
import subprocess
import time
from dataclasses import dataclass

from lab.tree import Tree


@dataclass(frozen=True, slots=True)
class Run:
    cpu: float
    wall: float


def run(command: list[str], tree: Tree) -> Run:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(command, env=environment(tree), stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Run(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def environment(tree: Tree) -> dict[str, str]:
    """Return the environment of the runs, in which no other transcripts are found."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(tree.claude_dir.parent),
        "CLAUDE_CONFIG_DIR": str(tree.claude_dir),
    }
