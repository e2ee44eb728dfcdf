"""Lays out a frame of the live view as text, for any width and height."""

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from ccwire.command_name import command_line
from ccwire.output.tables import dollars, numbered
from ccwire.wire.format import short_id
from ccwire.wire.models import short_model
from ccwire.wire.safe_text import one_line, shortened
from ccwire.wire.times import clock
from correlate.watch.frame import Frame, InFlight, SeenCall, SessionWatch, Sums

_CHROME = 5  # lines that are neither sessions nor calls
_PRINTED_CALLS = 40


class FrameView:
    """A frame as a rich renderable; without a height it is complete and lists no keys."""

    def __init__(self, frame: Frame, height: int | None = None) -> None:
        self._frame = frame
        self._height = height

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        frame, width = self._frame, options.max_width
        sessions = _session_rows(frame)
        below = _warnings(frame)
        calls = _PRINTED_CALLS
        if self._height is not None:
            below.append(_footer(frame))
            room = max(self._height - _CHROME - len(below) + 1, 2)
            sessions = sessions[-(room // 2) :]
            calls = room - len(sessions)
        errors_only = frame.view.errors_only
        yield Group(
            _line(_headline(frame), width),
            _sessions_table(sessions),
            Text(),
            _errors_table(frame, calls, width) if errors_only else _calls_table(frame, calls),
            *(_line(text, width) for text in below),
        )


def _headline(frame: Frame) -> Text:
    total = frame.total
    parts = [
        ("ccwire watch", "bold"),
        ("  PAUSED" if frame.view.paused else "", "bold yellow"),
        (f"  {numbered(len(frame.sessions), 'session')}", ""),
        (f"  {numbered(total.calls, 'call')}", ""),
        (f"  {numbered(total.errors, 'error')}", "red" if total.errors else "dim"),
        (f"  {_cost(total)}", "green"),
        (f"  {len(frame.in_flight)} in flight", "yellow" if frame.in_flight else "dim"),
        (f"  {clock(frame.at)}", "dim"),
    ]
    return Text.assemble(*parts)


def _footer(frame: Frame) -> Text:
    only = short_id(frame.view.session_id) if frame.view.session_id else "all"
    errors = "on" if frame.view.errors_only else "off"
    paused = "resume" if frame.view.paused else "pause"
    return Text(f"q quit   f session: {only}   e errors only: {errors}   p {paused}", style="dim")


def _warnings(frame: Frame) -> list[Text]:
    found = []
    if frame.view.errors_only and not frame.calls:
        found.append(Text("no errors", style="dim"))
    elif not frame.calls and not frame.in_flight:
        hint = f"no calls yet; start a client with `{command_line('run claude')}`"
        found.append(Text(hint, style="dim"))
    if frame.drift:
        newest = list(frame.drift)[-1]
        warning = f"drift: {len(frame.drift)} not in the baseline, such as {one_line(newest)}"
        found.append(Text(warning, style="magenta"))
    if frame.lost:
        found.append(Text(f"not captured: {frame.lost} exchanges, see the manifest", style="red"))
    return found


_SESSION_COLUMNS = ("session / agent", "calls", "err", "in", "out", "cache", "ttfb", "cost")


def _sessions_table(rows: list[tuple[str, Sums, str]]) -> Table:
    table = _table(_SESSION_COLUMNS, left=1)
    for name, sums, style in rows:
        table.add_row(
            Text(name),
            str(sums.calls),
            Text(str(sums.errors), style="red" if sums.errors else "dim"),
            _short_count(sums.tokens.context),
            _short_count(sums.tokens.output),
            _share(sums.cache_share),
            _seconds(sums.first_byte),
            _cost(sums),
            style=style,
        )
    return table


def _session_rows(frame: Frame) -> list[tuple[str, Sums, str]]:
    rows = []
    for session in frame.sessions:
        version = f"  {one_line(session.version)}" if session.version else ""
        rows.append((f"{short_id(session.session_id)}{version}", session.total, "bold"))
        if len(session.agents) > 1:
            rows += [
                (f"  {_agent(session, agent_id)}", sums, "")
                for agent_id, sums in session.agents.items()
            ]
    return rows


_CALL_COLUMNS = (
    *("time", "session", "agent", "model"),
    *("st", "in", "out", "cache", "cost", "ttfb", "took"),
)


def _calls_table(frame: Frame, room: int) -> Table:
    table = _table(_CALL_COLUMNS, left=4)
    flights = frame.in_flight[-max(room - 1, 0) :] if room > 1 else ()
    for call in frame.calls[-max(room - len(flights), 1) :]:
        table.add_row(*_call_cells(call))
    for session_id, flight in flights:
        cells = _flight_cells(session_id, flight, frame.at)
        table.add_row(*cells, style="yellow")
    return table


def _call_cells(call: SeenCall) -> list[str | Text]:
    exchange = call.exchange
    wait = exchange.first_byte_ms
    took = exchange.ended - exchange.started if exchange.ended is not None else None
    name = _model(exchange.model) if exchange.kind == "messages" else exchange.kind
    status = Text(str(exchange.status or "cut"), style="red" if exchange.broken else "green")
    if exchange.broken and not exchange.failed:
        status = Text("cut", style="red")
    return [
        clock(exchange.started),
        short_id(call.session_id),
        one_line(exchange.agent_id or "main")[:8],
        shortened(name, 11),
        status,
        _short_count(call.tokens.context),
        _short_count(call.tokens.output),
        _share(call.cache_share),
        dollars(call.usd),
        _seconds(wait / 1000 if wait is not None else None),
        _seconds(took),
    ]


def _flight_cells(session_id: str, flight: InFlight, now: float) -> list[str | Text]:
    wait = flight.first_byte - flight.started if flight.first_byte else None
    name = _model(flight.model) if flight.kind == "messages" else flight.kind
    return [
        clock(flight.started),
        short_id(session_id),
        one_line(flight.agent_id or "main")[:8],
        shortened(name, 11),
        str(flight.status or "…"),
        "",
        "…",
        "",
        "",
        _seconds(wait),
        _seconds(flight.elapsed(now)),
    ]


_ERROR_COLUMNS = ("time", "session", "agent", "what", "st", "error")


def _errors_table(frame: Frame, room: int, width: int) -> Table:
    table = _table(_ERROR_COLUMNS, left=6)
    for call in frame.calls[-room:]:
        exchange = call.exchange
        table.add_row(
            clock(exchange.started),
            short_id(call.session_id),
            one_line(exchange.agent_id or "main")[:8],
            shortened(exchange.kind, 12),
            Text(str(exchange.status or "-"), style="red"),
            shortened(one_line(exchange.error or exchange.ended_by or ""), max(width - 44, 8)),
        )
    return table


def _table(columns: tuple[str, ...], left: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for place, name in enumerate(columns):
        side = "left" if place < left else "right"
        table.add_column(name, justify=side, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    return table


def _line(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text


def _agent(session: SessionWatch, agent_id: str | None) -> str:
    if agent_id is None:
        return "main"
    kind = session.agent_types.get(agent_id)
    return shortened(one_line(f"{agent_id[:8]} {kind or ''}").rstrip(), 26)


def _model(model: str | None) -> str:
    return one_line(short_model(model or "-"))


def _cost(sums: Sums) -> str:
    if sums.unpriced:
        return f"{dollars(sums.usd)}+?"
    return dollars(sums.usd)


def _short_count(value: int) -> str:
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if value >= size:
            return f"{value / size:.1f}{unit}" if value < 10 * size else f"{value / size:.0f}{unit}"
    return str(value)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1:
        return f"{value * 1000:.0f}ms"
    return f"{value:.1f}s" if value < 100 else f"{value / 60:.0f}m"
