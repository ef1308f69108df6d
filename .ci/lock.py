"""Write locks/*.txt: the exact versions that tests, documentation and retrieval run in, for every Python and system.

    python .ci/lock.py UV           the newest that setup.cfg allows
    python .ci/lock.py UV --keep    change only what setup.cfg demands

``retrieve`` holds everything; the others are the part of it that they need, so that one environment can grow from
``test`` to ``retrieve`` without a package changing its version.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = {
    "retrieve": ("dev", "docs", "retrieve", "ray", "retrieve-dev"),
    "docs": ("dev", "docs"),
    "test": ("dev",),
}
FOR_GPUS = ("cuda-", "nvidia-", "triton==")
"""What torch brings for GPUs: its build for CPUs, in which the tests run, needs none of it."""

HELD = "torch==2.13.0"
"""Changed by hand: another torch changes the last digits of vectors."""

HEAD = "# Made by make lock from the extras {} of setup.cfg.\n"


def main(uv: str, *, keep: bool) -> None:
    """Compile each lock; the smaller ones have the versions of the whole."""
    whole = ROOT / "locks" / "retrieve.txt"
    for name, extras in EXTRAS.items():
        path = ROOT / "locks" / f"{name}.txt"
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "made.txt"
            if keep and path.exists():
                made.write_bytes(path.read_bytes())  # uv prefers the versions that the output has already
            command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--no-annotate"]
            command += [f"--extra={extra}" for extra in extras]
            command += ["--no-header", "--output-file", str(made), str(ROOT / "setup.cfg")]
            held = Path(folder) / "held.txt"
            held.write_text(HELD + "\n", "utf-8")
            command += ["--constraints", str(held if path == whole else whole)]
            subprocess.run(command, check=True, cwd=ROOT)
            lines = made.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(FOR_GPUS)]
        path.write_text(HEAD.format(", ".join(extras)) + "".join(kept), "utf-8")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if not 1 <= len(arguments) <= 2 or arguments[1:] not in ([], ["--keep"]):
        sys.exit(__doc__)
    main(arguments[0], keep="--keep" in arguments)
