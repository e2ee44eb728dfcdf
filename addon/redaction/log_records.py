"""Redacts the log records of this process: mitmproxy quotes what it cannot parse."""

import logging
import re
import traceback
from collections.abc import Callable
from typing import Any

from addon.redaction.headers import is_secret
from addon.redaction.redactor import Redactor

# A header in a line that mitmproxy quotes, well-formed or not: b'x-api-key: …', ("x-api-key", "…")
_HEADER = re.compile(
    r"(?<![\w-])(?=[\w-]*(?i:key|token|secret|auth|cookie|pass|pwd|cred|jwt|sign|assert))"
    r"([A-Za-z][\w-]*)(['\"]?\s{0,4}[:=,]\s{0,4}b?['\"]?|\s{1,4})"
    r"((?:(?i:bearer|basic|token) )?[^\s'\",;<>]{6,})"
)


def redact_log_records(redactor: Redactor) -> None:
    """Redact every record from now on, with this redactor instead of any earlier."""
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
            message = f"{record.msg!r} with {record.args!r}"
            if self._clean(message) != message:
                record.msg, record.args = self._clean(message), None
        else:
            clean = self._clean(message)
            if clean != message:
                record.msg, record.args = clean, None
        self._redact_traceback(record)
        return record

    def _redact_traceback(self, record: logging.LogRecord) -> None:
        """Replace a traceback by its text if it contains a secret."""
        if record.exc_info and record.exc_info[0] is not None:
            text = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            clean = self._clean(text)
            if clean != text:
                record.exc_text, record.exc_info = clean, None
        if record.stack_info:
            record.stack_info = self._clean(record.stack_info)

    def _clean(self, text: str) -> str:
        return _HEADER.sub(self._header, self._redactor.url(text))

    def _header(self, found: re.Match[str]) -> str:
        name, value = found[1].lower(), found[3]
        # Between words there is no separator; only a name with a hyphen is taken for a header's.
        is_header = "-" in name or (not found[2].isspace() and name in _PLAIN_NAMES)
        if not is_header or not is_secret(name, value) or value.startswith("<redacted:"):
            return found[0]
        mark = self._redactor.mark("header", value.encode("utf-8", "surrogatepass")).decode()
        return found[1] + found[2] + mark


_PLAIN_NAMES = ("authorization", "cookie")
