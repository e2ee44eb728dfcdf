"""One proxy and one certificate authority for all tests of a module that can share them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ccwire.demo.stand_in import scenarios
from tests.rig import Rig, rig


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One certificate authority for all: making one takes longer than a test."""
    return tmp_path_factory.mktemp("mitmproxy")


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory, confdir: Path) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("wire"), scenarios.named("plain"), confdir) as running:
        yield running
