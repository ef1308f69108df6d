r"""Escaping that keeps data from harming a reader: the rules of every format, in one place.

terminal
    Control characters (C0 and C1, such as ESC), characters that change the direction of text (U+202A–202E,
    U+2066–2069, U+200E and U+200F), other invisible characters, and bytes that are not UTF-8 are written as escapes
    (`errors.visible`): a name must not move the cursor, or look like another name. Formats for people always have these
    escapes. Lines for programs have them only on a terminal (`on_terminal`), because a pipe needs the exact bytes.
CSV, TSV
    A spreadsheet evaluates a cell that begins with ``=``, ``+``, ``-`` or ``@``, also after a tab or a carriage return,
    in the full-width forms of East Asian keyboards, and after characters that it drops. Where semicolons separate
    cells, as in much of Europe, or tabs do, it also evaluates text after these. A leading apostrophe makes the cell
    text (`inert`); numbers stay numbers. Existing leading apostrophes get one more, so that `active` can restore the
    text. OWASP, "CSV Injection".
Markdown
    All markup characters, the pipe that ends a cell, references such as ``&lt;``, and whatever GitHub turns into a
    link: ``://``, ``www.`` and mail addresses. At the beginning of a sentence, also characters that begin a list.
LaTeX
    The ten special characters, ``<``, ``>`` (other characters in the encoding OT1), ``[`` and ``*`` (options of the
    previous row), and pairs that become another character, such as ``--``. Letters that pdfLaTeX lacks become
    ``<U+6A21>``.
Commands of GitHub's workflows
    The percent sign and line ends; in properties also the colon and the comma.
HTML
    ``&``, ``<``, ``>`` and both quotes. Names are wrapped in ``<bdi>``, so that their text direction ends with them.
"""

from __future__ import annotations

import re

from treceval_py.errors import visible

_FORMULA = "(?:'*[\t\r]|['\\s\0\ufeff\u200b]*[=+\\-@\uff1d\uff0b\uff0d\uff20])"
_INERT = re.compile(f"(^|[;\t])(?={_FORMULA})")
_ACTIVE = re.compile(f"(^|[;\t])'(?={_FORMULA})")

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~$]|&(?=#?\w+;)|:(?=//)|(?<=\bwww)\.|@(?=[\w-]+\.\w))", re.IGNORECASE)
_LIST = re.compile(r"^([-+]|\d+(?=[.)]))(?=[\s.)])")

_LATEX = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    # at the beginning of a row, these would be options of the previous line end
    "[": "{[}",
    "*": "{*}",
    "▲": "$^{\\bigtriangleup}$",
    "▼": "$^{\\bigtriangledown}$",
    "∞": "$\\infty$",
    "−": "$-$",
    "±": "$\\pm$",
    "×": "$\\times$",
    "≤": "$\\leq$",
    "–": "--",
    "…": "\\ldots{}",
    "→": "$\\to$",
    "α": "$\\alpha$",
    "τ": "$\\tau$",
}

# Letters beyond the encoding T1, which has most of Latin-1 and Latin Extended-A, and quotation marks (`t1enc.dfu`).
_OTHERS = re.compile("[^ -~¡£«»¿À-ÖØ-öø-ĥĨ-ķĹ-ľŁ-ňŊ-ťŨ-ž‘’“”„—]")


def on_terminal(text: str) -> str:
    r"""Escape lines for programs for display on a terminal: of control characters, only line ends and tabs remain.

    Examples
    --------
    >>> on_terminal("map\tq\x1b[2J\t0.5\n")
    'map\tq\\x1b[2J\t0.5\n'
    """
    return re.sub(r"[^\n\t]+", lambda printed: visible(printed[0]), text)


def inert(text: str) -> str:
    """Return text that a spreadsheet does not evaluate.

    Examples
    --------
    >>> inert("=1+1"), inert("map"), inert("'-x")
    ("'=1+1", 'map', "''-x")
    """
    return _INERT.sub(r"\1'", text)


def active(text: str) -> str:
    """Undo `inert`: return the original text.

    Examples
    --------
    >>> active("'=1+1"), active("'tis"), active("''-x")
    ('=1+1', "'tis", "'-x")
    """
    return _ACTIVE.sub(r"\1", text)


def markdown(text: str) -> str:
    """Escape text so that Markdown shows it literally, in a cell or within a sentence."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def markdown_line(text: str) -> str:
    """Escape text so that Markdown shows it literally, even at the beginning of a line."""
    return _LIST.sub(lambda mark: mark[1] + "\\" if mark[1].isdigit() else "\\" + mark[1], markdown(text))


def markdown_code(text: str) -> str:
    """Write text as code, so that it can be copied."""
    return markdown_line(text) if "`" in text else f"`{visible(text)}`"


def typeset(text: str) -> str:
    """Escape text so that pdfLaTeX shows it literally; characters without a letter become ``<U+6A21>``."""
    # Characters that LaTeX would combine, such as two hyphens, are kept apart.
    apart = re.split(r"(?<=[-,'`?!])(?=[-,'`])", visible(text))
    return "{}".join("".join(_LATEX.get(letter, letter) for letter in shown_in_latex(part)) for part in apart)


def shown_in_latex(text: str) -> str:
    """Return text with the letters that LaTeX can show."""
    return _OTHERS.sub(lambda other: other[0] if other[0] in _LATEX else f"<U+{ord(other[0]):04X}>", text)


def workflow_command(command: str, message: str, **properties: object) -> str:
    """Return a line that GitHub Actions reads as a command, such as an annotation; empty properties are omitted.

    References
    ----------
    GitHub, "Workflow commands for GitHub Actions". The escaped characters are those of ``command.ts`` in GitHub's
    ``actions/toolkit``.

    Examples
    --------
    >>> workflow_command("error", "50 % lost", file="a,b.txt", line=3)
    '::error file=a%2Cb.txt,line=3::50 %25 lost'
    """
    given = ",".join(
        f"{key}={_of_workflow(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for key, value in properties.items()
        if value
    )
    return f"::{command}{' ' * bool(given)}{given}::{_of_workflow(visible(message))}"


def _of_workflow(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
