"""Processes that grade, each one submission at a time, with the time that the rules give."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any

from treceval_py.errors import EvaluationError, TrecevalError
from treceval_py.grading.records import FAILED, Graded
from treceval_py.grading.worker import Job, Reply, Setup

__all__ = ["graded_by_processes"]

START = "from treceval_py.grading.worker import main; main()"
"""What a process runs; not a module by its name, whose classes would then be those of another module."""


def graded_by_processes(
    setup: Setup, jobs: Sequence[Job], *, workers: int, seconds: float, after: Callable[[], None] | None = None
) -> list[Reply]:
    """Grade submissions in processes of their own.

    Parameters
    ----------
    setup : Setup
        What each process is told first.
    jobs : sequence of Job
        The submissions.
    workers : int
        How many processes work at once.
    seconds : float
        How long a submission may take; then its process is ended, and it is said so.
    after : callable, optional
        Is called after each submission, from the thread that calls this function.

    Returns
    -------
    list of Reply
        As the submissions.

    Raises
    ------
    TrecevalError
        The judgments or the baseline cannot be read, a record cannot be written, no process can be started.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(jobs)):
        waiting.put(number)
    done: queue.SimpleQueue[tuple[int, Reply | BaseException]] = queue.SimpleQueue()
    crew = [_Slot(setup, jobs, waiting, done, seconds) for _ in range(min(workers, len(jobs)))]
    found: dict[int, Reply] = {}
    try:
        for slot in crew:
            slot.start()
        while len(found) < len(jobs):
            number, reply = done.get()
            if isinstance(reply, BaseException):
                raise reply
            found[number] = reply
            if after is not None:
                after()
    finally:
        for slot in crew:
            slot.dismiss()
    return [found[number] for number in range(len(jobs))]


class _Slot(threading.Thread):
    """A thread that has one process at a time, and another one where that is ended."""

    def __init__(
        self,
        setup: Setup,
        jobs: Sequence[Job],
        waiting: queue.SimpleQueue[int],
        done: queue.SimpleQueue[tuple[int, Reply | BaseException]],
        seconds: float,
    ) -> None:
        super().__init__(daemon=True)
        self._setup = setup
        self._jobs = jobs
        self._waiting = waiting
        self._done = done
        self._seconds = seconds
        self._process: _Process | None = None
        self._dismissed = threading.Event()

    def run(self) -> None:
        """Grade until nothing waits."""
        while not self._dismissed.is_set():
            try:
                number = self._waiting.get_nowait()
            except queue.Empty:
                break
            try:
                self._done.put((number, self._graded(self._jobs[number])))
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                self._done.put((number, error))
                break
        self._end()

    def dismiss(self) -> None:
        """End the process, whatever it does."""
        self._dismissed.set()
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _graded(self, job: Job) -> Reply:
        if self._process is None:
            self._process = _Process(self._setup)
            if self._dismissed.is_set():
                self._end()
                raise EvaluationError("grading was stopped")
        reply = self._process.asked(job, self._seconds)
        if isinstance(reply, TrecevalError):
            raise reply
        if isinstance(reply, Reply):
            if reply.graded.status == FAILED:
                self._end()  # it may be damaged
            return reply
        self._end()
        return Reply(Graded(job.submission.student, job.submission.source, FAILED, reply))


class _Process:
    """A process that grades."""

    def __init__(self, setup: Setup) -> None:
        # One thread each: there are as many processes as cores.
        environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-c", START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError as error:
            raise EvaluationError(f"no process can be started: {error.strerror or error}") from None
        told = self._told(setup)
        if isinstance(told, TrecevalError):
            raise told
        if told is not None:
            raise EvaluationError("the process that grades ended before it began", "Try again with fewer processes.")

    def asked(self, job: Job, seconds: float) -> Reply | TrecevalError | str:
        """Return the reply for a submission, or, where none came, the reason as a text."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            reply = self._told(job)
        finally:
            timer.cancel()
        if isinstance(reply, (Reply, TrecevalError)):
            return reply
        if late.is_set():
            return f"grading it takes more than {seconds:g} seconds"
        return "the process that graded it ended: out of memory, or a crash"

    def _told(self, message: object) -> Any:
        """Send a message and return the answer; a text where the process has ended."""
        try:
            stream: IO[bytes] = self._process.stdin  # type: ignore[assignment]
            pickle.dump(message, stream)
            stream.flush()
            return pickle.load(self._process.stdout)  # type: ignore[arg-type]  # noqa: S301 - from our own process
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            return "ended"

    def end(self) -> None:
        """End it, now."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()
