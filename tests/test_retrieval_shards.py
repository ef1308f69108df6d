"""Embeddings on disk: what is there is used again, and what does not fit is refused by name."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.corpora.texts import Chunk, Listed, Survey, chunks, survey
from treceval_py.errors import OutputError, RunnerError
from treceval_py.retrieval.shards import Store, locked

CHANGED = "the file was cut short or changed since it was written: its SHA-256 is not that of the manifest"
MADE: dict[str, Any] = {
    "model": {"name": "tiny", "revision": None, "files": {"config.json": "aa", "model.safetensors": "bb"}},
    "pooling": "mean",
    "instruction": "",
    "dimensions": 4,
}

Pairs: TypeAlias = "list[tuple[str, str]]"

PAIRS = [(f"d{number}", f"text {number}") for number in range(7)]


def texts(pairs: Pairs = PAIRS) -> Listed:
    return Listed("corpus.tsv", "document", pairs)


def seen(pairs: Pairs = PAIRS, size: int = 3) -> Survey:
    return survey(texts(pairs), size)


def vectors_of(chunk: Chunk) -> Any:
    """Return vectors that say which text they are of."""
    return np.array([[int(docid[1:]), 1, 2, 3] for docid in chunk.ids], dtype=np.float32)


def name_of(number: int) -> str:
    """Return what the files of a chunk are called, without their ends."""
    return list(chunks(texts(), 3))[number].sha256[:16]


def filled(folder: Path, count: int = 3, made: dict[str, Any] = MADE, storage: str = "float32") -> Store:
    store = Store(str(folder), made, seen(), texts(), storage).open()
    for chunk in list(chunks(texts(), 3))[:count]:
        store.add(chunk, vectors_of(chunk), {"device": "cpu"})
    return store


def opened(folder: Path, pairs: Pairs = PAIRS, made: dict[str, Any] = MADE, storage: str = "float32") -> Store:
    return Store(str(folder), made, seen(pairs), texts(pairs), storage).open()


def refusal(
    folder: Path, made: dict[str, Any] = MADE, pairs: Pairs = PAIRS, size: int = 3, storage: str = "float32"
) -> str:
    with pytest.raises(RunnerError) as caught:
        Store(str(folder), made, seen(pairs, size), texts(pairs), storage).open().check_files()
    return str(caught.value)


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    store = opened(tmp_path / "w")
    store.check_files()
    (first, block), = store.vectors().blocks(100)  # fmt: skip
    assert first == 0
    assert block.tolist() == [[number, 1, 2, 3] for number in range(7)]
    assert list(store.ids()) == ["d0", "d1", "d2", "d3", "d4", "d5", "d6"]
    assert store.missing() == []


def test_what_somebody_else_wrote_is_entered_where_it_is_seen(tmp_path: Path) -> None:
    for folder in ("here", "elsewhere"):
        os.mkdir(tmp_path / folder)
    elsewhere = Store(str(tmp_path / "elsewhere"), MADE, seen(), texts(), "float32")
    here = Store(str(tmp_path / "here"), MADE, seen(), texts(), "float32")
    for chunk in chunks(texts(), 3):
        written = elsewhere.writer()(chunk, vectors_of(chunk), by={"host": "far"})
        with pytest.raises(OutputError) as caught:
            here.add(chunk, written, {})
        assert str(caught.value) == (
            f"{tmp_path}/here/{written.texts[:16]}.npy: was written on far, and is not here. "
            "Leave the setting shared-work out, or put the work folder where all nodes see the same."
        )
        elsewhere.add(chunk, written, {})
    assert (elsewhere.missing(), elsewhere.taken()) == ([], 0)
    assert opened(tmp_path / "elsewhere").content() == filled(tmp_path / "third").content()


def test_a_store_goes_on_where_it_was(tmp_path: Path) -> None:
    filled(tmp_path / "w", count=2)
    store = opened(tmp_path / "w")
    assert (store.missing(), store.done()) == ([2], 5)


def test_files_without_an_entry_in_the_manifest_do_not_count(tmp_path: Path) -> None:
    filled(tmp_path / "w", count=1)
    (tmp_path / "w" / f"{name_of(1)}.npy").write_bytes(b"what a kill left")
    (tmp_path / "w" / f".{name_of(2)}.npy.treceval0").write_bytes(b"this too")
    store = opened(tmp_path / "w")
    assert store.missing() == [1, 2]
    for chunk in list(chunks(texts(), 3))[1:]:
        store.add(chunk, vectors_of(chunk), {})
    store.check_files()
    assert not list((tmp_path / "w").glob(".*"))


def test_the_order_of_adding_does_not_matter(tmp_path: Path) -> None:
    store = opened(tmp_path / "w")
    for chunk in reversed(list(chunks(texts(), 3))):
        store.add(chunk, vectors_of(chunk), {"device": "cpu"})
    assert store.content() == filled(tmp_path / "v").content()
    assert (tmp_path / "w" / "manifest.json").read_bytes() == (tmp_path / "v" / "manifest.json").read_bytes()


def test_float16_takes_half_the_room(tmp_path: Path) -> None:
    store = filled(tmp_path / "w", storage="float16")
    assert np.load(tmp_path / "w" / f"{name_of(0)}.npy").dtype == np.float16
    (_, block), = store.vectors().blocks(100)  # fmt: skip
    assert block.dtype == np.float32


def with_model(**files: str) -> dict[str, Any]:
    return {"model": {"name": "tiny", "files": {"config.json": "aa", "model.safetensors": "bb", **files}}}


OTHERS: dict[str, dict[str, Any]] = {
    "pooling": {"made": {**MADE, "pooling": "cls"}},
    "instruction": {"made": {**MADE, "instruction": "Find: "}},
    "dimensions": {"made": {**MADE, "dimensions": 8}},
    "a new setting": {"made": {**MADE, "new": 1}},
    "weights": {"made": {**MADE, **with_model(**{"model.safetensors": "cc"})}},
    "another file": {"made": {**MADE, **with_model(**{"vocab.txt": "dd"})}},
    "storage": {"storage": "float16"},
    "shard size": {"size": 5},
    "texts": {"pairs": [(docid, f"{text}!") for docid, text in PAIRS]},
    "ids": {"pairs": [(f"e{docid}", text) for docid, text in PAIRS]},
}


def test_other_settings_and_texts_are_refused_by_name(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    filled(tmp_path / "w")
    told = {case: refusal(tmp_path / "w", **other).replace(str(tmp_path), "…") for case, other in OTHERS.items()}
    assert told == snapshot


def test_the_same_model_may_have_another_name(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    other = {**MADE, "model": {**MADE["model"], "name": "hub/tiny", "revision": "abc"}}
    assert opened(tmp_path / "w", made=other).missing() == []


@pytest.mark.parametrize("suffix", [".npy", ".ids", ".hashes"])
@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: content[:-2] + b"#" + content[-1:]])
def test_a_file_that_was_cut_short_or_changed_is_refused(
    tmp_path: Path, suffix: str, damage: Callable[[bytes], bytes]
) -> None:
    filled(tmp_path / "w")
    file = tmp_path / "w" / (name_of(1) + suffix)
    file.write_bytes(damage(file.read_bytes()))
    assert refusal(tmp_path / "w") == f"{file}: {CHANGED}. Remove it to encode that shard again."


@pytest.mark.parametrize("suffix", [".npy", ".ids", ".hashes"])
def test_a_shard_that_is_gone_is_encoded_again(tmp_path: Path, suffix: str) -> None:
    filled(tmp_path / "w")
    before = (tmp_path / "w" / "manifest.json").read_bytes()
    (tmp_path / "w" / (name_of(1) + suffix)).unlink()
    store = opened(tmp_path / "w")
    assert store.missing() == [1]
    chunk = list(chunks(texts(), 3))[1]
    store.add(chunk, vectors_of(chunk), {"device": "cpu"})
    assert (tmp_path / "w" / "manifest.json").read_bytes() == before


def test_where_nothing_was_encoded_other_settings_may_begin(tmp_path: Path) -> None:
    filled(tmp_path / "w", count=0)
    store = filled(tmp_path / "w", made={**MADE, "pooling": "cls"})
    assert opened(tmp_path / "w", made={**MADE, "pooling": "cls"}).content() == store.content()


def test_a_shard_that_cannot_be_written_whole_is_not_counted(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk; 3 vectors of 4 numbers are 176 bytes with their header."""
    program = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "import numpy as np\n"
        "from treceval_py.retrieval.shards import Store\n"
        "from treceval_py.corpora.texts import Listed, chunks, survey\n"
        "texts = Listed('corpus.tsv', 'document', [(f'd{n}', 'x') for n in range(10)])\n"
        "store = Store(sys.argv[1], {'dimensions': 1600}, survey(texts, 10), texts).open()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (63_000, 63_000))\n"
        "store.add(next(chunks(texts, 10)), np.ones((10, 1600), np.float32), {})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "w")], capture_output=True, text=True, check=False
    )
    (chunk,) = chunks(Listed("corpus.tsv", "document", [(f"d{n}", "x") for n in range(10)]), 10)
    file = tmp_path / "w" / f"{chunk.sha256[:16]}.npy"
    assert done.stderr.splitlines()[-1].endswith(
        f"{file}: cannot be written: File too large. Check the folder and the space left."
    )
    assert not file.exists()
    assert json.loads((tmp_path / "w" / "manifest.json").read_text("utf-8"))["shards"] == {}


def test_a_manifest_that_was_edited_or_is_none_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    filled(tmp_path / "w")
    manifest = tmp_path / "w" / "manifest.json"
    edited = manifest.read_text("utf-8").replace('"mean"', '"cls"')
    told = []
    for content in (edited, "", "{", "[]", "null", '{"format": "another"}'):
        manifest.write_text(content, "utf-8")
        told.append(refusal(tmp_path / "w", {**MADE, "pooling": "cls"}))
    manifest.unlink()
    told.append(refusal(tmp_path / "w").replace(min(map(name_of, range(3))), "FIRST"))
    assert [each.replace(str(tmp_path), "…") for each in told] == snapshot


def test_looking_writes_nothing(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "w"), MADE, seen(), texts()).find()
    assert store.missing() == [0, 1, 2]
    assert not (tmp_path / "w").exists()


def test_what_does_not_fit_the_texts_is_not_added(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    store, half = opened(tmp_path / "w"), opened(tmp_path / "half", storage="float16")
    chunk = next(chunks(texts(), 3))
    other = next(chunks(texts([("d0", "now another"), *PAIRS[1:]]), 3))
    told = []
    for where, some, vectors in (
        (store, other, vectors_of(other)),
        (store, chunk, vectors_of(chunk)[:1]),
        (store, chunk, vectors_of(chunk)[:, :3]),
        (half, chunk, vectors_of(chunk) + 65520),  # what is nearer to 65,536 than to 65,504 is infinite in float16
    ):
        with pytest.raises(RunnerError) as caught:
            where.add(some, vectors, {})
        told.append(str(caught.value))
    assert told == snapshot
    half.add(chunk, np.minimum(vectors_of(chunk) + 65519, 65519), {})
    store.add(chunk, vectors_of(chunk), {})
    assert (store.missing(), half.missing()) == ([1, 2], [1, 2])


def test_the_manifest_says_what_its_files_are(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    told = json.loads((tmp_path / "w" / "manifest.json").read_text("utf-8"))
    names = [name_of(number) for number in range(3)]
    assert (told["texts"]["shards"], list(told["shards"])) == (names, sorted(names))
    for name, shard in told["shards"].items():
        files = {file.suffix: file.read_bytes() for file in (tmp_path / "w").glob(f"{name}.*")}
        assert shard["files"] == {suffix: hashlib.sha256(content).hexdigest() for suffix, content in files.items()}
        assert shard["by"] == {"device": "cpu"}
    assert told["made"] == MADE


def test_a_second_program_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    held = "import sys; from treceval_py.retrieval.shards import locked\n"
    held += "with locked(sys.argv[1]):\n    print('held', flush=True)\n    sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", held, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RunnerError) as caught, locked(str(tmp_path)):
            pass
        assert str(caught.value) == (
            f"{tmp_path}: another treceval command is using this folder (process {other.pid}). Wait for it, or "
            "use another --work folder."
        )
        other.kill()  # the lock goes with it
        other.wait()
        with locked(str(tmp_path)):
            pass


# A corpus that changed.


def encoded(folder: Path, pairs: Pairs) -> tuple[Store, list[str]]:
    """Make the shards that a store lacks; return it with the ids that were encoded."""
    store, done = opened(folder, pairs), list[str]()
    missing = set(store.missing())
    for chunk in chunks(texts(pairs), 3):
        if chunk.number in missing:
            store.add(chunk, vectors_of(chunk), {"device": "cpu"})
            done += chunk.ids
    return store, done


@pytest.mark.parametrize(
    ("changed", "anew", "again"),
    [
        ([*PAIRS, ("d7", "text 7")], ["d5", "d6", "d7"], 2),
        (PAIRS[:6], ["d5"], 1),
        (PAIRS[2:], [], 0),
        (PAIRS[2:5] + PAIRS[:2] + PAIRS[5:], [], 0),
        ([*PAIRS[:3], ("d3", "another"), *PAIRS[4:]], ["d2", "d3", "d4"], 2),
        ([*PAIRS[:1], ("d9", "new"), *PAIRS[1:]], ["d0", "d9", "d1"], 2),
    ],
    ids=["at its end", "shorter", "without its first", "moved", "one text", "within"],
)  # fmt: skip
def test_of_texts_that_changed_only_shards_with_a_change_are_encoded(
    tmp_path: Path, changed: Pairs, anew: list[str], again: int
) -> None:
    """Chunks end after the lowest CRC-32 of ids that may end them: d0 d1 | d2 d3 d4 | d5 d6."""
    filled(tmp_path / "w")
    assert Store(str(tmp_path / "w"), MADE, seen(changed), texts(changed)).find().again() == again
    store, done = encoded(tmp_path / "w", changed)
    assert done == anew
    afresh, _ = encoded(tmp_path / "v", changed)
    assert (store.content(), list(store.ids())) == (afresh.content(), [docid for docid, _ in changed])
    (_, block), = store.vectors().blocks(100)  # fmt: skip
    assert [int(row[0]) for row in block] == [int(docid[1:]) for docid, _ in changed]
    for file in (tmp_path / "v").glob("*.*"):
        assert file.name == "manifest.json" or (tmp_path / "w" / file.name).read_bytes() == file.read_bytes()


def test_what_is_not_asked_for_any_more_stays_and_is_found_again(tmp_path: Path) -> None:
    before = filled(tmp_path / "w")
    shorter, _ = encoded(tmp_path / "w", PAIRS[:6])
    assert [shard.rows for shard in shorter.spare().values()] == [2]
    store, done = encoded(tmp_path / "w", PAIRS)
    assert (store.content(), done) == (before.content(), [])


def test_the_manifest_has_the_shards_in_the_order_of_the_texts(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    encoded(tmp_path / "w", PAIRS[2:])
    told = json.loads((tmp_path / "w" / "manifest.json").read_text("utf-8"))
    assert told["texts"]["shards"] == [name_of(1), name_of(2)]


def test_vectors_of_texts_that_stayed_are_taken_from_other_shards(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    changed = [("d9", "new"), *reversed(PAIRS), ("d8", "new")]
    store = Store(str(tmp_path / "w"), MADE, seen(changed), texts(changed), reuse=True).open()
    assert store.left() == 2
    assert store.present()  # chunks of which all texts are known have their shards at once
    for chunk, some in store.wanted():
        store.add(chunk, vectors_of(some), {"device": "gpu"})
        assert set(some.ids) < {"d9", "d8"}
    (_, block), = store.vectors().blocks(100)  # fmt: skip
    assert block.tolist() == [[int(docid[1:]), 1, 2, 3] for docid, _ in changed]
    assert sum(shard.taken for shard in store.present()) == 7
    assert store.makers() == [{"device": "gpu"}, {"device": "cpu"}]
    opened(tmp_path / "w", changed).check_files()


def test_a_damaged_shard_is_not_taken_from(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    file = tmp_path / "w" / f"{name_of(2)}.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    changed = [*PAIRS, ("d7", "text 7")]
    store = Store(str(tmp_path / "w"), MADE, seen(changed), texts(changed), reuse=True).open()
    ((chunk, some),) = store.wanted()
    with pytest.raises(RunnerError) as caught:
        store.add(chunk, vectors_of(some), {})
    assert str(caught.value).startswith(f"{file}: {CHANGED}")


# Sparse vectors.


def weights_of(chunk: Chunk) -> Any:
    """Return the vectors of `vectors_of` as SciPy has sparse ones, their columns in another order."""
    scipy = pytest.importorskip("scipy.sparse")
    made = scipy.csr_matrix(vectors_of(chunk)[:, ::-1])
    return scipy.csr_matrix((made.data, 3 - made.indices, made.indptr), shape=made.shape)


def test_sparse_vectors_are_stored_by_their_weights(tmp_path: Path) -> None:
    scipy = pytest.importorskip("scipy.sparse")
    store = opened(tmp_path / "w", storage="sparse")
    for chunk, _ in store.wanted():
        store.add(chunk, weights_of(chunk), {})
    found = opened(tmp_path / "w", storage="sparse").vectors()
    assert (found.count, found.dimensions) == (7, 4)
    for rows in (1, 2, 3, 4, 7, 100):
        blocks = [(first, block.toarray().tolist()) for first, block in found.blocks(rows)]
        expected = [[number, 1, 2, 3] for number in range(7)]
        assert blocks == [(first, expected[first : first + rows]) for first in range(0, 7, rows)]
    name = name_of(1)
    kept = scipy.load_npz(tmp_path / "w" / f"{name}.npz")
    assert (kept.dtype, kept.shape, kept.indices.tolist()) == (np.float32, (3, 4), [0, 1, 2, 3] * 3)
    again = opened(tmp_path / "v", storage="sparse")
    for chunk, _ in again.wanted():
        again.add(chunk, scipy.csr_matrix(vectors_of(chunk)), {})
    assert (tmp_path / "v" / f"{name}.npz").read_bytes() == (tmp_path / "w" / f"{name}.npz").read_bytes()
    assert again.content() == store.content()


def test_sparse_vectors_are_taken_from_other_shards(tmp_path: Path) -> None:
    store = opened(tmp_path / "w", storage="sparse")
    for chunk, _ in store.wanted():
        store.add(chunk, weights_of(chunk), {})
    changed = [("d9", "new"), *reversed(PAIRS)]
    store = Store(str(tmp_path / "w"), MADE, seen(changed), texts(changed), "sparse", reuse=True).open()
    for chunk, some in store.wanted():
        assert some.ids == ["d9"]
        store.add(chunk, weights_of(some), {})
    ((_, block),) = store.vectors().blocks(100)
    assert block.toarray().tolist() == [[int(docid[1:]), 1, 2, 3] for docid, _ in changed]
