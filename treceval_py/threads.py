"""Process an iterator's items in several threads, with the results in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

MOST_THREADS = 256
"""Reading is serial and each thread holds a piece of a file: more threads would only use more memory."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_threads() -> int:
    """Return the number of cores available to this process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)


class _Nothing:
    """Marks a missing item."""


_NOTHING = _Nothing()


def in_order(
    items: Iterator[Item], work: Callable[[Item], Result], threads: int | None
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` for each item, in the order of the items.

    Parameters
    ----------
    items : iterator
        Items are taken by one thread at a time, and at most two per thread ahead of the results.
    work : callable
        Called in any thread. Threads pay off only if it releases the interpreter lock.
    threads : int or None
        Number of threads; None for one per available core. With one thread, or fewer than two items, everything runs
        in the calling thread.

    Raises
    ------
    Exception
        Whatever an item or its work raises, in place of that item's result.
    """
    if threads is None:
        threads = available_threads()
    if threads < 2:
        yield from map(work, items)
        return
    first = next(items, _NOTHING)
    if isinstance(first, _Nothing):
        return
    # Fetched only now, so that an error in the second item does not precede the result of the first.
    second: Item | _Nothing | Exception
    try:
        second = next(items, _NOTHING)
    except Exception as error:  # noqa: BLE001 - raised when its turn comes
        second = error
    if isinstance(second, (_Nothing, Exception)):
        yield work(first)
        if isinstance(second, Exception):
            raise second
        return
    crew = _Crew([first, second], items, work, threads)
    try:
        yield from crew.results()
    finally:
        crew.dismiss()


class _Crew(Generic[Item, Result]):
    """Threads that process items, and the results that wait for their turn."""

    def __init__(self, head: list[Item], items: Iterator[Item], work: Callable[[Item], Result], threads: int) -> None:
        self._head = head
        self._items = items
        self._work = work
        self._taking = threading.Lock()
        self._ready = threading.Condition()
        self._threads = threads
        self._room = threading.Semaphore(2 * threads)
        self._taken = 0
        self._last: int | None = None  # number of items, once known
        self._done: dict[int, tuple[Result | None, BaseException | None]] = {}
        for _ in range(threads):
            # Daemons: the program must not wait for a thread that reads from a pipe nobody writes to.
            threading.Thread(target=self._labour, daemon=True).start()

    def results(self) -> Iterator[Result]:
        """Yield the results in order."""
        turn = 0
        while True:
            with self._ready:
                while turn not in self._done and turn != self._last:
                    self._ready.wait()
                if turn not in self._done:
                    return
                result, error = self._done.pop(turn)
            if error is not None:
                raise error
            yield result  # type: ignore[misc]
            self._room.release()
            turn += 1

    def dismiss(self) -> None:
        """Let each thread end after its current item."""
        with self._ready:
            self._last = self._taken if self._last is None else self._last
        self._room.release(self._threads)

    def _labour(self) -> None:
        while True:
            self._room.acquire()
            with self._taking:
                if self._last is not None:
                    return
                number = self._taken
                try:
                    item = self._head.pop(0) if self._head else next(self._items)
                except StopIteration:
                    self._end(number)
                    return
                except BaseException as error:  # noqa: BLE001 - raised when its turn comes
                    self._put(number, None, error)
                    self._end(number + 1)
                    return
                self._taken += 1
            try:
                self._put(number, self._work(item), None)
            except BaseException as error:  # noqa: BLE001 - raised when its turn comes
                self._put(number, None, error)

    def _put(self, number: int, result: Result | None, error: BaseException | None) -> None:
        with self._ready:
            self._done[number] = result, error
            self._ready.notify()

    def _end(self, count: int) -> None:
        with self._ready:
            self._last = count
            self._ready.notify()
        self._room.release()  # so that the next thread sees it
