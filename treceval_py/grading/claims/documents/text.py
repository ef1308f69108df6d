r"""Text: its encoding, lines and tables; LaTeX without its markup, of which nothing is compiled or expanded."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from treceval_py.errors import InputError
from treceval_py.grading.claims.documents.document import Blocks, Page, Row, Unread

_BYTE_ORDERS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def decoded(data: bytes) -> str:
    """Return the text of a file: in UTF-8 or UTF-16, otherwise in Windows' encoding for Western Europe."""
    for mark, encoding in _BYTE_ORDERS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A file that was cut off may end within a letter.
        if error.start > len(data) - 4 and error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8")
        return data.decode("cp1252", "replace")


def lines_of(text: str) -> list[str]:
    """Split a text into lines, each with its newline, only at the line ends of a file."""
    return list(io.StringIO(text, newline=None))


def read_text(text: str, blocks: Blocks, place: str = ":{}") -> None:
    """Read the lines of a text; ``place`` is the form of their places."""
    for number, line in enumerate(lines_of(text), 1):
        blocks.line(place.format(number), line)


SEPARATORS = "\t;,|"


def read_delimited(text: str, blocks: Blocks) -> None:
    """Read a table of separated values; several tables in a file are separated by blank lines."""
    lines = lines_of(text)
    first = 1 if lines and SEPARATED.fullmatch(lines[0]) else 0
    beginning = lines[first : first + 100]
    separator = max(SEPARATORS, key=lambda mark: sum(mark in line for line in beginning))
    if not any(separator in line for line in beginning):
        read_text(text, blocks)
        return
    rows: list[Row] = []
    for line, cells in records(lines, first, separator):
        if any("=" in cell for cell in cells) or len(cells) < 2:
            blocks.grid(rows)
            rows = []
            blocks.line(f":{line}", f"{separator} ".join(cells))
        else:
            rows.append(Row(f":{line}", tuple(cells)))
    blocks.grid(rows)


SEPARATED = re.compile(r'(?i)"?sep=.?"?\s*')
"""The line in which Excel declares the separator."""


def content_of(file: str) -> bytes:
    """Return the content of a teacher's table."""
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=file) from None


def records(lines: Sequence[str], first: int, separator: str, file: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the line of the file on which it begins.

    Parameters
    ----------
    lines : sequence of str
        The lines of the file.
    first : int
        Number of lines to skip before the table.
    separator : str
        The character between cells.
    file : str
        The file, if it is a teacher's: then it is read strictly, and empty rows are left out.

    Raises
    ------
    InputError, Unread
        A row cannot be read: InputError for a teacher's file, Unread for a document.
    """
    reader = csv.reader(lines[first:], delimiter=separator, skipinitialspace=True, strict=bool(file))
    while True:
        line = first + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if not file:
                raise Unread(f"it is not a table: line {line}: {error}") from None
            todo = "Put quotes around a field, and double those within it."
            raise InputError(f"this is not a row of a table: {error}", todo, file=file, line=line) from None
        if cells is None:
            return
        if not file or any(cell.strip() for cell in cells):
            yield line, cells


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
    text = _MACRO.sub(lambda macro: _SYMBOLS.get(macro[1], " " * (not macro[1].isalpha())) + macro[2], text)
    return " ".join(text.translate(_UNSEEN).split())
