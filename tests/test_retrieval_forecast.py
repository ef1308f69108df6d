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
    """A pool on some devices that work at the same time, and the clock that it moves on; the first time takes longer."""

    notes = ()

    def __init__(self, monkeypatch: pytest.MonkeyPatch, devices: int = 1) -> None:
        self.now = 0.0
        self.runs = 0
        self._devices = devices
        monkeypatch.setattr(planning, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def run(self, tasks: Iterable[Task], advance: Advance) -> Iterator[Done]:
        self.runs += 1
        for task in tasks:
            self.now += (100 if self.runs == 1 else 1) * len(task.content) / self._devices
            yield Done(task, None, {})

    def close(self) -> None:
        pass


def test_work_is_timed_when_the_model_is_warm_on_all_devices_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second for each of 64 texts; two devices do twice 64 in the same time."""
    texts = ["text"] * 64
    assert planning._seconds(Clocked(monkeypatch), texts, 1) == pytest.approx(64)
    assert planning._seconds(Clocked(monkeypatch, 2), texts, 2) == pytest.approx(32)


def test_a_sample_is_evenly_spread() -> None:
    texts = Listed("mine", "document", [(f"p{number}", str(number)) for number in range(100)])
    request: Any = SimpleNamespace(texts={"passages": texts})
    looked: Any = {"passages": SimpleNamespace(count=100)}
    for size, expected in ((1, range(0, 100, 25)), (5, range(0, 100, 5)), (25, range(100)), (1000, range(100))):
        stage: Any = SimpleNamespace(batch_size=size, devices=[])
        assert planning._sample(request, looked, "passages", stage) == list(map(str, expected))


@pytest.mark.slow
def test_a_plan_has_the_time_of_each_stage_and_says_what_is_not_measured(tmp_path: Path) -> None:
    skip_without("sentence_transformers", "faiss")
    model, reranker = make_tiny_model(str(tmp_path / "model")), make_tiny_reranker(tmp_path / "reranker")
    given = ["retrieve", str(DATA), "-o", str(tmp_path / "run.txt"), "--model", model, "--pooling", "mean", "--dry-run"]
    told = treceval([*given, "--rerank", reranker]).out.decode()
    stages = ["read texts", "load the model", "encode queries", "encode passages", "load the reranker", "rerank"]
    one = r"[0-9.]+ (s|min)"
    every = ", ".join(rf"{stage} {one}" for stage in stages)
    assert re.search(rf"^time +about {one}: {every}$", told, re.MULTILINE)
    with_first, alone = (
        treceval(
            ["retrieve", str(DATA), "-o", str(tmp_path / "run.txt"), "--retriever", "jaccard", "--dry-run", *more]
        ).out
        for more in (["--rerank", reranker], [])
    )
    sizes = [float(re.search(rb"^to write +([0-9.]+) kB$", text, re.MULTILINE)[1]) for text in (with_first, alone)]
    assert sizes[0] == pytest.approx(2 * sizes[1], abs=0.1)  # the run, and that of the first stage
    told = treceval([*given, "--index", "Flat"]).err.decode()
    assert "note: The time is without the search.\n" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "reranker"]
