"""Vectors that somebody else made: every form of the same ones gives the same run, and what does not fit is refused."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Done, treceval
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import RunnerError
from treceval_py.retrieval.external import read_vectors

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

pytest.importorskip("faiss", reason="the extra retrieve is not installed")
pytest.importorskip("pyarrow", reason="the extra retrieve is not installed")

IDS = [f"p{number}" for number in range(5)]
VECTORS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.6, 0.8, 0], [0.8, 0.6, 0]], dtype=np.float32)
ASKED = np.array([[0.8, 0.6, 0], [0, 0.6, 0.8]], dtype=np.float32)

# Inner products by hand: q1 has 0.8, 0.6, 0, 0.96, 1; q2 has 0, 0.6, 0.8, 0.48, 0.36.
RANKED = {"q1": ["p4", "p3", "p0", "p1", "p2"], "q2": ["p2", "p1", "p3", "p4", "p0"]}


def as_npy(folder: Path, ids: list[str], vectors: Any) -> Path:
    folder.mkdir(exist_ok=True)
    np.save(folder / "v.npy", vectors)
    (folder / "v.ids").write_text("".join(f"{each}\n" for each in ids))
    return folder / "v.npy"


def as_float16(folder: Path, ids: list[str], vectors: Any) -> Path:
    return as_npy(folder, ids, vectors.astype(np.float16))


def as_several(folder: Path, ids: list[str], vectors: Any) -> Path:
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(ids)), 2)):
        np.save(folder / f"{number}.npy", vectors[rows])
        (folder / f"{number}.ids").write_text("\n".join(ids[row] for row in rows))
    return folder


def as_parquet(folder: Path, ids: list[str], vectors: Any) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(exist_ok=True)
    table = pa.table({"docid": ids, "text": ids, "emb": vectors.tolist()})
    parquet.write_table(table, folder / "v.parquet", row_group_size=2)
    return folder / "v.parquet"


def as_fixed_lists(folder: Path, ids: list[str], vectors: Any) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 3)
    parquet.write_table(pa.table({"id": ids, "vector": lists}), folder / "v.parquet")
    return folder


def given(passages: Path, queries: Any = None) -> list[str]:
    """Return the options of vectors of passages, and of those of the two queries or others."""
    asked = as_npy(passages.parent / "q", ["q1", "q2"], ASKED if queries is None else queries)
    return ["--embeddings", str(passages), str(asked)]


def retrieve(folder: Path, passages: Path, *more: str, queries: Any = None, status: int = 0) -> Done:
    done = treceval(["retrieve", "-o", f"{folder}/run.txt", *given(passages, queries), *more])
    assert done.status == status, done.err.decode()
    return done


def ranked(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (folder / "run.txt").read_text().splitlines():
        found.setdefault(line.split()[0], []).append(line.split()[2])
    return found


def with_empty(folder: Path, ids: list[str], vectors: Any) -> Path:
    """Write files of which some have no vectors, as those who write in parts do."""
    import pyarrow as pa
    from pyarrow import parquet

    as_several(folder, ids, vectors)
    parquet.write_table(pa.table({"id": pa.array([], pa.string()), "vector": []}), folder / "0.parquet")
    np.save(folder / "2.npy", vectors[:0])
    (folder / "2.ids").touch()
    return folder


@pytest.mark.parametrize("write", [as_npy, as_float16, as_several, with_empty, as_parquet, as_fixed_lists])
def test_vectors_of_every_form_are_ranked(tmp_path: Path, write: Any) -> None:
    passages = write(tmp_path / "p", IDS, VECTORS)
    retrieve(tmp_path, passages)
    assert ranked(tmp_path) == RANKED
    record = json.loads((tmp_path / "run.txt.json").read_text("utf-8"))
    assert record["passages"]["vectors"] == [5, 3]
    assert record["passages"]["lengths"] == pytest.approx([1, 1], abs=1e-3)
    assert record["run"]["tag"] == passages.name


@pytest.mark.parametrize("write", [as_several, as_parquet])
def test_paths_may_be_relative(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "p", IDS, VECTORS)
    as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    monkeypatch.chdir(tmp_path)
    passages = "p" if write is as_several else "p/v.parquet"
    assert list(read_vectors(passages).ids()) == IDS
    assert list(read_vectors("q/v.npy", "query").ids()) == ["q1", "q2"]


def test_ids_may_be_bytes_and_an_index_may_be_made(tmp_path: Path) -> None:
    passages = as_parquet(tmp_path / "p", [each.encode() for each in IDS], VECTORS)  # type: ignore[misc]
    retrieve(tmp_path, passages, "--index", "Flat")
    assert ranked(tmp_path) == RANKED


def test_judgments_may_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 p3 1\nq2 0 p2 1\n")
    judged = ["--qrels", str(tmp_path / "qrels.txt"), "-m", "RR"]
    # The second for q1 and the first for q2: (1/2 + 1) / 2
    assert retrieve(tmp_path, as_npy(tmp_path / "p", IDS, VECTORS), *judged).out.split() == [b"RR", b"all", b"0.7500"]


@pytest.mark.parametrize(
    ("longer", "noted"), [(1, False), (1.0099, False), (1.0101, True), (0.9901, False), (0.9899, True), (2, True)]
)
def test_vectors_that_are_longer_or_shorter_than_1_are_noted(tmp_path: Path, longer: float, noted: bool) -> None:
    vectors = VECTORS.copy()
    vectors[0] *= longer
    passages = as_npy(tmp_path / "p", IDS, vectors)
    told = f"have lengths from {min(longer, 1):.4g} to {max(longer, 1):.4g}: inner products favour long ones."
    assert (told in retrieve(tmp_path, passages).err.decode()) is noted
    assert "lengths" not in retrieve(tmp_path, passages, "--similarity", "cosine").err.decode()


def test_a_plan_may_be_made_of_them(tmp_path: Path) -> None:
    passages = as_npy(tmp_path / "p", IDS, VECTORS)
    told = retrieve(tmp_path, passages, "--dry-run").out.decode()
    assert re.search(r"^vectors +3 dimensions, made elsewhere\nsearch +exact, inner-product", told, re.MULTILINE)
    assert re.search(r"^time +about .*: read texts [0-9.]+ s$", told, re.MULTILINE)
    told = "queries have 2 dimensions, and passages 3."
    assert told in retrieve(tmp_path, passages, "--dry-run", queries=ASKED[:, :2], status=1).err.decode()
    assert os.listdir(tmp_path) == ["p"]
    assert told in retrieve(tmp_path, passages, queries=ASKED[:, :2], status=1).err.decode()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_values_that_are_not_finite_in_float32_are_refused(tmp_path: Path, value: float) -> None:
    vectors = VECTORS.astype(np.float64)
    vectors[3, 1] = value
    told = retrieve(tmp_path, as_npy(tmp_path / "p", IDS, vectors), status=1).err.decode()
    assert "the vector at position 3 (from 0) is longer than 1e18, or has a value that is not finite." in told


@pytest.mark.parametrize("write", [as_npy, as_parquet])
def test_no_vectors_are_refused(tmp_path: Path, write: Any) -> None:
    path = write(tmp_path / "p", [], VECTORS[:0])
    assert str(path) in retrieve(tmp_path, path, status=1).err.decode()


# What is refused


def refusal(path: Path) -> str:
    with pytest.raises(RunnerError) as caught:
        read_vectors(str(path)).content()
    return str(caught.value)


def table(folder: Path, **columns: Any) -> Path:
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    parquet.write_table(pa.table(columns), folder / "v.parquet")
    return folder / "v.parquet"


def with_header(folder: Path, content: bytes) -> Path:
    """Write an array whose header says something else."""
    path = as_npy(folder, IDS, VECTORS)
    header, rows = path.read_bytes()[:10], path.read_bytes()[128:]
    path.write_bytes(header + content.ljust(118) + rows)
    return path


def without(folder: Path, name: str) -> Path:
    path = as_npy(folder, IDS, VECTORS)
    (folder / name).unlink()
    return path


def holding(folder: Path, name: str, content: bytes = b"hello") -> Path:
    folder.mkdir()
    (folder / name).write_bytes(content)
    return folder / name


def of_two_lengths(folder: Path) -> Path:
    as_several(folder, IDS, VECTORS)
    np.save(folder / "1.npy", VECTORS[3:, :2])
    return folder


REFUSED: dict[str, Callable[[Path], Path]] = {
    "fewer ids": lambda folder: as_npy(folder, IDS[:4], VECTORS),
    "no ids": lambda folder: without(folder, "v.ids"),
    "one axis": lambda folder: as_npy(folder, IDS, np.zeros(5, dtype=np.float32)),
    "whole numbers": lambda folder: as_npy(folder, IDS, np.zeros((5, 3), dtype=np.int64)),
    "half a header": lambda folder: with_header(folder, b"{'descr': ("),
    "a header of another type": lambda folder: with_header(
        folder, b"{'shape': (5, 3), 'descr': 3, 'fortran_order': 0}"
    ),
    "text as .npy": lambda folder: holding(folder, "v.npy"),
    "text as .parquet": lambda folder: holding(folder, "v.parquet"),
    "text as .pkl": lambda folder: holding(folder, "v.pkl"),
    "an empty folder": lambda folder: holding(folder, "readme").parent,
    "nothing": lambda folder: folder,
    "several lengths in files": of_two_lengths,
    "ids that are fractions": lambda folder: table(folder, id=[1.0], vector=[[1.0]]),
    "several lengths in lists": lambda folder: table(folder, id=[1, 2], vector=[[1.0, 2.0], [1.0]]),
    "a missing list": lambda folder: table(folder, id=[1, 2], vector=[[1.0, 2.0], None]),
    "a missing list first": lambda folder: table(folder, id=[1, 2], vector=[None, [1.0, 2.0]]),
    "arrays without numbers": lambda folder: as_npy(folder, IDS, VECTORS[:, :0]),
    "lists without numbers": lambda folder: table(folder, id=[1, 2], vector=[[], []]),
    "a missing id": lambda folder: table(folder, id=["a", None], vector=[[1.0], [1.0]]),
    "no column of ids": lambda folder: table(folder, name=[1, 2], vector=[[1.0, 2.0]] * 2),
    "no column of vectors": lambda folder: table(folder, id=[1, 2], numbers=[[1.0, 2.0]] * 2),
    "numbers for lists": lambda folder: table(folder, id=[1, 2], vector=[1.0, 2.0]),
    "records for lists": lambda folder: table(folder, id=[1, 2], vector=[{"x": 1.0}, {"x": 2.0}]),
    "lists of words": lambda folder: table(folder, id=[1, 2], vector=[["one"], ["two"]]),
    "a work folder": lambda folder: holding(folder, "manifest.jsonl").parent,
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_cannot_be_read_as_vectors_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    told = {
        case: refusal(write(tmp_path / case.replace(" ", "-"))).replace(str(tmp_path), "…")
        for case, write in REFUSED.items()
    }
    assert told == snapshot


def test_lists_of_another_length_further_down_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treceval_py.retrieval.external.ROWS", 1)
    path = table(tmp_path / "p", id=[1, 2], vector=[[1.0, 2.0], [1.0]])
    assert refusal(path).startswith(f"{path}: cannot be read: its vectors are not all of one length.")


def test_an_id_may_not_occur_twice(tmp_path: Path) -> None:
    path = as_npy(tmp_path / "p", [*IDS[:4], "p1"], VECTORS)
    told = retrieve(tmp_path, path, status=1).err.decode()
    assert f"{path}: the id 'p1' occurs twice (rows 2 and 5)" in told


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = as_parquet(tmp_path, IDS, VECTORS)
    content = path.read_bytes()
    assert content.index(b"PAR1") == 0
    for at in range(4, len(content) - 8, 37):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            read_vectors(str(path)).content()
        except RunnerError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017 - some bytes decide nothing, or a number
