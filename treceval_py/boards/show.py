"""A board as text: for a terminal, for papers and web pages, and for programs."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from treceval_py.comparing.show.latex import typeset
from treceval_py.comparing.show.layout import Layout, exactly, noted, number, panels, percent, shortened
from treceval_py.comparing.show.web import STYLE
from treceval_py.errors import visible
from treceval_py.rendering.terminal import BETWEEN, drawn, width_of, wrapped
from treceval_py.scoring.show.tabular import json_safe
from treceval_py.scoring.show.text import escaped_markdown

if TYPE_CHECKING:
    from treceval_py.boards.board import Board, BoardRun

__all__ = ["BOARD_FORMATS", "sentences"]

BEST = "●"
"""The sign of the highest mean, where there is no bold type."""

JUDGED = "judged@10: share of judged documents among the first ten."

DIGITS = 4

MOST_ON_A_PAGE = 40
"""More runs than these do not fit on a page of LaTeX's article class."""

ROOM, GAP = 345.0, 3.0
"""Points across a page of LaTeX's article class, and on each side of a column."""

SIZES = {"\\normalsize": 5.4, "\\small": 4.9, "\\footnotesize": 4.4, "\\scriptsize": 4.1}
"""LaTeX's sizes, with about how many points a character takes."""

NAMING = 2
"""The columns of ranks and names, with which each block of a table begins."""

EXACT = 1e-12
"""Means that differ by less are equal."""


class _Column(NamedTuple):
    """A column for people.

    Attributes
    ----------
    key : {"rank", "run", "mean", "interval", "letters", "judged", "warnings"}
        What it holds.
    title : str
        Its title.
    cells : tuple of str, length S
        Its cells.
    best : frozenset of int
        The rows with the highest mean of a measure.
    """

    key: str
    title: str
    cells: tuple[str, ...]
    best: frozenset[int] = frozenset()

    @property
    def text(self) -> bool:
        """Whether it holds words."""
        return self.key in {"run", "letters", "warnings"}


def _columns(board: Board, layout: Layout) -> list[_Column]:
    """Return what people see; columns in which nothing stands are left out."""
    digits = DIGITS if layout.digits is None else layout.digits
    runs = board.runs
    means = [_means(board, at, digits) for at in range(len(board.measures))]
    columns = [
        _Column("rank", "rank", tuple(str(run.rank) for run in runs)),
        _Column("run", "run", tuple(visible(run.name) for run in runs)),
        means[0],
        _Column(
            "interval", f"{percent(board.settings.confidence)} interval", tuple(_interval(run, digits) for run in runs)
        ),
        _Column("letters", "groups", tuple(shortened(run.letters) for run in runs)),
        *means[1:],
        _Column("judged", "judged@10", tuple(number(run.judged, digits) for run in runs)),
        _Column("warnings", "warnings", tuple(visible("; ".join(run.warnings)) for run in runs)),
    ]
    needed = {"rank", "run", "mean"}
    return [each for each in columns if each.key in needed or any(cell not in {"", "–"} for cell in each.cells)]


def _means(board: Board, at: int, digits: int) -> _Column:
    values = [run.means[at] for run in board.runs]
    highest = max(values, default=0.0)
    best = frozenset(row for row, value in enumerate(values) if value >= highest - EXACT * max(1.0, abs(highest)))
    return _Column("mean", visible(board.measures[at]), tuple(number(value, digits) for value in values), best)


def _interval(run: BoardRun, digits: int) -> str:
    if math.isnan(run.low) or math.isnan(run.high):
        return "–"
    # Of numbers below zero a dash between them would be read as a sign.
    between = " to " if run.low < 0 else "–"
    return f"{number(run.low, digits)}{between}{number(run.high, digits)}"


def sentences(board: Board) -> list[str]:
    """Say how a board was made and what its columns mean, as plain text without control characters."""
    first, settings = visible(board.measures[0]), board.settings
    said = [_over(board)] if board.runs else ["No run could be scored."]
    said += [f"Ranked by {first}; runs with equal means share a rank."] if len(board.runs) > 1 else []
    if any(not math.isnan(run.low) for run in board.runs):
        said.append(f"Intervals: {percent(settings.confidence)}, Student's t, of each run's {first}.")
    if any(run.letters for run in board.runs):
        said.append(
            f"Groups: runs that share a letter do not differ significantly in {first} (Tukey's HSD test after a "
            f"two-way analysis of variance of queries and runs, alpha = {exactly(settings.alpha)} for all pairs "
            f"together: means differ if they are more than {number(board.difference, DIGITS)} apart)."
        )
    if any(not math.isnan(run.judged) for run in board.runs):
        said.append(JUDGED)
    said += [noted(note) for note in board.notes]
    said += [f"Not scored: {visible(error.message)}" for error in board.errors]
    return said


def _over(board: Board) -> str:
    by_count: dict[int, list[str]] = {}
    for measure, count in zip(board.measures, board.queries, strict=True):
        by_count.setdefault(count, []).append(visible(measure))
    parts = [f"{count} {'query' if count == 1 else 'queries'}" for count in by_count]
    if len(parts) > 1:
        parts = [f"{part} ({', '.join(names)})" for part, names in zip(parts, by_count.values(), strict=True)]
    return f"Means over {', '.join(parts)}, judged by {visible(board.judgments_name)}."


def _made(board: Board) -> list[str]:
    """Say how each number was made, and with what."""
    pairs = zip(board.measures, board.signatures, strict=True)
    lines = [f"{visible(measure)}: {visible(signature.short)}" for measure, signature in pairs if board.runs]
    return [*lines, f"treceval_py {visible(board.version)}"]


def table(board: Board, layout: Layout) -> str:
    """Return a table for a terminal, a row for each run.

    The highest mean of each measure has the sign ● before it, and is bold where styles may be used. A table wider than
    the terminal is cut into blocks of columns, all beginning with ranks and names, and its warnings stand below.
    """
    columns = _columns(board, layout)
    filled = [_filled(column) for column in columns]
    widths = [float(width_of(cells[0]) + len(BETWEEN)) for cells in filled]
    below: list[str] = []
    if layout.width is not None and sum(widths) - len(BETWEEN) > layout.width and columns[-1].key == "warnings":
        columns, filled, widths = columns[:-1], filled[:-1], widths[:-1]
        below = [
            f"Warning: {visible(run.name)}: {visible('; '.join(run.warnings))}." for run in board.runs if run.warnings
        ]
    room = math.inf if layout.width is None else layout.width - sum(widths[:NAMING]) + len(BETWEEN)
    texts = []
    for block in panels(widths[NAMING:], room):
        shown = [*range(NAMING), *(NAMING + at for at in block)]
        header, *rows = zip(*(filled[at] for at in shown), strict=True)
        bold = {(row, place) for place, at in enumerate(shown) for row in columns[at].best}
        texts.append(drawn(header, rows, 0, colour=layout.colour, bold=bold))
    legend = [f"{BEST}: highest mean."] if len(board.runs) > 1 else []
    said = [*legend, *sentences(board), *below, *_made(board)]
    return "\n".join([*texts, "".join(f"{part}\n" for line in said for part in wrapped(line, layout.width))])


def _marked(column: _Column, row: int) -> str:
    cell = column.cells[row]
    return f"{BEST} {cell}" if row in column.best and len(column.cells) > 1 else cell


def _filled(column: _Column) -> list[str]:
    """Return the title and the cells of a column, all as wide as the widest."""
    cells = [column.title, *(_marked(column, row) for row in range(len(column.cells)))]
    wide = max(map(width_of, cells))
    spaces = [" " * (wide - width_of(cell)) for cell in cells]
    return [cell + space if column.text else space + cell for cell, space in zip(cells, spaces, strict=True)]


def markdown(board: Board, layout: Layout) -> str:
    """Return a GitHub-flavoured Markdown table, the highest means bold, and what its columns mean."""
    columns = _columns(board, layout)
    lines = [
        [escaped_markdown(column.title) for column in columns],
        [":--" if column.text else "--:" for column in columns],
        *([_bold(column, row) for column in columns] for row in range(len(board.runs))),
    ]
    rows = "".join("| " + " | ".join(cells) + " |\n" for cells in lines)
    made = [escaped_markdown(line) if "`" in line else f"`{line}`" for line in _made(board)]
    said = [*(["Bold: highest mean."] if len(board.runs) > 1 else []), *map(escaped_markdown, sentences(board)), *made]
    return rows + "\n" + "".join(f"* {line}\n" for line in said)


def _bold(column: _Column, row: int) -> str:
    cell = escaped_markdown(column.cells[row])
    return f"**{cell}**" if row in column.best and len(column.cells) > 1 else cell


def latex(board: Board, layout: Layout) -> str:
    """Return a LaTeX table in the style of booktabs, the highest means bold; of many runs one that goes over pages.

    Warnings stand in comments, as they are for whoever writes the paper. The share of judged documents gives way where
    a page is not wide enough.
    """
    columns = [column for column in _columns(board, layout) if column.key != "warnings"]
    if not _size(columns):
        columns = [column for column in columns if column.key != "judged"]
    long = len(board.runs) > MOST_ON_A_PAGE
    packages = ["booktabs", *(["longtable"] if long else [])]
    comments = [*_made(board), *(f"{run.name}: {'; '.join(run.warnings)}" for run in board.runs if run.warnings)]
    size = f"{_size(columns) or list(SIZES)[-1]}\\setlength{{\\tabcolsep}}{{{GAP:g}pt}}"
    head = [f"% \\usepackage{{{name}}}" for name in packages] + ["% \\usepackage[T1]{fontenc}"]
    head += [f"% {visible(line)}" for line in comments]
    shown = any(column.key == "judged" for column in columns)
    described = ["Bold: highest mean." for _ in board.runs[1:2]]
    described += [line for line in sentences(board) if shown or line != JUDGED]
    caption = f"\\caption{{{typeset(' '.join(described))}}}"
    label = "\\label{tab:board}"
    form = "".join("l" if column.text else "r" for column in columns)
    titles = " & ".join(typeset(column.title) for column in columns) + r" \\"
    rows = [" & ".join(_cell(column, row) for column in columns) + r" \\" for row in range(len(board.runs))]
    if long:
        begin = [f"\\begingroup{size}", f"\\begin{{longtable}}{{{form}}}", f"{caption}{label} \\\\"]
        again = ["\\toprule", titles, "\\midrule"]
        lines = [*begin, *again, "\\endfirsthead", *again, "\\endhead", "\\bottomrule", "\\endfoot", *rows]
        lines += ["\\end{longtable}", "\\endgroup"]
    else:
        begin = ["\\begin{table}", "\\centering", caption, label, size, f"\\begin{{tabular}}{{{form}}}"]
        lines = [*begin, "\\toprule", titles, "\\midrule", *rows, "\\bottomrule", "\\end{tabular}", "\\end{table}"]
    return "\n".join([*head, *lines, ""])


def _size(columns: Sequence[_Column]) -> str:
    """Return the largest size in which columns fit on a page; empty if there is none."""
    characters = sum(max(map(len, [column.title, *column.cells])) for column in columns)
    room = ROOM - 2 * GAP * len(columns)
    return next((name for name, points in SIZES.items() if points * characters <= room), "")


def _cell(column: _Column, row: int) -> str:
    cell = typeset(column.cells[row])
    return f"\\textbf{{{cell}}}" if row in column.best and len(column.cells) > 1 else cell


def html(board: Board, layout: Layout) -> str:
    """Return a section with the board and what its columns mean, to be put into a page.

    It is ASCII, whatever the encoding of the page, has no scripts and takes nothing from outside.
    """
    columns = _columns(board, layout)
    head = "".join(f'<th scope="col"{_class(column)}>{escape(column.title)}</th>' for column in columns)
    rows = ["<tr>" + "".join(_web_cell(column, row) for column in columns) + "</tr>" for row in range(len(board.runs))]
    said = [*(["Bold: highest mean."] if len(board.runs) > 1 else []), *sentences(board)]
    items = [escape(line) for line in said] + [f"<code>{escape(line)}</code>" for line in _made(board)]
    parts = [
        f'<section class="treceval-comparison treceval-board">\n<style>{STYLE}</style>',
        '<div class="tc-wide" role="region" aria-label="Runs" tabindex="0">\n<table>',
        f"<caption>{escape(f'Runs ranked by {visible(board.measures[0])}')}</caption>",
        f"<thead><tr>{head}</tr></thead>\n<tbody>",
        *rows,
        "</tbody>\n</table>\n</div>",
        "<ul>\n" + "".join(f"<li>{item}</li>\n" for item in items) + "</ul>",
        "</section>\n",
    ]
    return "\n".join(parts).encode("ascii", "xmlcharrefreplace").decode("ascii")


def _class(column: _Column) -> str:
    return ' class="tc-text"' if column.text else ""


def _web_cell(column: _Column, row: int) -> str:
    text = escape(column.cells[row].replace("-", "−") if column.key == "mean" else column.cells[row])
    if column.key == "run":
        return f'<th scope="row"{_class(column)}><bdi>{text}</bdi></th>'
    text = f"<b>{text}</b>" if row in column.best and len(column.cells) > 1 else text
    return f"<td{_class(column)}>{text}</td>"


def comma_separated(board: Board, layout: Layout) -> str:
    """Return CSV (RFC 4180, newline-ended), a row for each run, numbers with all digits unless fewer are asked for."""
    return _separated(board, layout, ",")


def tab_separated(board: Board, layout: Layout) -> str:
    """Return tab-separated values, a row for each run."""
    return _separated(board, layout, "\t")


def _separated(board: Board, layout: Layout, delimiter: str) -> str:
    import csv

    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    tail = ["low", "high", "groups", "judged@10", "tied_queries", "missing_queries", "warnings", "file", "tag"]
    writer.writerow(["rank", "run", *board.measures, *tail])
    for run in board.runs:
        numbers = [_number(value, layout) for value in (*run.means, run.low, run.high)]
        known = [run.letters, _number(run.judged, layout), "" if run.tied is None else run.tied, len(run.missing)]
        writer.writerow([run.rank, run.name, *numbers, *known, "; ".join(run.warnings), run.file, run.tag])
    return text.getvalue()


def _number(value: float, layout: Layout) -> float | str:
    """Return a number for a cell, which is empty where there is none."""
    if math.isnan(value):
        return ""
    return value if layout.digits is None else f"{value:.{layout.digits}f}"


def json_text(board: Board, layout: Layout) -> str:
    """Return a JSON object with the runs, how they were scored, and what could not be."""
    import json

    settings = board.settings
    document = {
        "treceval_py": board.version,
        "board": "runs in the order of the first measure",
        "profile": settings.profile,
        "complete": settings.complete,
        "judgments": json_safe(board.judgments_name),
        "measures": list(board.measures),
        "queries": dict(zip(board.measures, board.queries, strict=True)),
        "signatures": {
            measure: {"short": each.short, "long": each.long}
            for measure, each in zip(board.measures, board.signatures, strict=True)
        },
        "confidence": settings.confidence,
        "alpha": settings.alpha,
        "least_significant_difference": _rounded(board.difference, layout),
        "runs": [_run(run, board.measures, layout) for run in board.runs],
        "notes": [json_safe(note) for note in board.notes],
        "errors": [{"file": json_safe(each.file), "message": json_safe(each.message)} for each in board.errors],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _run(run: BoardRun, measures: Sequence[str], layout: Layout) -> dict[str, Any]:
    return {
        "rank": run.rank,
        "name": json_safe(run.name),
        "file": json_safe(run.file),
        "tag": json_safe(run.tag),
        "mean": {name: _rounded(mean, layout) for name, mean in zip(measures, run.means, strict=True)},
        "low": _rounded(run.low, layout),
        "high": _rounded(run.high, layout),
        "groups": run.letters,
        "judged@10": _rounded(run.judged, layout),
        "tied_queries": run.tied,
        "missing": [json_safe(qid) for qid in run.missing],
        "warnings": [json_safe(text) for text in run.warnings],
        "sha256": run.digest,
    }


def _rounded(value: float, layout: Layout) -> float | None:
    """Return a number as JSON can have it."""
    if not math.isfinite(value):
        return None
    return value if layout.digits is None else round(value, layout.digits)


BOARD_FORMATS: dict[str, Callable[[Board, Layout], str]] = {
    "table": table,
    "csv": comma_separated,
    "tsv": tab_separated,
    "json": json_text,
    "markdown": markdown,
    "latex": latex,
    "html": html,
}
"""The formats by name; each turns a board into text."""
