"""`ccwire show`: a session's conversation or its final answer, its exchanges, or one of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from ccwire.capture_folders import CaptureFolders, last_written
from ccwire.command_name import command_line
from ccwire.options import UserError, captures_option, claude_dir_option, json_option
from ccwire.output.hints import session_command
from ccwire.output.redacted import redacted, redacted_values
from ccwire.output.show.exchange import (
    Detail,
    print_answer,
    print_events,
    print_heading,
    print_message,
    print_request,
)
from ccwire.output.show.exchange_list import print_list
from ccwire.output.terminal import SafeConsole, echo, page, print_json, write_exactly
from ccwire.sessions.argument import (
    CapturedSession,
    captured_session,
    check_readable,
    find_session,
    no_captured_call,
    session_and_call,
)
from ccwire.wire.format import UNKNOWN, Exchange
from ccwire.wire.json_text import as_dict
from correlate.captures.folder import read_request_bytes, read_response_bytes
from correlate.show.answer import events_of, shown_answer, shown_event
from correlate.show.curl import NotRepeatable, curl_command
from correlate.show.listing import MOST_BYTES, ListedExchange, listed_exchanges, newest_within
from correlate.show.request import message_of, shown_message, shown_request
from correlate.show.stored import (
    StoredExchange,
    has_others,
    parts_in,
    read_stored,
    session_exchanges,
)
from correlate.transcript.locate import ClaudeDir

# What of an exchange is shown, by the option that chooses it.
Part = Literal["request", "response", "events", "message", "curl"]


@dataclass(frozen=True, slots=True)
class _Shown:
    """The chosen exchange, and what of it is to be shown."""

    session: CapturedSession
    exchanges: Sequence[Exchange]
    list_command: str
    number: int
    part: Part | None  # None is all of it
    message: int | None
    detail: Detail
    use_pager: bool


@dataclass(frozen=True, slots=True)
class _Listed:
    """The exchanges to list, and the command that shows one of them."""

    session: CapturedSession
    exchanges: Sequence[Exchange]
    next_command: str
    full: bool
    use_pager: bool

    @property
    def most_bytes(self) -> int | None:
        return None if self.full else MOST_BYTES


@click.command("show")
@click.argument("session", required=False)
@click.argument("number", required=False, type=int, metavar="[N]")
@click.option("--answer", is_flag=True, help="Print only the final answer, as `claude -p` does.")
@click.option(
    "--turn",
    type=int,
    metavar="K",
    help="With --answer: the answer to prompt K; -1 is the last prompt.",
)
@click.option("--calls", is_flag=True, help="List the exchanges of the session.")
@click.option("--markdown", is_flag=True, help="Print the conversation as Markdown.")
@click.option("--request", is_flag=True, help="Show only what was sent.")
@click.option("--response", is_flag=True, help="Show only the answer.")
@click.option(
    "--events", is_flag=True, help="Show the events of a streamed answer, with their times."
)
@click.option("--message", type=int, metavar="K", help="Show only message K of the request, whole.")
@click.option(
    "--curl", is_flag=True, help="Print the request as a curl command, secrets as variables."
)
@click.option("--headers", is_flag=True, help="Include the headers.")
@click.option("--full", is_flag=True, help="Shorten nothing.")
@click.option("--raw", is_flag=True, help="Print the stored files, byte for byte.")
@click.option("--no-pager", is_flag=True, help="Print without a pager.")
@captures_option
@claude_dir_option
@json_option
def command(
    session: str | None,
    number: int | None,
    answer: bool,
    turn: int | None,
    calls: bool,
    markdown: bool,
    request: bool,
    response: bool,
    events: bool,
    message: int | None,
    curl: bool,
    headers: bool,
    full: bool,
    raw: bool,
    no_pager: bool,
    captures: CaptureFolders,
    claude_dir: Path,
    as_json: bool,
) -> None:
    """Show the conversation of SESSION, its final answer, or its exchange N.

    SESSION is an id, a unique prefix, a folder, or `latest`, which is the default: the captured
    session that was written to last, or if nothing is captured, the newest one of the client.
    `show 7` is exchange 7 of the latest session. `--calls` lists the exchanges; `unknown` are those
    without a session. A conversation needs no capture: it is read from the transcript, or without
    one from the capture. `--answer` waits for an answer that is being written; with `--json` it has
    usage, turns, duration and cost, of the session or with `--turn` of one prompt. Long texts are
    shortened. On a terminal, a long output is shown in $PAGER, else in less.
    """
    parts: dict[Part, bool] = {
        "request": request,
        "response": response,
        "events": events,
        "message": message is not None,
        "curl": curl,
    }
    part = _part([name for name, given in parts.items() if given], headers, raw, as_json)
    wanted, number = session_and_call(session, number, captures)
    of_exchange = number is not None or bool(part or raw or headers)
    _check_view(answer, turn, calls, markdown, as_json, of_exchange)
    if not of_exchange and not calls and wanted != UNKNOWN:
        # Imports the price list, which an exchange does not need.
        from ccwire.output.show.session import ConversationView

        whole = find_session(wanted, captures, claude_dir)
        check_readable(whole, claude_dir)
        view = ConversationView(
            whole, captures, claude_dir, full=full, markdown=markdown, use_pager=not no_pager
        )
        if answer:
            view.print_answer(turn, as_json=as_json)
        elif as_json:
            view.print_json()
        else:
            view.print()
        return
    if answer or markdown:
        raise UserError("the exchanges of `unknown` are no conversation; leave out the option.")
    found = _found(wanted, captures, claude_dir)
    exchanges = session_exchanges(found.capture, found.session_id, ClaudeDir(claude_dir))
    if not exchanges and has_others(found.capture, found.session_id):
        raise UserError(no_captured_call(found))
    is_unknown = found.session_id == UNKNOWN
    list_command = session_command(
        "show", found.session_id, captures, claude_dir, "" if is_unknown else "--calls"
    )
    if number is None:
        if part or raw or headers:
            raise UserError(
                f"give the number of the exchange to show; `{list_command}` lists them."
            )
        next_command = session_command("show", found.session_id, captures, claude_dir, "N")
        listed = _Listed(found, exchanges, next_command, full, not no_pager)
        if as_json:
            _print_list_json(listed)
        else:
            _print_list(listed)
        return
    detail = Detail(full=full, headers=headers)
    shown = _Shown(found, exchanges, list_command, number, part, message, detail, not no_pager)
    if raw:
        _print_raw(shown)
    elif part == "curl":
        _print_curl(shown)
    elif as_json:
        _print_json(shown)
    else:
        _print_text(shown)


def _check_view(
    answer: bool,
    turn: int | None,
    calls: bool,
    markdown: bool,
    as_json: bool,
    of_exchange: bool,
) -> None:
    """Raise UserError if the options that choose a view of the session exclude each other."""
    chosen = {"--answer": answer, "--calls": calls, "--markdown": markdown}
    given = [name for name, is_given in chosen.items() if is_given]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} exclude each other; give one of them.")
    if given and of_exchange:
        raise UserError(f"{given[0]} is about the whole session; leave out N and its options.")
    if markdown and as_json:
        raise UserError("--markdown and --json exclude each other; give one of them.")
    if turn is not None and not answer:
        raise UserError("--turn chooses an answer; give --answer too.")


def _part(chosen: list[Part], headers: bool, raw: bool, as_json: bool) -> Part | None:
    """Return the one part that was chosen; raise UserError if the options contradict each other."""
    options = [f"--{name}" for name in chosen]
    if len(options) > 1:
        raise UserError(f"{' and '.join(options)} exclude each other; give one of them.")
    if raw and as_json:
        raise UserError("--raw and --json exclude each other; give one of them.")
    part = chosen[0] if chosen else None
    if raw and part not in (None, "request", "response"):
        raise UserError(f"--raw prints whole files; leave out --{part} or --raw.")
    if as_json and part == "curl":
        raise UserError("--curl and --json exclude each other; give one of them.")
    if headers and part in ("events", "message", "curl"):
        raise UserError(f"--headers has no effect with --{part}; leave out one of them.")
    return part


def _found(wanted: str, captures: CaptureFolders, claude_dir: Path) -> CapturedSession:
    """Find a session, or as `unknown` the calls that no evidence ties to one."""
    if wanted != UNKNOWN:
        return captured_session(wanted, captures, claude_dir)
    folders = sorted(captures.unknown, key=last_written, reverse=True)
    if not folders:
        captures.warn_of_away()
        raise UserError(
            f"every exchange in {captures} belongs to a session; "
            f"`{command_line('sessions')}` lists the sessions."
        )
    used, *others = folders
    if others:
        also = ", ".join(map(str, others))
        echo(f"ccwire: {used} was written last; there is also {also}", err=True)
    return CapturedSession(UNKNOWN, used)


def _read_list(listed: _Listed) -> list[ListedExchange]:
    capture = listed.session.capture
    in_flight = parts_in(capture)
    return listed_exchanges(
        capture, listed.exchanges, in_flight, listed.most_bytes, redacted, whole=listed.full
    )


def _print_list_json(listed: _Listed) -> None:
    rows = [
        {**one.call.to_json(), "in_flight": one.in_flight, "last_user_text": one.words}
        for one in _read_list(listed)
    ]
    print_json({"session_id": listed.session.session_id, "exchanges": rows})


def _print_list(listed: _Listed) -> None:
    rows = _read_list(listed)
    read = newest_within(listed.exchanges, listed.most_bytes)

    def print_to(to: SafeConsole) -> None:
        print_list(to, listed.session.session_id, rows, full=listed.full)
        if len(read) < len(newest_within(listed.exchanges, None)):
            to.print("Texts are those of the newest calls only; --full reads all of them.")
        if rows:
            to.print(f"`{listed.next_command}` shows one of them.", soft_wrap=True)

    page(print_to, use_pager=listed.use_pager)


def _print_text(shown: _Shown) -> None:
    stored = _stored(shown)
    request = redacted_values(stored.request) if stored.request is not None else None
    response = stored.response
    if response is not None and shown.part != "events":
        response = redacted_values(_without_events(response))

    def print_to(to: SafeConsole) -> None:
        if shown.part == "message":
            assert request is not None and shown.message is not None
            message = shown_message(shown.message, _message(request, shown))
            print_message(to, message, Detail(full=True))
            return
        if shown.part == "events":
            print_events(to, map(shown_event, _events(response)), shown.detail)
            return
        in_flight = stored.in_flight
        print_heading(to, shown.session.session_id, stored.call, in_flight=in_flight)
        for problem in stored.problems:
            to.print(problem, style="yellow")
        if request is not None:
            print_request(to, shown_request(request), shown.detail)
        if response is not None:
            print_answer(to, shown_answer(response), stored.call, shown.detail)
        elif in_flight and shown.part != "request":
            to.print("\nThe answer is not stored yet: the exchange is in flight.")

    page(print_to, use_pager=shown.use_pager)


def _print_json(shown: _Shown) -> None:
    stored = _stored(shown)
    for problem in stored.problems:
        echo(problem, err=True)
    match shown.part:
        case "request":
            print_json(stored.request)
        case "response":
            print_json(stored.response)
        case "events":
            print_json(_events(stored.response))
        case "message":
            print_json(_message(stored.request or {}, shown))
        case _:
            print_json({"request": stored.request, "response": stored.response})


def _print_raw(shown: _Shown) -> None:
    """Print the files, also damaged ones; in `unknown/`, only those of the session's own calls."""
    own = {call.sequence for call in shown.exchanges}
    if _only_listed(shown) and shown.number not in own:
        raise UserError(_no_such_exchange(shown))
    stored: list[bytes] = []
    missing: list[str] = []
    readers: dict[str, Callable[[Path, int], bytes]] = {
        "request": read_request_bytes,
        "response": read_response_bytes,
    }
    if shown.part is not None:
        readers = {shown.part: readers[shown.part]}
    for name, read in readers.items():
        try:
            stored.append(read(shown.session.capture, shown.number))
        except FileNotFoundError:
            missing.append(name)
    if not stored:
        raise UserError(_nothing_to_show(_stored(shown), "file"))
    for data in stored:
        write_exactly(data)
    for name in missing:
        echo(f"Exchange {shown.number} has no {name} file.", err=True)


def _print_curl(shown: _Shown) -> None:
    stored = _stored(shown)
    if stored.request is None:
        raise UserError(f"exchange {shown.number}: {' '.join(stored.problems)}")
    data = read_request_bytes(shown.session.capture, shown.number)
    try:
        made = curl_command(stored.request, data, redacted)
    except NotRepeatable as error:
        raise UserError(
            f"exchange {shown.number} cannot be repeated with curl: {error}; "
            f"`--raw --request` prints what is stored."
        ) from None
    write_exactly(made.text.encode("utf-8", "backslashreplace"))
    if made.variables:
        echo(f"Set {', '.join(made.variables)} first: captures contain no secret.", err=True)
    for note in made.notes:
        echo(f"Note: {note}.", err=True)


def _stored(shown: _Shown) -> StoredExchange:
    """Read the files that the chosen part needs."""
    try:
        stored = read_stored(
            shown.session.capture,
            shown.exchanges,
            shown.number,
            only_listed=_only_listed(shown),
            request=shown.part in (None, "request", "message", "curl"),
            response=shown.part in (None, "response", "events"),
        )
    except KeyError:
        raise UserError(_no_such_exchange(shown)) from None
    is_answer = shown.part in ("response", "events")
    needed = stored.response if is_answer else stored.request
    if shown.part and needed is None:
        raise UserError(_nothing_to_show(stored, "answer" if is_answer else "request"))
    return stored


def _only_listed(shown: _Shown) -> bool:
    return has_others(shown.session.capture, shown.session.session_id)


def _nothing_to_show(stored: StoredExchange, what: str) -> str:
    number = stored.call.sequence
    if stored.in_flight:
        return f"exchange {number} is in flight; repeat this when it has ended."
    reason = " ".join(stored.problems) or "There is no file."
    return f"exchange {number} has no {what} to show: {reason[0].lower()}{reason[1:]}"


def _no_such_exchange(shown: _Shown) -> str:
    session_id = shown.session.session_id
    if not shown.exchanges:
        return f"session {session_id} has no exchange yet; repeat this when the client has called."
    first, last = shown.exchanges[0].sequence, shown.exchanges[-1].sequence
    has = f"{first} to {last}" if first < last else f"only {first}"
    return (
        f"session {session_id} has no exchange {shown.number}; it has {has}, and "
        f"`{shown.list_command}` lists them."
    )


def _message(request: Mapping[str, Any], shown: _Shown) -> Any:
    assert shown.message is not None
    try:
        return message_of(request, shown.message)
    except IndexError as error:
        (count,) = error.args
        has = f"it has {count:,}, counted from 1" if count else "it has none"
        raise UserError(
            f"the request of exchange {shown.number} has no message {shown.message}; {has}."
        ) from None


def _events(response: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    events = events_of(response or {})
    if not events:
        raise UserError("the answer was not streamed; leave out --events to see it.")
    return events


def _without_events(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a response with the assembled message only, if there is one: it says the same."""
    if not isinstance(response.get("message"), dict):
        return response
    return {**response, "body": {**as_dict(response.get("body")), "events": []}}
