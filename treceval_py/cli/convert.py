"""``treceval convert IN OUT``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import choice, named, option
from treceval_py.cli.printing import lost, note, wrote
from treceval_py.errors import InputError, OutputError
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
    from treceval_py.io import conversion

    for name, given, known in (
        ("--from", source_format, formats_of("run", "qrels")),
        ("--to", target_format, formats_of("run", "qrels", written=True)),
    ):
        if given is not None and given not in known:
            raise click.UsageError(f"Invalid value for '{name}': '{given}' is not one of {', '.join(known)}.")
    try:
        done = conversion.convert(
            source,
            target if target != "-" else _standard_output(target_format),
            kind=kind,
            source_format=source_format,
            target_format=target_format,
            tag=tag,
        )
        if target == "-":
            sys.stdout.buffer.flush()
    except InputError as error:
        asked = f"--from {source_format}" if source_format else f"--kind {kind}" if kind else ""
        if not asked or not error.what.startswith(("this is ", "these are ")):
            raise
        raise InputError(error.what, f"Remove {asked}.", file=error.file, line=error.line) from None
    except BrokenPipeError:
        raise
    except OSError as error:  # errors in a file are reported as ours
        raise lost(error) from None
    if target != "-":
        wrote(f"{target} ({done.format})")
    if done.guessed:
        note(
            f"{done.table.name}: all values are whole numbers, so this is read as judgments; for a run, add --kind run."
        )


def _standard_output(format: str | None) -> BinaryIO:
    declared = formats_of("run", "qrels").get(format or "")
    if declared is not None and declared.binary:
        raise click.UsageError(f"{declared.title} is binary and not written to standard output; name a file.")
    if sys.stdout is None:
        raise OutputError("standard output is closed", "Name a file.")
    sys.stdout.flush()
    return sys.stdout.buffer
