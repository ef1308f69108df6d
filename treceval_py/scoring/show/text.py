"""Results for people: a terminal table, Markdown and LaTeX."""

from __future__ import annotations

import re

from treceval_py.errors import visible
from treceval_py.rendering.terminal import drawn
from treceval_py.scoring.results import Results
from treceval_py.scoring.show.options import Options
from treceval_py.scoring.show.sheet import ALL, Cell, Row, sheet_of, signature_lines

__all__ = ["assignments", "escaped_latex", "escaped_markdown", "latex", "markdown", "table"]

_LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    # at the beginning of a row these would be options of the line end before it
    "[": "{[}",
    "*": "{*}",
}


def table(runs: list[Results], options: Options) -> str:
    """Return a table for a terminal: a row for each measure (and query), a column for each run."""
    header, rows = _grid(runs, options)
    queries = [row.query for row, _ in rows]
    breaks = [at for at in range(1, len(rows)) if options.per_query and queries[at] != queries[at - 1]]
    cells = [cells for _, cells in rows]
    above = drawn(header, cells, len(header) - len(runs), breaks=breaks, colour=options.colour)
    below = "".join(f"{visible(line)}\n" for line in signature_lines(runs, options))
    return above + ("\n" + below if below else "")


def markdown(runs: list[Results], options: Options) -> str:
    """Return a GitHub-flavoured Markdown table."""
    header, rows = _grid(runs, options)
    labels = len(header) - len(runs)
    lines = [header, [":--"] * labels + ["--:"] * len(runs), *(cells for _, cells in rows)]
    made = [f"* `{line}`\n" for line in map(visible, signature_lines(runs, options))]
    rows_of_text = "".join("| " + " | ".join(map(escaped_markdown, cells)) + " |\n" for cells in lines)
    return rows_of_text + ("\n" + "".join(made) if made else "")


def latex(runs: list[Results], options: Options) -> str:
    """Return a LaTeX table in the style of the booktabs package."""
    header, rows = _grid(runs, options)
    labels = len(header) - len(runs)
    lines = ["% \\usepackage{booktabs}", f"\\begin{{tabular}}{{{'l' * labels}{'r' * len(runs)}}}", "\\toprule"]
    lines += [" & ".join(map(escaped_latex, header)) + r" \\", "\\midrule"]
    lines += [" & ".join(map(escaped_latex, cells)) + r" \\" for _, cells in rows]
    made = [f"% {line}" for line in map(visible, signature_lines(runs, options))]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", *made, ""])


def assignments(runs: list[Results], options: Options) -> str:
    """Return lines of ``NAME = value`` with five decimals, a block for each run; for a query ``NAME(qid) = value``."""
    digits = 5 if options.digits is None else options.digits
    lines = []
    for results in runs:
        for row in sheet_of([results], options).rows:
            name = row.measure if row.query == ALL else f"{row.measure}({visible(row.query)})"
            lines.append(f"{name} = {_cell(row.cells[0], digits)}\n")
        lines += [f"# {visible(line)}\n" for line in signature_lines([results], options)]
    return "".join(lines)


def _grid(runs: list[Results], options: Options) -> tuple[list[str], list[tuple[Row, list[str]]]]:
    """Return the header and the rows as text; the query column is there only when queries are asked for."""
    sheet = sheet_of(runs, options)
    digits = 4 if options.digits is None else options.digits
    by_query = options.per_query
    header = [*(["query"] if by_query else []), "measure", *map(visible, sheet.runs)]
    rows = [
        (row, [*([visible(row.query)] if by_query else []), row.measure, *(_cell(cell, digits) for cell in row.cells)])
        for row in sheet.rows
    ]
    return header, rows


def _cell(cell: Cell, digits: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.{digits}f}"
    return visible(str(cell))


def escaped_markdown(text: str) -> str:
    """Write text so that Markdown shows it as it is; the cells below a table's header stay."""
    return text if text in (":--", "--:") else re.sub(r"([\\`*_{}\[\]<>|#~$]|&(?=#?\w+;))", r"\\\1", text)


def escaped_latex(text: str) -> str:
    """Write text so that LaTeX shows it as it is, as far as its characters are ones that it can show."""
    return "".join(_LATEX.get(character, character) for character in text)
