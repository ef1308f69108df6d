"""``treceval check FILE…``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, cast

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.options import TWICE, choice, flag, format_option, given, named, number, option, repeatable, titled
from treceval_py.cli.printing import Output, check_targets, kind_of, note, put, say
from treceval_py.errors import EvaluationError, InputError, OutputError, TrecevalError, visible
from treceval_py.io.formats import checkable
from treceval_py.rendering import FORMATS

if TYPE_CHECKING:
    from treceval_py._types import Source
    from treceval_py.checking.checking import Checked
    from treceval_py.data.qrels import Qrels

    Checking = Callable[..., Checked]


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong: a lack of files, and what does not go with --explain."""
    chosen = ctx.params
    files, explain = [*chosen["files"], *filter(None, [chosen["qrels"]])], chosen["explain"] is not None
    return {
        "--explain explains a code; remove the files.": explain and files,
        "--explain explains a code; remove the other options.": explain and given(ctx) - {"explain", "output"},
        "Name a FILE to check, or --qrels QRELS.": not explain and not files,
        TWICE: files.count("-") > 1,
    }


@click.command("check", cls=Command, peak=(75, 400), check=_check, common="--qrels --explain --fix --in-place --format")
@click.argument("files", metavar="FILE…", nargs=-1)
@option("--qrels", "QRELS", "Judgments: check them, and compare runs with them [the first FILE if it has judgments].")
@option("--explain", "CODE", "Explain a code, or 'all', and what to do.", shell_complete=named("code"))
@titled("Findings")
@repeatable("--select", "CODES", "Only these codes: R104, or R1 for R100 to R199.", "code")
@repeatable("--ignore", "CODES", "All but these codes.", "code")
@choice("--as kind", checkable(), "Type of each FILE [recognised].", metavar="FORMAT")
@option("--scale", "LOW-HIGH", "Valid labels, such as 0-3; -1 and -2 always are.")
@flag("--strict", "Exit with status 1 for warnings too.")
@titled("Fixing")
@option("--fix", "OUT", "Write a fixed copy to OUT (a folder for several).")
@flag("--in-place", "Fix the files themselves.")
@titled("Output")
@format_option("text", ["text", *FORMATS, "github", "sarif"])
@number("--max most", "Most findings of a code in a file; 0: all [100].", 100)
@option("-o --output", "FILE", "Write the findings to FILE.")
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
    r"""Check runs and judgments line by line, and report every problem.

    Each finding has a line and column, a severity and a code. Errors stop scoring, or make other programs silently
    report wrong numbers. Warnings are probable mistakes. Notes are for information. Runs after judgments are compared
    with these: missing queries and documents, ids that look alike.

    \b
    treceval check run.txt
    treceval check qrels.txt runs/*.txt
    treceval check --explain R104            what a code means, and what to do
    treceval check --fix fixed.txt run.txt   write a copy with lossless fixes
    treceval check --select R1 --ignore R111 --format json run.txt

    --fix repairs encodings, line ends, white space, blank lines, exact duplicates, meaningless ranks, headers, quotes
    and missing tags; it never guesses. The exit status is 1 if there are errors (with --strict, also for warnings);
    with --fix, if any remain.
    """
    from treceval_py.checking.catalogue import CODES, code_or_name
    from treceval_py.checking.checking import check as look
    from treceval_py.checking.show import check_output, explained, left_out

    try:
        if explain is not None:
            codes = CODES.values() if explain.lower() == "all" else code_or_name(explain, "--explain")
            width = Output(output=output).style.width
            put("\n\n".join(explained(code, width) for code in codes), output)
            return
        chosen, ignored = _codes(select, "--select"), _codes(ignore, "--ignore")
    except EvaluationError as error:
        raise click.UsageError(str(error)) from None
    checking: Checking = partial(look, most=most, select=chosen, ignore=ignored, scale=_labels(scale))
    targets = _targets(files, fix, in_place)
    # Each of several files is fixed by itself, and --as says what each of them is.
    qrels, files = (qrels, files) if kind or targets else _divided(qrels, files)
    check_targets([output, *(() if in_place else targets)], [qrels, *files])
    if in_place:
        check_targets([output, *targets], [])
    with ExitStack() as opened:
        checked, judgments = _judgments(qrels, checking, opened)
        failed = qrels is not None and judgments is None
        sources = [_repeatable(file, opened) for file in files]
        for source in sources:
            checked.append(checking(judgments, source(), kind=kind))
            named = checked[-1].kind
            if qrels is not None and kind is None and named is not None and named.name == "qrels":
                # A file given with judgments is a run, even if it looks like judgments.
                checked[-1] = checking(judgments, source(), kind="run")
        findings = Output("table" if output_format == "text" else output_format, output=output)  # both have styles
        findings.put(check_output(checked, output_format, findings.style))
        if scale is not None and not any(each.kind is None or each.kind.rel is not None for each in checked):
            note("--scale had no effect: no judgments were checked")
        if output_format in ("csv", "tsv", "json", "github", "sarif") and (hidden := left_out(checked)):
            note(hidden)
        for place, target in enumerate(targets, -len(files)):
            fixed = _fixed(sources[place], target, checked[place], judgments, checking, in_place=in_place)
            failed = failed or fixed is None
            checked[place] = checked[place] if fixed is None else fixed
    if failed or any(each.errors or each.unread or (strict and each.warnings) for each in checked):
        ctx.exit(1)


def _divided(qrels: str | None, files: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the judgments and the runs, if no judgments are given and only the first of several files has some."""
    judged = [kind_of(file) == "qrels" for file in files] if qrels is None else []
    return (files[0], files[1:]) if len(judged) > 1 and judged[0] and sum(judged) == 1 else (qrels, files)


def _repeatable(path: str, opened: ExitStack) -> Callable[[], Source]:
    """Return what gives a source for one more reading; of standard input and of pipes a copy is kept."""
    if _is_stream(path):
        from treceval_py.io.source import kept

        with suppress(InputError):  # the check reports why
            return opened.enter_context(kept(path))[1]
    return lambda: path


def _is_stream(path: str) -> bool:
    """Tell whether a file is standard input, a pipe or the like, which can be read only once."""
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))


def _judgments(path: str | None, checking: Checking, opened: ExitStack) -> tuple[list[Checked], Qrels | None]:
    """Check the judgments, and read them if they are readable."""
    if path is None:
        return [], None
    from treceval_py.io.named import read_judgments  # which may have been swapped with a run

    source = _repeatable(path, opened)
    checked = [checking(source(), kind="qrels")]
    try:
        return checked, cast("Qrels", read_judgments(source()))
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


def _fixed(
    source: Callable[[], Source],
    target: str,
    before: Checked,
    judgments: Qrels | None,
    checking: Checking,
    *,
    in_place: bool,
) -> Checked | None:
    """Write a fixed copy and check it; return the earlier findings if nothing was written, None after a failure."""
    from treceval_py.checking.fixing import fix
    from treceval_py.checking.show import by_severity
    from treceval_py.io.target import written_whole

    if before.kind is None:
        say(f"treceval: {visible(before.file)}: it has no lines that could be fixed, so nothing was written.")
        return None
    folder = os.path.dirname(target)
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot be made: {error.strerror or error}", "Name another folder.", file=folder) from None
    try:
        with written_whole(target) as stream:
            done = fix(source(), stream, before.kind)
            if in_place and not done.repairs:
                raise _NothingToFixError
    except _NothingToFixError:
        note(f"{target}: nothing to fix")
        return before
    except InputError as error:
        say(f"{error} Nothing was written.")
        return None
    note(f"{target}: {'; '.join(done.repairs) or 'nothing to fix, so this is a copy'}")
    after = checking(judgments, target, kind=before.kind.name)
    remaining = []
    for severity in ("error", "warning"):
        if count := by_severity(after.counts)[severity]:
            codes = sorted({each.code for each in after.findings if each.severity == severity})
            remaining.append(f"{count:,} {severity}{'' if count == 1 else 's'} ({', '.join(codes)})")
    if remaining:
        note(f"{target}: remaining: {', '.join(remaining)}")
    return after


# -- codes and labels ----------------------------------------------------------------------------------------------


def _codes(texts: Iterable[str], option: str) -> tuple[str, ...]:
    """Return codes, or their beginnings, from an option: separated by commas, in any case, or by name."""
    from treceval_py.checking.catalogue import codes_named

    chosen = []
    for several in texts:
        parts = [each.strip() for each in several.split(",")]
        chosen += list(filter(None, parts)) or [""]  # a comma may follow the last code, but not be alone
    return codes_named(chosen, option)


def _labels(scale: str | None) -> tuple[int, int] | None:
    """Return the least and the highest label of a scale: ``0-3``, ``-2-4``."""
    if scale is None:
        return None
    labels = re.fullmatch(r"(-?\d{1,18})(?:-|\.\.|:)(-?\d{1,18})", scale)
    if labels is None or int(labels[1]) > int(labels[2]):
        raise click.UsageError(f"--scale takes the lowest and the highest label, such as 0-3, not '{scale}'.")
    return int(labels[1]), int(labels[2])
