from pathlib import Path

from correlate.captures.folder import session_folders
from correlate.reconcile.session import SessionReconciler, TranscriptWait
from correlate.transcript.locate import ClaudeDir
from lab.tree import write_tree


def test_a_tree_has_its_size_and_is_explained(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, 3_000_000)
    written = sum(path.stat().st_size for path in tree.claude_dir.rglob("*.jsonl"))
    assert tree.size == written
    assert 3_000_000 <= written < 8_000_000
    reconciler = SessionReconciler(
        tree.captures, ClaudeDir(tree.claude_dir), TranscriptWait(tries=0)
    )
    found = [reconciler.reconcile(folder) for folder in session_folders(tree.captures)]
    assert len(found) == tree.sessions
    assert sum(len(session.calls) for session in found) == tree.calls
    assert {session.unexplained for session in found} == {0}


def test_the_same_seed_writes_the_same_tree(tmp_path: Path) -> None:
    one, other = write_tree(tmp_path / "1", 200_000), write_tree(tmp_path / "2", 200_000)
    names = [sorted(p.name for p in t.claude_dir.rglob("*.jsonl")) for t in (one, other)]
    assert names[0] == names[1]
    assert one.size == other.size
