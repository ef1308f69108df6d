"""Numbers of measures in sentences that are the student's own, and Python's output between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from treceval_py.grading.claims.documents.document import Grid, Line
from treceval_py.grading.claims.lines import Said
from treceval_py.grading.claims.linking import Linked, has_number, is_no_value, linked_in
from treceval_py.grading.claims.printed import printed_in, tables_of
from treceval_py.grading.claims.wording import (
    Whose,
    either,
    is_change,
    is_cited,
    is_example,
    is_of_collection,
    is_only_of_others,
    is_spread,
    is_standard,
    pieces_of,
    told_of,
    whose,
)


class _Text(NamedTuple):
    """The lines of a paragraph, with the position of each."""

    text: str
    starts: tuple[int, ...]
    places: tuple[str, ...]

    def place(self, at: int) -> str:
        """Return the place of the line with a character."""
        return self.places[max(number for number, start in enumerate(self.starts) if start <= at)]


def _joined(lines: Sequence[Line]) -> _Text:
    starts, parts, at = [], [], 0
    for line in lines:
        starts.append(at)
        parts.append(line.text)
        at += len(line.text) + 1
    return _Text(" ".join(parts), tuple(starts), tuple(line.place for line in lines))


_ABBREVIATED = (
    r"(?<!al\.)(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!ca\.)(?<!Fig\.)(?<!Sec\.)(?<!Tab\.)(?<!z\.\sB\.)(?<!z\.B\.)(?<!No\.)"
)
_SENTENCES = re.compile(
    rf"(?<=[.!?])(?<!\d\d\.){_ABBREVIATED}\s+(?=[^\sa-z\d])|(?<=\d\.)\s+(?=[A-ZÄÖÜÀÉ¿¡][a-zäöüßàé]+\s)"
    r"|(?<=[a-zäöüéó]{4}\.)\s+(?=[^\s\d])|[。!?](?=.)(?!\s?\.?\d)|\s[•▪]\s"
)
_LONGEST_SENTENCE = 1000


def said_in_prose(lines: Sequence[Line]) -> Iterator[Said | Grid]:
    """Yield the claims of a paragraph: numbers, and tables in Python's output.

    Parameters
    ----------
    lines : sequence of Line
        Its lines, in the form that `plain` returns.
    """
    whole = _joined(lines)
    text = whole.text
    printed = list(printed_in(text))
    yield from tables_of(text, printed, whole.place)
    for begin, end in printed:
        text = text[:begin] + " " * (end - begin) + text[end:]
    begin, state = 0, Whose.UNSAID
    for sentence in [*_SENTENCES.finditer(text), None]:
        end = sentence.start() if sentence else len(text)
        part = text[begin : min(end, begin + _LONGEST_SENTENCE)]
        state = state if _PRONOUN.match(part) else Whose.UNSAID
        for pair, named in _in_sentence(part, state) if has_number(part) else ():
            yield Said(whole.place(begin + pair.begin), pair.name, pair.number, named, loose=True)
        state = whose(part, Whose.UNSAID)
        begin = sentence.end() if sentence else end


_DOES = r"""
    has had reach\w* achiev\w* obtain\w* got gets scores?d? reports? yields? gives? erreicht\w* erzielt\w* obtient
    atteint obtiene alcanza
"""
_HAS_OWN_NAME = re.compile(
    r"[^\W\d_]+[A-Z][a-z]*[A-Z\d]?|(?<!\w)[A-Z][A-Za-z]*\d+|(?<!\w)[A-Z]{2,}(?!\w)"
    r"|(?<!\w)[A-Z][^\W\d_]+(?:'s|s')(?!\w)"
    rf"|(?<!\w)[A-Z][a-z]+(?=\s(?:{either(_DOES)}))"
)
"""The name of a system or a person that the number may be about."""
_COMMON = r"""
    TREC(?:[\s_-]?eval)?(?:'s)? (?:py)?trec_?eval(?:'s|\w*)
    py[-_]?terrier ir_measures ir_datasets ranx NIST CLEF IR pandas numpy
    Python PDF LaTeX OK NB USA VM GPU CPU API We It This That The These Our My I It's That's System Run Model Evaluation
    Search Retrieval Ranking Reranking Re-ranking Approach Method Results? Pipeline Experiment Test
    Wir Ich Das Der Die Es Unser Mein Lauf Nous Il Elle Je Cela Le La El Esto Ella
"""
_OF_NOBODY = re.compile(rf"(?i)(?<!\w)(?:{either(_COMMON)})(?![\w'])")
"""Words that look like names, but do not attribute a number to somebody else."""
_NAMED_RUN = re.compile(
    r"(?i)(?<!\w)(?:run|system|model|lauf|système|sistema|modelo|modèle|modell)\s?(?:#|no\.?\s|nr\.?\s)?"
    r"(?P<label>(?-i:[A-Z0-9])[\w.+-]{0,30}|\"[^\"]{1,30}\")(?!\s(?:queries|topics|documents))"
    r"|(?:运行|系统|模型)\s?(?P<sign>[A-Z0-9]\w{0,30})"
)
_PRONOUN = re.compile(
    r"(?i)\s*(?:it|its|they|their|he|she|his|her|dessen|deren|sein\w*|ihr\w*|er|il|elle|son|sa|ses|leur|su|sus|其|它|他)(?!\w)"
)
_ASIDE_BEFORE = re.compile(
    rf"([(\[][^()\[\]]*[)\]])[\s:,–—-]*(?:{either(_DOES)})?(?:\s(?:an?|the))?\s*$", re.IGNORECASE
)
_IN_PAPER = re.compile(r"\s(?:in|by|from|of|von|bei|de|chez)\s")
_LONGEST_NAME = 40
_AFTER = re.compile(
    r"(?<!\w)\d{1,3}[.,]\d|[,;:(\[—–]|\s-\s|(?<!\w)(?:and|und|et|y|while|whereas|but|compared|während|aber|tandis|mais|mientras|pero)(?!\w)|而|但"
)


def _in_sentence(text: str, state: Whose) -> Iterator[tuple[Linked, str]]:
    """Yield the numbers of a sentence that are about the student's run, or about runs that it names."""
    if is_example(text):
        return
    linked = linked_in(text)
    end, named = 0, ""
    for number, pair in enumerate(linked):
        before = text[end : pair.begin]
        shared = number and linked[number - 1][:2] == pair[:2]
        if not shared:
            others = is_cited(before) or told_of(_aside_before(before)) is Whose.OTHERS
            state = Whose.OTHERS if others else whose(_without_asides(before) + "\0", state)
            named = named_in(before) or ("" if told_of(before) is Whose.OWN else named)
            unknown = state is not Whose.OWN and (
                is_standard(before) or is_of_collection(before) or _has_own_name(before)
            )
            after = _AFTER.split(text[pair.end :], maxsplit=1)[0]
            change = _changes(text, pair)
        told = _told_beside(pair.between, after)
        cited = _IN_PAPER.match(text, pair.end) is not None and is_cited(text[pair.end : pair.end + _LONGEST_NAME])
        if (
            cited
            or state is Whose.OTHERS
            or told is Whose.OTHERS
            or change
            or is_only_of_others(_aside_at(text, pair.end))
        ):
            pass
        elif (unknown or _has_own_name(pair.between)) and not named and told is not Whose.OWN:
            state = Whose.OTHERS
        else:
            yield pair, named
        end = pair.end


def _told_beside(between: str, after: str) -> Whose:
    """Return the owner of a number, from the words between it and its measure, and after it."""
    told = {told_of(between), told_of(after)}
    return next((owner for owner in (Whose.OTHERS, Whose.OWN) if owner in told), Whose.UNSAID)


def _without_asides(text: str) -> str:
    return re.sub(r"\([^()]*\)", " ", text)


def _aside_at(text: str, at: int) -> str:
    aside = re.compile(r"\s?([(\[][^()\[\]]*[)\]])").match(text, at)
    return aside[1] if aside else ""


def _aside_before(text: str) -> str:
    """Return the aside about the owner of the measure after it, as in ``BM25 (baseline): MAP``."""
    aside = _ASIDE_BEFORE.search(text)
    return aside[1] if aside else ""


def named_in(text: str) -> str:
    """Return the last run, system or model that a text names; empty if there is none."""
    labels = [run["label"] or run["sign"] for run in _NAMED_RUN.finditer(text)]
    return labels[-1].strip('"') if labels else ""


def _has_own_name(text: str) -> bool:
    """Tell whether the last piece of a text names a system or person that the number may be about."""
    piece = re.sub(r"\w+\($", "", pieces_of(_without_asides(text))[-1])  # Python's output of an object
    return _HAS_OWN_NAME.search(_OF_NOBODY.sub(" ", piece)) is not None


def _changes(text: str, pair: Linked) -> bool:
    """Tell whether a number is a difference, a spread, a time or a test result, not the measure itself."""
    behind = text[pair.end : pair.end + 40]
    if is_no_value(behind):
        return True
    piece = pieces_of(text[: pair.begin])[-1]
    words = re.sub(r"[('\"\[{]", " ", piece).split()[-5:]
    return (
        is_spread(piece + pair.between)
        or is_change(pair.between)
        or is_change(" ".join(words))
        or bool(re.search(r"(?:提升|提高|下降|差异|增加|改进)了?\s?$|(?:(?<![-=])>|[<≤≥Δ])\s?$", piece))
    )
