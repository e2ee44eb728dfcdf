"""The name of a run: the folder for calls of processes that have no session."""

import secrets
import time


def new_run_name() -> str:
    """Return a new name such as `run-20261116T174500Z-1f9c2a`; it is valid as a session id."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return f"run-{moment}-{secrets.token_hex(3)}"
