import ssl
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from addon.upstream import ca_file
from addon.upstream.ca_file import UpstreamCa, loadable
from tests.company import CompanyCA

BROKEN = b"-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"


def test_the_file_holds_public_and_company_certificates(tmp_path: Path) -> None:
    company = CompanyCA(tmp_path).file
    written = UpstreamCa({"NODE_EXTRA_CA_CERTS": str(company)})
    for _ in range(2):  # mitmproxy reads it for each kind of connection
        assert company.read_bytes().strip() in written.path.read_bytes()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(written.path)
        assert len(context.get_ca_certs()) > 50
    written.close()
    assert not written.path.exists()


def test_a_broken_certificate_does_not_spoil_the_others(tmp_path: Path) -> None:
    """mitmproxy could not load the file, and every connection would fail."""
    good = CompanyCA(tmp_path).file.read_bytes()
    assert loadable(BROKEN + good + BROKEN).split() == good.split()


def test_a_file_that_is_missing_or_holds_no_certificate_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no certificate")
    plain = UpstreamCa({})
    other = UpstreamCa({"SSL_CERT_FILE": str(tmp_path / "text"), "NODE_EXTRA_CA_CERTS": "/nowhere"})
    assert plain.path.read_bytes() == other.path.read_bytes()
    plain.close()
    other.close()


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_closed_file_leaves_nothing(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ca_file, "sys", SimpleNamespace(platform=platform))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written = UpstreamCa({})
    assert b"BEGIN CERTIFICATE" in written.path.read_bytes()
    written.close()
    assert list(tmp_path.iterdir()) == []
