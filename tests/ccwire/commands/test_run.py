"""`ccwire run`: exit codes, the command's environment, a proxy that crashes."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import pytest
from click.testing import CliRunner

from ccwire.commands import run as run_command
from tests.rig import until


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ccwire", "run", *arguments],
        env=environment(home, **more),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def environment(home: Path, **more: str) -> dict[str, str]:
    base = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": "dumb"}
    return {**base, "CCWIRE_SESSIONS": str(home / "sessions.json"), **more}


def test_the_exit_code_and_the_output_are_the_commands_own(home: Path) -> None:
    ran = run(home, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ran.returncode, ran.stdout) == (7, "out\n")
    assert "err" in ran.stderr
    assert "nothing was captured: the command made no connection to the proxy" in ran.stderr


def test_a_report_that_cannot_be_opened_keeps_the_exit_code(home: Path) -> None:
    ran = run(home, "--quiet", "--open", "--", "sh", "-c", "exit 7")
    assert ran.returncode == 7
    assert ran.stderr.startswith("ccwire: there is no session in ")


def test_a_signal_that_ends_the_command_gives_the_exit_code_of_shells(home: Path) -> None:
    assert run(home, "--quiet", "--", "sh", "-c", "kill -TERM $$").returncode == 128 + 15


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_proxy_starts_ends_it_too(home: Path, number: signal.Signals) -> None:
    scratch = home / "tmp"
    scratch.mkdir()
    (home / ".mitmproxy").mkdir()
    waited_for = home / ".mitmproxy" / "mitmproxy-ca.pem"  # the proxy reads it when it starts
    os.mkfifo(waited_for)
    process = subprocess.Popen(
        [sys.executable, "-m", "ccwire", "run", "--", "sleep", "60"],
        env=environment(home, TMPDIR=str(scratch)),
        cwd=home,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )

    opened = []

    def is_starting() -> bool:
        with contextlib.suppress(OSError):  # the proxy does not read it yet
            opened.append(os.open(waited_for, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    until(is_starting, 30)
    try:
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        assert process.returncode in (1, 128 + number)
        assert "Traceback" not in errors
        with pytest.raises(BrokenPipeError):
            os.write(opened[0], b"x")  # the proxy has ended, and nothing else reads it
    finally:
        os.close(opened[0])
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(("ignored", "out"), [("HUP", "lives\n"), ("USR1", "")])
def test_the_command_ignores_the_signals_that_the_user_chose_to_ignore(
    ignored: str, out: str, home: Path
) -> None:
    start = f'trap "" {ignored}; exec "$@"'
    command = [sys.executable, "-m", "ccwire", "run", "--", "sh", "-c", "kill -HUP $$; echo lives"]
    ran = subprocess.run(
        ["sh", "-c", start, "sh", *command],
        env=environment(home),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stdout == out


def test_a_home_that_cannot_be_written_to_is_one_sentence(home: Path) -> None:
    (home / "file").touch()
    ran = run(home, "--quiet", "--", "true", HOME=str(home / "file"))
    assert (ran.returncode, ran.stderr) == (
        2,
        f"ccwire: {home}/file/.ccwire/captures is not writable (Not a directory);"
        " give --captures DIR.\n",
    )
    captures = ("--captures", str(home / "captures"))
    ran = run(home, "--quiet", *captures, "--", "true", HOME=str(home / "file"))
    assert (ran.returncode, ran.stderr) == (
        2,
        f"ccwire: the proxy did not start: {home}/file/.mitmproxy is not writable"
        " (Not a directory); set HOME to a folder that is.\n",
    )


def test_the_child_trusts_the_proxy_and_keeps_the_users_certificates(home: Path) -> None:
    theirs = "-----BEGIN CERTIFICATE-----\nTHEIRS\n-----END CERTIFICATE-----\n"
    (home / "theirs.pem").write_text(theirs)
    script = 'echo "$HTTPS_PROXY"; cat "$NODE_EXTRA_CA_CERTS"; echo =; cat "$SSL_CERT_FILE"'
    named = str(home / "theirs.pem")
    ran = run(home, "--", "sh", "-c", script, NODE_EXTRA_CA_CERTS=named)
    added, _, bundle = ran.stdout.partition("=\n")
    own = (home / ".mitmproxy" / "mitmproxy-ca-cert.pem").read_text()
    assert added.startswith("http://127.0.0.1:")
    assert added.endswith(theirs + own)
    assert theirs in bundle
    assert bundle.endswith(own)


def test_a_command_that_does_not_exist_is_one_sentence(home: Path) -> None:
    ran = run(home, "clade")
    assert ran.returncode == 2
    assert ran.stderr == ("ccwire: command 'clade' not found; is it installed and on your PATH?\n")


def test_a_file_that_is_not_executable_is_one_sentence(home: Path) -> None:
    (home / "start.sh").write_text("#!/bin/sh\n")
    (home / "folder").mkdir()
    ran = run(home, "./start.sh")
    assert (ran.returncode, ran.stderr) == (
        2,
        "ccwire: ./start.sh is not executable; make it so with `chmod +x ./start.sh`.\n",
    )
    ran = run(home, "./folder")
    assert ran.stderr == "ccwire: ./folder is a folder; give the program in it.\n"


@pytest.mark.parametrize("url", ["localhost", "http://[", "http://127.0.0.1:99999", "ftp://h"])
def test_a_wrong_upstream_is_one_sentence(home: Path, url: str) -> None:
    ran = run(home, "--upstream", url, "sh")
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert f"--upstream: {url!r} is not a base URL" in ran.stderr


def test_the_command_does_not_get_the_password_of_the_companys_proxy(home: Path) -> None:
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    given = dict.fromkeys((*names, *map(str.lower, names)), "http://me:pa%40ss@127.0.0.1:9")
    ran = run(home, "--", "env", **given)
    assert ran.returncode == 0
    assert "HTTPS_PROXY=http://127.0.0.1:" in ran.stdout
    assert "pa%40ss" not in ran.stdout + ran.stderr
    assert "connecting through the proxy 127.0.0.1:9\n" in ran.stderr


def test_a_socks_proxy_is_one_sentence(home: Path) -> None:
    ran = run(home, "--", "true", ALL_PROXY="socks5h://me:secret@127.0.0.1:1080")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert "ALL_PROXY names a SOCKS proxy, which ccwire cannot use; set HTTPS_PROXY" in ran.stderr
    assert "secret" not in ran.stderr


def test_a_base_url_is_refused_where_requests_are_signed_for_their_host(home: Path) -> None:
    aws = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "us-east-1"}
    ran = run(home, "--via", "base-url", "sh", **aws)
    assert ran.returncode == 2
    assert ran.stderr == (
        "ccwire: --via base-url: AWS signs requests for bedrock-runtime.us-east-1.amazonaws.com,"
        " and would reject them; use --via proxy.\n"
    )


def test_a_base_url_on_loopback_is_given_besides_the_proxy(home: Path) -> None:
    script = 'echo "$ANTHROPIC_BASE_URL"; echo "$HTTPS_PROXY"'
    ran = run(home, "--via", "base-url", "--", "sh", "-c", script)
    base_url, proxy = ran.stdout.splitlines()
    assert base_url.startswith("http://127.0.0.1:")
    assert proxy.startswith("http://127.0.0.1:")
    assert base_url != proxy


def test_captures_that_cannot_be_written_stop_it_before_the_client_starts(home: Path) -> None:
    (home / "file").write_text("not a folder")
    ran = run(home, "--captures", "file", "--", "sh", "-c", "echo started")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "file is not writable (Not a directory); give --captures DIR." in ran.stderr


def test_nothing_is_left_running_or_behind(home: Path) -> None:
    ran = run(home, "--", "sh", "-c", "echo ${HTTPS_PROXY##*:}")
    port = int(ran.stdout)
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(["sh", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"], check=True, stderr=-3)
    assert not list(home.glob("ccwire-run-*"))


def test_a_proxy_that_dies_comes_back_on_its_port_and_says_so(home: Path) -> None:
    command = [sys.executable, "-m", "ccwire", "run", "--", "sh", "-c"]
    command += ["echo $PPID; sleep 8; echo done"]
    with subprocess.Popen(
        command,
        env=environment(home),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        parent = int(running.stdout.readline())
        time.sleep(0.2)
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        (proxy,) = [
            int(pid) for pid in children if b"mitmdump" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        os.kill(proxy, signal.SIGKILL)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (0, "done\n")
    assert "the proxy exited unexpectedly" in err
    assert "the proxy is running again" in err


def test_a_mistyped_option_is_not_taken_for_the_command(home: Path) -> None:
    ran = run(home, "--vai", "base-url", "claude")
    assert ran.returncode == 2
    assert ran.stderr.startswith("ccwire: no such option --vai;")


def test_settings_that_cannot_be_read_are_one_sentence(home: Path) -> None:
    claude = home / "claude"
    claude.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    claude.chmod(0o755)
    ran = run(home, str(claude), "--settings", "{bad")
    assert ran.returncode == 2
    assert "not valid JSON" in ran.stderr


def test_the_hooks_are_added_for_this_run_and_the_users_settings_kept(home: Path) -> None:
    claude = home / "claude"
    claude.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "2.1.325 (Claude Code)"; exit; fi\n'
        'echo "$1"; cat "$2"; shift 2; echo; echo "$@"\n'  # the user's file is merged into one
    )
    claude.chmod(0o755)
    own = home / "own.json"
    own.write_text('{"model":"m"}')
    ran = run(home, str(claude), "-p", "hi", "--settings", str(own), "--verbose")
    flag, overlay, rest = ran.stdout.splitlines()
    assert flag == "--settings"
    assert '"model":"m"' in overlay
    assert '"SessionStart"' in overlay
    assert "hook.py" in overlay
    assert rest == "-p hi --verbose"


@pytest.mark.parametrize(
    "line",
    [["stop", "0a1b2c3d"], ["attach", "0a1b2c3d"], ["mcp", "list"], ["--update"], ["--bg", "Go."]],
)
def test_a_line_that_may_start_no_session_reaches_the_client_as_it_is(
    home: Path, line: list[str]
) -> None:
    claude = home / "claude"
    claude.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "2.1.325 (Claude Code)"; exit; fi\n'
        'echo "$@"\n'
    )
    claude.chmod(0o755)
    assert run(home, "--quiet", str(claude), *line).stdout == " ".join(line) + "\n"


def test_a_password_is_made_where_processes_are_not_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_command, "can_find_processes", lambda: False)
    monkeypatch.chdir(home)
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    script = 'echo "$HTTPS_PROXY" >variable; cat /proc/[0-9]*/cmdline >commands 2>/dev/null; true'
    ran = CliRunner().invoke(run_command.command, ["--quiet", "--", "sh", "-c", script])
    assert (ran.exit_code, ran.output) == (0, "")
    url = urllib.parse.urlsplit((home / "variable").read_text().strip())
    assert (url.username, url.hostname) == ("ccwire", "127.0.0.1")
    assert url.password is not None
    assert len(url.password) >= 32
    commands = (home / "commands").read_bytes()
    assert b"mitmdump" in commands
    assert url.password.encode() not in commands


def test_a_base_url_is_refused_where_processes_are_not_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_command, "can_find_processes", lambda: False)
    monkeypatch.chdir(home)
    ran = CliRunner().invoke(run_command.command, ["--via", "base-url", "--", "sh"])
    assert ran.exit_code == 2
    assert "--via base-url: this system does not show which process" in ran.output


def test_a_process_that_the_run_did_not_start_is_refused(home: Path) -> None:
    script = 'echo "${HTTPS_PROXY##*:}" >new; mv new port; until [ -e end ]; do sleep 0.1; done'
    with subprocess.Popen(
        [sys.executable, "-m", "ccwire", "run", "--", "sh", "-c", script],
        env=environment(home),
        cwd=home,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        until((home / "port").exists, 30)
        port = int((home / "port").read_text())
        stranger = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        stranger.request("GET", "http://example.org/")
        assert stranger.getresponse().status == 403
        stranger.close()
        (home / "end").touch()
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 0
    assert f"ccwire: refused process {os.getpid()}, because this proxy serves only" in errors
    assert "nothing was captured: the command made no connection to the proxy" in errors
