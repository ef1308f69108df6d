"""Recognise a file from its first lines: its kind, and causes that make all of its lines wrong."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby, islice, pairwise

from treceval_py.checking.beginnings import encoding_of
from treceval_py.checking.fields import MOST_FIELDS, is_number, is_quoted, is_whole, names_columns, whole_number
from treceval_py.checking.rows import KINDS, Kind
from treceval_py.diagnosis.sign import Sign
from treceval_py.io.formats import is_header
from treceval_py.io.source import BYTE_ORDER_MARK

GLANCE = 20
"""Number of data lines from which a file is recognised."""

ENOUGH = 1 << 16
"""Bytes in which these lines are looked for."""


def recognise(head: bytes, wanted: str | None) -> Kind:
    """Recognise the kind of a file from its first lines with data.

    Parameters
    ----------
    head : bytes
        The beginning of the file, decompressed.
    wanted : str or None
        A name of `KINDS` that the caller expects; ``run`` may turn out to be ``msmarco``.

    Returns
    -------
    Kind
        The kind of most of these lines; the expected kind, or a run, if they are not recognised.
    """
    if wanted is not None and wanted != "run":
        return KINDS[wanted]
    likely = looks_like(head)
    if likely is None or (wanted == "run" and likely.name == "qrels"):
        return KINDS["run"]
    return likely


def looks_like(head: bytes) -> Kind | None:
    """Return the kind of most of the first data lines: a run, an MS MARCO run or judgments; None for anything else.

    Parameters
    ----------
    head : bytes
        The beginning of a file, decompressed; it may end within a line.
    """
    head = head[:ENOUGH]
    encoding = encoding_of(head)
    if encoding is not None:
        head = head.decode(encoding, "ignore").encode("utf-8", "ignore")
    head = head.removeprefix(BYTE_ORDER_MARK)
    if b"\n" not in head:
        head = head.replace(b"\r", b"\n")
    lines = head.split(b"\n")
    if len(lines) > 1 and not head.endswith(b"\n"):
        lines.pop()  # the last one may be cut off
    forms = Counter(map(_form, _with_data(lines)))
    if forms["beir"]:
        return None
    best = max(("run", "qrels", "msmarco"), key=lambda form: forms[form])
    return KINDS[best] if 2 * forms[best] > forms.total() - forms["header"] and forms[best] else None


def cause_of(text: bytes, kind: Kind) -> Sign | None:
    """Find a cause that makes all lines of a file wrong.

    Parameters
    ----------
    text : bytes
        The beginning of the file.
    kind : Kind
        The kind it is checked as.

    Returns
    -------
    Sign or None
        None if one of the first data lines is valid, or they show no common cause.
    """
    form = {"judged-ranking": "qrels"}.get(kind.name, kind.name)
    lines = _with_data(text[:ENOUGH].split(b"\n")[:-1])
    if form == "run" and _is_shifted(lines):
        problem = "all columns are shifted by one: Q0 is the third field, but the second in a run"
        return Sign("R116", problem, "Delete the first column, probably an index; in pandas, write with index=False.")
    quoted = [is_quoted(line) for line in lines]
    if kind.name != "qrels" and any(quoted) and sum(quoted) >= len(lines) - 1:  # a header may have no quotes
        problem = "fields are in quotes, which become part of the ids"
        return Sign("R117", problem, "Write the file without quotes; in R use quote=FALSE.")
    forms = Counter(_form(line) for line in lines)
    if forms[form] or (forms["near"] and form == "run"):
        return None
    del forms["header"]
    common = "beir" if forms["beir"] else max(forms, key=lambda each: forms[each], default="")
    if common in _SEPARATORS:
        problem = f"fields are separated by {_SEPARATORS[common]}, not by white space"
        return Sign("R112", problem, "Write the file with spaces or tabs between fields, without quotes.")
    if common == "qrels" or (common == "run" and kind.rel is not None):
        return _swapped(common, kind)
    if form == "qrels" and common == "msmarco":
        problem = f"3 fields, but a judgment has 4 ({kind.layout})"
        return Sign("Q305", problem, "Put a 0, the iteration, after the query, on each line.")
    if common in _OTHERS:
        other, todo = _OTHERS[common]
        return Sign("R113", f"this is {other}, not {kind.what}", todo)
    if len(lines) < 3:
        return None  # too few lines for more than a finding for each
    counts = sorted({len(line.split(None, MOST_FIELDS)) for line in lines})
    if any(map(kind.layout.fits, counts)) and forms.total() - forms[""]:
        return None
    fields = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    noun = "field" if counts == [1] else "fields"
    problem = f"none of the first {len(lines)} lines is {kind.layout.what} ({kind.layout}): they have {fields} {noun}"
    return Sign("R113", problem, "Is it the right file?")


_SEPARATORS = {"commas": "commas", "semicolons": "semicolons", "bars": "bars"}

_OTHERS = {
    "run": ("a run of six columns", "Give it as a run."),
    "msmarco": ("an MS MARCO run (qid docid rank)", "Check it as one: --as msmarco."),
    "beir": (
        "a file of BEIR's judgments (query-id corpus-id score)",
        "Convert it with treceval convert to judgments with four columns.",
    ),
    "json": ("JSON", "Write one line per document."),
    "markup": ("HTML or XML", "Was a web page saved instead of the file?"),
}


def _swapped(form: str, kind: Kind) -> Sign:
    if kind.name == "judged-ranking":
        return Sign("R114", "this is a run, not a judged ranking", "Check it as a run: --as run.")
    if form == "qrels":
        problem, todo = f"these are judgments, not {kind.what}", "Check a ranking with labels --as judged-ranking."
    else:
        problem, todo = "this is a run, not judgments", ""
    return Sign("R114", problem, f"Are the two files swapped?{' ' * bool(todo)}{todo}")


def _is_shifted(lines: list[bytes]) -> bool:
    """Tell whether all lines except headers have a Q0 where a run has the document."""
    rows = [fields for fields in (line.split(None, MOST_FIELDS) for line in lines) if not names_columns(fields)]
    return bool(rows) and all(
        len(fields) > 5 and fields[2].upper() == b"Q0" and fields[1].upper() not in (b"Q0", b"0") for fields in rows
    )


def swapped_columns(head: bytes) -> Sign | None:
    """Find out from the first lines of a run whether two of its columns are swapped.

    Parameters
    ----------
    head : bytes
        The beginning of the file, whole lines.
    """
    rows = [fields for line in _with_data(head[:ENOUGH].split(b"\n")[:-1]) if len(fields := line.split()) > 5]
    if _counts_up(rows, group=0, rank=3, other=2):
        return None
    if _counts_up(rows, group=0, rank=4, other=2) and _falls(rows, group=0, score=3):
        first, second = (fields[4].decode() for fields in rows[:2])
        swap = f"rank and score are swapped: the score column counts {first}, {second}, …"
        return Sign("R119", swap, "Write qid Q0 docid rank score tag; otherwise every list is scored upside down.")
    if _counts_up(rows, group=2, rank=3, other=0):
        swap = "query and document are swapped: ranks count the lines of the same document, each of another query"
        return Sign("R119", swap, "Write qid Q0 docid rank score tag.")
    return None


def _counts_up(rows: list[list[bytes]], *, group: int, rank: int, other: int) -> bool:
    """Tell whether a column counts from 0 or 1 within consecutive lines of each group, at least once up to three."""
    longest = 0
    for _, stretch in groupby(rows, key=lambda fields: fields[group]):
        own = list(stretch)
        numbers = [whole_number(fields[rank]) for fields in own]
        if numbers not in ([*range(len(own))], [*range(1, len(own) + 1)]):
            return False
        if len({fields[other] for fields in own}) < len(own):
            return False
        longest = max(longest, len(own))
    return longest >= 3


def _falls(rows: list[list[bytes]], *, group: int, score: int) -> bool:
    """Tell whether the numbers of a column never rise from one line of a group to the next."""
    if not all(re.fullmatch(rb"[+-]?[0-9.]+([eE][+-]?[0-9]+)?", fields[score]) for fields in rows):
        return False
    try:
        numbers = [float(fields[score]) for fields in rows]
    except ValueError:
        return False
    return all(one[group] != two[group] or a >= b for (one, a), (two, b) in pairwise(zip(rows, numbers, strict=True)))


def _with_data(lines: list[bytes]) -> list[bytes]:
    stripped = (line.strip() for line in lines)
    return list(islice((line for line in stripped if line and not line.startswith(b"#")), GLANCE))


def _form(line: bytes) -> str:
    """Return the form of a data line, even if it is damaged: the name of a form, or an empty text."""
    if is_header(line):
        return "beir"
    if re.match(rb'[{\[]\s*["{\[\]}]|[{\[]$', line):
        return "json"
    if re.match(rb"<[!?/a-zA-Z]", line):
        return "markup"
    fields = line.split(None, MOST_FIELDS)
    for separator, name in ((b",", "commas"), (b";", "semicolons"), (b"|", "bars")):
        # Either the line has no other separator, or all fields but the last end with this one.
        ended = len(fields) > 2 and all(field.endswith(separator) for field in fields[:-1])
        if ended or (len(fields) < 3 and line.count(separator) >= 2):
            return name
    if names_columns(fields):
        return "header"
    return _of_count(fields)


def _of_count(fields: list[bytes]) -> str:
    count = len(fields)
    if count >= 6:
        return "run" if is_number(fields[4]) or is_whole(fields[3]) else ""
    if count == 5:
        return "near" if is_number(fields[3]) or is_number(fields[4]) else ""
    if count == 4:
        judged = is_whole(fields[3]) or (fields[1].upper() in (b"0", b"Q0") and is_number(fields[3]))
        return "qrels" if judged else ""
    return "msmarco" if count == 3 and is_whole(fields[2]) else ""
