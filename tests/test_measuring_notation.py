"""Names of measures: what parses to what, and what is said of names that do not parse."""

from __future__ import annotations

import pickle

import pytest
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.errors import MeasureError
from treceval_py.judging.judged import JudgedRun
from treceval_py.measuring import FAMILIES, NICKNAMES, Measure, declare, in_print_order, parse_measures
from treceval_py.measuring.documentation import documentation
from treceval_py.measuring.probes import given


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


def test_one_measure_has_many_names() -> None:
    found = {group: [parse_measures(name) for name in group] for group in SAME}
    assert [group for group, each in found.items() if len(each[0]) != 1 or any(one != each[0] for one in each)] == []


def test_a_measure_is_called_as_it_was_asked_for() -> None:
    assert names("P.5,10", "P_7", "nDCG@10", "AP( rel=2 )@100", "ndcg.1=3,2=9") == [
        "P_5", "P_10", "P_7", "nDCG@10", "AP(rel=2)@100", "ndcg_1=3,2=9",
    ]  # fmt: skip


def test_the_notation_of_a_measure_parses_to_itself() -> None:
    for family in FAMILIES.values():
        for measure in family.measures():
            assert parse_measures(measure.notation) == [measure], measure.notation
            assert parse_measures(measure.trec_name) == [measure], measure.trec_name


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        pytest.param("P P.3", "P_3", id="parameters replace the cutoffs of the bare name as in trec_eval"),
        pytest.param("P.3 P", "P_3", id="whichever comes first"),
        pytest.param("P.5 P.10", "P_5 P_10", id="all parameters count"),
        pytest.param(
            "success success_3 Success@7",
            "Success@1 Success@5 Success@10 success_3 Success@7",
            id="a printed name and a notation are added to the bare name",
        ),
        pytest.param("map AP MAP map", "map", id="a measure is listed once"),
    ],
)
def test_measures_of_several_names(asked: str, found: str) -> None:
    assert names(*asked.split()) == found.split()


def test_each_name_alone_stands_for_these_measures(snapshot: SnapshotAssertion) -> None:
    # trec_eval's are in its recorded outputs too; the other cutoffs are a choice of this package.
    assert {
        name: " ".join(measure.line_name for measure in family.measures()) for name, family in FAMILIES.items()
    } == snapshot


def test_parameters_replace_the_cutoffs_of_a_nickname() -> None:
    assert [name for name in names("official", "P.3") if name.startswith("P_")] == ["P_3"]


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
    "mapp", "Map", "", "qqqq", "Rprec@10", "nDCG@ten", "nDCG@", "R", "P.0", "P.5,5", "P.5,", "P.23.4", "P.1e3", "P.", "map.5",
    "set.5", "rbp.p=2", "rbp.0.5", "rbp.p=.5,p=.6", "rbp.p=0.5=1", "set_F.-1", "ndcg.1=-3", "ndcg.x=3", "ndcg.-1=3", "AP(rel=x)",
    "AP(rel=-1)", "AP(p=2)", "AP(rel=1,rel=2)", "AP(2)", "utility.1,2", "iprec_at_recall.0.101,0.102", "iprec_at_recall.1.01",
    "iprec_at_recall.-0.01", "nDCG(gains=1:3)", "rbp(p=.)", "rbp(p=1e999)", "P.1234567890123456789",
]  # fmt: skip


def test_a_name_that_is_no_measure_is_refused_with_what_to_do(snapshot: SnapshotAssertion) -> None:
    assert {name: refusal(parse_measures, name) for name in REFUSED} == snapshot


RANGES = {
    "set_F(beta={})": ("0", "-0.001"),
    "AP(rel={})": ("0", "-1"),
    "P@{}": ("1", "0"),
    "P.{}": ("999999999999999999", "1000000000000000000"),
    "IPrec@{}": ("0", "-0.001"),
    "IPrec(rel=1)@{}": ("1", "1.001"),
    "Rprec_mult@{}": ("0", "-0.001"),
    "11pt_avg(recalls={})": ("1", "0,1.001"),
    "11pt_avg(rel=1,recalls={})": ("0", "-0.001"),
    "utility(coefficients={})": ("1,2,3,4", "1,2,3,4,5"),
    "utility(docs={})": ("0", "-1"),
    "relstring(length={})": ("0", "-1"),
    "RBP(p={})": ("1", "1.001"),
    "RBP(rel=1,p={})": ("0", "-0.001"),
    "nDCG(gains={{1:{}}})": ("1e100", "1.001e100"),
    "nDCG(gains={{2:{}}})": ("0", "-0.001"),
    "nDCG(gains={{-1:{}}})": ("0", "1"),
    "nDCG(discount=jk,base={})": ("1.001", "1"),
    "AUC(max_fpr={})": ("1", "1.001"),
    "AUC(ties=half,max_fpr={})": ("0.001", "0"),
    "ERR(max_rel={})": ("1000", "1001"),
    "ERR@5 ERR(max_rel={})": ("1", "0"),
    "gRBP(min_rel={})": ("0", "-1"),
    "GAP(weights={})": ("0,1", "0,0"),
    "GAP(max_rel=3,weights={})": ("1", "1,-1"),
    "Q(beta={})": ("0", "-0.001"),
    "INST(T={})": ("0.5", "0"),
    "INST(D={})": ("1", "0"),
    "PFound(decay={})": ("1", "1.001"),
    "nDCG(gain={})": ("exp", "log"),
    "Compat(until={})": ("longer", "shorter"),
    "AP(judged_only={})": ("true", "1"),
}
"""Of each parameter the last value that is accepted, and one that is refused."""


def test_a_parameter_is_accepted_up_to_its_end(snapshot: SnapshotAssertion) -> None:
    said = {}
    for name, (accepted, refused) in RANGES.items():
        assert parse_measures(name.format(accepted).split())
        said[name] = refusal(parse_measures, name.format(refused).split()).split(" See ")[0]
    assert said == snapshot


def test_a_function_can_be_declared_as_a_measure() -> None:
    def retrieved_twice(run: JudgedRun, *, cutoff: int) -> te._types.IntArray:
        """Twice the documents retrieved, up to a cutoff."""
        return 2 * run.num_ret.clip(max=cutoff)

    declare(retrieved_twice, "retrieved_twice", notation=["Twice"], at="cutoff", cutoffs=[3])
    try:
        results = te.evaluate({"1": {"a": 1}}, {"1": {"a": 2.0, "b": 1.0}}, ["retrieved_twice", "Twice@1"])
        assert dict(results["1"]) == {"Twice@3": 4.0, "Twice@1": 2.0}
        with pytest.raises(MeasureError, match="there is already a measure called 'retrieved_twice'"):
            declare(lambda run: run.num_ret, "retrieved_twice")
    finally:
        del FAMILIES["retrieved_twice"]


def test_a_function_with_an_unknown_parameter_cannot_be_declared() -> None:
    def odd(run: JudgedRun, *, oddness: int) -> te._types.IntArray:
        return run.num_ret

    assert "measure 'odd' has the unknown parameter 'oddness'" in refusal(declare, odd, "odd")


# One function with and without a cutoff --------------------------------------------------------------

TIED = {"1": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0, "e": 1.0}}
LABELS = {"1": {"c": 1, "d": 1, "x": 1}}
# Of equal scores the larger id stands first: a c b e d.


def test_a_cutoff_that_is_optional_belongs_to_the_name_that_is_declared_with_it() -> None:
    shared = [
        (cut, family)
        for cut in FAMILIES.values()
        for family in FAMILIES.values()
        if cut.at is not None and family.at is None and cut.function is family.function
    ]
    assert len(shared) == 16  # map_cut shares its function with map and with gm_map
    for cut, whole in shared:
        assert cut.takes("cutoff")
        assert not whole.takes("cutoff")
        assert "cutoff" not in given(Measure(whole))
        assert "k, the number of ranks" not in documentation(whole)


def test_tied_documents_are_taken_together_down_to_a_cutoff() -> None:
    # c has 1/2 at rank 2, and 1/3 at the end of its tie, rank 3; d has 2/5 at rank 5. R = 3.
    expected = {
        "AP(ties=ordered)@3": 1 / 2 / 3,
        "AP(ties=together)@1": 0,
        "AP(ties=together)@2": 1 / 2 / 3,
        "AP(ties=together)@3": 1 / 3 / 3,
        "AP(ties=together)@5": (1 / 3 + 2 / 5) / 3,
        "AP(ties=together,norm=capped)@2": 1 / 2 / 2,
        "AP(ties=together,norm=retrieved)@4": 1 / 3 / 1,
    }
    assert te.evaluate(LABELS, TIED, list(expected))["1"] == pytest.approx(expected)
    for cutoff in (1, 2, 3, 4, 5):
        cut = te.evaluate(LABELS, TIED, "AP(ties=together)", depth=cutoff).matrix
        name = f"AP(ties=together)@{cutoff}"
        assert te.evaluate(LABELS, TIED, name).matrix == cut
        assert te.explaining.arithmetic(LABELS, TIED, name, "1").apart


def test_a_parameter_that_came_later_is_in_a_long_signature_if_it_is_given() -> None:
    heads = {
        name: te.evaluate(LABELS, TIED, name).signature(0).long.partition("|")[0]
        for name in ("AP@3", "AP(ties=ordered)@3", "AP(ties=together)@3", "AP")
    }
    assert heads == {
        "AP@3": "AP(rel=1,norm=relevant)@3",
        "AP(ties=ordered)@3": "AP(rel=1,norm=relevant)@3",
        "AP(ties=together)@3": "AP(rel=1,norm=relevant,ties=together)@3",
        "AP": "AP(rel=1,norm=relevant,ties=ordered)",
    }
