"""The record of a run, ``RUN.json``, in the same folder: the run's inputs, settings, time and versions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from treceval_py.data.ids import encode
from treceval_py.errors import OutputError
from treceval_py.io.digests import digest_of_file, without_folders
from treceval_py.io.target import written_whole
from treceval_py.version import __version__

PATHS = frozenset({"chosen_in", "command", "file", "folder", "name", "qrels"})
"""Keys of a record whose values can be paths."""

PLACES = frozenset({"directory", "host"})
"""Keys of a record that say where work was done."""


def sidecar_of(run: str) -> str:
    """Return the path of a run's record."""
    return f"{run}.json"


def write_sidecar(run: str, record: dict[str, Any], *, paths: bool = True) -> dict[str, Any]:
    """Write the record of a run, adding the run's SHA-256 as ``record["run"]["sha256"]``.

    Parameters
    ----------
    run : str
        The run file.
    record : dict
        The record.
    paths : bool
        Keep the folders of files. Otherwise only the names of files are recorded; texts are unchanged.

    Returns
    -------
    dict
        The record as written.

    Raises
    ------
    OutputError
        The record cannot be written.
    """
    record = record if paths else names_only(record)
    write_json(sidecar_of(run), record)
    return record


def check_sidecar(run: str) -> None:
    """Refuse to write a run whose record would overwrite an unrelated file.

    Raises
    ------
    OutputError
        There is such a file.
    """
    path = sidecar_of(run)
    record = read_json(path)
    if os.path.exists(path) and not (isinstance(record, dict) and "run" in record):
        raise OutputError("this is not the record of a run, and would be overwritten", "Name another run.", file=path)


def remove_sidecar(run: str) -> None:
    """Remove the record of a run, before another run replaces that run."""
    with suppress(FileNotFoundError):
        os.unlink(sidecar_of(run))


def read_sidecar(run: str, digest: str | None = None) -> dict[str, Any] | None:
    """Return the record of a run; None if it is missing, unreadable or that of another run.

    Parameters
    ----------
    run : str
        The run file.
    digest : str, optional
        The run's SHA-256, if the caller already has it.
    """
    record = read_json(sidecar_of(run))
    about = record.get("run") if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(about, dict) or not os.path.isfile(run):
        return None
    return record if about.get("sha256") == (digest or digest_of_file(run)) else None


def read_json(path: str) -> Any:
    """Return the contents of a JSON file; None if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return json.loads(stream.read())
    except (OSError, ValueError, RecursionError):
        return None


def write_json(path: str, value: object) -> None:
    """Write readable JSON; the file is complete or absent.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with written_whole(path) as stream:
        # Bytes of a file name that are not UTF-8 become JSON escapes that Python reads back.
        stream.write(json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def provenance(
    command: Sequence[str], begun: datetime, packages: Sequence[str], *, paths: bool = True
) -> dict[str, Any]:
    """Return the part of a record that all commands share.

    Parameters
    ----------
    command : sequence of str
        The command line.
    begun : datetime
        When the work began, with its time zone; it ends at this call.
    packages : sequence of str
        The packages whose versions matter, besides this one, by their names for pip.
    paths : bool
        Record the folder in which the command was given, to which its relative paths refer. Otherwise the command line
        is recorded with the base names of its files.

    Returns
    -------
    dict
        ``command``, ``directory``, ``versions``, ``machine``, ``begun`` and ``ended``.
    """
    return {
        "command": list(command) if paths else [without_folders(word) for word in command],
        **({"directory": os.getcwd()} if paths else {}),
        "versions": {"treceval_py": __version__, **{name: version_of(name) for name in packages}},
        "machine": {
            "system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "begun": begun.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip


def names_only(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the base names of files, without their folders and the machine's name.

    Texts, such as instructions, are unchanged; notes that name files have the base names, too.
    """
    files = {file for file in _files(record) if os.sep in file}
    names = {file: without_folders(file) for file in sorted(files, key=len, reverse=True)}
    return {key: _name_only(key, value, names) for key, value in record.items() if key not in PLACES}


def _name_only(key: str, value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {each: _name_only(each, value[each], names) for each in value if each not in PLACES}
    if isinstance(value, (list, tuple)):
        return [_name_only(key, each, names) for each in value]
    if key == "notes" and isinstance(value, str):
        for file, name in names.items():
            value = value.replace(file, name)
    return without_folders(value) if key in PATHS and isinstance(value, str) else value


def _files(value: Any, key: str = "") -> Iterator[str]:
    """Yield the files named in a record."""
    if isinstance(value, Mapping):
        for each in value:
            yield from _files(value[each], each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _files(each, key)
    elif key in PATHS and key not in {"command", "name"} and isinstance(value, str):
        yield value


def hash_of_query(qid: str) -> str:
    """Return a pseudonym for a query in a record, so that its id is not disclosed."""
    return hashlib.sha256(encode(qid)).hexdigest()[:16]


def version_of(package: str) -> str:
    """Return the version of a package by its name for pip."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        if package != "faiss-cpu":
            return "not installed"
    try:
        import faiss  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return "not installed"
    return str(faiss.__version__)  # installed under another name, such as one for GPUs
