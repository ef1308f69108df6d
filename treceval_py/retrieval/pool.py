"""Workers on devices that share tasks: one in this process, processes of this machine, or actors of a Ray cluster.

`Places` is what processes and actors have in common. It knows which task is where, whatever the transport: a task whose
worker is lost goes to another, and a run ends when all tasks were read and answered, or with an error.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import chain
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NamedTuple, Protocol, TypeAlias

from treceval_py.corpora.reporting import Reporter
from treceval_py.errors import RunnerError, TrecevalError
from treceval_py.retrieval.devices import import_torch
from treceval_py.retrieval.hub import check_packages, first_line

WAITING = 2
"""Tasks that a worker holds at once: the current one and the next. More would only take memory."""

TAKES = 4
"""Number of workers that may be lost at the same task, or while they start in the same slot, before it is given up."""

PATIENCE = 30.0
"""Seconds that there may be no slot for a worker; Ray notices a dead node after some 16."""

GLANCE = 1.0
"""Seconds between checks of which nodes are alive."""

RESUME = "What is finished is kept: repeat the command to resume."

START = -1
"""Number of the first task of each worker elsewhere: to be made."""

Advance: TypeAlias = Callable[[int], None]


class Worker(Protocol):
    """A worker on one device, which keeps nothing of a task.

    Attributes
    ----------
    notes : tuple of str
        Notes for users, a sentence or two each.
    """

    notes: tuple[str, ...]

    @property
    def by(self) -> dict[str, object]:
        """Description of the worker, as plain JSON: device, batch size, host, versions."""

    def prepare(self, content: Any) -> Any:
        """Prepare a task; called in another thread while the worker is at the task before."""

    def work(self, prepared: Any, advance: Advance) -> Any:
        """Do a prepared task, and report how much of its size is done."""


Maker: TypeAlias = Callable[[str], Worker]
"""Makes the worker of a device (``cpu``, ``cuda:0``); it is pickled if other processes do the work."""


class Task(NamedTuple):
    """A piece of work.

    Attributes
    ----------
    number : int
        Its number from 0, which no other task of the same call has.
    content : object
        Input of the worker; it is pickled if other processes do the work.
    size : int
        Its number of units in the progress, such as texts.
    """

    number: int
    content: Any
    size: int


class Done(NamedTuple):
    """A task that is done.

    Attributes
    ----------
    task : Task
        The task.
    result : object
        What the worker returned.
    by : dict
        The worker's `Worker.by`.
    """

    task: Task
    result: Any
    by: dict[str, object]


@contextmanager
def loaded(maker: Maker, devices: Sequence[str], ray: str | None, stage: str, reporter: Reporter) -> Iterator[Pool]:
    """Hold workers, and report as a stage that they are made.

    Parameters
    ----------
    maker, devices, ray
        As of `open_pool`.
    stage : str
        The name of the stage, such as ``"load the model"``.
    reporter : Reporter
        Receives progress.

    Yields
    ------
    Pool
        The workers; they end with the block.

    Raises
    ------
    RunnerError
        As of `open_pool`.
    """
    reporter.begin(stage, None, "cluster" if ray is not None else "device" if len(devices) == 1 else "devices")
    with closing(open_pool(maker, devices, ray)) as pool:
        reporter.advance(len(devices) or 1)
        reporter.end()
        yield pool


def open_pool(maker: Maker, devices: Sequence[str], ray: str | None = None) -> Pool:
    """Make workers.

    Parameters
    ----------
    maker : callable
        Makes the worker of a device.
    devices : sequence of str
        The devices, from `devices.devices_for`; one given twice gets two workers. A cluster has its own.
    ray : str, optional
        The address of a Ray cluster, as of `connected`. Nodes that join later get workers too.

    Returns
    -------
    Pool
        The workers; the caller closes it.

    Raises
    ------
    RunnerError
        A worker cannot be made, there is no device, or there is no such cluster.
    """
    if ray is not None:
        return Places(maker, Actors(ray))
    if not devices:
        raise RunnerError("there is no device to work on", "Name one, such as cpu.")
    return Here(maker, devices[0]) if len(devices) == 1 else Places(maker, Processes(devices))


class Here:
    """One device, in this process; tasks are read and prepared in a thread, one ahead.

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
        """Do tasks, in their order; see `Places.run`."""
        source = ((task, self._worker.prepare(task.content)) for task in tasks)
        with ThreadPoolExecutor(1) as thread:
            ahead = thread.submit(next, source, None)
            while (following := ahead.result()) is not None:
                ahead = thread.submit(next, source, None)
                task, prepared = following
                yield Done(task, self._worker.work(prepared, advance), self._worker.by)

    def close(self) -> None:
        """Do nothing: the worker ends with the pool."""


# Workers elsewhere, whatever the transport


class Slot(NamedTuple):
    """Where a worker can be: the name for users, the worker's device, and what else identifies it."""

    name: str
    device: str
    key: Any


class Places:
    """Workers elsewhere that share tasks. The constructor returns when the first worker is made.

    Parameters
    ----------
    maker : callable
        Makes the worker of a device; it is pickled.
    transport : Processes or Actors
        Starts processes with a `_Far` in each; it is closed with the pool.

    Attributes
    ----------
    notes : tuple of str
        Notes for users, a sentence or two each.

    Raises
    ------
    RunnerError
        No worker can be made.
    """

    def __init__(self, maker: Maker, transport: Processes | Actors) -> None:
        self.notes: tuple[str, ...] = ()
        self._maker, self._transport = maker, transport
        self._tasks: dict[Slot, dict[int, Task]] = {}  # of each process, the current one first
        self._seen = time.monotonic()
        list(self.run((), lambda _: None))  # ends when somebody is there to ask for a task

    def run(self, tasks: Iterable[Task], advance: Advance) -> Iterator[Done]:
        """Do tasks, each by whoever is free; they come back in any order. Who stops before the last closes the pool.

        Parameters
        ----------
        tasks : iterable of Task
            The tasks; read as they are needed, perhaps in another thread.
        advance : callable
            Called with the number of units that were done since the last call: elsewhere, those of a whole task.

        Yields
        ------
        Done
            Each task with its result.

        Raises
        ------
        RunnerError
            A worker fails, several are killed at the same task, or no node is left.
        """
        self._source, self._read, self._advance = iter(tasks), False, advance
        self._deaths = Counter[Any]()
        try:
            # Once all is done, it does not matter who is alive.
            while self._unfinished() and self._feed():
                for event in self._transport.events():
                    if (done := self._take(*event)) is not None:
                        yield done
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Release the devices; nothing is left running."""
        while self._tasks:
            self._transport.end(self._tasks.popitem()[0])
        self._transport.close()

    def _unfinished(self) -> bool:
        """Return whether tasks may be left to read, or are without an answer."""
        return not self._read or any(tasks.keys() - {START} for tasks in self._tasks.values())

    def _feed(self) -> bool:
        """Distribute tasks, one to each worker before any gets a second; return whether any are unfinished."""
        self._look()
        for room in range(WAITING):
            for slot, tasks in self._tasks.items():
                if len(tasks) == room and START not in tasks:
                    task = next(self._source, None)
                    self._read = task is None
                    if task is not None:
                        self._give(slot, task)
        return self._unfinished()

    def _look(self) -> None:
        """Drop processes whose slots are gone, and start some in free slots."""
        slots = list(self._transport.slots)
        for slot in [slot for slot in self._tasks if slot not in slots]:
            self._lose(slot)
        for slot in slots:
            if slot not in self._tasks:
                self._tasks[slot] = {}
                self._transport.start(slot)
                self._give(slot, Task(START, partial(self._maker, slot.device), 0))
        if slots:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen >= PATIENCE:
            raise RunnerError("the Ray cluster has no node left that could work", RESUME)

    def _give(self, slot: Slot, task: Task) -> None:
        self._tasks[slot][task.number] = task
        self._transport.give(slot, task.number, task.content)

    def _take(self, slot: Slot, number: int, value: Any) -> Done | None:
        """Note an event; return a task if it is done."""
        if isinstance(value, Exception):
            raise value
        if value is None:
            self._lose(slot)
            return None
        task, (result, by, notes) = self._tasks[slot].pop(number), value
        self.notes = tuple(dict.fromkeys((*self.notes, *notes)))
        if number == START:
            del self._deaths[slot]
            return None
        self._advance(task.size)
        return Done(task, result, by)

    def _lose(self, slot: Slot) -> None:
        """Let others do the tasks of a process; give up what has cost several."""
        tasks = self._tasks.pop(slot)
        self._transport.end(slot)
        starts = tasks.pop(START, None) is not None
        if tasks:
            self._source, self._read = chain(tasks.values(), self._source), False
        self._deaths.update([slot] if starts else [*tasks][:1])
        if TAKES in self._deaths.values():
            at = "while they started" if starts else "at the same task"
            failure = f"{TAKES} processes died {at}, the last one on {slot.name}"
            raise RunnerError(failure, "They may need more memory: give a smaller --batch-size.")


Pool: TypeAlias = Here | Places
"""Workers that share tasks."""


class _Far:
    """A worker in another process: one thread prepares tasks, another does them.

    The answer to a task is its number with ``(result, by, notes)``, or with an error.
    """

    def __init__(self, reply: Callable[[tuple[int, Any]], Any] = lambda answer: answer) -> None:
        self._reply = reply
        self._ahead, self._at_work = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def do(self, number: int, content: Any) -> Any:
        """Do a task, of which the first makes the worker; return the answer."""
        return self.take(number, content).result()

    def take(self, number: int, content: Any) -> Future[Any]:
        """Let the threads do this."""
        ahead = None if number == START else self._ahead.submit(self._worker.prepare, content)
        return self._at_work.submit(self._do, number, content, ahead)

    def _do(self, number: int, content: Any, ahead: Future[Any] | None) -> Any:
        result = None
        try:
            if ahead is None:
                self._worker: Any = content()
            else:
                result = self._worker.work(ahead.result(), lambda _: None)
            return self._reply((number, (result, self._worker.by, self._worker.notes)))
        except (TrecevalError, MemoryError) as error:
            return self._reply((number, error))
        except (Exception, SystemExit):  # noqa: BLE001 - a bug, of which the traceback cannot travel
            return self._reply((number, RuntimeError(f"a worker failed\n{traceback.format_exc()}")))


# Processes of this machine


class Processes:
    """A process for each of several devices: a transport.

    Each process is started afresh and has a pipe of its own: whatever kills one is seen at once as the end of its pipe,
    and whatever kills this process is seen by the others in the same way, so that they end with it.

    Parameters
    ----------
    devices : sequence of str
        The devices; one given twice gets two processes.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        self.slots = [Slot(device, device, number) for number, device in enumerate(devices)]
        self._processes: dict[Slot, tuple[Any, Connection]] = {}

    def start(self, slot: Slot) -> None:
        """Begin to start the process of a slot that has none."""
        ours, theirs = Pipe()
        sharing = sum(other.device == slot.device for other in self.slots)
        # A fork would take over torch's threads and locks in whatever state they are.
        process = get_context("spawn").Process(target=_serve, args=(theirs, slot.device, sharing), daemon=True)
        with ExitStack() as held_back:
            if hasattr(signal, "pthread_sigmask"):  # the process never sees Ctrl-C, which reaches this one at the end
                # It is started with the first process, and lets Ctrl-C through again when it is.
                resource_tracker.ensure_running()
                before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                held_back.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
            process.start()
        theirs.close()
        self._processes[slot] = process, ours

    def give(self, slot: Slot, number: int, content: Any) -> None:
        """Send a process a task; whether it is still there, an event shows."""
        with suppress(OSError):
            self._processes[slot][1].send((number, content))

    def events(self) -> Iterable[tuple[Slot, int, Any]]:
        """Wait for answers, and yield them with their slots; with None in place of one, a process is dead."""
        slots = {connection: slot for slot, (_, connection) in self._processes.items()}
        for connection in slots.keys() & wait(list(slots)):
            try:
                yield slots[connection], *connection.recv()
            except (EOFError, OSError):
                yield slots[connection], START, None

    def end(self, slot: Slot) -> None:
        """End the process of a slot, which may be dead, whatever it is doing; no more is heard of it."""
        process, connection = self._processes.pop(slot)
        connection.close()
        process.kill()
        process.join()

    def close(self) -> None:
        """Release what is left when all processes were ended."""


def _serve(connection: Connection, device: str, sharing: int) -> None:
    """Work in a process, one of so many that share a device, until the parent ends or closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    if device == "cpu":
        torch = import_torch()
        torch.set_num_threads(max(1, torch.get_num_threads() // sharing))
    far = _Far(connection.send)
    try:
        while True:
            far.take(*connection.recv())
    except (EOFError, OSError):
        os._exit(0)  # whatever the threads are doing


# Ray


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Hold a connection with a Ray cluster; an existing one is used, whatever the address, and stays open.

    Parameters
    ----------
    address : str
        ``local`` starts Ray on this machine; ``auto`` is the cluster that it belongs to; else ``HOST:PORT`` of one.

    Yields
    ------
    module
        The package ray.

    Raises
    ------
    RunnerError
        The package is missing, or there is no such cluster.
    """
    # Ray reads them when it is imported. Users did not ask for statistics to be sent anywhere, and errors of a cluster
    # are reported here, not by Ray's own lines on standard output.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    check_packages("ray")
    import ray  # type: ignore[import-untyped,import-not-found,unused-ignore]

    with ExitStack() as stack:
        if not ray.is_initialized():
            # `auto` may be answered by the variable, as Ray does.
            host, colon, port = (os.environ.get("RAY_ADDRESS", "") if address == "auto" else address).rpartition(":")
            options: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
            try:
                if colon:  # where nobody listens, Ray would try for minutes
                    socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
                ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
            except Exception as error:
                unreachable = f"no Ray cluster at {address}: {first_line(error)}"
                todo = "Start one with `ray start --head` and give its HOST:PORT, or use local."
                raise RunnerError(unreachable, todo) from error
            stack.callback(ray.shutdown)
        yield ray


class Actors:
    """An actor for each device of a Ray cluster, bound to its node: a transport. Results cannot be written to.

    Texts and vectors travel: only this process reads the collection and writes shards, and the nodes need the package
    and the model. An actor that dies is made again while its node answers; Ray calls a node alive for some 16 s after
    its death.

    Parameters
    ----------
    address : str
        As of `connected`.
    gpus : bool
        Whether there is a worker for each GPU if the cluster has any; otherwise one for the cores of each node.

    Raises
    ------
    RunnerError
        There is no cluster.
    """

    def __init__(self, address: str = "auto", *, gpus: bool = True) -> None:
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(connected(address))
        self._gpus = gpus and self._ray.cluster_resources().get("GPU", 0) > 0
        self._suspects: set[str] = set()
        self._handles: dict[Slot, Any] = {}
        self._coming: dict[Any, Slot] = {}

    @property
    def slots(self) -> Iterable[Slot]:
        """The slots of nodes that are alive, with their cores."""
        device = "cuda:0" if self._gpus else "cpu"  # a process is shown the GPU that it was given and no other
        for node in [node for node in self._ray.nodes() if node["Alive"]]:
            with suppress(OSError):  # a node that lost a worker counts while it can be reached
                if node["NodeID"] in self._suspects:
                    socket.create_connection((node["NodeManagerAddress"], node["NodeManagerPort"]), GLANCE).close()
                cores, gpus = (int(node["Resources"].get(kind, 0)) for kind in ("CPU", "GPU"))
                count = min(gpus if self._gpus else 1, cores)
                for number in range(count):
                    yield Slot(node["NodeManagerHostname"], device, (node["NodeID"], number, cores // count))

    def start(self, slot: Slot) -> None:
        """Create an actor."""
        node, _, cores = slot.key
        bound = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        # Unless asked, Ray neither restarts an actor nor repeats its tasks.
        options = {"num_cpus": cores, "num_gpus": int(self._gpus), "max_concurrency": WAITING}
        self._handles[slot] = self._ray.remote(scheduling_strategy=bound, **options)(_Far).remote()

    def give(self, slot: Slot, number: int, content: Any) -> None:
        """Send an actor a task."""
        self._coming[self._handles[slot].do.remote(number, content)] = slot

    def events(self) -> Iterable[tuple[Slot, int, Any]]:
        """Wait a while for answers, and yield them with their slots; with None in place of one, an actor is lost."""
        if not self._coming:
            time.sleep(GLANCE)
        for reference in self._ray.wait(list(self._coming), timeout=GLANCE)[0]:
            slot = self._coming.pop(reference)
            try:
                yield slot, *self._ray.get(reference)
            except self._ray.exceptions.RayTaskError as error:
                raise RuntimeError(f"a worker failed\n{error}") from None
            except self._ray.exceptions.RayError:
                self._suspects.add(slot.key[0])
                yield slot, START, None

    def end(self, slot: Slot) -> None:
        """Kill an actor, which may be dead."""
        self._ray.kill(self._handles.pop(slot))
        self._coming = {reference: other for reference, other in self._coming.items() if other != slot}

    def close(self) -> None:
        """End the connection with the cluster if it was made here."""
        self._stack.close()
