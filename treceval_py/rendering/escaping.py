r"""What data must not do to a reader: each format's escaping, in one place.

terminal
    Control characters (C0 and C1, such as ESC), characters that turn the direction of text (U+202A–202E, U+2066–2069,
    U+200E and U+200F), other invisible ones, and bytes that are not UTF-8 are written as escapes (`errors.visible`):
    a name must not move the cursor, or show another name than its bytes. People's formats have them so wherever they
    go; lines for programs only if they go to a terminal (`on_terminal`), as a pipe gets the bytes that are meant.
CSV, TSV
    A spreadsheet computes a cell that begins with ``=``, ``+``, ``-`` or ``@``, or with a tab or a carriage return
    before these, also in the wide forms of East Asian keyboards, and behind characters that it drops; where a
    semicolon separates cells, as in much of Europe, or a tab, also after these. An apostrophe before it makes it text
    (`inert`); numbers stay numbers. One more apostrophe stands before those that are there, so that `active` gives
    back the text. OWASP, "CSV Injection".
Markdown
    All signs of markup, the pipe that ends a cell, references such as ``&lt;``, and what GitHub makes a link of:
    ``://``, ``www.`` and addresses of mail. At the beginning of a sentence also what begins a list.
LaTeX
    The ten special characters, ``<``, ``>`` (other signs in the encoding OT1), ``[`` and ``*`` (options of the row
    before), and pairs that become another sign, such as ``--``. Letters that pdfLaTeX lacks become ``<U+6A21>``.
Commands of GitHub's workflows
    The percent sign and ends of lines; in properties also the colon and the comma.
HTML
    ``&``, ``<``, ``>`` and both quotes; names stand in ``<bdi>``, so that the direction of letters ends with them.
"""

from __future__ import annotations

import re

from treceval_py.errors import visible

__all__ = [
    "active",
    "inert",
    "markdown",
    "markdown_code",
    "markdown_line",
    "on_terminal",
    "shown_in_latex",
    "typeset",
    "workflow_command",
]

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
    # at the beginning of a row these would be options of the line end before it
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

# What the encoding T1 has letters for, of `t1enc.dfu`: most of Latin-1 and Latin Extended-A, and marks of quotation.
_LETTERS = re.compile("[ -~¡£«»¿À-ÖØ-öø-ĥĨ-ķĹ-ľŁ-ňŊ-ťŨ-ž‘’“”„—]")


def on_terminal(text: str) -> str:
    r"""Return lines for programs as a terminal may have them: only line ends and tabs stay.

    Examples
    --------
    >>> on_terminal("map\tq\x1b[2J\t0.5\n")
    'map\tq\\x1b[2J\t0.5\n'
    """
    return re.sub(r"[^\n\t]+", lambda found: visible(found[0]), text)


def inert(text: str) -> str:
    """Return text that a spreadsheet does not compute.

    Examples
    --------
    >>> inert("=1+1"), inert("map"), inert("'-x")
    ("'=1+1", 'map', "''-x")
    """
    return _INERT.sub(r"\1'", text)


def active(text: str) -> str:
    """Return the text that `inert` was given.

    Examples
    --------
    >>> active("'=1+1"), active("'tis"), active("''-x")
    ('=1+1', "'tis", "'-x")
    """
    return _ACTIVE.sub(r"\1", text)


def markdown(text: str) -> str:
    """Write text so that Markdown shows it as it is, in a cell or within a sentence."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def markdown_line(text: str) -> str:
    """Write text so that Markdown shows it as it is at the beginning of a line, too."""
    return _LIST.sub(lambda found: found[1] + "\\" if found[1].isdigit() else "\\" + found[1], markdown(text))


def markdown_code(text: str) -> str:
    """Write text that may be copied, as code."""
    return markdown_line(text) if "`" in text else f"`{visible(text)}`"


def typeset(text: str) -> str:
    """Write text so that pdfLaTeX shows it as it is; what it has no letter for becomes ``<U+6A21>``."""
    # Two signs that LaTeX would draw as one, such as two hyphens, are kept apart.
    apart = re.split(r"(?<=[-,'`?!])(?=[-,'`])", visible(text))
    return "{}".join("".join(_LATEX.get(each, each) for each in shown_in_latex(part)) for part in apart)


def shown_in_latex(text: str) -> str:
    """Return text with the letters that LaTeX will show."""
    return "".join(each if each in _LATEX or _LETTERS.fullmatch(each) else f"<U+{ord(each):04X}>" for each in text)


def workflow_command(command: str, message: str, **properties: object) -> str:
    """Return a line that GitHub Actions takes for a command, such as an annotation; empty properties are left out.

    References
    ----------
    GitHub, "Workflow commands for GitHub Actions"; what is escaped is what ``command.ts`` of its ``actions/toolkit``
    escapes.

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
