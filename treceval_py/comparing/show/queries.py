"""The queries in which two runs differ most, with the documents that moved, as text in every format."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from treceval_py.comparing.show.latex import typeset
from treceval_py.errors import visible
from treceval_py.rendering.terminal import BOLD, PLAIN, width_of
from treceval_py.scoring.show.tabular import json_safe
from treceval_py.scoring.show.text import escaped_markdown

if TYPE_CHECKING:
    from treceval_py.comparing.documents import Moved, QueryDifference

__all__ = ["QUERY_FORMATS", "queries_text", "query_records"]

WIDTH = 100
"""Columns of a terminal that the text of a query may fill."""

DIGITS = 4
NOTHING = "–"
ARROW = "→"
FAINT = "\x1b[2m"
HEADER = ("docid", "judged", "rank", "contribution", "change")

Cell = str | float | int | None

Record = dict[str, Cell]


class Told(NamedTuple):
    """What is told of queries.

    Attributes
    ----------
    found : sequence of QueryDifference
        The queries.
    measure, run, other : str
        The measure, the run and the one that it is compared with.
    texts : mapping of str to str
        Texts of queries.
    digits : int or None
        Decimals. None: four where people read, all that float64 has where programs read.
    colour : bool
        Whether terminal styles may be used.
    """

    found: Sequence[QueryDifference]
    measure: str
    run: str
    other: str
    texts: Mapping[str, str]
    digits: int | None
    colour: bool

    def text_of(self, each: QueryDifference) -> str:
        """Return the text of a query."""
        return self.texts.get(each.qid, each.text)

    @property
    def title(self) -> str:
        """What is shown, in a line."""
        runs = f"{self.other} {ARROW} {self.run}"
        if not self.found:
            return visible(f"{self.measure}, {runs}: no query differs")
        which = "the query that differs" if len(self.found) == 1 else f"the {len(self.found)} queries that differ"
        return visible(f"{self.measure}, {runs}: {which} most")

    @property
    def remark(self) -> str:
        """What is to be known of queries whose values are not taken apart; empty where all are."""
        ranks_alone = any(each.moved and not each.apart for each in self.found)
        return f"Where {visible(self.measure)} is no sum over documents, ranks alone are shown." if ranks_alone else ""


def queries_text(
    found: Sequence[QueryDifference],
    measure: str,
    run_name: str,
    other_name: str,
    *,
    format: str = "table",
    digits: int | None = None,
    colour: bool = False,
    texts: Mapping[str, str] | None = None,
) -> str:
    """Return queries and the documents that moved in them as text.

    People read from the other run to the run: ``0.1234 → 0.5678`` is a gain. Programs get what `query_records` returns.

    Parameters
    ----------
    found : sequence of QueryDifference
        The queries.
    measure, run_name, other_name : str
        The measure, the run and the one that it is compared with.
    format : {"table", "csv", "tsv", "json", "markdown", "latex", "html"}
        The format.
    digits : int, optional
        Decimals; by default four where people read, and all that float64 has where programs read.
    colour : bool
        Whether terminal styles may be used.
    texts : mapping of str to str, optional
        Texts of queries, where they are not in ``found``.

    Raises
    ------
    ValueError
        There is no such format.
    """
    if format not in QUERY_FORMATS:
        raise ValueError(f"format must be one of {', '.join(QUERY_FORMATS)}, not {format!r}")
    told = Told(found, measure, run_name, other_name, {} if texts is None else texts, digits, colour)
    return QUERY_FORMATS[format](told)


def query_records(
    found: Sequence[QueryDifference],
    measure: str,
    run_name: str,
    other_name: str,
    *,
    texts: Mapping[str, str] | None = None,
) -> list[Record]:
    """Return a record for each query and document; parameters as of `queries_text`.

    Returns
    -------
    list of dict
        ``value``, ``other_value`` and ``delta`` are those of the query; ``contribution``, ``other_contribution`` and
        ``change`` those of the document, None for a measure that is not taken apart. A record without a document sums
        up the others, whose number is in ``documents``; it is there where some are left, or where there is no other.
    """
    told = Told(found, measure, run_name, other_name, {} if texts is None else texts, None, False)
    return list(_records(told))


def _records(told: Told) -> Iterator[Record]:
    for each in told.found:
        head: Record = {"measure": told.measure, "run": told.run, "other": told.other, "query": each.qid}
        head |= {"text": told.text_of(each), "value": each.value, "other_value": each.other_value, "delta": each.delta}
        for moved in each.moved:
            document: Record = {"docid": moved.docid, "judged": moved.label}
            document |= {"rank": moved.rank, "other_rank": moved.other_rank}
            document |= {"contribution": _known(moved.contribution)}
            document |= {"other_contribution": _known(moved.other_contribution), "change": _known(moved.delta)}
            yield {**head, **document, "documents": 1}
        if each.rest_documents or not each.moved:
            change = _known(each.rest) if each.rest_documents else None
            yield {**head, **dict.fromkeys(_OF_DOCUMENTS), "change": change, "documents": each.rest_documents}


_OF_DOCUMENTS = ("docid", "judged", "rank", "other_rank", "contribution", "other_contribution", "change")
_COLUMNS = ("measure", "run", "other", "query", "text", "value", "other_value", "delta", *_OF_DOCUMENTS, "documents")


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


class Block(NamedTuple):
    """A query as cells of text, for people.

    Attributes
    ----------
    qid, text : str
        The query.
    values, delta : str
        Its values, and their difference.
    rows : list of tuple of str
        A row for each document, under `HEADER`.
    rest : str
        How many documents more there are; empty where there are none.
    change : str
        The sum of their deltas.
    """

    qid: str
    text: str
    values: str
    delta: str
    rows: list[tuple[str, ...]]
    rest: str
    change: str


def _blocks(told: Told) -> list[Block]:
    digits = DIGITS if told.digits is None else told.digits
    ranks = [rank for each in told.found for moved in each.moved for rank in (moved.rank, moved.other_rank)]
    wide = max((len(_rank(rank)) for rank in ranks), default=1)
    found = []
    for each in told.found:
        kind = "" if each.apart else "judged "
        more = f"{each.rest_documents} more {kind}document{'s' if each.rest_documents > 1 else ''}"
        found.append(
            Block(
                visible(each.qid),
                visible(told.text_of(each)),
                _from_to(each.other_value, each.value, digits),
                _signed(each.delta, digits),
                [_row(moved, digits, wide) for moved in each.moved],
                more if each.rest_documents else "",
                _signed(each.rest, digits),
            )
        )
    return found


def _row(moved: Moved, digits: int, wide: int) -> tuple[str, ...]:
    return (
        visible(moved.docid),
        NOTHING if moved.label is None else str(moved.label),
        f"{_rank(moved.other_rank):>{wide}} {ARROW} {_rank(moved.rank):>{wide}}",
        _from_to(moved.other_contribution, moved.contribution, digits),
        _signed(moved.delta, digits),
    )


def _rank(rank: int | None) -> str:
    return NOTHING if rank is None else str(rank)


def _from_to(before: float, after: float, digits: int) -> str:
    if math.isnan(before) and math.isnan(after):
        return NOTHING
    return f"{before:.{digits}f} {ARROW} {after:.{digits}f}"


def _signed(value: float, digits: int) -> str:
    return NOTHING if math.isnan(value) else f"{value:+.{digits}f}"


def _table(told: Told) -> str:
    bold, faint, plain = (BOLD, FAINT, PLAIN) if told.colour else ("", "", "")
    blocks = _blocks(told)
    lines = [f"{bold}{told.title}{plain}", *([told.remark] if told.remark else [])]
    wide = [max((width_of(getattr(block, name)) for block in blocks), default=0) for name in ("qid", "values", "delta")]
    rows = [HEADER, *(row for block in blocks for row in block.rows)]
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    widths[0] = max([widths[0], *(width_of(block.rest) - sum(widths[1:4]) - 6 for block in blocks)])
    for block in blocks:
        head = _aligned((block.qid, block.values, block.delta), wide)
        lines += ["", f"{bold}{head}{plain}  {_cut(block.text, WIDTH - width_of(head) - 2)}".rstrip()]
        if block.rows:
            lines.append(f"    {faint}{_aligned(HEADER, widths)}{plain}")
        lines += ["    " + _aligned(row, widths) for row in block.rows]
        if block.rest:
            across = _padded(block.rest, sum(widths[:4]) + 2 * 3, right=False)
            lines.append(f"    {across}  {_padded(block.change, widths[4], right=True)}")
    return "".join(f"{line}\n" for line in lines)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells as a line, the first one to the left and the others to the right."""
    placed = enumerate(zip(cells, widths, strict=True))
    return "  ".join(_padded(cell, width, right=at > 0) for at, (cell, width) in placed)


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def _cut(text: str, width: int) -> str:
    """Return as much of a text as fits."""
    if width_of(text) <= width:
        return text
    if width < 1:
        return ""
    from rich.cells import set_cell_size

    return set_cell_size(text, width - 1).rstrip() + "…"


def _markdown_text(told: Told) -> str:
    parts = [escaped_markdown(told.title), *([escaped_markdown(told.remark)] if told.remark else [])]
    for block in _blocks(told):
        text = escaped_markdown(block.text)
        parts.append(f"**{escaped_markdown(block.qid)}** {block.values} ({block.delta}) {text}".rstrip())
        rows = [tuple(map(escaped_markdown, row)) for row in block.rows]
        rows += [(block.rest, "", "", "", block.change)] if block.rest else []
        if rows:
            shown = [HEADER, (":--", *["--:"] * 4), *rows]
            parts.append("\n".join("| " + " | ".join(" ".join(cell.split()) for cell in row) + " |" for row in shown))
    return "\n\n".join(parts) + "\n"


def _latex_text(told: Told) -> str:
    lines = [f"% {line}" for line in (told.title, told.remark) if line]
    lines += ["% \\usepackage{booktabs}", "% \\usepackage[T1]{fontenc}", "\\begin{tabular}{lrrrr}", "\\toprule"]
    lines.append(" & ".join(HEADER) + r" \\")
    for block in _blocks(told):
        text = f"\\textbf{{{_broken(block.qid)}}} {_broken(block.text)}".rstrip()
        lines += ["\\midrule", f"\\multicolumn{{5}}{{p{{0.8\\linewidth}}}}{{{text}}} \\\\"]
        lines.append(f" & & & {_mathematics(block.values)} & {_mathematics(block.delta)} \\\\")
        for docid, *others in block.rows:
            lines.append(" & ".join([f"\\quad {typeset(docid)}", *map(_mathematics, others)]) + r" \\")
        if block.rest:
            lines.append(f"\\quad {block.rest} & & & & {_mathematics(block.change)} \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def _broken(text: str) -> str:
    """Return text that LaTeX may break between characters that it has no letter for, as they have no spaces."""
    return typeset(text).replace("\\textgreater{}\\textless{}", "\\textgreater{}\\allowbreak{}\\textless{}")


def _mathematics(text: str) -> str:
    """Return numbers with arrows and signs as LaTeX has them."""
    if text == NOTHING:
        return "--"
    return "$" + " ".join(text.split()).replace(ARROW, "\\to").replace(NOTHING, "\\textrm{--}") + "$"


def _html_text(told: Told) -> str:
    from html import escape

    heads = "".join(f'<th scope="col">{name}</th>' for name in HEADER)
    lines = ['<table class="queries">', f"<caption>{escape(f'{told.title}. {told.remark}'.strip())}</caption>"]
    lines.append(f"<thead><tr>{heads}</tr></thead>")
    for block in _blocks(told):
        lines.append(
            f'<tbody>\n<tr class="query"><th scope="rowgroup" colspan="3">{escape(block.qid)} '
            f"<span>{escape(block.text)}</span></th><td>{block.values}</td><td>{block.delta}</td></tr>"
        )
        for docid, *others in block.rows:
            cells = "".join(f"<td>{' '.join(cell.split())}</td>" for cell in others)
            lines.append(f'<tr><th scope="row">{escape(docid)}</th>{cells}</tr>')
        if block.rest:
            lines.append(f'<tr class="rest"><th scope="row" colspan="4">{block.rest}</th><td>{block.change}</td></tr>')
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>", ""])


def _json_text(told: Told) -> str:
    import json

    def plain(cell: Cell) -> Cell:
        if isinstance(cell, float) and told.digits is not None:
            return round(cell, told.digits)
        return json_safe(cell) if isinstance(cell, str) else cell

    shown = [{key: plain(cell) for key, cell in record.items()} for record in _records(told)]
    return json.dumps(shown, indent=2, ensure_ascii=False) + "\n"


def _separated(told: Told, delimiter: str) -> str:
    import csv

    def plain(cell: Cell) -> Cell:
        return f"{cell:.{told.digits}f}" if isinstance(cell, float) and told.digits is not None else cell

    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows([plain(record[column]) for column in _COLUMNS] for record in _records(told))
    return text.getvalue()


def _comma_separated(told: Told) -> str:
    return _separated(told, ",")


def _tab_separated(told: Told) -> str:
    return _separated(told, "\t")


QUERY_FORMATS: dict[str, Callable[[Told], str]] = {
    "table": _table,
    "csv": _comma_separated,
    "tsv": _tab_separated,
    "json": _json_text,
    "markdown": _markdown_text,
    "latex": _latex_text,
    "html": _html_text,
}
"""The formats in which queries can be printed."""
