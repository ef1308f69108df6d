"""``sample_eval`` and ``statap``: the programs that score judgments of a sample, with their arguments and output."""

from __future__ import annotations

import click

from treceval_py.cli.options import choice, flag, option, within
from treceval_py.cli.printing import put

SAMPLE_EVAL = """Score RUN against the judgments in QRELS, which have strata, as NIST's sample_eval.pl does.

QRELS has "topic 0 docid stratum grade", with a negative grade for a document that was not drawn. The profiles
sample_eval and sample_eval-trecvid of 'treceval' compute the same values, for every command.

\b
python -m treceval_py.sample_eval -q qrels.txt run.txt
python -m treceval_py.sample_eval qrels.txt run.txt -G 1=1 2=3
"""

STATAP = """Score RUN against the judgments in PRELS, which have probabilities, as statAP_MQ_eval does.

PRELS has "topic docid grade method probability". The profiles statap-3 and statap-4 of 'treceval' compute the same
values, for every command.

\b
python -m treceval_py.statap -q prels.txt run.txt
"""


@click.command("sample_eval", help=SAMPLE_EVAL)
@click.argument("words", metavar="QRELS RUN", nargs=-1)
@flag("-q by_query", "Print each topic too.")
@flag("-G mapped", "Map grades to gains: GRADE=GAIN … after RUN; not with -q.")
@option("--depth", "N", "Documents of each topic that count, 1000 in some copies [100; of TRECVID's version 1000].",
    type=within(1))  # fmt: skip
@flag("--trecvid", "As the version of TRECVID does.")
def sample_eval(words: tuple[str, ...], by_query: bool, mapped: bool, depth: int | None, trecvid: bool) -> None:
    """Print what sample_eval prints."""
    from treceval_py.io.source import whole
    from treceval_py.scoring import programs

    gains = dict(word.split("=", 1) for word in words[2:] if "=" in word)
    if len(words) - len(gains) != 2 or bool(gains) != mapped or (mapped and by_query):
        raise click.UsageError("Give two files, QRELS and RUN, and gains after -G, without -q.")
    names = words[0], words[1]
    depth = depth or (1000 if trecvid else 100)
    files = whole(names[0]), whole(names[1])
    values = programs.sample_eval(*files, names=names, depth=depth, trecvid=trecvid, gains=gains)
    shown = {key: value for key, value in values.items() if by_query or key[0] == "all"}
    put(programs.printed_sample_eval(shown), None)


@click.command("statap", help=STATAP)
@click.argument("files", metavar="PRELS RUN", nargs=2)
@flag("-q by_query", "Print each topic too.")
@flag("-n only_random", "Score only topics whose documents were all drawn at random (NEU).")
@flag("-m only_mixed", "Score only topics whose documents were selected in both ways (MIXED).")
@flag("-f fixed", "Leave out documents selected by an algorithm alone; keep the probabilities of the others.")
@choice("--version", ["3", "4"], "The version; 4 is one that a user changed.", default="3")
def statap(
    files: tuple[str, str], by_query: bool, only_random: bool, only_mixed: bool, fixed: bool, version: str
) -> None:
    """Print what statAP_MQ_eval prints."""
    from treceval_py.io.source import whole
    from treceval_py.scoring import programs

    if only_random and only_mixed:
        raise click.UsageError("Give -n or -m, not both.")
    kind = "NEU" if only_random else "MIXED" if only_mixed else ""
    prels, run = map(whole, files)
    topics, means = programs.statap(prels, run, names=files, version=f"v{version}", fixed=fixed, kind=kind)
    put(programs.printed_statap(topics if by_query else {}, means, f"v{version}"), None)
