"""mitmdump loads the script from any folder and any installation that has the dependencies."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig import until

ROOT = Path(__file__).parent.parent.parent
NOT_INSTALLED = f"import sys; sys.path[:] = [p for p in sys.path if p != {str(ROOT)!r}]; "
MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mitmproxy")


@pytest.mark.parametrize("program", [MITMDUMP, NOT_INSTALLED + MITMDUMP])
def test_a_project_with_its_own_addon_package_is_captured(
    program: str, tmp_path: Path, confdir: Path
) -> None:
    for name in ("addon", "ccwire"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('imported')")
    command = [sys.executable, "-u", "-c", program, "--listen-host", "127.0.0.1", "-p", "0"]
    command += ["--set", f"confdir={confdir}", "-s", str(ROOT / "addon" / "capture.py")]
    log = tmp_path / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env={"PYTHONPATH": ".", "HOME": str(tmp_path)},
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as proxy,
    ):
        try:
            until(lambda: b"listening at" in log.read_bytes() or proxy.poll() is not None, 30)
            until(lambda: b"ccwire: capturing" in log.read_bytes(), 10)
        except AssertionError:
            pytest.fail(log.read_text())
        finally:
            proxy.terminate()
