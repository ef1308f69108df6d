"""Processes that grade, each one submission at a time, within the limits of the rules, and the records that they keep.

They exchange messages on standard input and output; what runs in them comes first. Every submission is treated as
hostile. If it takes too long, its process is killed; if it takes too much memory, it fails inside the process; and a
crash affects only its own process. Records on disk let interrupted grading resume.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np

from treceval_py.checking.findings import Finding
from treceval_py.errors import EvaluationError, OutputError, TrecevalError
from treceval_py.grading.claims.claims import Claimed
from treceval_py.grading.intake.archives import IntakeError
from treceval_py.grading.intake.folders import Submission
from treceval_py.grading.marking.marking import Grader, record_of
from treceval_py.grading.records import FAILED, AgainstBaseline, Checked, FileRead, Graded, Loss, LostDocument, RunRead
from treceval_py.grading.rules import Task
from treceval_py.io.target import written_whole

SUFFIX = ".json.gz"

VERSION = 4
"""Version of the record format; records of other versions are made again."""


_ROWS = {"files": FileRead, "findings": Finding, "claims": Checked, "runs": RunRead}
_ARRAYS = {"tops": np.int64, "values": np.float64}


def plain(value: Any) -> Any:
    """Return a record, or a part of it, as data for JSON."""
    if hasattr(value, "_asdict"):
        return {name: plain(field) for name, field in value._asdict().items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(element) for element in value] if isinstance(value, tuple) else value


def from_plain(record: Mapping[str, Any]) -> Graded:
    """Return the record that `plain` turned into data for JSON.

    Raises
    ------
    KeyError, TypeError, ValueError
        The data is not a record.
    """
    given = {**record, **{name: tuple(kind(**row) for row in record[name]) for name, kind in _ROWS.items()}}
    for name, kind in _ARRAYS.items():
        given[name] = None if record[name] is None else np.array(record[name], dtype=kind)
    if record["against"] is not None:
        losses = [
            Loss(**{**loss, "documents": tuple(LostDocument(**document) for document in loss["documents"])})
            for loss in record["against"]["losses"]
        ]
        given["against"] = AgainstBaseline(**{**record["against"], "losses": tuple(losses)})
    pair, repairs = tuple(record["missing_queries"]), tuple(record["repairs"])
    return Graded(**{**given, "missing_queries": pair, "repairs": repairs})


def write_record(path: str, graded: Graded) -> None:
    """Write a record, whole or not at all.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    # ASCII, because file names may contain surrogates.
    text = json.dumps({"version": VERSION, "graded": plain(graded)}, ensure_ascii=True)
    with written_whole(path) as stream:  # compressed, because its name ends in .gz
        stream.write(text.encode("ascii"))


def read_record(path: str) -> Graded | None:
    """Return a kept record; None if there is none that can be used."""
    try:
        if os.path.islink(path):
            return None
        with open(path, "rb") as stream:
            record = json.loads(gzip.decompress(stream.read()))
        return from_plain(record["graded"]) if record["version"] == VERSION else None
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return None


def forget(folder: str, keep: set[str]) -> None:
    """Remove the records of a folder that are not to be kept, and the unfinished files of a killed process.

    Raises
    ------
    OutputError
        A file cannot be removed.
    """
    for name in sorted(os.listdir(folder)):
        if SUFFIX in name and name not in keep:
            remove(os.path.join(folder, name))


def remove(path: str) -> None:
    """Remove a file or a link; raises like `forget`."""
    with refusing(path, "cannot be removed"):
        os.unlink(path)


@contextlib.contextmanager
def refusing(path: str, fault: str) -> Iterator[None]:
    """Raise an `OutputError` about a file or folder instead of an `OSError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{fault}: {error.strerror or error}", file=path) from None


# --- in a process ---

PIECE = 1 << 20


class Setup(NamedTuple):
    """The first message to a process.

    Attributes
    ----------
    assignment : Task
        The judgments, the baseline and the rules.
    folder : str
        The folder of records; empty to keep none.
    context : str
        A hash of everything besides the submission itself that grades depend on.
    memory : int
        Bytes that the process may use beyond those in use when it is ready; 0 for no limit.
    """

    assignment: Task
    folder: str
    context: str
    memory: int


class Job(NamedTuple):
    """A submission, claims made for it elsewhere, and the run that the teacher chose (empty for none)."""

    submission: Submission
    claimed: tuple[Claimed, ...] = ()
    run: str = ""


class Reply(NamedTuple):
    """A graded submission.

    Attributes
    ----------
    graded : Graded
        The record.
    kept : str
        Name of the record in the folder; empty if it was not kept.
    """

    graded: Graded
    kept: str = ""


def key_of(job: Job, context: str) -> str:
    """Return a hash of everything that a grade depends on, including the bytes of the submission's files.

    Raises
    ------
    IntakeError
        A file cannot be read.
    """
    digest = hashlib.sha256()
    submission = job.submission
    # Not the claims themselves: the text form of a measure has memory addresses.
    claimed = [(claim.measure, claim.text, claim.place, claim.fault, claim.run) for claim in job.claimed]
    facts = [(item.name, item.size, item.attempt, item.number, item.time) for item in submission.items]
    head = (context, submission._replace(items=()), claimed, job.run, facts)
    digest.update(repr(head).encode("utf-8", "surrogateescape"))
    for item in submission.items:
        digest.update(b"\0next\0")
        try:
            with item.opened() as stream:
                while piece := stream.read(PIECE):
                    digest.update(piece)
        except IntakeError as error:  # it happens every time, and the record reports it
            digest.update(repr(error.what).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def reply_to(job: Job, grader: Grader, setup: Setup) -> Reply:
    """Grade a submission, or return its kept record."""
    if not setup.folder:
        return Reply(grader.grade(job.submission, job.claimed, job.run))
    name = key_of(job, setup.context) + SUFFIX
    path = os.path.join(setup.folder, name)
    graded = read_record(path)
    if graded is None:
        graded = grader.grade(job.submission, job.claimed, job.run)
        write_record(path, graded)
    return Reply(graded, name)


def failed(job: Job, reason: str) -> Reply:
    """Return the record of a submission whose grading was stopped."""
    return Reply(record_of(job.submission, FAILED, reason))


def _bound(memory: int) -> None:
    """Limit the memory that the process may use beyond what it has, if the system supports it."""
    if not memory:
        return
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", "rb") as stream:
            has = int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + memory, has + memory))


def _end_with(parent: int) -> None:
    """End this process when its parent ends, even while it grades: only the parent watches the time limit."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, which needs no thread of this process to run

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _answered(job: Job, grader: Grader, setup: Setup) -> Reply | TrecevalError:
    try:
        return reply_to(job, grader, setup)
    except MemoryError:
        return failed(job, "grading it needs more memory than a submission may use")
    except TrecevalError as error:  # its record cannot be written, which is not the submission's fault
        return error
    except Exception as error:  # noqa: BLE001
        # A bug of this package, triggered by a submission, must not stop the others; it is reported, but not kept.
        return failed(job, f"grading stopped at an error of treceval_py: {type(error).__name__}: {error}"[:300])


def main() -> None:
    """Take the setup, then submissions one by one, until there are no more."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    _end_with(os.getppid())
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # so that prints cannot be mistaken for messages

    def tell(message: object) -> None:
        pickle.dump(message, outgoing)
        outgoing.flush()

    with contextlib.suppress(EOFError):  # the parent has ended
        setup: Setup = pickle.load(incoming)  # noqa: S301 - from the process that started this one
        try:
            grader = Grader(setup.assignment)
        except TrecevalError as error:
            tell(error)
            return
        _bound(setup.memory)
        tell(None)
        while True:
            tell(_answered(pickle.load(incoming), grader, setup))  # noqa: S301


# --- in the one that starts them ---

START = "import sys; sys.path[:] = sys.argv[1:]; from treceval_py.grading.processes import main; main()"
"""Code that a process runs. Running the module by name would define its classes a second time, in ``__main__``."""

_Done: TypeAlias = "queue.SimpleQueue[tuple[int, Reply | BaseException]]"

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
    done: _Done = queue.SimpleQueue()
    stopped, crew = threading.Event(), list[_Process]()

    replies: dict[int, Reply] = {}
    try:
        for _ in range(threads):
            arguments = (setup, jobs, seconds, waiting, stopped, crew, done)
            threading.Thread(target=_work, args=arguments, daemon=True).start()
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
        if setup.folder:  # records that they were writing when they were stopped
            forget(setup.folder, {name for name in os.listdir(setup.folder) if not name.startswith(".")})
    return [replies[number] for number in range(len(jobs))]


def _work(
    setup: Setup,
    jobs: Sequence[Job],
    seconds: float,
    waiting: deque[int | None],
    stopped: threading.Event,
    crew: list[_Process],
    done: _Done,
) -> None:
    """Grade submissions in one process at a time, and in another one after a failure, until none is waiting."""
    process = None
    try:
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
            done.put((number, reply))
        if process is not None:
            process.end()
    except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
        done.put((0, error))


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
            own = isinstance(fault, TrecevalError)
            raise fault if own else EvaluationError(": ".join(["the process that grades could not start", *said]))

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

        def stop() -> None:
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
            timer.cancel()
            timer.join()  # it may be stopping the process just now

    def end(self) -> None:
        """Kill it now."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()
