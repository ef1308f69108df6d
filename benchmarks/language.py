"""Count the signs of English that reads as translated, in docstrings, comments, messages and pages.

    python benchmarks/language.py              # a table: sign by place
    python benchmarks/language.py --show       # and each line
    python benchmarks/language.py --commit REF # as the text was in a commit

In Python and Cython files only docstrings, comments and other strings are read. A sign is a hint to read the sentence
once more, not a mistake by itself.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HOME = Path(__file__).parent.parent

SIGNS = {
    "is no X": r"(?<!there )\b(?:is|are|was|were) no(?! longer\b| more\b| less\b)\b",
    "stand for be": r"\b(?:stand|stands|stood|standing)\b(?! ?-?alone| for\b| in for\b)",
    "is told": r"\b(?:is|are|was|were|be|being) told\b",
    "of none": r"\bof none\b",
    "come to": r"\b(?:come|comes|came) to\b(?! an end)",
    "is to be": r"\b(?:is|are|was|were) to be\b",
    "each two": r"\beach (?:two|one more)\b",
}
"""Each sign, and the pattern that finds it."""

PLACES = {
    "package": ("treceval_py/",),
    "pages": (
        "docs/",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "data/README.md",
        "benchmarks/README.md",
        "paper.md",
    ),
    "tests and tools": ("tests/", "benchmarks/", "conformance/", "data/", ".ci/", "setup.py"),
}

# what others wrote, what tools write, and this file, which names the signs
LEFT_OUT = re.compile(r"/vendor/|\.ipynb$|^benchmarks/language\.py$")


def files(commit: str | None) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file that holds prose: those of git's index, or of a commit."""
    wanted = re.compile(r"\.(?:py|pyx|pyi|md)$")
    if commit is None:
        listed = subprocess.run(["git", "ls-files"], cwd=HOME, capture_output=True, text=True, check=True).stdout
        names = [name for name in listed.splitlines() if (HOME / name).is_file() and wanted.search(name)]
        texts = ((name, (HOME / name).read_text("utf-8")) for name in names)
    else:
        packed = subprocess.run(["git", "archive", commit], cwd=HOME, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            members = [member for member in archive if member.isfile() and wanted.search(member.name)]
            texts = iter([(member.name, archive.extractfile(member).read().decode("utf-8")) for member in members])
    return ((name, text) for name, text in texts if not LEFT_OUT.search(name))


def prose(name: str, text: str) -> list[tuple[int, str]]:
    """Return the pieces of a file that people read, each with its line."""
    if name.endswith(".md"):
        return list(enumerate(text.splitlines(), 1))
    if name.endswith(".pyx"):
        return [(number, line) for number, line in enumerate(text.splitlines(), 1) if re.search(r"[#\"']", line)]
    kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    pieces = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            pieces += [(token.start[0] + n, line) for n, line in enumerate(token.string.splitlines())]
    return pieces


def place(name: str) -> str | None:
    """Return where a file is counted: at the longest beginning of its name."""
    fitting = [(len(start), where) for where, starts in PLACES.items() for start in starts if name.startswith(start)]
    return max(fitting)[1] if fitting else None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", help="read the files of a commit, in place of those here")
    parser.add_argument("--show", action="store_true", help="print each line with a sign")
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    for name, text in files(options.commit):
        where = place(name)
        if where is None:
            continue
        for number, line in prose(name, text):
            for sign, pattern in SIGNS.items():
                found = len(re.findall(pattern, line, re.IGNORECASE))
                counts[sign, where] += found
                if found and options.show:
                    print(f"{name}:{number}: [{sign}] {line.strip()}")
    print(f"{'sign':<14}" + "".join(f"{where:>18}" for where in PLACES) + f"{'all':>8}")
    for sign in SIGNS:
        row = [counts[sign, where] for where in PLACES]
        print(f"{sign:<14}" + "".join(f"{count:>18}" for count in row) + f"{sum(row):>8}")


if __name__ == "__main__":
    main()
