"""Drawing tables in every format, with the escaping that each needs.

A format is a module of `rendering.formats` with ``draw(document, style)``, which returns the text. Formats are found by
their files, so adding one is adding a file. A format is imported when something is drawn in it.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from treceval_py.errors import MeasureError
from treceval_py.rendering.style import Style

if TYPE_CHECKING:
    from treceval_py.rendering.tables import Document

__all__ = ["FORMATS", "left_out", "render", "show_of", "text_of"]

_FIRST = ("table", "csv", "tsv", "json", "markdown", "latex", "html")

FORMATS: tuple[str, ...] = tuple(
    sorted(
        (
            name[:-3]
            for name in os.listdir(os.path.join(__path__[0], "formats"))
            if name[-3:] == ".py" and name[0] != "_"
        ),
        key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name),
    )
)
"""The formats, in the order in which they are listed."""


def render(document: Document, format: str, style: Style) -> str:
    """Return a document as text.

    Parameters
    ----------
    document : Document
        The document.
    format : str
        One of `FORMATS`.
    style : Style
        How it is drawn.

    Raises
    ------
    MeasureError
        There is no such format; it is a ValueError.
    """
    if format not in FORMATS:
        raise MeasureError(f"format must be one of {', '.join(FORMATS)}, not {str(format)[:80]!r}")
    text: str = import_module(f"treceval_py.rendering.formats.{format}").draw(document, style)
    return text


def left_out(document: Document, format: str, style: Style) -> list[str]:
    """Say what of a document a format has no room for, a sentence for each table; other formats have all of it."""
    found = getattr(import_module(f"treceval_py.rendering.formats.{format}"), "left_out", None)
    return [] if found is None else found(document, style)


def text_of(found: object, format: str, style: Style | None = None) -> str:
    """Return an object in a format, as the command that makes it prints it.

    Parameters
    ----------
    found : object
        Results, a board and so on: what the function ``document_of(found, style)`` of its package's `show` takes.
    format : str
        One of `FORMATS`.
    style : Style, optional
        How it is drawn. Default: four decimals for people, and all digits for programs.
    """
    style = style or Style()
    return render(show_of(found).document_of(found, style), format, style)


def show_of(found: object) -> Any:
    """Return the module that shows an object: `show` in the package of its class.

    It is found by its name, as formats are, since it imports the class.
    """
    home = __name__.split(".")[0]
    names = (each.__module__.split(".") for each in type(found).__mro__)
    package = next(name[1] for name in names if name[0] == home)
    return import_module(f"{home}.{package}.show")
