"""Embeddings on disk: shards, and a manifest that says what they were made of, so that work can go on or is refused.

A folder holds, for each chunk of texts, ``00000.npy`` (the vectors) and ``00000.ids`` (the ids, a line each), and
``manifest.json``. A shard counts when the manifest has it, which is written after the shard's files are; whatever
kills the program costs at most the shard that it was at.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray
from treceval_py.data.ids import Ids
from treceval_py.errors import OutputError, RunnerError
from treceval_py.io.digests import digest_of_file
from treceval_py.io.reporting import SILENT, Reporter
from treceval_py.io.target import written_whole
from treceval_py.io.texts import Chunk, Survey
from treceval_py.retrieval.vectors import ShardVectors

__all__ = [
    "STORAGES",
    "Store",
    "canonical",
    "check_chunk",
    "find_store",
    "folder_errors",
    "locked",
    "open_store",
    "write_json",
]

FORMAT = "treceval_py embeddings 1"
"""What kind of manifest this is; another number is another layout."""

STORAGES = ("float32", "float16")
"""How vectors are stored."""


ALONE = "Remove it to encode that shard again."
"""What can be done about a damaged shard."""

NAMES_ONLY = frozenset({"model.name", "model.revision", "model.folder"})
"""What may differ: the same files under another name make the same vectors."""


class Shard(NamedTuple):
    """What the manifest says of a shard."""

    rows: int
    texts: str
    vectors: str
    ids: str
    size: int
    by: dict[str, Any]


class Store:
    """A folder of embeddings of some texts; `open_store` makes one.

    Attributes
    ----------
    folder : str
        Where it is.
    survey : Survey
        The texts.
    made : dict
        What decides the vectors.
    storage : str
        ``float32`` or ``float16``.
    shards : dict of int to Shard
        The shards that are done, by chunk number.
    """

    def __init__(self, folder: str, made: dict[str, Any], survey: Survey, storage: str) -> None:
        self.folder = folder
        self.survey = survey
        self.shards: dict[int, Shard] = {}
        self.made = made
        self.storage = storage

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors, E."""
        return int(self.made["dimensions"])

    def missing(self) -> list[int]:
        """Return the numbers of the chunks that have no shard."""
        return [number for number in range(self.survey.chunk_count) if number not in self.shards]

    def done(self) -> int:
        """Return how many texts have their vectors."""
        return sum(shard.rows for shard in self.shards.values())

    def add(self, chunk: Chunk, vectors: AnyArray, by: Mapping[str, Any]) -> None:
        """Write the shard of a chunk, then the manifest.

        Parameters
        ----------
        chunk : Chunk
            The texts.
        vectors : (n, E) float array
            Their vectors.
        by : mapping
            Who made them: device, batch size, versions. Kept as a record.

        Raises
        ------
        RunnerError
            The texts are others than those that were surveyed, or there is not one vector for each.
        OutputError
            The files cannot be written.
        """
        check_chunk(chunk, self.survey)
        if vectors.shape != (len(chunk.ids), self.dimensions):
            what = f"chunk {chunk.number} has {len(chunk.ids)} texts and vectors of shape {vectors.shape}"
            raise RunnerError(what, f"({len(chunk.ids)}, {self.dimensions}) was expected.")
        with np.errstate(over="ignore"):  # what is too large is refused
            stored = np.ascontiguousarray(vectors, dtype=self.storage)
        if not np.isfinite(stored).all():
            raise RunnerError(f"vectors of chunk {chunk.number} are too large for {self.storage}", "Store float32.")
        content, ids = _array_bytes(stored), "".join(f"{docid}\n" for docid in chunk.ids).encode()
        _write(self._path(chunk.number), content)
        _write(self._ids_path(chunk.number), ids)
        self.shards[chunk.number] = Shard(
            rows=len(chunk.ids),
            texts=chunk.sha256,
            # Of what should be in the files, not of what is.
            vectors=hashlib.sha256(content).hexdigest(),
            ids=hashlib.sha256(ids).hexdigest(),
            size=len(content),
            by=dict(by),
        )
        self.save()

    def save(self) -> None:
        """Write the manifest."""
        content = {
            "format": FORMAT,
            "made": self.made,
            "storage": self.storage,
            "texts": {
                "name": self.survey.name,
                "count": self.survey.count,
                "shard_size": self.survey.shard_size,
                "sha256": self.survey.sha256,
            },
            "shards": {str(number): shard._asdict() for number, shard in sorted(self.shards.items())},
        }
        _write(_manifest(self.folder), _lines({**content, "sha256": _seal(content)}))

    def content(self) -> str:
        """Return a SHA-256 of the vectors and ids: the same for the same content, whoever made it."""
        rows = [[number, shard.vectors, shard.ids] for number, shard in sorted(self.shards.items())]
        return hashlib.sha256(canonical([self.storage, self.dimensions, rows])).hexdigest()

    def makers(self) -> list[dict[str, Any]]:
        """Return the different ways in which the shards were made: who made them, but for the names of machines."""
        ways = [
            {key: each for key, each in shard.by.items() if key != "host"} for _, shard in sorted(self.shards.items())
        ]
        return list({canonical(way): way for way in ways}.values())

    def vectors(self) -> ShardVectors:
        """Return the vectors of all texts, read a block at a time."""
        numbers = range(self.survey.chunk_count)
        return ShardVectors(
            [self._path(number) for number in numbers],
            [self.shards[number].rows for number in numbers],
            self.dimensions,
            self.storage,
        )

    def ids(self) -> Ids:
        """Return the ids of all texts in order."""
        parts = []
        for number in range(self.survey.chunk_count):
            try:
                with open(self._ids_path(number), "rb") as stream:
                    content = stream.read()
            except OSError as error:
                what = f"cannot be read: {error.strerror or error}"
                raise RunnerError(what, ALONE, file=self._ids_path(number)) from None
            parts.append(Ids.from_bytes(content.split(b"\n")[:-1]))
        return Ids.concatenate(parts)

    def check_files(self, reporter: Reporter = SILENT, side: str = "texts") -> None:
        """Read every shard that is done and compare it with the manifest.

        Parameters
        ----------
        reporter : Reporter
            Is told how far it is.
        side : str
            What the texts are: ``passages`` or ``queries``.

        Raises
        ------
        RunnerError
            A file is truncated or changed, or cannot be read.
        """
        reporter.begin(f"check {side}", self.done(), side)
        for number, shard in sorted(self.shards.items()):
            self._check(number, shard)
            reporter.advance(shard.rows)
        reporter.end()

    def has_files(self, number: int) -> bool:
        """Say whether the files of a shard are there."""
        return os.path.isfile(self._path(number)) and os.path.isfile(self._ids_path(number))

    def _check(self, number: int, shard: Shard) -> None:
        path = self._path(number)
        size = os.path.getsize(path)
        if size != shard.size:
            how = "truncated" if size < shard.size else "too long"
            raise RunnerError(f"the shard is {how}: it has {size:,} of {shard.size:,} bytes", ALONE, file=path)
        for name, digest in ((path, shard.vectors), (self._ids_path(number), shard.ids)):
            if digest_of_file(name) != digest:
                what = "the file was changed since it was written: its SHA-256 is not that of the manifest"
                raise RunnerError(what, ALONE, file=name)

    def _path(self, number: int) -> str:
        return os.path.join(self.folder, f"{number:05d}.npy")

    def _ids_path(self, number: int) -> str:
        return os.path.join(self.folder, f"{number:05d}.ids")


def open_store(folder: str, made: dict[str, Any], survey: Survey, storage: str = "float32") -> Store:
    """Open a folder of embeddings, or begin one.

    Parameters
    ----------
    folder : str
        The folder.
    made : dict
        What decides the vectors (model, pooling, instruction, …, and their length under ``dimensions``), as plain JSON.
    survey : Survey
        The texts as they are now.
    storage : str
        ``float32`` or ``float16``.

    Returns
    -------
    Store
        With the shards that are there. Their files have not been read yet: `Store.check_files` does.

    Raises
    ------
    RunnerError
        What is in the folder was made otherwise, of other texts, or its manifest was edited. The message says what
        differs.
    OutputError
        The folder cannot be written.
    """
    store = find_store(folder, made, survey, storage)
    if not store.shards:
        with folder_errors(folder):
            os.makedirs(folder, exist_ok=True)
        store.save()
    return store


def find_store(folder: str, made: dict[str, Any], survey: Survey, storage: str = "float32") -> Store:
    """Look at a folder of embeddings, as `open_store` does, and write nothing."""
    store = Store(folder, json.loads(canonical(made)), survey, storage)
    if os.path.exists(_manifest(folder)):
        _take_over(store, _read_manifest(folder))
    else:
        _check_bare(folder)
    return store


def check_chunk(chunk: Chunk, survey: Survey) -> None:
    """Refuse a chunk of texts that is not what was surveyed.

    Raises
    ------
    RunnerError
        The file was changed while it was read.
    """
    if chunk.number >= survey.chunk_count or survey.hashes[chunk.number] != chunk.sha256:
        raise RunnerError("the texts changed while they were read", "Start again.", file=survey.name)


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Hold a folder against a second program that works in it; the lock goes with the process, however it ends.

    Raises
    ------
    RunnerError
        Another process has it.
    OutputError
        The folder cannot be made.
    """
    with folder_errors(folder):
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            import fcntl
        except ImportError:  # Windows: nobody is kept out there
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            what = "another treceval retrieve is at work in this folder" + (f" (process {holder})" if holder else "")
            raise RunnerError(what, "Wait for it, or use another --work folder.", file=folder) from None
        except OSError:  # a file system without locks
            yield
            return
        with contextlib.suppress(OSError):  # a number for people, which a full disk may do without
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(descriptor)


def canonical(value: object) -> bytes:
    """Return JSON with one spelling for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def write_json(path: str, value: object) -> None:
    """Write readable JSON, whole or not at all.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    # Bytes of a file name that are no UTF-8 stand as the escapes of JSON that Python reads back.
    _write(path, json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def _lines(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest as JSON with a line for each shard: it is written once for each."""
    shards = ",\n".join(f'  "{number}": {json.dumps(shard)}' for number, shard in manifest["shards"].items())
    rest = json.dumps({key: each for key, each in manifest.items() if key != "shards"}, indent=1, ensure_ascii=False)
    return f'{rest[:-2]},\n "shards": {{\n{shards}\n }}\n}}\n'.encode("utf-8", "backslashreplace")


def _write(path: str, content: bytes) -> None:
    with written_whole(path, part=f"{os.path.basename(path)}.part") as stream:
        stream.write(content)


def _array_bytes(array: AnyArray) -> bytes:
    """Return an array as the bytes of a ``.npy`` file.

    NumPy writes to a file by C's buffers, which lose their last bytes without a word when a disk is full.
    """
    packed = io.BytesIO()
    np.lib.format.write_array_header_1_0(packed, np.lib.format.header_data_from_array_1_0(array))
    packed.write(array.tobytes())
    return packed.getvalue()


def _manifest(folder: str) -> str:
    return os.path.join(folder, "manifest.json")


def _seal(content: Mapping[str, object]) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()


def _read_manifest(folder: str) -> dict[str, Any]:
    path = _manifest(folder)
    try:
        with open(path, "rb") as stream:
            content = json.loads(stream.read())
    except (ValueError, OSError) as error:
        raise RunnerError(f"the manifest cannot be read: {error}", _again(folder), file=path) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise RunnerError(f"this is no manifest of '{FORMAT}'", _again(folder), file=path)
    if content.pop("sha256", None) != _seal(content):
        raise RunnerError("the manifest was edited: its SHA-256 is not that of its content", _again(folder), file=path)
    return content


def _take_over(store: Store, manifest: dict[str, Any]) -> None:
    """Put the shards of a manifest into a store, if they are those that the store would make."""
    if not manifest["shards"]:
        return  # nothing was made, so nothing can be lost: the next manifest replaces this one
    path, again = _manifest(store.folder), _again(store.folder)
    before = {**_flat(manifest["made"]), "storage": manifest["storage"]}
    now = {**_flat(store.made), "storage": store.storage}
    differing = [key for key in {**before, **now} if before.get(key) != now.get(key) and key not in NAMES_ONLY]
    if differing:
        told = "; ".join(_difference(key, before.get(key), now.get(key)) for key in differing)
        raise RunnerError(
            f"these embeddings were made otherwise: {told}", f"Give the settings of then. {again}", file=path
        )
    size = manifest["texts"]["shard_size"]
    if size != store.survey.shard_size:
        told = f"shards have {size:,} texts, and {store.survey.shard_size:,} are asked for"
        raise RunnerError(told, f"Use --shard-size {size}. {again}", file=path)
    shards = {int(number): Shard(**shard) for number, shard in manifest["shards"].items()}
    for number, shard in sorted(shards.items()):
        _check_texts(store.survey, manifest["texts"], number, shard, path)
    if manifest["texts"]["sha256"] != store.survey.sha256:
        told = f"the texts of {store.survey.name} differ from those of then, in what is not encoded yet"
        if manifest["texts"]["count"] != store.survey.count:
            told += f": there are {store.survey.count:,} where there were {manifest['texts']['count']:,}"
        raise RunnerError(told, again, file=path)
    # What was removed is encoded again: the way out of one damaged shard that does not cost all of them.
    store.shards = {number: shard for number, shard in shards.items() if store.has_files(number)}


def _check_texts(survey: Survey, then: Mapping[str, Any], number: int, shard: Shard, path: str) -> None:
    if number < survey.chunk_count and survey.hashes[number] == shard.texts:
        return
    first = number * survey.shard_size + 1
    told = f"the texts of {survey.name} differ from those of then: the first difference is in {first:,} to "
    told += f"{first + shard.rows - 1:,}"
    if then["count"] != survey.count:
        told += f", and there are {survey.count:,} where there were {then['count']:,}"
    raise RunnerError(
        told, f"Other texts or another order of them need other embeddings. {_again(os.path.dirname(path))}", file=path
    )


def _again(folder: str) -> str:
    """Say what can be done about embeddings that do not fit."""
    return f"Use another --work folder, or remove {folder} to encode again."


def _flat(value: object, prefix: str = "") -> dict[str, object]:
    if not isinstance(value, dict):
        return {prefix: value}
    flat: dict[str, object] = {}
    for key, inner in value.items():
        flat.update(_flat(inner, f"{prefix}.{key}" if prefix else key))
    return flat


def _difference(key: str, before: object, now: object) -> str:
    if key.startswith("model.files."):
        return f"the model's {key.removeprefix('model.files.')} is another file"
    return f"{key.replace('_', ' ')} was {_word(before)} and is {_word(now)}"


def _word(value: object) -> str:
    return "not there" if value is None else repr(value)


def _check_bare(folder: str) -> None:
    """Refuse a folder with shards and no manifest, which nobody can say anything about."""
    if not os.path.isdir(folder):
        return
    shards = sorted(name for name in os.listdir(folder) if name.endswith(".npy"))
    if shards:
        what = f"there are shards ({shards[0]}, …) but no manifest.json" if len(shards) > 1 else (
            f"there is a shard ({shards[0]}) but no manifest.json"
        )  # fmt: skip
        raise RunnerError(what, _again(folder), file=folder)


@contextmanager
def folder_errors(folder: str) -> Iterator[None]:
    """Turn what the file system says about a folder into an `OutputError`."""
    try:
        yield
    except OSError as error:
        reason = f"the folder cannot be used: {error.strerror or error}"
        raise OutputError(reason, "Check its name, its rights and the space left.", file=folder) from None
