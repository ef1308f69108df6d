"""Embeddings on disk: what is there is used again, and what does not fit is refused by name."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treceval_py.errors import RunnerError
from treceval_py.io.texts import Chunk, Listed, Survey, chunks, survey
from treceval_py.retrieval.shards import Store, find_store, locked, open_store

ALONE = "Remove it to encode that shard again."


def again(folder: Path) -> str:
    return f"Use another --work folder, or remove {folder} to encode again."


MADE: dict[str, Any] = {
    "model": {"name": "tiny", "revision": None, "files": {"config.json": "aa", "model.safetensors": "bb"}},
    "pooling": "mean",
    "instruction": "",
    "dimensions": 4,
}

PAIRS = [(f"d{number}", f"text {number}") for number in range(7)]


def texts(pairs: list[tuple[str, str]] = PAIRS) -> Listed:
    return Listed("corpus.tsv", "document", pairs)


def seen(pairs: list[tuple[str, str]] = PAIRS, size: int = 3) -> Survey:
    return survey(texts(pairs), size)


def vectors_of(chunk: Chunk) -> Any:
    """Return vectors that say which text they are of."""
    return np.array([[int(docid[1:]), 1, 2, 3] for docid in chunk.ids], dtype=np.float32)


def filled(folder: Path, count: int = 3, made: dict[str, Any] = MADE, storage: str = "float32") -> Store:
    store = open_store(str(folder), made, seen(), storage)
    for chunk in list(chunks(texts(), 3))[:count]:
        store.add(chunk, vectors_of(chunk), {"device": "cpu"})
    return store


def refusal(folder: Path, made: dict[str, Any] = MADE, looked: Survey | None = None, storage: str = "float32") -> str:
    with pytest.raises(RunnerError) as caught:
        open_store(str(folder), made, looked or seen(), storage).check_files()
    return str(caught.value)


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    store = open_store(str(tmp_path / "w"), MADE, seen())
    store.check_files()
    (first, block), = store.vectors().blocks(100)  # fmt: skip
    assert first == 0
    assert block.tolist() == [[number, 1, 2, 3] for number in range(7)]
    assert list(store.ids()) == ["d0", "d1", "d2", "d3", "d4", "d5", "d6"]
    assert store.missing() == []


def test_a_store_goes_on_where_it_was(tmp_path: Path) -> None:
    filled(tmp_path / "w", count=2)
    store = open_store(str(tmp_path / "w"), MADE, seen())
    assert (store.missing(), store.done()) == ([2], 6)


def test_files_without_an_entry_in_the_manifest_do_not_count(tmp_path: Path) -> None:
    filled(tmp_path / "w", count=1)
    (tmp_path / "w" / "00001.npy").write_bytes(b"what a kill left")
    (tmp_path / "w" / "00002.npy.part").write_bytes(b"this too")
    store = open_store(str(tmp_path / "w"), MADE, seen())
    assert store.missing() == [1, 2]
    for chunk in list(chunks(texts(), 3))[1:]:
        store.add(chunk, vectors_of(chunk), {})
    store.check_files()
    assert not list((tmp_path / "w").glob("*.part"))


def test_the_order_of_adding_does_not_matter(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "w"), MADE, seen())
    for chunk in reversed(list(chunks(texts(), 3))):
        store.add(chunk, vectors_of(chunk), {"device": "cpu"})
    assert store.content() == filled(tmp_path / "v").content()
    assert (tmp_path / "w" / "manifest.json").read_bytes() == (tmp_path / "v" / "manifest.json").read_bytes()


def test_float16_takes_half_the_room(tmp_path: Path) -> None:
    store = filled(tmp_path / "w", storage="float16")
    assert np.load(tmp_path / "w" / "00000.npy").dtype == np.float16
    (_, block), = store.vectors().blocks(100)  # fmt: skip
    assert block.dtype == np.float32


def test_vectors_too_large_for_float16_are_refused(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "w"), MADE, seen(), "float16")
    chunk = next(chunks(texts(), 3))
    with pytest.raises(RunnerError) as caught:
        store.add(chunk, vectors_of(chunk) + 1e6, {})
    assert str(caught.value) == "vectors of chunk 0 are too large for float16. Store float32."


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"pooling": "cls"}, "pooling was 'mean' and is 'cls'"),
        ({"instruction": "Find: "}, "instruction was '' and is 'Find: '"),
        ({"dimensions": 8}, "dimensions was 4 and is 8"),
        ({"new": 1}, "new was not there and is 1"),
        (
            {"model": {"name": "tiny", "files": {"config.json": "aa", "model.safetensors": "cc"}}},
            "the model's model.safetensors is another file",
        ),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    filled(tmp_path / "w")
    message = refusal(tmp_path / "w", {**MADE, **change})
    assert message == (
        f"{tmp_path}/w/manifest.json: these embeddings were made otherwise: {told}. Give the settings of then. {again(tmp_path / 'w')}"
    )


def test_the_same_model_may_have_another_name(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    other = {**MADE, "model": {**MADE["model"], "name": "hub/tiny", "revision": "abc"}}
    assert open_store(str(tmp_path / "w"), other, seen()).missing() == []


def test_another_storage_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    assert "storage was 'float32' and is 'float16'" in refusal(tmp_path / "w", storage="float16")


def test_another_shard_size_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    assert refusal(tmp_path / "w", looked=seen(size=5)) == (
        f"{tmp_path}/w/manifest.json: shards have 3 texts, and 5 are asked for. Use --shard-size 3. {again(tmp_path / 'w')}"
    )


def test_a_reordered_corpus_is_refused_with_the_place(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    swapped = [*PAIRS[:3], PAIRS[4], PAIRS[3], *PAIRS[5:]]
    assert refusal(tmp_path / "w", looked=seen(swapped)) == (
        f"{tmp_path}/w/manifest.json: the texts of corpus.tsv differ from those of then: the first difference is in 4 "
        f"to 6. Other texts or another order of them need other embeddings. {again(tmp_path / 'w')}"
    )


def test_a_longer_corpus_is_refused_with_both_counts(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    assert "the first difference is in 7 to 7, and there are 8 where there were 7" in refusal(
        tmp_path / "w", looked=seen([*PAIRS, ("d7", "text 7")])
    )


def test_a_corpus_with_new_chunks_is_refused_with_both_counts(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "w"), MADE, seen(PAIRS[:6]))
    for chunk in chunks(texts(PAIRS[:6]), 3):
        store.add(chunk, vectors_of(chunk), {})
    assert "in what is not encoded yet: there are 7 where there were 6." in refusal(tmp_path / "w")


def test_a_corpus_that_changed_where_nothing_is_encoded_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "w", count=1)
    changed = [*PAIRS[:6], ("d6", "another text")]
    assert refusal(tmp_path / "w", looked=seen(changed)) == (
        f"{tmp_path}/w/manifest.json: the texts of corpus.tsv differ from those of then, in what is not encoded yet. "
        f"{again(tmp_path / 'w')}"
    )


def test_a_truncated_shard_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    shard = tmp_path / "w" / "00001.npy"
    os.truncate(shard, 130)
    # 128 bytes of header and 3 vectors of 4 numbers of 4 bytes
    assert refusal(tmp_path / "w") == f"{shard}: the shard is truncated: it has 130 of 176 bytes. {ALONE}"


@pytest.mark.parametrize("name", ["00001.npy", "00001.ids"])
def test_a_changed_file_is_refused(tmp_path: Path, name: str) -> None:
    filled(tmp_path / "w")
    file = tmp_path / "w" / name
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    file.write_bytes(content)
    assert refusal(tmp_path / "w") == (
        f"{file}: the file was changed since it was written: its SHA-256 is not that of the manifest. {ALONE}"
    )


@pytest.mark.parametrize("name", ["00001.npy", "00001.ids"])
def test_a_shard_that_is_gone_is_encoded_again(tmp_path: Path, name: str) -> None:
    filled(tmp_path / "w")
    before = (tmp_path / "w" / "manifest.json").read_bytes()
    (tmp_path / "w" / name).unlink()
    store = open_store(str(tmp_path / "w"), MADE, seen())
    assert store.missing() == [1]
    chunk = list(chunks(texts(), 3))[1]
    store.add(chunk, vectors_of(chunk), {"device": "cpu"})
    assert (tmp_path / "w" / "manifest.json").read_bytes() == before


def test_where_nothing_was_encoded_other_settings_may_begin(tmp_path: Path) -> None:
    filled(tmp_path / "w", count=0)
    store = filled(tmp_path / "w", made={**MADE, "pooling": "cls"})
    assert open_store(str(tmp_path / "w"), {**MADE, "pooling": "cls"}, seen()).content() == store.content()


def test_a_shard_that_cannot_be_written_whole_is_not_counted(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk; 3 vectors of 4 numbers are 176 bytes with their header."""
    program = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "import numpy as np\n"
        "from treceval_py.retrieval.shards import open_store\n"
        "from treceval_py.io.texts import Listed, chunks, survey\n"
        "texts = Listed('corpus.tsv', 'document', [(f'd{n}', 'x') for n in range(10)])\n"
        "store = open_store(sys.argv[1], {'dimensions': 1600}, survey(texts, 10))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (63_000, 63_000))\n"
        "store.add(next(chunks(texts, 10)), np.ones((10, 1600), np.float32), {})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "w")], capture_output=True, text=True, check=False
    )
    file = tmp_path / "w" / "00000.npy"
    assert done.stderr.splitlines()[-1].endswith(
        f"{file}: cannot be written: File too large. Check the folder and the space left."
    )
    assert not file.exists()
    assert json.loads((tmp_path / "w" / "manifest.json").read_text("utf-8"))["shards"] == {}


def test_an_edited_manifest_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    manifest = tmp_path / "w" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"mean"', '"cls"'), "utf-8")
    assert refusal(tmp_path / "w", {**MADE, "pooling": "cls"}) == (
        f"{manifest}: the manifest was edited: its SHA-256 is not that of its content. {again(tmp_path / 'w')}"
    )


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"format": "another"}'])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    assert str(tmp_path / "manifest.json") in refusal(tmp_path)


def test_shards_without_a_manifest_are_refused(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    (tmp_path / "w" / "manifest.json").unlink()
    assert refusal(tmp_path / "w") == (
        f"{tmp_path}/w: there are shards (00000.npy, …) but no manifest.json. {again(tmp_path / 'w')}"
    )


def test_looking_writes_nothing(tmp_path: Path) -> None:
    store = find_store(str(tmp_path / "w"), MADE, seen())
    assert store.missing() == [0, 1, 2]
    assert not (tmp_path / "w").exists()


def test_texts_that_change_between_two_readings_are_refused(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "w"), MADE, seen())
    chunk = next(chunks(texts([("d0", "now another"), *PAIRS[1:]]), 3))
    with pytest.raises(RunnerError) as caught:
        store.add(chunk, vectors_of(chunk), {})
    assert str(caught.value) == "corpus.tsv: the texts changed while they were read. Start again."


def test_vectors_must_be_one_for_each_text(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "w"), MADE, seen())
    chunk = next(chunks(texts(), 3))
    with pytest.raises(RunnerError) as caught:
        store.add(chunk, vectors_of(chunk)[:2], {})
    assert str(caught.value) == "chunk 0 has 3 texts and vectors of shape (2, 4). (3, 4) was expected."


def test_the_manifest_says_what_its_files_are(tmp_path: Path) -> None:
    filled(tmp_path / "w")
    told = json.loads((tmp_path / "w" / "manifest.json").read_text("utf-8"))
    for number in range(3):
        shard = told["shards"][str(number)]
        assert shard["vectors"] == hashlib.sha256((tmp_path / "w" / f"{number:05d}.npy").read_bytes()).hexdigest()
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
            f"{tmp_path}: another treceval retrieve is at work in this folder (process {other.pid}). Wait for it, or "
            "use another --work folder."
        )
        other.kill()  # the lock goes with it
        other.wait()
        with locked(str(tmp_path)):
            pass
