"""What `kill -9` leaves: the same command goes on, loses two shards at most, and writes the same run to the byte.

Runs are forks of one program (`kill_points`), so that what takes seconds is imported once. They are killed at points that
are drawn, with fixed seeds, from all those that an undisturbed run has. The undisturbed run is the expected one; it is
compared with that of a process of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from kill_points import SHARD, Answer, Request
from packages import skip_without

from treceval_py.retrieval.pool import WAITING

if not hasattr(os, "fork"):
    pytest.skip("there is no fork and no kill -9 here", allow_module_level=True)
skip_without("faiss", "sentence_transformers", "bm25s", "pyarrow")

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
DATA = HERE.parent / "data"

MOST = 2 * SHARD
"""Texts that a kill may cost: those of the shard that is encoded, and of the one that is written meanwhile."""

KINDS: dict[str, list[str]] = {
    "exact": ["-o", "{folder}/run.txt"],
    "index": ["-o", "{folder}/run.txt.gz", "--index", "IVF4,Flat:nprobe=2"],
}
"""Two ways to search, and with the second one a compressed run."""

AT_POINTS = {
    ("begin", "exact"): 3,
    ("encode", "exact"): 8,
    ("index", "index"): 6,
    ("search", "exact"): 3,
    ("search", "index"): 3,
    ("write", "exact"): 5,
    ("write", "index"): 5,
}
"""How often a part of a run is killed at a point; `begin` is all before the encoding."""

KILLED = -9

# A thread more is a thread that a fork does not have.
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
ENVIRONMENT = {**os.environ, **ALONE, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}


class Point(NamedTuple):
    """A point that an undisturbed run had."""

    stage: str
    number: int  # among those of this name in its stage
    name: str

    @property
    def part(self) -> str:
        """Which of the four parts it belongs to."""
        if self.stage.endswith(" the index"):
            return "index"
        first = self.stage.partition(" ")[0]
        return first if first in {"encode", "search", "write"} else "begin"

    @property
    def kind(self) -> str:
        """What it is, whatever the shard or group."""
        return re.sub(r"[0-9a-f]{16}|\d+", "#", f"{self.stage}: {self.name}")


class Undisturbed(NamedTuple):
    """A run that nobody killed, from its beginning or from embeddings that were there."""

    folder: Path
    run: bytes
    points: list[Point]
    told: set[str]

    def of(self, part: str) -> list[Point]:
        return [point for point in self.points if point.part == part]


class Program:
    """The program that is forked; see `kill_points`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = str(folder / "tiny")
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "kill_points.py"), self.model],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT,
            cwd=HERE.parent,
        )  # fmt: skip
        self.status, self.threads = self._line()
        self._logs = 0

    def arguments(self, kind: str, folder: Path) -> list[str]:
        if kind == "reranked":
            given = ["--retriever", "bm25", "-k", "20", "--rerank", f"{self.model}-reranker", "--rerank-depth", "10"]
            return [str(DATA), "-o", f"{folder}/run.txt", *given, "--batch-size", "8", "-m", "map"]
        usual = ["--model", self.model, "--pooling", "mean", "--max-length", "64", "--batch-size", "5"]
        usual += ["--work", f"{folder}/work", "-m", "map"]
        own = [each.format(folder=folder) for each in KINDS[kind]]
        return [str(DATA), *own, *usual]

    def run(self, kind: str, folder: Path, *more: str, **when: Any) -> Ended:
        self._logs += 1
        log = str(self.folder / f"{self._logs:04d}")
        request = Request([*self.arguments(kind, folder), *more], str(folder), log, **when)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return Ended(Answer(*self._line()), log)

    def _line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        assert self.process.wait(30) == 0


class Ended:
    """A run that ended in one way or the other, and what it left in its logs."""

    def __init__(self, answer: Answer, log: str) -> None:
        self.status, self.left = answer
        self.told = _lines(f"{log}.told")
        self.encoded = _lines(f"{log}.encoded")
        self.points = []
        numbers: Counter[str] = Counter()
        for line in _lines(f"{log}.points"):
            stage, name = line.split("\t")
            self.points.append(Point(stage, numbers[line], name))
            numbers[line] += 1


def _lines(path: str) -> list[str]:
    return Path(path).read_text("utf-8").splitlines() if os.path.exists(path) else []


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    made = Program(tmp_path_factory.mktemp("program").resolve())
    yield made
    made.close()


@pytest.fixture(scope="module")
def undisturbed(program: Program, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], Undisturbed]:
    """Return the runs of both kinds, from the beginning (False) and from the embeddings that are there (True)."""
    found = {}
    for kind in KINDS:
        folder = tmp_path_factory.mktemp(kind).resolve()
        for encoded in (False, True):
            if encoded:
                folder = begun(folder, tmp_path_factory.mktemp(f"{kind}-encoded").resolve())
            ended = program.run(kind, folder)
            assert ended.status == 0, ended.told
            found[kind, encoded] = Undisturbed(folder, run_of(folder), ended.points, set(ended.told))
    return found


def begun(source: Path, folder: Path) -> Path:
    """Bring a folder to where a run is when everything is encoded."""
    for side in ("queries", "passages"):
        shutil.copytree(source / "work" / side, folder / "work" / side)
    return folder


def run_of(folder: Path) -> bytes:
    (path,) = (path for path in folder.glob("run.txt*") if path.suffix in {".txt", ".gz"})
    return path.read_bytes()


# What is looked at


def check_what_is_left(folder: Path, expected: bytes) -> None:
    """Check that whatever has its final name is whole; read with hashlib, json and NumPy alone."""
    for run in (folder / "run.txt", folder / "run.txt.gz"):
        if run.exists():
            assert run.read_bytes() == expected
        record = Path(f"{run}.json")
        if record.exists():
            assert json.loads(record.read_text("utf-8"))["run"]["sha256"] == hashlib.sha256(expected).hexdigest()
    for manifest in folder.rglob("manifest.jsonl"):
        for name, shard in shards_in(manifest):
            assert set(shard["files"]) == {".npy", ".ids"}
            for suffix, expected_digest in shard["files"].items():
                assert digest(manifest.with_name(f"{name}{suffix}")) == expected_digest
    for vectors in folder.rglob("*.npy"):
        assert np.load(vectors).shape[1] == 32
    for record in folder.glob("work/index/*.faiss.json"):
        assert digest(record.with_suffix("")) == json.loads(record.read_text("utf-8"))["sha256"]
    for group in folder.glob("work/search/*/*.npz"):
        with np.load(group) as found:
            assert found["scores"].shape == found["positions"].shape


def shards_in(manifest: Path) -> list[tuple[str, Any]]:
    """Return the names of the shards of a manifest, and what it says about each."""
    *lines, _ = manifest.read_text("utf-8").split("\n")
    return [(shard["texts"][:16], shard) for shard in (json.loads(line).get("shard") for line in lines) if shard]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def kept(folder: Path) -> set[str]:
    """Return the texts whose shards are in a manifest, each as its side and id."""
    found = set()
    for manifest in folder.rglob("manifest.jsonl"):
        side = manifest.relative_to(folder / "work").parts[0]
        for name, _ in shards_in(manifest):
            found |= {f"{side}\t{docid}" for docid in _lines(str(manifest.with_name(f"{name}.ids")))}
    return found


def everything() -> list[str]:
    """Return all texts in the order in which they are encoded."""
    return [
        f"{side}\t{line.partition(chr(9))[0]}"
        for side, name in (("queries", "queries.tsv"), ("passages", "collection.tsv"))
        for line in (DATA / name).read_text("utf-8").splitlines()
    ]


def lost(ended: Ended, folder: Path) -> list[str]:
    """Return the texts that a run began to encode and that have to be encoded again."""
    return [text for text in ended.encoded if text not in kept(folder)]


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def check_restart(program: Program, kind: str, folder: Path, undisturbed: dict[tuple[str, bool], Undisturbed]) -> None:
    """Start again, and check that the run ends as if nothing had been."""
    expected = undisturbed[kind, False]
    there = kept(folder)
    ended = program.run(kind, folder)
    assert ended.status == 0, ended.told
    assert run_of(folder) == expected.run
    # Nothing else is said than how long stages took, where the run is, and what an undisturbed run says.
    stage = re.compile(r"[a-z ]+: [0-9,]+ [a-z]+ in [0-9.]+ s|written: .*")
    assert {line for line in ended.told if not stage.fullmatch(line)} <= expected.told
    assert ended.encoded == [text for text in everything() if text not in there]
    assert files(folder) == files(expected.folder)
    assert not [name for name in files(folder) if ".treceval" in name or name.startswith("work/search")]
    check_what_is_left(folder, expected.run)
    (record,) = folder.glob("run.txt*.json")
    assert json.loads(record.read_text("utf-8"))["run"]["sha256"] == hashlib.sha256(expected.run).hexdigest()


# The premises


def test_the_program_that_is_forked_has_one_thread(program: Program) -> None:
    assert (program.status, program.threads) == (0, 1)


def test_the_run_of_a_fork_is_that_of_a_process_of_its_own(
    program: Program, undisturbed: dict[tuple[str, bool], Undisturbed], tmp_path: Path
) -> None:
    own = "from treceval_py.cli.main import main; from treceval_py.retrieval import pipeline"
    text = f"{own}; pipeline.SHARD_SIZE = {SHARD}; main()"
    command = [sys.executable, "-c", text, "retrieve", *program.arguments("exact", tmp_path)]
    subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=True)
    assert run_of(tmp_path) == undisturbed["exact", False].run


def test_the_program_sees_every_change_of_the_disk(undisturbed: dict[tuple[str, bool], Undisturbed]) -> None:
    """A file takes its name by `os.rename`, so each that a run leaves was seen then; all but the lock."""
    expected = undisturbed["exact", False]
    renamed = Counter(point.name.partition(" ")[2] for point in expected.points if point.name.startswith("os.rename"))
    left = {str(path.relative_to(expected.folder)) for path in expected.folder.rglob("*") if path.is_file()}
    parts = {
        os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.treceval0") for path in left - {"work/lock"}
    }
    assert parts <= set(renamed)
    shards = [path for path in left if path.startswith("work/passages/") and path.endswith(".npy")]
    assert len(shards) >= 22  # of 10 texts at most
    assert renamed["work/passages/.manifest.jsonl.treceval0"] == 1
    appended = [point for point in expected.points if point.name == "open work/passages/manifest.jsonl"]
    assert len(appended) == len(shards)
    assert sum(name.startswith("work/search/") for name in renamed) == 4  # 30 queries, 8 in a group


# One kill


def killed_once(
    program: Program, kind: str, part: str, undisturbed: dict[tuple[str, bool], Undisturbed], folder: Path, point: Point
) -> Ended:
    """Run and kill; what comes after the encoding begins with the embeddings, which saves the time to make them."""
    early = part in EARLY
    if not early:
        begun(undisturbed[kind, False].folder, folder)
    ended = program.run(kind, folder, stage=point.stage, point=point.number, name=point.name)
    if ended.status == KILLED:
        check_what_is_left(folder, undisturbed[kind, False].run)
        assert len(lost(ended, folder)) <= MOST
        assert early or not ended.encoded
    else:
        assert ended.status == 0
    return ended


EARLY = ("begin", "encode")


@pytest.mark.parametrize(
    ("part", "kind", "draw"), [(*where, draw) for where, count in AT_POINTS.items() for draw in range(count)]
)
def test_a_run_that_is_killed_at_a_point_goes_on(
    program: Program, undisturbed: dict[tuple[str, bool], Undisturbed], tmp_path: Path, part: str, kind: str, draw: int
) -> None:
    """Each draw takes another kind of point, and one of its occurrences."""
    kinds: dict[str, list[Point]] = {}
    for point in undisturbed[kind, part not in EARLY].of(part):
        kinds.setdefault(point.kind, []).append(point)
    order = random.Random(f"{part} {kind}").sample(sorted(kinds), len(kinds))
    point = random.Random(draw).choice(kinds[order[draw % len(order)]])
    folder = tmp_path.resolve()
    ended = killed_once(program, kind, part, undisturbed, folder, point)
    assert ended.status == KILLED
    assert ended.points[-1].kind == point.kind
    check_restart(program, kind, folder, undisturbed)


# More than one kill


def test_a_run_that_is_killed_again_and_again_ends(
    program: Program, undisturbed: dict[tuple[str, bool], Undisturbed], tmp_path: Path
) -> None:
    """Each time a bit later than the last."""
    expected = undisturbed["index", False]
    drawn = random.Random(9)
    folder, kills = tmp_path.resolve(), 0
    encoded: list[str] = []
    while True:
        point = int((kills + 1) * drawn.uniform(0.05, 0.1) * len(expected.points))
        ended = program.run("index", folder, point=point)
        encoded += ended.encoded
        if ended.status != KILLED:
            break
        kills += 1
        check_what_is_left(folder, expected.run)
        assert len(lost(ended, folder)) <= MOST
    assert ended.status == 0
    assert run_of(folder) == expected.run
    assert files(folder) == files(expected.folder)
    assert kills > 1
    assert len(encoded) <= len(everything()) + kills * MOST


def test_the_run_of_before_stays_until_the_next_one_is_whole(
    program: Program, undisturbed: dict[tuple[str, bool], Undisturbed], tmp_path: Path
) -> None:
    like = undisturbed["exact", True]
    folder = begun(like.folder, tmp_path.resolve())
    (folder / "run.txt").write_text("of before")
    point = next(point for point in like.points if point.name == "os.rename .run.txt.treceval0")
    ended = program.run("exact", folder, stage=point.stage, point=point.number, name=point.name)
    assert ended.status == KILLED
    assert (folder / "run.txt").read_text() == "of before"
    check_restart(program, "exact", folder, undisturbed)


def test_a_reranked_run_that_is_killed_goes_on(program: Program, tmp_path: Path) -> None:
    """Killed at any of its points, it scores what is left and writes the same bytes."""
    folders = [tmp_path.resolve() / str(number) for number in range(7)]
    for folder in folders:
        folder.mkdir()
    whole = program.run("reranked", folders[0])
    # 30 queries, 2 in a group; the first pairs try out the model
    assert (whole.status, whole.encoded) == (0, ["pairs"] * (1 + 15)), whole.told
    seen = set()
    for seed, folder in enumerate(folders[1:]):
        ended = program.run("reranked", folder, point=random.Random(seed).randrange(len(whole.points)))
        assert ended.status == KILLED
        groups = len(list(folder.rglob("*.npz")))
        seen.add(groups)
        again = program.run("reranked", folder)
        assert again.status == 0, again.told
        assert len(again.encoded) in {1 + 15 - groups, 0}  # nothing if all was scored
        assert (files(folder), run_of(folder)) == (files(folders[0]), run_of(folders[0]))
    assert len(seen) > 1


def test_two_processes_end_with_the_one_that_is_killed_and_go_on(
    program: Program, undisturbed: dict[tuple[str, bool], Undisturbed], tmp_path: Path
) -> None:
    """One device alone goes on. That none outlives the one that is killed while they start, pools test.

    Of two processes each has a shard that it encodes and the next one, and a last two are waiting or being written. All of them may
    be lost where they take no longer than to be written, as they do here; where shards take minutes, one for each.
    """
    folder, expected = tmp_path.resolve(), undisturbed["exact", False].run
    two = ["--device", "cpu", "--device", "cpu"]
    ended = program.run("exact", folder, *two, stage="encode passages", point=random.Random(2).randrange(20, 200))
    assert (ended.status, ended.left) == (KILLED, [])
    check_what_is_left(folder, expected)
    assert 0 < len(kept(folder)) < len(everything())
    again = lost(ended, folder)
    assert len(again) <= (2 * WAITING + 2) * SHARD

    check_restart(program, "exact", folder, undisturbed)
