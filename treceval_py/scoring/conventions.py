"""Conventions: how a list is ranked and how values are averaged. Each is declared once, with its description.

A measure is computed from ranks. Conventions decide how documents get their ranks and how queries enter the average.
A profile (`profiles`) is the set of conventions of one program; a signature (`signatures`) records a set with a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from treceval_py.data.ranking import FLOAT32, FLOAT64, Ranking
from treceval_py.errors import MeasureError


class Conventions(NamedTuple):
    """How a list is ranked and how the values of queries are averaged.

    Attributes
    ----------
    order : {"score", "rank", "line"}
        How documents are ranked: by score, by the rank column, or by line order.
    score_type : {"float64", "float32"}
        Precision in which scores are compared. With float32, more documents are tied.
    ties : {"docid-desc", "docid-asc", "line", "ranx", "worst"}
        Which of two documents with equal scores is ranked first: the larger id or the smaller id (compared as bytes),
        the earlier line, the first in ranx's own order, or the one with the lower label.
    self_hits : {"keep", "drop"}
        Whether to keep or remove documents whose id is the query's own id.
    judged_only : bool
        Remove documents without a judgment.
    depth : int or None
        Number of documents that count in each query; None for all.
    duplicates : {"refuse", "last"}
        How to treat a document that occurs twice in a query: raise an error, or keep the last line.
    missing : {"out", "empty", "zero"}
        How to treat a judged query that the run lacks: leave it out, count it as an empty ranking, or count it as 0
        without listing it.
    unrelevant : {"in", "out", "one"}
        How to treat a query without relevant documents: count the measure's value, leave the query out, or count it
        as 1.
    known : {"all", "retrieved"}
        Which judgments of a query are used: all, or only those of retrieved documents.
    extra : {"out", "in"}
        How to treat a query of the run without judgments: leave it out, or count it as a query without relevant
        documents.
    not_positive : {"keep", "miss"}
        Whether a document with a score of 0 or less can be relevant (``"keep"``) or never is (``"miss"``).
    bare : {"out", "judged", "answered"}
        How to treat a query without documents, such as one with an empty dictionary, which a file of lines cannot name:
        as if it were not there, as judged if the judgments have it, or as answered, by an empty ranking, if the run has
        it.
    """

    order: str = "score"
    score_type: str = FLOAT64
    ties: str = "docid-desc"
    self_hits: str = "keep"
    judged_only: bool = False
    depth: int | None = None
    duplicates: str = "refuse"
    missing: str = "out"
    unrelevant: str = "in"
    known: str = "all"
    extra: str = "out"
    not_positive: str = "keep"
    bare: str = "out"

    @lru_cache(maxsize=256)  # noqa: B019 - values are small and few
    def ranking(self, *, tied: bool = False) -> Ranking:
        """Return the conventions that affect the ranking of documents."""
        facts = {name: getattr(self, name) for name in Ranking._fields if name in CONVENTIONS}
        return Ranking(**facts, tied=tied)

    def texts(self) -> dict[str, str]:
        """Return each convention's value as written in a signature, by its key in signatures."""
        return {each.key: each.show(getattr(self, each.name)) for each in CONVENTIONS.values()}

    def written(self) -> dict[str, str]:
        """Return the conventions as `texts` does, omitting rare ones that have their usual value."""
        usual = Conventions()
        unusual = [each for each in CONVENTIONS.values() if not each.rare or each in usual.differences(self)]
        return {each.key: each.show(getattr(self, each.name)) for each in unusual}

    def differences(self, other: Conventions) -> list[Convention]:
        """Return the conventions in which these and `other` differ."""
        return [each for each in CONVENTIONS.values() if getattr(self, each.name) != getattr(other, each.name)]

    def changed(self, changes: Mapping[str, Any]) -> Conventions:
        """Return these conventions with `changes`, given by attribute name."""
        return self._replace(**changes)


class Convention(NamedTuple):
    """One convention: its name, its notation and its description.

    Attributes
    ----------
    name : str
        The attribute of `Conventions`.
    key : str
        Its name in signatures.
    question : str
        What the convention decides.
    meanings : mapping of str to str
        Description of each value, by its notation; empty if the value is a number.
    read : callable
        Converts text to a value.
    show : callable
        Converts a value to text.
    rare : bool
        Whether nearly all programs use the same value. Short signatures omit that usual value.
    """

    name: str
    key: str
    question: str
    meanings: Mapping[str, str]
    read: Callable[[str], Any]
    show: Callable[[Any], str]
    rare: bool = False

    def parse(self, text: str) -> Any:
        """Parse the value of a convention.

        Raises
        ------
        MeasureError
            The text is not one of its values.
        """
        if self.meanings and text not in self.meanings:
            raise MeasureError(f"{self.key}:{text} is not a convention", f"Choose one of {', '.join(self.meanings)}.")
        return self.read(text)

    def says(self, value: Any) -> str:
        """Return the description of a value."""
        shown = self.show(value)
        if self.meanings:
            return self.meanings[shown]
        return "all documents count" if value is None else f"the first {value:,} documents count"


def _choice(name: str, key: str, question: str, **meanings: str) -> Convention:
    words = {value.replace("_", "-"): meaning for value, meaning in meanings.items()}
    return Convention(name, key, question, MappingProxyType(words), str, str)


def _rare(name: str, key: str, question: str, **meanings: str) -> Convention:
    return _choice(name, key, question, **meanings)._replace(rare=True)


def _depth(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal() or len(text) > 18:
        raise MeasureError(f"depth:{text} is not a convention", "Choose all, or a whole number.")
    return int(text)


_WIDTHS = {"64": FLOAT64, "32": FLOAT32}

_ALL = (
    _choice(
        "order",
        "order",
        "documents are ranked by",
        score="the score, highest first",
        rank="the rank column, as given; a missing rank stays empty, and of equal ranks the last line counts",
        line="the order of the lines",
    ),
    Convention(
        "score_type",
        "width",
        "scores are compared as",
        MappingProxyType({"64": "64-bit floats", "32": "32-bit floats, in which more scores are equal"}),
        _WIDTHS.__getitem__,
        lambda value: "32" if value == FLOAT32 else "64",
    ),
    _choice(
        "ties",
        "ties",
        "documents with equal scores",
        docid_desc="are ranked by id, largest first, byte by byte",
        docid_asc="are ranked by id, smallest first, byte by byte",
        line="keep the order of their lines",
        ranx="are in the order of ranx's own sort",
        worst="are ranked by label, lowest first, unjudged as 0",
    ),
    _choice(
        "self_hits",
        "self",
        "a document with the query's own id",
        keep="counts like any other",
        drop="is removed from the ranking",
    ),
    Convention(
        "judged_only",
        "unjudged",
        "unjudged documents",
        MappingProxyType({"keep": "keep their ranks and are not relevant", "drop": "are removed from the ranking"}),
        lambda text: text == "drop",
        lambda value: "drop" if value else "keep",
    ),
    Convention(
        "depth",
        "depth",
        "in each ranking",
        MappingProxyType({}),
        _depth,
        lambda value: "all" if value is None else str(value),
    ),
    _choice(
        "duplicates",
        "dup",
        "a document listed twice in a query",
        refuse="is refused",
        last="counts with its last line",
    ),
    _choice(
        "missing",
        "missing",
        "a judged query that the run lacks",
        out="is left out of the mean",
        empty="counts as an empty ranking",
        zero="counts 0 and is not listed",
    ),
    _choice(
        "unrelevant",
        "norel",
        "a query without relevant documents",
        **{"in": "counts", "out": "is left out of the mean", "one": "counts 1"},
    ),
    _rare(
        "known",
        "known",
        "the judgments of a query",
        all="are all used",
        retrieved="are used only for retrieved documents: R and the ideal are computed from the list itself",
    ),
    _rare(
        "extra",
        "extra",
        "a query of the run without judgments",
        out="is left out of the mean",
        **{"in": "counts as one without relevant documents"},
    ),
    _rare(
        "not_positive",
        "score0",
        "a document with a score of 0 or less",
        keep="counts like any other",
        miss="counts as not relevant",
    ),
    _rare(
        "bare",
        "bare",
        "a query without documents, such as an empty dictionary",
        out="is ignored: a file of lines could not name it",
        judged="counts as judged, without relevant documents, if the judgments have it",
        answered="counts as an empty ranking, if the run has it",
    ),
)

CONVENTIONS: Mapping[str, Convention] = MappingProxyType({each.name: each for each in _ALL})
"""All conventions by name, in display order."""
