"""Build docs/atlas.md and the shipped baselines by running many releases of the real client.

    python -m lab.atlas                    # evenly spread releases, then bisect the changes
    python -m lab.atlas --releases 60 --bisect 200
    python -m lab.atlas --releases 0 --bisect 0    # only build, from existing evidence

Resumable: a release is run once only. Each is fetched, run and then deleted. Everything runs on
loopback; the evidence is stored outside the source tree.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ccwire.demo.real import npm
from ccwire.wire.versions import parse_version
from correlate.schema.snapshot.snapshot import Field
from lab.atlas.baselines import baseline_files
from lab.atlas.evidence import cache, outcomes, snapshot_of_release
from lab.atlas.facts import Fact, facts_of, next_to_try, spans, spread
from lab.atlas.page import Tried, page
from lab.atlas.run import run_release

RELEASES = 44
BISECT = 120
# The tests need baselines of these.
PINNED = ("2.1.39", "2.1.168", "2.1.325")


class Atlas:
    """The releases run so far, and the facts observed in each."""

    def __init__(self, folder: Path, releases: list[str]) -> None:
        self.folder = folder
        self.outcomes = outcomes(folder)
        self.releases = releases
        self.snapshots: dict[str, dict[str, Field]] = {}
        self.facts: dict[str, frozenset[Fact]] = {}
        for version, outcome in self.outcomes.items():
            if outcome.problem is None:
                self._look_at(version)

    def try_out(self, version: str) -> None:
        if version in self.outcomes:
            return
        outcome = run_release(version, self.folder / version, self.folder / "proxy")
        self.outcomes[version] = outcome
        if outcome.problem is None:
            self._look_at(version)

    def next(self) -> str | None:
        """Return the next release to run; None if the release of every change is known."""
        known = self.usable()
        return next_to_try(spans(self.facts, known), known) if self.facts else None

    def usable(self) -> list[str]:
        """Return all releases except those that failed to run."""
        failed = {version for version, outcome in self.outcomes.items() if outcome.problem}
        return [version for version in self.releases if version not in failed]

    def _look_at(self, version: str) -> None:
        snapshot = snapshot_of_release(self.folder / version, version)
        self.snapshots[version] = snapshot
        self.facts[version] = facts_of(snapshot)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.atlas", description=__doc__)
    parser.add_argument("--releases", type=int, default=RELEASES, help="evenly spread releases")
    parser.add_argument("--bisect", type=int, default=BISECT, help="further releases at most")
    given = parser.parse_args()
    folder = cache()
    atlas = Atlas(folder, sorted(npm.versions(), key=parse_version))
    _run(atlas, given.releases, given.bisect)
    build(atlas, Path(__file__).parent.parent.parent)


def build(atlas: Atlas, root: Path) -> None:
    """Write the page and the baselines."""
    tried = Tried(atlas.releases, list(atlas.outcomes.values()))
    text = page(spans(atlas.facts, atlas.usable()), tried)
    (root / "docs" / "atlas.md").write_text(text, encoding="utf-8")
    folder = root / "correlate" / "schema" / "baselines"
    for old in folder.glob("*.json"):
        old.unlink()
    for name, text in baseline_files(atlas.snapshots).items():
        (folder / name).write_text(text, encoding="utf-8")


def _run(atlas: Atlas, releases: int, bisect: int) -> None:
    planned = [*PINNED, *spread(atlas.releases, releases)] if releases > 1 else []
    with _progress(len(planned) + bisect) as advance:
        for version in planned:
            advance(version)
            atlas.try_out(version)
        for _ in range(bisect):
            told_most = atlas.next()
            if told_most is None:
                break
            advance(told_most)
            atlas.try_out(told_most)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        def advance(version: str) -> None:
            bar.update(task, advance=1, description=version)

        yield advance
