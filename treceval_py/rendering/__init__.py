"""Draw tables in every format, with the escaping that each format needs.

A format is a module in `rendering.formats` with a function ``draw(document, style)`` that returns text, and an entry of
`FORMATS`. It is imported when something is drawn in it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treceval_py.errors import MeasureError
from treceval_py.rendering.style import Style

if TYPE_CHECKING:
    from treceval_py.rendering.tables import Document

__all__ = ["FORMATS", "left_out", "render", "show_of", "text_of"]

FORMATS = ("table", "csv", "tsv", "json", "markdown", "latex", "html")
"""The formats, in display order. They are named here because a package in a zip has no folder to list."""


def render(document: Document, format: str, style: Style) -> str:
    """Return a document as text.

    Parameters
    ----------
    document : Document
        The document.
    format : str
        One of `FORMATS`.
    style : Style
        How to draw it.

    Raises
    ------
    MeasureError
        The format does not exist. Also a ValueError.
    """
    if format not in FORMATS:
        raise MeasureError(f"format must be one of {', '.join(FORMATS)}, not {str(format)[:80]!r}")
    text: str = import_module(f"treceval_py.rendering.formats.{format}").draw(document, style)
    return text


def left_out(document: Document, format: str, style: Style) -> list[str]:
    """Return one sentence per table on what the format had to leave out; most formats leave out nothing."""
    sentences = getattr(import_module(f"treceval_py.rendering.formats.{format}"), "left_out", None)
    return [] if sentences is None else sentences(document, style)


def text_of(value: object, format: str, style: Style | None = None) -> str:
    """Return an object in a format, as the command that computes it prints it.

    Parameters
    ----------
    value : object
        Results, a board and so on: any argument of the function ``document_of(value, style)`` in its package's `show`.
    format : str
        One of `FORMATS`.
    style : Style, optional
        How to draw it. Default: four decimals for people, and all digits for programs.
    """
    style = style or Style()
    return render(show_of(value).document_of(value, style), format, style)


def show_of(value: object) -> Any:
    """Return the module that displays an object: `show` in the package of its class.

    It is looked up by name, as formats are, because it imports the class.
    """
    home = __name__.split(".")[0]
    names = (parent.__module__.split(".") for parent in type(value).__mro__)
    package = next(name[1] for name in names if name[0] == home)
    return import_module(f"{home}.{package}.show")
