"""The parts of HTTP/1.1 that the stand-in needs: read a request, write a head and chunks."""

import asyncio
import time
from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import urlsplit

from ccwire.demo.stand_in.request import Request

# Limit for a request's headers, which may be a hundred kilobytes; bodies are not limited by it.
READ_LIMIT = 1 << 20
# The API's status codes that http.HTTPStatus does not contain.
_REASONS = {529: "Overloaded"}


async def read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Request | None:
    """Return the next request on a connection, or None if the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await _read_body(reader, headers)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    if not target.startswith("/"):  # absolute form, as sent to a proxy
        url = urlsplit(target)
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return Request.read(method, target, headers, body)


def head(status: int, headers: Mapping[str, str]) -> bytes:
    reason = _REASONS.get(status) or HTTPStatus(status).phrase
    lines = [f"HTTP/1.1 {status} {reason}", f"date: {formatdate(time.time(), usegmt=True)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return bytes(body)
