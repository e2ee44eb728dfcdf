"""Fetch the newest ccusage, which reads the same transcripts and only sums them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def ccusage_command(folder: Path, report: str) -> list[str] | None:
    """Install the newest ccusage and return its command; None if npm has no binary for it."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    machine = "arm64" if os.uname().machine in ("arm64", "aarch64") else "x64"
    program = f"@ccusage/ccusage-{sys.platform}-{machine}"
    found = subprocess.run([npm, "view", program, "version"], capture_output=True, text=True)
    version = found.stdout.strip()
    if found.returncode or not version:
        return None
    home = folder / "ccusage"
    home.mkdir()
    install = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(home)]
    wanted = [f"ccusage@{version}", f"{program}@{version}"]
    if subprocess.run([*install, *wanted], capture_output=True).returncode:
        return None
    script = home / "node_modules" / "ccusage" / "src" / "cli.js"
    return [node, str(script), report, "--offline", "--json"] if script.exists() else None
