"""A comparison as tables: the means and the differences for people, a record for each difference for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treceval_py.comparing.show import cells
from treceval_py.comparing.show.cells import rounded, shown
from treceval_py.comparing.show.groups import group_payload, group_sentences, group_tables
from treceval_py.comparing.show.paper import significance
from treceval_py.comparing.show.sentences import abridged, analyses, finding, methods, notes, sentences, signatures
from treceval_py.comparing.tests import SIMULTANEOUS
from treceval_py.rendering.envelope import Made, plain
from treceval_py.rendering.numbers import needed, p_value, percent
from treceval_py.rendering.style import Style
from treceval_py.rendering.tables import Document, Table

if TYPE_CHECKING:
    from treceval_py.comparing.outcome import Compared, Difference, Outcome

UNCAPTIONED = {"finding", "queries", "groups", "needed"}
"""Sentences that the caption of differences does without: others have them, or their column is not there."""


def document_of(comparison: Outcome, style: Style) -> Document:
    """Return the printed form of a comparison.

    People see the means and the differences. The highest mean of a measure is marked; behind a mean come the mark of a
    significant difference from the baseline and the letters of its groups. Programs get `records`, JSON everything.
    """
    programs = cells.for_programs(records(comparison), "records")
    several = len(comparison.runs) > 1
    return Document(
        "comparison",
        (
            _means_table(comparison)._replace(**({} if several else _below(comparison))),
            *([_differences_table(comparison, style)] if several else []),
            programs,
            *group_tables(comparison, style),
        ),
        lambda asked: made_of(comparison)._replace(payload=_payload(comparison, asked.digits)),
        tuple(significance(comparison, _marks(comparison))),
    )


def mark_of(comparison: Outcome, difference: Difference) -> str:
    """Return `ABOVE` or `BELOW` where a difference is significant after correction, else an empty text.

    A test that speaks for the run with the lower mean, as Wilcoxon's can, marks neither.
    """
    tested = difference.tests[comparison.settings.test]
    contrary = tested.direction * difference.mean < 0
    return "" if contrary else cells.mark(difference.mean, tested.adjusted, comparison.settings.alpha)


def _marks(comparison: Outcome) -> list[dict[int, str]]:
    """Return the mark of each run that is compared with the baseline, for each measure."""
    return [
        {pair.run: mark_of(comparison, pair) for pair in compared.differences if pair.other == comparison.baseline}
        for compared in comparison.measures
    ]


def _means_table(comparison: Outcome) -> Table:
    """Return the table of means."""
    marks = _marks(comparison)
    runs = range(len(comparison.runs))
    marked = any(any(marks_of.values()) for marks_of in marks)
    grouped = any(any(compared.letters) for compared in comparison.measures)
    behind = ["(baseline)" if run == comparison.baseline else "" for run in runs]
    names = shown("run", comparison.runs, text=True, head=True, behind=behind, tex="Run")
    said = methods(comparison)
    best = [_best(compared) for compared in comparison.measures]
    columns = [
        shown(
            compared.heading,
            compared.means.tolist(),
            best=first,
            second=second,
            marks=[marks_of.get(run, "") for run in runs] if marked else (),
            letters=list(map(abridged, compared.letters)) if grouped else (),
            note=said.get("groups", ""),
        )
        for compared, marks_of, (first, second) in zip(comparison.measures, marks, best, strict=True)
    ]
    subjects = ("test", "groups", *(("randomisation",) if comparison.settings.test == "randomisation" else ()))
    described = [said[key] for key in subjects if key in said and (key == "groups" or comparison.baseline is not None)]
    return Table(
        (names, *columns),
        name="means",
        heading=said["queries"].rstrip("."),
        lead=" ".join(finding(comparison, comparison.measures[0])),
        caption=(said["finding"], said["queries"], *_about_best(best), *described, *notes(comparison)),
        label="tab:comparison",
    )


def _best(compared: Compared) -> tuple[frozenset[int], frozenset[int]]:
    """Return the runs with the highest mean, and of three or more those with the second highest.

    There are none where all are equal.
    """
    means = compared.means.tolist()
    best = cells.highest(means)
    return best, cells.highest([math.nan if run in best else mean for run, mean in enumerate(means)])


def _about_best(best: Sequence[tuple[frozenset[int], frozenset[int]]]) -> list[str]:
    """Explain bold and underlined means."""
    if not any(first for first, _ in best):
        return []
    underlined = "; underlined: second highest" if any(second for _, second in best) else ""
    return [f"Bold: highest mean{underlined}."]


def _below(comparison: Outcome) -> dict[str, Any]:
    """Return what is said below the last table for people: how the comparison was made."""
    said = methods(comparison)
    return {
        "notes": (*(said[key] for key in said if key != "finding"), *analyses(comparison), *notes(comparison)),
        "made": tuple(signatures(comparison)),
        "version": f"treceval_py {comparison.version}",
    }


def _differences_table(comparison: Outcome, style: Style) -> Table:
    """Return the table of differences; what is the same in all rows for sure has no column.

    LaTeX has neither the uncorrected p-value of a test that is corrected nor the queries needed.
    """
    settings = comparison.settings
    rows = [(compared.heading, pair) for compared in comparison.measures for pair in compared.differences]
    pairs = [pair for _, pair in rows]
    said = methods(comparison)
    columns = cells.naming(comparison, rows)
    names = len(columns)
    columns += cells.differences(comparison, pairs, [mark_of(comparison, pair) for pair in pairs], style)
    for name in settings.tests:
        tested = [pair.tests[name] for pair in pairs]
        corrected = name == settings.test != SIMULTANEOUS
        several = len(settings.tests) > 1
        # The caption names the one test that there is.
        of_test = cells.p_values(
            [each.p for each in tested], [each.adjusted for each in tested], f"{name}, Holm" if several else "Holm",
            f"p ({name})", "" if several else "$p$",
        )  # fmt: skip
        columns += of_test if corrected else [of_test[0]._replace(paper=True)]
    limits = [pair.effect_low for pair in pairs], [pair.effect_high for pair in pairs]
    counts = [f"{pair.wins}/{pair.ties}/{pair.losses}" for pair in pairs]
    columns += [
        shown("effect", [pair.effect for pair in pairs], "d", signed=True, digits=2, spare=1, note=said["effect"]),
        cells.intervals(*limits, 2, f"{percent(settings.confidence)} of d", "effect_interval", 3),
        shown("counts", counts, "w/t/l", spare=2, note=said["counts"]),
    ]
    if settings.margin is not None:
        columns.append(shown("equivalence", [p_value(pair.equivalence) for pair in pairs], "p (equal)"))
    columns.append(shown("needed", [needed(pair.needed) for pair in pairs], paper=False))
    starts, start = {}, 0
    for compared in comparison.measures:
        starts[start] = compared.heading
        start += len(compared.differences)
    title = f"Differences{cells.of_baseline(comparison, ' from ') or ' of all pairs of runs'}"
    return Table(
        tuple(columns),
        name="differences",
        title=title,
        **_below(comparison),
        caption=(f"{title}.", *(said[key] for key in said if key not in UNCAPTIONED)),
        breaks=dict.fromkeys(starts, "") if len(pairs) > len(starts) else {},
        above=starts,
        best="highest mean" if any(first for first, _ in map(_best, comparison.measures)) else "",
        naming=names,
        label="tab:comparison-differences",
        tight=True,
        folds=True,
    )


def records(comparison: Outcome) -> list[dict[str, Any]]:
    """Return a record for each difference, measure by measure, with all that was found of it.

    Names are as they were given. Numbers are unrounded; NaN where there is none, infinite where they are.

    Returns
    -------
    list of dict
        ``measure``, ``run``, ``other``, ``mean_run``, ``mean_other``, ``difference`` (of `run` minus `other`), its
        interval ``low``, ``high`` with its kind ``interval`` and ``confidence``; of each test ``p_TEST``,
        ``adjusted_TEST``, ``statistic_TEST``; ``effect``, ``effect_low``,
        ``effect_high``; ``wins``, ``ties``, ``losses``; ``p_equivalence`` where there is a margin; ``needed``,
        ``queries``, ``correction``, ``letters_run``, ``letters_other``.
    """
    return [
        _record(comparison, compared, difference)
        for compared in comparison.measures
        for difference in compared.differences
    ]


def _record(comparison: Outcome, compared: Compared, pair: Difference) -> dict[str, Any]:
    settings = comparison.settings
    means = compared.means[[pair.run, pair.other]].tolist()
    record = {"measure": compared.measure, **cells.record_of(comparison, pair, *means)}
    for name in settings.tests:
        tested = pair.tests[name]
        record |= {f"p_{name}": tested.p, f"adjusted_{name}": tested.adjusted, f"statistic_{name}": tested.statistic}
    own = ("effect", "effect_low", "effect_high", "wins", "ties", "losses")
    record |= {name: getattr(pair, name) for name in own}
    if settings.margin is not None:
        record["p_equivalence"] = pair.equivalence
    record |= {"needed": pair.needed, "queries": len(compared.qids), "correction": settings.correction}
    return record | {"letters_run": compared.letters[pair.run], "letters_other": compared.letters[pair.other]}


def made_of(comparison: Outcome) -> Made:
    """Return how the values of a comparison were made."""
    signatures = {each.measure: each.signature for each in comparison.measures if each.signature is not None}
    profiles = {signature.profile for signature in signatures.values()}
    return Made(
        judgments=comparison.judgments_name or None,
        profile=profiles.pop() if len(profiles) == 1 else None,
        signatures=signatures,
        runs=[
            {"name": name, "file": file, "tag": None, "sha256": digest or None}
            for name, file, digest in zip(
                comparison.runs, comparison.files, comparison.digests or comparison.hashes, strict=True
            )
        ],
        notes=comparison.notes,
        version=comparison.version,
    )


def _payload(comparison: Outcome, digits: int | None) -> dict[str, Any]:
    """Return all of a comparison: settings, values of each run and query, and what was found."""
    return {
        "judgments_sha256": comparison.judgments_digest or None,
        "baseline": None if comparison.baseline is None else comparison.runs[comparison.baseline],
        "settings": comparison.settings.described(),
        "family": comparison.family,
        "measures": [_measure(comparison, compared, digits) for compared in comparison.measures],
        "sentences": [*sentences(comparison), *group_sentences(comparison)],
        **group_payload(comparison, digits),
    }


def _measure(comparison: Outcome, compared: Compared, digits: int | None) -> dict[str, Any]:
    runs = comparison.runs
    signature = compared.signature
    above = {"measure", "interval", "confidence", "correction", "queries"}
    return {
        "measure": compared.measure,
        "signature": None if signature is None else {"short": signature.short, "long": signature.long},
        "queries": compared.qids,
        "left_out": compared.left_out,
        "best": [runs[run] for run in compared.best],
        "anova": compared.anova,
        "together": None
        if compared.together is None
        else {
            "critical": compared.together.critical(comparison.settings.alpha),
            "resamples": len(compared.together.largest),
            "p": compared.together.p.tolist(),
        },
        "finding": finding(comparison, compared),
        "runs": [
            {
                "name": name,
                "mean": plain(float(compared.means[run]), digits),
                "interval": "t",
                "low": plain(float(compared.low[run]), digits),
                "high": plain(float(compared.high[run]), digits),
                "letters": compared.letters[run],
                "values": plain(compared.values[run].tolist(), digits),
            }
            for run, name in enumerate(runs)
        ],
        "differences": [rounded(_record(comparison, compared, pair), digits, above) for pair in compared.differences],
    }
