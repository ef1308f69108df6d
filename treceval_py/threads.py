"""Process an iterator's items in several threads, with the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

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
    threads = available_threads() if threads is None else threads
    pool: Any = None
    ahead: deque[Callable[[], Result]] = deque()
    failure: Exception | None = None
    try:
        while True:
            while failure is None and len(ahead) < (2 * threads if threads > 1 else 1):
                try:
                    item = next(items)
                except Exception as error:  # noqa: BLE001 - raised after the results of the items before
                    failure = error
                    break
                ahead.append(partial(work, item))
                del item  # or it would be kept until the end
                if len(ahead) > 1 or pool is not None:
                    with suppress(RuntimeError):  # Python is about to exit, and the calling thread does it all
                        from concurrent.futures import ThreadPoolExecutor

                        if pool is None:
                            pool = ThreadPoolExecutor(threads)
                            ahead[0] = pool.submit(ahead[0]).result
                        ahead[-1] = pool.submit(ahead[-1]).result
            if not ahead:
                break
            yield ahead.popleft()()
        if failure is not None and not isinstance(failure, StopIteration):
            raise failure
    finally:
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
