"""Choose the reader: the compiled scanner if it can be loaded, otherwise the Python reader.

Both produce the same columns, results and messages. ``TRECEVAL_READER=python`` disables the compiled reader;
``TRECEVAL_READER=compiled`` raises an error if it cannot be loaded.
"""

from __future__ import annotations

import os
from functools import cache, lru_cache
from types import ModuleType
from typing import NamedTuple

from treceval_py.errors import TrecevalError, brief

__all__ = ["reader_name", "scanner", "why_python"]

VARIABLE = "TRECEVAL_READER"

NOT_BUILT = "the compiled reader was not built"


@cache
def scanner() -> ModuleType | None:
    """Return the compiled scanner, or None if the Python reader is used. The variable is read once in a process.

    Raises
    ------
    TrecevalError
        ``TRECEVAL_READER`` has an unknown value, or requests a reader that cannot be loaded.
    """
    return _chosen(os.environ.get(VARIABLE, "")).scanner


def reader_name() -> str:
    """Return the name of the reader in use: ``compiled`` or ``Python``."""
    return "Python" if scanner() is None else "compiled"


def why_python() -> str:
    """Return why the Python reader is in use; empty if the compiled reader is."""
    return _chosen(os.environ.get(VARIABLE, "")).why


class _Choice(NamedTuple):
    """The compiled scanner, or the reason why there is none."""

    scanner: ModuleType | None
    why: str


@lru_cache(maxsize=4)
def _chosen(wanted: str) -> _Choice:
    if wanted not in ("", "python", "compiled"):
        raise TrecevalError(f"{VARIABLE} is '{wanted}'", "Set it to python or compiled, or leave it out.")
    if wanted == "python":
        return _Choice(None, f"{VARIABLE} is python")
    try:
        import treceval_py.scan._scan as _scan  # noqa: PLR0402 - unlike `from`, its error names what is missing
    except ImportError as error:
        why = _reason(error)
        if wanted == "compiled":
            todo = "Install a wheel, or with a C compiler at hand" if why == NOT_BUILT else "Install the package again"
            raise TrecevalError(f"{VARIABLE} is compiled, but {why}", f"{todo}, or leave the variable out.") from None
        return _Choice(None, why)
    return _Choice(_scan, "")


def _reason(error: ImportError) -> str:
    """Return why there is no scanner, to explain slow reading to users whose package includes one."""
    name = f"{__name__}._scan"
    if error.name != name or not isinstance(error, ModuleNotFoundError):
        return f"the compiled reader cannot be loaded: {brief(str(error), 200)}"
    folder = os.path.dirname(__file__)
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []  # in a zip there are none that could be loaded
    others = [file for file in files if file.endswith((".so", ".pyd"))]
    return f"the compiled reader is for another Python: {others[0]}" if others else NOT_BUILT
