"""Lines of ``measure qid value``, as ``trec_eval -q`` prints them."""

from __future__ import annotations

import re

from treceval_py.comparing.saved.block import AVERAGE, OF_GROUP, Block, Names, shown
from treceval_py.comparing.saved.naming import stem
from treceval_py.comparing.scores import Scored, known_measure
from treceval_py.errors import InputError
from treceval_py.io.lines import no_data

TAG = "runid"
"""The measure whose value is the run's tag."""

WHITE = " \t\v\f\r"
"""The separators of fields; ids may contain other Unicode white space."""

_FIELD = re.compile(f"[^{WHITE}]+")


def read_trec_results(file: str, text: str) -> Scored:
    """Return the values of the run in a file; it is named by its tag (``runid``), or else by the file.

    Raises
    ------
    InputError
        A line is malformed, no measure is known, or the run has no values by query.
    """
    block = Block(file, Names(file))
    names: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if "\0" in line:
            binary = "a NUL byte, so this is a binary file, not text"
            raise InputError(binary, "Give a text file of saved results.", file=file, line=number)
        stripped = line.strip(WHITE)
        if not stripped or stripped.startswith("#"):
            continue
        measure, qid, value = _fields(stripped, file, number)
        names[measure] = None
        if OF_GROUP.fullmatch(qid):
            continue
        if qid != AVERAGE:
            block.add(measure, qid, value, number)
            continue
        block.add_average(measure, value, number)
        if measure == TAG:
            block.name = block.tag = value
    if not names:
        raise no_data(file)
    if not any(known_measure(name) is not None for name in names):
        unknown = f"neither {shown(next(iter(names)))} nor any other name in it is a known measure"
        raise InputError(unknown, "Is it the right file?", file=file)
    block.name = block.name or stem(file)
    return block.scored()


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
    guess = {4: "This looks like judgments.", 6: "This looks like a run; score it."}
    return guess.get(len(fields), "Is the line cut off, or from another file?")
