"""`import treceval_py as pytrec_eval`: the same names, values, order, errors. Each is compared with pytrec_eval live."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from random_runs import random_pair
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te

QRELS = {"q2": {"a": 1, "b": 0, "c": 2}, "q1": {"a": 1}}
RUN = {"q2": {"a": 1.0, "b": 2.0, "x": 0.5}, "q1": {"a": 0.5, "y": 0.5}}


def evaluated(module: Any, qrels: Any = QRELS, measures: Any = ("map",), run: Any = RUN, **options: Any) -> Any:
    return module.RelevanceEvaluator(qrels, measures, **options).evaluate(run)


def test_the_names_are_those_of_pytrec_eval() -> None:
    assert {*pytrec_eval.__all__, "compute_aggregated_measure"} <= set(te.MODULES["treceval_py"])
    assert te.supported_measures == pytrec_eval.supported_measures
    assert isinstance(te.supported_measures, set)
    assert len(te.supported_measures) == 34
    assert te.supported_nicknames == pytrec_eval.supported_nicknames
    assert isinstance(te.supported_nicknames, dict)


def test_the_queries_are_in_the_order_of_the_run() -> None:
    assert list(evaluated(te)) == list(evaluated(pytrec_eval)) == ["q2", "q1"]
    backwards = dict(reversed(RUN.items()))
    assert list(evaluated(te, run=backwards)) == list(evaluated(pytrec_eval, run=backwards)) == ["q1", "q2"]


def test_the_keys_of_a_query_are_the_same_in_the_same_order() -> None:
    for names in ({"all_trec"}, {"official", "ndcg_cut.7"}, {"official", "P_3"}, {"P", "P_5,3", "map"}):
        assert list(evaluated(te, measures=names)["q1"]) == list(evaluated(pytrec_eval, measures=names)["q1"]), names


SAME: list[dict[str, Any]] = [
    {"run": {}},
    {"run": None},
    {"qrels": {}},
    {"qrels": {"q1": {}, "q2": {"a": 1}}},
    {"measures": set()},
    {"measures": {"map": 1, "ndcg": 2}},
    {"qrels": {"q1": {"a": True}}},
    {"run": {"q1": {"a": 1, "b": math.inf}}},
    {"run": {"q1": {"a": -math.inf, "b": True}}},
    {"run": {"q1": {"a": np.float64(1.0)}}},
    {"run": {"q1": {"a": 1.0}, "unjudged": {"a": 1.0}}},
    {"relevance_level": True},
    {"relevance_level": 1},
    {"relevance_level": np.int64(2)},
    {"relevance_level": 3},
    {"judged_docs_only_flag": 1},
    {"measures": ["gm_map", "gm_bpref"], "run": {"q1": {"x": 1.0}}},
]


def test_the_values_are_those_of_pytrec_eval() -> None:
    for changes in SAME:
        found, theirs = evaluated(te, **changes), evaluated(pytrec_eval, **changes)
        assert found == theirs, changes
        assert all(type(value) is float for values in found.values() for value in values.values()), changes


REFUSED: dict[type, list[dict[str, Any]]] = {
    ValueError: [{"measures": {name}} for name in ("mapp", "prefs", "all_prefs", "qrels_jg", "prefs_simp")],
    TypeError: [
        *({"measures": measures} for measures in (None, 10, [None], [b"map"])),
        *(
            {"qrels": {"q1": judged}}
            for judged in ({"a": "1"}, {"a": None}, {"a": math.nan}, {"a": 1.5}, None, 5, {"a": 1, 7: 1})
        ),
        *({"run": {"q1": scores}} for scores in ({"a": "1"}, {"a": None}, None, 5, {"a": 1.0, 7: 1.0})),
        *({"run": run} for run in (5, "run.txt", {"q1": {"a": 1.0}, 7: {"a": 1.0}})),
        *({"relevance_level": level} for level in (0, 1.5, "1", None)),
    ],
}


def raised(module: Any, changes: dict[str, Any]) -> Exception | None:
    try:
        evaluated(module, **changes)
    except Exception as error:  # noqa: BLE001
        return error
    return None


def test_an_error_is_of_the_class_that_pytrec_eval_raises_and_of_ours() -> None:
    wrong = {}
    for kind, changes in [(kind, changes) for kind, cases in REFUSED.items() for changes in cases]:
        theirs, found = raised(pytrec_eval, changes), raised(te, changes)
        both = isinstance(theirs, kind) and isinstance(found, kind) and isinstance(found, te.errors.TrecevalError)
        if not both or type(pickle.loads(pickle.dumps(found))) is not type(found):
            wrong[str(changes)] = (theirs, found)
    assert wrong == {}


def test_what_pytrec_eval_gets_wrong_is_refused_or_right() -> None:
    """The cases of docs/coming-from/pytrec_eval.md; expected values by hand."""
    for name in ("ndcg_cut_10foo", "P_5.5", "P_0", "num_q.1"):
        with pytest.raises(te.errors.MeasureError):
            evaluated(te, measures={name})
    assert evaluated(te, measures="map") == evaluated(te, measures={"map"})
    with pytest.raises(te.errors.DataError, match="NaN"):
        evaluated(te, run={"q1": {"a": math.nan}})
    for judgments in (None, [], 5, "qrels.txt"):
        with pytest.raises(te.errors.DataError, match="judgments of type"):
            evaluated(te, qrels=judgments)
    # one relevant document, at rank 1, whatever its label
    assert evaluated(te, qrels={"q1": {"a": 2**40}}, measures={"ndcg"}, run={"q1": {"a": 1.0}}) == {"q1": {"ndcg": 1}}
    # two documents of q2 are judged 1 or more, though nothing is retrieved
    assert evaluated(te, measures={"num_rel", "num_ret"}, run={"q2": {}}) == {"q2": {"num_ret": 0, "num_rel": 2}}


def test_an_average_is_that_of_pytrec_eval() -> None:
    wrong = {}
    for name in sorted(pytrec_eval.supported_measures | {"P_5", "my measure"}):
        for values in ([], [-1.0, 0.25, 2.0], (0.5,), np.array([1.0, 2.0])):
            found = te.compute_aggregated_measure(name, values)
            empty = not len(values) and name[:4] != "num_"
            with np.errstate(all="ignore"):
                theirs = math.nan if empty else pytrec_eval.compute_aggregated_measure(name, values)
            if type(found) is not float or found != pytest.approx(theirs, rel=1e-15, nan_ok=True):
                wrong[name, len(values)] = (found, theirs)
    assert wrong == {}


def test_an_average_takes_what_yields_numbers_and_refuses_the_rest() -> None:
    assert te.compute_aggregated_measure("map", {"q1": 0.5, "q2": 1.0}.values()) == 0.75
    for wrong in (None, 5.0, ["x"], [None]):
        with pytest.raises(TypeError) as caught:
            te.compute_aggregated_measure("map", wrong)  # type: ignore[arg-type]
        assert isinstance(caught.value, te.errors.DataError)


GOOD_RUN = ["q1 Q0 a 1 2.5 tag\n", "  q1\tQ0 b 2 -1e3 tag", "q2 Q0 a 0 nan tag"]
GOOD_QRELS = ["q1 0 a 1\n", "# 0 comment -2", "q1\t0 b 1_0"]


def test_lines_are_read_as_by_pytrec_eval() -> None:
    ours, theirs = te.parse_run(GOOD_RUN), pytrec_eval.parse_run(GOOD_RUN)
    assert repr(ours) == repr(theirs)
    assert te.parse_qrel(iter(GOOD_QRELS)) == pytrec_eval.parse_qrel(iter(GOOD_QRELS))
    ours["new"]["a"] = 1.0  # a defaultdict, as theirs
    assert te.parse_run([]) == {}


WRONG_LINES: list[tuple[str, list[str], type]] = [
    ("parse_run", ["q1 Q0 a 1 2.5"], ValueError),
    ("parse_run", ["q1 Q0 a 1 2.5 my tag"], ValueError),
    ("parse_run", ["q1 Q0 a 1 2.5 tag", "\n"], ValueError),
    ("parse_run", ["q1 Q0 a 1 2,5 tag"], ValueError),
    ("parse_run", ["q1 Q0 a 1 2 t", "q1 Q0 a 2 1 t"], AssertionError),
    ("parse_qrel", ["q1 0 a"], ValueError),
    ("parse_qrel", ["q1 0 a 1.0"], ValueError),
    ("parse_qrel", ["q1 0 a 1", "q1 0 a 1"], AssertionError),
]


def test_a_wrong_line_is_refused_as_by_pytrec_eval(snapshot: SnapshotAssertion) -> None:
    said = {}
    for function, lines, kind in WRONG_LINES:
        with pytest.raises(kind):
            getattr(pytrec_eval, function)(lines)
        with pytest.raises(kind) as caught:
            getattr(te, function)(lines)
        assert isinstance(caught.value, te.errors.DataError)
        said[f"{function}: {lines}"] = str(caught.value)
    assert said == snapshot


def test_what_has_no_place_here_is_refused_with_a_way_out(snapshot: SnapshotAssertion) -> None:
    assert [
        refusal(te.parse_run, "run.txt"),
        refusal(te.parse_qrel, "run.txt"),
        refusal(evaluated, te, measures={"map", "prefs_simp"}),
        refusal(evaluated, te, relevance_level=-1),
    ] == snapshot


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")
@pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.SuspectRunWarning"
)  # some made runs have only unjudged documents
def test_all_measures_and_their_averages_over_random_runs() -> None:
    names = pytrec_eval.supported_measures - {"runid", "relstring"}  # texts, which it reads from memory of its own
    for seed in range(100):
        qrels, run = random_pair(random.Random(seed), negatives=False)
        ours, theirs = evaluated(te, qrels, names, run), evaluated(pytrec_eval, qrels, names, run)
        assert list(ours) == list(theirs)
        profile = te.evaluate(qrels, run, ["map", "ndcg_cut_10", "bpref"], profile="pytrec_eval")
        for name in profile.names:
            values = [each[name] for each in theirs.values()]
            assert profile.mean[name] == pytest.approx(sum(values) / len(values), abs=1e-12), (seed, name)
        for key in next(iter(theirs.values()), {}):
            columns = [[values[key] for values in each.values()] for each in (ours, theirs)]
            if not any(map(math.isnan, columns[1])):
                mine, their = (module.compute_aggregated_measure(key, column)
                               for module, column in zip((te, pytrec_eval), columns, strict=True))  # fmt: skip
                assert mine == pytest.approx(their, rel=1e-12), (seed, key)
