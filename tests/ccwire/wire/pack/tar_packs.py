"""Packs of the older format for tests, as ccwire wrote them before segments; and false ones."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import zstandard

from ccwire.wire.pack.files import described, exchange_files

NAME = "0001_req_v1_messages.json"
DATA = b"{}"
ENTRY = {
    "name": NAME,
    "size": len(DATA),
    "mode": 0o600,
    "mtime_ns": 1_794_000_000_000_000_000,
    "sha256": hashlib.sha256(DATA).hexdigest(),
}


def written(folder: Path, index: Any, *files: tuple[tarfile.TarInfo, bytes]) -> Path:
    """Write a pack with this index and these members."""
    listed = tarfile.TarInfo("index.json")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for added, data in ((listed, json.dumps(index).encode()), *files):
            added.size = len(data)
            tar.addfile(added, io.BytesIO(data))
    folder.mkdir(exist_ok=True)
    last = files[-1][0].name.partition("_")[0] if files else "0001"
    pack = folder / f"{last if last.isdigit() else '0001'}_pack.tar.zst"
    pack.write_bytes(zstandard.ZstdCompressor().compress(out.getvalue()))
    return pack


def member(name: str = NAME, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, "../../outside", 0o4777
    return made


def tar_pack(folder: Path) -> Path:
    """Pack the folder's files in the older format, and delete them."""
    paths = exchange_files(folder)
    index = []
    for path in paths:
        told = described(path)
        index.append({field: getattr(told, field) for field in ENTRY})
    pack = written(folder, index, *((member(path.name), path.read_bytes()) for path in paths))
    for path in paths:
        path.unlink()
    return pack
