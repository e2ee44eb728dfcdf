"""Redacts the log records of this process: mitmproxy quotes what it cannot parse."""

import logging
from collections.abc import Callable
from typing import Any

from addon.redaction.redactor import Redactor


def redact_log_records(redactor: Redactor) -> None:
    """Redact the message of every record from now on, with this redactor instead of any earlier."""
    present = logging.getLogRecordFactory()
    inner = present.inner if isinstance(present, _RedactingFactory) else present
    logging.setLogRecordFactory(_RedactingFactory(redactor, inner))


class _RedactingFactory:
    def __init__(self, redactor: Redactor, inner: Callable[..., logging.LogRecord]) -> None:
        self.inner = inner
        self._redactor = redactor

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self.inner(*args, **kwargs)
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # the handler reports arguments that do not fit
            return record
        clean = self._redactor.text(message)
        if clean != message:
            record.msg, record.args = clean, None
        return record
