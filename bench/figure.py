"""The result of a benchmark, and how results are printed."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import click
import orjson


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A ratio, its baseline (`against`), its limit (`reach`) and its quartiles (`spread`)."""

    name: str
    value: float
    unit: str = "x"
    against: str
    reach: str
    ok: bool
    spread: tuple[float, float] | None = None
    detail: str = field(default="")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def at_most(name: str, ratios: Sequence[float], reach: float, **more: Any) -> Figure:
    value = statistics.median(ratios)
    return Figure(
        name=name, value=round(value, 3), reach=f"≤ {reach}", ok=value <= reach,
        spread=_quarters(ratios), **more,
    )  # fmt: skip


def at_least(name: str, ratios: Sequence[float], reach: float, **more: Any) -> Figure:
    value = statistics.median(ratios)
    return Figure(
        name=name, value=round(value, 3), reach=f"≥ {reach}", ok=value >= reach,
        spread=_quarters(ratios), **more,
    )  # fmt: skip


def print_figures(figures: Sequence[Figure], *, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps([figure.to_json() for figure in figures]).decode())
        return
    for figure in figures:
        spread = f" ({figure.spread[0]:.2f} to {figure.spread[1]:.2f})" if figure.spread else ""
        mark = "ok" if figure.ok else "FAIL"
        click.echo(
            f"{mark:4}  {figure.name}: {figure.value:g} {figure.unit}{spread}, "
            f"baseline {figure.against}, limit {figure.reach}"
            f"{'; ' + figure.detail if figure.detail else ''}"
        )


def _quarters(ratios: Sequence[float]) -> tuple[float, float] | None:
    if len(ratios) < 2:
        return None
    first, _, third = statistics.quantiles(ratios)
    return round(first, 3), round(third, 3)
