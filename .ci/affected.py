"""Choose the slow tests that a change needs: of the packages that it touches and of those that depend on them.

    python .ci/affected.py          print files of tests, or nothing; say on standard error which and why
    python .ci/affected.py BASE     what changed since that commit

Without BASE, what changed since the commit in .ci/everything.txt, at which all tests last passed. Who depends on whom
is in the table of layers; a test file belongs to the package after which it is named. What belongs to no package
(data, conftest, styles, scripts, requirements) may change anything, so all slow tests run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from layers import ALLOWED

ROOT = Path(__file__).resolve().parent.parent
GREEN = ".ci/everything.txt"

ALL = "*"

WITHOUT_TESTS = (GREEN, ".ci/mutants", ".gitignore", "benchmarks/", "SECURITY.md", "CITATION.cff", "paper.")
"""What no slow test reads."""

OF_PROJECT = (".github/", "docs/", "conda/", "gate/", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "action.yml")
"""What only the tests of the project as a whole read, which are named test_project_*."""


def dependents(package: str) -> set[str]:
    """Return a package and all that may import it."""
    return {package, *(name for name, allowed in ALLOWED.items() if package in allowed)}


def touched(path: str) -> str:
    """Return what a changed file concerns: a package, a file of tests, ``project``, ``ALL``, or ``""`` for nothing."""
    parts = Path(path).parts
    if path.startswith(WITHOUT_TESTS):
        return ""
    if path.startswith(OF_PROJECT):
        return "project"
    if parts[0] == "tests" and parts[-1].startswith("test_"):
        return f"tests/{Path(parts[-1]).stem}.py"
    if parts[0] == "treceval_py" and path.endswith((".py", ".pyi", ".pyx")):
        package = parts[1] if len(parts) > 2 else Path(parts[1]).stem
        return package if package in ALLOWED else ALL
    return ALL


def chosen(changed: Iterable[str], tests: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the files of tests to run, of all there are, and why: what is concerned, and by which changed files."""
    why: dict[str, list[str]] = {}
    for path in sorted(changed):
        why.setdefault(touched(path), []).append(path)
    why.pop("", None)
    if ALL in why:
        return sorted(tests), {ALL: why[ALL]}
    packages: set[str] = set()
    for concerned in why:
        packages |= dependents(concerned) if concerned in ALLOWED else {concerned}
    if any(concerned in ALLOWED for concerned in why):
        packages.add("project")  # its pages and pictures show what the package prints
    return sorted(test for test in tests if test in packages or package_of(test) in packages), why


def package_of(test: str) -> str:
    """Return the package that a file of tests is named after, the longest if two would fit; or ``project``."""
    topic = Path(test).stem.removeprefix("test_")
    names = [name for name in (*ALLOWED, "project") if f"{topic}_".startswith(f"{name.strip('_')}_")]
    return max(names, key=len, default="")


def git(*arguments: str) -> list[str] | None:
    """Return the lines that git prints; None where it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def main(arguments: Sequence[str]) -> None:
    """Print the files, and on standard error the reasons."""
    tests = sorted(f"tests/{path.name}" for path in (ROOT / "tests").glob("test_*.py"))
    green = ROOT / GREEN
    named = arguments or (green.read_text("utf-8").split() if green.exists() else [])
    base = named[0] if named else ""
    changed = git("diff", "--name-only", base) if base else None
    if changed is None:
        reason = f"{base!r} is no commit here" if arguments else f"{GREEN} names no commit"
        print(f"slow tests: all of them, as {reason}", file=sys.stderr)
        print("\n".join(tests))
        return
    files, why = chosen(changed, tests)
    print(f"slow tests: {len(files)} of {len(tests)} files, by what changed since {base[:12]}:", file=sys.stderr)
    for concerned, paths in sorted(why.items()):
        if concerned in tests:
            continue
        rest = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        print(f"    {'everything' if concerned == ALL else concerned}: {', '.join(paths[:3])}{rest}", file=sys.stderr)
    if own := [concerned for concerned in why if concerned in tests]:
        print(f"    {len(own)} files of tests that changed themselves", file=sys.stderr)
    print("\n".join(files))


if __name__ == "__main__":
    main(sys.argv[1:])
