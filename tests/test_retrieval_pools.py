"""Pools of processes, with workers that need no model: tasks, progress, errors, and deaths at any time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from refused import message
from workers import ELSEWHERE, Doubles, Slow, dies, refuses

from treceval_py.corpora.reporting import Silent
from treceval_py.errors import RunnerError
from treceval_py.retrieval import pool as pools
from treceval_py.retrieval.pool import Here, Places, Processes, Task, loaded, open_pool

DIED = "4 processes died while they started, the last one on elsewhere."

refusal = partial(message, RunnerError)


def none(count):
    pass


def process_of(maker):
    return Places(maker, Processes([ELSEWHERE]))


def tasks(count, size=3):
    return [Task(number, [number] * size, size) for number in range(count)]


def test_without_a_device_there_is_no_pool():
    assert refusal(open_pool, Doubles, ()) == "there is no device to work on. Name one, such as cpu."


@pytest.mark.parametrize("devices", [[ELSEWHERE], [ELSEWHERE, ELSEWHERE]])
def test_every_task_comes_back_with_its_result_and_progress_is_told_in_full(devices):
    pool = open_pool(Doubles, devices)
    assert isinstance(pool, Here if len(devices) == 1 else Places)
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
    if len(devices) == 1:
        assert [done.task.number for done in pool.run(tasks(6), none)] == list(range(6))


class Stages(Silent):
    def __init__(self):
        self.calls = []

    def begin(self, stage, total, unit, done=0):
        self.calls.append((stage, total, unit))

    def advance(self, count):
        self.calls.append(count)

    def end(self):
        self.calls.append("end")


@pytest.mark.parametrize(
    ("devices", "ray", "unit"),
    [([ELSEWHERE], None, "device"), ([ELSEWHERE, ELSEWHERE], None, "devices"), ([], "auto", "cluster")],
)
def test_a_stage_is_reported_while_workers_are_made_which_end_with_the_block(devices, ray, unit, monkeypatch):
    if ray is not None:
        monkeypatch.setattr(pools, "Actors", lambda address: Processes([ELSEWHERE]))
    reporter = Stages()
    with loaded(Doubles, devices, ray, "load the model", reporter) as pool:
        assert reporter.calls == [("load the model", None, unit), len(devices) or 1, "end"]
        assert [done.result for done in pool.run(tasks(1), none)] == [[0, 0, 0]]
    assert multiprocessing.active_children() == []


def test_a_process_that_is_killed_is_started_again_and_loses_nothing():
    taken = []

    def watched():
        for task in tasks(6):
            taken.append(task.number)
            yield task

    pool, told = process_of(Slow(0, 0.05)), []
    done = pool.run(watched(), told.append)
    results = [next(done)]
    assert taken == [0, 1]  # one is done, and one at work; what comes next is read when this is asked for more
    os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
    results += done
    assert {task.number: result for task, result, _ in results} == {number: [2 * number] * 3 for number in range(6)}
    assert len({by["process"] for _, _, by in results}) == 2
    assert told == [3] * 6
    pool.close()


def test_an_error_in_a_process_arrives_as_itself():
    pool = process_of(Doubles)
    assert refusal(list, pool.run([*tasks(2), Task(2, [1, -1], 2)], none)) == "a number is below zero. Give another."
    assert multiprocessing.active_children() == []


def test_a_worker_that_cannot_be_made_is_refused():
    assert [refusal(process_of, maker) for maker in (refuses, dies)] == [
        "elsewhere: doubling is not for this device. Use another.",
        f"{DIED} They may need more memory: give a smaller --batch-size.",
    ]
    assert multiprocessing.active_children() == []


def test_a_program_that_does_not_close_its_pool_can_end():
    program = "import workers; pool = workers.Places(workers.Doubles, workers.Processes([workers.ELSEWHERE]))"
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
    ended = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert ended.stdout + ended.stderr == b""


def test_one_device_reads_and_prepares_in_a_thread_while_it_works():
    """Task 1 is prepared while task 0 is at work, which waits for that; task 2 is not read before task 0 is done."""
    prepared, read, threads = [threading.Event() for _ in range(3)], [], set()

    class Waits(Doubles):
        def prepare(self, content):
            threads.add(threading.get_ident())
            prepared[content[0]].set()
            return content

        def work(self, content, advance):
            assert threading.get_ident() == threading.main_thread().ident
            assert prepared[min(content[0] + 1, 2)].wait(10)
            assert read == list(range(min(content[0] + 2, 3)))
            return super().work(content, advance)

    def source():
        for task in tasks(3):
            read.append(task.number)
            yield task

    assert [done.result[0] for done in Here(Waits).run(source(), none)] == [0, 2, 4]
    assert threads == threads - {threading.main_thread().ident}


def test_what_cannot_be_read_or_prepared_is_raised_after_the_tasks_before():
    class Refuses(Doubles):
        def prepare(self, content):
            if content == [1]:
                raise RunnerError("not one", "Give two.")
            return content

    def breaks():
        yield Task(0, [0], 1)
        raise OSError("no more")

    for source, error in ((tasks(3, size=1), RunnerError), (breaks(), OSError)):
        done = Here(Refuses).run(source, none)
        assert next(done).result == [0]
        with pytest.raises(error):
            next(done)


def test_who_stops_early_leaves_nothing_running():
    for _ in process_of(Doubles).run(tasks(9), none):
        break
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
