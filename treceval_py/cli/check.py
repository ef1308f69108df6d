"""``treceval check FILE…``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import click

from treceval_py.cli.options import flag, format_option, given, number
from treceval_py.cli.printing import check_targets, note, put, say, style_for
from treceval_py.errors import EvaluationError, InputError, OutputError, TrecevalError, visible
from treceval_py.rendering import FORMATS

if TYPE_CHECKING:
    from treceval_py._types import Source
    from treceval_py.checking.checking import Checked
    from treceval_py.checking.fixing import Fixed
    from treceval_py.checking.rows import Kind
    from treceval_py.data.qrels import Qrels

KIND_NAMES = ("run", "msmarco", "qrels", "judged-ranking")
"""The names of `checking.rows.KINDS`, repeated here so that help needs no import."""

HELP = """Check runs and judgments line by line, and report every problem.

Each finding has a line and column, a severity and a code. Errors stop scoring, or make other programs silently report
wrong numbers. Warnings are probable mistakes. Notes are for information. With --qrels, the judgments are checked too,
and runs are compared with them: missing queries and documents, ids that look alike.

\b
treceval check run.txt
treceval check --qrels qrels.txt runs/*.txt
treceval check --explain R104            what a code means, and what to do
treceval check --fix fixed.txt run.txt   write a copy with all lossless fixes applied
treceval check --select R1 --ignore R111 --format json run.txt

--fix repairs encodings, line ends, white space, blank lines, exact duplicates, meaningless ranks, headers, quotes and
missing tags; it never guesses.
The exit status is 1 if there are errors (with --strict, also for warnings); with --fix, if any remain.
"""


class Settings(NamedTuple):
    """The options of a check, as `checking.check` takes them."""

    most: int
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    scale: tuple[int, int] | None


@click.command("check", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", metavar="FILE…", nargs=-1)
@click.option("--qrels", metavar="QRELS", help="Judgments: check them, and compare runs with them.")
@click.option("--explain", metavar="CODE", help="Explain a code and what to do about it, or 'all' codes.")
@click.option("--as", "kind", type=click.Choice(KIND_NAMES), help="Type of each FILE [recognised].")
@format_option("text", ["text", *FORMATS, "github", "sarif"])
@click.option(
    "--select", multiple=True, metavar="CODES", help="Report only these codes: R104, or R1 for all that begin with R1."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Don't report these codes.")
@flag("--strict", help="Exit with status 1 for warnings too.")
@number("--max", "most", default=100, help="Show at most N findings of each code and file; 0 shows all [100].")
@click.option(
    "--scale",
    metavar="LOW-HIGH",
    help="Valid labels of judgments, such as 0-3 (-1 and -2, not judged, are always valid).",
)
@click.option("--fix", metavar="OUT", help="Write a fixed copy to OUT; for several files, into the folder OUT.")
@flag("--in-place", help="Fix the files themselves.")
@click.option("-o", "--output", metavar="FILE", help="Write the findings to FILE, whole or not at all.")
@click.pass_context
def check(
    ctx: click.Context,
    files: tuple[str, ...],
    qrels: str | None,
    explain: str | None,
    kind: str | None,
    output_format: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
    most: int,
    scale: str | None,
    fix: str | None,
    in_place: bool,
    output: str | None,
) -> None:
    """Check, print, fix."""
    if explain is not None:
        put(_explanation(ctx, explain), output)
        return
    if not files and qrels is None:
        raise click.UsageError("Name a FILE to check, or --qrels QRELS.")
    from treceval_py.checking.show import check_output, left_out

    settings = Settings(most, _codes(select, "--select"), _codes(ignore, "--ignore"), _labels(scale))
    targets = _targets(files, fix, in_place)
    read = [each for each in (qrels, *files) if each is not None]
    check_targets([output, *(() if in_place else targets)], read)
    if in_place:
        check_targets([output, *targets], [])
    if read.count("-") > 1:
        raise click.UsageError("Standard input (-) can be read only once.")
    with ExitStack() as opened:
        checked, judgments = _judgments(qrels, settings, opened)
        failed = qrels is not None and judgments is None
        sources = [_repeatable(each, opened) for each in files]
        looked_at = _checked if qrels is None else _as_run
        checked += [looked_at(source, judgments, kind, settings) for source in sources]
        styled = output_format in ("text", "table")
        put(check_output(checked, output_format, style_for(output)), output, styled=styled)
        if scale is not None and not any(each.kind is None or each.kind.rel is not None for each in checked):
            note("--scale had no effect: no judgments were checked")
        if output_format in ("csv", "tsv", "json", "github", "sarif") and (hidden := left_out(checked)):
            note(hidden)
        if targets:
            fixing = _Fixing(judgments, settings, in_place)
            before = checked[-len(files) :]
            checked[-len(files) :] = map(fixing.remains, sources, targets, before)
            failed = failed or fixing.failed
    if failed or any(each.errors or each.unread or (strict and each.warnings) for each in checked):
        ctx.exit(1)


def _repeatable(path: str, opened: ExitStack) -> Callable[[], Source]:
    """Return what gives a source for one more reading; of standard input and of pipes a copy is kept."""
    if not _is_stream(path):
        return lambda: path
    from treceval_py.io.source import kept

    try:
        _, again = opened.enter_context(kept(path))
    except InputError:  # the check reports why
        return lambda: path
    return again


def _is_stream(path: str) -> bool:
    """Tell whether a file is standard input, a pipe or the like, which can be read only once."""
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


def _checked(source: Callable[[], Source], judgments: Qrels | None, kind: str | None, settings: Settings) -> Checked:
    from treceval_py.checking import check as look

    return look(source(), judgments, kind=kind, **settings._asdict())


def _as_run(source: Callable[[], Source], judgments: Qrels | None, kind: str | None, settings: Settings) -> Checked:
    """Check a file given with judgments as a run, even if it looks like judgments."""
    found = _checked(source, judgments, kind, settings)
    if kind is None and found.kind is not None and found.kind.name == "qrels":
        return _checked(source, judgments, "run", settings)
    return found


def _judgments(path: str | None, settings: Settings, opened: ExitStack) -> tuple[list[Checked], Qrels | None]:
    """Check the judgments, and read them if they are readable."""
    if path is None:
        return [], None
    from treceval_py.io.named import read_qrels

    source = _repeatable(path, opened)
    checked = [_checked(source, None, "qrels", settings)]
    try:
        return checked, read_qrels(source())
    except TrecevalError as error:
        note(f"the judgments cannot be read, so no run is compared with them and the exit status is 1: {error}")
        return checked, None


# -- fixing -------------------------------------------------------------------------------------------------------


def _targets(files: Sequence[str], fix: str | None, in_place: bool) -> list[str]:
    """Return the paths of the fixed copies; none if no fixing was asked for."""
    if fix is None and not in_place:
        return []
    if fix is not None and in_place:
        raise click.UsageError("--fix and --in-place contradict each other; remove one of them.")
    if not files:
        raise click.UsageError("Name the FILE to fix; --qrels is only checked.")
    if fix is None:
        for each in filter(_is_stream, files):
            named = "Standard input (-)" if each == "-" else f"{visible(each)} is not a regular file and"
            raise click.UsageError(f"{named} cannot be fixed in place; use --fix OUT.")
        return list(files)
    if fix == "-":
        raise click.UsageError("--fix cannot write to standard output, where findings go; name a file.")
    if len(files) == 1 and not (os.path.isdir(fix) or fix.endswith("/")):
        return [fix]
    if "-" in files:
        raise click.UsageError(
            "Standard input (-) has no file name to use in a folder; fix it on its own with --fix FILE."
        )
    if os.path.exists(fix) and not os.path.isdir(fix):
        raise OutputError("copies of several files need a folder, and this is not one", "Name a folder.", file=fix)
    return [os.path.join(fix, os.path.basename(each)) for each in files]


class _NothingToFixError(Exception):
    """Raised to stop writing a file that would not change."""


class _Fixing:
    """Writes fixed copies, and reports the fixes and the remaining findings.

    Attributes
    ----------
    failed : bool
        Whether a file could not be fixed.
    """

    def __init__(self, judgments: Qrels | None, settings: Settings, in_place: bool) -> None:
        self.failed = False
        self._judgments = judgments
        self._settings = settings
        self._in_place = in_place

    def remains(self, source: Callable[[], Source], target: str, found: Checked) -> Checked:
        """Fix a file and check it again; return the earlier findings if nothing was written."""
        if found.kind is None:
            self.failed = True
            say(f"treceval: {visible(found.file)}: it has no lines that could be fixed, so nothing was written.")
            return found
        try:
            done = self._written(source, target, found.kind)
        except InputError as error:
            self.failed = True
            say(f"{error} Nothing was written.")
            return found
        if done is None:
            note(f"{target}: nothing to fix")
            return found
        note(f"{target}: {'; '.join(done.repairs) or 'nothing to fix, so this is a copy'}")
        again = _checked(lambda: target, self._judgments, found.kind.name, self._settings)
        told = [_told(again, severity) for severity in ("error", "warning")]
        if any(told):
            note(f"{target}: remaining: {', '.join(filter(None, told))}")
        return again

    def _written(self, source: Callable[[], Source], target: str, kind: Kind) -> Fixed | None:
        """Write a fixed copy; None if a file fixed in place has nothing to fix."""
        from treceval_py.checking.fixing import fix
        from treceval_py.io.target import written_whole

        folder = os.path.dirname(target)
        try:
            os.makedirs(folder or ".", exist_ok=True)
        except OSError as error:
            what = f"cannot be made: {error.strerror or error}"
            raise OutputError(what, "Name another folder.", file=folder) from None
        try:
            with written_whole(target) as stream:
                done = fix(source(), stream, kind)
                if self._in_place and not done.repairs:
                    raise _NothingToFixError
        except _NothingToFixError:
            return None
        return done


def _told(checked: Checked, severity: str) -> str:
    """Return the number of findings of a severity and their codes; empty if there are none."""
    from treceval_py.checking.show import by_severity

    count = by_severity(checked.counts)[severity]
    codes = sorted({each.code for each in checked.findings if each.severity == severity})
    return f"{count:,} {severity}{'' if count == 1 else 's'} ({', '.join(codes)})" if count else ""


# -- codes and labels ----------------------------------------------------------------------------------------------


def _codes(texts: Iterable[str], option: str) -> tuple[str, ...]:
    """Return codes, or their beginnings, from an option: separated by commas, in any case, or by name."""
    from treceval_py.checking.catalogue import codes_named

    chosen = []
    for several in texts:
        parts = [each.strip() for each in several.split(",")]
        chosen += list(filter(None, parts)) or [""]  # a comma may follow the last code, but not be alone
    try:
        return codes_named(chosen, option)
    except EvaluationError as error:
        raise click.UsageError(str(error)) from None


def _explanation(ctx: click.Context, text: str) -> str:
    others = given(ctx) - {"explain", "output"}
    if others & {"files", "qrels"}:
        raise click.UsageError("--explain explains a code; remove the files.")
    if others:
        raise click.UsageError("--explain explains a code; remove the other options.")
    from treceval_py.checking.catalogue import CODES, code_or_name
    from treceval_py.checking.show import explained

    try:
        found = list(CODES.values()) if text.lower() == "all" else code_or_name(text, "--explain")
    except EvaluationError as error:
        raise click.UsageError(str(error)) from None
    return "\n\n".join(map(explained, found))


def _labels(scale: str | None) -> tuple[int, int] | None:
    """Return the least and the highest label of a scale: ``0-3``, ``-2-4``."""
    if scale is None:
        return None
    found = re.fullmatch(r"(-?\d{1,18})(?:-|\.\.|:)(-?\d{1,18})", scale)
    if found is None or int(found[1]) > int(found[2]):
        raise click.UsageError(f"--scale takes the lowest and the highest label, such as 0-3, not '{scale}'.")
    return int(found[1]), int(found[2])
