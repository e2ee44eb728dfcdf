import importlib
import logging

import pytest
from mitmproxy.test import taddons

from addon.trailers import Trailers


def test_a_mitmproxy_without_these_layers_is_reported_and_left_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"no module {name}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with caplog.at_level(logging.WARNING, "ccwire"), taddons.context(Trailers()):
        pass
    assert "HTTP/1 trailers end a connection with this release of mitmproxy" in caplog.text
