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
from collections.abc import Callable, Sequence
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
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(jobs)):
        waiting.put(number)
    done: queue.SimpleQueue[tuple[int, Reply | BaseException]] = queue.SimpleQueue()
    crew = [_Slot(setup, jobs, waiting, done, seconds) for _ in range(min(workers, len(jobs)))]
    replies: dict[int, Reply] = {}
    try:
        for slot in crew:
            slot.start()
        while len(replies) < len(jobs):
            number, reply = done.get()
            if isinstance(reply, BaseException):
                raise reply
            replies[number] = reply
            if after is not None:
                after()
    finally:
        for slot in crew:
            slot.dismiss()
    return [replies[number] for number in range(len(jobs))]


class _Slot(threading.Thread):
    """A thread that runs one process at a time, and starts another if it was killed."""

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
        """Grade until no submission is waiting."""
        while not self._dismissed.is_set():
            try:
                number = self._waiting.get_nowait()
            except queue.Empty:
                break
            try:
                self._done.put((number, self._graded(self._jobs[number])))
            except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
                self._done.put((number, error))
                break
        self._end()

    def dismiss(self) -> None:
        """Kill the process, whatever it is doing."""
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
            if reply.graded.status == FAILED or self._process.used_up:
                self._end()  # it may be damaged
            return reply
        self._end()
        return failed(job, reply)


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
        told = self._told(setup, MOST_SECONDS_TO_START)
        if told is not None:
            said = self._last_line()
            self.end()
            if isinstance(told, TrecevalError):
                raise told
            raise EvaluationError("the process that grades could not start" + (f": {said}" if said else ""))

    def asked(self, job: Job, seconds: float) -> Reply | TrecevalError | str:
        """Return the reply for a submission; if there is none, the reason as text."""
        reply = self._told(job, seconds)
        if isinstance(reply, (Reply, TrecevalError)):
            return reply
        if self.used_up:
            return f"grading it takes more than {seconds:g} seconds"
        return "the process that graded it ended: out of memory, or a crash"

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

    def _last_line(self) -> str:
        """Return the last line that the process wrote to its standard error."""
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "backslashreplace").strip().splitlines()
        return lines[-1] if lines else ""

    def end(self) -> None:
        """Kill it now."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()
