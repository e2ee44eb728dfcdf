"""JSON output of commands. Lone surrogates, which transcripts may contain, are escaped."""

import json
from typing import Any

import click
import orjson


def print_json(value: Any, *, indent: bool = True) -> None:
    click.echo(json_bytes(value, indent=indent))


def json_bytes(value: Any, *, indent: bool = False) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
    except TypeError:
        return json.dumps(value, indent=2 if indent else None).encode()
