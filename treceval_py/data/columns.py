"""Names of the columns of judgments and runs, for DataFrames, records, JSON Lines and Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from treceval_py.data.ids import shown
from treceval_py.errors import DataError


class Field(NamedTuple):
    """The content of a column, and its names.

    Attributes
    ----------
    what : str
        The content, for messages.
    names : tuple of str
        The names of such a column, in lower case; a table must not have two of them.
    last : tuple of str
        Names that are used only if the table has none of the others, because they often mean something else.
    inner : tuple of str
        A name that counts only without another: PyTerrier's docid is the index's number of the document that docno
        names.
    """

    what: str
    names: tuple[str, ...]
    last: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All names."""
        return self.names + self.last


QUERY = Field("query id", ("qid", "query_id", "query-id", "q_id"), ("query",))  # often the query's text
DOCUMENT = Field(
    "document id",
    ("docid", "doc_id", "doc-id", "docno", "corpus-id", "corpus_id", "pid"),
    last=("doc",),
    inner=("docid", "docno"),
)
JUDGMENT = Field("judgment", ("rel", "relevance", "label", "grade"), ("score",))  # in BEIR; elsewhere a run's
SCORE = Field("score", ("score", "sim", "similarity"))
RANK = Field("rank", ("rank",))
GROUP = Field("subtopic", ("subtopic", "subtopic_id", "group"), ("iteration",))  # in other files nearly always 0
TAG = Field("tag", ("tag",), ("run",))


def column_of(there: Iterable[object], field: Field, word: str = "column", *, within: str = "") -> Any:
    """Return the name of the column for a field, or None if there is none.

    Parameters
    ----------
    there : iterable
        The names of all columns, in any case.
    field : Field
        The field.
    word, within : str
        The words for a column and for the table in messages.

    Raises
    ------
    DataError
        Two columns are candidates.
    """
    names = [(name, str(name).strip().lower()) for name in there]
    fitting = [name for name, folded in names if folded in field.names]
    fitting = fitting or [name for name, folded in names if folded in field.last]
    if field.inner and {folded for name, folded in names if name in fitting} == {*field.inner}:
        fitting = [name for name, folded in names if folded == field.inner[1]]
    if len(fitting) > 1:
        both = " and ".join(shown(name) for name in fitting[:2])
        fault = f"{within}{word}s {both}{', which' if within else ''} could both be the {field.what}"
        raise DataError(fault, f"Rename or drop the one that is not the {field.what}.")
    return fitting[0] if fitting else None


def needed(
    there: Sequence[object], field: Field, word: str = "column", *, within: str = "", named: str | None = None
) -> Any:
    """Return the name of the column for a field, which the caller may have named; refuse a table without it."""
    if named is None:
        column, (first, *others) = column_of(there, field, word, within=within), field.every
        name = f"'{first}' (or {', '.join(others)})" if others else f"'{first}'"
        todo = "Add it." if word == "field" else f"Rename the one that has the {field.what}."
    else:
        column, name, todo = named if list(there).count(named) == 1 else None, shown(named), "Name another one."
    if column is None:
        has = ", ".join(map(shown, there[:8])) or "none"
        its = "their" if within.endswith("have ") else "its"
        raise DataError(f"{within}no {word} {name}; {its} {word}s are: {has}", todo)
    return column


class Layout(NamedTuple):
    """The fields of a line of a format.

    Attributes
    ----------
    fields : tuple of str
        The names of the fields, in order.
    what : str
        The name of a line in messages.
    more : bool
        Whether further fields may follow the last one.
    separator : bytes or None
        The separator of fields; None means any white space.
    """

    fields: tuple[str, ...]
    what: str
    more: bool = False
    separator: bytes | None = None

    def fits(self, count: int) -> bool:
        """Return whether a line of ``count`` fields fits this layout."""
        return count == len(self.fields) or (self.more and count > len(self.fields))

    def cut(self, line: bytes) -> list[bytes]:
        """Split a line, without its newline, into fields."""
        if self.separator is None:
            return line.split()
        return [field for field in line.removesuffix(b"\r").split(self.separator) if field] if line.strip() else []

    def __str__(self) -> str:
        return " ".join(self.fields)


QRELS = Layout(("qid", "iteration", "docid", "rel"), "a judgment")
QRELS_GROUPS = Layout(("qid", "group", "docid", "rel"), "a judgment")
PREFERENCES = Layout(("qid", "group", "subgroup", "docid", "level"), "a preference judgment")
GRADED_PREFERENCES = Layout(("qid", "group", "docid", "level"), "a preference judgment")
RUN = Layout(("qid", "Q0", "docid", "rank", "score", "tag"), "a run's line", more=True)
MSMARCO = Layout(("qid", "docid", "rank"), "a line of an MS MARCO run")
TEVATRON = Layout(("qid", "docid", "score"), "a line of a run of three columns")
COLBERT = Layout(("qid", "docid", "rank", "score"), "a line of a ColBERT run")
CRANFIELD = Layout(("qid", "docid", "rel"), "a judgment of three columns")
SAMPLED = Layout(("qid", "iteration", "docid", "stratum", "rel"), "a judgment of a sample")
PRELS = Layout(("qid", "docid", "rel", "method", "probability"), "a judgment with a probability")
BEIR = Layout(("query-id", "corpus-id", "score"), "a BEIR judgment", separator=b"\t")


def is_header(line: bytes) -> bool:
    """Return whether a line is the header of BEIR's judgments: ``query-id<tab>corpus-id<tab>score``."""
    names = [field.strip().lower().decode("latin-1") for field in line.split(b"\t")]
    fields = (QUERY, DOCUMENT, JUDGMENT)
    return len(names) == 3 and all(name in field.every for name, field in zip(names, fields, strict=True))
