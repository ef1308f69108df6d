"""Match names and numbers of a sentence by the words and signs between them, in several languages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from treceval_py.grading.claims.lines import SPREAD
from treceval_py.grading.claims.naming import known_measure, mentions_in
from treceval_py.grading.claims.wording import either

_INTERVAL = r"(?:\s?[(\[](?:95\s?%\s?)?(?:CI|KI|IC)?[:\s]*\[?[\d.,]+\s?[-–,;]\s?[\d.,]+\]?[)\]])?"
_PERCENT = r"\s?%|\s(?:percent|per\scent|prozent|pour\scent|por\sciento|per\scento)(?!\w)"
_FIGURE = re.compile(
    r"(?<![\w@.,-])(?<![a-zA-Z]/)(?<![<≤≥])(?<![<≤≥]\s)(?<!(?<![-=])>)(?<!(?<![-=])>\s)(?<!\+)"
    r"(?P<number>-?(?:\d{1,3}[.,]\d{1,18}|[.,]\d{2,18})(?:e[+-]?\d{1,2})?|\d{1,3}(?=\s?%))"
    rf"(?P<percent>{_PERCENT})?{SPREAD}{_INTERVAL}"
    r"(?![\d@]|/\w*[^\W\d]|[.,]\d|[a-zäöüß])",
    re.I | re.ASCII,
)
"""A number in a sentence that may be a measure's: with decimals, or a percentage; with its spread."""
_OF_SHARE = re.compile(r"[01]?[.,]\d\d|.*%")
"""A number in the form of a mean from 0 to 1, unlike many numbers of sections, versions and settings."""

_UNITS = r"""
    s ms µs sec(?:ond)?s? min(?:ute)?s? h hours? sekunden? minuten? stunden? secondes? heures? segundos? minutos? horas?
    mb gb kb k x × times mal fois veces queries documents documentos anfragen requêtes points? pp punkte?n? puntos?
"""
_RELATIONS = r"""
    higher lower better worse more less above below over under greater smaller
    improvements? gains? increases? drops?
    decreases? differences? rises? to höher niedriger besser schlechter mehr weniger über unter verbesserung steigerung
    anstieg
    bis supérieure?s? inférieure?s? meilleure? plus moins à más menos mayor menor mejor peor a - –
"""
_NO_VALUE = re.compile(
    rf"(?i)\s?(?:(?:absolute|relative|percentage)\s)?(?:points?\s)?(?:{either(_UNITS)}|{either(_RELATIONS)})(?!\w)"
    r"|\s?(?:秒|分钟|小时|倍|百分点|高|低|的提升|的差|至|到)"
)
"""Text that makes the number before it a time, a count, a difference, or the start of a range."""

_ABOUT = (
    r"(?:(?:about|approximately|approx\.?|roughly|around|exactly|only|just|now|also|thus|therefore|finally|equal|a|the|an"
    r"|at|up|~|≈|ca\.?|circa|rund|etwa|genau|nur|jetzt|environ|exactement|aproximadamente|exactamente|约|大约|仅)\s?){0,2}"
)
_NOUNS = r"""
    scores? values? metrics? measures? results? werte?s? ergebnis valeurs? valor(?:es)? puntuación valore punteggio
    figure
"""
_NOUN = rf"(?:'?s?[\s-](?:{either(_NOUNS)})|(?:得分|分数|值|指标|スコア|の値))?"
_PREPOSITIONS = """
    of for on over across in from with von auf für über bei unserer unseres de du des sur pour avec del en sobre para
    su per van voor op
"""
_FINAL = "finale? totale? overall global moyenne? medi[oa] obtenue? obtenid[oa] obtained achieved resulting average"
_OF_WHAT = rf"(?:\s(?:{either(_FINAL)}))?(?:\s(?:{either(_PREPOSITIONS)})(?:\s[^\W\d]+){{1,6}}?|在[^\W\d]{{1,12}}上)?"
_VERBS = r"""
    of is was are were equals equalled equal\sto (?:is|was)\s(?:found\sto\sbe|measured\s(?:as|at)|equal\sto|at)
    (?:is|was)\scomputed\s(?:as|to\sbe) comes?\s(?:to|out\s(?:at|as)) came\s(?:to|out\s(?:at|as)) reaches reached
    amounts?\sto amounted\sto stands\sat at as turn(?:s|ed)\sout\sto\sbe rose\sto rises\sto increase[sd]\sto
    improve[sd]\sto has\sbeen scores scored reads now
    von ist war sind waren beträgt betrug betragen
    lieg(?:t|en)(?:\s[^\W\d]+){0,3}\sbei lag(?:en)?(?:\s[^\W\d]+){0,3}\sbei
    erreicht(?:e|en)? erzielt(?:e|en)? ergibt ergab mit gleich beläuft\ssich\sauf belief\ssich\sauf bei stieg\sauf
    de (?:est|était|sont|étaient)(?:\sde)? vaut valait valent est\ségale?\sà égale?\sà atteint atteignait atteignent
    s'élève\sà s'établit\sà à
    (?:es|fue|era|son|fueron)(?:\sde)? ha\ssido\sde (?:es\s)?igual\sa alcanza alcanzó alcanzan vale valen llegó\sa
    resultó(?:\sser)?(?:\sde)? asciende\sa
    di è è\sdi era\sdi (?:è\s)?pari\sa è\sstato\sdi é é\sde foi foi\sde foram van bedraagt bedroeg blev är
    составил[аои]? составляет равен равна равно достиг достигает wynosi(?:ł[ao]?)? wyniosło równ[ea] jest był[ao]? je
    bylo olarak =
    和 为 是 达到了? 等于 约为 分别为 分别是 分别达到 可达 は が 은 는
"""
_VERB = f"(?:{either(_VERBS)})"
_RESPECTIVELY = r"(?:\s?(?:respectively|jeweils|respectivement|respectivamente|rispettivamente|分别|各))?"
_CJK = "[\u3040-\u9fff]"
_SIGNS = r"(?:==|:=|->|=>|[=:≈→⇒|~]|\.{2,}|…|[–—]|\s-\s|\?)"
_LINK = re.compile(
    rf"(?i){_NOUN}(?:"
    rf"{_OF_WHAT}{_RESPECTIVELY}(?:\s|(?<={_CJK})|(?={_CJK})|-)?{_VERB}{_RESPECTIVELY}\s?{_ABOUT}"
    rf"|(?:\s?\(?(?:in\s)?%\)?|\))?{_OF_WHAT}\s?{_SIGNS}\s?{_ABOUT}"
    r"|\s)"
)
"""Text between a measure and its number."""
_SIGN_LINK = re.compile(r"[=:≈→⇒]|->|=>")
_ASIDE_LINK = re.compile(r"(?i)(?:[\s-](?:scores?|values?|werte?|valeurs?|valor(?:es)?))?\s?[(\[]\s?(?:[=:≈]\s?)?")
_QUOTED_LINK = re.compile(r"""['"]?\s?[:=,]\s?['"]?(?:(?:np|numpy|torch)\.\w+\(|tensor\()?['"]?""")
_FOR = "in for on as of terms\\sof bei beim für als an de en pour para como di per"
_BEHIND = re.compile(rf"(?i)\s?(?:(?:(?:{either(_FOR)})(?!\w)|的|の)\s?(?:(?:the|der|la|le|el|terms\sof)\s)?)?")
"""Text between a number and its measure, if the number comes first."""
_AND = re.compile(
    r"(?i)\s?(?:[,;/、&|]|(?:,\s?)?(?:and|und|et|y|e|sowie|bzw\.|as\swell\sas|和|与|及|以及|と|и)(?![a-zäöü]))\s?"
    r"(?:(?:the|a|an|einen?|der|die|das|un|une|una|el|la|le|les)\s)?"
)
_RISES = r"""
    rises rose increase[sd] improve[sd] grows grew climbs climbed (?:goes|went)\sup steigt stieg monte passe augmente
    est\spassée? sube subió aumenta aumentó mejora mejoró pasa pasó
"""
_FROM = re.compile(rf"(?i)(?:[\s-](?:scores?|values?|wert))?\s(?:{either(_RISES)})\s(?:from|von|de)\s|\s?从\s?")
_TO = re.compile(r"(?i)(?:\s[(\[][^()\[\]]*[)\]])?\s(?:to|auf|à|a)\s|\s?(?:提升|提高|上升|增加|增长)?[到至]了?\s?")
_ARROW = re.compile(r"\s?(?:→|⇒|➜|-{1,2}>|=>)\s?")
"""Text between the two numbers of a change, the second of which is the student's."""


def has_number(text: str) -> bool:
    """Tell whether a text has a number that may be a measure's."""
    return _FIGURE.search(text) is not None


def is_no_value(behind: str) -> bool:
    """Tell whether the text after a number makes it a time, a difference, or the start of a range."""
    return _NO_VALUE.match(behind) is not None


class _Found(NamedTuple):
    """A name or number in a sentence."""

    begin: int
    end: int
    text: str
    is_name: bool


def _tokens(text: str) -> list[_Found]:
    names = [_Found(*mention, True) for mention in mentions_in(text) if _means_one(mention[2])]
    numbers = []
    for figure in _FIGURE.finditer(text):
        if any(name.begin < figure.end() and figure.start() < name.end for name in names):
            continue
        number = figure["number"] + ("%" if figure["percent"] else "")
        end = figure.end()
        numbers.append(_Found(figure.start(), end, number, False))
    return sorted([*names, *numbers])


@lru_cache(1024)
def _means_one(name: str) -> bool:
    return known_measure(name) is not None


def _groups(text: str, tokens: Sequence[_Found]) -> Iterator[list[_Found]]:
    """Yield lists of names, or of numbers, that are joined in the text."""
    group: list[_Found] = []
    for token in tokens:
        if group and (group[-1].is_name != token.is_name or not _AND.fullmatch(text, group[-1].end, token.begin)):
            yield group
            group = []
        group.append(token)
    if group:
        yield group


class Linked(NamedTuple):
    """A name and its number, with the range of text that holds both, and the text between them."""

    begin: int
    end: int
    name: str
    number: str
    between: str


def linked_in(text: str) -> list[Linked]:
    """Return the matching names and numbers of a sentence."""
    groups = list(_groups(text, _tokens(text)))
    linked: list[Linked] = []
    at = 0
    while at < len(groups) - 1:
        first, second = groups[at], groups[at + 1]
        between = text[first[-1].end : second[0].begin]
        pairs: list[Linked] = []
        last = groups[at + 2][0] if at + 2 < len(groups) else None
        if _FROM.fullmatch(between) and last is not None and _TO.fullmatch(text[second[-1].end : last.begin]):
            linked.append(Linked(first[-1].begin, last.end, first[-1].text, last.text, ""))
            at += 3
            continue
        if first[0].is_name and not second[0].is_name:
            # ``MAP: 0.31 → 0.35``: the last number is the final one.
            while at + 2 < len(groups) and _ARROW.fullmatch(text, second[-1].end, groups[at + 2][0].begin):
                second = groups.pop(at + 2)
                groups[at + 1] = second
            pairs = _named_first(text, first, second, between)
        elif not first[0].is_name and second[0].is_name:
            pairs = _numbered_first(text, first, second, between, groups[at + 2 : at + 3])
        # ``0.4 MAP, 0.5 nDCG``: a surplus name at the end, or number at the beginning, may belong elsewhere.
        if not pairs:
            at += 1
            continue
        linked += pairs
        rest = second[len(pairs) :] if first[0].is_name else []
        at += 2
        if rest:
            at -= 1
            groups[at] = rest
    return linked


def _named_first(text: str, names: list[_Found], numbers: list[_Found], between: str) -> list[Linked]:
    signed = _SIGN_LINK.search(between) is not None
    aside = _ASIDE_LINK.fullmatch(between) is not None and text[numbers[0].end : numbers[0].end + 1] in ")],;"
    quoted = text[names[-1].begin - 1 : names[-1].begin] in ("'", '"') and names[-1].begin > 0
    link = _LINK.fullmatch(between) is not None or aside or (quoted and _QUOTED_LINK.fullmatch(between) is not None)
    if not link:
        return []
    if (not between.strip() or names[-1].text.islower()) and not _OF_SHARE.match(numbers[0].text):
        return []
    if len(names) != len(numbers):
        several = len(names) == 1 and len(numbers) > 2  # for several runs or queries
        if several or (len(names) > 1 and not (signed or aside)):
            return []
        names, numbers = names[-1:], numbers[:1]
    return [
        Linked(names[0].begin, numbers[-1].end, name.text, number.text, between)
        for name, number in zip(names, numbers, strict=True)
    ]


def _numbered_first(
    text: str, numbers: list[_Found], names: list[_Found], between: str, following: Sequence[Sequence[_Found]]
) -> list[Linked]:
    aside = re.fullmatch(r"\s?[(\[]\s?", between) and text[names[0].end : names[0].end + 1] in (")", "]")
    if not (aside or _BEHIND.fullmatch(between)):
        return []
    # A number before a measure may also be that of a section.
    if not aside and not all(_OF_SHARE.match(number.text) for number in numbers):
        return []
    if not aside and following and not following[0][0].is_name and len(names) == 1:
        # ``0.31, MAP = 0.4``: the name has another number.
        after = text[names[-1].end : following[0][0].begin]
        if _SIGN_LINK.search(after) or re.fullmatch(rf"(?i)\s{_VERB}\s", after):
            return []
    if len(names) != len(numbers):
        if min(len(names), len(numbers)) > 1 and not aside:
            return []
        names, numbers = names[:1], numbers[-1:]
    return [
        Linked(numbers[0].begin, names[-1].end, name.text, number.text, between)
        for name, number in zip(names, numbers, strict=True)
    ]
