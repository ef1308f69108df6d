"""Python's output of dictionaries and of lists of pairs, as tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from treceval_py.grading.claims.documents.document import MOST_COLUMNS, Grid, Row
from treceval_py.grading.claims.lines import NUMBER
from treceval_py.grading.claims.wording import Whose, told_of

_NESTED = re.compile(r"[{\[(]\s*(?:\(\s*)?['\"]")


def printed_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the begin and end of dictionaries and lists with named items."""
    at = 0
    while (opening := _NESTED.search(text, at)) is not None:
        depth, at = 0, opening.start()
        for at in range(opening.start(), len(text)):
            depth += (text[at] in "{[(") - (text[at] in "}])")
            if not depth:
                break
        yield opening.start(), at + 1
        at += 1


_ITEM = re.compile(
    r"""(?P<quote>['"])(?P<key>[^'"]{1,80})(?P=quote)\s?[:,]\s?(?:(?P<open>[{\[]|defaultdict\([^{]{0,40}\{)"""
    rf"""|(?:(?:np|numpy|torch)\.\w+\(|tensor\()?['"]?(?P<number>{NUMBER})['"]?|[^,}}\])]*)"""
    r"|(?P<close>[}\]])",
    re.ASCII,
)


def tables_of(text: str, printed: Sequence[tuple[int, int]], place: Callable[[int], str]) -> Iterator[Grid]:
    """Yield the tables of printed objects: a row for each name and number, or for each of several dictionaries.

    Parameters
    ----------
    text : str
        The text of a paragraph.
    printed : sequence of (int, int)
        Begin and end of each dictionary and list in it.
    place : callable
        Returns the place of a character of the text.
    """
    rows: list[tuple[str, str, dict[str, str]]] = []
    before = 0
    for begin, end in printed:
        label = text[before:begin].strip(" :=,.")
        before = end
        tables: dict[tuple[str, ...], list[tuple[str, str, str]]] = {}
        path: list[str] = []
        for item in _ITEM.finditer(text, begin + 1, end - 1):
            if item["close"]:
                path = path[:-1]
            elif item["open"]:
                path.append(item["key"])
            elif item["number"]:
                tables.setdefault(tuple(path), []).append((place(item.start()), item["key"], item["number"]))
        for keys, items in tables.items():
            called = " ".join([*label.split()[-_MOST_OF_LABEL:], *keys]) if not keys else keys[-1]
            if told_of(label) is not Whose.OTHERS and told_of(" ".join(keys[:-1])) is not Whose.OTHERS:
                rows.append((items[0][0], called, {key: number for _, key, number in items}))
            if len(tables) == len(printed) == 1 and not keys and told_of(label) is not Whose.OTHERS:
                yield Grid(tuple(Row(at, (key, number)) for at, key, number in items))
                return
    names = list(dict.fromkeys(name for _, _, values in rows for name in values))
    if rows and len(names) <= MOST_COLUMNS:
        body = [Row(at, (called, *(values.get(name, "") for name in names))) for at, called, values in rows]
        yield Grid((Row(rows[0][0], ("", *names)), *body))


_MOST_OF_LABEL = 4
"""Most words before a dictionary that are used as its label."""
