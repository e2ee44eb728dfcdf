from collections.abc import Iterator
from pathlib import Path

import pytest

from addon.storage.files import write_pieces


def test_an_interrupted_write_leaves_nothing_behind(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"begun"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_pieces(tmp_path / "file", pieces())
    assert list(tmp_path.iterdir()) == []
