"""What NIST's sample_eval and statAP_MQ_eval print, from the measures of `measuring.sampled`.

These programs read and average in ways of their own, which no profile has: see each function.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from treceval_py._types import FloatArray
from treceval_py.data.ids import decode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.sample import Sample
from treceval_py.errors import EvaluationError, InputError
from treceval_py.judging.sampled import LEAST_GRADE, JudgedSample, judge_sample
from treceval_py.measuring import sampled

DIES = 255
"""The exit status where the programs divide by zero."""

LEAST_FIELDS = 5
"""The fields of a run's line that statAP_MQ_eval needs."""

MOST_GRADE = 1000
"""The highest grade, of which 2 to its power is still a float64."""

LONGEST = 7
"""The longest name that two tabs follow, not one."""

LEVELS = np.arange(11) / 10

Values: TypeAlias = dict[tuple[str, str], float]
"""Values by query, or ``all``, and the measure as the program calls it, in the order of the program's output."""

Judged: TypeAlias = dict[str, dict[str, tuple[int, object, int]]]
"""The grade, the stratum or probability, and the method of each judged document."""


def _records(text: bytes, size: int, name: str) -> Iterator[list[bytes]]:
    """Yield the records of a file, whose words are one stream: the ends of lines do not matter."""
    words = text.split()
    if len(words) % size:
        raise InputError(f"{len(words)} words, which are not lines of {size}", "Give each line all fields.", file=name)
    return (words[at : at + size] for at in range(0, len(words), size))


def _number(word: bytes, name: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InputError(f"{quoted(word)} is not a number", "Give a number.", file=name)
    return value


def _grade(word: bytes, name: str) -> int:
    value = _number(word, name)
    if value != int(max(-MOST_GRADE, min(MOST_GRADE, value))):
        todo = f"Give whole numbers up to {MOST_GRADE} as grades, and as gains."
        raise InputError(f"{quoted(word)} is not a grade", todo, file=name)
    return int(value)


def _judged(
    judged: Judged, lines: Iterable[Sequence[bytes]], names: Sequence[str], depth: int | None, *, zeros: bool
) -> tuple[JudgedSample, JudgedSample, Counter[str]]:
    """Judge the lines of a run: the queries of both, all judged queries, and the number of lines of each query.

    The last line of a document counts. Topics lose leading zeros unless `zeros`.
    """
    scores: dict[str, dict[str, float]] = {}
    counts = Counter[str]()
    for qid, _, docid, _, score, *_ in lines:
        topic = decode(qid if zeros else qid.lstrip(b"0"))
        scores.setdefault(topic, {})[decode(docid)] = _number(score, names[1])
        counts[topic] += 1
    if not judged:
        raise _dead(names[0])
    qrels = Qrels({topic: {docid: grade for docid, (grade, _, _) in rows.items()} for topic, rows in judged.items()})
    _, drawn, methods = zip(*[row for rows in judged.values() for row in rows.values()], strict=True)
    qrels.sample = Sample(np.array(drawn, dtype=object))
    if isinstance(drawn[0], float):
        qrels.sample = Sample(None, np.array(drawn), np.array(methods))
    both, whole = (judge_sample(qrels, scores, Ranking(depth=depth), complete=complete) for complete in (False, True))
    if not both.qids:
        raise _dead(names[0])
    return both, whole, counts


def _in_order(qids: Sequence[str]) -> list[tuple[int, str]]:
    """Return queries, each with its place, in the order of their numbers."""
    return sorted(enumerate(qids), key=lambda query: (float((re.match(r"\d+", query[1]) or ["0"])[0]), query[1]))


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
) -> Values:
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
        A file does not have the program's format, or a gain is not a whole number.
    EvaluationError
        Judgments and run share no query: the program stops.
    """
    judged: Judged = {}
    for number, (topic, _, word, stratum, grade) in enumerate(_records(qrels, 5, names[0])):
        of_query, docid, gain = judged.setdefault(decode(topic), {}), decode(word), decode(grade)
        if docid in of_query:  # an earlier line counts as a document that no run can have
            of_query[f"{docid} {number}"] = of_query.pop(docid)
        of_query[docid] = _grade((gains or {}).get(gain, gain).encode(), names[0]), decode(stratum), 0
    sample, whole, lines = _judged(judged, _records(run, 6, names[1]), names, depth, zeros=trecvid)
    cutoffs = (5, 10, 15, 20, 30, 100, 200, 500, 1000) if trecvid else (10, 50, depth)
    ways = ("capped", "exact") if trecvid else ("relevant", "rounded")
    columns = {
        "infAP": sampled.extended_inferred_average_precision(sample, divide_by=ways[0]),
        "infNDCG": sampled.inferred_ndcg(sample, counts=ways[1]),
        **{f"iP{cutoff}": sampled.inferred_precision(sample, cutoff=cutoff) for cutoff in cutoffs},
        "inum_rel_ret": sampled.inferred_relevant_retrieved(sample),
        "inum_rel": sampled.inferred_relevant(sample),
    }
    values: Values = {}
    for place, qid in _in_order(sample.qids):
        values |= {(qid, name): float(column[place]) for name, column in columns.items()}
        values[qid, "num_ret"] = lines[qid]
    means = {name: column.sum() / len(sample.qids) for name, column in columns.items()}
    means["inum_rel_ret"], means["inum_rel"] = columns["inum_rel_ret"].sum(), sampled.inferred_relevant(whole).sum()
    for name, mean in means.items():
        values["all", name] = float(mean)
        if name == "infNDCG":
            levels = zip(LEVELS.tolist(), _at_recall(sample).tolist(), strict=True)
            values |= {("all", f"iprec@rec{level:.2f}"): total / len(sample.qids) for level, total in levels}
    return values | {("all", "num_ret"): int(sample.num_ret.sum())}


def _at_recall(sample: JudgedSample) -> FloatArray:
    """Add up precision at 11 levels of recall: as the program falls to a lower level, at most one at each rank."""
    totals, starts = np.zeros(len(LEVELS)), sample.starts(sample.hits)
    expected, relevant = sampled.expected(sample, 1, above=False), sampled.inferred_relevant(sample)
    for query, size in enumerate(sample.num_ret.tolist()):
        rows = slice(starts[query], starts[query + 1])
        # The estimate at each rank is that at the last hit down to it.
        last = np.searchsorted(sample.hits.rank[rows], np.arange(1, size + 1), side="right")
        reached = np.append(0.0, expected[rows])[last]
        levels = [level for level, share in enumerate(LEVELS * relevant[query]) if share <= reached[-1]]
        best = 0.0
        for rank in range(size, 0, -1):
            best = max(best, reached[rank - 1] / rank)
            if levels and reached[rank - 1] < LEVELS[levels[-1]] * relevant[query]:
                totals[levels.pop()] += best
        totals[levels] += best
    return totals


def printed_sample_eval(values: Values) -> str:
    """Return values as sample_eval.pl prints them."""
    lines = []
    for (qid, name), value in values.items():
        form = "9d" if name == "num_ret" else "14.4f" if name.startswith("inum") else ".4f"
        tabs = "\t" * (2 - (len(name) > LONGEST))
        lines.append(f"{name}{tabs}{qid}\t{'' if name.startswith(('inum', 'num')) else chr(9)}{value:{form}}\n")
    return "".join(lines)


Topics: TypeAlias = dict[str, tuple[str, dict[str, float]]]
"""How the documents of each topic were drawn (``NEU``, ``UMASS`` or ``MIXED``), and its values; none if not scored."""


def statap(
    prels: bytes,
    run: bytes,
    *,
    names: tuple[str, str] = ("<judgments>", "<run>"),
    version: str = "v3",
    fixed: bool = False,
    kind: str = "",
) -> tuple[Topics, dict[str, float]]:
    """Return what statAP_MQ_eval prints about each topic, with ``-q``, and its means.

    Lines without a probability from 0 to 1, or with a grade of -999 or less, are left out. Where a topic comes in
    several blocks of lines, the last one has the counts, and the length of the ranking. Equal scores, for which the
    program has no rule, are ordered by descending id.

    Parameters
    ----------
    prels, run, names
        As for `sample_eval`.
    version : {"v3", "v4"}
        The version: 2007's, or one changed in 2018.
    fixed : bool
        Leave out documents selected by an algorithm alone, and keep the probabilities of the others (``-f``).
    kind : {"", "NEU", "MIXED"}
        Score only topics of this kind (``-n``, ``-m``).

    Raises
    ------
    InputError
        A file does not have the program's format.
    EvaluationError
        The program stops: no topic has a value, or a value divides by zero.
    """
    judged, kinds, grades = _drawn(prels, names[0], fixed=fixed)
    fields = [line for line in map(bytes.split, run.splitlines()) if line]
    if len(min(fields, key=len, default=())) < LEAST_FIELDS:
        todo = "Write qid Q0 docid rank score tag."
        raise InputError(f"a line with less than {LEAST_FIELDS} fields", todo, file=names[1])
    sample, _, _ = _judged(judged, fields, names, None, zeros=True)
    blocks = {topic: len(list(lines)) for topic, lines in groupby(decode(line[0]) for line in fields)}
    lengths = np.array([blocks[qid] for qid in sample.qids])
    shown = sample.hits.rank <= lengths[sample.hits.query]
    below = sample.row[~shown]
    sample = replace(sample, hits=sample.hits.where(shown), row=sample.row[shown], num_ret=lengths, _made={})
    for least in (None, 1, 2):
        counts = [sum(least is None or grade >= least for grade in grades[qid]) for qid in sample.qids]
        sample.once(("sampled", least), partial(np.array, counts))
    columns = _columns(sample, version)
    rels = sample.pool.rel.copy()
    rels[below] = 0  # what the ranking was cut of is in no sum of the variance; R̂ has been computed with it
    without = replace(sample, pool=sample.pool._replace(rel=rels))
    columns["varAP"] = sampled.stat_variance(without, version=version)
    topics: Topics = {}
    before = dict.fromkeys(("nDCG", "varAP"), math.nan)
    for place, qid in _in_order(sample.qids):
        topics[qid] = kinds[qid], {}
        if kinds[qid] == "UMASS" or kinds[qid] != (kind or kinds[qid]):
            continue
        values = {name: float(column[place]) for name, column in columns.items()}
        if not values["Relevant"]:
            values |= {"AP": math.nan, "R-prec": -1.0, "varAP": -1.0, "sampled_in_list": 0.0}
            if version == "v3":  # nDCG and varAP are those of the topic before
                values |= {"R-prec": math.nan, "Prec_at_30": math.nan} | before
        elif values["sampled"] == 1:
            raise _dead(names[0])
        before = {name: values[name] for name in before if name in values}
        topics[qid] = kinds[qid], values
    valid = [values for _, values in topics.values() if values.get("Relevant")]
    if not valid:
        raise _dead(names[0])
    means = {name: sum(values[name] for values in valid) / len(valid) for name in columns if name not in _COUNTS}
    return topics, {"valid_topics": len(valid), **means, "varAP": means["varAP"] / len(valid)}


def _drawn(prels: bytes, name: str, *, fixed: bool) -> tuple[Judged, dict[str, str], dict[str, list[int]]]:
    """Return judgments with probabilities, the kind of each topic, and the grades in the last block of its lines."""
    judged: Judged = {}
    kinds, counted = dict[str, str](), dict[str, list[int]]()
    for topic, lines in groupby(_records(prels, 5, name), lambda line: decode(line[0])):
        grades = counted[topic] = []
        for _, docid, word, method, share in lines:
            grade, drawn = _grade(word, name), -1.0 if share == b"NA" else _number(share, name)
            if grade <= LEAST_GRADE or not 0 <= drawn <= 1:
                continue
            kind = "UMASS" if method == b"0" else "MIXED" if method == b"2" else "NEU"
            kinds[topic] = kind if kinds.get(topic, kind) == kind else "MIXED"
            if fixed and method == b"0":
                continue
            # With -f a probability stays as it is: that of a document drawn at random.
            if grade > 0 and not drawn and (fixed or kind == "NEU"):
                raise _dead(name)
            judged.setdefault(topic, {})[decode(docid)] = grade, drawn, 1 if fixed else _grade(method, name)
            grades.append(grade)
    return judged, kinds, counted


_COUNTS = ("Relevant", "sampled", "sampled_relev", "sampled_in_list", "sampled_relev_in_list")


def _columns(sample: JudgedSample, version: str) -> dict[str, Any]:
    """Return the values of all topics, by their names in the program."""
    cutoffs = (30,) if version == "v3" else (10, 20, 50, 100)
    return {
        "Relevant": sampled.inferred_relevant(sample),
        "sampled": sampled.sampled(sample),
        "sampled_relev": sampled.sampled(sample, 1),
        "sampled_in_list": sample.count(sample.hits.query),
        "sampled_relev_in_list": sample.num_rel_ret(1),
        "AP": sampled.stat_average_precision(sample),
        "R-prec": sampled.stat_r_precision(sample),
        **{f"Prec_at_{at}": sampled.stat_precision(sample, cutoff=at, version=version) for at in cutoffs},
        **{
            "nDCG" if version == "v3" else f"nDCG_{at}": sampled.stat_ndcg(sample, cutoff=at, version=version)
            for at in cutoffs
        },
    }


_TOPIC = """\
\tRelevant={Relevant:.6f}  sampled={sampled:.0f} sampled_relev={sampled_relev:.0f}
\tsampled_in_list={sampled_in_list:.0f}  sampled_relev_in_list={sampled_relev_in_list:.0f}
\tAP={AP:.6f}  R-prec={R-prec:.6f}  Prec_at_30={Prec_at_30:.6f}  nDCG={nDCG:.15g}
\tvarAP={varAP:.15g}
"""

_TOPIC_OF_V4 = """\
\tRelevant={Relevant:.3f}  sampled={sampled:.0f} sampled_relev={sampled_relev:.0f}
\tsampled_in_list={sampled_in_list:.0f}  sampled_relev_in_list={sampled_relev_in_list:.0f}
\tAP={AP:.3f}  R-prec={R-prec:.3f}
\tPrec_at_10={Prec_at_10:.3f} Prec_at_20={Prec_at_20:.3f} Prec_at_50={Prec_at_50:.3f} Prec_at_50={Prec_at_100:.3f}
 \tnDCG_10={nDCG_10:.3f} nDCG_20={nDCG_20:.3f} nDCG_50={nDCG_50:.3f} nDCG_100={nDCG_100:.3f}
\tvarAP={varAP:.15g}
"""
"""The second Prec_at_50 is the precision at 100."""

_MEAN = """
 valid_topics={valid_topics}
 statMAP_on_valid_topics={AP:.15g}    VAR_MAP={varAP:.15g} \n statMRP_on_valid_topics={R-prec:.15g}
"""


def printed_statap(topics: Topics, means: Mapping[str, float], version: str = "v3") -> str:
    """Return topics and means as statAP_MQ_eval prints them."""
    text, v3 = "", version == "v3"
    for qid, (kind, values) in topics.items():
        ending = {"UMASS": "UMASS", "MIXED": "MIXED " if v3 else ""}.get(kind, f"{kind} ")
        text += f"\n\ttopic={qid}  {ending}\n"
        if values:
            shown = (_TOPIC if v3 else _TOPIC_OF_V4).format_map(values)
            shown = re.sub(r"(\tAP|R-prec)=nan", r"\1=NA--no relevant docs", shown)
            text += shown.replace("Prec_at_30=nan", "Prec_at_30=0").replace("=nan", "=")
    text += _MEAN.format_map(means)
    for name, value in means.items():
        if name.startswith(("Prec_at", "nDCG")):
            shown = name.replace("nDCG", "statMNDCG").replace("Prec_at", "statMPC") + " " * name.startswith("Prec")
            text += f" {shown}_on_valid_topics={value:.15g} \n"
    return text + "\n"
