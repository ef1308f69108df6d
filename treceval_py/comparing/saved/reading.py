"""Recognise a file of saved results by its beginning, and read it."""

from __future__ import annotations

import os
import re

from treceval_py.comparing.saved.json_file import read_json_results
from treceval_py.comparing.saved.measures import is_standardised, shows_value
from treceval_py.comparing.saved.others import other_kind, refusal
from treceval_py.comparing.saved.trec import read_trec_results
from treceval_py.comparing.scores import Scored, known_measure
from treceval_py.data.ids import decode
from treceval_py.errors import InputError
from treceval_py.io.source import BYTE_ORDER_MARK, LONGEST_LINE, peek, whole

GLANCE = 1 << 12
"""Bytes from which most files are recognised."""

ROWS = 8
"""Most lines to examine: looking up an unknown name takes long, and a run has only such names."""

# A run in JSON is an object of objects: its first value is neither text nor a boolean. The second key comes first if a
# program has sorted the keys.
_JSON = re.compile(rb'\s*\{\s*("treceval_py"\s*:\s*"|"complete"\s*:\s*(true|false)\b)')


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file has saved results, by its beginning.

    Parameters
    ----------
    path : str or path
        The file, compressed or not. Standard input, pipes and missing files have none; nothing is read from them.

    Returns
    -------
    bool
        Whether to pass the file to `read_saved`, even if only to be refused: treceval's tables, ranges, comparisons and
        boards. False also for an unreadable file, for which the reader of runs reports the reason.

    Notes
    -----
    An MS MARCO run has three columns too. Results differ from it by the name of a known measure and a value that is
    not a rank.
    """
    path = os.fspath(path)
    if path == "-" or not os.path.isfile(path):
        return False
    try:
        for size in (GLANCE, LONGEST_LINE):
            head = peek(path, size)[0]
            kind = _kind(head.removeprefix(BYTE_ORDER_MARK), ended=len(head) < size)
            if kind is not None:
                return bool(kind)
    except InputError:
        return False
    return False


def read_saved(path: str | os.PathLike[str]) -> list[Scored]:
    """Read the values of all runs in a file of saved results.

    Parameters
    ----------
    path : str or path
        Lines of ``measure qid value``, as ``trec_eval -q`` and ``treceval -q`` print them, of one run; or the JSON of
        ``treceval -q``. Plain, gzip, bzip2, xz or zstd.

    Returns
    -------
    list of Scored
        The runs, named as in the file, or by the file if it has no names.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, it has only averages, its values are z-scores, or it is something
        else that treceval printed, such as a comparison.

    Notes
    -----
    Measures without a number for each query (``num_q``, ``gm_map``, ``runid``, ``relstring``) are left out. In text the
    query ``all`` is the average.

    A query that the run lacks, and that counts as 0 without being listed (``-c`` of trec_eval 9), is added with value 0
    from JSON. In trec_eval's own output nothing names it: the query then counts as one that the run lacks.
    """
    path = os.fspath(path)
    raw = whole(path)
    start = raw.removeprefix(BYTE_ORDER_MARK)
    if other := other_kind(start[:LONGEST_LINE]):
        raise refusal(other, path)
    kind = _kind(start[:GLANCE], ended=True) or ("json" if start.lstrip().startswith(b"{") else "trec")
    if kind == "lines":
        raise refusal(kind, path)
    if kind == "json":
        return read_json_results(path, raw)
    return [read_trec_results(path, decode(raw))]


def _kind(head: bytes, *, ended: bool) -> str | None:
    """Return ``json``, ``trec`` or a refused kind; empty for none; None to read more."""
    if other := other_kind(head):
        return other
    if _JSON.match(head):
        return "json"
    if head.lstrip().startswith(b"{"):
        return ""
    lines = [line for line in head.split(b"\n")[: None if ended else -1] if line.split()]
    rows = [line.split() for line in lines if not line.lstrip().startswith(b"#")]
    if not rows:
        return "" if ended else None
    return next(filter(None, map(_kind_of_row, rows[:ROWS])), "")


def _kind_of_row(row: list[bytes]) -> str:
    """Return what a line is: ``trec``, ``lines`` of another program, or empty."""
    if len(row) != 3:
        return ""
    first, second, value = map(decode, row)
    # z-scores too: the reader of results refuses them with a specific message.
    if (measure := known_measure(first.removeprefix("Z") if is_standardised(first) else first)) is not None:
        return "trec" if shows_value(measure, value) else ""
    measure = known_measure(second)
    return "lines" if measure is not None and shows_value(measure, value, decimals=True) else ""
