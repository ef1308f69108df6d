"""Cache of board results, keyed by the hash of each run file.

It has two lines of text, compressed: the hash of the second line, and JSON. Nothing in it is executed or trusted:
contents that are damaged or come from elsewhere are not read as values. Numbers are stored as the bytes of float64, so
they come back unchanged.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Container, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.comparing.scores import MOST
from treceval_py.data.ids import encode
from treceval_py.diagnosis.sign import Sign
from treceval_py.errors import DataError, InputError, OutputError
from treceval_py.io.source import peek, whole
from treceval_py.io.target import written_whole

CACHE_NAME = ".treceval-board.json.gz"
"""Name of the file in the folder of the runs; hidden, so that it is not taken for a run."""

MARK = "treceval board"
"""How the text begins, after a brace and a quotation mark; this identifies our files."""

BEGINNING = f'{{"{MARK}"'.encode()

FORMAT = 4

LONGEST = 1 << 28
"""Most bytes of the file and of its text: the values of 500 runs for 5,000 queries and 10 measures."""

ROUNDING = 1e-9
"""By how much a sum may go beyond the range of its measure."""

Bounds = tuple[float, float]
"""The lowest and the highest value of a measure."""


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
        The mean share of judged documents among the first ten, over the queries that the run has; None if unknown.
    tied : int or None
        Number of queries in which the order of documents with equal scores changes the first measure; None if unknown.
    signs : tuple of Sign
        Signs of a mistake in the run.
    """

    tag: str
    qids: tuple[str, ...]
    values: FloatArray
    missing: tuple[str, ...]
    judged: float | None
    tied: int | None
    signs: tuple[Sign, ...]


class Cached(NamedTuple):
    """The contents of a cache.

    Attributes
    ----------
    entries : dict of str to Entry
        By the SHA-256 of the run's file; empty if nothing can be used.
    files : dict of str to str
        The file of each entry, by the same SHA-256, relative to the folder of the cache.
    note : str
        Why an existing file cannot be used; empty if there is no file, or if only the settings changed.
    writable : bool
        Whether the file may be replaced: it is ours, or does not exist.
    """

    entries: dict[str, Entry]
    files: dict[str, str]
    note: str = ""
    writable: bool = True


def cache_beside(runs: Sequence[str], within: str | None = None) -> str | None:
    """Return the path of the cache: in the common folder of the runs; None if they are in several folders.

    Parameters
    ----------
    runs : sequence of str
        Folders, patterns and files.
    within : str, optional
        A folder outside of which nothing may be written, because a link in it may lead out of it.
    """
    folders = {
        os.path.realpath(folder): folder
        for folder in (path if os.path.isdir(path) else os.path.dirname(path) or os.curdir for path in runs)
    }
    if len(folders) != 1:
        return None
    ((real, folder),) = folders.items()
    if within is not None and os.path.commonpath([real, os.path.realpath(within)]) != os.path.realpath(within):
        return None
    return os.path.join(folder, CACHE_NAME) if os.path.isdir(folder) else None


def read_cache(path: str, key: Sequence[str], bounds: Sequence[Bounds]) -> Cached:
    """Read the results cached for the same settings.

    Parameters
    ----------
    path : str
        The file. A link is not followed.
    key : sequence of str
        Everything besides the run that decides a value: measures, conventions, judgments, version.
    bounds : sequence of (float, float), length M
        The range of each measure.

    Returns
    -------
    Cached
        A damaged file is replaced. A file of another kind is left alone, unless it has the reserved name of a cache.
    """
    try:
        stream = _opened(path)
    except FileNotFoundError:
        return Cached({}, {})
    except OSError as error:
        if error.errno in _NOT_REGULAR:
            return Cached({}, {}, f"{path} is {_NOT_REGULAR[error.errno]}, so results are not cached in it.", False)
        return Cached({}, {}, f"the cache {path} cannot be read ({error.strerror}) and is made again.")
    try:
        with stream:
            head, _ = peek(stream, len(BEGINNING))
            if head != BEGINNING and os.path.basename(path) != CACHE_NAME:
                return Cached({}, {}, f"{path} is not the cache of a board, and is left alone.", writable=False)
            if os.fstat(stream.fileno()).st_size > LONGEST:
                raise InputError(f"the file has more than {LONGEST:,} bytes")
            return _cached(whole(stream, LONGEST), key, bounds)
    except InputError as error:
        failure = error.what
    # Whatever is wrong with its contents, they can be computed again.
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, MemoryError, DataError):
        failure = "it is not a cache"
    return Cached({}, {}, f"the cache {path} cannot be used ({failure}) and is made again.")


_NOT_REGULAR = {errno.ELOOP: "a link", errno.EMLINK: "a link", errno.EINVAL: "not a regular file"}
"""Files that cannot hold a cache, by the error that `_opened` raises; FreeBSD has its own error for a link."""


def _opened(path: str) -> BinaryIO:
    """Open a regular file; a link is not followed, and a pipe without a writer is not waited for."""
    if os.path.islink(path):  # for systems whose `open` cannot refuse it
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    if os.path.isdir(path):  # which Windows refuses to open
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    stream = os.fdopen(os.open(path, os.O_RDONLY | flags), "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return stream


def _cached(text: bytes, key: Sequence[str], bounds: Sequence[Bounds]) -> Cached:
    import json

    version = re.match(re.escape(BEGINNING) + rb":([0-9]{1,9})[,}]", text)
    if version is not None and int(version[1]) != FORMAT:
        return Cached({}, {})
    head, _, rest = text.partition(b"\n")
    if head + b"\n" != _head(rest):
        raise ValueError("changed since it was written")
    document = json.loads(rest, object_pairs_hook=_once)
    if document["key"] != list(key):
        return Cached({}, {})
    queries = [_words(qids) for qids in document["queries"]]
    runs = document["runs"].items()
    return Cached(
        {digest: _entry(kept, queries, bounds) for digest, kept in runs},
        {digest: _words([kept["file"]])[0] for digest, kept in runs},
    )


def _head(rest: bytes) -> bytes:
    """Return the first line, the hash of the rest."""
    import hashlib

    return BEGINNING + f':{FORMAT},"sha256":"{hashlib.sha256(rest).hexdigest()}"}}\n'.encode()


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key occurs twice")
    return members


def _entry(kept: Mapping[str, Any], queries: Sequence[tuple[str, ...]], bounds: Sequence[Bounds]) -> Entry:
    import base64

    qids = queries[_count(kept["queries"], len(queries) - 1)]
    values = np.frombuffer(base64.b64decode(kept["values"], validate=True), dtype="<f8").astype(np.float64)
    judged, tied = kept["judged"], kept["tied"]
    entry = Entry(
        _words([kept["tag"]])[0],
        qids,
        values.reshape(len(qids), len(bounds)),
        _words(kept["missing"]),
        judged,
        None if tied is None else _count(tied, len(qids)),
        tuple([Sign(*_words(words)) for words in kept["signs"]]),
    )
    shares = judged is None or (isinstance(judged, float) and 0 <= judged <= 1 + ROUNDING)
    if not shares or not is_within(entry.values, bounds):
        raise ValueError("out of range")
    return entry


def is_within(values: FloatArray, bounds: Sequence[Bounds]) -> bool:
    """Return whether values (Q, M) are in the ranges of the measures, or NaN for a query left out."""
    low, high = np.array(bounds).T
    beyond = (values < np.maximum(low, -MOST) - ROUNDING) | (values > np.minimum(high, MOST) + ROUNDING)
    return not beyond.any()


def _count(number: Any, most: int = 1 << 62) -> int:
    if type(number) is not int or not 0 <= number <= most:
        raise ValueError("not a count")
    return number


def _words(words: Any) -> tuple[str, ...]:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("not a list of texts")
    for word in words:
        encode(word)  # which a text with half a character cannot be
    if len(set(words)) < len(words):
        raise ValueError("a text occurs twice")
    return tuple(words)


def path_in_cache(file: str, cache: str) -> str:
    """Return the path of a file relative to the folder of a cache, so that both can be moved together."""
    return os.path.relpath(file, os.path.dirname(cache) or os.curdir)


def still_there(kept: Cached, cache: str, now: Container[str]) -> dict[str, str]:
    """Return the files of cached runs that are not scored now and still exist, by their hashes.

    Parameters
    ----------
    kept : Cached
        The contents of the cache.
    cache : str
        Its file.
    now : container of str
        The files being scored, as `path_in_cache` returns them; their old entries are dropped.
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
        The file. It replaces only a regular file of this name: a link is refused.
    key : sequence of str
        As of `read_cache`.
    entries : mapping of str to Entry
        The results, by the SHA-256 of the run's file.
    files : mapping of str to str
        The file of each, by the same SHA-256, as `path_in_cache` returns it.

    Returns
    -------
    str
        Why it could not be written; empty if it was. A board does not fail because of this.
    """
    import json

    # In the order of the files, so that it is the same whether or not a board was stopped in between.
    kept = {digest: entries[digest] for digest in sorted(entries, key=lambda digest: (encode(files[digest]), digest))}
    numbers = {qids: number for number, qids in enumerate(dict.fromkeys(entry.qids for entry in kept.values()))}
    document = {
        "key": list(key),
        "queries": [list(qids) for qids in numbers],
        "runs": {
            digest: {"file": files[digest], **_plain(entry, numbers[entry.qids])} for digest, entry in kept.items()
        },
    }
    # ASCII only, so that bytes of ids that are not UTF-8 come back unchanged.
    text = json.dumps(document, separators=(",", ":")).encode("ascii") + b"\n"
    if len(text) > LONGEST - len(_head(text)):
        return f"results are not cached: {path} would have more than {LONGEST:,} bytes."
    try:
        with written_whole(path, links=False) as stream:
            stream.write(_head(text) + text)
    except OutputError as error:
        return f"results are not cached: {error}"
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
        "signs": entry.signs,
    }
