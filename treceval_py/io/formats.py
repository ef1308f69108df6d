"""The formats of runs and judgments: each is declared here, in `FORMATS`, and nowhere else.

Whatever reads, recognises, writes, checks or lists formats goes through that tuple. The command line needs it for help,
so this module imports neither numpy nor a reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal, NamedTuple

Kind = Literal["run", "qrels"]

DATASET = "ir_datasets:"
"""Prefix of the names of data sets with judgments."""

GLANCE = 1 << 12
"""Number of bytes that show the format of most files."""

# Patterns that no run in TREC's format needs are not compiled at start.
_WHOLE = rb"[+-]?\d+"
NUMBER = rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


class Sight(NamedTuple):
    """The beginning of a source.

    Attributes
    ----------
    head : bytes
        Its first bytes, decompressed, without a byte-order mark.
    lines : list of bytes
        The first lines with data, stripped; those that are not blank and do not begin with ``#``.
    """

    head: bytes
    lines: list[bytes]

    def lists(self, width: int, *columns: int) -> list[list[tuple[bytes, ...]]]:
        """Return some columns of the lines, for each query.

        A damaged line is passed over; but the first line has ``width`` fields, with a number in the last of these
        columns, and so has at least half of them. Otherwise, there are no lists.
        """
        rows = [line.split() for line in self.lines]
        fitting = [row for row in rows if len(row) == width and re.fullmatch(NUMBER, row[columns[-1]])]
        if fitting[:1] != rows[:1] or 2 * len(fitting) < len(rows):
            return []
        lists: dict[bytes, list[tuple[bytes, ...]]] = {}
        for row in fitting:
            lists.setdefault(row[0], []).append(tuple(row[column] for column in columns))
        return list(lists.values())


def sight_of(head: bytes, ended: bool = True) -> Sight:
    """Return what the first bytes of a source show, and whether these are all."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    lines = head.split(b"\n")
    whole = lines if ended else lines[:-1]
    return Sight(head, [line for line in map(bytes.strip, whole) if line and not line.startswith(b"#")])


def shows_enough(head: bytes) -> bool:
    """Return whether no more bytes are needed to recognise a format."""
    if b"\0" in head or _is_list(head):
        return True
    if _JSON.match(head):  # in one line of nested objects, only its end separates JSON from JSON Lines
        return b"\n" in head.strip() or not re.match(_KEY + rb"(\{|$)", head)
    return bool(sight_of(head, ended=False).lines)


# How formats are seen: functions of a Sight.

_JSON = re.compile(rb'\s*\{\s*(["}]|$)')
_KEY = rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*'


def _is_list(head: bytes) -> bool:
    """Return whether a list of objects begins."""
    before, brace, _ = head.partition(b"{")
    return brace != b"" and before.strip() == b"["


def _is_json_lines(sight: Sight) -> bool:
    if not _JSON.match(sight.head):
        return False
    first, _, rest = (part.strip() for part in sight.head.strip().partition(b"\n"))
    if rest:  # in one JSON document, objects do not follow one another directly
        return first.endswith(b"}") and rest.startswith(b"{")
    return re.match(_KEY + rb"[^\s{\[]", first) is not None and b'"search_results"' not in first


def _is_json(sight: Sight) -> bool:
    opens = _JSON.match(sight.head) is not None or _is_list(sight.head)
    return opens and not _is_json_lines(sight)


def _has_header(separator: bytes, sight: Sight) -> bool:
    """Return whether the first line with data names columns of queries and of documents."""
    first, *others = sight.lines or [b""]
    if first.count(separator) < 2 or first.startswith((b"{", b"[")) or separator not in (others or [first])[0]:
        return False
    from treceval_py.data.columns import DOCUMENT, QUERY

    names = [name.strip(b'" ').lower().decode("latin-1") for name in first.split(separator)]
    # BEIR's judgments in place of a run are still judgments.
    judged = names == ["query-id", "corpus-id", "score"] and all(
        re.fullmatch(_WHOLE, line.split()[-1]) for line in others
    )
    return not judged and all(not set(field.every).isdisjoint(names) for field in (QUERY, DOCUMENT))


def _is_beir(sight: Sight) -> bool:
    from treceval_py.data.columns import is_header

    return is_header(sight.lines[0])


def _are_whole(lists: list[list[tuple[bytes, ...]]]) -> bool:
    return bool(lists) and all(re.fullmatch(_WHOLE, row[-1]) for rows in lists for row in rows)


def _ranked(sight: Sight) -> bool:
    """Return whether the third of three columns counts as ranks do: from 1, or it rises and never falls in a query."""
    lists = sight.lists(3, 2)
    if not _are_whole(lists):
        return False
    ranks = [[float(rank) for (rank,) in rows] for rows in lists]
    rises = any(row[0] < row[-1] for row in ranks) or all(len(row) == 1 and row[0] <= 1 for row in ranks)
    return rises and all(low <= high for row in ranks for low, high in pairwise(row))


def _scored(sight: Sight) -> bool:
    """Return whether the third of three columns has scores: fractions, or whole numbers that fall within queries."""
    lists = sight.lists(3, 2)
    scores = [[float(score) for (score,) in rows] for rows in lists]
    falling = all(high >= low for row in scores for high, low in pairwise(row)) and any(r[0] > r[-1] for r in scores)
    return bool(lists) and (falling or not _are_whole(lists))


def _ranked_and_scored(sight: Sight) -> bool:
    """Return whether the third of four columns counts documents from 1 and the fourth does not rise."""
    lists = sight.lists(4, 1, 2, 3)
    for rows in lists:
        documents, ranks, scores = zip(*rows, strict=True)
        counts = [b"%d" % rank for rank in range(1, len(rows) + 1)]
        falling = all(float(high) >= float(low) for high, low in pairwise(scores))
        if list(ranks) != counts or not falling or len(set(documents)) < len(rows):
            return False
    # One judgment for each query, of documents with numbers, could look the same.
    return bool(lists) and (not _are_whole(lists) or max(map(len, lists)) > 1)


def _judged(sight: Sight) -> bool:
    """Return whether three columns are judgments: small grades that do not count 1, 2, 3 as ranks do."""
    lists = sight.lists(3, 1, 2)
    if not _are_whole(lists) or {document for rows in lists for document, _ in rows} <= {b"0", b"Q0"}:
        return False  # in four columns that lack one, the second is the iteration
    grades = [[float(rel) for _, rel in rows] for rows in lists]
    counting = all(rels == list(range(1, len(rels) + 1)) for rels in grades) and max(map(len, grades)) > 1
    return not counting and all(abs(rel) <= MOST_GRADE for rels in grades for rel in rels)


MOST_GRADE = 10
"""The highest grade for which three columns are recognised as judgments."""


def _sampled(sight: Sight) -> bool:
    """Return whether five columns are judgments of a sample: a 0, a document, its stratum and its grade."""
    lists = sight.lists(5, 1, 3, 4)
    iterations = {iteration for rows in lists for iteration, *_ in rows}
    # The fourth column of a run without its tag counts.
    counting = all(stratum == b"%d" % rank for rows in lists for rank, (_, stratum, _) in enumerate(rows, 1))
    return _are_whole(lists) and iterations == {b"0"} and (not counting or max(map(len, lists)) == 1)


class Format(NamedTuple):
    """A format of runs, of judgments or of both.

    Attributes
    ----------
    name : str
        Its name in options and arguments.
    holds : tuple of str
        What it holds: ``run``, ``qrels``, or both. ``judgments`` are of another kind than relevance judgments.
    title : str
        The format in messages.
    layout : str
        Its layout in words.
    read : str
        Module and function of the reader, imported on first use. Of a format that holds both, it also takes the `Field`
        of the values, and what it returns has methods ``run`` and ``qrels``, ``whole`` and an attribute ``names``.
    write : str
        Module and function of the writer, which takes a table and a tag and returns portions of bytes; empty if there
        is none.
    begins, columns, seen : tuple of bytes, int, callable
        How the beginning of a file shows the format: its first bytes, apart from white space; the number of fields in
        its first line; and a pure function of a `Sight`, which is called only for these files. TREC's formats have none
        of them, because they are what else a file may be, and neither have formats that must be named.
    endings : tuple of str
        Endings of the names of files in which it is written.
    lacks : tuple of str
        What it cannot hold: ``scores``, ``tag``, ``strata``.
    lines : str
        The kind of file as which `check` checks its lines; empty if only its reader checks it.
    bare : bool
        Whether it can hold queries without documents.
    binary : bool
        Whether it is not text: it is not written to standard output, nor compressed as a whole.
    """

    name: str
    holds: tuple[str, ...]
    title: str
    layout: str
    read: str
    write: str = ""
    seen: Callable[[Sight], bool] | None = None
    begins: tuple[bytes, ...] = ()
    columns: int = 0
    endings: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    lines: str = ""
    bare: bool = False
    binary: bool = False

    def reader(self, kind: str) -> Callable[[Any], Any]:
        """Return the reader of runs (``run``) or of judgments."""
        read = imported(self.read)
        if len(self.holds) == 1:
            return read
        from treceval_py.data.columns import JUDGMENT, SCORE

        if kind == "run":
            return lambda source: read(source, SCORE).run()
        return lambda source: read(source, JUDGMENT).qrels()


def imported(name: str) -> Callable[..., Any]:
    """Return a function of this package's modules, given as ``module.function``."""
    module, _, function = name.rpartition(".")
    imported: Callable[..., Any] = getattr(import_module(f"treceval_py.io.{module}"), function)
    return imported


RUN, QRELS, OTHER, BOTH = ("run",), ("qrels",), ("judgments",), ("run", "qrels")

FORMATS = (
    Format(
        "trec_results", RUN, "TREC's format", "qid Q0 docid rank score tag", "trec.read_trec_run", "writing.trec_run",
        lines="run",
    ),
    Format(
        "msmarco", RUN, "MS MARCO's format", "qid docid rank", "three_columns.read_msmarco_run",
        "three_columns.msmarco_run", _ranked, columns=3, endings=(".tsv",), lacks=("scores", "tag"), lines="msmarco",
    ),
    Format(
        "colbert", RUN, "ColBERT's format", "qid docid rank score", "three_columns.read_colbert_run",
        "three_columns.colbert_run", _ranked_and_scored, columns=4, lacks=("tag",),
    ),
    Format(
        "qrels", QRELS, "TREC's format", "qid iteration docid rel", "trec.read_trec_qrels", "writing.trec_qrels",
        lacks=("strata",), lines="qrels",
    ),
    Format("qrels_jg", OTHER, "TREC's format", "qid group docid rel", "trec.read_judgment_groups"),
    Format("prefs", OTHER, "TREC's format", "qid group subgroup docid level", "trec.read_preferences"),
    Format("qrels_prefs", OTHER, "TREC's format", "qid group docid level", "trec.read_graded_preferences"),
    Format(
        "msmarco", QRELS, "MS MARCO's format", "qid iteration docid rel", "trec.read_trec_qrels", "writing.trec_qrels",
        lacks=("strata",),
    ),
    Format(
        "beir", QRELS, "BEIR's format", "query-id corpus-id score, with a header", "three_columns.read_beir",
        "three_columns.beir_qrels", _is_beir, columns=3,
        endings=(".tsv",), lacks=("strata",),
    ),
    Format(
        "sampled", QRELS, "the format of sampled judgments", "qid iteration docid stratum rel", "sampled.read_sampled",
        "sampled.sampled_qrels", _sampled, columns=5,
    ),
    Format(
        "cranfield", QRELS, "the format of three columns", "qid docid rel", "three_columns.read_cranfield",
        "three_columns.cranfield_qrels", _judged, columns=3, lacks=("strata",),
    ),
    Format(
        "tevatron", RUN, "Tevatron's format", "qid docid score", "three_columns.read_tevatron_run",
        "three_columns.tevatron_run", _scored, columns=3, lacks=("tag",),
    ),
    Format(
        "csv", BOTH, "CSV", "a header that names qid, docid, and rel or score; commas", "delimited.read",
        "delimited.written_csv", partial(_has_header, b","), endings=(".csv",), lacks=("tag", "strata"),
    ),
    Format(
        "tsv", BOTH, "TSV", "a header that names qid, docid, and rel or score; tabs", "delimited.read",
        "delimited.written_tsv", partial(_has_header, b"\t"), lacks=("tag", "strata"),
    ),
    Format(
        "json", BOTH, "JSON", "{qid: {docid: number}}, {qid: [docid, …]} or [{qid, docid, rel or score}, …]",
        "dictionaries.read_json", "dictionaries.written_json", _is_json, (b"{", b"["),
        endings=(".json",), lacks=("tag", "strata"), bare=True,
    ),
    Format(
        "jsonl", BOTH, "JSON Lines", "{qid, docid, rel or score} on each line", "dictionaries.read_json_lines",
        "dictionaries.written_json_lines", _is_json_lines, (b"{",),
        endings=(".jsonl", ".ndjson"), lacks=("tag", "strata"),
    ),
    Format(
        "parquet", BOTH, "Parquet", "columns qid, docid, and rel or score; needs the extra parquet",
        "parquet.read_parquet", "parquet.written_parquet", begins=(b"PAR1",), endings=(".parquet",),
        lacks=("strata",), binary=True,
    ),
    Format(
        "ir_datasets", QRELS, "ir_datasets", "ir_datasets:NAME in place of a file; needs the extra datasets",
        "datasets.read_dataset", begins=(DATASET.encode(),),
    ),
)  # fmt: skip
"""All formats. A file has the first whose ``seen`` says so, of those that hold what is wanted."""


def formats_of(*kinds: str, written: bool = False) -> dict[str, Format]:
    """Return the formats that hold one of some kinds, by name; only those that can be written, if so wanted."""
    holding = (form for form in FORMATS if not set(kinds).isdisjoint(form.holds))
    return {form.name: form for form in holding if form.write or not written}


def format_of(sight: Sight, *kinds: str) -> Format | None:
    """Return the format that the beginning of a source shows; None for TREC's, and for what is none."""
    fields = len(sight.lines[0].split()) if sight.lines else 0
    start = sight.head.lstrip()[:GLANCE]
    for form in FORMATS:
        if set(kinds).isdisjoint(form.holds) or not (form.seen or form.begins):
            continue
        fits = start.startswith(form.begins or b"") and form.columns in (0, fields)
        if fits and (form.seen is None or form.seen(sight)):
            return form
    return None


def listed(*kinds: str) -> str:
    """Return formats with their layouts, for help and hints."""
    return "; ".join(f"{form.name} ({form.layout})" for form in formats_of(*kinds).values())


def endings() -> str:
    """Return the endings of names that select a format, for help."""
    nouns: dict[tuple[str, ...], str] = {RUN: " for a run", QRELS: " for judgments"}
    selected: dict[str, list[str]] = {}
    for form in FORMATS:
        for ending in form.endings:
            selected.setdefault(ending, []).append(form.name + nouns.get(form.holds, ""))
    return ", ".join(f"{ending} is {' and '.join(names)}" for ending, names in selected.items())


def checkable() -> list[str]:
    """Return what a file can be checked as: kinds whose lines are checked, then other formats of files."""
    of_lines = [form.lines for form in FORMATS if form.lines]
    others = [form.name for form in FORMATS if form.write and not form.lines and form.name not in of_lines]
    return [*of_lines, "judged-ranking", *others]
