"""Fixtures: certificate authorities, a stand-in, and a proxy per module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ccwire.demo.stand_in import scenarios
from ccwire.demo.stand_in.server import StandIn
from tests.company import CompanyCA
from tests.rig import Rig, rig


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared certificate authority, because creating one takes longer than a test."""
    return tmp_path_factory.mktemp("mitmproxy")


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory, confdir: Path) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("wire"), scenarios.named("plain"), confdir) as running:
        yield running


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> CompanyCA:
    return CompanyCA(tmp_path_factory.mktemp("company"))


@pytest.fixture
def api() -> Iterator[StandIn]:
    with StandIn(scenarios.named("plain"), keep_events=True) as running:
        yield running
