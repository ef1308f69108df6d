"""Signs of a mistake in a run that was judged, in any form that a run has when it is scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run
from treceval_py.diagnosis.sign import Sign
from treceval_py.diagnosis.signs import DEPTH, MANY_TIES, Lists, Seen, first_of_judged, hardly_judged, look
from treceval_py.errors import SuspectRunWarning, brief, warn
from treceval_py.io.trec import Judgments
from treceval_py.judging.judged import Hits, JudgedGroups, JudgedRun
from treceval_py.judging.preferences import JudgedPreferences
from treceval_py.judging.streaming import Retrieved

if TYPE_CHECKING:
    from treceval_py.scoring.results import Results


def noticed(
    form: Any,
    judgments: Judgments,
    retrieved: Retrieved,
    judged: JudgedRun | JudgedGroups | JudgedPreferences,
    ranking: Ranking,
    missing: Sequence[str],
    unjudged: Sequence[str],
) -> tuple[Sign, ...]:
    """Return the signs of a mistake in a run.

    Parameters
    ----------
    form : File, Run, Arrays or nested dictionaries
        The run, as in ``Opened``.
    judgments : Qrels, JudgmentGroups or Preferences
        The judgments.
    retrieved : Retrieved
        Facts about the run.
    judged : JudgedRun, JudgedGroups or JudgedPreferences
        The judged run.
    ranking : Ranking
        How it was ranked.
    missing, unjudged : sequence of str
        The judged queries that the run lacks, and its queries without judgments.
    """
    seen = retrieved.seen
    if seen is None and _suspect(form):
        seen = look(Lists.of(_table(form, judgments)))
    elif seen is None:
        seen = Seen(queries=len(retrieved.qids), half=False, rounded=False)
    judged_run = judged if isinstance(judged, JudgedRun) and isinstance(judgments, Qrels) else None
    few = judged_run is not None and hardly_judged(judged_run.num_ret, judged_run.hits.rank)
    if not few and not seen.suspect and not (missing and unjudged):  # as for nearly every run
        return ()
    from treceval_py.diagnosis.noting import Beside, signs_of

    by = ranking.order == "score", ranking.order == "rank", ranking.plain and not ranking.judged_only
    if judged_run is None or not isinstance(judgments, Qrels):
        nothing = np.zeros(0, dtype=np.int64)
        beside = Beside(None, Hits.concatenate([]), nothing, lambda _: nothing, by, missing, unjudged)
        return signs_of(seen, beside)
    if not len(judged_run.hits.rank) and not seen.first:
        there = [qid for qid in retrieved.qids if judgments.row_of(qid) is not None][:DEPTH]
        seen = seen.but(first=first_of_judged(judgments, Lists.of(_table(form, judgments, there))))
    how = judged_run.num_ret, judged_run.num_rel, by
    return signs_of(seen, Beside(judgments, judged_run.hits, *how, missing, unjudged))


def _table(form: Any, judgments: Judgments, qids: Sequence[str] | None = None) -> Run:
    """Return a run as a table, or only some of its queries."""
    if isinstance(form, Run):
        return form
    if isinstance(form, Mapping):
        return Run(form if qids is None else {qid: form[qid] for qid in qids})
    if not hasattr(form, "table"):  # a file that was read has kept what is needed
        return Run({})
    table: Run = form.table(judgments)
    return table


def _suspect(form: Any) -> bool:
    """Tell whether the first query of a run in memory gives a reason to look at all of its scores."""
    if isinstance(form, Mapping):
        first, second = [*islice(form.values(), 2), {}, {}][:2]
        scores = [*first.values()]
        if (
            len(first) > 1
            and first.keys() == second.keys()
            and max(first, key=first.get) == max(second, key=second.get)
        ):
            return True
        rises = sorted(scores) == scores
    else:
        scores = form.scores[0].tolist() if len(form.scores) else []
        # The columns of a matrix are no ranking.
        rises = sorted(scores) == scores if form.ids is not None else len(set(scores)) == 1
    return len(scores) > 1 and (rises or len(set(scores)) <= (1 - MANY_TIES / 2) * len(scores))


def warn_of_signs(runs: Iterable[Results | None]) -> None:
    """Warn about signs of mistakes in runs that were scored."""
    for results in filter(None, runs):
        for sign in results.signs:
            warn(f"{brief(results.run_name)}: {sign.text}", SuspectRunWarning)
