"""Time of the hook, from spawn to exit, relative to an empty program: `python -m bench.hook`.

The two are run alternately, so that other load on the machine affects both.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import click

import addon.hook
from addon.hooks.apply import KEPT_ENTRIES, HookClient, apply_event
from addon.hooks.sessions_file import write_document
from bench.figure import Figure, at_most, print_figures

REACH = 1.6
INTERPRETER = [sys.executable, "-I", "-S"]
MAPS = {"five sessions in sessions.json": 5, "full sessions.json": KEPT_ENTRIES}


@click.command()
@click.option("--rounds", default=100, show_default=True, help="Number of runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def main(rounds: int, as_json: bool) -> None:
    """Measure the hook against `python -I -S -c pass`."""
    print_figures([_figure(name, held, rounds) for name, held in MAPS.items()], as_json=as_json)


def _figure(name: str, sessions: int, rounds: int) -> Figure:
    with tempfile.TemporaryDirectory() as home:
        baseline, hook = _measure(Path(home), sessions, rounds)
    # Ratios of adjacent runs, because the load on the machine changes over time.
    ratios = [h / b for h, b in zip(hook, baseline, strict=True)]
    taken = [f"{1000 * statistics.median(times):.1f} ms" for times in (hook, baseline)]
    return at_most(
        f"hook, {name}",
        ratios,
        REACH,
        against="python -I -S -c pass",
        detail=" and ".join(taken),
    )


def _measure(home: Path, sessions: int, rounds: int) -> tuple[list[float], list[float]]:
    payload = home / "payload.json"
    payload.write_text(json.dumps(_payload("SessionStart", "the-session")))
    _write_map(home / ".ccwire" / "sessions.json", sessions)
    nothing = [*INTERPRETER, "-c", "pass"]
    hook = [*INTERPRETER, addon.hook.__file__]
    _seconds(hook, payload, home)  # compiles the modules, as any first run does
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for command, taken in zip((nothing, hook), times, strict=True):
            taken.append(_seconds(command, payload, home))
    return times


def _payload(event: str, session_id: str) -> dict[str, str]:
    return {
        "hook_event_name": event,
        "session_id": session_id,
        "transcript_path": f"/home/someone/.claude/projects/-home-someone/{session_id}.jsonl",
        "cwd": "/home/someone",
        "source": "startup",
    }


def _write_map(path: Path, sessions: int) -> None:
    entries: list[object] = []
    for number in range(sessions):
        session_id = f"{number:08d}-0000-4000-8000-000000000000"
        apply_event(entries, _payload("SessionEnd", session_id), HookClient((number, 1.0)), 1.0)
    path.parent.mkdir()
    write_document(str(path), {"version": 1, "sessions": entries})


def _seconds(command: list[str], payload: Path, home: Path) -> float:
    stdin = (os.POSIX_SPAWN_OPEN, 0, str(payload), os.O_RDONLY, 0)
    started = time.perf_counter()
    pid = os.posix_spawn(command[0], command, {"HOME": str(home)}, file_actions=[stdin])
    _, status = os.waitpid(pid, 0)
    taken = time.perf_counter() - started
    if status:
        raise RuntimeError(f"{command} exited with status {status}")
    return taken


if __name__ == "__main__":
    main()
