"""Scores of an assignment, and a submission beside the baseline; numbers are computed by hand beside each test."""

from __future__ import annotations

import gzip
import hashlib
import math
from pathlib import Path

import pytest

from treceval_py.errors import DataError, InputError
from treceval_py.grading.marking.scoring import Assignment, AssignmentScorer, Named, Scored, against, values_by_query
from treceval_py.grading.records import AgainstBaseline, Loss, LostDocument
from treceval_py.grading.rules import MeasureRule, Rules

RR = Rules(measures=(MeasureRule("RR"),), feedback="full")
"""The reciprocal of the rank of the first relevant document, over all judged queries."""


def scoring(
    folder: Path, qrels: str, baseline: str | bytes = "", rules: Rules = RR, name: str = "base.txt"
) -> AssignmentScorer:
    (folder / "qrels.txt").write_text(qrels)
    if not baseline:
        return AssignmentScorer(Assignment(str(folder / "qrels.txt"), "", rules))
    (folder / name).write_bytes(baseline if isinstance(baseline, bytes) else baseline.encode())
    return AssignmentScorer(Assignment(str(folder / "qrels.txt"), str(folder / name), rules))


def run_of(**rankings: str) -> str:
    """Return a run of rankings: q1="abc" ranks document a first."""
    return "".join(
        f"{qid} Q0 {docid} {rank} {100 - rank} t\n"
        for qid, docids in rankings.items()
        for rank, docid in enumerate(docids, 1)
    )


def compared(folder: Path, qrels: str, mine: str, theirs: str, rules: Rules = RR) -> AgainstBaseline | None:
    """Compare a run with a baseline by the first measure."""
    made = scoring(folder, qrels, theirs, rules)
    assert made.baseline is not None
    scored = made.scored(Named(mine.encode(), "run.txt"), "run")
    return against(scored, made.baseline, rules.measures[0].name, rules.feedback)


def sure(found: AgainstBaseline | None) -> AgainstBaseline:
    assert found is not None
    return found


ONE_EACH = "".join(f"{qid} 0 r 1\n" for qid in ("q1", "q2", "q3", "q4", "q5"))
"""Five queries, each with one relevant document, r: RR is 1 / its rank."""


# --- a run ---


def test_a_run_is_scored_by_the_measures_of_the_rules(tmp_path: Path) -> None:
    rules = RR._replace(measures=(MeasureRule("RR"), MeasureRule("P@2")))
    scored = scoring(tmp_path, ONE_EACH, rules=rules).scored(Named(run_of(q1="xr", q2="r").encode(), "run.txt"), "run")
    # RR is (1/2 + 1 + 0 + 0 + 0) / 5, P@2 is (1/2 + 1/2 + 0 + 0 + 0) / 5.
    assert scored.results.mean == {"RR": pytest.approx(0.3), "P@2": pytest.approx(0.2)}
    assert (scored.name, scored.kind, scored.profile.name) == ("run.txt", "run", "trec_eval-10")


def test_without_complete_queries_that_the_run_lacks_are_not_averaged(tmp_path: Path) -> None:
    rules = RR._replace(complete=False)
    scored = scoring(tmp_path, ONE_EACH, rules=rules).scored(Named(run_of(q1="xr", q2="r").encode(), "run.txt"), "run")
    assert scored.results.mean == {"RR": pytest.approx((1 / 2 + 1) / 2)}


def test_the_level_of_the_rules_says_what_is_relevant(tmp_path: Path) -> None:
    found = {
        level: scoring(tmp_path, "q1 0 a 1\nq1 0 b 2\n", rules=RR._replace(level=level))
        .scored(Named(run_of(q1="ab").encode(), "run.txt"), "run")
        .results.mean["RR"]
        for level in (None, 1, 2)
    }
    assert found == {None: 1.0, 1: 1.0, 2: 0.5}


def test_the_profile_of_the_rules_ranks(tmp_path: Path) -> None:
    tied = Named(b"q1 Q0 a 1 5 t\nq1 Q0 b 2 5 t\n", "run.txt")
    by_id = scoring(tmp_path, "q1 0 b 1\n").scored(tied, "run")
    tied.seek(0)
    by_line = scoring(tmp_path, "q1 0 b 1\n", rules=RR._replace(profile="ranx")).scored(tied, "run")
    # trec_eval has the higher id first where scores are equal, ranx the first line.
    assert (by_id.results.mean["RR"], by_line.results.mean["RR"]) == (1.0, 0.5)


def test_a_run_of_three_columns_is_scored_by_its_ranks(tmp_path: Path) -> None:
    scored = scoring(tmp_path, "q1 0 r 1\n").scored(Named(b"q1\tr\t3\nq1\tx\t1\nq1\ty\t2\n", "run.tsv"), "msmarco")
    assert scored.results.mean == {"RR": pytest.approx(1 / 3)}


REPEATED = b"q1 Q0 r 1 9 t\nq1 Q0 x 2 8 t\nq1 Q0 r 3 7 t\n"


def test_under_a_profile_that_takes_the_last_line_of_a_document_it_counts(tmp_path: Path) -> None:
    # The last line has r behind x; the first would have it in front.
    made = scoring(tmp_path, "q1 0 r 1\n", rules=RR._replace(profile="ranx"))
    assert made.scored(Named(REPEATED, "run.txt"), "run").results.mean == {"RR": 0.5}


def test_under_a_profile_that_refuses_repeated_documents_there_is_no_score(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        scoring(tmp_path, "q1 0 r 1\n").scored(Named(REPEATED, "run.txt"), "run")
    assert (caught.value.line, caught.value.what) == (3, "document 'r' occurs twice in query 'q1' (first on line 1)")


# --- the judgments ---


def test_preferences_are_no_judgments_to_grade_by(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        scoring(tmp_path, "1 0 0 a 1.0\n1 0 0 b 2.0\n")
    assert (caught.value.line, caught.value.what) == (1, "5 fields, but a judgment has 4 (qid iteration docid rel)")


def test_judgments_of_groups_are_no_judgments_to_grade_by(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        scoring(tmp_path, "1 1 a 1\n1 2 a 0\n")
    assert (caught.value.line, caught.value.what) == (2, "document 'a' occurs twice in query '1' (first on line 1)")


# --- the baseline ---


def test_without_a_baseline_there_is_none_and_no_hash(tmp_path: Path) -> None:
    made = scoring(tmp_path, ONE_EACH)
    assert (made.baseline, made.baseline_hash) == (None, "")


def test_the_baseline_is_scored_as_a_run_and_known_by_the_hash_of_its_bytes(tmp_path: Path) -> None:
    data = gzip.compress(run_of(q1="r", q2="xr").encode())
    made = scoring(tmp_path, ONE_EACH, data, name="base.txt.gz")
    assert made.baseline is not None
    assert made.baseline.results.mean == {"RR": pytest.approx((1 + 1 / 2) / 5)}
    assert (made.baseline.name, made.baseline.kind) == (str(tmp_path / "base.txt.gz"), "run")
    assert made.baseline_hash == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("baseline", "line", "what"),
    [
        ("q1 Q0 r first 9 t\nq1 Q0 x 2 nan t\n", 2, "score 'nan' is not a number, so it cannot be ranked"),
        (REPEATED, 3, "document 'r' is listed again in query 'q1' with score 7 (first on line 1, with 9)"),
    ],
)
def test_a_broken_baseline_is_refused_with_its_first_error_and_its_line(
    tmp_path: Path, baseline: str | bytes, line: int, what: str
) -> None:
    with pytest.raises(InputError) as caught:
        scoring(tmp_path, "q1 0 r 1\n", baseline)
    assert str(caught.value).startswith(f"{tmp_path / 'base.txt'}:{line}: {what}.")


def test_an_error_of_a_whole_baseline_has_no_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        scoring(tmp_path, ONE_EACH, run_of(q9="r"))
    assert caught.value.line is None
    assert str(caught.value).startswith(f"{tmp_path / 'base.txt'}: the only query is not judged: here q9; in QRELS q1")


@pytest.mark.parametrize("baseline", ['{"q1": {"r": 2.5}}', "q1 0 r 1\n"], ids=["JSON", "judgments"])
def test_what_is_no_run_is_no_baseline(tmp_path: Path, baseline: str) -> None:
    with pytest.raises(InputError) as caught:
        scoring(tmp_path, ONE_EACH, baseline)
    assert str(caught.value) == f"{tmp_path / 'base.txt'}: these are not lines of a run. Give a run to compare with."


def test_a_baseline_that_the_profile_cannot_score_is_refused(tmp_path: Path) -> None:
    rules = Rules(profile="msmarco", measures=(MeasureRule("RR@10"),))
    with pytest.raises(DataError, match="has no rank column of whole numbers to rank it by"):
        scoring(tmp_path, "q1 0 r 1\n", "q1 Q0 r first 9 t\n", rules)


# --- beside the baseline ---


def test_a_submission_is_set_beside_the_baseline_query_by_query(tmp_path: Path) -> None:
    mine = run_of(q1="xr", q2="r", q3="r", q4="zr", q5="r")
    theirs = run_of(q1="r", q2="xr", q3="r", q4="yr", q5="xyzr")
    found = sure(compared(tmp_path, ONE_EACH, mine, theirs))
    # RR of mine: 1/2, 1, 1, 1/2, 1; of theirs: 1, 1/2, 1, 1/2, 1/4.
    assert (found.name, found.measure) == (str(tmp_path / "base.txt"), "RR")
    assert found.value == pytest.approx((1 / 2 + 1 + 1 + 1 / 2 + 1) / 5)
    assert found.baseline == pytest.approx((1 + 1 / 2 + 1 + 1 / 2 + 1 / 4) / 5)
    assert (found.queries, found.better, found.worse, found.equal) == (5, 2, 1, 2)
    assert found.losses == (Loss("q1", 0.5, 1.0, (LostDocument("r", 1, 2, 1),)),)


def test_the_p_value_is_that_of_students_paired_t_test(tmp_path: Path) -> None:
    two = "q1 0 r 1\nq2 0 r 1\n"
    found = sure(compared(tmp_path, two, run_of(q1="r", q2="xr"), run_of(q1="xr", q2="abcr")))
    # Differences 1/2 and 1/4: mean 3/8, half of their distance 1/8, so t = 3; with one degree of freedom t has the
    # Cauchy distribution, and p = 1 - 2 atan(t) / pi.
    assert found.p == pytest.approx(1 - 2 * math.atan(3) / math.pi, abs=1e-12)


def test_of_one_query_there_is_no_p_value(tmp_path: Path) -> None:
    assert sure(compared(tmp_path, "q1 0 r 1\n", run_of(q1="r"), run_of(q1="xr"))).p is None


def test_equal_runs_differ_nowhere(tmp_path: Path) -> None:
    run = run_of(q1="r", q2="xr", q3="r")
    found = sure(compared(tmp_path, ONE_EACH, run, run))
    assert (found.better, found.worse, found.equal, found.p, found.losses) == (0, 0, 5, 1.0, ())


def test_the_three_queries_that_lost_most_are_named_the_largest_loss_first(tmp_path: Path) -> None:
    mine = run_of(q1="xr", q2="abr", q3="abcdr", q4="abcr", q5="r")
    theirs = run_of(q1="r", q2="r", q3="r", q4="r", q5="r")
    found = sure(compared(tmp_path, ONE_EACH, mine, theirs))
    assert found.worse == 4
    assert [(loss.qid, loss.value, loss.baseline) for loss in found.losses] == [
        ("q3", 1 / 5, 1.0),
        ("q4", 1 / 4, 1.0),
        ("q2", 1 / 3, 1.0),
    ]


def test_only_queries_that_both_have_values_for_are_compared(tmp_path: Path) -> None:
    found = sure(
        compared(tmp_path, ONE_EACH, run_of(q1="r", q2="xr"), run_of(q2="r", q3="r"), RR._replace(complete=False))
    )
    assert (found.queries, found.value, found.baseline, found.p) == (1, 0.5, 1.0, None)


def test_runs_without_a_query_in_common_are_not_compared(tmp_path: Path) -> None:
    rules = RR._replace(complete=False)
    assert compared(tmp_path, ONE_EACH, run_of(q1="r"), run_of(q2="r"), rules) is None


def test_queries_that_count_for_another_measure_only_are_not_compared(tmp_path: Path) -> None:
    # Of a query that the run lacks BEIR's RR takes 0 into the mean, and its nDCG nothing.
    rules = Rules(profile="beir", complete=False, measures=(MeasureRule("nDCG@10"), MeasureRule("RR")))
    found = sure(compared(tmp_path, ONE_EACH, run_of(q1="r", q2="r"), run_of(q1="xr", q2="xr"), rules))
    assert (found.queries, found.value, found.better) == (2, 1.0, 2)
    assert found.baseline == pytest.approx(1 / math.log2(3))


def test_queries_are_compared_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    qrels = "q2 0 r 1\nq10 0 r 1\n"
    found = sure(compared(tmp_path, qrels, run_of(q2="xr", q10="xr"), run_of(q2="r", q10="r")))
    assert [loss.qid for loss in found.losses] == ["q10", "q2"]  # of equal losses the first


def test_what_is_scored_under_another_profile_is_not_compared(tmp_path: Path) -> None:
    made = scoring(tmp_path, ONE_EACH, run_of(q1="r"))
    other = scoring(tmp_path, ONE_EACH, rules=RR._replace(profile="ranx"))
    assert made.baseline is not None
    assert against(other.scored(Named(run_of(q1="r").encode(), "run.txt"), "run"), made.baseline, "RR", "full") is None


def test_what_is_scored_by_other_judgments_is_not_compared(tmp_path: Path) -> None:
    made = scoring(tmp_path, ONE_EACH, run_of(q1="r"))
    other = scoring(tmp_path, ONE_EACH.replace("q5 0 r 1", "q5 0 r 0"))
    assert made.baseline is not None
    assert against(other.scored(Named(run_of(q1="r").encode(), "run.txt"), "run"), made.baseline, "RR", "full") is None


def test_what_is_scored_by_the_same_judgments_read_twice_is_compared(tmp_path: Path) -> None:
    made = scoring(tmp_path, ONE_EACH, run_of(q1="r"))
    other = scoring(tmp_path, ONE_EACH)
    assert made.baseline is not None
    assert (
        sure(against(other.scored(Named(run_of(q1="r").encode(), "run.txt"), "run"), made.baseline, "RR", "full")).equal
        == 5
    )


# --- what may be told of the judgments ---


@pytest.mark.parametrize(
    ("feedback", "losses"),
    [
        ("full", (Loss("q1", 0.5, 1.0, (LostDocument("r", 1, 2, 1),)),)),
        ("own", (Loss("q1", 0.5, 1.0),)),
        ("aggregate", ()),
    ],
)
def test_documents_and_queries_that_lost_are_named_where_the_rules_allow_it(
    tmp_path: Path, feedback: str, losses: tuple[Loss, ...]
) -> None:
    found = sure(compared(tmp_path, "q1 0 r 1\n", run_of(q1="xr"), run_of(q1="rx"), RR._replace(feedback=feedback)))
    assert found.losses == losses
    assert (found.value, found.baseline, found.worse) == (0.5, 1.0, 1)


def test_values_by_query_are_those_of_all_judged_queries_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    made = scoring(tmp_path, "2 0 r 1\n10 0 r 1\n7 0 r 1\n", rules=RR._replace(complete=False))
    scored = made.scored(Named(b"10 Q0 r 1 9 t\n2 Q0 x 1 9 t\n2 Q0 r 2 8 t\n", "run.txt"), "run")
    assert values_by_query(scored, "RR", ["2", "7", "10"]).tolist() == pytest.approx([1, 0.5, math.nan], nan_ok=True)


# --- the documents that were lost ---

AP = Rules(measures=(MeasureRule("AP"),))


def lost(folder: Path, qrels: str, mine: str, theirs: str, rules: Rules = AP) -> tuple[LostDocument, ...]:
    """Return the documents of the only query that is worse than the baseline."""
    (loss,) = sure(compared(folder, qrels, mine, theirs, rules._replace(feedback="full"))).losses
    return loss.documents


def test_relevant_documents_that_fell_are_named_as_the_baseline_ranks_them(tmp_path: Path) -> None:
    qrels = "q1 0 a 2\nq1 0 b 1\nq1 0 c 1\nq1 0 x 0\n"
    # b stood at rank 1 and fell to 3, a at 2 and fell to 4; c rose from 4 to 2; x is not relevant.
    documents = lost(tmp_path, qrels, run_of(q1="xcba"), run_of(q1="baxc"))
    assert documents == (LostDocument("b", 1, 3, 1), LostDocument("a", 2, 4, 2))


def test_a_relevant_document_that_was_not_retrieved_has_no_rank(tmp_path: Path) -> None:
    # Of the baseline b stands where the submission would have its next document.
    documents = lost(tmp_path, "q1 0 a 1\nq1 0 b 1\n", run_of(q1="a"), run_of(q1="ab"))
    assert documents == (LostDocument("b", 1, None, 2),)


def test_of_a_query_that_the_run_lacks_the_first_relevant_document_is_lost_too(tmp_path: Path) -> None:
    qrels = "q1 0 a 1\nq1 0 b 1\nq2 0 a 1\n"
    documents = lost(tmp_path, qrels, run_of(q2="a"), run_of(q1="ab", q2="a"))
    assert documents == (LostDocument("a", 1, None, 1), LostDocument("b", 1, None, 2))


def test_what_the_baseline_did_not_retrieve_is_not_lost(tmp_path: Path) -> None:
    documents = lost(tmp_path, "q1 0 a 1\nq1 0 b 1\n", run_of(q1="xyabz"), run_of(q1="a"))
    assert documents == (LostDocument("a", 1, 3, 1),)


def test_a_document_that_keeps_its_rank_is_not_lost(tmp_path: Path) -> None:
    documents = lost(tmp_path, "q1 0 a 1\nq1 0 b 1\n", run_of(q1="axb"), run_of(q1="ab"))
    assert documents == (LostDocument("b", 1, 3, 2),)


def test_three_documents_of_a_query_are_named(tmp_path: Path) -> None:
    qrels = "".join(f"q1 0 {docid} 1\n" for docid in "abcde")
    documents = lost(tmp_path, qrels, run_of(q1="vwxyzabcde"), run_of(q1="edcba"))
    assert [each.docid for each in documents] == ["e", "d", "c"]


def test_documents_are_relevant_from_the_level_of_the_rules_on(tmp_path: Path) -> None:
    qrels = "q1 0 a 1\nq1 0 b 2\n"
    documents = lost(tmp_path, qrels, run_of(q1="xyab"), run_of(q1="ab"), AP._replace(level=2))
    assert documents == (LostDocument("b", 2, 4, 2),)


def test_documents_with_a_gain_are_relevant_where_labels_are_gains(tmp_path: Path) -> None:
    rules = Rules(measures=(MeasureRule("nDCG"),))
    documents = lost(tmp_path, "q1 0 a 1\nq1 0 b 2\nq1 0 c 0\n", run_of(q1="xyzcba"), run_of(q1="cba"), rules)
    assert documents == (LostDocument("b", 2, 5, 2), LostDocument("a", 1, 6, 3))


def test_ranks_are_those_by_which_the_profile_scored(tmp_path: Path) -> None:
    # By the scores r stands last in both; by the ranks, as MS MARCO's script takes them, it fell from 1 to 2.
    rules = Rules(profile="msmarco", measures=(MeasureRule("RR@10"),))
    mine, theirs = "q1 Q0 r 2 1 t\nq1 Q0 x 1 9 t\n", "q1 Q0 r 1 1 t\nq1 Q0 x 2 9 t\n"
    assert lost(tmp_path, "q1 0 r 1\n", mine, theirs, rules) == (LostDocument("r", 1, 2, 1),)


# --- a judged ranking ---


def judged(folder: Path, text: str, rules: Rules = RR) -> Scored:
    return scoring(folder, "q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n", rules=rules).scored(
        Named(text.encode(), "r.txt"), "judged-ranking"
    )


def test_a_judged_ranking_is_ranked_by_its_lines_under_the_profile_of_coursework(tmp_path: Path) -> None:
    scored = judged(tmp_path, "q1 Q0 b 0\nq1 Q0 a 1\nq2 Q0 c 1\n")
    assert scored.results.mean == {"RR": (1 / 2 + 1) / 2}
    assert (scored.profile.name, scored.kind) == ("coursework", "judged-ranking")


def test_a_judged_ranking_is_scored_by_the_judgments_of_the_assignment(tmp_path: Path) -> None:
    scored = judged(tmp_path, "q1 Q0 b 1\nq1 Q0 a 1\n")  # b is not relevant, and q2 is lacking
    assert scored.results.mean == {"RR": (1 / 2 + 0) / 2}


def test_under_rules_that_say_so_a_judged_ranking_is_scored_by_its_own_labels(tmp_path: Path) -> None:
    scored = judged(tmp_path, "q1 Q0 b 1\nq1 Q0 a 1\n", RR._replace(own_labels=True))
    assert scored.results.mean == {"RR": 1.0}
