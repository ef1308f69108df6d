"""Claims and evidence: the numbers that students give for measures, in a table of the class or in their submissions.

A *claim* is declared: in the table of the class, in a file of claims, or in a file that has nothing but names and
numbers. Every other number is evidence, which can give points at most, and never takes any. Nothing here asks whose
number it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from treceval_py.data.ids import LONGEST_SHOWN
from treceval_py.errors import MeasureError, UnknownMeasureError, brief, visible
from treceval_py.explaining.explanation import MOST_DIGITS, Claim
from treceval_py.grading.claims.documents.document import Document
from treceval_py.grading.claims.naming import LONGEST_NAME, measure_named
from treceval_py.grading.claims.numbers import WHOLE, folded, numbers_in
from treceval_py.measuring import Measure
from treceval_py.measuring.notation import meant_by

MOST_CLAIMS = 200
"""Most numbers of a submission that are read, the declared ones first."""

SHOWN, WRITTEN, DECLARED = range(3)
"""How a number stands: in words or with a label; in a form without words, in a document that has others; declared."""

_LONGEST = 400


class Claimed(NamedTuple):
    """A number that a student gives, or the text in its place.

    Attributes
    ----------
    claim : Claim or None
        The claim; None if it could not be read.
    measure : str
        The measure, as written.
    text : str
        The number, as written.
    place : str
        Its place, such as ``claims.csv:4``.
    fault : str
        Why it could not be read, or that reading stopped after it; without a full stop, empty otherwise.
    run : str
        The run, system, query or row that the number is about; empty if not given.
    weight : int
        `DECLARED`, `WRITTEN` or `SHOWN`.
    sentence : str
        The sentence or row that it stands in.
    """

    claim: Claim | None
    measure: str
    text: str
    place: str
    fault: str = ""
    run: str = ""
    weight: int = DECLARED
    sentence: str = ""


def shown(text: str) -> str:
    """Return somebody's text in a form fit to show: short, and with control characters made visible."""
    return brief(text, LONGEST_SHOWN + 1)


# --- a number ---

_PARTS = re.compile(r"(?P<plain>[+-]?[\d.,]+)(?:[eE](?P<power>[+-]?\d+))?\s*(?P<percent>%?)", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+", re.ASCII)


def claimed(name: str, number: str, place: str, run: str = "") -> Claimed:
    """Return the claim that a name and a number make, or the reason if they make none."""
    unread = Claimed(None, shown(name.strip()), shown(number.strip()), place, run=run)
    try:
        return unread._replace(claim=_claim(measure_named(name), number))
    except UnknownMeasureError:
        near = meant_by(name.strip()[:LONGEST_NAME])
        return unread._replace(fault=f"'{unread.measure}' is not a measure" + (f"; is {near} meant?" * bool(near)))
    except MeasureError as error:
        return unread._replace(fault=visible(error.what[:_LONGEST]))


def _claim(measure: Measure, written: str) -> Claim:
    """Read the number of a claim.

    Raises
    ------
    MeasureError
        The text is not a number.
    """
    text = folded(written)
    if measure.family.kind == "count" and _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not text:
        raise MeasureError("there is no number")
    parts = _PARTS.fullmatch(text) if WHOLE.fullmatch(text) else None
    if parts is None:
        raise MeasureError(f"'{shown(text)}' is not a number")
    plain, power = parts["plain"].replace(",", "."), int(parts["power"] or 0)
    decimals = len(plain.partition(".")[2])
    if max(decimals, len(plain) - decimals - 1) > MOST_DIGITS or power > MOST_DIGITS:
        raise MeasureError(f"'{shown(text)}' has more digits than a number can have")
    digits = min(max(decimals - power, 0), MOST_DIGITS)
    return Claim(measure, shown(written.strip()), float(f"{plain}e{power}"), digits, percent=bool(parts["percent"]))


# --- what was handed in ---

_FILE = re.compile(r"(?i)(^|/)claims\.(csv|tsv|json|toml)$")
"""Names of files in which every number is declared, except in words."""


def claims_of(
    document: Document, name: str, runs: Collection[str] = (), queries: Collection[str] = ()
) -> list[Claimed]:
    """Find the numbers beside names of measures in a submitted document.

    Parameters
    ----------
    document : Document
        The document.
    name : str
        The document's name in places. In ``claims.csv``, ``.tsv``, ``.json`` and ``.toml`` all are declared.
    runs : collection of str
        Names and tags of the submitted runs. A row of a table with one of these names needs no words either.
    queries : collection of str
        The judged queries; rows of theirs are shown, and take the meaning from no other row.

    Returns
    -------
    list of Claimed
        The declared numbers first; of more than `MOST_CLAIMS`, one more.
    """
    of_claims = _FILE.search(name) is not None
    own = {run.casefold() for run in runs}
    said, alone, printed = numbers_in(document, declared=of_claims)
    if len(printed) == 1 and not {run.casefold() for run in printed} & own:
        # Probably of the student's run under another tag; a number that is not will be a question.
        own |= {run.casefold() for run in printed}
        alone = False
    read = []
    for number in said:
        others = [label for label in number.labels if label.casefold() not in own]
        of_query = bool(others) and all(label in queries for label in others)
        plain = number.plain and (of_claims or not others)
        alone = alone and (plain or of_query)
        read.append((plain, number, shown(" ".join(others if of_query else number.labels))))
    in_form = DECLARED if alone or of_claims else WRITTEN
    return [
        claimed(number.name, number.number, f"{shown(name)}{number.place}", run)._replace(
            weight=in_form if plain else SHOWN, sentence=visible(" ".join(number.sentence.split())[:_LONGEST])
        )
        for plain, number, run in sorted(read, key=lambda one: not one[0])[: MOST_CLAIMS + 1]
    ]
