"""What is said of a comparison, the same in all formats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from treceval_py.errors import visible
from treceval_py.rendering.numbers import exactly, number, p_value, percent

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Outcome
    from treceval_py.comparing.variance import Anova

__all__ = ["ABOVE", "BELOW", "analyses", "methods", "noted", "notes", "sentences", "shortened", "signatures"]

ABOVE, BELOW = "▲", "▼"
"""The marks of a significant difference: of a mean above, and below, that of the other run."""

FEW_LETTERS = 4
"""So many letters in a row are written as the first and the last."""

_INTERVALS = {"t": "Student's t", "bca": "BCa bootstrap"}


def shortened(letters: str) -> str:
    """Write many letters in a row as the first and the last, as runs in the middle of a long order have them."""
    stretches: list[list[str]] = []
    for name in re.findall("[a-z][0-9]*", letters):
        if stretches and _place(name) == _place(stretches[-1][-1]) + 1:
            stretches[-1].append(name)
        else:
            stretches.append([name])
    return "".join(
        f"{stretch[0]}–{stretch[-1]}" if len(stretch) >= FEW_LETTERS else "".join(stretch) for stretch in stretches
    )


def _place(name: str) -> int:
    """Return the number of a group by its name: a is 0, z 25, a1 26."""
    return 26 * int(name[1:] or 0) + ord(name[0]) - ord("a")


def sentences(comparison: Outcome) -> list[str]:
    """Say how a comparison was made and what its marks and letters mean, as plain text without control characters."""
    made = [*methods(comparison).values(), *analyses(comparison), *notes(comparison), *signatures(comparison)]
    return [*made, f"treceval_py {visible(comparison.version)}"]


def methods(comparison: Outcome) -> dict[str, str]:
    """Say what was computed, a sentence for each subject that there is; the keys name the subjects."""
    settings = comparison.settings
    confidence = percent(settings.confidence)
    said = {"queries": _queries(comparison), "test": _test(comparison)}
    others = [f"{_title(name)} ({name})" for name in settings.tests if name != settings.test]
    if others:
        said["tests"] = f"Also computed: {', '.join(others)}; p-values shown as they are."
    if "randomisation" in settings.tests:
        said["randomisation"] = (
            f"Randomisation: {_drawn(settings.resamples, 'random sign flip')}, seed {settings.seed}; "
            "all sign flips where there are no more than that."
        )
    drawn = f", {_drawn(settings.bootstrap, 'resample')}, seed {settings.seed}" if settings.interval == "bca" else ""
    said["interval"] = f"Intervals of differences: {confidence}, {_INTERVALS[settings.interval]}{drawn}."
    if any(any(compared.letters) for compared in comparison.measures):
        said["groups"] = _letters(comparison)
    said["effect"] = (
        "d: mean of the differences over their standard deviation (Cohen's d_z), "
        f"with the {confidence} interval of the noncentral t distribution."
    )
    said["counts"] = "w/t/l: queries in which the run wins, ties and loses."
    if settings.margin is not None:
        said["equivalence"] = (
            f"p (equal): the difference lies within ±{exactly(settings.margin)}, two one-sided paired t-tests, "
            "not corrected."
        )
    said["needed"] = (
        f"needed: queries with which a two-sided paired t-test at {exactly(settings.alpha)} finds this d "
        f"with power {exactly(settings.power)}."
    )
    return said


def analyses(comparison: Outcome) -> list[str]:
    """Say what the analysis of variance found, a sentence for each measure that has one."""
    return [
        f"{visible(each.measure)}, two-way analysis of variance: {_anova(each.anova)}."
        for each in comparison.measures
        if each.anova is not None
    ]


def notes(comparison: Outcome) -> list[str]:
    """Return the notes of a comparison, each with a full stop."""
    return [noted(note) for note in comparison.notes]


def noted(note: str) -> str:
    """Return a note as a sentence that is known to be one, with a full stop."""
    return f"Note: {visible(note.removeprefix('Note: ').rstrip('.'))}."


def signatures(comparison: Outcome) -> list[str]:
    """Say how the values of each measure were made, where that is known."""
    return [
        f"{visible(each.measure)}: {visible(each.signature.short)}"
        for each in comparison.measures
        if each.signature is not None
    ]


def _title(name: str) -> str:
    """Return what a test, or a correction, is called in a sentence."""
    from treceval_py.comparing.tests import GROUPS, METHODS, TESTS

    return {**TESTS, **GROUPS, **METHODS}[name].title


def _queries(comparison: Outcome) -> str:
    by_count: dict[int, list[str]] = {}
    for compared in comparison.measures:
        by_count.setdefault(len(compared.qids), []).append(visible(compared.measure))
    parts = [_count(count, "query", "queries") for count in by_count]
    if len(parts) > 1:
        parts = [f"{part} ({', '.join(names)})" for part, names in zip(parts, by_count.values(), strict=True)]
    judged = f", judged by {visible(comparison.judgments_name)}" if comparison.judgments_name else ""
    return f"Means over {', '.join(parts)}{judged}."


def _test(comparison: Outcome) -> str:
    settings = comparison.settings
    other = (
        "the other run"
        if comparison.baseline is None
        else f"{visible(comparison.runs[comparison.baseline])} (baseline)"
    )
    family = _count(comparison.family, "p-value", "p-values")
    corrected = (
        f"{family}, not corrected" if settings.correction == "none" else f"{_title(settings.correction)} over {family}"
    )
    return (
        f"{ABOVE}{BELOW}: mean above or below that of {other}, with a significant difference: "
        f"{_title(settings.test)}, p ≤ {exactly(settings.alpha)}, {corrected}."
    )


def _letters(comparison: Outcome) -> str:
    settings = comparison.settings
    drawn = (
        f", {_drawn(settings.resamples, 'resample')}, seed {settings.seed}"
        if settings.groups == "randomised-tukey"
        else ""
    )
    each = ", for each measure by itself" if len(comparison.measures) > 1 else ""
    return (
        "Letters: runs that share one do not differ significantly: "
        f"{_title(settings.groups)} at {exactly(settings.alpha)}{drawn}{each}."
    )


def _anova(anova: Anova) -> str:
    parts = [
        f"{name} F({degrees}, {anova.error_df}) = {number(f, 2)}, p {_equals(p)}"
        for name, degrees, f, p in (
            ("systems", anova.systems_df, anova.systems_f, anova.systems_p),
            ("queries", anova.queries_df, anova.queries_f, anova.queries_p),
        )
    ]
    return "; ".join(parts)


def _equals(p: float) -> str:
    text = p_value(p)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def _count(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _drawn(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"
