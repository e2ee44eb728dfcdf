"""Run the real client on loopback, in a temporary home, with an empty environment and a fake key.

    client = fetch("2.1.325")                       # ccwire.demo.real.npm
    home = lab_home(tmp_path / "home", cwd)         # the first-run questions are already answered
    run = run_once(client, scenario.prompt, home=home, cwd=cwd, proxy_port=port, ca_cert=ca,
                   tools=scenario.tools)
    run.returncode, run.result_json["session_id"], run.stderr

`lab.screen` drives the interactive screen in the same environment. No process outlives its call.
"""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccwire.demo.real.npm import InstalledClient
from ccwire.wire.versions import parse_version

MADE_UP_KEY = "sk-ant-api03-made-up-for-the-lab-it-opens-nothing"
OLDEST = (0, 2, 70)


@dataclass(frozen=True, slots=True)
class RealRun:
    """The outcome of one run. `result_json` is the printed result, None if it is not JSON."""

    returncode: int
    stdout: str
    stderr: str
    result_json: dict[str, Any] | None

    @property
    def session_id(self) -> str | None:
        found = (self.result_json or {}).get("session_id")
        return found if isinstance(found, str) else None


def run_once(
    client: InstalledClient,
    prompt: str,
    *,
    home: Path,
    cwd: Path,
    proxy_port: int,
    ca_cert: Path,
    settings: Mapping[str, Any] | Path | None = None,
    tools: Sequence[str] = ("Bash", "Task", "Agent"),
    output_format: str | None = "json",
    extra_args: Sequence[str] = (),
    extra_env: Mapping[str, str] | None = None,
    timeout: float = 90.0,
) -> RealRun:
    """Run `claude -p PROMPT`; raise TimeoutError with its output after `timeout` seconds."""
    refuse_ancient(client)
    command = [*client.command, "-p", prompt, *extra_args]
    if output_format is not None:
        command += ["--output-format", output_format]
    if settings is not None:
        path = str(settings) if isinstance(settings, Path) else json.dumps(settings)
        command += ["--settings", path]
    if tools:
        command += ["--allowedTools", ",".join(tools)]
    returncode, stdout, stderr = run_command(
        command, environment(home, proxy_port, ca_cert, extra_env), cwd, timeout
    )
    return RealRun(returncode, stdout, stderr, parse_result(stdout))


def refuse_ancient(client: InstalledClient) -> None:
    """Raise ValueError for clients before 0.2.70, which ignore HTTPS_PROXY."""
    if parse_version(client.version) < OLDEST:
        raise ValueError(f"{client.version} ignores HTTPS_PROXY; run 0.2.70 or newer")


def environment(
    home: Path, proxy_port: int, ca_cert: Path, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the client's whole environment; nothing is inherited from this process."""
    proxy = f"http://127.0.0.1:{proxy_port}"
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "TERM": "xterm-256color",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "ANTHROPIC_API_KEY": MADE_UP_KEY,
        "HTTPS_PROXY": proxy,
        "HTTP_PROXY": proxy,
        "NODE_EXTRA_CA_CERTS": str(ca_cert),
        "DISABLE_AUTOUPDATER": "1",
        **(extra or {}),
    }


def lab_home(home: Path, cwd: Path) -> Path:
    """Create `home` with the first-run questions answered, and return it."""
    home.mkdir(parents=True, exist_ok=True)
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [MADE_UP_KEY[-20:]], "rejected": []},
        "projects": {
            str(cwd): {
                "hasTrustDialogAccepted": True,
                "hasCompletedProjectOnboarding": True,
                "allowedTools": [],
            }
        },
    }
    (home / ".claude.json").write_text(json.dumps(state))
    return home


def run_command(
    command: Sequence[str], env: Mapping[str, str], cwd: Path, timeout: float
) -> tuple[int, str, str]:
    """Run a command in its own process group, and end the whole group before returning."""
    with subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end_group(process.pid)
            stdout, stderr = process.communicate()
            raise TimeoutError(
                f"{shutil.which(command[0])} took more than {timeout:g} s and printed: "
                f"{stdout[-2000:]} {stderr[-2000:]}"
            ) from None
        finally:
            end_group(process.pid)
    return process.returncode, stdout, stderr


def end_group(pid: int) -> None:
    """Kill a process group that was started here, if it still exists."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def parse_result(stdout: str) -> dict[str, Any] | None:
    """Return the result object: the whole output, the last of an array, or the last line."""
    for text in (stdout, stdout.strip().rpartition("\n")[2]):
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, list) and value:
            value = value[-1]
        return value if isinstance(value, dict) else None
    return None
