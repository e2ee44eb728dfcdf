"""Starts and stops the capturing proxy as a child process on a loopback port."""

import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from addon.identity.password import PASSWORD
from addon.lifetime import scratch
from addon.lifetime.lifeline import STOP_SECONDS
from addon.lifetime.signals import deferred_signals
from addon.storage.writable import why_not_writable
from addon.upstream.company_proxy import UnusableProxy, chained_modes, company_proxy
from ccwire.import_path import python_command

_START_SECONDS = 30.0
_LISTENING = re.compile(rb" listening at (?:127\.0\.0\.1|\[::1\]):(\d+)")
_CAPTURING = b"ccwire: capturing "
_EXITING = "exiting..."  # the end of mitmproxy's last line, after the one with the reason
ADD_ON = Path(__file__).parent.parent / "capture.py"
# `def`, because an import at the top would not be covered by the lifeline.
_TIED = """\
import sys
from addon.lifetime.lifeline import run_tied
def mitmdump():
    from mitmproxy.tools.main import mitmdump
    mitmdump()
parent, folder, sys.argv[:3] = int(sys.argv[1]), sys.argv[2], ["mitmdump"]
run_tied(mitmdump, parent, folder)
"""
_PROGRAM = "import sys; from mitmproxy.tools.main import {0}; sys.argv[0] = '{0}'; {0}()"


class ProxyError(Exception):
    """The proxy did not start; the message is the reason."""


def default_confdir() -> Path:
    """Return mitmproxy's own folder."""
    return Path.home() / ".mitmproxy"


def ca_cert(confdir: Path) -> Path:
    """Return the certificate of mitmproxy's certificate authority."""
    return confdir / "mitmproxy-ca-cert.pem"


def is_written(certificate: Path) -> bool:
    """Return whether the file is there and complete."""
    return certificate.exists() and b"END CERTIFICATE" in certificate.read_bytes()


def mitmproxy_program(name: str) -> str:
    """Return the Python program that runs `mitmdump`, `mitmweb` or `mitmproxy`."""
    return _PROGRAM.format(name)


def why_no_ca(confdir: Path) -> str | None:
    """Return why mitmproxy cannot create its certificate authority; None if it can, or has one."""
    why = None if ca_cert(confdir).exists() else why_not_writable(confdir)
    return f"{confdir} is not writable ({why}); set HOME to a folder that is." if why else None


def free_port(host: str) -> int:
    """Return a free port of an address, because mitmproxy can choose only one port by itself."""
    with occupied(host, 0) as port:
        return port


@contextmanager
def occupied(host: str, port: int) -> Iterator[int]:
    """Occupy a port, any free one for 0; raise OSError if that is impossible."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        yield int(probe.getsockname()[1])


class Proxy:
    """A `mitmdump` process with the add-on; a context manager.

    The process ends with this one: see `addon.lifetime.lifeline`.
    """

    def __init__(
        self,
        captures: Path,
        *,
        log: Path | None = None,
        port: int = 0,
        upstream: str | None = None,
        hosts: Sequence[str] = (),
        sessions: Path | None = None,
        claude_dir: Path | None = None,
        confdir: Path | None = None,
        run: str | None = None,
        chain: bool = False,
        upstream_ca: Path | None = None,
        environment: Mapping[str, str] | None = None,
        reverse: str | None = None,
        folder: Path | None = None,
        clients: int | None = None,
        password: str | None = None,
        keep_open: str | None = None,
        home: Path | None = None,
    ) -> None:
        """`log` is a file to keep the log in; without it, the log is in no folder.

        `chain`: connect through the proxy that the environment names, if any.

        `upstream_ca` replaces the certificates to verify servers with, `environment` the one that
        the process would inherit. `reverse` adds a port, `reverse_port`, that sends every request
        to that server. `folder` is created for the time that the proxy runs.
        It serves only the process `clients` and those below it, and any with the password.
        `home` is where the captures are registered, in place of the user's home.
        """
        self.captures = captures
        self.folder = folder
        self._log_path = log
        self._log: IO[bytes] | None = None
        self._held: int | None = None
        self.port = port
        self.reverse_port = free_port("127.0.0.1") if reverse else 0
        self.confdir = confdir or default_confdir()
        self._options = {
            "capture_dir": captures,
            "capture_upstream": upstream,
            "capture_hosts": ",".join(hosts),
            "capture_sessions": sessions,
            "capture_claude_dir": claude_dir,
            "capture_run": run,
            "capture_clients": clients,
            "capture_keep_open": keep_open,
            "capture_proxy": "env" if chain else None,
            "ssl_verify_upstream_trusted_ca": upstream_ca,
            "confdir": self.confdir,
        }
        self._environment = None if environment is None else dict(environment)
        if password:
            self._environment = {**(self._environment or os.environ), PASSWORD: password}
        if home is not None:
            self._environment = {**(self._environment or os.environ), "CCWIRE_HOME": str(home)}
        self._modes = ["regular"]
        if reverse:
            self._modes.append(f"reverse:{reverse}@127.0.0.1:{self.reverse_port}")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        assert self._log_path is not None
        return self._log_path

    @property
    def ca_cert(self) -> Path:
        return ca_cert(self.confdir)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.poll() if self._process else None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        if why := why_no_ca(self.confdir):
            raise ProxyError(why)
        command = python_command(_TIED, str(os.getpid()), str(self.folder or ""))
        command += ["--listen-host", "127.0.0.1", "-p", str(self.port), "-s", str(ADD_ON)]
        for mode in self._chained(self._modes):
            command += ["--mode", mode]
        for name, value in self._options.items():
            if value:
                command += ["--set", f"{name}={value}"]
        if self._log is not None:
            self._log.close()
        self._log = _new_log(self._log_path)
        with deferred_signals():
            self._process = subprocess.Popen(
                command,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C must reach only the client
            )
        try:
            self._wait_until_it_listens()
            if self.folder is not None and self._held is None:
                self._held = scratch.hold(self.folder)
        except BaseException:  # Ctrl-C; `__exit__` is not called then
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the proxy and wait until it has finished its files."""
        if self._process is not None:
            self._let_go()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._held is not None:
            os.close(self._held)
            self._held = None
        if self.folder is not None:
            scratch.remove(self.folder)  # the proxy may have been killed

    def log_text(self) -> str:
        """Return what the proxy has logged since its latest start."""
        return self._output().decode("utf-8", "replace")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def _output(self) -> bytes:
        """Return the log; the process writes at the position of the same open file."""
        if self._log is None:
            return b""
        descriptor = self._log.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)

    def _chained(self, modes: list[str]) -> list[str]:
        """Return the modes for a chained proxy, which the add-on could only set after the start."""
        if not self._options["capture_proxy"] or self._options["capture_upstream"]:
            return modes
        try:
            chain = company_proxy(os.environ if self._environment is None else self._environment)
        except UnusableProxy as error:
            raise ProxyError(str(error)) from None
        return chained_modes(modes, chain) if chain else modes

    def _wait_until_it_listens(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            output = self._output()
            ports = [int(port) for port in _LISTENING.findall(output)]
            is_ready = _CAPTURING in output and is_written(self.ca_cert)
            if len(ports) >= len(self._modes) and is_ready:
                self.port = next(port for port in ports if port != self.reverse_port)
                return
            if self._process.poll() is not None or (b"rror" in output and b"address" in output):
                break
            time.sleep(0.02)
        output = self._output()
        self.kill()
        raise ProxyError(_reason(output) or "it logged nothing")


def _new_log(path: Path | None) -> IO[bytes]:
    if path is None:
        return tempfile.TemporaryFile(buffering=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600), "rb", buffering=0)


def _reason(output: bytes) -> str:
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines()]
    return next((line for line in reversed(lines) if line and not line.endswith(_EXITING)), "")
