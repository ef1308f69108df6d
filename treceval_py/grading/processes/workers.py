"""Processes that grade, each one submission at a time, within the time limit of the rules."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from treceval_py.errors import EvaluationError, TrecevalError
from treceval_py.grading.processes.worker import Job, Reply, Setup, failed
from treceval_py.grading.records import FAILED

START = "import sys; sys.path[:] = sys.argv[1:]; from treceval_py.grading.processes.worker import main; main()"
"""Code that a process runs. Running the module by name would define its classes a second time, in ``__main__``."""

MOST_SECONDS_TO_START = 600.0
"""Time for imports and for reading judgments and baseline, which may be large."""


def graded_by_processes(
    setup: Setup, jobs: Sequence[Job], *, workers: int, seconds: float, after: Callable[[], None] | None = None
) -> list[Reply]:
    """Grade submissions in processes of their own.

    Parameters
    ----------
    setup : Setup
        The first message to each process.
    jobs : sequence of Job
        The submissions.
    workers : int
        Number of processes that work at once.
    seconds : float
        Time limit of a submission; after it, its process is killed and the submission fails with this reason.
    after : callable, optional
        Called after each submission, from the thread that calls this function.

    Returns
    -------
    list of Reply
        In the order of the submissions.

    Raises
    ------
    TrecevalError
        The judgments or the baseline cannot be read, a record cannot be written, or no process can be started.
    """
    threads = min(workers, len(jobs))
    waiting = deque([*range(len(jobs)), *[None] * threads])
    done: queue.SimpleQueue[tuple[int, Reply | BaseException]] = queue.SimpleQueue()
    stopped, crew = threading.Event(), list[_Process]()

    def work() -> None:
        try:
            for answer in _graded(setup, jobs, seconds, waiting, stopped, crew):
                done.put(answer)
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
            done.put((0, error))

    replies: dict[int, Reply] = {}
    try:
        for _ in range(threads):
            threading.Thread(target=work, daemon=True).start()
        while len(replies) < len(jobs):
            number, reply = done.get()
            if isinstance(reply, BaseException):
                raise reply
            replies[number] = reply
            if after is not None:
                after()
    finally:
        stopped.set()
        for process in crew:
            process.end()
    return [replies[number] for number in range(len(jobs))]


def _graded(
    setup: Setup,
    jobs: Sequence[Job],
    seconds: float,
    waiting: deque[int | None],
    stopped: threading.Event,
    crew: list[_Process],
) -> Iterator[tuple[int, Reply]]:
    """Grade submissions in one process at a time, and in another one after a failure, until none is waiting."""
    process = None
    while (number := waiting.popleft()) is not None and not stopped.is_set():
        if process is None:
            process = _Process(setup)
            crew.append(process)
        if stopped.is_set():  # perhaps before the process was in the crew
            break
        reply = process.asked(jobs[number], seconds)
        if reply.graded.status == FAILED or process.used_up:  # it may be damaged
            process.end()
            process = None
        yield number, reply
    if process is not None:
        process.end()


class _Process:
    """A process that grades.

    Attributes
    ----------
    used_up : bool
        Whether its time limit was reached, so that it was killed, perhaps after its reply.
    """

    def __init__(self, setup: Setup) -> None:
        self.used_up = False
        utf8 = ["-X", "utf8"] if sys.flags.utf8_mode else []  # file names are decoded as here
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                # Isolated, because Python would otherwise import from the current folder, which may hold submissions.
                # The last arguments are our own module path.
                [sys.executable, "-I", *utf8, "-c", START, *filter(None, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                # One thread each: there are as many processes as cores.
                env={**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")},
            )
        except OSError as error:
            self._said.close()
            raise EvaluationError(f"no process can be started: {error.strerror or error}") from None
        fault = self._told(setup, MOST_SECONDS_TO_START)
        if fault is not None:
            self._said.seek(0)
            said = self._said.read().decode("utf-8", "backslashreplace").strip().splitlines()[-1:]
            self.end()
            if isinstance(fault, TrecevalError):
                raise fault
            raise EvaluationError(": ".join(["the process that grades could not start", *said]))

    def asked(self, job: Job, seconds: float) -> Reply:
        """Return the reply for a submission; without one, the submission failed. Raises the errors that are replies."""
        reply = self._told(job, seconds)
        if isinstance(reply, TrecevalError):
            raise reply
        if isinstance(reply, Reply):
            return reply
        slow = f"grading it takes more than {seconds:g} seconds"
        return failed(job, slow if self.used_up else "the process that graded it ended: out of memory, or a crash")

    def _told(self, message: object, seconds: float) -> Any:
        """Send a message and return the answer; a text if the process ended, at the latest after the time limit."""
        lock, answered = threading.Lock(), False

        def stop() -> None:
            with lock:
                if not answered:
                    self.used_up = True
                    self._process.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            stream: IO[bytes] = self._process.stdin  # type: ignore[assignment]
            pickle.dump(message, stream)
            stream.flush()
            return pickle.load(self._process.stdout)  # type: ignore[arg-type]  # noqa: S301 - from our own process
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            return "ended"
        finally:
            with lock:
                answered = True
            timer.cancel()

    def end(self) -> None:
        """Kill it now."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()
