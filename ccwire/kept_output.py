"""The last output of `ccwire spend`, printed again while nothing that it depends on has changed.

Starting Python and importing takes longer than all else that a second run does. So `__main__` asks
this module first, which imports little. It compares the question (arguments, folder, environment,
terminal) and the state of every file and folder that was read, of the program's own included. What
differs in anything, or is damaged, is not used: the command then runs as if there were none.

The file contains, separated by NUL: the watched paths with their states, the program's modules with
theirs, and questions with their outputs, which all are about that state. A checksum precedes it.
"""

# Importing pathlib takes longer than everything here.
# ruff: noqa: PTH100, PTH109, PTH116, PTH118, PTH120

import os
import sys
import zlib

from addon.hooks.client_process import read_bytes
from addon.hooks.sessions_file import home_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KEPT = "spend-output"
_FORMAT = "1"
_MOST_OUTPUTS = 32
_SETTLED_NS = 500_000_000  # within which a file may change again and its times may not
_VARIABLES = (
    "CLAUDE_CONFIG_DIR",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LINES",
    "NO_COLOR",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "TERM",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
    "TZ",
    "USERPROFILE",
)

type States = Mapping[str, str]


def print_again() -> bool:
    """Print the output that this command line had, if it would be the same; return whether."""
    if not is_plain_output():
        return False
    try:
        place = os.path.join(os.path.abspath(home_path(os.environ)), KEPT)
        watched, program, outputs = _parsed(read_bytes(place))
        text = outputs.get(question())
        if text is None or not (_is_as_it_was(program) and _is_as_it_was(watched)):
            return False
        left = memoryview(text.encode("utf-8", "backslashreplace"))
        whole = len(left)
    except (OSError, ValueError):
        return False
    try:
        while left:
            left = left[os.write(sys.stdout.fileno(), left) :]
    except BrokenPipeError:
        sys.exit(1)  # as click does
    except OSError:
        if len(left) < whole:
            raise
        return False  # the command reports it
    return True


def is_plain_output() -> bool:
    """Whether there is a stdout, in UTF-8: what was printed is then what will be."""
    encoding = str(getattr(sys.stdout, "encoding", None))
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"


def question() -> str:
    """Return all that decides the output besides files."""
    environment = sorted(os.environ.items())
    parts = [*sys.argv[1:], os.getcwd(), sys.version]
    parts += [f"{k}={v}" for k, v in environment if k in _VARIABLES or k.startswith("CCWIRE_")]
    # The width is that of a terminal on any of them, if colours are wanted in a pipe.
    parts += [str(os.get_terminal_size(n)) if os.isatty(n) else "" for n in range(3)]
    return "\n".join(parts)


def states_of(paths: "Iterable[str]") -> dict[str, str]:
    """Return the state of each path; raise OSError if one cannot be looked at."""
    return {path: _state(path) for path in paths}


def modules() -> list[str]:
    """Return the files of the program's modules, and of the libraries that it uses."""
    own = os.path.dirname(os.__file__) + os.sep
    files = {getattr(module, "__file__", None) or own for module in list(sys.modules.values())}
    return sorted(f for f in files if not f.startswith(own) or "site-packages" in f)


def is_settled(states: States, now_ns: int) -> bool:
    """Whether nothing changed lately: a later change will show in the times."""
    times = (int(time) for state in states.values() for time in state.split()[3:])
    return max(times, default=0) < now_ns - _SETTLED_NS


def with_output(before: bytes, watched: States, asked: str, text: str) -> bytes:
    """Return the content of the file with this output; others are kept if they are as recent."""
    program = states_of(modules())
    outputs: dict[str, str] = {}
    try:
        old_watched, old_program, old_outputs = _parsed(before)
        if old_watched == watched and _is_as_it_was(old_program):
            program, outputs = {**old_program, **program}, old_outputs
    except (OSError, ValueError):
        pass
    outputs.pop(asked, None)
    outputs = dict([*outputs.items(), (asked, text)][-_MOST_OUTPUTS:])
    fields = [_FORMAT]
    for mapping in (watched, program, outputs):
        fields.append(str(len(mapping)))
        for name, value in mapping.items():
            fields += name, value
    if any("\0" in field for field in fields):
        raise ValueError("NUL separates the fields")
    body = "\0".join(fields).encode("utf-8", "surrogateescape")
    return b"%08x" % zlib.crc32(body) + body


def _parsed(data: bytes) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    if data[:8] != b"%08x" % zlib.crc32(data[8:]):
        raise ValueError("damaged")
    format_, *fields = data[8:].decode("utf-8", "surrogateescape").split("\0")
    if format_ != _FORMAT:
        raise ValueError("of another version")
    found, at = [], 0
    for _ in range(3):
        end = at + 1 + 2 * int(fields[at])
        found.append(dict(zip(fields[at + 1 : end : 2], fields[at + 2 : end : 2], strict=True)))
        at = end
    watched, program, outputs = found
    return watched, program, outputs


def _is_as_it_was(states: States) -> bool:
    return all(_state(path) == state for path, state in states.items())


def _state(path: str) -> str:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
