"""The kinds of findings, which `catalogue.toml` declares once each, in the order of the checks."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection
from importlib.resources import files
from typing import NamedTuple

from treceval_py.data.ids import shown
from treceval_py.errors import EvaluationError


class Code(NamedTuple):
    """A kind of finding.

    Attributes
    ----------
    code : str
        A letter and three digits: F for any file, R for a run, Q for judgments, X for a run with judgments.
    name : str
        A short name in lower case with hyphens, such as ``score-nan``.
    severity : str
        ``error``: scoring refuses the data, or other programs read numbers from it by accident. ``warning``: a probable
        mistake. ``note``: not a mistake, but good to know.
    title : str
        One sentence without a full stop.
    why : str
        The effect on scores, and how other programs treat it; one or two paragraphs.
    example : str
        Lines that produce the finding.
    todo : str
        What to do about it, in whole sentences.
    fixed : bool
        Whether ``--fix`` repairs it.
    """

    code: str
    name: str
    severity: str
    title: str
    why: str
    example: str
    todo: str
    fixed: bool = False


CODES: dict[str, Code] = {
    code: Code(code, **facts)
    for code, facts in tomllib.loads((files(__package__) / "catalogue.toml").read_text("utf-8")).items()
}
"""Every kind of finding by its code."""


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
        near = difflib.get_close_matches(given.upper(), CODES, 2, 0.7)
        if len(near) != 1:
            near = difflib.get_close_matches(given.lower(), [code.name for code in CODES.values()], 1)
        meant = f"Did you mean {near[0]}? " if near else ""
        todo = f"{meant}'treceval check --explain all' lists them all."
        raise EvaluationError(f"{called}: there is no code '{given}'", todo)
    return kinds
