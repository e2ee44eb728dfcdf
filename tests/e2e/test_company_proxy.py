"""A company's proxy behind ours: captured, tunnelled and plain http traffic, runs and options."""

import http.client
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from addon.launch.proxy import ADD_ON, Proxy
from ccwire.demo.stand_in.server import StandIn
from tests.company import (
    ENCODED,
    SECRETS,
    USER,
    CompanyCA,
    CompanyProxy,
    tls_server,
)
from tests.e2e.company_rig import (
    API,
    NOWHERE,
    PLAIN,
    TUNNELLED,
    ask,
    capturing,
    free_port,
    get,
    no_secret_is_in,
    routes,
    variables,
)
from tests.rig import Rig, messages_body, new_session, until

MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"


def test_captured_tunnelled_and_plain_http_all_pass_the_proxy(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    with (
        CompanyProxy(routes(api), ca) as company,
        capturing(
            tmp_path, confdir, api, variables(company, ca), hosts=["api.anthropic.com"]
        ) as wire,
    ):
        status, line = ask(wire)
        assert get(wire.proxy.port, TUNNELLED, ca.file) == 200
        assert get(wire.proxy.port, PLAIN, None, 80) == 200
        command = Path(f"/proc/{wire.proxy.pid}/cmdline")
        if command.exists():
            assert b"ss-7f3a9c" not in command.read_bytes()
    assert (status, line["complete"], line["error"]) == (200, True, None)
    assert company.seen == [f"CONNECT {API}:443", f"CONNECT {TUNNELLED}:443", f"GET {PLAIN}:80"]
    assert company.refused == []
    no_secret_is_in(tmp_path)


def test_captured_plain_http_passes_the_proxy(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    with (
        CompanyProxy(routes(api)) as company,
        capturing(tmp_path, confdir, api, variables(company), hosts=[PLAIN]) as wire,
    ):
        assert get(wire.proxy.port, PLAIN, None, 80) == 200
        (line,) = wire.exchanges("unknown", 1)
        assert "proxy-authorization" not in wire.request("unknown", 1)["headers"]
    assert (line["host"], line["status"], line["error"]) == (PLAIN, 200, None)
    assert company.seen == [f"GET {PLAIN}:80"]
    no_secret_is_in(tmp_path)


def test_plain_http_inside_connect_is_captured(tmp_path: Path, confdir: Path, api: StandIn) -> None:
    """Clients up to 2.0 use CONNECT for a base URL with http, too."""
    with (
        CompanyProxy(routes(api)) as company,
        capturing(tmp_path, confdir, api, variables(company), hosts=[PLAIN]) as wire,
    ):
        made = http.client.HTTPConnection("127.0.0.1", wire.proxy.port, timeout=30)
        made.set_tunnel(PLAIN, 80)
        made.request("GET", "/hello", headers={"host": PLAIN})
        answer = made.getresponse()
        answer.read()
        made.close()
        assert answer.status == 200
        (line,) = wire.exchanges("unknown", 1)
    assert (line["host"], line["path"], line["error"]) == (PLAIN, "/hello", None)
    assert company.seen == [f"CONNECT {PLAIN}:80"]


def test_a_base_url_on_loopback_passes_the_proxy(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    """The reverse port of `--via base-url`: plain http from the client, https upstream."""
    with (
        CompanyProxy(routes(api), ca) as company,
        capturing(tmp_path, confdir, api, variables(company, ca), reverse=f"https://{API}") as wire,
    ):
        made = http.client.HTTPConnection("127.0.0.1", wire.proxy.reverse_port, timeout=30)
        made.request("GET", "/hello")
        answer = made.getresponse()
        answer.read()
        made.close()
        assert answer.status == 200
        (line,) = wire.exchanges("unknown", 1)
    assert (line["host"], line["path"], line["error"]) == (API, "/hello", None)
    assert company.seen == [f"CONNECT {API}:443"]
    no_secret_is_in(tmp_path)


def test_a_proxy_that_speaks_tls(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    with (
        CompanyProxy(routes(api), ca, host="localhost") as company,
        capturing(tmp_path, confdir, api, variables(company, ca)) as wire,
    ):
        status, line = ask(wire)
        assert get(wire.proxy.port, TUNNELLED, ca.file) == 200
        assert get(wire.proxy.port, PLAIN, None, 80) == 200
    assert (status, line["error"]) == (200, None)
    assert company.seen == [f"CONNECT {API}:443", f"CONNECT {TUNNELLED}:443", f"GET {PLAIN}:80"]
    no_secret_is_in(tmp_path)


def test_https_and_http_targets_have_their_own_proxy(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    with (
        CompanyProxy(routes(api), ca) as one,
        CompanyProxy(routes(api), password=False) as other,
        capturing(
            tmp_path,
            confdir,
            api,
            variables(one, ca, HTTP_PROXY=f"127.0.0.1:{other.port}"),
        ) as wire,
    ):
        ask(wire)
        assert get(wire.proxy.port, PLAIN, None, 80) == 200
    assert (one.seen, other.seen) == ([f"CONNECT {API}:443"], [f"GET {PLAIN}:80"])


def test_what_no_proxy_names_is_reached_directly(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    """Captured and tunnelled hosts, and plain http."""
    with tls_server(ca.context(NOWHERE)) as port, CompanyProxy({}, ca) as company:
        given = variables(company, ca, NO_PROXY=f"other.example,{NOWHERE}/8")
        for hosts in ([API], [NOWHERE]):
            folder = tmp_path / hosts[0]
            with capturing(folder, confdir, api, given, hosts=hosts) as wire:
                trusted = ca.file if hosts == [API] else wire.proxy.ca_cert
                assert get(wire.proxy.port, NOWHERE, trusted, port) == 200
                assert get(wire.proxy.port, NOWHERE, None, api.port) == 200
                if hosts == [NOWHERE]:
                    captured = wire.exchanges("unknown", 2)
                    assert [line["error"] for line in captured] == [None, None]
        assert (company.seen, company.refused) == ([], [])
    # Without NO_PROXY, the same targets are the proxy's.
    with (
        CompanyProxy({f"{NOWHERE}:443": api.port}, ca) as company,
        capturing(tmp_path / "all", confdir, api, variables(company, ca)) as wire,
    ):
        assert get(wire.proxy.port, NOWHERE, ca.file) == 200
    assert company.seen == [f"CONNECT {NOWHERE}:443"]


def test_another_capturing_proxy_is_a_proxy_that_inspects_tls(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    outer = Proxy(
        tmp_path / "outer",
        log=tmp_path / "outer.log",
        upstream=api.url,
        sessions=tmp_path / "sessions.json",
        claude_dir=tmp_path / "claude",
        confdir=tmp_path / "its-own-ca",
    )
    with outer:
        given = {
            "HTTPS_PROXY": f"http://127.0.0.1:{outer.port}",
            "SSL_CERT_FILE": str(outer.ca_cert),
        }
        with capturing(tmp_path, confdir, api, given) as wire:
            session = new_session()
            status, line = ask(wire, session)
        assert (status, line["complete"], line["error"]) == (200, True, None)
        behind = Rig(api, outer, tmp_path)
        assert [e["complete"] for e in behind.exchanges(session, 1)] == [True]


def test_two_capturing_proxies_with_one_folder_capture_a_call_once(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    """`ccwire run` where HTTPS_PROXY already names `ccwire proxy`; the company's proxy is third."""
    with (
        CompanyProxy(routes(api), ca) as company,
        capturing(tmp_path, confdir, api, variables(company, ca)) as outer,
    ):
        given = {
            "HTTPS_PROXY": f"http://127.0.0.1:{outer.proxy.port}",
            "NODE_EXTRA_CA_CERTS": str(ca.file),
        }
        (tmp_path / "inner").mkdir()
        inner = Proxy(
            outer.captures,
            log=tmp_path / "inner" / "proxy.log",
            sessions=tmp_path / "sessions.json",
            claude_dir=tmp_path / "claude",
            confdir=confdir,
            chain=True,
            environment={"HOME": str(tmp_path), **given},
        )
        with inner:
            assert get(inner.port, API, inner.ca_cert) == 200
    assert company.seen == [f"CONNECT {API}:443"]
    assert [e["host"] for e in outer.exchanges("unknown", 1)] == [API]


CALL = """
import sys, urllib.error, urllib.request
request = urllib.request.Request(
    "https://api.anthropic.com/v1/messages", sys.argv[1].encode(),
    {"content-type": "application/json", "x-api-key": "made-up"})
try:
    urllib.request.urlopen(request, timeout=30).read()
except urllib.error.HTTPError as error:
    sys.exit(error.code - 495)
"""


def run_program(home: Path, given: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program that makes one call behind `ccwire run`, with these variables only."""
    command = [sys.executable, "-m", "ccwire", "run", "--", sys.executable, "-c", CALL]
    home.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [*command, messages_body("hello").decode()],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": "dumb", **given},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def test_a_run_connects_through_the_proxy(tmp_path: Path, api: StandIn, ca: CompanyCA) -> None:
    with CompanyProxy(routes(api), ca) as company:
        ran = run_program(tmp_path / "home", variables(company, ca))
    assert ran.returncode == 0, ran.stderr
    assert f"ccwire: connecting through the proxy {company.name}\n" in ran.stderr
    assert company.seen == [f"CONNECT {API}:443"]
    assert len(api.ledger.messages()) == 1
    assert [secret for secret in SECRETS if secret in ran.stdout + ran.stderr] == []
    no_secret_is_in(tmp_path)


def test_a_run_says_once_that_the_proxy_is_stopped(tmp_path: Path, api: StandIn) -> None:
    port = free_port()
    given = {"HTTPS_PROXY": f"http://{USER}:{ENCODED}@127.0.0.1:{port}"}
    ran = run_program(tmp_path / "home", given)
    assert ran.returncode == 502 - 495  # the program's own
    why = f"ccwire: 1 call failed: upstream proxy 127.0.0.1:{port} refused the connection\n"
    assert why in ran.stderr
    assert ran.stderr.count("refused the connection") == 1
    no_secret_is_in(tmp_path)


@pytest.mark.parametrize("option", ["env", "http://{name}"])
def test_mitmdump_has_an_option_for_it(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA, option: str
) -> None:
    log = tmp_path / "log"
    with CompanyProxy(routes(api), ca, password=option == "env") as company:
        given = option.format(name=company.name)
        command = [sys.executable, "-u", "-c", MITMDUMP, "--listen-host", "127.0.0.1"]
        command += ["-p", str(port := free_port()), "-s", str(ADD_ON)]
        for setting in (f"confdir={confdir}", f"capture_dir={tmp_path}/captures"):
            command += ["--set", setting]
        command += ["--set", f"capture_proxy={given}"]
        environment = {"HOME": str(tmp_path), "SSL_CERT_FILE": str(ca.file)}
        if option == "env":
            environment["https_proxy"] = company.url
        with (
            log.open("wb") as output,
            subprocess.Popen(
                command, env=environment, stdout=output, stderr=subprocess.STDOUT
            ) as proxy,
        ):
            try:
                until(lambda: b"(upstream mode) listening at" in log.read_bytes(), 30)
                assert get(port, TUNNELLED, ca.file) == 200
                assert get(port, API, confdir / "mitmproxy-ca-cert.pem") == 200
            finally:
                proxy.terminate()
    assert company.seen == [f"CONNECT {TUNNELLED}:443", f"CONNECT {API}:443"]
    assert len(list(tmp_path.glob("captures/unknown/0001_resp_*"))) == 1
    no_secret_is_in(tmp_path)


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("capture_proxy=socks5://127.0.0.1:1080", "the URL names a SOCKS proxy"),
        ("capture_proxy=http://me:secret@127.0.0.1:3128", "give a password in HTTPS_PROXY, and"),
        ("capture_upstrem=http://127.0.0.1:9", "unknown option capture_upstrem; the options are"),
    ],
)
def test_an_unusable_option_stops_mitmdump(tmp_path: Path, option: str, problem: str) -> None:
    command = [sys.executable, "-u", "-c", MITMDUMP, "--listen-host", "127.0.0.1", "-p", "0"]
    command += ["-s", str(ADD_ON), "--set", f"confdir={tmp_path}"]
    ran = subprocess.run(
        [*command, "--set", option],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert problem in ran.stdout + ran.stderr
    assert "secret" not in ran.stdout + ran.stderr
