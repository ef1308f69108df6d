r"""LaTeX: its text without the markup, and its tables; nothing is compiled, and no macro is expanded."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator

from treceval_py.grading.claims.documents.document import MOST_COLUMNS, Blocks, Row
from treceval_py.grading.claims.documents.text import read_lines

_TABLES = {"tabular": 1, "longtable": 1, "array": 1, "tblr": 1, "tabular*": 2, "tabularx": 2, "tabulary": 2}
"""Environments that are tables, with their number of arguments."""

_LONGEST_TABLE = 5000
"""Largest distance of a caption from the beginning of its table, in characters."""

_PRINTED = ("verbatim", "Verbatim", "lstlisting", "minted")
_ENVIRONMENT = re.compile(
    r"\\(?P<way>begin|end)\{(?P<name>" + "|".join(map(re.escape, (*_TABLES, *_PRINTED, "comment", "table"))) + r")\*?\}"
)
_COMMENT = re.compile(r"\\(begin|end)\{(?:" + "|".join(_PRINTED) + r")\}|\\.|%[^\n]*")


def read_latex(text: str, blocks: Blocks) -> None:
    """Read a LaTeX document, from its beginning or from the beginning of its text."""
    source = _uncommented(text)
    begin, end = source.find(r"\begin{document}"), source.find(r"\end{document}")
    _Source(source, blocks).read(max(begin, 0), end if end > begin else len(source))


def _uncommented(text: str) -> str:
    printed = False

    def tell(mark: re.Match[str]) -> str:
        nonlocal printed
        if mark[1]:
            printed = mark[1] == "begin"
        return "" if mark[0][0] == "%" and not printed else mark[0]

    return _COMMENT.sub(tell, text)


class _Source:
    """A document without comments."""

    def __init__(self, text: str, blocks: Blocks) -> None:
        self._text = text
        self._blocks = blocks
        self._ends = [newline.start() for newline in re.finditer("\n", text)]
        self._caption = ""

    def read(self, at: int, end: int) -> None:
        """Read the text between two positions."""
        open_name, depth, begin = "", 0, at
        for command in _ENVIRONMENT.finditer(self._text, at, end):
            name, starts = command["name"], command["way"] == "begin"
            if name == "table":
                if starts and not open_name:
                    near = self._text[command.end() : min(command.end() + _LONGEST_TABLE, end)]
                    self._caption = _caption(near.partition(r"\end{table")[0])
            elif not open_name and starts:
                self._read_text(at, command.start())
                open_name, depth, begin = name, 1, command.end()
            elif name == open_name:
                depth += 1 if starts else -1
                if not depth:
                    self._read_environment(open_name, begin, command.start())
                    open_name, at = "", command.end()
        # An environment that is never closed is read as text.
        self._read_text(begin if open_name else at, end)

    def _line(self, at: int) -> int:
        return bisect_right(self._ends, at - 1) + 1

    def _read_text(self, begin: int, end: int) -> None:
        for number, line in enumerate(self._text[begin:end].split("\n"), self._line(begin)):
            plain = _plain(line)
            if plain or not line.strip():
                self._blocks.line(f":{number}", plain)

    def _read_environment(self, name: str, begin: int, end: int) -> None:
        if name in _PRINTED:
            lines = enumerate(self._text[begin:end].split("\n"), self._line(begin))
            read_lines(((f":{number}", line) for number, line in lines), self._blocks)
        elif name in _TABLES:
            self._read_table(_after_arguments(self._text, begin, end, _TABLES[name]), end)

    def _read_table(self, begin: int, end: int) -> None:
        rows: list[Row] = []
        caption, self._caption = self._caption, ""
        # Stacked lines within a cell are joined; positions stay the same.
        for at, row in _rows(_STACKED.sub(lambda stack: stack[0].replace("\\\\", "  "), self._text[begin:end])):
            own = _caption(row)
            if own:
                caption = own
            elif any(cells := _cells(row)):
                rows.append(Row(f":{self._line(begin + at)}", tuple(cells)))
        self._blocks.grid(rows, caption)


_ARGUMENT = re.compile(
    r"\s*(?:(?P<optional>\[[^\]\n]{0,200}\])|\{[^{}]{0,200}(?:\{[^{}]{0,200}(?:\{[^{}]{0,200}\}[^{}]{0,200}){0,9}\}[^{}]{0,200}){0,20}\})"
)


def _after_arguments(text: str, at: int, end: int, number: int) -> int:
    """Return where the arguments of an environment end."""
    while number and (argument := _ARGUMENT.match(text, at, end)) is not None:
        at, number = argument.end(), number - (argument["optional"] is None)
    return at


# --- tables ---

_BREAK = re.compile(r"\\(?:(?P<end>\\\*?(?:\s*\[[^\]\n]{0,20}\])?|tabularnewline(?![A-Za-z]))|[\s\S])")
_DRAWN = re.compile(
    r"(?:\s|\\(?:[a-z]*(?:rule|line)|endhead|endfirsthead)(?![a-z])(?:\([^()\n]{0,9}\)|\[[^\]\n]{0,9}\]|\{[^{}\n]{0,9}\})*)+"
)
_STACKED = re.compile(
    r"\\(?:makecell|shortstack|thead)\*?(?:\[\w*\])?\{[^{}]*\}|\\begin\{tabular\}(?:\[\w\])?\{[^{}\n]{0,50}\}[^{}]{0,500}\\end\{tabular\}"
)
_SPANNING = re.compile(r"\\(multicolumn|multirow)\*?\s*(?:\[[^\]\n]{0,20}\])?\s*\{\s*(\d{1,2})\s*\}\s*\{[^{}]{0,100}\}")
_CAPTION = re.compile(
    r"\\caption\s*(?:\[[^\]\n]{0,400}\])?\s*\{([^{}]{0,1000}(?:\{[^{}]{0,400}\}[^{}]{0,1000}){0,50})\}"
)


def _caption(text: str) -> str:
    caption = _CAPTION.search(text)
    return _plain(caption[1].replace("\n", " ")) if caption else ""


def _rows(text: str) -> Iterator[tuple[int, str]]:
    """Yield the rows of a table, each with its beginning."""
    at = 0
    ends = [(stop.start(), stop.end()) for stop in _BREAK.finditer(text) if stop["end"]]
    for end, after in (*ends, (len(text), len(text))):
        drawn = _DRAWN.match(text, at, end)
        yield (drawn.end() if drawn else at), text[at:end]
        at = after


def _cells(row: str) -> list[str]:
    """Return the cells of a row; one that spans several columns is repeated."""
    cells: list[str] = []
    for part in re.split(r"(?<!\\)&", row)[:MOST_COLUMNS]:
        command = _SPANNING.search(part)
        columns = int(command[2]) if command and command[1] == "multicolumn" else 1
        cells += [_plain(_SPANNING.sub("", part).replace("\n", " "))] * columns
    return cells


# --- text ---

_HIDDEN = (
    "label|(?:page|eq|c|C|auto)?ref|[a-z]*cite[a-z]*|includegraphics|bibliography(?:style)?|input|include|usepackage|begin"
    "|end|[vh]space|(?:set|addto)length|cline|cmidrule|(?:row|cell|column)?color|(?:this)?pagestyle|(?:re)?newcommand|def"
    "|setcounter|fontsize|arraystretch|addlinespace|rule|pagenumbering|geometry|documentclass|href"
)
_WITHOUT = re.compile(
    rf"\\(?:{_HIDDEN})\*?(?![A-Za-z])\s?(?:\([^()\n]{{0,50}}\))?(?:\[[^\]\n]{{0,200}}\]){{0,2}}(?:\{{[^{{}}\n]{{0,300}}\}}(?:\[[^\]\n]{{0,50}}\])?)?"
)
_ACCENT = re.compile(r"\\(?:([\"'`^~=.])\s?\{?\\?([A-Za-z])\}?|([cHkruv])\s?\{\\?([A-Za-z])\})")
_ACCENTS = dict(
    zip("\"'`^~=.cHkruv", "\u0308\u0301\u0300\u0302\u0303\u0304\u0307\u0327\u030b\u0328\u030a\u0306\u030c", strict=True)
)
_SYMBOLS = {
    "%": "%", "_": "_", "&": "&", "#": "#", "{": "(", "}": ")", "pm": " ± ", "approx": " ≈ ", "times": "×", "ss": "ß",
    "textpm": " ± ", "textunderscore": "_", "textpercent": "%", "item": "• ", "!": "", "-": "", "/": "", "textbar": "|",
    "colon": ":", "sim": " ≈ ", "footnote": "; ", "thanks": "; ", "textsuperscript": " ",
}  # fmt: skip
_MACRO = re.compile(r"\\([A-Za-z@]+|.)\*?( ?)")


def _plain(text: str) -> str:
    r"""Return a text without markup.

    Examples
    --------
    >>> _plain(r"The \textbf{best} $\mathrm{MAP}$ is 0{,}31\,\% \cite{x} f\"ur~uns")
    'The best MAP is 0,31 % für uns'
    """
    text = _ACCENT.sub(_accented, _WITHOUT.sub(" ", text))
    text = _MACRO.sub(_symbol, text)
    return " ".join(text.translate(_UNSEEN).split())


_UNSEEN = {ord("$"): None, ord("{"): None, ord("}"): None, ord("~"): " "}


def _accented(accent: re.Match[str]) -> str:
    letter = accent[2] or accent[4]
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent[1] or accent[3]])


def _symbol(command: re.Match[str]) -> str:
    known = _SYMBOLS.get(command[1])
    if command[1].isalpha():
        return command[2] if known is None else known
    return (" " if known is None else known) + command[2]
