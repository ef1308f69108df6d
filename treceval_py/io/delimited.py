"""CSV and TSV with a header: one row for each document, in columns with the names in `data.columns`.

Quotes are read as the module ``csv`` does.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from treceval_py._types import Source
from treceval_py.data.columns import DOCUMENT, QUERY, RANK, SCORE, Field, column_of, needed
from treceval_py.data.ids import Ids, decode
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import DataError, InputError
from treceval_py.io.dictionaries import Dictionary, Infinite, Rank
from treceval_py.io.records import Records, encoded
from treceval_py.io.source import name_of, whole
from treceval_py.io.writing import Lines, any_id, by_row, checked, joined


def read(source: Source, value: Field) -> Dictionary:
    """Read columns separated by tabs if the header has one, else by commas; of a run without scores, the ranks.

    Raises
    ------
    InputError
        The source cannot be read, a column is missing, or a row has another number of fields than the header.
    """
    name = name_of(source)
    text = decode(whole(source))
    skipped = re.match(r"(?:[ \t\v\f\r]*(?:#[^\n]*)?\n)*", text)[0]  # type: ignore[index]
    before = skipped.count("\n")
    separator = "\t" if "\t" in text[len(skipped) :].partition("\n")[0] else ","
    rows = csv.reader(io.StringIO(text[len(skipped) :], newline=""), delimiter=separator)
    try:
        header = [cell.strip() for cell in next(rows, [])]
        value = RANK if value is SCORE and not column_of(header, SCORE) and column_of(header, RANK) else value
        wanted = [needed(header, field) for field in (QUERY, DOCUMENT, value)]
        places = [header.index(column) for column in wanted]
        lines, cells = list[int](), list[list[str]]()
        for row in rows:
            if len(row) != len(header) and row:
                problem = f"{len(row)} fields, but the header has {len(header)}"
                raise InputError(problem, "Correct the line.", file=name, line=before + rows.line_num)
            if row:
                lines.append(before + rows.line_num)
                cells.append([row[place] for place in places])
    except (DataError, csv.Error) as error:
        what, todo = (error.what, error.todo) if isinstance(error, DataError) else (str(error), "Correct the line.")
        raise InputError(what, todo, file=name, line=before + max(rows.line_num, 1)) from None
    if not cells:
        raise InputError("no data lines, only a header", "Is it the right file?", file=name)
    qids, docids, values = zip(*cells, strict=True)
    records = Records.of_rows(qids, encoded(docids, name, lines), name, lines)
    parsed = [_number(text) for text in values]
    if value is RANK and set(map(type, parsed)) <= {int}:
        parsed = list(map(Rank, parsed))
    return Dictionary(records, parsed, (wanted[2],))


def _number(text: str) -> Any:
    """Return a cell as a number, or as text if it is none."""
    text = text.strip()
    if re.fullmatch(r"[+-]?[0-9]{1,4000}", text):
        return int(text)
    try:
        number = text if "_" in text else float(text)
    except ValueError:
        return text
    return Infinite(number) if number in (math.inf, -math.inf) and "i" in text.lower() else number


def _written(separator: bytes, where: str, table: Run | Qrels, _: str) -> Iterator[Lines]:
    """Return columns separated by commas or tabs."""
    yield separator.join((b"qid", b"docid", b"score\n" if isinstance(table, Run) else b"rel\n"))
    special = re.compile(b'[\r\n"%s]' % separator)
    for part in checked(table, any_id(where)):
        qids = by_row(part, _quoted(Ids.from_text(part.qids), special))
        values = part.scores if isinstance(part, Run) else part.rels
        yield joined(qids, separator, _quoted(part.docids, special), separator, values, b"\n")


def _quoted(ids: Ids, special: re.Pattern[bytes]) -> Ids:
    """Return ids in quotes where they have special characters."""
    if not special.search(ids.buffer):
        return ids
    return Ids.from_bytes([b'"%s"' % raw.replace(b'"', b'""') if special.search(raw) else raw for raw in ids.raw()])


written_csv, written_tsv = partial(_written, b",", "a CSV file"), partial(_written, b"\t", "a TSV file")
