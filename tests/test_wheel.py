"""The installed wheel: its contents, and that it imports nothing of the project it runs in."""

import json
import os
import socket
import ssl
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ccwire.cli import COMMANDS
from ccwire.demo.stand_in.scenarios import named
from ccwire.demo.stand_in.server import StandIn
from tests.rig import until

ROOT = Path(__file__).parent.parent
UV = os.environ.get("UV", "uv")
# Folders of ours, and modules that some dependency imports where there is one.
OTHERS = {"lab", "bench", "tests", "conftest", "numpy", "IPython", "simplejson", "colorama"}
# What a Python of the installation can import, but for what it has imported by its start: that
# comes before any code of ours.
NAMES = """
import pkgutil, sys
print(*sorted({*sys.stdlib_module_names, *(m.name for m in pkgutil.iter_modules(sys.path))}))
"""
STARTED = "import sys; print(*sys.modules)"
CLASHING = """\
with open({marker!r}, "a"):
    pass
raise RuntimeError("imported from the project")
"""
CLIENT = """\
#!/bin/sh
exec {python} -I -c 'from ccwire.demo.client.cli import main; main()' "$@"
"""
BROWSER = """\
#!/bin/sh
echo "$1" > {opened}
"""


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with modules of its own for every name, each of which leaves a marker."""

    folder: Path
    python: Path
    home: Path
    markers: Path

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.home / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "BROWSER": f"{self.home / 'bin' / 'browser'} %s",
            "ANTHROPIC_API_KEY": "sk-ant-api03-made-up",
            "PYTHONPATH": ".",
        }

    def ccwire(self, *arguments: str | Path, code: int = 0) -> str:
        """Run the installed command in the project; return its output."""
        return self.run([self.python.parent / "ccwire", *arguments], code=code)

    def run(
        self,
        command: Sequence[str | Path],
        *,
        code: int = 0,
        stdin: str = "",
        imports: Sequence[str] = (),
        cwd: Path | None = None,
    ) -> str:
        ran = subprocess.run(
            [str(word) for word in command],
            env=self.environment(),
            cwd=cwd or self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        imported = [path.name for path in self.markers.iterdir()]
        assert (ran.returncode, imported) == (code, [*imports]), ran.stdout + ran.stderr
        assert "Traceback" not in ran.stdout + ran.stderr
        return ran.stdout


@dataclass(frozen=True, slots=True)
class Demo:
    """What `ccwire demo` has left: the folders to give to the other commands."""

    project: Project
    captures: Path
    claude_dir: Path
    shown: str

    def ccwire(self, *arguments: str | Path, code: int = 0) -> str:
        places = ("--captures", self.captures, "--claude-dir", self.claude_dir)
        return self.project.ccwire(*arguments, *places, code=code)

    def exchange_files(self) -> list[Path]:
        return sorted(self.captures.glob("*/*_re*_*.json"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _uv("build", "--wheel", "--out-dir", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("project")
    python = root / "venv" / "bin" / "python"
    _uv("venv", "--python", sys.executable, root / "venv")
    _uv("pip", "install", "--python", python, wheel)
    project = Project(root / "project", python, root / "home", root / "markers")
    for folder in (project.folder, project.home / "bin", project.markers):
        folder.mkdir(parents=True)
    names = set(_words(python, NAMES)) | OTHERS
    for name in names - set(_words(python, STARTED)):
        source = CLASHING.format(marker=str(project.markers / name))
        (project.folder / f"{name}.py").write_text(source)
    _program(project.home / "bin" / "claude", CLIENT.format(python=python))
    _program(project.home / "bin" / "browser", BROWSER.format(opened=project.home / "opened"))
    return project


@pytest.fixture(scope="module")
def demo(project: Project) -> Demo:
    shown = project.ccwire("demo")
    assert "0 unexplained" in shown
    (folder,) = project.home.glob("ccwire-demo-*")
    return Demo(project, folder / "captures", folder / "home" / ".claude", shown)


def test_it_holds_three_packages_and_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    info = {name.partition("/")[0] for name in files if ".dist-info/" in name}
    assert len(info) == 1
    (script,) = [name for name in files if ".data/" in name]
    assert script.endswith(".data/scripts/ccwire")
    assert modes[script] & 0o111 == 0o111  # pip and pipx keep the mode, uv sets it
    top = {name.partition("/")[0] for name in files if name != script}
    assert top - info == {"ccwire", "addon", "correlate"}


def test_the_modules_of_the_project_would_come_first(project: Project) -> None:
    """Or the tests below could not fail."""
    for name in ("ccwire", "addon", "correlate", "lab", "queue", "json", "click", "orjson"):
        program = f"try:\n    import {name}\nexcept RuntimeError:\n    pass"
        project.run([project.python, "-c", program], imports=[name])
        (project.markers / name).unlink()


def test_every_command_is_tried_here() -> None:
    source = Path(__file__).read_text()
    assert [name for name in COMMANDS if f'ccwire("{name}"' not in source] == []


def test_help_and_version(project: Project) -> None:
    assert "reconcile" in project.ccwire("--help")
    assert "version" in project.ccwire("--version")


def test_sessions(demo: Demo) -> None:
    assert len(json.loads(demo.ccwire("sessions", "--all", "--json"))["sessions"]) == 1


def test_reconcile(demo: Demo) -> None:
    assert "0 unexplained" in demo.ccwire("reconcile", "latest", "-v")
    assert "wire" in demo.ccwire("reconcile", "latest", "--json")


def test_show(demo: Demo) -> None:
    listed = json.loads(demo.ccwire("show", "--calls", "--json"))["exchanges"]
    assert demo.ccwire("show", "--answer")
    number = next(str(one["sequence"]) for one in listed if one["usage"])
    assert "\n  usage input " in demo.ccwire("show", number)
    assert demo.ccwire("show", "latest", number, "--curl").startswith("head -c ")


def test_spend(demo: Demo) -> None:
    assert json.loads(demo.ccwire("spend", "--by", "model", "--json"))["rows"]


def test_search(demo: Demo) -> None:
    assert json.loads(demo.ccwire("search", "the", "-i", "--json"))


def test_diff(demo: Demo) -> None:
    assert json.loads(demo.ccwire("diff", "latest", "--json"))


def test_report(demo: Demo, tmp_path: Path) -> None:
    demo.ccwire("report", "latest", "-o", tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()


def test_watch(demo: Demo) -> None:
    arguments = ("--once", "--all", "--json", "--captures", demo.captures)
    assert json.loads(demo.project.ccwire("watch", *arguments))


def test_schema(demo: Demo, tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot.json"
    project = demo.project
    project.ccwire("schema", "observe", demo.captures, demo.claude_dir, "-o", snapshot)
    project.ccwire("schema", "diff", snapshot, snapshot)
    project.ccwire("schema", "check", demo.captures, "--baseline", snapshot)
    drift = project.ccwire("schema", "check", demo.captures, code=1)  # from the shipped baseline
    assert "sdk-lab" in drift


def test_scrub(demo: Demo, tmp_path: Path) -> None:
    demo.ccwire("scrub", "latest", "-o", tmp_path / "copy")
    assert (tmp_path / "copy" / "kept-words.txt").exists()


def test_pack(demo: Demo) -> None:
    for path in demo.captures.rglob("*"):
        os.utime(path, (0, 0))  # a session that was just written to is not packed
    before = demo.exchange_files()
    demo.ccwire("pack", "latest")
    assert not demo.exchange_files()
    demo.ccwire("pack", "latest", "--unpack")
    assert demo.exchange_files() == before != []


def test_prune(demo: Demo) -> None:
    assert "Nothing to delete." in demo.ccwire("prune", "--keep", "1")


def test_doctor(demo: Demo) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])  # free, once it is closed
    demo.ccwire("doctor", "--port", port)


def test_hooks(project: Project, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    project.ccwire("hooks", "install", "--claude-dir", tmp_path)
    project.ccwire("hooks", "status", "--claude-dir", tmp_path)
    for event, [group] in json.loads(settings.read_text())["hooks"].items():
        payload = {"hook_event_name": event, "session_id": "11111111-2222-3333-4444-555555555555"}
        project.run(["/bin/sh", "-c", group["hooks"][0]["command"]], stdin=json.dumps(payload))
    assert "11111111-2222" in (project.home / ".ccwire" / "sessions.json").read_text()
    project.ccwire("hooks", "uninstall", "--claude-dir", tmp_path)
    assert not settings.exists()


def test_run(project: Project, tmp_path: Path) -> None:
    scenario = named("mix")
    captures = tmp_path / "captures"
    with StandIn(scenario) as api:
        options = ("--captures", captures, "--upstream", api.url, "--open")
        project.ccwire("run", *options, "claude", "-p", scenario.prompt)
        served = len(api.ledger.messages())
    (index,) = captures.glob("*-*/exchanges.jsonl")
    assert index.read_text().count('"path":"/v1/messages"') == served > 5
    assert (project.home / "opened").read_text().startswith("file://")


def test_a_run_is_accounted_for_from_another_folder(project: Project) -> None:
    scenario = named("mix")
    with StandIn(scenario) as api:
        project.ccwire("run", "--upstream", api.url, "claude", "-p", scenario.prompt)
    shown = project.run([project.python.parent / "ccwire", "reconcile"], cwd=Path("/"))
    assert "0 unexplained" in shown
    assert list((project.home / ".ccwire" / "captures").glob("*-*/exchanges.jsonl"))


def test_proxy_print(project: Project) -> None:
    printed = project.ccwire("proxy", "--print", "--set", "flow_detail=0")
    assert str(project.python) in printed
    assert "site-packages/addon/capture.py" in printed


def test_proxy(project: Project, tmp_path: Path) -> None:
    """Start it, send one call through it, stop it; the call is in the project's own folder."""
    log = tmp_path / "log"
    with StandIn(named("plain")) as api, log.open("wb") as output:
        command = [project.python.parent / "ccwire", "proxy", "-p", "0"]
        command += ["--captures", tmp_path / "captures", "--set", f"capture_upstream={api.url}"]
        proxy = subprocess.Popen(
            [str(word) for word in command],
            env=project.environment(),
            cwd=project.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            certificate = project.home / ".mitmproxy" / "mitmproxy-ca-cert.pem"
            until(lambda: b"ccwire: capturing" in log.read_bytes() and certificate.exists(), 60)
            address = log.read_text().partition("HTTPS_PROXY=")[2].split()[0]
            opener = urllib.request.build_opener(
                urllib.request.ProxyHandler({"https": address}),
                urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=certificate)),
            )
            opener.open("https://api.anthropic.com/v1/messages", b"{}", timeout=20).close()
        finally:
            proxy.terminate()
            code = proxy.wait(30)
    assert (code, [*project.markers.iterdir()]) == (0, []), log.read_text()
    (index,) = (tmp_path / "captures").glob("*/exchanges.jsonl")
    assert index.read_text().count('"path":"/v1/messages"') == 1


def test_hooks_print(project: Project) -> None:
    printed = json.loads(project.ccwire("hooks", "install", "--print"))
    command = printed["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    assert str(project.python) in command


def test_an_empty_folder_is_enough(demo: Demo, tmp_path: Path) -> None:
    """The hints of the demo can be run as they are printed."""
    hints = [line.strip() for line in demo.shown.splitlines() if " reconcile latest" in line]
    assert len(hints) == 1
    environment = {**demo.project.environment(), "PYTHONPATH": ""}
    ran = subprocess.run(hints[0], shell=True, env=environment, cwd=tmp_path, capture_output=True)
    assert (ran.returncode, b"0 unexplained" in ran.stdout) == (0, True), ran.stderr


def test_run_gives_the_exit_code_of_the_command(project: Project, tmp_path: Path) -> None:
    project.ccwire("run", "--captures", tmp_path, "--quiet", "sh", "-c", "exit 7", code=7)


def _uv(*arguments: str | Path) -> None:
    """Run uv from its cache, which `uv run` has filled; use the package index only if it fails."""
    command = [UV, "--quiet", *arguments]
    if subprocess.run([*command, "--offline"], cwd=ROOT, capture_output=True).returncode:
        subprocess.run(command, cwd=ROOT, check=True)


def _words(python: Path, program: str) -> list[str]:
    return subprocess.check_output([python, "-I", "-c", program], text=True).split()


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
