"""The profiles of machine-learning packages have the values that those packages printed, metric by metric.

`ml_stack.jsonl.gz` has small and random inputs, what each package made of them, with its version and the call, and the
order in which ranx sorts lists of scores.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import treceval_py as te
from treceval_py.data.ranking import Ranking, arrange

# Some inputs lack judged queries on purpose.
pytestmark = pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.MissingQueriesWarning",
    "ignore::treceval_py.errors.SuspectRunWarning",
    "ignore:.* can differ from:treceval_py.errors.TrecevalWarning",
)

Row = dict[str, Any]
Labels = Mapping[str, Mapping[str, int]]

with gzip.open(Path(__file__).parent / "ml_stack.jsonl.gz", "rt", encoding="utf-8") as stream:
    ROWS: list[Row] = [json.loads(line) for line in stream]
INPUTS = {row["input"]: row for row in ROWS if row["kind"] == "input"}
GOLDEN = [row for row in ROWS if row["kind"] == "golden"]
ORDERS = [row for row in ROWS if row["kind"] == "ranx_order"]


class Ours(NamedTuple):
    """What has the value of a metric here: its name as the package writes it, under the profile of the package."""

    measure: str
    profile: str
    changes: Mapping[str, Any] = {}
    """Options of the package that change a convention of its profile."""


def ours(tool: str, metric: str, call: str) -> Ours:
    """Name a metric as the package does; an option of the call that changes what it computes is written out."""
    name, _, cutoff = metric.partition("@")
    if tool == "lightgbm" and "label_gain=0,1,2,3,4" in call and name == "ndcg":
        return Ours(f"nDCG(gains={{1:1,2:2,3:3,4:4}})@{cutoff}", tool)
    if tool == "xgboost":
        linear = "exp_gain=false" in call and name.startswith("ndcg")
        written = "nDCG(gain=linear)" + metric.removeprefix("ndcg").rstrip("-") if linear else metric.rstrip("-")
        return Ours(written, "xgboost-minus" if metric.endswith("-") else "xgboost")
    if tool == "torchmetrics":
        name, _, action = metric.partition(" empty_target_action=")
        changes = {"unrelevant": "in"} if name.startswith("RetrievalFallOut") and action == "neg" else {}
        return Ours(name, f"torchmetrics-{action}" if action in ("pos", "skip") else tool, changes)
    if tool == "pytorch-ignite":
        name, k, ignores = re.fullmatch(r"([\w ]+)@(\d+) ignore_zero_hits=(\w+)", metric).groups()  # type: ignore[union-attr]
        gain = ",gain_function=linear_rank" if name == "NDCG linear" else ""
        changes = {} if ignores == "True" else {"unrelevant": "in"}
        return Ours(f"{name.removesuffix(' linear')}(top_k={k}{gain})", tool, changes)
    if tool == "sentence-transformers":
        return Ours(f"cosine_{metric}", tool)
    if tool == "mteb" and metric.lower().startswith("accuracy"):  # a name that means too many things
        return Ours(f"Success@{cutoff}" if cutoff else "R@1", tool)
    return Ours(metric, tool, {"ties": "line"} if call == "one sort" else {})


TOOLS = (
    "lightgbm", "xgboost", "catboost", "torchmetrics", "pytorch-ignite", "sentence-transformers", "mteb", "ranx",
)  # fmt: skip

SORTS_TWICE = "the profile is ranx after make_comparable, which sorts twice"
NEGATIVE, REFUSED = "negative labels are negative gains there", "the package refuses the input"
NOT_OURS = (
    ("ranx", "Qrels and Run|plain dictionaries", "", "", SORTS_TWICE),
    ("ranx", "", "s04|s07|s08|s13", "bpref", "it is NaN there without documents judged not relevant"),
    ("ranx", "", "ranx_x", "bpref", "a query without relevant documents makes later ones 0 there"),
    ("catboost", "", "s10_negative_labels", "N?DCG.*|ERR.*", NEGATIVE),
    ("xgboost", "graded labels, ndcg_exp_gain=false", "s10_negative_labels", "", NEGATIVE),
    ("torchmetrics", "", "s10_negative_labels", "RetrievalNormalizedDCG.*", NEGATIVE),
    ("torchmetrics", "", "s12_forty_documents", "RetrievalAUROC.*", "scores above 1 go through a sigmoid there"),
    ("", "", "", "error", REFUSED),
    ("", "", "", ".*empty_target_action=error", "as neg where there is a relevant document, else refused"),
)
"""What no profile gives: tool, and patterns of the call, the input and the metric; with the reason."""


COUNTS = {
    "compared": 28138,
    SORTS_TWICE: 1346,
    "it depends on an undefined order of equal scores": 987,
    REFUSED: 84,
    "as neg where there is a relevant document, else refused": 43,
    NEGATIVE: 18,
    "a query without relevant documents makes later ones 0 there": 12,
    "scores above 1 go through a sigmoid there": 6,
    "it is NaN there without documents judged not relevant": 4,
}
"""How many recorded values are compared, and how many are not for each reason."""


def reason(row: Row, metric: str) -> str:
    """Return why a recorded value is not compared; empty where it is."""
    if metric in row.get("not_reproducible", ()):
        return "it depends on an undefined order of equal scores"
    value = row["values"][metric]
    if isinstance(value, str) and value.startswith("error"):
        return REFUSED
    for tool, call, source, name, why in NOT_OURS:
        found = tool in ("", row["tool"]) and re.match(call, row["call"]) and re.match(source, row["input"])
        if found and re.fullmatch(name or ".*", metric):
            return why
    return ""


def binary(qrels: Labels) -> Labels:
    return {qid: {docid: int(label > 0) for docid, label in labels.items()} for qid, labels in qrels.items()}


def profile_of(meant: Ours) -> te.scoring.Profile:
    profile = te.scoring.PROFILES[meant.profile]
    exceptions = {key: {**changes, **meant.changes} for key, changes in profile.exceptions.items()}
    return profile._replace(conventions=profile.conventions._replace(**meant.changes), exceptions=exceptions)


def differences(row: Row) -> tuple[Counter[str], list[str]]:
    """Return how many values of a row were compared, and not for which reason; and what differs."""
    counts: Counter[str] = Counter()
    given = INPUTS[row["input"]]
    qrels: Labels = given["qrels"]
    if re.search("binary labels|labels made 1", row["call"]):
        qrels = binary(qrels)
    wanted: dict[tuple[str, str], dict[str, Ours]] = {}
    for metric in row["values"]:
        if why := reason(row, metric):
            counts[why] += 1
        else:
            meant = ours(row["tool"], metric, row["call"])
            wanted.setdefault((meant.profile, str(meant.changes)), {})[metric] = meant
    found = []
    for asked in wanted.values():
        names = list(dict.fromkeys(each.measure for each in asked.values()))
        results = te.evaluate(qrels, given["run"], names, profile=profile_of(next(iter(asked.values()))))
        for metric, each in asked.items():
            pairs = [("mean", row["values"][metric], results.mean[each.measure])]
            pairs += [
                (qid, values[metric], results[qid][each.measure])
                for qid, values in row["per_query"].items()
                if metric in values and each.measure in results[qid]
            ]
            for where, theirs, value in pairs:
                counts["compared"] += 1
                if not same(row, metric, theirs, value):
                    found.append(f"{row['tool']} {row['input']} {metric} of {where}: {theirs!r}, {each} {value!r}")
    return counts, found


def same(row: Row, metric: str, theirs: float | str, found: float) -> bool:
    if theirs == "nan" or math.isnan(found):
        return theirs == "nan" and math.isnan(found)
    if row["tool"] == "mteb" and not metric.startswith(("mrr", "nauc")):
        return abs(float(theirs) - found) <= 5e-6 + 1e-12
    return math.isclose(float(theirs), found, abs_tol=2e-6 if row.get("float32") else 1e-9, rel_tol=0)


# Lists of one value for each query of the run, without the queries that have none.
PER_QUERY = [row for row in GOLDEN if "recall_cap" in row["call"]]
MEANS = [row for row in GOLDEN if row not in PER_QUERY]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_profile_has_the_values_that_its_package_printed_for_small_inputs(tool: str) -> None:
    rows = [row for row in MEANS if row["tool"] == tool and row["input"].startswith("s")]
    assert len(rows) >= 17
    assert [line for row in rows for line in differences(row)[1]] == []


@pytest.mark.slow
def test_profiles_have_the_values_that_packages_printed() -> None:
    counts: Counter[str] = Counter()
    found: list[str] = []
    for row in MEANS:
        counted, differing = differences(row)
        counts += counted
        found += differing
    assert found == []
    assert dict(counts) == COUNTS


@pytest.mark.filterwarnings("ignore:.*no query counts")
@pytest.mark.parametrize("row", PER_QUERY, ids=lambda row: row["input"])
def test_mteb_s_functions_beside_its_tasks_have_the_values_here(row: Row) -> None:
    given = INPUTS[row["input"]]
    for metric, values in row["values"].items():
        name = ours("mteb", metric, row["call"]).measure
        results = te.evaluate(given["qrels"], given["run"], [name], profile="mteb")
        here = [results[qid][name] for qid in given["run"] if qid in results]
        if metric.startswith("Accuracy"):
            if row["input"] == "s16_equal_as_float32":
                continue  # it compares scores as 64-bit floats, as hit_rate does not
            here = [value for value in here if value]  # a list of hits
        assert here == pytest.approx([value for value in values if value is not None], abs=1e-9), metric


# --- the order of ranx ---


def scores_of(row: Row) -> list[float]:
    if "scores" in row:
        return [float(score) for score in row["scores"]]
    state, scores = int(row["generator"][2]), []
    for _ in range(row["n"]):
        state = (1103515245 * state + 12345) % 2**31
        scores.append((state >> 16) % 10)
    return [float(score) for score in scores]


@pytest.mark.parametrize("row", ORDERS, ids=lambda row: f"{row['what']} {row['n']}")
def test_equal_scores_stand_where_ranx_sorts_them(row: Row) -> None:
    scores = scores_of(row)
    if any(map(math.isnan, scores)):
        pytest.skip("a run here has no NaN")
    # Other queries around it, one of them empty, must not move anything.
    columns = np.concatenate([[3.0], scores, [2.0, 2.0]])
    offsets = np.array([0, 1, 1, len(scores) + 1, len(columns)])
    run = te.Run({"q": {str(at): 0.0 for at in range(len(columns))}})
    run = te.Run.from_columns(("a", "b", "c", "d"), offsets, run.docids, columns)
    order = arrange(run, Ranking(ties="ranx")).order
    assert order[[0, -2, -1]].tolist() == [0, len(scores) + 1, len(scores) + 2]
    twice = (order[1:-2] - 1).tolist()
    if "twice" in row:
        assert twice == row["twice"]
    else:
        digest = hashlib.sha256(",".join(map(str, twice)).encode()).hexdigest()
        assert (twice[:10], digest) == (row["twice_first10"], row["twice_sha256"])
