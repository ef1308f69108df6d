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
    """

    what: str
    names: tuple[str, ...]
    last: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All names."""
        return self.names + self.last


QUERY = Field("query id", ("qid", "query_id", "query-id", "q_id"), ("query",))  # often the query's text
DOCUMENT = Field("document id", ("docid", "doc_id", "doc-id", "docno", "corpus-id", "corpus_id", "pid"), ("doc",))
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
    if len(fitting) > 1:
        both = " and ".join(shown(name) for name in fitting[:2])
        fault = f"{within}{word}s {both}{', which' if within else ''} could both be the {field.what}"
        raise DataError(fault, f"Rename or drop the one that is not the {field.what}.")
    return fitting[0] if fitting else None


def needed(there: Sequence[object], field: Field, word: str = "column", *, within: str = "") -> Any:
    """Return the name of the column for a field; refuse a table without it."""
    column = column_of(there, field, word, within=within)
    if column is None:
        first, *others = field.every
        also = f" (or {', '.join(others)})" if others else ""
        has = ", ".join(shown(name) for name in there[:8]) or "none"
        fault = f"{within}no {word} '{first}'{also}; its {word}s are: {has}"
        raise DataError(fault, "Add it." if word == "field" else "Name it so.")
    return column
