"""Names and numbers on lines of their own, and numbers in cells of tables."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from treceval_py.grading.claims.naming import is_name, is_ordinary, known_measure, mentions_in
from treceval_py.grading.claims.wording import Whose, is_only_of_others, told_of
from treceval_py.measures.registry import FAMILIES, TEXT

NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,4})?\s*%?"
WHOLE = re.compile(NUMBER, re.ASCII)

SPREAD = r"(?:\s?(?:±|\+/-|\\pm)\s?[\d.,]+\s?%?)?"
_MARKS = r"[*†‡§¶]*"
_IN_CELL = re.compile(
    rf"[~≈]?\s?(?P<number>{NUMBER}){_MARKS}(?P<spread>{SPREAD}){_MARKS}\s?(?P<aside>(?:[(\[][^()\[\]]*[)\]])?){_MARKS}",
    re.ASCII,
)
_WRAPPED = re.compile(r"(?:np|numpy|torch)\.\w+\(|tensor\(")


class Said(NamedTuple):
    """A number given for a measure.

    Attributes
    ----------
    place : str
        Its place, as it follows the name of the file.
    name : str
        The measure, as written.
    number : str
        The number, as written.
    run : str
        The run, system or row that the number is about; empty if not given.
    sure : bool
        Whether the name is certainly that of a measure, even if misspelt.
    loose : bool
        Whether it is in running text, or next to settings. If there are several such numbers for one measure, the right
        one cannot be known.
    """

    place: str
    name: str
    number: str
    run: str = ""
    sure: bool = True
    loose: bool = False


_SUPERSCRIPTS = re.compile("[\u00aa\u00b2\u00b3\u00b9\u00ba\u02b0-\u02ff\u1d2c-\u1d6a\u2070-\u207f]+")
_DASHES = str.maketrans({"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u00b7": "·"})


def folded(text: str) -> str:
    """Return a text with the typographic characters of word processors replaced by plain ones.

    Superscript marks of significance after a number are left out.

    Examples
    --------
    >>> folded("MAP＝0．40¹"), folded("nDCG₁₀")
    ('MAP=0.40', 'nDCG10')
    """
    return " ".join(unicodedata.normalize("NFKC", _SUPERSCRIPTS.sub("", text)).translate(_DASHES).split())


_MARKUP = re.compile(
    r"\*\*|__|`|\$|(?<![^\W_])[*_](?=\w)|(?<=\w)[*_](?![^\W_])|(?<=[\d)])[*†‡]+"
    r"|(?<=\d)\s?\^(?:\{[^{}\d]{0,20}\}|[^\s\d{}.+-]{0,20})(?!\w)"  # marks of significance in LaTeX
)


def plain(text: str) -> str:
    """Return a folded text without the marks for bold and italics."""
    return _MARKUP.sub("", folded(text)).strip()


def whole_number(cell: str) -> str:
    """Return the number of a cell, without its spread and marks; empty if there is none."""
    parts = _IN_CELL.fullmatch(_WRAPPED.sub("", cell).rstrip(")") if _WRAPPED.match(cell) else cell)
    if parts is None or is_only_of_others(parts["aside"]) or parts["number"].startswith("+"):
        return ""
    return parts["number"]


# --- lines that are claims and nothing else ---


_ASIDE = r"(?:\s?[.;,]?\s?(?P<aside>[(\[#].*|//.*)?)"
_SIGN = r"(?P<sign>==|:=|->|=>|[=:≈→⇒])"
_SIGNED = re.compile(rf"(?P<name>.*?[^\s=:≈])\s?{_SIGN}\s?(?P<number>{NUMBER}){SPREAD}{_ASIDE}", re.ASCII)
_NEXT_TO = re.compile(
    rf"(?P<name>.*?[^\s,;.…])\s?(?:[\s,;|]|\.{{2,}}|…|[-–—])\s?(?P<number>{NUMBER}){SPREAD}", re.ASCII
)
_BETWEEN = re.compile(
    r"[;,、]\s?(?=[^\W\d])(?![^(]*\))|\s(?:and|und|et|y|e|\||/|&)\s(?=[^\W\d])|(?<=[\d%])\s?[和与]\s?|\n"
)
_RUN_ON = re.compile(
    rf"([=:≈]\s?{NUMBER})(?<!,)\s(?![^(]*\))(?=(?:[^\W\d][^\s=:≈]*\s){{0,3}}?[^\W\d][^\s=:≈]*\s?[=:≈])", re.ASCII
)
"""A number that is followed by the next name, as in ``MAP=0.28 nDCG=0.55``."""
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_GOES_ON = re.compile(r"[=:≈]\s?-?(?:\d*\.\d|\d,\d\d)|[.?!]\s|\d\s?(?:→|⇒|->|=>)", re.ASCII)
"""A number or the end of a sentence, which cannot be part of a name."""
_ARROWS = ("->", "=>", "→", "⇒")
_ENDS = re.compile(r"\s[.,\d]+\s?%?$")
"""A number at the end of a name: an arrow after it leads from one number to the next."""
_AS_MEASURED = re.compile(r"[.,]\d{3}|%")
_OF_QUERY = re.compile(r"(?<!at)(?<!@) \d+$")
"""A name from trec_eval's output for a single query, such as ``map 301 0.4``."""


_QID = re.compile(r"[^\W\d]{0,8}-?\d+")


def pairs_of(text: str, place: str) -> list[Said] | None:
    """Return the claims of a line that has only names and numbers; None for other lines."""
    fields = text.split(" ")
    if len(fields) == 3 and fields[1] == "all":
        family = FAMILIES.get(fields[0])
        # Text values of trec_eval are not claims.
        if (WHOLE.fullmatch(fields[2]) or is_name(fields[0])) and (family is None or family.kind != TEXT):
            return [Said(place, fields[0], fields[2])]
        return []
    if len(fields) == 3 and _QID.fullmatch(fields[1]) and is_name(fields[0]) and WHOLE.fullmatch(fields[2]):
        return []
    parts = _BETWEEN.split(_RUN_ON.sub(r"\1\n", text))
    pairs = [_assigned(part, place, alone=len(parts) == 1) or _next_to(part, place) for part in parts]
    taken = [pair for pair in pairs if pair is not None]
    left = [part for part, pair in zip(parts, pairs, strict=True) if pair is None]
    if not taken or any(told_of(part) is Whose.OTHERS or any(True for _ in mentions_in(part)) for part in left):
        return None
    if len(parts) > 1 or ("=" not in text and ":" not in text):
        taken = [pair for pair in taken if not is_ordinary(pair.name)]
    settings = any(re.search(r"[=:]\s?[\d.]", part) for part in left)
    return [pair._replace(loose=settings) for pair in taken]


def _assigned(text: str, place: str, *, alone: bool) -> Said | None:
    """Read ``NAME = NUMBER`` or ``NAME: NUMBER``."""
    parts = _SIGNED.fullmatch(text)
    if parts is None:
        name, equals, rest = text.partition("=")
        return (
            Said(place, name, rest)
            if alone and equals and is_name(name) and "(" not in name and _is_bad(name, rest)
            else None
        )
    if is_only_of_others(parts["aside"] or ""):
        return None
    name, sign, number = parts["name"], parts["sign"], parts["number"]
    if _GOES_ON.search(_IN_PARENTHESES.sub("", name)) or (sign in _ARROWS and _ENDS.search(name)):
        return None
    if number.startswith("+"):  # a difference
        return None
    if is_name(name):
        if _is_setting(name, number):
            return None
        # A single letter may name a group or a question. It is a measure only if its number looks like a value; p is a
        # test's.
        if len(name) == 1 and (name == "p" or (sign == ":" and number.isdigit())):
            return None
        return Said(place, name, number)
    # Other names count if they look like a measure's, and their numbers like values.
    if sign == "=" and _AS_MEASURED.search(number) and " " not in name and name != "p" and name[0] not in "Δ∆":
        return Said(place, name, number, sure=False)
    return None


def _is_setting(name: str, number: str) -> bool:
    """Tell whether a number is a whole one that cannot be a mean from 0 to 1, such as a depth or a rank."""
    if not re.fullmatch(r"[2-9]|\d{2,}", number):
        return False
    measure = known_measure(name)
    return measure is None or measure.family.kind != "count"


def _is_bad(name: str, rest: str) -> bool:
    """Tell whether the text in place of a number is meant as one: not a formula, code or a sentence."""
    if len(rest.split()) > 1 and WHOLE.match(rest.strip()):
        return False
    if rest.strip().startswith("="):
        return True
    formula = re.search(r"[(){}|×·Σ∑*^/]", rest) is not None
    return not formula and (any(map(str.isdigit, rest)) or (len(name.strip()) > 1 and not is_ordinary(name)))


def _next_to(text: str, place: str) -> Said | None:
    """Read ``NAME NUMBER`` or ``NAME,NUMBER``, if the number is not a whole one."""
    parts = _NEXT_TO.fullmatch(text)
    if parts is None or not is_name(parts["name"]) or parts["number"].strip("+-").isdigit():
        return None
    if parts["number"].startswith("+") or _GOES_ON.search(_IN_PARENTHESES.sub("", parts["name"])):
        return None
    if _OF_QUERY.search(parts["name"]) or parts["name"].rstrip(" =:") == "p":
        return None
    return Said(place, parts["name"], parts["number"])
