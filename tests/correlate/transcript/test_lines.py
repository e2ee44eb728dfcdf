from collections import Counter
from pathlib import Path

import pytest

import correlate.transcript.lines
from correlate.transcript.lines import line_at, parse_line, read_lines, telling_lines

USER = (
    b'{"parentUuid":"u","isSidechain":false,"type":"user","message":{"role":"user","content":%s}}\n'
)
ASSISTANT = b'{"parentUuid":"u","isSidechain":false,"message":{"id":"msg_1"},"type":"assistant"}\n'


def told(path: Path, data: bytes, own_file: bool = False) -> tuple[list[bytes], Counter[str]]:
    path.write_bytes(data)
    silent: Counter[str] = Counter()
    lines = [line.data for line in telling_lines(path, silent, own_file=own_file)]
    return lines, silent


def test_tool_results_are_counted_and_never_parsed(tmp_path: Path) -> None:
    result = USER % b'"a result that says \\"type\\":\\"assistant\\""'
    assert told(tmp_path / "t", result + ASSISTANT) == ([ASSISTANT], Counter({"user": 1}))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"type":"file-history-snapshot","messageId":"x"}\n', "file-history-snapshot"),
        (b'{"type":"queue-operation","operation":"enqueue"}\n', "queue-operation"),
        (b'{"parentUuid":null,"attachment":{"type":"date"},"type":"attachment"}\n', "attachment"),
    ],
)
def test_records_without_tokens_are_only_counted(tmp_path: Path, line: bytes, kind: str) -> None:
    assert told(tmp_path / "t", line) == ([], Counter({kind: 1}))


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"cost-state","totalCostUSD":1}\n',
        b'{"type":"something-new"}\n',
        b'{"parentUuid":null,"data":{"type":"user"},"type":"progress"}\n',
        b'{"parentUuid":null,"nested":{"type":"user"},"type":"system"}\n',
        b'{ "type" : "user" }\n',
        b'{"parentUuid":null,"type":"user","message":{},"isCompactSummary":true}\n',
        b'{"parentUuid":null,"type":"user","message":{},"toolUseResult":{"agentId":"a1"}}\n',
        b"not json\n",
        b"\n",
    ],
)
def test_whatever_may_matter_is_parsed(tmp_path: Path, line: bytes) -> None:
    assert told(tmp_path / "t", line) == ([line], Counter())


def test_a_sidechain_among_a_sessions_lines_is_read_but_not_in_a_file_of_its_own(
    tmp_path: Path,
) -> None:
    line = (USER % b'"x"').replace(b'"isSidechain":false', b'"isSidechain":true')
    assert told(tmp_path / "t", line)[0] == [line]
    assert told(tmp_path / "t", line, own_file=True)[0] == []


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_lines_are_the_same_however_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    data = ASSISTANT + USER % b'"y"' + b"\n" + b'{"a":"' + b"x" * 500 + b'"}\n' + b'{"cut'
    path = tmp_path / "t"
    path.write_bytes(data)
    whole = [(line.number, line.offset, line.data) for line in read_lines(path)]
    monkeypatch.setattr(correlate.transcript.lines, "_BUFFER", size)
    assert [(line.number, line.offset, line.data) for line in read_lines(path)] == whole
    assert [number for number, _, _ in whole] == [1, 2, 3, 4, 5]
    assert b"".join(data for _, _, data in whole) == data
    assert all(line_at(path, offset) == line for _, offset, line in whole)


def test_a_file_that_grows_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'{"n":1}\n')
    lines = read_lines(path)
    assert next(lines).data == b'{"n":1}\n'
    with path.open("ab") as file:
        file.write(b'{"n":2}\n')
    assert [line.number for line in lines] == [2]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"\n", "blank"),
        (b"\r\n", "blank"),
        (b"\0\0\0\n", "blank"),
        (b'{"a":\n', "malformed"),
        (b'{"a":', "cut"),
        (b"[1]\n", "not an object"),
        (b'"x"\n', "not an object"),
        (b'{"a":1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a":1}\r\n', {"a": 1}),
        (b'\0\0{"a":1}\n', {"a": 1}),
        (b'{"a":"\\ud800"}\n', {"a": "\ud800"}),
        (b'{"a":1,"a":2}\n', {"a": 2}),
        (
            b'{"a":123456789012345678901234567890}\n',
            {"a": 1.2345678901234568e29},
        ),  # as JavaScript reads it
        (b"[" * 100_000 + b"\n", "malformed"),
        (b'{"a":"\xff"}\n', "malformed"),
    ],
)
def test_a_line_is_a_record_or_a_reason(line: bytes, found: object) -> None:
    assert parse_line(line) == found
