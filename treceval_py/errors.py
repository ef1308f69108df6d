"""The exceptions that treceval_py raises; every one derives from `TrecevalError`.

The library raises and never prints or exits. A message reads ``file:line: what. What to do.`` where the file
and the line are left out when there is none. The command line prints it on standard error, one line, and ends
with the status `TrecevalError.status`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

__all__ = [
    "DataError",
    "DataTypeError",
    "EvaluationError",
    "InputError",
    "MeasureError",
    "MeasureTypeError",
    "MissingQueriesWarning",
    "OutputError",
    "RepeatedDocumentError",
    "RepeatedPairError",
    "RunnerError",
    "TrecevalError",
    "TrecevalWarning",
    "UnknownMeasureError",
    "brief",
    "listed",
    "visible",
    "warn",
]


class TrecevalError(Exception):
    """Base class of all errors of treceval_py: what is wrong, and what to do.

    Parameters
    ----------
    what : str
        What is wrong, expected and found, without a final full stop.
    todo : str, optional
        What to do about it, with a full stop.
    file : str, optional
        The file, as the caller named it.
    line : int, optional
        The line of the file, from 1; every line counts.
    """

    status = 1

    def __init__(self, what: str, todo: str = "", *, file: str | None = None, line: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.file = file
        self.line = line

    def __str__(self) -> str:
        """Return the message on one line, with control characters of the data made visible."""
        place = "" if self.file is None else self.file + (f":{self.line}: " if self.line else ": ")
        return visible(f"{place}{self.what}." + (f" {self.todo}" if self.todo else ""))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the parts of the message, so that errors cross process boundaries whole."""
        return (_rebuild, (type(self), self.what, self.todo, self.file, self.line))


def _rebuild(kind: type[TrecevalError], what: str, todo: str, file: str | None, line: int | None) -> TrecevalError:
    return kind(what, todo, file=file, line=line)


def visible(text: str) -> str:
    """Write control characters, and bytes that are not UTF-8, as escapes: data must not steer a terminal."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def brief(text: str, most: int = 50) -> str:
    """Shorten text for a line that shows an object, whatever it holds."""
    shown = visible(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def listed(names: Iterable[str], most: int = 6, width: int = 50) -> str:
    """Return the first few names for a line that shows an object, and how many more there are."""
    every = list(names)
    more = [f"and {len(every) - most} more"] if len(every) > most else []
    return ", ".join([*(brief(name, width) for name in every[:most]), *more])


def _escaped(character: str) -> str:
    code = ord(character)
    if character.isprintable():
        return character
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as `surrogateescape` decodes it
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


class InputError(TrecevalError):
    """A file that cannot be read, or a line of it that is malformed."""


class RepeatedDocumentError(InputError):
    """A file with a document that occurs twice in a query."""


class DataError(TrecevalError, ValueError):
    """Python data (dictionaries, frames, arrays) that are not valid judgments or not a valid run."""


class DataTypeError(DataError, TypeError):
    """Python data of a type that cannot be taken, where pytrec_eval raises a TypeError."""


class RepeatedPairError(DataError, AssertionError):
    """A document that occurs twice in a query, where pytrec_eval raises an AssertionError."""


class EvaluationError(TrecevalError, ValueError):
    """Judgments, run and measures that do not fit together, for example without a common query."""


class OutputError(TrecevalError):
    """A file that cannot be written."""


class MeasureError(TrecevalError, ValueError):
    """A measure whose parameters are malformed or out of range."""

    status = 2


class MeasureTypeError(MeasureError, TypeError):
    """A measure or a level of a type that cannot be taken, where pytrec_eval raises a TypeError."""


class UnknownMeasureError(MeasureError):
    """A name that is neither a measure nor a nickname."""


class RunnerError(TrecevalError, ValueError):
    """Settings, models or saved embeddings that retrieval cannot use, or a package that is not installed."""


class TrecevalWarning(UserWarning):
    """Something that a caller should know and that stops nothing, such as queries that a mean leaves out."""


class MissingQueriesWarning(TrecevalWarning):
    """Judged queries that the run lacks, and that an average leaves out."""


def warn(text: str, kind: type[TrecevalWarning] = TrecevalWarning) -> None:
    """Give a warning, as if by the line outside of this package that called it."""
    import os
    import warnings

    package = os.path.dirname(__file__) + os.sep
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
