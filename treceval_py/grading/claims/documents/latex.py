r"""LaTeX: its text without the markup, and its tables; nothing is compiled, and no macro is expanded."""

from __future__ import annotations

import re

from treceval_py.grading.claims.documents.document import Blocks, Page
from treceval_py.grading.claims.documents.text import lines_of

_PRINTED = re.compile(r"\\begin\{(verbatim|Verbatim|lstlisting|minted|comment)\*?\}")
_COMMENT = re.compile(r"(\\.)|%.*")
_INNER = r"[^{}\n]{0,200}"
_ARGUMENT = rf"\[[^\]\n]{{0,200}}\]|\{{{_INNER}(?:\{{{_INNER}(?:\{{{_INNER}\}}{_INNER}){{0,9}}\}}{_INNER}){{0,20}}\}}"
_MARK = re.compile(
    r"((?<!\\)&|\\\\\*?(?:\s*\[[^\]\n]{0,20}\])?|\\tabularnewline(?![A-Za-z])"
    rf"|\\(?:begin|end)\{{(?:tabular[xy]?|tabulary|longtable|array|tblr)\*?\}}(?:\s?(?:{_ARGUMENT})){{0,3}})"
)
"""What ends a cell or a row, and what begins or ends a table."""
_STACKED = re.compile(r"\\(?:makecell|shortstack|thead)\*?(?:\[\w*\])?\{[^{}]*\}")
"""Lines above one another within a cell."""
_SPANNING = re.compile(r"\\(multicolumn|multirow)\*?\s*(?:\[[^\]\n]{0,20}\])?\s*\{\s*(\d{1,2})\s*\}\s*\{[^{}]{0,100}\}")


def read_latex(text: str, blocks: Blocks) -> None:
    """Read a LaTeX document, from its beginning or from the beginning of its text."""
    lines = lines_of(_STACKED.sub(lambda stack: stack[0].replace("\\\\", "  "), text))
    first = next((at for at, line in enumerate(lines) if r"\begin{document}" in line), 0)
    page, within, depth = Page(blocks), "", 0
    for number, line in enumerate(lines[first:], first + 1):
        place = f":{number}"
        if within:
            ends = f"\\end{{{within}" in line
            if not ends and within != "comment":
                blocks.line(place, line)
            within = "" if ends else within
            continue
        code, end, _ = _COMMENT.sub(r"\1", line).partition(r"\end{document}")
        code, *printed = _PRINTED.split(code, maxsplit=1)
        within = printed[0] if printed else ""
        depth = _read(code, place, page, depth)
        if not depth and not line.strip():
            blocks.line(place, "")
        if end:
            break
    page.tag("table")


def _read(code: str, place: str, page: Page, depth: int) -> int:
    """Read a line, within so many tables; return within how many it ends."""
    for number, part in enumerate(_MARK.split(code)):
        if number % 2 == 0:
            spanning = _SPANNING.search(part) if depth else None
            page.add(_plain(_SPANNING.sub("", part)), place)
            if spanning is not None and spanning[1] == "multicolumn":
                page.span(spanning[2])
            continue
        before = depth
        depth += part.startswith(r"\begin{") - (part.startswith(r"\end{") and depth > 0)
        if max(before, depth) > 1 or (part == "&" and not depth):
            page.add(" ", place)
        else:
            page.tag("table" if depth < before else "cell" if part == "&" else "row" if before else "block")
            if depth:
                page.open_cell()
    page.tag("block")
    return depth


# --- text ---

_HIDDEN = (
    "label|(?:page|eq|c|C|auto)?ref|[a-z]*cite[a-z]*|includegraphics|bibliography(?:style)?|input|include|usepackage|begin"
    "|end|[vh]space|(?:set|addto)length|cline|cmidrule|(?:row|cell|column)?color|(?:this)?pagestyle|(?:re)?newcommand|def"
    "|setcounter|fontsize|arraystretch|addlinespace|rule|pagenumbering|geometry|documentclass|href"
)
_WITHOUT = re.compile(
    rf"\\(?:{_HIDDEN})\*?(?![A-Za-z])\s?(?:\([^()\n]{{0,50}}\))?(?:\[[^\]\n]{{0,200}}\]){{0,2}}(?:\{{[^{{}}\n]{{0,300}}\}}(?:\[[^\]\n]{{0,50}}\])?)?"
)
_ACCENT = re.compile(r"\\(?:[\"'`^~=.]\s?\{?\\?|[cHkruv]\s?\{\\?)([A-Za-z])\}?")
_SYMBOLS = {
    "%": "%", "_": "_", "&": "&", "#": "#", "{": "(", "}": ")", "pm": " ± ", "approx": " ≈ ", "times": "×", "ss": "ß",
    "textpm": " ± ", "textunderscore": "_", "textpercent": "%", "item": "• ", "!": "", "-": "", "/": "", "textbar": "|",
    "colon": ":", "sim": " ≈ ", "footnote": "; ", "thanks": "; ", "textsuperscript": " ",
}  # fmt: skip
_MACRO = re.compile(r"\\([A-Za-z@]+|.)\*?( ?)")
_UNSEEN = str.maketrans({"$": "", "{": "", "}": "", "~": " "})


def _plain(text: str) -> str:
    r"""Return a text without markup.

    Examples
    --------
    >>> _plain(r"The \textbf{best} $\mathrm{MAP}$ is 0{,}31\,\% \cite{x} f\"ur~uns")
    'The best MAP is 0,31 % fur uns'
    """
    if not re.search(r"[\\${}~]", text):
        return " ".join(text.split())
    text = _ACCENT.sub(r"\1", _WITHOUT.sub(" ", text))
    return " ".join(_MACRO.sub(_symbol, text).translate(_UNSEEN).split())


def _symbol(command: re.Match[str]) -> str:
    return _SYMBOLS.get(command[1], "" if command[1].isalpha() else " ") + command[2]
