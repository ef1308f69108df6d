"""JSON of results, as ``treceval --format json -q`` prints it."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from treceval_py.comparing.saved.block import Block, Names, averages_only, shown
from treceval_py.comparing.saved.naming import stem
from treceval_py.comparing.saved.others import kind_of_document, refusal
from treceval_py.comparing.scores import Scored
from treceval_py.errors import InputError
from treceval_py.io.dictionaries import SPACE, decoded, utf8_text

Fields = dict[str, Any]

SAVE_AGAIN = "Save it again with treceval -q --format json."


def read_json_results(file: str, raw: bytes) -> list[Scored]:
    """Return the values of the runs in a file; if names are equal, with the position of the run in the file.

    Raises
    ------
    InputError
        The file is not JSON of this form, a value is not a number, or a run has no values per query.
    """
    reader, document = read_document(file, raw)
    order = list(reader.fields(document.get("measures", ()), "'measures'"))
    blocks = [reader.block(run, f"run {number}", order) for number, run in enumerate(document["runs"], 1)]
    names = [block.name or stem(file) for block in blocks]
    for number, (block, name) in enumerate(zip(blocks, names, strict=True), 1):
        block.name = name if names.count(name) == 1 else f"{name} ({number})"
    return [block.scored() for block in blocks]


def read_document(file: str, raw: bytes) -> tuple[Reader, Fields]:
    """Return a reader and the parts of a file, of which ``runs`` is a list with at least one run.

    Raises
    ------
    InputError
        The file is not JSON of this form.
    """
    text = utf8_text(raw, file, 1)
    parsed, end = _decoded(text, file)
    if text[end:].strip(SPACE):
        line = text.count("\n", 0, len(text) - len(text[end:].lstrip(SPACE))) + 1
        raise InputError("text follows the end of the JSON object", "Remove it.", file=file, line=line)
    reader = Reader(file)
    document = reader.fields(parsed, "the file")
    if other := kind_of_document(document):
        raise refusal(other, file)
    runs = document.get("runs")
    if "treceval_py" not in document or not isinstance(runs, list) or not runs:
        raise InputError(
            "this JSON does not hold results of treceval_py", "Save them with treceval -q --format json.", file=file
        )
    return reader, document


def _decoded(text: str, file: str) -> tuple[Any, int]:
    """Return the first value of the file and its end."""
    try:
        return decoded(text, len(text) - len(text.lstrip(SPACE)), file, 1)
    except InputError as error:
        if isinstance(error.__context__, RecursionError):  # whose advice is how to write a run
            raise InputError(error.what, SAVE_AGAIN, file=file) from None
        raise


class Reader:
    """Reads the parts of a document and checks their types."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._names = Names(file)

    def fields(self, parsed: object, where: str) -> Fields:
        """Return an object as a dictionary; the decoder gives a tuple of pairs."""
        if not isinstance(parsed, tuple):
            self.refuse(f"{where} is not an object")
        named = dict(parsed)
        if len(named) < len(parsed):
            # Up to the first repetition, the keys are those of the dictionary in their order.
            twice = next(key for (key, _), once in zip(parsed, [*named, None], strict=False) if key != once)
            raise InputError(f"{where} has {shown(twice)} twice", "Keep one of the two.", file=self._file)
        return named

    def block(self, parsed: object, where: str, order: list[str]) -> Block:
        """Return the values of a run; ``order`` is the order of the measures."""
        run = self.fields(parsed, where)
        block = Block(self._file, self._names, shortest=True)
        block.name, block.tag = self.word(run, "name", where), self.word(run, "tag", where)
        where = f"run {shown(block.name)}" if block.name else where
        if "per_query" not in run:
            raise averages_only(self._file)
        missing = run.get("missing", [])
        if not isinstance(missing, list) or not all(isinstance(qid, str) for qid in missing):
            self.refuse(f"{where} has 'missing' that is not a list of query ids")
        block.missing = tuple(missing)
        averages = self.fields(run.get("mean", ()), f"'mean' of {where}")
        block.order = order
        for measure, value in averages.items():
            block.add_average(measure, self._value(value, where))
        for qid, values in self.fields(run["per_query"], f"'per_query' of {where}").items():
            for measure, value in self.fields(values, f"query {shown(qid)} of {where}").items():
                block.add(measure, qid, self._value(value, f"query {shown(qid)} of {where}"))
        for measure, forms in self.fields(run.get("signatures", ()), f"'signatures' of {where}").items():
            written = self.fields(forms, f"the signature of {shown(measure)} of {where}")
            block.sign(measure, self.word(written, "long" if "long" in written else "short", where))
        return block

    def word(self, fields: Fields, key: str, where: str) -> str:
        """Return a text; empty if absent."""
        text = fields.get(key, "")
        if not isinstance(text, str):
            self.refuse(f"{where} has '{key}' that is not text")
        return text

    def _value(self, parsed: object, where: str) -> str:
        """Return a value as written, with numbers in their shortest form."""
        if isinstance(parsed, str):
            return parsed
        if isinstance(parsed, float) and not math.isfinite(parsed):
            return "nan" if math.isnan(parsed) else "inf"
        if type(parsed) not in (int, float):
            self.refuse(f"{where} has a value that is not a number")
        try:
            return repr(parsed)
        except ValueError:  # Python refuses to print integers of more than some thousands of digits
            self.refuse(f"{where} has a number with thousands of digits")

    def refuse(self, problem: str) -> NoReturn:
        """Raise the error about the file."""
        raise InputError(problem, SAVE_AGAIN, file=self._file)
