"""Names of measures in saved results, which programs spell in different ways."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treceval_py.comparing.scores import Scored, known_measure
from treceval_py.measuring import Measure
from treceval_py.measuring.registry import REAL, TEXT

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""A number as programs write it: neither Python's ``1_000`` nor ``nan``."""


def compares(measure: Measure | None) -> bool:
    """Tell whether a measure has a number for each query; unknown measures are assumed to."""
    return measure is None or (measure.family.per_query and measure.family.kind != TEXT)


def is_standardised(name: str) -> bool:
    """Tell whether a name has the prefix that trec_eval's ``-Z`` adds."""
    return name.startswith("Z") and known_measure(name) is None and known_measure(name[1:]) is not None


def shows_value(measure: Measure, text: str, *, decimals: bool = False) -> bool:
    """Tell whether a text is a printed value of a measure, not a rank.

    Parameters
    ----------
    measure : Measure
        The measure.
    text : str
        The text.
    decimals : bool
        Whether the program prints counts with decimals too.
    """
    if measure.family.kind == TEXT:
        return not decimals
    if not NUMBER.fullmatch(text):
        return False
    return not text.lstrip("+-").isdigit() or (measure.family.kind != REAL and not decimals)


def harmonised(runs: Sequence[Scored]) -> list[Scored]:
    """Return the runs with each measure spelled as in the first run that has it.

    Parameters
    ----------
    runs : sequence of Scored, length S
        The runs.

    Returns
    -------
    list of Scored, length S
        The runs with unified names: after a run with ``nDCG@10``, another run's ``ndcg_cut_10`` becomes ``nDCG@10``.
        Unknown names stay, and so does the second of two equal measures of a run.
    """
    known: dict[tuple[str, str], Measure | None] = {}
    spelling: dict[Measure, str] = {}
    renamed = []
    for run in runs:
        names: list[str] = []
        for name, meaning in run.meanings.items():
            measure = known[meaning] if meaning in known else known.setdefault(meaning, known_measure(*meaning))
            wanted = name if measure is None else spelling.get(measure, name)
            taken = wanted != name and (wanted in names or wanted in run.measures)
            names.append(name if taken else wanted)
            if measure is not None:
                spelling.setdefault(measure, name)
        renamed.append(run._replace(measures=tuple(names)))
    return renamed
