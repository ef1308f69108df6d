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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from treceval_py.corpora.reporting import SILENT, Reporter
from treceval_py.corpora.texts import Chunk, Listed, Survey, Texts, chunks
from treceval_py.data.ids import Ids
from treceval_py.errors import OutputError, RunnerError
from treceval_py.io import target
from treceval_py.io.digests import digest_of_file
from treceval_py.io.target import folder_errors, written_whole
from treceval_py.retrieval.vectors import AGAIN, FileVectors, SparseVectors, StreamedVectors, chained, packed

FORMAT = "treceval_py embeddings 3"
"""Kind of manifest; the number is the version of the layout."""

MANIFEST, FORMER = "manifest.jsonl", "manifest.json"
"""Names of the manifest, now and in layouts 1 and 2."""

NAMES_ONLY = frozenset({"model.name", "model.revision", "model.folder"})
"""Settings that may differ: the same files under another name give the same vectors."""


class Shard(NamedTuple):
    """The manifest's line about a shard.

    Attributes
    ----------
    rows : int
        Number of texts.
    texts : str
        The SHA-256 of its chunk.
    storage : str
        Type of the vectors: ``float32``, ``float16`` or ``sparse``.
    files : dict of str to str
        The SHA-256 of each file, by its extension: of the content that was written, not of the present content.
    size : int
        Bytes of the vectors.
    by : dict
        Who made the vectors.
    """

    rows: int
    texts: str
    storage: str
    files: dict[str, str]
    size: int
    by: dict[str, Any]


class Manifest(NamedTuple):
    """The content of a manifest.

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
        The texts; they are read again for the chunks that have no shard.
    dimensions : int
        The length of the vectors, E.
    shards : dict of str to Shard
        All existing shards by name, those that are not asked for among them.
    names : list of str
        The names of the shards that are asked for, in the order of the chunks.
    """

    folder: str
    made: dict[str, Any]
    survey: Survey
    texts: Texts
    shards: dict[str, Shard] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.made = json.loads(canonical(self.made))
        self.dimensions = int(self.made["dimensions"])
        self.names = list(map(_name, self.survey.hashes))

    @property
    def storage(self) -> str | None:
        """Return the type of the vectors, that of the first one which was stored; None if there are none."""
        return next((shard.storage for shard in self.shards.values()), None)

    def find(self) -> Store:
        """Read the usable shards, and write nothing; return the store itself.

        The files of shards are not read: `check_files` does.

        Raises
        ------
        RunnerError
            The folder has embeddings with other settings or of other texts, or its manifest was edited. The message
            names the differences.
        """
        self._find()
        return self

    def _find(self) -> Manifest | None:
        """Do the same as `find`; return the manifest if it has shards."""
        manifest = read_manifest(self.folder)
        left = sorted(name for name in _names_in(self.folder) if name.endswith((".npy", ".npz")))
        if manifest is None and left:
            missing = f"there are shards ({left[0]}, …) but no {MANIFEST}"
            raise RunnerError(missing, _again(self.folder), file=self.folder)
        if manifest is None or not manifest.shards:  # nothing was made, so nothing can be lost
            return None
        before, now, path = deciding(manifest.made), deciding(self.made), os.path.join(self.folder, MANIFEST)
        if differing := [key for key in {**before, **now} if before.get(key) != now.get(key)]:
            differences = "; ".join(_difference(key, before.get(key), now.get(key)) for key in differing)
            mismatch = f"these embeddings were made with other settings: {differences}"
            raise RunnerError(mismatch, _again(self.folder, "Give those settings, use"), file=path)
        self._take_over(manifest)
        # A single shard takes about a minute to make again.
        if len(self.shards) > 1 and not self.present():
            count = sum(shard.rows for shard in self.shards.values())
            mismatch = f"none of the {count:,} embeddings here are of {self.survey.name}: its texts or their ids differ"
            raise RunnerError(mismatch, _again(self.folder), file=path)
        return manifest

    def _take_over(self, manifest: Manifest) -> None:
        """Take the shards of a manifest whose files exist."""
        # What was removed is encoded again: the way out of one damaged shard that does not cost all of them.
        files = set(_names_in(self.folder))
        self.shards = {
            name: shard for name, shard in manifest.shards.items() if {name + end for end in shard.files} <= files
        }

    def open(self) -> Store:
        """Do the same as `find`, and prepare the folder for writing; return the store itself.

        Raises
        ------
        RunnerError
            As of `find`.
        OutputError
            The folder cannot be written.
        """
        manifest, path = self._find(), os.path.join(self.folder, MANIFEST)
        texts = {key: getattr(self.survey, key) for key in ("name", "count", "sha256")} | {"shards": self.names}
        with folder_errors(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            if manifest is not None and os.path.getsize(path) > manifest.bytes:
                os.truncate(path, manifest.bytes)
        if manifest is None:
            first = {"format": FORMAT, "made": self.made, "shard_size": self.survey.shard_size}
            _write(path, _line(first) + _line({"texts": texts}))
        elif manifest.texts != texts:
            self._append({"texts": texts})
        return self

    def missing(self) -> list[int]:
        """Return the numbers of the chunks that have no shard."""
        return [number for number, name in enumerate(self.names) if name not in self.shards]

    def present(self) -> list[Shard]:
        """Return the existing shards of these texts, in order."""
        return [self.shards[name] for name in self.names if name in self.shards]

    def spare(self) -> list[Shard]:
        """Return the shards that belong to other texts."""
        return [self.shards[name] for name in self.shards.keys() - set(self.names)]

    def done(self) -> int:
        """Return the number of texts with vectors."""
        return sum(shard.rows for shard in self.present())

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
        vectors : (n, E) float array or CSR matrix
            Their vectors. float16 is stored as such; if there are shards, the new one is stored like them.
        by : mapping
            Who made them: engine, device, batch size, versions. Kept as a record.

        Raises
        ------
        RunnerError
            There is not one vector for each text, or one cannot be stored.
        OutputError
            The files cannot be written.
        """
        expected = (len(chunk.ids), self.dimensions)
        if vectors.shape != expected:
            mismatch = f"chunk {chunk.number} has {len(chunk.ids)} texts and vectors of shape {vectors.shape}"
            raise RunnerError(mismatch, f"{expected} was expected.")
        dense = isinstance(vectors, np.ndarray)
        storage = self.storage or ("sparse" if not dense else "float16" if vectors.dtype == np.float16 else "float32")
        with np.errstate(over="ignore"):  # what is too large is refused
            stored = vectors.astype("float32" if storage == "sparse" else storage, copy=False)
        if not np.isfinite(stored.data).all():
            overflow = f"vectors of chunk {chunk.number} are too large for {storage}"
            raise RunnerError(overflow, _again(self.folder, "Give --precision fp32, and use"))
        ids = "".join(f"{docid}\n" for docid in chunk.ids).encode()
        files, name = {_suffix(storage): packed(stored), ".ids": ids}, _name(chunk.sha256)
        for suffix, content in files.items():
            _write(self._path(name, suffix), content)
        digests = {suffix: hashlib.sha256(content).hexdigest() for suffix, content in files.items()}
        shard = Shard(len(chunk.ids), chunk.sha256, storage, digests, len(files[_suffix(storage)]), dict(by))
        self._append({"shard": shard._asdict()})
        self.shards[name] = shard

    def _append(self, entry: dict[str, Any]) -> None:
        """Append a line to the manifest; what is left of one that cannot be written is removed."""
        path = os.path.join(self.folder, MANIFEST)
        try:
            with open(path, "ab", buffering=0) as stream:
                end, line = stream.seek(0, os.SEEK_END), _line(entry)
                try:
                    if stream.write(line) != len(line):
                        raise OSError("no space is left")
                    os.fsync(stream.fileno())
                except BaseException:
                    stream.truncate(end)
                    raise
        except OSError as error:
            problem = f"cannot be written: {error.strerror or error}"
            raise OutputError(problem, "Check the folder and the space left.", file=path) from None

    def content(self) -> str:
        """Return a SHA-256 of the vectors and ids: the same for the same content, whoever made it."""
        rows = [[shard.files[_suffix(shard.storage)], shard.files[".ids"]] for shard in self.present()]
        return _seal([self.storage, self.dimensions, rows])

    def makers(self) -> list[dict[str, Any]]:
        """Return the different makers of the shards, without names of machines."""
        ways = [{key: value for key, value in shard.by.items() if key != "host"} for shard in self.present()]
        return list({canonical(way): way for way in ways}.values())

    def vectors(self) -> StreamedVectors | SparseVectors:
        """Return the vectors of all texts, read a block at a time."""
        storage = self.storage or "float32"
        paths = [self._path(name, _suffix(storage)) for name in self.names]
        if storage == "sparse":
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
        for name in filter(self.shards.__contains__, self.names):
            for suffix in self.shards[name].files:
                self._checked(name, suffix)
            reporter.advance(self.shards[name].rows)
        reporter.end()

    def _checked(self, name: str, suffix: str) -> str:
        """Return the path of a file of a shard, which is compared with the manifest."""
        path = self._path(name, suffix)
        if digest_of_file(path) != self.shards[name].files[suffix]:
            damage = "the file was cut short or changed since it was written: its SHA-256 is not that of the manifest"
            raise RunnerError(damage, AGAIN, file=path)
        return path

    def _path(self, name: str, suffix: str) -> str:
        return os.path.join(self.folder, name + suffix)


def is_store(folder: str) -> bool:
    """Return whether a folder has embeddings of a `Store`, in this layout or a former one."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in (MANIFEST, FORMER))


def finished_store(folder: str) -> Store:
    """Open a folder of embeddings by its own manifest; the texts are not needed.

    Raises
    ------
    RunnerError
        The manifest cannot be read or was edited, or some of the texts have no embeddings yet.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        raise RunnerError(f"there is no {MANIFEST}", "Give a work folder's passages or queries.", file=folder)
    names, shards = tuple(manifest.texts["shards"]), manifest.shards
    sizes = tuple(shards[name].rows if name in shards else 0 for name in names)
    seen = Survey(folder, manifest.texts["count"], manifest.shard_size, names, sizes, 0, 0, 0)
    store = Store(folder, manifest.made, seen, Listed(folder, "document", []))
    store._take_over(manifest)
    if store.missing():
        unfinished = f"only {store.done():,} of {seen.count:,} texts have their embeddings here"
        raise RunnerError(unfinished, "Repeat the command that makes them.", file=folder)
    return store


def read_manifest(folder: str) -> Manifest | None:
    """Return the manifest of a folder; None if there is none.

    Raises
    ------
    RunnerError
        It cannot be read, was edited, or has another layout.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, "rb") as stream:
            *lines, _ = stream.read().split(b"\n")  # the rest is an interrupted write
    except FileNotFoundError:
        if not os.path.isfile(former := os.path.join(folder, FORMER)):
            return None
        raise RunnerError("these embeddings have an older layout", _again(folder), file=former) from None
    except OSError as error:
        raise RunnerError(f"cannot be read: {error.strerror or error}", _again(folder), file=path) from None
    first: dict[str, Any] = {}
    texts: dict[str, Any] = {}
    shards: dict[str, Shard] = {}
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if entry.pop("sha256") != _seal(entry) or ("format" in entry) != (number == 1):
                raise ValueError
        except (AttributeError, KeyError, TypeError, ValueError):
            edited = "the line was edited: its SHA-256 is not that of its content"
            raise RunnerError(edited, _again(folder), file=path, line=number) from None
        if "format" in entry:
            first = entry
        elif "texts" in entry:
            texts = entry["texts"]
        else:
            shards[_name(entry["shard"]["texts"])] = Shard(**entry["shard"])
    if first.get("format") != FORMAT:
        raise RunnerError(f"this is not a manifest of '{FORMAT}'", _again(folder), file=path)
    return Manifest(first["made"], first["shard_size"], texts, shards, sum(map(len, lines)) + len(lines))


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


def deciding(made: dict[str, Any]) -> dict[str, object]:
    """Return the settings that decide vectors, flattened, without names that may differ."""
    return {key: value for key, value in _flat(made).items() if key not in NAMES_ONLY}


def _name(digest: str) -> str:
    """Return the name of a shard's files, from the hash of its chunk."""
    return digest[:16]


def _suffix(storage: str) -> str:
    return ".npz" if storage == "sparse" else ".npy"


def _names_in(folder: str) -> Sequence[str]:
    return os.listdir(folder) if os.path.isdir(folder) else ()


def _write(path: str, content: bytes) -> None:
    with written_whole(path) as stream:
        stream.write(content)


def _line(entry: dict[str, Any]) -> bytes:
    """Return a line of the manifest, with the hash of its content."""
    return canonical({**entry, "sha256": _seal(entry)}) + b"\n"


def _seal(content: object) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()


def _again(folder: str, first: str = "Use") -> str:
    """Return what to do about embeddings that do not fit."""
    return f"{first} another --work folder, or remove {folder} to encode again."


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, part in value.items():
        flat |= _flat(part, f"{prefix}{key}.") if isinstance(part, dict) else {prefix + key: part}
    return flat


def _difference(key: str, *values: object) -> str:
    if key.startswith("model.files."):
        return f"the model's {key.removeprefix('model.files.')} is another file"
    before, now = ("not there" if value is None else repr(value) for value in values)
    return f"{key.replace('_', ' ')} was {before} and is {now}"
