"""Read groups of queries from a file of ``qid<TAB>label`` lines, a column of a queries file, or an object."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from treceval_py._types import Source
from treceval_py.data.columns import QUERY
from treceval_py.data.ids import decode, encode, quoted, shown
from treceval_py.data.objects import columns_by_query
from treceval_py.data.query_groups import ATTRIBUTE, QueryGroups, check_attributes
from treceval_py.data.table import FORMS, ids_of, is_missing
from treceval_py.errors import DataError, InputError
from treceval_py.io.digests import digest_of
from treceval_py.io.source import name_of, whole

AnyGroups: TypeAlias = "Source | Mapping[Any, Any] | QueryGroups | Sequence[Source | QueryGroups] | Any"
"""Sources of groups of queries: files, dictionaries, frames with a column of query ids, `QueryGroups`."""

HEADS = (*QUERY.every, "_id", "id", "topic", "topic_id", "number")
"""Header names of the first column, in lower case."""


def read_query_groups(given: AnyGroups, columns: Sequence[str] = ()) -> tuple[QueryGroups, ...]:
    """Read groups of queries, one set of groups per attribute.

    Parameters
    ----------
    given : path, binary file, mapping, frame, QueryGroups, or a sequence of paths or QueryGroups
        A file has lines of ``qid<TAB>label`` with one or more labels. A first line that begins with ``qid`` (or
        ``query_id``, ``query``, ``id``, ``topic``) names the attributes. Without it, a single attribute is called
        ``group``; several are ``group1``, ``group2`` and so on. The file can also be a queries file with more columns,
        or BEIR's ``queries.jsonl``, whose attributes are the keys of ``metadata``. ``FILE:COLUMN`` selects one column,
        ``FILE:ONE,TWO`` selects two. A mapping is ``{qid: label}`` or ``{qid: {attribute: label}}``.
    columns : sequence of str
        The attributes to read. Default: all.

    Returns
    -------
    tuple of QueryGroups
        The groups of each attribute. A query with a missing or empty label belongs to no group.

    Raises
    ------
    InputError
        A file cannot be read, a line is malformed, or a query has two labels.
    DataError
        An object has an unsupported form, an attribute is missing or named twice, or there are no groups because each
        query has a label of its own.

    Examples
    --------
    >>> read_query_groups({"1": "short", "2": "long", "3": "long"})
    (<QueryGroups 'group' of 3 queries: short, long>,)
    """
    if isinstance(given, QueryGroups):
        return (given,)
    if isinstance(given, (list, tuple)) and given and all(map(_is_part, given)):
        groups = tuple(group for part in given for group in read_query_groups(part, columns))
    elif isinstance(given, (str, bytes, os.PathLike)) or hasattr(given, "read"):
        groups = _of_file(given, columns)
    else:
        labels = _of_object(given)
        groups = tuple(QueryGroups.from_labels(name, labels[name]) for name in _wanted(columns, list(labels)))
    check_attributes(groups)
    return groups


def _is_part(given: object) -> bool:
    return isinstance(given, (str, os.PathLike, QueryGroups)) or hasattr(given, "read")


def _of_object(given: Any) -> dict[str, dict[str, str]]:
    """Return the labels of each query by attribute."""
    if isinstance(given, Mapping):
        qids = ids_of(list(given), "query", lambda _: "")
        rows = [label if isinstance(label, Mapping) else {ATTRIBUTE: label} for label in given.values()]
        if len({isinstance(label, Mapping) for label in given.values()}) > 1:
            raise DataError("some queries have a label, and others a dictionary of labels", FORMS["groups"])
        attributes = list(dict.fromkeys(name for row in rows for name in row))
        wrong = next((name for name in attributes if not isinstance(name, str)), None)
        if wrong is not None:
            raise DataError(f"the name of an attribute is {shown(wrong)}, not text", FORMS["groups"])
        table = {name: [row.get(name) for row in rows] for name in attributes}
    else:
        qids, table = columns_by_query(given)
    if not qids or not table:
        raise DataError("there are no groups of queries", FORMS["groups"])
    labels: dict[str, dict[str, str]] = {}
    for name, cells in table.items():
        of = labels.setdefault(name, {})
        for qid, cell in zip(qids, cells, strict=True):
            label = _label(cell)
            if label is None:
                raise DataError(f"the {name} of query {shown(qid)} is {shown(cell)}, not a label", FORMS["groups"])
            if of.setdefault(qid, label) != label:
                both = f"{shown(of[qid])} and {shown(label)}"
                raise DataError(f"query {shown(qid)} has two labels of {shown(name)}: {both}", "Keep one of the two.")
    return labels


def _label(cell: Any) -> str | None:
    """Return a value as a label, empty if it is missing; None if it cannot be a label."""
    if isinstance(cell, str):
        return cell.strip()
    if is_missing(cell):
        return ""
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell)).lower()
    if isinstance(cell, (float, np.floating)):
        # pandas turns a column of whole numbers with gaps into floats.
        return str(int(cell)) if cell.is_integer() else str(float(cell))
    if isinstance(cell, (int, np.integer)) and abs(int(cell)) < 10**18:
        return str(int(cell))
    return None


def _of_file(given: Any, columns: Sequence[str]) -> tuple[QueryGroups, ...]:
    if isinstance(given, (str, bytes, os.PathLike)):
        given = os.fsdecode(given)
        file, _, names = given.rpartition(":")
        if not os.path.lexists(given) and os.path.lexists(file):  # FILE:COLUMN
            given, columns = file, [*columns, *map(str.strip, names.split(","))]
    digest = digest_of(given)
    name, text = name_of(given), decode(whole(given))
    attributes: list[str] = []
    rows: list[Labels] = []
    labels_of = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        labels_of = labels_of or (_json_labels if line.lstrip().startswith("{") else _tabbed_labels)
        try:
            qid, labels = labels_of(line.rstrip("\r"), attributes)
        except DataError as error:
            raise InputError(error.what, error.todo, file=name, line=number) from None
        if qid:
            rows.append((number, qid, labels))
    if labels_of is _json_labels and not attributes:
        problem, todo = "its queries have no metadata to group them by", 'Add "metadata": {"KEY": "LABEL"}.'
        raise InputError(problem, todo, file=name)
    wanted = _wanted(columns, attributes, name)
    if not rows:
        raise InputError("it has no queries", "Is it the right file?", file=name)
    return tuple(_grouped(name, attribute, rows)._replace(digest=digest) for attribute in wanted)


def _wanted(columns: Sequence[str], there: Sequence[str], name: str = "") -> list[str]:
    lacking = next((column for column in columns if column not in there), None)
    if lacking is not None:
        has = ", ".join(map(shown, there[:8])) or "none"
        problem = f"no attribute {shown(lacking)} of queries; there are: {has}"
        raise DataError(problem, "Choose one of these.", file=name or None)
    return list(columns or there)


Labels: TypeAlias = "tuple[int, str, Mapping[str, str]]"
"""The line of a query, its id, and its labels by attribute."""


def _grouped(name: str, attribute: str, rows: Sequence[Labels]) -> QueryGroups:
    of: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, qid, labels in rows:
        label = labels.get(attribute, "")
        if of.setdefault(qid, label) != label:
            first = f"{shown(of[qid])} on line {lines[qid]}"
            problem = f"the {attribute} of query {shown(qid)} is {shown(label)} here, but {first}"
            raise InputError(problem, "Keep one of the two lines.", file=name, line=line)
        lines.setdefault(qid, line)
    return QueryGroups.from_labels(attribute, of, name=name, lines=lines)


def _tabbed_labels(line: str, attributes: list[str]) -> tuple[str, dict[str, str]]:
    """Return a line's query and its labels, "" for a header; the first line adds the attributes."""
    qid, *labels = map(str.strip, line.split("\t"))
    if not labels:
        problem = f"expected a query id, a tab and a label, but found no tab in {quoted(encode(line))}"
        raise DataError(problem, "Put a tab between the id and its label.")
    if not attributes:
        is_header = qid.lstrip("#").lower() in HEADS
        names = [f"{ATTRIBUTE}{number}" for number in range(1, len(labels) + 1)] if labels[1:] else [ATTRIBUTE]
        attributes += labels if is_header else names
        if len(set(attributes)) < len(attributes) or not all(attributes):
            problem = "two columns have the same name in the header, or one has none"
            raise DataError(problem, "Give every column its own name.")
        if is_header:
            return "", {}
    if len(labels) != len(attributes):
        problem = f"{len(labels) + 1} fields, but the first line has {len(attributes) + 1}"
        raise DataError(problem, "Separate fields with one tab each.")
    if not qid:
        raise DataError("the query id is empty", "Give every line a query id.")
    return qid, dict(zip(attributes, labels, strict=True))


def _json_labels(line: str, attributes: list[str]) -> tuple[str, dict[str, str]]:
    """Return a query and its labels from the ``metadata`` of a line in BEIR's form; new attributes are added."""
    try:
        query = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("not JSON", "Write one object per line.") from None
    qid = query.get("_id", query.get("id")) if isinstance(query, dict) else None
    if not isinstance(qid, str) or not qid:
        raise DataError("expected an object with the text '_id'", "Name the fields as BEIR does.")
    metadata = query.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise DataError("'metadata' is not an object", "Name the fields as BEIR does.")
    labels: dict[str, str] = {}
    for key, value in metadata.items():
        label = _label(value)
        if label is None:
            problem = f"{shown(key)} of query {shown(qid)} is {shown(value)}, not a label"
            raise DataError(problem, "Labels are texts, numbers, true or false.")
        labels[key] = label
    attributes += [key for key in labels if key not in attributes]
    return qid, labels
