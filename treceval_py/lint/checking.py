"""Check a file: read it in chunks, look at its lines, its queries, and at it beside judgments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from treceval_py._types import Source
from treceval_py.errors import EvaluationError, InputError, TrecevalError
from treceval_py.evaluation import evaluate, load_judgments, load_run
from treceval_py.explaining.scoring import Scorer
from treceval_py.explaining.variants import ASCENDING, Variant, task_of
from treceval_py.formats.named import QRELS_FORMATS, RUN_FORMATS, seen
from treceval_py.formats.source import kept, name_of
from treceval_py.lint.catalogue import CODES
from treceval_py.lint.findings import Collector, Finding
from treceval_py.lint.judgments import JudgmentChecks
from treceval_py.lint.lines import TagWatch, recognise, rows_of
from treceval_py.lint.queries import QueryChecks, Shape
from treceval_py.lint.reading import chunks
from treceval_py.lint.rows import KINDS, Kind, Rows
from treceval_py.lint.scattered import grouped
from treceval_py.lint.together import Together
from treceval_py.measures import parse_measures
from treceval_py.profiles import DEFAULT_PROFILE, profile_named
from treceval_py.tables import Qrels

__all__ = ["Checked", "check"]

MOST_LINES_TURNED = 3_000_000
"""Above so many lines a run is not held whole to see what it would score the other way round."""

INTERLEAVED = ("R122", "Q315")
"""What the first look at the queries tells when their lines do not stand together, so that a second one is needed."""


class Checked(NamedTuple):
    """A file that was checked.

    Attributes
    ----------
    file : str
        The file as messages name it.
    kind : Kind or None
        What it was taken for; None where it could not be read.
    findings : list of Finding
        What was found, so many of each code as are kept: by line, then what is about the whole file.
    counts : Counter
        How many findings of each code there are, kept or not.
    lines : int
        The lines that were looked at.
    shape : Shape or None
        Its queries and documents; None where no line could be read.
    """

    file: str
    kind: Kind | None
    findings: list[Finding]
    counts: Counter[str]
    lines: int
    shape: Shape | None

    @property
    def errors(self) -> int:
        """How many findings are errors, kept or not."""
        return sum(number for code, number in self.counts.items() if CODES[code].severity == "error")

    @property
    def warnings(self) -> int:
        """How many findings are warnings, kept or not."""
        return sum(number for code, number in self.counts.items() if CODES[code].severity == "warning")


def check(
    source: Source,
    qrels: Source | Qrels | None = None,
    *,
    kind: str | None = None,
    most: int = 100,
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    scale: tuple[int, int] | None = None,
) -> Checked:
    r"""Check a run or judgments, line by line, and say all that is wrong.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file; plain, gzip, bzip2, xz or zstd. It is read in
        pieces and never held whole, but for its query ids and its longest query.
    qrels : path, binary file or Qrels, optional
        Judgments that a run is looked at beside.
    kind : {"run", "msmarco", "qrels", "judged-ranking"}, optional
        What the file is; by default it is recognised.
    most : int
        How many findings of each code are kept, the others being counted; 0 keeps all.
    select, ignore : collection of str
        Codes, or their beginnings such as ``"R1"``, that are looked for or left out.
    scale : (int, int), optional
        The least and the highest label that judgments may have.

    Returns
    -------
    Checked
        The findings. Data never raise: what cannot be read is a finding.

    Raises
    ------
    InputError
        The judgments cannot be read.
    EvaluationError
        The kind is unknown, or the judgments are no relevance judgments.

    Examples
    --------
    >>> import io
    >>> found = check(io.BytesIO(b"1 Q0 a 1 0.5 t\n1 Q0 b 2 nan t\n"))
    >>> [(each.line, each.column, each.code) for each in found.findings]
    [(2, 10, 'R104')]
    """
    if kind is not None and kind not in KINDS:
        raise EvaluationError(f"unknown kind of file '{kind}'", f"There are {', '.join(KINDS)}.")
    judgments = None if qrels is None else load_judgments(qrels)
    if judgments is not None and not isinstance(judgments, Qrels):
        raise EvaluationError("only relevance judgments (qrels) can be looked at beside a run", file=judgments.name)
    collector = Collector(name_of(source), CODES, most=most, select=select, ignore=ignore)
    try:
        with kept(source) as (first, again):
            return _Check(collector, judgments, kind, scale).checked(first, again)
    except InputError as error:  # it cannot even be opened
        collector.add("F002", error.what, error.todo, line=error.line or 0)
        return Checked(collector.file, None, collector.sorted(), collector.counts, 0, None)


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

    def checked(self, source: Source, again: Callable[[], Source]) -> Checked:
        """Check the file."""
        source, ended = self._other_format(source)
        shape = None if ended else self._of_lines(source, again)
        if shape is not None and self._qrels is not None and self._kind is not None and not self._collector.errors:
            self._what_would_be(again, shape)
        found = self._collector
        return Checked(found.file, self._kind, found.sorted(), found.counts, self._lines, shape)

    def _other_format(self, source: Source) -> tuple[Source, bool]:
        """Leave what is no text of lines to its reader; say whether it was such a file."""
        try:
            sight, source = seen(source)
        except InputError:  # chunks says why
            return source, False
        judged = self._wanted == "qrels" or sight.format == "beir"
        if sight.format not in ("json", "jsonl", "parquet") and not (sight.format == "beir" and self._wanted != "run"):
            return source, False
        reader = (QRELS_FORMATS if judged else RUN_FORMATS)[sight.format]
        try:
            reader(source)
        except TrecevalError as error:
            self._collector.add("F002", error.what, error.todo, line=error.line or 0)
        else:
            self._collector.add(
                "F018",
                f"{sight.format} has no lines of fields, so only its reader looked at it, which reads it",
                "Use treceval convert to make a run of lines, and check that.",
            )
        return source, True

    def _of_lines(self, source: Source, again: Callable[[], Source]) -> Shape | None:
        """Look at lines and queries; where the lines of a query do not stand together, at the queries once more."""
        lines = iter(self._rows(source))
        rows = next(lines, None)
        if rows is None or self._kind is None:
            return None
        apart = Collector(self._collector.file, CODES, most=self._collector.most)
        shape = self._examined(_chained(rows, lines), apart)
        if shape.scattered and self._kind.rel is None:
            self._collector.take(apart, only=INTERLEAVED)
            apart = Collector(self._collector.file, CODES, most=self._collector.most)
            shape = self._examined(grouped(again, self._kind), apart)._replace(scattered=True)
        self._collector.take(apart)
        return shape

    def _rows(self, source: Source) -> Iterator[Rows]:
        tags = TagWatch()
        for chunk in chunks(source, self._collector):
            if self._kind is None:
                self._kind = recognise(chunk.text, self._wanted)
            self._lines = chunk.first - 1 + chunk.text.count(b"\n")
            rows = rows_of(chunk, self._kind, self._collector, tags=tags)
            if rows is not None and len(rows.docids):
                yield rows
            if tags.over:  # what is wrong is the same on each line, and was said
                return

    def _examined(self, every: Iterable[Rows], collector: Collector) -> Shape:
        if self._kind is None:
            raise AssertionError("lines were read, so their kind is known")
        judged = self._kind.rel is not None
        checks = (
            JudgmentChecks(self._kind, collector, scale=self._scale) if judged else QueryChecks(self._kind, collector)
        )
        beside = self._qrels is not None and self._kind.name != "qrels"
        together = Together(self._qrels, self._kind, collector) if beside and self._qrels is not None else None
        for rows in every:
            checks.take(rows)
            if together is not None:
                together.take(rows)
        shape = checks.finish()
        if together is not None:
            together.finish(shape)
        return shape

    def _what_would_be(self, again: Callable[[], Source], shape: Shape) -> None:
        """Say what a run would score by its ranks, or the other way round, where these are in question."""
        found, qrels = self._collector, self._qrels
        if qrels is None or self._kind is None or self._kind.name != "run":
            return
        if shape.contradicted and found.wants("X208"):
            try:
                ours, theirs = (
                    evaluate(qrels, again(), "RR@10", profile=name, complete=True).mean["RR@10"]
                    for name in (DEFAULT_PROFILE, "msmarco")
                )
            except TrecevalError:  # ranks that the other program cannot take
                return
            found.add(
                "X208",
                f"RR@10 is {ours:.4f} by the scores, and {theirs:.4f} by the rank column, as MS MARCO's script takes "
                "it",
                "Find out which of the two the run's author meant.",
            )
        if found.counts["R129"] and found.wants("X209") and self._lines <= MOST_LINES_TURNED:
            scorer = Scorer(qrels, load_run(again()))
            task = task_of(parse_measures("AP")[0], profile_named(DEFAULT_PROFILE), scorer.situation, complete=True)
            plain, turned = scorer.scored([Variant("", task), Variant("", task, run=ASCENDING)])
            if plain is not None and turned is not None:
                found.add(
                    "X209",
                    f"AP is {plain.mean:.4f}, and would be {turned.mean:.4f} if the lowest score stood first",
                    "If scores are distances, write them with the sign changed.",
                )


def _chained(first: Rows, others: Iterator[Rows]) -> Iterator[Rows]:
    yield first
    yield from others
