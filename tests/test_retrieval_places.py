"""Work on a stand-in for a cluster, of which processes and nodes are killed at every step.

A step is whatever the pool and a node have to do with each other: a worker is started, gets a task, or has an answer.
Before each step a node may be killed, or only its process.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from packages import skip_without
from refused import message

from treceval_py.errors import RunnerError
from treceval_py.retrieval import pool as pools
from treceval_py.retrieval.pool import START, TAKES, Places, Slot, Task, _Far
from treceval_py.retrieval.vectors import StreamedVectors

NODES = tuple(Slot(name, name, name) for name in "AB")
SIZE = 4


class Kill(NamedTuple):
    """A death before a step, counted from 0.

    Attributes
    ----------
    step : int
        The step.
    node : int
        Which of the nodes.
    whole : bool
        Whether the node dies, or only the process, which can be started again.
    said : bool
        Whether what it has said already arrives nevertheless.
    looks : int
        How often the cluster still calls a dead node alive; nobody else says then that it is dead.
    """

    step: int
    node: int
    whole: bool = True
    said: bool = False
    looks: int = 0


class Cluster:
    """Two nodes in this thread, a transport. What a worker says waits until the pool listens."""

    def __init__(self, kills: Iterable[Kill] = (), order: Iterable[int] = ()) -> None:
        self.steps = 0
        self.starts = 0
        self.finished = False
        self.closed = False
        self._kills = {kill.step: kill for kill in kills}
        self._order = itertools.chain(order, itertools.repeat(0))
        self._looks = dict.fromkeys(NODES, -1)  # as long as it lives
        self._workers: dict[Slot, Any] = {}
        self._to_do: dict[Slot, list[tuple[int, Any]]] = {}
        self._said: dict[Slot, list[tuple[Any, ...]]] = {}
        self._broken: set[Slot] = set()

    @property
    def alive(self) -> list[Slot]:
        return [slot for slot in NODES if self._looks[slot] < 0]

    @property
    def slots(self) -> Iterator[Slot]:
        for slot in NODES:
            if self._looks[slot] != 0:
                self._looks[slot] -= self._looks[slot] > 0
                yield slot

    def start(self, slot: Slot) -> None:
        self.step()
        self.starts += 1
        assert slot not in self._said
        self._said[slot], self._to_do[slot] = [], []
        if slot in self.alive:
            self._workers[slot] = _Far()

    def give(self, slot: Slot, number: int, content: Any) -> None:
        self.step()
        if slot in self._workers:
            assert len(self._to_do[slot]) < pools.WAITING
            self._to_do[slot].append((number, content))

    def events(self) -> Iterator[tuple[Slot, int, Any]]:
        self.step()
        for slot, to_do in self._to_do.items():
            if slot in self._workers and to_do:
                try:
                    self._said[slot].append(self._workers[slot].do(*to_do.pop(0)))
                except Died:
                    self._die(slot)
        self.step()
        speaking = [slot for slot in self._said if self._said[slot] or slot in self._broken]
        if speaking:
            slot = speaking[next(self._order) % len(speaking)]
            if self._said[slot]:
                yield slot, *self._said[slot].pop(0)
            else:
                yield slot, START, None

    def step(self) -> None:
        kill = self._kills.get(self.steps)
        self.steps += 1
        if kill is not None:
            slot = NODES[kill.node]
            if kill.whole and slot in self.alive:
                self._looks[slot] = kill.looks
            if slot in self._workers:
                if not kill.said:
                    self._said[slot].clear()
                self._die(slot, silent=kill.looks > 0)

    def _die(self, slot: Slot, *, silent: bool = False) -> None:
        del self._workers[slot]
        if not silent:
            self._broken.add(slot)

    def end(self, slot: Slot) -> None:
        self._workers.pop(slot, None)
        self._broken.discard(slot)
        del self._said[slot], self._to_do[slot]

    def close(self) -> None:
        assert not self._said
        self.closed = True


class Doubles:
    """Doubles numbers."""

    notes = ("Doubling is easy.",)

    def __init__(self, device: str) -> None:
        self.by = {"device": device}

    def prepare(self, content: int) -> str:
        return str(content)

    def work(self, prepared: str, advance: Any) -> Any:
        advance(1)
        advance(2)
        return 2 * int(prepared)


def tasks(numbers: Iterable[int] = range(3)) -> Iterator[Task]:
    for number in numbers:
        yield Task(number, number, SIZE)


def doubled(cluster: Cluster, maker: Any = Doubles) -> list[tuple[int, int]]:
    """Return the numbers that come back with what they are doubled, and check the progress on the way."""
    told: list[int] = []
    results: list[tuple[int, int]] = []

    def source() -> Iterator[Task]:
        yield from tasks()
        read.append(True)

    pool, read = Places(maker, cluster), list[bool]()
    for done in pool.run(source(), told.append):
        results.append((done.task.number, done.result))
        cluster.finished = len(results) == 3 and bool(read)
        assert 0 <= sum(told) <= 3 * SIZE
    assert sum(told) == 3 * SIZE
    assert min(told) >= 0
    pool.close()
    return sorted(results)


class AtOnce:
    """In place of a thread, which would take most of the time."""

    def __init__(self, _: int) -> None:
        pass

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        future = Future[Any]()
        try:
            future.set_result(function(*given))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)
        return future


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "PATIENCE", 0.0)
    monkeypatch.setattr(pools, "ThreadPoolExecutor", AtOnce)


def schedules(steps: int, deaths: int) -> Iterator[list[Kill]]:
    """Every way to kill processes and nodes before some of the steps, with what they said and without."""
    ways = [(node, whole, said, looks) for node in (0, 1) for said in (False, True)
            for whole, looks in ((False, 0), (True, 0), (True, 2))]  # fmt: skip
    for moments in itertools.combinations(range(steps), deaths):
        for chosen in itertools.product(ways, repeat=deaths):
            yield [Kill(moment, *way) for moment, way in zip(moments, chosen, strict=True)]


NO_NODE = "the Ray cluster has no node left that could work. What is finished is kept: repeat the command to resume."


def check(kills: list[Kill], order: Iterable[int] = ()) -> bool:
    """Run a schedule; return whether there was a result, which is there if a node is left."""
    cluster, results, failure = Cluster(kills, order), [], ""
    try:
        results = doubled(cluster)
    except RunnerError as error:
        failure = str(error)
    assert cluster.closed
    assert (results, failure) in (([(0, 0), (1, 2), (2, 4)], ""), ([], NO_NODE)), kills
    assert results or not cluster.alive, kills
    assert results or not cluster.finished, kills
    return bool(results)


def steps() -> int:
    """Return the number of steps of an undisturbed run."""
    cluster = Cluster()
    doubled(cluster)
    return cluster.steps


@pytest.mark.parametrize("order", [[], [1, 0] * 50])
def test_one_death_at_any_step_costs_no_result(order: list[int]) -> None:
    count = steps()
    assert count >= 15
    assert {check(kills, order) for kills in schedules(count, 1)} == {True}


@pytest.mark.slow
def test_two_deaths_at_any_steps_end_with_all_results_or_without_a_node() -> None:
    """Some steps later than an undisturbed run ends, as a death makes it longer."""
    ended = {check(kills) for kills in schedules(steps() + 10, 2)}
    assert ended == {True, False}


class Died(BaseException):
    """Kills the process of the stand-in."""


def test_a_task_that_kills_four_processes_is_given_up() -> None:
    tried = []

    class Dies(Doubles):
        def work(self, prepared: str, advance: Any) -> Any:
            if prepared == "1":
                tried.append(self.by["device"])
                raise Died
            return super().work(prepared, advance)

    cluster = Cluster()
    assert message(RunnerError, doubled, cluster, Dies).startswith(
        f"4 processes died at the same task, the last one on {tried[-1]}. They may need more memory"
    )
    assert len(tried) == TAKES == 4
    assert cluster.closed


def test_a_node_where_processes_die_as_they_start_ends_the_run() -> None:
    class DiesOnA(Doubles):
        def __init__(self, device: str) -> None:
            if device == "A":
                raise Died
            super().__init__(device)

    cluster = Cluster(order=itertools.cycle([0, 1]))
    failure = message(RunnerError, lambda: list(Places(DiesOnA, cluster).run(tasks(range(20)), lambda _: None)))
    assert failure == (
        "4 processes died while they started, the last one on A. They may need more memory: give a smaller --batch-size."
    )
    assert TAKES < cluster.starts <= 2 * TAKES
    assert cluster.closed


def test_a_process_that_has_started_may_be_hard_to_start_again() -> None:
    made = []

    class HardToStart(Doubles):
        def __init__(self, device: str) -> None:
            made.append(device)
            if len(made) % TAKES:
                raise Died
            super().__init__(device)

        def work(self, prepared: str, advance: Any) -> Any:
            if len(made) < 2 * TAKES:
                raise Died
            return super().work(prepared, advance)

    cluster = Cluster([Kill(0, 1)])
    assert doubled(cluster, HardToStart) == [(0, 0), (1, 2), (2, 4)]
    assert made == ["A"] * 2 * TAKES


def test_a_cluster_gets_time_to_have_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "PATIENCE", 3.0)
    now = itertools.count()
    monkeypatch.setattr(pools, "time", SimpleNamespace(monotonic=lambda: next(now)))

    class Late(Cluster):
        @property
        def slots(self) -> Iterator[Slot]:
            return super().slots if self.steps >= self.ready else iter(())

    for ready, answer in ((4, None), (100, NO_NODE)):
        cluster = Late()
        cluster.ready = ready
        if answer is None:
            assert doubled(cluster) == [(0, 0), (1, 2), (2, 4)]
        else:
            assert message(RunnerError, Places, Doubles, cluster) == answer


# Search


def in_memory(array: Any) -> StreamedVectors:
    """Return the vectors of an array."""
    return StreamedVectors(*array.shape, lambda: iter([array]))


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[Kill]], tuple[bytes, bytes]]:
    """Search 5 blocks of 4 vectors, many of them equally good, with a schedule of kills."""
    skip_without("faiss")
    from treceval_py.retrieval import exact

    monkeypatch.setattr(exact, "block_rows", lambda dimensions: 4)
    numbers = np.random.default_rng(1)
    vectors = in_memory(numbers.integers(-1, 2, (19, 3)).astype(np.float32))
    queries = numbers.integers(-1, 2, (6, 3)).astype(np.float32)

    def search(kills: Iterable[Kill] | None) -> tuple[bytes, bytes]:
        told: list[int] = []
        if kills is None:
            hits = exact.search(vectors, queries, 10, "inner-product")
        else:
            monkeypatch.setattr(exact, "Actors", lambda gpus: Cluster(kills))
            hits = exact.search_with_ray(vectors, queries, 10, "inner-product", told.append)
            assert sum(told) == 19
        return hits.scores.tobytes(), hits.positions.tobytes()

    return search


def test_a_search_with_a_death_finds_the_same_bytes(searched: Any) -> None:
    expected = searched(None)
    assert searched([]) == expected
    for step in range(0, 30, 2):
        assert searched([Kill(step, step // 2 % 2, step % 3 > 0)]) == expected


@pytest.mark.slow
def test_a_search_with_two_deaths_finds_the_same_bytes_or_ends_without_a_node(searched: Any) -> None:
    expected, failures = searched(None), 0
    for kills in schedules(40, 2):
        if any(kill.said or kill.looks for kill in kills):
            continue
        try:
            assert searched(kills) == expected
        except RunnerError as error:
            failures += 1
            failure = str(error)
    assert failures > 0
    assert failure == NO_NODE


def test_a_block_that_nobody_searched_is_an_error(searched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from treceval_py.retrieval import exact

    class Forgets(Places):
        def run(self, tasks: Any, advance: Any) -> Any:
            return super().run((task for task in tasks if task.number != 2), advance)

    monkeypatch.setattr(exact, "Places", Forgets)
    assert message(RunnerError, searched, []) == "15 of 19 vectors were searched. Repeat the command."
