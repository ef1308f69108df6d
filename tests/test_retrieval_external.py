"""Vectors that somebody else made: every form of the same ones gives the same run, and what does not fit is refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from treceval_py.cli.commands import run as command
from treceval_py.errors import RunnerError
from treceval_py.io.texts import Listed, chunks, survey
from treceval_py.retrieval.collection import Collection
from treceval_py.retrieval.external import Imported, read_vectors
from treceval_py.retrieval.models import Model
from treceval_py.retrieval.pipeline import Request, check_request
from treceval_py.retrieval.reranking import Reranker
from treceval_py.retrieval.shards import Store

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

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


def as_pyserini(folder: Path, ids: list[str], vectors: Any) -> Path:
    import faiss  # type: ignore[import-untyped,import-not-found,unused-ignore]

    folder.mkdir()
    index = faiss.IndexFlatIP(3)
    index.add(vectors)
    faiss.write_index(index, str(folder / "index"))
    (folder / "docid").write_text("".join(f"{each}\n" for each in ids))
    return folder


def retrieve(folder: Path, passages: Path, queries: Path, *more: str | Path) -> dict[str, list[str]]:
    given = ["--passage-embeddings", passages, "--query-embeddings", queries, *more]
    assert command(["retrieve", "-o", f"{folder}/run.txt", *map(str, given)]) == 0
    found: dict[str, list[str]] = {}
    for line in (folder / "run.txt").read_text().splitlines():
        found.setdefault(line.split()[0], []).append(line.split()[2])
    return found


@pytest.mark.parametrize("write", [as_npy, as_float16, as_several, as_parquet, as_fixed_lists, as_pyserini])
def test_vectors_of_every_form_are_ranked(tmp_path: Path, write: Any) -> None:
    passages, queries = write(tmp_path / "p", IDS, VECTORS), as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    assert retrieve(tmp_path, passages, queries) == RANKED
    record = json.loads((tmp_path / "run.txt.json").read_text("utf-8"))
    assert record["passages"]["vectors"] == [5, 3]
    assert record["passages"]["lengths"] == pytest.approx([1, 1], abs=1e-3)
    assert record["run"]["tag"] == passages.name


def test_judgments_may_come_from_a_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    passages, queries = as_npy(tmp_path / "p", IDS, VECTORS), as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    (tmp_path / "qrels.txt").write_text("q1 0 p3 1\nq2 0 p2 1\n")
    retrieve(tmp_path, passages, queries, "--qrels", tmp_path / "qrels.txt", "-m", "RR")
    # The second for q1 and the first for q2: (1/2 + 1) / 2
    assert capfdbinary.readouterr().out.split() == [b"RR", b"all", b"0.7500"]


def test_vectors_that_are_longer_than_1_are_noted(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    passages, queries = as_npy(tmp_path / "p", IDS, 2 * VECTORS), as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    retrieve(tmp_path, passages, queries)
    told = "note: The vectors of the passages have lengths from 2 to 2: inner products favour long ones."
    assert told in capfdbinary.readouterr().err.decode()
    retrieve(tmp_path, passages, queries, "--similarity", "cosine")
    assert "lengths" not in capfdbinary.readouterr().err.decode()


def test_an_index_may_be_made_of_them(tmp_path: Path) -> None:
    passages, queries = as_npy(tmp_path / "p", IDS, VECTORS), as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    assert retrieve(tmp_path, passages, queries, "--index", "Flat") == RANKED


def test_a_plan_may_be_made_of_them(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    passages, queries = as_npy(tmp_path / "p", IDS, VECTORS), as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    given = ["retrieve", "-o", f"{tmp_path}/run.txt", "--passage-embeddings", str(passages), "--dry-run"]
    assert command([*given, "--query-embeddings", str(queries)]) == 0
    told = capfdbinary.readouterr().out.decode()
    assert re.search(r"^vectors +3 dimensions, made elsewhere\nsearch +exact, inner-product", told, re.MULTILINE)
    assert re.search(r"^time +about .*: read texts [0-9.]+ s, search [0-9.]+ s$", told, re.MULTILINE)
    queries = as_npy(tmp_path / "q", ["q1", "q2"], ASKED[:, :2])
    assert command([*given, "--query-embeddings", str(queries)]) == 1
    assert "queries have 2 dimensions, and passages 3." in capfdbinary.readouterr().err.decode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p", "q"]


def refusal(path: Path) -> str:
    with pytest.raises(RunnerError) as caught:
        read_vectors(str(path)).content()
    return str(caught.value)


def test_as_many_ids_as_vectors_are_needed(tmp_path: Path) -> None:
    path = as_npy(tmp_path, IDS[:4], VECTORS)
    told = f"{path}: there are 5 vectors and 4 ids. Give one id for each vector, in their order."
    assert refusal(path) == told


def test_ids_are_needed(tmp_path: Path) -> None:
    path = as_npy(tmp_path, IDS, VECTORS)
    (tmp_path / "v.ids").unlink()
    assert refusal(path) == (
        f"{tmp_path}/v.ids: the ids cannot be read: No such file or directory. Put a file with an id a line there."
    )


def test_an_id_may_not_occur_twice(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = as_npy(tmp_path / "p", [*IDS[:4], "p1"], VECTORS)
    queries = as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    given = ["--passage-embeddings", path, "--query-embeddings", queries]
    assert command(["retrieve", "-o", f"{tmp_path}/run.txt", *map(str, given)]) == 1
    assert f"{path}: the id 'p1' occurs twice (rows 2 and 5)" in capfdbinary.readouterr().err.decode()


def test_ids_may_be_bytes(tmp_path: Path) -> None:
    passages = as_parquet(tmp_path / "p", [each.encode() for each in IDS], VECTORS)  # type: ignore[misc]
    assert retrieve(tmp_path, passages, as_npy(tmp_path / "q", ["q1", "q2"], ASKED)) == RANKED


def test_ids_may_not_be_fractions(tmp_path: Path) -> None:
    path = as_parquet(tmp_path / "p", [1.0, 2.0, 3.0, 4.0, 5.0], VECTORS)  # type: ignore[list-item]
    assert refusal(path) == f"{path}: the id 1.0 is neither text nor a whole number. Write ids as text."


@pytest.mark.parametrize("shape", [(0, 3), (5, 0)])
def test_without_a_vector_there_is_nothing_to_search(tmp_path: Path, shape: tuple[int, int]) -> None:
    path = as_npy(tmp_path, IDS[: shape[0]], np.zeros(shape, dtype=np.float32))
    told = f"{path}: there are {shape[0]} vectors of {shape[1]} dimensions. Give 1 or more of each."
    assert refusal(path) == told


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_is_too_large_for_float32_is_refused(tmp_path: Path) -> None:
    vectors = VECTORS.astype(np.float64)
    vectors[3, 1] = 1e300
    path = as_npy(tmp_path, IDS, vectors)
    assert "the vector of 'p3' (row 4) has a value that is not finite." in refusal(path)


@pytest.mark.parametrize("content", [b"{'descr': (", b"{'shape': (5, 3), 'descr': 3, 'fortran_order': 0}"])
def test_a_damaged_header_is_refused(tmp_path: Path, content: bytes) -> None:
    path = as_npy(tmp_path, IDS, VECTORS)
    header, rows = path.read_bytes()[:10], path.read_bytes()[128:]
    path.write_bytes(header + content.ljust(118) + rows)
    assert refusal(path).startswith(f"{path}: expected a whole .npy file with a table of numbers")


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


def stored(folder: Path, storage: str = "float32", *, part: bool = False) -> Path:
    """Make a work folder's embeddings in two shards, or in one of them."""
    texts = Listed("corpus", "document", [(each, f"text {each}") for each in IDS])
    made = {"dimensions": 3, "model": "any"}
    store = Store(str(folder), made, survey(texts, 4), texts, storage).open()
    for chunk in chunks(texts, 4):
        rows = [IDS.index(each) for each in chunk.ids]
        vectors: Any = VECTORS[rows]
        if storage == "sparse":
            vectors = pytest.importorskip("scipy.sparse").csr_matrix(vectors)
        store.add(chunk, vectors, {})
        if part:
            break
    return folder


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_a_work_folder_is_a_source(tmp_path: Path, storage: str) -> None:
    queries = as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    assert retrieve(tmp_path, stored(tmp_path / "p", storage), queries) == RANKED


@pytest.mark.parametrize("suffix", [".npy", ".ids"])
def test_a_work_folder_that_was_changed_is_refused(tmp_path: Path, suffix: str) -> None:
    path = max(stored(tmp_path).glob(f"*{suffix}"))
    content = path.read_bytes()
    path.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
    assert refusal(tmp_path).startswith(f"{path}: the file was cut short or changed since it was written")


def test_a_work_folder_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    told = f"{tmp_path}: only {{}} of 5 texts have their embeddings here. Repeat the command that makes them."
    (shard,) = stored(tmp_path, part=True).glob("*.ids")
    assert refusal(tmp_path) == told.format(len(shard.read_text().split()))


def test_a_work_folder_of_sparse_vectors_is_refused(tmp_path: Path) -> None:
    told = "these vectors are sparse, and only dense ones are searched so. Use --retriever sparse"
    assert refusal(stored(tmp_path, "sparse")).startswith(f"{tmp_path}: {told}")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_refused(tmp_path: Path, value: float) -> None:
    vectors = VECTORS.copy()
    vectors[3, 1] = value
    path = as_npy(tmp_path, IDS, vectors)
    assert refusal(path).startswith(f"{path}: the vector of 'p3' (row 4) has a value that is not finite.")


def test_vectors_of_another_length_are_refused(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = as_several(tmp_path / "p", IDS, VECTORS)
    np.save(path / "1.npy", VECTORS[3:, :2])
    assert refusal(path).startswith(f"{path}/1.npy: vectors have 2 dimensions, and those before them 3.")
    given = ["--passage-embeddings", as_npy(tmp_path / "s", IDS, VECTORS)]
    given += ["--query-embeddings", as_npy(tmp_path / "q", ["q1", "q2"], ASKED[:, :2])]
    assert command(["retrieve", "-o", f"{tmp_path}/run.txt", *map(str, given)]) == 1
    assert "queries have 2 dimensions, and passages 3." in capfdbinary.readouterr().err.decode()


def test_lists_of_several_lengths_are_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "v.parquet"
    parquet.write_table(pa.table({"id": [1, 2], "vector": [[1.0, 2.0], [1.0]]}), path)
    assert refusal(path).startswith(f"{path}: not all vectors have 2 dimensions, as the first has.")
    parquet.write_table(pa.table({"id": [1, 2], "vector": [[1.0, 2.0], None]}), path)
    assert refusal(path).startswith(f"{path}: a value of column 'vector' is missing.")
    parquet.write_table(pa.table({"name": [1, 2], "vector": [[1.0, 2.0]] * 2}), path)
    assert refusal(path).startswith(f"{path}: there is no column 'id' (there are name, vector).")
    for wrong in ([1.0, 2.0], [{"x": 1.0}, {"x": 2.0}], [[1], [2]]):
        parquet.write_table(pa.table({"id": [1, 2], "vector": wrong}), path)
        assert refusal(path).startswith(f"{path}: column 'vector' has no lists of floating-point numbers.")


@pytest.mark.parametrize("array", [np.zeros(5, dtype=np.float32), np.zeros((5, 3), dtype=np.int64)])
def test_what_is_no_table_of_floats_is_refused(tmp_path: Path, array: Any) -> None:
    assert "vectors are a table of floating-point numbers" in refusal(as_npy(tmp_path, IDS, array))


def test_an_index_that_does_not_keep_its_vectors_is_refused(tmp_path: Path) -> None:
    import faiss

    path = as_pyserini(tmp_path / "p", IDS, VECTORS)
    index = faiss.IndexScalarQuantizer(3, faiss.ScalarQuantizer.QT_8bit)
    index.train(VECTORS)
    index.add(VECTORS)
    faiss.write_index(index, str(path / "index"))
    assert "this Faiss index (IndexScalarQuantizer) does not keep the vectors as they were." in refusal(path)


@pytest.mark.parametrize("name", ["v.npy", "v.parquet", "v.pkl"])
def test_files_of_something_else_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"hello")
    assert refusal(tmp_path / name).startswith(f"{tmp_path / name}: ")


def test_where_there_is_nothing_that_is_told(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith(f"{tmp_path}: there are no vectors.")
    assert refusal(tmp_path / "x").startswith(f"{tmp_path}/x: no such file or folder.")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--passage-embeddings", "x"], "--passage-embeddings needs --query-embeddings."),
        (
            ["--passage-embeddings", "x", "--query-embeddings", "y", "--pooling", "cls"],
            "--pooling cannot be used with --passage-embeddings.",
        ),
        (["--embeddings-only", "-m", "map"], "--measure cannot be used with --embeddings-only."),
    ],
)
def test_options_that_do_not_fit_are_refused(
    capfdbinary: pytest.CaptureFixture[bytes], arguments: list[str], told: str
) -> None:
    assert command(["retrieve", "-o", "run.txt", *arguments]) == 2
    assert capfdbinary.readouterr().err.decode() == f"treceval: {told} See 'treceval retrieve --help'.\n"


def test_a_run_or_a_folder_must_be_named(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert command(["retrieve", "data"]) == 2
    assert capfdbinary.readouterr().err.decode() == "treceval: -o RUN is missing. See 'treceval retrieve --help'.\n"


def test_vectors_without_texts_cannot_be_reranked(tmp_path: Path) -> None:
    for name in ("passages", "queries"):
        np.save(tmp_path / f"{name}.npy", np.eye(2, dtype=np.float32))
        (tmp_path / f"{name}.ids").write_text("a\nb\n")
    passages, queries = (read_vectors(str(tmp_path / f"{name}.npy")) for name in ("passages", "queries"))
    collection = Collection("vectors", passages, queries, None, None, ())
    reranker = Reranker(model=cast("Model", None))
    request = Request(collection, str(tmp_path / "r.txt"), str(tmp_path / "w"), Imported(passages, queries))
    with pytest.raises(RunnerError, match="vectors have no texts to rerank"):
        check_request(request._replace(reranker=reranker))
    check_request(request)


@pytest.mark.parametrize("size", [0, 4, 28, 31, 44])
def test_an_index_that_was_cut_short_is_refused(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], size: int
) -> None:
    passages, queries = as_pyserini(tmp_path / "p", IDS, VECTORS), as_npy(tmp_path / "q", ["q1", "q2"], ASKED)
    (passages / "index").write_bytes((passages / "index").read_bytes()[:size])
    # in a process of its own: Faiss can crash on such files
    given = ["--passage-embeddings", str(passages), "--query-embeddings", str(queries), "-o", str(tmp_path / "run.txt")]
    done = subprocess.run([sys.executable, "-m", "treceval_py", "retrieve", *given], capture_output=True, check=False)
    what = "expected .npy, .parquet or a Faiss index, found something else"
    assert (done.returncode, f"{passages}/index: {what}" in done.stderr.decode()) == (1, True), done.stderr
