"""Running a client, tested with a small program in its place."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from ccwire.demo.real.npm import InstalledClient
from ccwire.demo.real.run import RealRun, lab_home, run_once


def client(tmp_path: Path, program: str, version: str = "2.1.325") -> InstalledClient:
    path = tmp_path / "client.py"
    path.write_text(program)
    return InstalledClient(version, (sys.executable, str(path)))


def run(tmp_path: Path, program: str, timeout: float = 10.0) -> RealRun:
    home = lab_home(tmp_path / "home", tmp_path)
    return run_once(
        client(tmp_path, program),
        "do it",
        home=home,
        cwd=tmp_path,
        proxy_port=9,
        ca_cert=tmp_path / "ca.pem",
        settings={"hooks": {}},
        timeout=timeout,
    )


def test_the_client_sees_nothing_of_this_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET_OF_THIS_MACHINE", "x")
    done = run(
        tmp_path,
        "import json, os, sys; print(json.dumps({'env': dict(os.environ), 'args': sys.argv[1:]}))",
    )
    assert done.result_json is not None
    env = done.result_json["env"]
    assert set(env) - {"LC_CTYPE"} == {
        "HOME",
        "PATH",
        "TERM",
        "SHELL",
        "LANG",
        "ANTHROPIC_API_KEY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NODE_EXTRA_CA_CERTS",
        "DISABLE_AUTOUPDATER",
    }
    assert env["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert done.result_json["args"] == [
        *("-p", "do it", "--output-format", "json"),
        *("--settings", '{"hooks": {}}', "--allowedTools", "Bash,Task,Agent"),
    ]


@pytest.mark.parametrize(
    "printed", ['{"session_id": "s"}', '[{"a": 1}, {"session_id": "s"}]', '{}\\n{"session_id":"s"}']
)
def test_the_result_is_found_in_every_output_format(tmp_path: Path, printed: str) -> None:
    assert run(tmp_path, f"print('{printed}')").session_id == "s"


def test_no_result_is_none(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys; print('oops'); sys.exit('bad'); ")
    assert (done.returncode, done.result_json, done.stderr.strip()) == (1, None, "bad")


def test_a_client_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(TimeoutError, match=r"more than 0.4 s and printed: \d+") as caught:
        run(tmp_path, program, timeout=0.4)
    child = int(str(caught.value).rpartition("printed: ")[2])
    assert gone(child)


def test_processes_that_a_client_leaves_behind_are_ended(tmp_path: Path) -> None:
    program = (
        "import json, subprocess, sys\n"
        "quiet = subprocess.DEVNULL\n"
        "child = subprocess.Popen(['sleep', '60'], stdout=quiet, stderr=quiet)\n"
        "print(json.dumps({'pid': child.pid}))\n"
    )
    done = run(tmp_path, program)
    assert done.result_json is not None
    assert gone(done.result_json["pid"])


def test_a_client_that_ignores_the_proxy_is_refused(tmp_path: Path) -> None:
    ancient = client(tmp_path, "print('{}')", version="0.2.9")
    with pytest.raises(ValueError, match="ignores HTTPS_PROXY"):
        run_once(ancient, "x", home=tmp_path, cwd=tmp_path, proxy_port=9, ca_cert=tmp_path)


def test_a_home_answers_the_first_questions(tmp_path: Path) -> None:
    state = json.loads((lab_home(tmp_path / "h", tmp_path) / ".claude.json").read_text())
    assert state["hasCompletedOnboarding"] is True
    assert state["projects"][str(tmp_path)]["hasTrustDialogAccepted"] is True


def gone(pid: int) -> bool:
    """Return whether the process has ended; its new parent may take a moment to reap it."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and " Z " in Path(f"/proc/{pid}/stat").read_text():
            return True
        time.sleep(0.01)
    return False
