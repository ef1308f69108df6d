"""The numbers beside names of measures in a document, whatever is said of them: nothing here knows whose they are.

Lines and tables are read by position alone, so sentences may be in any language. A number is *plain* if its form has
a meaning without words: ``MAP = 0.31`` alone on a line, trec_eval's output, or a table of measures and numbers.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from treceval_py.grading.claims.documents.document import Document, Grid, Line
from treceval_py.grading.claims.naming import is_label, is_name, is_ordinary, known_measure, mentions_in
from treceval_py.measuring.registry import FAMILIES, TEXT

NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,4})?\s*%?"
WHOLE = re.compile(NUMBER, re.ASCII)

LONGEST_SENTENCE, _LONGEST = 300, 2000
"""Characters of a sentence that are kept with a number, and that are read together."""


class Said(NamedTuple):
    """A number beside the name of a measure.

    Attributes
    ----------
    place : str
        Its place, as it follows the name of the file.
    name : str
        The measure, as written.
    number : str
        The number, as written.
    labels : tuple of str
        The other words of its row and column, or the run or query that trec_eval's output names.
    plain : bool
        Whether its form has a meaning without words.
    sentence : str
        The line, row or sentence that it stands in.
    """

    place: str
    name: str
    number: str
    labels: tuple[str, ...] = ()
    plain: bool = False
    sentence: str = ""


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


def _unmarked(text: str) -> str:
    """Return a folded text without the marks for bold and italics."""
    return _MARKUP.sub("", folded(text)).strip()


_RUN_OF = "runid all "
"""The beginning of trec_eval's output for a run."""


def numbers_in(document: Document, *, declared: bool) -> tuple[list[Said], bool, set[str]]:
    """Return the numbers beside names of measures, and whether the document has nothing but such numbers.

    Parameters
    ----------
    document : Document
        The document.
    declared : bool
        Whether it is a file of claims, in which misspelt names and unreadable numbers are claims too.

    Returns
    -------
    list of Said
        The numbers, in reading order.
    bool
        Whether no line has anything else, so that no sentence can change what they mean.
    set of str
        The runs that trec_eval's output names; they are labels of its numbers.
    """
    said: list[Said] = []
    alone, run, runs = True, "", set[str]()
    paragraph: list[Line] = []
    for block in [*document.blocks, Line("", "")]:
        if isinstance(block, Line) and block.text.startswith(_RUN_OF):
            run = block.text.removeprefix(_RUN_OF)
            runs.add(run)
            continue
        if isinstance(block, Grid):
            pairs = list(_in_table(block, declared=declared))
            if not declared:  # which number is meant, if there are several for a measure without labels?
                several = Counter((number.name, number.labels) for number in pairs)
                pairs = [one._replace(plain=one.plain and several[one.name, one.labels] == 1) for one in pairs]
            alone = alone and bool(pairs)  # what else a table says may change the meaning of the numbers beside it
        else:
            pairs = _pairs(block, run) or (_unread(block) if declared else [])
        if pairs or isinstance(block, Grid) or not block.text:
            said += _in_text(paragraph)
            said += pairs
            paragraph.clear()
        else:
            paragraph.append(block)
            alone = alone and not any(map(str.isalpha, block.text))
    return said, alone, runs


# --- lines that are names and numbers and nothing else ---

_SPREAD = r"(?:\s?(?:±|\+/-|\\pm)\s?[\d.,]+\s?%?)?"
_IDS = re.compile(r"all|(?!.*@).*\d.*")
"""What trec_eval's output is for: all queries, or one."""
_BULLET = re.compile(r"^\s*(?:[-*+•·▪◦–]|\d{1,2}[.)]|\(?[a-z]\))\s+")
_WRAPPED = re.compile(r"(?:(?:np|numpy|torch)\.\w+|tensor)\(([^()]*)\)")
_QUOTES = re.compile(r"[{}\"'\[\]]")
"""What Python and JSON write around numbers, and around names."""
_PAIR = re.compile(
    rf"(?P<name>.*?[^\s=:≈,;.…–—-])\s?(?P<sign>==|:=|[=:≈]|[–—-](?=\s)|[\s,;|]|\.{{2,}}|…)\s?(?P<number>{NUMBER}){_SPREAD}\.?",
    re.ASCII,
)
_BETWEEN = re.compile(r"[;,、/|&](?:\s|(?=[^\W\d]))(?=[^\W\d])(?![^(]*\))|(?<=[\d%])\s(?=[^\W\d])(?![^(]*\))")


def _pairs(line: Line, run: str) -> list[Said]:
    """Return the numbers of a line that has only names and numbers; none for any other line."""
    if not any(map(str.isdigit, line.text)):
        return []
    text = _unmarked(_BULLET.sub("", line.text, count=1))
    fields = text.split(" ")
    if len(fields) == 3 and WHOLE.fullmatch(fields[2]) and is_label(fields[0]) and _IDS.fullmatch(fields[1]):
        # trec_eval's output, for all queries or for one; its texts are no numbers.
        of_run = run if fields[1] == "all" else fields[1]
        family = FAMILIES.get(fields[0])
        text_of = family is not None and family.kind == TEXT
        return [] if text_of else [Said(line.place, fields[0], fields[2], (of_run,) if of_run else (), True, text)]
    text = _bare(text).strip().strip(",")
    parts = [_PAIR.fullmatch(part.strip()) for part in _BETWEEN.split(text)] if len(text) < LONGEST_SENTENCE else []
    pairs = [part for part in parts if part is not None and _is_pair(part["name"], part["sign"], part["number"])]
    if len(pairs) < len(parts):
        return []
    named = [(part["name"], part["number"]) for part in pairs]
    return [Said(line.place, name.strip(), number, asides_of(name), True, line.text) for name, number in named]


def _is_pair(name: str, sign: str, number: str) -> bool:
    """Tell whether a name is a measure's and a number may be its value: no setting, difference or answer to P."""
    if number.startswith("+") or not is_label(name):
        return False
    if sign not in ("=", ":", "==", ":=", "≈"):
        return not number.isdigit() and not is_ordinary(name)
    return (len(name) > 1 or (sign != ":" and name != "p")) and _may_be_value(name, number)


_ASIDE = re.compile(r"[(\[]([^()\[\]=@%]*\w[^()\[\]=@%]*)[)\]]")


def asides_of(name: str) -> tuple[str, ...]:
    """Return the words and queries in brackets in the name of a measure, unless they are another name of it."""
    measure = known_measure(name)
    return tuple(
        aside
        for aside in _ASIDE.findall(name)
        if not is_name(aside) or known_measure(aside) not in (measure, None if aside.isalpha() else measure)
    )


def _unread(line: Line) -> list[Said]:
    """Return what a line of a file of claims gives for a name, whatever it is."""
    name, sign, rest = (part.strip() for part in _unmarked(_bare(line.text)).partition("="))
    return [Said(line.place, name, rest, (), True, line.text)] if name and sign and not name.startswith("#") else []


def _may_be_value(name: str, number: str) -> bool:
    """Tell whether a number may be the value of a measure: a whole one from 2 on only of a count."""
    if not re.fullmatch(r"[2-9]|\d{2,}", number):
        return True
    measure = known_measure(name)
    return measure is not None and measure.family.kind == "count"


# --- tables ---

_MARKS = r"[*†‡§¶]*"
_IN_CELL = re.compile(rf"[~≈]?\s?(?P<number>{NUMBER}){_MARKS}{_SPREAD}{_MARKS}", re.ASCII)
_NO_LABEL = ("", "value", "all", "mean")
"""Titles, keys and rows that leave open nothing: the column of the declared form, and names of the mean."""


def _in_table(grid: Grid, *, declared: bool) -> Iterator[Said]:
    """Yield the numbers of a table: each below a measure, or in the row of one; other words are their labels."""
    heads = [""] * len(grid.rows[0].cells)
    titles = list(heads)
    for row in grid.rows:
        cells = [_unmarked(cell) for cell in row.cells]
        numbers = {at: number["number"] for at, cell in enumerate(cells) if (number := _IN_CELL.fullmatch(_bare(cell)))}
        named = [at for at, cell in enumerate(cells) if at not in numbers and _is_measure(cell)]
        if declared and "measure" in titles and cells[at := titles.index("measure")]:
            named = [at]
            numbers |= {at: cells[at] for at, title in enumerate(titles) if title == "value" and cells[at]}
        if named and max(numbers, default=0) > named[0]:  # the number before a name is that of a query, or of a row
            numbers = {at: number for at, number in numbers.items() if at > named[0]}
        of_cell = {
            at: cells[max((name for name in named if name < at), default=named[0])] if named else heads[at]
            for at in numbers
        }
        values = {at for at, name in of_cell.items() if name and (declared or _may_be_value(name, numbers[at]))}
        if not values:
            for at, cell in enumerate(cells):
                heads[at], titles[at] = (cell, titles[at]) if at in named else (heads[at], cell.lower() or titles[at])
            for line in (Line(row.place, cell) for at, cell in enumerate(cells) if at not in named):
                yield from _pairs(line, "") or _in_text([line])
            continue
        rest = [
            cells[at] or ("" if named else titles[at])
            for at in range(len(cells))
            if at not in values and at not in named
        ]
        repeated = len({heads[at] for at in values}) < len(values)
        for at in sorted(values):
            words = (grid.caption, *rest, titles[at] if named or repeated else "", *asides_of(of_cell[at]))
            labels = tuple(dict.fromkeys(word for word in words if word.lower() not in _NO_LABEL))
            yield Said(row.place, of_cell[at], numbers[at], labels, True, " | ".join(filter(None, cells)))


def _is_measure(cell: str) -> bool:
    """Tell whether a cell is the name of one measure, and no word or letter that needs a cutoff to be one."""
    return is_label(cell) and not is_ordinary(cell) and known_measure(cell) is not None


def _bare(cell: str) -> str:
    return _QUOTES.sub("", _WRAPPED.sub(r"\1", cell))


# --- sentences ---

_INTERVAL = r"(?:\s?[(\[](?:95\s?%\s?)?(?:CI|KI|IC)?[:\s]*\[?[\d.,]+\s?[-–,;]\s?[\d.,]+\]?[)\]])?"
_FIGURE = re.compile(
    r"(?<![\w@.,+-])(?<![a-zA-Z]/)(?P<number>[+-]?(?:\d{1,3}[.,]\d{1,18}|[.,]\d{2,18})(?:e[+-]?\d{1,2})?|\d{1,3}(?=\s?%))"
    rf"(?P<percent>\s?%)?{_SPREAD}{_INTERVAL}"
    r"(?![\d@]|/\w*[^\W\d]|[.,]\d|[a-zäöüß]|\s?(?:s|ms|µs|min|h|[KMGT]i?B|x|×)\b)",
    re.IGNORECASE | re.ASCII,
)
"""A number in a sentence that may be a measure's: with decimals or a percentage; no setting, time, size or version."""
_LINE_END = "\x1f"
"""White space, like a blank, but not between a number and the name behind it."""
_SETTING = re.compile(r"(?<![^\s(,;])[a-zα-ω]\w{0,7}\s?[=<>≤≥]\s?$")
"""The name of a setting or a test before its number, such as ``k1 = `` or ``p < ``."""
_SHARE = re.compile(r"[+-]?[01]?[.,]\d+|.*%")
"""A number in the form of a mean from 0 to 1; before a name, others are numbers of sections, or counts."""
_SENTENCE = re.compile(
    rf"(?:(?<=[\w)\]\"'»%]{{2}}[.!?])|(?<=\d[.!?]))(?:\s+(?=[^\W\d_a-zäöüß])|{_LINE_END})|(?<=[。！？])(?=.)"
)


class _Token(NamedTuple):
    """A name or number in a sentence."""

    begin: int
    end: int
    text: str
    is_name: bool


def _in_text(lines: Sequence[Line]) -> Iterator[Said]:
    """Yield the numbers of a paragraph, each with the nearest name in its sentence."""
    parts = [_unmarked(line.text) + _LINE_END for line in lines]
    starts = [0, *accumulate(map(len, parts))]
    text, begin = "".join(parts), 0
    for end in [*(stop.end() for stop in _SENTENCE.finditer(text)), len(text)]:
        for first in range(begin, end, _LONGEST):
            sentence = text[first : min(first + _LONGEST, end)]
            for name, number in _beside(sentence) if any(map(str.isdigit, sentence)) else ():
                place = lines[bisect_right(starts, first + number.begin) - 1].place
                near = sentence[max(0, number.end - LONGEST_SENTENCE) :].strip()[:LONGEST_SENTENCE]
                yield Said(place, name, number.text, (), False, near)
        begin = end


def _beside(sentence: str) -> Iterator[tuple[str, _Token]]:
    """Yield the numbers of a sentence with their names: as many names as numbers before or after them go in pairs."""
    names = [_Token(*mention, True) for mention in mentions_in(sentence) if known_measure(mention[2]) is not None]
    figures = [
        _Token(figure.start(), figure.end(), figure["number"] + "%" * bool(figure["percent"]), False)
        for figure in (_FIGURE.finditer(sentence) if names else ())
        if not any(name.begin < figure.end() and figure.start() < name.end for name in names)
        and not _is_setting(sentence, names, figure.start())
    ]
    groups = [list(group) for _, group in groupby(sorted([*names, *figures]), lambda token: token.is_name)]
    behind = bool(groups) and groups[-1][0].is_name  # a sentence that begins with a number and ends with a name
    for at, numbers in enumerate(groups):
        if numbers[0].is_name:
            behind = behind and at > 0
            continue
        before, after = groups[at - 1] if at else [], groups[at + 1] if at + 1 < len(groups) else []
        is_behind = behind or not before or (bool(after) and _is_behind(sentence, before[-1], numbers, after[0]))
        near = after if is_behind else before
        if is_behind and not _SHARE.fullmatch(numbers[-1].text):
            continue
        for place, number in enumerate(numbers):
            several = len(numbers) % len(near) == 0
            yield near[place % len(near) if several else 0 if is_behind else -1].text, number


def _is_setting(sentence: str, names: Sequence[_Token], at: int) -> bool:
    setting = _SETTING.search(sentence, max(0, at - 20), at)
    return setting is not None and not any(name.begin < at and setting.start() < name.end for name in names)


_SIGNS = ("=", ":", "≈", "→", "⇒", ">", "-", "–", "—")


def _is_behind(sentence: str, before: _Token, numbers: Sequence[_Token], after: _Token) -> bool:
    """Tell whether the name of a number follows it, as in ``0.31 MAP``, though there is one before it too."""
    link = sentence[before.end : numbers[0].begin].rstrip()
    gap = sentence[numbers[-1].end : after.begin]
    closed = sentence[after.end : after.end + 1] in (")", "]")
    beside = gap in ("", " ") or (closed and gap.strip() in ("(", "["))
    return beside and len(numbers) == 1 and link != "" and not link.endswith(_SIGNS)
