"""``treceval fuse RUN RUN… -o RUN``."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from treceval_py.cli.commands import Command
from treceval_py.cli.names import METHODS, NORMS
from treceval_py.cli.options import (
    PATHS,
    PROFILE,
    READING_OPTIONS,
    choice,
    decimal,
    flag,
    given,
    number,
    option,
    repeatable,
    titled,
)
from treceval_py.cli.printing import Output, check_targets, kind_of, note, wrote
from treceval_py.cli.progress import working
from treceval_py.errors import InputError

if TYPE_CHECKING:
    from treceval_py.fusing.methods import Fusion
    from treceval_py.fusing.tuning import Before, Tuning

HELP = """Fuse runs into one, query by query.

\b
{methods}

s: score after normalisation. r: rank, from 1. w: weight of the run. h: number of runs with the document. n: length of
the list. c: number of documents in all lists of the query. A run without the document adds nothing to Σ.

\b
{norms}

\b
treceval fuse bm25.txt bge.txt -o fused.txt
treceval fuse bm25.txt bge.txt -o fused.txt --method weighted --weights 0.3,0.7
treceval fuse bm25.txt bge.txt -o fused.txt --method weighted --tune qrels.txt

With --tune, each fold of the queries is fused with the weights that are best on the other folds, so the mean of the
fused run estimates the gain on new queries. fused.txt.json records inputs and settings.
"""


TUNING = ("folds", "measure", "profile")
"""Options that need --tune."""

SETTINGS = ("methods", "norms", "weights", "rrf_k", "rbc_phi", "tune", "tuned", *TUNING)
"""Options that decide how queries are fused."""


def _check(ctx: click.Context) -> dict[str, object]:
    """Return what is wrong with options: they would be ignored, or contradict each other."""
    chosen, there = ctx.params, given(ctx)
    methods = chosen["methods"] or ("rrf",)
    several = [f"{weight:g}" for weight in chosen["weights"] or ()]
    several += [word for word in chosen["runs"] if re.fullmatch(r"[0-9.]+", word) and not os.path.lexists(word)]
    return {
        f"--weights takes one list with commas: --weights {','.join(several)}.": chosen["weights"]
        and len(several) > len(chosen["weights"]),
        **{
            f"--tuned has a setting already; remove {_flag(name)}.": chosen["tuned"] is not None and name in there
            for name in sorted(SETTINGS[:6])
        },
        **{
            f"{_flag(name)} is for the method {method}.": name in there and method not in methods
            for name, method in (("rrf_k", "rrf"), ("rbc_phi", "rbc"))
        },
        **{f"{_flag(name)} needs --tune.": chosen["tune"] is None and name in there for name in sorted(TUNING)},
        **{
            f"Several values of {_flag(name)} need --tune, which chooses one.": chosen["tune"] is None
            and len(chosen[name]) > 1
            for name in ("methods", "norms")
        },
    }


def _flag(name: str) -> str:
    return "--" + {"methods": "method", "norms": "norm"}.get(name, name).replace("_", "-")


def _table(title: str, rows: dict[str, str]) -> str:
    return "\n".join([title, *(f"  {name:9} {formula}" for name, formula in rows.items())])


def _weights(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise click.BadParameter(f"'{text}' is not a list of numbers separated by commas, such as 0.3,0.7.") from None


@click.command(
    "fuse",
    cls=Command,
    peak=(130, 100),
    help=HELP.format(methods=_table("Methods:", METHODS), norms=_table("Normalisations:", NORMS)),
    check=_check,
    common="-o --method --norm --weights --tune",
)
@click.argument("runs", metavar="RUN RUN…", nargs=-1, required=True)
@option("-o --output", "RUN", "Fused run; its extension selects compression (.gz, …).", required=True)
@choice("--method methods", METHODS, "One of these methods; several with --tune [rrf].", multiple=True, metavar="NAME")
@choice("--norm norms", NORMS, "Normalisation of s; several with --tune [min-max].", multiple=True, metavar="NAME")
@option("--weights", "W,W,…", "A weight w for each run [all equal].", type=_weights)
@titled("Fusion")
@decimal("--rrf-k", "The constant k of rrf [60].", 60)
@decimal("--rbc-phi", "The persistence φ of rbc [0.8].", 0.8)
@number("--depth", "Use only the first N documents of each list [all].", least=1)
@flag("--strict", "Refuse runs with different queries.")
@titled("Tuning")
@option("--tune", "QRELS", "Choose weights, methods and norms by judgments.")
@number("--folds", "Folds of --tune [5].", least=2)
@repeatable("-m --measure measure", "NAME", "Measure that --tune maximises [nDCG@10].", "measure")
@option("--profile", help="Scoring conventions for --tune.", **PROFILE)
@option("--tuned", "JSON", "Use the setting of an earlier --tune, its FUSED.json.")
@titled("Reading files")
@READING_OPTIONS["run_format"]
@READING_OPTIONS["max_passage"]
@titled("Output")
@number("-k k", "Documents per query of the fused run [1000].", 1000, least=1)
@option("--tag", None, "Tag of the fused run [the method and its settings].")
@PATHS
def fuse(runs: tuple[str, ...], output: str, run_format: str | None, **options: Any) -> None:
    """Fuse files, and print notes about them."""
    from treceval_py.fusing.files import fuse_files

    check_targets([output, f"{output}.json"], [*runs, options["tune"], options["tuned"]])
    fusion = _fusion({name: options.pop(name) for name in SETTINGS})
    try:
        with working(f"fusing {len(runs)} runs"):
            done = fuse_files(runs, output, fusion, **options, format=run_format, command=["treceval", *sys.argv[1:]])
    except InputError as error:
        if error.file not in runs or kind_of(error.file) != "qrels":
            raise
        raise InputError(error.what, "Remove it: fuse takes runs only.", file=error.file, line=error.line) from None
    if done.tuned is not None:
        from treceval_py.fusing.show import document_of
        from treceval_py.rendering import render

        screen = Output("table")
        screen.put(render(document_of(done.tuned, runs), screen.format, screen.style))
    note(*done.notes)
    wrote(output, f"{output}.json")


def _fusion(chosen: dict[str, Any]) -> Fusion | Tuning | Before:
    """Return how queries are fused."""
    from treceval_py.fusing.methods import Fusion

    methods, norms = chosen["methods"] or ("rrf",), chosen["norms"] or (None,)
    constants = {name: chosen[name] for name in ("rrf_k", "rbc_phi")}
    if chosen["tuned"] is not None:
        from treceval_py.fusing.tuning import tuned_before

        return tuned_before(chosen["tuned"])
    if chosen["tune"] is None:
        return Fusion(methods[0], norms[0], chosen["weights"], **constants)
    if chosen["weights"] is not None:
        raise click.UsageError("--tune chooses weights; remove --weights.")
    from treceval_py.fusing.tuning import DEFAULT_MEASURE, Tuning, fusions_of
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.planning import Scoring

    scoring = Scoring(measures=list(chosen["measure"]) or [DEFAULT_MEASURE], profile=chosen["profile"])
    return Tuning(fusions_of(methods, norms, **constants), Evaluator(chosen["tune"], scoring), chosen["folds"] or 5)
