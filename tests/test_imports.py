"""What the hook imports, which import-linter cannot check; see `uv run lint-imports`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_hook_needs_the_standard_library_alone() -> None:
    """Run as the client runs it: isolated, without site-packages."""
    program = f"import sys; sys.path.append({str(ROOT)!r})\nimport addon.hooks.handle\n"
    command = [sys.executable, "-I", "-S", "-c", program + "print(*sys.modules)"]
    loaded = {
        name.partition(".")[0] for name in subprocess.check_output(command, text=True).split()
    }
    assert loaded - set(sys.stdlib_module_names) <= {"__main__", "addon"}
