"""Names of measures: what parses to what, and what is said of names that do not parse."""

from __future__ import annotations

import pickle

import pytest

import treceval_py as te
from treceval_py import MeasureError, UnknownMeasureError, parse_measures
from treceval_py.judging.judged import JudgedRun
from treceval_py.measures import FAMILIES, NICKNAMES, declare, in_print_order


def names(*asked: str) -> list[str]:
    return [measure.name for measure in parse_measures(asked)]


SAME = [
    ("ndcg_cut.10", "ndcg_cut_10", "nDCG@10", "NDCG@10", "ndcg_cut@10", " nDCG @ 10 "),
    ("ndcg", "nDCG", "NDCG", "nDCG()"),
    ("map", "AP", "MAP"),
    ("map_cut.100", "map_cut_100", "AP@100", "MAP@100"),
    ("P.5", "P_5", "P@5", "Precision@5", "P.05"),
    ("recall.1000", "recall_1000", "R@1000", "Recall@1000"),
    ("recip_rank", "RR", "MRR"),
    ("Rprec", "RPrec"),
    ("bpref", "Bpref", "BPref"),
    ("iprec_at_recall.0.1", "iprec_at_recall..10", "iprec_at_recall_0.10", "IPrec@0.1"),
    ("success.1", "success_1", "Success@1"),
    ("set_P", "SetP"),
    ("set_relative_P", "SetRelP"),
    ("set_map", "SetAP"),
    ("set_F.0.5", "set_F_0.5", "SetF(beta=0.5)", "set_F..5"),
    ("ndcg.1=3,2=9", "ndcg.2=9,1=3", "ndcg_1=3,2=9", "nDCG(gains={1:3,2:9})", "nDCG(gains={2: 9, 1: 3})"),
    ("rbp.p=0.5", "rbp_p=0.5", "rbp(p=0.5)"),
    ("rbp.1=1,p=0.5", "rbp(gains={1:1},p=0.5)", "rbp(p=.5, gains={1:1})"),
    ("num_rel_ret", "NumRelRet"),
    ("AP(rel=2)@100", "MAP(rel=2)@100", "map_cut(rel=2)@100", "AP( rel = 2 )@100"),
    ("judged.10", "Judged@10"),
    ("recip_rank_cut.10", "RR@10", "MRR@10"),
    ("utility.1,-1,0,0", "utility(coefficients=1,-1,0,0)"),
]


@pytest.mark.parametrize("group", SAME, ids=lambda group: group[0])
def test_one_measure_has_many_names(group: tuple[str, ...]) -> None:
    found = [parse_measures(name) for name in group]
    assert all(len(each) == 1 for each in found)
    assert len({each[0] for each in found}) == 1


def test_a_measure_is_called_as_it_was_asked_for() -> None:
    assert names("P.5,10", "P_7", "nDCG@10", "AP( rel=2 )@100", "ndcg.1=3,2=9") == [
        "P_5", "P_10", "P_7", "nDCG@10", "AP(rel=2)@100", "ndcg_1=3,2=9",
    ]  # fmt: skip


def test_the_notation_of_a_measure_parses_to_itself() -> None:
    for family in FAMILIES.values():
        for measure in family.measures():
            assert parse_measures(measure.notation) == [measure], measure.notation
            assert parse_measures(measure.trec_name) == [measure], measure.trec_name


def test_parameters_replace_the_cutoffs_of_the_bare_name_as_in_trec_eval() -> None:
    assert names("P", "P.3") == ["P_3"]
    assert names("P.3", "P") == ["P_3"]
    assert [name for name in names("official", "P.3") if name.startswith("P_")] == ["P_3"]


def test_all_parameters_of_a_measure_count_not_only_the_first() -> None:
    assert names("P.5", "P.10") == ["P_5", "P_10"]


def test_a_printed_name_and_a_notation_are_added_to_the_bare_name() -> None:
    assert names("success", "success_3", "Success@7") == [
        "success_1",
        "success_5",
        "success_10",
        "success_3",
        "Success@7",
    ]


def test_a_measure_is_listed_once() -> None:
    assert names("map", "AP", "MAP", "map") == ["map"]


def test_print_order_is_trec_evals_whatever_was_asked_first() -> None:
    asked = parse_measures(["P.10,5", "ndcg", "map", "num_q"])
    assert [measure.name for measure in in_print_order(asked)] == ["num_q", "map", "P_5", "P_10", "ndcg"]


def test_there_are_all_57_measures_and_6_nicknames_of_trec_eval_10() -> None:
    names = list(FAMILIES)
    assert names[56:58] == ["unj", "recip_rank_cut"]  # those of trec_eval first
    assert list(NICKNAMES) == ["official", "set", "all_trec", "prefs", "all_prefs", "qrels_jg"]


def test_measures_can_be_pickled() -> None:
    for measure in parse_measures(["official", "AP(rel=2)@100", "ndcg.1=3"]):
        again = pickle.loads(pickle.dumps(measure))
        assert again == measure
        assert again.name == measure.name


REFUSED = [
    ("mapp", "unknown measure 'mapp'. Did you mean map? 'treceval measures' lists them all."),
    ("Map", "unknown measure 'Map'. Did you mean map? 'treceval measures' lists them all."),
    ("", "unknown measure ''. 'treceval measures' lists them all."),
    ("qqqq", "unknown measure 'qqqq'. 'treceval measures' lists them all."),
    ("Rprec@10", "measure 'Rprec@10': Rprec takes no cutoff. See 'treceval measures Rprec'."),
    ("nDCG@ten", "measure 'nDCG@ten': 'ten' is not a whole number. See 'treceval measures' for its parameters."),
    ("nDCG@", "measure 'nDCG@': no cutoff after the @. Write @10, for example."),
    ("R", "measure 'R': R needs a cutoff. Write R@10, for example."),
    ("P.0", "measure 'P.0': cutoff must be 1 or more, not 0. See 'treceval measures' for its parameters."),
    ("P.5,5", "measure 'P.5,5': a cutoff is given twice. See 'treceval measures' for its parameters."),
    ("P.5,", "measure 'P.5,': '' is not a whole number. See 'treceval measures' for its parameters."),
    ("P.23.4", "measure 'P.23.4': '23.4' is not a whole number. See 'treceval measures' for its parameters."),
    ("P.1e3", "measure 'P.1e3': '1e3' is not a whole number. See 'treceval measures' for its parameters."),
    ("P.", "measure 'P.': no parameters after the dot. Leave out the dot."),
    ("map.5", "measure 'map.5': map takes no parameters. See 'treceval measures map'."),
    ("set.5", "measure 'set.5': a nickname takes no parameters. Add the measure itself: set and P.5, for example."),
    ("rbp.p=2", "measure 'rbp.p=2': p must be between 0 and 1, not 2. See 'treceval measures' for its parameters."),
    ("rbp.0.5", "measure 'rbp.0.5': '0.5' is not of the form name=value. See 'treceval measures' for its parameters."),
    ("rbp.p=.5,p=.6", "measure 'rbp.p=.5,p=.6': p is given twice. See 'treceval measures' for its parameters."),
    ("set_F.-1", "measure 'set_F.-1': beta must be 0 or more, not -1. See 'treceval measures' for its parameters."),
    ("ndcg.1=-3", "measure 'ndcg.1=-3': gains must be 0 to 1e100, not {1:-3}. See 'treceval measures' for its parameters."),
    ("ndcg.x=3", "measure 'ndcg.x=3': 'x' is not a whole number. See 'treceval measures' for its parameters."),
    (
        "ndcg.-1=3",
        (
            "measure 'ndcg.-1=3': level -1 is negative, but unjudged documents have no gain. "
            "See 'treceval measures' for its parameters."
        ),
    ),
    ("AP(rel=x)", "measure 'AP(rel=x)': 'x' is not a whole number. See 'treceval measures' for its parameters."),
    ("AP(rel=-1)", "measure 'AP(rel=-1)': rel must be 0 or more, not -1. See 'treceval measures' for its parameters."),
    ("AP(p=2)", "measure 'AP(p=2)': map has no parameter 'p'. It has rel, norm, ties, judged_only."),
    ("utility.1,2", "measure 'utility.1,2': coefficients must be four numbers, not 1,2. See 'treceval measures' for its parameters."),
    (
        "iprec_at_recall.0.101,0.102",
        "measure 'iprec_at_recall.0.101,0.102': two cutoffs have the same printed name. Ask for one of them in another call.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "message"), REFUSED, ids=[name for name, _ in REFUSED])
def test_a_name_that_is_no_measure_is_refused_with_what_to_do(name: str, message: str) -> None:
    with pytest.raises(MeasureError) as caught:
        parse_measures(name)
    assert str(caught.value) == message


def test_an_unknown_measure_has_an_error_of_its_own() -> None:
    with pytest.raises(UnknownMeasureError):
        parse_measures("mapp")


def test_a_function_can_be_declared_as_a_measure() -> None:
    def retrieved_twice(run: JudgedRun, *, cutoff: int) -> te._types.IntArray:
        """Twice the documents retrieved, up to a cutoff."""
        return 2 * run.num_ret.clip(max=cutoff)

    declare(retrieved_twice, "retrieved_twice", notation=["Twice"], at="cutoff", cutoffs=[3])
    try:
        results = te.evaluate({"1": {"a": 1}}, {"1": {"a": 2.0, "b": 1.0}}, ["retrieved_twice", "Twice@1"])
        assert dict(results["1"]) == {"retrieved_twice_3": 4.0, "Twice@1": 2.0}
        with pytest.raises(MeasureError, match="there is already a measure called 'retrieved_twice'"):
            declare(lambda run: run.num_ret, "retrieved_twice")
    finally:
        del FAMILIES["retrieved_twice"]


def test_a_function_with_an_unknown_parameter_cannot_be_declared() -> None:
    def odd(run: JudgedRun, *, oddness: int) -> te._types.IntArray:
        return run.num_ret

    with pytest.raises(MeasureError, match="measure 'odd' has the unknown parameter 'oddness'"):
        declare(odd, "odd")
