"""Handles one hook event, from the payload to sessions.json: the I/O around `apply`.

Imports little: the hook runs at every prompt.
"""

# Importing pathlib takes longer than the hook's own work.
# ruff: noqa: PTH108, PTH110, PTH119, PTH120

import os
import time

from addon.hooks.answer_proof import answer_proof, key_beside
from addon.hooks.apply import (
    FIELDS,
    PROOF,
    HookClient,
    JsonObject,
    PayloadError,
    apply_event,
    drop_oldest,
    mark_crashed,
    session_of,
)
from addon.hooks.client_process import (
    MOST_BYTES,
    Lookup,
    Process,
    find_client,
    is_running,
    process_lookup,
    read_all,
    read_bytes,
)
from addon.hooks.events import HANDLED
from addon.hooks.fast_json import Json, loads
from addon.hooks.sessions_file import (
    Environment,
    Lock,
    SessionsFileError,
    events_left,
    leave_event,
    log,
    make_folder,
    read_document,
    sessions_path,
    set_aside,
    write_document,
)

# Only a stuck process holds the lock for long: the lock ends with its process.
LOCK_SECONDS = 2.0

# The end of a transcript, large enough for a line with the client's version.
_TAIL_BYTES = 64 * 1024


# Longer than the client should wait for a hook; it ends earlier only where something blocks.
_SECONDS = 10


class OutOfTime(BaseException):
    """The hook took too long; not an error of what it was reading at that moment."""


def receive(stdin: int, arguments: list[str], environment: Environment, parent: int) -> None:
    """Read the payload and handle it, in limited time; errors are logged, never raised."""
    _end_in_time()
    path = sessions_path(_sessions_option(arguments), environment)
    try:
        data = read_all(stdin, MOST_BYTES)
    except BaseException as error:
        _log_error(path, error)
    else:
        handle(data, arguments, environment, parent)


def handle(data: bytes, arguments: list[str], environment: Environment, parent: int) -> None:
    """Record one event; errors are logged, never raised."""
    path = sessions_path(_sessions_option(arguments), environment)
    try:
        payload = _payload(data)
        if payload["hook_event_name"] in HANDLED:
            _record(path, payload, environment, parent)
    except BaseException as error:
        _log_error(path, error)


def _log_error(path: str, error: BaseException) -> None:
    make_folder(path)
    log(path, _in_words(error))


def _end_in_time() -> None:
    """Raise OutOfTime after a while, and end the process if it goes on after that."""
    try:
        # Importing `signal` would take longer than the hook's own work.
        import _signal  # type: ignore[import-not-found]

        signals: Json = _signal
        late: list[bool] = []

        def end(*_: object) -> None:
            if late:
                os._exit(0)
            late.append(True)
            raise OutOfTime

        signals.signal(signals.SIGALRM, end)
        signals.setitimer(signals.ITIMER_REAL, _SECONDS, 1)
    except (ImportError, AttributeError, OSError, ValueError):
        return  # a system without timers


def _sessions_option(arguments: list[str]) -> str | None:
    return arguments[1] if len(arguments) == 2 and arguments[0] == "--sessions" else None


def _payload(data: bytes) -> JsonObject:
    try:
        payload = loads(data.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise PayloadError(f"the payload is not JSON ({error})") from error
    if not isinstance(payload, dict) or not isinstance(payload.get("hook_event_name"), str):
        raise PayloadError("the payload has no hook_event_name")
    return payload


def _record(path: str, payload: JsonObject, environment: Environment, parent: int) -> None:
    # A client started by another client's tool inherits the other client's variables.
    if environment.get("CLAUDE_CODE_SESSION_ID") not in (None, session_of(payload)):
        environment = {}
    lookup = process_lookup()
    process = find_client(lookup, environment.get("CLAUDE_PID"), parent)
    client = {
        "process": (process.pid, process.created_at) if process else None,
        "project_dir": environment.get("CLAUDE_PROJECT_DIR"),
        "entrypoint": environment.get("CLAUDE_CODE_ENTRYPOINT"),
        "version": _version(payload, process) if process else None,
    }
    fields = {name: payload[name] for name in FIELDS if name in payload}
    if payload["hook_event_name"] == "Stop":
        fields[PROOF] = answer_proof(payload.get("last_assistant_message"), key_beside(path))
    make_folder(path)
    own = leave_event(path, {"payload": fields, "client": client, "at": time.time()})
    _wait_until_taken_in(path, own, lookup)


def _wait_until_taken_in(path: str, own: str, lookup: Lookup) -> None:
    """Process all waiting events, unless another hook does so, including this one."""
    lock = Lock(path)
    deadline, pause = time.monotonic() + LOCK_SECONDS, 0.001
    while os.path.exists(own):
        if lock.take():
            try:
                _take_in_events(path, lookup)
            finally:
                lock.give_back()
        elif time.monotonic() > deadline:
            raise TimeoutError(f"the lock was held for {LOCK_SECONDS:g} s; left to the next hook")
        else:
            time.sleep(pause)
            # Waiting hooks must not take CPU time from the one that holds the lock.
            pause = min(pause * 2, 0.02)


def _take_in_events(path: str, lookup: Lookup) -> None:
    files = events_left(path)
    document = _read_or_set_aside(path)
    sessions = document["sessions"]
    # If not even this process is visible, the lookup proves nothing about others.
    if lookup(os.getpid()):
        mark_crashed(sessions, lambda pid, created_at: is_running(lookup, pid, created_at))
    for file in files:
        try:
            event = loads(read_bytes(file).decode())
            apply_event(sessions, event["payload"], HookClient(**event["client"]), event["at"])
        except Exception as error:
            # An invalid event file, or anything else in its place, must not block the others.
            log(path, f"skipped {os.path.basename(file)}: {_in_words(error)}")
    drop_oldest(sessions)
    write_document(path, document)
    for file in files:
        try:
            os.unlink(file)
        except OSError as error:
            log(path, f"could not remove an event: {_in_words(error)}")


def _read_or_set_aside(path: str) -> dict[str, Json]:
    try:
        return read_document(path)
    except SessionsFileError as error:
        aside = set_aside(path)
        log(path, f"could not read sessions.json, renamed to {os.path.basename(aside)}: {error}")
        return read_document(path)


def _version(payload: JsonObject, process: Process) -> str | None:
    """Return the client's version, from its live record or from its lines in the transcript."""
    transcript = payload.get("transcript_path")
    if not isinstance(transcript, str) or not transcript:
        return None
    # <claude folder>/projects/<slug>/<session>.jsonl
    claude_folder = os.path.dirname(os.path.dirname(os.path.dirname(transcript)))
    live_record = _object(_read_or_nothing(f"{claude_folder}/sessions/{process.pid}.json"))
    if isinstance(version := live_record.get("version"), str):
        return version
    # Lines from before the process started belong to an earlier run that it resumed.
    started = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(process.created_at))
    for line in reversed(_read_or_nothing(transcript, _TAIL_BYTES).splitlines()):
        record = _object(line)
        if isinstance(version := record.get("version"), str):
            return version if str(record.get("timestamp")) >= started else None
    return None


def _object(data: bytes) -> JsonObject:
    try:
        value = loads(data.decode())
    except (ValueError, RecursionError):
        # Empty, or still being written.
        return {}
    return value if isinstance(value, dict) else {}


def _read_or_nothing(path: str, last: int | None = None) -> bytes:
    try:
        return read_bytes(path, last)
    except OSError:
        # Not every client writes this file.
        return b""


def _in_words(error: BaseException) -> str:
    if isinstance(error, OutOfTime):
        return f"gave up after {_SECONDS} s"
    if isinstance(error, PayloadError | TimeoutError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}"
    # The message may quote the payload, so log only the type and the place.
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {place}"
