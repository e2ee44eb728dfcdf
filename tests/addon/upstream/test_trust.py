"""One bundle of the system's, the user's and the proxy's certificates."""

from pathlib import Path

import certifi

from addon.upstream.trust import merged, trusted_certificates


def pem(text: str) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"


def test_each_certificate_is_kept_once_and_comments_are_left_out() -> None:
    first = f"# Company CA\n{pem('AAAA')}{pem('BBBB')}".encode()
    second = pem("BBBB").replace("\n", "\r\n").rstrip().encode()
    third = pem("CCCC").encode()
    assert merged(first, second, third).decode() == pem("AAAA") + pem("BBBB") + pem("CCCC")


def test_certificates_named_by_the_users_variables_are_added_to_the_defaults(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "certs"
    folder.mkdir()
    (folder / "a.crt").write_text(pem("INFOLDER"))
    (tmp_path / "node.pem").write_text(pem("NODE"))
    (tmp_path / "curl.pem").write_text(pem("CURL"))
    found = trusted_certificates(
        {
            "NODE_EXTRA_CA_CERTS": str(tmp_path / "node.pem"),
            "CURL_CA_BUNDLE": str(tmp_path / "curl.pem"),
            "SSL_CERT_DIR": f"{tmp_path / 'missing'}:{folder}",
            "SSL_CERT_FILE": str(tmp_path / "missing.pem"),
        }
    ).decode()
    assert [pem(name) in found for name in ("NODE", "CURL", "INFOLDER")] == [True] * 3
    default = merged(Path(certifi.where()).read_bytes()).decode()
    assert found.startswith(default)
