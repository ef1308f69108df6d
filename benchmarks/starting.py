"""Count the instructions of a small run, from start to end, beside those of importing NumPy and click alone.

Usage: python starting.py [--markdown]

Needs valgrind. Byte code is warm, hashes have a fixed seed, and OpenBLAS one thread, as threads that wait count too.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from taking_turns import Table

VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")


def instructions(*command: str) -> int:
    """Return the instructions of a command, in its second run, so that byte code is there."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, env=environment, check=True, capture_output=True)
    done = subprocess.run([*VALGRIND, *command], env=environment, check=True, capture_output=True)
    counted = re.search(rb"I\s+refs:\s+([\d,]+)", done.stderr)
    if counted is None:
        sys.exit(f"valgrind counted nothing: {done.stderr.decode()}")
    return int(counted[1].replace(b",", b""))


def main() -> None:
    """Read the command line, count, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print a table for GitHub")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = Path(folder, "qrels"), Path(folder, "run")
        qrels.write_text("1 0 a 1\n1 0 b 0\n2 0 c 2\n", "utf-8")
        run.write_text("1 Q0 b 1 0.9 t\n1 Q0 a 2 0.5 t\n2 Q0 x 1 2.0 t\n2 Q0 c 2 1.0 t\n", "utf-8")
        program = str(Path(sys.executable).with_name("treceval"))
        imports = instructions(sys.executable, "-c", "import numpy, click")
        ways = {"--help": ["--help"], "-m map qrels run": ["-m", "map", str(qrels), str(run)]}
        counts = {name: instructions(program, *arguments) for name, arguments in ways.items()}
    counts = {"import numpy, click": imports, **{f"treceval {name}": count for name, count in counts.items()}}
    rows = [(name, f"{count / 1e6:.0f} million", f"{count / imports:.3f}") for name, count in counts.items()]
    table = Table("Start-up", ("", "instructions", "ratio"), rows)
    print(table.markdown() if options.markdown else table.plain())


if __name__ == "__main__":
    main()
