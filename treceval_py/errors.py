"""The exceptions that treceval_py raises; all derive from `TrecevalError`.

The library raises errors; it never prints or exits. A message reads ``file:line: what. What to do.``, without the file
or the line if there is none. The command line prints the message as one line on standard error and exits with
`TrecevalError.status`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

LONGEST = 600
"""Most characters of a message; what users give, and data hold, can have millions."""


class TrecevalError(Exception):
    """Base class of all errors of treceval_py. The message says what is wrong and what to do.

    Parameters
    ----------
    what : str
        What is wrong, with the expected and the found value; no final full stop.
    todo : str, optional
        What to do about it, with a full stop.
    file : str, optional
        The file, as the caller named it.
    line : int, optional
        The line number in the file, from 1. Empty lines and comments count.
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
        place = "" if self.file is None else shortened(self.file, 200) + (f":{self.line}: " if self.line else ": ")
        return shortened(f"{place}{self.what}." + (f" {self.todo}" if self.todo else ""))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the parts of the message, so that errors cross process boundaries unchanged."""
        return (_rebuild, (type(self), self.what, self.todo, self.file, self.line))


def _rebuild(kind: type[TrecevalError], what: str, todo: str, file: str | None, line: int | None) -> TrecevalError:
    return kind(what, todo, file=file, line=line)


def visible(text: str) -> str:
    """Escape control characters and bytes that are not UTF-8, so that data cannot steer a terminal."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def shortened(text: str, most: int = LONGEST) -> str:
    """Return text for a message: visible, and without its middle where it is too long for a line."""
    half = (most - 1) // 2
    for _ in range(2):  # before it is made visible, which is slow for megabytes, and after, as it may be longer
        text = visible(text if len(text) <= most else f"{text[:half]}…{text[-half:]}")
    return text


def brief(text: str, most: int = 50) -> str:
    """Shorten text for a one-line display of an object."""
    shown = visible(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def listed(names: Iterable[str], most: int = 6, width: int = 50) -> str:
    """Return the first few names and the number of the others, for a one-line display of an object."""
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
    """A file cannot be read, or one of its lines is malformed."""


class RepeatedDocumentError(InputError):
    """A document occurs twice in a query of a file."""


class DataError(TrecevalError, ValueError):
    """Python data (dictionaries, frames, arrays) are not valid judgments or not a valid run."""


class DataTypeError(DataError, TypeError):
    """Python data have an unsupported type. Also a TypeError, which pytrec_eval raises here."""


class RepeatedPairError(DataError, AssertionError):
    """A document occurs twice in a query. Also an AssertionError, which pytrec_eval raises here."""


class EvaluationError(TrecevalError, ValueError):
    """Judgments, run and measures do not fit together; for example, they share no query."""


class RunCountError(EvaluationError):
    """There are fewer runs, or more, than the computation takes."""

    status = 2


class UnknownKeyError(TrecevalError, KeyError):
    """Results have no such query or measure, or judgments or a run no such query."""


class OutputError(TrecevalError):
    """A file cannot be written."""


class MeasureError(TrecevalError, ValueError):
    """A measure has malformed or out-of-range parameters."""

    status = 2


class MeasureTypeError(MeasureError, TypeError):
    """A measure or level has an unsupported type. Also a TypeError, which pytrec_eval raises here."""


class UnknownMeasureError(MeasureError):
    """A name is neither a measure nor a nickname."""


class RunnerError(TrecevalError, ValueError):
    """Retrieval cannot use the settings, model or saved embeddings, or a package is not installed."""


class TrecevalWarning(UserWarning):
    """The result is valid but the caller should know something, such as that a mean leaves out queries."""


class MissingQueriesWarning(TrecevalWarning):
    """The run lacks judged queries, and averages leave them out."""


class SuspectRunWarning(TrecevalWarning):
    """The run shows signs of a mistake: its scores are distances, say, or its document ids were rewritten."""


def warn(text: str, kind: type[TrecevalWarning] = TrecevalWarning) -> None:
    """Issue a warning, attributed to the calling line outside this package."""
    import os
    import warnings

    package = os.path.dirname(__file__) + os.sep
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
