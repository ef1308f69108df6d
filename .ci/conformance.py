"""Run the conformance check for both versions of trec_eval: the listed deviations fail, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
COMMAND = str(Path(sys.executable).parent / "treceval")


def failing(check: str, version: str) -> dict[str, str]:
    """Return the cases that fail against a version of trec_eval, with the reason."""
    command = [COMMAND] if version == "10" else [COMMAND, "--profile", "trec_eval-9"]
    done = subprocess.run(
        [sys.executable, check, "--against", version, *command], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    if not lines or not lines[-1].startswith("match "):
        sys.exit(f"the conformance check did not run: {done.stderr}")
    print(f"trec_eval {version}: {lines[-1]}")
    return {match[1]: line for line in lines if (match := re.match(r"(\S+) \[\w+\]: ", line))}


def main() -> int:
    """Compare what fails with what is listed; return the exit status."""
    listed = json.loads((HOME / "tests" / "deviations.json").read_text("utf-8"))
    status = 0
    for version, deviations in listed.items():
        found = failing(sys.argv[1], version)
        for name in found.keys() - deviations.keys():
            print(f"fails: {found[name]}")
            status = 1
        for name in deviations.keys() - found.keys():
            print(f"is listed as a deviation and holds: {name}")
            status = 1
        print(f"trec_eval {version}: {len(found.keys() & deviations.keys())} listed deviations (tests/deviations.json)")
    return status


if __name__ == "__main__":
    sys.exit(main())
