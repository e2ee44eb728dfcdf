"""The list behind `ccwire sessions --prompts`: what was typed, newest last. Reads no transcript."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from rich.console import Console

from ccwire.output.fitted import FittedColumn, print_fitted
from ccwire.output.redacted import redacted
from ccwire.output.tables import day
from ccwire.output.terminal import print_json
from ccwire.sessions.filters import SessionFilter
from ccwire.wire.format import short_id
from correlate.transcript.client_records import TypedPrompt

_COLUMNS = (
    FittedColumn("typed", 1, 11),
    FittedColumn("project", 3, 7, least=10),
    FittedColumn("session", 2, 8),
)
_SHORTEST_PROMPT = 18


def print_prompts(
    to: Console, prompts: Iterable[TypedPrompt], chosen: SessionFilter, *, as_json: bool
) -> None:
    """Print the prompts that fit, the newest ones up to the limit."""
    fitting = [prompt for prompt in prompts if _fits(prompt, chosen)]
    shown = fitting[-chosen.limit :] if chosen.limit else fitting
    more = len(fitting) - len(shown)
    if as_json:
        rows = [asdict(prompt) for prompt in reversed(shown)]
        print_json({"prompts": rows, "more": more})
        return
    if not shown:
        to.print("No typed prompt matches in the client's history.jsonl.", soft_wrap=True)
        return
    now = datetime.now()
    title = FittedColumn("prompt", 0, 6, least=max(_SHORTEST_PROMPT, to.width // 3))
    cells = [
        {
            "typed": day(prompt.at, now),
            "project": Path(prompt.project).name if prompt.project else "-",
            "session": short_id(prompt.session_id) if prompt.session_id else "-",
            "prompt": redacted(prompt.text),
        }
        for prompt in shown
    ]
    print_fitted(to, [*_COLUMNS, title], cells)
    if more:
        to.print(f"{more:,} more prompts: --limit all", soft_wrap=True)


def _fits(prompt: TypedPrompt, chosen: SessionFilter) -> bool:
    if not chosen.fits_time(prompt.at, prompt.at):
        return False
    return chosen.project is None or chosen.project.matches(prompt.project)
