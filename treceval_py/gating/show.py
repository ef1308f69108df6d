"""The verdict of a gate as a sentence, a table, and annotations of GitHub's workflows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from treceval_py.comparing.show.sentences import joined, noted
from treceval_py.errors import visible
from treceval_py.gating.gating import CANNOT_TELL, PASS, WORSE, Decision, Verdict
from treceval_py.io.digests import named
from treceval_py.rendering.envelope import Made, plain
from treceval_py.rendering.escaping import workflow_command
from treceval_py.rendering.numbers import exactly, needed, number, p_value, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import DIGITS, Column, Document, Table

_COMMANDS = {PASS: "notice", WORSE: "error", CANNOT_TELL: "warning"}
"""The annotation of each outcome."""


def finding(verdict: Verdict) -> str:
    """Return the verdict on one line: what was decided, by what, and with what power."""
    decided = [decision for decision in verdict.decisions if decision.outcome == verdict.outcome]
    said = {PASS: _passed, WORSE: _worse, CANNOT_TELL: _cannot_tell}[verdict.outcome](verdict, decided)
    return visible(f"{verdict.outcome[0].upper()}{verdict.outcome[1:]}: {said}.")


def _passed(verdict: Verdict, decided: Sequence[Decision]) -> str:
    tested = [decision for decision in decided if decision.margin is not None]
    floors = [decision for decision in decided if not math.isnan(decision.floor)]
    said = []
    if tested:
        closest = max(tested, key=lambda decision: decision.p)
        said.append(
            f"{_lower(verdict, 'is not', tested)} in {_names(tested)} ({_p(closest.p)}"
            + (f" at most, in {closest.heading}" if len(tested) > 1 else "")
            + f"; an equal run passes with a probability of {_probability(min(decision.power for decision in tested))}"
            + (" or more in each measure)" if len(tested) > 1 else ")")
        )
    if floors:
        reached = ", ".join(
            f"{each.heading} {number(each.candidate, DIGITS)} ≥ {exactly(each.floor)}" for each in floors
        )
        said.append(f"{verdict.runs[1] + ' ' if not tested else ''}reaches its {_plural(floors, 'floor')} ({reached})")
    return ", and ".join(said)


def _worse(verdict: Verdict, decided: Sequence[Decision]) -> str:
    said = []
    tested = [decision for decision in decided if decision.p_worse <= verdict.settings.alpha]
    if tested:
        parts = ", ".join(_drop(decision, named=len(tested) > 1) for decision in tested)
        said.append(f"{_lower(verdict, 'is', tested)} in {_names(tested)} ({parts})")
    below = [decision for decision in decided if decision.below_floor]
    if below:
        parts = ", ".join(f"{each.heading} {number(each.candidate, DIGITS)} < {exactly(each.floor)}" for each in below)
        said.append(f"{'' if said else verdict.runs[1] + ' '}is below its {_plural(below, 'floor')} ({parts})")
    return ", and ".join(said)


def _drop(found: Decision, *, named: bool) -> str:
    difference = number(found.difference, DIGITS, signed=True)
    return f"{found.heading + ' ' if named else ''}{difference}, {_p(found.p_worse)}"


def _cannot_tell(verdict: Verdict, decided: Sequence[Decision]) -> str:
    powers = ", ".join(f"{_probability(decision.power)} in {decision.heading}" for decision in decided)
    if len(decided) == 1:
        powers = _probability(decided[0].power)
    return (
        f"{verdict.runs[1]} may or may not be lower than {verdict.runs[0]} by more than {_margins(decided)} in "
        f"{_names(decided)}; an equal run passes with a probability of {powers} over "
        f"{_counted(decided[0].queries)}; {_would_do(verdict, decided)}"
    )


def _would_do(verdict: Verdict, decided: Sequence[Decision]) -> str:
    """Say how many queries would do: for an equal run, or if there are as many, for the difference that was seen."""
    queries = max(decision.needed for decision in decided)
    if math.isnan(queries):
        return "one query cannot be tested"
    if math.isinf(queries):
        return "no number of queries is enough for an equal run: allow a margin above 0"
    power = f"for a power of {exactly(verdict.settings.power)}{' in each measure' if len(decided) > 1 else ''}"
    if queries > decided[0].queries:
        return f"{needed(queries)} queries would do, {power}"
    seen = max(decision.needed_as_seen for decision in decided)
    return f"if the true difference is the one seen, {needed(seen)} queries would do, {power}"


def _lower(verdict: Verdict, verb: str, decided: Sequence[Decision]) -> str:
    return f"{verdict.runs[1]} {verb} lower than {verdict.runs[0]} by more than {_margins(decided)}"


def _margins(decided: Sequence[Decision]) -> str:
    sizes = dict.fromkeys(str(decision.margin) for decision in decided)
    return next(iter(sizes)) if len(sizes) == 1 else "the margin"


def _names(decided: Sequence[Decision]) -> str:
    return joined([decision.heading for decision in decided])


def _plural(decided: Sequence[Decision], noun: str) -> str:
    return noun if len(decided) == 1 else f"{noun}s"


def _p(value: float) -> str:
    text = p_value(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def _probability(value: float) -> str:
    """Write a probability with two decimals, but never one that is below 1 as 1."""
    return "unknown size" if math.isnan(value) else f"{value:.2f}" if value < 0.995 or value == 1 else ">0.99"


def _counted(queries: int) -> str:
    return "1 query" if queries == 1 else f"{queries} queries"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def document_of(verdict: Verdict, style: Style) -> Document:  # noqa: ARG001 - the same for all styles
    """Return a verdict as a document: the sentence, and a row for each measure."""
    return Document("gate", [_table(verdict)], lambda style: _made(verdict, style))


def _table(verdict: Verdict) -> Table:
    rows = verdict.decisions
    alpha = verdict.settings.alpha
    margins = any(row.margin is not None for row in rows)
    floors = any(not math.isnan(row.floor) for row in rows)
    counts = [None if math.isnan(row.needed) else needed(row.needed) for row in rows]
    columns = (
        Column("measure", [row.heading for row in rows], text=True, head=True, programs=False),
        Column("measure", [row.measure for row in rows], text=True, people=False),
        Column("outcome", [row.outcome for row in rows], text=True, programs=False),
        Column("baseline", [row.baseline for row in rows]),
        Column("candidate", [row.candidate for row in rows]),
        Column("difference", [row.difference for row in rows], signed=True),
        Column("low", [row.low for row in rows], "lower limit", signed=True, people=margins),
        Column("margin", ["" if row.margin is None else str(row.margin) for row in rows], people=margins),
        Column("allowed", [row.allowed for row in rows], people=False),
        Column("p", [row.p for row in rows], people=False, exact=True),
        Column("p", [p_value(row.p) for row in rows], programs=False, people=margins),
        Column("p_worse", [row.p_worse for row in rows], people=False, exact=True),
        Column("p_worse", [p_value(row.p_worse) for row in rows], "p (worse)", programs=False, people=margins),
        Column("floor", [row.floor for row in rows], people=floors),
        Column("power", [row.power for row in rows], digits=2, people=margins),
        Column("drop", [row.drop for row in rows], people=margins, spare=True),
        Column("needed", counts, programs=False, people=margins, spare=True, aside="queries needed"),
        Column("needed", [_finite(row.needed) for row in rows], people=False),
        Column("needed_as_seen", [_finite(row.needed_as_seen) for row in rows], people=False),
        Column("queries", [row.queries for row in rows], people=False),
        Column("outcome", [row.outcome for row in rows], text=True, people=False),
    )
    power = exactly(verdict.settings.power)
    notes = [_about(verdict)]
    if margins:
        confidence = percent(1 - alpha)
        notes += [
            f"lower limit: one-sided {confidence} confidence limit of the difference, by Student's t.",
            "The candidate passes if the lower limit is above minus the margin in every measure.",
            f"p: one-sided paired t-test for passing, at {exactly(alpha)} in each measure, as all must pass.",
            "p (worse): one-sided paired t-test for being worse, with Holm's correction, as one measure is enough.",
            "power: the probability that an equal run passes.",
            f"drop: the true drop that is found with power {power}.",
            f"needed: queries with which an equal run passes with power {power}.",
        ]
    if floors:
        notes.append("floor: the lowest mean that passes, compared without a test.")
    notes += map(noted, verdict.notes)
    made = [f"{row.heading}: {row.signature.short}" for row in rows if row.signature is not None]
    return Table(
        columns,
        "measures",
        lead=finding(verdict),
        heading="Gate",
        notes=tuple(visible(note) for note in notes),
        made=(*map(visible, made), f"treceval_py {verdict.version}"),
        label="tab:gate",
        naming=2,
        tight=True,
    )


def _about(verdict: Verdict) -> str:
    baseline, candidate = (
        named(file, digest) if digest else name
        for name, file, digest in zip(verdict.runs, verdict.files, verdict.digests, strict=True)
    )
    judged = named(verdict.judgments_name, verdict.judgments_digest)
    counts = {decision.queries for decision in verdict.decisions}
    over = _counted(counts.pop()) if len(counts) == 1 else "the queries of each measure"
    return f"Baseline {baseline}, candidate {candidate}, over {over}" + (f", judged by {judged}." if judged else ".")


def _made(verdict: Verdict, style: Style) -> Made:
    decisions = verdict.decisions
    signatures = {decision.measure: decision.signature for decision in decisions if decision.signature is not None}
    profiles = {signature.profile for signature in signatures.values()}
    settings = verdict.settings
    return Made(
        verdict.judgments_name or None,
        profiles.pop() if len(profiles) == 1 else None,
        signatures=signatures,
        runs=[
            {"name": name, "file": file, "tag": None, "role": role, "sha256": digest or None}
            for role, name, file, digest in zip(
                ("baseline", "candidate"), verdict.runs, verdict.files, verdict.digests, strict=True
            )
        ],
        payload={
            "judgments_sha256": verdict.judgments_digest or None,
            "outcome": verdict.outcome,
            "status": verdict.status,
            "finding": finding(verdict),
            "alpha": settings.alpha,
            "power": settings.power,
            "measures": [_decision(decision, style.digits) for decision in decisions],
        },
        notes=verdict.notes,
        version=verdict.version,
    )


def _decision(found: Decision, digits: int | None) -> dict[str, Any]:
    row = {key: value for key, value in found._asdict().items() if key not in ("signature", "margin", "mean_name")}
    exact = {key: plain(row[key]) for key in ("p", "p_worse", "floor")}
    return {**plain(row, digits), **exact, "margin": None if found.margin is None else str(found.margin)}


def workflow_commands(verdict: Verdict, file: str | None = None) -> str:
    """Return GitHub's commands that show the verdict and what decided it in a workflow's run.

    Parameters
    ----------
    verdict : Verdict
        The verdict.
    file : str, optional
        The candidate's file, beside which the annotations are shown.
    """
    return workflow_command(_COMMANDS[verdict.outcome], finding(verdict), file=file, title="treceval gate") + "\n"
