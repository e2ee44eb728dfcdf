"""A folder's exchange files for the tests of packs: made up, and read back open or packed."""

from pathlib import Path
from typing import Any

import orjson

from addon.storage.packing.segments import SegmentWriter
from ccwire.wire.format import file_name
from ccwire.wire.pack.files import described, exchange_files
from ccwire.wire.pack.reader import ExchangeFiles
from ccwire.wire.vocabulary import DIRECTIONS


def write_files(folder: Path, numbers: range) -> None:
    for number in numbers:
        messages = [{"role": "user", "content": f"message {n} " * 40} for n in range(number)]
        body = {"type": "json", "size": 1, "data": {"messages": messages, "tools": []}}
        for direction in DIRECTIONS:
            path = folder / file_name(number, direction, "/v1/messages")
            path.write_bytes(orjson.dumps({"sequence": number, "body": body}))
            path.chmod(0o600)


def pack_files(folder: Path) -> None:
    """Pack all files of a folder."""
    files = exchange_files(folder)
    assert SegmentWriter(folder).append(files) == files
    for path in files:
        path.unlink()


def contents(folder: Path) -> dict[str, Any]:
    return {path.name: (path.read_bytes(), described(path)) for path in exchange_files(folder)}


def all_there(folder: Path) -> dict[str, bytes]:
    """Every exchange file's bytes, open or packed."""
    files = ExchangeFiles(folder)
    found = [files.file(key) for key in files.all_keys()]
    return {file.name: file.data for file in found}
