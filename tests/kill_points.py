"""Runs `treceval retrieve` again and again in forks of itself, and kills them with SIGKILL at a point.

What takes seconds is imported once, and nothing is computed before a fork, so that there is one thread to be forked. The
first line of standard output is the status of making a tiny model, in the folder that is its argument, and the number
of threads. Then each line of standard input is a request in JSON (`Request`), and gets a line back (`Answer`).

A point is a moment between two steps of a run: before each change of a file or folder, in the middle of each piece that
is written, and at each report of progress. There are no others between which the disk looks different, but for
those inside of a system call.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple

GROUP = 8
"""Queries that are searched together, so that there are several groups."""

SHARD = 10
"""Texts in a shard: 22 shards of passages, the last one smaller, and 3 of queries."""

PATIENCE = 30.0
"""Seconds that processes of a killed one may take to end; they need some milliseconds."""

PAIRS = 20
"""Pairs that are scored together: two queries with 10 passages each."""

ENCODED = "KILL_POINTS_ENCODED"
"""The environment variable with the file that takes the ids of texts that are encoded, in other processes too."""

CHANGES = {"os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
"""What Python's audit events call changes of files and folders; ``open`` is looked at more closely."""


class Request(NamedTuple):
    """A run, and the point where it is killed, if it is.

    Attributes
    ----------
    arguments : list of str
        What follows ``treceval retrieve``.
    folder : str
        The folder in which changes are points.
    log : str
        Where files are written: ``log.points``, ``log.encoded`` and ``log.told``.
    stage : str
        The stage in which it is killed; ``""`` for the whole run.
    point : int, optional
        Which point of the stage, from 0; of those with the name, if it is given.
    name : str
        The name of the point.
    """

    arguments: list[str]
    folder: str
    log: str
    stage: str = ""
    point: int | None = None
    name: str = ""


class Answer(NamedTuple):
    """How a run ended.

    Attributes
    ----------
    status : int
        The exit status; -9 of what was killed.
    left : list of int
        Those that did not end with it.
    """

    status: int
    left: list[int]


class Points:
    """Counts the points of a run, writes them down, and kills the process at one of them."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._log = _appending(f"{request.log}.points")
        self._stage = ""
        self._reached = 0
        self._opened = ""
        self._lock = threading.Lock()

    def reach(self, name: str) -> None:
        """Be at a point: one thread encodes, another writes."""
        with self._lock:
            os.write(self._log, f"{self._stage}\t{name}\n".encode())
            if self._request.stage in {"", self._stage} and self._request.name in {"", name}:
                if self._reached == self._request.point:
                    os.kill(os.getpid(), signal.SIGKILL)
                self._reached += 1

    def enter(self, stage: str) -> None:
        """Begin a stage."""
        self._stage = stage
        self.reach("begin")

    def audit(self, event: str, given: tuple[Any, ...]) -> None:
        """Find the points among what Python is about to do."""
        if event == "open":
            path, mode, flags = given
            if isinstance(path, str) and _writes(mode, flags) and path.startswith(self._request.folder):
                self._opened = self._name(path)
                self.reach(f"open {self._opened}")
        elif event in CHANGES and isinstance(given[0], str):
            path, directory = given[0], given[-1]
            # What rmtree removes is named relative to an open folder.
            if path.startswith(self._request.folder) or (event in {"os.remove", "os.rmdir"} and directory != -1):
                self.reach(f"{event} {self._name(path)}")

    def install(self) -> None:
        """Be told of everything that is a point."""
        from treceval_py.corpora.reporting import Logbook

        watched: Any = Logbook
        make, begin, end = watched.__init__, watched.begin, watched.end

        def made(watch: Any, reporter: Any) -> None:
            make(watch, reporter)
            advance = watch.advance

            def advanced(count: int) -> None:
                advance(count)
                self.reach("advance")

            watch.advance = advanced

        def begun(watch: Any, stage: str, *rest: Any) -> None:
            begin(watch, stage, *rest)
            self.enter(stage)

        def ended(watch: Any) -> None:
            self.reach("end")
            end(watch)

        watched.__init__, watched.begin, watched.end = made, begun, ended
        opened = os.fdopen
        replaced: Any = os
        replaced.fdopen = lambda descriptor, mode="r", *rest: (
            Halves(descriptor, self._half) if mode == "wb" else opened(descriptor, mode, *rest)
        )
        sys.addaudithook(self.audit)

    def _half(self) -> None:
        self.reach(f"half of {self._opened}")

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self._request.folder) if os.path.isabs(path) else path


class Halves(io.RawIOBase):
    """A file that takes what is written in two halves, with a point between them."""

    def __init__(self, descriptor: int, between: Callable[[], None]) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._between = between

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        self._all(view[: len(view) // 2])
        self._between()
        self._all(view[len(view) // 2 :])
        return len(view)

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()

    def _all(self, view: memoryview) -> None:
        while view:
            view = view[os.write(self._descriptor, view) :]


def count_encoded(path: str) -> None:
    """Write the ids of texts to a file before they are encoded, and of pairs of a group that some are scored."""
    from treceval_py.retrieval.engines import Loaded

    log = _appending(path)
    loaded: Any = Loaded
    work = loaded.work

    def counted(self: Any, prepared: Any, *rest: Any) -> Any:
        _, ids, side = prepared
        if ids is None:
            os.write(log, b"pairs\n")
        elif isinstance(ids, list):  # otherwise they are texts that only try out the model
            os.write(log, "".join(f"{side}\t{each}\n" for each in ids).encode())
        return work(self, prepared, *rest)

    loaded.work = counted


def answer(request: Request) -> Answer:
    """Run the command in a fork."""
    child = os.fork()
    if child == 0:
        _run(request)
    _, status = os.waitpid(child, 0)
    return Answer(os.waitstatus_to_exitcode(status), _left(child))


def _run(request: Request) -> None:
    """Be the process that runs the command."""
    status = 70
    try:
        os.setpgid(0, 0)  # whatever it starts belongs to its group
        told = _appending(f"{request.log}.told")
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor, target in ((nothing, 0), (nothing, 1), (told, 2)):
            os.dup2(descriptor, target)
        os.environ[ENCODED] = f"{request.log}.encoded"
        count_encoded(os.environ[ENCODED])
        from treceval_py.cli.commands import run
        from treceval_py.retrieval import pipeline, reranking

        pipeline.GROUP, pipeline.SHARD_SIZE, reranking.PAIRS = GROUP, SHARD, PAIRS
        Points(request).install()
        status = run(["retrieve", *request.arguments])
    except Exception:  # noqa: BLE001 - whatever it is, the one who asked is to see it
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _left(group: int) -> list[int]:
    """Return the processes of a group that do not end by themselves, and end them."""
    until = time.monotonic() + PATIENCE
    while _has_members(group) and (members := _members(group)):
        if time.monotonic() > until:
            os.killpg(group, signal.SIGKILL)
            return members
        time.sleep(0.02)
    return []


def _has_members(group: int) -> bool:
    """Say whether a group has processes, among them those that ended and that nobody asked for."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _members(group: int) -> list[int]:
    """Return the processes of a group that have not ended."""
    import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]

    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def _writes(mode: str | None, flags: int) -> bool:
    if mode is None:
        return bool(flags & (os.O_WRONLY | os.O_RDWR))
    return any(letter in mode for letter in "wax+")


def _appending(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)


def main() -> None:
    """Import what is heavy, then answer requests."""
    import bm25s  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: F401
    import faiss  # noqa: F401
    import psutil
    import pyarrow.compute  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: F401
    import sentence_transformers.sentence_transformer.modules  # noqa: F401
    import transformers.models.bert.modeling_bert  # noqa: F401
    from tiny_models import make_tiny_model, make_tiny_reranker

    from treceval_py.cli.commands import run  # noqa: F401
    from treceval_py.retrieval import pipeline  # noqa: F401

    metadata.version("numpy")  # which lists the installed packages once for all forks
    child = os.fork()
    if child == 0:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        make_tiny_model(sys.argv[1])
        make_tiny_reranker(f"{sys.argv[1]}-reranker")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(json.dumps([status, psutil.Process().num_threads()]), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(Request(*json.loads(line)))), flush=True)
    os._exit(0)  # at once: nothing here needs to be tidied up


if __name__ == "__main__":
    main()
elif __name__ == "__mp_main__" and ENCODED in os.environ:
    # A process that encodes, started afresh, imports the program of the one that started it.
    count_encoded(os.environ[ENCODED])
