"""Encoding and exact search on a Ray cluster, where a node that dies costs what it was at and no more.

Encoding goes through Ray Data, with an actor for each device. What travels through the data set is a ticket for a
chunk, not its texts: Ray Data has no source that a generator of this process feeds, and a ticket is so small that Ray
keeps it in this process, where the death of a node cannot lose it. The texts lie at a desk, an actor on this machine,
where whoever has a ticket fetches them. So there are never more chunks in memory than `RayPool.ahead` allows,
and a chunk whose holder dies is handed out again.

Only this process reads texts and writes shards; the nodes need the package, the model and no shared files.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from treceval_py import errors
from treceval_py.errors import RunnerError, TrecevalError
from treceval_py.retrieval.pools import Encoded

if TYPE_CHECKING:
    from treceval_py.io.texts import Chunk
    from treceval_py.retrieval.exact import Found
    from treceval_py.retrieval.models import Model, Settings, Side
    from treceval_py.retrieval.vectors import FloatArray32, Vectors

__all__ = ["EncoderLike", "ModelEncoder", "RayPool", "connected", "connect", "disconnect", "search_with_ray"]

INSTALL = "pip install 'treceval-py[ray]'"
"""What brings the packages of this module."""

TAKES = 4
"""How often a chunk may bring down the process that encodes it before it is given up."""

KEPT = "What is finished is kept: the same call goes on from there."
"""What can be done when a cluster fails."""

GLANCE = 0.5
"""Seconds between two looks at whether all nodes are alive."""


class EncoderLike(Protocol):
    """What encodes texts on one device, as `encoding.Encoder` does."""

    notes: tuple[str, ...]
    """What people should know."""

    @property
    def by(self) -> dict[str, object]:
        """Who makes the vectors, as plain JSON."""
        ...

    def encode(self, texts: list[str], *, side: Side, ids: Sequence[str] | None = None) -> FloatArray32:
        """Return the vectors of n texts, (n, E) float32; the ids are for messages."""
        ...


class ModelEncoder(NamedTuple):
    """What makes the encoder on a node: it travels there, and the model's folder is looked up there.

    Attributes
    ----------
    model : Model
        As it was found here.
    settings : Settings
        What decides the vectors.
    batch_size : int, optional
        Texts that are encoded at once; by default what suits the node's device.
    """

    model: Model
    settings: Settings
    batch_size: int | None = None

    def __call__(self) -> EncoderLike:
        """Load the model on the device that Ray gave this process.

        Returns
        -------
        EncoderLike
            The encoder.

        Raises
        ------
        RunnerError
            The model's folder is not on this node, or the model cannot be used.
        """
        import socket

        import ray  # type: ignore[import-untyped,import-not-found,unused-ignore]

        from treceval_py.retrieval.devices import default_batch_size, devices_for
        from treceval_py.retrieval.encoding import Encoder

        if not os.path.isdir(self.model.folder):
            raise RunnerError(
                f"the node {socket.gethostname()} has no folder {self.model.folder}, where the model should be",
                "Copy the model to the same path on each node.",
            )
        # Ray shows each process the GPU that it was given and no other; but all of them to one that was given none.
        given = ray.get_runtime_context().get_accelerator_ids().get("GPU")
        (device,) = devices_for(["cuda:0" if given else "cpu"])
        return Encoder(
            self.model, self.settings, device=device, batch_size=self.batch_size or default_batch_size(device)
        )


def _model_encoder(model: Model | None, settings: Settings | None, batch_size: int | None) -> Callable[[], EncoderLike]:
    if model is None or settings is None:
        raise RunnerError("a Ray pool needs a model and its settings, or what makes an encoder", "Give both.")
    return ModelEncoder(model, settings, batch_size).__call__


def connect(address: str) -> bool:
    """Connect this process with a Ray cluster, or start one of this machine's cores.

    Parameters
    ----------
    address : str
        ``local`` starts Ray here; ``auto`` is the cluster that this machine belongs to; else ``HOST:PORT`` of one.

    Returns
    -------
    bool
        Whether the connection is new; False where this process is connected already, whatever the address is.

    Raises
    ------
    RunnerError
        The package is missing, or there is no such cluster.
    """
    # Ray reads them when it is imported. Nobody who encodes passages asked for statistics to be sent anywhere, and what
    # goes wrong with a cluster is told here, not by Ray's own remarks on standard error.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    ray = _ray()
    if ray.is_initialized():
        return False
    _check_address(address)
    options = {"include_dashboard": False} if address == "local" else {}
    _silence()
    try:
        with _no_stderr():
            ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except Exception as error:
        raise _no_cluster(address, _first_line(error)) from error
    _silence()
    return True


def _silence() -> None:
    """Keep Ray from telling on the terminal what becomes of its tasks: standard output is not its own."""
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # What nodes report is printed even with log_to_driver=False, and there is no setting against it.
    with suppress(ImportError, AttributeError):
        from ray._private import worker  # type: ignore[import-untyped,import-not-found,unused-ignore]

        if callable(worker.print_to_stdstream):
            worker.print_to_stdstream = lambda *_, **__: None


@contextmanager
def _no_stderr() -> Iterator[None]:
    """Close the ears for a moment: Ray's C++ says on standard error that it heard of the log level."""
    try:
        before = os.dup(2)
    except OSError:  # there is none
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def disconnect() -> None:
    """End the connection with the cluster; a cluster that `connect` started ends with it."""
    _ray().shutdown()


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Hold a connection with a Ray cluster; one that was there before stays.

    Parameters
    ----------
    address : str
        As for `connect`.

    Yields
    ------
    None
        While connected.
    """
    new = connect(address)
    try:
        yield
    finally:
        if new:
            disconnect()


def _ray() -> Any:
    try:
        import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: F401
        import ray  # type: ignore[import-untyped,import-not-found,unused-ignore]
        import ray.data  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as error:
        name = (error.name or "ray").partition(".")[0]
        raise RunnerError(f"Ray needs the package {name}, which is not installed", INSTALL) from None
    return ray


def _check_address(address: str) -> None:
    """Refuse at once what Ray would try to reach for minutes."""
    import socket

    # `auto` may be answered by the variable, as Ray does.
    place = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    if place in ("", "auto", "local"):
        return
    host, colon, port = place.rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        raise RunnerError(
            f"{place} is no address of a Ray cluster",
            "Give local, auto or HOST:PORT, and start this on a machine of the cluster.",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(place, str(error)) from None


def _no_cluster(address: str, why: str) -> RunnerError:
    return RunnerError(
        f"no Ray cluster at {address}: {why.rstrip('.')}",
        "Start one with `ray start --head`, or use local.",
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class _Places(NamedTuple):
    """How many processes encode, and what each of them gets."""

    processes: int
    cpus: int
    gpus: int


def _places(cpus: int | None) -> _Places:
    """Count the processes that fit: one a GPU, or one for every so many cores where there is no GPU."""
    nodes = [node["Resources"] for node in _ray().nodes() if node["Alive"]]
    gpus = sum(int(min(node.get("GPU", 0), node.get("CPU", 0))) for node in nodes)
    if gpus:
        return _Places(gpus, 1, 1)
    cores = [int(node.get("CPU", 0)) for node in nodes]
    # A process as large as the smallest node fits on each of them.
    each = cpus or min((count for count in cores if count), default=1)
    places = _Places(sum(count // each for count in cores), each, 0)
    if not places.processes:
        raise RunnerError(f"no node of the Ray cluster has a GPU or {each} cores", "Start Ray on machines that have.")
    return places


def _this_node() -> str:
    node: str = _ray().get_runtime_context().get_node_id()
    return node


class _Texts(NamedTuple):
    """What travels of a chunk."""

    ids: list[str]
    texts: list[str]


class _Desk:
    """An actor on this machine that hands out tickets and texts, and knows who has which.

    A ticket that was lost is handed out again; whoever comes with a ticket that somebody else has, or that is done,
    goes away with nothing. All its methods run in one event loop, so that none sees another half done.
    """

    def __init__(self) -> None:
        self._news = asyncio.Condition()
        self._issued: list[int] = []
        self._closed = False
        self._texts: dict[int, _Texts] = {}
        self._takes: dict[int, int] = {}
        self._holders: dict[int, str] = {}
        self._actors: dict[str, tuple[str, Any]] = {}
        self._dead: set[str] = set()

    async def add(self, ticket: int, texts: _Texts) -> None:
        """Issue a ticket for texts."""
        self._texts[ticket] = texts
        await self._issue([ticket])

    async def close(self) -> None:
        """Issue no more tickets."""
        self._closed = True
        await self._issue([])

    async def _issue(self, tickets: list[int]) -> None:
        async with self._news:
            self._issued.extend(tickets)
            self._news.notify_all()

    async def issued(self, position: int) -> int | None:
        """Return the ticket at a position as soon as there is one; None at the end.

        Asking twice gives the same answer, as Ray may start the reading of tickets again.
        """
        async with self._news:
            await self._news.wait_for(lambda: position < len(self._issued) or self._closed)
        return self._issued[position] if position < len(self._issued) else None

    async def take(self, ticket: int, actor: str, node: str, handle: Any) -> tuple[_Texts | None, int]:
        """Return the texts of a ticket and how often they were taken; None when there is nothing to do."""
        self._actors[actor] = (node, handle)
        holder = self._holders.get(ticket)
        if ticket not in self._texts or not (holder in (None, actor) or self._is_gone(holder)):
            return None, 0
        self._holders[ticket] = actor
        self._takes[ticket] = self._takes.get(ticket, 0) + 1
        return self._texts[ticket], self._takes[ticket]

    async def done(self, ticket: int) -> None:
        """Forget the texts of a ticket, whose vectors arrived."""
        for kept in (self._texts, self._takes, self._holders):
            kept.pop(ticket, None)

    async def lost(self, nodes: set[str]) -> None:
        """Issue again whatever may have been lost with nodes that died."""
        self._dead |= nodes
        await self._issue([ticket for ticket in self._texts if self._is_gone(self._holders.get(ticket))])

    def _is_gone(self, actor: str | None) -> bool:
        """Say whether nobody has it: a ticket without a holder may be in the queue of one that died."""
        return actor is None or self._actors[actor][0] in self._dead

    async def actors(self, only_dead: bool) -> list[Any]:
        """Return the processes that took a ticket; on request those on dead nodes, which Ray wants to restart."""
        return [handle for node, handle in self._actors.values() if not only_dead or node in self._dead]


class _Worker:
    """What Ray Data starts for each device: it turns tickets into vectors.

    The encoder is made with the first ticket and not before, so that its errors travel as all others do: as a row.
    """

    def __init__(self, desk: Any, make: Callable[[], EncoderLike], side: Side) -> None:
        import socket

        import ray

        context = ray.get_runtime_context()
        self._ray = ray
        self._desk = desk
        self._make = make
        self._side = side
        self._encoder: EncoderLike | None = None
        self._handle = context.current_actor
        self._who = (context.get_actor_id(), context.get_node_id())
        self._host = socket.gethostname()

    def __call__(self, batch: Any) -> Any:
        ticket = batch.column("ticket")[0].as_py()
        try:
            texts, takes = self._ray.get(self._desk.take.remote(ticket, *self._who, self._handle))
            if texts is None:
                return _row(ticket)
            if takes > TAKES:
                raise RunnerError(
                    f"the process that encodes died {TAKES} times at the same {len(texts.texts)} texts, "
                    f"the last time on {self._host}",
                    "It may need more memory: use a smaller batch size.",
                )
            if self._encoder is None:
                self._encoder = self._make()
            vectors = self._encoder.encode(texts.texts, side=self._side, ids=texts.ids)
            return _row(ticket, vectors=vectors, by=self._encoder.by, notes=self._encoder.notes)
        except TrecevalError as error:
            return _row(ticket, problem=[type(error).__name__, error.what, error.todo, error.file, error.line])
        except Exception:  # noqa: BLE001 - a bug, which is shown there
            return _row(ticket, problem=[self._host, traceback.format_exc()])


def _row(
    ticket: int,
    *,
    vectors: FloatArray32 | None = None,
    by: dict[str, object] | None = None,
    notes: Sequence[str] = (),
    problem: list[Any] | None = None,
) -> Any:
    """Return what a worker says about a ticket, as a table of one row; the vectors are not copied."""
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    vectors = np.empty((0, 0), dtype=np.float32) if vectors is None else np.ascontiguousarray(vectors, dtype=np.float32)
    ends = np.array([0, vectors.nbytes], dtype=np.int64)
    # The bytes of a chunk may be more than the 2 GB that other columns hold.
    packed = pa.Array.from_buffers(pa.large_binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(vectors)])
    texts = {"by": json.dumps(by), "notes": json.dumps(list(notes)), "problem": json.dumps(problem)}
    numbers = {"ticket": ticket, "rows": vectors.shape[0], "dimensions": vectors.shape[1]}
    columns = {name: pa.array([number], pa.int64()) for name, number in numbers.items()}
    return pa.table({**columns, "vectors": packed, **{name: pa.array([text]) for name, text in texts.items()}})


class _Answer(NamedTuple):
    """What came back for a ticket; no vectors where somebody else has it."""

    ticket: int
    vectors: FloatArray32 | None
    by: dict[str, object]
    notes: list[str]


def _answer(table: Any) -> _Answer:
    """Read the row of a worker; raise what it met."""
    problem, by, notes = (json.loads(table.column(name)[0].as_py()) for name in ("problem", "by", "notes"))
    if problem is not None and len(problem) == 2:
        raise RuntimeError(f"the process on {problem[0]} failed\n{problem[1]}")
    if problem is not None:
        kind, what, todo, file, line = problem
        raise getattr(errors, kind, RunnerError)(what, todo, file=file, line=line)
    ticket, rows, dimensions = (table.column(name)[0].as_py() for name in ("ticket", "rows", "dimensions"))
    if by is None:
        return _Answer(ticket, None, {}, [])
    vectors = np.frombuffer(table.column("vectors")[0].as_buffer(), dtype=np.float32).reshape(rows, dimensions)
    return _Answer(ticket, vectors, by, notes)


def _dataset(desk: Any, make: Callable[[], EncoderLike], side: Side, places: _Places) -> Any:
    """Return the data set that reads tickets from the desk and turns them into rows of vectors."""
    ray = _ray()
    from ray.data.block import BlockMetadata  # type: ignore[import-untyped,import-not-found,unused-ignore]

    def tickets() -> Iterator[Any]:
        import pyarrow as pa

        position = 0
        while (ticket := ray.get(desk.issued.remote(position))) is not None:
            yield pa.table({"ticket": pa.array([ticket], pa.int64())})
            position += 1

    class Tickets(ray.data.Datasource):  # type: ignore[misc,name-defined,unused-ignore]
        def get_read_tasks(self, *_: object, **__: object) -> list[Any]:
            about = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
            return [ray.data.ReadTask(tickets, about)]

        def estimate_inmemory_data_size(self) -> int | None:
            return None

    with ray.data.DataContext.current(_quiet(ray.data.DataContext.get_current().copy())):
        # Without a core of its own, and here, where nothing outlives this process.
        read = ray.data.read_datasource(
            Tickets(), override_num_blocks=1, num_cpus=0, label_selector={"ray.io/node-id": _this_node()}
        )
        return read.map_batches(
            _Worker,
            fn_constructor_args=(desk, make, side),
            batch_size=1,
            batch_format="pyarrow",
            # One ticket at a time: what waits in the queue of a process dies with it.
            compute=ray.data.ActorPoolStrategy(size=places.processes, max_tasks_in_flight_per_actor=1),
            num_cpus=places.cpus,
            num_gpus=places.gpus,
        )


def _quiet(context: Any) -> Any:
    """Make Ray Data silent, and each row a block of its own that travels as soon as it is there."""
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.target_max_block_size = 1
    context.issue_detectors_config.detectors = []
    return context


class _Watch:
    """Looks now and then at which nodes are alive.

    Parameters
    ----------
    wanted : dict
        What a node must have to be of use, such as ``{"CPU": 1}``.
    """

    def __init__(self, wanted: dict[str, int]) -> None:
        self._wanted = wanted
        self._looked = time.monotonic()
        self._alive = {node["NodeID"] for node in _ray().nodes() if node["Alive"]}

    def died(self) -> set[str]:
        """Return the nodes that died since the last look; raise an error when none of use is left."""
        if time.monotonic() - self._looked < GLANCE:
            return set()
        alive = {node["NodeID"]: node["Resources"] for node in _ray().nodes() if node["Alive"]}
        dead = self._alive - alive.keys()
        self._alive = set(alive)
        self._looked = time.monotonic()
        if not any(all(has.get(name, 0) >= least for name, least in self._wanted.items()) for has in alive.values()):
            raise RunnerError("no node of the Ray cluster is left that could work", KEPT)
        return dead


class _Encoding:
    """One data set at work: tickets go in, answers come out, and nodes are looked after."""

    def __init__(self, make: Callable[[], EncoderLike], side: Side, places: _Places) -> None:
        self._ray = _ray()
        self._desk = self._ray.remote(num_cpus=0, label_selector={"ray.io/node-id": _this_node()})(_Desk).remote()
        self._watch = _Watch({"GPU": places.gpus, "CPU": places.cpus})
        self._results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._coming: list[Any] = []
        dataset = _dataset(self._desk, make, side, places)
        # Waiting for a data set cannot be interrupted by a look at the nodes, so somebody else waits.
        self._thread = threading.Thread(target=_pass_on, args=(dataset, self._results), daemon=True)
        self._thread.start()

    def add(self, chunk: Chunk) -> None:
        """Hand in the texts of a chunk."""
        self._ray.get(self._desk.add.remote(chunk.number, _Texts(chunk.ids, chunk.texts)))

    def done(self, ticket: int) -> None:
        """Say that the vectors of a ticket are here."""
        self._desk.done.remote(ticket)

    def answer(self) -> _Answer:
        """Wait for the next answer; meanwhile hand out again what dies with a node."""
        while True:
            self._drain()
            ready: list[Any] = []
            if self._coming:
                ready, self._coming = self._ray.wait(self._coming, num_returns=1, timeout=GLANCE)
            for ref in ready:
                # What was lost with its node is handed out again as soon as the node is known to be dead.
                with suppress(self._ray.exceptions.ObjectLostError):
                    return _answer(self._ray.get(ref))
            if dead := self._watch.died():
                self._ray.get(self._desk.lost.remote(dead))

    def _drain(self) -> None:
        """Take the results that the data set has; wait for one when there is nothing else to wait for."""
        with suppress(queue.Empty):
            result = self._results.get(timeout=GLANCE) if not self._coming else self._results.get_nowait()
            while True:
                if result is None or isinstance(result, Exception):
                    why = "it ended early" if result is None else f"{type(result).__name__}: {_first_line(result)}"
                    raise RunnerError(f"Ray Data cannot encode: {why}", KEPT) from result
                self._coming.append(result)
                result = self._results.get_nowait()

    def close(self, at_once: bool) -> None:
        """End the data set: when all is done, or at once, with what is being encoded."""
        with suppress(self._ray.exceptions.RayError):
            self._desk.close.remote()
            # Ray waits for ever for a process to start again whose node is gone; it need not.
            for actor in self._ray.get(self._desk.actors.remote(not at_once), timeout=10):
                self._ray.kill(actor)
        self._thread.join(timeout=30)
        self._ray.kill(self._desk)


def _pass_on(dataset: Any, results: queue.SimpleQueue[Any]) -> None:
    """Run a data set and pass on where its blocks are; at the end None, or what went wrong."""
    try:
        for bundle in dataset.iter_internal_ref_bundles():
            for block in bundle.blocks:
                results.put(block.ref)
        results.put(None)
    except Exception as error:  # noqa: BLE001 - it is raised where somebody waits for results
        results.put(error)


class RayPool:
    """Encodes on the devices of a Ray cluster: `treceval_py.retrieval.pools.Pool`.

    Parameters
    ----------
    model : Model or None
        From `models.find_model`; its folder must be at the same path on each node.
    settings : Settings or None
        From `models.settings_for`.
    address : str
        As for `connect`; a connection that is there already is used.
    batch_size : int, optional
        Texts that are encoded at once; by default what suits each node's device.
    cpus : int, optional
        Cores for each process where there are no GPUs; by default those of the smallest node.
    encoder : callable, optional
        What makes an encoder on a node, in place of model and settings. It must pickle.

    Raises
    ------
    RunnerError
        There is no cluster, or none that could encode.
    """

    def __init__(
        self,
        model: Model | None,
        settings: Settings | None,
        *,
        address: str = "auto",
        batch_size: int | None = None,
        cpus: int | None = None,
        encoder: Callable[[], EncoderLike] | None = None,
    ) -> None:
        self._make = encoder or _model_encoder(model, settings, batch_size)
        self._closed = False
        self._connected = connect(address)
        try:
            self._places = _places(cpus)
        except BaseException:
            self.close()
            raise
        self.notes: tuple[str, ...] = ()

    @property
    def ahead(self) -> int:
        """Return how many chunks are in memory at most: one at work and one that waits for each device."""
        return 2 * self._places.processes

    def encode(self, chunks: Iterable[Chunk], side: Side, advance: Callable[[int], None]) -> Iterator[Encoded]:
        """Encode chunks on the cluster, each by whoever is free.

        Parameters
        ----------
        chunks : iterable of Chunk
            What to encode; it is read `ahead` of what is done and no further.
        side : str
            ``passages`` or ``queries``.
        advance : callable
            Is told the number of texts that are done.

        Yields
        ------
        Encoded
            Each chunk with its vectors, which cannot be written to; in any order.

        Raises
        ------
        RunnerError
            The model is not on a node or cannot be used there, or no node is left.
        """
        if self._closed:
            raise RunnerError("the pool is closed", "Make another.")
        source = iter(chunks)
        waiting = {chunk.number: chunk for chunk in islice(source, self.ahead)}
        if not waiting:
            return
        encoding = _Encoding(self._make, side, self._places)
        at_once = True
        try:
            for chunk in waiting.values():
                encoding.add(chunk)
            while waiting:
                answer = encoding.answer()
                # A chunk that was handed out again may come twice.
                if answer.vectors is None or answer.ticket not in waiting:
                    continue
                chunk = waiting.pop(answer.ticket)
                encoding.done(chunk.number)
                self.notes = tuple(dict.fromkeys((*self.notes, *answer.notes)))
                for following in islice(source, 1):
                    waiting[following.number] = following
                    encoding.add(following)
                advance(len(chunk.texts))
                yield Encoded(chunk, answer.vectors, answer.by)
            at_once = False
        finally:
            encoding.close(at_once)

    def close(self) -> None:
        """End the connection with the cluster, if this pool made it."""
        self._closed = True
        if self._connected:
            self._connected = False
            disconnect()


def search_with_ray(
    vectors: Vectors,
    queries: FloatArray32,
    k: int,
    similarity: str,
    advance: Callable[[int], None] | None = None,
    *,
    address: str = "auto",
) -> Found:
    """Find the k best vectors for each query on a Ray cluster, a task for each block of vectors.

    Parameters
    ----------
    vectors : Vectors
        The D vectors to search in; this process reads them, a few blocks ahead.
    queries : (Q, E) float32 array
        The vectors of the queries.
    k : int
        How many to find for each query.
    similarity : str
        As for `exact.search`.
    advance : callable, optional
        Is told after each block how many vectors were searched.
    address : str
        As for `connect`; a connection that is there already is used.

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
    nothing = (len(queries), k)
    best = Found(np.full(nothing, -np.inf, dtype=np.float32), np.full(nothing, -1, dtype=np.int64))
    with connected(address):
        for count, found in _searched(vectors, queries, k, similarity):
            best = merge([best, found], k)
            if advance is not None:
                advance(count)
    return best


def _searched(vectors: Vectors, queries: FloatArray32, k: int, similarity: str) -> Iterator[tuple[int, Found]]:
    """Yield the size of each block and what was found in it, in the order of the blocks."""
    from treceval_py.retrieval.vectors import block_rows

    ray = _ray()
    rows = block_rows(vectors.dimensions)
    shared = ray.put(queries)
    # The blocks lie in the memory of this machine, where no other node takes them along when it dies.
    task = ray.remote(num_cpus=1, max_retries=-1)(_search_block)
    flying: deque[tuple[int, Any, Any]] = deque()
    watch = _Watch({"CPU": 1})
    for first, block in vectors.blocks(rows):
        if len(flying) >= _blocks_at_once(4 * rows * vectors.dimensions):
            yield _landed(flying, watch)
        held = ray.put(block)
        flying.append((len(block), held, task.remote(first, held, shared, k, similarity)))
    while flying:
        yield _landed(flying, watch)


def _blocks_at_once(size: int) -> int:
    """Return how many blocks of some bytes are on their way at most: two a core, in half of the memory for them."""
    nodes = {node["NodeID"]: node["Resources"] for node in _ray().nodes() if node["Alive"]}
    cores = sum(int(has.get("CPU", 0)) for has in nodes.values())
    room = nodes.get(_this_node(), {}).get("object_store_memory", 0)
    return max(1, min(2 * cores, int(room / 2) // size))


def _landed(flying: deque[tuple[int, Any, Any]], watch: _Watch) -> tuple[int, Found]:
    """Wait for the oldest task; its block is kept until then, as Ray needs it should a node die."""
    ray = _ray()
    count, _, result = flying[0]
    while not ray.wait([result], timeout=GLANCE)[0]:
        watch.died()
    try:
        found = ray.get(result)
    except ray.exceptions.RayError as error:
        raise RunnerError(f"Ray cannot search: {_first_line(error)}", KEPT) from error
    flying.popleft()
    if isinstance(found, TrecevalError):
        raise found
    return count, found


def _search_block(
    first: int, block: FloatArray32, queries: FloatArray32, k: int, similarity: str
) -> Found | TrecevalError:
    """Search one block, on a node; an error is returned, as Ray would wrap one that is raised."""
    from treceval_py.retrieval.exact import search

    try:
        return search(_Block(first, block), queries, k, similarity)
    except TrecevalError as error:
        return error


class _Block:
    """A block as vectors that keep their positions among all."""

    def __init__(self, first: int, array: FloatArray32) -> None:
        self._first = first
        self._array = array

    @property
    def count(self) -> int:
        """How many vectors the block has."""
        return len(self._array)

    @property
    def dimensions(self) -> int:
        """How many dimensions they have."""
        return int(self._array.shape[1])

    def blocks(self, rows: int) -> Iterator[tuple[int, FloatArray32]]:  # noqa: ARG002 - it is one
        """Yield the block."""
        yield self._first, self._array
