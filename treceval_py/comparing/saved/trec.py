"""Lines of ``measure qid value``, as trec_eval prints them, and of ``qid measure value``, as ir_measures does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from treceval_py.comparing.saved.block import AVERAGE, OF_GROUP, Block, Names, finished, shown
from treceval_py.comparing.saved.naming import stem
from treceval_py.comparing.scores import Scored, known_measure
from treceval_py.errors import InputError
from treceval_py.io.lines import no_data

_SIGNATURE = re.compile(r"#\s*(\S+): (\S[^|]*\|.*)")

TAG = "runid"
"""The measure whose value is the run's tag."""

WHITE = " \t\v\f\r"
"""The separators of fields; ids may contain other Unicode white space."""

_FIELD = re.compile(f"[^{WHITE}]+")

MOST_NAMES = 200
"""Most names looked up to distinguish measures from queries; trec_eval has about a hundred measures."""


class _Line(NamedTuple):
    """A line with data: a measure, a query and a value; or a comment that may be a signature."""

    number: int
    measure: str
    qid: str
    value: str
    signature: str = ""


def read_trec_results(file: str, text: str) -> list[Scored]:
    """Return the values of the runs in a file, one block of lines after the other.

    A block ends where a query follows the averages or signatures; its run is named by its tag (``runid``), or else by
    the file.

    Raises
    ------
    InputError
        A line is malformed, no measure is known, or a run has no values by query.
    """
    lines = _lines(file, text)
    names = Names(file)
    blocks: list[Block] = []
    signatures: list[list[_Line]] = []
    ended = True
    for line in lines:
        values_by_query = not line.signature and line.qid != AVERAGE
        if not blocks or (ended and values_by_query):
            # Signatures and averages before all values belong to these values.
            if not blocks or blocks[-1].values:
                blocks.append(Block(file, names))
                signatures.append([])
            ended = False
        if line.signature:
            signatures[-1].append(line)
        elif values_by_query:
            blocks[-1].add(line.measure, line.qid, line.value, line.number)
        else:
            blocks[-1].add_average(line.measure, line.value, line.number)
            if line.measure == TAG:
                blocks[-1].name = blocks[-1].tag = line.value
        ended = ended or not values_by_query
    for block, made in zip(blocks, signatures, strict=True):
        for line in made:
            block.sign(line.measure, line.signature, line.number)
    return finished(blocks, stem(file))


def _lines(file: str, text: str) -> list[_Line]:
    parsed: list[_Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        if "\0" in line:
            binary = "a NUL byte, so this is a binary file, not text"
            raise InputError(binary, "Give a text file of saved results.", file=file, line=number)
        stripped = line.strip(WHITE)
        if stripped.startswith("#"):
            said = _SIGNATURE.fullmatch(stripped)
            if said is not None:
                parsed.append(_Line(number, said[1], "", "", said[2]))
        elif stripped:
            parsed.append(_Line(number, *_fields(stripped, file, number)))
    if all(line.signature for line in parsed):
        raise no_data(file)
    parsed = [_turned(line) for line in parsed] if _has_queries_first(parsed, file) else parsed
    return [line for line in parsed if not OF_GROUP.fullmatch(line.qid)]


def _fields(line: str, file: str, number: int) -> tuple[str, str, str]:
    # Ids from formats other than TREC's may contain spaces.
    fields = [field.strip(WHITE) for field in line.split("\t")]
    if len(fields) != 3 or not all(fields):
        fields = _FIELD.findall(line)
    if len(fields) != 3:
        count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        mismatch = f"{count}, but a line of saved results has 3 (measure qid value)"
        raise InputError(mismatch, _about_fields(fields), file=file, line=number)
    return fields[0], fields[1], fields[2]


def _about_fields(fields: list[str]) -> str:
    if len(fields) == 2 and known_measure(fields[0]) is not None:
        return "Save it with -q, which prints values per query."
    if len(fields) == 6:
        return "This looks like a run; score it."
    if len(fields) == 4:
        return "This looks like judgments."
    return "Is the line cut off, or from another file?"


def _turned(line: _Line) -> _Line:
    return line if line.signature else line._replace(measure=line.qid, qid=line.measure)


def _has_queries_first(lines: list[_Line], file: str) -> bool:
    """Tell whether the first column has the queries and the second the measures.

    Raises
    ------
    InputError
        Neither has a known measure.
    """
    data = [line for line in lines if not line.signature]
    first, second = (_known_of(column) for column in ((line.measure for line in data), (line.qid for line in data)))
    if not first and not second:
        unknown = f"neither {shown(data[0].measure)} nor any other name in it is a known measure"
        raise InputError(unknown, "Is it the right file?", file=file)
    return second > first


def _known_of(names: Iterable[str]) -> int:
    """Return how many of the first names are measures."""
    return sum(known_measure(name) is not None for name in islice(dict.fromkeys(names), MOST_NAMES))
