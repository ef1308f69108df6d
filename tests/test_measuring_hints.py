"""Hints in errors about a measure's parameters, followed to the letter."""

from __future__ import annotations

import re

import pytest

import treceval_py as te

MEASURE = re.compile(r"(?:[Ww]rite|label:) (\S+?(?:\([^)]*\))?(?:@\d+)?)[,.]")
"""A whole measure in a hint."""

SETTING = re.compile(r"\b(\w+)=(\{[^}]*\}|[\d.,]*\d|\w+)")
"""A parameter in a hint."""


def said_of(measure: str, highest: int) -> tuple[str, str]:
    """Return what is wrong with a measure of judgments up to a grade, and the hint."""
    with pytest.raises(te.errors.TrecevalError) as caught:
        value_of(measure, highest)
    return caught.value.what, caught.value.todo


def value_of(measure: str, highest: int) -> float:
    qrels = {"q": {"a": 1, "b": highest, "c": 0}}
    (value,) = te.evaluate(qrels, {"q": {"c": 3.0, "b": 2.0, "a": 1.0}}, [measure]).mean.values()
    return value


def followed(measure: str, todo: str) -> list[str]:
    """Return the measures that a hint means, each with one of its instructions followed."""
    if whole := MEASURE.search(todo):
        return [whole[1]]
    means = []
    for name, value in SETTING.findall(todo):
        without = re.sub(rf"\b{name}=(?:\{{[^}}]*\}}|[^,)]*),?", "", measure)
        means.append(f"{without[:-1].rstrip(',')},{name}={value})".replace("(,", "("))
    return means


@pytest.mark.parametrize(
    ("measure", "highest", "expected"),
    [
        ("ERR(max_rel=1)", 2, ["ERR(max_rel=2)"]),
        ("ERR(max_rel=999)", 1000, ["ERR(max_rel=1000)"]),
        ("GAP(max_rel=1)", 3, ["GAP(max_rel=3)"]),
        ("GAP(weights=1,1)", 3, []),
        ("INSQ(min_rel=3,max_rel=2)", 1, ["INSQ(min_rel=3,max_rel=4)"]),
        ("INSQ(min_rel=3,max_rel=2)", 7, ["INSQ(min_rel=3,max_rel=7)"]),
        ("INSQ(min_rel=999,max_rel=2)", 1, ["INSQ(min_rel=999,max_rel=1000)"]),
        ("INSQ(min_rel=1000,max_rel=2)", 1, []),
        ("INST(T=0.49)", 1, ["INST(T=0.5)"]),
        ("nDCG(base=3)", 2, ["nDCG(base=3,discount=jk)"]),
        ("ndcg_burges@2-l2", 3, ["nDCG(gains={1:0,2:3,3:7})@2"]),
        ("ncrr@2-l2", 3, ["nDCG(gains={1:0,2:1,3:1}, discount=position)@2"]),
        ("ndcg_burges@2-l9", 3, []),
        ("Compat-l2", 3, []),
        ("nDCG(5)", 1, ["nDCG@5"]),
        ("nDCG(4)", 1, []),  # perhaps a level
        ("nDCG@k=10", 1, ["nDCG@10"]),
        ("nDCG@ten", 1, ["nDCG@10"]),
        ("nDCG@all", 1, ["nDCG"]),
        ("P@all", 1, ["P@10"]),
        ("BPM", 1, ["BPM@10"]),
        ("NERR8", 1, ["NERR8@10"]),
        ("AverageGain", 1, ["AverageGain@10"]),
    ],
)
def test_what_a_hint_names_is_accepted(measure: str, highest: int, expected: list[str]) -> None:
    _, todo = said_of(measure, highest)
    assert followed(measure, todo) == expected
    for each in expected:
        assert value_of(each, highest) >= 0


def test_the_gains_of_a_hint_are_those_of_the_measure_that_was_asked_for() -> None:
    # Exponential gains of labels from 2 on: b, judged 3, has 2^3 - 1 = 7 at rank 2, and the ideal has it at rank 1.
    _, todo = said_of("ndcg_burges@2-l2", 3)
    (measure,) = followed("", todo)
    assert value_of(measure, 3) == pytest.approx(0.6309297535714575)  # 1 / log2(3)
    assert value_of("nDCG(gain=exp)@2", 3) != value_of(measure, 3)  # a, judged 1, counts there


def test_other_hints_can_be_followed_too() -> None:
    assert "Give a min_rel below 2" in said_of("INSQ(min_rel=3,max_rel=2)", 1)[1]
    assert value_of("INSQ(min_rel=1,max_rel=2)", 1) >= 0
    assert said_of("INSQ(min_rel=1000,max_rel=2)", 1)[1] == "Give a min_rel below 2."
    assert said_of("GAP(weights=1,1)", 3)[1] == "Give 3 weights, one for each grade from 1 on."
    assert value_of("GAP(weights=1,1,1)", 3) >= 0
    assert said_of("nDCG(gain=exp,gains={1:3})", 1)[1] == "Leave out one of them."
    assert value_of("nDCG(gain=exp)", 1) == value_of("nDCG(gains={1:3})", 1)  # of one grade
    for measure in ("INST(D=10000001)", "SDCG@10000001", "Compat(D=10000001)"):
        assert "10000000 or less" in said_of(measure, 1)[1]


LIMITED = ("ERR", "ERR@20", "nERR", "gRBP", "GAP", "INST", "INSQ", "SDCG@10", "BPM@10", "NERR8@10", "NERR11")
"""Measures whose scale has a top."""


@pytest.mark.parametrize("measure", LIMITED)
def test_grades_that_are_too_large_are_said_to_be(measure: str) -> None:
    assert value_of(measure, 1000) >= 0
    for highest in (1001, 2000):
        what, todo = said_of(measure, highest)
        assert what == f"a document is judged {highest}, and {measure} takes judgments up to 1000"
        assert todo == "Put the judgments on a scale of at most 1000."


@pytest.mark.parametrize(("measure", "named"), [("nDCG(gain=exp)", "gain=exp"), ("ERR(max_rel=4)", "max_rel")])
def test_no_parameter_is_named_that_is_then_refused(measure: str, named: str) -> None:
    what, todo = said_of(measure, 1001)
    assert what == f"a document is judged 1001, and {named} takes judgments up to 1000"
    assert followed(measure, todo) == []
