"""Encoding and search on a Ray cluster of two nodes, one of which is removed in the middle of the work.

What a cluster computes is compared with what this process computes, byte by byte, and with NumPy.
"""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

# Not `skip_without`: processes of Ray import this file, and find no other module of tests.
pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytest.importorskip("faiss", reason="the extra `retrieve` is not installed")

from treceval_py.errors import RunnerError
from treceval_py.io.reporting import Silent
from treceval_py.io.texts import Chunk
from treceval_py.retrieval import distributed, exact, vectors
from treceval_py.retrieval.distributed import ModelEncoder, RayPool, search_with_ray

# Ray Data warns of its own settings when it copies them.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*")]

STORE = 100_000_000


@pytest.fixture(scope="module")
def cluster():
    """A cluster with a head of one core, which this process is connected with."""
    distributed._ray()
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": STORE},
    )
    try:
        with distributed.connected(cluster.address):
            yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture
def second(cluster):
    """A second node of one core; a test may remove it."""
    node = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    cluster.wait_for_nodes()
    yield node
    if node in cluster.list_all_nodes():
        cluster.remove_node(node)


class Lengths(NamedTuple):
    """Makes an encoder whose vectors are the lengths of the texts and their places; it writes down what it does."""

    log: str
    seconds: float = 0.0

    def __call__(self) -> LengthsEncoder:
        return LengthsEncoder(self)


class LengthsEncoder:
    notes = ("Lengths say little.",)

    def __init__(self, made: Lengths) -> None:
        import ray

        self._made = made
        self.by = {"node": ray.get_runtime_context().get_node_id()}

    def encode(self, texts, *, side, ids=None):
        import time

        with open(self._made.log, "a") as log:
            log.write(f"{ids[0]}\n")
        time.sleep(self._made.seconds)
        return np.array([[len(text), place] for place, text in enumerate(texts)], dtype=np.float32)


class Raises(NamedTuple):
    """Makes nothing, but an error."""

    error: Exception

    def __call__(self):
        raise self.error


class Dies(NamedTuple):
    """Makes an encoder whose process dies as often as it is told to, and then works."""

    log: str
    times: int

    def __call__(self):
        with open(self.log, "a+") as log:
            log.write("made\n")
            log.seek(0)
            if len(log.readlines()) <= self.times:
                os._exit(1)
        return LengthsEncoder(Lengths(os.devnull))


def chunks_of(count: int, size: int = 3) -> Iterator[Chunk]:
    """Chunk number n has texts of n characters."""
    for number in range(count):
        yield Chunk(number, [f"{number}"] * size, ["x" * number] * size, "")


def expected(number: int, size: int = 3) -> list[list[float]]:
    return [[number, place] for place in range(size)]


def none(_: int) -> None:
    pass


class Seen(NamedTuple):
    """What was seen while twelve chunks were encoded by two nodes."""

    vectors: dict[int, list[list[float]]]
    nodes: set[str]
    told: list[int]
    ahead: list[int]
    pool: RayPool


@pytest.fixture(scope="module")
def seen(cluster, tmp_path_factory):
    node = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    cluster.wait_for_nodes()
    log = tmp_path_factory.mktemp("seen") / "log"
    seen = Seen({}, set(), [], [], RayPool(None, None, encoder=Lengths(str(log), 0.2)))

    def source() -> Iterator[Chunk]:
        for chunk in chunks_of(12):
            seen.ahead.append(chunk.number + 1 - len(seen.vectors))
            yield chunk

    for each in seen.pool.encode(source(), "passages", seen.told.append):
        seen.vectors[each.chunk.number] = each.vectors.tolist()
        seen.nodes.add(each.by["node"])
    cluster.remove_node(node)
    return seen


def test_every_chunk_comes_back_with_its_vectors(seen):
    assert seen.vectors == {number: expected(number) for number in range(12)}


def test_both_nodes_encode_and_say_so(seen):
    assert len(seen.nodes) == 2


def test_progress_is_told_by_chunks(seen):
    assert seen.told == [3] * 12


def test_notes_of_encoders_arrive_once(seen):
    assert seen.pool.notes == ("Lengths say little.",)


def test_texts_are_read_no_further_ahead_than_two_chunks_a_device(seen):
    # Two nodes of one core; the next is read when one has arrived and before it is handed on.
    assert seen.pool.ahead == 4
    assert max(seen.ahead) == 5


def test_nothing_to_encode_starts_nothing(cluster):
    assert list(RayPool(None, None, encoder=Raises(ValueError())).encode(iter(()), "passages", none)) == []


def test_a_node_that_dies_costs_its_unfinished_chunks_only(cluster, second, tmp_path):
    log = tmp_path / "log"
    pool = RayPool(None, None, encoder=Lengths(str(log), 0.3))
    found = {}
    before = []
    for each in pool.encode(chunks_of(16), "passages", none):
        found[each.chunk.number] = each.vectors.tolist()
        if len(found) == 6:
            before = list(found)
            cluster.remove_node(second)
    assert found == {number: expected(number) for number in range(16)}
    encoded = [int(line) for line in log.read_text().split()]
    again = [number for number in set(encoded) if encoded.count(number) > 1]
    assert not set(again) & set(before)
    # One device holds one chunk, and one whose vectors are still on their way.
    assert len(again) <= 2


def test_the_death_of_all_nodes_is_one_error_and_what_arrived_stays(cluster, tmp_path):
    only = cluster.add_node(num_cpus=2, object_store_memory=STORE)
    cluster.wait_for_nodes()
    pool = RayPool(None, None, encoder=Lengths(str(tmp_path / "log"), 0.2), cpus=2)
    found = []

    def encode() -> None:
        for each in pool.encode(chunks_of(8), "passages", none):
            found.append(each.chunk.number)
            if len(found) == 2:
                cluster.remove_node(only)

    with pytest.raises(RunnerError) as caught:
        encode()
    assert str(caught.value) == (
        "no node of the Ray cluster is left that could work. What is finished is kept: the same call goes on from there."
    )
    assert len(found) >= 2


def test_a_process_that_dies_is_started_again(cluster, tmp_path):
    pool = RayPool(None, None, encoder=Dies(str(tmp_path / "log"), 1))
    found = [each.vectors.tolist() for each in pool.encode(chunks_of(1), "passages", none)]
    assert found == [expected(0)]


def test_a_chunk_that_kills_every_process_is_given_up(cluster, tmp_path):
    pool = RayPool(None, None, encoder=Dies(str(tmp_path / "log"), 100))
    with pytest.raises(RunnerError) as caught:
        list(pool.encode(chunks_of(1), "passages", none))
    assert str(caught.value) == (
        f"the process that encodes died 4 times at the same 3 texts, the last time on {platform.node()}. "
        "It may need more memory: use a smaller batch size."
    )
    assert (tmp_path / "log").read_text().count("made") == 4


def test_an_error_of_ours_arrives_as_itself(cluster):
    pool = RayPool(None, None, encoder=Raises(RunnerError("too little", "Give more.", file="model", line=3)))
    with pytest.raises(RunnerError) as caught:
        list(pool.encode(chunks_of(2), "passages", none))
    assert str(caught.value) == "model:3: too little. Give more."


def test_a_bug_on_a_node_arrives_with_its_traceback(cluster):
    pool = RayPool(None, None, encoder=Raises(ZeroDivisionError("seven by nothing")))
    with pytest.raises(RuntimeError, match=rf"the process on {platform.node()} failed\nTraceback[^$]*seven by nothing"):
        list(pool.encode(chunks_of(2), "passages", none))


def test_who_stops_early_leaves_a_cluster_that_can_be_used(second, tmp_path):
    pool = RayPool(None, None, encoder=Lengths(str(tmp_path / "log"), 0.2))
    first = pool.encode(chunks_of(50), "passages", none)
    next(first)
    first.close()
    assert len(list(pool.encode(chunks_of(3), "passages", none))) == 3


def test_a_closed_pool_says_so(cluster, tmp_path):
    pool = RayPool(None, None, encoder=Lengths(str(tmp_path / "log")))
    pool.close()
    with pytest.raises(RunnerError, match=r"^the pool is closed\. Make another\.$"):
        list(pool.encode(chunks_of(1), "passages", none))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    pytest.importorskip("FlagEmbedding", reason="the extra `retrieve` is not installed")
    from tiny_models import make_tiny_model

    from treceval_py.retrieval.models import find_model, settings_for

    model = find_model(make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", words=("river", "sea", "bank")))
    return model, settings_for(model, pooling="mean")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_vectors_are_those_of_this_process_with_a_node_removed(cluster, second, tiny):
    from treceval_py.retrieval.pools import Here

    texts = [f"the river {number} runs to the sea by bank {number % 7}" for number in range(400)]
    parts = [Chunk(n, [f"d{i}" for i in range(20)], texts[20 * n : 20 * n + 20], "") for n in range(20)]
    here = {
        each.chunk.number: each.vectors.tobytes() for each in Here(*tiny, batch_size=8).encode(parts, "passages", none)
    }
    pool = RayPool(*tiny, batch_size=8)
    there = {}
    for each in pool.encode(iter(parts), "passages", none):
        there[each.chunk.number] = each.vectors.tobytes()
        if len(there) == 8:
            cluster.remove_node(second)
    assert there == here


class RemovesANode(Silent):
    """Follows the work, and removes a node when half of the passages are encoded."""

    def __init__(self, remove):
        self.stage, self.done, self.remove, self.removed = "", 0, remove, False

    def begin(self, stage, total, unit, done=0):
        self.stage, self.done = stage, done

    def advance(self, count):
        self.done += count
        if self.stage == "encode passages" and self.done >= 108 and not self.removed:
            self.removed = True
            self.remove()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("loss", [False, True])
def test_the_run_file_is_that_of_this_process_with_and_without_the_loss_of_a_node(
    cluster, second, tiny, tmp_path, loss
):
    """216 passages in shards of 20, encoded, searched and written: once here, once on two nodes."""
    from treceval_py.retrieval import Dense, Request, open_collection, retrieve

    collection = open_collection(str(Path(__file__).parent.parent / "data"))
    runs, reporter = [], RemovesANode(lambda: cluster.remove_node(second) if loss else None)
    for name, where in (("here", {"devices": ["cpu"]}), ("there", {"devices": [], "ray": cluster.address})):
        dense = Dense(*tiny, batch_size=8, shard_size=20, **where)
        request = Request(collection, str(tmp_path / f"{name}.txt"), str(tmp_path / name), dense, k=100, tag="t")
        done = retrieve(request, reporter if name == "there" else Silent())
        runs.append((tmp_path / f"{name}.txt").read_bytes())
    assert runs[0] == runs[1]
    assert runs[0].count(b"\n") == 3000
    assert reporter.removed
    assert done.record["taken_over"] == {"passages": 0, "queries": 0}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_computes_with_the_threads_of_its_cores(cluster, tiny):
    pool = RayPool(*tiny, batch_size=8)
    (each,) = pool.encode([Chunk(0, ["a"], ["the sea"], "")], "queries", none)
    assert each.by["threads"] == 1
    assert each.by["host"] == platform.node()


def test_a_model_that_is_not_on_the_node_is_named(cluster, tiny):
    model, settings = tiny
    elsewhere = ModelEncoder(model._replace(folder="/there/is/no/model"), settings)
    with pytest.raises(RunnerError) as caught:
        list(RayPool(None, None, encoder=elsewhere).encode(chunks_of(1), "passages", none))
    assert str(caught.value) == (
        f"the node {socket.gethostname()} has no folder /there/is/no/model, where the model should be. "
        "Copy the model to the same path on each node."
    )


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(vectors, "block_rows", lambda dimensions: 1024)


def whole_numbers(rows: int, seed: int) -> np.ndarray:
    """Products of small whole numbers are exact in float32, and many are equal."""
    return np.random.default_rng(seed).integers(-3, 4, (rows, 8)).astype(np.float32)


def test_search_finds_what_numpy_finds_with_ties_by_position(second, small_blocks):
    documents, queries = whole_numbers(5000, 0), whole_numbers(30, 1)
    found = search_with_ray(vectors.ArrayVectors(documents), queries, 100, "inner-product")
    products = queries.astype(int) @ documents.astype(int).T
    order = np.argsort(-products, axis=1, kind="stable")[:, :100]
    assert found.positions.tolist() == order.tolist()
    assert found.scores.tolist() == np.take_along_axis(products, order, axis=1).tolist()


@pytest.mark.parametrize("similarity", ["inner-product", "cosine", "l2"])
def test_search_is_that_of_this_process_to_the_bit(second, small_blocks, similarity):
    numbers = np.random.default_rng(2)
    documents = numbers.standard_normal((5000, 24)).astype(np.float32)
    queries = numbers.standard_normal((40, 24)).astype(np.float32)
    here = exact.search(vectors.ArrayVectors(documents), queries, 50, similarity)
    there = search_with_ray(vectors.ArrayVectors(documents), queries, 50, similarity)
    assert there.scores.tobytes() == here.scores.tobytes()
    assert there.positions.tobytes() == here.positions.tobytes()
    assert (there.scores.dtype, there.positions.dtype) == (here.scores.dtype, here.positions.dtype)


def test_search_goes_on_when_a_node_is_removed(cluster, second, small_blocks):
    numbers = np.random.default_rng(3)
    documents = numbers.standard_normal((20_000, 24)).astype(np.float32)
    # What a task returns is then too large to travel with its answer: it lies on the node, and is lost with it.
    queries = numbers.standard_normal((200, 24)).astype(np.float32)
    done = []

    def advance(count: int) -> None:
        done.append(count)
        if len(done) == 3:
            cluster.remove_node(second)

    there = search_with_ray(vectors.ArrayVectors(documents), queries, 100, "cosine", advance)
    here = exact.search(vectors.ArrayVectors(documents), queries, 100, "cosine")
    assert there.scores.tobytes() == here.scores.tobytes()
    assert there.positions.tobytes() == here.positions.tobytes()
    # 20,000 = 19 * 1024 + 544
    assert done == [1024] * 19 + [544]


def test_where_fewer_are_there_than_asked_for_the_rest_is_empty(cluster):
    found = search_with_ray(
        vectors.ArrayVectors(np.eye(2, dtype=np.float32)), np.eye(2, dtype=np.float32), 3, "inner-product"
    )
    assert found.positions.tolist() == [[0, 1, -1], [1, 0, -1]]
    assert found.scores.tolist() == [[1, 0, -np.inf], [1, 0, -np.inf]]


def test_a_vector_that_is_no_number_is_named_by_its_position_among_all(cluster, small_blocks):
    documents = whole_numbers(3000, 4)
    documents[2500, 3] = np.nan
    with pytest.raises(RunnerError) as caught:
        search_with_ray(vectors.ArrayVectors(documents), whole_numbers(2, 5), 3, "l2")
    assert str(caught.value).startswith("the vector at position 2500 (from 0) ")


def test_the_death_of_all_nodes_ends_a_search(tmp_path):
    """In a process of its own, as the cluster has a head without a core."""
    said = run_alone(
        f"""
        import numpy as np
        from ray.cluster_utils import Cluster
        from treceval_py.errors import RunnerError
        from treceval_py.retrieval import distributed, vectors
        vectors.block_rows = lambda dimensions: 1024
        store = {{"object_store_memory": {STORE}}}
        cluster = Cluster(initialize_head=True, head_node_args={{"num_cpus": 0, "include_dashboard": False, **store}})
        only = cluster.add_node(num_cpus=1, **store)
        rows = vectors.ArrayVectors(np.ones((20_000, 8), dtype=np.float32))
        kill = lambda count: cluster.worker_nodes and cluster.remove_node(only)
        try:
            with distributed.connected(cluster.address):
                distributed.search_with_ray(rows, np.ones((2, 8), dtype=np.float32), 5, "l2", kill)
        except RunnerError as error:
            print(error)
        cluster.shutdown()
        """,
        tmp_path,
    )
    assert said.stdout == (
        "no node of the Ray cluster is left that could work. "
        "What is finished is kept: the same call goes on from there.\n"
    )


def run_alone(program: str, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(program)]
    # Ray writes a token into the home folder when it starts.
    environment = {**os.environ, "HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)


def test_local_starts_ray_here_says_nothing_and_ends_it(tmp_path):
    said = run_alone(
        """
        import numpy as np
        from treceval_py.retrieval.distributed import RayPool
        from treceval_py.io.texts import Chunk

        class Lengths:
            notes, by = (), {}
            def encode(self, texts, *, side, ids=None):
                return np.array([[len(text)] for text in texts], dtype=np.float32)

        pool = RayPool(None, None, address="local", encoder=Lengths)
        for each in pool.encode([Chunk(0, ["a", "b"], ["12", "123"], "")], "passages", lambda count: None):
            print(each.vectors.tolist())
        pool.close()
        import ray
        print(ray.is_initialized())
        """,
        tmp_path,
    )
    assert (said.stdout, said.stderr) == ("[[2.0], [3.0]]\nFalse\n", "")


@pytest.fixture
def unconnected(monkeypatch):
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)


def test_a_port_where_nobody_listens_is_refused_at_once(unconnected):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        with pytest.raises(RunnerError) as caught:
            distributed.connect(f"127.0.0.1:{port}")
    assert str(caught.value) == (
        f"no Ray cluster at 127.0.0.1:{port}: [Errno 111] Connection refused. "
        "Start one with `ray start --head`, or use local."
    )


@pytest.mark.parametrize("address", ["ray://head:10001", "head", "http://head:8265", "head:port"])
def test_what_is_no_address_is_refused(unconnected, address):
    with pytest.raises(RunnerError) as caught:
        distributed.connect(address)
    assert str(caught.value) == (
        f"{address} is no address of a Ray cluster. Give local, auto or HOST:PORT, and start this on a machine of the "
        "cluster."
    )


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RunnerError) as caught:
        distributed.connect("local")
    assert str(caught.value) == "Ray needs the package ray, which is not installed. pip install 'treceval-py[ray]'"
