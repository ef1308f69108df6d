"""Sentences on a comparison, the same in all formats."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from treceval_py.comparing.show.cells import ABOVE, BELOW, of_baseline
from treceval_py.comparing.tests import SIMULTANEOUS, TESTS
from treceval_py.errors import visible
from treceval_py.io.digests import named
from treceval_py.rendering.numbers import exactly, number, p_value, percent
from treceval_py.rendering.tables import DIGITS

if TYPE_CHECKING:
    from treceval_py._types import FloatArray
    from treceval_py.comparing.outcome import Compared, Outcome
    from treceval_py.comparing.variance import Anova

FEW_LETTERS = 4
"""So many letters in a row are written as the first and the last."""

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Numbers that are written as words."""

MOST_NAMES = 5
"""More runs than this are counted instead of named."""


def abridged(letters: str) -> str:
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
    said = {"finding": " ".join(finding(comparison, comparison.measures[0]))}
    queries = [(compared.heading, len(compared.qids)) for compared in comparison.measures]
    said["queries"] = means_over(queries, comparison.judgments_name, comparison.judgments_digest)
    if len(comparison.runs) == 1:
        return said | {"interval": f"Intervals of means: {confidence}, Student's t over queries."}
    other = of_baseline(comparison, "") or "the other run"
    said["test"] = (
        f"{ABOVE}{BELOW}: mean above or below that of {other}, with a significant difference: {procedure(comparison)}."
    )
    others = [f"{TESTS[name]} ({name})" for name in settings.tests if name != settings.test]
    if others:
        said["tests"] = f"Also computed: {', '.join(others)}; p-values shown as they are."
    if "randomisation" in settings.tests:
        said["randomisation"] = (
            f"Randomisation: {_drawn(settings.drawn('randomisation'), 'random sign flip')}, seed {settings.seed}; "
            "all sign flips if there are fewer."
        )
    said["interval"] = f"Intervals of differences: {confidence}, {_interval(comparison)}."
    if any(any(compared.letters) for compared in comparison.measures):
        said["groups"] = "Letters: runs that share one do not differ significantly, by the same test."
    said["effect"] = (
        "d: mean of the differences over their standard deviation (Cohen's d_z), "
        f"with the pointwise {confidence} interval of the noncentral t distribution."
    )
    said["counts"] = "w/t/l: queries in which the run wins, ties and loses."
    if settings.margin is not None:
        said["equivalence"] = (
            f"p (equal): the difference lies within ±{exactly(settings.margin)}, two one-sided paired t-tests, "
            "not corrected."
        )
    if any(not math.isnan(compared.level) for compared in comparison.measures):
        said["needed"] = (
            f"needed: queries needed to detect d with power {exactly(settings.power)} in a two-sided paired t-test, "
            f"{_level(comparison)}."
        )
    return said


def finding(comparison: Outcome, compared: Compared) -> list[str]:
    """Say what came out in a measure: which run is the highest, and which ones it is not significantly better than.

    By the test that decides the marks: the simultaneous test has all pairs of runs, another one only the differences
    asked for. Plain text without control characters, two sentences or one.
    """
    measure, names = visible(compared.heading), [visible(name) for name in comparison.runs]
    means, best = compared.means.tolist(), list(compared.best)
    value = number(means[best[0]], DIGITS)
    if len(names) == 1:
        low, high = (number(each[0], DIGITS) for each in (compared.low, compared.high))
        interval = f"{percent(comparison.settings.confidence)} interval of the mean: {low} to {high}."
        return [f"{names[0]} has {measure} {value}.", *([interval] if len(compared.qids) > 1 else [])]
    if len(best) == len(names):
        every = "Both" if len(names) == 2 else f"All {_word(len(names))}"
        return [f"{every} runs have the same {measure}, {value}."]
    if len(names) == 2:
        (lower,) = {0, 1} - set(best)
        first = f"{names[best[0]]} has the higher {measure}, {value} against {number(means[lower], DIGITS)}"
    else:
        have = "has" if len(best) == 1 else "have"
        first = f"{_listed([names[run] for run in best])} {have} the highest {measure}, {value}"
    if compared.together is None:
        return [f"{first}; one query is too few for a test."]
    p, test = _tested(comparison, compared, best)
    # Of several that are the highest, each has to be apart; another test may not have been made with all runs.
    order = [run for run in np.argsort(-compared.means, kind="stable").tolist() if run not in best]
    order = [run for run in order if not np.isnan(p[:, run]).any()]
    apart = [run for run in order if (p[:, run] <= comparison.settings.alpha).all()]
    alike = [run for run in order if run not in apart]
    if len(names) == 2:
        second = "The difference is significant" if apart else "The difference is not significant"
        return [f"{first}.", f"{second} ({test})."]
    if not order:
        return [f"{first}."]
    be = "It is" if len(best) == 1 else "They are"
    complete = len(order) == len(names) - len(best)
    not_than = "any other run" if complete and not apart else _listed([names[run] for run in alike])
    if not apart:
        return [f"{first}.", f"{be} not significantly better than {not_than} ({test})."]
    rest = len(apart) > 1 and complete and not alike
    than = f"the other {_word(len(apart))}" if rest else _listed([names[run] for run in apart])
    but = f", but not than {not_than}" if alike else ""
    return [f"{first}.", f"{be} significantly better than {than}{but} ({test})."]


def _tested(comparison: Outcome, compared: Compared, best: list[int]) -> tuple[FloatArray, str]:
    """Return the p-values of the highest runs with each run, NaN where there is none, and the test in words."""
    settings, count = comparison.settings, len(comparison.runs)
    if settings.test == SIMULTANEOUS and compared.together is not None:
        pairs = "" if count == 2 else f" of {count * (count - 1) // 2} pairs of runs"
        return compared.together.p[best], f"simultaneous test{pairs}, p ≤ {exactly(settings.alpha)}"
    p = np.full((count, count), np.nan)
    for pair in compared.differences:
        tested = pair.tests[settings.test]
        contrary = tested.direction * pair.mean < 0  # as Wilcoxon's test can be, which then marks nothing
        p[pair.run, pair.other] = p[pair.other, pair.run] = 1.0 if contrary else tested.adjusted
    return p[best], procedure(comparison)


def _listed(names: list[str]) -> str:
    """Name a few runs, count many."""
    return f"{_word(len(names))} runs" if len(names) > MOST_NAMES else joined(names)


def joined(parts: list[str]) -> str:
    """Join parts of a sentence by commas and a last "and"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[:-1] else parts)


def _word(count: int) -> str:
    return WORDS[count] if count < len(WORDS) else str(count)


def analyses(comparison: Outcome) -> list[str]:
    """Say what the analysis of variance found, a sentence for each measure that has one."""
    return [
        f"{visible(compared.heading)}, two-way analysis of variance: {_anova(compared.anova)}."
        for compared in comparison.measures
        if compared.anova is not None
    ]


def notes(comparison: Outcome) -> list[str]:
    """Return the notes of a comparison, each with a full stop."""
    return [noted(note) for note in comparison.notes]


def noted(note: str) -> str:
    """Return a note as a sentence that is known to be one, with a full stop."""
    text = visible(note.removeprefix("Note: ").rstrip("."))
    return f"Note: {text}{'.' * (not text.endswith('?'))}"


def signatures(comparison: Outcome) -> list[str]:
    """Say how the values of each measure were made, where that is known."""
    return [
        f"{visible(compared.heading)}: {visible(compared.signature.short)}"
        for compared in comparison.measures
        if compared.signature is not None
    ]


def procedure(comparison: Outcome) -> str:
    """Say by which test differences are significant."""
    settings = comparison.settings
    if settings.test == SIMULTANEOUS:
        return (
            f"{TESTS[SIMULTANEOUS]} ({_bootstrapped(comparison)}), p ≤ {exactly(settings.alpha)} "
            f"over {_count(comparison.family, 'pair', 'pairs')}{_by_measure(comparison)}"
        )
    family = _count(comparison.family, "p-value", "p-values")
    return f"{TESTS[settings.test]}, p ≤ {exactly(settings.alpha)}, Holm's correction over {family}"


def means_over(queries: Iterable[tuple[str, int]], judgments: str, digest: str) -> str:
    """Say over how many queries the means of measures are, and what these are judged by."""
    by_count: dict[int, list[str]] = {}
    for measure, count in queries:
        by_count.setdefault(count, []).append(visible(measure))
    parts = [_count(count, "query", "queries") for count in by_count]
    if len(parts) > 1:
        parts = [f"{part} ({', '.join(names)})" for part, names in zip(parts, by_count.values(), strict=True)]
    judged = f", judged by {visible(named(judgments, digest))}" if judgments else ""
    return f"Means over {', '.join(parts)}{judged}."


def _bootstrapped(comparison: Outcome) -> str:
    """Return how many resamples the simultaneous test has, which are fewer than asked for of very many runs."""
    counts = [len(each.together.largest) for each in comparison.measures if each.together is not None]
    return f"{_drawn(max(counts, default=0), 'resample')}, seed {comparison.settings.seed}"


def _by_measure(comparison: Outcome) -> str:
    return ", for each measure by itself" if len(comparison.measures) > 1 else ""


def _interval(comparison: Outcome) -> str:
    """Say of what kind the intervals of differences are."""
    settings = comparison.settings
    criticals = [
        (compared.heading, compared.together.critical(settings.alpha))
        for compared in comparison.measures
        if compared.together is not None
    ]
    values = ", ".join(f"{number(value, 2)} ({visible(measure)})" for measure, value in criticals)
    drawn = ""
    if settings.test != SIMULTANEOUS:  # so an interval can hold 0 where a difference is marked
        procedure_of_all = TESTS[SIMULTANEOUS].partition(", ")[2]
        drawn = f", by {procedure_of_all} ({_bootstrapped(comparison)}), not by the test of the marks"
    reach = f": ± the critical t times the standard error; critical t {values}" if criticals else ""
    return f"simultaneous over all pairs of runs{_by_measure(comparison)}{drawn}{reach}"


def _level(comparison: Outcome) -> str:
    """Say at which level, so that it fits the marks."""
    settings = comparison.settings
    levels = sorted(compared.level for compared in comparison.measures if not math.isnan(compared.level))
    ends = list(dict.fromkeys(f"{level:.2g}" for level in (levels[0], levels[-1])))
    if settings.test == SIMULTANEOUS:
        return f"at the corrected level ({' to '.join(ends)})"
    if comparison.family < 2:
        return f"at {exactly(settings.alpha)}"
    return f"at {ends[0]}, which is {exactly(settings.alpha)} over the number of p-values"


def _anova(anova: Anova) -> str:
    parts = [("systems", anova.systems_df, anova.systems_f, anova.systems_p)]
    parts += [("queries", anova.queries_df, anova.queries_f, anova.queries_p)]
    return "; ".join(
        f"{name} F({degrees}, {anova.error_df}) = {number(f, 2)}, p {f'= {p_value(p)}'.replace('= <', '< ')}"
        for name, degrees, f, p in parts
    )


def _count(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def _drawn(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"
