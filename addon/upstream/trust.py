"""The certificates that programs on this machine trust, merged with the proxy's own.

Programs disagree about where certificates come from, and most of their variables replace the
defaults. So there is one bundle of everything that any of them would trust.
"""

import re
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import certifi

# Variables that name a file of certificates instead of the program's defaults …
REPLACING = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE")
# … and in addition to them.
ADDING = ("NODE_EXTRA_CA_CERTS", "DENO_CERT")
# Read, but never set: they concern hosts that are not captured, or are rare.
_READ = ("PIP_CERT", "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE", "CARGO_HTTP_CAINFO")

_SYSTEM_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Arch
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora
    "/etc/pki/tls/certs/ca-bundle.crt",  # older Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # Alpine, macOS, BSD
)
_KEYCHAIN = ("security", "find-certificate", "-a", "-p", "/Library/Keychains/System.keychain")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def write_trust(environment: Mapping[str, str], own: Path, folder: Path) -> dict[str, str]:
    """Write bundles with the proxy's certificate, and return the variables that name them."""
    ours = own.read_bytes()
    bundle = folder / "trusted.pem"
    bundle.write_bytes(merged(trusted_certificates(environment), ours))
    variables = {name: str(bundle) for name in REPLACING}
    for name in ADDING:
        added = folder / f"{name.lower()}.pem"
        added.write_bytes(merged(*_read(environment.get(name, "")), ours))
        variables[name] = str(added)
    return variables


def trusted_certificates(environment: Mapping[str, str]) -> bytes:
    """Return every certificate that a program started here would trust, as PEM.

    That is certifi's list, the system's store, and what the user's variables name.
    """
    found = [Path(certifi.where()).read_bytes(), *_system(), *users_certificates(environment)]
    return merged(*found)


def users_certificates(environment: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the content of each file that a variable of the user names."""
    for name in (*REPLACING, *ADDING, *_READ):
        yield from _read(environment.get(name, ""))
    for folder in environment.get("SSL_CERT_DIR", "").split(":"):
        yield from _read(folder)


def merged(*contents: bytes) -> bytes:
    """Return the certificates in these PEM files, each one once."""
    found = (match.replace(b"\r", b"") for text in contents for match in _CERTIFICATE.findall(text))
    return b"".join(certificate + b"\n" for certificate in dict.fromkeys(found))


def _system() -> Iterator[bytes]:
    named = ssl.get_default_verify_paths().openssl_cafile
    for path in dict.fromkeys((named, *_SYSTEM_FILES)):
        yield from _read(path)
    if sys.platform == "darwin":  # certificates that an administrator added
        try:
            yield subprocess.run(_KEYCHAIN, capture_output=True, timeout=10, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            return


def _read(name: str) -> Iterator[bytes]:
    """Yield a file's content, or that of each file in a folder; unreadable ones are skipped."""
    if not name:
        return
    path = Path(name)
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
    except OSError:
        return
    for file in files:
        try:
            yield file.read_bytes()
        except OSError:  # programs also ignore a file that they cannot read
            continue
