"""How long `--dry-run` says that a request takes: arithmetic with a clock of the test's own, and what is printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command import treceval
from packages import skip_without
from tiny_models import make_tiny_model, make_tiny_reranker

from treceval_py.corpora.texts import Listed
from treceval_py.retrieval import planning
from treceval_py.retrieval.pool import Advance, Done, Task

DATA = Path(__file__).parent.parent / "data"


class Clocked:
    """A pool on some devices that work at the same time, and the clock that it moves on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: Any, devices: int = 1) -> None:
        self.now = 0.0
        self.seen: list[list[int]] = []
        self._seconds = seconds
        self._devices = devices
        monkeypatch.setattr(planning, "time", SimpleNamespace(perf_counter=lambda: self.now))

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def run(self, tasks: Iterable[Task], advance: Advance) -> Iterator[Done]:
        for task in tasks:
            self.seen.append(task.content)
            self.now += self._seconds(task.content) / self._devices
            yield Done(task, None, {})

    def close(self) -> None:
        pass


def seconds_of(pool: Clocked, lengths: list[int], devices: int, left: int) -> float:
    """Return the time of texts of these lengths; workers get the length of each."""
    work = planning._Work("encode", ["x" * length for length in lengths], lambda texts: [*map(len, texts)], 512, left)
    return planning._seconds(pool, work, devices, 32)


def test_the_time_is_that_of_all_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 texts of 1 to 100 tokens, a tenth of a second each token: 5.05 seconds for a text in the mean."""
    lengths = [number % 100 + 1 for number in range(1000)]
    pool = Clocked(monkeypatch, lambda taken: sum(taken) / 10)
    assert seconds_of(pool, lengths, 1, 20_000) == pytest.approx(20_000 * 5.05)
    # Two batches, and the same before them, which are not timed: texts of like length, in the middle of each half.
    assert [len(taken) for taken in pool.seen] == [64, 64]
    assert sorted(set(pool.seen[1])) == [24, 25, 26, 27, 74, 75, 76, 77]


def test_two_devices_take_half_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Clocked(monkeypatch, len, devices=2)
    assert seconds_of(pool, [7] * 1000, 2, 20_000) == pytest.approx(10_000)
    assert len(pool.seen) == 2 * 2


def test_a_fast_model_gets_more_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A millisecond for a text: 64 take too little time to be measured, and 1,024 enough."""
    pool = Clocked(monkeypatch, lambda taken: len(taken) / 1000)
    assert seconds_of(pool, [7] * 5000, 1, 1000) == pytest.approx(1)
    assert [len(taken) for taken in pool.seen] == [64, 64, 256, 1024]
    few = Clocked(monkeypatch, lambda taken: len(taken) / 1000)
    assert seconds_of(few, [7] * 5, 1, 1000) == pytest.approx(1)
    assert [len(taken) for taken in few.seen][:2] == [10, 10]


def test_a_sample_is_evenly_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "SAMPLE", 4)
    texts = Listed("mine", "document", [(f"p{number}", str(number)) for number in range(100)])
    assert planning._sample(texts, 100) == ["0", "25", "50", "75"]
    assert planning._sample(texts, 3) == [str(number) for number in range(100)]


@pytest.mark.slow
def test_a_plan_has_the_time_of_each_stage_and_says_what_is_not_measured(tmp_path: Path) -> None:
    skip_without("sentence_transformers", "faiss")
    model, reranker = make_tiny_model(str(tmp_path / "model")), make_tiny_reranker(tmp_path / "reranker")
    given = ["retrieve", str(DATA), "-o", str(tmp_path / "run.txt"), "--model", model, "--pooling", "mean", "--dry-run"]
    told = treceval([*given, "--rerank", reranker]).out.decode()
    stages = [
        "read texts",
        "load the model",
        "encode queries",
        "encode passages",
        "search",
        "load the reranker",
        "rerank",
    ]
    one = r"[0-9.]+ (s|min)"
    every = ", ".join(rf"{stage} {one}" for stage in stages)
    assert re.search(rf"^time +about {one}: {every}$", told, re.MULTILINE)
    told = treceval([*given, "--index", "Flat"]).err.decode()
    assert "note: The time is without search with an index, which cannot be measured here.\n" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "reranker"]
