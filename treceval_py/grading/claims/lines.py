"""Names and numbers that belong together in lines of a text: on a line of their own, in a sentence, or in what Python prints."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from treceval_py.errors import MeasureError
from treceval_py.grading.claims.documents.document import MOST_COLUMNS, Grid, Line, Row
from treceval_py.grading.claims.naming import is_name, is_ordinary, measure_named, mentions_in
from treceval_py.grading.claims.wording import (
    Whose,
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
from treceval_py.measures.registry import FAMILIES, TEXT

__all__ = ["WHOLE", "Said", "folded", "has_number", "named_in", "pairs_of", "plain", "said_in_prose", "whole_number"]

NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,4})?\s*%?"
WHOLE = re.compile(NUMBER, re.ASCII)

_SPREAD = r"(?:\s?(?:±|\+/-|\\pm)\s?[\d.,]+\s?%?)?"
_MARKS = r"[*†‡§¶]*"
_IN_CELL = re.compile(
    rf"[~≈]?\s?(?P<number>{NUMBER}){_MARKS}(?P<spread>{_SPREAD}){_MARKS}\s?(?P<aside>(?:[(\[][^()\[\]]*[)\]])?){_MARKS}",
    re.ASCII,
)
_WRAPPED = re.compile(r"(?:np|numpy|torch)\.\w+\(|tensor\(")


class Said(NamedTuple):
    """A number that is said of a measure.

    Attributes
    ----------
    place : str
        Where, as it follows the name of the file.
    name : str
        The measure, as it is written.
    number : str
        The number, as it is written.
    run : str
        The run, system or row of which it is said; empty where that is not said.
    sure : bool
        Whether the name is surely that of a measure, perhaps with a mistake in it.
    loose : bool
        Whether it stands in running text, or beside settings. Of several such numbers for one measure nobody can tell
        which is meant.
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
    """Return a text with the characters that programs for texts put in place of plain ones made plain again.

    Marks of significance that stand behind a number, in superscript, are left out.

    Examples
    --------
    >>> folded("MAP＝0．40¹"), folded("nDCG₁₀")
    ('MAP=0.40', 'nDCG10')
    """
    return " ".join(unicodedata.normalize("NFKC", _SUPERSCRIPTS.sub("", text)).translate(_DASHES).split())


_MARKUP = re.compile(r"\*\*|__|`|\$|(?<![^\W_])[*_](?=\w)|(?<=\w)[*_](?![^\W_])|(?<=[\d)])[*†‡]+")


def plain(text: str) -> str:
    """Return a folded text without what makes it bold or slanted."""
    return _MARKUP.sub("", folded(text)).strip()


def whole_number(cell: str) -> str:
    """Return the number of a cell, without its spread and marks; empty where there is none."""
    found = _IN_CELL.fullmatch(_WRAPPED.sub("", cell).rstrip(")") if _WRAPPED.match(cell) else cell)
    if found is None or is_only_of_others(found["aside"]) or found["number"].startswith("+"):
        return ""
    return found["number"]


# --- lines that are claims and nothing else ---


_ASIDE = r"(?:\s?[.;,]?\s?(?P<aside>[(\[#].*|//.*)?)"
_SIGN = r"(?P<sign>==|:=|->|=>|[=:≈→⇒])"
_SIGNED = re.compile(rf"(?P<name>.*?[^\s=:≈])\s?{_SIGN}\s?(?P<number>{NUMBER}){_SPREAD}{_ASIDE}", re.ASCII)
_NEXT_TO = re.compile(
    rf"(?P<name>.*?[^\s,;.…])\s?(?:[\s,;|]|\.{{2,}}|…|[-–—])\s?(?P<number>{NUMBER}){_SPREAD}", re.ASCII
)
_BETWEEN = re.compile(
    r"[;,、]\s?(?=[^\W\d])(?![^(]*\))|\s(?:and|und|et|y|e|\||/|&)\s(?=[^\W\d])|(?<=[\d%])\s?[和与]\s?|\n"
)
_RUN_ON = re.compile(
    rf"([=:≈]\s?{NUMBER})(?<!,)\s(?![^(]*\))(?=(?:[^\W\d][^\s=:≈]*\s){{0,3}}?[^\W\d][^\s=:≈]*\s?[=:≈])", re.ASCII
)
"""A number behind which the next name begins: ``MAP=0.28 nDCG=0.55``."""
_AS_MEASURED = re.compile(r"[.,]\d{3}|%")
_OF_QUERY = re.compile(r"(?<!at)(?<!@) \d+$")
"""As trec_eval prints the value of a single query: ``map 301 0.4``."""


_QID = re.compile(r"[^\W\d]{0,8}-?\d+")


def pairs_of(text: str, place: str) -> list[Said] | None:
    """Return what a line says that has names and numbers and nothing else; None for other lines."""
    fields = text.split(" ")
    if len(fields) == 3 and fields[1] == "all":
        family = FAMILIES.get(fields[0])
        # What trec_eval prints as text is no claim.
        if (WHOLE.fullmatch(fields[2]) or is_name(fields[0])) and (family is None or family.kind != TEXT):
            return [Said(place, fields[0], fields[2])]
        return []
    if len(fields) == 3 and _QID.fullmatch(fields[1]) and is_name(fields[0]) and WHOLE.fullmatch(fields[2]):
        return []
    parts = _BETWEEN.split(_RUN_ON.sub(r"\1\n", text))
    found = [_assigned(part, place, alone=len(parts) == 1) or _next_to(part, place) for part in parts]
    taken = [each for each in found if each is not None]
    left = [part for part, each in zip(parts, found, strict=True) if each is None]
    if not taken or any(told_of(part) is Whose.OTHERS or any(True for _ in mentions_in(part)) for part in left):
        return None
    if len(parts) > 1 or "=" not in text and ":" not in text:
        taken = [each for each in taken if not is_ordinary(each.name)]
    settings = any(re.search(r"[=:]\s?[\d.]", part) for part in left)
    return [each._replace(loose=settings) for each in taken]


def _assigned(text: str, place: str, *, alone: bool) -> Said | None:
    """Read ``NAME = NUMBER`` or ``NAME: NUMBER``."""
    found = _SIGNED.fullmatch(text)
    if found is None:
        name, equals, rest = text.partition("=")
        return (
            Said(place, name, rest)
            if alone and equals and is_name(name) and "(" not in name and _is_bad(rest)
            else None
        )
    if is_only_of_others(found["aside"] or ""):
        return None
    name, sign, number = found["name"], found["sign"], found["number"]
    if number.startswith("+"):  # a difference
        return None
    if is_name(name):
        if _is_setting(name, number):
            return None
        # A letter alone, as of a group or a question, is a measure only where the number looks like one; p is a test's.
        if len(name) == 1 and (name == "p" or (sign == ":" and number.isdigit())):
            return None
        return Said(place, name, number)
    # Of other names those count that look like a measure's, with a number as measures have it.
    if sign == "=" and _AS_MEASURED.search(number) and " " not in name and name != "p" and name[0] not in "Δ∆":
        return Said(place, name, number, sure=False)
    return None


def _is_setting(name: str, number: str) -> bool:
    """Tell whether a number is a whole one that a mean from 0 to 1 cannot have, as a depth or a rank is."""
    if not re.fullmatch(r"[2-9]|\d{2,}", number):
        return False
    try:
        return measure_named(name).family.kind != "count"
    except MeasureError:
        return True


def _is_bad(rest: str) -> bool:
    """Tell whether what stands in place of a number is one that cannot be read, and not the beginning of a sentence."""
    return len(rest.split()) < 2 or not WHOLE.match(rest.strip())


def _next_to(text: str, place: str) -> Said | None:
    """Read ``NAME NUMBER`` or ``NAME,NUMBER``, where the number is no whole one."""
    found = _NEXT_TO.fullmatch(text)
    if found is None or not is_name(found["name"]) or found["number"].strip("+-").isdigit():
        return None
    if found["number"].startswith("+"):
        return None
    if _OF_QUERY.search(found["name"]) or found["name"] == "p":
        return None
    return Said(place, found["name"], found["number"])


# --- sentences ---


class _Text(NamedTuple):
    """Lines that belong together, with where each begins."""

    text: str
    starts: tuple[int, ...]
    places: tuple[str, ...]

    def place(self, at: int) -> str:
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
    rf"(?<=[.!?])(?<!\d\d\.){_ABBREVIATED}\s+(?=[^\sa-z\d])|(?<=\d\.)\s+(?=[A-ZÄÖÜÀÉ¿¡][a-zäöüßàé]+\s)|(?<=[a-zäöüéó]{{4}}\.)\s+(?=[^\s\d])|[。!?](?=.)|\s[•▪]\s"
)

_FIGURE = re.compile(
    rf"(?<![\w@.,-])(?<![a-zA-Z]/)(?<![<>≤≥])(?<![<>≤≥]\s)(?<!\+)(?P<number>-?(?:\d{{1,3}}[.,]\d{{1,18}}|[.,]\d{{2,18}})(?:e[+-]?\d{{1,2}})?|\d{{1,3}}(?=\s?%))"
    r"(?P<percent>\s?%|\s(?:percent|per\scent|prozent|pour\scent|por\sciento|per\scento)(?!\w)|(?=\s?\w?\s?百分))?"
    rf"(?P<spread>{_SPREAD})(?P<interval>(?:\s?[(\[](?:95\s?%\s?)?(?:CI|KI|IC)?[:\s]*\[?[\d.,]+\s?[-–,;]\s?[\d.,]+\]?[)\]])?)"
    r"(?![\d@]|/\w*[^\W\d]|[.,]\d|[a-zäöüß])",
    re.I | re.ASCII,
)
"""A number in a sentence that may be a measure's: with decimals, or a percentage; with its spread."""

_UNIT = re.compile(
    r"(?i)\s?(?:s|ms|µs|sec(?:ond)?s?|min(?:ute)?s?|h|hours?|sekunden?|minuten?|stunden?|secondes?|heures?|segundos?|minutos?|horas?|mb|gb|kb"
    r"|k|x|×|times|mal|fois|veces|秒|分钟|小时|倍|queries|documents|documentos|anfragen|requêtes|points?|pp|punkte?n?|puntos?|百分点)(?!\w)"
    r"|\s?(?:秒|分钟|小时|倍|百分点)"
)
_RELATIVE = re.compile(
    r"(?i)\s?(?:(?:absolute|relative|percentage)\s)?(?:points?\s)?(?:higher|lower|better|worse|more|less|above|below|over|under|greater|smaller|höher|niedriger|besser"
    r"|schlechter|mehr|weniger|über|unter|supérieure?s?|inférieure?s?|meilleure?|plus|moins|más|menos|mayor|menor|mejor|peor|improvements?"
    r"|gains?|increases?|drops?|decreases?|differences?|rises?|verbesserung|steigerung|anstieg|to|-|–|bis|à|a|高|低|的提升|的差|的差异|至|到)(?!\w)"
    r"|\s?(?:高|低|的提升|的差|至|到)"
)

_ABOUT = (
    r"(?:(?:about|approximately|approx\.?|roughly|around|exactly|only|just|now|also|thus|therefore|finally|~|≈|ca\.?|circa|rund|etwa|genau|nur|jetzt"
    r"|environ|exactement|aproximadamente|exactamente|约|大约|仅|equal|a|the|an|at|up)\s?){0,2}"
)
_NOUN = (
    r"(?:'?s?[\s-](?:scores?|values?|metrics?|measures?|results?|werte?s?|ergebnis|valeurs?|valor(?:es)?|puntuación|valore|punteggio|figure)"
    r"|(?:得分|分数|值|指标|スコア|の値|値))?"
)
_OF_WHAT = (
    r"(?:\s(?:of|for|on|over|across|in|from|with|von|auf|für|über|bei|unsere[rs]|de|du|des|sur|pour|avec|del|en|sobre|para|su|per|van|voor|op)"
    r"(?:\s[^\W\d]+){1,6}?|在[^\W\d]{1,12}上)?"
)
_VERB = (
    r"(?:of|is|was|are|were|equals|equalled|equal\sto|(?:is|was)\s(?:found\sto\sbe|measured\s(?:as|at)|equal\sto|computed\s(?:as|to\sbe)|at)|comes?\s(?:to|out\s(?:at|as))"
    r"|came\s(?:to|out\s(?:at|as))|reache[sd]|reached|amounts?\sto|amounted\sto|stands\sat|at|as|turned\sout\sto\sbe|turns\sout\sto\sbe|rose\sto|rises\sto|increase[sd]\sto|improve[sd]\sto|has\sbeen|scores|scored|reads|now"
    r"|von|ist|war|sind|waren|beträgt|betrug|betragen|liegt(?:\s[^\W\d]+){0,3}\sbei|lag(?:\s[^\W\d]+){0,3}\sbei|liegen\sbei|lagen\sbei|erreicht(?:e|en)?|erzielt(?:e|en)?|ergibt|ergab|mit|gleich|beläuft\ssich\sauf|belief\ssich\sauf|bei|stieg\sauf"
    r"|de|est|était|sont|étaient|est\sde|était\sde|sont\sde|étaient\sde|vaut|valait|valent|est\ségale?\sà|égale?\sà|atteint|atteignait|atteignent|s'élève\sà|s'établit\sà|à"
    r"|es|es\sde|fue|fue\sde|era|era\sde|son|son\sde|fueron|fueron\sde|ha\ssido\sde|(?:es\s)?igual\sa|alcanza|alcanzó|alcanzan|vale|valen|llegó\sa|resultó(?:\sser)?(?:\sde)?|asciende\sa"
    r"|di|è|è\sdi|era\sdi|è\spari\sa|pari\sa|è\sstato\sdi|é|é\sde|foi|foi\sde|foram|van|bedraagt|bedroeg|blev|är"
    r"|составил[аои]?|составляет|равен|равна|равно|достиг|достигает|wynosi|wyniosło|olarak|="
    r"|和|为|是|达到了?|等于|约为|分别为|分别是|分别达到|可达|は|が|은|는)"
)
_RESPECTIVELY = r"(?:\s?(?:respectively|jeweils|respectivement|respectivamente|rispettivamente|分别|各))?"
_LINK = re.compile(
    rf"(?i){_NOUN}(?:{_OF_WHAT}{_RESPECTIVELY}(?:\s|(?<=[\u3040-\u9fff])|(?=[\u3040-\u9fff])|-)?{_VERB}{_RESPECTIVELY}\s?{_ABOUT}|(?:\s?\(?(?:in\s)?%\)?|\))?{_OF_WHAT}\s?(?:==|:=|->|=>|[=:≈→⇒|~]|\.{{2,}}|…|[–—]|\s-\s)\s?{_ABOUT}|\s)"
)
"""What stands between a measure and its number."""
_SIGN_LINK = re.compile(r"[=:≈→⇒]|->|=>")
_ASIDE_LINK = re.compile(r"(?i)(?:[\s-](?:scores?|values?|werte?|valeurs?|valor(?:es)?))?\s?[(\[]\s?(?:[=:≈]\s?)?")
_QUOTED_LINK = re.compile(r"""['"]?\s?[:=,]\s?['"]?(?:(?:np|numpy|torch)\.\w+\(|tensor\()?['"]?""")
_BEHIND = re.compile(
    r"(?i)\s?(?:(?:in|for|on|as|of|terms\sof|bei|beim|für|als|an|de|en|pour|para|como|di|per|的|の)\s?(?:the\s|der\s|la\s|le\s|el\s|terms\sof\s)?)?"
)
"""What stands between a number and its measure, where the number comes first."""
_AND = re.compile(
    r"(?i)\s?(?:[,;/、&|]|(?:,\s?)?(?:and|und|et|y|e|sowie|bzw\.|as\swell\sas|和|与|及|以及|と|и)(?![a-zäöü]))\s?(?:(?:the|a|an|einen?|der|die|das|un|une|una|el|la|le|les)\s)?"
)


_LONGEST_SENTENCE = 1000

_OF_SHARE = re.compile(r"[01]?[.,]\d\d|.*%")


_FROM = re.compile(
    r"(?i)(?:[\s-](?:scores?|values?|wert))?(?:\s(?:rises|rose|increase[sd]|improve[sd]|grows|grew|climbs|climbed|goes\sup|went\sup|steigt|stieg|monte|passe"
    r"|augmente|est\spassée?|sube|subió|aumenta|aumentó|mejora|mejoró|pasa|pasó))\s(?:from|von|de)\s|\s?从\s?"
)
_TO = re.compile(r"(?i)(?:\s[(\[][^()\[\]]*[)\]])?\s(?:to|auf|à|a)\s|\s?(?:提升|提高|上升|增加|增长)?[到至]了?\s?")
"""Between the two numbers of a change, of which the second is the student's."""


class _Found(NamedTuple):
    """A name or number in a sentence."""

    begin: int
    end: int
    text: str
    is_name: bool


def _tokens(text: str) -> list[_Found]:
    names = [_Found(*found, True) for found in mentions_in(text) if _means_one(found[2])]
    numbers = []
    for found in _FIGURE.finditer(text):
        if any(each.begin < found.end() and found.start() < each.end for each in names):
            continue
        number = found["number"] + ("%" if found["percent"] else "")
        end = found.end()
        numbers.append(_Found(found.start(), end, number, False))
    return sorted([*names, *numbers])


@lru_cache(1024)
def _means_one(name: str) -> bool:
    try:
        return bool(measure_named(name))
    except MeasureError:
        return False


def _groups(text: str, tokens: Sequence[_Found]) -> Iterator[list[_Found]]:
    """Yield names or numbers that are listed together."""
    group: list[_Found] = []
    for token in tokens:
        if group and (group[-1].is_name != token.is_name or not _AND.fullmatch(text, group[-1].end, token.begin)):
            yield group
            group = []
        group.append(token)
    if group:
        yield group


class _Linked(NamedTuple):
    """A name and its number, with where the two begin and end, and the text between them."""

    begin: int
    end: int
    name: str
    number: str
    between: str


def _linked(text: str, tokens: Sequence[_Found]) -> list[_Linked]:
    """Return the names and numbers of a sentence that belong together."""
    groups = list(_groups(text, tokens))
    found: list[_Linked] = []
    at = 0
    while at < len(groups) - 1:
        first, second = groups[at], groups[at + 1]
        between = text[first[-1].end : second[0].begin]
        pairs: list[_Linked] = []
        last = groups[at + 2][0] if at + 2 < len(groups) else None
        if _FROM.fullmatch(between) and last is not None and _TO.fullmatch(text[second[-1].end : last.begin]):
            found.append(_Linked(first[-1].begin, last.end, first[-1].text, last.text, ""))
            at += 3
            continue
        if first[0].is_name and not second[0].is_name:
            pairs = _named_first(text, first, second, between)
        elif not first[0].is_name and second[0].is_name:
            pairs = _numbered_first(text, first, second, between, groups[at + 2 : at + 3])
        # ``0.4 MAP, 0.5 nDCG``: of names the last, of numbers the first may belong elsewhere.
        if not pairs:
            at += 1
            continue
        found += pairs
        rest = second[len(pairs) :] if first[0].is_name else []
        at += 2
        if rest:
            at -= 1
            groups[at] = rest
    return found


def _named_first(text: str, names: list[_Found], numbers: list[_Found], between: str) -> list[_Linked]:
    signed = _SIGN_LINK.search(between) is not None
    aside = _ASIDE_LINK.fullmatch(between) is not None and text[numbers[0].end : numbers[0].end + 1] in ")],;"
    quoted = text[names[-1].begin - 1 : names[-1].begin] in ("'", '"') and names[-1].begin > 0
    link = _LINK.fullmatch(between) is not None or aside or (quoted and _QUOTED_LINK.fullmatch(between) is not None)
    if not link:
        return []
    if (not between.strip() or names[-1].text.islower()) and not _OF_SHARE.match(numbers[0].text):
        return []
    if len(names) == len(numbers):
        return [
            _Linked(names[0].begin, numbers[-1].end, name.text, number.text, between)
            for name, number in zip(names, numbers, strict=True)
        ]
    if len(names) > 1 and not (signed or aside):
        return []
    name, number = names[-1], numbers[0]
    return [_Linked(name.begin, number.end, name.text, number.text, between)]


def _numbered_first(
    text: str, numbers: list[_Found], names: list[_Found], between: str, following: Sequence[Sequence[_Found]]
) -> list[_Linked]:
    aside = re.fullmatch(r"\s?[(\[]\s?", between) and text[names[0].end : names[0].end + 1] in (")", "]")
    if not (aside or _BEHIND.fullmatch(between)):
        return []
    # Before a measure the number of a section may stand too.
    if not aside and not all(_OF_SHARE.match(number.text) for number in numbers):
        return []
    if not aside and following and not following[0][0].is_name and len(names) == 1:
        # ``0.31, MAP = 0.4``: the name has a number of its own.
        after = text[names[-1].end : following[0][0].begin]
        if _SIGN_LINK.search(after) or re.fullmatch(rf"(?i)\s{_VERB}\s", after):
            return []
    if len(names) == len(numbers):
        return [
            _Linked(numbers[0].begin, names[-1].end, name.text, number.text, between)
            for name, number in zip(names, numbers, strict=True)
        ]
    if len(names) > 1 and not aside:
        names = names[:1]
        if len(numbers) > 1:
            return []
    number, name = numbers[-1], names[0]
    return [_Linked(number.begin, name.end, name.text, number.text, between)]


_HAS_OWN_NAME = re.compile(
    r"[^\W\d_]+[A-Z][a-z]*[A-Z\d]?|(?<!\w)[A-Z][A-Za-z]*\d+|(?<!\w)[A-Z]{2,}(?!\w)|(?<!\w)[A-Z][^\W\d_]+(?:'s|s')(?!\w)"
    r"|(?<!\w)[A-Z][a-z]+(?=\s(?:has|had|reach\w*|achiev\w*|obtain\w*|got|gets|scores?d?|reports?|yields?|gives?|erreicht\w*|erzielt\w*|obtient|atteint|obtiene|alcanza))"
)
"""A name of a system or a person, of which the number is said."""
_NO_OWN_NAME = (
    r"TREC(?:[\s_-]?eval)?|(?:py)?trec_?eval\w*|py[-_]?terrier|ir_measures|ir_datasets|ranx|NIST|CLEF|IR|pandas|numpy"
    r"|Python|PDF|LaTeX|We|It|This|That|The|These|Our|My|I|System|Run|Model|Evaluation|Search|Retrieval|Ranking|Approach|Method|Result|Results|Pipeline|"
    r"Experiment|Wir|Ich|Das|Der|Die|Es|Unser|Mein|Lauf|Nous|Il|Elle|Je|Cela|Le|La|El|Esto|Ella|It's|That's|Test|Reranking|Re-ranking|OK|NB|USA|VM|GPU|CPU|API"
)
_NAMED_RUN = re.compile(
    r"(?i)(?<!\w)(?:(?:run|system|model|lauf|système|sistema|modelo|modèle|modell)\s?(?:#|no\.?\s|nr\.?\s)?(?P<label>(?-i:[A-Z0-9])[\w.+-]{0,30}|\"[^\"]{1,30}\")(?!\s(?:queries|topics|documents))|(?:运行|系统|模型)\s?(?P<sign>[A-Z0-9]\w{0,30}))"
)
_PRONOUN = re.compile(
    r"(?i)\s*(?:it|its|they|their|he|she|his|her|dessen|deren|sein\w*|ihr\w*|er|il|elle|son|sa|ses|leur|su|sus|其|它|他)(?!\w)"
)
_AFTER = re.compile(
    r"[,;:(\[—–]|\s-\s|(?<!\w)(?:and|und|et|y|while|whereas|but|compared|während|aber|tandis|mais|mientras|pero)(?!\w)|而|但"
)


def _in_sentence(text: str, state: Whose) -> Iterator[tuple[_Linked, str]]:
    """Yield what a sentence says of the student's run, or of runs that it names."""
    if is_example(text):
        return
    tokens = _tokens(text)
    end, named = 0, ""
    linked = _linked(text, tokens)
    for number, pair in enumerate(linked):
        before = text[end : pair.begin]
        shared = number and linked[number - 1][:2] == pair[:2]
        if not shared:
            state = Whose.OTHERS if is_cited(before) else whose(_without_asides(before) + "\0", state)
            named = named_in(before) or ("" if told_of(before) is Whose.OWN else named)
            unknown = state is not Whose.OWN and (
                is_standard(before) or is_of_collection(before) or _has_own_name(before)
            )
            later = next((each.begin for each in tokens if each.begin >= pair.end), len(text))
            after = _AFTER.split(text[pair.end : later], maxsplit=1)[0]
            change = _changes(text, pair)
        told = _told_beside(pair.between, after)
        if state is Whose.OTHERS or told is Whose.OTHERS or change or is_only_of_others(_aside_at(text, pair.end)):
            pass
        elif (unknown or _has_own_name(pair.between)) and not named and told is not Whose.OWN:
            state = Whose.OTHERS
        else:
            yield pair, named
        end = pair.end


def _told_beside(between: str, after: str) -> Whose:
    """Say whose a number is by the words between it and its measure, and behind it."""
    told = {told_of(between), told_of(after)}
    return next((each for each in (Whose.OTHERS, Whose.OWN) if each in told), Whose.UNSAID)


def _without_asides(text: str) -> str:
    return re.sub(r"\([^()]*\)", " ", text)


def _aside_at(text: str, at: int) -> str:
    found = re.compile(r"\s?([(\[][^()\[\]]*[)\]])").match(text, at)
    return found[1] if found else ""


def named_in(text: str) -> str:
    """Return the run, system or model that a text names last; empty for none."""
    labels = [found["label"] or found["sign"] for found in _NAMED_RUN.finditer(text)]
    return labels[-1].strip('"') if labels else ""


def _has_own_name(text: str) -> bool:
    """Tell whether the last piece of a text has the name of a system or person, of which the number may be said."""
    piece = re.sub(r"\w+\($", "", pieces_of(_without_asides(text))[-1])  # what Python prints of an object
    return _HAS_OWN_NAME.search(_NO_OWN_NAME_WHOLE.sub(" ", piece)) is not None


_NO_OWN_NAME_WHOLE = re.compile(rf"(?<!\w)(?i:{_NO_OWN_NAME})(?![\w'])|(?i:(?<!\w)trec_eval's)")

_CHANGE_BEFORE = re.compile(
    r"(?i)(?:\s(?:in|of|for|on|the|a|an|der|die|das|des|bei|beim|de|du|la|le|en|el|del|dans|your)|\s)*$"
)


def _changes(text: str, pair: _Linked) -> bool:
    """Tell whether a number is a difference, a spread, a time or of a test, and not the measure itself."""
    behind = text[pair.end : pair.end + 40]
    if _UNIT.match(behind) or _RELATIVE.match(behind):
        return True
    piece = pieces_of(text[: pair.begin])[-1]
    words = re.sub(r"[('\"\[{]", " ", piece).split()[-5:]
    return (
        is_spread(piece)
        or is_change(" ".join(words))
        or bool(re.search(r"(?:提升|提高|下降|差异|增加|改进)了?\s?$|[<>≤≥Δ]\s?$", piece))
    )


_NESTED = re.compile(r"[{\[(]\s*(?:\(\s*)?['\"]")


def has_number(text: str) -> bool:
    """Tell whether there is a number in a text that may be a measure's."""
    return _FIGURE.search(text) is not None


def said_in_prose(lines: Sequence[Line]) -> Iterator[Said | Grid]:
    """Yield what the lines of a paragraph say: numbers, and tables in what Python printed.

    Parameters
    ----------
    lines : sequence of Line
        Its lines, as `plain` returns them.
    """
    whole = _joined(lines)
    text = whole.text
    printed = list(_printed(text))
    yield from _of_printed(whole, printed)
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


# --- what Python prints ---


def _printed(text: str) -> Iterator[tuple[int, int]]:
    """Yield where dictionaries and lists begin and end that name what is in them."""
    at = 0
    while (found := _NESTED.search(text, at)) is not None:
        depth, at = 0, found.start()
        for at in range(found.start(), len(text)):
            depth += (text[at] in "{[(") - (text[at] in "}])")
            if not depth:
                break
        yield found.start(), at + 1
        at += 1


_ITEM = re.compile(
    rf"""(?P<quote>['"])(?P<key>[^'"]{{1,80}})(?P=quote)\s?[:,]\s?(?:(?P<open>[{{\[]|defaultdict\([^{{]{{0,40}}\{{)|(?:(?:np|numpy|torch)\.\w+\(|tensor\()?['"]?(?P<number>{NUMBER})['"]?|(?P<other>[^,}}\])]*))"""
    r"|(?P<close>[}\]])",
    re.ASCII,
)


def _of_printed(whole: _Text, printed: Sequence[tuple[int, int]]) -> Iterator[Grid]:
    """Yield the tables of dictionaries, or of pairs in lists: rows of one if there are several, or several in one."""
    rows: list[tuple[str, str, dict[str, str]]] = []
    before = 0
    for begin, end in printed:
        label = whole.text[before:begin].strip(" :=,.")
        before = end
        tables: dict[tuple[str, ...], list[tuple[str, str, str]]] = {}
        path: list[str] = []
        for item in _ITEM.finditer(whole.text, begin + 1, end - 1):
            if item["close"]:
                path = path[:-1]
            elif item["open"]:
                path.append(item["key"])
            elif item["number"]:
                tables.setdefault(tuple(path), []).append((whole.place(item.start()), item["key"], item["number"]))
        for keys, items in tables.items():
            called = " ".join([*label.split()[-_MOST_OF_LABEL:], *keys]) if not keys else keys[-1]
            if told_of(label) is not Whose.OTHERS and told_of(" ".join(keys[:-1])) is not Whose.OTHERS:
                rows.append((items[0][0], called, {key: number for _, key, number in items}))
            if len(tables) == len(printed) == 1 and not keys and told_of(label) is not Whose.OTHERS:
                yield Grid(tuple(Row(place, (key, number)) for place, key, number in items))
                return
    names = list(dict.fromkeys(name for _, _, values in rows for name in values))
    if rows and len(names) <= MOST_COLUMNS:
        body = [Row(place, (called, *(values.get(name, "") for name in names))) for place, called, values in rows]
        yield Grid((Row(rows[0][0], ("", *names)), *body))


_MOST_OF_LABEL = 4
"""Words before a dictionary that say what it is of."""
