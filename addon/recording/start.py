"""Prepares a capture folder and builds its recorder, in the proxy or in the writer process."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from addon.hooks.sessions import SessionsMap
from addon.identity.lookup import SessionLookup
from addon.identity.password import run_authorization
from addon.recording.recorder import Recorder
from addon.redaction.key import KEY_FILE, redaction_key
from addon.redaction.redactor import Redactor
from addon.storage.folder import CaptureStore
from addon.storage.home import find_home
from addon.storage.packing.keep_open import ALL, parse_keep_open
from addon.storage.registry import REGISTRY, register
from addon.upstream.company_proxy import proxy_authorizations

logger = logging.getLogger("ccwire")


class CapturePaths(NamedTuple):
    """The files and folders that a capture reads and writes, and how many stay open."""

    captures: Path
    sessions: Path  # the file that the hooks write
    claude_dir: Path
    run: str = ""  # the folder of programs without a session; empty: `unknown`
    keep_open: str = ALL  # exchanges of a running session that are not packed

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        captures, sessions, claude_dir, run, keep_open = arguments
        return cls(Path(captures), Path(sessions), Path(claude_dir), run, keep_open)


def prepare(paths: CapturePaths) -> None:
    """Create the capture folder and register it in the home, for commands to find it.

    A problem is a warning, because an error would end mitmproxy.
    """
    store = CaptureStore(paths.captures)
    try:
        store.prepare()
    except OSError as error:
        logger.warning(f"ccwire: {store.root} cannot be written ({error.strerror})")
        return
    if (home := find_home(os.environ)) is not None:
        _register(store.root, home)


def _register(captures: Path, home: Path) -> None:
    try:
        register(captures, home)
    except OSError as error:
        logger.warning(
            f"ccwire: {captures} could not be listed in {home / REGISTRY} ({error.strerror});"
            f" commands find it with --captures {captures}"
        )


def recorder_for(paths: CapturePaths) -> Recorder:
    lookup = SessionLookup(SessionsMap(paths.sessions), paths.claude_dir, paths.run or None)
    redactor = new_redactor(redaction_key(paths.sessions.with_name(KEY_FILE)))
    keep_open = parse_keep_open(paths.keep_open)
    return Recorder(CaptureStore(paths.captures), redactor, lookup, keep_open)


def new_redactor(key: bytes) -> Redactor:
    """Return a redactor that knows the passwords of the proxies, which may repeat them."""
    redactor = Redactor(key)
    own = run_authorization(os.environ)
    for authorization in [*proxy_authorizations(os.environ), *([own] if own else [])]:
        redactor.learn("proxy-authorization", authorization)
    return redactor
