"""`ccwire proxy`: start mitmproxy with the add-on, wherever the two are installed."""

import errno
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from addon.claude_settings.files import installed_scopes
from addon.launch.plan import PlanError, checked_hosts
from addon.launch.proxy import (
    ADD_ON,
    ca_cert,
    default_confdir,
    free_port,
    mitmproxy_program,
    occupied,
    why_no_ca,
)
from addon.storage.packing.keep_open import KEEP_OPEN
from addon.storage.writable import why_not_writable
from addon.upstream.company_proxy import UnusableProxy, chained_modes, company_proxy
from ccwire.command_name import command_line
from ccwire.import_path import own_path, python_command
from ccwire.options import (
    UserError,
    claude_dir_option,
    keep_open_option,
    target_captures_option,
)
from ccwire.output.terminal import echo
from ccwire.wire.format import claude_dir as default_claude_dir
from ccwire.wire.hosts import DEFAULT_HOSTS, is_loopback, join_port

_LOOPBACK = "127.0.0.1"
_EVERYWHERE = ("", "0.0.0.0", "::")
_DRY_RUN = "--options"  # load the add-on, print all options, exit
_REFUSED = re.compile(r"^mitmproxy\.exceptions\.OptionsError: (.+)", re.MULTILINE)
_PREFIX = re.compile(r"^mitm\w+: (error: )?")
_PATH = "import sys; print(*sys.path, sep='\\n')"


@click.command("proxy", context_settings={"ignore_unknown_options": True})
@click.option("--web", "program", flag_value="mitmweb", help="Show the traffic in a browser.")
@click.option("--console", "program", flag_value="mitmproxy", help="Show it in the terminal.")
@click.option(
    "-p",
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The port to listen on; 0 for any free one.",
)
@target_captures_option
@claude_dir_option
@click.option(
    "--host",
    "more_hosts",
    metavar="HOST",
    multiple=True,
    help="Capture this host as well; `*` matches any part. Repeatable.",
)
@keep_open_option
@click.option("--print", "only_print", is_flag=True, help="Print the command instead.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[MITMPROXY OPTIONS]...")
def command(
    program: str | None,
    port: int,
    captures: Path,
    claude_dir: Path,
    more_hosts: tuple[str, ...],
    keep_open: str,
    only_print: bool,
    options: tuple[str, ...],
) -> None:
    """Start mitmdump, mitmweb or mitmproxy with the add-on, on loopback.

    Every other option is passed on to it. Stop it with Ctrl-C.
    """
    captures = captures.absolute()
    given = options
    host = _given(options, "--listen-host") or _LOOPBACK
    port = port or _free_port(host)
    options = (*_chained(options, port), *options)
    if claude_dir != default_claude_dir(None, os.environ):
        options = ("--set", f"capture_claude_dir={claude_dir.absolute()}", *options)
    if keep_open != KEEP_OPEN:
        options = ("--set", f"capture_keep_open={keep_open}", *options)
    if more_hosts:
        hosts = (*DEFAULT_HOSTS, *_checked(more_hosts))
        options = ("--set", f"capture_hosts={','.join(hosts)}", *options)
    name = program or "mitmdump"
    words = mitmproxy_command(name, host, port, captures, options)
    if only_print:
        echo(shlex.join(words))
        return
    if why := why_not_writable(captures):
        raise UserError(f"{captures} is not writable ({why}); give --captures DIR.")
    _check_port(host, port)
    confdir = _given_set(options, "confdir")
    folder = Path(confdir).expanduser() if confdir else default_confdir()
    if why := why_no_ca(folder):
        raise UserError(why)
    if given:
        _check_options(mitmproxy_command(name, host, port, captures, [_DRY_RUN, *options]))
    echo(_hint(host, port, folder, installed_scopes(claude_dir, Path.cwd())), err=True)
    sys.stdout.flush()
    os.execv(words[0], words)


def mitmproxy_command(
    program: str, host: str, port: int, captures: Path, options: Sequence[str]
) -> list[str]:
    """Return the command that runs a program of mitmproxy with the add-on and these options."""
    words = _python(mitmproxy_program(program))
    if _given(options, "--listen-host") is None:
        words += ["--listen-host", host]
    words += ["-p", str(port), "-s", str(ADD_ON), "--set", f"capture_dir={captures}"]
    return [*words, *options]


def _chained(options: Sequence[str], port: int) -> list[str]:
    """Return the options that chain the user's own proxy, if the environment names one."""
    is_decided = any(_given_set(options, name) for name in ("capture_proxy", "capture_upstream"))
    if is_decided or _given(options, "--mode") or _given(options, "-m"):
        return []
    try:
        chain = company_proxy(os.environ)
    except UnusableProxy as error:
        raise UserError(f"{error}.") from error
    if chain is None:
        return []
    if any(is_loopback(s.host) and s.port == port for s in (chain.https, chain.http)):
        return []  # this proxy: the variable was set for the client
    return ["--set", "capture_proxy=env", "--mode", *chained_modes(["regular"], chain)]


def _python(program: str) -> list[str]:
    """Return a Python that can import ccwire and nothing of the current folder.

    Without the import path in it, the command is easier to read: use it only if it is needed.
    """
    isolated = [sys.executable, "-I", "-u", "-c"]
    ran = subprocess.run([*isolated, _PATH], capture_output=True, text=True, check=False)
    if set(own_path()) <= set(ran.stdout.splitlines()):
        return [*isolated, program]
    return python_command(program)


def _hint(host: str, port: int, confdir: Path, hooks: Sequence[str]) -> str:
    host = _LOOPBACK if host in _EVERYWHERE else host
    certificate = shlex.quote(str(ca_cert(confdir)))
    lines = [
        "Start the client in another terminal, with two variables:\n",
        f"  HTTPS_PROXY=http://{join_port(host, port)} NODE_EXTRA_CA_CERTS={certificate} claude\n",
    ]
    if not hooks:
        install = command_line("hooks install")
        lines.append(f"Once: `{install}` records which process is which session.\n")
    return "\n".join(lines)


def _check_port(host: str, port: int) -> None:
    try:
        with occupied(host, port):
            return
    except OSError as error:
        raise UserError(_cannot_listen(host, port, error)) from None


def _free_port(host: str) -> int:
    try:
        return free_port(host)
    except OSError as error:
        raise UserError(_cannot_listen(host, 0, error)) from None


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        hint = "give an address of this machine with --listen-host"
    else:
        hint = f"give another port: `{command_line('proxy -p PORT')}`"
    return f"cannot listen on {join_port(host, port)} ({error.strerror}); {hint}."


def _check_options(dry_run: Sequence[str]) -> None:
    """Check what is passed on, before the hint to start the client is printed."""
    ran = subprocess.run(
        dry_run, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if refused := _REFUSED.search(ran.stdout):
        raise UserError(refused[1])
    if ran.returncode:
        *_, reason = ["mitmproxy refuses its options.", *ran.stderr.strip().splitlines()]
        raise UserError(_PREFIX.sub("", reason))


def _checked(hosts: Sequence[str]) -> tuple[str, ...]:
    try:
        return checked_hosts(hosts)
    except PlanError as error:
        raise UserError(str(error)) from None


def _given(options: Sequence[str], name: str) -> str | None:
    """Return the value of `--name VALUE` or `--name=VALUE` among mitmproxy's options."""
    for at, word in enumerate(options):
        if word == name:
            return next(iter(options[at + 1 :]), None)
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None


def _given_set(options: Sequence[str], name: str) -> str | None:
    """Return the value of `--set name=VALUE` among mitmproxy's options."""
    values = [word.partition("=")[2] for word in options if word.startswith(f"{name}=")]
    return values[-1] if values else None
