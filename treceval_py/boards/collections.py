"""Collections of a board: found in a folder, listed in a TOML file, or given as values."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from treceval_py.comparing.saved.files import are_numbers, names_in, run_files
from treceval_py.comparing.saved.naming import stem
from treceval_py.comparing.saved.reading import is_saved
from treceval_py.data.ids import shown
from treceval_py.errors import InputError, TrecevalError
from treceval_py.io.formats import DATASET, Sight, format_of
from treceval_py.io.named import seen
from treceval_py.io.source import whole
from treceval_py.io.toml_file import LARGEST, Form, TomlFile, number, whole_number

MOST_WEIGHT, MOST_LEVEL = 1e9, 1_000_000

SHARED = ("measures", "profile", "level")
"""The keys that a collection and all of them together have."""

RUNS = "runs"
"""The folder of a collection's runs."""

SPLIT = "test"
"""The judgments used if a collection has several splits, as in BEIR."""

NAMED = 5
"""Most skipped entries that are named; others are counted."""


class Collection(NamedTuple):
    """A collection of a board: judgments and runs.

    Attributes
    ----------
    name : str
        Its name.
    judgments : str or None
        The file of its judgments; None if its runs are saved results.
    runs : tuple of str
        Files, folders and patterns of its runs, or of saved results of them.
    measures : tuple of str or None
        The measures, the deciding one first; None for those of the board.
    profile : str or None
        The profile; None for that of the board.
    level : int or None
        Lowest relevant judgment; None for that of the board.
    weight : float
        Its weight in the mean over collections, above 0.
    """

    name: str
    judgments: str | None
    runs: tuple[str, ...]
    measures: tuple[str, ...] | None = None
    profile: str | None = None
    level: int | None = None
    weight: float = 1.0


class Collections(NamedTuple):
    """The collections of a board.

    Attributes
    ----------
    collections : tuple of Collection
        The collections.
    names : dict of str to str
        Names of runs on the board, by their names in the collections; other runs keep their names.
    measures : tuple of str or None
        Measures for collections without their own; None if not given.
    profile : str or None
        Profile for collections without their own.
    level : int or None
        Level for collections without their own.
    notes : tuple of str
        The entries that are skipped.
    folder : str or None
        The folder that they were found in; None if they come from a file.
    """

    collections: tuple[Collection, ...]
    names: dict[str, str]
    measures: tuple[str, ...] | None = None
    profile: str | None = None
    level: int | None = None
    notes: tuple[str, ...] = ()
    folder: str | None = None


# A folder -------------------------------------------------------------------------------------------


def found_in(folder: str | os.PathLike[str]) -> Collections:
    """Find the collections in a folder: each folder in it that has judgments and runs.

    Parameters
    ----------
    folder : str or path
        The folder. Judgments are ``qrels/test.tsv`` (BEIR), the only file in ``qrels/``, or the only file with a name
        that begins with ``qrels``. Runs are the files in ``runs/``, or else the files that begin as a run in columns or
        as saved results do. Without judgments all runs must be saved results.

    Raises
    ------
    InputError
        There is no collection, or a collection has several files of judgments.
    """
    path = os.fspath(folder)
    collections: list[Collection] = []
    passed, inside = list[str](), list[str]()
    for name in names_in(path):
        place = os.path.join(path, name)
        if name.startswith("."):
            passed.append(f"{name} (hidden)")
        elif not os.path.isdir(place):
            passed.append(f"{name} (not a folder)")
        else:
            collection, unused = _collection(place)
            if collection is None:
                passed.append(f"{name} (lacks judgments or runs)")
            else:
                collections.append(collection)
                inside += [f"{name}/{entry}" for entry in unused]
    if not collections:
        raise InputError(
            "no folder in it has judgments and runs",
            "Give each collection a folder with judgments (qrels.txt or qrels/test.tsv) and a folder runs, list the "
            "collections in a TOML file, or name the judgments before this folder of runs.",
            file=path,
        )
    notes = [*_named(passed, "is no collection", "are no collections"), *_named(inside, "is not used", "are not used")]
    return Collections(tuple(collections), {}, notes=tuple(notes), folder=path)


def _collection(folder: str) -> tuple[Collection | None, list[str]]:
    """Return the collection of a folder (None if it lacks judgments or runs), and its unused entries."""
    names = names_in(folder)
    judgments = _judgments(folder, names)
    inner = os.path.join(folder, RUNS)
    if os.path.isdir(inner):
        runs = [inner] if any(not name.startswith(".") for name in names_in(inner)) else []
    else:
        files = [os.path.join(folder, name) for name in names if not name.startswith(".")]
        runs = [file for file in files if file != judgments and os.path.isfile(file) and _holds_run(file)]
    if not runs or (judgments is None and not all(map(is_saved, run_files(runs)))):
        return None, []
    used = {*runs, judgments, os.path.dirname(judgments or "")}
    unused = [name for name in names if os.path.join(folder, name) not in used and not name.startswith(".")]
    if judgments is not None and os.path.dirname(judgments) != folder:
        inside = os.path.dirname(judgments)
        beside = [os.path.join(inside, name) for name in names_in(inside) if not name.startswith(".")]
        unused += [os.path.relpath(file, folder) for file in beside if file != judgments]
    return Collection(os.path.basename(os.path.abspath(folder)), judgments, tuple(runs)), unused


def _judgments(folder: str, names: Sequence[str]) -> str | None:
    """Return the judgments of a collection; None if there are none."""
    named = [os.path.join(folder, name) for name in names if name.lower().startswith("qrels")]
    inner = [os.path.join(path, name) for path in named if os.path.isdir(path) for name in names_in(path)]
    for several in (inner, named):
        files = [file for file in several if os.path.isfile(file) and not os.path.basename(file).startswith(".")]
        candidates = [file for file in files if _holds_judgments(file)]
        meant = [file for file in candidates if stem(file).lower() == SPLIT] or candidates
        if len(meant) > 1:
            which = ", ".join(os.path.relpath(file, folder) for file in meant[:NAMED])
            raise InputError(
                f"it has {len(meant)} files of judgments ({which})",
                f"Keep one, name one qrels/{SPLIT}.tsv, or list the collections in a TOML file.",
                file=folder,
            )
        if meant:
            return meant[0]
    return None


def _holds_judgments(path: str) -> bool:
    """Return whether a file begins like judgments: with ``qid iteration docid rel``, or in a format of its own."""
    try:
        sight, _ = seen(path)
    except TrecevalError:
        return False
    fields = _fields(sight)
    in_columns = len(fields) == 4 and re.fullmatch(rb"[+-]?[0-9]+", fields[3]) is not None
    return in_columns or format_of(sight, "qrels") is not None


def _holds_run(path: str) -> bool:
    """Return whether a file begins like a run in columns without a header, or like saved results.

    JSON, JSON Lines and Parquet files may also be texts, such as BEIR's ``corpus.jsonl``: such runs need a folder of
    runs.
    """
    try:
        sight, _ = seen(path)
    except TrecevalError:
        return False
    fields, form = _fields(sight), format_of(sight, "run")
    in_columns = len(fields) >= 6 and are_numbers(fields[4:5]) if form is None else "qrels" not in form.holds
    return in_columns or is_saved(path)


def _fields(sight: Sight) -> list[bytes]:
    return sight.lines[0].split() if sight.lines else []


def _named(passed: Sequence[str], one: str, several: str) -> list[str]:
    """Return notes that name the skipped entries."""
    more = f" and {len(passed) - NAMED} more" if len(passed) > NAMED else ""
    are = f"1 entry of the folder {one}" if len(passed) == 1 else f"{len(passed)} entries of the folder {several}"
    return [f"{are}: {', '.join(passed[:NAMED])}{more}."] if passed else []


# A TOML file ----------------------------------------------------------------------------------------


def listed_in(file: str | os.PathLike[str]) -> Collections:
    """Read a TOML file that lists collections.

    Parameters
    ----------
    file : str or path
        The file. ``[[collection]]`` has ``name``, ``judgments``, ``runs`` (a file, folder or pattern, or a list of
        them), and if need be ``measures``, ``profile``, ``level`` and ``weight``. ``measures``, ``profile`` and
        ``level`` above them are for all collections without their own. ``[names]`` gives runs another name on the
        board. Paths are relative to the file.

    Raises
    ------
    InputError
        It is not TOML, a key is unknown or missing, a value has the wrong type, a name is there twice.
    """
    path = os.fspath(file)
    toml = TomlFile(path, whole(path, LARGEST))
    entries, names = toml.document.pop("collection", None), toml.document.pop("names", {})
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise toml.refusal("it lists no collection", "Write [[collection]] and its keys for each.", "collection")
    if not isinstance(names, dict) or not all(isinstance(name, str) and name for name in names.values()):
        raise toml.refusal("[names] must give each name another one", 'Write "bm25-fiqa" = "bm25".', "names")
    shared = toml.values(toml.document, _SHARED)
    collections: list[Collection] = []
    for at, entry in enumerate(entries):
        keys = toml.values(entry, _OWN, "collection", at)
        if "name" not in keys or "runs" not in keys:
            fault = "the collection lacks name or runs"
            raise toml.refusal(fault, 'Write name = "…" and runs = "…".', "collection", at)
        if keys["name"] in (collection.name for collection in collections):
            fault = f"two collections are named {shown(keys['name'])}"
            raise toml.refusal(fault, "Rename one.", "collection", at, "name")
        folder, judgments = os.path.dirname(path), keys.get("judgments", DATASET)
        if not judgments.startswith(DATASET):
            keys["judgments"] = os.path.join(folder, judgments)
        runs = tuple(os.path.join(folder, run) for run in keys["runs"])
        collections.append(Collection(**{"judgments": None, **keys, "runs": runs}))
    return Collections(tuple(collections), names, **shared)


def _is_text(value: object) -> bool:
    """Return whether a value is text that may name a file: not empty, and without a zero byte."""
    return isinstance(value, str) and bool(value) and "\0" not in value


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


_TEXT = Form("text", _is_text, str)
_TEXTS = Form("text, or a list of texts", lambda value: value != [] and all(map(_is_text, _several(value))), _several)
_SHARED = dict(zip(SHARED, (_TEXTS, _TEXT, whole_number(0, MOST_LEVEL)), strict=True))
_WEIGHT = Form("a number above 0, up to 1e9", lambda value: number(0, MOST_WEIGHT).fits(value) and value > 0, float)
_OWN = {**_SHARED, "name": _TEXT, "judgments": _TEXT, "runs": _TEXTS, "weight": _WEIGHT}
"""The keys of a file, and those of a collection in it."""
