"""A company's proxy behind ours: captured, tunnelled and plain http traffic, and failures."""

import http.client
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from addon.launch.proxy import ADD_ON, Proxy
from ccwire.demo.stand_in import scenarios
from ccwire.demo.stand_in.server import StandIn
from tests.company import (
    CREDENTIALS,
    ENCODED,
    PASSWORD,
    SECRETS,
    USER,
    CompanyCA,
    CompanyProxy,
    tls_server,
)
from tests.rig import Rig, messages_body, new_session, until

API = "api.anthropic.com"
TUNNELLED = "tunnelled.example"
PLAIN = "gateway.example"
MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"
NOWHERE = "0.0.0.0"  # an address that reaches this machine, but is not a loopback address


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> CompanyCA:
    return CompanyCA(tmp_path_factory.mktemp("company"))


@pytest.fixture
def api() -> Iterator[StandIn]:
    with StandIn(scenarios.named("plain"), keep_events=True) as running:
        yield running


def routes(api: StandIn) -> dict[str, int]:
    return {f"{API}:443": api.port, f"{TUNNELLED}:443": api.port, f"{PLAIN}:80": api.port}


@contextmanager
def capturing(
    folder: Path, confdir: Path, api: StandIn, variables: Mapping[str, str], **options: Any
) -> Iterator[Rig]:
    """A capturing proxy with these variables and no others."""
    proxy = Proxy(
        folder / "captures",
        log=folder / "proxy.log",
        sessions=folder / "sessions.json",
        claude_dir=folder / "claude",
        confdir=confdir,
        chain=True,
        environment={"HOME": str(folder), **variables},
        **options,
    )
    with proxy:
        yield Rig(api, proxy, folder)


def variables(company: CompanyProxy, ca: CompanyCA | None = None, **more: str) -> dict[str, str]:
    found = {"HTTPS_PROXY": company.url, "HTTP_PROXY": company.url, **more}
    return {**found, "NODE_EXTRA_CA_CERTS": str(ca.file)} if ca else found


def get(port: int, host: str, trusted: Path | None = None, target_port: int = 443) -> int:
    """Get a page through the proxy: by CONNECT if there is a CA to trust, else as plain http."""
    made: http.client.HTTPConnection
    if trusted is None:
        made = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        url = f"http://{host}:{target_port}/hello"
    else:
        context = ssl.create_default_context(cafile=str(trusted))
        made = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
        made.set_tunnel(host, target_port)
        url = "/hello"
    try:
        made.request("GET", url, headers={"host": host, "connection": "close"})
        answer = made.getresponse()
        answer.read()  # a client that leaves before the end is another outcome
        return answer.status
    finally:
        made.close()


def ask(wire: Rig, session: str | None = None) -> tuple[int, dict[str, Any]]:
    """Post one message; return the client's status and the exchange."""
    session = session or new_session()
    status, _ = wire.post(messages_body("hello", session))
    (line,) = wire.exchanges(session, 1)
    return status, line


def no_secret_is_in(folder: Path) -> None:
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert files
    for file in files:
        data = file.read_bytes()
        assert [s for s in SECRETS if s.encode() in data] == [], file.name


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
        assert made.getresponse().status == 200
        made.close()
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
        assert made.getresponse().status == 200
        made.close()
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


@pytest.mark.parametrize(
    ("company", "url", "problem"),
    [
        ({}, "{user}:wrong@{name}", "rejected the user name or password in HTTPS_PROXY (407)"),
        ({}, "{name}", "asks for a password (407); add it to HTTPS_PROXY"),
        ({"answer": 403}, None, f"refused to connect to {API}:443 (403)"),
        ({"answer": 502}, None, f"refused to connect to {API}:443 (502)"),
    ],
)
def test_a_proxy_that_refuses_is_an_exchange_with_its_error(
    tmp_path: Path,
    confdir: Path,
    api: StandIn,
    ca: CompanyCA,
    company: dict[str, Any],
    url: str | None,
    problem: str,
) -> None:
    with CompanyProxy(routes(api), ca, **company) as proxy:
        given = url.format(user=USER, name=proxy.name) if url else proxy.url
        with capturing(tmp_path, confdir, api, {"HTTPS_PROXY": given}) as wire:
            status, line = ask(wire)
    expected = f"upstream proxy {proxy.name} {problem}"
    assert (status, line["error"], line["ended_by"]) == (502, expected, "server_disconnect")
    assert line["path"] == "/v1/messages"
    assert wire.proxy.log.read_text().count(f"ccwire: {expected}") == 1
    assert len(proxy.refused) == 1
    no_secret_is_in(tmp_path)


def test_a_plain_http_request_without_the_password(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    with CompanyProxy(routes(api)) as company:
        given = {"http_proxy": company.name}
        with capturing(tmp_path, confdir, api, given, hosts=[PLAIN]) as wire:
            assert get(wire.proxy.port, PLAIN, None, 80) == 407
            (line,) = wire.exchanges("unknown", 1)
    expected = f"upstream proxy {company.name} asks for a password (407); add it to HTTPS_PROXY"
    assert (line["status"], line["error"]) == (407, expected)


@pytest.mark.parametrize("is_http", [True, False])
def test_a_proxy_that_repeats_its_password(
    tmp_path: Path, confdir: Path, api: StandIn, is_http: bool
) -> None:
    answer = f"NONSENSE Basic {CREDENTIALS} {PASSWORD}\r\n\r\n"
    if is_http:
        body = f'{{"error": {{"type": "no", "message": "{USER}:{PASSWORD} {ENCODED}"}}}}'
        head = f"HTTP/1.1 407 No {PASSWORD}\r\nx-seen: Basic {CREDENTIALS}\r\n"
        answer = f"{head}location: http://{USER}:{ENCODED}@proxy/\r\n\r\n{body}"
    with (
        echo(answer) as company,
        capturing(tmp_path, confdir, api, variables(company), hosts=[PLAIN]) as wire,
    ):
        get(wire.proxy.port, PLAIN, None, 80)
        (line,) = wire.exchanges("unknown", 1)
    assert line["status"] == (407 if is_http else None)
    no_secret_is_in(tmp_path)  # mitmproxy's log too


@contextmanager
def echo(answer: str) -> Iterator[CompanyProxy]:
    """A proxy that answers every request with the same text."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(answer.encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield CompanyProxy({}, port=server.server_address[1])
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_stopped_is_an_exchange_with_its_error(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA, scheme: str
) -> None:
    port = free_port()
    given = {"HTTPS_PROXY": f"{scheme}://{USER}:{ENCODED}@127.0.0.1:{port}"}
    with capturing(tmp_path, confdir, api, given) as wire:
        status, line = ask(wire)
        with pytest.raises((OSError, http.client.HTTPException)):
            get(wire.proxy.port, TUNNELLED, ca.file)
    expected = f"upstream proxy 127.0.0.1:{port} refused the connection"
    assert (status, line["error"]) == (502, expected)
    assert wire.proxy.log.read_text().count(f"ccwire: {expected}") == 1
    no_secret_is_in(tmp_path)


def test_a_proxy_that_does_not_answer_is_named_when_the_client_leaves(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    session = new_session()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        port = silent.getsockname()[1]
        given = {"HTTPS_PROXY": f"http://127.0.0.1:{port}"}
        with capturing(tmp_path, confdir, api, given) as wire:
            client = wire.connect()
            client.request("POST", "/v1/messages", messages_body("hello", session))
            accepted, _ = silent.accept()
            with accepted:
                assert accepted.recv(1000).startswith(b"CONNECT ")
                client.close()
                (line,) = wire.exchanges(session, 1)
    expected = f"upstream proxy 127.0.0.1:{port} did not answer before the client disconnected"
    assert (line["ended_by"], line["error"]) == ("client_disconnect", expected)
    assert wire.proxy.log.read_text().count(f"ccwire: {expected}") == 1


def test_a_client_that_leaves_a_slow_answer_names_no_proxy(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA
) -> None:
    session = new_session()
    with socket.create_server(("127.0.0.1", 0)) as slow:
        slow.settimeout(30)
        mapped = {f"{API}:443": slow.getsockname()[1]}
        with (
            CompanyProxy(mapped, ca) as company,
            capturing(tmp_path, confdir, api, variables(company, ca)) as wire,
        ):
            client = wire.connect()
            client.request("POST", "/v1/messages", messages_body("hello", session))
            accepted, _ = slow.accept()
            with accepted:
                assert accepted.recv(10).startswith(b"POST ")
                client.close()
                (line,) = wire.exchanges(session, 1)
    assert line["ended_by"] == "client_disconnect"
    assert "upstream proxy" not in line["error"]


def test_a_host_that_refuses_is_an_exchange_with_its_error(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    port = free_port()
    with capturing(tmp_path, confdir, api, {}, hosts=["127.0.0.1"]) as wire:
        assert get(wire.proxy.port, "127.0.0.1", wire.proxy.ca_cert, port) == 502
        (line,) = wire.exchanges("unknown", 1)
    assert (line["path"], line["error"]) == ("/hello", f"127.0.0.1:{port} refused the connection")


@pytest.mark.parametrize("of_proxy", [False, True])
def test_an_untrusted_certificate_is_an_exchange_with_its_error(
    tmp_path: Path, confdir: Path, api: StandIn, ca: CompanyCA, of_proxy: bool
) -> None:
    """The certificate of the host, as the proxy re-signs it, and that of the proxy itself."""
    with (
        CompanyProxy(routes(api), ca, host="localhost" if of_proxy else None) as company,
        capturing(tmp_path, confdir, api, variables(company)) as wire,
    ):
        status, line = ask(wire)
    whose = f"upstream proxy {company.name}" if of_proxy else f"{API}:443"
    assert status == 502
    assert line["error"].startswith(f"the certificate of {whose} is not trusted (")
    assert "NODE_EXTRA_CA_CERTS" in line["error"]
    assert company.seen == ([] if of_proxy else [f"CONNECT {API}:443"])


def test_a_proxy_that_points_at_itself_does_not_loop(
    tmp_path: Path, confdir: Path, api: StandIn
) -> None:
    port = free_port()
    given = {"HTTPS_PROXY": f"http://127.0.0.1:{port}"}
    with capturing(tmp_path, confdir, api, given, port=port) as wire:
        status, line = ask(wire)
    assert status == 502
    assert line["error"].startswith(f"upstream proxy 127.0.0.1:{port} is this proxy itself")


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


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
