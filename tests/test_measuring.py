"""Every measure against its slow twin, its documentation, and what must hold for all of them."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import twins
import twins_diversity
import twins_estimates
import twins_graded
import twins_lists
import twins_sampled
import twins_user_models
from random_runs import random_pair
from rankings import CHOICES, random_parameters
from refused import refusal
from syrupy.assertion import SnapshotAssertion

from treceval_py import Qrels, Run
from treceval_py.data import JudgmentGroups, Preference, Preferences
from treceval_py.data.ranking import Ranking
from treceval_py.judging import JudgedRun, judge, preferences
from treceval_py.judging.judged import JudgedGroups
from treceval_py.judging.located import locate
from treceval_py.judging.locating import assemble, judge_groups
from treceval_py.judging.preferences import JudgedPreferences, judge_preferences
from treceval_py.measuring import FAMILIES, Family, declare, parse_measures
from treceval_py.measuring.documentation import documentation, sections
from treceval_py.measuring.parameters import PARAMETERS
from treceval_py.measuring.preferences import preference_mean_over_pairs
from treceval_py.measuring.registry import TEXT
from treceval_py.scoring.pytrec import takes_qrels

OF_QRELS = [
    family
    for family in FAMILIES.values()
    if takes_qrels(family)
    and family.name != "runid"
    and family.average.over is None  # what has one value for all queries is in tests/test_measuring_lists.py
]
TWINS: dict[str, Callable[..., Any]] = {**twins.RANKED, **twins.GROUPED, **twins.PREFERENCES}
TWINS.update(twins_graded.GRADED)
TWINS.update(twins_diversity.DIVERSITY)
TWINS.update(twins_user_models.USER_MODELS)
TWINS.update(twins_lists.LISTS | twins_lists.SCORED | twins_lists.OF_ALL_QUERIES)
TWINS.update(twins_sampled.STRATA | twins_sampled.PROBABILITIES | twins_estimates.ESTIMATES)

UNTIED = CHOICES | {"ties": ["ordered"], "steps": ["ordered"]}
"""Twins know of no ties; those that do are in tests/test_measuring_graded.py."""


def values_of(family: Family, judged: Any, parameters: dict[str, Any]) -> list[Any]:
    found = family.function(judged, **parameters)
    return list(found) if isinstance(found, list) else [float(value) for value in found]


def close(a: Any, b: Any) -> bool:
    return a == b if isinstance(a, str) else math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


def test_every_measure_has_a_twin() -> None:
    assert {*FAMILIES} - {*TWINS} == {"runid"}, "write it in tests/twins.py, from the definition"


def undocumented(family: Family) -> Iterator[str]:
    text = documentation(family)
    for heading in ("Formula", "Returns", "References", "Examples", *(["Parameters"] if family.parameters else [])):
        if f"\n{heading}\n{'-' * len(heading)}\n" not in text:
            yield f"section {heading}"
    # What the value is for a query for which nothing was retrieved, and a worked example.
    yield from (part for part in ("Empty case:", ">>> ") if part not in text)
    for parameter in family.parameters:
        if f"\n{parameter.name} : {parameter.form}\n    " not in text:
            yield f"parameter {parameter.name}"
    # A docstring describes a parameter only where it says more than the declaration.
    own = re.findall(r"^(\w+) : .*\n((?: {4}.*\n?)+)", sections(family).get("Parameters", ""), re.MULTILINE)
    for name, body in own:
        if not family.takes(name) or " ".join(body.split()) in PARAMETERS[name].meaning:
            yield f"more about {name}"


def test_every_measure_is_documented() -> None:
    lacking = {family.name: [*undocumented(family)] for family in FAMILIES.values()}
    assert {name: parts for name, parts in lacking.items() if parts} == {}


def test_a_measure_of_the_first_k_documents_says_so_in_its_title() -> None:
    cut = {name: family for name, family in FAMILIES.items() if family.at is PARAMETERS["cutoff"] and family.uncut}
    assert [name for name, family in cut.items() if family.uncut and family.title == family.uncut.title] == []
    assert FAMILIES["hits_cut"].title == "Hits: number of relevant documents among the first k, averaged over queries."
    assert FAMILIES["hits"].title == "Hits: number of relevant documents retrieved, averaged over queries."
    assert documentation(FAMILIES["ndcg_cut"]).startswith(
        "nDCG of the first k documents, as in nDCG@10.\n\nFormula\n-------\nnDCG = "
    )


def test_facts_that_are_declared_fit_the_signatures() -> None:
    for family in FAMILIES.values():
        assert {*family.defaults} <= {parameter.name for parameter in family.parameters}, family.name
        assert family.judged is not None
        assert all(family.takes(name) for name in family.later)


def test_a_docstring_of_one_line_gets_its_parameters_below_an_empty_line() -> None:
    def worst(run: JudgedRun, *, level: int = 1) -> float:
        """Rank of the last."""
        return 0.0

    family = Family(name="worst", function=worst, at=None)
    assert documentation(family).startswith("Rank of the last.\n\nParameters\n----------\nlevel : int, 0 or more\n")


def test_a_description_in_a_docstring_replaces_the_declared_one() -> None:
    text = documentation(FAMILIES["bpm_cut"])
    declared = PARAMETERS["cutoff"].meaning
    assert declared in documentation(FAMILIES["P"])
    assert declared not in text
    assert text.index("Formula\n-------\n") < text.index("Parameters\n") < text.index("\n\nReturns\n-------\n")


# Twins ------------------------------------------------------------------------------------------------


def many(rng: random.Random, number: int) -> tuple[Any, Any]:
    """Put random judgments and runs together, under query ids of their own."""
    pairs = [random_pair(rng) for _ in range(number)]
    qrels, run = ({f"{at}-{qid}": row for at, pair in enumerate(pairs) for qid, row in pair[side].items()}
                  for side in (0, 1))  # fmt: skip
    return qrels, run


def codes_of(judgments: dict[str, int], scores: dict[str, float]) -> list[int]:
    return twins.codes_of(twins.order(scores), judgments)


def test_measures_of_relevance_equal_their_twins() -> None:
    collections = [many(random.Random(seed), 3) for seed in range(20)]
    inputs = [
        (
            judge(Qrels(qrels), Run(run)),
            [(codes_of(qrels[qid], run.get(qid, {})), [*qrels[qid].values()]) for qid in sorted(qrels)],
        )
        for qrels, run in collections
    ]
    wrong = {}
    for family in OF_QRELS:
        rng = random.Random(family.name)
        for number, (judged, queries) in enumerate(inputs * 3 if family.name not in twins_lists.SCORED else []):
            parameters = random_parameters(family, rng, UNTIED)
            expected = [TWINS[family.name](codes, labels, **parameters) for codes, labels in queries]
            found = values_of(family, judged, parameters)
            if not all(map(close, found, expected)):
                wrong[family.name] = (collections[number % 20], parameters, found, expected)
    assert wrong == {}


@pytest.mark.parametrize("name", twins.GROUPED)
def test_a_measure_of_judgment_groups_equals_its_twin(name: str) -> None:
    rng = random.Random(name)
    for _ in range(60):
        qrels, run = random_pair(rng)
        groups = {qid: [judgments, *(random_pair(rng)[0].get(qid, {"d0": 1}) for _ in range(rng.randint(0, 2)))]
                  for qid, judgments in qrels.items()}  # fmt: skip
        named = {qid: {str(number): judgments for number, judgments in enumerate(of)} for qid, of in groups.items()}
        judged = judge_groups(JudgmentGroups.from_dict(named), Run(run))
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


def test_measures_of_preferences_equal_their_twins() -> None:
    rng, wrong = random.Random("preferences"), {}
    for number in range(300):
        lines = random_preferences(rng)
        scores = {f"d{number}": float(rng.randint(0, 5)) for number in rng.sample(range(12), rng.randint(0, 9))}
        rows = [Preference(group.encode(), sub.encode(), docid.encode(), level) for group, sub, docid, level in lines]
        judged = judge_preferences(Preferences({"q": rows}), Run({"q": scores}))
        ranking = twins.order(scores, later_first=False)
        for name, twin in twins.PREFERENCES.items():
            (found,), expected = values_of(FAMILIES[name], judged, {}), twin(ranking, lines)
            if not close(found, expected):
                wrong[name, number] = (lines, scores, found, expected)
    assert wrong == {}


# What holds for all of them ---------------------------------------------------------------------------


def scored(judged: Callable[[bool], JudgedRun], families: list[Family] = OF_QRELS) -> dict[str, list[Any]]:
    """Return the values of all measures; random grades go up to 4."""
    runs = {tied: judged(tied) for tied in (False, True)}
    return {
        str(measure): list(measure.with_defaults({"max_rel": 4})(runs[family.needs == "tied"]))
        for family in families
        for measure in family.measures()
    }


def plain(qrels: Any, run: Any) -> dict[str, list[Any]]:
    return scored(lambda tied: judge(Qrels(qrels), Run(run), tied=tied))


def shuffled(table: Any) -> Any:
    rng = random.Random(3)

    def mixed(items: Any) -> Any:
        items = list(items)
        rng.shuffle(items)
        return items

    return {qid: dict(mixed(row.items())) for qid, row in mixed(table.items())}


def renamed(table: Any) -> Any:
    return {qid: {f"x{docid}": value for docid, value in row.items()} for qid, row in table.items()}


def ranks(run: Any) -> Any:
    return {
        qid: {docid: float(sorted({*scores.values()}).index(score)) for docid, score in scores.items()}
        for qid, scores in run.items()
    }


TAIL_COUNTS = {"num_ret", "set_P", "set_relative_P", "set_map", "set_F", "utility", "relstring", "unj", "rbp_resid",
               "judged", "Rndcg", "rbp_residual", "accuracy", "accuracy_cut", "average_gain", "set_judged", "hole",
               "fallout", "fallout_cut", "auc", "auc_cut", "opa"}  # fmt: skip
"""What documents without a judgment at the end of a ranking do change."""

CHANGES: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "the order of lines": lambda qrels, run: (shuffled(qrels), shuffled(run)),
    "scores in the same order": lambda qrels, run: (qrels, ranks(run)),
    "names of documents in the same order": lambda qrels, run: (renamed(qrels), renamed(run)),
    "unjudged documents at the end": lambda qrels, run: (
        qrels,
        {qid: {**scores, "zz1": -9.0, "zz2": -10.0} for qid, scores in run.items()},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_does_not_change_a_measure(change: str) -> None:
    qrels, run = many(random.Random(1), 40)
    before, after = plain(qrels, run), plain(*CHANGES[change](qrels, run))
    counts = {str(measure) for name in TAIL_COUNTS for measure in FAMILIES[name].measures()}
    assert {name for name in before if before[name] != after[name]} == (counts if "the end" in change else set())


def test_all_queries_at_once_are_as_one_at_a_time_and_as_parts_of_a_run() -> None:
    qrels, run = many(random.Random(2), 6)
    together = plain(qrels, run)
    alone = [plain({qid: qrels[qid]}, {qid: run.get(qid, {})}) for qid in sorted(qrels)]
    assert {name: [each[name][0] for each in alone] for name in together} == together

    def in_parts(tied: bool) -> JudgedRun:
        judgments = Qrels(qrels)
        parts = [locate(judgments, Run({qid: run[qid]}), Ranking(tied=tied)) for qid in sorted(run, reverse=True)]
        return assemble(judgments, parts, complete=True, tag="run")

    assert scored(in_parts) == together


def test_an_empty_ranking_has_a_finite_value() -> None:
    values = plain(many(random.Random(3), 20)[0], {})
    assert not any(isinstance(value, float) and not math.isfinite(value) for row in values.values() for value in row)


def test_the_declared_range_of_a_measure_is_that_of_its_docstring() -> None:
    stated = {name: Family(function=family.function).bounds for name, family in FAMILIES.items()}
    stated["num_q"] = (0, math.inf)  # which says "Ones"
    assert {name: family.bounds for name, family in FAMILIES.items()} == stated
    bounds = {
        "map": (0, 1), "success": (0, 1), "num_ret": (0, math.inf), "utility": (-math.inf, math.inf),
        "infAP": (0, math.inf), "hits_cut": (0, math.inf), "arp": (0, math.inf), "rbp_graded": (0, math.inf),
        "yaap": (-math.inf, math.inf),
    }  # fmt: skip
    assert {name: stated[name] for name in bounds} == bounds


def test_the_ranges_of_measures_are_the_same_without_docstrings() -> None:
    code = "from treceval_py.measuring import FAMILIES; print({name: each.bounds for name, each in FAMILIES.items()})"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{ ({name: each.bounds for name, each in FAMILIES.items()}) }\n"


def test_a_user_s_measure_declares_its_range_or_states_it_in_its_docstring() -> None:
    def silent(run: JudgedRun) -> Any:
        return run.num_ret

    def stating(run: JudgedRun) -> Any:
        """Says it.

        Returns
        -------
        (Q,) int array
            From 0.
        """
        return run.num_ret

    made = [
        declare(silent, "range_of_none"),
        declare(silent, "range_given", bounds=(1, 5)),
        declare(stating, "range_said"),
    ]
    try:
        assert [family.bounds for family in made] == [(-math.inf, math.inf), (1, 5), (0, math.inf)]
        assert declare(stating, "range_said", bounds=(2, 3)).bounds == (2, 3)
    finally:
        for family in made:
            del FAMILIES[family.name]


def test_measures_stay_in_their_ranges_whatever_their_parameters() -> None:
    outside = {}
    for seed in range(20):
        qrels, run = many(random.Random(seed), 3)
        judged, rng = judge(Qrels(qrels), Run(run), tied=True), random.Random(seed)
        for family in [family for family in OF_QRELS if family.kind != TEXT]:
            low, high = family.bounds
            usual = values_of(family, judged, dict(family.measures()[0].with_defaults({"max_rel": 4}).parameters))
            given = random_parameters(family, rng)
            for value in [*usual, *values_of(family, judged, given)]:
                if not low <= value <= high + 1e-9:
                    outside[family.name] = (qrels, run, given, value)
    assert outside == {}


# Judging ----------------------------------------------------------------------------------------------


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
    # Discounts down to rank 4095 stand in a table.
    for rank in (4094, 4095, 4096, 4097, 10000):
        run = Run({"1": {f"x{number:06}": -float(number) for number in range(1, rank)} | {"a": -rank + 0.5}})
        value = float(parse_measures("dcg")[0](judge(Qrels({"1": {"a": 1}}), run))[0])
        assert value == 1 / math.log2(rank + 1)


def test_a_geometric_mean_has_a_floor_of_a_hundred_thousandth() -> None:
    average = FAMILIES["gm_map"].average
    for value, counted in ((0.0, 1e-5), (9e-6, 1e-5), (1e-5, 1e-5), (1.1e-5, 1.1e-5)):
        assert average(np.array([value, 1.0]), 2) == pytest.approx(math.sqrt(counted), rel=1e-12)  # type: ignore[arg-type]


def test_a_multiple_of_any_size_has_a_value() -> None:
    # Ranks are counted up to 10^15; of two relevant documents one is found.
    judged = judge(Qrels({"1": {"a": 1, "b": 1}}), Run({"1": {"a": 1.0}}))
    for multiple, cutoff in (("4e14", 8e14), ("5e14", 1e15), ("6e14", 1e15), ("1e300", 1e15)):
        assert float(parse_measures(f"Rprec_mult@{multiple}")[0](judged)[0]) == pytest.approx(1 / cutoff, rel=1e-12)


def test_queries_are_in_the_order_of_their_bytes() -> None:
    names = ["10", "9", "é", "B", "a", "01"]
    judged = judge(Qrels({name: {"d": 1} for name in names}), Run({"9": {"d": 1.0}}))
    assert judged.qids == ("01", "10", "9", "B", "a", "é")


def test_arrays_of_all_kinds_have_their_declared_types() -> None:
    judged = judge(Qrels({"1": {"a": 1}}), Run({"1": {"a": 1.0}}))
    assert all(array.dtype == np.int64 for array in (judged.hits.rank, judged.ideal.rel, judged.num_ret))
    assert FAMILIES["prefs_pair"].judged is JudgedPreferences
    assert FAMILIES["map_avgjg"].judged is JudgedGroups


def test_a_rule_that_is_not_known_is_refused(snapshot: SnapshotAssertion) -> None:
    qrels, run = Qrels({"1": {"a": 1}}), Run({"1": {"a": 1.0}})
    wrong: list[dict[str, Any]] = [{"order": "rang"}, {"ties": "asc"}, {"score_type": "float16"}]
    assert [refusal(judge, qrels, run, **option) for option in wrong] == snapshot


def test_pairs_of_many_documents_are_compared_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both groups prefer x to y; one prefers x to z, and y to z, and the other the reverse.
    judged = preferences.preferred("x y", "x y z", "z x y")
    values = [preference_mean_over_pairs(judged).tolist()]
    monkeypatch.setattr(preferences, "CELLS", 1)  # a document at a time
    values.append(preference_mean_over_pairs(judged._replace(made={})).tolist())
    assert values == [[(1 + 0.5 + 0.5) / 3]] * 2
