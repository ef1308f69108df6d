"""The formulas of common measures, taken apart: what divides them, what a rank or a grade is worth, which ideal counts.

A formula is a mapping of parts to their values, so that each part can be changed alone. It is computed from the judged
documents retrieved. `changes.toml` lists what people change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple

import numpy as np

from treceval_py._types import FloatArray, IntArray
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.judging.judged import Found, Hits, JudgedRun, nth_of, ratio
from treceval_py.measuring.probes import given
from treceval_py.measuring.probes import values as values_of_measure
from treceval_py.measuring.registry import Measure

Parts = Mapping[str, Any]
"""The parts of a formula by name. `by` and `ideal_cut` name numbers, of which the least counts: 1; k, the cutoff in
divisors; n, the documents retrieved; R; h and H, the relevant documents within the cutoff and in the whole list."""

_COUNT, _GAIN = {"formula": "count", "top": "hits"}, {"formula": "gain", "ideal_cut": "k"}
_PARTS: Mapping[str, dict[str, Any]] = {
    "P": {**_COUNT, "by": "k"},
    "recall": {**_COUNT, "by": "R"},
    "recall_cap": {**_COUNT, "by": "R&k"},
    "success": {**_COUNT, "top": "any", "by": "1"},
    "hits": {**_COUNT, "by": "1"},
    "F1": {"formula": "f1", "by": "k", "rby": "R"},
    "map": {"formula": "ap", "terms": "hits", "by": "R"},
    "recip_rank": {"formula": "rr", "terms": "first", "by": "1"},
    "ndcg": {**_GAIN, "ideal": "judged"},
    "dcg": {**_GAIN, "ideal": "none"},
    "err": {"formula": "err", "ideal": "none"},
    "nerr": {"formula": "err", "ideal": "judged"},
    "bpref": {"formula": "bpref", "by": "R&N"},
}
"""The formula of a measure by its family, with or without a cutoff."""

_NORMS = {"retrieved": "h", "capped": "R&k", "relevant": "R", "cutoff": "k"}
_KINDS = {"recall_cap": "recall", "nerr": "err", "gm_map": "map", "gm_bpref": "bpref"}


def kind_of(measure: Measure) -> str:
    """Return the kind of measure to which a change applies: its family, cut or not."""
    name = measure.family.name.removesuffix("_cut")
    return _KINDS.get(name, name)


def parts_of(measure: Measure) -> dict[str, Any]:
    """Return the parts of a measure's formula; one that is not taken apart is computed as it is."""
    values = given(measure)
    name = measure.family.name.removesuffix("_cut").removeprefix("gm_")
    cutoff = values.pop("cutoff", None)
    parts = {"measure": measure, "cutoff": cutoff, "k": cutoff, "level": values.pop("level", 1)}
    known = _PARTS.get(name)
    if known is None or values.pop("steps", "") == "together" or values.pop("gains", None):
        return {**parts, "formula": "measure"}
    parts |= known
    if values.get("norm") or "divisor" in values:
        parts["by"] = (
            "k&n" if values.get("divisor") == "retrieved" else _NORMS.get(str(values.get("norm")), parts["by"])
        )
    if parts["formula"] == "gain":
        discount = {"jk": "log2-rank", "position": "rank"}.get(values["discount"], values["discount"])
        parts |= {"gain": values["gain"], "discount": discount, "tied": values.get("ties", "")}
        parts["ideal"] = "list" if values.get("ideal") == "retrieved" else parts["ideal"]
        if discount == "log2-rank" and values["base"] != 2:
            parts["formula"] = "measure"
    elif parts["formula"] in ("err", "bpref"):
        parts |= {key: values[key] for key in ("max_rel", "stop", "negative") if key in values}
    return parts


MOST_RANK = 1_000_000
"""The highest rank for which a formula is changed."""


class Ratio(NamedTuple):
    """Values of queries, and what is divided by what. (Q,) each."""

    values: FloatArray
    above: FloatArray
    below: FloatArray


def ratio_of(parts: Parts, run: JudgedRun) -> Ratio:
    """Compute a formula for each query."""
    return _FORMULAS[parts["formula"]](parts, run)


def values_of(parts: Parts, run: JudgedRun) -> FloatArray:
    """Return each query's value before averaging. (Q,)."""
    return settled(parts, run, ratio_of(parts, run).values)


def settled(parts: Parts, run: JudgedRun, values: FloatArray) -> FloatArray:
    """Return the values of queries with those that are fixed, as without relevant documents. (Q,)."""
    if parts.get("unrelevant") == "one":
        values = np.where(run.num_rel(parts["level"]) > 0, values, 1.0)
    return np.where(run.num_ret > 0, values, parts["empty"]) if "empty" in parts else values


def _divided(above: FloatArray | IntArray, below: FloatArray | IntArray) -> Ratio:
    return Ratio(ratio(above, below), above.astype(np.float64), below.astype(np.float64))


def _least(names: str, parts: Parts, run: JudgedRun) -> IntArray:
    """Return the least of some numbers of each query. (Q,)."""
    level, k = parts["level"], parts["k"]
    numbers: dict[str, Callable[[], Any]] = {
        "1": lambda: np.ones_like(run.num_ret),
        "k": lambda: run.num_ret if k is None else np.full_like(run.num_ret, k),
        "n": lambda: run.num_ret,
        "R": lambda: run.num_rel(level),
        "N": lambda: run.num_nonrel(level),
        "h": lambda: run.count(relevant_within(parts, run).query),
        "H": lambda: run.num_rel_ret(level),
    }
    least: IntArray = reduce(np.minimum, [numbers[name]() for name in names.split("&")])
    return least


def relevant_within(parts: Parts, run: JudgedRun) -> Found:
    """Return the relevant documents within the cutoff."""
    cutoff, skips = parts["cutoff"], "skip" in parts
    known = run.found(parts["level"])
    if cutoff is None and not skips:
        return known

    def cut() -> Found:
        within = known.rank <= (np.inf if cutoff is None else cutoff)
        if skips:
            within &= known.rank < (run.num_ret if cutoff is None else np.minimum(run.num_ret, cutoff))[known.query]
        return Found(*(column[within] for column in known))

    return run.once(("relevant", parts["level"], cutoff, skips), cut)


def _count(parts: Parts, run: JudgedRun) -> Ratio:
    hits = run.count(relevant_within(parts, run).query)
    return _divided(np.minimum(hits, 1) if parts.get("top") == "any" else hits, _least(parts["by"], parts, run))


def _f1(parts: Parts, run: JudgedRun) -> Ratio:
    retrieved, relevant = (_least(parts[by], parts, run) for by in ("by", "rby"))
    return _divided(2 * run.count(relevant_within(parts, run).query), retrieved + relevant)


def _average_precision(parts: Parts, run: JudgedRun) -> Ratio:
    query, rank, nth, *_ = relevant_within(parts, run)
    if parts["terms"] == "ranks":  # a document adds 1 / r to the precision at each rank r from its own on
        last = _least("k", parts, run)
        inverse = np.cumsum(_weights("rank", _deepest(last, rank)))
        return _divided(run.sum(query, inverse[last][query] - inverse[rank - 1]), last)
    if parts["terms"] == "last":
        final = np.append(query[1:] != query[:-1], True)[: len(query)]
        query, rank, nth = query[final], rank[final], nth[final]
    return _divided(run.sum(query, nth / rank), _least(parts["by"], parts, run))


def _reciprocal_rank(parts: Parts, run: JudgedRun) -> Ratio:
    query, rank, nth, *_ = relevant_within(parts, run)
    below = _least(parts["by"], parts, run)
    if parts["terms"] == "first":
        query, rank = query[nth == 1], rank[nth == 1]
    above = run.sum(query, 1.0 / (rank + parts.get("shift", 0)))
    miss = parts.get("miss")
    if miss is not None:
        counted = _least(miss, parts, run) if miss in "kn" else np.full_like(below, int(miss))
        missed = run.count(query) == 0
        above, below = np.where(missed, 1 / (counted + 1), above), np.where(missed, 1, below)
    return _divided(above, below)


_DISCOUNTS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "log2": lambda rank: np.log2(rank + 1),
    "log2-rank": lambda rank: np.log2(np.maximum(rank, 2)),
    "log2+2": lambda rank: np.log2(rank + 2),
    "rank": lambda rank: rank,
    "ln": lambda rank: np.log(rank + 1),
    "log10": lambda rank: np.log10(rank + 1),
    "ln-rank": lambda rank: np.where(rank < 2, 1, np.log(np.maximum(rank, 2))),
    "none": np.ones_like,
}


@lru_cache(maxsize=64)
def _weights(discount: str, size: int) -> FloatArray:
    """Return the weights of ranks from 0, which has none, to `size`."""
    return np.append(0.0, 1 / _DISCOUNTS[discount](np.arange(1.0, size + 1)))


def _deepest(*ranks: IntArray) -> int:
    """Return the highest of some ranks, for a table of weights."""
    most = max(int(some.max(initial=0)) for some in ranks)
    if most > MOST_RANK:
        raise EvaluationError(f"rank {most} is too high", "Number ranks from 1 without gaps.")
    return most


def _gain(rule: str, rel: IntArray, run: JudgedRun) -> FloatArray:
    if rule == "exp":
        return np.exp2(rel) - 1
    if rule == "binary":
        return np.ones(len(rel))
    return rel / max(_top(run), 1) if rule == "share" else rel.astype(np.float64)


def _top(run: JudgedRun) -> int:
    return run.known("top", lambda: int(run.ideal.rel.max(initial=0)))


def _positive(run: JudgedRun, *, ideal: bool = False) -> Hits:
    """Return the documents with a gain: those retrieved, or all."""
    hits = run.ideal if ideal else run.hits
    return run.once(("positive", ideal), lambda: hits.where(hits.rel > 0))


def _cumulated_gain(parts: Parts, run: JudgedRun) -> Ratio:
    query, rank, rel = _positive(run)
    cutoff, tied = parts["cutoff"], parts.get("tied") == "average"
    if cutoff is not None and not tied:
        within = rank <= cutoff
        query, rank, rel = run.once(("gained", cutoff), lambda: (query[within], rank[within], rel[within]))
    longest = _deepest(rank, _positive(run).rank, run.num_ret) + int(_positive(run, ideal=True).rank.max(initial=0)) + 1
    most = longest if cutoff is None else cutoff
    weights = _weights(parts["discount"], longest)
    summed = np.cumsum(weights)
    gains = _gain(parts["gain"], rel, run)
    if tied and run.tied is not None:
        first, last = run.tied.where(run.hits.rel > 0)
        if parts["ideal"] == "topk":  # the list was cut first, and ties with it
            last, gains = np.minimum(last, most), np.where(rank <= most, gains, 0.0)
        width = np.maximum(last - first + 1, 1)
        of_rank = (summed[np.minimum(last, most)] - summed[np.minimum(first - 1, most)]) / width
    else:
        of_rank = weights[rank]
    above = run.sum(query, gains * of_rank)
    if "missed" in parts:  # they share the ranks after the last one
        total, own = (
            run.sum(hits.query, _gain(parts["gain"], hits.rel, run))
            for hits in (_positive(run, ideal=True), _positive(run))
        )
        count = run.count(_positive(run, ideal=True).query) - run.count(_positive(run).query)
        after = summed[np.minimum(run.num_ret + count, most)] - summed[np.minimum(run.num_ret, most)]
        above = above + (total - own) * ratio(after, count)
    if parts["ideal"] == "none":
        return _divided(above, np.ones_like(above))
    decides = ("ideal", "ideal_cut", "ideal_gain", "ideal_discount", "gain", "discount", "k", "cutoff")
    key = ("ideal", *map(parts.get, decides))
    return _divided(above, run.once(key, partial(_ideal, parts, run, longest)))


def _ideal(parts: Parts, run: JudgedRun, longest: int) -> FloatArray:
    """Return the discounted gains of the ideal ranking. (Q,)."""
    gain = parts.get("ideal_gain", parts["gain"])
    weights = _weights(parts.get("ideal_discount", parts["discount"]), max(longest, parts["k"] or 0))
    names = "&".join(name for name in parts["ideal_cut"].split("&") if name != "k" or parts["k"] is not None)
    cut = _least(names, {**parts, "level": 1}, run) if names else None
    if parts["ideal"] in ("ones", "tops"):
        worth = 1.0 if parts["ideal"] == "ones" else float(_gain(gain, np.array([_top(run)]), run)[0])
        of_all: FloatArray = worth * np.cumsum(weights)[run.num_ret if cut is None else cut]
        return of_all
    query, rank, rel = _positive(run, ideal=parts["ideal"] == "judged")
    if parts["ideal"] != "judged":
        if parts["ideal"] == "topk" and parts["cutoff"] is not None:
            query, rel = query[rank <= parts["cutoff"]], rel[rank <= parts["cutoff"]]
        order = np.lexsort((-rel, query))
        query, rel = query[order], rel[order]
        rank = nth_of(query)
    if cut is not None:
        within = rank <= cut[query]
        query, rank, rel = query[within], rank[within], rel[within]
    return run.sum(query, _gain(gain, rel, run) * weights[rank])


def _expected_reciprocal_rank(parts: Parts, run: JudgedRun) -> Ratio:
    above = _stopped(parts, run, _positive(run))
    if parts["ideal"] == "none":
        return _divided(above, np.ones_like(above))
    return _divided(above, _stopped({**parts, "unjudged": 0.0, "terms": "all"}, run, _positive(run, ideal=True)))


def _stopped(parts: Parts, run: JudgedRun, hits: Hits) -> FloatArray:
    """Return the expected reciprocal of the rank at which a reader stops. (Q,)."""
    last, top = run.num_ret if parts.get("unjudged") else hits.rank, parts["max_rel"]
    cutoff = parts["cutoff"]
    most = max(_deepest(last if cutoff is None else np.minimum(last, cutoff)), 1)
    query, rank, rel = hits.where(hits.rank <= most)
    highest = np.full(run.num_queries, top if isinstance(top, int) else 0)
    if top in ("query", "list"):
        of = _positive(run, ideal=True) if top == "query" else Hits(query, rank, rel)
        np.maximum.at(highest, of.query, of.rel)
    by_grade = np.ldexp(1.0, rel - highest[query]) - np.ldexp(1.0, -highest[query])
    chances = {"label": rel, "share": rel / np.maximum(highest[query], 1)}.get(parts.get("stop", "grade"), by_grade)
    stops = np.zeros((run.num_queries, most))
    if parts.get("unjudged"):
        stops[np.arange(1, most + 1) <= run.num_ret[:, None]] = parts["unjudged"]
        judged = run.hits.where(run.hits.rank <= most)
        stops[judged.query, judged.rank - 1] = 0.0
    stops[query, rank - 1] = np.minimum(chances, 1.0) if parts.get("stop") != "label" else chances
    arriving = np.cumprod(np.hstack([np.ones((run.num_queries, 1)), 1 - stops[:, :-1]]), axis=1)
    terms = arriving * stops / np.arange(1, most + 1)
    if parts.get("terms") == "last":
        final: FloatArray = terms[np.arange(run.num_queries), most - 1 - np.argmax(stops[:, ::-1] > 0, axis=1)]
        return final
    total: FloatArray = terms.sum(axis=1)
    return total


def _binary_preference(parts: Parts, run: JudgedRun) -> Ratio:
    query, rank, nth, passed, negative = run.found(parts["level"])
    relevant, others = run.num_rel(parts["level"]), _least(parts["by"], parts, run)
    if parts["negative"] == "nonrelevant":
        passed = passed + negative
        others = np.minimum(run.count(run.ideal.query) - relevant, relevant)
    elif parts["negative"] == "unjudged too":
        passed = rank - nth
    above = run.sum(query, 1 - ratio(np.minimum(passed, relevant[query]), others[query]))
    return _divided(np.where(relevant > 0, 1 + relevant * above, 0) if "added" in parts else above, relevant)


def _as_it_is(parts: Parts, run: JudgedRun) -> Ratio:
    measure = parts["measure"]
    family, values = measure.family, dict(measure.parameters)
    if parts["cutoff"] is None and "cutoff" in values:
        family = family.uncut or family
        del values["cutoff"]
        if family is measure.family:
            raise MeasureError(f"{family.name} needs a cutoff")
    values |= {name: parts[name] for name in ("cutoff", "level") if name in values}
    return _divided(values_of_measure(Measure(family, tuple(values.items())), run), np.ones(run.num_queries))


_FORMULAS: Mapping[str, Callable[[Parts, JudgedRun], Ratio]] = {
    "count": _count,
    "f1": _f1,
    "ap": _average_precision,
    "rr": _reciprocal_rank,
    "gain": _cumulated_gain,
    "err": _expected_reciprocal_rank,
    "bpref": _binary_preference,
    "measure": _as_it_is,
}
