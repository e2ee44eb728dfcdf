"""A tree with every kind of file that ccwire reads, and every reading command run on it."""

import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from click.testing import CliRunner, Result

from addon.storage.packing.pack import pack_session
from ccwire.cli import main
from ccwire.wire.pack.files import exchange_files
from lab.damage import damage_tree
from lab.made_session import MadeSession, made_usage, write_lines
from tests.ccwire.wire.pack.tar_packs import tar_pack
from tests.correlate.report.made import SESSION, ReportSession, small_session

PACKED = "7a2b3c4d-0000-4000-8000-000000000002"
COMMANDS = (
    "sessions",
    "sessions --all",
    "sessions --all --json",
    "sessions --all --sort cost --project lab",
    "reconcile {session}",
    "reconcile {packed} -v",
    "reconcile {session} --json",
    "reconcile --all",
    "reconcile --all --json",
    "reconcile {session} --result {root}/result.json",
    "show {session}",
    "show {packed} --json",
    "show {session} 2 --headers",
    "show {packed} 3 --full",
    "show {session} 2 --json",
    "show {packed} 2 --curl",
    "show {session} 2 --events",
    "show {session} 3 --message 1",
    "diff {session}",
    "diff {packed}",
    "diff {session} --json",
    "report {session} -o {root}/page.html",
    "report {session} --compare {packed} -o {root}/page.html",
    "show {session} --answer",
    "show {session} --answer --json",
    "show {session} --calls",
    "show {packed} --markdown",
    "spend",
    "spend --by project,model --json",
    "search one",
    "search -e o.e -i --json",
    "search e --count",
    "watch --once --all",
    "watch --once --all --json",
    "schema observe {root}/captures {root}/claude",
    "schema check {root}/captures {root}/claude",
    "schema diff {root}/snapshot.json {root}/captures",
    "scrub {session} -o {root}/copy",
    "scrub {packed} -o {root}/copy2",
    "doctor",
    "hooks status",
    "pack {session}",
    "pack --all --unpack",
    "prune --larger-than 1kB",
    "prune --older 0s --yes",
)
SECONDS = 10
_SECRET = "the-secret-outside"
# What a terminal would obey or hide, line feeds and tabs aside.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


class Hang(BaseException):
    """A command did not end in time."""


@dataclass(frozen=True, slots=True)
class TreeFailure:
    """A command that failed on a damaged tree, which its seed makes again."""

    seed: int
    damage: tuple[str, ...]
    command: str
    problem: str

    def __str__(self) -> str:
        return (
            f"seed {self.seed}, {'; '.join(self.damage)}\n  ccwire {self.command}: {self.problem}"
        )


def build_base(root: Path) -> None:
    """Write an undamaged tree: captures, the client's folder, the home and a project."""
    claude, captures = root / "claude", root / "captures"
    made = small_session(cwd=str(root / "project"))
    made.cost_state(0.5, {"claude-opus-5-5": {"inputTokens": 5, "outputTokens": 7}})
    made.system("api_error", error={"status": 529, "requestId": "req_x"}, retryAttempt=1)
    made.system("compact_boundary")
    made.write(claude, captures)
    packed = ReportSession(PACKED, cwd=str(root / "project"))
    for number in range(3):
        packed.prompt(f"Prompt {number}.")
        packed.call(("text", "tool_use"), output=50 + number)
        packed.tool_result("output")
    packed.write(claude, captures)
    tar_pack(captures / PACKED)
    packed.prompt("One more.")
    packed.call(("text",), output=9)
    packed.write(claude, captures)
    for path in exchange_files(captures / PACKED)[:-2]:
        path.unlink()  # is in the older pack
    pack_session(captures / PACKED, now=float("inf"))
    _write_unknown(captures)
    _write_client_files(claude, made)
    _write_home(root / "home", claude)
    _write_project(root / "project")
    result = {"type": "result", "total_cost_usd": 0.1, "modelUsage": {"m": {"inputTokens": 1}}}
    (root / "result.json").write_text(json.dumps(result))
    (captures / "traffic.log").write_text("12:00:00 a line\n")
    for folder in captures.iterdir():
        if folder.is_dir():
            (folder / ".lock").write_text("000000000007")
    ran = CliRunner().invoke(main, ["schema", "observe", str(captures), str(claude)])
    (root / "snapshot.json").write_text(ran.stdout)


def check_seed(base: Path, seed: int) -> list[TreeFailure]:
    """Copy the tree, damage the copy and run every command on it."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="tree-") as made:
        folder = Path(made)
        root, outside = folder / "root", folder / "outside"
        shutil.copytree(base, root, symlinks=True)
        outside.mkdir()
        (outside / "secret.json").write_text(json.dumps({"secret": _SECRET}))
        damage = tuple(damage_tree(root, rng, outside))
        _make_old(root)
        before = _state(outside)
        with _environment(root):
            found = [
                TreeFailure(seed, damage, command, problem)
                for command in COMMANDS
                if (problem := _problem(command, root))
            ]
        if _state(outside) != before:
            found.append(TreeFailure(seed, damage, "all", "wrote outside of the tree"))
        return found


def _problem(command: str, root: Path) -> str | None:
    words = command.format(root=root, session=SESSION, packed=PACKED).split()
    try:
        with _time_limit():
            ran = CliRunner().invoke(main, words)
    except Hang:
        return f"did not end within {SECONDS} seconds"
    return _problem_of(ran)


def _problem_of(ran: Result) -> str | None:
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        if isinstance(ran.exception, Hang):
            where = traceback.extract_tb(ran.exception.__traceback__)[-4:]
            return "did not end: " + " < ".join(f"{f.filename}:{f.lineno}" for f in where)
        where = traceback.extract_tb(ran.exception.__traceback__)[-3:]
        places = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(where))
        return f"{type(ran.exception).__name__}: {str(ran.exception)[:100]!r} at {places}"
    if ran.exit_code not in (0, 1, 2):
        return f"exit code {ran.exit_code}"
    printed = ran.output
    if "Traceback" in printed:
        return "printed a traceback"
    if unsafe := UNSAFE.search(printed):
        around = printed[max(0, unsafe.start() - 40) : unsafe.end() + 10]
        return f"printed {unsafe[0]!r} in {around!r}"
    if _SECRET in printed:
        return "followed a link"
    if ran.exit_code == 2 and not (ran.stderr.strip()):
        return "exit code 2 without a sentence"
    return None


@contextmanager
def _time_limit() -> Iterator[None]:
    def end(_: int, __: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _environment(root: Path) -> Iterator[None]:
    names = {
        "HOME": str(root / "home"),
        "CCWIRE_CAPTURES": str(root / "captures"),
        "CLAUDE_CONFIG_DIR": str(root / "claude"),
        "CCWIRE_HOME": str(root / "home" / ".ccwire"),
        "CCWIRE_SESSIONS": str(root / "home" / ".ccwire" / "sessions.json"),
        "PATH": str(root / "nothing"),
    }
    before, cwd = dict(os.environ), Path.cwd()
    os.environ.update(names)
    (root / "project").mkdir(exist_ok=True)
    os.chdir(root / "project")
    try:
        yield
    finally:
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(before)


def _state(folder: Path) -> list[tuple[str, int, int, bytes]]:
    return [
        (path.name, path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.iterdir())
    ]


def _make_old(root: Path) -> None:
    """Date every file back, so that no session counts as active."""
    for path in root.rglob("*"):
        if path.suffix != ".part":
            os.utime(path, (1_794_000_000, 1_794_000_000), follow_symlinks=False)


def _write_unknown(captures: Path) -> None:
    nameless = MadeSession("unknown")
    nameless.call(identified_by="none", usage=made_usage(1, 9))
    nameless.write_capture(captures)
    part = {
        "request": {
            "flow_id": "f",
            "base": {"started": 1.0, "kind": "messages", "model": "claude-opus-5-5"},
            "facts": {"agent_id": "a1", "agent_type": "explorer"},
        }
    }
    answered = {"response": {"status": 200, "at": 2.0}}
    write_lines(captures / "unknown" / "0090_resp_v1_messages.part", [part, answered])


def _write_client_files(claude: Path, made: ReportSession) -> None:
    (project,) = (claude / "projects").iterdir()
    agents = project / SESSION / "subagents"
    meta = {"agentType": "explorer", "toolUseId": "toolu_x"}
    (agents / "agent-a1b2c3d4e5.meta.json").write_text(json.dumps(meta))
    entries = [{"sessionId": SESSION, "customTitle": "A title", "firstPrompt": "Please look"}]
    (project / "sessions-index.json").write_text(json.dumps({"version": 1, "entries": entries}))
    stats = {
        "lastComputedDate": "2026-11-01",
        "totalSessions": 2,
        "totalMessages": 9,
        "modelUsage": {"claude-opus-5-5": {"inputTokens": 1, "outputTokens": 2}},
    }
    (claude / "stats-cache.json").write_text(json.dumps(stats))
    typed = {"display": "hello", "timestamp": 1, "project": "/x", "sessionId": SESSION}
    write_lines(claude / "history.jsonl", [typed])
    (claude / "sessions").mkdir()
    live = {
        "pid": 4242,
        "sessionId": SESSION,
        "cwd": made.cwd,
        "startedAt": 1_794_000_000_000,
        "updatedAt": 1_794_000_000_000,
        "version": made.version,
        "status": "busy",
    }
    (claude / "sessions" / "4242.json").write_text(json.dumps(live))
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": "python addon/hook.py"}]}]}
    settings = {"hooks": hooks, "env": {"ANTHROPIC_BASE_URL": "https://gateway.example"}}
    (claude / "settings.json").write_text(json.dumps(settings))


def _write_home(home: Path, claude: Path) -> None:
    (home / ".ccwire").mkdir(parents=True)
    entry = {
        "session_id": SESSION,
        "state": "active",
        "project_dir": "/x",
        "transcript_path": str(claude / "projects" / "x.jsonl"),
        "source": "startup",
        "metadata": {
            "claude_pid": 4242,
            "process_created_at": 1.0,
            "started_at": 1_794_000_000.0,
            "seen_at": 1_794_000_001.0,
            "claude_version": "2.1.325",
            "agents": {"a1": "explorer"},
        },
    }
    (home / ".ccwire" / "sessions.json").write_text(json.dumps({"version": 1, "sessions": [entry]}))
    (home / ".ccwire" / "redaction.key").write_text("0" * 64)
    folders = [
        {"path": f"/{name}/captures", "mount_point": f"/{name}", "device": 9} for name in "abc"
    ]
    text = json.dumps({"version": 1, "folders": folders})
    (home / ".ccwire" / "captures.json").write_text(text)


def _write_project(project: Path) -> None:
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text(json.dumps({"env": {"NO_PROXY": "x"}}))
    (project / ".claude" / "settings.local.json").write_text(json.dumps({"disableAllHooks": False}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="base-") as made:
        base = Path(made) / "base"
        build_base(base)
        for seed in map(int, sys.argv[1:]):
            for failure in check_seed(base, seed):
                print(failure)
