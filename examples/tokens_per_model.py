"""Tokens and list prices per model, over all sessions of a capture folder.

uv run python examples/tokens_per_model.py captures [--claude-dir DIR]
"""

import argparse
from decimal import Decimal

from correlate import Tokens, open_captures, totals_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("captures")
    parser.add_argument("--claude-dir")
    given = parser.parse_args()
    tokens: dict[str, Tokens] = {}
    dollars: dict[str, Decimal] = {}
    for session in open_captures(given.captures, given.claude_dir):
        wire = totals_of(session.reconcile()).wire
        for model, used in wire.tokens.items():
            tokens[model] = tokens.get(model, Tokens()) + used
        for model, cost in wire.costs.items():
            dollars[model] = dollars.get(model, Decimal(0)) + cost.total
    for model in sorted(tokens, key=lambda model: -tokens[model].output):
        used, paid = tokens[model], dollars.get(model)
        price = "no price" if paid is None else f"${paid:.4f}"
        print(f"{model:<28} {used.context:>12,} in {used.output:>10,} out {price:>10}")


if __name__ == "__main__":
    main()
