"""Workers on devices that share tasks: one in this process, processes of this machine, or actors of a Ray cluster.

`Places` is what processes and actors have in common. It knows which task is where, whatever the transport: a task whose
worker is lost goes to another, and a run ends when all tasks were read and answered, or with an error.
"""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from treceval_py.errors import RunnerError, TrecevalError
from treceval_py.retrieval.devices import import_torch
from treceval_py.retrieval.hub import INSTALL_RAY, first_line

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


WAITING = 2
"""Tasks that a worker holds at once: the current one and the next. More would only take memory."""

TAKES = 4
"""Number of workers that may be lost at the same task, or while they start in the same slot, before it is given up."""

PATIENCE = 30.0
"""Seconds that there may be no slot for a worker; Ray notices a dead node after some 16."""

GLANCE = 1.0
"""Seconds between checks of the progress of tasks and of which nodes are alive."""

GATHER = -1
"""Number of the task of giving back what a worker kept."""

Advance: TypeAlias = Callable[[int], None]


class Worker(Protocol):
    """A worker on one device; one that keeps results also has ``give_back()``, which returns and forgets them."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users, a sentence or two each."""

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


class Pool(Protocol):
    """Workers that share tasks."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for users, a sentence or two each."""

    def run(self, tasks: Iterable[Task], advance: Advance) -> Iterator[Done]:
        """Do tasks; they come back in any order.

        Parameters
        ----------
        tasks : iterable of Task
            The tasks; read as they are needed, perhaps in another thread.
        advance : callable
            Called with the number of units that were done since the last call.

        Yields
        ------
        Done
            Each task with its result.

        Raises
        ------
        RunnerError
            A device fails, its process is killed, or no worker is left.
        """

    def close(self) -> None:
        """Release the devices; nothing is left running."""


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
        A worker cannot be made, or there is no such cluster.
    """
    if ray is not None:
        return Places(Actors(maker, ray))
    return Here(maker, devices[0]) if len(devices) == 1 else Places(Processes(maker, devices))


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
        """Do tasks, in their order; see `Pool.run`."""
        worker, source = self._worker, iter(tasks)

        def read() -> tuple[Task, Any] | None:
            task = next(source, None)
            return None if task is None else (task, worker.prepare(task.content))

        with ThreadPoolExecutor(1) as thread:
            ahead = thread.submit(read)
            while (following := ahead.result()) is not None:
                ahead = thread.submit(read)
                task, prepared = following
                yield Done(task, worker.work(prepared, advance), worker.by)

    def close(self) -> None:
        """Do nothing: the worker ends with the pool."""


# Workers elsewhere, whatever the transport


class Slot(NamedTuple):
    """Where a worker can be: the name of the device or machine, and what else identifies it."""

    name: str
    key: Any


class Event(NamedTuple):
    """What happened in a slot.

    Attributes
    ----------
    slot : Slot
        The slot.
    kind : str
        The kind of event, which decides what the value is.
    number : int
        The number of the task, if it is about one.
    value : object
        Of ``started``, the worker's notes; of ``progress``, how much of the task is done; of ``answer``, the result,
        the worker's description and its notes; of ``failed``, the error to raise; of ``lost``, nothing.
    """

    slot: Slot
    kind: Literal["started", "progress", "answer", "failed", "lost"]
    number: int = GATHER
    value: Any = None


class Transport(Protocol):
    """Starts workers elsewhere, and exchanges tasks and events with them."""

    def slots(self) -> Iterable[Slot]:
        """Return the slots that can have a worker now."""

    def start(self, slot: Slot) -> None:
        """Begin to make the worker of a slot that has none."""

    def give(self, slot: Slot, number: int, content: Any) -> None:
        """Send a worker a task; whether it is still there, an event shows."""

    def events(self) -> Iterable[Event]:
        """Wait a while, and return what happened; nothing about workers that were ended."""

    def end(self, slot: Slot) -> None:
        """End the worker of a slot, which may be dead."""

    def close(self) -> None:
        """End all workers, whatever they are doing."""


class _Work:
    """The tasks of a run that are at no place, and the progress of all."""

    def __init__(self, tasks: Iterable[Task], advance: Advance, again: Again | None) -> None:
        self.back: list[Task] = []
        self.lost: set[int] = set()
        self.again = again
        self._source = iter(tasks)
        self._read = False
        self._advance = advance
        self._done: Counter[int] = Counter()
        self._takes: Counter[int] = Counter()

    @property
    def over(self) -> bool:
        """Say whether all tasks were given to a place."""
        return self._read and not self.back and not self.lost

    def next(self) -> Task | None:
        """Return a task that is to be done."""
        if self.back:
            return self.back.pop()
        if self._read and self.lost and self.again is not None:
            self._source, self.lost = iter(self.again(self.lost)), set()
        task = next(self._source, None)
        self._read = task is None
        return task

    def count(self, task: Task, done: int) -> None:
        """Report the progress of a task, which may be done a second time."""
        if (more := min(done, task.size) - self._done[task.number]) > 0:
            self._done[task.number] += more
            self._advance(more)

    def blame(self, slot: Slot, numbers: Iterable[int]) -> None:
        """Give up a task at which too many workers were lost."""
        self._takes.update(numbers)
        if max(self._takes.values(), default=0) >= TAKES:
            failure = f"{TAKES} processes died at the same task, the last one on {slot.name}"
            raise RunnerError(failure, "It may need more memory: give a smaller --batch-size.")


Again: TypeAlias = Callable[[Collection[int]], Iterable[Task]]
"""Returns the tasks with some numbers again."""


class _Place:
    """A worker elsewhere: whether it is made, its tasks in order, and the numbers of those whose results it keeps."""

    def __init__(self) -> None:
        self.started = False
        self.tasks: dict[int, Task] = {}
        self.kept: set[int] = set()


class Places:
    """Workers elsewhere that share tasks: `Pool`. The constructor returns when the first worker is made.

    Parameters
    ----------
    transport : Transport
        Where they are; it is closed with the pool.

    Attributes
    ----------
    notes : tuple of str
        Notes for users.

    Raises
    ------
    RunnerError
        No worker can be made.
    """

    def __init__(self, transport: Transport) -> None:
        self.notes: tuple[str, ...] = ()
        self._transport = transport
        self._places: dict[Slot, _Place] = {}
        self._failed: Counter[Slot] = Counter()
        self._seen = time.monotonic()
        self._closed = False
        nothing = _Work((), lambda _: None, None)
        with self._closed_after_errors():
            while not any(place.started for place in self._places.values()):
                self._look(nothing)
                for event in transport.events():
                    self._take(event, nothing)

    def run(self, tasks: Iterable[Task], advance: Advance, again: Again | None = None) -> Iterator[Done]:
        """Do tasks, each by whoever is free; who stops before the last one has closed the pool.

        Parameters
        ----------
        tasks, advance
            As of `Pool.run`.
        again : callable, optional
            If given, workers keep results until all tasks are answered, and give them back once; tasks whose results
            are lost with a worker are read again.

        Yields
        ------
        Done
            Each task with its result; or, with the number `GATHER`, what a worker has kept.

        Raises
        ------
        RunnerError
            As of `Pool.run`; or the pool is closed.
        """
        if self._closed:
            raise RunnerError("the pool is closed", "Make another.")
        work = _Work(tasks, advance, again)
        with self._closed_after_errors():
            while self._feed(work):
                for event in self._transport.events():
                    done = self._take(event, work)
                    if done is not None:
                        self._feed(work)
                        yield done

    def close(self) -> None:
        """Release the devices; nothing is left running."""
        self._closed = True
        self._places.clear()
        self._transport.close()

    @contextmanager
    def _closed_after_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _look(self, work: _Work) -> None:
        """Drop the places whose slots are gone, and start workers in free slots."""
        slots = dict.fromkeys(self._transport.slots())
        for slot in [slot for slot in self._places if slot not in slots]:
            self._lose(slot, work)
        usable = [slot for slot in slots if self._failed[slot] < TAKES]
        for slot in usable:
            if slot not in self._places:
                self._places[slot] = _Place()
                self._transport.start(slot)
        if self._places:
            self._seen = time.monotonic()
        elif slots:
            names = ", ".join(dict.fromkeys(slot.name for slot in slots))
            failure = f"on {names}, {TAKES} processes died while they started"
            raise RunnerError(failure, "The model may need more memory than there is.")
        elif time.monotonic() - self._seen >= PATIENCE:
            todo = "What is finished is kept: repeat the command to resume."
            raise RunnerError("the Ray cluster has no node left that could work", todo)

    def _lose(self, slot: Slot, work: _Work) -> None:
        """Let others do the tasks of a place, and again those whose results are lost with it."""
        place = self._places.pop(slot)
        self._transport.end(slot)
        lost = [task for number, task in place.tasks.items() if number != GATHER]
        work.back += reversed(lost)
        work.lost |= place.kept
        self._failed[slot] += not place.started
        if self._failed[slot] == TAKES:
            self._note([f"{TAKES} processes died on {slot.name} while they started: it got no work."])
        work.blame(slot, [*(task.number for task in lost[:1]), *place.kept])

    def _feed(self, work: _Work) -> bool:
        """Distribute tasks, one to each place before any gets a second; return whether any are unfinished."""
        self._look(work)
        started = [slot for slot, place in self._places.items() if place.started]
        for room in range(WAITING):
            for slot in started:
                if len(self._places[slot].tasks) == room and (task := work.next()) is not None:
                    self._give(slot, task)
        busy = any(place.tasks for place in self._places.values())
        keeping = [slot for slot in started if self._places[slot].kept]
        if work.over and not busy:
            for slot in keeping:
                self._give(slot, Task(GATHER, None, 0))
        return busy or bool(keeping) or not work.over

    def _give(self, slot: Slot, task: Task) -> None:
        self._places[slot].tasks[task.number] = task
        self._transport.give(slot, task.number, task.content)

    def _take(self, event: Event, work: _Work) -> Done | None:
        """Note what happened; return a task if it is done and its result is here."""
        slot, kind, number, value = event
        place = self._places.get(slot)
        if place is None:
            return None
        if kind == "failed":
            raise value
        if kind == "lost":
            self._lose(slot, work)
        elif kind == "started":
            place.started = True
            del self._failed[slot]
            self._note(value)
        elif kind == "progress" and number in place.tasks:
            work.count(place.tasks[number], value)
        elif kind == "answer":
            task, (result, by, notes) = place.tasks.pop(number), value
            self._note(notes)
            work.count(task, task.size)
            if number != GATHER and work.again is not None:
                place.kept.add(number)
                return None
            place.kept.clear()  # what it is given after this request is answered after it
            return Done(task, result, by)
        return None

    def _note(self, notes: Iterable[str]) -> None:
        """Collect notes of a worker, each once."""
        self.notes = tuple(dict.fromkeys((*self.notes, *notes)))


class _Far:
    """A worker in another process: one thread prepares tasks, another does them."""

    def __init__(self, maker: Maker, report: Callable[[Message], None] = lambda _: None) -> None:
        self._maker = maker
        self._report = report
        self._worker: Any = None
        self._ahead: SimpleQueue[Message] = SimpleQueue()
        self._done: Message = ("progress", GATHER, 0)

    def start(self, device: str) -> Message:
        """Make the worker; return its notes."""

        def made() -> tuple[str, ...]:
            self._worker = self._maker(device)
            notes: tuple[str, ...] = self._worker.notes
            return notes

        return _attempted("started", GATHER, made)

    def take(self, number: int, content: Any) -> Message:
        """Prepare a task."""
        prepare = (lambda: None) if number == GATHER else partial(self._worker.prepare, content)
        self._ahead.put(_attempted("progress", number, prepare))
        return "progress", number, 0

    def answer(self) -> Message:
        """Do the next task; return the result, who did it, and notes."""
        kind, number, prepared = message = self._ahead.get()
        if kind == "failed":
            return message
        self._done = "progress", number, 0

        def done() -> tuple[Any, dict[str, object], tuple[str, ...]]:
            worker = self._worker
            result = worker.give_back() if number == GATHER else worker.work(prepared, self._advance)
            return result, worker.by, worker.notes

        return _attempted("answer", number, done)

    def progress(self) -> Message:
        """Return how much of the current task is done."""
        return self._done

    def _advance(self, count: int) -> None:
        kind, number, done = self._done
        self._done = kind, number, done + count
        self._report(self._done)


Message: TypeAlias = "tuple[Any, int, Any]"
"""An `Event` without its slot."""


def _attempted(kind: str, number: int, function: Callable[[], Any]) -> Message:
    """Return what a function returns, or its error as it is raised in the process that has the pool."""
    try:
        return kind, number, function()
    except (TrecevalError, MemoryError) as error:
        return "failed", number, error
    except Exception:  # noqa: BLE001 - a bug, of which the traceback cannot travel
        return "failed", number, RuntimeError(f"a worker failed\n{traceback.format_exc()}")


# Processes of this machine


class Processes:
    """A process for each of several devices: `Transport`. If one dies, this is an error.

    Each process is started afresh and has a pipe of its own: whatever kills one is seen at once as the end of its pipe,
    and whatever kills this process is seen by the others in the same way, so that they end with it.

    Parameters
    ----------
    maker : callable
        Makes a worker in each process.
    devices : sequence of str
        The devices; one given twice gets two processes.
    """

    def __init__(self, maker: Maker, devices: Sequence[str]) -> None:
        self._maker = maker
        self._slots = [Slot(device, number) for number, device in enumerate(devices)]
        self._processes: dict[Slot, tuple[Any, Connection]] = {}

    def slots(self) -> Iterable[Slot]:
        """Return a slot for each device; see `Transport.slots`."""
        return self._slots

    def start(self, slot: Slot) -> None:
        """Start a process; see `Transport.start`."""
        # A fork would take over torch's threads and locks in whatever state they are.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        sharing = sum(other.name == slot.name for other in self._slots)
        process = context.Process(target=_serve, args=(theirs, self._maker, slot.name, sharing), daemon=True)
        with _interrupts_held_back():
            process.start()
        theirs.close()
        self._processes[slot] = process, ours

    def give(self, slot: Slot, number: int, content: Any) -> None:
        """Send a task; see `Transport.give`."""
        with suppress(OSError):
            self._processes[slot][1].send((number, content))

    def events(self) -> Iterable[Event]:
        """Wait for processes; see `Transport.events`."""
        slots = {connection: slot for slot, (_, connection) in self._processes.items()}
        ready = multiprocessing.connection.wait(list(slots))
        for connection in slots.keys() & set(ready):
            slot = slots[connection]
            try:
                yield Event(slot, *connection.recv())
            except (EOFError, OSError):
                failure = f"the process that works on {slot.name} was killed, or ended"
                todo = "What is done is kept: repeat the command to resume."
                todo += " If memory ran out, give a smaller --batch-size."
                yield Event(slot, "failed", value=RunnerError(failure, todo))

    def end(self, slot: Slot) -> None:
        """Kill a process; see `Transport.end`."""
        process, connection = self._processes.pop(slot)
        connection.close()
        process.kill()
        process.join()

    def close(self) -> None:
        """Kill the processes; see `Transport.close`."""
        for slot in list(self._processes):
            self.end(slot)


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


def _serve(connection: Connection, maker: Maker, device: str, sharing: int) -> None:
    """Work in a process, one of so many that share a device, until the parent ends or closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    far = _Far(maker, connection.send)

    def listen() -> None:
        try:
            while True:
                far.take(*connection.recv())
        finally:
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    if device == "cpu":
        torch = import_torch()
        threads = max(1, torch.get_num_threads() // sharing)
        torch.set_num_threads(threads)
        os.environ["RAYON_NUM_THREADS"] = str(threads)  # the tokenizer's, read when it first starts one
    connection.send(far.start(device))
    while True:
        connection.send(far.answer())


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
    try:
        import ray  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise RunnerError("a cluster needs the package ray, which is not installed", INSTALL_RAY) from None
    if ray.is_initialized():
        yield ray
        return
    # `auto` may be answered by the variable, as Ray does.
    host, colon, port = (os.environ.get("RAY_ADDRESS", "") if address == "auto" else address).rpartition(":")
    options: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
    try:
        if colon:  # where nobody listens, Ray would try for minutes
            _knock(host.strip("[]"), int(port))
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except Exception as error:
        unreachable = f"no Ray cluster at {address}: {first_line(error)}"
        todo = "Start one with `ray start --head` and give its HOST:PORT, or use local."
        raise RunnerError(unreachable, todo) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(host: str, port: int, seconds: float = 10.0) -> None:
    """Raise OSError where nobody listens."""
    socket.create_connection((host, port), timeout=seconds).close()


class Actors:
    """An actor for each device of a Ray cluster, bound to its node: `Transport`. Results cannot be written to.

    Texts and vectors travel: only this process reads the collection and writes shards, and the nodes need the package
    and the model. An actor that dies is made again while its node answers; Ray calls a node alive for some 16 s after
    its death.

    Parameters
    ----------
    maker : callable
        Makes a worker on a node.
    address : str
        As of `connected`.
    gpus : bool
        Whether there is a worker for each GPU if the cluster has any; otherwise one for the cores of each node.

    Raises
    ------
    RunnerError
        There is no cluster.
    """

    def __init__(self, maker: Maker, address: str = "auto", *, gpus: bool = True) -> None:
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(connected(address))
        self._maker = maker
        self._gpus = gpus and self._ray.cluster_resources().get("GPU", 0) > 0
        self._cores: dict[Slot, int] = {}
        self._suspects: set[str] = set()
        self._handles: dict[Slot, Any] = {}
        self._coming: dict[Any, Slot] = {}
        self._asked: dict[Slot, Any] = {}

    def slots(self) -> Iterable[Slot]:
        """Return the slots of nodes that are alive; see `Transport.slots`."""
        for node in self._ray.nodes():
            if node["Alive"] and self._answers(node):
                cores, gpus = (int(node["Resources"].get(device, 0)) for device in ("CPU", "GPU"))
                count = min(gpus if self._gpus else 1, cores)
                for number in range(count):
                    slot = Slot(node["NodeManagerHostname"], (node["NodeID"], number))
                    self._cores[slot] = cores // count
                    yield slot

    def _answers(self, node: dict[str, Any]) -> bool:
        """Say whether a node that lost a worker can be reached."""
        if node["NodeID"] in self._suspects:
            try:
                _knock(node["NodeManagerAddress"], node["NodeManagerPort"], GLANCE)
            except OSError:
                return False
        return True

    def start(self, slot: Slot) -> None:
        """Create an actor; see `Transport.start`."""
        bound = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(slot.key[0], soft=False)
        options = {
            "num_cpus": self._cores[slot], "num_gpus": int(self._gpus), "scheduling_strategy": bound, "max_restarts": 0,
            "max_task_retries": 0, "concurrency_groups": {"ahead": 1, "progress": 1},
        }  # fmt: skip
        self._handles[slot] = self._ray.remote(**options)(_Actor).remote(self._maker)
        self._expect(slot, self._handles[slot].start.remote())

    def give(self, slot: Slot, number: int, content: Any) -> None:
        """Send a task; see `Transport.give`."""
        handle = self._handles[slot]
        self._expect(slot, handle.take.options(concurrency_group="ahead").remote(number, content))
        self._expect(slot, handle.answer.remote())

    def _expect(self, slot: Slot, reference: Any) -> Any:
        self._coming[reference] = slot
        return reference

    def events(self) -> Iterable[Event]:
        """Wait for actors, and ask for progress if nothing comes; see `Transport.events`."""
        exceptions = self._ray.exceptions
        if not self._coming:
            time.sleep(GLANCE)
            return
        ready, _ = self._ray.wait(list(self._coming), timeout=GLANCE)
        for reference in ready:
            slot = self._coming.pop(reference)
            try:
                yield Event(slot, *self._ray.get(reference))
            except exceptions.RayTaskError as error:
                yield Event(slot, "failed", value=RuntimeError(f"a worker failed\n{error}"))
            except exceptions.RayError:
                self._suspects.add(slot.key[0])
                yield Event(slot, "lost")
        if not ready:
            for slot, handle in self._handles.items():
                if self._asked.get(slot) not in self._coming:
                    asked = handle.progress.options(concurrency_group="progress").remote()
                    self._asked[slot] = self._expect(slot, asked)

    def end(self, slot: Slot) -> None:
        """Kill an actor; see `Transport.end`."""
        self._ray.kill(self._handles.pop(slot))
        self._coming = {reference: other for reference, other in self._coming.items() if other != slot}

    def close(self) -> None:
        """Kill the actors, and end the connection with the cluster if it was made here; see `Transport.close`."""
        for slot in list(self._handles):
            self.end(slot)
        self._stack.close()


class _Actor(_Far):
    """What Ray starts for each device."""

    def start(self, device: str = "cpu") -> Message:
        """Make the worker of the device that Ray has given; return its notes."""
        import ray

        # Ray shows each process the GPU that it was given and no other, but all of them to one without.
        given = ray.get_runtime_context().get_accelerator_ids().get("GPU")
        return super().start("cuda:0" if given else device)
