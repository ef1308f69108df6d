"""Workers for long tasks: this process on one device, or a process for each of several devices.

A `Maker` makes the worker of a device, such as an encoder. `distributed` adds Ray clusters.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from treceval_py.errors import RunnerError
from treceval_py.retrieval.devices import import_torch
from treceval_py.retrieval.tasks import Advance, Done, Maker, Place, Places, Pool, Task, do

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

GLANCE = 0.5
"""Seconds between checks of the progress of processes."""


def open_pool(maker: Maker, devices: Sequence[str], ray: str | None = None) -> Pool:
    """Make workers.

    Parameters
    ----------
    maker : callable
        Makes the worker of a device.
    devices : sequence of str
        The devices, from `devices.devices_for`; one given twice gets two workers. A cluster has its own.
    ray : str, optional
        The address of a Ray cluster.

    Returns
    -------
    Pool
        The workers; the caller closes it.

    Raises
    ------
    RunnerError
        A worker cannot be made, or there is no such cluster.
    """
    if ray is not None:
        from treceval_py.retrieval.distributed import RayPool

        return RayPool(maker, ray)
    return Here(maker, devices[0]) if len(devices) == 1 else Processes(maker, devices)


class Here:
    """One device, in this process.

    Parameters
    ----------
    maker : callable
        Makes the worker.
    device : str
        The device.
    """

    def __init__(self, maker: Maker, device: str = "cpu") -> None:
        self._worker = maker(device)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users, a sentence or two each."""
        return self._worker.notes

    def run(self, tasks: Iterable[Task], advance: Advance) -> Iterator[Done]:
        """Do tasks, in their order; see `Pool.run`."""
        for task in tasks:
            yield Done(task, do(self._worker, task.content, advance), self._worker.by)

    def close(self) -> None:
        """Do nothing: the worker ends with the pool."""


class Processes(Places):
    """A process for each of several devices; faster ones get more tasks.

    Each process is started afresh and has a pipe of its own: whatever kills one is seen at once as the end of its pipe,
    and whatever kills this process is seen by the others in the same way, so that they end with it.

    Parameters
    ----------
    maker : callable
        Makes a worker in each process.
    devices : sequence of str
        The devices; one given twice gets two processes.

    Raises
    ------
    RunnerError
        A worker cannot be made, or a process ends while it starts.
    """

    def __init__(self, maker: Maker, devices: Sequence[str]) -> None:
        super().__init__()
        try:
            with _interrupts_held_back():
                for number, device in enumerate(devices):
                    self.places[number] = _Process(maker, device, list(devices).count(device))
            self.start()
        except BaseException:
            self.close()
            raise

    def wait(self, futures: list[Any]) -> Iterable[Any]:
        """Wait for processes; see `Places.wait`."""
        return wait(futures, GLANCE, FIRST_COMPLETED).done

    def told(self, idle: bool) -> Iterator[tuple[Task, int]]:  # noqa: ARG002 - looking costs nothing
        """Yield what processes have sent; see `Places.told`."""
        for place in self.places.values():
            with suppress(EOFError, OSError):  # a process that is dead is noticed by its futures
                for task in filter(None, islice(place.tasks.values(), 1)):
                    while place.connection.poll():
                        yield task, place.connection.recv()

    def answer(self, place: _Process, future: Future[Any]) -> Any:
        """Return an answer, or raise what went wrong; see `Places.answer`."""
        try:
            return future.result()
        except BrokenExecutor:
            todo = "What is done is kept: repeat the command to resume. If memory ran out, give a smaller --batch-size."
            raise RunnerError(f"the process that works on {place.device} was killed, or ended", todo) from None

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        ending = [self.places.pop(key) for key in list(self.places)]
        for process in ending:
            process.connection.close()
        for process in ending:
            process.executor.shutdown(cancel_futures=True)


class _Process(Place):
    """A process, and a pipe to it: it ends when the other end is closed, and sends how much more is done."""

    def __init__(self, maker: Maker, device: str, sharing: int) -> None:
        # A fork would take over torch's threads and locks in whatever state they are.
        context = multiprocessing.get_context("spawn")
        self.device = device
        self.connection, theirs = context.Pipe()
        self.executor = ProcessPoolExecutor(1, context, _listen, (theirs,))
        super().__init__(self.executor.submit(_make, maker, device, sharing))
        theirs.close()

    def give(self, task: Task) -> None:
        """Send a task."""
        self.tasks[self.executor.submit(_work, task.content)] = task


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back: processes that are started meanwhile never see it, and it reaches this one at the end."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    # It is started with the first process, and lets Ctrl-C through again when it is.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_HERE: dict[str, Any] = {}
"""In a process of a pool its worker, and the pipe to its parent."""


def _listen(connection: Connection) -> None:
    """Begin a process, and end it with its parent, or when its parent closes the pipe."""

    def end() -> None:
        with suppress(EOFError, OSError):
            connection.recv()
        os._exit(0)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    threading.Thread(target=end, daemon=True).start()
    _HERE["connection"] = connection


def _make(maker: Maker, device: str, sharing: int) -> tuple[str, ...]:
    """Make the worker of a process, one of so many that share a device; return its notes."""
    if device == "cpu":
        torch = import_torch()
        threads = max(1, torch.get_num_threads() // sharing)
        torch.set_num_threads(threads)
        os.environ["RAYON_NUM_THREADS"] = str(threads)  # the tokenizer's, read when it first starts one
    worker = _HERE["worker"] = maker(device)
    return worker.notes


def _work(content: Any) -> tuple[Any, dict[str, object], tuple[str, ...]]:
    """Do a task; return the result, who did it, and notes."""
    worker = _HERE["worker"]
    result = do(worker, content, _HERE["connection"].send)
    return result, worker.by, worker.notes
