"""A comparison for programs: records, CSV, TSV and JSON, with all digits unless fewer are asked for."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from treceval_py.comparing.show.layout import Layout, sentences
from treceval_py.scoring.show.tabular import json_safe

if TYPE_CHECKING:
    from treceval_py._types import FloatArray
    from treceval_py.comparing.comparison import Compared, Comparison, Difference
    from treceval_py.scoring.signatures import Signature

__all__ = ["comma_separated", "json_text", "records", "tab_separated"]

VALUES = ("mean_run", "mean_other", "difference", "low", "high", "effect", "effect_low", "effect_high")
"""The fields that a number of decimals is meant for; p-values and statistics keep theirs."""


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """Return a record for each difference, measure by measure, with all that was found of it.

    Names are as they were given. Numbers are unrounded; NaN where there is none, infinite where they are.

    Returns
    -------
    list of dict
        ``measure``, ``run``, ``other``, ``mean_run``, ``mean_other``, ``difference`` (of `run` minus `other`), its
        interval ``low``, ``high`` with its kind ``interval`` and ``confidence``; of each test ``p_TEST``,
        ``adjusted_TEST``, ``statistic_TEST`` (dashes of its name as underscores); ``effect``, ``effect_low``,
        ``effect_high``; ``wins``, ``ties``, ``losses``; ``p_equivalence`` where there is a margin; ``needed``,
        ``queries``, ``correction``, ``letters_run``, ``letters_other``.
    """
    return [
        _record(comparison, compared, difference)
        for compared in comparison.measures
        for difference in compared.differences
    ]


def _record(comparison: Comparison, compared: Compared, each: Difference) -> dict[str, Any]:
    settings = comparison.settings
    record: dict[str, Any] = {
        "measure": compared.measure,
        "run": comparison.runs[each.run],
        "other": comparison.runs[each.other],
        "mean_run": float(compared.means[each.run]),
        "mean_other": float(compared.means[each.other]),
        "difference": each.mean,
        "low": each.low,
        "high": each.high,
        "interval": settings.interval,
        "confidence": settings.confidence,
    }
    for name in settings.tests:
        key, tested = name.replace("-", "_"), each.tests[name]
        record |= {f"p_{key}": tested.p, f"adjusted_{key}": tested.adjusted, f"statistic_{key}": tested.statistic}
    record |= {"effect": each.effect, "effect_low": each.effect_low, "effect_high": each.effect_high}
    record |= {"wins": each.wins, "ties": each.ties, "losses": each.losses}
    if settings.margin is not None:
        record["p_equivalence"] = each.equivalence
    record |= {"needed": each.needed, "queries": len(compared.qids), "correction": settings.correction}
    return record | {"letters_run": compared.letters[each.run], "letters_other": compared.letters[each.other]}


def comma_separated(comparison: Comparison, layout: Layout) -> str:
    """Return the records as CSV (RFC 4180, newline-ended); NaN is an empty cell, infinite is ``inf``.

    Names stand there as they were given. A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a
    formula, so import the columns of names as text if runs come from people you do not trust.
    """
    return _separated(comparison, layout, ",")


def tab_separated(comparison: Comparison, layout: Layout) -> str:
    """Return the records as tab-separated values; NaN is an empty cell, infinite is ``inf``."""
    return _separated(comparison, layout, "\t")


def _separated(comparison: Comparison, layout: Layout, delimiter: str) -> str:
    import csv

    rows = records(comparison)
    lines: list[str] = []
    for cells in [[*rows[0]] if rows else [], *([_cell(key, row[key], layout) for key in row] for row in rows)]:
        text = io.StringIO()
        # With this end of line Python quotes both of its characters, and else only one of them.
        csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
        lines.append(text.getvalue()[:-2] + "\n")
    return "".join(lines)


def _cell(key: str, value: Any, layout: Layout) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return ""
    return f"{value:.{layout.digits}f}" if layout.digits is not None and key in VALUES else value


def json_text(comparison: Comparison, layout: Layout) -> str:
    """Return a JSON object with all of a comparison: settings, values of each run and query, and what was found.

    It is strict JSON: what is not a finite number is null.
    """
    import json

    runs = [json_safe(name) for name in comparison.runs]
    document = {
        "treceval_py": json_safe(comparison.version),
        "judgments": json_safe(comparison.judgments_name),
        "runs": [{"name": name, "file": json_safe(file)} for name, file in zip(runs, comparison.files, strict=True)],
        "baseline": None if comparison.baseline is None else runs[comparison.baseline],
        "settings": comparison.settings._asdict(),
        "family": comparison.family,
        "measures": [_measure(comparison, compared, layout) for compared in comparison.measures],
        "notes": [json_safe(note) for note in comparison.notes],
        "sentences": sentences(comparison),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _measure(comparison: Comparison, compared: Compared, layout: Layout) -> dict[str, Any]:
    runs = [json_safe(name) for name in comparison.runs]
    return {
        "measure": json_safe(compared.measure),
        "signature": _signature(compared.signature),
        "queries": [json_safe(qid) for qid in compared.qids],
        "left_out": [json_safe(qid) for qid in compared.left_out],
        "best": [runs[run] for run in compared.best],
        "anova": None
        if compared.anova is None
        else {key: _plain(value) for key, value in compared.anova._asdict().items()},
        "pairs_p": None if compared.pairs_p is None else [_numbers(row) for row in compared.pairs_p],
        "runs": [
            {
                "name": name,
                "mean": _plain(float(compared.means[run]), layout),
                "interval": "t",
                "low": _plain(float(compared.low[run]), layout),
                "high": _plain(float(compared.high[run]), layout),
                "letters": compared.letters[run],
                "values": _numbers(compared.values[run], layout),
            }
            for run, name in enumerate(runs)
        ],
        "differences": [
            {
                key: _plain(value, layout if key in VALUES else None)
                for key, value in _record(comparison, compared, each).items()
                if key not in {"measure", "interval", "confidence", "correction", "queries"}  # said above
            }
            for each in compared.differences
        ],
    }


def _signature(signature: Signature | None) -> dict[str, str] | None:
    return None if signature is None else {"short": signature.short, "long": signature.long}


def _numbers(values: FloatArray, layout: Layout | None = None) -> list[Any]:
    return [_plain(value, layout) for value in values.tolist()]


def _plain(value: Any, layout: Layout | None = None) -> Any:
    if isinstance(value, str):
        return json_safe(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if layout is None or layout.digits is None else round(value, layout.digits)
    return value
