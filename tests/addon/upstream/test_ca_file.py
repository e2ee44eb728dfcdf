import ssl
from pathlib import Path

from addon.upstream.ca_file import loadable, write_upstream_ca
from tests.company import CompanyCA

BROKEN = b"-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"


def test_the_file_holds_public_and_company_certificates(tmp_path: Path) -> None:
    company = CompanyCA(tmp_path).file
    written = write_upstream_ca({"NODE_EXTRA_CA_CERTS": str(company)})
    try:
        assert company.read_bytes().strip() in written.read_bytes()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(written)
        assert len(context.get_ca_certs()) > 50
    finally:
        written.unlink()


def test_a_broken_certificate_does_not_spoil_the_others(tmp_path: Path) -> None:
    """mitmproxy could not load the file, and every connection would fail."""
    good = CompanyCA(tmp_path).file.read_bytes()
    assert loadable(BROKEN + good + BROKEN).split() == good.split()


def test_a_file_that_is_missing_or_holds_no_certificate_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no certificate")
    plain, other = (
        write_upstream_ca({}),
        write_upstream_ca(
            {"SSL_CERT_FILE": str(tmp_path / "text"), "NODE_EXTRA_CA_CERTS": "/nowhere"}
        ),
    )
    try:
        assert plain.read_bytes() == other.read_bytes()
    finally:
        plain.unlink()
        other.unlink()
