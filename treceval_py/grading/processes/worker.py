"""The process that grades, with messages on standard input and output.

Submissions are hostile until shown otherwise. What takes too long is ended with its process, what takes too much memory
fails inside of it, and a crash takes nothing else along.
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
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from treceval_py.errors import TrecevalError
from treceval_py.grading.claims.claims import Claimed
from treceval_py.grading.intake.intake import IntakeError, Submission
from treceval_py.grading.marking.marking import Grader, record_of
from treceval_py.grading.marking.scoring import Assignment
from treceval_py.grading.processes.kept import SUFFIX, read_record, write_record
from treceval_py.grading.records import FAILED, Graded

__all__ = ["Job", "Reply", "Setup", "failed", "key_of", "main"]

PIECE = 1 << 20


class Setup(NamedTuple):
    """What a process is told first.

    Attributes
    ----------
    assignment : Assignment
        What is graded by.
    folder : str
        Where records are kept; empty for nowhere.
    context : str
        A hash of all that grades depend on beside the submission itself.
    memory : int
        Bytes that the process may take beyond what it has when it is ready; 0 for any number.
    """

    assignment: Assignment
    folder: str
    context: str
    memory: int


class Job(NamedTuple):
    """A submission, the claims that were made for it elsewhere, and the run that the teacher chose; empty for none."""

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
        The file that it is kept in, within the folder; empty where it is not.
    """

    graded: Graded
    kept: str = ""


def key_of(job: Job, context: str) -> str:
    """Return a hash of all that a grade depends on, the bytes of the submission's files among it.

    Raises
    ------
    IntakeError
        A file cannot be read.
    """
    digest = hashlib.sha256()
    submission = job.submission
    # Not the claims themselves: what a measure looks like as text has addresses in memory.
    claimed = [(each.measure, each.text, each.place, each.fault, each.run) for each in job.claimed]
    head = (context, submission._replace(items=()), claimed, job.run)
    digest.update(repr(head).encode("utf-8", "surrogateescape"))
    for item in submission.items:
        told = (item.name, item.size, item.attempt, item.number, item.time)
        digest.update(repr(told).encode("utf-8", "surrogateescape"))
        try:
            with item.opened() as stream:
                while piece := stream.read(PIECE):
                    digest.update(piece)
        except IntakeError as error:  # it is so each time, and the record says it
            digest.update(repr(error.what).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def reply_to(job: Job, grader: Grader, setup: Setup) -> Reply:
    """Grade a submission, or take the record that is kept of it."""
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
    """Limit what the process may take beyond what it has, where the system can."""
    if not memory:
        return
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", "rb") as stream:
            has = int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + memory, has + memory))


def _end_with(parent: int) -> None:
    """End this process when the one that started it has ended, whatever is being graded: nobody else keeps the time."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _messages(stream: BinaryIO) -> Iterator[Any]:
    with contextlib.suppress(EOFError):  # whom we work for has ended
        while True:
            yield pickle.load(stream)  # noqa: S301 - from the process that started this one


def _answered(job: Job, grader: Grader, setup: Setup) -> Reply | TrecevalError:
    try:
        return reply_to(job, grader, setup)
    except MemoryError:
        return failed(job, "grading it needs more memory than the rules allow")
    except TrecevalError as error:  # its record cannot be written: that is about us, not about the submission
        return error
    except Exception as error:  # noqa: BLE001
        # A defect of ours that a submission found must not stop the others; it is told, and not kept.
        return failed(job, f"grading stopped at an error of treceval_py: {type(error).__name__}: {error}"[:300])


def main() -> None:
    """Take the setup, then submissions one by one, until there are no more."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # whom we work for ends us
    _end_with(os.getppid())
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what anything prints is no message

    def tell(message: object) -> None:
        pickle.dump(message, outgoing)
        outgoing.flush()

    messages = _messages(incoming)
    setup: Setup = next(messages)
    try:
        grader = Grader(setup.assignment)
    except TrecevalError as error:
        tell(error)
        return
    _bound(setup.memory)
    tell(None)
    for job in messages:
        tell(_answered(job, grader, setup))
