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
