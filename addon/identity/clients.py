"""Decides which local processes a proxy serves: everyone's, this user's, or the tree of one run."""

import os
from dataclasses import dataclass
from typing import Literal, Protocol

import psutil

from addon.identity import socket_table
from addon.identity.processes import ClientProcess
from addon.identity.socket_table import Address

Verdict = Literal["served", "stranger", "unknown"]

RUN_MARK = "CCWIRE_RUN"  # in the environment of what a run starts, and of all that it starts


@dataclass(frozen=True, slots=True)
class Client:
    """The client of a connection; its user and process are None where they cannot be known."""

    uid: int | None
    process: ClientProcess | None


class Clients(Protocol):
    """A rule which clients are served."""

    def judge(self, client: Client) -> Verdict: ...


class Everyone:
    def judge(self, client: Client) -> Verdict:
        return "served"


class OwnUser:
    """The processes of this user, and those whose user the system does not show."""

    def judge(self, client: Client) -> Verdict:
        return "served" if client.uid in (None, os.geteuid()) else "stranger"


class RunTree:
    """The processes that a run has started, directly or not.

    A process whose parent has exited is no descendant any more, so the mark in its environment
    counts too. The mark is not secret, so it counts for processes of this user only: root can
    read the environments of all. A web page has none.
    """

    def __init__(self, root: int, mark: str) -> None:
        """Raise ValueError if there is no process `root`."""
        try:
            self._root = psutil.Process(root)
        except psutil.Error as error:
            raise ValueError(f"there is no process {root}") from error
        self._mark = mark
        self._known: set[tuple[int, float]] = set()

    def judge(self, client: Client) -> Verdict:
        if client.process is not None:
            return "served" if self._has(client.process, client.uid) else "stranger"
        if client.uid is not None and self._may_own(client.uid):
            return "served"
        return "unknown"

    def _has(self, process: ClientProcess, uid: int | None) -> bool:
        known = (process.pid, process.created)
        if known not in self._known:
            may_be_marked = uid in (None, os.geteuid())
            if self._is_below(process.pid) or (may_be_marked and self._is_marked(process)):
                self._known.add(known)
        return known in self._known

    def _is_below(self, pid: int) -> bool:
        try:
            process = psutil.Process(pid)
            return self._root == process or self._root in process.parents()
        except psutil.Error:
            return False

    def _is_marked(self, process: ClientProcess) -> bool:
        return bool(self._mark) and run_mark(process.pid) == self._mark

    def _may_own(self, uid: int) -> bool:
        """Return whether a process of the tree with this user hides its open files.

        A program with capabilities does, such as a Node that may listen on port 443.
        """
        try:
            below = self._root.children(recursive=True)
        except psutil.Error:
            return False
        return any(_hides_files(process) and _uid(process) == uid for process in below)


def client_of(client: Address, proxy: Address, process: ClientProcess | None) -> Client:
    """Look up the user of a connection, whose process has been looked up."""
    found = socket_table.find(client, proxy) if socket_table.is_there() else None
    return Client(found.uid if found else None, process)


def run_mark(pid: int) -> str | None:
    """Return the run that a process belongs to; None if there is none, or it cannot be read."""
    try:
        return psutil.Process(pid).environ().get(RUN_MARK)
    except (psutil.Error, OSError):
        return None


def _hides_files(process: psutil.Process) -> bool:
    try:
        process.num_fds()
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
    return False


def _uid(process: psutil.Process) -> int | None:
    try:
        return int(process.uids().effective)
    except psutil.Error:
        return None
