"""A stand-in that streams as many events as the prompt specifies; prints its URL, then serves."""

import asyncio
import json
import re

_ASKED = re.compile(rb"lab:stream deltas=(\d+) delay=([\d.]+)")
_USAGE = {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 100}
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nrequest-id: req_bench\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = re.search(rb"(?i)content-length: (\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            asked = _ASKED.search(body[-1000:]) or _ASKED.search(body)
            deltas, delay = (int(asked[1]), float(asked[2])) if asked else (1, 0.0)
            writer.write(_HEAD)
            for event in _events(deltas):
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                await writer.drain()
                if delay:
                    await asyncio.sleep(delay)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


def _events(deltas: int) -> list[bytes]:
    message = {"id": "msg_bench", "type": "message", "model": "claude-sonnet-4-5", "usage": _USAGE}
    delta = {"type": "text_delta", "text": "some words of it"}
    return [
        _event({"type": "message_start", "message": message}),
        _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}),
        *[_event({"type": "content_block_delta", "index": 0, "delta": delta})] * deltas,
        _event({"type": "content_block_stop", "index": 0}),
        _event({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 400}}),
        _event({"type": "message_stop"}),
    ]


def _event(data: dict[str, object]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=1 << 26)
    host, port = server.sockets[0].getsockname()
    print(f"http://{host}:{port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
