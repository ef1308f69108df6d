"""The documentation of a measure: its docstring, completed by the declared descriptions of its parameters."""

from __future__ import annotations

import inspect
import re
import textwrap

from treceval_py.measuring.registry import Family

WIDTH = 116
"""Width of docstrings in the source, without their indentation."""

_INDENTED = textwrap.TextWrapper(
    WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
)


_MATH = re.compile(r"^\.\. math:: (.*(?:\n {4}.*)*)\n*", re.MULTILINE)
"""A formula in LaTeX, which follows its text in a docstring."""


def sections(family: Family) -> dict[str, str]:
    """Return the sections of a measure's docstring by title, without LaTeX.

    Its beginning, with the declared title, has none.
    """
    text = _MATH.sub("", inspect.getdoc(family.function) or "")
    summary, *rest = re.split(r"^(\S.*)\n-{3,}\n", text, flags=re.MULTILINE)
    said = re.sub(r"\A.+", lambda _: family.title, summary)
    return {"": said, **dict(zip(rest[::2], rest[1::2], strict=True))}


def formula(family: Family) -> str:
    """Return the formula of a measure, of two the one of NAME@k if it has a cutoff, or its title without any."""
    paragraphs = sections(family).get("Formula", "").strip().split("\n\n")
    cut = [each for each in paragraphs if family.at is not None and re.match(r"\S+@k = ", each)]
    return " ".join((cut or paragraphs)[0].split()) or family.title


def latex(family: Family) -> str:
    """Return the formula of a measure in LaTeX, of two the second one for NAME@k; empty without any."""
    forms = _MATH.findall(inspect.getdoc(family.function) or "")
    return " ".join(forms[0 if family.at is None else -1].split()) if forms else ""


def described(family: Family) -> dict[str, str]:
    """Return the description of each parameter: from the docstring if present, else the common declaration."""
    blocks = re.findall(r"^(\w+) : .*\n((?: {4}.*\n?)+)", sections(family).get("Parameters", ""), re.MULTILINE)
    own = {name: " ".join(body.split()) for name, body in blocks}
    return {each.name: own.get(each.name, each.meaning) for each in family.parameters}


def documentation(family: Family, width: int | None = None) -> str:
    """Return the docstring of a measure with all its parameters, filled again for a narrower terminal."""
    texts, says = sections(family), described(family)
    blocks = [f"{each.name} : {each.form}\n{_INDENTED.fill(says[each.name])}\n" for each in family.parameters]
    texts.pop("Parameters", None)
    titles = list(texts)
    if blocks:
        texts["Parameters"] = "".join(blocks)
        titles.insert(titles.index("Returns") if "Returns" in texts else len(titles), "Parameters")
    parts = [f"{title}\n{'-' * len(title)}\n{texts[title]}" if title else texts[title] for title in titles]
    text = "\n\n".join(part.strip("\n") for part in parts)
    return text if width is None or width >= WIDTH else _narrowed(text, width)


def _narrowed(text: str, width: int) -> str:
    """Return a docstring with its paragraphs filled for a width; examples keep their lines."""
    said, title, examples = text.partition("\nExamples\n")
    prose = re.sub(r"(?m)^( *)\S.{70,}(?:\n\1\S.*)*", lambda paragraph: _refilled(paragraph[0], width), said)
    return prose + title + examples


def _refilled(paragraph: str, width: int) -> str:
    indent = " " * (len(paragraph) - len(paragraph.lstrip(" ")))
    words = " ".join(paragraph.split())
    return textwrap.fill(
        words,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
