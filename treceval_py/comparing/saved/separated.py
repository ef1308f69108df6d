"""CSV and TSV of results: query, measure, a column of values for each run, and optional signatures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from treceval_py.comparing.saved.block import AVERAGE, OF_GROUP, Block, Names, finished, shown
from treceval_py.comparing.saved.naming import stem
from treceval_py.comparing.saved.others import refusal
from treceval_py.comparing.scores import Scored
from treceval_py.errors import InputError
from treceval_py.rendering.escaping import active

RANGES = {"lowest", "highest"}
"""Columns of ranges over ties and unjudged documents, whose header begins the same way."""


class _Header(NamedTuple):
    """The runs, and whether columns with their signatures follow."""

    runs: tuple[str, ...]
    signed: bool

    @property
    def width(self) -> int:
        return 2 + len(self.runs) * (2 if self.signed else 1)


def read_separated(file: str, text: str) -> list[Scored]:
    """Return the values of the runs in a file with commas or tabs between the cells.

    Raises
    ------
    InputError
        A row is malformed, or a run has no values by query.
    """
    rows = _rows(file, text)
    _, cells = next(rows)
    header = _header(file, cells)
    names = Names(file)
    blocks = [Block(file, names) for _ in header.runs]
    for block, name in zip(blocks, header.runs, strict=True):
        block.name = name
    made: list[dict[str, tuple[str, int]]] = [{} for _ in blocks]
    for line, row in rows:
        if len(row) != header.width:
            count = "1 cell" if len(row) == 1 else f"{len(row)} cells"
            problem = f"{count}, but the header has {header.width}"
            raise InputError(problem, "Is the line cut off?", file=file, line=line)
        qid, measure, *values = row
        if OF_GROUP.fullmatch(qid):
            continue
        for block, value in zip(blocks, values, strict=False):
            _add(block, measure, qid, value.strip(), line)
        for block, signatures, signature in zip(blocks, made, values[len(blocks) :], strict=False):
            if signature and signatures.setdefault(measure, (signature, line))[0] != signature:
                problem = f"measure {shown(measure)} of {shown(block.name)} has two signatures"
                raise InputError(problem, "Keep the right one.", file=file, line=line)
    for block, signatures in zip(blocks, made, strict=True):
        for measure, (signature, line) in signatures.items():
            block.sign(measure, signature, line)
    return finished(blocks, stem(file))


def _add(block: Block, measure: str, qid: str, value: str, line: int) -> None:
    """Add a cell; an empty cell means that the query does not count for the measure or the run lacks it."""
    if value and qid == AVERAGE:
        block.add_average(measure, value, line)
    elif value:
        block.add(measure, qid, value, line)


def _rows(file: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with their first line numbers."""
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="," if "," in first else "\t", strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, [active(cell) for cell in row]
            line = reader.line_num + 1
    except csv.Error as error:
        problem = f"the row cannot be read: {str(error).rstrip('.')}"
        raise InputError(problem, "Fix the syntax.", file=file, line=line) from None


def _header(file: str, cells: list[str]) -> _Header:
    titles = cells[2:]
    half = len(titles) // 2
    runs, rest = titles[:half], titles[half:]
    signed = len(titles) % 2 == 0 and (
        rest == [f"signature {name}" for name in runs] or (half == 1 and rest == ["signature"])
    )
    runs = runs if signed else titles
    if set(runs) >= RANGES:
        raise refusal("ranges", file, line=1)
    if "" in runs:
        unnamed = f"column {runs.index('') + 3} has no name"
        raise InputError(unnamed, "Give every run a name.", file=file, line=1)
    for at, name in enumerate(runs):
        if name in runs[:at]:
            raise InputError(f"two columns are named {shown(name)}", "Rename one.", file=file, line=1)
    return _Header(tuple(runs), signed)
