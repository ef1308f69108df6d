"""Encoding and search on a Ray cluster of two nodes, one of which is removed in the middle of the work.

What a cluster computes is compared with what this process computes, byte by byte, and with NumPy.
"""

from __future__ import annotations

import itertools
import os
import platform
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

# Not `skip_without`: processes of Ray import this file, and find no other module of tests.
pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytest.importorskip("faiss", reason="the extra `retrieve` is not installed")

from treceval_py.corpora.reporting import Silent
from treceval_py.errors import RunnerError
from treceval_py.retrieval import exact
from treceval_py.retrieval.exact import search_with_ray
from treceval_py.retrieval.pool import Actors, Places, Task, connected
from treceval_py.retrieval.vectors import StreamedVectors

pytestmark = pytest.mark.slow

STORE = 100_000_000


@pytest.fixture(scope="module")
def cluster():
    """A cluster that this process is connected with: a head without a core, and a node of one core."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        with connected(cluster.address):
            cluster.add_node(num_cpus=1, object_store_memory=STORE)
            cluster.wait_for_nodes()
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
    """Makes a worker that returns the lengths of texts and their places, and writes down what it does."""

    log: str
    seconds: float = 0.0

    def __call__(self, device: str) -> LengthsWorker:
        return LengthsWorker(self, device)


class LengthsWorker:
    notes = ("Lengths say little.",)

    def __init__(self, made: Lengths, device: str) -> None:
        import ray

        self._made = made
        self.by = {"node": ray.get_runtime_context().get_node_id(), "device": device, "process": os.getpid()}

    def prepare(self, content):
        return content

    def work(self, content, advance):
        number, texts = content
        with open(self._made.log, "a") as log:
            log.write(f"{number}\n")
        for _ in texts:
            time.sleep(self._made.seconds / len(texts))
            advance(1)
        return [[len(text), place] for place, text in enumerate(texts)]


class Raises(NamedTuple):
    """Makes nothing, but an error."""

    error: Exception

    def __call__(self, device):
        raise self.error


class Dies(NamedTuple):
    """Makes a worker whose process dies as often as it is told to, when it is made or at its work, and then works."""

    log: str
    times: int
    at_work: bool = False

    def __call__(self, device):
        if not self.at_work:
            self.die()
        return DiesWorker(self, device)

    def die(self) -> None:
        with open(self.log, "a+") as log:
            log.write("made\n")
            log.seek(0)
            if len(log.readlines()) <= self.times:
                os._exit(1)


class DiesWorker(LengthsWorker):
    def __init__(self, dies: Dies, device: str) -> None:
        super().__init__(Lengths(os.devnull), device)
        self._dies = dies

    def work(self, content, advance):
        if self._dies.at_work:
            self._dies.die()
        return super().work(content, advance)


def tasks_of(count: int, size: int = 3) -> Iterator[Task]:
    """Task number n has texts of n characters."""
    for number in range(count):
        yield Task(number, (number, ["x" * number] * size), size)


def expected(number: int, size: int = 3) -> list[list[int]]:
    return [[number, place] for place in range(size)]


def none(_: int) -> None:
    pass


@pytest.fixture
def pool_of():
    """Make pools, and close them at the end of the test."""
    made = []

    def make(maker) -> Places:
        made.append(Places(maker, Actors()))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


def test_both_nodes_do_all_tasks_of_two_calls_each_in_one_process(second, pool_of, tmp_path):
    results, by, told, ahead = {}, [], [], []
    pool = pool_of(Lengths(str(tmp_path / "log"), 0.4))

    def source(tasks) -> Iterator[Task]:
        for task in tasks:
            ahead.append(task.number + 1 - len(results))
            yield task

    tasks = list(tasks_of(12))
    for some in (tasks[:10], tasks[10:]):
        for each in pool.run(source(some), told.append):
            results[each.task.number] = each.result
            by.append(each.by)
    assert results == {number: expected(number) for number in range(12)}
    assert len({each["node"] for each in by}) == len({each["process"] for each in by}) == 2
    assert {each["device"] for each in by} == {"cpu"}
    assert (sum(told), min(told) >= 0) == (12 * 3, True)
    assert pool.notes == ("Lengths say little.",)
    # Two a node, and the next is read after one has arrived, which is then handed on.
    assert max(ahead) <= 5


def test_a_node_that_dies_costs_its_unfinished_tasks_only(cluster, second, pool_of, tmp_path):
    log = tmp_path / "log"
    pool = pool_of(Lengths(str(log), 0.3))
    found, before, told = {}, [], []
    for each in pool.run(tasks_of(16), told.append):
        found[each.task.number] = each.result
        if len(found) == 6:
            before = list(found)
            cluster.remove_node(second)
    assert found == {number: expected(number) for number in range(16)}
    assert sum(told) == 16 * 3
    done = [int(line) for line in log.read_text().split()]
    again = [number for number in set(done) if done.count(number) > 1]
    assert not set(again) & set(before)
    # One that was at work, and one whose result was still on its way.
    assert len(again) <= 2


def test_a_node_that_joins_gets_work(cluster, pool_of, tmp_path):
    nodes, joined = set(), None
    # However slowly the process there starts: there is work until it has done some, or for two minutes.
    tasks = itertools.takewhile(lambda _: len(nodes) < 2, tasks_of(400))
    for each in pool_of(Lengths(str(tmp_path / "log"), 0.3)).run(tasks, none):
        joined = joined or cluster.add_node(num_cpus=1, object_store_memory=STORE)
        nodes.add(each.by["node"])
    cluster.remove_node(joined)
    assert len(nodes) == 2


@pytest.mark.parametrize("at_work", [False, True])
def test_a_process_that_dies_three_times_is_started_again(cluster, pool_of, tmp_path, at_work):
    pool = pool_of(Dies(str(tmp_path / "log"), 3, at_work))
    assert [each.result for each in pool.run(tasks_of(1), none)] == [expected(0)]
    assert (tmp_path / "log").read_text().count("made") == 4


def test_what_kills_four_processes_is_given_up(cluster, pool_of, tmp_path):
    with pytest.raises(RunnerError) as caught:
        list(pool_of(Dies(str(tmp_path / "log"), 4, at_work=True)).run(tasks_of(1), none))
    assert str(caught.value) == (
        f"4 processes died at the same task, the last one on {platform.node()}. "
        "They may need more memory: give a smaller --batch-size."
    )
    assert (tmp_path / "log").read_text().count("made") == 4


def test_where_four_processes_die_as_they_start_the_run_ends(cluster, pool_of, tmp_path):
    with pytest.raises(RunnerError) as caught:
        pool_of(Dies(str(tmp_path / "log"), 100))
    assert str(caught.value) == (
        f"4 processes died while they started, the last one on {platform.node()}. "
        "They may need more memory: give a smaller --batch-size."
    )
    assert (tmp_path / "log").read_text().count("made") == 4


def test_an_error_of_ours_arrives_as_itself(cluster, pool_of):
    with pytest.raises(RunnerError) as caught:
        pool_of(Raises(RunnerError("too little", "Give more.", file="model", line=3)))
    assert str(caught.value) == "model:3: too little. Give more."


def test_a_bug_on_a_node_arrives_with_its_traceback(cluster, pool_of):
    with pytest.raises(RuntimeError, match=r"^a worker failed\n[^$]*in __call__[^$]*seven by nothing"):
        pool_of(Raises(ZeroDivisionError("seven by nothing")))


def test_who_stops_early_leaves_a_cluster_that_can_be_used(second, pool_of, tmp_path):
    pool = pool_of(Lengths(str(tmp_path / "log"), 0.2))
    first = pool.run(tasks_of(50), none)
    next(first)
    first.close()
    assert len(list(pool_of(Lengths(str(tmp_path / "log"))).run(tasks_of(3), none))) == 3


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    pytest.importorskip("sentence_transformers", reason="the extra `retrieve` is not installed")
    from tiny_models import make_tiny_model

    from treceval_py.retrieval.models import find_model, settings_for

    model = find_model(make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", words=("river", "sea", "bank")))
    return model, settings_for(model, pooling="mean")


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


def test_the_run_file_is_that_of_this_process_with_a_node_lost(cluster, second, tiny, tmp_path, monkeypatch):
    """216 passages in shards of 20, encoded, searched and written: once here, once on two nodes, of which one stays."""
    from treceval_py.retrieval import Dense, Request, open_collection, retrieve

    monkeypatch.setattr("treceval_py.retrieval.pipeline.SHARD_SIZE", 20)
    collection = open_collection(str(Path(__file__).parent.parent / "data"))
    runs, records, reporter = [], [], RemovesANode(lambda: cluster.remove_node(second))
    for name, where in (("here", {"devices": ["cpu"]}), ("there", {"devices": [], "ray": cluster.address})):
        dense = Dense(*tiny, batch_size=8, **where)
        request = Request(collection, str(tmp_path / f"{name}.txt"), str(tmp_path / name), dense, k=100, tag="t")
        records.append(retrieve(request, reporter if name == "there" else Silent()).record)
        runs.append((tmp_path / f"{name}.txt").read_bytes())
    assert runs[0] == runs[1]
    assert runs[0].count(b"\n") == 3000
    assert reporter.removed
    assert [each["passages"]["sha256"] for each in records] == [records[0]["passages"]["sha256"]] * 2
    assert records[1]["taken_over"] == {"passages": 0, "queries": 0}
    assert {each["threads"] for each in records[1]["passages"]["by"]} == {1}  # those of its cores


class Kills(Silent):
    """Kills the raylet of a node with SIGKILL some time after a stage has begun, or when so much of it is done."""

    def __init__(self, node: Any, stage: str, done: int, seconds: float) -> None:
        self._node, self._at, self._seconds = node, (stage, done), seconds
        self._stage, self._done, self.killed = "", 0, False

    def begin(self, stage, total, unit, done=0):
        self._stage, self._done = stage, 0
        self.advance(0)

    def advance(self, count):
        self._done += count
        if self._stage == self._at[0] and self._done >= self._at[1] and not self.killed:
            self.killed = True
            self.timer = threading.Timer(self._seconds, self._kill)
            self.timer.start()
            if not self._seconds:
                self.timer.join()

    def _kill(self) -> None:
        os.kill(self._node.all_processes["raylet"][0].process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def undisturbed(cluster, tiny, tmp_path_factory):
    """The run of this process, and the SHA-256 of the embeddings of its passages."""
    return made(tiny, tmp_path_factory.mktemp("here"), Silent(), devices=["cpu"])


def made(tiny, folder: Path, reporter: Silent, **where) -> tuple[bytes, str]:
    """Retrieve 100 of 216 passages for each of 30 queries, in shards of 20."""
    from treceval_py.retrieval import Dense, Request, open_collection, retrieve

    collection = open_collection(str(Path(__file__).parent.parent / "data"))
    dense = Dense(*tiny, batch_size=8, **where)
    request = Request(collection, str(folder / "run.txt"), str(folder / "work"), dense, k=100, tag="t")
    record = retrieve(request, reporter).record
    return (folder / "run.txt").read_bytes(), record["passages"]["sha256"]


@pytest.mark.parametrize(
    ("stage", "done", "seconds"),
    [
        ("load the model", 0, 0),
        ("load the model", 0, 2),  # while the processes start
        ("encode passages", 8, 0),
        ("encode passages", 100, 0),
        ("encode passages", 216, 0),  # when the last result is on its way
        ("search", 0, 0),
        ("search", 0, 0.5),
        ("search", 32, 0),
        ("search", 100, 0),
        ("search", 216, 0),
    ],
)
def test_the_run_is_the_same_when_the_raylet_of_a_node_is_killed(
    cluster, second, tiny, undisturbed, tmp_path, monkeypatch, stage, done, seconds
):
    """Ray goes on to call the node alive for some 16 seconds. A block of the search has 32 vectors."""
    monkeypatch.setattr(exact, "block_rows", lambda dimensions: 32)
    reporter = Kills(second, stage, done, seconds)
    assert made(tiny, tmp_path, reporter, devices=[], ray=cluster.address) == undisturbed
    reporter.timer.join()
    assert reporter.killed


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(exact, "block_rows", lambda dimensions: 1024)


def in_memory(array: np.ndarray) -> StreamedVectors:
    """Return the vectors of an array."""
    return StreamedVectors(*array.shape, lambda: iter([array]))


def whole_numbers(rows: int, seed: int) -> np.ndarray:
    """Products of small whole numbers are exact in float32, and many are equal."""
    return np.random.default_rng(seed).integers(-3, 4, (rows, 8)).astype(np.float32)


def test_search_finds_what_numpy_finds_with_ties_by_position_and_nothing_beyond(second, small_blocks):
    documents, queries = whole_numbers(5000, 0), whole_numbers(30, 1)
    found = search_with_ray(in_memory(documents), queries, 5001, "inner-product")
    products = queries.astype(int) @ documents.astype(int).T
    order = np.argsort(-products, axis=1, kind="stable")
    assert found.positions.tolist() == [[*row, -1] for row in order.tolist()]
    scores = np.take_along_axis(products, order, axis=1)
    assert found.scores.tolist() == [[*row, -np.inf] for row in scores.tolist()]


def test_search_is_that_of_this_process_to_the_bit_and_goes_on_when_a_node_is_removed(cluster, second, small_blocks):
    numbers = np.random.default_rng(3)
    documents = numbers.standard_normal((20_000, 24)).astype(np.float32)
    # What a task returns is then too large to travel with its answer: it lies on the node, and is lost with it.
    queries = numbers.standard_normal((200, 24)).astype(np.float32)
    done = []

    def advance(count: int) -> None:
        done.append(count)
        if len(done) == 3:
            cluster.remove_node(second)

    there = search_with_ray(in_memory(documents), queries, 100, "l2", advance)
    here = exact.search(in_memory(documents), queries, 100, "l2")
    assert there.scores.tobytes() == here.scores.tobytes()
    assert there.positions.tobytes() == here.positions.tobytes()
    assert (there.scores.dtype, there.positions.dtype) == (here.scores.dtype, here.positions.dtype)
    # 20,000 = 19 * 1024 + 544
    assert sorted(done) == [544] + [1024] * 19


def test_a_vector_that_is_no_number_is_named_by_its_position_among_all(cluster, small_blocks):
    documents = whole_numbers(3000, 4)
    documents[2500, 3] = np.nan
    with pytest.raises(RunnerError) as caught:
        search_with_ray(in_memory(documents), whole_numbers(2, 5), 3, "l2")
    assert str(caught.value).startswith("the vector at position 2500 (from 0) ")


def test_the_death_of_all_nodes_ends_a_search(cluster, small_blocks):
    """The last of the tests with the cluster, which has no node for work then."""
    (only,) = cluster.worker_nodes
    rows = in_memory(np.ones((20_000, 8), dtype=np.float32))
    with pytest.raises(RunnerError) as caught:
        search_with_ray(
            rows,
            np.ones((2, 8), dtype=np.float32),
            5,
            "l2",
            lambda _: cluster.worker_nodes and cluster.remove_node(only),
        )
    assert str(caught.value) == (
        "the Ray cluster has no node left that could work. What is finished is kept: repeat the command to resume."
    )


def test_local_starts_ray_here_says_nothing_and_ends_it(tmp_path):
    """In a process of its own, as this one is connected with the cluster."""
    program = """
        from treceval_py.retrieval.pool import Task, open_pool

        class Lengths:
            notes, by = (), {}
            def __init__(self, device):
                pass
            def prepare(self, content):
                return content
            def work(self, content, advance):
                print("nobody reads this")
                return [len(text) for text in content]

        pool = open_pool(Lengths, [], "local")
        for each in pool.run([Task(0, ["12", "123"], 2)], lambda count: None):
            print(each.result)
        pool.close()
        import ray
        print(ray.is_initialized())
    """
    # Ray writes a token into the home folder when it starts.
    environment = {**os.environ, "HOME": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)
    assert (said.stdout, said.stderr) == ("[2, 3]\nFalse\n", "")


def enter(address: str) -> None:
    with connected(address):
        pass


@pytest.fixture
def unconnected(monkeypatch):
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)


def test_a_port_where_nobody_listens_is_refused_at_once(unconnected):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        with pytest.raises(RunnerError) as caught:
            enter(f"127.0.0.1:{port}")
    assert str(caught.value) == (
        f"no Ray cluster at 127.0.0.1:{port}: [Errno 111] Connection refused. "
        "Start one with `ray start --head` and give its HOST:PORT, or use local."
    )


@pytest.mark.parametrize("address", ["ray://head.invalid:10001", "head", "http://head.invalid:8265", "head:port"])
def test_what_is_no_address_is_refused(unconnected, address):
    with pytest.raises(RunnerError, match=rf"^no Ray cluster at {address}: .*HOST:PORT, or use local\.$"):
        enter(address)


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RunnerError) as caught:
        enter("local")
    assert (
        str(caught.value)
        == "this needs the package ray, which is not installed. pip install '.[ray]', in your clone of treceval_py"
    )
