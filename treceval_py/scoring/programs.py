"""What NIST's sample_eval and statAP_MQ_eval print, from the measures of `measuring.sampled`.

These programs read and average in ways of their own, which no profile has: see each function.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np

from treceval_py.data.ids import Ids, decode, quoted
from treceval_py.data.qrels import Qrels
from treceval_py.data.ranking import Ranking
from treceval_py.data.run import Run
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


def _by_line(run: bytes, name: str) -> list[list[bytes]]:
    """Return the fields of the lines of a run."""
    fields = []
    for number, line in enumerate(run.splitlines(), 1):
        if words := line.split():
            fields.append(words)
            if len(words) < LEAST_FIELDS:
                problem = f"{len(words)} fields, but a run's line has {LEAST_FIELDS} or more"
                raise InputError(problem, "Write qid Q0 docid rank score tag.", file=name, line=number)
    return fields


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


Judged: TypeAlias = dict[str, dict[bytes, tuple[int, object, int]]]
"""The grade, the stratum or probability, and the method of each judged document."""


def _qrels(judged: Judged, name: str, *, strata: bool) -> Qrels:
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
    judged: Judged = {}
    for number, (topic, _, docid, stratum, grade) in enumerate(_records(qrels, 5, names[0])):
        of_query = judged.setdefault(decode(topic), {})
        if docid in of_query:  # an earlier line counts as a document that no run can have
            of_query[b"%s %d" % (docid, number)] = of_query.pop(docid)
        gain = (gains or {}).get(decode(grade), decode(grade))
        of_query[docid] = _grade(gain.encode(), names[0]), decode(stratum), 0
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


class Topic(NamedTuple):
    """What statAP_MQ_eval prints about a topic.

    Attributes
    ----------
    qid, kind : str
        The topic, and how its documents were drawn: ``NEU``, ``UMASS`` or ``MIXED``.
    values : dict of str to float
        The values by their names there; empty if the topic is not scored.
    """

    qid: str
    kind: str
    values: Mapping[str, float]


def statap(
    prels: bytes,
    run: bytes,
    *,
    names: tuple[str, str] = ("<judgments>", "<run>"),
    version: str = "v3",
    fixed: bool = False,
    kind: str = "",
) -> tuple[list[Topic], dict[str, float]]:
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
    fields = _by_line(run, names[1])
    sample = judge_sample(
        _qrels(judged, names[0], strata=False), _run(fields, names[1], zeros=True), Ranking(), complete=False
    )
    blocks = {topic: len(list(lines)) for topic, lines in groupby(decode(line[0]) for line in fields)}
    lengths = np.array([blocks[qid] for qid in sample.qids], dtype=np.int64)
    shown = sample.hits.rank <= lengths[sample.hits.query]
    below = sample.row[~shown]
    sample = replace(sample, hits=sample.hits.where(shown), row=sample.row[shown], num_ret=lengths, _made={})
    for least in (None, 1, 2):
        counts = [sum(least is None or grade >= least for grade in grades[qid]) for qid in sample.qids]
        sample.once(("sampled", least), partial(np.array, counts, dtype=np.int64))
    columns = _columns(sample, version)
    rels = sample.pool.rel.copy()
    rels[below] = 0  # what the ranking was cut of is in no sum of the variance; R̂ has been computed with it
    without = replace(sample, pool=sample.pool._replace(rel=rels))
    columns["varAP"] = sampled.stat_variance(without, version=version)
    topics, last = [], dict[str, float]()
    for qid in _in_order(sample.qids):
        place = sample.qids.index(qid)
        if kinds[qid] == "UMASS" or (kind and kinds[qid] != kind):
            topics.append(Topic(qid, kinds[qid], {}))
            continue
        values = {name: float(column[place]) for name, column in columns.items()}
        if not values["Relevant"]:
            values |= {"AP": np.nan, "R-prec": -1.0, "varAP": -1.0, "sampled_in_list": 0.0}
            if version == "v3":  # nDCG and varAP are those of the topic before, if there is one
                values |= dict.fromkeys(("R-prec", "Prec_at_30", "nDCG", "varAP"), np.nan) | last
        elif values["sampled"] == 1 or np.isinf(values["Relevant"]):
            raise _dead(names[0])
        last = {name: values[name] for name in ("nDCG", "varAP") if name in values}
        topics.append(Topic(qid, kinds[qid], values))
    valid = [topic.values for topic in topics if topic.values and topic.values["Relevant"]]
    if not valid:
        raise _dead(names[0])
    means = {name: sum(values[name] for values in valid) / len(valid) for name in columns if name not in _COUNTS}
    return topics, {"valid_topics": len(valid), **means, "varAP": means["varAP"] / len(valid)}


def _drawn(prels: bytes, name: str, *, fixed: bool) -> tuple[Judged, dict[str, str], dict[str, list[int]]]:
    """Return judgments with probabilities, the kind of each topic, and the grades in the last block of its lines."""
    judged: Judged = {}
    methods, counted = dict[str, set[bytes]](), dict[str, list[int]]()
    for topic, lines in groupby(_records(prels, 5, name), lambda line: decode(line[0])):
        grades = counted[topic] = []
        for _, docid, word, method, share in lines:
            grade, drawn = _grade(word, name), -1.0 if share == b"NA" else _number(share, name)
            if grade <= LEAST_GRADE or not 0 <= drawn <= 1:
                continue
            methods.setdefault(topic, set()).add(method)
            if not fixed or method != b"0":
                # With -f a probability stays as it is: that of a document drawn at random.
                judged.setdefault(topic, {})[docid] = grade, drawn, 1 if fixed else _grade(method, name)
                grades.append(grade)
    kinds = {
        topic: "UMASS" if drawn == {b"0"} else "MIXED" if drawn & {b"0", b"2"} else "NEU"
        for topic, drawn in methods.items()
    }
    return judged, kinds, counted


_COUNTS = ("Relevant", "sampled", "sampled_relev", "sampled_in_list", "sampled_relev_in_list")


def _columns(sample: JudgedSample, version: str) -> dict[str, np.ndarray]:
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


def printed_statap(topics: Sequence[Topic], means: Mapping[str, float], version: str = "v3") -> str:
    """Return topics and means as statAP_MQ_eval prints them."""
    text, v3 = "", version == "v3"
    for qid, kind, values in topics:
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
