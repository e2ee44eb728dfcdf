"""The simulated client's command line: the flags and environment variables of the real client."""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from ccwire.demo.client.profiles import PROFILES, Profile, profile
from ccwire.demo.client.simulated import SimulatedClient


def main() -> None:
    given = _parser().parse_args()
    release = profile(given.as_version)
    if given.version:
        print(f"{release.version} (Claude Code)")
        return
    _refuse_unknown(release, given)
    client = _client(release, given, os.environ)
    if not given.print:
        _take_lines(client)
        return
    result = client.run(given.prompt or sys.stdin.read())
    print(json.dumps(result) if given.output_format == "json" else result["result"])
    sys.exit(1 if result["is_error"] else 0)


def _parser() -> argparse.ArgumentParser:
    newest = list(PROFILES)[-1]
    parser = argparse.ArgumentParser(prog="ccwire.demo.client", description="A simulated client.")
    parser.add_argument("prompt", nargs="?")
    parser.add_argument(
        "--as", dest="as_version", default=os.environ.get("LAB_CLIENT_VERSION") or newest
    )
    parser.add_argument("-p", "--print", action="store_true")
    parser.add_argument("-v", "--version", action="store_true")
    parser.add_argument("--output-format", default="text", choices=("text", "json"))
    parser.add_argument("--allowedTools", help="Ignored: every tool is allowed.")
    parser.add_argument("--settings")
    parser.add_argument("--session-id")
    parser.add_argument("-r", "--resume")
    parser.add_argument("--fork-session", action="store_true")
    parser.add_argument("--no-session-persistence", action="store_true")
    return parser


def _refuse_unknown(release: Profile, given: argparse.Namespace) -> None:
    """Exit with the real client's error for a flag that this release does not support."""
    if given.settings is not None and not release.settings:
        sys.exit("error: unknown option '--settings'")
    if given.fork_session and not release.forks:
        sys.exit("error: unknown option '--fork-session'")


def _client(release: Profile, given: argparse.Namespace, env: Mapping[str, str]) -> SimulatedClient:
    home = Path(env["HOME"])
    proxy = env.get("HTTPS_PROXY") or env.get("https_proxy")
    upstream = None if proxy else env.get("ANTHROPIC_BASE_URL")
    if not proxy and not upstream:
        sys.exit("set HTTPS_PROXY or ANTHROPIC_BASE_URL to a loopback address")
    where = urlsplit(proxy or upstream or "")
    if where.hostname not in ("127.0.0.1", "localhost", "::1"):
        sys.exit(f"{where.hostname} is not a loopback address; this client connects to no other")
    extra = env.get("NODE_EXTRA_CA_CERTS")
    config = env.get("CLAUDE_CONFIG_DIR")
    return SimulatedClient(
        release,
        home=home,
        cwd=Path.cwd(),
        proxy_port=where.port if proxy else None,
        ca_cert=Path(extra) if extra else None,
        upstream=upstream,
        settings=given.settings,
        session_id=given.session_id,
        resume=given.resume,
        fork=given.fork_session,
        persist=not given.no_session_persistence,
        screen=not given.print,
        patience=0.05,
        config_dir=Path(config) if config else None,
        env=env,
    )


def _take_lines(client: SimulatedClient) -> None:
    """Read prompts, /clear, /compact and /exit from stdin, one per line."""
    with client:
        for line in map(str.strip, sys.stdin):
            match line:
                case "":
                    continue
                case "/exit":
                    break
                case "/clear":
                    client.clear()
                case "/compact":
                    client.compact()
                case _:
                    print(client.prompt(line), flush=True)
