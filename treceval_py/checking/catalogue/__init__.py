"""The catalogue of findings: each kind is declared once, in the module of the check that makes it."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from treceval_py.checking.catalogue.files import CODES as FILES
from treceval_py.checking.catalogue.judgments import CODES as JUDGMENTS
from treceval_py.checking.catalogue.lines import CODES as LINES
from treceval_py.checking.catalogue.queries import CODES as QUERIES
from treceval_py.checking.catalogue.together import CODES as TOGETHER
from treceval_py.checking.findings import Code
from treceval_py.data.ids import shown
from treceval_py.errors import EvaluationError

__all__ = ["CODES", "code_or_name", "codes_named"]

CODES: dict[str, Code] = {code.code: code for part in (FILES, LINES, QUERIES, JUDGMENTS, TOGETHER) for code in part}
"""Every kind of finding by its code, in the order of the checks."""


def codes_named(texts: Collection[str], called: str) -> tuple[str, ...]:
    """Return the codes, or beginnings of codes, that some texts name.

    Parameters
    ----------
    texts : collection of str
        Codes, such as ``R104``, or their beginnings, such as ``R1``, in any case; or names, such as ``score-nan``.
    called : str
        What messages call the texts.

    Raises
    ------
    EvaluationError
        A code or name is unknown, or ``texts`` is a single string.

    Examples
    --------
    >>> codes_named(["r1", "score-nan"], "select")
    ('R1', 'R104')
    """
    if isinstance(texts, str):
        raise EvaluationError(f"{called} is the text {texts!r}, not a collection of codes", f"Give [{texts!r}].")
    if not isinstance(texts, Collection):
        raise EvaluationError(f"{called} must be codes, not {shown(texts)}", "Give a list, such as ['R104'].")
    named: list[str] = []
    for text in texts:
        begun = text.upper() if isinstance(text, str) else ""
        if begun and any(code.startswith(begun) for code in CODES):
            named.append(begun)
        else:
            named += (code.code for code in code_or_name(text, called))
    return tuple(named)


def code_or_name(text: str, called: str) -> list[Code]:
    """Return the kind of finding with a code, or all kinds with a name.

    Raises
    ------
    EvaluationError
        The code or name is unknown.
    """
    given = text if isinstance(text, str) else str(text)
    kinds = [code for code in CODES.values() if given.upper() == code.code or given.lower() == code.name]
    if not kinds:
        known = [*CODES, *(code.name for code in CODES.values())]
        near = difflib.get_close_matches(given.upper(), known, 1) or difflib.get_close_matches(given.lower(), known, 1)
        meant = f"Did you mean {near[0]}? " if near else ""
        todo = f"{meant}'treceval check --explain all' lists them all."
        raise EvaluationError(f"{called}: there is no code '{given}'", todo)
    return kinds
