"""Which variables the command gets: the client only what it needs itself."""

from pathlib import Path

from addon.launch.child import child_environment

OWN = "-----BEGIN CERTIFICATE-----\nOURS\n-----END CERTIFICATE-----\n"


def variables(tmp_path: Path, *command: str, **environment: str) -> dict[str, str]:
    own = tmp_path / "own.pem"
    own.write_text(OWN)
    base = {"PATH": "/nowhere", **environment}
    child = child_environment(
        base, command, port=42, ca_cert=own, hosts=["api.anthropic.com"], scratch=tmp_path
    )
    return {name: value for name, value in child.items() if name not in base}


def test_every_command_trusts_the_proxy(tmp_path: Path) -> None:
    child = variables(tmp_path, "claude", "-p", "x")
    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE")
    assert {Path(child[name]).read_text().endswith(OWN) for name in names} == {True}
    for name in ("NODE_EXTRA_CA_CERTS", "DENO_CERT"):
        assert Path(child[name]).read_text() == OWN


def test_the_client_gets_no_options_for_the_tools_it_starts(tmp_path: Path) -> None:
    child = variables(tmp_path, "/opt/claude", "-p", "x", JAVA_HOME="/opt/java")
    assert {"NODE_OPTIONS", "NODE_USE_ENV_PROXY", "JAVA_TOOL_OPTIONS"}.isdisjoint(child)


def test_another_program_gets_what_node_and_java_need(tmp_path: Path) -> None:
    child = variables(tmp_path, "python", "app.py", JAVA_HOME="/opt/java")
    assert child["NODE_USE_ENV_PROXY"] == "1"
    assert child["NODE_OPTIONS"].endswith('node_fetch.cjs"')
    assert f"trustStore={tmp_path / 'trusted.p12'}" in child["JAVA_TOOL_OPTIONS"]


def test_java_gets_nothing_where_it_is_not_installed(tmp_path: Path) -> None:
    assert "JAVA_TOOL_OPTIONS" not in variables(tmp_path, "make")


def test_the_users_node_options_come_first(tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    own.write_text(OWN)
    given = {"NODE_OPTIONS": "--max-old-space-size=99", "PATH": "/nowhere"}
    child = child_environment(given, ["node"], port=1, ca_cert=own, hosts=[], scratch=tmp_path)
    assert child["NODE_OPTIONS"].startswith("--max-old-space-size=99 --require ")


def test_a_base_url_on_loopback_is_reached_without_the_proxy(tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    own.write_text(OWN)
    child = child_environment(
        {"PATH": "/nowhere"},
        ["claude"],
        port=1,
        ca_cert=own,
        hosts=["127.0.0.1:9000"],
        scratch=tmp_path,
        base_urls={"ANTHROPIC_BASE_URL": "http://127.0.0.1:42"},
    )
    assert child["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:42"
    assert child["NO_PROXY"] == "localhost,127.0.0.1,::1"
