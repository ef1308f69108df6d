"""Process an iterator's items in several threads, with the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from itertools import chain, islice
from typing import TypeVar

MOST_THREADS = 256
"""Reading is serial and each thread holds a piece of a file: more threads would only use more memory."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_threads() -> int:
    """Return the number of cores available to this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)


def in_order(
    items: Iterator[Item], work: Callable[[Item], Result], threads: int | None
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` for each item, in the order of the items.

    Parameters
    ----------
    items : iterator
        Items are taken in the calling thread, at most two per thread ahead of the results.
    work : callable
        Called in any thread. Threads pay off only if it releases the interpreter lock. Python does not exit before
        calls that have begun are done, so it should not wait for anything.
    threads : int or None
        Number of threads; None for one per available core. With one thread, or fewer than two items, everything runs
        in the calling thread.

    Raises
    ------
    Exception
        Whatever an item or its work raises, in place of that item's result.
    """
    failures: list[Exception] = []

    def taken() -> Iterator[Item]:
        try:
            yield from items
        except Exception as error:  # noqa: BLE001 - raised after the results of the items before
            failures.append(error)

    threads = available_threads() if threads is None else threads
    rest = taken()
    first = list(islice(rest, 2 if threads > 1 else 1))
    several, rest = len(first) > 1, chain(first, rest)
    del first  # or its items would be kept until the end
    if several:
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(threads)
        try:
            futures = (pool.submit(work, item) for item in rest)
            ahead = deque(islice(futures, 2 * threads))
            while ahead:
                yield ahead.popleft().result()
                ahead.extend(islice(futures, 1))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    else:
        yield from map(work, rest)
    if failures:
        raise failures[0]
