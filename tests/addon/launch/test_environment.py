"""The child's environment: the proxy, the certificate, and our hooks after the user's."""

import pytest

from addon.launch.environment import excludes, proxied_environment
from ccwire.wire.hosts import DEFAULT_HOSTS

HOSTS = ("api.anthropic.com",)
TRUST = {"NODE_EXTRA_CA_CERTS": "/ca.pem"}


def test_the_proxy_is_set_and_loopback_goes_around_it() -> None:
    child = proxied_environment({"PATH": "/bin"}, 4242, TRUST, HOSTS)
    assert child["HTTPS_PROXY"] == child["https_proxy"] == "http://127.0.0.1:4242"
    assert child["HTTP_PROXY"] == child["http_proxy"] == "http://127.0.0.1:4242"
    assert child["NO_PROXY"] == "localhost,127.0.0.1,::1"
    assert (child["NODE_EXTRA_CA_CERTS"], child["PATH"]) == ("/ca.pem", "/bin")


def test_the_users_no_proxy_is_kept_and_extended() -> None:
    child = proxied_environment({"NO_PROXY": "intra.example, localhost"}, 1, TRUST, HOSTS)
    assert child["NO_PROXY"] == "intra.example,localhost,127.0.0.1,::1"


def test_the_lower_case_form_counts_and_spaces_separate_too() -> None:
    variables = {"no_proxy": "Intra.example .anthropic.com", "NO_PROXY": "other.example"}
    child = proxied_environment(variables, 1, TRUST, HOSTS)
    assert child["NO_PROXY"] == "intra.example,localhost,127.0.0.1,::1"


def test_what_would_let_the_api_go_around_the_proxy_is_left_out() -> None:
    child = proxied_environment({"no_proxy": "*,.anthropic.com,other.example"}, 1, TRUST, HOSTS)
    assert child["no_proxy"] == "other.example,localhost,127.0.0.1,::1"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("*", True),
        ("anthropic.com", True),
        (".anthropic.com", True),
        ("*.anthropic.com", True),
        ("api.anthropic.com:443", True),
        ("hropic.com", False),
        ("example.com", False),
        ("127.0.0.1", False),
    ],
)
def test_which_items_of_no_proxy_name_the_api(item: str, expected: bool) -> None:
    assert excludes(item, HOSTS) is expected


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("amazonaws.com", True),
        (".us-east-1.amazonaws.com", True),
        ("bedrock-runtime.us-east-1.amazonaws.com", True),
        ("s3.us-east-1.amazonaws.com", False),
        (".googleapis.com", True),
        ("us-east5-aiplatform.googleapis.com", True),
        ("storage.googleapis.com", False),
        ("azure.com", True),
        ("blob.core.windows.net", False),
    ],
)
def test_which_items_of_no_proxy_name_the_hosts_of_a_cloud(item: str, expected: bool) -> None:
    assert excludes(item, DEFAULT_HOSTS) is expected


@pytest.mark.parametrize(
    ("item", "hosts", "expected"),
    [
        ("127.0.0.1", ["127.0.0.1:4000"], True),
        ("127.0.0.1:4000", ["127.0.0.1:4000"], True),
        ("127.0.0.1:3000", ["127.0.0.1:4000"], False),
        ("localhost", ["127.0.0.1:4000"], False),
        ("::1", ["127.0.0.1:4000"], False),
        ("::1", ["[::1]:4000"], True),
        ("10.0.0.0/8", ["10.1.2.3"], True),
        ("10.0.0.0/8", ["11.1.2.3", "gateway.test"], False),
    ],
)
def test_addresses_and_ports_in_no_proxy(item: str, hosts: list[str], expected: bool) -> None:
    assert excludes(item, hosts) is expected


def test_a_gateway_on_loopback_is_not_left_out() -> None:
    child = proxied_environment({"NO_PROXY": "127.0.0.1,x.test"}, 1, {}, ["127.0.0.1:4000"])
    assert child["NO_PROXY"] == child["no_proxy"] == "x.test,localhost,::1"
