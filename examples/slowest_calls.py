"""The slowest calls to the model, with the time to the first byte of the answer.

uv run python examples/slowest_calls.py captures [--count 10]
"""

import argparse

from correlate import Exchange, open_captures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("captures")
    parser.add_argument("--count", type=int, default=10)
    given = parser.parse_args()
    calls = [
        (seconds(exchange), session.id, exchange)
        for session in open_captures(given.captures)
        for exchange in session.exchanges()
        if exchange.kind == "messages" and not exchange.broken
    ]
    calls.sort(key=lambda call: -call[0])
    for took, session_id, call in calls[: given.count]:
        first = "-" if call.first_byte_ms is None else f"{call.first_byte_ms / 1000:.2f}"
        name = f"{session_id[:8]} #{call.sequence}"
        print(f"{took:8.2f} s  first byte {first:>6} s  {name}  {call.model}")


def seconds(call: Exchange) -> float:
    return (call.ended or call.started) - call.started


if __name__ == "__main__":
    main()
