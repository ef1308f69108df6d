"""Work on the items of an iterator with several threads, and have the results in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Generic, TypeVar

__all__ = ["MOST_THREADS", "available_threads", "in_order"]

MOST_THREADS = 256
"""Each holds a piece of a file, and one after the other reads: many more would only need memory."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_threads() -> int:
    """Return the number of cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_THREADS)


class _Nothing:
    """Stands for an item that is not there."""


_NOTHING = _Nothing()


def in_order(
    items: Iterator[Item], work: Callable[[Item], Result], threads: int | None
) -> Generator[Result, None, None]:
    """Yield ``work(item)`` for each item, in the order of the items.

    Parameters
    ----------
    items : iterator
        One thread at a time takes an item from it. No more than two a thread are taken before their turn.
    work : callable
        Runs in any thread, so it is worth it where it releases the interpreter.
    threads : int or None
        How many threads work; None for one for each core of this process. With one, or where there are no two items,
        none is started.

    Raises
    ------
    Exception
        Whatever an item or its work raises, when its turn comes.
    """
    if threads is None:
        threads = available_threads()
    if threads < 2:
        yield from map(work, items)
        return
    first = next(items, _NOTHING)
    if isinstance(first, _Nothing):
        return
    # Only now, so that what is wrong with the second item does not come before the result of the first.
    second: Item | _Nothing | Exception
    try:
        second = next(items, _NOTHING)
    except Exception as error:  # noqa: BLE001 - it is raised when its turn comes
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
    """Threads that work on items, and the results that wait for their turn."""

    def __init__(self, head: list[Item], items: Iterator[Item], work: Callable[[Item], Result], threads: int) -> None:
        self._head = head
        self._items = items
        self._work = work
        self._taking = threading.Lock()
        self._ready = threading.Condition()
        self._threads = threads
        self._room = threading.Semaphore(2 * threads)
        self._taken = 0
        self._last: int | None = None  # how many items there are, once that is known
        self._done: dict[int, tuple[Result | None, BaseException | None]] = {}
        for _ in range(threads):
            # Nothing waits for them when the program ends: one may be reading from a pipe that nobody writes to.
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
        """Let the threads end after the item that they have."""
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
                except BaseException as error:  # noqa: BLE001 - it is raised when its turn comes
                    self._put(number, None, error)
                    self._end(number + 1)
                    return
                self._taken += 1
            try:
                self._put(number, self._work(item), None)
            except BaseException as error:  # noqa: BLE001 - it is raised when its turn comes
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
