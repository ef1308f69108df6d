"""Actors of a cluster, of which a module in place of Ray is the only node: what tests with Ray itself cannot see, quickly."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from refused import message
from workers import Doubles

from treceval_py.errors import RunnerError
from treceval_py.retrieval import pool as pools
from treceval_py.retrieval.pool import Task, open_pool


class Died(BaseException):
    """The process of an actor is dead."""


class Reference:
    """What a method of an actor has returned or raised."""

    def __init__(self, method: Any, given: tuple[Any, ...]) -> None:
        self.value: Any = ()
        self.error: Died | None = None
        try:
            self.value = method(*given)
        except Died as error:
            self.error = error


class OneNode(ModuleType):
    """Ray with one node that does everything at once."""

    def __init__(self, port: int) -> None:
        super().__init__("ray")
        self.__spec__ = ModuleSpec("ray", None)
        self.exceptions = SimpleNamespace(RayError=Died, RayTaskError=ZeroDivisionError)
        bound = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: (node, soft))
        self.util = SimpleNamespace(scheduling_strategies=bound)
        self.port = port
        self.gpus = 0
        self.options: list[dict[str, Any]] = []
        self.running = 0

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 5.0, "GPU": float(self.gpus)} if self.gpus else {"CPU": 5.0}

    def nodes(self) -> list[dict[str, Any]]:
        about = {"NodeManagerHostname": "far", "NodeManagerAddress": "127.0.0.1", "NodeManagerPort": self.port}
        alive = {"NodeID": "one", "Alive": True, "Resources": self.cluster_resources(), **about}
        return [{"NodeID": "dead", "Alive": False}, alive, {**alive, "NodeID": "head", "Resources": {}}]

    def remote(self, **options: Any) -> Any:
        self.options.append(options)

        def actor(kind: Any) -> Any:
            self.running += 1
            made = kind()

            return SimpleNamespace(do=SimpleNamespace(remote=lambda *given: Reference(made.do, given)))

        return lambda kind: SimpleNamespace(remote=lambda: actor(kind))

    def wait(self, references: list[Reference], timeout: float) -> tuple[list[Reference], list[Reference]]:
        return references[:1], []

    def get(self, reference: Reference) -> Any:
        if reference.error is not None:
            raise reference.error
        return reference.value

    def kill(self, handle: Any) -> None:
        self.running -= 1


@pytest.fixture
def one_node(monkeypatch: pytest.MonkeyPatch) -> Iterator[OneNode]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ray = OneNode(server.getsockname()[1])
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setattr(pools, "PATIENCE", 0.0)
        for name in ("RAY_USAGE_STATS_ENABLED", "RAY_DEDUP_LOGS_SKIP_REGEX"):
            monkeypatch.setenv(name, "0")
        yield ray


def none(count: int) -> None:
    pass


def test_progress_comes_with_the_result(one_node: OneNode) -> None:
    pool, told = open_pool(Doubles, [], ray="auto"), list[int]()
    (done,) = pool.run([Task(0, [0] * 5, 5)], told.append)
    assert done.result == [0] * 5
    assert told == [5]
    pool.close()
    assert one_node.running == 0


@pytest.mark.parametrize(("gpus", "cores", "device"), [(0, 5, "cpu"), (2, 2, "cuda:0"), (9, 1, "cuda:0")])
def test_each_gpu_has_a_worker_or_else_the_cores_of_a_node(
    one_node: OneNode, gpus: int, cores: int, device: str
) -> None:
    one_node.gpus = gpus
    pool = open_pool(Doubles, [], ray="auto")
    done = list(pool.run([Task(number, [1], 1) for number in range(9)], none))
    assert {each.by["device"] for each in done} == {device}
    assert len(one_node.options) == min(max(gpus, 1), 5)
    for options in one_node.options:
        assert (options["num_cpus"], options["num_gpus"]) == (cores, int(gpus > 0))
        assert options["scheduling_strategy"] == ("one", False)
    pool.close()


@pytest.mark.parametrize("reachable", [False, True])
def test_a_node_that_cannot_be_reached_is_dead_whatever_ray_says(one_node: OneNode, reachable: bool) -> None:
    """A port where nobody listens refuses at once; where somebody does, the process alone is dead, and starts again."""
    tried = []

    class Dies(Doubles):
        def work(self, content: list[int], advance: Any) -> list[int]:
            tried.append(content)
            if not reachable:
                one_node.port = 1
            raise Died

    pool = open_pool(Dies, [], ray="auto")
    failure = message(RunnerError, list, pool.run([Task(0, [1], 1)], none))
    if reachable:
        assert failure.startswith("4 processes died at the same task, the last one on far.")
    else:
        assert failure.startswith("the Ray cluster has no node left that could work.")
    assert len(tried) == (4 if reachable else 1)
    assert one_node.running == 0


def test_a_bug_arrives_with_its_traceback_and_an_error_of_ours_as_itself(one_node: OneNode) -> None:
    class Bug(Doubles):
        def work(self, content: list[int], advance: Any) -> list[int]:
            return [1 // number for number in content]

    pool = open_pool(Bug, [], ray="auto")
    with pytest.raises(RuntimeError, match=r"(?s)^a worker failed\n.*in work\n.*ZeroDivisionError"):
        list(pool.run([Task(0, [0], 1)], none))
    pool = open_pool(Doubles, [], ray="auto")
    assert message(RunnerError, list, pool.run([Task(0, [-1], 1)], none)) == "a number is below zero. Give another."
