"""Records of graded submissions on disk, so that interrupted grading can resume."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from treceval_py.checking.findings import Finding
from treceval_py.errors import OutputError
from treceval_py.grading.records import AgainstBaseline, Checked, FileRead, Graded, Loss, LostDocument, RunRead
from treceval_py.io.target import unfinished, written_whole

SUFFIX = ".json.gz"

VERSION = 4
"""Version of the record format; records of other versions are made again."""


_ROWS = {"files": FileRead, "findings": Finding, "claims": Checked, "runs": RunRead}
_ARRAYS = {"tops": np.int64, "values": np.float64}


def plain(value: Any) -> Any:
    """Return a record, or a part of it, as data for JSON."""
    if hasattr(value, "_asdict"):
        return {name: plain(field) for name, field in value._asdict().items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(element) for element in value] if isinstance(value, tuple) else value


def from_plain(record: Mapping[str, Any]) -> Graded:
    """Return the record that `plain` turned into data for JSON.

    Raises
    ------
    KeyError, TypeError, ValueError
        The data is not a record.
    """
    given = {**record, **{name: tuple(kind(**row) for row in record[name]) for name, kind in _ROWS.items()}}
    for name, kind in _ARRAYS.items():
        given[name] = None if record[name] is None else np.array(record[name], dtype=kind)
    if record["against"] is not None:
        losses = [
            Loss(**{**loss, "documents": tuple(LostDocument(**document) for document in loss["documents"])})
            for loss in record["against"]["losses"]
        ]
        given["against"] = AgainstBaseline(**{**record["against"], "losses": tuple(losses)})
    pair, repairs = tuple(record["missing_queries"]), tuple(record["repairs"])
    return Graded(**{**given, "missing_queries": pair, "repairs": repairs})


def write_record(path: str, graded: Graded) -> None:
    """Write a record, whole or not at all.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    # ASCII, because file names may contain surrogates.
    text = json.dumps({"version": VERSION, "graded": plain(graded)}, ensure_ascii=True)
    with written_whole(path) as stream:  # compressed, because its name ends in .gz
        stream.write(text.encode("ascii"))


def read_record(path: str) -> Graded | None:
    """Return a kept record; None if there is none that can be used."""
    try:
        if os.path.islink(path):
            return None
        with open(path, "rb") as stream:
            record = json.loads(gzip.decompress(stream.read()))
        return from_plain(record["graded"]) if record["version"] == VERSION else None
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return None


def forget(folder: str, keep: set[str]) -> None:
    """Remove the records of a folder that are not to be kept, and the unfinished files of a killed process.

    Raises
    ------
    OutputError
        A file cannot be removed.
    """
    for name in sorted(os.listdir(folder)):
        if SUFFIX in name and name not in keep:
            remove(os.path.join(folder, name))


def forget_unfinished(folder: str, names: Collection[str]) -> None:
    """Remove unfinished files of a killed process, for files of these names; raises like `forget`."""
    for path in unfinished(folder, names):
        remove(path)


def remove(path: str) -> None:
    """Remove a file or a link; raises like `forget`."""
    try:
        os.unlink(path)
    except OSError as error:
        raise OutputError(f"cannot be removed: {error.strerror or error}", file=path) from None
