"""Run the other tools' lines of docs/coming-from, in an environment that has them.

``python tests/peers/coming_from_lines.py PAGE …``; exit status 0: all print what the pages say; 1: one does not.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import coming_from


def main(pages: list[str]) -> int:
    """Run the lines of pages, and say what differs."""
    wrong = {page: found for page in pages if (found := coming_from.run_theirs(page, coming_from.data_of(page)))}
    for page, lines in wrong.items():
        print(f"docs/coming-from/{page}.md:", *lines, sep="\n  ")
    print(f"docs/coming-from: the lines of {', '.join(pages)} were run")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
