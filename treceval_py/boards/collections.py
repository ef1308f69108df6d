"""Collections of a board: found in a folder, listed in a TOML file, or given as values."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from treceval_py.comparing.saved.files import run_files
from treceval_py.comparing.saved.naming import stem
from treceval_py.comparing.saved.reading import is_saved
from treceval_py.data.ids import shown
from treceval_py.errors import InputError, TrecevalError
from treceval_py.io.formats import DATASET, Sight, format_of
from treceval_py.io.named import seen
from treceval_py.io.source import whole

MOST_WEIGHT = 1e9

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
    for name in _names_in(path):
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
    names = _names_in(folder)
    judgments = _judgments(folder, names)
    inner = os.path.join(folder, RUNS)
    if os.path.isdir(inner):
        runs = [inner] if any(not name.startswith(".") for name in _names_in(inner)) else []
    else:
        files = [os.path.join(folder, name) for name in names if not name.startswith(".")]
        runs = [file for file in files if file != judgments and os.path.isfile(file) and _holds_run(file)]
    if not runs or (judgments is None and not all(map(is_saved, run_files(runs)))):
        return None, []
    used = {*runs, judgments, os.path.dirname(judgments or "")}
    unused = [name for name in names if os.path.join(folder, name) not in used and not name.startswith(".")]
    if judgments is not None and os.path.dirname(judgments) != folder:
        inside = os.path.dirname(judgments)
        beside = [os.path.join(inside, name) for name in _names_in(inside) if not name.startswith(".")]
        unused += [os.path.relpath(file, folder) for file in beside if file != judgments]
    return Collection(os.path.basename(os.path.abspath(folder)), judgments, tuple(runs)), unused


def _judgments(folder: str, names: Sequence[str]) -> str | None:
    """Return the judgments of a collection; None if there are none."""
    named = [os.path.join(folder, name) for name in names if name.lower().startswith("qrels")]
    inner = [os.path.join(path, name) for path in named if os.path.isdir(path) for name in _names_in(path)]
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
    return format_of(sight, "qrels") is not None or (len(fields) == 4 and _is_whole(fields[3]))


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
    in_columns = len(fields) >= 6 and _is_number(fields[4]) if form is None else "qrels" not in form.holds
    return in_columns or is_saved(path)


def _fields(sight: Sight) -> list[bytes]:
    return sight.lines[0].split() if sight.lines else []


def _is_whole(field: bytes) -> bool:
    return re.fullmatch(rb"[+-]?[0-9]+", field) is not None


def _is_number(field: bytes) -> bool:
    try:
        return math.isfinite(float(field))
    except ValueError:
        return False


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder), key=os.fsencode)
    except OSError as error:
        unreadable = f"the folder cannot be listed: {error.strerror or error}"
        raise InputError(unreadable, "Check its permissions.", file=folder) from None


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
    try:
        document: dict[str, Any] = tomllib.loads(whole(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:  # of UTF-8 too
        place = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = int(place[1]) if place else None
        reason = re.sub(r" \(at .*\)$", "", str(error))
        todo = "Write key = value, with text in double quotes."
        raise InputError(f"is not TOML: {reason[:1].lower()}{reason[1:]}", todo, file=path, line=line) from None
    shared = _Keys(path, "the top of the file", document, {*SHARED, "collection", "names"})
    entries = document.get("collection")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("it lists no collection", "Write [[collection]] and its keys for each.", file=path)
    names = document.get("names", {})
    if not isinstance(names, dict) or not all(isinstance(name, str) and name for name in names.values()):
        raise InputError("[names] must give each name another one", 'Write "bm25-fiqa" = "bm25".', file=path)
    collections = tuple(_listed(path, entry, number) for number, entry in enumerate(entries, 1))
    first: set[str] = set()
    for collection in collections:
        if collection.name in first:
            raise InputError(f"two collections are named {shown(collection.name)}", "Rename one.", file=path)
        first.add(collection.name)
    return Collections(collections, names, shared.measures(), shared.text("profile"), shared.level())


def _listed(path: str, entry: dict[str, Any], number: int) -> Collection:
    keys = _Keys(path, f"collection {number}", entry, {*SHARED, "name", "judgments", "runs", "weight"})
    name, runs, judgments = keys.text("name"), keys.texts("runs"), keys.text("judgments")
    if name is None or runs is None:
        raise keys.refusal("it lacks name or runs", 'Write name = "…" and runs = "…".')
    weight = entry.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight <= MOST_WEIGHT:
        raise keys.refusal(f"weight is {shown(weight)}; it must be above 0", "")
    folder = os.path.dirname(path)
    return Collection(
        name,
        judgments if judgments is None or judgments.startswith(DATASET) else os.path.join(folder, judgments),
        tuple(os.path.join(folder, run) for run in runs),
        keys.measures(),
        keys.text("profile"),
        keys.level(),
        float(weight),
    )


def _is_text(value: object) -> bool:
    """Return whether a value is text that may name a file: not empty, and without a zero byte."""
    return isinstance(value, str) and bool(value) and "\0" not in value


class _Keys:
    """The keys of a table of the file, read with checks."""

    def __init__(self, path: str, place: str, values: Mapping[str, Any], known: set[str]) -> None:
        self.path, self.place, self.values = path, place, values
        unknown = next((key for key in values if key not in known), None)
        if unknown is not None:
            raise self.refusal(f"unknown key {shown(unknown)}", f"The keys are {', '.join(sorted(known))}.")

    def refusal(self, what: str, todo: str) -> InputError:
        """Return an error about this table."""
        return InputError(f"{self.place}: {what}", todo, file=self.path)

    def text(self, key: str) -> str | None:
        """Return a text; None if it is not there."""
        value = self.values.get(key)
        if value is not None and not _is_text(value):
            raise self.refusal(f"{key} is {shown(value)}; it must be text", "")
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a text, or a list of them; None if it is not there."""
        value = self.values.get(key)
        several = [value] if isinstance(value, str) else value
        if several is None:
            return None
        if not isinstance(several, list) or not several or not all(map(_is_text, several)):
            raise self.refusal(f"{key} is {shown(value)}; it must be text, or a list of texts", "")
        return tuple(several)

    def measures(self) -> tuple[str, ...] | None:
        """Return the measures; None if they are not there."""
        return self.texts("measures")

    def level(self) -> int | None:
        """Return the level; None if it is not there."""
        value = self.values.get("level")
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise self.refusal(f"level is {shown(value)}; it must be a whole number, 0 or higher", "")
        return value
