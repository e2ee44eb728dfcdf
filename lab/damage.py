"""Damage a folder tree at random, but with regard to what its files are. Reproducible by its seed.

JSON is damaged at any path, lines are cut, repeated and reordered, packs are rebuilt with a false
index, and files become links, pipes and folders. The damage is what a hostile or broken program
with access to the folder could leave.
"""

import io
import json
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import zstandard

from ccwire.wire.pack.files import PackDamaged
from ccwire.wire.pack.records import StreamPiece, encode_record
from ccwire.wire.pack.segment import SEGMENT_SUFFIX, Segment, encode_line

type Json = Any

# A link out of the tree, a text that a terminal obeys, and one that a page would run.
HOSTILE_TEXTS = (
    "\x1b]0;owned\x07\x1b[2J",
    "\x9b31mred\x9c",
    "\u202egnp.exe\u2066\u2069\u200b\u200f\ufeff",
    "a\rb\x08\x7f\0",
    "[red]x[/red][link=file:///etc/passwd]y[/link][/nothing]",
    "<script>alert(1)</script>",
    "\ud800lone",
    "../../../../etc/passwd",
    "/dev/zero",
    "%s%n{0}{x.__class__}",
    "",
    "x" * 70_000,
)
_NUMBERS = (
    *(-1, 0, 1, 5, 10**12 + 1, 2**63, 2**64, -(2**63), 10**30, 10**300, -(10**300)),
    *(0.5, -0.0, 1e300, -1e300, 1e18, 253402300800.0, -62135596801.0, 1e15, 1e-300),
    *(float("nan"), float("inf"), float("-inf")),
)
_OTHERS: tuple[Json, ...] = (None, True, False, [], {}, [[]], [{}], {"a": 1}, {"": None}, [1, "x"])


def damage_tree(root: Path, rng: random.Random, outside: Path) -> list[str]:
    """Damage some files under `root`; links lead to `outside`. Return what was done."""
    done = []
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        files = [path for path in sorted(root.rglob("*")) if path.is_file()]
        if not files:
            break
        path = rng.choice(files)
        act = rng.choice(_acts_for(path))
        act(path, rng, outside)
        done.append(f"{act.__name__.strip('_')}: {path.relative_to(root)!s}")
    return done


type _Act = Callable[[Path, random.Random, Path], None]


def _acts_for(path: Path) -> list[_Act]:
    acts: list[_Act] = [_of_bytes, _of_file_system]
    if path.name.endswith(".tar.zst"):
        return [*acts, _of_pack, _of_pack, _of_pack]
    if path.name.endswith(SEGMENT_SUFFIX):
        return [*acts, _of_segment, _of_segment, _of_segment]
    if path.suffix in (".json", ".jsonl", ".part"):
        acts += [_of_values, _of_values, _of_values, _of_strings]
    if path.suffix in (".jsonl", ".part"):
        acts += [_of_lines]
    return acts


def _of_values(path: Path, rng: random.Random, _: Path) -> None:
    """Replace, remove or add values at random paths."""
    _rewrite(path, rng, lambda value: _replaced(value, rng, rng.choice((1, 1, 3, 20))))


def _of_strings(path: Path, rng: random.Random, _: Path) -> None:
    """Append the same hostile text to every string; sometimes to keys too."""
    text, keys = rng.choice(HOSTILE_TEXTS), rng.random() < 0.2
    _rewrite(path, rng, lambda value: _with_text(value, text, keys), most=1000)


def _of_lines(path: Path, rng: random.Random, _: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    match rng.randrange(5):
        case 0:
            rng.shuffle(lines)
        case 1:
            lines += lines
        case 2:
            lines = [line for line in lines if rng.random() < 0.7]
        case 3:
            lines.insert(rng.randint(0, len(lines)), _deep(rng) + b"\n")
        case 4:
            lines = [line.rstrip(b"\n") + rng.choice((b"\r\n", b"\n\n", b"\0\n")) for line in lines]
    path.write_bytes(b"".join(lines))


def _of_bytes(path: Path, rng: random.Random, _: Path) -> None:
    data = bytearray(path.read_bytes())
    match rng.randrange(7):
        case 0:
            del data[rng.randint(0, len(data)) :]
        case 1:
            for _time in range(rng.choice((1, 10, 100))):
                if data:
                    data[rng.randrange(len(data))] = rng.randrange(256)
        case 2:
            at = rng.randint(0, len(data))
            data[at:at] = rng.choice((b"\xff\xfe", b"\xed\xa0\x80", b"\0" * 100, b"\xef\xbb\xbf"))
        case 3:
            data.clear()
        case 4:
            data[:] = rng.randbytes(rng.choice((1, 100, 5000)))
        case 5:
            data[:] = _deep(rng)
        case 6:
            data *= 2
    path.write_bytes(data)


def _of_file_system(path: Path, rng: random.Random, outside: Path) -> None:
    """Replace the file by something that is not a regular file, or make it unreadable."""
    choice = rng.randrange(8)
    if choice == 7:
        path.chmod(0)
        return
    path.unlink()
    match choice:
        case 0:
            path.symlink_to(outside / "secret.json")
        case 1:
            path.symlink_to(path.name)
        case 2:
            path.symlink_to(rng.choice(("/dev/zero", "/dev/tty", "/nowhere", "..")))
        case 3:
            os.mkfifo(path)
        case 4:
            path.mkdir()
        case 5:
            pass
        case 6:
            hostile = rng.choice(HOSTILE_TEXTS[:5]).replace("\0", "").replace("/", "_")
            name = path.name.replace(".", f"{hostile}.", 1)
            _write_named(path.with_name(name), path.suffix)


def _of_pack(path: Path, rng: random.Random, _: Path) -> None:
    """Rebuild the pack with a false index or other members; also as a bomb."""
    try:
        members = _unpacked(path)
        index = json.loads(members[0][1])
    except (zstandard.ZstdError, tarfile.TarError, ValueError, LookupError, RecursionError):
        return  # damaged already
    files = members[1:]
    if not files or not isinstance(index, list) or not all(isinstance(e, dict) for e in index):
        return
    match rng.randrange(9):
        case 0 | 1:
            index = _replaced(index, rng, rng.choice((1, 3, 20)))
        case 2:
            index = index + index
            files += files
        case 3:
            files = files[: rng.randrange(len(files))]
        case 4:
            rng.shuffle(files)
        case 5:
            member, _data = rng.choice(files)
            kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)
            member.type, member.linkname = rng.choice(kinds), "../../../outside/secret.json"
        case 6:
            odd = rng.choice(("/etc/x", "../x", "0001_req_../../x.json", "0001_req_\x1b[2J.json"))
            rng.choice(files)[0].name = odd
            if index and rng.random() < 0.5:
                index[rng.randrange(len(index))]["name"] = odd
        case 7:
            entry = index[rng.randrange(len(index))] if index else {}
            entry["mode"] = 0o4777
            entry["mtime_ns"] = rng.choice((-1, 10**30, 2**63, 10**18 * 300))
        case 8:
            bomb = bytes(64 << 20)
            place = rng.randrange(len(files))
            files[place] = (files[place][0], bomb)
    members = [(members[0][0], json.dumps(index).encode()), *files]
    path.write_bytes(_packed(members))


def _of_segment(path: Path, rng: random.Random, _: Path) -> None:
    """Add a whole record with false lines or content, or repeat a part of the segment."""
    data = path.read_bytes()
    try:
        lines = [orjson.loads(line) for line in _index_lines(path)]
    except (OSError, ValueError, PackDamaged):
        return  # damaged already
    match rng.randrange(5):
        case 0 | 1:
            lines = _replaced(lines, rng, rng.choice((1, 3, 20)))
        case 2:
            odd = rng.choice(("/etc/x", "../x", "0001_req_../../x.json", "0001_req_\x1b[2J.json"))
            lines = [[odd, *line[1:]] for line in lines]
        case 3:
            lines = [[*line[:4], [0, 1 << 40] * 1000] for line in lines]
        case 4:
            path.write_bytes(data[rng.randrange(len(data) or 1) :] + data)
            return
    lines = lines if isinstance(lines, list) else [lines]
    index = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    content = rng.choice((b"", b"abc", bytes(64 << 20)))
    pieces = [
        StreamPiece(
            rng.choice((len(part), 0, 7, 1 << 31)), zstandard.compress(part), rng.choice((0, 9))
        )
        for part in (content, content, index)
    ]
    record = encode_record(pieces)
    path.write_bytes(rng.choice((record, record + data, data + record)))


def _index_lines(path: Path) -> list[bytes]:
    segment = Segment(path)
    return [encode_line(segment.entry(name), segment.ranges(name)) for name in segment.names]


def _unpacked(path: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    with (
        path.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=io.BytesIO(stream.read())) as tar,
    ):
        found = [(member, tar.extractfile(member)) for member in tar.getmembers()]
        return [(member, data.read() if data else b"") for member, data in found]


def _packed(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member, data in members:
            made = tarfile.TarInfo(member.name)
            made.size = len(data) if member.type == tarfile.REGTYPE else 0
            made.type, made.linkname, made.mode = member.type, member.linkname, 0o4777
            tar.addfile(made, io.BytesIO(data))
    return zstandard.ZstdCompressor().compress(out.getvalue())


def _write_named(path: Path, suffix: str) -> None:
    try:
        path.write_text("{}\n" if suffix.startswith(".json") else "x")
    except (OSError, UnicodeError):
        return  # the system refuses the name


def _rewrite(path: Path, rng: random.Random, change: Callable[[Json], Json], most: int = 5) -> None:
    """Change the JSON of a file, or of up to `most` lines; leave what is not JSON."""
    data = path.read_bytes()
    lines = data.splitlines(keepends=True) if path.suffix in (".jsonl", ".part") else [data]
    chosen = rng.sample(range(len(lines)), min(len(lines), rng.randint(1, most)))
    for place in chosen:
        try:
            value = json.loads(lines[place])
        except (ValueError, RecursionError):
            continue
        lines[place] = json.dumps(change(value)).encode() + b"\n"
    path.write_bytes(b"".join(lines))


def _replaced(value: Json, rng: random.Random, times: int) -> Json:
    box = [value]
    for _ in range(times):
        places = list(_places(box))
        holder, key = rng.choice(places)
        if rng.random() < 0.1:
            if holder is not box:
                del holder[key]
        elif rng.random() < 0.05 and isinstance(holder, dict):
            holder[rng.choice(HOSTILE_TEXTS)] = holder.pop(key)
        else:
            holder[key] = _odd(rng)
    return box[0]


def _places(value: Json) -> list[tuple[Json, Json]]:
    """Every place in a value: its holder, and its key or index there."""
    found: list[tuple[Json, Json]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found


def _odd(rng: random.Random) -> Json:
    match rng.randrange(4):
        case 0:
            return rng.choice(HOSTILE_TEXTS)
        case 1:
            return rng.choice(_NUMBERS)
        case 2:
            return json.loads(json.dumps(rng.choice(_OTHERS)))
    return json.loads(_deep(rng, most=900)) if rng.random() < 0.3 else rng.choice(HOSTILE_TEXTS[:6])


def _deep(rng: random.Random, most: int = 5000) -> bytes:
    depth = min(most, rng.choice((50, 300, 900, 1020, 5000)))
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"content":', b"}]")))
    return opening * depth + b"1" + closing * depth


def _with_text(value: Json, text: str, keys: bool) -> Json:
    match value:
        case str():
            return value + text
        case dict():
            return {
                (name + text if keys else name): _with_text(item, text, keys)
                for name, item in value.items()
            }
        case list():
            return [_with_text(item, text, keys) for item in value]
    return value
