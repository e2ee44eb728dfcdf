"""Writes the certificates to verify upstream servers with: all that programs here would trust.

mitmproxy alone trusts certifi's list, so it would refuse a company's proxy that inspects TLS.
"""

import os
import ssl
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from addon.upstream.trust import merged, trusted_certificates


class UpstreamCa:
    """A file for this process alone, which is gone when it is closed or the process is killed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._file = _new_file()
        self._file.write(loadable(trusted_certificates(environment)))
        self._file.flush()
        in_memory = Path(f"/proc/self/fd/{self._file.fileno()}")
        self.path = in_memory if isinstance(self._file.name, int) else Path(self._file.name)

    def close(self) -> None:
        self._file.close()


def _new_file() -> IO[bytes]:
    """Return a file in memory on Linux, elsewhere one that only a kill leaves behind."""
    if sys.platform == "linux" and Path("/proc/self/fd").is_dir():
        return os.fdopen(os.memfd_create("ccwire-upstream-ca"), "wb")
    return tempfile.NamedTemporaryFile(prefix="ccwire-upstream-ca-", suffix=".pem")


def loadable(certificates: bytes) -> bytes:
    """Return the certificates that can be parsed: one that cannot would spoil the whole file."""
    if _loads(certificates):
        return certificates
    end = b"-----END CERTIFICATE-----"
    each = [part + end for part in certificates.split(end)[:-1]]
    return merged(*(certificate for certificate in each if _loads(certificate)))


def _loads(certificates: bytes) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(
            cadata=certificates.decode("ascii")
        )
    except (ssl.SSLError, ValueError):
        return False
    return True
