"""Every measure against its slow twin, its documentation, and what must hold for all of them."""

from __future__ import annotations

import dataclasses
import math
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import twins
import twins_diversity
import twins_graded
import twins_lists
import twins_user_models
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import random_pair

from treceval_py import (
    DataError,
    JudgedRun,
    JudgmentGroups,
    Preference,
    Preferences,
    Qrels,
    Run,
    judge,
    parse_measures,
)
from treceval_py.data.ranking import Ranking
from treceval_py.judging.judged import JudgedGroups
from treceval_py.judging.locating import assemble, judge_groups, locate
from treceval_py.judging.preferences import JudgedPreferences, judge_preferences
from treceval_py.measures import FAMILIES, Family
from treceval_py.measures.documentation import documentation, sections
from treceval_py.measures.parameters import PARAMETERS
from treceval_py.measures.registry import TEXT
from treceval_py.scoring.pytrec import takes_qrels

OF_QRELS = [
    family
    for family in FAMILIES.values()
    if takes_qrels(family)
    and family.name != "runid"
    and family.average.over is None  # what has one value for all queries is in tests/test_measures_lists.py
]
NUMERIC = [family for family in OF_QRELS if family.kind != TEXT]
TWINS: dict[str, Callable[..., Any]] = {**twins.RANKED, **twins.GROUPED, **twins.PREFERENCES}
TWINS.update(twins_graded.GRADED)
TWINS.update(twins_diversity.DIVERSITY)
TWINS.update(twins_user_models.USER_MODELS)
TWINS.update(twins_lists.LISTS | twins_lists.SCORED | twins_lists.OF_ALL_QUERIES)

GAINS = [None, {1: 3.0, 2: 9.0}, {0: 1.0}, {1: 0.5, 2: 0.2, 3: 0.2}, {3: 0.0}]
CHOICES: dict[str, list[Any]] = {
    "level": [0, 1, 2, 5],
    "cutoff": [1, 2, 5, 1000],
    "recall": [0.0, 0.05, 0.3, 0.5, 0.75, 1.0],
    "recalls": [(0.0, 0.5, 1.0), (0.75, 0.25), (1.0, 1.0), (0.5, 0.0, 0.3)],
    "multiple": [0.0, 0.2, 1.0, 1.4, 2.0],
    "rounding": ["nearest", "up"],
    "gains": GAINS,
    "p": [0.5, 0.9, 0.95],
    "coefficients": [(1.0, -1.0, 0.0, 0.0), (2.0, -0.5, 0.25, 0.125)],
    "collection_size": [0, 100],
    "beta_squared": [0.0, 0.5, 1.0, 4.0],
    "length": [0, 3, 10, 100],
    "gain": ["linear", "exp", "binary"],
    "discount": ["log2", "jk", "position"],
    "base": [2.0, 3.0, 2.5, 10.0],
    "ideal": ["judged", "retrieved"],
    "steps": ["ordered"],
    "ties": ["ordered"],  # twins know of no ties; those that do are in tests/test_measures_graded.py
    "norm": ["relevant", "capped", "retrieved"],
    "max_rel": [4, 5, 10],
    "weights": [None, (1.0, 1.0, 1.0, 1.0), (0.0, 2.0, 0.0, 1.0), (1.0, 2.0, 4.0, 8.0, 16.0)],
    "beta": [0.0, 0.5, 1.0, 10.0],
    "min_rel": [0, 1, 2],
    "target": [0.5, 1.0, 1.5, 3.0],
    "deepest": [1, 2, 7, 100],
    "until": ["depth", "longer"],
    "normalised": ["yes", "no"],
    "divisor": ["cutoff", "retrieved"],
    "credit": ["half", "wrong"],
    "max_fpr": [1.0, 0.3],
    "negative": ["unjudged", "nonrelevant"],
    "stop": ["grade", "label"],
    "scale": ["max_rel", "none"],
    "decay": [0.85, 0.5, 0.0],
}
"""Values to try for each parameter."""


def random_parameters(family: Family, rng: random.Random) -> dict[str, Any]:
    chosen = {parameter.name: rng.choice(CHOICES[parameter.name]) for parameter in family.parameters}
    if chosen.get("gains"):
        chosen.pop("gain", None)  # gains of one's own go with linear gains only
    if chosen.get("discount") != "jk":
        chosen.pop("base", None)  # it is the base of the other discount
    return chosen


def values_of(family: Family, judged: Any, parameters: dict[str, Any]) -> list[Any]:
    found = family.function(judged, **parameters)
    return list(found) if isinstance(found, list) else [float(value) for value in found]


def close(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, str) else math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("family", list(FAMILIES.values()), ids=lambda family: family.name)
def test_a_measure_has_a_twin(family: Family) -> None:
    assert family.name in TWINS or family.name == "runid", "write it in tests/twins.py, from the definition"


@pytest.mark.parametrize("family", list(FAMILIES.values()), ids=lambda family: family.name)
def test_a_measure_is_documented(family: Family) -> None:
    text = documentation(family)
    for heading in ("Formula", "Returns", "References", "Examples", *(["Parameters"] if family.parameters else [])):
        assert f"\n{heading}\n{'-' * len(heading)}\n" in text, f"no section {heading}"
    assert "Empty case:" in text, "say what the value is for a query for which nothing was retrieved"
    assert ">>> " in text, "no worked example"
    for parameter in family.parameters:
        assert f"\n{parameter.name} : {parameter.form}\n    " in text, f"parameter {parameter.name} is not described"


@pytest.mark.parametrize("family", list(FAMILIES.values()), ids=lambda family: family.name)
def test_a_docstring_describes_a_parameter_only_where_it_says_more(family: Family) -> None:
    own = re.findall(r"^(\w+) : .*\n((?: {4}.*\n?)+)", sections(family.function).get("Parameters", ""), re.MULTILINE)
    for name, body in own:
        assert family.takes(name)
        assert " ".join(body.split()) not in PARAMETERS[name].meaning, name


def test_a_docstring_of_one_line_gets_its_parameters_below_an_empty_line() -> None:
    def worst(run: JudgedRun, *, level: int = 1) -> float:
        """Rank of the last."""
        return 0.0

    family = dataclasses.replace(FAMILIES["recip_rank"], function=worst)
    assert documentation(family).startswith("Rank of the last.\n\nParameters\n----------\nlevel : int, 0 or more\n")


def test_a_description_in_a_docstring_replaces_the_declared_one() -> None:
    text = documentation(FAMILIES["bpm_cut"])
    declared = PARAMETERS["cutoff"].meaning
    assert declared in documentation(FAMILIES["P"])
    assert declared not in text
    assert text.index("Formula\n-------\n") < text.index("Parameters\n") < text.index("\n\nReturns\n-------\n")


@pytest.mark.parametrize(
    "family", [each for each in OF_QRELS if each.name not in twins_lists.SCORED], ids=lambda family: family.name
)
def test_a_measure_of_relevance_equals_its_twin(family: Family) -> None:
    rng = random.Random(family.name)
    for _ in range(150):
        qrels, run = random_pair(rng)
        judged = judge(Qrels(qrels), Run(run))
        parameters = random_parameters(family, rng)
        expected = [
            TWINS[family.name](codes_of(qrels[qid], run.get(qid, {})), list(qrels[qid].values()), **parameters)
            for qid in judged.qids
        ]
        found = values_of(family, judged, parameters)
        assert all(map(close, found, expected)), (qrels, run, parameters, found, expected)


def codes_of(judgments: dict[str, int], scores: dict[str, float]) -> list[int]:
    return twins.codes_of(twins.order(scores), judgments)


@pytest.mark.parametrize("name", list(twins.GROUPED))
def test_a_measure_of_judgment_groups_equals_its_twin(name: str) -> None:
    rng = random.Random(name)
    for _ in range(100):
        qrels, run = random_pair(rng)
        groups = {qid: [judgments, *(random_pair(rng)[0].get(qid, {"d0": 1}) for _ in range(rng.randint(0, 2)))]
                  for qid, judgments in qrels.items()}  # fmt: skip
        raw = {
            qid: {
                str(number).encode(): {docid.encode(): rel for docid, rel in judgments.items()}
                for number, judgments in enumerate(of_query)
            }
            for qid, of_query in groups.items()
        }
        judged = judge_groups(JudgmentGroups(raw), Run(run))
        parameters = random_parameters(FAMILIES[name], rng)
        expected = [
            twins.GROUPED[name](
                [codes_of(judgments, run.get(qid, {})) for judgments in groups[qid]],
                [list(judgments.values()) for judgments in groups[qid]],
                **parameters,
            )
            for qid in judged.qids
        ]
        assert all(map(close, values_of(FAMILIES[name], judged, parameters), expected))


def random_preferences(rng: random.Random) -> list[tuple[str, str, str, float]]:
    """Return consistent lines of a few groups, some of one and some of several sub-groups."""
    lines = []
    for group in range(rng.randint(1, 3)):
        level_of = {f"d{number}": float(rng.randint(0, 3)) for number in range(8)}
        for subgroup in range(rng.choice([1, 1, 2, 3])):
            for docid in rng.sample(sorted(level_of), rng.randint(1, 6)):
                lines.append((f"g{group}", f"s{subgroup}", docid, level_of[docid]))
    rng.shuffle(lines)
    return lines


@pytest.mark.parametrize("name", list(twins.PREFERENCES))
def test_a_measure_of_preferences_equals_its_twin(name: str) -> None:
    rng = random.Random(name)
    for _ in range(150):
        lines = random_preferences(rng)
        scores = {f"d{number}": float(rng.randint(0, 5)) for number in rng.sample(range(12), rng.randint(0, 9))}
        rows = [Preference(group.encode(), sub.encode(), docid.encode(), level) for group, sub, docid, level in lines]
        judged = judge_preferences(Preferences({"q": rows}), Run({"q": scores}))
        expected = twins.PREFERENCES[name](twins.order_for_preferences(scores), lines)
        assert values_of(FAMILIES[name], judged, {}) == [pytest.approx(expected, rel=1e-12, abs=1e-12)]


def scored(family: Family, judged: JudgedRun) -> list[list[Any]]:
    """Return the values of all measures that the family's name stands for; random grades go up to 4."""
    return [list(measure.with_defaults({"max_rel": 4})(judged)) for measure in family.measures()]


def seen(family: Family, qrels: Qrels, run: Run) -> JudgedRun:
    """Judge a run with what a family needs."""
    return judge(qrels, run, tied=family.needs == "tied")


pairs = st.integers(0, 2**32).map(lambda seed: random_pair(random.Random(seed)))
few = settings(max_examples=25, deadline=None)


@pytest.mark.parametrize("family", OF_QRELS, ids=lambda family: family.name)
class TestForAllMeasures:
    @few
    @given(pair=pairs, seed=st.integers(0, 99))
    def test_the_order_of_lines_does_not_matter(self, family: Family, pair: Any, seed: int) -> None:
        qrels, run = pair
        assert scored(family, seen(family, Qrels(shuffled(qrels, seed)), Run(shuffled(run, seed)))) == scored(
            family, seen(family, Qrels(qrels), Run(run))
        )

    @few
    @given(pair=pairs)
    def test_only_the_order_of_scores_matters(self, family: Family, pair: Any) -> None:
        qrels, run = pair
        ranks = {
            qid: {docid: float(sorted(set(scores.values())).index(score)) for docid, score in scores.items()}
            for qid, scores in run.items()
        }
        assert scored(family, seen(family, Qrels(qrels), Run(ranks))) == scored(
            family, seen(family, Qrels(qrels), Run(run))
        )

    @few
    @given(pair=pairs)
    def test_documents_can_be_renamed_as_long_as_their_order_stays(self, family: Family, pair: Any) -> None:
        qrels, run = pair

        def renamed(table: Any) -> Any:
            return {qid: {f"x{docid}": value for docid, value in row.items()} for qid, row in table.items()}

        assert scored(family, seen(family, Qrels(renamed(qrels)), Run(renamed(run)))) == scored(
            family, seen(family, Qrels(qrels), Run(run))
        )

    @few
    @given(pair=pairs)
    def test_all_queries_at_once_are_as_one_at_a_time(self, family: Family, pair: Any) -> None:
        qrels, run = pair
        together = seen(family, Qrels(qrels), Run(run))
        alone = [seen(family, Qrels({qid: qrels[qid]}), Run({qid: run.get(qid, {})})) for qid in together.qids]
        expected = [[column[0] for column in scored(family, one)] for one in alone]
        assert [list(row) for row in zip(*scored(family, together), strict=True)] == expected

    @few
    @given(pair=pairs)
    def test_parts_of_a_run_put_together_are_the_run(self, family: Family, pair: Any) -> None:
        qrels, run = pair
        judgments = Qrels(qrels)
        parts = [
            locate(judgments, Run({qid: run[qid]}), Ranking(tied=family.needs == "tied"))
            for qid in sorted(run, reverse=True)
        ]
        together = assemble(judgments, parts, complete=True, tag="run")
        assert scored(family, together) == scored(family, seen(family, judgments, Run(run)))

    @few
    @given(pair=pairs)
    def test_an_empty_ranking_has_a_finite_value(self, family: Family, pair: Any) -> None:
        empty = seen(family, Qrels(pair[0]), Run({}))
        for column in scored(family, empty):
            assert all(isinstance(value, str) or math.isfinite(value) for value in column)


@pytest.mark.parametrize(
    ("name", "bounds"),
    [("map", (0, 1)), ("success", (0, 1)), ("num_ret", (0, math.inf)), ("utility", (-math.inf, math.inf)),
     ("infAP", (0, math.inf)), ("hits_cut", (0, math.inf)), ("arp", (0, math.inf)), ("rbp_graded", (0, math.inf)),
     ("yaap", (-math.inf, math.inf))],
)  # fmt: skip
def test_the_range_of_a_measure_is_that_of_its_docstring(name: str, bounds: tuple[float, float]) -> None:
    assert FAMILIES[name].bounds == bounds


@pytest.mark.parametrize("family", NUMERIC, ids=lambda family: family.name)
@few
@given(pair=pairs, seed=st.integers(0, 99))
def test_a_measure_stays_in_its_range_whatever_its_parameters(family: Family, pair: Any, seed: int) -> None:
    judged = seen(family, Qrels(pair[0]), Run(pair[1]))
    low, high = family.bounds
    for column in [*scored(family, judged), values_of(family, judged, random_parameters(family, random.Random(seed)))]:
        assert all(low <= value <= high + 1e-9 for value in column)


TAIL_COUNTS = {"num_ret", "set_P", "set_relative_P", "set_map", "set_F", "utility", "relstring", "unj", "rbp_resid",
               "judged", "Rndcg", "rbp_residual", "accuracy", "accuracy_cut", "average_gain", "set_judged", "hole",
               "fallout", "fallout_cut", "auc", "auc_cut", "opa"}  # fmt: skip
"""What documents without a judgment at the end of a ranking do change."""


@pytest.mark.parametrize("family", [each for each in OF_QRELS if each.name not in TAIL_COUNTS], ids=lambda f: f.name)
@few
@given(pair=pairs)
def test_unjudged_documents_at_the_end_change_nothing(family: Family, pair: Any) -> None:
    qrels, run = pair
    longer = {qid: {**scores, "zz1": -9.0, "zz2": -10.0} for qid, scores in run.items()}
    assert scored(family, seen(family, Qrels(qrels), Run(longer))) == scored(
        family, seen(family, Qrels(qrels), Run(run))
    )


def shuffled(table: Any, seed: int) -> Any:
    rng = random.Random(seed)

    def mixed(items: Any) -> Any:
        items = list(items)
        rng.shuffle(items)
        return items

    return {qid: dict(mixed(row.items())) for qid, row in mixed(table.items())}


def test_a_deep_run_costs_no_row_for_unjudged_documents() -> None:
    run = Run({"1": {f"x{number}": -float(number) for number in range(5000)} | {"a": -4000.5}})
    judged = judge(Qrels({"1": {"a": 1}}), run)
    assert (len(judged.hits.query), judged.hits.rank.tolist(), judged.num_ret.tolist()) == (1, [4002], [5001])


def test_depth_is_applied_before_unjudged_documents_are_taken_out() -> None:
    qrels, run = Qrels({"1": {"a": 1, "b": 1}}), Run({"1": {"x": 3.0, "a": 2.0, "b": 1.0}})
    judged = judge(qrels, run, depth=2, judged_only=True)
    assert (judged.hits.rank.tolist(), judged.num_ret.tolist()) == ([1], [1])


def test_scores_that_float32_cannot_tell_apart_are_tied_in_float32() -> None:
    # 16777217 is the first integer that float32 has not: trec_eval 9.0.8 puts the larger docid first.
    qrels, run = Qrels({"1": {"a": 1}}), Run({"1": {"a": 16777217.0, "b": 16777216.0}})
    assert judge(qrels, run).hits.rank.tolist() == [1]
    assert judge(qrels, run, score_type="float32").hits.rank.tolist() == [2]


def test_ranks_far_down_have_the_c_librarys_logarithm() -> None:
    run = Run({"1": {f"x{number:06}": -float(number) for number in range(9999)} | {"a": -9998.5}})
    value = float(parse_measures("dcg")[0](judge(Qrels({"1": {"a": 1}}), run))[0])
    assert value == 1 / math.log2(10001)


def test_queries_are_in_the_order_of_their_bytes() -> None:
    names = ["10", "9", "é", "B", "a", "01"]
    judged = judge(Qrels({name: {"d": 1} for name in names}), Run({"9": {"d": 1.0}}))
    assert judged.qids == ("01", "10", "9", "B", "a", "é")


def test_arrays_of_all_kinds_have_their_declared_types() -> None:
    judged = judge(Qrels({"1": {"a": 1}}), Run({"1": {"a": 1.0}}))
    assert all(array.dtype == np.int64 for array in (judged.hits.rank, judged.ideal.rel, judged.num_ret))
    assert isinstance(judged, JudgedRun)
    assert FAMILIES["prefs_pair"].judged is JudgedPreferences
    assert FAMILIES["map_avgjg"].judged is JudgedGroups


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"order": "rang"}, "order must be score or rank or line, not 'rang'"),
        ({"ties": "asc"}, "ties must be docid-desc or docid-asc or line or ranx or worst, not 'asc'"),
        ({"score_type": "float16"}, "score_type must be float64 or float32, not 'float16'"),
    ],
)
def test_a_rule_that_is_not_known_is_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        judge(Qrels({"1": {"a": 1}}), Run({"1": {"a": 1.0}}), **option)
