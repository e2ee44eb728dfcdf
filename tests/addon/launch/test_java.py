"""The options and the trust store for Java."""

import shutil
import subprocess
from pathlib import Path

import certifi
import pytest

from addon.launch.java import has_java, java_options, write_trust_store
from addon.upstream.trust import merged

CERTIFICATES = merged(Path(certifi.where()).read_bytes())


def test_our_properties_come_after_the_users_own() -> None:
    environment = {"JAVA_TOOL_OPTIONS": "-Xmx1g"}
    found = java_options(environment, 42, Path("/t/x.p12"), [".corp.example", "::1", "h:80"])
    assert found["JAVA_TOOL_OPTIONS"].split() == [
        "-Xmx1g",
        "-Dhttp.proxyHost=127.0.0.1",
        "-Dhttps.proxyHost=127.0.0.1",
        "-Dhttp.proxyPort=42",
        "-Dhttps.proxyPort=42",
        "-Dhttp.nonProxyHosts=corp.example|*.corp.example|[::1]|h|*.h",
        "-Djavax.net.ssl.trustStore=/t/x.p12",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
    ]


def test_a_path_with_a_space_is_quoted() -> None:
    found = java_options({}, 42, Path("/my t/x.p12"), [])["JAVA_TOOL_OPTIONS"]
    assert '"-Djavax.net.ssl.trustStore=/my t/x.p12"' in found


def test_java_is_looked_for_on_the_path_of_the_environment(tmp_path: Path) -> None:
    assert not has_java({"PATH": str(tmp_path)})
    assert has_java({"PATH": str(tmp_path), "JAVA_HOME": "/opt/java"})
    (tmp_path / "java").touch(mode=0o755)
    assert has_java({"PATH": str(tmp_path)})


def test_a_certificate_that_cannot_be_parsed_is_left_out(tmp_path: Path) -> None:
    bad = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    write_trust_store(CERTIFICATES, tmp_path / "good.p12")
    write_trust_store(bad + CERTIFICATES, tmp_path / "mixed.p12")
    sizes = [(tmp_path / name).stat().st_size for name in ("good.p12", "mixed.p12")]
    assert sizes[0] > len(CERTIFICATES) / 2
    assert abs(sizes[0] - sizes[1]) < 1000


@pytest.mark.skipif(shutil.which("keytool") is None, reason="keytool is not installed")
def test_java_reads_the_trust_store_without_a_password(tmp_path: Path) -> None:
    write_trust_store(CERTIFICATES, tmp_path / "x.p12")
    listed = subprocess.run(
        ["keytool", "-list", "-keystore", str(tmp_path / "x.p12"), "-storetype", "PKCS12"],
        input="\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.stdout.count("trustedCertEntry") == CERTIFICATES.count(b"BEGIN CERTIFICATE")
