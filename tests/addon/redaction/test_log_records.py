import logging
from collections.abc import Iterator

import pytest

from addon.redaction.log_records import redact_log_records
from addon.redaction.redactor import Redactor

KEY = "sk-ant-api03-MADEUPsecret_0001-AA"


@pytest.fixture(autouse=True)
def factory() -> Iterator[None]:
    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(logging.LogRecord)
    yield
    logging.setLogRecordFactory(before)


def test_a_secret_in_a_log_line_is_redacted(caplog: pytest.LogCaptureFixture) -> None:
    redact_log_records(Redactor(b"key"))
    logging.getLogger("mitmproxy").warning("bad line: %s", KEY)
    logging.getLogger("mitmproxy").warning("%d of %s", 3, "these")
    mark = Redactor(b"key").mark("api_key", KEY.encode()).decode()
    assert caplog.messages == [f"bad line: {mark}", "3 of these"]


def test_a_second_redactor_replaces_the_first(caplog: pytest.LogCaptureFixture) -> None:
    for key in (b"1", b"2"):
        redact_log_records(Redactor(key))
    logging.getLogger().warning(KEY)
    assert caplog.messages == [Redactor(b"2").mark("api_key", KEY.encode()).decode()]
    assert vars(logging.getLogRecordFactory())["inner"] is logging.LogRecord


def test_arguments_that_do_not_fit_are_left_to_the_handler() -> None:
    redact_log_records(Redactor(b"key"))
    made = logging.getLogRecordFactory()
    record = made("name", logging.INFO, "file", 1, "%d", ("text",), None)
    assert (record.msg, record.args) == ("%d", ("text",))


def test_a_secret_in_a_traceback_is_redacted(caplog: pytest.LogCaptureFixture) -> None:
    redact_log_records(Redactor(b"key"))
    try:
        raise ValueError(f"cannot parse {KEY}")
    except ValueError:
        logging.getLogger("mitmproxy").exception("failed", stack_info=True)
    assert "MADEUP" not in caplog.text
    assert "ValueError: cannot parse <redacted:api_key:" in caplog.text


def test_a_traceback_without_a_secret_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    redact_log_records(Redactor(b"key"))
    try:
        raise ValueError("cannot parse")
    except ValueError:
        logging.getLogger("mitmproxy").exception("failed")
    assert caplog.records[0].exc_info is not None


def test_a_secret_in_arguments_that_do_not_fit_is_redacted() -> None:
    redact_log_records(Redactor(b"key"))
    record = logging.getLogRecordFactory()("name", logging.INFO, "file", 1, "%d", (KEY,), None)
    assert "MADEUP" not in record.getMessage()


@pytest.mark.parametrize(
    "line",
    [
        "Invalid header line: b'x-api-key: made-up-0001'",
        "Invalid header line: b'x-api-key made-up-0001'",
        "bad fields: [(b'X-Api-Key', b'made-up-0001')]",
        "Authorization: Bearer made-up-0001",
        "GET /x?api_key=made-up-0001 HTTP/1.1",
    ],
)
def test_a_quoted_header_that_is_secret_by_name_is_redacted(
    line: str, caplog: pytest.LogCaptureFixture
) -> None:
    redact_log_records(Redactor(b"key"))
    logging.getLogger("mitmproxy").warning(line)
    assert "made-up" not in caplog.text and "<redacted:" in caplog.text


@pytest.mark.parametrize(
    "line",
    [
        "127.0.0.1:5000: server connect api.anthropic.com:443",
        "12:00:01  5e551011  messages  claude-opus-5-5  200  in 1,204 out 55  cache 93%  1.2s",
        "ccwire: could not store the redaction key in /home/me/.ccwire (Permission denied)",
        "Client TLS handshake failed. The client does not trust the proxy's certificate",
    ],
)
def test_an_ordinary_line_stays(line: str, caplog: pytest.LogCaptureFixture) -> None:
    redact_log_records(Redactor(b"key"))
    logging.getLogger("mitmproxy").warning(line)
    assert caplog.messages == [line]
