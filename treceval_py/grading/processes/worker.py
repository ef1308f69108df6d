"""The process that grades; it exchanges messages on standard input and output.

Every submission is treated as hostile. If it takes too long, its process is killed; if it takes too much memory, it
fails inside the process; and a crash affects only its own process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import signal
import sys
import threading
import time
from typing import NamedTuple

from treceval_py.errors import TrecevalError
from treceval_py.grading.claims.claims import Claimed
from treceval_py.grading.intake.found import IntakeError
from treceval_py.grading.intake.items import Submission
from treceval_py.grading.marking.marking import Grader, record_of
from treceval_py.grading.marking.scoring import Assignment
from treceval_py.grading.processes.kept import SUFFIX, read_record, write_record
from treceval_py.grading.records import FAILED, Graded

PIECE = 1 << 20


class Setup(NamedTuple):
    """The first message to a process.

    Attributes
    ----------
    assignment : Assignment
        The judgments, the baseline and the rules.
    folder : str
        The folder of records; empty to keep none.
    context : str
        A hash of everything besides the submission itself that grades depend on.
    memory : int
        Bytes that the process may use beyond those in use when it is ready; 0 for no limit.
    """

    assignment: Assignment
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
    head = (context, submission._replace(items=()), claimed, job.run)
    digest.update(repr(head).encode("utf-8", "surrogateescape"))
    for item in submission.items:
        facts = (item.name, item.size, item.attempt, item.number, item.time)
        digest.update(repr(facts).encode("utf-8", "surrogateescape"))
        try:
            with item.opened() as stream:
                while piece := stream.read(PIECE):
                    digest.update(piece)
        except IntakeError as error:  # it happens every time, and the record reports it
            digest.update(repr(error.what).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def reply_to(job: Job, grader: Grader, setup: Setup) -> Reply:
    """Grade a submission, or return its kept record."""
    name = key_of(job, setup.context) + SUFFIX
    path = os.path.join(setup.folder, name) if setup.folder else ""
    known = read_record(path) if path else None
    if known is not None:
        return Reply(known, name)
    graded = grader.grade(job.submission, job.claimed, job.run)
    if not path:
        return Reply(graded)
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
