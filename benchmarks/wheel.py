"""Compare the speed of installations of treceval: of a wheel with that of a build in place, or of two compilers.

    python benchmarks/wheel.py PYTHON OTHER [OTHER …] --files QRELS RUN --turns 9

Each PYTHON is the interpreter of an environment. They run in turn, with one thread, on files of any size and on none
(start-up). What counts is the least CPU time of each. A ratio above 1.05 for the files, of OTHER to the first PYTHON,
ends with status 1. Byte code should be compiled in all of them: start-up depends on it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

LARGEST = 1.05


def cpu(command: list[str]) -> tuple[float, bytes]:
    """Return the CPU seconds of a command, and what it prints."""
    # Elsewhere than in the checkout, or `-m` would import that.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd="/")
    output = process.stdout.read() if process.stdout else b""
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, output


def main() -> None:
    """Time and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("pythons", nargs="+", metavar="PYTHON")
    options.add_argument("--files", nargs=2, required=True, metavar=("QRELS", "RUN"))
    options.add_argument("--turns", type=int, default=9)
    given = options.parse_args()
    arguments = {
        "files": ["-q", "--threads", "1", *map(os.path.abspath, given.files)],
        "start-up": ["--version"],
    }
    too_slow = False
    for name, more in arguments.items():
        least, printed = dict.fromkeys(given.pythons, float("inf")), {}
        for _ in range(given.turns):
            for python in given.pythons:
                seconds, output = cpu([os.path.abspath(python), "-m", "treceval_py", *more])
                least[python] = min(least[python], seconds)
                printed[python] = output
        if len(set(printed.values())) > 1:
            raise SystemExit(f"{name}: they do not print the same")
        for python, seconds in least.items():
            ratio = seconds / least[given.pythons[0]]
            too_slow |= name == "files" and ratio > LARGEST
            print(f"{name:<9} {seconds:7.3f} s  {ratio:5.2f}  {python}")
    sys.exit(too_slow)


if __name__ == "__main__":
    main()
