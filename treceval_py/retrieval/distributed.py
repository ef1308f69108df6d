"""Work on a Ray cluster; if a node dies, only its current tasks are lost.

Each device of the cluster gets an actor, bound to its node. A process that dies is started again there by Ray, and its
tasks are tried again; when a node dies, its tasks go to others. Texts and vectors travel: only this process reads the
collection and writes shards, and the nodes need the package and the model.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py._types import FloatArray32
from treceval_py.errors import RunnerError, TrecevalError
from treceval_py.retrieval.hub import INSTALL_RAY, first_line
from treceval_py.retrieval.tasks import Advance, Maker, Place, Places, Task, Worker, do
from treceval_py.retrieval.vectors import ArrayVectors, Vectors, block_rows

if TYPE_CHECKING:
    from treceval_py.retrieval.exact import Found

TAKES = 4
"""Number of processes that a task may bring down before it is given up."""

GLANCE = 1.0
"""Seconds between checks of the progress of tasks and of which nodes are alive."""


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
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except Exception as error:
        unreachable = f"no Ray cluster at {address}: {first_line(error)}"
        todo = "Start one with `ray start --head` and give its HOST:PORT, or use local."
        raise RunnerError(unreachable, todo) from error
    try:
        yield ray
    finally:
        ray.shutdown()


class _Actor:
    """What Ray starts for each device. Its worker is made when it is first needed, so that errors come with a task."""

    def __init__(self, maker: Maker) -> None:
        self._maker = maker
        self._worker: Worker | None = None
        self._number, self._told = -1, 0

    def start(self) -> tuple[str, ...]:
        """Make the worker, and return its notes."""
        if self._worker is None:
            import ray

            # Ray shows each process the GPU that it was given and no other, but all of them to one without.
            given = ray.get_runtime_context().get_accelerator_ids().get("GPU")
            self._worker = self._maker("cuda:0" if given else "cpu")
        return self._worker.notes

    def work(self, number: int, content: Any) -> tuple[Any, dict[str, object], tuple[str, ...]]:
        """Do a task; return the result, who did it, and notes."""
        self.start()
        assert self._worker is not None
        self._number, self._told = number, 0
        result = do(self._worker, content, self._advance)
        return result, self._worker.by, self._worker.notes

    def _advance(self, count: int) -> None:
        self._told += count

    def told(self) -> tuple[int, int]:
        """Return the number of the present task, and how much of it was done since the last call."""
        told, self._told = self._told, 0
        return self._number, told


class _Place(Place):
    """An actor, bound to its node."""

    def __init__(self, handle: Any, node: str) -> None:
        super().__init__(handle.start.remote())
        self.handle = handle
        self.node = node

    def give(self, task: Task) -> None:
        """Send it a task."""
        self.tasks[self.handle.work.remote(task.number, task.content)] = task


class RayPool(Places):
    """Workers on the devices of a Ray cluster: `tasks.Pool`. Their results cannot be written to.

    Nodes that join later get workers too.

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
        There is no cluster, a worker cannot be made, or there is no node for one.
    """

    def __init__(self, maker: Maker, address: str = "auto", *, gpus: bool = True) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(connected(address))
        self._maker = maker
        self._gpus = gpus
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the workers, whatever they are doing, and the connection with the cluster if this pool made it."""
        for key in list(self.places):
            self._ray.kill(self.places.pop(key).handle)
        self._stack.close()

    def look(self) -> None:
        """Drop the places on nodes that died, and make those on nodes that joined."""
        alive = self._alive()
        for key in [key for key in self.places if key[0] not in alive]:
            self.again += filter(None, self.places.pop(key).tasks.values())
        has = {name: node["Resources"] for name, node in alive.items()}
        gpus = self._gpus and any(devices.get("GPU") for devices in has.values())
        for node, devices in has.items():
            cores = int(devices.get("CPU", 0))
            count = min(int(devices.get("GPU", 0)), cores) if gpus else min(cores, 1)
            for number in range(count):
                if (node, number) not in self.places:
                    self.places[node, number] = self._place(node, cores // count, int(gpus))
        if not self.places:
            todo = "What is finished is kept: repeat the command to resume."
            raise RunnerError("the Ray cluster has no node left that could work", todo)

    def _alive(self) -> dict[str, dict[str, Any]]:
        """Return what Ray knows of each node that is alive."""
        return {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}

    def _place(self, node: str, cores: int, gpus: int) -> _Place:
        bound = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        options = {
            "num_cpus": cores, "num_gpus": gpus, "scheduling_strategy": bound, "max_restarts": -1,
            "max_task_retries": TAKES - 1, "concurrency_groups": {"progress": 1},
        }  # fmt: skip
        return _Place(self._ray.remote(**options)(_Actor).remote(self._maker), node)

    def wait(self, futures: list[Any]) -> Iterable[Any]:
        """Wait for actors; see `Places.wait`."""
        ready, _ = self._ray.wait(futures, timeout=GLANCE)
        return list(ready)

    def told(self, idle: bool) -> Iterator[tuple[Task, int]]:
        """Ask actors; when one is just dying, nobody says anything. See `Places.told`."""
        asked = [place for place in self.places.values() if idle and None not in place.tasks.values()]
        told = [place.handle.told.options(concurrency_group="progress").remote() for place in asked]
        with suppress(self._ray.exceptions.RayError):
            for place, (number, count) in zip(asked, self._ray.get(told, timeout=GLANCE), strict=True):
                yield from ((task, count) for task in place.tasks.values() if task.number == number)

    def answer(self, place: _Place, future: Any) -> Any:
        """Return an answer, or raise what went wrong; see `Places.answer`."""
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(future)
        except exceptions.RayTaskError as error:
            if isinstance(error.cause, TrecevalError):
                raise error.cause from None
            raise RuntimeError(f"a process of the Ray cluster failed\n{error}") from None
        except exceptions.RayError as error:
            node = self._alive().get(place.node)
            if node is not None and not isinstance(error, exceptions.ObjectLostError):
                failure = f"the process on {node['NodeManagerHostname']} died {TAKES} times at the same task"
                raise RunnerError(failure, "It may need more memory: give a smaller --batch-size.") from error
            return None


def search_with_ray(
    vectors: Vectors, queries: FloatArray32, k: int, similarity: str, advance: Advance = lambda _: None
) -> Found:
    """Find the k best vectors for each query on the cores of the Ray cluster that is connected, block by block.

    Parameters
    ----------
    vectors : Vectors
        The D vectors to search in; this process reads them, a few blocks ahead.
    queries : (Q, E) float32 array
        The vectors of the queries.
    k : int
        Number to find for each query.
    similarity : str
        As for `exact.search`.
    advance : callable, optional
        Called after each block with the number of vectors that were searched.

    Returns
    -------
    Found
        To the bit what `exact.search` finds here.

    Raises
    ------
    RunnerError
        As of `exact.search`; or there is no cluster, or no node of it is left.
    """
    from treceval_py.retrieval.exact import Found, load_faiss, merge, prepared_queries

    load_faiss()
    prepared_queries(queries, vectors.dimensions, k, similarity)
    shape = (len(queries), k)
    best = Found(np.full(shape, -np.inf, dtype=np.float32), np.full(shape, -1, dtype=np.int64))
    pool = RayPool(partial(_Searcher, queries, k, similarity), gpus=False)
    blocks = vectors.blocks(block_rows(vectors.dimensions))
    try:
        # Copies, as a task that is lost with a node is handed out again when later blocks have been read.
        for done in pool.run((Task(first, (first, block.copy()), len(block)) for first, block in blocks), advance):
            best = merge([best, done.result], k)
    finally:
        pool.close()
    return best


class _Searcher:
    """Searches blocks, on a node."""

    notes: tuple[str, ...] = ()

    def __init__(self, queries: FloatArray32, k: int, similarity: str, _: str) -> None:
        self.by: dict[str, object] = {}
        self._sought = queries, k, similarity

    def work(self, content: tuple[int, FloatArray32], _: Advance) -> Found:
        from treceval_py.retrieval.exact import search

        first, block = content
        return search(ArrayVectors(block, first), *self._sought)
