r"""A comparison as tables for a paper, in the style of the LaTeX package booktabs.

They need booktabs, and longtable for more than 40 runs; letters beyond ASCII need ``\usepackage[T1]{fontenc}``, and
UTF-8, which is what LaTeX reads. A character that pdfLaTeX has no letter for, as of Chinese or an emoji, is written
``<U+6A21>``: it shows, it keeps names apart, and the table compiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from treceval_py.comparing.show.layout import (
    ABOVE,
    BELOW,
    Cell,
    Column,
    Layout,
    Row,
    columns_of,
    heading,
    methods,
    notes,
    panels,
    rows_of,
    sentences,
    signatures,
    starts_of,
)
from treceval_py.errors import visible
from treceval_py.scoring.show.text import escaped_latex

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison

__all__ = ["latex", "typeset"]

MOST_DIFFERENCES = 40
"""So many differences fit on a page; more of them are no table for a paper."""

MOST_RUNS = 40
"""So many runs fit on a page; a table of more goes over pages."""

ROOM = 345.0
"""Points across a page of LaTeX's article class."""

GAP = 6.0
"""Points on each side of a column, LaTeX's ``\\tabcolsep``."""

_SIZES = (("", 1.0), ("\\small", 0.92), ("\\footnotesize", 0.85))
"""Sizes of letters, and how wide they are of those of ten points."""

_SIGNS = {
    ABOVE: "$^{\\bigtriangleup}$",
    BELOW: "$^{\\bigtriangledown}$",
    "∞": "$\\infty$",
    "−": "$-$",
    "±": "$\\pm$",
    "×": "$\\times$",
    "≤": "$\\leq$",
    "–": "--",
    "…": "\\ldots{}",
}

# What the encoding T1 has letters for, of `t1enc.dfu`: most of Latin-1 and Latin Extended-A, and marks of quotation.
_LETTERS = re.compile("[ -~¡£«»¿À-ÖØ-öø-ĥĨ-ķĹ-ľŁ-ňŊ-ťŨ-ž‘’“”„—]")


def latex(comparison: Comparison, layout: Layout) -> str:
    """Return a table of the means, and, of up to 40 differences, a table of these.

    The highest mean of a measure is bold; behind a mean come the mark of a significant difference from the baseline
    and the letters of its groups, raised. Measures that do not fit side by side stand in blocks below each other, and
    more than 40 runs in tables that go over pages. What the comparison notes is said in the first caption. Of the
    differences neither the uncorrected p-value of a test that is corrected nor the queries needed are shown.
    """
    made = [f"% {line}" for line in [*signatures(comparison), sentences(comparison)[-1]]]
    packages = ["{booktabs}", *(["{longtable}"] if len(comparison.runs) > MOST_RUNS else []), "[T1]{fontenc}"]
    parts = [*(f"% \\usepackage{package}" for package in packages), *made, *_means(comparison, layout)]
    count = sum(len(compared.differences) for compared in comparison.measures)
    if count > MOST_DIFFERENCES:
        parts += ["", f"% {count} differences are too many for a table; formats for programs have them."]
    elif count:
        parts += ["", *_differences(comparison, layout)]
    return "\n".join([*parts, ""])


def typeset(text: str) -> str:
    """Write text so that pdfLaTeX shows it as it is; what it has no letter for becomes ``<U+6A21>``."""
    # Two signs that LaTeX would draw as one, such as two hyphens, are kept apart.
    apart = re.split(r"(?<=[-,'`?!])(?=[-,'`])", visible(text))
    return "{}".join("".join(map(_character, part)) for part in apart)


def _character(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    return escaped_latex(_shown(character))


def _shown(character: str) -> str:
    return character if character in _SIGNS or _LETTERS.fullmatch(character) else f"<U+{ord(character):04X}>"


def _environment(label: str, caption: Iterable[str], size: str, body: Sequence[str]) -> list[str]:
    return [
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{typeset(' '.join(caption))}}}",
        f"\\label{{{label}}}",
        "\\smallskip",
        *([size] if size else []),
        *body,
        "\\end{table}",
    ]


def _means(comparison: Comparison, layout: Layout) -> list[str]:
    """Return the table of means; of each measure numbers stand in one column and what is behind them in another."""
    rows = rows_of(comparison, layout)
    measures = [compared.measure for compared in comparison.measures]
    names = [f"{row.name} (baseline)" if row.baseline else row.name for row in rows]
    behind = any(cell.mark or cell.letters for row in rows for cell in row.cells)
    widths = [_points(measure, [row.cells[at] for row in rows]) for at, measure in enumerate(measures)]
    first = max(map(_width, names))
    size, factor = next(
        (each for each in _SIZES if each[1] * (first + sum(widths)) + 2 * GAP * (len(widths) + 1) <= ROOM), _SIZES[-1]
    )
    blocks = panels([factor * width + 2 * GAP for width in widths], ROOM - factor * first - 2 * GAP)
    caption = _caption(comparison)
    form = f"{{l{('r@{}l' if behind else 'r') * max(map(len, blocks))}}}"
    bodies = [_block(rows, names, measures, block, behind=behind) for block in blocks]
    if len(rows) > MOST_RUNS:
        return _pages("tab:comparison", caption, size, form, bodies)
    body = [f"\\begin{{tabular}}{form}", "\\toprule", *bodies[0]]
    for more in bodies[1:]:
        body += ["\\midrule", *more]
    return _environment("tab:comparison", caption, size, [*body, "\\bottomrule", "\\end{tabular}"])


def _caption(comparison: Comparison) -> list[str]:
    """Return what is said of the means, and all that is noted."""
    said = methods(comparison)
    subjects = ("queries", "test", "groups") if comparison.baseline is not None else ("queries", "groups")
    caption = [said[key] for key in subjects if key in said]
    if "test" in subjects and comparison.settings.test == "randomisation":
        caption.append(said["randomisation"])
    caption.insert(1, "Bold: highest mean.")
    return [*caption, *notes(comparison)]


def _pages(label: str, caption: Iterable[str], size: str, form: str, bodies: Sequence[Sequence[str]]) -> list[str]:
    """Return tables that go over pages, one for each block of measures, under one caption and number."""
    lines = [f"\\begingroup{size}"]
    for place, (titles, rule, *rows) in enumerate(bodies):
        head = ["\\toprule", titles, rule]
        lines += ["\\addtocounter{table}{-1}"] * (place > 0) + [f"\\begin{{longtable}}{form}"]
        lines += [f"\\caption{{{typeset(' '.join(caption))}}}\\label{{{label}}} \\\\"] * (place == 0)
        lines += [*head, "\\endfirsthead", *head, "\\endhead", "\\bottomrule", "\\endfoot", *rows, "\\end{longtable}"]
    return [*lines, "\\endgroup"]


def _block(
    rows: Sequence[Row], names: Sequence[str], measures: Sequence[str], block: range, *, behind: bool
) -> list[str]:
    title = "\\multicolumn{{2}}{{c}}{{{}}}" if behind else "{}"
    lines = [" & ".join(["Run", *(title.format(typeset(measures[at])) for at in block)]) + r" \\", "\\midrule"]
    for name, row in zip(names, rows, strict=True):
        lines.append(" & ".join([typeset(name), *(_mean(row.cells[at], behind=behind) for at in block)]) + r" \\")
    return lines


def _mean(cell: Cell, *, behind: bool) -> str:
    text = typeset(cell.text.replace("-", "−"))
    text = f"\\textbf{{{text}}}" if cell.best else text
    letters = f"\\textsuperscript{{{typeset(cell.letters)}}}" if cell.letters else ""
    between = "\\," if cell.mark and letters else ""
    return f"{text} & {typeset(cell.mark)}{between}{letters}" if behind else text


def _differences(comparison: Comparison, layout: Layout) -> list[str]:
    """Return the table of differences, under the name of each measure."""
    every = columns_of(comparison, layout)
    marked = next(column for column in every if column.key == "mark").cells
    uncorrected = "" if comparison.settings.correction == "none" else f"p ({comparison.settings.test})"
    hidden = {"measure", "mark", "needed"}
    shown = [column for column in every if column.key not in hidden and column.title != uncorrected]
    widths = [max(map(_width, [column.title, *column.cells])) for column in shown]
    size = next((name for name, factor in _SIZES if factor * sum(widths) + GAP * len(widths) <= ROOM), "\\scriptsize")
    body = [
        "\\setlength{\\tabcolsep}{3pt}",
        f"\\begin{{tabular}}{{@{{}}{''.join(map(_alignment, shown))}@{{}}}}",
        "\\toprule",
    ]
    body += [" & ".join(map(_title, shown)) + r" \\"]
    starts = dict(zip(starts_of(comparison), [compared.measure for compared in comparison.measures], strict=True))
    for row, mark in enumerate(marked):
        if row in starts:
            body += [
                "\\midrule",
                f"\\multicolumn{{{_places(shown)}}}{{@{{}}l}}{{\\emph{{{typeset(starts[row])}}}}} \\\\",
            ]
        body.append(" & ".join(_difference(column, row, mark) for column in shown) + r" \\")
    said = methods(comparison)
    caption = [f"{heading(comparison)}."]
    caption += [said[key] for key in said if key not in {"queries", "groups", "needed"}]
    return _environment("tab:comparison-differences", caption, size, [*body, "\\bottomrule", "\\end{tabular}"])


def _alignment(column: Column) -> str:
    return "l" if column.text else "r@{}l" if column.key == "difference" else "r"


def _places(columns: Sequence[Column]) -> int:
    return len(columns) + 1  # the difference has two, with its mark


def _title(column: Column) -> str:
    title = typeset(column.title[:1].upper() + column.title[1:] if column.text else column.title)
    return f"\\multicolumn{{2}}{{c}}{{{title}}}" if column.key == "difference" else title


def _difference(column: Column, row: int, mark: str) -> str:
    cell = column.cells[row]
    if column.text:
        return typeset(cell)
    if cell.startswith("["):
        cell = cell.replace("+", "")  # there is no room for it
    text = typeset(cell.replace("-", "−"))
    return f"{text} & {typeset(mark)}" if column.key == "difference" else text


def _points(measure: str, cells: Sequence[Cell]) -> float:
    """Return how wide a column of means is, in points, without the space around it."""
    behind = max(9 * len(cell.mark) + 4.5 * len(cell.letters) for cell in cells)
    return max(_width(measure), max(_width(cell.text) for cell in cells) * 1.15 + behind)


def _width(text: str) -> float:
    """Return about how wide text is in ten points of Computer Modern."""
    shown = "".join(map(_shown, text))
    return sum(2.8 if each in ".,:;|[]()/il'" else 7.7 if each in "+-<>" or each.isupper() else 5.0 for each in shown)
