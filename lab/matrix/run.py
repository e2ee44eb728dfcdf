"""Run the cases of one release and keep the evidence of each pair.

    python -m lab.matrix.run VERSION CACHE CONFDIR CASE …    # with no network but loopback

Prints one line per finished case. After an interrupt, the cases that were finished are kept.
"""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from ccwire.demo.real import npm
from lab.atlas.isolation import isolate
from lab.matrix.case import Case, older_releases
from lab.matrix.cases import CASES_BY_NAME
from lab.matrix.evidence import FinishedCase, Outcome, keep, keep_outcome, pair_folder, read_outcome
from lab.matrix.release import ReleaseRunner, release_runner

_RUNNING: set["subprocess.Popen[str]"] = set()
_TRIES = 3
_NOT_PERMITTED = "this system cannot isolate a process from the network"


def missing(root: Path, version: str, cases: Sequence[Case], *, again: bool) -> list[Case]:
    """Return the cases of a release that have no finished evidence, or all of them."""
    return [p for p in cases if again or read_outcome(pair_folder(root, version, p.name)) is None]


def run_release(
    version: str, cases: Sequence[Case], root: Path, advance: Callable[[str], None]
) -> None:
    """Fetch a release, run the cases in a process without network, and delete the release."""
    kept = (npm.cache() / version).is_dir()
    try:
        npm.fetch(version)
        for older in older_releases(tuple(cases)):
            npm.fetch(older)
        command = [sys.executable, "-m", "lab.matrix.run", version, str(root), str(root / "proxy")]
        with subprocess.Popen(
            [*command, *(case.name for case in cases)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            _RUNNING.add(process)
            for line in process.stdout:
                advance(line.strip())
        _RUNNING.discard(process)
    except npm.NpmUnreachable:
        raise
    except npm.NpmFailed as error:
        for case in cases:
            keep_outcome(root, Outcome(version=version, case=case.name, problem=str(error)))
    finally:
        if not kept:
            npm.remove(version)


def interrupt() -> None:
    """Ask the releases that are running to stop; they keep the cases that were finished."""
    for process in list(_RUNNING):
        process.send_signal(signal.SIGINT)


def main() -> None:
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, _interrupted)
    version, root, confdir, *names = sys.argv[1:]
    cases = [CASES_BY_NAME[name] for name in names]
    if not isolate():
        sys.exit(f"{_NOT_PERMITTED}; no release was run")
    with tempfile.TemporaryDirectory(prefix="ccwire-matrix-") as temporary:
        folder = Path(temporary)
        client = npm.fetch(version)
        olders = {older: npm.fetch(older) for older in older_releases(tuple(cases))}
        done: list[FinishedCase] = []
        try:
            with release_runner(client, olders, folder, Path(confdir), cases) as runner:
                _all(runner, cases, Path(root), done)
        except KeyboardInterrupt:
            sys.exit(1)
        finally:
            keep(Path(root), folder / "captures", folder / "home" / ".claude", done)


def _interrupted(_signal: int, _frame: object) -> None:
    """Interrupt once only: what follows keeps the evidence."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    raise KeyboardInterrupt


def _all(
    runner: ReleaseRunner, cases: Sequence[Case], root: Path, done: list[FinishedCase]
) -> None:
    """Run the cases; a release that makes no call in the first ones does not run at all."""
    version = runner.client.version
    for case in cases:
        if lacks := runner.lacking(case):
            keep_outcome(root, Outcome(version=version, case=case.name, lacks=lacks))
            print(f"{case.name}: not known", flush=True)
        elif len(done) == _TRIES and not any(map(_has_call, done)):
            problem = done[-1].outcome.problem or "exited without a call"
            why = f"made no call in {_TRIES} cases: {problem}"
            keep_outcome(root, Outcome(version=version, case=case.name, problem=why))
            print(f"{case.name}: not run", flush=True)
        else:
            done.append(_one(runner, case))
            print(f"{case.name}: {done[-1].outcome.seconds:.1f} s", flush=True)


def _has_call(finished: FinishedCase) -> bool:
    return any(call.kind == "messages" for call in finished.served)


def _one(runner: ReleaseRunner, case: Case) -> FinishedCase:
    before = len(runner.api.ledger.calls())
    started = time.time()
    runs = runner.run_case(case)
    outcome = Outcome(
        version=runner.client.version,
        case=case.name,
        started=started,
        ended=time.time(),
        runs=tuple(asdict(run) for run in runs),
        problem=next((run.problem for run in runs if run.problem), None),
    )
    served = tuple(runner.api.ledger.calls()[before:])
    return FinishedCase(outcome, served, runner.projects / case.name)


if __name__ == "__main__":
    main()
