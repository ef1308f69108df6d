"""Embeddings on disk: shards, and a manifest of their origin, by which work is resumed or refused.

A folder has three files for each chunk of texts, named by the chunk's hash: ``.npy`` (the vectors; ``.npz`` if they
are sparse), ``.ids`` (the ids, a line each) and ``.hashes`` (16 bytes for each text and its id). A shard counts when
``manifest.json`` has it, which is written after the shard's files are; whatever kills the program costs at most the
shard that it was at. Chunks are cut by content, so the shards of a corpus that grew or shrank are found by
their names, wherever their texts are now; those that are not asked for any more stay.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import AnyArray
from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.corpora.texts import Chunk, Listed, Survey, Texts, chunks
from treceval_py.data.ids import Ids
from treceval_py.errors import OutputError, RunnerError
from treceval_py.io import target
from treceval_py.io.digests import digest_of_file
from treceval_py.io.target import folder_errors, written_whole
from treceval_py.retrieval.vectors import AGAIN, ShardVectors, SparseVectors, joined, packed

FORMAT = "treceval_py embeddings 2"
"""Kind of manifest; the number is the version of the layout."""

STORAGES = {"float32": ".npy", "float16": ".npy", "sparse": ".npz"}
"""How vectors are stored (as numbers of these types, or sparse, as float32), and how their files' names end."""

NAMES_ONLY = frozenset({"model.name", "model.revision", "model.folder"})
"""Settings that may differ: the same files under another name give the same vectors."""


class Shard(NamedTuple):
    """The manifest's entry for a shard.

    Attributes
    ----------
    rows : int
        Number of texts.
    texts : str
        The SHA-256 of its chunk.
    files : dict of str to str
        The SHA-256 of each file, by its extension: of the content that was written, not of the present content.
    size : int
        Bytes of the vectors.
    by : dict
        Who made the vectors.
    taken : int
        Number of vectors taken from other shards.
    """

    rows: int
    texts: str
    files: dict[str, str]
    size: int
    by: dict[str, Any]
    taken: int = 0


@dataclass
class Store:
    """A folder of embeddings of some texts: `find` reads it, `open` prepares it for writing.

    Attributes
    ----------
    folder : str
        Where it is.
    made : dict
        What decides the vectors (model, pooling, instruction, …, and their length under ``dimensions``), as plain JSON.
    survey : Survey
        The survey of the texts.
    texts : Texts
        The texts; they are read again if there are shards of other chunks.
    storage : str
        ``float32``, ``float16`` or ``sparse``.
    reuse : bool
        Whether vectors of texts that are unchanged are taken from shards with other texts. Otherwise these texts are
        encoded again, so that the vectors are those of an encoding from scratch to the last digit.
    dimensions : int
        The length of the vectors, E.
    shards : dict of str to Shard
        All shards that are there, by name, those that are not asked for among them.
    names : list of str
        The names of the shards that are asked for, in the order of the chunks.
    known : dict of int to int
        Of chunks that have no shard, how many texts have their vector in a shard that is not asked for.
    """

    folder: str
    made: dict[str, Any]
    survey: Survey
    texts: Texts
    storage: str = "float32"
    reuse: bool = False
    shards: dict[str, Shard] = field(default_factory=dict)
    known: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.made = json.loads(canonical(self.made))
        self.dimensions = int(self.made["dimensions"])
        self.names = list(map(_name, self.survey.hashes))
        self._suffix = STORAGES[self.storage]

    def find(self) -> Store:
        """Read the usable shards, and write nothing; return the store itself.

        The files of shards are not read: `check_files` does.

        Raises
        ------
        RunnerError
            The folder has embeddings with other settings or of other texts, or its manifest was edited. The message
            names the differences.
        """
        files = set(os.listdir(self.folder)) if os.path.isdir(self.folder) else set[str]()
        if "manifest.json" in files:
            self._take_over(_read_manifest(self.folder), files)
        elif shards := sorted(name for name in files if name.endswith((".npy", ".npz"))):
            missing = f"there are shards ({shards[0]}, …) but no manifest.json"
            raise RunnerError(missing, _again(self.folder), file=self.folder)
        if self.missing() and self.spare():
            for chunk in self._missing_chunks():
                self.known[chunk.number] = len(chunk.ids) - len(self._unknown(chunk).ids)
            if not self.again() and not self.present():
                then = sum(shard.rows for shard in self.shards.values())
                name = self.survey.name
                mismatch = f"none of the {then:,} embeddings here are of {name}: its texts or their ids differ"
                raise RunnerError(mismatch, _again(self.folder), file=_manifest(self.folder))
        return self

    def open(self) -> Store:
        """Do the same as `find`, and prepare the folder for writing; return the store itself.

        With ``reuse``, chunks whose vectors are all known have their shards afterwards.

        Raises
        ------
        RunnerError
            As of `find`.
        OutputError
            The folder cannot be written.
        """
        self.find()
        with folder_errors(self.folder):
            os.makedirs(self.folder, exist_ok=True)
        self.save()
        if self.reuse and any(self.known.get(number) == self.survey.sizes[number] for number in self.missing()):
            for chunk, unknown in self.wanted():
                if not unknown.ids:
                    self.add(chunk, None, {})
        return self

    def _take_over(self, manifest: dict[str, Any], files: set[str]) -> None:
        """Read the shards of a manifest, if they have these settings."""
        if not manifest["shards"]:
            return  # nothing was made, so nothing can be lost: the next manifest replaces this one
        path = _manifest(self.folder)
        before = {**deciding(manifest["made"]), "storage": manifest["storage"]}
        now = {**deciding(self.made), "storage": self.storage}
        if differing := [key for key in {**before, **now} if before.get(key) != now.get(key)]:
            told = "; ".join(_difference(key, before.get(key), now.get(key)) for key in differing)
            mismatch = f"these embeddings were made with other settings: {told}"
            raise RunnerError(mismatch, _again(self.folder, "Give those settings, use"), file=path)
        size = manifest["texts"]["shard_size"]
        if size != self.survey.shard_size:
            mismatch = f"shards have at most {size:,} texts, and {self.survey.shard_size:,} are asked for"
            raise RunnerError(mismatch, _again(self.folder, f"Use --set shard-size={size},"), file=path)
        # What was removed is encoded again: the way out of one damaged shard that does not cost all of them.
        shards = {name: Shard(**fields) for name, fields in manifest["shards"].items()}
        self.shards = {name: shard for name, shard in shards.items() if {name + end for end in shard.files} <= files}

    def missing(self) -> list[int]:
        """Return the numbers of the chunks that have no shard."""
        return [number for number, name in enumerate(self.names) if name not in self.shards]

    def present(self) -> list[Shard]:
        """Return the existing shards of these texts, in order."""
        return [self.shards[name] for name in self.names if name in self.shards]

    def done(self) -> int:
        """Return the number of texts with vectors."""
        return sum(shard.rows for shard in self.present())

    def taken(self) -> int:
        """Return the number of texts whose vectors were taken from other shards."""
        return sum(shard.taken for shard in self.present())

    def again(self) -> int:
        """Return the number of texts without a shard whose vectors are in a spare shard."""
        return sum(self.known.get(number, 0) for number in self.missing())

    def left(self) -> int:
        """Return the number of texts left to encode."""
        return self.survey.count - self.done() - (self.again() if self.reuse else 0)

    def wanted(self) -> Iterator[tuple[Chunk, Chunk]]:
        """Yield each chunk without a shard, and the same chunk with only the texts left to encode."""
        for chunk in self._missing_chunks():
            yield chunk, self._unknown(chunk) if self.reuse else chunk

    def _missing_chunks(self) -> Iterator[Chunk]:
        missing = set(self.missing())
        return (chunk for chunk in chunks(self.texts, self.survey.shard_size) if chunk.number in missing)

    def spare(self) -> dict[str, Shard]:
        """Return the spare shards, which belong to other texts, by name."""
        return {name: self.shards[name] for name in sorted(self.shards.keys() - set(self.names))}

    def add(self, chunk: Chunk, vectors: AnyArray | Shard | None, by: Mapping[str, Any]) -> None:
        """Write the shard of a chunk, then the manifest.

        Parameters
        ----------
        chunk : Chunk
            The texts.
        vectors : (n, E) float array, Shard or None
            The vectors of the texts that were left to encode (see `wanted`), None if there were none; or the shard that
            a `writer` has written.
        by : mapping
            Who made them: device, batch size, versions. Kept as a record.

        Raises
        ------
        RunnerError
            The texts differ from those surveyed, or there is not one vector for each.
        OutputError
            The files cannot be written.
        """
        check_chunk(chunk, self.survey)
        name = _name(chunk.sha256)
        if not isinstance(vectors, Shard):
            places = self._places(chunk) if self.reuse else np.full(len(chunk.ids), -1)
            known = places >= 0
            if known.any():
                others, makers = self._taken(places[known])
                vectors = others if vectors is None else joined([vectors, others])
                vectors = vectors[np.argsort(np.argsort(known, kind="stable"))]
                by = by or makers
            taken = int(known.sum())
            vectors = _write_shard(self.folder, chunk, vectors, self.storage, self.dimensions, by, taken)
        elif not os.path.exists(path := self._path(name, self._suffix)):
            todo = "Leave the setting shared-work out, or put the work folder where all nodes see the same."
            raise OutputError(f"was written on {vectors.by.get('host')}, and is not here", todo, file=path)
        self.shards[name] = vectors
        self.save()

    def writer(self) -> Callable[..., Shard]:
        """Return a function that writes the shard of a chunk, from its vectors and their maker, on any node."""
        return partial(_write_shard, os.path.abspath(self.folder), storage=self.storage, dimensions=self.dimensions)

    def save(self) -> None:
        """Write the manifest."""
        texts = {key: getattr(self.survey, key) for key in ("name", "count", "shard_size", "sha256")}
        content = {
            "format": FORMAT,
            "made": self.made,
            "storage": self.storage,
            "texts": {**texts, "shards": self.names},
            "shards": {name: shard._asdict() for name, shard in sorted(self.shards.items())},
        }
        _write(_manifest(self.folder), json.dumps({**content, "sha256": _seal(content)}, indent=1).encode())

    def content(self) -> str:
        """Return a SHA-256 of the vectors and ids: the same for the same content, whoever made it."""
        rows = [[shard.files[self._suffix], shard.files[".ids"]] for shard in self.present()]
        return _seal([self.storage, self.dimensions, rows])

    def makers(self) -> list[dict[str, Any]]:
        """Return the different makers of the shards, without names of machines."""
        ways = [{key: each for key, each in shard.by.items() if key != "host"} for shard in self.present()]
        return list({canonical(way): way for way in ways}.values())

    def vectors(self) -> ShardVectors | SparseVectors:
        """Return the vectors of all texts, read a block at a time."""
        return self._vectors(self.names, self.survey.sizes)

    def _vectors(self, names: Sequence[str], rows: Sequence[int]) -> ShardVectors | SparseVectors:
        paths = [self._path(name, self._suffix) for name in names]
        if self.storage == "sparse":
            return SparseVectors(paths, rows, self.dimensions)
        return ShardVectors(paths, rows, self.dimensions, self.storage)

    def ids(self) -> Ids:
        """Return the ids of all texts in order."""
        return Ids.concatenate([Ids.from_bytes(self._content(name, ".ids").split(b"\n")[:-1]) for name in self.names])

    def check_files(self, reporter: Reporter = SILENT, side: str = "texts") -> None:
        """Read every existing shard of these texts, and compare it with the manifest.

        Parameters
        ----------
        reporter : Reporter
            Receives progress and notes.
        side : str
            ``passages`` or ``queries``.

        Raises
        ------
        RunnerError
            A file is truncated or changed, or cannot be read.
        """
        reporter.begin(f"check {side}", self.done(), side)
        for name in filter(self.shards.__contains__, self.names):
            for suffix in self.shards[name].files:
                self._checked(name, suffix)
            reporter.advance(self.shards[name].rows)
        reporter.end()

    def _unknown(self, chunk: Chunk) -> Chunk:
        """Return the texts of a chunk whose vectors are in no spare shard."""
        rows = np.flatnonzero(self._places(chunk) < 0)
        return chunk._replace(ids=[chunk.ids[row] for row in rows], texts=[chunk.texts[row] for row in rows])

    def _places(self, chunk: Chunk) -> AnyArray:
        """Return where the vector of each text is among the rows of all spare shards; -1 where there is none."""
        hashes, order, _ = self._spare_rows
        wanted = np.frombuffer(_hashes(chunk), dtype="S16")
        at = np.searchsorted(hashes, wanted)
        at[at == len(hashes)] = 0
        return np.where(hashes[at] == wanted, order[at], -1) if len(hashes) else np.full(len(wanted), -1)

    @cached_property
    def _spare_rows(self) -> tuple[AnyArray, AnyArray, list[str]]:
        """Return the hashes of the rows of all spare shards, sorted; the row of each; the names of the shards."""
        names = list(self.spare())
        hashes = np.frombuffer(b"".join(self._content(name, ".hashes") for name in names), dtype="S16")
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order, names

    def _taken(self, places: AnyArray) -> tuple[AnyArray, dict[str, Any]]:
        """Return the vectors of some rows of the spare shards, and who made the first of them."""
        names = self._spare_rows[2]
        ends = np.cumsum([self.shards[name].rows for name in names])
        shards = np.searchsorted(ends, places, side="right")
        parts = []
        for number in np.unique(shards):
            shard = self.shards[names[number]]
            self._checked(names[number], self._suffix)
            ((_, vectors),) = self._vectors([names[number]], [shard.rows]).blocks(shard.rows)
            parts.append(vectors[places[shards == number] - (ends[number] - shard.rows)])
        return joined(parts)[np.argsort(np.argsort(shards, kind="stable"))], self.shards[names[shards[0]]].by

    def _content(self, name: str, suffix: str) -> bytes:
        """Return the contents of a small file of a shard."""
        with open(self._checked(name, suffix), "rb") as stream:
            return stream.read()

    def _checked(self, name: str, suffix: str) -> str:
        """Return the path of a file of a shard, which is compared with the manifest."""
        path = self._path(name, suffix)
        if digest_of_file(path) != self.shards[name].files[suffix]:
            damage = "the file was cut short or changed since it was written: its SHA-256 is not that of the manifest"
            raise RunnerError(damage, AGAIN, file=path)
        return path

    def _path(self, name: str, suffix: str) -> str:
        return os.path.join(self.folder, name + suffix)


def _write_shard(
    folder: str, chunk: Chunk, vectors: Any, storage: str, dimensions: int, by: Mapping[str, Any], taken: int = 0
) -> Shard:
    """Write the files of a shard, without the manifest; anybody who sees the folder can do it.

    Parameters
    ----------
    folder : str
        Where the embeddings are.
    chunk : Chunk
        The texts.
    vectors : (n, E) float array
        Their vectors.
    storage : str
        ``float32``, ``float16`` or ``sparse``.
    dimensions : int
        The length that the vectors must have, E.
    by : mapping
        Who made them.
    taken : int
        How many of them were taken from other shards.

    Returns
    -------
    Shard
        Its entry for the manifest: see `Store.add`.

    Raises
    ------
    RunnerError
        There is not one vector for each text, or one cannot be stored so.
    OutputError
        The files cannot be written.
    """
    if vectors.shape != (len(chunk.ids), dimensions):
        mismatch = f"chunk {chunk.number} has {len(chunk.ids)} texts and vectors of shape {vectors.shape}"
        raise RunnerError(mismatch, f"({len(chunk.ids)}, {dimensions}) was expected.")
    with np.errstate(over="ignore"):  # what is too large is refused
        stored = vectors.astype("float32" if storage == "sparse" else storage)
    if not np.isfinite(stored.data).all():
        raise RunnerError(f"vectors of chunk {chunk.number} are too large for {storage}", "Store float32.")
    ids = "".join(f"{docid}\n" for docid in chunk.ids).encode()
    files = {STORAGES[storage]: packed(stored), ".ids": ids, ".hashes": _hashes(chunk)}
    for suffix, content in files.items():
        _write(os.path.join(folder, _name(chunk.sha256) + suffix), content)
    digests = {suffix: hashlib.sha256(content).hexdigest() for suffix, content in files.items()}
    return Shard(len(chunk.ids), chunk.sha256, digests, len(files[STORAGES[storage]]), dict(by), taken)


def _name(digest: str) -> str:
    """Return the name of a shard's files, from the hash of its chunk."""
    return digest[:16]


def _hashes(chunk: Chunk) -> bytes:
    """Return 16 bytes for each id with its text; no id has a tab in it."""
    pairs = zip(chunk.ids, chunk.texts, strict=True)
    return b"".join(hashlib.blake2b(f"{docid}\t{text}".encode(), digest_size=16).digest() for docid, text in pairs)


def finished_store(folder: str) -> Store:
    """Open a folder of embeddings by its own manifest; the texts are not needed.

    Raises
    ------
    RunnerError
        The manifest cannot be read or was edited, or some of the texts have no embeddings yet.
    """
    manifest = _read_manifest(folder)
    texts, shards = manifest["texts"], manifest["shards"]
    names = tuple(texts["shards"])
    sizes = tuple(shards[name]["rows"] if name in shards else 0 for name in names)
    seen = Survey(folder, texts["count"], texts["shard_size"], names, sizes, 0, 0, 0)
    store = Store(folder, manifest["made"], seen, Listed(folder, "document", []), manifest["storage"])
    store._take_over(manifest, set(os.listdir(folder)))
    if store.missing():
        unfinished = f"only {store.done():,} of {seen.count:,} texts have their embeddings here"
        raise RunnerError(unfinished, "Repeat the command that makes them.", file=folder)
    return store


def check_chunk(chunk: Chunk, survey: Survey) -> None:
    """Refuse a chunk of texts that differs from the survey.

    Raises
    ------
    RunnerError
        The file was changed while it was read.
    """
    if survey.hashes[chunk.number : chunk.number + 1] != (chunk.sha256,):
        raise RunnerError("the texts changed while they were read", "Start again.", file=survey.name)


locked = partial(target.locked, kind=RunnerError, other="--work folder")
"""Lock a work folder against a second program."""


def canonical(value: object) -> bytes:
    """Return JSON with one spelling for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _write(path: str, content: bytes) -> None:
    with written_whole(path) as stream:
        stream.write(content)


def _manifest(folder: str) -> str:
    return os.path.join(folder, "manifest.json")


def _seal(content: object) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()


def _read_manifest(folder: str) -> dict[str, Any]:
    """Return the manifest of a folder; refuse one of another kind, or one that was edited."""
    path = _manifest(folder)
    try:
        with open(path, "rb") as stream:
            content = json.loads(stream.read())
    except (ValueError, OSError) as error:
        raise RunnerError(f"the manifest cannot be read: {error}", _again(folder), file=path) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise RunnerError(f"this is not a manifest of '{FORMAT}'", _again(folder), file=path)
    if content.pop("sha256", None) != _seal(content):
        raise RunnerError("the manifest was edited: its SHA-256 is not that of its content", _again(folder), file=path)
    return content


def _again(folder: str, first: str = "Use") -> str:
    """Return what to do about embeddings that do not fit."""
    return f"{first} another --work folder, or remove {folder} to encode again."


def deciding(made: dict[str, Any]) -> dict[str, object]:
    """Return the settings that decide vectors, flattened, without names that may differ."""
    return {key: each for key, each in _flat(made).items() if key not in NAMES_ONLY}


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, each in value.items():
        flat |= _flat(each, f"{prefix}{key}.") if isinstance(each, dict) else {prefix + key: each}
    return flat


def _difference(key: str, *values: object) -> str:
    if key.startswith("model.files."):
        return f"the model's {key.removeprefix('model.files.')} is another file"
    before, now = ("not there" if value is None else repr(value) for value in values)
    return f"{key.replace('_', ' ')} was {before} and is {now}"
