"""Run all benchmarks: `python -m bench [-k WORD] [--json]`.

Each runs in its own process, so that none leaves memory or threads behind for the next.
"""

import json
import subprocess
import sys
from typing import Any

import click

from ccwire.output.tables import Column, print_table
from ccwire.output.terminal import console

# module -> keywords for -k
BENCHMARKS = {
    "proxy": "time to first event, whole stream, requests per second, CPU time, memory",
    "hook": "hook, start to exit",
    "reconcile": "reconcile a transcript tree, ccusage",
    "spend": "spend over a transcript tree, ccusage",
    "growth": "time per call as a session grows",
    "schema": "schema observe",
    "search": "search, ripgrep",
    "pack": "capture folder, pack",
}


@click.command()
@click.option("-k", "only", default="", help="Run only matching benchmarks or figures.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.pass_context
def main(ctx: click.Context, only: str, as_json: bool) -> None:
    """Run the benchmarks. Exit with 1 if a figure is outside its limit."""
    found: list[dict[str, Any]] = []
    for module, about in BENCHMARKS.items():
        if only in module or only in about:
            click.echo(f"bench.{module} …", err=True)
            found += _run(module, only)
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print(found)
    ctx.exit(0 if all(figure["ok"] for figure in found) else 1)


def _run(module: str, only: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", f"bench.{module}", "--json"]
    if module == "proxy" and only not in module:
        command += ["-k", only]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    figures: list[dict[str, Any]] = json.loads(output.splitlines()[-1])
    if only in module:
        return figures
    return [figure for figure in figures if only in figure["name"]]


def _print(figures: list[dict[str, Any]]) -> None:
    columns = [
        Column("benchmark", grows=True),
        Column("measured", right=True),
        Column("quartiles", right=True),
        Column("baseline", grows=True),
        Column("limit"),
        Column(""),
    ]
    rows = []
    for figure in figures:
        spread = figure.get("spread")
        rows.append(
            [
                figure["name"],
                f"{figure['value']:g} {figure['unit']}",
                f"{spread[0]:g} to {spread[1]:g}" if spread else "",
                figure["against"],
                str(figure["reach"]),
                "ok" if figure["ok"] else "fail",
            ]
        )
    print_table(console(), columns, rows)


if __name__ == "__main__":
    main()
