"""Writing to standard output and error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from click import UsageError, get_current_context

from treceval_py.errors import InputError, OutputError, shortened, visible
from treceval_py.rendering import render
from treceval_py.rendering.style import Style

if TYPE_CHECKING:
    from treceval_py.rendering.tables import Table

SILENT = "treceval_py.silent"
"""The key that a command sets in its context's `meta` to suppress notes."""


class Output:
    """Where and how a command prints.

    Parameters
    ----------
    output_format : str
        The format; empty for the command to decide.
    digits : int, optional
        Decimals of values. Default: the format's own.
    output : str, optional
        The file; None or ``-`` for standard output.

    Attributes
    ----------
    style : Style
        How tables are drawn: a terminal has a width, and colour unless turned off.
    """

    def __init__(self, output_format: str = "", digits: int | None = None, output: str | None = None) -> None:
        self.format = output_format
        self.path = output
        self.style = Style(digits)
        if output is None and sys.stdout is not None and sys.stdout.isatty():
            import shutil

            colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
            if sys.platform == "win32":  # the old console shows style codes as text
                colour = colour and bool(os.environ.get("WT_SESSION") or os.environ.get("TERM"))
            self.style = Style(digits, colour, shutil.get_terminal_size().columns)

    def put(self, text: str) -> None:
        """Write text to the file, whole or not at all, or to standard output.

        Tables have terminal styles, and data in them is escaped. Other text is escaped here for a terminal; files and
        pipes get it as it is.

        Raises
        ------
        OutputError
            It cannot be written.
        """
        encoded: Callable[[str], bytes] = str.encode
        if not text.isascii():  # else NumPy need not be there
            from treceval_py.data.ids import encode as encoded
        if self.path is not None and self.path != "-":
            from treceval_py.io.target import written_whole

            with written_whole(self.path) as stream:
                stream.write(encoded(text))
            wrote(self.path)
            return
        if sys.stdout is None:
            raise OutputError("standard output is closed", "Use -o FILE.")
        if self.format != "table" and sys.stdout.isatty():
            from treceval_py.rendering.escaping import on_terminal

            text = on_terminal(text)
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(encoded(text))
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise lost(error) from None

    def note(self, *notes: str, also: str = "") -> None:
        """Write notes, which other formats show themselves, beside plain rows of values, and beside another format."""
        if self.format in ("csv", "tsv", also):
            note(*notes)


def put(text: str, path: str | None) -> None:
    """Write plain text to a file or to standard output; long lines are wrapped at a terminal."""
    output = Output(output=path)
    if output.style.width is not None:
        from treceval_py.rendering.terminal import filled

        text = filled(text, output.style.width)
    output.put(text)


def put_list(
    kind: str,
    tables: Callable[[], Sequence[Table]],
    names: Sequence[str],
    explained: Callable[[str], str],
    output: Output,
) -> None:
    """Write tables of a kind, or explain those that are named.

    Raises
    ------
    UsageError
        A format was given with names; explanations have one format.
    """
    if names and output.format != "table":
        raise UsageError("--format applies to the list; remove the names.")
    if names:
        put("\n".join(map(explained, names)), output.path)
        return
    from treceval_py.rendering.envelope import Made
    from treceval_py.rendering.tables import Document

    output.put(render(Document(kind, tables(), lambda _: Made()), output.format, output.style))


def lost(error: OSError) -> OutputError:
    """Discard standard output, and return the error to raise."""
    # Python would try to write the rest of the buffer at exit, with a traceback.
    sys.stdout = cast("Any", None)
    return OutputError(f"standard output cannot be written: {error.strerror or error}")


def note(*texts: str) -> None:
    """Write notes to standard error, so that scripts can parse standard output."""
    context = get_current_context(silent=True)
    if context is not None and SILENT in context.meta:
        return
    for text in texts:
        say(f"note: {shortened(text)}")


def wrote(*paths: str) -> None:
    """Say which files were written."""
    say(f"written: {', '.join(map(visible, paths))}")


def say(line: str) -> None:
    """Write a line to standard error, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
            sys.stderr.buffer.flush()


def kind_of(file: str) -> str:
    """Return what the first lines of a file look like, as `form_of` names it; empty for others, pipes and no file."""
    if not os.path.isfile(file):
        return ""
    from treceval_py.diagnosis.columns import form_of
    from treceval_py.io.formats import lines_of
    from treceval_py.io.source import peek

    try:
        return form_of(lines_of(peek(file, 1 << 12)[0]))
    except InputError:
        return ""


def check_targets(targets: Sequence[str | None], sources: Iterable[str | None]) -> None:
    """Refuse, before any work, to overwrite an input or to write a file twice.

    Raises
    ------
    OutputError
        An output is an input or another output.
    """
    read = {os.path.realpath(each) for each in sources if each not in (None, "-")}
    written: set[str] = set()
    for path in targets:
        if path in (None, "-") or (os.path.exists(str(path)) and not os.path.isfile(str(path))):
            continue  # standard output, or a device
        real = os.path.realpath(str(path))
        if real in read:
            raise OutputError("this file is an input, and would be overwritten", "Name another file.", file=path)
        if real in written:
            raise OutputError("two outputs would go to this file", "Name another file.", file=path)
        written.add(real)
