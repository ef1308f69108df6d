"""Which reader is at work: the compiled scanner where it was built, the Python reader everywhere else.

Both give the same columns, results and messages. ``TRECEVAL_READER=python`` does without the compiled one;
``TRECEVAL_READER=compiled`` refuses to do without it.
"""

from __future__ import annotations

import os
from functools import lru_cache
from types import ModuleType

from treceval_py.errors import TrecevalError

__all__ = ["reader_name", "scanner"]

VARIABLE = "TRECEVAL_READER"


def scanner() -> ModuleType | None:
    """Return the compiled scanner, None where the Python reader is used.

    Raises
    ------
    TrecevalError
        ``TRECEVAL_READER`` asks for what is not there.
    """
    return _chosen(os.environ.get(VARIABLE, ""))


def reader_name() -> str:
    """Return the name of the reader in use: ``compiled`` or ``Python``."""
    return "Python" if scanner() is None else "compiled"


@lru_cache(maxsize=4)
def _chosen(wanted: str) -> ModuleType | None:
    if wanted not in ("", "python", "compiled"):
        raise TrecevalError(f"{VARIABLE} is '{wanted}'", "Set it to python or compiled, or leave it out.")
    if wanted == "python":
        return None
    try:
        from treceval_py.scan import _scan
    except ImportError:
        if wanted == "compiled":
            what = f"{VARIABLE} is compiled, but the scanner was not built"
            raise TrecevalError(what, "Install with a C compiler at hand, or leave the variable out.") from None
        return None
    module: ModuleType = _scan
    return module
