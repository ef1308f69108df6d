"""Embeddings on disk: what is there is used again, and what does not fit is refused by name."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.corpora.texts import Chunk, Listed, Survey, chunks, survey
from treceval_py.errors import RunnerError
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


def filled(folder: Path, count: int = 3, made: dict[str, Any] = MADE, dtype: Any = np.float32) -> Store:
    store = Store(str(folder), made, seen(), texts()).open()
    for chunk in list(chunks(texts(), 3))[:count]:
        store.add(chunk, vectors_of(chunk).astype(dtype), {"device": "cpu"})
    return store


def opened(folder: Path, pairs: Pairs = PAIRS, made: dict[str, Any] = MADE) -> Store:
    return Store(str(folder), made, seen(pairs), texts(pairs)).open()


def refusal(folder: Path, made: dict[str, Any] = MADE, pairs: Pairs = PAIRS) -> str:
    with pytest.raises(RunnerError) as caught:
        opened(folder, pairs, made).check_files()
    return str(caught.value)


def manifest_of(folder: Path) -> list[Any]:
    """Return the lines of a manifest, read with the standard library alone; a seal is the hash of what is beside it."""
    entries = []
    for line in (folder / "manifest.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        seal = entry.pop("sha256")
        canonical = json.dumps(entry, sort_keys=True, separators=(",", ":"))
        assert seal == hashlib.sha256(canonical.encode()).hexdigest()
        entries.append(entry)
    return entries


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    store = opened(tmp_path / "w")
    store.check_files()
    (first, block), = store.vectors().blocks(100)  # fmt: skip
    assert first == 0
    assert block.tolist() == [[number, 1, 2, 3] for number in range(7)]
    assert list(store.ids()) == ["d0", "d1", "d2", "d3", "d4", "d5", "d6"]
    assert store.missing() == []


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
    assert list(opened(tmp_path / "w").ids()) == [docid for docid, _ in PAIRS]


def test_vectors_are_stored_as_they_come(tmp_path: Path) -> None:
    store, dtypes = opened(tmp_path / "w"), (np.float16, np.float32, np.float16)
    for chunk, dtype in zip(list(chunks(texts(), 3)), dtypes, strict=True):
        store.add(chunk, vectors_of(chunk).astype(dtype), {})
    assert [np.load(tmp_path / "w" / f"{name_of(number)}.npy").dtype for number in range(3)] == list(dtypes)
    assert filled(tmp_path / "v").content() != store.content()
    (_, block), = opened(tmp_path / "w").vectors().blocks(100)  # fmt: skip
    assert (block.dtype, block[:, 0].tolist()) == (np.float32, list(range(7)))


def with_model(**files: str) -> dict[str, Any]:
    return {"model": {"name": "tiny", "files": {"config.json": "aa", "model.safetensors": "bb", **files}}}


OTHERS: dict[str, dict[str, Any]] = {
    "pooling": {"made": {**MADE, "pooling": "cls"}},
    "instruction": {"made": {**MADE, "instruction": "Find: "}},
    "dimensions": {"made": {**MADE, "dimensions": 8}},
    "a new setting": {"made": {**MADE, "new": 1}},
    "weights": {"made": {**MADE, **with_model(**{"model.safetensors": "cc"})}},
    "another file": {"made": {**MADE, **with_model(**{"vocab.txt": "dd"})}},
}


def test_other_settings_are_refused_by_name(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    filled(tmp_path / "w")
    told = {case: refusal(tmp_path / "w", **other).replace(str(tmp_path), "…") for case, other in OTHERS.items()}
    assert told == snapshot


def test_the_same_model_may_have_another_name(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    other = {**MADE, "model": {**MADE["model"], "name": "hub/tiny", "revision": "abc"}}
    assert opened(tmp_path / "w", made=other).missing() == []


@pytest.mark.parametrize("suffix", [".npy", ".ids"])
@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: content[:-2] + b"#" + content[-1:]])
def test_a_file_that_was_cut_short_or_changed_is_refused(
    tmp_path: Path, suffix: str, damage: Callable[[bytes], bytes]
) -> None:
    filled(tmp_path / "w")
    file = tmp_path / "w" / (name_of(1) + suffix)
    file.write_bytes(damage(file.read_bytes()))
    assert refusal(tmp_path / "w") == f"{file}: {CHANGED}. Remove it to encode that shard again."


@pytest.mark.parametrize("suffix", [".npy", ".ids"])
def test_a_shard_that_is_gone_is_encoded_again(tmp_path: Path, suffix: str) -> None:
    filled(tmp_path / "w")
    before = manifest_of(tmp_path / "w")
    (tmp_path / "w" / (name_of(1) + suffix)).unlink()
    store = opened(tmp_path / "w")
    assert store.missing() == [1]
    chunk = list(chunks(texts(), 3))[1]
    store.add(chunk, vectors_of(chunk), {"device": "cpu"})
    assert manifest_of(tmp_path / "w") == [*before, before[3]]
    assert opened(tmp_path / "w").missing() == []


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
    assert len(manifest_of(tmp_path / "w")) == 2  # the settings and the texts


def test_a_line_that_cannot_be_written_whole_is_not_counted(tmp_path: Path) -> None:
    """The limit on the size of files is above that of a shard's vectors and ids, and below that of the manifest."""
    program = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "import numpy as np\n"
        "from treceval_py.retrieval.shards import Store\n"
        "from treceval_py.corpora.texts import Listed, chunks, survey\n"
        "texts = Listed('corpus.tsv', 'document', [(f'd{n}', 'x') for n in range(2)])\n"
        "store = Store(sys.argv[1], {'dimensions': 4}, survey(texts, 1), texts).open()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))\n"
        "store.add(next(chunks(texts, 1)), np.ones((1, 4), np.float32), {'host': 1_000 * 'x'})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "w")], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1].endswith(
        "/w: the folder cannot be used: File too large. Check its name, its rights and the space left."
    )
    pairs = [(f"d{number}", "x") for number in range(2)]
    again = Store(str(tmp_path / "w"), MADE, survey(texts(pairs), 1), texts(pairs)).open()
    assert (again.missing(), len(manifest_of(tmp_path / "w"))) == ([0, 1], 2)


def test_a_line_that_was_cut_is_ignored_and_overwritten(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    path = tmp_path / "w" / "manifest.jsonl"
    *lines, last = path.read_bytes().splitlines(keepends=True)
    chunk = list(chunks(texts(), 3))[2]
    for cut in (0, 1, len(last) // 2, len(last) - 1):
        path.write_bytes(b"".join(lines) + last[:cut])
        assert Store(str(tmp_path / "w"), MADE, seen(), texts()).find().missing() == [2]
        store = opened(tmp_path / "w")
        store.add(chunk, vectors_of(chunk), {"device": "cpu"})
        assert path.read_bytes() == b"".join(lines) + last
    path.write_bytes(b"".join(lines) + last[:-2] + b"\n")
    assert refusal(tmp_path / "w").startswith(f"{path}:5: the line was edited")


def test_of_several_lines_about_a_shard_the_last_counts(tmp_path: Path) -> None:
    store, chunk = filled(tmp_path / "w"), next(chunks(texts(), 3))
    store.add(chunk, vectors_of(chunk) + 1, {"device": "gpu"})
    again = opened(tmp_path / "w")
    again.check_files()
    assert again.makers() == [{"device": "gpu"}, {"device": "cpu"}]
    assert len(manifest_of(tmp_path / "w")) == 2 + 4


def test_a_manifest_that_was_edited_or_is_none_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    filled(tmp_path / "w")
    manifest = tmp_path / "w" / "manifest.jsonl"
    whole = manifest.read_text("utf-8")
    first, asked, *shards = whole.splitlines(keepends=True)
    messages = []
    for content in (
        whole.replace('"mean"', '"cls"'), first + asked + shards[0].replace('"rows":2', '"rows":3'),
        "".join(shards), first, first + "".join(shards), "", "{\n", "[]\n", "null\n", '{"format": "another"}\n',
    ):  # fmt: skip
        manifest.write_text(content, "utf-8")
        messages.append(refusal(tmp_path / "w", {**MADE, "pooling": "cls"}))
    assert [message.replace(str(tmp_path), "…") for message in messages] == snapshot


def test_looking_writes_nothing(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "w"), MADE, seen(), texts()).find()
    assert store.missing() == [0, 1, 2]
    assert not (tmp_path / "w").exists()


def test_what_does_not_fit_the_texts_is_not_added(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    chunk, store, told = next(chunks(texts(), 3)), opened(tmp_path / "w"), []
    for vectors in (vectors_of(chunk)[:1], vectors_of(chunk)[:, :3]):
        with pytest.raises(RunnerError) as caught:
            store.add(chunk, vectors, {})
        told.append(str(caught.value))
    assert told == snapshot
    store.add(chunk, vectors_of(chunk), {})
    assert store.missing() == [1, 2]


@pytest.mark.parametrize("changed", [PAIRS[:5], [*PAIRS, ("d7", "new")], PAIRS[2:], [*PAIRS[:6], ("d6", "another")]])
def test_texts_that_change_while_they_are_read_are_refused(tmp_path: Path, changed: Pairs) -> None:
    """Of the first case, both chunks are as before, and the third one is gone."""
    store = Store(str(tmp_path / "w"), MADE, seen(), texts(changed)).open()
    with pytest.raises(RunnerError, match=r"^corpus.tsv: the texts changed while they were read\. Start again\.$"):
        list(store.wanted())
    assert len(list(Store(str(tmp_path / "w"), MADE, seen(), texts()).open().wanted())) == 3


def test_the_manifest_says_what_its_files_are(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    first, asked, *shards = manifest_of(tmp_path / "w")
    assert first == {"format": "treceval_py embeddings 4", "made": MADE, "shard_size": 3}
    assert asked["texts"]["shards"] == [name_of(number) for number in range(3)]
    for number, line in enumerate(shards):
        shard, files = line["shard"], (tmp_path / "w").glob(f"{name_of(number)}.*")
        assert shard["files"] == {file.suffix: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
        assert (shard["by"], shard["rows"]) == ({"device": "cpu"}, [2, 3, 2][number])


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
    ("changed", "anew"),
    [
        ([*PAIRS, ("d7", "text 7")], ["d5", "d6", "d7"]),
        (PAIRS[:6], ["d5"]),
        (PAIRS[2:], []),
        (PAIRS[2:5] + PAIRS[:2] + PAIRS[5:], []),
        ([*PAIRS[:3], ("d3", "another"), *PAIRS[4:]], ["d2", "d3", "d4"]),
        ([*PAIRS[:1], ("d9", "new"), *PAIRS[1:]], ["d0", "d9", "d1"]),
    ],
    ids=["at its end", "shorter", "without its first", "moved", "one text", "within"],
)  # fmt: skip
def test_of_texts_that_changed_only_shards_with_a_change_are_encoded(
    tmp_path: Path, changed: Pairs, anew: list[str]
) -> None:
    """Chunks end after the lowest CRC-32 of ids that may end them: d0 d1 | d2 d3 d4 | d5 d6."""
    filled(tmp_path / "w")
    store, done = encoded(tmp_path / "w", changed)
    assert done == anew
    afresh, _ = encoded(tmp_path / "v", changed)
    assert (store.content(), list(store.ids())) == (afresh.content(), [docid for docid, _ in changed])
    (_, block), = store.vectors().blocks(100)  # fmt: skip
    assert [int(row[0]) for row in block] == [int(docid[1:]) for docid, _ in changed]
    for file in (tmp_path / "v").glob("*.*"):
        assert file.name == "manifest.jsonl" or (tmp_path / "w" / file.name).read_bytes() == file.read_bytes()


def test_what_is_not_asked_for_any_more_stays_and_is_found_again(tmp_path: Path) -> None:
    before = filled(tmp_path / "w")
    shorter, _ = encoded(tmp_path / "w", PAIRS[:6])
    assert len(shorter.shards) == 4
    store, done = encoded(tmp_path / "w", PAIRS)
    assert (store.content(), done) == (before.content(), [])


def test_the_manifest_has_the_shards_in_the_order_of_the_texts(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    for _ in range(2):  # the second time there is nothing to say
        encoded(tmp_path / "w", PAIRS[2:])
    first, last = (entry["texts"]["shards"] for entry in manifest_of(tmp_path / "w") if "texts" in entry)
    assert (first[1:], last) == (last, [name_of(1), name_of(2)])


def test_two_corpora_may_have_one_folder(tmp_path: Path) -> None:
    other = [(f"e{number}", text) for number, (_, text) in enumerate(PAIRS)]
    before = filled(tmp_path / "w")
    assert len(encoded(tmp_path / "w", other)[1]) == 7
    store, done = encoded(tmp_path / "w", PAIRS)
    assert (store.content(), done) == (before.content(), [])


# Sparse vectors.


def weights_of(chunk: Chunk) -> Any:
    """Return the vectors of `vectors_of` as SciPy has sparse ones, their columns in another order."""
    scipy = pytest.importorskip("scipy.sparse")
    made = scipy.csr_matrix(vectors_of(chunk)[:, ::-1])
    return scipy.csr_matrix((made.data, 3 - made.indices, made.indptr), shape=made.shape)


def test_sparse_vectors_are_stored_by_their_weights(tmp_path: Path) -> None:
    scipy = pytest.importorskip("scipy.sparse")
    made = {**MADE, "kind": "sparse"}
    store = opened(tmp_path / "w", made=made)
    for chunk in store.wanted():
        store.add(chunk, weights_of(chunk), {})
    found = opened(tmp_path / "w", made=made).vectors()
    assert found.count == 7
    for rows in (1, 2, 3, 100):
        blocks = [block.toarray() for _, block in found.blocks(rows)]
        assert np.concatenate(blocks).tolist() == [[number, 1, 2, 3] for number in range(7)]
    name = name_of(1)
    kept = scipy.load_npz(tmp_path / "w" / f"{name}.npz")
    assert (kept.dtype, kept.shape, kept.indices.tolist()) == (np.float32, (3, 4), [0, 1, 2, 3] * 3)
    again = opened(tmp_path / "v", made=made)
    for chunk in again.wanted():
        again.add(chunk, scipy.csr_matrix(vectors_of(chunk)), {})
    assert (tmp_path / "v" / f"{name}.npz").read_bytes() == (tmp_path / "w" / f"{name}.npz").read_bytes()
    assert again.content() == store.content()
