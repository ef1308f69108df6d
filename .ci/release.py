"""Check what is about to be released.

``python .ci/release.py v1.2.3`` checks that the tag is the package's version, and that the changelog's first entry is
that version with a date. ``python .ci/release.py --files dist`` checks that the folder has the source distribution and
a wheel for each platform, all of that version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PLATFORMS = (
    r"manylinux[\w.]+_x86_64",
    r"manylinux[\w.]+_aarch64",
    r"musllinux[\w.]+_x86_64",
    r"musllinux[\w.]+_aarch64",
    r"macosx_\d+_\d+_x86_64",
    r"macosx_\d+_\d+_arm64",
    r"win_amd64",
    r"win_arm64",
)
"""What wheels are named after; `[tool.cibuildwheel]` and the runners of release.yml make these."""


def version() -> str:
    """Return the package's version."""
    text = (ROOT / "treceval_py" / "version.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit('treceval_py/version.py: no version. Write __version__ = "1.2.3".')
    return found[1]


def wrong_tag(tag: str, package: str, changelog: str) -> str:
    """Say what keeps a tag from being released; empty where nothing does."""
    if tag != f"v{package}":
        return f"the tag is {tag}, but treceval_py/version.py says {package}. Tag v{package}, or change the version."
    entry = next((line for line in changelog.splitlines() if line.startswith("## ")), "")
    if not re.fullmatch(rf"## {re.escape(package)} \(\d{{4}}-\d\d-\d\d\)", entry):
        return f"CHANGELOG.md: the first entry is '{entry}'. Make it '## {package} (year-month-day)'."
    return ""


def wrong_files(names: list[str], package: str) -> list[str]:
    """Say which files are missing, and which should not be there."""
    wanted = [rf"treceval_py-{re.escape(package)}\.tar\.gz"]
    wanted += [rf"treceval_py-{re.escape(package)}-cp311-abi3-{platform}\.whl" for platform in PLATFORMS]
    missing = [f"missing: {each}" for each in wanted if not any(re.fullmatch(each, name) for name in names)]
    strange = [f"unexpected: {name}" for name in names if not any(re.fullmatch(each, name) for each in wanted)]
    twice = [] if missing or strange or len(names) == len(wanted) else ["two wheels for one platform"]
    return missing + strange + twice


def main() -> None:
    """Check a tag, or the files in a folder."""
    match sys.argv[1:]:
        case ["--files", folder]:
            wrong = wrong_files(sorted(path.name for path in Path(folder).iterdir()), version())
        case [tag]:
            wrong = [wrong_tag(tag, version(), (ROOT / "CHANGELOG.md").read_text("utf-8"))]
        case _:
            raise SystemExit(__doc__)
    if any(wrong):
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
