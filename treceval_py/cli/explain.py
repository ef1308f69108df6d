"""``treceval explain QRELS RUN``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from treceval_py.cli.options import scoring_options
from treceval_py.cli.printing import put
from treceval_py.errors import visible
from treceval_py.scoring.profiles import PROFILES

if TYPE_CHECKING:
    from treceval_py.explaining import Arithmetic, Explanation, Match, Step
    from treceval_py.explaining.explanation import Explained, Row
    from treceval_py.scoring.planning import Reading, Scoring

__all__ = ["explain"]

HELP = """Explain how a value is computed, and why others report a different one.

Scores RUN under every profile; finds the profile, changed convention or mistake that gives a claimed value; and walks
from our value to theirs, one convention at a time.

\b
treceval explain qrels.txt run.txt -m nDCG@10
treceval explain qrels.txt run.txt --claim nDCG@10=0.3498
treceval explain qrels.txt run.txt -m AP --against ranx
treceval explain qrels.txt run.txt -m AP --query 301     the arithmetic of one query
"""


@click.command("explain", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("qrels", metavar="QRELS")
@click.argument("run", metavar="RUN")
@click.option(
    "--claim", "claims", multiple=True, metavar="NAME=VALUE", help="Value reported elsewhere, to be explained."
)
@click.option("--against", multiple=True, metavar="PROFILE", help="Walk to this profile, one convention at a time.")
@click.option("--query", metavar="QID", help="Show the arithmetic of this query, term by term.")
@scoring_options("RR@10, nDCG@10, AP")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all.")
def explain(
    qrels: str,
    run: str,
    claims: tuple[str, ...],
    against: tuple[str, ...],
    query: str | None,
    scoring: Scoring,
    reading: Reading,
    output: str | None,
) -> None:
    """Explain numbers: read, score in every way, print."""
    from treceval_py import explaining

    if qrels == run == "-":
        raise click.UsageError("Standard input (-) can be read only once.")
    if query is not None:
        if claims or against:
            raise click.UsageError("--query shows the arithmetic of one query; remove --claim and --against.")
        put("\n".join(map(_arithmetic, _of_query(qrels, run, query, scoring, reading))), output)
        return
    found = explaining.explain(qrels, run, claims=claims, against=against, scoring=scoring, **reading._asdict())
    put(_report(found), output)


def _of_query(qrels: str, run: str, query: str, scoring: Scoring, reading: Reading) -> list[Arithmetic]:
    """Return the arithmetic of a query for each measure, or each signature."""
    from treceval_py.explaining import arithmetic
    from treceval_py.scoring.evaluation import Evaluator
    from treceval_py.scoring.profiles import profile_of
    from treceval_py.scoring.signatures import read_signatures

    if scoring.signatures is not None:
        ways = [replace(scoring, signatures=each) for each in read_signatures(scoring.signatures)]
    else:
        asked = profile_of(scoring.profile).parse(("AP",) if scoring.measures is None else scoring.measures)
        ways = [replace(scoring, measures=each) for each in asked]
    first = Evaluator(qrels, ways[0], reading)
    table = first.table(run)
    return [arithmetic(first.judgments, table, None, query, scoring=way) for way in ways]


def _report(found: Explanation) -> str:
    judged, retrieved, both = found.queries
    head = (
        f"{visible(found.run_name)} against {visible(found.judgments_name)}: {judged} judged "
        f"{'query' if judged == 1 else 'queries'}, "
        f"{retrieved} in the run, {both} in both\n"
    )
    return "\n".join([head, *(_about(each, found.profile) for each in found.measures)])


def _about(each: Explained, profile: str) -> str:
    lines = [each.measure.name, "=" * len(each.measure.name), ""]
    if each.claim is not None:
        lines += [*_about_claim(each), ""]
    lines += [*_by_value(each.rows), ""]
    for walk in each.walks:
        to = f"From {profile} to {walk.to}" if walk.to in PROFILES else f"From {profile}, step by step"
        lines += [f"{to}:", *_walked(walk.steps), ""]
    return "\n".join(lines)


def _about_claim(each: Explained) -> list[str]:
    claim = each.claim
    if claim is None:
        return []
    if not each.matches:
        lines = [f"{claim.text} is given by none of the {each.tried} ways that were tried. Nearest:"]
        return lines + [f"  {match.outcome.mean:.6f}  {match.variant.name}" for match in each.nearest]
    from treceval_py.explaining.variants import OPTION, PAIR

    best = each.matches[0].variant.cost
    lines = [f"{claim.text} is given by"]
    lines += [f"  {_matched(match)}" for match in each.matches if match.variant.cost <= max(best, OPTION)]
    more = [match for match in each.matches if match.variant.cost > max(best, OPTION)]
    if more:
        lines += ["and also by", *(f"  {_matched(match)}" for match in more)]
    if best == PAIR:
        lines.append(f"{each.tried} ways were tried: a number with so few digits may be met by chance.")
    return lines


def _matched(match: Match) -> str:
    from treceval_py.explaining.variants import CHANGE, MISTAKE, PAIR

    how = "" if match.how == "exactly" else f" ({match.how})"
    kind = {CHANGE: "one change: ", MISTAKE: "a mistake: ", PAIR: "two changes: "}.get(match.variant.cost, "")
    return f"{kind}{match.variant.name}{how}: {match.outcome.mean:.6f} over {_queries(match.outcome.queries)}"


def _queries(count: int) -> str:
    return "1 query" if count == 1 else f"{count} queries"


def _by_value(rows: list[Row]) -> list[str]:
    """Return a line for each distinct number, with the profiles that give it."""
    groups: dict[tuple[str, int], list[str]] = {}
    for variant, outcome in rows:
        if outcome is not None:
            key = (f"{outcome.mean:.4f}", outcome.queries)
            groups.setdefault(key, []).append(variant.name.replace(" with all judged queries (-c)", " -c"))
    lines = ["  value   queries  given by"]
    for (value, queries), names in sorted(groups.items(), key=lambda item: float(item[0][0]), reverse=True):
        # Where no judged query is missing, -c changes nothing and need not be said.
        said = [name for name in names if name.removesuffix(" -c") == name or name.removesuffix(" -c") not in names]
        lines.append(f"  {value:7} {queries:7}  {', '.join(said)}")
    return lines


def _walked(steps: list[Step]) -> list[str]:
    if len(steps) == 1:
        return [f"  {steps[0].mean:.4f}  nothing differs"]
    lines = []
    without: list[str] = []
    for step in steps:
        if not step.what:
            lines.append(f"  {step.mean:.4f}           {_queries(step.queries)}")
            continue
        if not step.touched:
            without.append(step.what)
            continue
        lines.append(f"  {step.mean:.4f}  {step.delta:+.4f}  {step.what}")
        if step.touched:
            moved = ", ".join(
                f"{visible(move.qid)} {_shown(move.before)} → {_shown(move.after)}" for move in step.moves
            )
            rest = f" and {step.touched - len(step.moves)} more" if step.touched > len(step.moves) else ""
            lines.append(f"{'':19}{_queries(step.queries)}; moves {moved}{rest}")
    return [*lines, *(f"  no effect        {what}" for what in without)]


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _arithmetic(found: Arithmetic) -> str:
    lines = [
        f"{found.measure.notation} of query {visible(found.qid)} = {found.value:.6f}",
        "",
        f"  {found.formula}",
        "",
    ]
    ids = [visible(term.docid) for term in found.terms]
    scores = [repr(term.score) for term in found.terms]
    width, wide = max([5, *map(len, ids)]), max([5, *map(len, scores)])
    sums = "     adds       sum" if found.apart else ""
    lines.append(f"  rank  {'docid':{width}}  {'score':>{wide}}  judged{sums}")
    for term, docid, score in zip(found.terms, ids, scores, strict=True):
        calculation = f"  {term.value:.6f}  {term.total:.6f}  {term.how}" if found.apart else ""
        lines.append(f"  {term.rank:4}  {docid:{width}}  {score:>{wide}}  {_label(term.label):>6}{calculation}")
    if not found.terms:
        lines.append("  no document adds anything" if found.apart else "  no judged document was retrieved")
    if found.apart:
        lines += ["", f"  {found.closing} = {found.value:.6f}"]
    else:
        lines += ["", "  The value of this measure is not taken apart; 'treceval measures' has a worked example."]
    return "\n".join([*lines, ""])


def _label(label: int | None) -> str:
    return "–" if label is None else str(label)
