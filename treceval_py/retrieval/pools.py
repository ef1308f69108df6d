"""Who encodes: this process on one device, or a process for each of several devices."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from treceval_py.errors import RunnerError, TrecevalError
from treceval_py.retrieval.devices import default_batch_size, import_torch
from treceval_py.retrieval.encoding import Encoder
from treceval_py.retrieval.models import Model, Settings, Side

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from queue import SimpleQueue

    from treceval_py.io.texts import Chunk
    from treceval_py.retrieval.vectors import FloatArray32

__all__ = ["Encoded", "Here", "Pool", "Processes"]

WAITING = 2
"""Chunks that a device has at once: the one that it encodes and the next. More would only take memory."""

PATIENCE = 10.0
"""Seconds that a process has to end by itself."""


class Encoded(NamedTuple):
    """A chunk whose texts have their vectors.

    Attributes
    ----------
    chunk : Chunk
        The texts.
    vectors : (n, E) float32 array
        Their vectors.
    by : dict
        Who made them, as plain JSON: device, threads, batch size, host, versions.
    """

    chunk: Chunk
    vectors: FloatArray32
    by: dict[str, object]


class Pool(Protocol):
    """Somebody who encodes chunks of texts."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know: a sentence or two each."""
        ...

    def encode(self, chunks: Iterable[Chunk], side: Side, advance: Callable[[int], None]) -> Iterator[Encoded]:
        """Encode chunks; they come back in any order.

        Parameters
        ----------
        chunks : iterable of Chunk
            The texts; read as they are needed.
        side : {"passages", "queries"}
            What they are.
        advance : callable
            Is told how many texts were done.

        Yields
        ------
        Encoded
            Each chunk with its vectors.

        Raises
        ------
        RunnerError
            A device fails, or its process is killed.
        """
        ...

    def close(self) -> None:
        """Let go of the devices; nothing is left running."""


class Here:
    """One device, in this process.

    Parameters
    ----------
    model : Model
        From `models.find_model`.
    settings : Settings
        From `models.settings_for`.
    devices : sequence of one str
        The device.
    batch_size : int, optional
        Texts at once; by default what is right for the device.

    Raises
    ------
    RunnerError
        The model cannot be used.
    """

    def __init__(
        self, model: Model, settings: Settings, devices: Sequence[str] = ("cpu",), batch_size: int | None = None
    ) -> None:
        (device,) = devices
        self._encoder = _encoder(model, settings, device, batch_size)

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know: a sentence or two each."""
        return self._encoder.notes

    def encode(self, chunks: Iterable[Chunk], side: Side, advance: Callable[[int], None]) -> Iterator[Encoded]:
        """Encode chunks, in their order; see `Pool.encode`."""
        for chunk in chunks:
            vectors = self._encoder.encode(chunk.texts, side=side, advance=advance, ids=chunk.ids)
            yield Encoded(chunk, vectors, self._encoder.by)

    def close(self) -> None:
        """Do nothing: the model goes with the pool."""


class Processes:
    """A process for each of several devices; one that is faster gets more chunks.

    Each process is started afresh and has a pipe of its own: whatever kills one is seen at once as the end of its pipe,
    and whatever kills this process is seen by the others in the same way, so that they end with it.

    Parameters
    ----------
    model : Model
        From `models.find_model`.
    settings : Settings
        From `models.settings_for`.
    devices : sequence of str
        The devices; one that comes twice gets two processes.
    batch_size : int, optional
        Texts at once on each; by default what is right for each.

    Raises
    ------
    RunnerError
        The model cannot be used, or a process ends while it starts.
    """

    def __init__(self, model: Model, settings: Settings, devices: Sequence[str], batch_size: int | None = None) -> None:
        self._workers: list[_Worker] = []
        self._notes: dict[str, None] = {}
        threads = max(1, _processors() // max(1, list(devices).count("cpu")))
        try:
            with _interrupts_held_back():
                for device in devices:
                    task = _Task(model, settings, device, batch_size, threads if device == "cpu" else None)
                    self._workers.append(_start(task))
            for worker in self._workers:
                self._notes.update(dict.fromkeys(worker.receive()))
        except BaseException:
            self.close()
            raise

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know: a sentence or two each."""
        return tuple(self._notes)

    def encode(self, chunks: Iterable[Chunk], side: Side, advance: Callable[[int], None]) -> Iterator[Encoded]:
        """Encode chunks, in the order in which they are done; see `Pool.encode`.

        Who stops before the last one has closed the pool.
        """
        from multiprocessing.connection import wait

        if not self._workers:
            raise RunnerError("the pool is closed", "Make another.")
        waiting = iter(chunks)
        try:
            for _ in range(WAITING):
                for worker in self._workers:
                    worker.feed(waiting, side)
            while busy := {worker.connection: worker for worker in self._workers if worker.chunks}:
                for connection in wait(list(busy)):
                    worker = busy[connection]  # type: ignore[index]  # what was given to `wait`, it gives back
                    vectors, by, notes = worker.receive()
                    chunk = worker.chunks.popleft()
                    worker.feed(waiting, side)
                    self._notes.update(dict.fromkeys(notes))
                    advance(len(chunk.texts))
                    yield Encoded(chunk, vectors, by)
        finally:
            if any(worker.chunks for worker in self._workers):
                self.close()

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.connection.close()
        for worker in workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def _encoder(model: Model, settings: Settings, device: str, batch_size: int | None) -> Encoder:
    size = default_batch_size(device) if batch_size is None else batch_size
    return Encoder(model, settings, device=device, batch_size=size)


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Task(NamedTuple):
    """What a process is started with."""

    model: Model
    settings: Settings
    device: str
    batch_size: int | None
    threads: int | None


class _Fault(NamedTuple):
    """An error in a process that is none of ours: a bug, told with its traceback."""

    traceback: str


class _Worker(NamedTuple):
    """A process as its parent sees it: the chunks that it has, the oldest first."""

    device: str
    process: SpawnProcess
    connection: Connection
    chunks: deque[Chunk]

    def feed(self, waiting: Iterator[Chunk], side: Side) -> None:
        """Send the next chunk, if there is one."""
        chunk = next(waiting, None)
        if chunk is None:
            return
        self.chunks.append(chunk)
        # A process that is dead is noticed when its answer is read.
        with contextlib.suppress(OSError):
            self.connection.send((chunk.texts, chunk.ids, side))

    def receive(self) -> Any:
        """Return the next answer, or raise what went wrong."""
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            raise self._death() from None
        if isinstance(answer, TrecevalError):
            raise answer
        if isinstance(answer, _Fault):
            raise RuntimeError(f"the process on {self.device} failed\n{answer.traceback}")
        return answer

    def _death(self) -> RunnerError:
        self.process.join(PATIENCE)
        status = self.process.exitcode
        if status is not None and status < 0:
            how = f"was killed ({signal.Signals(-status).name})"
        else:
            how = f"ended (status {status})"
        todo = "What is done is kept, and the same command goes on. If memory ran out, give a smaller --batch-size."
        return RunnerError(f"the process that encodes on {self.device} {how}", todo)


def _start(task: _Task) -> _Worker:
    """Start a process."""
    import multiprocessing

    # A fork would take over torch's threads and locks in whatever state they are.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, task), daemon=True, name=f"treceval on {task.device}")
    process.start()
    theirs.close()
    return _Worker(task.device, process, ours, deque())


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


def _work(connection: Connection, task: _Task) -> None:
    """Encode what comes through the pipe: the main function of a process."""
    import threading
    import traceback
    from queue import SimpleQueue

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    waiting: SimpleQueue[tuple[list[str], list[str], Side]] = SimpleQueue()
    threading.Thread(target=_listen, args=(connection, waiting), daemon=True).start()
    try:
        _set_threads(task.threads)
        encoder = _encoder(task.model, task.settings, task.device, task.batch_size)
        _answer(connection, encoder.notes)
        while True:
            texts, ids, side = waiting.get()
            vectors = encoder.encode(texts, side=side, ids=ids)
            _answer(connection, (vectors, encoder.by, encoder.notes))
    except TrecevalError as error:
        _answer(connection, error)
    except Exception:  # noqa: BLE001 - a bug, which the parent shows
        _answer(connection, _Fault(traceback.format_exc()))


def _answer(connection: Connection, answer: object) -> None:
    """Send an answer, or end the process: where nobody listens, nobody wants to hear of it either."""
    try:
        connection.send(answer)
    except OSError:
        os._exit(0)


def _listen(connection: Connection, waiting: SimpleQueue[Any]) -> None:
    """Take what comes through the pipe at once, so that the parent need not wait; end the process when it closes."""
    try:
        while True:
            waiting.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)


def _set_threads(threads: int | None) -> None:
    """Let a process on the CPU have its share of the processors."""
    if threads is None:
        return
    os.environ["RAYON_NUM_THREADS"] = str(threads)  # the tokenizer's, read when it first starts one
    import_torch().set_num_threads(threads)
