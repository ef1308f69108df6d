"""Cut rankings to their first k documents: a measure of the cut ranking is the measure at k."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treceval_py.judging.judged import JudgedRun


def cut_at(run: JudgedRun, k: int | None) -> JudgedRun:
    """Return a judged run without the documents below rank k; judgments are unchanged."""
    if k is None:
        return run

    def cut() -> JudgedRun:
        within = run.hits.rank <= k
        tied = None if run.tied is None else run.tied.where(within)
        return replace(run, hits=run.hits.where(within), num_ret=np.minimum(run.num_ret, k), tied=tied, _made={})

    return run.once(("cut", k), cut)
