"""Speed of `ccwire search`, relative to `rg -c`: `python -m bench.search`.

Both search the same tree of transcripts for a word that one of them contains, alternately, from
start to exit, with what the disk cache has. A second tree has captures, open and packed, whose
requests repeat the conversation. Without ripgrep there is nothing to compare with.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from addon.storage.packing.pack import pack_session
from bench.figure import Figure, at_least, print_figures
from bench.schema import make_captures
from ccwire.wire.format import EXCHANGES
from lab.made_session import MadeSession
from lab.tree import write_tree

REACH = 1.0  # GB/s
WORD = "zebrafinch"
_LATER = 4e9


@click.command()
@click.option("--megabytes", default=1000, show_default=True, help="Size of the transcripts.")
@click.option("--rounds", default=5, show_default=True, help="Number of runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(megabytes: int, rounds: int, as_json: bool) -> None:
    """Measure `ccwire search` against `rg -c` on the same files."""
    if shutil.which("rg") is None:
        raise click.ClickException("install ripgrep (rg) to compare with it.")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        tree = write_tree(root / "tree", megabytes * 1_000_000)
        planted = MadeSession("5ea4c400-0000-4000-8000-000000000001")
        planted.prompt(f"Where is the {WORD}?")
        planted.write(tree.claude_dir)
        (root / "none").mkdir()
        figures = [
            _figure("transcripts", tree.claude_dir, root / "none", tree.claude_dir, rounds),
        ]
        captures = root / "captures"
        captures.mkdir()
        make_captures(captures, megabytes * 1_000_000)
        for session in captures.iterdir():
            (session / EXCHANGES).touch()
        figures.append(_figure("open captures", captures, captures, root / "none", rounds))
        plain = root / "plain"
        shutil.copytree(captures, plain)
        for session in captures.iterdir():
            pack_session(session, now=_LATER)
        figures.append(_figure("packed captures", plain, captures, root / "none", rounds))
    print_figures(figures, as_json=as_json)


def _figure(what: str, plain: Path, captures: Path, claude_dir: Path, rounds: int) -> Figure:
    """Compare a search of these folders with `rg -c` on the plain files."""
    size = sum(path.stat().st_size for path in plain.rglob("*") if path.is_file())
    ours = [sys.executable, "-m", "ccwire", "search", WORD, "--count"]
    ours += ["--captures", str(captures), "--claude-dir", str(claude_dir)]
    theirs = ["rg", "-c", "--no-ignore", "--hidden", WORD, str(plain)]
    os.sync()  # else the disk is still written while the first searches are measured
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(_timed(theirs))
        times[1].append(_timed(ours))
    ratio = statistics.median(rg / own for rg, own in zip(*times, strict=True))
    return at_least(
        f"search, {size / 1e6:.0f} MB of {what}",
        [size / 1e9 / own for own in times[1]],
        REACH,
        unit="GB/s",
        against="rg -c",
        detail=f"{ratio:.3f} x its {size / 1e9 / statistics.median(times[0]):.1f} GB/s",
    )


def _timed(command: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
