"""The options that make a Java program use the proxy and trust its certificate.

Java reads no proxy variables and no PEM files: it needs properties and a trust store. Every virtual
machine prints one line about JAVA_TOOL_OPTIONS to stderr, and so it would about each alternative.
"""

import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

_OPTIONS = "JAVA_TOOL_OPTIONS"


def has_java(environment: Mapping[str, str]) -> bool:
    """Return whether a program with this environment can find Java."""
    found = shutil.which("java", path=environment.get("PATH", ""))
    return found is not None or "JAVA_HOME" in environment


def java_options(
    environment: Mapping[str, str], port: int, store: Path, no_proxy: Sequence[str]
) -> dict[str, str]:
    """Return JAVA_TOOL_OPTIONS with our properties after the user's. Pure."""
    direct = "|".join(pattern for name in no_proxy for pattern in _patterns(name))
    properties = [
        *(f"{scheme}.proxyHost=127.0.0.1" for scheme in ("http", "https")),
        *(f"{scheme}.proxyPort={port}" for scheme in ("http", "https")),
        f"http.nonProxyHosts={direct}",
        f"javax.net.ssl.trustStore={store}",
        "javax.net.ssl.trustStoreType=PKCS12",
    ]
    ours = [f'"-D{text}"' if " " in text else f"-D{text}" for text in properties]
    return {_OPTIONS: " ".join([environment.get(_OPTIONS, ""), *ours]).strip()}


def write_trust_store(pem: bytes, store: Path) -> None:
    """Write certificates as a trust store without a password, which needs none to be read."""
    # Slow to import, and needed only where Java is installed.
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import NoEncryption, pkcs12

    entries = []
    with warnings.catch_warnings(action="ignore"):  # about old roots that every system has
        for number, text in enumerate(pem.split(b"-----END CERTIFICATE-----\n")):
            try:
                found = x509.load_pem_x509_certificate(text + b"-----END CERTIFICATE-----\n")
            except ValueError:
                continue  # Java could not read it either
            entries.append(pkcs12.PKCS12Certificate(found, str(number).encode()))
    store.write_bytes(pkcs12.serialize_java_truststore(entries, NoEncryption()))


def _patterns(name: str) -> Sequence[str]:
    """Return an item of NO_PROXY in Java's notation, where only `*` stands for subdomains."""
    host = name.lstrip("*").lstrip(".")
    if host.count(":") > 1:  # an IPv6 address
        return (f"[{host.strip('[]')}]",)
    host = host.partition(":")[0]
    return (host, f"*.{host}")
