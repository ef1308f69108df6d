"""Find the measure meant by a name written by hand: with other cases and spaces, or in full words."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from treceval_py.errors import MeasureError, UnknownMeasureError
from treceval_py.measuring import FAMILIES, Measure, parse_measures

LONGEST_NAME = 100

_IN_FULL = {
    "AP": "average precision, mean average precision, mean ap, mittlere durchschnittliche präzision, "
    "précision moyenne, précision moyenne moyenne, moyenne des précisions moyennes, precisión media, "
    "precisión media promedio, precisión promedio media, media de la precisión promedio, 平均精度均值, "
    "平均准确率均值, 平均精度",
    "RR": "reciprocal rank, mean reciprocal rank, mean rr, rang réciproque moyen, rango recíproco medio, "
    "mittlerer reziproker rang, 平均倒数排名",
    "nDCG": "normalized discounted cumulative gain, normalised discounted cumulative gain, mean ndcg, "
    "归一化折损累计增益, 归一化折损累积增益",
    "DCG": "discounted cumulative gain",
    "Rprec": "r precision",
    "P": "mean precision, prec, präzision, précision, precisión, 精确率, 准确率",
    "R": "mean recall, rec, rappel, trefferquote, exhaustividad, richiamo, 召回率",
    "Success": "hit, hits, hit rate, success rate",
    "ERR": "expected reciprocal rank",
    "GMAP": "geometric mean average precision",
}
"""Full names of measures; here hits mean a hit rate, not a count as in ranx."""

_WORDS = {words: name for name, every in _IN_FULL.items() for words in every.split(", ")}

_ORDINARY = """
    g q p r f f1 n runid relstring utility judged hole inst insq compat unj hits hit success accuracy recall precision
    prec rec arp auc bing opa bpm rcap fallout
"""
"""Names that are also words or letters; in a sentence they mean a measure only with a cutoff."""

_CUTOFF = (
    r"(?:\s?@\s?\d{1,6}|[_-]?(?:cut_?)?\d{1,6}(?![.,%\d])|[\s-](?:at|bei|à|en)[\s-](?:rank\s|cut-?off\s)?\d{1,6}"
    r"|_at_\d{1,6}|\s\d{1,4}(?=\s?[=:]|\s(?:of|is|was|von|de)\s)|\s?\(k\s?=\s?\d{1,6}\)|\s?\((?:@|top\s)\d{1,6}\))"
)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s_-]+", "", text.lower())


_SQUEEZED_WORDS = frozenset(map(_squeezed, _WORDS))


class _Vocabulary(NamedTuple):
    """The names as they are written, each squeezed one with the spelling that is read, and a pattern for sentences."""

    written: frozenset[str]
    names: Mapping[str, str]
    mentions: re.Pattern[str]


def _known() -> _Vocabulary:
    return _vocabulary(len(FAMILIES))


@cache
def _vocabulary(families: int) -> _Vocabulary:  # noqa: ARG001 - plug-ins can add measures; then it is made again
    notations = [name for family in FAMILIES.values() for name in family.notation]
    # A notation also names the measure with a cutoff; trec_eval's name of the family does not.
    names = {_squeezed(name): name for name in (*FAMILIES, *notations)}
    names |= {_squeezed(words): name for words, name in _WORDS.items()}
    written = frozenset((*FAMILIES, *notations))
    spellings = {re.sub(r"[\s_-]+", " ", name.lower()) for name in (*_WORDS, *written) if not name[-1].isdigit()}
    longest_first = sorted(spellings, key=lambda name: (-len(name), name))
    spelled = "|".join(re.escape(name).replace(r"\ ", r"[\s_-]?") for name in longest_first)
    before, after = r"(?<![a-zA-Z0-9_@äöüßéèêáíóúñ.-])", r"(?![a-zA-Z0-9_@äöüßéèêáíóúñ]|[.,]\d|\.\w|-\d)"
    parameters = r"(?:\((?:rel|gain|discount|norm|beta|T|p|max_rel)=[^()]{1,40}\))?"
    mentions = re.compile(f"(?i){before}(?P<name>{spelled}){parameters}(?P<cutoff>{_CUTOFF})?{after}")
    return _Vocabulary(written, names, mentions)


_INNER = re.compile(r"[(\[]([^()=\[\]]*)[)\]]")
_ABBREVIATION = re.compile(rf"\s*{_INNER.pattern}")
_DECORATION = re.compile(
    r"[↑↓▲▼*†‡]+|\s+(?:in )?%|\s?[(\[](?:in )?%[)\]]"
    r"|(?<=\w\w)[\s-]+(?:scores?|values?|werte?|valeurs?|valore?s?)(?=\s|$)|(?:得分|分数|值)$",
    re.I,
)
"""Decoration of names in tables: arrows, asterisks, ``MAP score``."""

_SPOKEN_CUTOFF = re.compile(
    r"(?P<name>.*?[^\d\s@_-])(?:[\s@_-]*(?:(?<![a-z])(?:at|bei|à|en|cut(?:-?off)?|top|\(?k\s?=)[\s_-]*)?(?:rank\s)?(?P<cutoff>\d{1,18})\)?)?",
    re.I,
)
_OF_PROGRAM = re.compile(
    r"[^\s@]+@\d+$|\S+_at_\d+|[Rr]etrieval_?[A-Za-z]|metric/\S+|\w+:(top|type|border|denominator)=|\S+-l\d+$|\w+_burges"
)
"""Forms of names in other programs, which prose does not have."""


def is_name(text: str) -> bool:
    """Tell whether a text begins like the name of a measure; fast, since most texts do not."""
    text = _DECORATION.sub("", text).strip() if len(text.strip()) <= LONGEST_NAME else ""
    if not text:
        return False
    stem = _squeezed(re.split(r"[(\[@.=]", text, maxsplit=1)[0])
    bare, names = stem.rstrip("0123456789"), _known().names
    if stem in names or bare in names or bare.removesuffix("at") in names:
        return True
    said = _SPOKEN_CUTOFF.fullmatch(text)
    if said is not None and _squeezed(said["name"]) in names:
        return True
    if _OF_PROGRAM.match(text) is not None:
        with contextlib.suppress(MeasureError):
            return bool(parse_measures(text))
    return False


def measure_named(text: str) -> Measure:
    """Return the measure of a name in any notation, in any case, or in words: ``MAP``, ``ndcg@10``, ``precision at 5``.

    Raises
    ------
    UnknownMeasureError
        The name is unknown.
    MeasureError
        The measure lacks a cutoff, has one that it does not take, or the name stands for several measures.

    Examples
    --------
    >>> measure_named("Mean Average Precision").notation, measure_named("ndcg@10").notation
    ('AP', 'nDCG@10')
    """
    measure = _read(text)
    if isinstance(measure, MeasureError):
        raise measure.with_traceback(None)
    return measure


def known_measure(text: str) -> Measure | None:
    """Return the measure of a name like `measure_named`; None if there is none."""
    measure = _read(text)
    return None if isinstance(measure, MeasureError) else measure


@lru_cache(4096)
def _read(text: str) -> Measure | MeasureError:
    name = " ".join(_DECORATION.sub("", text).split())
    if not is_name(name):
        return UnknownMeasureError(f"'{name[:40]}' is not a measure")
    bare = _ABBREVIATION.sub("", name)
    measure = _spoken(bare, name)
    # Only one of two names of a measure may have the cutoff.
    for other in map(known_measure, _INNER.findall(name) if bare != name else ()):
        if other is not None and (isinstance(measure, MeasureError) or other.family.uncut is measure.family):
            return other
    return measure


def _spoken(text: str, name: str) -> Measure | MeasureError:
    said = _SPOKEN_CUTOFF.fullmatch(text)
    words, known = said["name"] if said else "", _known()
    meant = known.names.get(_squeezed(words))
    try:
        if said is None or meant is None:
            return _only(name)
        # People and programs mean different things by some names: hits are a count in ranx.
        if words in known.written and _squeezed(words) not in _SQUEEZED_WORDS:
            with contextlib.suppress(MeasureError):
                return _only(name)
        return _only(meant if said["cutoff"] is None else f"{meant}@{said['cutoff']}")
    except MeasureError as error:
        return error


def _only(name: str) -> Measure:
    (measure, *more) = parse_measures(name)
    if more:
        raise MeasureError(f"{name} stands for {1 + len(more)} measures", f"Name one, such as {measure.name}.")
    return measure


def is_label(text: str) -> bool:
    """Tell whether a table cell is only the name of a measure, even if a cutoff is missing."""
    measure = _read(text)
    if isinstance(measure, UnknownMeasureError) or "=" in _ABBREVIATION.sub("", re.sub(r"\([^()]*\)", "", text)):
        return False
    return isinstance(measure, Measure) or not re.search(r"\s[\d.,]+\s*%?$", text)


# --- names within sentences ---


def is_ordinary(name: str) -> bool:
    """Tell whether a name is a word or letter that means a measure only with a cutoff, and has none."""
    return _squeezed(_DECORATION.sub("", name)) in _ORDINARY.split()


_AGAIN = re.compile(r"\s?[(\[]([^()\[\]]{1,40})[)\]]")
"""An aside, which may be another name of the same measure."""


def mentions_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the measures named in a sentence, as begin, end and name; words that need a cutoff count only with one.

    Examples
    --------
    >>> list(mentions_in("a MAP of 0.3, and P@10 is higher"))
    [(2, 5, 'MAP'), (18, 22, 'P@10')]
    """
    end = 0
    for mention in _known().mentions.finditer(text):
        name = mention.group()
        if mention.start() < end or is_ordinary(name) or (len(mention["name"]) < 3 and mention["name"].islower()):
            continue
        begin, end = mention.span()
        again = _AGAIN.match(text, end)
        if again is not None and is_name(again[1]):
            # Only one of the two names may have the cutoff.
            name, end = name if known_measure(again[1]) is None else again[1], again.end()
        yield begin, end, name
