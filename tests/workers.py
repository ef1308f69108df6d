"""Workers for pools that need neither a model nor torch: they double numbers."""

from __future__ import annotations

import itertools
import os
import sys
import time
from typing import NamedTuple

from treceval_py.errors import RunnerError
from treceval_py.retrieval.pool import Places, Processes, Task

ELSEWHERE = "elsewhere"
"""A device for which no process imports torch."""


class Doubles:
    """A worker that doubles numbers and counts each; a number below zero is refused."""

    notes = ("Doubling is easy.",)

    def __init__(self, device: str, seconds: float = 0.0) -> None:
        self.by = {"device": device, "process": os.getpid()}
        self._seconds = seconds

    def prepare(self, content):
        return [*content]

    def work(self, content, advance):
        if min(content) < 0:
            raise RunnerError("a number is below zero", "Give another.")
        for _ in content:
            time.sleep(self._seconds)
            advance(1)
        return [2 * number for number in content]


class Slow(NamedTuple):
    """Makes a worker that takes a while to be made, and for each number."""

    start: float
    seconds: float

    def __call__(self, device: str) -> Doubles:
        time.sleep(self.start)
        return Doubles(device, self.seconds)


def refuses(device: str) -> Doubles:
    """Make no worker."""
    raise RunnerError("doubling is not for this device", "Use another.", file=device)


def dies(device: str) -> Doubles:
    """End the process in which a worker is to be made."""
    os._exit(1)


def main(start: str, seconds: str, pause: str) -> None:
    """Let a process double numbers without end; say when it is started, and when something is done."""
    print("started", flush=True)
    pool = Places(Slow(float(start), float(seconds)), Processes([ELSEWHERE]))
    try:
        for _ in pool.run((Task(number, [1] * 10, 10) for number in itertools.count()), lambda count: None):
            print("done", flush=True)
            time.sleep(float(pause))
    finally:
        pool.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
