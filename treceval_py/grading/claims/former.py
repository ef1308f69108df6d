"""Claims in files that are no lines of text: HTML becomes lines, and in JSON the names and numbers are looked up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from treceval_py.grading.claims.lines import NAMES, WHOLE, is_of_others
from treceval_py.grading.claims.naming import is_name

__all__ = ["lines_of_html", "pairs_of_json"]

Line = tuple[int, str]
"""The number of a line, and what is in it."""

_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|caption|d[dlt]|div|fig(ure|caption)|footer|form|h[1-6]|head(er)?|hr|html|li"
    "|main|nav|[ou]l|p|pre|section|table|tbody|td|tfoot|th|thead|title|tr"
)
_HIDDEN = frozenset({"script", "style", "template"})


def lines_of_html(text: str) -> list[Line]:
    """Return the lines of a page as they are seen, each with its line in the file; rows of tables are ``| a | b |``.

    Examples
    --------
    >>> lines_of_html("<p>MAP = <b>0.28</b></p>")
    [(1, 'MAP = 0.28')]
    """
    page = _Page()
    try:
        page.feed(_closed(text))
        page.close()
    except AssertionError:  # as the parser ends with some malformed declarations
        pass
    page.end_line()
    return page.lines


_OPEN = re.compile(r"<(?![/A-Za-z][^<>]*>)")


def _closed(text: str) -> str:
    """Leave out comments, and make text of what begins like a tag and does not end, over which a parser takes ages."""
    parts: list[str] = []
    at = 0
    while (begin := text.find("<!--", at)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        parts += text[at:begin], "\n" * text.count("\n", begin, end)
        at = end + 3
    return _OPEN.sub("&lt;", "".join((*parts, text[at:])))


class _Page(HTMLParser):
    """Collects the lines of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[Line] = []
        self._words: list[str] = []
        self._began = 1
        self._hidden = 0
        self._in_cell = False

    def end_line(self) -> None:
        """End a line, if there is anything in it."""
        line = " ".join("".join(self._words).split())
        if line:
            self.lines.append((self._began, line))
        self._words.clear()

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the name is the parser's
        self._hidden += tag in _HIDDEN
        if tag in ("td", "th"):
            self._add(" | ")
            self._in_cell = True
        elif _BLOCKS.fullmatch(tag):
            self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in _HIDDEN), 0)
        if tag in ("td", "th", "tr", "table"):
            if tag == "tr" and self._words:
                self._add(" | ")
            self._in_cell = False
        if _BLOCKS.fullmatch(tag) and tag not in ("td", "th"):
            self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._add(data)

    def _add(self, text: str) -> None:
        if not self._words:
            blank = text[: len(text) - len(text.lstrip())]
            self._began = self.getpos()[0] + blank.count("\n")
        if self._words or text.strip():
            self._words.append(text)

    def _break(self, tag: str) -> None:
        if self._in_cell and tag not in ("table", "tr"):
            self._add(" ")
            return
        self.end_line()
        if tag == "table":  # a table ends where the line is blank
            self.lines.append((self.getpos()[0], ""))


# --- JSON ---


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


_OF_ALL = frozenset({"all", "mean", "average", "avg", "overall", "measures", "metrics", "scores"})
_MOST_LEVELS = 8


def pairs_of_json(text: str) -> list[tuple[int, str, str, bool]] | None:
    """Return lines, names and numbers of measures in a JSON document; None where a text is none.

    Of several objects side by side, as there are for queries or for runs, the one for all of them counts.

    Examples
    --------
    >>> pairs_of_json('{"map": 0.28}')
    [(1, 'map', '0.28', True)]
    """
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return None
    try:
        document = json.loads(text.lstrip("\ufeff"), parse_float=_Number, parse_int=_Number)
    except (ValueError, RecursionError):
        return None
    found = []
    for name, number in _in_object(document, _MOST_LEVELS):
        key = rf"(?:{re.escape(json.dumps(name))}|{re.escape(json.dumps(name, ensure_ascii=False))})"
        place = re.search(rf'{key}\s*[:,]\s*(?:"[^"\n]*"\s*:\s*)?"?{re.escape(number)}', text)
        line = text.count("\n", 0, place.start()) + 1 if place else 1
        found.append((line, name, number, True))
        if len(found) > 1000:  # more than are ever taken
            break
    return found


def _in_object(value: Any, levels: int) -> Iterator[tuple[str, str]]:
    if not levels:
        return
    if isinstance(value, list):
        for each in value:
            if isinstance(each, dict):
                yield from _of_row(each)
    if not isinstance(value, dict):
        return
    yield from _of_row(value)
    for name, number in value.items():
        if _is_number(number) and is_name(name):
            yield name, number
    inner = {name.lower(): each for name, each in value.items() if isinstance(each, (dict, list))}
    own = {name: each for name, each in inner.items() if not is_of_others(f"({name})")}
    general = [each for name, each in own.items() if name in _OF_ALL]
    for each in general or (own.values() if len(own) == 1 else ()):
        yield from _in_object(each, levels - 1)


def _of_row(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the claim of an object such as ``{"measure": "MAP", "value": 0.28}``."""
    small = {name.lower(): each for name, each in value.items()}
    names = [small[key] for key in NAMES["measure"] if isinstance(small.get(key), str)]
    numbers = [small[key] for key in NAMES["value"] if _is_number(small.get(key))]
    queries = {str(small[key]).lower() for key in NAMES["query"] if key in small}
    if names and numbers and queries <= {"all", "mean"}:
        yield names[0], numbers[0]


def _is_number(value: object) -> bool:
    return isinstance(value, str) and WHOLE.fullmatch(value) is not None
