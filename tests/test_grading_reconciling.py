"""Reconciling: each number that a tool printed, or that a common mistake gives, gets its verdict and its words."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import pytest
from grading_samples import claims_in
from mistakes import AP_1, AP_2, LABELS, LISTS
from syrupy.assertion import SnapshotAssertion
from test_scoring_profiles import PROFILE_OF, QRELS, RUN, Row, expressible, label

import treceval_py as te
from treceval_py.grading.claims import reconciling
from treceval_py.grading.claims.reconciling import MOST_SEARCHES, Ways, without_run
from treceval_py.grading.records import Checked
from treceval_py.io.judged_ranking import read_judged_ranking
from treceval_py.scoring.profiles import profile_named

MESSY = te.read_qrels(QRELS), te.read_run(RUN)

AP = (AP_1 + AP_2) / 2
"""0.486111…"""


def checked(text: str, qrels: Any = LABELS, run: Any = LISTS, **options: Any) -> list[Checked]:
    """Reconcile the claims of a text."""
    judgments = qrels if isinstance(qrels, te.Qrels) else te.Qrels(qrels)
    table = run if run is None or isinstance(run, te.Run) else te.Run(run)
    profile, values = profile_named(options.pop("profile", "trec_eval-10")), options.pop("values", {})
    distances = options.pop("distances", False)
    rules, claims = te.grading.Rules(**{"complete": False, **options}), claims_in(text.encode(), "claims.toml")
    if table is None:
        return [*map(without_run, claims)]
    ways = Ways(judgments, table, profile, rules, values, distances=distances)
    return [ways.checked(claim, None, searches=MOST_SEARCHES, profiles_only=False) for claim in claims]


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


def test_a_number_of_another_tool_is_ours_or_a_convention_that_names_its_profile() -> None:
    wrong = {}
    for row in expressible():
        (found,) = checked(f"{row['measure']} = {row['value']:.4f}", *MESSY)
        names, _, differs = found.why.partition(": ")
        words = names.replace("(", " ").replace(")", " ").replace(",", " ").split()
        named = names.startswith(f"the number of {found.profile}") and PROFILE_OF[row["tool"]] in words and differs
        if (
            (found.verdict, found.why) != ("correct", "")
            if is_ours(row)
            else found.verdict != "convention" or not named
        ):
            wrong[label(row)] = found
    assert wrong == {}


L3 = math.log2(3)
TIED = {"1": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}}
OF_TIED = {"1": {"b": 1, "c": 2, "e": 1}}
"""By descending id a c b d: c at rank 2, b at rank 3; e is not retrieved."""
EXPONENTIAL = ((3 / L3 + 1 / 2) / (3 + 1 / L3 + 1 / 2) + (7 / L3 + 1 / 2) / (7 + 1 / L3)) / 2
BINARY = ((1 / L3 + 1 / 2) / (1 + 1 / L3 + 1 / 2) + (1 / L3 + 1 / 2) / (1 + 1 / L3)) / 2
ALL_OVER_4 = (AP_1 + AP_2) / 4
"""0.243055…: divided by the number of queries in the run."""
EIGHTY = {"1": {f"d{place}": 100.0 - place for place in range(1, 81)}}
TWELVE = {"1": {f"d{place:02}": 100.0 - place for place in range(1, 13)}}
TWO_CHANGES = (
    {"1": {"a": 2, "b": 1}, "2": {"a": 2}, "3": {"a": 2, "b": 1}},
    {"1": {"x": 3.0, "b": 2.0, "a": 1.0}, "2": {"x": 2.0, "a": 1.0}, "3": {"y": 3.0, "a": 1.0, "b": 2.0}},
)
UNORDERED = {"1": {"5": 5.0, "9": 4.0, "2": 3.0, "8": 2.0, "7": 1.0}}
RISING = te.read_run(io.BytesIO(b"q1 Q0 a 1 0.1 t\nq1 Q0 b 2 0.2 t\nq1 Q0 c 3 0.3 t\nq1 Q0 d 4 0.4 t\n"))
OF_RISING = {"q1": {"a": 1, "c": 1, "x": 1}}
TWO_THIRDS = ({"1": {"a": 1, "b": 1}}, {"1": {"a": 3.0, "b": 2.0, "c": 1.0}})
ONE = ({"1": {"a": 1}}, {"1": {"a": 1.0}})

# A claim, with judgments and a run unless they are the usual ones.
CONVENTIONS: dict[str, tuple[Any, ...]] = {
    # trec_eval 9.0.4, ir_measures 0.4.3, the MS MARCO script, gdeval.pl and scikit-learn, as in data/messy/tools.json
    "trec_eval-9": ("AP = 0.3368", *MESSY),
    "ir_measures": ("RR@10 = 0.4494", *MESSY),
    "msmarco": ("RR@10 = 0.8750", *MESSY),
    "gdeval": ("nDCG(dcg='exp-log2')@20 = 0.5002", *MESSY),
    "sklearn": ("nDCG@10 = 0.42983", *MESSY),
    # the own profile goes before other profiles
    "all judged queries": (f"AP = {(AP_1 + AP_2) / 3:.4f}",),
    # From 2 on a of q1 and b of q2 alone are relevant, both at rank 2.
    "judged from 2 on": ("AP = 0.5000",),
    # Gains 2^rel - 1: q1 has 0 3 1 of an ideal 3 1 1, q2 has 0 7 1 of 7 1.
    "exponential gains": (f"nDCG = {EXPONENTIAL:.4f}",),
    # Without unjudged documents q1 is a b c, q2 b a.
    "without unjudged documents": (f"AP = {((1 + 1) / 3 + 1) / 2:.4f}",),
    # Judged from 2 on, and unjudged documents taken out: q1 a at rank 1, q2 b at rank 1, q3 none and missing.
    "two at once": ("AP = 0.6667", *TWO_CHANGES),
    # Without ties, scikit-learn's ideal is that from the retrieved documents: 2 and 1 at ranks 2 and 3, of 2 1.
    "before a mistake": (
        f"nDCG = {(2 / L3 + 1 / 2) / (2 + 1 / L3):.4f}",
        OF_TIED,
        {"1": {"a": 4.0, "c": 3.0, "b": 2.0}},
    ),
    # Of two relevant documents the one at rank 11 is judged 1: it is left out from judgment 2 on, and of 10 documents.
    "a change before a mistake": ("P@20 = 0.0500", {"1": {"d01": 2, "d11": 1}}, TWELVE),
    # Ranks by rising score: ndeval, which goes by the rank column, gives the number of the run upside down.
    "rising scores": (f"MAP = {(1 / 1 + 2 / 3) / 3:.4f}", OF_RISING, RISING),
    # P@10 is 0.2 in both queries that the run has, of three judged ones.
    "few decimals": ("P@10 = 0.13",),
}

MISTAKES: dict[str, tuple[Any, ...]] = {
    "sorted by ascending score": (f"AP = {((1 / 3 + 2 / 4) / 3 + 1) / 2:.4f}",),
    # By id, 9 8 7 5 2: relevant at ranks 4 and 5.
    "document ids taken for scores": (f"AP = {(1 / 4 + 2 / 5) / 2:.4f}", {"1": {"5": 1, "2": 1}}, UNORDERED),
    "divided by the number of queries in the run, judged or not": (f"AP = {ALL_OVER_4:.4f}",),
    # P@5 is 2/5 in both queries.
    "cutoff 5 instead of 10": ("P@10 = 0.4000",),
    # q1 and q2 have a relevant document at rank 2 and another one at rank 3.
    "without the cutoff": (f"AP@2 = {AP:.4f}",),
    "cutoff 1": ("RR = 0.5000", {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"x": 2.0, "y": 1.5, "a": 1.0}}),
    "grades as 0 and 1": (f"nDCG = {BINARY:.4f}",),
    # 2 at rank 2 and 1 at rank 3 of an ideal 2 1; averaged over ties, as scikit-learn does, it would be 1.5 at both.
    "ideal from the retrieved documents": (f"nDCG = {(2 / L3 + 1 / 2) / (2 + 1 / L3):.4f}", OF_TIED, TIED),
    # The precisions 1/2 and 2/3, over 2 instead of 3; scikit-learn takes b and c in one step.
    "divided by the relevant documents found": (f"AP = {(1 / 2 + 2 / 3) / 2:.4f}", OF_TIED, TIED),
    # Relevant at ranks 3, 17 and 60: of the first 20 two, found with precisions 1/3 and 2/17.
    "cutoff 20": (
        f"AP = {(1 / 3 + 2 / 17) / 3:.4f}",
        {"1": {"d3": 1, "d17": 1, "d60": 1}},
        EIGHTY,
    ),
    # Judged 2 are the documents at ranks 3 and 60: of the first 10 that is one, with the precision 1/3.
    "relevant from judgment 2 instead of 1; cutoff 3": (
        f"AP = {(1 / 3) / 2:.4f}",
        {"1": {"d3": 2, "d17": 1, "d60": 2}},
        EIGHTY,
    ),
    # At rank 1 the gain 2^2 - 1 of 2^3 - 1.
    "gain 2^rel - 1 instead of rel; cutoff 1 instead of 3": (
        f"nDCG@3 = {3 / 7:.4f}",
        {"1": {"a": 2, "b": 3}},
        {"1": {"a": 2.0, "b": 1.0}},
    ),
    "divided by the number of queries in the run, judged or not; given as a percentage": ("AP = 24.31 %",),
    "divided by the number of queries in the run, judged or not; cut off, not rounded": ("AP = 0.2430",),
    "perhaps divided by the number of queries in the run, judged or not": (f"AP = {ALL_OVER_4:.3f}",),
}
"""What somebody would get who made the mistake, by hand."""


def test_another_convention_is_told_in_words(snapshot: SnapshotAssertion) -> None:
    found = {name: checked(*case)[0] for name, case in CONVENTIONS.items()}
    assert {name: each.verdict for name, each in found.items() if each.verdict != "convention"} == {}
    assert "".join(f"{name}: {each.text} ({each.profile}): {each.why}\n" for name, each in found.items()) == snapshot


def test_a_common_mistake_is_told_in_words() -> None:
    found = {name: checked(*case)[0] for name, case in MISTAKES.items()}
    assert {name: (each.verdict, each.why, each.profile) for name, each in found.items()} == {
        name: ("mistake", name, "") for name in MISTAKES
    }
    assert said("AP = 24.31") == said("AP = 24.31 %")


def test_where_all_judged_queries_are_asked_for_leaving_out_those_that_the_run_lacks_is_a_convention() -> None:
    (found,) = checked(f"AP = {AP:.4f}\nAP = {(AP_1 + AP_2) / 3:.4f}", complete=True)[:1]
    assert (found.verdict, found.profile) == ("convention", "trec_eval-10")
    assert found.why.endswith(": a judged query that the run lacks is left out of the mean")
    assert said(f"AP = {(AP_1 + AP_2) / 3:.4f}", complete=True) == ("correct", "")


def test_what_is_known_of_the_run_is_named_before_a_convention_that_gives_the_same_number() -> None:
    verdict, why = said(*CONVENTIONS["rising scores"], distances=True)
    assert (verdict, why) == ("mistake", "sorted by ascending score, as its scores are probably distances")


# --- our own number ---


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


# --- nothing, and what is not checked ---

NOT_REPRODUCED: dict[str, tuple[Any, ...]] = {
    # Nearest is 1/6: from 3 on b of q2 alone is relevant, at rank 2; q1 and q3 have 0.
    "three decimals": ("AP = 0.123",),
    "four decimals": ("AP = 0.1234",),
    "five decimals, and so those of the nearest": ("AP = 0.16000",),
    "none": ("AP = 1",),
    # One relevant document in a list of 8000, as P@10000 counts it: 0.0001.
    "0": ("P@10000 = 0.0000", *ONE),
    # P@5, which is 0.4 in both queries, is a mistake for P@10; of two decimals only numbers of profiles are looked for.
    "two decimals": ("P@10 = 0.40",),
}
UNCHECKED: dict[str, tuple[Any, ...]] = {
    "no run": ("AP = 0.5", LABELS, None),
    "no number": ("MAP = =cmd()",),
    "no measure": ("NDGC@10 = 0.1234",),
    "judgments of groups": ("StRecall@5 = 0.5",),
    "preferences": ("prefs_simp = 0.5",),
    "too deep": ("SDCG@99999999 = 0.5",),
}


def test_what_nothing_gives_is_not_reproduced_and_what_is_no_number_of_a_measure_is_not_checked(
    snapshot: SnapshotAssertion,
) -> None:
    lines = []
    for verdict, cases in (("not reproduced", NOT_REPRODUCED), ("unchecked", UNCHECKED)):
        for name, case in cases.items():
            (found,) = checked(*case)
            assert found.verdict == verdict, name
            lines.append(re.sub(r"the \d+ ways", "the … ways", f"{name}: {found.text}: {found.why}"))
    assert "\n".join(lines) == snapshot
    assert checked("AP = 0.123")[0].value == pytest.approx(AP)
    assert said("MAP = 0." + "4" * 10_000)[0] == "unchecked"


def test_a_claim_of_few_digits_is_not_explained_by_two_changes() -> None:
    tried = [int(said(f"AP = {text}")[1].split()[3]) for text in ("0.123", "0.1234")]
    assert tried[1] > 3 * tried[0]


def test_two_changes_are_tried_for_three_measures() -> None:
    found = checked("".join(f"P@{cutoff} = 0.9876\n" for cutoff in (2, 3, 4, 5, 2)))
    tried = [int(each.why.split()[3]) for each in found]
    assert min(*tried[:3], tried[4]) > 3 * tried[3]


def test_so_many_wrong_measures_are_searched_for_and_no_more() -> None:
    found = checked("".join(f"P@{cutoff} = 0.9876\n" for cutoff in range(101, 123)))
    assert {each.verdict for each in found} == {"not reproduced"}
    assert [each.why.startswith("none of the ") for each in found] == [True] * 20 + [False] * 2
    assert found[20].why == ("only the first 20 measures with wrong numbers are searched for an explanation")


@pytest.mark.parametrize(("most", "verdict"), [(1 / 21, "convention"), (1 / 21 - 0.001, "not reproduced")])
def test_where_ways_give_more_than_a_twentieth_of_the_numbers_near_a_claim_none_is_told(
    monkeypatch: pytest.MonkeyPatch, most: float, verdict: str
) -> None:
    # Beside 0.20, which is right, profiles give 0.13, with all judged queries: 1 of the 21 numbers within 0.1 of it.
    monkeypatch.setattr(reconciling, "MOST_MET", most)
    found, why = said("P@10 = 0.13")
    assert found == verdict
    if found == "not reproduced":
        assert why.startswith("it has too few decimals to show how it was computed: the ")
        assert why.endswith(" ways that were tried give 5 % of all such numbers near it")


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
