"""Simulates a kill at the nth disk operation: it and all later ones do not happen."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Killed(BaseException):
    """Simulated death; not an `Exception`, so that no error handler catches it."""


class Death:
    def __init__(self, after: int) -> None:
        self.left = after

    def act(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


@contextmanager
def killed_after(monkeypatch: pytest.MonkeyPatch, acts: int) -> Iterator[Death]:
    """Kill after this many operations: opening, writing, renaming and removing."""
    death = Death(acts)

    def acting(real: Callable[..., Any]) -> Callable[..., Any]:
        def act(*args: Any, **named: Any) -> Any:
            death.act()
            return real(*args, **named)

        return act

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", acting(os.open))
        write_all = acting(_write_all())
        for module in ("files", "folder"):
            patched.setattr(f"addon.storage.{module}.write_all", write_all)
        for name in ("replace", "unlink", "mkdir", "rename"):
            patched.setattr(Path, name, acting(getattr(Path, name)))
        yield death


def _write_all() -> Callable[..., Any]:
    from addon.storage.files import write_all

    return write_all
