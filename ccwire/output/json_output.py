"""JSON output of commands. Lone surrogates, which transcripts may contain, are escaped."""

from typing import Any

import click

from ccwire.wire.json_text import dump


def print_json(value: Any, *, indent: bool = True) -> None:
    click.echo(dump(value, for_people=indent))
