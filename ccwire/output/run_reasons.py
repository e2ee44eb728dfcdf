"""Why a run captured nothing, or less than it should have: one sentence per reason."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from addon.launch.proxy_log import Connections
from addon.recording.drift import NEWS
from ccwire.command_name import command_line
from ccwire.wire.endpoints import CALL_KINDS
from ccwire.wire.format import UNKNOWN, Exchange
from ccwire.wire.safe_text import one_line, shortened
from correlate.captures.folder import read_exchanges, read_manifest, session_folders

_MOST_REASONS = 3
_MOST_NEWS = 2
_MOST_HOSTS = 5


def run_reasons(
    captures: Path,
    moment: float,
    connections: Connections | None,
    *,
    had_base_url: bool = False,
    service: int | None = None,
) -> list[str]:
    """Return the sentences for a run that started at that time; none if all is well.

    `service` is a process that may have made the command's calls, and does not use the proxy.
    """
    unknown = _exchanges_since(captures / UNKNOWN, moment)
    exchanges = [*_known(captures, moment), *unknown]
    return reasons_for(exchanges, unknown, connections, had_base_url=had_base_url, service=service)


def failures_since(captures: Path, moment: float) -> list[str]:
    """Return the sentences about requests that failed since that time."""
    unknown = _exchanges_since(captures / UNKNOWN, moment)
    return _failures([*_known(captures, moment), *unknown])


def sessions_since(captures: Path, moment: float) -> list[Path]:
    """Return the folders of sessions and runs with an exchange since that time."""
    folders = session_folders(captures)
    return [folder for folder in folders if (read_manifest(folder).last_seen or 0) >= moment]


def without_repeats(warnings: Sequence[str], reasons: Sequence[str]) -> list[str]:
    """Return the warnings of the proxy and the reasons, without what a reason repeats."""
    kept = [text for text in warnings if not any(text in reason for reason in reasons)]
    news = [text for text in kept if text.startswith(NEWS)]
    kept = [text for text in kept if text not in news[_MOST_NEWS:]]
    if (more := len(news) - _MOST_NEWS) > 0:
        kept.append(f"{more} more like these; `{command_line('schema check')}` lists them")
    return [*kept, *reasons]


def reasons_for(
    exchanges: Sequence[Exchange],
    unknown: Sequence[Exchange],
    connections: Connections | None,
    *,
    had_base_url: bool = False,
    service: int | None = None,
) -> list[str]:
    """Return the sentences for these exchanges, of which some are in `unknown/`. Pure."""
    sentences = [*_failures(exchanges)]
    calls = [exchange for exchange in exchanges if exchange.kind in CALL_KINDS]
    if not calls:
        sentences.append(f"{_nothing(exchanges)}: {_why(connections, had_base_url, service)}")
    if count := sum(exchange.kind in CALL_KINDS for exchange in unknown):
        sentences.append(f"{_counted(count, 'call')} could not be tied to a session: {UNKNOWN}/")
    return sentences


def _known(captures: Path, moment: float) -> list[Exchange]:
    folders = sessions_since(captures, moment)
    return [exchange for folder in folders for exchange in _exchanges_since(folder, moment)]


def _exchanges_since(folder: Path, moment: float) -> list[Exchange]:
    return [exchange for exchange in read_exchanges(folder) if exchange.started >= moment]


def _failures(exchanges: Sequence[Exchange]) -> list[str]:
    """Count requests without an answer by their error, the most frequent first.

    Others than calls, such as telemetry, count only if no call failed.
    """
    failed = [e for e in exchanges if e.error and e.ended_by in ("server_disconnect", "http_end")]
    calls = [e for e in failed if e.kind in CALL_KINDS]
    noun = "call" if calls else "request"
    which = "" if calls else " that is no call" if len(failed) == 1 else " that are no calls"
    errors = Counter(e.error for e in calls or failed if e.error)
    return [
        f"{_counted(count, noun)}{which} failed: {shortened(one_line(error), 300)}"
        for error, count in errors.most_common(_MOST_REASONS)
    ]


def _nothing(exchanges: Sequence[Exchange]) -> str:
    if not exchanges:
        return "nothing was captured"
    return f"no call was captured, only {_counted(len(exchanges), 'other request')}"


def _why(connections: Connections | None, had_base_url: bool, service: int | None) -> str:
    if connections is None:
        return "the proxy was killed"
    if connections.untrusted:  # first: only hosts that are captured are counted
        hosts = _listed(list(connections.untrusted))
        return f"the command does not trust the proxy's certificate for {hosts}"
    if service is not None:
        return (
            f"background sessions are run by a service of Claude Code (process {service}) that this"
            " run did not start, and that does not use its proxy; end it and its sessions with"
            " `claude daemon stop --any`, then run this again"
        )
    if connections.others:
        return (
            f"the command connected to {_listed(list(connections.others))}, not captured;"
            " if one of them serves the API, add --host HOST"
        )
    if connections.count == 0:
        hint = "" if had_base_url else " A program that uses no proxy needs --via base-url"
        return f"the command made no connection to the proxy; did it start the client?{hint}"
    return "the command sent no request to the API"


def _listed(hosts: Sequence[str]) -> str:
    shown = [one_line(host) for host in hosts[:_MOST_HOSTS]]
    if more := len(hosts) - len(shown):
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
