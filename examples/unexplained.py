"""Every unexplained finding with its evidence. Exit code 1 if there is one.

uv run python examples/unexplained.py captures [--claude-dir DIR]
"""

import argparse
import sys

from correlate import open_captures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("captures")
    parser.add_argument("--claude-dir")
    given = parser.parse_args()
    count = 0
    for session in open_captures(given.captures, given.claude_dir):
        found = session.reconcile()
        count += found.unexplained
        for finding in found.findings:
            if not finding.explained:
                what = f"call {finding.call.sequence}" if finding.call else "a turn without a call"
                print(f"{session.id}  {what}: {finding.verdict} ({finding.kind})")
                for sentence in finding.evidence:
                    print(f"    {sentence}")
        for witness in found.witnesses:
            if not witness.explained:
                print(f"{session.id}  {witness.name}: {'; '.join(witness.evidence)}")
    print(f"{count} unexplained")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
