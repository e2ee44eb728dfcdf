"""Every command on invalid folders gives a result or a one-sentence error, never a traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ccwire.cli import COMMANDS, main
from tests.correlate.report.made import SESSION, small_session

# Commands that start programs or wait for input have their own tests.
RUN = (
    "sessions",
    "sessions --all --json",
    "sessions --all --since 7d --project . --sort cost --limit 3",
    "reconcile latest",
    "reconcile --all",
    "reconcile --all --since 2026-01-01 --sort size",
    "reconcile {session} --json",
    "show latest",
    "show {session} --json",
    "show {session} 3",
    "show {session} 3 --json",
    "show {session} 2 --full --headers",
    "show {session} 2 --raw",
    "show {session} 2 --curl",
    "show {session} 2 --events",
    "show {session} 2 --message 1",
    "show {session} --calls --json",
    "show {session} --answer",
    "show {session} --answer --json",
    "show {session} --markdown",
    "spend",
    "spend --by session,version --json",
    "spend --by day --csv",
    "search e",
    "search -e .* --json",
    "search e -i --count",
    "diff latest",
    "diff {session} 3 --json",
    "report latest -o {root}/page.html",
    "watch --once --all",
    "watch --once --json",
    "scrub latest -o {root}/copy",
    "pack --all",
    "pack latest --unpack",
    "schema observe {root}/captures {root}/claude -o {root}/snapshot.json",
    "schema check {root}/captures",
    "schema diff {root}/captures {root}/claude",
    "prune --older 1d",
    "prune --keep 0 --yes --json",
    "doctor",
    "proxy --print",
    "hooks status",
    "hooks install",
    "hooks uninstall",
)
ELSEWHERE = ("demo", "run")


def made(root: Path) -> None:
    small_session().write(root / "claude", root / "captures")


def replaced(*names: str, by: bytes) -> Callable[[Path], None]:
    """Return a change that overwrites the session's files of these names."""

    def change(root: Path) -> None:
        made(root)
        for name in names:
            for path in (root / "captures" / SESSION).glob(name):
                path.write_bytes(by)

    return change


def missing(root: Path) -> None:
    """Neither folder exists."""


def files_for_folders(root: Path) -> None:
    (root / "captures").write_text("a file")
    (root / "claude").write_text("a file")


def folders_for_files(root: Path) -> None:
    made(root)
    for path in [*(root / "captures" / SESSION).iterdir()]:
        path.unlink()
        path.mkdir()
    (root / "claude" / "settings.json").mkdir()


def odd_parts(root: Path) -> None:
    made(root)
    folder = root / "captures" / SESSION
    (folder / "0090_resp_v1_messages.part").mkdir()
    (folder / "0091_resp_v1_messages.part").write_bytes(bytes(range(256)))
    (folder / "0092_resp_v1_messages.part").write_bytes(
        b'{"request":{"sequence":"x","base":{"started":"noon"},"facts":7}}\n'
    )


def loops(root: Path) -> None:
    made(root)
    (root / "captures" / "loop").symlink_to(root / "captures" / "loop")
    (root / "captures" / "up").symlink_to(root / "captures")
    (root / "claude" / "projects" / "up").symlink_to(root / "claude" / "projects")


def a_loop_for_a_folder(root: Path) -> None:
    (root / "captures").symlink_to(root / "captures")
    (root / "claude").symlink_to(root / "claude")


def broken_settings(root: Path) -> None:
    made(root)
    (root / "claude" / "settings.json").write_bytes(b'{"hooks": [\xff')


NONSENSE: dict[str, Callable[[Path], None]] = {
    "missing": missing,
    "files for folders": files_for_folders,
    "folders for files": folders_for_files,
    "odd parts": odd_parts,
    "loops": loops,
    "a loop for a folder": a_loop_for_a_folder,
    "broken settings": broken_settings,
    "no manifest": replaced("manifest.json", by=b""),
    "a manifest of rubbish": replaced("manifest.json", by=bytes(range(256))),
    "a manifest of another shape": replaced(
        "manifest.json", by=b'{"session_id":7,"counts":[],"transcript_paths":{"a":1},"gaps":7}'
    ),
    "a manifest with odd values": replaced(
        "manifest.json",
        by=b'{"session_id":"x","counts":{"exchanges":"many"},"transcript_paths":[7,null],'
        b'"first_seen":"noon","last_seen":1e300,"cwd":[],"models":[1],"pids":"x"}',
    ),
    "binary lines": replaced("exchanges.jsonl", by=bytes(range(256)) * 20),
    "lines of another shape": replaced(
        "exchanges.jsonl", by=b'[]\n7\nnull\n{}\n{"sequence":"x"}\n'
    ),
    "lines with odd values": replaced(
        "exchanges.jsonl",
        by=b'{"sequence":1,"flow_id":7,"started":"noon","method":[],"host":{},"path":null,"kind":9}\n'
        b'{"sequence":-5,"flow_id":"f","started":1e300,"method":"POST","host":"h","path":"/v1/messages",'
        b'"kind":"messages","usage":{"input_tokens":"x"},"usage_at_start":7,"model":{},"status":"ok",'
        b'"ended":"later","first_byte_ms":[],"message_id":[],"request_id":{},"complete":"yes"}\n',
    ),
    "binary requests": replaced("*_req_*.json", by=b"\0\xff"),
    "binary responses": replaced("*_resp_*.json", by=b"\0\xff"),
    "requests of another shape": replaced("*_req_*.json", by=b'{"body":[],"headers":7}'),
    "requests with odd bodies": replaced(
        "*_req_*.json",
        by=b'{"body":{"data":{"messages":{"a":1},"tools":7,"system":[3]}},"headers":[]}',
    ),
    "responses of another shape": replaced("*_resp_*.json", by=b'{"message":[],"body":7}'),
    "responses with odd messages": replaced(
        "*_resp_*.json", by=b'{"message":{"content":{"a":1},"usage":[]},"body":{"data":[]}}'
    ),
}


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_every_command_gives_a_result_or_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nonsense: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CCWIRE_CAPTURES", str(tmp_path / "captures"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CCWIRE_SESSIONS", str(tmp_path / "sessions.json"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    NONSENSE[nonsense](tmp_path)
    wrong = [
        (command, ran.exit_code, repr(ran.exception), ran.stderr[-300:])
        for command in RUN
        if not is_fine(ran := run(tmp_path, command))
    ]
    assert wrong == []


def test_every_command_is_tried() -> None:
    assert {command.split()[0] for command in RUN} | set(ELSEWHERE) >= set(COMMANDS)


def run(root: Path, command: str) -> Result:
    return CliRunner().invoke(main, command.format(root=root, session=SESSION).split())


def is_fine(ran: Result) -> bool:
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        return False
    says_so = ran.stderr.startswith("ccwire: ") or "Usage:" in ran.stderr
    return ran.exit_code in (0, 1) or (ran.exit_code == 2 and says_so)
