"""A stand-in for the Anthropic API on loopback: plain HTTP/1.1, with a ledger of every call.

In a test (in a thread, on a free port):

    with StandIn(scenarios.named("bash")) as api:
        ...                         # send calls to api.url
        api.ledger.messages()       # what was served: ccwire.demo.stand_in.ledger
        api.scenario = other        # for later calls

As a program (prints its URL, runs until SIGTERM or SIGINT):

    python -m ccwire.demo.stand_in.server --port 0 --scenario stream:deltas=4000,delay=0.001
        [--seed N] [--ledger FILE]

`GET /lab/ledger` returns the ledger as JSON. Unknown paths return `{}`.
"""

import argparse
import asyncio
import signal
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from ccwire.demo.stand_in import scenarios
from ccwire.demo.stand_in.answering import Answering
from ccwire.demo.stand_in.http_messages import READ_LIMIT, read_request
from ccwire.demo.stand_in.ledger import Ledger, Sent
from ccwire.demo.stand_in.request import Request
from ccwire.demo.stand_in.scenario import Scenario
from ccwire.demo.stand_in.stream import Call


class StandIn:
    """A stand-in that runs in its own thread inside a `with` block."""

    def __init__(
        self, scenario: Scenario, *, port: int = 0, seed: int = 1, keep_events: bool = False
    ) -> None:
        """`seed` determines ids and usage; two stand-ins in one capture need different seeds.
        `keep_events` keeps the bytes of each event, not only their hash."""
        self.scenario = scenario
        self.ledger = Ledger()
        self.port = port
        self._seed = seed
        self._keep_events = keep_events
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._failed: OSError | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(
            target=self._run, name="ccwire.demo.stand_in.server", daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(
                asyncio.start_server(
                    self._connection, "127.0.0.1", self.port, limit=READ_LIMIT, backlog=512
                )
            )
        except OSError as error:
            self._failed = error
            self._started.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        for task in self._connections:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._connections, return_exceptions=True))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while request := await read_request(reader, writer):
                sent, call = self._open(request)
                await Answering(sent, call, self.scenario, self.ledger, reader, writer).run()
                if writer.transport.is_closing() or request.headers.get("connection") == "close":
                    break
        except ConnectionError:
            pass  # recorded in the ledger as client_gone
        finally:
            self._connections.discard(task)
            writer.close()

    def _open(self, request: Request) -> tuple[Sent, Call]:
        order, attempt = self.ledger.open(request)
        call = Call(self._seed, order, request.model, request.tools, request.provider)
        sent = Sent(order, attempt, time.time(), request, call.request_id)
        sent.kept = [] if self._keep_events else None
        return sent, call


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m ccwire.demo.stand_in.server", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--port", type=int, default=0, help="0: any free port.")
    parser.add_argument("--scenario", default="plain", help=", ".join(scenarios.NAMES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ledger", type=Path, help="Write the ledger to this file at exit.")
    given = parser.parse_args()
    # Blocked before the thread starts, so that only sigwait receives them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    with StandIn(scenarios.named(given.scenario), port=given.port, seed=given.seed) as api:
        print(api.url, flush=True)
        signal.sigwait({signal.SIGTERM, signal.SIGINT})
    if given.ledger:
        given.ledger.write_text(api.ledger.dump())


if __name__ == "__main__":
    main()
