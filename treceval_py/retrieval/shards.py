"""Embeddings on disk: shards, and a manifest of their origin, by which work is resumed or refused.

A folder has two files for each chunk of texts, named by the chunk's hash: ``.npy`` (the vectors; ``.npz`` if they are
sparse) and ``.ids`` (the ids, a line each). A shard counts when ``manifest.jsonl`` has a line about it, which is
appended when the shard's files are complete. Chunks are cut by content, so the shards of a corpus that grew or shrank
are found by their names, wherever their texts are now; those that are not asked for any more stay.

Each line of the manifest is a JSON object with a hash of the rest of the line. The first line has the settings, later
ones the texts that are asked for or a shard; of several about the same, the last one counts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.corpora.texts import Chunk, Survey, Texts, chunks
from treceval_py.data.ids import Ids
from treceval_py.errors import RunnerError
from treceval_py.io import target
from treceval_py.io.digests import digest_of_file
from treceval_py.io.target import folder_errors, written_whole
from treceval_py.retrieval.vectors import AGAIN, FileVectors, SparseVectors, StreamedVectors, chained, packed

FORMAT = "treceval_py embeddings 4"
"""Kind of manifest; the number is the version of the layout."""

MANIFEST = "manifest.jsonl"
"""Name of the manifest."""

Shard: TypeAlias = "dict[str, Any]"
"""The manifest's line about a shard: ``rows``, the number of texts; ``texts``, the SHA-256 of its chunk; ``files``, the
SHA-256 of each file by its extension, of the content that was written, not of the present content; ``by``, who made the
vectors."""


class Manifest(NamedTuple):
    """The content of a manifest; of one that does not exist, nothing.

    Attributes
    ----------
    made : dict
        The settings that decide the vectors.
    shard_size : int
        Most texts in a shard.
    texts : dict
        The texts that were asked for last: their name, number and hash, and the names of their shards in order.
    shards : dict of str to Shard
        All shards by name.
    bytes : int
        Length of the complete lines; anything after them is an interrupted write.
    """

    made: dict[str, Any]
    shard_size: int
    texts: dict[str, Any]
    shards: dict[str, Shard]
    bytes: int


class Store:
    """A folder of embeddings of some texts: `find` reads it, `open` prepares it for writing.

    Parameters
    ----------
    folder : str
        Where it is.
    made : dict
        What decides the vectors (model, pooling, instruction, …, and their length under ``dimensions``), as plain JSON.
    survey : Survey
        The survey of the texts.
    texts : Texts
        The texts; they are read again for the chunks that have no shard.

    Attributes
    ----------
    dimensions : int
        The length of the vectors, E.
    shards : dict of str to Shard
        All existing shards by name, those that are not asked for among them.
    names : list of str
        The names of the shards that are asked for, in the order of the chunks.
    """

    def __init__(self, folder: str, made: dict[str, Any], survey: Survey, texts: Texts) -> None:
        self.folder, self.survey, self.texts = folder, survey, texts
        self.made: dict[str, Any] = json.loads(canonical(made))
        self.dimensions = int(self.made["dimensions"])
        self.names = [_name(digest) for digest in survey.hashes]
        self.shards: dict[str, Shard] = {}
        self._path = os.path.join(folder, MANIFEST)
        self._suffix = ".npz" if self.made.get("kind") == "sparse" else ".npy"

    def find(self) -> Store:
        """Read the usable shards, and write nothing; return the store itself.

        The files of shards are not read: `check_files` does.

        Raises
        ------
        RunnerError
            The folder has embeddings with other settings, which the message names, or its manifest was edited.
        """
        self._manifest = manifest = read_manifest(self.folder)
        if not manifest.shards:  # nothing was made, so nothing can be lost
            return self
        before, now = deciding(manifest.made), deciding(self.made)
        if differing := [key for key in {**before, **now} if before.get(key) != now.get(key)]:
            differences = "; ".join(_difference(key, before.get(key), now.get(key)) for key in differing)
            mismatch = f"these embeddings were made with other settings: {differences}"
            raise RunnerError(mismatch, _again(self.folder, "Give those settings, use"), file=self._path)
        # A shard whose file was removed is encoded again: the way out of a damaged one that does not cost all of them.
        files, shards = set(os.listdir(self.folder)), manifest.shards.items()
        self.shards = {name: shard for name, shard in shards if {f"{name}.ids", f"{name}{self._suffix}"} <= files}
        return self

    def open(self) -> Store:
        """Do the same as `find`, and prepare the folder for writing; return the store itself.

        Raises
        ------
        RunnerError
            As of `find`.
        OutputError
            The folder cannot be written.
        """
        manifest = self.find()._manifest
        texts = {key: getattr(self.survey, key) for key in ("name", "count", "sha256")} | {"shards": self.names}
        with folder_errors(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            if manifest.shards:
                os.truncate(self._path, manifest.bytes)
        if not manifest.shards:
            first = {"format": FORMAT, "made": self.made, "shard_size": self.survey.shard_size}
            _write(self._path, _line(first) + _line({"texts": texts}))
        elif manifest.texts != texts:
            self._append({"texts": texts})
        return self

    def missing(self) -> list[int]:
        """Return the numbers of the chunks that have no shard."""
        return [number for number, name in enumerate(self.names) if name not in self.shards]

    def present(self) -> list[Shard]:
        """Return the existing shards of these texts, in order."""
        return [self.shards[name] for name in self.names if name in self.shards]

    def done(self) -> int:
        """Return the number of texts with vectors."""
        return sum(shard["rows"] for shard in self.present())

    def wanted(self) -> Iterator[Chunk]:
        """Return the chunks without a shard, as `as_surveyed` yields them."""
        missing = set(self.missing())
        return (chunk for chunk in as_surveyed(self.texts, self.survey) if chunk.number in missing)

    def add(self, chunk: Chunk, vectors: Any, by: Mapping[str, Any]) -> None:
        """Write the shard of a chunk, then its line of the manifest.

        Parameters
        ----------
        chunk : Chunk
            The texts.
        vectors : (n, E) float32 or float16 array or CSR matrix
            Their vectors, which are stored as they are.
        by : mapping
            Who made them: engine, device, batch size, versions. Kept as a record.

        Raises
        ------
        RunnerError
            There is not one vector for each text.
        OutputError
            The files cannot be written.
        """
        expected = (len(chunk.ids), self.dimensions)
        if vectors.shape != expected:
            mismatch = f"chunk {chunk.number} has {len(chunk.ids)} texts and vectors of shape {vectors.shape}"
            raise RunnerError(mismatch, f"{expected} was expected.")
        ids = "".join(f"{docid}\n" for docid in chunk.ids).encode()
        files, name = {self._suffix: packed(vectors), ".ids": ids}, _name(chunk.sha256)
        digests = {suffix: _write(self._file(name, suffix), content) for suffix, content in files.items()}
        shard = {"rows": len(chunk.ids), "texts": chunk.sha256, "files": digests, "by": dict(by)}
        self._append({"shard": shard})
        self.shards[name] = shard

    def _append(self, entry: dict[str, Any]) -> None:
        """Append a line to the manifest."""
        with folder_errors(self.folder), open(self._path, "ab") as stream:
            stream.write(_line(entry))
            stream.flush()
            os.fsync(stream.fileno())

    def content(self) -> str:
        """Return a SHA-256 of the vectors and ids: the same for the same content, whoever made it."""
        return seal([self.dimensions, [shard["files"] for shard in self.present()]])

    def makers(self) -> list[dict[str, Any]]:
        """Return the different makers of the shards, without names of machines."""
        ways = [{key: value for key, value in shard["by"].items() if key != "host"} for shard in self.present()]
        return list({canonical(way): way for way in ways}.values())

    def vectors(self) -> StreamedVectors | SparseVectors:
        """Return the vectors of all texts, read a block at a time."""
        paths = [self._file(name, self._suffix) for name in self.names]
        if self._suffix == ".npz":
            return SparseVectors(paths, self.survey.count)
        return chained([FileVectors(path, AGAIN) for path in paths], self.dimensions)

    def ids(self) -> Ids:
        """Return the ids of all texts in order."""
        contents = []
        for name in self.names:
            with open(self._checked(name, ".ids"), "rb") as stream:
                contents.append(Ids.from_bytes(stream.read().split(b"\n")[:-1]))
        return Ids.concatenate(contents)

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
        for shard in self.present():
            for suffix in shard["files"]:
                self._checked(_name(shard["texts"]), suffix)
            reporter.advance(shard["rows"])
        reporter.end()

    def _checked(self, name: str, suffix: str) -> str:
        """Return the path of a file of a shard, which is compared with the manifest."""
        path = self._file(name, suffix)
        if digest_of_file(path) != self.shards[name]["files"][suffix]:
            damage = "the file was cut short or changed since it was written: its SHA-256 is not that of the manifest"
            raise RunnerError(damage, AGAIN, file=path)
        return path

    def _file(self, name: str, suffix: str) -> str:
        return os.path.join(self.folder, name + suffix)


def read_manifest(folder: str) -> Manifest:
    """Return the manifest of a folder.

    Raises
    ------
    RunnerError
        It was edited, or has another layout.
    """
    path = os.path.join(folder, MANIFEST)
    if not os.path.exists(path):
        return Manifest({}, 0, {}, {}, 0)
    with open(path, "rb") as stream:
        *lines, _ = stream.read().split(b"\n")  # the rest is an interrupted write
    content, shards = dict[str, Any](), dict[str, Shard]()
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if entry.pop("sha256") != seal(entry):
                raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            edited = "the line was edited: its SHA-256 is not that of its content"
            raise RunnerError(edited, _again(folder), file=path, line=number) from None
        if "shard" in entry:
            shards[_name(entry["shard"]["texts"])] = entry["shard"]
        content |= entry
    if content.get("format") != FORMAT or "texts" not in content:  # both are written at once
        raise RunnerError(f"this is not a whole manifest of '{FORMAT}'", _again(folder), file=path)
    length = sum(map(len, lines)) + len(lines)
    return Manifest(content["made"], content["shard_size"], content["texts"], shards, length)


def as_surveyed(texts: Texts, survey: Survey) -> Iterator[Chunk]:
    """Yield the chunks of texts that were surveyed.

    Raises
    ------
    RunnerError
        The texts changed since then.
    """
    for chunk, expected in zip_longest(chunks(texts, survey.shard_size), survey.hashes):
        if chunk is None or chunk.sha256 != expected:
            raise RunnerError("the texts changed while they were read", "Start again.", file=survey.name)
        yield chunk


locked = partial(target.locked, kind=RunnerError, other="--work folder")
"""Lock a work folder against a second program."""


def canonical(value: object) -> bytes:
    """Return JSON with one spelling for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def seal(content: object) -> str:
    """Return the SHA-256 of a value in plain JSON."""
    return hashlib.sha256(canonical(content)).hexdigest()


def deciding(made: Mapping[str, Any]) -> dict[str, object]:
    """Return the settings that decide vectors: of the model its files, as they may have another name elsewhere."""
    files = {f"model.files.{name}": digest for name, digest in made.get("model", {}).get("files", {}).items()}
    return files | {key: value for key, value in made.items() if key != "model"}


def _name(digest: str) -> str:
    """Return the name of a shard's files, from the hash of its chunk."""
    return digest[:16]


def _write(path: str, content: bytes) -> str:
    """Write a file whole; return the SHA-256 of its content."""
    with written_whole(path) as stream:
        stream.write(content)
    return hashlib.sha256(content).hexdigest()


def _line(entry: dict[str, Any]) -> bytes:
    """Return a line of the manifest, with the hash of its content."""
    return canonical({**entry, "sha256": seal(entry)}) + b"\n"


def _again(folder: str, first: str = "Use") -> str:
    """Return what to do about embeddings that do not fit."""
    return f"{first} another --work folder, or remove {folder} to encode again."


def _difference(key: str, *values: object) -> str:
    if key.startswith("model.files."):
        return f"the model's {key.removeprefix('model.files.')} is another file"
    before, now = ("not there" if value is None else repr(value) for value in values)
    return f"{key.replace('_', ' ')} was {before} and is {now}"
