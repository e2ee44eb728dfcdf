"""Run releases of the real client through cases, judge the evidence, and write the table.

    python -m lab.matrix                          # what has no evidence yet, then judge
    python -m lab.matrix --releases 60 --jobs 2
    python -m lab.matrix --release 2.1.325 --case bash --again
    python -m lab.matrix --judge                  # judge the evidence with the code as it is now
    python -m lab.matrix --table                  # the same, and write docs/proof.md

Resumable: a pair with finished evidence is not run again; interrupt it at any moment. The evidence
is stored outside the source tree, in `$CCWIRE_MATRIX_CACHE`.
"""

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ccwire.demo.real import npm
from ccwire.wire.versions import is_version
from lab.matrix.case import Case
from lab.matrix.cases import CASES_BY_NAME, CLASSES
from lab.matrix.evidence import cache, pair_folder
from lab.matrix.judge import Verdict, judge
from lab.matrix.releases import chosen, ordered
from lab.matrix.run import interrupt, missing, run_release
from lab.matrix.table import figures, section, with_section

_PROOF = Path(__file__).parent.parent.parent / "docs" / "proof.md"
_INTERRUPTED = 130


def main() -> int:
    given = _arguments()
    root = cache()
    cases = (
        [CASES_BY_NAME[name] for name in given.case] if given.case else list(CASES_BY_NAME.values())
    )
    if given.list:
        for case in cases:
            print(f"{case.name}: {len(case.steps)} steps, known since {case.needs.since}")
        return 0
    if not (given.judge or given.table):
        releases = given.release or chosen(npm.versions(), given.releases)
        if not _run(root, releases, cases, jobs=given.jobs, again=given.again):
            return _INTERRUPTED
    verdicts = judged(root, given.release or evidence_of(root), cases, given.jobs)
    if given.table:
        text = with_section(_PROOF.read_text(encoding="utf-8"), section(verdicts, CLASSES))
        _PROOF.write_text(text, encoding="utf-8")
    else:
        _print_wrong(verdicts)
    print(figures(verdicts))
    return 1 if any(verdict.mark == "wrong" for verdict in verdicts) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lab.matrix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--releases", type=int, default=60, help="evenly spread releases")
    parser.add_argument("--release", action="append", default=[], help="this one; repeatable")
    parser.add_argument(
        "--case", action="append", default=[], choices=CASES_BY_NAME, metavar="NAME"
    )
    parser.add_argument("--jobs", type=int, default=2, help="releases at the same time")
    parser.add_argument("--again", action="store_true", help="also pairs with evidence")
    parser.add_argument("--judge", action="store_true", help="run nothing, judge the evidence")
    parser.add_argument("--table", action="store_true", help="run nothing, judge and write")
    parser.add_argument("--list", action="store_true", help="list the cases")
    return parser.parse_args()


def evidence_of(root: Path) -> list[str]:
    """Return the releases that have evidence."""
    found = root.iterdir() if root.is_dir() else ()
    return ordered([path.name for path in found if is_version(path.name)])


def judged(root: Path, releases: Sequence[str], cases: Sequence[Case], jobs: int) -> list[Verdict]:
    """Judge every pair that was run, in the order of cases and releases."""
    pairs = [(pair_folder(root, v, case.name), case.name) for case in cases for v in releases]
    with ProcessPoolExecutor(jobs) as pool:
        return [verdict for verdict in pool.map(_judge, pairs, chunksize=8) if verdict is not None]


def _judge(pair: tuple[Path, str]) -> Verdict | None:
    folder, name = pair
    return judge(folder, CASES_BY_NAME[name])


def _run(
    root: Path, releases: Sequence[str], cases: Sequence[Case], *, jobs: int, again: bool
) -> bool:
    """Run what has no evidence; return False if interrupted."""
    root.mkdir(parents=True, exist_ok=True)
    wanted = {version: missing(root, version, cases, again=again) for version in releases}
    wanted = {version: todo for version, todo in wanted.items() if todo}
    with _progress(sum(map(len, wanted.values()))) as report, ThreadPoolExecutor(jobs) as pool:
        stopping = threading.Event()

        def one(version: str) -> None:
            if stopping.is_set():
                return
            began, done = time.monotonic(), Counter[str]()

            def advance(line: str) -> None:
                done[version] += 1
                report(version, line)

            run_release(version, wanted[version], root, advance)
            seconds = time.monotonic() - began
            report(version, f"{done[version]} cases in {seconds:.0f} s", whole=True)

        futures = [pool.submit(one, version) for version in wanted]
        try:
            for future in futures:
                future.result()
        except BaseException as error:
            stopping.set()
            interrupt()
            if not isinstance(error, KeyboardInterrupt):
                raise
            return False
    return True


def _print_wrong(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        if verdict.mark in ("wrong", "not run"):
            print(f"{verdict.version} {verdict.case}: {verdict.reason} ({verdict.detail[:300]})")
    for mark in ("wrong", "not run", "not known"):
        reasons = Counter(verdict.reason for verdict in verdicts if verdict.mark == mark)
        for reason, count in reasons.most_common():
            print(f"{count:5} {mark}: {reason}")


class _Report:
    """One line per release in a pipe; a bar that counts cases on a terminal."""

    def __init__(self, step: Callable[[str], None] | None) -> None:
        self._step = step

    def __call__(self, version: str, line: str, *, whole: bool = False) -> None:
        if self._step is not None and not whole:
            self._step(f"{version} {line}")
        elif self._step is None and whole:
            print(f"{version}: {line}", flush=True)


@contextmanager
def _progress(total: int) -> Iterator[_Report]:
    if not sys.stderr.isatty():
        yield _Report(None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total)

        def step(description: str) -> None:
            bar.update(task, advance=1, description=description)

        yield _Report(step)
