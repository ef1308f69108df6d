"""Read groups of queries from a file of ``qid<TAB>label`` lines, a column of a queries file, or an object."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import islice
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
        found = tuple(group for each in given for group in read_query_groups(each, columns))
    elif isinstance(given, (str, bytes, os.PathLike)) or hasattr(given, "read"):
        found = _of_file(given, columns)
    else:
        labels, attributes = _of_object(given)
        found = tuple(QueryGroups.from_labels(name, labels[name]) for name in _wanted(columns, attributes))
    check_attributes(found)
    return found


def _is_part(given: object) -> bool:
    return isinstance(given, (str, os.PathLike, QueryGroups)) or hasattr(given, "read")


def _of_object(given: Any) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the labels of each query by attribute, and the attributes."""
    if isinstance(given, Mapping):
        qids = ids_of(list(given), "query", lambda _: "")
        rows = [each if isinstance(each, Mapping) else {ATTRIBUTE: each} for each in given.values()]
        if len({isinstance(each, Mapping) for each in given.values()}) > 1:
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
    found: dict[str, dict[str, str]] = {}
    for name, cells in table.items():
        of = found.setdefault(name, {})
        for qid, cell in zip(qids, cells, strict=True):
            label = _label(cell)
            if label is None:
                raise DataError(f"the {name} of query {shown(qid)} is {shown(cell)}, not a label", FORMS["groups"])
            if of.setdefault(qid, label) != label:
                both = f"{shown(of[qid])} and {shown(label)}"
                raise DataError(f"query {shown(qid)} has two labels of {shown(name)}: {both}", "Keep one of the two.")
    return found, list(table)


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
        given, named = _split(os.fsdecode(given))
        columns = [*columns, *named]
    digest = digest_of(given)
    name, text = name_of(given), decode(whole(given))
    lines = [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    is_json = any(line.lstrip().startswith("{") for _, line in lines[:1])
    attributes, rows = (_json_rows if is_json else _tabbed_rows)(name, lines)
    wanted = _wanted(columns, attributes, name)
    if not rows:
        raise InputError("it has no queries", "Is it the right file?", file=name)
    return tuple(_grouped(name, attribute, rows)._replace(digest=digest) for attribute in wanted)


def _split(path: str) -> tuple[str, list[str]]:
    """Split ``FILE:COLUMN`` into FILE and COLUMN, unless a file has the whole name."""
    file, colon, names = path.rpartition(":")
    if not colon or os.path.lexists(path) or not os.path.lexists(file):
        return path, []
    return file, [name.strip() for name in names.split(",")]


def _wanted(columns: Sequence[str], there: Sequence[str], name: str = "") -> list[str]:
    lacking = next((column for column in columns if column not in there), None)
    if lacking is not None:
        has = ", ".join(shown(each) for each in islice(there, 8)) or "none"
        raise DataError(
            f"no attribute {shown(lacking)} of queries; there are: {has}", "Choose one of these.", file=name or None
        )
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
            what = f"the {attribute} of query {shown(qid)} is {shown(label)} here, but {first}"
            raise InputError(what, "Keep one of the two lines.", file=name, line=line)
        lines.setdefault(qid, line)
    return QueryGroups.from_labels(attribute, of, name=name, lines=lines)


def _tabbed_rows(name: str, lines: Sequence[tuple[int, str]]) -> tuple[list[str], list[Labels]]:
    """Return the attributes, and each query's labels, from tab-separated lines."""
    attributes: list[str] = []
    rows: list[Labels] = []
    for number, line in lines:
        fields = [field.strip() for field in line.split("\t")]
        first = not attributes
        if len(fields) < 2:
            what = f"expected a query id, a tab and a label, but found no tab in {quoted(encode(line))}"
            raise InputError(what, "Put a tab between the id and its label.", file=name, line=number)
        if first:
            is_header = fields[0].lstrip("#").lower() in HEADS
            attributes = fields[1:] if is_header else _numbered(len(fields) - 1)
            if len(set(attributes)) < len(attributes) or not all(attributes):
                what = "two columns have the same name in the header, or one has none"
                raise InputError(what, "Give every column its own name.", file=name, line=number)
            if is_header:
                continue
        if len(fields) != len(attributes) + 1:
            what = f"{len(fields)} fields, but the first line has {len(attributes) + 1}"
            raise InputError(what, "Separate fields with one tab each.", file=name, line=number)
        if not fields[0]:
            raise InputError("the query id is empty", "Give every line a query id.", file=name, line=number)
        rows.append((number, fields[0], dict(zip(attributes, fields[1:], strict=True))))
    return attributes, rows


def _numbered(count: int) -> list[str]:
    return [ATTRIBUTE] if count == 1 else [f"{ATTRIBUTE}{number}" for number in range(1, count + 1)]


def _json_rows(name: str, lines: Sequence[tuple[int, str]]) -> tuple[list[str], list[Labels]]:
    """Return the attributes, and each query's labels, from the ``metadata`` of BEIR's lines."""
    attributes: dict[str, None] = {}
    rows: list[Labels] = []
    for number, line in lines:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError("not JSON", "Write one object per line.", file=name, line=number) from None
        qid = found.get("_id", found.get("id")) if isinstance(found, dict) else None
        if not isinstance(qid, str) or not qid:
            raise InputError(
                "expected an object with the text '_id'", "Name the fields as BEIR does.", file=name, line=number
            )
        metadata = found.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise InputError("'metadata' is not an object", "Name the fields as BEIR does.", file=name, line=number)
        labels: dict[str, str] = {}
        for key, value in metadata.items():
            label = _label(value)
            if label is None:
                what = f"{shown(key)} of query {shown(qid)} is {shown(value)}, not a label"
                raise InputError(what, "Labels are texts, numbers, true or false.", file=name, line=number)
            labels[key] = label
        attributes |= dict.fromkeys(labels)
        rows.append((number, qid, labels))
    if not attributes:
        raise InputError(
            "its queries have no metadata to group them by", 'Add "metadata": {"KEY": "LABEL"}.', file=name
        )
    return list(attributes), rows
