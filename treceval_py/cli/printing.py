"""Writing to standard output and error."""

from __future__ import annotations

import sys

from treceval_py.errors import OutputError
from treceval_py.formats.target import written_whole
from treceval_py.tables import encode

__all__ = ["note", "put"]


def put(text: str, path: str | None) -> None:
    """Write text to a file, whole or not at all, or to standard output.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    raw = encode(text)
    if path is not None and path != "-":
        with written_whole(path) as stream:
            stream.write(raw)
        return
    if sys.stdout is None:
        raise OutputError("standard output is closed", "Use -o FILE.")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer would be tried again at exit, with a traceback.
        sys.stdout = None
        raise OutputError(f"standard output cannot be written: {error.strerror or error}") from None


def note(text: str) -> None:
    """Write a note to standard error, so that standard output stays what a script can parse."""
    if sys.stderr is not None:
        sys.stderr.buffer.write(b"note: " + text.encode("utf-8", "backslashreplace") + b"\n")
        sys.stderr.buffer.flush()
