"""Conventions: how a list is ranked and how values are averaged, each declared once with its words.

What is computed from the ranks is a measure; how documents come to their ranks, and queries to their average, is a set
of conventions. A profile (`profiles`) is such a set that stands for a program; a signature (`signatures`) writes one
down beside a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from treceval_py.data.ranking import FLOAT32, FLOAT64, Ranking
from treceval_py.errors import MeasureError

__all__ = ["CONVENTIONS", "Convention", "Conventions"]


class Conventions(NamedTuple):
    """How a list is ranked, and how the values of queries are averaged.

    Attributes
    ----------
    order : {"score", "rank", "line"}
        By what documents are ranked: their scores, the rank column, or the order of lines.
    score_type : {"float64", "float32"}
        The width in which scores are compared; in float32 more documents are tied.
    ties : {"docid-desc", "docid-asc", "line", "ranx", "worst"}
        Which of two documents with equal scores stands first: the one with the larger id, the one with the smaller id
        (by bytes), that of the earlier line, that which ranx's sort puts there, or the one with the lower label.
    self_hits : {"keep", "drop"}
        Whether documents whose id is that of the query are taken out.
    judged_only : bool
        Whether documents without a judgment are taken out.
    depth : int or None
        How many documents of each query count; None, all.
    duplicates : {"refuse", "last"}
        What a document that occurs twice in a query does: it is refused, or its last line counts.
    missing : {"out", "empty", "zero"}
        What a judged query that the run lacks does: it is left out; it counts as an empty ranking; it counts 0 and is
        not listed.
    unrelevant : {"in", "out", "one"}
        Whether a query without relevant documents counts, and if it does, whether with the value of the measure or 1.
    known : {"all", "retrieved"}
        Which judgments of a query are known: all, or only those of the documents that were retrieved.
    extra : {"out", "in"}
        Whether a query of the run without judgments counts, as one without relevant documents.
    not_positive : {"keep", "miss"}
        Whether a document with a score of 0 or less can be relevant.
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

    @lru_cache(maxsize=256)  # noqa: B019 - of small values, of which there are few
    def ranking(self, *, tied: bool = False) -> Ranking:
        """Return what concerns the ranking of documents."""
        drop, positive = self.self_hits == "drop", self.not_positive == "miss"
        what = self.depth, self.judged_only, self.score_type, self.order, self.ties, tied, drop
        return Ranking(*what, positive=positive, known=self.known)

    def texts(self) -> dict[str, str]:
        """Return each convention as it stands in a signature, by its key there."""
        return {each.key: each.show(getattr(self, each.name)) for each in CONVENTIONS.values()}

    def written(self) -> dict[str, str]:
        """Return each convention as `texts` does, without the usual value of a rare one."""
        usual = Conventions()
        unusual = [each for each in CONVENTIONS.values() if not each.rare or each in usual.differences(self)]
        return {each.key: each.show(getattr(self, each.name)) for each in unusual}

    def differences(self, other: Conventions) -> list[Convention]:
        """Return the conventions in which two sets differ."""
        return [each for each in CONVENTIONS.values() if getattr(self, each.name) != getattr(other, each.name)]

    def changed(self, changes: Mapping[str, Any]) -> Conventions:
        """Return these conventions with some changed; names are those of the attributes."""
        return self._replace(**changes)


class Convention(NamedTuple):
    """One convention: its name, how it is written, and what it means.

    Attributes
    ----------
    name : str
        The attribute of `Conventions`.
    key : str
        Its name in signatures.
    question : str
        What it decides.
    meanings : mapping of str to str
        What each value, as it is written, means; empty where any number can stand.
    read : callable
        Text to value.
    show : callable
        Value to text.
    rare : bool
        Whether few programs decide it in another way than the others: signatures then leave out the usual value.
    """

    name: str
    key: str
    question: str
    meanings: Mapping[str, str]
    read: Callable[[str], Any]
    show: Callable[[Any], str]
    rare: bool = False

    def parse(self, text: str) -> Any:
        """Return the value of a text.

        Raises
        ------
        MeasureError
            It is none.
        """
        if self.meanings and text not in self.meanings:
            raise MeasureError(f"{self.key}:{text} is not a convention", f"Choose one of {', '.join(self.meanings)}.")
        return self.read(text)

    def says(self, value: Any) -> str:
        """Return what a value means."""
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
        rank="the rank column, as it stands; a missing rank stays empty, of equal ranks the last line counts",
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
        "of two documents with equal scores, first comes",
        docid_desc="the one with the larger id, byte by byte",
        docid_asc="the one with the smaller id, byte by byte",
        line="the one on the earlier line",
        ranx="the one that ranx's sort puts there, applied twice as by make_comparable",
        worst="the one with the lower label, no label being 0",
    ),
    _choice(
        "self_hits",
        "self",
        "a document with the query's own id",
        keep="counts like any other",
        drop="is taken out of the ranking",
    ),
    Convention(
        "judged_only",
        "unjudged",
        "unjudged documents",
        MappingProxyType({"keep": "keep their ranks, not relevant", "drop": "are taken out of the ranking"}),
        lambda text: text == "drop",
        lambda value: "drop" if value else "keep",
    ),
    Convention(
        "depth",
        "depth",
        "of a ranking",
        MappingProxyType({}),
        _depth,
        lambda value: "all" if value is None else str(value),
    ),
    _choice(
        "duplicates",
        "dup",
        "a document twice in a query",
        refuse="is refused",
        last="has the value of its last line",
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
        "of the judgments of a query,",
        all="all are known",
        retrieved="those of documents that were not retrieved are unknown: R and the ideal are those of the list",
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
        miss="is taken for not relevant",
    ),
)

CONVENTIONS: Mapping[str, Convention] = MappingProxyType({each.name: each for each in _ALL})
"""All conventions by name, in the order in which they are shown."""
