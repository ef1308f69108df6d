"""Signs of a mistake in a run that was judged, in any form that a run has when it is scored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from treceval_py.data.ids import first_of
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run
from treceval_py.diagnosis.noting import signs_of, undrawn
from treceval_py.diagnosis.sign import Sign
from treceval_py.diagnosis.signs import MANY_TIES, Lists, Seen, look
from treceval_py.judging.sampled import JudgedSample
from treceval_py.judging.streaming import Retrieved
from treceval_py.measuring.facts import Promotes
from treceval_py.measuring.registry import FAMILIES, Measure
from treceval_py.scoring.opening import File, Judged, Opened
from treceval_py.scoring.planning import Task


def noticed(
    opened: Opened,
    retrieved: Retrieved,
    judged: Judged,
    ranking: Ranking,
    missing: Sequence[str],
    unjudged: Sequence[str],
    *,
    few: bool,
) -> tuple[Sign, ...]:
    """Return the signs of a mistake in a run.

    Parameters
    ----------
    opened : Opened
        The run.
    retrieved : Retrieved
        Facts about it.
    judged : JudgedRun, JudgedGroups or JudgedPreferences
        The judged run.
    ranking : Ranking
        How it was ranked.
    missing, unjudged : sequence of str
        The judged queries that the run lacks, and its queries without judgments.
    few : bool
        Whether hardly any document is judged.
    """
    form, seen = opened.form, retrieved.seen
    qrels = opened.judgments if isinstance(opened.judgments, Qrels) else None
    if not isinstance(form, File):  # a file that was read has kept what is needed
        if seen is not None or few or _suspect(form):
            if not isinstance(form, Run):
                form = Run(form) if isinstance(form, Mapping) else form.table(opened.judgments)
            seen = look(Lists.of(form), qrels)
        elif missing and unjudged:
            seen = Seen(queries=len(retrieved.qids))
    return () if seen is None else signs_of(seen, qrels, judged, ranking, missing, unjudged)


def biased(qrels: Qrels, tasks: Sequence[Task]) -> tuple[Sign, ...]:
    """Return the sign that values of measures for full judgments are biased, because these are of a sample."""
    lacking, sample = undrawn(qrels), qrels.sample
    if not lacking or sample is None:
        return ()
    one_stratum = sample.strata is not None and len({*sample.strata.tolist()}) == 1
    names, hints = list[str](), dict[str, dict[str, None]]()
    for task in tasks:
        family, name = task.resolved.family, task.asked.name
        estimated = family.estimates.partition(" ")[0]
        fits = {estimated or family.name, f"{estimated or family.name} of {sample.by}"}
        others = [other for other in FAMILIES.values() if other.judged is JudgedSample and other.estimates in fits]
        unbiased = family.promotes in UNBIASED and not others
        if unbiased or not family.from_relevance or (estimated and one_stratum):
            continue
        names.append(name)
        given = {key: value for key, value in task.resolved.parameters if family.defaults.get(key) != value}
        able = [Measure(other, tuple(given.items())) for other in others if all(map(other.takes, given))]
        if able:
            verb = "estimates" if len(able) == 1 else "estimate"
            target = FAMILIES[estimated].notation[0] if estimated else name
            hint = f"{' and '.join(measure.notation for measure in able)} {verb} {target}"
            hints.setdefault(re.sub(r"@\d+", "@k", hint), {})[hint] = None
    if not names:
        return ()
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    what = f"the judgments are of a sample; {lacking}, so {first_of(names)} {are} biased"
    several = (general if len(those) > 1 else next(iter(those)) for general, those in hints.items())
    todo = "; ".join(several) or f"No measure here estimates {them} from a sample"
    return (Sign("Q318", what, f"{todo}."),)


UNBIASED = (Promotes.NOTHING, Promotes.JUDGMENT, Promotes.LABEL)
"""What measures promote that a sample does not bias, as relevance is not in them."""


def _suspect(form: Any) -> bool:
    """Tell whether the first query of a run in memory gives a reason to look at all of its scores."""
    if isinstance(form, Mapping):
        first, second = [*islice(form.values(), 2), {}, {}][:2]
        same = len(first) > 1 and first.keys() == second.keys()
        if same and max(first, key=first.get) == max(second, key=second.get):
            return True
        scores = [*first.values()]
        rises = sorted(scores) == scores
    else:
        scores = form.scores[0].tolist() if len(form.scores) else []
        # The columns of a matrix are no ranking.
        rises = sorted(scores) == scores if form.ids is not None else len(set(scores)) == 1
    return len(scores) > 1 and (rises or len(set(scores)) <= (1 - MANY_TIES / 2) * len(scores))
