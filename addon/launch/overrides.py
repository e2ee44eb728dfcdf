"""Variables of the connection (proxy, certificates) that the client's settings set. Pure.

Settings override the environment that `ccwire run` gives to the client. Ours are therefore repeated
in the `--settings` argument, which overrides every file but the administrator's.
"""

from collections.abc import Iterable, Mapping, Sequence

from addon.launch.environment import excludes
from addon.launch.road import SettingsEnv, effective
from addon.upstream.company_proxy import (
    ALL_PROXY_VARIABLES,
    NO_PROXY_VARIABLES,
    PROXY_VARIABLES,
    split_no_proxy,
)
from addon.upstream.trust import ADDING, REPLACING

_PROXIES = (*PROXY_VARIABLES, *ALL_PROXY_VARIABLES, *NO_PROXY_VARIABLES)
_NAMES = (*_PROXIES, *REPLACING, *ADDING)
# The client reads the lower-case form first, https_proxy before http_proxy also for http, and it
# trusts SSL_CERT_FILE besides NODE_EXTRA_CA_CERTS.
_DECIDING = ("https_proxy", "no_proxy")


def users_environment(
    environment: Mapping[str, str], settings: Sequence[SettingsEnv]
) -> dict[str, str]:
    """Return the environment with the proxy and certificates that the settings name.

    They are the user's own, so the capturing proxy has to use them.
    """
    values = effective(environment, settings)
    named = {name: values[name].text for name in _NAMES if name in values}
    return {**environment, **named}


def repeated(
    child: Mapping[str, str], settings: Sequence[SettingsEnv], more: Iterable[str] = ()
) -> dict[str, str]:
    """Return the variables of the child that settings would override, for `--settings`.

    `more` names variables besides those of the connection.
    """
    return {
        name: child.get(name, "")
        for name in (*_NAMES, *more)
        if any(name in level.env and level.overridable for level in settings)
    }


def connection_variables(level: SettingsEnv) -> list[str]:
    """Return the variables of a settings file that replace the capturing proxy or bypass it."""
    return [name for name in PROXY_VARIABLES if level.env.get(name) and not level.ignored]


def overriding(
    child: Mapping[str, str],
    settings: Sequence[SettingsEnv],
    hosts: Sequence[str],
    with_argument: bool,
    more: Iterable[str] = (),
) -> list[str]:
    """Return a sentence for each variable in the settings that prevents the capture of the hosts.

    `with_argument` tells whether `--settings` repeats ours, which most levels cannot override.
    """
    return [
        f"{name} in {level.source} overrides the variable that captures the client's calls;"
        " remove it to capture them"
        for level in settings
        if not (level.overridable and with_argument) and not level.ignored
        for name in (*_DECIDING, *more)
        if name in level.env and _prevents(name, level.env[name], child, hosts)
    ]


def _prevents(name: str, value: str, child: Mapping[str, str], hosts: Sequence[str]) -> bool:
    if name == "no_proxy":
        return any(excludes(item, hosts) for item in split_no_proxy(value))
    return value != child.get(name)
