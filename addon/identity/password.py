"""The password of one run's proxy, for systems that do not show whose a connection is. Pure.

It is in the environment of the run's processes only, and it is redacted wherever it is repeated.
"""

import base64
from collections.abc import Mapping

PASSWORD = "CCWIRE_PROXY_PASSWORD"  # in the proxy's environment; options are in process lists
USER = "ccwire"


def run_authorization(environment: Mapping[str, str]) -> str | None:
    """Return what clients of this run send in `Proxy-Authorization`; None without a password."""
    password = environment.get(PASSWORD)
    if not password:
        return None
    return "Basic " + base64.b64encode(f"{USER}:{password}".encode()).decode()
