"""What each room may import (DESIGN): each in an interpreter of its own, and by reading it."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

SEES_MITMPROXY = {"addon/capture.py"}


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> set[str]:
    """Every module that a file names in an import, wherever it stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def of(package: str, names: set[str]) -> set[str]:
    return {name for name in names if name == package or name.startswith(package + ".")}


def loaded_by(names: list[str]) -> set[str]:
    program = f"import sys, {', '.join(names)}\nprint(*sys.modules)"
    return set(subprocess.check_output([sys.executable, "-c", program], text=True).split())


def test_reading_captures_needs_no_mitmproxy() -> None:
    loaded = loaded_by([name(path) for path in modules("correlate")])
    assert of("correlate", loaded) >= {"correlate.sse", "correlate.message", "correlate.captures"}
    assert of("mitmproxy", loaded) == set()


def test_of_the_capture_side_the_reading_side_knows_the_format_alone() -> None:
    for path in modules("correlate"):
        known = of("addon", imported(path))
        assert {module for module in known if module.count(".") == 1} <= {"addon.format"}, path.name
        assert "addon" not in known


def test_mitmproxy_is_seen_in_one_place() -> None:
    seen = {
        str(path.relative_to(ROOT))
        for room in ("addon", "correlate", "ccwire", "lab")
        for path in modules(room)
        if of("mitmproxy", imported(path))
    }
    assert seen == SEES_MITMPROXY


def test_the_rest_of_the_capture_side_loads_without_it() -> None:
    names = [
        name(path) for path in modules("addon") if str(path.relative_to(ROOT)) not in SEES_MITMPROXY
    ]
    assert of("mitmproxy", loaded_by(names)) == set()


def test_the_hook_needs_the_standard_library_alone() -> None:
    """As it is run: isolated, and without what is installed."""
    program = (
        f"import sys; sys.path.append({str(ROOT)!r})\nimport addon.hook_event\nprint(*sys.modules)"
    )
    output = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True)
    loaded = {module.partition(".")[0] for module in output.split()}
    assert loaded - set(sys.stdlib_module_names) <= {"__main__", "addon"}
    hook = imported(ROOT / "addon" / "hook.py")
    assert hook == {"os", "sys", "addon.hook_event", "addon.hook_event.handle"}
