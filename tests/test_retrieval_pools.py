"""Pools of processes, with workers that need no model: tasks, progress, errors, and deaths at any time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from refused import message
from workers import ELSEWHERE, Doubles, Slow, dies, refuses

from treceval_py.errors import RunnerError
from treceval_py.retrieval.pools import Here, Processes, open_pool
from treceval_py.retrieval.tasks import Task

KILLED = (
    "the process that works on elsewhere was killed, or ended. What is done is kept: repeat the command to resume. "
    "If memory ran out, give a smaller --batch-size."
)


refusal = partial(message, RunnerError)


def none(count):
    pass


def tasks(count, size=3):
    return [Task(number, [number] * size, size) for number in range(count)]


@pytest.mark.parametrize("devices", [[ELSEWHERE], [ELSEWHERE, ELSEWHERE]])
def test_every_task_comes_back_with_its_result_and_progress_is_told_in_full(devices):
    pool = open_pool(Doubles, devices)
    assert isinstance(pool, Here if len(devices) == 1 else Processes)
    for some in (tasks(6), tasks(3, size=2)):
        told = []
        found = {done.task.number: done for done in pool.run(iter(some), told.append)}
        assert {number: done.result for number, done in found.items()} == {
            task.number: [2 * task.number] * task.size for task in some
        }
        assert sum(told) == sum(task.size for task in some)
        assert {done.by["device"] for done in found.values()} == {ELSEWHERE}
        assert len({done.by["process"] for done in found.values()}) <= len(devices)
    assert pool.notes == Doubles.notes
    pool.close()
    assert multiprocessing.active_children() == []
    if len(devices) > 1:
        assert refusal(list, pool.run(tasks(1), none)) == "the pool is closed. Make another."
    else:
        assert [done.task.number for done in pool.run(tasks(6), none)] == list(range(6))


def test_a_process_that_is_killed_is_one_error_at_once():
    taken = []

    def watched():
        for task in tasks(50):
            taken.append(task.number)
            yield task

    found = Processes(Slow(0, 0.05), [ELSEWHERE]).run(watched(), none)
    next(found)
    assert taken == [0, 1, 2]  # one is done, one is at work, one waits: no more are in memory
    os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
    assert refusal(list, found) == KILLED
    assert multiprocessing.active_children() == []


def test_an_error_in_a_process_arrives_as_itself():
    pool = Processes(Doubles, [ELSEWHERE])
    assert refusal(list, pool.run([*tasks(2), Task(2, [1, -1], 2)], none)) == "a number is below zero. Give another."
    assert multiprocessing.active_children() == []


def test_a_worker_that_cannot_be_made_is_refused():
    told = "elsewhere: doubling is not for this device. Use another."
    assert [refusal(Processes, maker, [ELSEWHERE]) for maker in (refuses, dies)] == [told, KILLED]
    assert multiprocessing.active_children() == []


def test_a_program_that_does_not_close_its_pool_can_end():
    """Python then shuts executors down and waits for their processes, to which the pipe is still open."""
    pool = Processes(Doubles, [ELSEWHERE])
    (process,) = multiprocessing.active_children()
    pool.places[0].executor.shutdown(wait=False)
    ended = wait([process.sentinel], 20)
    pool.close()
    assert ended


# A Ray cluster, which something in this process stands in for: tests with Ray itself are slow


class Died(Exception):
    """A process dies, or Ray gives up one that died."""


class OneNode(ModuleType):
    """Ray with one node that does everything at once, but hands out answers only after it was asked `looks` times."""

    def __init__(self):
        super().__init__("ray")
        never = type("Never", (Exception,), {})
        self.exceptions = SimpleNamespace(RayError=Died, RayTaskError=never, ObjectLostError=never)
        self.util = SimpleNamespace(
            scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: node)
        )
        self.looks = 0

    def is_initialized(self):
        return True

    def nodes(self):
        return [{"NodeID": "one", "Alive": True, "Resources": {"CPU": 1}, "NodeManagerHostname": "far"}]

    def get_runtime_context(self):
        return SimpleNamespace(get_accelerator_ids=dict)

    def remote(self, *, max_task_retries, **_):
        """Return what makes an actor; when its process dies, Ray tries a task again so many times."""

        def method(function):
            def call(*given):
                for _ in range(1 + max_task_retries):
                    with suppress(Died):
                        result = function(*given)
                        return lambda: result
                return died

            def died():
                raise Died

            return SimpleNamespace(remote=call, options=lambda **_: SimpleNamespace(remote=call))

        def made(kind, maker):
            actor = kind(maker)
            return SimpleNamespace(**{name: method(getattr(actor, name)) for name in ("start", "work", "told")})

        return lambda kind: SimpleNamespace(remote=lambda maker: made(kind, maker))

    def wait(self, futures, timeout):
        self.looks -= 1
        return ([] if self.looks >= 0 else futures), []

    def get(self, asked, timeout=None):
        return [each() for each in asked] if isinstance(asked, list) else asked()

    def kill(self, handle):
        pass


@pytest.fixture
def one_node(monkeypatch):
    ray = OneNode()
    monkeypatch.setitem(sys.modules, "ray", ray)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_DEDUP_LOGS_SKIP_REGEX"):
        monkeypatch.setenv(name, "0")
    return ray


def test_progress_on_a_cluster_is_what_was_done_since_the_last_look(one_node):
    class Halfway(Doubles):
        def work(self, content, advance):
            advance(3)

    pool, told = open_pool(Halfway, [], ray="auto"), []
    one_node.looks = 2
    list(pool.run(tasks(1, size=5), told.append))
    assert told == [3, 2]  # nothing is new at the second look; the rest comes with the result


def test_a_task_on_a_cluster_that_killed_four_processes_is_given_up(one_node):
    tried = []

    class Dies(Doubles):
        def work(self, content, advance):
            tried.append(content)
            raise Died

    assert refusal(list, open_pool(Dies, [], ray="auto").run(tasks(1), none)) == (
        "the process on far died 4 times at the same task. It may need more memory: give a smaller --batch-size."
    )
    assert len(tried) == 4


@pytest.mark.slow
def test_progress_is_told_while_a_task_is_at_work_and_who_stops_early_leaves_nothing_running():
    pool, told = Processes(Slow(0, 0.3), [ELSEWHERE]), []
    for _ in pool.run([*tasks(1, size=10), *tasks(9)], told.append):
        break
    assert len([count for count in told if count]) > 1
    assert sum(told) >= 10
    assert multiprocessing.active_children() == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals to a group of processes are POSIX's")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("when", "how", "pause"),
    # while the process starts, while it works, and while it waits for more
    [("started", signal.SIGINT, 0), ("done", signal.SIGINT, 0), ("done", signal.SIGKILL, 90)],
)
def test_no_process_outlives_its_parent(when, how, pause):
    start = 2 if when == "started" else 0
    program = Path(__file__).with_name("workers.py")
    parent = subprocess.Popen(
        [sys.executable, str(program), str(start), "0.02", str(pause)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while parent.stdout.readline() != f"{when}\n":
        pass
    if when == "started" or pause:
        time.sleep(1)  # until the worker is being made, or the two tasks that it has are done
    if how == signal.SIGINT:
        os.killpg(parent.pid, how)  # as a terminal does: all of them get it
    else:
        parent.kill()
    # The processes hold the other ends of these pipes: reading ends when the last of them is gone.
    _, errors = parent.communicate(timeout=60)
    assert parent.returncode == -how
    # Only the parent says that it was interrupted.
    assert errors.count("Traceback") == (how == signal.SIGINT)
