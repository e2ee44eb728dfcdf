"""The plan of a run, made before the proxy starts: where the client sends, and what is captured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from addon.launch.arguments import client_in
from addon.launch.base_url import Detour, find_detour
from addon.launch.client_settings import read_settings_env
from addon.launch.overrides import users_environment
from addon.launch.road import Road, SettingsEnv, describe_road, find_road
from addon.upstream.company_proxy import CompanyProxy, UnusableProxy, company_proxy
from ccwire.wire.hosts import DEFAULT_HOSTS, parse_base_url


class PlanError(Exception):
    """The run cannot be planned; the message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run captures, and how.

    `environment` is the user's, with the proxy and certificates of their settings. `detour` is the
    reverse proxy of `--via base-url`.
    """

    settings: tuple[SettingsEnv, ...]
    road: Road
    more_hosts: tuple[str, ...]
    environment: Mapping[str, str]
    company: CompanyProxy | None
    detour: Detour | None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts to capture."""
        return tuple(dict.fromkeys((*DEFAULT_HOSTS, *self.road.hosts, *self.more_hosts)))

    def lines(self) -> Iterator[str]:
        """Yield what to print before the client starts."""
        yield describe_road(self.road, self.more_hosts)
        if self.company is not None:
            yield f"connecting through the proxy {self.company.names}"
        if self.detour is not None:
            variable = self.detour.variable
            yield f"{variable} names the proxy; Claude Code behaves differently with a base URL"


def plan_run(
    environment: Mapping[str, str],
    claude_dir: Path,
    project: Path,
    command: Sequence[str],
    *,
    upstream: str | None = None,
    more_hosts: Sequence[str] = (),
    with_base_url: bool = False,
) -> Plan:
    """Plan the run of a command; raise PlanError."""
    _check_upstream(upstream)
    settings = read_settings_env(claude_dir, project, command[1:])
    # Other programs may start a client, but do not read its settings: with a base URL from there,
    # their calls would be sent to a server that is not theirs.
    has_settings = client_in(command) is not None or not with_base_url
    road = find_road(environment, settings if has_settings else ())
    users = users_environment(environment, settings)
    return Plan(
        settings=tuple(settings),
        road=road,
        more_hosts=checked_hosts(more_hosts),
        environment=users,
        company=_company_proxy(users) if upstream is None else None,
        detour=_detour(road) if with_base_url else None,
    )


def checked_hosts(hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the hosts that `--host` names, in lower case; raise PlanError."""
    for host in hosts:
        if not host or any(mark in host for mark in "/, @"):
            raise PlanError(f"--host {host!r}: expected a host such as gateway.example.")
    return tuple(host.lower() for host in hosts)


def _check_upstream(upstream: str | None) -> None:
    try:
        if upstream is not None:
            parse_base_url(upstream)
    except ValueError as error:
        raise PlanError(f"--upstream: {error}.") from None


def _company_proxy(environment: Mapping[str, str]) -> CompanyProxy | None:
    try:
        return company_proxy(environment)
    except UnusableProxy as error:
        raise PlanError(f"{error}.") from None


def _detour(road: Road) -> Detour:
    try:
        return find_detour(road)
    except ValueError as error:
        raise PlanError(f"--via base-url: {error}.") from None
