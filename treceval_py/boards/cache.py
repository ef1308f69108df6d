"""Cache of board results, keyed by the hash of each run file.

It is JSON, packed as its name says, and nothing in it is executed. Numbers are kept as the bytes of float64, so that
they come back as they were.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.errors import InputError, OutputError
from treceval_py.io.source import peek, whole
from treceval_py.io.target import written_whole

__all__ = [
    "CACHE_NAME",
    "Cached",
    "Entry",
    "cache_beside",
    "cache_in",
    "place_of",
    "read_cache",
    "still_there",
    "write_cache",
]

CACHE_NAME = ".treceval-board.json.gz"
"""What the file is called in the folder of the runs; hidden, so that it is not taken for one of them."""

MARK = "treceval board"
"""How the text begins, after a brace and a quotation mark, by which the file is known to be ours."""

BEGINNING = f'{{"{MARK}"'.encode()

FORMAT = 2


class Entry(NamedTuple):
    """Result of a run.

    Attributes
    ----------
    tag : str
        The run's tag.
    qids : tuple of str, length Q
        The queries.
    values : (Q, M) float array
        The values; NaN where a query does not count.
    missing : tuple of str
        Judged queries that the run lacks.
    judged : float or None
        The mean share of judged documents among the first ten, over the queries that the run has; None where that is
        not known.
    tied : int or None
        For how many queries the order of documents with equal scores changes the first measure; None where that is not
        known.
    contradicting : int
        In how many queries the rank column contradicts the scores.
    reversed : bool
        Whether in all of these scores grow with the rank.
    """

    tag: str
    qids: tuple[str, ...]
    values: FloatArray
    missing: tuple[str, ...]
    judged: float | None
    tied: int | None
    contradicting: int
    reversed: bool


class Cached(NamedTuple):
    """What was kept.

    Attributes
    ----------
    entries : dict of str to Entry
        By the SHA-256 of the run's file; empty where nothing is of use.
    files : dict of str to str
        The file that each came from, by the same SHA-256, as seen from the folder of the cache.
    note : str
        Why a file that is there is of no use; empty if there is none, or if only the question changed.
    writable : bool
        Whether the file may be replaced: it is ours, or there is none.
    """

    entries: dict[str, Entry]
    files: dict[str, str]
    note: str = ""
    writable: bool = True


def cache_in(runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> str | None:
    """Return where the cache of a folder of runs stands; None where runs are not given as one folder."""
    paths = [runs] if isinstance(runs, (str, os.PathLike)) else runs
    if len(paths) != 1 or not os.path.isdir(paths[0]):
        return None
    return os.path.join(os.fspath(paths[0]), CACHE_NAME)


def cache_beside(runs: Sequence[str]) -> str | None:
    """Return where the cache of runs stands: in the folder of all of them; None where they are in several.

    Parameters
    ----------
    runs : sequence of str
        Folders, patterns and files.
    """
    folders = [path if os.path.isdir(path) else os.path.dirname(path) or os.curdir for path in runs]
    return cache_in(folders[0]) if len({os.path.realpath(folder) for folder in folders}) == 1 else None


def read_cache(path: str, key: Sequence[str], measures: int) -> Cached:
    """Read the results cached for the same settings.

    Parameters
    ----------
    path : str
        The file.
    key : sequence of str
        All that decides a value but the run: measures, conventions, judgments, version.
    measures : int
        How many measures there are, M.

    Returns
    -------
    Cached
        A damaged file is of no use, and is replaced; a file of another kind is left alone, unless it has the name that
        only a cache has.
    """
    if not os.path.exists(path):
        return Cached({}, {})
    if not os.path.isfile(path):
        return Cached({}, {}, f"{path} is no regular file, so that nothing is kept in it.", writable=False)
    try:
        head, _ = peek(path, len(BEGINNING))
        if head != BEGINNING and os.path.basename(path) != CACHE_NAME:
            return Cached({}, {}, f"{path} is no cache of a board and is left alone.", writable=False)
        return _cached(whole(path), key, measures)
    except InputError as error:
        failure = error.what
    # Whatever is wrong with what it says, all of it can be computed again.
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        failure = "it does not hold what a cache holds"
    return Cached({}, {}, f"the cache {path} cannot be used ({failure}) and is made again.")


def _cached(text: bytes, key: Sequence[str], measures: int) -> Cached:
    import json

    document = json.loads(text)
    if document[MARK] != FORMAT or document["key"] != list(key):
        return Cached({}, {})
    queries = [tuple(_words(qids)) for qids in document["queries"]]
    runs = document["runs"].items()
    return Cached(
        {digest: _entry(kept, queries, measures) for digest, kept in runs},
        {digest: _words([kept["file"]])[0] for digest, kept in runs},
    )


def _entry(kept: Mapping[str, Any], queries: Sequence[tuple[str, ...]], measures: int) -> Entry:
    import base64

    qids = queries[kept["queries"]]
    values = np.frombuffer(base64.b64decode(kept["values"], validate=True), dtype="<f8").astype(np.float64)
    judged, tied = kept["judged"], kept["tied"]
    return Entry(
        _words([kept["tag"]])[0],
        qids,
        values.reshape(len(qids), measures),
        tuple(_words(kept["missing"])),
        None if judged is None else float(judged),
        None if tied is None else int(tied),
        int(kept["contradicting"]),
        bool(kept["reversed"]),
    )


def _words(found: Any) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise ValueError("not a list of texts")
    return found


def place_of(file: str, cache: str) -> str:
    """Return where a file is as seen from the folder of a cache, so that both can be moved together."""
    return os.path.relpath(file, os.path.dirname(cache) or os.curdir)


def still_there(kept: Cached, cache: str, now: Container[str]) -> dict[str, str]:
    """Return the files of kept runs that are not looked at now and that have not gone, by their hashes.

    Parameters
    ----------
    kept : Cached
        What was kept.
    cache : str
        The file that it was kept in.
    now : container of str
        The files that are looked at, as `place_of` gives them: of these only what they have now is kept.
    """
    folder = os.path.dirname(cache)
    return {
        digest: file
        for digest, file in kept.files.items()
        if file not in now and os.path.isfile(os.path.join(folder, file))
    }


def write_cache(path: str, key: Sequence[str], entries: Mapping[str, Entry], files: Mapping[str, str]) -> str:
    """Write results, whole or not at all; of two concurrent writers one wins.

    Parameters
    ----------
    path : str
        The file.
    key : sequence of str
        As of `read_cache`.
    entries : mapping of str to Entry
        What is kept, by the SHA-256 of the run's file.
    files : mapping of str to str
        The file of each, by the same SHA-256, as `place_of` gives it.

    Returns
    -------
    str
        Why it could not be written; empty if it was. A board does not fail for that.
    """
    import json

    numbers = {qids: number for number, qids in enumerate(dict.fromkeys(entry.qids for entry in entries.values()))}
    document = {
        MARK: FORMAT,
        "key": list(key),
        "queries": [list(qids) for qids in numbers],
        "runs": {
            digest: {"file": files[digest], **_plain(entry, numbers[entry.qids])} for digest, entry in entries.items()
        },
    }
    try:
        with written_whole(path) as stream:
            # ASCII only, so that bytes of ids that are no UTF-8 come back as they were.
            stream.write(json.dumps(document, separators=(",", ":")).encode("ascii") + b"\n")
    except OutputError as error:
        return f"what was computed is not kept: {error}"
    return ""


def _plain(entry: Entry, queries: int) -> dict[str, Any]:
    import base64

    return {
        "tag": entry.tag,
        "queries": queries,
        "values": base64.b64encode(entry.values.astype("<f8").tobytes()).decode("ascii"),
        "missing": list(entry.missing),
        "judged": entry.judged,
        "tied": entry.tied,
        "contradicting": entry.contradicting,
        "reversed": entry.reversed,
    }
