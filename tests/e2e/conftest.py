"""Fixtures: a certificate authority for all tests, and a proxy per module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ccwire.demo.stand_in import scenarios
from tests.rig import Rig, rig


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared certificate authority, because creating one takes longer than a test."""
    return tmp_path_factory.mktemp("mitmproxy")


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory, confdir: Path) -> Iterator[Rig]:
    with rig(tmp_path_factory.mktemp("wire"), scenarios.named("plain"), confdir) as running:
        yield running
