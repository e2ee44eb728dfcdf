"""Writes the certificates to verify upstream servers with: all that programs here would trust.

mitmproxy alone trusts certifi's list, so it would refuse a company's proxy that inspects TLS.
"""

import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

from addon.upstream.trust import merged, trusted_certificates


def write_upstream_ca(environment: Mapping[str, str]) -> Path:
    """Write a temporary file for this process; the caller removes it."""
    with tempfile.NamedTemporaryFile(
        prefix="ccwire-upstream-ca-", suffix=".pem", delete=False
    ) as file:
        file.write(loadable(trusted_certificates(environment)))
    return Path(file.name)


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
