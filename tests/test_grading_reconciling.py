"""Reconciling: each number that a tool printed, or that a common mistake gives, gets its verdict and its words."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
from test_scoring_profiles import PROFILE_OF, QRELS, RUN, Row, expressible, label

import treceval_py as te
from treceval_py.grading.claims import reconciling
from treceval_py.grading.claims.claims import claims_in
from treceval_py.grading.claims.reconciling import Ways, reconcile
from treceval_py.grading.records import Checked
from treceval_py.io.judged_ranking import read_judged_ranking
from treceval_py.scoring.profiles import profile_named

MESSY = te.read_qrels(QRELS), te.read_run(RUN)

LABELS = {"q1": {"a": 2, "b": 1, "c": 0, "d": 1}, "q2": {"a": 1, "b": 3}, "q3": {"a": 1}}
"""q3 is not in the run."""

LISTS = {
    "q1": {"x": 5.0, "a": 4.0, "b": 3.0, "c": 2.0, "y": 1.0},
    "q2": {"c": 3.0, "b": 2.0, "a": 1.0},
    "q4": {"a": 1.0},
    "q5": {"a": 1.0},
}
"""q4 and q5 are not judged."""

AP_1, AP_2 = (1 / 2 + 2 / 3) / 3, (1 / 2 + 2 / 3) / 2
"""q1 has relevant documents at ranks 2 and 3 and a third one not retrieved; q2 has its two at ranks 2 and 3."""

AP = (AP_1 + AP_2) / 2
"""0.486111…"""


def checked(text: str, qrels: Any = LABELS, run: Any = LISTS, **options: Any) -> list[Checked]:
    """Reconcile the claims of a text."""
    judgments = qrels if isinstance(qrels, te.Qrels) else te.Qrels(qrels)
    table = run if run is None or isinstance(run, te.Run) else te.Run(run)
    profile, expected = options.pop("profile", "trec_eval-10"), options.pop("expected", ())
    given: dict[str, Any] = {"complete": False, "level": None, "values": {}, "tolerance": 0.0, **options}
    ways = None if table is None else Ways(judgments, table, profile_named(profile), **given)
    return reconcile(claims_in(text.encode(), "claims.txt"), ways, expected)


def said(text: str, *arguments: Any, **options: Any) -> tuple[str, str]:
    """Return the verdict on the one claim of a text, and why."""
    (found,) = checked(text, *arguments, **options)
    return found.verdict, found.why


# --- what the tools printed for the messy pair ---


def is_ours(row: Row) -> bool:
    """Tell whether trec_eval-10 gives a row's number too, up to its fourth decimal."""
    qrels, run = MESSY
    mean = te.Evaluator(qrels, te.Scoring([row["measure"]])).scored(run).mean[row["measure"]]
    return abs(mean - row["value"]) < 2e-4


@pytest.mark.parametrize("row", [row for row in expressible() if not is_ours(row)], ids=label)
def test_a_number_of_another_tool_is_a_convention_that_names_its_profile(row: Row) -> None:
    (found,) = checked(f"{row['measure']} = {row['value']:.4f}", *MESSY)
    assert found.verdict == "convention"
    names, _, differs = found.why.partition(": ")
    assert names.startswith(f"the number of {found.profile}")
    assert PROFILE_OF[row["tool"]] in names.replace("(", " ").replace(")", " ").replace(",", " ").split()
    assert differs


@pytest.mark.parametrize("row", [row for row in expressible() if is_ours(row)], ids=label)
def test_a_number_of_another_tool_that_is_ours_is_correct(row: Row) -> None:
    assert said(f"{row['measure']} = {row['value']:.4f}", *MESSY) == ("correct", "")


@pytest.mark.parametrize(
    ("claim", "profile", "why"),
    [
        # trec_eval 9.0.4, ir_measures 0.4.3, the MS MARCO script, gdeval.pl and scikit-learn, as in data/messy/tools.json
        ("AP = 0.3368", "trec_eval-9", ("the number of trec_eval-9 (also of pytrec_eval, beir, flagembedding, mteb): scores are "
         "compared as 32-bit floats, in which more scores are equal")),
        ("RR@10 = 0.4494", "ir_measures", ("the number of ir_measures: of two documents with equal scores, first comes the "
         "one with the smaller id, byte by byte; a judged query that the run lacks counts as an empty ranking")),
        ("RR@10 = 0.8750", "msmarco", ("the number of msmarco: documents are ranked by the rank column, as given; a "
         "missing rank stays empty, and of equal ranks the last line counts; a judged query that the run lacks counts as an "
         "empty ranking; the measure is RR(rel=0)@10, not RR(rel=1)@10")),
        ("nDCG(dcg='exp-log2')@20 = 0.5002", "gdeval", ("the number of gdeval: a query without relevant documents is left "
         "out of the mean")),
        ("nDCG@10 = 0.42983", "sklearn", ("the number of sklearn: the measure is nDCG(ideal=retrieved,ties=average)@10, "
         "not nDCG@10")),
    ],
)  # fmt: skip
def test_a_convention_is_told_in_words(claim: str, profile: str, why: str) -> None:
    (found,) = checked(claim, *MESSY)
    assert (found.verdict, found.profile, found.why) == ("convention", profile, why)


def test_the_own_profile_with_all_judged_queries_goes_before_other_profiles() -> None:
    (found,) = checked(f"AP = {(AP_1 + AP_2) / 3:.4f}")
    assert (found.verdict, found.profile) == ("convention", "trec_eval-10")
    assert found.why == (
        "the number of trec_eval-10 with all judged queries (-c) (also of ir_measures, ranx, coursework, trec_eval-9 -c, "
        "pytrec_eval -c, beir -c, flagembedding -c, mteb -c): a judged query that the run lacks counts as an empty ranking"
    )


def test_where_all_judged_queries_are_asked_for_leaving_out_those_that_the_run_lacks_is_a_convention() -> None:
    (found,) = checked(f"AP = {AP:.4f}\nAP = {(AP_1 + AP_2) / 3:.4f}", complete=True)[:1]
    assert (found.verdict, found.profile) == ("convention", "trec_eval-10")
    assert found.why.endswith(": a judged query that the run lacks is left out of the mean")
    assert said(f"AP = {(AP_1 + AP_2) / 3:.4f}", complete=True) == ("correct", "")


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        # From 2 on a of q1 and b of q2 alone are relevant, both at rank 2.
        ("AP = 0.5000", "relevant from judgment 2 instead of 1"),
        # Gains 2^rel - 1: q1 has 0 3 1 of an ideal 3 1 1, q2 has 0 7 1 of 7 1.
        (f"nDCG = {((3 / math.log2(3) + 1 / 2) / (3 + 1 / math.log2(3) + 1 / 2) + (7 / math.log2(3) + 1 / 2) / (7 + 1 / math.log2(3))) / 2:.4f}",
         "gain 2^rel - 1 instead of rel"),
        # Without unjudged documents q1 is a b c, q2 b a.
        (f"AP = {((1 + 1) / 3 + 1) / 2:.4f}", "unjudged documents are removed from the ranking"),
    ],
)  # fmt: skip
def test_another_convention_of_no_program_is_told_in_words(claim: str, why: str) -> None:
    (found,) = checked(claim)
    assert (found.verdict, found.why, found.profile) == ("convention", why, "")


def test_two_conventions_at_once_are_found() -> None:
    # Judged from 2 on, and unjudged documents taken out: q1 a at rank 1, q2 b at rank 1, q3 none and missing.
    assert said("AP = 0.6667", {"1": {"a": 2, "b": 1}, "2": {"a": 2}, "3": {"a": 2, "b": 1}},
                {"1": {"x": 3.0, "b": 2.0, "a": 1.0}, "2": {"x": 2.0, "a": 1.0}, "3": {"y": 3.0, "a": 1.0, "b": 2.0}}) == (
        "convention", "unjudged documents are removed from the ranking; relevant from judgment 2 instead of 1"
    )  # fmt: skip


# --- common mistakes ---

TIED = {"1": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}}
OF_TIED = {"1": {"b": 1, "c": 2, "e": 1}}
"""By descending id a c b d: c at rank 2, b at rank 3; e is not retrieved."""

L3 = math.log2(3)

MISTAKES = {
    "sorted by ascending score": (f"AP = {((1 / 3 + 2 / 4) / 3 + 1) / 2:.4f}", LABELS, LISTS),
    # By id, 9 8 7 5 2: relevant at ranks 4 and 5.
    "document ids taken for scores": (
        f"AP = {(1 / 4 + 2 / 5) / 2:.4f}", {"1": {"5": 1, "2": 1}},
        {"1": {"5": 5.0, "9": 4.0, "2": 3.0, "8": 2.0, "7": 1.0}},
    ),
    "divided by the number of queries in the run, judged or not": (f"AP = {(AP_1 + AP_2) / 4:.4f}", LABELS, LISTS),
    # P@5 is 2/5 in both queries.
    "cutoff 5 instead of 10": ("P@10 = 0.4000", LABELS, LISTS),
    # q1 and q2 have a relevant document at rank 2 and another one at rank 3.
    "without the cutoff": (f"AP@2 = {AP:.4f}", LABELS, LISTS),
    "cutoff 1": ("RR = 0.5000", {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"x": 2.0, "y": 1.5, "a": 1.0}}),
    "grades as 0 and 1": (
        f"nDCG = {((1 / L3 + 1 / 2) / (1 + 1 / L3 + 1 / 2) + (1 / L3 + 1 / 2) / (1 + 1 / L3)) / 2:.4f}", LABELS, LISTS,
    ),
    # 2 at rank 2 and 1 at rank 3 of an ideal 2 1; averaged over ties, as scikit-learn does, it would be 1.5 at both.
    "ideal from the retrieved documents": (f"nDCG = {(2 / L3 + 1 / 2) / (2 + 1 / L3):.4f}", OF_TIED, TIED),
    # The precisions 1/2 and 2/3, over 2 instead of 3; scikit-learn takes b and c in one step.
    "divided by the relevant documents found": (f"AP = {(1 / 2 + 2 / 3) / 2:.4f}", OF_TIED, TIED),
}  # fmt: skip
"""What somebody would get who made the mistake, by hand."""


@pytest.mark.parametrize("words", MISTAKES)
def test_a_common_mistake_is_told_in_words(words: str) -> None:
    claim, qrels, run = MISTAKES[words]
    (found,) = checked(claim, qrels, run)
    assert (found.verdict, found.why, found.profile) == ("mistake", words, "")


def test_a_ranking_that_was_cut_off_is_a_mistake() -> None:
    # Relevant at ranks 3, 17 and 60: of the first 20 two, found with precisions 1/3 and 2/17.
    qrels = {"1": {"d3": 1, "d17": 1, "d60": 1}}
    run = {"1": {f"d{place}": 100.0 - place for place in range(1, 81)}}
    assert said(f"AP = {(1 / 3 + 2 / 17) / 3:.4f}", qrels, run) == (
        "mistake", "of a ranking the first 20 documents count"
    )  # fmt: skip


def test_a_convention_goes_before_a_mistake_that_gives_the_same_number() -> None:
    # Without ties, scikit-learn's ideal is that from the retrieved documents: 2 and 1 at ranks 2 and 3, of 2 1.
    (found,) = checked(f"nDCG = {(2 / L3 + 1 / 2) / (2 + 1 / L3):.4f}", OF_TIED, {"1": {"a": 4.0, "c": 3.0, "b": 2.0}})
    assert (found.verdict, found.profile) == ("convention", "sklearn")


def test_a_change_of_a_convention_goes_before_a_mistake_that_gives_the_same_number() -> None:
    # Of two relevant documents the one at rank 11 is judged 1: it is left out from judgment 2 on, and of 10 documents.
    run = {"1": {f"d{place:02}": 100.0 - place for place in range(1, 13)}}
    assert said("P@20 = 0.0500", {"1": {"d01": 2, "d11": 1}}, run) == (
        "convention", "relevant from judgment 2 instead of 1"
    )  # fmt: skip


def test_a_convention_together_with_a_mistake_is_a_mistake() -> None:
    # Judged 2 are the documents at ranks 3 and 60: of the first 10 that is one, with the precision 1/3.
    run = {"1": {f"d{place}": 100.0 - place for place in range(1, 81)}}
    assert said(f"AP = {(1 / 3) / 2:.4f}", {"1": {"d3": 2, "d17": 1, "d60": 2}}, run) == (
        "mistake", "of a ranking the first 10 documents count; relevant from judgment 2 instead of 1"
    )  # fmt: skip
    # At rank 1 the gain 2^2 - 1 of 2^3 - 1.
    assert said(f"nDCG@3 = {3 / 7:.4f}", {"1": {"a": 2, "b": 3}}, {"1": {"a": 2.0, "b": 1.0}}) == (
        "mistake", "gain 2^rel - 1 instead of rel; cutoff 1 instead of 3"
    )  # fmt: skip


def test_a_mistake_may_be_given_as_a_percentage_or_cut_off() -> None:
    third = (AP_1 + AP_2) / 4  # 0.2430555…
    assert third == pytest.approx(0.24305555)
    words = "divided by the number of queries in the run, judged or not"
    assert said("AP = 24.31 %") == ("mistake", f"{words}; given as a percentage")
    assert said("AP = 24.31") == ("mistake", f"{words}; given as a percentage")
    assert said("AP = 0.2430") == ("mistake", f"{words}; cut off, not rounded")


# --- our own number ---


@pytest.mark.parametrize("text", ["0.4861", "0.486", "0.49", "0.48611111111111105", "4.861e-1", "0,4861"])
def test_our_number_to_the_digits_of_the_claim_is_correct(text: str) -> None:
    assert said(f"AP = {text}") == ("correct", "")


@pytest.mark.parametrize("text", ["48.61", "48.6 %", "49%", "48,61%"])
def test_our_number_as_a_percentage_is_correct_and_said(text: str) -> None:
    assert said(f"AP = {text}") == ("correct", "given as a percentage")


def test_a_percentage_that_is_cut_off_is_rounding() -> None:
    # 2/3
    assert said("P@3 = 66.6 %", {"1": {"a": 1, "b": 1}}, {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}) == (
        "rounding", "cut off after 3 decimals, not rounded; given as a percentage"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0.6666", "cut off after 4 decimals, not rounded"),
        ("0.66", "cut off after 2 decimals, not rounded"),
        ("0.6668", "off by one in the last of its 4 decimals"),
        ("0.66670", "right to 4 decimals, as if the values of queries were rounded before averaging"),
    ],
)
def test_our_number_but_for_its_last_digit_is_rounding(text: str, why: str) -> None:
    assert said(f"P@3 = {text}", {"1": {"a": 1, "b": 1}}, {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}) == ("rounding", why)


def test_within_the_tolerance_a_claim_is_correct() -> None:
    # 0.0050111 off, of which rounding to four decimals may make 0.00005.
    assert said("AP = 0.4811", tolerance=0.00497) == ("correct", "")
    assert said("AP = 0.4811", tolerance=0.00496)[0] != "correct"


def test_the_tolerance_is_beyond_what_rounding_to_few_decimals_moves() -> None:
    # 0.0139 off: 0.495 is within 0.01 of 0.4861.
    assert said("AP = 0.50", tolerance=0.01) == ("correct", "")


def test_a_single_decimal_to_which_ours_rounds_is_not_checked() -> None:
    assert said("AP = 0.5") == ("unchecked", "a single decimal says too little; it is 0.4861")


def test_of_0_nothing_is_cut_off() -> None:
    # One relevant document in a list of 8000, as P@10000 counts it: 0.0001.
    assert said("P@10000 = 0.0000", {"1": {"a": 1}}, {"1": {"a": 1.0}}) == (
        "not reproduced", "a number without decimals, or of 0, does not show how it was computed"
    )  # fmt: skip


def test_a_whole_unit_less_is_not_cut_off() -> None:
    assert said("RR = 0.9999", {"1": {"a": 1}}, {"1": {"a": 1.0}}) == (
        "rounding", "off by one in the last of its 4 decimals"
    )  # fmt: skip


@pytest.mark.parametrize("text", ["0", "1", "0%", "100%"])
def test_a_number_without_decimals_is_not_correct_because_ours_rounds_to_it(text: str) -> None:
    assert said(f"AP = {text}")[0] == "not reproduced"


def test_a_whole_number_is_correct_where_it_is_ours() -> None:
    assert said("P@1 = 1", {"1": {"a": 1}}, {"1": {"a": 1.0}}) == ("correct", "")


def test_counts_are_compared_as_whole_numbers() -> None:
    # Eight documents of the two judged queries, two of them relevant in each.
    found = checked("num_ret = 8\nnum_ret = 9\nnum_rel_ret all 4\nnum_q all 2\nnum_q all 3\n")
    assert [each.verdict for each in found] == ["correct", "not reproduced", "correct", "correct", "unchecked"]
    assert found[1].why.endswith("nearest is 8 (trec_eval-10)")
    assert found[4].why == "it is 2; num_q is not a number that can be explained"


def test_a_value_that_is_known_is_not_computed_and_a_correct_claim_costs_no_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconciling, "Scorer", None)
    found = checked("MAP = 0.1234\nmap = 0.123\n", values={"map": 0.1234})
    assert [(each.verdict, each.value) for each in found] == [("correct", 0.1234)] * 2


# --- nothing ---


def test_what_nothing_gives_is_not_reproduced_with_the_nearest() -> None:
    (found,) = checked("AP = 0.123")
    # Nearest is 1/6: from 3 on b of q2 alone is relevant, at rank 2; q1 and q3 have 0.
    assert (found.verdict, found.value) == ("not reproduced", pytest.approx(AP))
    assert found.why.startswith("none of the ")
    assert found.why.endswith(
        "ways that were tried gives it; nearest is 0.1667 (relevant from judgment 3 instead of 1; a judged query that the "
        "run lacks counts as an empty ranking)"
    )


def test_a_claim_of_few_digits_is_not_explained_by_two_changes() -> None:
    tried = [int(said(f"AP = {text}")[1].split()[3]) for text in ("0.123", "0.1234")]
    assert tried[1] > 3 * tried[0]


def test_so_many_wrong_measures_are_searched_for_and_no_more() -> None:
    found = checked("".join(f"P@{cutoff} = 0.9876\n" for cutoff in range(101, 123)))
    assert {each.verdict for each in found} == {"not reproduced"}
    assert [each.why.startswith("none of the ") for each in found] == [True] * 20 + [False] * 2
    assert found[20].why == ("only the first 20 measures with wrong numbers are searched for an explanation")


def test_the_nearest_has_as_many_digits_as_the_claim() -> None:
    assert "nearest is 0.16667 (" in said("AP = 0.16000")[1]


def test_of_two_decimals_only_the_numbers_of_profiles_are_looked_for() -> None:
    # P@5, which is 0.4 in both queries, is a mistake for P@10.
    assert said("P@10 = 0.4000")[0] == "mistake"
    assert said("P@10 = 0.40")[0] == "not reproduced"


def test_an_explanation_of_few_decimals_may_be_one() -> None:
    # P@10 is 0.2 in both queries that the run has, of three judged ones.
    assert said("P@10 = 0.13")[1].startswith("perhaps the number of trec_eval-10 with all judged queries (-c) (")
    assert said(f"AP = {(AP_1 + AP_2) / 4:.3f}") == (
        "mistake", "perhaps divided by the number of queries in the run, judged or not"
    )  # fmt: skip


def test_where_ways_give_more_than_a_twentieth_of_the_numbers_near_a_claim_none_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Beside 0.20, which is right, profiles give 0.13, with all judged queries: 1 of the 21 numbers within 0.1 of it.
    monkeypatch.setattr(reconciling, "MOST_MET", 1 / 21 - 0.001)
    verdict, why = said("P@10 = 0.13")
    assert verdict == "not reproduced"
    assert why.startswith("it has too few decimals to show how it was computed: the ")
    assert why.endswith(" ways that were tried give 5 % of all such numbers near it")


# --- what is not checked ---


def test_without_a_run_claims_are_not_checked() -> None:
    assert said("AP = 0.5", run=None) == ("unchecked", "there is no run that could be scored")


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("MAP = =cmd()", "'=cmd()' is not a number"),
        ("NDGC@10 = 0.1234", "'NDGC@10' is not a measure; is NDCG@10 meant?"),
        ("StRecall@5 = 0.5", "StRecall@5 is not a number that can be explained"),
        ("prefs_simp = 0.5", "prefs_simp is not a number that can be explained"),
        ("SDCG@99999999 = 0.5", "ranks are weighed down to 10000000 at most, not to 99999999"),
    ],
)
def test_what_is_no_number_of_a_measure_is_not_checked(claim: str, why: str) -> None:
    assert said(claim) == ("unchecked", why)


def test_ten_thousand_digits_are_not_checked() -> None:
    assert said("MAP = 0." + "4" * 10_000)[0] == "unchecked"


def test_of_more_than_two_hundred_claims_the_rest_is_not_read_and_the_last_says_so() -> None:
    found = checked("MAP = 0.4861\n" * 1000)
    assert [len(found), found[-1].verdict] == [200, "correct"]
    assert found[-1].why == "only the first 200 claims of a submission are read"


# --- what is expected ---


def test_an_expected_claim_that_was_not_made_is_told() -> None:
    found = checked("MAP = 0.4861\n", expected=("map", "nDCG@10", "RR"))
    assert [(each.measure, each.verdict, each.why) for each in found] == [
        ("MAP", "correct", ""),
        ("nDCG@10", "no claim", "no number was claimed for nDCG@10"),
        ("RR", "no claim", "no number was claimed for RR"),
    ]
    assert found[2].value == pytest.approx(0.5)


def test_a_claim_that_could_not_be_read_is_one_that_was_made() -> None:
    assert [each.verdict for each in checked("MAP = =cmd()\n", expected=("AP",))] == ["unchecked"]


# --- a judged ranking ---


def test_claims_about_a_judged_ranking_are_reconciled_under_its_profile(tmp_path: Any) -> None:
    path = tmp_path / "ranking"
    path.write_text("1 0 x 0\n1 0 a 2\n1 0 b 1\n2 0 b 1\n2 0 y 0\n")
    qrels, run = read_judged_ranking(path)
    # AP (1/2 + 2/3)/2 and 1; ranks 1 and 2 undiscounted in nDCG: (2 + 1/log2 3) of (2 + 1), and 1.
    ap = ((1 / 2 + 2 / 3) / 2 + 1) / 2
    jk = ((2 + 1 / L3) / 3 + 1) / 2
    usual = ((2 / L3 + 1 / 2) / (2 + 1 / L3) + 1) / 2
    found = checked(
        f"MAP = {ap:.4f}\nNDCG = {jk:.4f}\nNDCG = {usual:.4f}\nMAP = {100 * ap:.2f}%\nMAP = 0.0123\n",
        qrels, run, profile="coursework",
    )  # fmt: skip
    assert [each.verdict for each in found] == ["correct", "correct", "convention", "correct", "not reproduced"]
    assert found[2].profile == "trec_eval-10"


def test_what_is_known_of_the_run_is_named_before_a_convention_that_gives_the_same_number() -> None:
    # Ranks by rising score: ndeval, which goes by the rank column, gives the same number as the run upside down.
    run = te.read_run(io.BytesIO(b"q1 Q0 a 1 0.1 t\nq1 Q0 b 2 0.2 t\nq1 Q0 c 3 0.3 t\nq1 Q0 d 4 0.4 t\n"))
    labels = {"q1": {"a": 1, "c": 1, "x": 1}}
    claim = f"MAP = {(1 / 1 + 2 / 3) / 3:.4f}"
    assert said(claim, labels, run)[0] == "convention"
    verdict, why = said(claim, labels, run, distances=True)
    assert (verdict, why) == ("mistake", "sorted by ascending score, as its scores are probably distances")
