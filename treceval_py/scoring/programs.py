"""What NIST's sample_eval and statAP_MQ_eval print, from the measures of `measuring.sampled`.

These programs read and average in ways of their own, which no profile has: see each function.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from treceval_py.data.ids import Ids, decode
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run
from treceval_py.data.sample import Sample
from treceval_py.errors import EvaluationError, InputError
from treceval_py.judging.judged import ratio
from treceval_py.judging.sampled import LEAST_GRADE, JudgedSample, judge_sample
from treceval_py.measuring import sampled

DIES = 255
"""The exit status where the programs divide by zero."""

LEVELS = np.arange(11) / 10


class Row(NamedTuple):
    """A value that a program prints.

    Attributes
    ----------
    name, qid : str
        The measure as the program calls it, and the query or ``all``.
    value : float or int
        The value.
    """

    name: str
    qid: str
    value: float


def _records(text: bytes, size: int, name: str) -> list[list[bytes]]:
    """Return the records of a file, whose words are one stream: the ends of lines do not matter."""
    words = text.split()
    if len(words) % size:
        raise InputError(f"{len(words)} words, which are not lines of {size}", "Give each line all fields.", file=name)
    return [words[at : at + size] for at in range(0, len(words), size)]


def _number(word: bytes, name: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InputError(f"'{decode(word)}' is not a number", "Give a number.", file=name) from None


def _run(lines: Sequence[Sequence[bytes]], name: str, *, zeros: bool) -> Run:
    """Return a run, in which the last line of a document counts."""
    scores: dict[str, dict[bytes, float]] = {}
    for qid, _, docid, _, score, *_ in lines:
        topic = decode(qid if zeros else qid.lstrip(b"0"))
        scores.setdefault(topic, {})[docid] = _number(score, name)
    columns = [np.array([*of_query.values()]) for of_query in scores.values()]
    offsets = np.cumsum([0, *map(len, columns)])
    docids = Ids.from_bytes([docid for of_query in scores.values() for docid in of_query])
    return Run.from_columns([*scores], offsets, docids, np.concatenate([*columns, np.zeros(0)]), name=name)


def _qrels(judged: Mapping[str, Mapping[bytes, tuple[int, object, int]]], name: str, *, strata: bool) -> Qrels:
    """Return judgments: a grade, and a stratum or a probability, of each document."""
    rows = [row for of_query in judged.values() for row in of_query.values()]
    rels, drawn, methods = zip(*rows, strict=True) if rows else ((), (), ())
    sample = Sample(np.array(drawn, dtype=object))
    if not strata:
        sample = Sample(None, np.array(drawn, dtype=np.float64), np.array(methods, dtype=np.int64))
    offsets = np.cumsum([0, *map(len, judged.values())])
    docids = Ids.from_bytes([docid for of_query in judged.values() for docid in of_query])
    return Qrels.from_columns([*judged], offsets, docids, np.array(rels, dtype=np.int64), name=name, sample=sample)


def _in_order(qids: Sequence[str]) -> list[str]:
    """Return queries in the order of their numbers."""
    return sorted(qids, key=lambda qid: (float((re.match(r"\d+", qid) or ["0"])[0]), qid))


def _dead(qrels: str) -> EvaluationError:
    error = EvaluationError("no query has a value, or a value divides by zero", "The program prints none.", file=qrels)
    error.status = DIES
    return error


def sample_eval(
    qrels: bytes,
    run: bytes,
    *,
    names: tuple[str, str] = ("<judgments>", "<run>"),
    depth: int = 100,
    trecvid: bool = False,
    gains: Mapping[str, str] | None = None,
) -> list[Row]:
    """Return what sample_eval.pl prints, with ``-q``, in its order.

    The topics of runs lose leading zeros. A document judged twice counts twice in its strata, with its last grade in
    the ranking; one retrieved twice has its last score. Means are over queries of both, except that of inum_rel.

    Parameters
    ----------
    qrels, run : bytes
        The contents of the files.
    names : tuple of str
        Their names, for messages.
    depth : int
        The number of documents of each query that count: 100 as NIST publishes the program.
    trecvid : bool
        Compute infAP and infNDCG as TRECVID's version does.
    gains : mapping of str to str, optional
        The gain of a grade (``-G``).

    Raises
    ------
    InputError
        A file does not have the program's format.
    EvaluationError
        Judgments and run share no query, or a gain is not a whole number: the program stops, or we would.
    """
    judged: dict[str, dict[bytes, tuple[int, object, int]]] = {}
    for number, (qid, _, docid, stratum, grade) in enumerate(_records(qrels, 5, names[0])):
        of_query = judged.setdefault(decode(qid), {})
        if docid in of_query:  # an earlier line counts as a document that no run can have
            of_query[b"%s %d" % (docid, number)] = of_query.pop(docid)
        gain = (gains or {}).get(decode(grade), decode(grade))
        of_query[docid] = int(_number(gain.encode(), names[0])), decode(stratum), 0
    lines = _records(run, 6, names[1])
    table, ranked = _qrels(judged, names[0], strata=True), _run(lines, names[1], zeros=trecvid)
    sample = judge_sample(table, ranked, Ranking(depth=depth), complete=False)
    if not sample.qids:
        raise _dead(names[0])
    cutoffs = (5, 10, 15, 20, 30, 100, 200, 500, 1000) if trecvid else (10, 50, depth)
    ways = ("capped", "exact") if trecvid else ("relevant", "rounded")
    columns = {
        "infAP": sampled.extended_inferred_average_precision(sample, divide_by=ways[0]),
        "infNDCG": sampled.inferred_ndcg(sample, counts=ways[1]),
        **{f"iP{cutoff}": sampled.inferred_precision(sample, cutoff=cutoff) for cutoff in cutoffs},
        "inum_rel_ret": sampled.inferred_relevant_retrieved(sample),
        "inum_rel": sampled.inferred_relevant(sample),
    }
    topics = [decode(line[0] if trecvid else line[0].lstrip(b"0")) for line in lines]
    rows, place = [], {qid: number for number, qid in enumerate(sample.qids)}
    for qid in _in_order(sample.qids):
        rows += [Row(name, qid, float(values[place[qid]])) for name, values in columns.items()]
        rows.append(Row("num_ret", qid, topics.count(qid)))
    means = {name: values.sum() / len(place) for name, values in columns.items()}
    means["inum_rel_ret"] *= len(place)
    whole = judge_sample(table, ranked, Ranking(depth=depth), complete=True)
    means["inum_rel"] = sampled.inferred_relevant(whole).sum()
    at_recall = _at_recall(sample) / len(place)
    for name, mean in means.items():
        rows.append(Row(name, "all", float(mean)))
        if name == "infNDCG":
            levels = zip(LEVELS.tolist(), at_recall.tolist(), strict=True)
            rows += [Row(f"iprec@rec{level:.2f}", "all", value) for level, value in levels]
    return [*rows, Row("num_ret", "all", int(sample.num_ret.sum()))]


def _at_recall(sample: JudgedSample) -> np.ndarray:
    """Add up precision at 11 levels of recall: as the program falls to a lower level, at most one at each rank."""
    totals, starts = np.zeros(len(LEVELS)), sample.starts(sample.hits)
    expected, relevant = sampled.expected(sample, 1, above=False), sampled.inferred_relevant(sample)
    for query, size in enumerate(sample.num_ret.tolist()):
        rows = slice(starts[query], starts[query + 1])
        # The estimate at each rank is that at the last hit down to it.
        last = np.searchsorted(sample.hits.rank[rows], np.arange(1, size + 1), side="right")
        found = np.append(0.0, expected[rows])[last]
        levels = [level for level, share in enumerate(LEVELS * relevant[query]) if size and share <= found[-1]]
        best = 0.0
        for rank in range(size, 0, -1):
            best = max(best, found[rank - 1] / rank)
            if levels and found[rank - 1] < LEVELS[levels[-1]] * relevant[query]:
                totals[levels.pop()] += best
        totals[levels] += best
    return totals


def printed_sample_eval(rows: Sequence[Row]) -> str:
    """Return rows as sample_eval.pl prints them."""
    lines = []
    for name, qid, value in rows:
        shown = f"\t{value:.4f}"
        if name.startswith(("inum", "num")):
            shown = f"{value:9d}" if isinstance(value, int) else f"{value:14.4f}"
        lines.append(f"{name}{chr(9) * (2 - (len(name) > 7))}{qid}\t{shown}\n")
    return "".join(lines)
