"""``treceval convert IN OUT``."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import choice, named, option
from treceval_py.cli.printing import Output, lost, note, wrote
from treceval_py.cli.progress import working
from treceval_py.errors import InputError, OutputError, visible
from treceval_py.io.formats import endings, formats_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from treceval_py.io.formats import Format, Kind


def _table(title: str, names: Iterable[str], formats: Mapping[str, Format]) -> str:
    return "\n".join(["\b", title, *(f"  {name:12} {formats[name].layout}" for name in names)])


_RUNS, _JUDGMENTS = formats_of("run"), formats_of("qrels")
_BOTH = [name for name in _RUNS if _JUDGMENTS.get(name) is _RUNS[name]]

HELP = f"""Write judgments or a run in another format.

IN is a file in any of the formats below, compressed or not, or - for standard input. The extension of OUT selects its
format ({endings()}; anything else is TREC's format) and compression (.gz, .bz2, .xz, .zst). OUT - is standard output.

{_table("Runs:", [name for name in _RUNS if name not in _BOTH], _RUNS)}

{_table("Judgments:", [name for name in _JUDGMENTS if name not in _BOTH], _JUDGMENTS)}

{_table("Both:", _BOTH, _RUNS)}

\b
treceval convert run.txt run.parquet
treceval convert run.jsonl.gz run.txt --tag mine
treceval convert --to json qrels.tsv - | less
"""


@click.command("convert", cls=Command, peak=(230, 50), help=HELP)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@choice("--kind", ["run", "qrels"], "Type of IN [recognised].")
@option("--from source_format", "FORMAT", "Format of IN [recognised].", shell_complete=named("format"))
@option("--to target_format", "FORMAT", "Format of OUT [by its extension].", shell_complete=named("format"))
@option("--tag", None, "Tag to write in the run [its own].")
def convert(
    source: str, target: str, kind: Kind | None, source_format: str | None, target_format: str | None, tag: str | None
) -> None:
    """Write judgments or a run in another format."""
    for name, given, known in (
        ("--from", source_format, formats_of("run", "qrels")),
        ("--to", target_format, formats_of("run", "qrels", written=True)),
    ):
        if given is not None and given not in known:
            raise click.UsageError(f"Invalid value for '{name}': '{given}' is not one of {', '.join(known)}.")
    try:
        with working(f"converting {visible(source)}") if target != "-" else nullcontext():
            written, guessed = _convert(
                source, target, kind=kind, source_format=source_format, target_format=target_format, tag=tag
            )
    except InputError as error:
        asked = f"--from {source_format}" if source_format else f"--kind {kind}" if kind else ""
        if not asked or not error.what.startswith(("this is ", "these are ")):
            raise
        raise InputError(error.what, f"Remove {asked}.", file=error.file, line=error.line) from None
    except BrokenPipeError:
        raise
    except OSError as error:  # errors in a file are reported as ours
        raise lost(error) if target == "-" else error from None
    if target != "-":
        wrote(f"{target} ({written})")
    if guessed:
        note(f"{guessed}: all values are whole numbers, so this is read as judgments; for a run, add --kind run.")


def _convert(source: str, target: str, **named: Any) -> tuple[str, str]:
    """Return the format in which a file was written, and the name of the source if its kind was guessed."""
    from treceval_py.io import conversion

    if target != "-":
        written = conversion.write_while_reading(source, target, **named)
        if written is not None:
            return written, ""
        done = conversion.convert(source, target, **named)
    else:
        output = _standard_output(named["target_format"])
        shown: Any = io.BytesIO() if output.isatty() else output
        done = conversion.convert(source, shown, **named)
        output.flush()
        if shown is not output:  # a terminal could take parts of ids for commands
            from treceval_py.data.ids import decode

            Output().put(decode(shown.getvalue()))
    return done.format, done.table.name if done.guessed else ""


def _standard_output(format: str | None) -> BinaryIO:
    declared = formats_of("run", "qrels").get(format or "")
    if declared is not None and declared.binary:
        raise click.UsageError(f"{declared.title} is binary and not written to standard output; name a file.")
    if sys.stdout is None:
        raise OutputError("standard output is closed", "Name a file.")
    sys.stdout.flush()
    return sys.stdout.buffer
