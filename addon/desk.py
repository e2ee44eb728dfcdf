"""Puts the filing desk together from the places it works with, in whichever process it stands."""

import logging
from pathlib import Path
from typing import NamedTuple

from addon.filing import Filing, Processes
from addon.key import KEY_FILE, redaction_key
from addon.recovery import recover
from addon.redact import Redactor
from addon.session_lookup import SessionLookup
from addon.sessions import SessionsMap
from addon.store import CaptureStore

logger = logging.getLogger("ccwire")


class Places(NamedTuple):
    captures: Path
    sessions: Path  # the map that the hooks write
    claude_dir: Path


def prepare(places: Places) -> None:
    """Whatever is wrong with the folder, the proxy starts: an error logged now would end it."""
    store = CaptureStore(places.captures)
    try:
        store.prepare()
        if count := recover(store):
            what = "1 exchange" if count == 1 else f"{count} exchanges"
            logger.warning(f"ccwire: {what} of a killed proxy recovered")
    except OSError as error:
        logger.warning(f"ccwire: {store.root} cannot be written ({error.strerror})")
    except Exception as error:
        logger.warning(f"ccwire: what a killed proxy left could not be recovered ({error!r})")


def desk(places: Places, processes: Processes) -> Filing:
    lookup = SessionLookup(SessionsMap(places.sessions), places.claude_dir)
    redactor = Redactor(redaction_key(places.sessions.with_name(KEY_FILE)))
    return Filing(CaptureStore(places.captures), redactor, processes, lookup)
