"""The payload of a report: all contents of its page, as JSON-compatible data."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from treceval_py.corpora.texts import PlacedTexts
from treceval_py.data.ids import encode, shown
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import EvaluationError
from treceval_py.explaining.terms import task_of_signature
from treceval_py.io.digests import base_name, short
from treceval_py.io.target import written_whole
from treceval_py.rendering.envelope import json_safe, plain
from treceval_py.reporting.curves import basis_of, curves_of
from treceval_py.reporting.documents import MANY, Passages, Rankings, chosen_documents
from treceval_py.reporting.overlap import overlap_of
from treceval_py.reporting.robustness import FIRST, Range, about_left_out, notes_of, unjudged_shares
from treceval_py.reporting.sums import sum_of
from treceval_py.scoring.opening import AnyJudgments, AnyRun, load_judgments, load_run
from treceval_py.scoring.profiles import PROFILES
from treceval_py.scoring.signatures import concise

if TYPE_CHECKING:
    from treceval_py.comparing.comparison import Comparison
    from treceval_py.comparing.outcome import Compared, Outcome, Settings
    from treceval_py.scoring.planning import Task

MOST_NEEDED = 10_000
"""The page says "> 10,000" of more queries needed than that."""

THIRDS = 9
"""Fewest queries that are shown by thirds."""


def report_payload(
    comparison: Comparison,
    *,
    qrels: AnyJudgments | None = None,
    runs: Iterable[AnyRun] | Mapping[str, AnyRun] | None = None,
    texts: Mapping[str, str] | None = None,
    passages: Passages | None = None,
    baseline: str | int | None = None,
    title: str = "Comparison of runs",
    command: str = "",
) -> dict[str, Any]:
    """Return the contents of a report as JSON-compatible data.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    qrels : judgments, optional
        The judgments in any form that `evaluate` accepts, for curves, ranges and documents.
    runs : sequence or mapping of runs, length S, optional
        The runs in any form that `evaluate` accepts and in the order of the comparison, for curves, overlap, ranges and
        documents; without them, as for saved results, these are left out.
    texts : mapping of str to str, optional
        The texts of queries; those not compared are left out.
    passages : mapping of str to str, optional
        The texts of documents by id; the page has the beginnings of those it shows.
    baseline : str or int, optional
        The run that the page initially compares with, by name or number. Default: that of the comparison if it is not
        its first run; else the page decides: the first of two runs, or the best of more.
    title : str
        The title of the page.
    command : str
        The command that made the page.

    Returns
    -------
    dict
        See Notes. Lists by run have S entries, lists by query Q. An unknown or infinite number is None. The same data
        give the same payload: it has no date and no path.

    Raises
    ------
    EvaluationError
        There is not one run per name, or a compared query is not judged.
    DataError
        A run must be ranked by its ranks, but has none.

    Notes
    -----
    ``v``
        The version of this format, 3.
    ``title``, ``version``, ``command``
        The title of the page, the version of treceval_py, and the command that made the page, with file names only.
    ``judgments``
        ``name``, ``hash`` (the first 8 hexadecimal digits of the file's SHA-256, or empty) and ``n``, their number;
        None without judgments.
    ``baseline``
        The number of the run that the page initially compares with, or None.
    ``alpha``, ``confidence``, ``power``, ``margin``, ``seed``
        The settings of the comparison; ``margin`` can be None.
    ``methods``, ``notes``, ``reproduce``
        Sentences on the page's tests; on what was left out or assumed; commands that give the same numbers.
    ``runs``
        S objects: ``name``, ``file``, ``hash``, ``tag`` and ``judged``, the share of judged documents among the first
        10; None if unknown.
    ``qids``, ``texts``, ``R``
        The Q queries that any measure compares, in the order of their bytes; their texts by id; and the number of
        relevant documents of each, None without judgments.
    ``measures``
        M objects:

        ``name``, ``label``, ``long``
            Its name, the name of its mean, and a sentence.
        ``sig``, ``siglong``
            Its signature, short and long; None if unknown.
        ``means``, ``low``, ``high``
            (S,), with the pointwise interval of each mean.
        ``bounds``
            The lowest and the highest possible value, from which intervals are cut; None if unknown.
        ``values``
            (S, Q) with 7 significant digits, or more where four decimals need them; None where the measure leaves the
            query out, then for all runs.
        ``left_out``
            Number of queries left out because some runs lack them.
        ``finding``
            The result in one or two sentences, each a list of texts and of numbers of runs, in place of their names.
        ``pairs``
            The test of all pairs of runs; None for one run, and for one query only ``won`` and ``lost``. ``critical``
            is the critical t at alpha, None if infinite: the interval of a difference of means is that difference ±
            ``critical`` · its standard error. ``resolution`` is half the width of the median interval, and
            ``resamples`` the number B of resamples. The others have a number for each pair of runs, (1, 0), (2, 0),
            (2, 1), (3, 0) and so on, first minus second: ``error``, the standard error; ``p``, the corrected p-value
            times B + 1; ``won`` and ``lost``, numbers of queries; ``needed``, the queries needed to detect the effect,
            10,001 if more than 10,000.
        ``student``
            By the number of queries in a group, the ``|t|`` that is significant, by Bonferroni over all groups.
        ``ties``
            (S,) of ``[lowest, highest, touched]``: extremes of the mean over all orders of documents with equal scores,
            and the number of queries in which the order matters; None if unknown.
        ``unj``
            (S,) of ``[lowest, highest]``: extremes of the mean over all labels of unjudged documents; None if unknown,
            or for more than 40 runs.
        ``sum``
            How documents add up to the value of a query, or None if they do not. ``kind`` is ``"weights"``: each
            document adds ``gains[grade] * weights[rank - 1]``, and nothing beyond the last weight; ``"precisions"``:
            each of grade ``level`` or more, down to rank ``cutoff`` (or None), adds the precision at its rank;
            ``"first"``: only the first of these adds 1 / rank. The terms are scaled so that their sum is the value.
    ``groups``
        ``name`` and ``sets``, ``[[label, [query numbers]], …]``.
    ``pr``, ``rd``
        ``x`` and ``y`` (S, X): interpolated precision at levels of recall, and recall at depths; None without runs.
    ``overlap``
        ``rbo`` (S, S), ``order`` (similar runs adjacent), ``depth``, ``p`` and ``queries``, the number averaged over;
        None if no query has documents of all runs.
    ``K``
        Most documents named in each list.
    ``docs``
        None without runs; else Q objects, None for a query that did not fit:

        ``d``, ``g``
            The ids of the N named documents, relevant ones (grade 1 or more) first, and their grades; -1 if not judged.
        ``u``
            The grades of the relevant documents that are not named.
        ``t``
            S lists of up to K numbers of named documents, best first; -1 at a rank without a document.
        ``r``
            S lists of the ranks of all relevant documents: those in ``d``, then those in ``u``; 0 if not retrieved.
            ``t`` and ``r`` have None for a run that did not fit.
        ``n``
            (S,) number of retrieved documents.
    ``passages``
        The beginnings of documents, by id.
    """
    from treceval_py.comparing.comparison import Comparison

    if not isinstance(comparison, Comparison):
        raise EvaluationError(f"{shown(comparison)} is not a comparison", "Give what te.compare returned.")
    if texts is not None and not isinstance(texts, Mapping):
        raise EvaluationError(f"texts of queries cannot be {shown(texts)}", "Give a dictionary {qid: text}.")
    if passages is not None and not isinstance(passages, (Mapping, PlacedTexts)):
        raise EvaluationError(f"texts of documents cannot be {shown(passages)}", "Give a dictionary {docid: text}.")
    qrels = None if qrels is None else load_judgments(qrels)
    if qrels is not None and not isinstance(qrels, Qrels):
        raise EvaluationError("the judgments of a report must be relevance judgments (qrels)", "Leave them out.")
    rankings = None
    if runs is not None:
        given: Any = runs.values() if isinstance(runs, Mapping) and not isinstance(runs, Run) else runs
        if qrels is not None:
            rankings = Rankings(qrels, basis_of(comparison).conventions, _tasks(comparison, qrels))
        names = []
        for table in _tables(given):
            names.append(table.name)
            if rankings is not None:
                rankings.add(table)
        _check_runs(comparison, names)
    return payload_of(
        comparison, rankings, texts=texts, passages=passages, baseline=baseline, title=title, command=command
    )


def payload_of(
    comparison: Comparison,
    rankings: Rankings | None,
    *,
    texts: Mapping[str, str] | None = None,
    passages: Passages | None = None,
    baseline: str | int | None = None,
    title: str,
    command: str,
) -> dict[str, Any]:
    """Return the contents of a report of runs that have been read; parameters and result as of `report_payload`."""
    from treceval_py.comparing.show.figures import measure_payload
    from treceval_py.comparing.show.sentences import notes

    settings = comparison.settings
    by_page = _by_page(comparison)
    qids = sorted({qid for measure in comparison.measures for qid in measure.qids}, key=encode)
    reference = _baseline(comparison, baseline)
    ranked = () if rankings is None else tuple(rankings.runs)
    tasks = {} if rankings is None else rankings.tasks
    payload = {
        "v": 3,
        "title": title,
        "version": comparison.version,
        "command": command,
        "judgments": _judgments(comparison, rankings),
        "baseline": reference,
        "alpha": settings.alpha,
        "confidence": settings.confidence,
        "power": settings.power,
        "margin": settings.margin,
        "seed": settings.seed,
        "methods": _methods(by_page),
        "notes": [*notes(comparison), *_missing(comparison, rankings)],
        "reproduce": _reproduce(comparison, rankings, command),
        "runs": _runs(comparison, rankings),
        "texts": {qid: texts[qid] for qid in qids if texts is not None and qid in texts},
        "K": 0,
    }
    contents: dict[str, Any] = plain(payload)
    contents["qids"] = [json_safe(qid) for qid in qids]
    contents["R"] = None
    if rankings is not None:
        relevant = dict(zip(rankings.qids, np.diff(rankings.starts).tolist(), strict=True))
        contents["R"] = [relevant.get(qid, 0) for qid in qids]
    contents["measures"] = [measure_payload(measure, qids) for measure in comparison.measures]
    for made, measure in zip(contents["measures"], comparison.measures, strict=True):
        made["ties"] = _ranges([run.ties.get(measure.measure) for run in ranked], measure.qids, 3)
        made["unj"] = _ranges([run.unjudged.get(measure.measure) for run in ranked], measure.qids, 2)
        task = tasks.get(measure.measure)
        made["sum"] = None if task is None or rankings is None else sum_of(task, rankings)
    contents["groups"] = _groups(comparison, qids, contents["R"], contents["measures"][0]["label"])
    place = {qid: number for number, qid in enumerate(qids)}
    for made, measure in zip(contents["measures"], by_page.measures, strict=True):
        made["finding"] = _finding(by_page, measure)
        made["pairs"] = _pairs(measure, settings)
        made["student"] = _student(contents["groups"], {place[qid] for qid in measure.qids}, settings.alpha)
    contents["pr"], contents["rd"] = _curves(comparison, rankings)
    contents["overlap"] = None if rankings is None else overlap_of(rankings, basis_of(comparison).qids)
    contents |= {"docs": None, "passages": {}}
    if rankings is not None:
        first = comparison.measures[0]
        best = int(first.means.argmax()) if reference is None else reference
        place = {qid: number for number, qid in enumerate(first.qids)}
        columns = np.array([place.get(qid, -1) for qid in qids])
        values = np.where(columns >= 0, first.values[:, columns], np.nan)
        contents |= chosen_documents(rankings, qids, values, best, passages)
    return contents


def _by_page(comparison: Comparison) -> Comparison:
    """Return a comparison with the settings of the page, which tests all pairs, whatever test sets the marks."""
    from treceval_py.comparing.paired import two_sided_t
    from treceval_py.comparing.tests import SIMULTANEOUS

    settings, runs = comparison.settings._replace(tests=(SIMULTANEOUS,)), len(comparison.runs)
    measures = []
    for measure in comparison.measures:
        together = measure.together
        level = math.nan if together is None else two_sided_t(together.critical(settings.alpha), len(measure.qids))
        measures.append(measure._replace(level=level))
    return replace(comparison, settings=settings, measures=tuple(measures), family=runs * (runs - 1) // 2)


def _methods(comparison: Outcome) -> list[str]:
    """Return sentences on how the page's differences, intervals and numbers of queries were computed."""
    from treceval_py.comparing.show.sentences import methods, procedure

    said = methods(comparison)
    if len(comparison.runs) == 1:
        return [said["queries"], said["interval"]]
    test = f"A difference is significant by the {procedure(comparison)}."
    effect = "d: mean of the differences over their standard deviation (Cohen's d_z)."
    return [said["queries"], test, said["interval"], effect, *([said["needed"]] if "needed" in said else [])]


def _tasks(comparison: Comparison, qrels: Qrels) -> dict[str, Task]:
    """Return the signatures of the measures that have one."""
    return {
        measure.measure: task_of_signature(measure.signature, qrels)
        for measure in comparison.measures
        if measure.signature is not None
    }


def _tables(runs: Any) -> Iterator[Run]:
    """Yield the runs of a report as tables, one at a time."""
    if isinstance(runs, (str, os.PathLike, Run)) or hasattr(type(runs), "columns") or not isinstance(runs, Iterable):
        raise EvaluationError(f"the runs of a report must be a list, not {shown(runs)}", "Give one for each name.")
    yield from map(load_run, runs)


def _check_runs(comparison: Comparison, names: Sequence[str]) -> None:
    """Check, by their names, that runs are those of the comparison."""
    if len(names) != len(comparison.runs):
        raise EvaluationError(
            f"there are {len(names)} tables for {len(comparison.runs)} compared runs",
            "Give one table per run, in the same order.",
        )
    given = tuple(map(base_name, names))
    if given != comparison.files and sorted(given) == sorted(comparison.files):
        raise EvaluationError("the runs are not in the order of the comparison", "Give them in that order.")


def write_report(path: str | os.PathLike[str], payload: Mapping[str, Any]) -> None:
    """Write the page of a payload to a file, whole or not at all.

    Parameters
    ----------
    path : path
        The file.
    payload : mapping
        The payload, from `report_payload`.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    from treceval_py.reporting.page import page

    if not isinstance(payload, Mapping) or "measures" not in payload:
        raise EvaluationError(f"{shown(payload)} is not a payload", "Give what te.reporting.report_payload returned.")
    made = page(payload).encode("utf-8")
    with written_whole(path) as stream:
        stream.write(made)


def _baseline(comparison: Comparison, wanted: str | int | None) -> int | None:
    """Return the number of the run that the page initially compares with; None if the page decides."""
    if wanted is None:
        return comparison.baseline or None
    if wanted in comparison.runs:
        return comparison.runs.index(str(wanted))
    if isinstance(wanted, str) or not 0 <= wanted < len(comparison.runs):
        raise EvaluationError(f"the baseline {shown(wanted)} is not among the runs", "Name one of the compared runs.")
    return wanted


def _missing(comparison: Comparison, rankings: Rankings | None) -> list[str]:
    if rankings is None:
        return list(about_left_out(comparison))
    said = notes_of(comparison, rankings.qids, [run.qids for run in rankings.runs])
    if len(rankings.runs) > MANY:
        said.append(f"Ranges over labels of unjudged documents are computed for up to {MANY} runs.")
    return said


def _judgments(comparison: Comparison, rankings: Rankings | None) -> dict[str, Any] | None:
    if not comparison.judgments_name:
        return None
    return {
        "name": comparison.judgments_name,
        "hash": short(comparison.judgments_digest),
        "n": None if rankings is None else len(rankings.qrels.rels),
    }


def _runs(comparison: Comparison, rankings: Rankings | None) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = [
        {"name": name, "file": file, "hash": digest, "tag": "", "judged": None}
        for name, file, digest in zip(comparison.runs, comparison.files, comparison.hashes, strict=True)
    ]
    if rankings is not None:
        compared = set(basis_of(comparison).qids)
        rows = np.array([qid in compared for qid in rankings.qids])
        for shown, run in zip(runs, rankings.runs, strict=True):
            shares = 1 - unjudged_shares(run.judged, FIRST)[rows]
            there = ~np.isnan(shares)
            shown |= {"tag": run.tag, "judged": round(float(shares[there].mean()), 4) if there.any() else None}
    return runs


def _finding(comparison: Outcome, compared: Compared) -> list[list[str | int]]:
    """Return the result by a measure, with numbers in place of the names of runs, which are buttons on the page."""
    from treceval_py.comparing.show.sentences import finding

    numbered = replace(comparison, runs=tuple(f"⟦{run}⟧" for run in range(len(comparison.runs))))
    return [
        [int(part) if at % 2 else json_safe(part) for at, part in enumerate(re.split(r"⟦(\d+)⟧", sentence))]
        for sentence in finding(numbered, compared)
    ]


def _pairs(compared: Compared, settings: Settings) -> dict[str, Any] | None:
    """Return the statistics of each pair of runs as `report_payload` has them."""
    from treceval_py.comparing.paired import queries_needed, wins_ties_losses

    values, together = compared.values, compared.together
    if len(values) < 2:
        return None
    counts = [wins_ties_losses((row - values[:run]).T) for run, row in enumerate(values) if run]
    won, _, lost = np.concatenate(counts).T.tolist()
    if together is None:
        return {"won": won, "lost": lost}
    pairs, critical, count = np.tril_indices(len(values), -1), together.critical(settings.alpha), len(together.largest)
    error, effect = together.error[pairs], together.t[pairs] / math.sqrt(len(compared.qids))
    needed = queries_needed(effect, alpha=compared.level, power=settings.power)
    return {
        **plain({"critical": critical, "resolution": critical * float(np.median(error))}),
        "resamples": count,
        "error": [float(f"{each:.8g}") for each in error.tolist()],
        "p": np.round(together.p[pairs] * (count + 1)).astype(np.int64).tolist(),
        "won": won,
        "lost": lost,
        "needed": np.minimum(needed, MOST_NEEDED + 1).astype(np.int64).tolist(),
    }


def _student(groups: Sequence[Mapping[str, Any]], compared: set[int], alpha: float) -> dict[str, float]:
    """Return the critical |t| in a group by its number of queries, corrected by Bonferroni over all groups."""
    from treceval_py.comparing.paired import special

    sets = [queries for group in groups for _, queries in group["sets"]]
    sizes = sorted({len(compared.intersection(queries)) for queries in sets})
    level = alpha / max(1, len(sets)) / 2
    return {str(size): float(f"{-special.stdtrit(size - 1, level):.8g}") for size in sizes if size > 1}


def _ranges(runs: Sequence[Range | None], qids: Sequence[str], numbers: int) -> list[list[float]] | None:
    """Return some fields of the ranges of all runs in a measure; None if one is unknown."""
    bounds = [None if extremes is None else extremes.over(qids) for extremes in runs]
    known = [list(bound[:numbers]) for bound in bounds if bound is not None]
    return known if bounds and len(known) == len(bounds) else None


def _curves(comparison: Comparison, rankings: Rankings | None) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    if rankings is None:
        return None, None
    curves = curves_of(basis_of(comparison), rankings.qrels, [run.judged for run in rankings.runs])
    return (
        {"x": list(curves.recalls), "y": np.round(curves.precision, 4).tolist()},
        {"x": list(curves.depths), "y": np.round(curves.recall, 4).tolist()},
    )


def _groups(
    comparison: Comparison, qids: Sequence[str], relevant: Sequence[int] | None, label: str
) -> list[dict[str, Any]]:
    """Return the groups of queries: the given ones, and thirds by relevant documents and by difficulty.

    `label` is the name of the first measure on the page.
    """
    groups = [
        {
            "name": json_safe(f"by {grouping.attribute}"),
            "sets": [[json_safe(k), v] for k, v in grouping.members(qids).items() if v],
        }
        for grouping in comparison.groups
    ]
    if len(qids) >= THIRDS:
        if relevant is not None:
            groups.append({"name": "by relevant documents", "sets": _thirds(relevant, "relevant")})
        first = comparison.measures[0]
        # The thirds of a single run would be by its own values.
        if len(comparison.runs) == 1:
            return groups
        medians = dict(zip(first.qids, np.median(first.values, axis=0).tolist(), strict=True))
        if any(medians.values()):
            place = {qid: number for number, qid in enumerate(qids)}
            ordered = sorted(first.qids, key=lambda qid: (medians[qid], place[qid]))
            names = (f"hardest by {label}", "middle", "easiest")
            parts = [sorted(place[qid] for qid in part) for part in _parts(ordered)]
            groups.append({"name": "by difficulty", "sets": [list(each) for each in zip(names, parts, strict=True)]})
    return groups


def _parts(ordered: Sequence[Any]) -> list[Sequence[Any]]:
    cuts = [len(ordered) * third // 3 for third in range(4)]
    return [ordered[start:stop] for start, stop in pairwise(cuts)]


def _thirds(counts: Sequence[int], unit: str) -> list[list[Any]]:
    """Divide queries into thirds by a count; queries with the same count stay together."""
    ordered = sorted(range(len(counts)), key=lambda at: (counts[at], at))
    edges = [counts[part[-1]] for part in _parts(ordered)]
    thirds: dict[int, list[int]] = {}
    for at, count in enumerate(counts):
        thirds.setdefault(next(number for number, edge in enumerate(edges) if count <= edge), []).append(at)
    named = []
    for _, rows in sorted(thirds.items()):
        low, high = min(counts[at] for at in rows), max(counts[at] for at in rows)
        named.append([f"{low if low == high else f'{low}–{high}'} {unit}", rows])
    return named


def _reproduce(comparison: Comparison, rankings: Rankings | None, command: str) -> list[str]:
    """Return the command that made the report, and one that recomputes the averages from the signatures.

    The second is given only if it reproduces the numbers of the page: not if queries are left out of some runs, nor for
    judgments that are not relevance judgments.
    """
    commands = [command] if command else []
    signatures = [measure.signature for measure in comparison.measures if measure.signature is not None]
    files = [comparison.judgments_name, *comparison.files]
    scored = rankings is not None and len(signatures) == len(comparison.measures)  # saved results are not scored again
    # Data from Python or a pipe have names such as <run>.
    from_files = all(name not in ("", "-") and not name.startswith("<") for name in files)
    if not (scored and from_files) or any(measure.left_out for measure in comparison.measures):
        return commands
    # A measure may have been requested twice.
    by_measure = {concise(signature.measure).notation: signature for signature in signatures}
    # The short form of a user's own profile could not be read back.
    written = [each.short if each.profile in PROFILES else each.long for each in by_measure.values()]
    options = [part for signature in written for part in ("--repeat", signature)]
    return [*commands, shlex.join(["treceval", *options, *(f"./{f}" if f.startswith("-") else f for f in files)])]
