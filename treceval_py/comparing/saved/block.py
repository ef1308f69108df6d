"""The values of one run, gathered while a file of saved results is read."""

from __future__ import annotations

import math
import re
from typing import NoReturn

import numpy as np

from treceval_py.comparing.saved.measures import NUMBER, compares, is_standardised
from treceval_py.comparing.scores import Scored, known_measure
from treceval_py.data.ids import quoted
from treceval_py.errors import InputError, TrecevalError
from treceval_py.io.records import encoded
from treceval_py.measuring import Measure
from treceval_py.measuring.registry import REAL, TEXT
from treceval_py.scoring.signatures import Signature

AVERAGE = "all"
"""The text in place of the query id of an average."""

OF_GROUP = re.compile("all:[^=]+=.+")
"""The same for the average of a group of queries, which ``--groups`` adds."""

FULL = 12
"""With more decimals than this, values were not rounded."""

LONGEST_REASON = 500
"""Most characters of an error about a signature, which repeats the whole signature."""


def averages_only(file: str) -> InputError:
    """Return the error for a file, or a run in it, without values per query."""
    return InputError("it has only averages, but comparing needs values per query", "Save it with -q.", file=file)


def shown(text: str) -> str:
    """Return a name or a value in quotes for a message."""
    half = re.search("[\ud800-\udc7f\udd00-\udfff]", text)
    return quoted(text.encode("utf-8", "backslashreplace" if half else "surrogateescape"))


class Names:
    """The measures of the names in a file, each looked up once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._measures: dict[str, Measure | None] = {}

    def measure(self, name: str, line: int | None = None) -> Measure | None:
        """Return the measure of a name; None if unknown.

        Raises
        ------
        InputError
            Values of this name are z-scores, or it is empty.
        """
        if name not in self._measures:
            if not name:
                raise InputError(
                    "the name of a measure is empty", "Give every measure a name.", file=self._file, line=line
                )
            if is_standardised(name):
                problem = f"these are z-scores ({shown(name)}), which cannot be compared"
                raise InputError(problem, "Save the original values, without -Z.", file=self._file, line=line)
            self._measures[name] = known_measure(name)
        return self._measures[name]


class Block:
    """The values of one run.

    Parameters
    ----------
    file : str
        The file's name in messages.
    names : Names
        The measures of the file.
    shortest : bool
        Whether the format always writes numbers in their shortest form, without trailing zeros.

    Attributes
    ----------
    name, tag : str
        The run's name in the file, and its tag.
    values : dict of str to dict of str to float
        The values by query of each measure.
    averages : dict of str to None
        The measures that have an average, in their order.
    order : list of str
        The order of all measures, if the file has it.
    signatures : dict of str to Signature
        The signature of each measure's values.
    missing : tuple of str
        The queries that the run lacks, as far as the file lists them.
    """

    def __init__(self, file: str, names: Names, *, shortest: bool = False) -> None:
        self.file = file
        self.name = ""
        self.tag = ""
        self.values: dict[str, dict[str, float]] = {}
        self.averages: dict[str, None] = {}
        self.order: list[str] = []
        self.signatures: dict[str, Signature] = {}
        self.missing: tuple[str, ...] = ()
        self._names = names
        self._shortest = shortest
        self._decimals: set[int] = set()
        self._short = True
        self._texts = False

    def add(self, name: str, qid: str, text: str, line: int | None = None) -> None:
        """Add the value of a query, as written.

        Raises
        ------
        InputError
            It is not a finite number, the query already has a value, or a name is empty.
        """
        measure = self._names.measure(name, line)
        if not qid:
            self._refuse("a query id is empty", "Give every query an id.", line)
        if measure is not None and not compares(measure):
            self._texts = True
            return
        value = self._number(name, qid, text, measure, line)
        by_query = self.values.setdefault(name, {})
        if qid in by_query:
            repetition = f"measure {shown(name)} occurs twice for query {shown(qid)}"
            self._refuse(repetition, "Keep one of the two, or save each run in its own file.", line)
        by_query[qid] = value

    def add_average(self, name: str, text: str, line: int | None = None) -> None:
        """Add an average, of which only the number of decimals matters.

        Raises
        ------
        InputError
            It is not a finite number, or occurs twice in a file with values per query.
        """
        measure = self._names.measure(name, line)
        if name in self.averages and self.values:
            self._refuse(f"measure {shown(name)} occurs twice for query '{AVERAGE}'", "Keep one of the two.", line)
        self.averages[name] = None
        if measure is not None and measure.family.kind != TEXT:
            self._number(name, AVERAGE, text, measure, line)

    def sign(self, name: str, text: str, line: int | None = None) -> None:
        """Add the signature of a measure; ignored if the measure has no values per query.

        For an unknown measure, such as a user's own, the signature is unknown too.

        Raises
        ------
        InputError
            It is not a signature, or differs from the earlier one.
        """
        if name not in self.values:
            return
        try:
            signature = Signature.parse(text)
        except TrecevalError as error:
            if self._names.measure(name, line) is None:
                return
            reason = error.what if len(error.what) <= LONGEST_REASON else error.what[:LONGEST_REASON] + "…"
            problem = f"the signature of {shown(name)} cannot be read: {reason}"
            raise InputError(problem, error.todo, file=self.file, line=line) from None
        if self.signatures.setdefault(name, signature) != signature:
            self._refuse(f"measure {shown(name)} has two signatures", "Keep the right one.", line)

    def scored(self) -> Scored:
        """Return the values as a table.

        Raises
        ------
        InputError
            There are no values per query, or a name is not valid Unicode text.
        """
        if not self.values:
            if self.averages and not self._texts:
                raise averages_only(self.file)
            problem = f"no measure of {shown(self.name)} has a value per query"
            self._refuse(problem, "Save measures that have one, such as map, with -q.", None)
        order = dict.fromkeys([*self.order, *self.averages, *self.values])
        measures = [name for name in order if name in self.values]
        self._put_in_zeros()
        qids = sorted(set().union(*self.values.values()), key=lambda qid: encoded([qid], self.file)[0])
        encoded([*measures, self.name, self.tag, *self.missing], self.file)  # only to refuse invalid text
        values = np.array([[self.values[name].get(qid, np.nan) for name in measures] for qid in qids], dtype=np.float64)
        return Scored(
            self.name,
            self.file,
            self.tag,
            tuple(measures),
            tuple(qids),
            values,
            tuple(self.signatures.get(name) for name in measures),
            self.missing,
            self._digits(),
        )

    def _number(self, name: str, qid: str, text: str, measure: Measure | None, line: int | None) -> float:
        value = float(text) if NUMBER.fullmatch(text) else math.nan
        if not math.isfinite(value):
            where = f"the value of measure {shown(name)} for query {shown(qid)} is {shown(text)}"
            self._refuse(*_about_number(where, text, value), line)
        if not text.lstrip("+-").isdigit() or (measure is not None and measure.family.kind == REAL):
            self._decimals.add(_decimals(text))
            self._short = self._short and text == repr(value)
        return value

    def _digits(self) -> int | None:
        """Return the decimals to which values were rounded; None if they seem unrounded."""
        most = max(self._decimals, default=FULL + 1)
        # Among unrounded numbers some are short, such as 0.5, and others long.
        mixed = len(self._decimals) > 1 and not self._shortest
        return None if most > FULL or mixed or (most <= 1 and self._short) else most

    def _put_in_zeros(self) -> None:
        """Add the value 0 of missing queries that count as 0 and have no line."""
        for name, signature in self.signatures.items():
            values = self.values[name]
            lacking = [qid for qid in self.missing if qid not in values]
            # Values that depend only on the judgments are not 0 for such a query.
            zero = signature.conventions.missing == "zero" and not signature.measure.family.of_judgments
            if zero and signature.queries == len(values) + len(lacking):
                values.update(dict.fromkeys(lacking, 0.0))

    def _refuse(self, problem: str, todo: str, line: int | None) -> NoReturn:
        raise InputError(problem, todo, file=self.file, line=line)


def _about_number(where: str, text: str, value: float) -> tuple[str, str]:
    if math.isinf(value):
        return f"{where}, which is too large for a 64-bit float", "Is it the right number?"
    if re.fullmatch(r"[+-]?(nan|inf|infinity)", text, re.IGNORECASE):
        return f"{where}, which is not finite", "Leave out queries without a value."
    return f"{where}, which is not a number", "Write it as 0.25 or 2.5e-1."


def _decimals(text: str) -> int:
    digits, _, exponent = text.lower().partition("e")
    # An exponent in a damaged file may be longer than int accepts.
    return max(0, len(digits.partition(".")[2]) - int(exponent[:6] or 0))
