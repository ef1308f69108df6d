"""Explain: who could have made a number how, the steps between two numbers, and the arithmetic of one query."""

from __future__ import annotations

import io
import json
import math
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from command import Done, treceval
from mistakes import AP_1, AP_2, LABELS, LISTS
from random_runs import random_pair
from rankings import closed
from refused import refusal
from syrupy.assertion import SnapshotAssertion
from test_scoring_profiles import PROFILE_OF, QRELS, ROWS, RUN, Row, expressible, label, lines_with_ranks

import treceval_py as te
from treceval_py.errors import EvaluationError
from treceval_py.explaining import Claim, Match
from treceval_py.explaining.explanation import Explained, read_claim
from treceval_py.measuring import FAMILIES
from treceval_py.scoring import CONVENTIONS, PROFILES, Profile

# The messy run lacks a judged query, which profiles count differently.
pytestmark = pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.MissingQueriesWarning",
    "ignore::treceval_py.errors.SuspectRunWarning",
    "ignore:.* can differ from:treceval_py.errors.TrecevalWarning",
)

MESSY = te.read_qrels(QRELS), te.read_run(RUN)


def claimed(qrels: Any, run: Any, claim: str, **options: Any) -> Explained:
    (found,) = te.explain(qrels, run, claims=[claim], **options).measures
    return found


def first_group(found: Explained) -> list[Match]:
    """Return the matches that the report names before "and also by"."""
    return [match for match in found.matches if match.likely]


# --- what the tools printed for the messy pair ---


@pytest.mark.parametrize("row", [row for row in expressible() if row["measure"] != "NumQ"], ids=label)
def test_a_number_that_a_tool_printed_is_given_by_its_profile(row: Row) -> None:
    found = claimed(*MESSY, f"{row['measure']}={row['value']:.4f}")
    group = {(match.variant.profile, match.outcome.queries) for match in first_group(found)}
    assert (PROFILE_OF[row["tool"]], row["queries"]) in group


ALONE = [
    ("ir_measures", "RR@10"), ("ir_measures", "ERR@10"), ("ir_measures", "ERR@20"), ("MS MARCO script", "RR@10"),
    ("gdeval.pl (in ir_measures)", "nDCG(dcg='exp-log2')@20"), ("gdeval.pl (in ir_measures)", "ERR@20"),
    ("gdeval.pl (TREC Web)", "ERR@10"), ("gdeval.pl (TREC Web)", "nDCG(dcg='exp-log2')@10"),
    ("ranx", "nDCG@10"), ("ranx", "nDCG"), ("ranx", "AP@10"), ("ranx", "Rprec"), ("scikit-learn", "nDCG@10"),
]  # fmt: skip
"""Tools and measures of which no other profile has the number."""


@pytest.mark.parametrize(("tool", "measure"), ALONE)
def test_a_number_that_one_tool_alone_has_is_its_own_first(tool: str, measure: str) -> None:
    rows = [row for row in ROWS if (row["tool"], row["measure"]) == (tool, measure) and " -c " not in row["how"]]
    found = claimed(*MESSY, f"{measure}={rows[0]['value']:.4f}")
    first = found.matches[0]
    assert (first.variant.profile, first.variant.cost, first.how) == (PROFILE_OF[tool], 0, "exactly")
    assert {match.variant.profile for match in first_group(found) if match.variant.cost == 0} == {PROFILE_OF[tool]}


def test_every_profile_has_a_row_unless_it_lacks_the_measure() -> None:
    (found,) = te.explain(*MESSY, "nDCG@10").measures
    named = {row.variant.profile for row in found.rows}
    assert named == {
        name for name, profile in PROFILES.items() if not profile.computes or "ndcg_cut" in profile.computes
    }
    for variant, outcome in found.rows:
        assert outcome is not None
        complete = variant.name.endswith("(-c)")
        results = te.evaluate(QRELS, RUN, "nDCG@10", profile=variant.profile, complete=complete)
        assert outcome.mean == results.mean["nDCG@10"]
        assert outcome.queries == int(results.counted.sum())


# --- mistakes, on a run made for them ---

EXPONENTIAL = "gain 2^rel - 1 instead of rel"


def gain(*grades: float) -> float:
    """Add up gains from rank 1 on, each divided by log2(rank + 1)."""
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


AP = (AP_1 + AP_2) / 2
Q1, Q2 = (gain(0, 2, 1) / gain(2, 1, 1), gain(0, 3, 1) / gain(3, 1))
ONE = {"1": {"a": 2, "b": 3}}, {"1": {"a": 2.0, "b": 1.0}}
NUMBERS = {"1": {"5": 1, "2": 1}}, {"1": {"5": 5.0, "9": 4.0, "2": 3.0, "8": 2.0, "7": 1.0}}
DEEP = {"1": {"d3": 1, "d17": 1, "d60": 1}}, {"1": {f"d{place}": 100.0 - place for place in range(1, 81)}}

MISTAKES: list[tuple[Any, str, dict[str, Any], str, float | None]] = [
    (None, f"AP={AP:.4f}", {"profile": "ranx"}, "a judged query that the run lacks is left out of the mean", None),
    (None, f"AP={(AP_1 + AP_2) / 3:.4f}", {}, "trec_eval-10 with all judged queries (-c)", None),
    # Four queries are in the run, two of them judged.
    (None, f"AP={(AP_1 + AP_2) / 4:.4f}", {}, "divided by the number of queries in the run, judged or not", 3),
    # P@5 is 2/5 in both queries, P@10 is 2/10.
    (None, "P@10=0.4000", {}, "cutoff 5 instead of 10", 3),
    (None, f"nDCG@1={(Q1 + Q2) / 2:.4f}", {}, "cutoff 3 instead of 1", None),
    # From 2 on a of q1 and b of q2 are relevant, both at rank 2 and the only ones: AP 1/2.
    (None, "AP=0.5000", {}, "relevant from judgment 2 instead of 1", None),
    (None, f"AP={AP:.4f}", {"level": 2}, "relevant from judgment 1 instead of 2", None),
    # By id, 9 8 7 5 2: relevant at ranks 4 and 5. The run itself has them at 1 and 3.
    (NUMBERS, f"AP={(1 / 4 + 2 / 5) / 2:.4f}", {}, "document ids taken for scores", 3),
    # q1: y c b a x, ranks 3 and 4; q2: a b c, ranks 1 and 2.
    (None, f"AP={((1 / 3 + 2 / 4) / 3 + 1) / 2:.4f}", {}, "sorted by ascending score", 3),
    (DEEP, f"AP={1 / 3 / 3:.4f}", {}, "in each ranking the first 10 documents count", None),
    (DEEP, f"AP={1 / 3 / 3:.4f}", {}, "cutoff 10", None),
    (DEEP, f"AP={(1 / 3 + 2 / 17) / 3:.4f}", {}, "in each ranking the first 20 documents count", None),
    (DEEP, f"AP={(1 / 3 + 2 / 17) / 3:.4f}", {}, "cutoff 20", None),
    (None, f"nDCG={(gain(0, 1, 1) / gain(1, 1, 1) + gain(0, 1, 1) / gain(1, 1)) / 2:.4f}", {}, "grades as 0 and 1", 3),
    (None, f"nDCG={(gain(0, 3, 1) / gain(3, 1, 1) + gain(0, 7, 1) / gain(7, 1)) / 2:.4f}", {}, EXPONENTIAL, None),
    # Two changes at once: at rank 1 the gain 2^2 - 1 of 2^3 - 1.
    (ONE, f"nDCG@3={3 / 7:.4f}", {}, f"{EXPONENTIAL}; cutoff 1 instead of 3", 4),
]
"""Judgments and a run, a claim that somebody would get who made the mistake, its name, and its cost if it comes first."""


@pytest.mark.parametrize(("pair", "claim", "options", "name", "cost"), MISTAKES)
def test_a_mistake_is_named(pair: Any, claim: str, options: dict[str, Any], name: str, cost: float | None) -> None:
    matches = claimed(*(pair or (LABELS, LISTS)), claim, **options).matches
    assert name in [match.variant.name for match in matches]
    assert cost is None or (name, cost) in [
        (match.variant.name, match.variant.cost) for match in matches if match.likely
    ]


@pytest.mark.parametrize(
    ("qrels", "claim", "how"),
    [
        (LABELS, f"AP={AP:.4f}", "exactly"),
        (LABELS, f"AP={100 * AP:.2f}", "as a percentage"),
        (LABELS, f"AP={100 * AP:.2f}%", "as a percentage"),
        (LABELS, "P@5=40%", "as a percentage"),
        ({"q2": LABELS["q2"]}, "P@3=0.6666", "cut off, not rounded"),  # of 2/3
    ],
)
def test_the_number_itself_is_recognised_however_it_is_written(qrels: Any, claim: str, how: str) -> None:
    first = claimed(qrels, LISTS, claim).matches[0]
    assert (first.variant.profile, first.how, first.outcome.queries) == ("trec_eval-10", how, min(2, len(qrels)))
    assert claimed(qrels, LISTS, claim).walks == []


def test_with_a_percent_sign_a_number_is_nothing_but_a_percentage() -> None:
    # P@5 is 2/5, which 0.40% is not; that is P@500.
    found = claimed(LABELS, LISTS, "P@5=0.40%")
    assert [match.variant.name for match in found.matches] == ["cutoff 500 instead of 5"]
    found = claimed(LABELS, LISTS, "AP=48.17%")
    assert found.matches == []
    assert abs(found.nearest[0].outcome.mean - 0.4817) < 0.05


def test_what_nothing_gives_has_the_three_nearest(tmp_path: Path) -> None:
    found = claimed(LABELS, LISTS, "AP=0.1234")
    assert (found.matches, found.walks) == ([], [])
    distances = [abs(match.outcome.mean - 0.1234) for match in found.nearest]
    assert distances == sorted(distances)
    assert len({match.outcome.mean for match in found.nearest}) == len(distances) == 3
    assert found.tried > 50
    files(tmp_path)
    said = r"MAP = 0\.1234 is not reproduced by any of the \d+ ways tried; nearest\n\n.+\n─+\n(0\.\d{6}  .+\n){3}\n"
    assert re.match(said, explained(tmp_path, "--claim", "AP=0.1234"))


def test_a_claim_without_decimals_is_not_met_by_two_changes_where_one_would_do() -> None:
    # P@1 of one query is 1. With 1 as the claim for P@5 that is one change; two would say something that has no effect.
    found = claimed({"1": {"a": 1}}, {"1": {"a": 2.0, "b": 1.0}}, "P@5=1")
    assert all(match.variant.cost != 4 for match in found.matches)


def test_a_way_of_no_effect_is_told_once() -> None:
    for claim in (f"AP={(AP_1 + AP_2) / 2:.4f}", "AP=0.5000", "P@10=0.4000"):
        found = claimed(LABELS, LISTS, claim).matches
        assert len({(each.variant.name, each.variant.profile, each.how) for each in found}) == len(found), claim


@pytest.mark.parametrize(
    ("text", "measure", "value", "digits"),
    [
        ("nDCG@10=0.3498", "nDCG@10", 0.3498, 4),
        (" MRR@10 = 34.98% ", "MRR@10", 34.98, 2),
        ("AP(rel=2)=.5", "AP(rel=2)", 0.5, 1),
        ("ndcg.1=3,2=9=0.25", "ndcg_1=3,2=9", 0.25, 2),
        ("P.5=1.", "P_5", 1.0, 0),
        ("map=-0.5", "map", -0.5, 1),
    ],
)
def test_a_claim_is_read(text: str, measure: str, value: float, digits: int) -> None:
    found = read_claim(text)
    assert isinstance(found, Claim)
    assert (found.measure.name, found.value, found.digits) == (measure, value, digits)


# --- walks ---


def custom(conventions: te.scoring.Conventions) -> Profile:
    return Profile("custom", "made for a test", conventions)


@pytest.mark.parametrize("to", PROFILES)
@pytest.mark.parametrize("start", ["trec_eval-10", "ranx", "sklearn"])
def test_the_steps_of_a_walk_add_up_and_each_changes_one_convention(start: str, to: str) -> None:
    for measure in ("nDCG@10", "RR@10", "AP", "R@10"):
        (found,) = te.explain(*MESSY, measure, profile=start, against=[to]).measures
        (walk,) = found.walks
        steps = walk.steps
        first, last = (te.evaluate(QRELS, RUN, measure, profile=each) for each in (start, to))
        assert (walk.to, steps[0].what, steps[0].delta) == (to, "", 0.0)
        assert steps[0].mean == first.mean[measure]
        assert steps[-1].mean == last.mean[measure]
        assert sum(step.delta for step in steps) == pytest.approx(steps[-1].mean - steps[0].mean, abs=1e-12)
        conventions = first.conventions[0]
        wanted = last.conventions[0]
        changes = conventions.differences(wanted)
        remeasured = first.resolved != last.resolved
        assert len(steps) == 1 + len(changes) + remeasured
        before = first
        for step, change in zip(steps[1:], [*changes, *([None] if remeasured else [])], strict=True):
            if change is None:
                asked = last.resolved[0].notation
                assert step.what == f"measure: {first.resolved[0].notation} → {asked}"
            else:
                old, new = (getattr(each, change.name) for each in (conventions, wanted))
                conventions = conventions.changed({change.name: new})
                asked = first.resolved[0].notation
                assert step.what == (
                    f"{change.question}: {change.show(old)} → {change.show(new)} ({CONVENTIONS[change.name].says(new)})"
                )
            after = te.evaluate(QRELS, RUN, asked, profile=custom(conventions))
            assert step.mean == after.mean[asked]
            assert step.queries == len(after.qids)
            values = [
                {qid: next(iter(row.values())) for qid, row in results.items() if row} for results in (before, after)
            ]
            moved = {
                qid: (values[0].get(qid), values[1].get(qid))
                for qid in {**values[0], **values[1]}
                if values[0].get(qid) != values[1].get(qid)
            }
            assert step.touched == len(moved)
            assert len(step.moves) == min(3, len(moved))
            for move in step.moves:
                assert (move.before, move.after) == moved[move.qid]
            sizes = [abs((after or 0.0) - (before or 0.0)) for before, after in moved.values()]
            told = [abs((move.after or 0.0) - (move.before or 0.0)) for move in step.moves]
            assert told == sorted(sizes, reverse=True)[:3]
            before = after


def test_a_claim_walks_to_what_gives_it_or_to_the_profiles_that_are_named() -> None:
    found = claimed(*MESSY, "nDCG@10=0.3460")
    (walk,) = found.walks
    assert walk.to == "ranx"
    assert walk.steps[-1].mean == pytest.approx(0.3460204032911048, abs=1e-12)
    assert [walk.to for walk in claimed(*MESSY, "nDCG@10=0.3460", against=["beir"]).walks] == ["beir"]
    (found,) = te.explain(*MESSY, "nDCG@10", against=["ranx", "sklearn", "trec_eval-10"]).measures
    assert [walk.to for walk in found.walks] == ["ranx", "sklearn", "trec_eval-10"]
    assert len(found.walks[2].steps) == 1


def test_where_a_number_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b'{"1": {"a": 1.0, "b": 2.0}}')
    for rel, options, why in (
        (1, "MRR@10 --against msmarco", "treceval: run.json has no rank column of whole numbers to rank it by."),
        (1, "MRR@10 --profile msmarco", "treceval: run.json has no rank column"),
        (1, "MRR@10 --profile msmarco --query 1", "treceval: run.json has no rank column"),
        (7, "ERR@20 --against gdeval", "treceval: a document is judged 7, above max_rel=4."),
    ):
        (tmp_path / "qrels").write_text(f"1 0 a {rel}\n")
        assert refused(tmp_path, "qrels", "run.json", "-m", *options.split(), status=1).startswith(why)


# --- the arithmetic of one query ---

APART = [
    "AP", "AP@5", "AP(norm=retrieved)@5", "AP(norm=capped)@5", "AP(rel=2)", "AP(rel=0)", "RR", "RR@5", "RR(rel=2)",
    "P@5", "P(rel=2)@3", "R@5", "R_cap@5", "DCG", "DCG(gain=exp)", "nDCG", "nDCG@5", "nDCG(gain=exp)@5",
    "nDCG(gains={1:3,2:9})@5", "nDCG(gains={0:1,1:3})@5", "nDCG(discount=jk)@5", "nDCG(discount=jk,base=3)",
    "nDCG(ideal=retrieved)@5", "nDCG(discount=jk,gain=exp)", "ERR", "ERR@5", "ERR(max_rel=4)@5", "RBP(p=0.8,rel=1)",
    "RBP(p=0.5,rel=2)@5",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.filterwarnings("ignore:.*no query counts, because none has a relevant document:UserWarning")
def test_the_terms_of_a_query_add_up_to_its_value(name: str) -> None:
    for seed in range(25):
        rng = random.Random(seed)
        qrels, row = random_pair(rng)
        run = te.read_run(io.BytesIO("".join(lines_with_ranks(row, rng)).encode()))
        for measure in APART:
            results = te.evaluate(qrels, run, measure, profile=name, complete=True)
            for qid in qrels:
                found = te.explaining.arithmetic(qrels, run, measure, qid, profile=name)
                if results.get(qid):
                    assert found.value == pytest.approx(results[qid][measure], abs=1e-12), (seed, measure)
                averaged = ("ties", "average") in found.measure.parameters
                if averaged and not found.apart:
                    continue  # the mean over orders of ties is no sum over one order
                assert found.apart, (seed, measure, qid)
                totals = [sum(term.value for term in found.terms[: nth + 1]) for nth in range(len(found.terms))]
                assert [term.total for term in found.terms] == pytest.approx(totals, abs=1e-12)
                total = totals[-1] if totals else 0.0
                # The divisor is shown with six digits.
                assert closed(found.closing, total) == pytest.approx(found.value, rel=2e-5, abs=1e-12), (seed, measure)
                assert [term.rank for term in found.terms] == sorted(term.rank for term in found.terms)
                for term in found.terms:
                    assert term.score == row[qid][term.docid]
                    assert term.label == qrels[qid][term.docid]


def test_a_query_without_terms_and_a_measure_that_is_not_taken_apart() -> None:
    with pytest.raises(EvaluationError, match="query 'q9' is not judged"):
        te.explaining.arithmetic(LABELS, LISTS, "AP", "q9")
    found = te.explaining.arithmetic(LABELS, LISTS, "AP", "q3")
    assert (found.value, found.terms, found.apart) == (0.0, [], True)
    found = te.explaining.arithmetic(LABELS, LISTS, "bpref", "q1")
    assert (found.value, found.apart) == (te.evaluate(LABELS, LISTS, "bpref")["q1"]["bpref"], False)
    assert [(term.rank, term.docid, term.label) for term in found.terms] == [(2, "a", 2), (3, "b", 1), (4, "c", 0)]
    assert {(term.how, term.value, term.total) for term in found.terms} == {("", 0.0, 0.0)}


# --- the command ---


def files(folder: Path, qrels: Any = LABELS, run: Any = LISTS) -> None:
    te.io.write_qrels(te.Qrels(qrels), folder / "qrels")
    te.write_run(te.Run(run, tag="t"), folder / "run")


def explained(folder: Path, *arguments: str) -> str:
    done = treceval(["explain", "qrels", "run", *arguments], folder=folder)
    assert (done.status, done.err) == (0, b""), done.err
    return done.out.decode()


def test_what_is_asked_for_is_explained_and_written_to_a_file(tmp_path: Path) -> None:
    files(tmp_path)
    assert re.findall(r"^(\S+) by profile$", explained(tmp_path), re.MULTILINE) == [
        "MAP",
        "nDCG@10",
        "MRR",
        "P@10",
    ]  # the usual four
    done = treceval(["explain", "qrels", "run", "-m", "AP", "-o", "report"], folder=tmp_path)
    assert done == (0, b"", b"written: report\n")
    assert (tmp_path / "report").read_text() == explained(tmp_path, "-m", "AP")
    report = explained(tmp_path, "-m", "AP", "-m", "RR@5", "-m", "P.5,10", "--query", "q2")
    measures = ["AP(rel=1)", "RR(rel=1)@5", "P(rel=1)@5", "P(rel=1)@10"]
    assert re.findall(r"^(\S+) of query q2 = ", report, re.MULTILINE) == measures
    files(tmp_path, run={"z9": {"a": 1.0}})
    assert refused(tmp_path, "qrels", "run", "--claim", "AP=0.3", status=1).startswith(
        "run: query 'z9' is not judged; "
    )


def test_profiles_stand_by_descending_value(tmp_path: Path) -> None:
    # Two tied documents of grades 9 and 2. a first: 9 + 2/log2 3 = 10.26; b first: 2 + 9/log2 3 = 7.68; half of each.
    files(tmp_path, {"1": {"a": 9, "b": 2}})
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 t\n1 Q0 b 2 1.0 t\n")
    values = re.findall(r"^ *(\d+\.\d{4}) ", explained(tmp_path, "-m", "DCG"), re.MULTILINE)
    assert values == ["10.2619", "8.9701", "7.6784"]


def test_judgments_and_runs_come_in_any_format_and_from_standard_input(tmp_path: Path) -> None:
    files(tmp_path)
    expected = explained(tmp_path, "-m", "AP").partition(" against ")[0].removesuffix("run")
    (tmp_path / "qrels.json").write_text(json.dumps(LABELS))
    for given, stdin in {
        "qrels.json run": "", "-R json qrels.json run": "", "- run": "qrels", "qrels -": "run",
    }.items():  # fmt: skip
        data = (tmp_path / stdin).read_bytes() if stdin else b""
        done = treceval(["explain", *given.split(), "-m", "AP"], stdin=data, folder=tmp_path)
        assert done.out.decode().startswith(expected), given


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """a and b are tied, and q2 is missing. By descending id b comes before a."""
    (tmp_path / "qrels").write_bytes(b"q1 0 a 1\nq1 0 b 2\nq2 0 a 1\n")
    (tmp_path / "run").write_bytes(b"q1 Q0 x 1 3.0 t\nq1 Q0 a 2 2.0 t\nq1 Q0 b 3 2.0 t\n")
    return tmp_path


def test_a_whole_report(tiny: Path, snapshot: SnapshotAssertion) -> None:
    # From 2 on b alone is relevant: RR is 1/2 with the larger id first, 1/3 in the other order; half of it over both
    # queries.
    report = explained(tiny, "-l", "2", "--claim", "RR@10=0.1667")
    assert re.findall(r"^(0\.\d{4}) +([12])  ", report, re.MULTILINE) == [
        ("0.5000", "1"), ("0.3333", "1"), ("0.2500", "2"), ("0.1667", "2"),
    ]  # fmt: skip
    assert re.findall(r"^0\.\d{4} +(-0\.\d{4}) ", report, re.MULTILINE) == ["-0.1667", "-0.1667"]
    assert report == snapshot


def test_a_whole_arithmetic(tiny: Path, snapshot: SnapshotAssertion) -> None:
    reports = explained(tiny, "-m", "nDCG@10", "--query", "q1"), explained(tiny, "-m", "AP", "--query", "q2")
    first, second, ideal = 2 / math.log2(3), 1 / math.log2(4), 2 + 1 / math.log2(3)
    assert f"{first:.6f}   {first:.6f}   2 / log2(2 + 1)\n" in reports[0]
    assert f"{second:.6f}   {first + second:.6f}   1 / log2(3 + 1)\n" in reports[0]
    assert f"{first + second:.6g} / {ideal:.6g} of the ideal ranking = {(first + second) / ideal:.6f}\n" in reports[0]
    assert reports == snapshot


@pytest.mark.parametrize("claim", ["nDCG@10=0", "nDCG@10=1", "nDCG@10=1%"])
def test_0_and_1_are_not_everything_that_rounds_to_them(claim: str) -> None:
    assert claimed(*MESSY, claim).matches == []
    assert claimed({"1": {"a": 1}}, {"1": {"a": 1.0}}, "nDCG@10=1").matches[0].variant.name == "trec_eval-10"


def test_changes_that_belong_together_are_shown_with_others() -> None:
    # "Ideal of 10 ones, grades as 0 and 1" is one change, with two names in the table of changes.
    report = str(te.explain(*MESSY, claims={"nDCG@10": 0.345963241234567}))
    assert re.search("three changes: .*ideal of 10 ones, grades as 0 and 1", report)


# --- what is refused ---


def test_a_run_of_other_queries_is_refused_though_programs_that_score_lists_give_numbers() -> None:
    with pytest.raises(te.errors.EvaluationError, match="is not judged"):
        te.explain({"3": {"a": 1}}, {"1": {"a": 1.0}}, claims="AP=0.5")


def refused(folder: Path, *arguments: str, status: int, stdin: bytes = b"") -> str:
    done = treceval(["explain", *arguments], folder=folder, stdin=stdin)
    assert (done.status, done.out) == (status, b""), done
    return one_line(done)


def one_line(done: Done) -> str:
    text = done.err.decode()
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert "Traceback" not in text
    assert text[:-1].isprintable()
    return text[:-1]


CLAIMS = [
    "nDCG@10", "=0.3", "nDCG@10=abc", "nDCG@10=nan", "nDCG@10=inf", "nDCG@10=1e999", "nDCG@10=", "nDCG@10=0,35",
    "nDCG@10=0.3%%", "nDCG@10=٣", "a\nb=x\x1b", "map=0.3=0.4", "mapp=0.3", "P=0.3", "runid=3",
]  # fmt: skip


def test_a_claim_that_is_none_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    files(tmp_path)
    assert {ascii(claim): refused(tmp_path, "qrels", "run", "--claim", claim, status=2) for claim in CLAIMS} == snapshot


OPTIONS = {
    "--profile beirr": 2, "--against rank": 2, "-m mapp": 2, "-m relstring": 2, "-m alpha_nDCG@10": 2, "-m xinfAP": 2, "--query q9": 1,
    "--query q\x1b9": 1, "--query q1 --claim AP=1": 2, "--query q1 --against ranx": 2,
    "--query q1 -m alpha_nDCG@10": 2, "--query q1 -m relstring": 2, "--query q1 --profile nope": 2, "-l -1": 2, "-R prefs": 1,
    "-o no/such/folder": 1,
}  # fmt: skip
"""Options that do not fit, and the exit status."""


def test_an_option_that_does_not_fit_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    files(tmp_path)
    assert {
        ascii(options): refused(tmp_path, "qrels", "run", *options.split(" "), status=status)
        for options, status in OPTIONS.items()
    } == snapshot
    for options in ("-l x", "--nope", "-R nope", "-T nope"):  # in the words of click, which differ between its versions
        refused(tmp_path, "qrels", "run", *options.split(" "), status=2)


def test_files_that_do_not_fit_are_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    files(tmp_path)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "prefs").write_bytes(b"1 g s a 3\n1 g s b 2\n")
    given = ("qrels empty", "empty run", "qrels nosuch.txt", "no\x1bsuch.txt run", "prefs run", "- -", "run")
    assert {
        ascii(named): refused(tmp_path, *named.split(" "), status=2 if named in ("- -", "run") else 1)
        for named in given
    } == snapshot


def test_control_characters_of_ids_and_names_are_made_visible(tmp_path: Path) -> None:
    (tmp_path / "q\x1b[31m").write_bytes(b"1\x1b 0 a\x07 1\n1\x1b 0 \xff 2\n2 0 x 1\n")
    (tmp_path / "r\nn").write_bytes(b"1\x1b Q0 a\x07 1 2 t\n1\x1b Q0 \xff 2 1 t\n")
    for options in ("-m AP", "-m AP --against ranx", "--claim AP=0.5", "-m AP --query 1\x1b"):
        done = treceval(["explain", "q\x1b[31m", "r\nn", *options.split(" ")], folder=tmp_path)
        assert done.status == 0, done.err
        for line in done.out.decode().splitlines():
            assert line.isprintable(), line


def test_huge_numbers_are_no_traceback(tmp_path: Path) -> None:
    swapped = b"1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n"
    rows = [
        (b"1 0 a 1\n", b"1 Q0 a 1 1e308 t\n1 Q0 b 2 -1e308 t\n"),
        (b"1 0 a 1023\n1 0 b 1\n", swapped),
        (b"1 0 a 5000\n1 0 b 1\n", swapped),
        (b"1 0 999999999999999999999999 1\n", b"1 Q0 999999999999999999999999 1 2 t\n1 Q0 1 2 1 t\n"),
        (b"1 0 a 1\n", b"1 Q0 a 999999999999999999 2 t\n"),
    ]
    measures = ("nDCG(gain=exp)", "ERR@10", "AP", "RBP(p=0.8,rel=1)", "DCG(gain=exp)")
    options = ["--claim nDCG@10=0.5", "-m RR", *(f"--query 1 -m {each}" for each in measures)]
    digits = ("9" * 500, "0." + "3" * 500, "-" + "9" * 500 + "%", "1" * 200 + "." + "1" * 200)
    for qrels, run in rows:
        (tmp_path / "qrels").write_bytes(qrels)
        (tmp_path / "run").write_bytes(run)
        for words in options + [f"--claim AP={number}" for number in digits] * (qrels is rows[0][0]):
            done = treceval(["explain", "qrels", "run", *words.split()], folder=tmp_path)
            assert done.status in (0, 1, 2)
            assert done.status == 0 or one_line(done)
    (tmp_path / "qrels").write_bytes(f"1 0 a {10**12}\n1 0 b 1\n".encode())  # no array of 8 TB can be made
    (tmp_path / "run").write_bytes(swapped)
    assert explained(tmp_path, "--claim", "nDCG@10=0.1234")


# --- measures from outside ---

MINE = '''\
import numpy as np
from treceval_py.errors import MeasureError
from treceval_py.measuring import declare
def depth(run, *, level: int = 1):
    """Twice the number of documents retrieved."""
    return run.num_ret * 2.0
def shape(run):
    """Values for seven queries."""
    return np.zeros(7)
def fails(run):
    """Nothing."""
    raise KeyError("no\\nsuch")
def words(run):
    """Text where numbers should be."""
    return ["x"] * run.num_queries
def own(run):
    """An error of our kind."""
    raise MeasureError("this is mine", "Do that.")

declare(depth, "depth", notation=["Depth"])
declare(shape, "shape")
declare(fails, "fails")
declare(words, "words")
declare(own, "own")
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a plugin, all of which is forgotten afterwards."""
    files(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    modules = set(sys.modules)
    with patch.dict(FAMILIES):
        yield tmp_path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("plugin", ["mine", "mine.py", "./mine.py"])
def test_a_plugin_s_measure_is_computed_listed_and_explained(plugin: str, folder: Path) -> None:
    arguments = ["-q", "-m", "Depth(rel=2)", "-m", "depth", "qrels", "run"]
    done = treceval(["--plugin", plugin, *arguments], folder=folder)
    assert done.status == 0, done.err
    # q1 has five documents, q2 three.
    assert (
        done.out.split()
        == b"""Depth(rel=2) q1 10.0000 depth q1 10.0000 Depth(rel=2) q2 6.0000 depth q2 6.0000
        Depth(rel=2) all 8.0000 depth all 8.0000""".split()
    )
    done = treceval(["measures", "--plugin", plugin, "depth"], folder=folder)
    assert (done.status, done.err) == (0, b"")
    assert done.out.decode().startswith("depth = Depth\n")
    assert b"Twice the number of documents retrieved." in done.out
    done = treceval(["explain", "--plugin", plugin, "--plugin", plugin, "qrels", "run", "-m", "depth"], folder=folder)
    assert (done.status, done.err) == (0, b"")
    assert b"8.0000         2   trec_eval-10, " in done.out


UNUSABLE: dict[str, Any] = {
    "nosuch": None, "nosuch.py": None, "": None, "a..b": None, ".mine": None, "declares_nothing": "",
    "raises_one": "raise RuntimeError('one\\ntwo')", "raises.py": "1 / 0",
    "taken": "from treceval_py.measuring import declare\n\n\ndef f(run):\n    'x'\n\n\ndeclare(f, 'map')\n",
    "syntax.py": "def (", "leaves.py": "raise SystemExit(3)",
}  # fmt: skip
"""Names of plugins that cannot be used, and their text."""


@pytest.mark.parametrize("command_name", ["score", "explain"])
def test_a_plugin_that_cannot_be_used_or_goes_wrong_is_refused(
    command_name: str, folder: Path, snapshot: SnapshotAssertion
) -> None:
    given = {name: (["--plugin", name], 2) for name in UNUSABLE}
    for measure, status in {"shape": 1, "fails": 1, "words": 1, "own": 2}.items():
        given[f"-m {measure}"] = (["--plugin", "mine", "-m", measure], status)
    said = {}
    for name, (options, status) in given.items():
        if UNUSABLE.get(name) is not None:
            (folder / f"{name.removesuffix('.py')}.py").write_text(UNUSABLE[name])
        done = treceval([command_name, "qrels", "run", *options], folder=folder)
        assert (done.status, done.out) == (status, b""), name
        said[name] = one_line(done)
    assert "cannot be imported: RuntimeError: one\\ntwo. Give" in said["raises_one"]
    assert "cannot be imported: ZeroDivisionError: division by zero. Give" in said["raises.py"]
    # The words of other errors are Python's, and differ between its versions.
    assert {name: re.sub(r"(imported: \w+): .*(?=\. Give)", r"\1: …", line) for name, line in said.items()} == snapshot


def test_a_walk_can_begin_where_all_judged_queries_are_averaged(tmp_path: Path) -> None:
    files(tmp_path)
    walk = explained(tmp_path, "-c", "-m", "AP", "--against", "ir_measures").partition("From trec_eval-10 -c")[2]
    assert "a judged query that the run lacks" not in walk
    assert "scores are compared as: 64 → 32" in walk


def test_claims_are_a_dictionary_too() -> None:
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 1}}, {qid: {"b": 1.0, "a": 0.5} for qid in "123"}
    # RR: 1/2, 1/2, 1; their mean is 2/3
    for written, value in (("RR=0.667", 0.667), ("RR=66.7%", "66.7%"), ("RR=0.6670", "0.6670"), ("RR=0.00001", 1e-5)):
        by_name = te.explain(qrels, run, claims={"RR": value}).measures[0]
        assert by_name.claim == te.explain(qrels, run, claims=written).measures[0].claim
    (measure,) = te.measuring.parse_measures("nDCG(gain=exp)@10")
    assert te.explain(qrels, run, claims={measure: np.float32(0.5)}).measures[0].claim.text == "0.5"
    for value in (None, True, math.nan, [0.5]):
        assert refusal(te.explain, qrels, run, claims={"RR": value}).endswith("Give a number, or text such as 34.98%.")
