from pathlib import Path

from addon.hooks.answer_proof import answer_proof, key_beside, proves
from addon.redaction.key import KEY_FILE

KEY = b"k" * 40


def test_a_text_is_recognized_by_its_proof() -> None:
    proof = answer_proof("  The answer.\n", KEY)
    assert proof is not None and proof["length"] == 11
    assert proves(proof, "The answer.  ", KEY)
    assert not proves(proof, "The amswer.", KEY)
    assert not proves(proof, "Another", KEY)


def test_without_the_key_the_hash_cannot_be_made() -> None:
    proof, other = answer_proof("yes", KEY), answer_proof("yes", b"x" * 40)
    assert proof is not None and other is not None and proof["hash"] != other["hash"]
    assert answer_proof("yes", b"") == {"length": 3, "hash": None}


def test_what_is_no_text_has_no_proof() -> None:
    assert answer_proof(None, KEY) is answer_proof({"text": "x"}, KEY) is None
    assert not proves("rubbish", "text", KEY)
    assert not proves({"length": "4"}, "text", KEY)


def test_the_key_is_that_of_the_redaction(tmp_path: Path) -> None:
    sessions = str(tmp_path / "sessions.json")
    assert key_beside(sessions) == b""
    (tmp_path / KEY_FILE).write_bytes(b"short")
    assert key_beside(sessions) == b""
    (tmp_path / KEY_FILE).write_bytes(b"a" * 64 + b"\n")
    assert key_beside(sessions) == b"a" * 64
