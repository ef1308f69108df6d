"""The formats of runs and judgments: each is declared here, in `FORMATS`, and nowhere else.

Whatever reads, recognises, writes, checks or lists formats goes through that tuple. The command line needs it for help,
so this module imports neither numpy nor a reader.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple

Kind = Literal["run", "qrels"]

DATASET = "ir_datasets:"
"""Prefix of the names of data sets with judgments."""

GLANCE = 1 << 12
"""Number of bytes that show the format of most files."""

ENOUGH = 1 << 16
"""Bytes in which lines with data are looked for."""

# Patterns that no run in TREC's format needs are not compiled at start.
_WHOLE = rb"[+-]?\d+"

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def encoding_of(head: bytes) -> str | None:
    """Return the encoding of text that is UTF-16 or UTF-32, with or without a byte-order mark.

    Parameters
    ----------
    head : bytes
        The first bytes of a file.

    Returns
    -------
    str or None
        A name for `codecs`; None for UTF-8 and similar encodings.
    """
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    sample = head[:4096]
    even, odd, half = sample[0::2].count(0), sample[1::2].count(0), len(sample) // 2
    if half >= 4 and 2 * odd >= half and 20 * even <= half:
        return "utf-16-le"
    return "utf-16-be" if half >= 4 and 2 * even >= half and 20 * odd <= half else None


def is_text(head: bytes) -> bool:
    """Return whether the first bytes of a file are text, even if its first query id is like those of another file.

    The first line has three fields, and no byte is NUL; a Parquet file has some at once, and a PDF document no fields.
    """
    return b"\0" not in head and re.match(rb"\S+(?:[ \t\v\f]+\S+){2}", head) is not None


def lines_of(head: bytes, most: int = 20, *, ended: bool = False) -> list[bytes]:
    """Return the first lines with data of the beginning of a file, as UTF-8 and without white space around them.

    Without ``ended``, a last line without a newline is left out, because it may be cut off, unless it is the only one.
    """
    ended, head = ended and len(head) <= ENOUGH, head[:ENOUGH]
    encoding = encoding_of(head)
    if encoding is not None:
        head = head.decode(encoding, "ignore").encode("utf-8", "ignore")
    head = head.removeprefix(codecs.BOM_UTF8)
    lines = (head if b"\n" in head else head.replace(b"\r", b"\n")).split(b"\n")
    if len(lines) > 1 and not ended:
        lines.pop()
    data: list[bytes] = []
    for line in map(bytes.strip, lines):
        if line and not line.startswith(b"#") and len(data) < most:
            data.append(line)
    return data


class Sight(NamedTuple):
    """The beginning of a source.

    Attributes
    ----------
    head : bytes
        Its first bytes, decompressed, without a byte-order mark.
    lines : list of bytes
        Its first lines with data, from `lines_of`.
    """

    head: bytes
    lines: list[bytes]


def sight_of(head: bytes, ended: bool = True) -> Sight:
    """Return what the first bytes of a source show, and whether these are all."""
    return Sight(head.removeprefix(codecs.BOM_UTF8), lines_of(head, 500, ended=ended))


def shows_enough(head: bytes) -> bool:
    """Return whether no more bytes are needed to recognise a format."""
    if b"\0" in head or _is_list(head):
        return True
    if _JSON.match(head):  # in one line of nested objects, only its end separates JSON from JSON Lines
        return b"\n" in head.strip() or not re.match(_KEY + rb"(\{|$)", head)
    return b"\n" in head and bool(lines_of(head, 1))


# How formats are seen: functions of a Sight.

_JSON = re.compile(rb'\s*\{\s*("|$|\}\s*(\{|$))')  # "{}" could be a query
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
    parts : str
        Module and function that takes a source and what it may hold, and returns which it holds and an iterator of its
        rows as parts; empty if it is only read as a whole.
    begins, columns, seen : tuple of bytes, int, callable
        How the beginning of a file shows the format: its first bytes, apart from white space; the number of columns,
        whose roles `diagnosis.columns.form_of` finds; and a pure function of a `Sight`, which is called only for files
        that begin so. TREC's formats have none of them, because they are what else a file may be, and neither have
        formats that must be named.
    endings : tuple of str
        Endings of the names of files in which it is written.
    lacks : tuple of str
        What it cannot hold: ``scores``, ``tag``, ``strata``, ``probabilities``.
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
    parts: str = ""
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


USUAL: dict[Kind, str] = {"run": "trec_results", "qrels": "qrels"}
"""The format of a file that shows no other, and of one whose name selects no other."""

RUN, QRELS, OTHER, BOTH = ("run",), ("qrels",), ("judgments",), ("run", "qrels")

UNSAMPLED = ("strata", "probabilities")

FORMATS = (
    Format("trec_results", RUN, "TREC's format", "qid Q0 docid rank score tag", "trec.read_trec_run",
        "writing.trec_run", lines="run", parts="trec.parts"),
    Format("msmarco", RUN, "MS MARCO's format", "qid docid rank", "three_columns.read_msmarco_run",
        "three_columns.msmarco_run", columns=3, endings=(".tsv",), lacks=("scores", "tag"), lines="msmarco"),
    Format("colbert", RUN, "ColBERT's format", "qid docid rank score", "three_columns.read_colbert_run",
        "three_columns.colbert_run", columns=4, lacks=("tag",)),
    Format("qrels", QRELS, "TREC's format", "qid iteration docid rel", "trec.read_trec_qrels", "writing.trec_qrels",
        lacks=UNSAMPLED, lines="qrels", parts="trec.parts"),
    Format("qrels_jg", OTHER, "TREC's format", "qid group docid rel", "trec.read_judgment_groups"),
    Format("prefs", OTHER, "TREC's format", "qid group subgroup docid level", "trec.read_preferences"),
    Format("qrels_prefs", OTHER, "TREC's format", "qid group docid level", "trec.read_graded_preferences"),
    Format("msmarco", QRELS, "MS MARCO's format", "qid iteration docid rel", "trec.read_trec_qrels",
        "writing.trec_qrels", lacks=UNSAMPLED),
    Format("beir", QRELS, "BEIR's format", "query-id corpus-id score, with a header", "three_columns.read_beir",
        "three_columns.beir_qrels", columns=3, endings=(".tsv",), lacks=UNSAMPLED),
    Format("sampled", QRELS, "the format of sampled judgments", "qid iteration docid stratum rel",
        "sampled.read_sampled", "sampled.sampled_qrels", columns=5, lacks=("probabilities",)),
    Format("prels", QRELS, "the format of judgments with probabilities", "qid docid rel method probability",
        "sampled.read_prels", "sampled.prels", columns=5, lacks=("strata",)),
    Format("cranfield", QRELS, "the format of three columns", "qid docid rel", "three_columns.read_cranfield",
        "three_columns.cranfield_qrels", columns=3, lacks=UNSAMPLED),
    Format("tevatron", RUN, "Tevatron's format", "qid docid score", "three_columns.read_tevatron_run",
        "three_columns.tevatron_run", columns=3, lacks=("tag",)),
    Format("csv", BOTH, "CSV", "a header that names qid, docid, and rel or score; commas", "delimited.read",
        "delimited.written_csv", partial(_has_header, b","), endings=(".csv",), lacks=("tag", *UNSAMPLED)),
    Format("tsv", BOTH, "TSV", "a header that names qid, docid, and rel or score; tabs", "delimited.read",
        "delimited.written_tsv", partial(_has_header, b"\t"), lacks=("tag", *UNSAMPLED)),
    Format("json", BOTH, "JSON", "{qid: {docid: number}}, {qid: [docid, …]} or [{qid, docid, rel or score}, …]",
        "dictionaries.read_json", "dictionaries.written_json", _is_json, (b"{", b"["), endings=(".json",),
        lacks=("tag", *UNSAMPLED), bare=True),
    Format("jsonl", BOTH, "JSON Lines", "{qid, docid, rel or score} on each line", "dictionaries.read_json_lines",
        "dictionaries.written_json_lines", _is_json_lines, (b"{",), endings=(".jsonl", ".ndjson"),
        lacks=("tag", *UNSAMPLED)),
    Format("parquet", BOTH, "Parquet", "columns qid, docid, and rel or score; needs the extra parquet",
        "parquet.read_parquet", "parquet.written_parquet", lambda sight: not is_text(sight.head), (b"PAR1",),
        endings=(".parquet",), lacks=UNSAMPLED, parts="parquet.parts", binary=True),
    Format("ir_datasets", QRELS, "ir_datasets", "ir_datasets:NAME in place of a file; needs the extra datasets",
        "datasets.read_dataset", begins=(DATASET.encode(),)),
)  # fmt: skip
"""All formats. A file has the first that its beginning shows, of those that hold what is wanted."""


def formats_of(*kinds: str, written: bool = False) -> dict[str, Format]:
    """Return the formats that hold one of some kinds, by name; only those that can be written, if so wanted."""
    holding = (form for form in FORMATS if not set(kinds).isdisjoint(form.holds))
    return {form.name: form for form in holding if form.write or not written}


def format_of(sight: Sight, *kinds: str) -> Format | None:
    """Return the format that the beginning of a source shows; None for TREC's, and for what is none."""
    fields = len(sight.lines[0].split()) if sight.lines else 0
    start = sight.head.lstrip()[:GLANCE]
    for form in FORMATS:
        if set(kinds).isdisjoint(form.holds) or not (form.seen or form.begins or form.columns):
            continue
        fits = start.startswith(form.begins or b"") and form.columns in (0, fields)
        if fits and (form.seen is None or form.seen(sight)) and (not form.columns or _has_columns(sight, form)):
            return form
    return None


def _has_columns(sight: Sight, form: Format) -> bool:
    from treceval_py.diagnosis.columns import form_of

    return form_of(sight.lines, form.holds[0]) == form.name


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
