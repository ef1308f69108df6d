"""Check a file: read it in chunks, and check its lines, its queries, and its fit with judgments."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple, cast

from treceval_py._types import Data, Source
from treceval_py.checking.catalogue import CODES, codes_named
from treceval_py.checking.findings import ENDING, ERROR, WARNING, Collector, Finding
from treceval_py.checking.judgments import JudgmentChecks, tell_labels
from treceval_py.checking.lines import TagWatch, first_with_data, rows_of
from treceval_py.checking.queries import QueryChecks, Shape
from treceval_py.checking.reading import chunks
from treceval_py.checking.repetitions import Repetitions
from treceval_py.checking.rows import QueryLines
from treceval_py.checking.scattered import grouped
from treceval_py.checking.together import Together
from treceval_py.data.ids import shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.diagnosis.columns import KINDS, Kind, recognised, swapped_columns
from treceval_py.diagnosis.noting import ap_both_ways, undrawn
from treceval_py.errors import EvaluationError, InputError, TrecevalError, brief
from treceval_py.io.conversion import table_of
from treceval_py.io.formats import checkable, format_of, formats_of, lines_of
from treceval_py.io.named import seen
from treceval_py.io.source import Text, kept, name_of
from treceval_py.io.writing import written_as
from treceval_py.judging.streaming import judge_file
from treceval_py.scoring.evaluation import Evaluator
from treceval_py.scoring.opening import AnyJudgments, load_judgments
from treceval_py.scoring.planning import Scoring
from treceval_py.scoring.profiles import DEFAULT_PROFILE

INTERLEAVED = ("R122",)
"""Findings of the first pass that stay valid if the lines of a query are not together and a second pass is needed."""

OF_SWAPPED = ("R109", "R122", "R123", "R124", "R125", "R126", "R127", "R128", "R129", "R130", "R131", "R132")
"""Findings that two swapped columns cause in a run."""


class Checked(NamedTuple):
    """The result of a check.

    Attributes
    ----------
    file : str
        The file, as messages name it.
    kind : Kind or None
        The kind of file it was checked as; None if it could not be read.
    findings : list of Finding
        The findings that were kept: those of lines first, in line order, then those about the whole file.
    counts : Counter
        Number of findings per code, kept or not.
    lines : int
        Number of lines that were checked.
    shape : Shape or None
        Its queries and documents; None if no line could be read.
    unread : str
        Code of the finding that stopped the reading of the file, even if that code was not asked for; empty if the
        whole file was checked.
    """

    file: str
    kind: Kind | None
    findings: list[Finding]
    counts: Counter[str]
    lines: int
    shape: Shape | None
    unread: str = ""

    def __repr__(self) -> str:
        notes = self.counts.total() - self.errors - self.warnings
        counts = [(self.errors, "error"), (self.warnings, "warning"), (notes, "note"), (self.lines, "line")]
        *findings, lines = (f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts)
        return f"<Checked {brief(self.file)!r}: {', '.join(findings)} in {lines}>"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.findings), repr(self)[1:-1]])

    def _repr_html_(self) -> str:
        from treceval_py.rendering import text_of

        return text_of(self, "html")

    @property
    def errors(self) -> int:
        """Number of errors, kept or not."""
        return sum(number for code, number in self.counts.items() if CODES[code].severity == ERROR)

    @property
    def warnings(self) -> int:
        """Number of warnings, kept or not."""
        return sum(number for code, number in self.counts.items() if CODES[code].severity == WARNING)


def check(
    qrels: AnyJudgments | None = None,
    run: Source | Data | None = None,
    *,
    kind: str | None = None,
    most: int = 100,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    scale: tuple[int, int] | None = None,
) -> Checked:
    r"""Check a run against judgments, line by line, and return everything that is wrong.

    A single argument, a run or judgments, is checked alone.

    Parameters
    ----------
    qrels : judgments, optional
        Judgments to check the run against, in any form that `evaluate` accepts.
    run : str, path or binary file, optional
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd. It is read in
        pieces: only its query ids and its longest query are held in memory. A run in memory is checked as the lines
        that `write_run` would write.
    kind : str, optional
        ``run``, ``msmarco``, ``qrels`` or ``judged-ranking``, whose lines are checked; or another format, which only
        its reader checks. Default: recognised.
    most : int
        Number of findings kept per code; the others are only counted. 0 keeps all.
    select, ignore : collection of str
        Codes, their beginnings such as ``"R1"``, or names such as ``"score-nan"``, to look for or to leave out. A code
        for a file that cannot be read to its end is left out only if ``ignore`` names it in full.
    scale : (int, int), optional
        Lowest and highest label that judgments may have; -1 and -2, which mark documents that were not judged, are
        always allowed.

    Returns
    -------
    Checked
        The findings. Bad data never raises: a file that cannot be read is a finding.

    Raises
    ------
    InputError
        The judgments cannot be read.
    EvaluationError
        The kind or a code is unknown, ``most`` is negative, ``scale`` is not a scale, or the judgments are not
        relevance judgments.

    Examples
    --------
    >>> import io
    >>> found = check(io.BytesIO(b"1 Q0 a 1 0.5 t\n1 Q0 b 2 nan t\n"))
    >>> [(each.line, each.column, each.code) for each in found.findings]
    [(2, 10, 'R104')]
    """
    if kind is not None and (not isinstance(kind, str) or kind not in checkable()):
        raise EvaluationError(f"unknown kind of file {shown(kind)}", f"Choose one of {', '.join(checkable())}.")
    select, ignore = codes_named(select, "select"), codes_named(ignore, "ignore")
    _refuse_numbers(most, scale)
    source, beside = (qrels, None) if run is None else (run, qrels)
    if source is None:
        raise EvaluationError("there is nothing to check", "Give judgments, a run, or both.")
    judgments = None if beside is None else load_judgments(beside)
    if judgments is not None and not isinstance(judgments, Qrels):
        raise EvaluationError("a run can only be checked against relevance judgments (qrels)", file=judgments.name)
    lines = _lines_of(source, kind)
    collector = Collector(name_of(lines), most=most, select=select, ignore=ignore)
    try:
        with kept(lines) as (first, again):
            return _Check(collector, judgments, kind, scale).checked(first, again)
    except InputError as error:  # it cannot even be opened
        collector.add("F002", error.what, error.todo, line=error.line or 0)
        return Checked(collector.file, None, collector.sorted(), collector.counts, 0, None, "F002")


def _lines_of(source: AnyJudgments, kind: str | None) -> Source:
    """Return a file unchanged, and an object in memory as lines."""
    if isinstance(source, (str, os.PathLike)) or hasattr(source, "read"):
        return cast("Source", source)
    kinds: frozenset[Any] = frozenset(["run", "qrels"]) if kind is None else frozenset([kind]) & {"run", "qrels"}
    if not kinds:
        raise EvaluationError(f"{shown(source)} in memory cannot be checked as {kind}", "Choose run or qrels.")
    table, _ = table_of(source, kinds)
    lines = written_as(table, "trec_results" if isinstance(table, Run) else "qrels")
    return Text(b"".join(lines), table.name)


def _refuse_numbers(most: object, scale: object) -> None:
    """Raise if ``most`` is not a number of findings, or ``scale`` not a scale."""
    if not isinstance(most, Integral) or most < 0:
        wrong = f"most is {most!r}, which is not a number of findings"
        raise EvaluationError(wrong, "Give a whole number from 1, or 0 to keep all.")
    labels = list(scale) if isinstance(scale, (tuple, list)) else []
    sound = len(labels) == 2 and all(isinstance(label, Integral) for label in labels) and labels[0] <= labels[1]
    if scale is not None and not sound:
        wrong = f"scale is {scale!r}, not the lowest and the highest label"
        raise EvaluationError(wrong, "Give two whole numbers, such as (0, 3).")


class _Check:
    """One check of one file."""

    def __init__(
        self, collector: Collector, qrels: Qrels | None, wanted: str | None, scale: tuple[int, int] | None
    ) -> None:
        self._collector = collector
        self._qrels = qrels
        self._wanted = wanted
        self._scale = scale
        self._kind: Kind | None = None
        self._lines = 0
        self._over = False
        self._swapped = False

    def checked(self, source: Source, again: Callable[[], Source]) -> Checked:
        """Check the file."""
        source, ended = self._other_format(source)
        shape, held = None if ended else self._of_lines(source, again), self._collector
        if shape is not None and not held.errors:
            self._what_would_be(again, shape)
        return Checked(held.file, self._kind, held.sorted(), held.counts, self._lines, shape, self._unread())

    def _unread(self) -> str:
        """Return the code of the finding that stopped reading; NUL bytes within the text do not stop it."""
        every = self._collector.every
        ending = [code for code in ENDING if every[code] and not (code == "F005" and self._lines)]
        return next(iter(ending), "Q305" if self._over else "")

    def _other_format(self, source: Source) -> tuple[Source, bool]:
        """Hand files in non-TREC formats to their own reader. Returns whether it did."""
        try:
            sight, source = seen(source)
        except InputError:  # chunks says why
            return source, False
        wanted = self._wanted
        # With judgments, other judgments take the place of a run, and are reported as swapped.
        kinds = ["qrels"] * (wanted == "qrels" or (wanted in (None, "judged-ranking") and self._qrels is None))
        kinds += ["run"] * (wanted != "qrels")
        form = format_of(sight, *kinds) if wanted is None or wanted in KINDS else formats_of("run", "qrels")[wanted]
        if form is None or form.lines or (wanted in ("msmarco", "judged-ranking") and len(form.holds) == 1):
            return source, False
        judged = "run" not in form.holds or "run" not in kinds
        try:
            table = form.reader("qrels" if judged else "run")(source)
        except TrecevalError as error:
            self._collector.add("F002", error.what, error.todo, line=error.line or 0)
            return source, True
        caveat = f"{form.title} ({form.layout}): the file can be read, but its lines were not checked one by one"
        lines = "judgments with lines, and check those" if judged else "a run with lines, and check that"
        self._collector.add("F018", caveat, f"Use treceval convert to make {lines}.")
        if isinstance(table, Qrels):
            tell_labels(table, self._collector, self._scale)
            if lacking := undrawn(table):
                self._collector.add("Q318", f"judgments of a sample: {lacking}", CODES["Q318"].todo)
        return source, True

    def _of_lines(self, source: Source, again: Callable[[], Source]) -> Shape | None:
        """Check lines and queries; check documents in a second pass if the lines of a query are not together."""
        lines = iter(self._rows(source))
        rows = next(lines, None)
        kind = self._kind
        if rows is None or kind is None:
            return None
        apart = self._collector.empty()
        shape = self._examined(chain([rows], lines), kind, apart)
        if not shape.scattered:
            self._collector.take(apart)
        elif kind.rel is not None:
            self._collector.take(apart)
            repetitions = Repetitions(kind, self._collector)
            for rows in grouped(again, kind):
                repetitions.take(rows)
            repetitions.finish()
        else:
            self._collector.take(apart, only=INTERLEAVED)
            shape = self._examined(grouped(again, kind), kind, self._collector)._replace(scattered=True)
        if self._swapped:
            self._collector.drop(OF_SWAPPED)
        return shape

    def _rows(self, source: Source) -> Iterator[QueryLines]:
        tags = TagWatch()
        for chunk in chunks(source, self._collector):
            if self._kind is None:
                head = lines_of(chunk.text)
                self._kind = recognised(head, self._wanted if self._wanted in KINDS else None)
                fault = swapped_columns(head) if self._kind.name == "run" else None
                if fault is not None and self._collector.wants(fault.code):
                    self._swapped = True
                    self._collector.add(fault.code, fault.what, fault.todo, line=first_with_data(chunk))
            self._lines = chunk.first - 1 + chunk.text.count(b"\n")
            rows = rows_of(chunk, self._kind, self._collector, tags=tags)
            if rows is not None and len(rows.docids):
                yield rows
            if tags.over:  # every line has the same fault, which was reported
                self._over = True
                return

    def _examined(self, every: Iterable[QueryLines], kind: Kind, collector: Collector) -> Shape:
        checks: JudgmentChecks | QueryChecks = QueryChecks(kind, collector)
        if kind.rel is not None:
            checks = JudgmentChecks(kind, collector, scale=self._scale)
        together = None
        if self._qrels is not None and kind.name != "qrels":
            together = Together(self._qrels, kind, collector)
        for rows in every:
            checks.take(rows)
            if together is not None:
                together.take(rows)
        shape = checks.finish()
        if together is not None:
            together.finish(shape)
        return shape

    def _what_would_be(self, again: Callable[[], Source], shape: Shape) -> None:
        """Say what a run would score by its ranks, or in reverse order, if these are in question."""
        qrels, collector = self._qrels, self._collector
        if qrels is None or self._kind is None or self._kind.name != "run" or self._swapped:
            return
        if shape.contradicted and collector.wants("X208"):
            with suppress(TrecevalError):  # ranks that the other program cannot take
                self._by_ranks(qrels, again)
        if shape.distances:
            with suppress(TrecevalError):
                self._turned(qrels, again())

    def _by_ranks(self, qrels: Qrels, again: Callable[[], Source]) -> None:
        """Say what a run scores by its scores and by its ranks, if the values differ."""
        ours, theirs = (
            f"{Evaluator(qrels, Scoring(['RR@10'], name, complete=True)).scored(again()).mean['RR@10']:.4f}"
            for name in (DEFAULT_PROFILE, "msmarco")
        )
        if ours != theirs:
            values = f"RR@10 is {ours} by the scores, and {theirs} by the rank column, which MS MARCO's script uses"
            self._collector.add("X208", values, "Find out which of the two the run's author meant.")

    def _turned(self, qrels: Qrels, source: Source) -> None:
        """Say what a run would score with the lowest score first, if that is more; if it is less, all is well."""
        judged, _ = judge_file(qrels, source)
        plain, turned = ap_both_ways(judged)
        shown, other = f"{plain:.4f}", f"{turned:.4f}"
        if turned < plain:
            self._collector.drop(("R129",))
        elif shown != other:
            values = f"AP is {shown}, and would be {other} with the lowest score first"
            self._collector.add("X209", values, "If scores are distances or ranks, write them with the opposite sign.")
