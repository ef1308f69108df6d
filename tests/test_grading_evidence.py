"""Evidence: what is said of numbers that are not declared. They may give points, and nothing takes any."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from treceval_py.grading.claims.reconciling import Ways
from treceval_py.grading.grades import Entry, Grades, marks_of
from treceval_py.grading.intake.intake import one
from treceval_py.grading.marking.claiming import MOST_OPEN
from treceval_py.grading.marking.marking import Grader, limits_of
from treceval_py.grading.outputs.feedback import feedback
from treceval_py.grading.outputs.gradebook import sheets_of
from treceval_py.grading.records import EVIDENCE, NOT_REPRODUCED, VERDICTS, Graded
from treceval_py.grading.rules import MeasureRule, Rules, Task

DECLARED = Rules(measures=(MeasureRule("AP"), MeasureRule("nDCG@10"), MeasureRule("RR")), megabytes=1.0)
ANYWHERE = DECLARED._replace(claims="anywhere")
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq2 0 b 0\n"


def run(*ranks: int) -> str:
    """Return a run that has the relevant document of each query at some rank."""
    return "".join(
        f"q{number} Q0 {'a' if place == rank else f'x{place}'} {place} {9 - place} t{''.join(map(str, ranks))}\n"
        for number, rank in enumerate(ranks, 1)
        for place in range(1, 6)
    )


RUN, OTHER, BASELINE = run(2, 3), run(1, 4), run(5, 5)
AP = (1 / 2 + 1 / 3) / 2
"""0.4167; it is 0.6250 of the other run, and 0.2000 of the baseline."""
NDCG = (1 / math.log2(3) + 1 / 2) / 2
"""0.5655."""

TEXTS: dict[str, list[dict[str, Any]]] = tomllib.loads((Path(__file__).parent / "claim_texts.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def graders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Grader]:
    """Return graders by their rule for claims."""
    folder = tmp_path_factory.mktemp("assignment")
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "base.txt").write_text(BASELINE)
    files = str(folder / "qrels.txt"), str(folder / "base.txt")
    return {rules.claims: Grader(Task("", *files, rules=rules)) for rules in (DECLARED, ANYWHERE)}


def graded(grader: Grader, folder: Path, files: Mapping[str, str]) -> tuple[Graded, float]:
    """Grade a submission, and return it with its points."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    found = grader.grade(one(str(folder), limits_of(grader.rules)))
    return found, marks_of(found, grader.rules, {}).total


# --- whatever is said, no point is lost, and nothing is missing ---


def test_no_point_is_lost_by_any_sentence_and_every_number_is_listed(
    graders: dict[str, Grader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a number could be under other conventions, which takes a while, changes no point.
    monkeypatch.setattr(Ways, "_explained", lambda *_, **__: (NOT_REPRODUCED, "", ""))
    assert len(TEXTS["trap"]) == 155
    lost, unlisted = [], []
    for way, files, several in (
        ("declared", {"claims.csv": f"measure,value\nnDCG@10,{NDCG:.4f}\n"}, 10),
        # few at once, since who gives more than ten other numbers for a measure has guessed
        ("anywhere", {"r.md": f"Our nDCG@10 is {NDCG:.4f}.\n"}, 10),
    ):
        for first in range(0, 155, several):
            some = enumerate(TEXTS["trap"][first : first + several])
            traps = {f"{at}/{trap.get('file', 'report.md')}": trap for at, trap in some}
            written = {name: trap["written"] for name, trap in traps.items()}
            found, points = graded(graders[way], tmp_path / f"{way}{first}", {"run.txt": RUN, **files, **written})
            lost += [(way, [*traps], points, found.claims)] * (points != 100)
            for name, trap in traps.items():
                listed = Counter(claim.text for claim in found.claims if claim.place.startswith(name))
                missing = Counter(part.split()[1] for part in trap.get("numbers", "").split(", ") if part) - listed
                unlisted += [(way, trap["what"], missing)] * bool(missing)
            assert all(claim.verdict in VERDICTS or claim.verdict in EVIDENCE for claim in found.claims)
    assert lost == []
    assert unlisted == []


# --- what a number equals ---

EQUALS: dict[str, tuple[str, str]] = {
    # reciprocal ranks 1/2 and 1/3
    f"Our MAP is {AP:.4f}.": ("confirmed", ""),
    "Our MAP is 0.4166.": ("confirmed", "cut off after 4 decimals, not rounded"),
    "Our MAP is 41.67 %.": ("confirmed", "given as a percentage"),
    "Our MAP is 0.4.": ("explained", "a single decimal says too little; it is 0.4167"),
    "The first run had MAP 0.6250.": ("explained", "it is the value of b.txt, which does not count"),
    "The baseline has MAP 0.2000.": ("explained", "it is the value of the baseline"),
    "| query | AP |\n|--|--|\n| q1 | 0.1234 |": ("explained", "it is said of query q1"),
    "Our MAP is 0.291667.": ("asked", "none of the"),  # upside down: mistakes are searched for declared numbers alone
    "Our MAP is 0.417900.": ("asked", "none of the"),
    "Our MAP is 0.418.": ("confirmed", "off by one in the last of its 3 decimals"),
    "Our MAP is 0.419.": ("asked", "no run gives it, and fewer than 4 decimals do not show a convention"),
    "Our MAP is 41.90 %.": ("asked", "none of the"),
    "Our MAP is 41.9 %.": ("asked", "no run gives it"),
}


def test_a_number_is_confirmed_explained_or_asked_about(graders: dict[str, Grader], tmp_path: Path) -> None:
    report = "\n\n".join(("Words.", *EQUALS))
    files = {
        "a.txt": RUN,
        "b.txt": OTHER,
        "claims.csv": f"run,measure,value\na.txt,MAP,{AP:.4f}\n",
        "report.md": report,
    }
    found, points = graded(graders["declared"], tmp_path / "ada", files)
    assert (found.run, points) == ("a.txt", 100)
    claims = {claim.sentence: claim for claim in found.claims if claim.place.startswith("report.md")}
    assert len(claims) == len(EQUALS)
    for text, (verdict, why) in EQUALS.items():
        claim = claims[text.split("\n")[-1].strip("| ")]
        assert (claim.verdict, claim.counts) == (verdict, False), (text, claim)
        assert claim.why.startswith(why), (text, claim)
        assert bool(claim.why) == bool(why)


def test_a_number_of_another_convention_names_it(graders: dict[str, Grader], tmp_path: Path) -> None:
    # The run lacks query q2: over all judged queries MAP is 1/4, over its own 1/2.
    files = {"run.txt": run(2), "claims.csv": "MAP,0.2500", "report.md": "Our MAP was 0.5000 first."}
    found, points = graded(graders["declared"], tmp_path / "ada", files)
    (claim,) = (claim for claim in found.claims if claim.place.startswith("report.md"))
    assert (claim.verdict, points) == ("explained", 100)
    assert claim.why.startswith("the number of trec_eval-10")
    assert claim.why.endswith("a judged query that the run lacks is left out of the mean")


def test_without_a_run_a_number_is_neither_asked_about_nor_counted(graders: dict[str, Grader], tmp_path: Path) -> None:
    found, points = graded(graders["anywhere"], tmp_path / "ada", {"report.md": "Our MAP is 0.4167."})
    assert ([(claim.verdict, claim.counts) for claim in found.claims], points) == ([("unchecked", False)], 0)


# --- what gives points ---

GIVES: list[tuple[str, Mapping[str, str], float, float]] = [
    # what is written, and the points where numbers have to be declared, and where they may stand anywhere
    ("in a sentence", {"report.md": f"Our MAP is {AP:.4f}."}, 40, 100),
    ("on a line of its own", {"report.md": f"Results\n\nMAP {AP:.4f}"}, 100, 100),
    ("wrong on a line of its own", {"report.md": "Results\n\nMAP = 0.3719"}, 40, 40),
    ("wrong in a file of such lines", {"report.md": f"MAP = 0.3719\nnDCG@10 = {NDCG:.4f}"}, 70, 70),
    ("wrong and right, in words", {"report.md": f"A: MAP 0.3719, nDCG@10 {NDCG:.4f}"}, 40, 100),
    ("under another convention, declared", {"report.txt": "MAP = 0.291667"}, 55, 55),  # a mistake: a quarter
    ("under another convention, in words", {"report.txt": "Our MAP is 0.291667"}, 40, 40),
    # a declared number goes before evidence
    ("declared wrong", {"claims.csv": "MAP,0.3719", "report.md": f"Our MAP is {AP:.4f}."}, 40, 40),
    ("another one declared", {"claims.csv": f"RR,{AP:.4f}", "report.md": f"Our MAP is {AP:.4f}."}, 100, 100),
    # two different numbers for one measure: the worst declared one counts
    ("declared twice", {"claims.csv": f"MAP,{AP:.4f}\nMAP,0.3719"}, 40, 40),
    ("in a table of two runs", {"report.md": f"| | MAP |\n|--|--|\n| a | 0.3719 |\n| b | {AP:.4f} |"}, 40, 100),
]


@pytest.mark.parametrize(
    ("files", "declared", "anywhere"), [case[1:] for case in GIVES], ids=[case[0] for case in GIVES]
)
def test_points_are_for_declared_numbers_and_for_right_ones_elsewhere_if_the_rules_say_so(
    graders: dict[str, Grader], tmp_path: Path, files: Mapping[str, str], declared: float, anywhere: float
) -> None:
    points = [graded(graders[rule], tmp_path / rule, {"run.txt": RUN, **files})[1] for rule in ("declared", "anywhere")]
    assert points == [declared, anywhere]


@pytest.mark.parametrize(("guesses", "points"), [(MOST_OPEN, 100), (MOST_OPEN + 1, 40)])
def test_who_gives_more_than_ten_other_numbers_for_a_measure_has_guessed(
    graders: dict[str, Grader], tmp_path: Path, guesses: int, points: float
) -> None:
    others = "".join(f"With seed {seed} MAP is 0.37{10 + seed}.\n" for seed in range(guesses))
    report = f"{others}\nOurs is a MAP of {AP:.4f}.\nThe MAP of the baseline is 0.2000, and again 0.3710 MAP.\n"
    found, reached = graded(graders["anywhere"], tmp_path / "ada", {"run.txt": RUN, "report.md": report})
    assert reached == points
    assert Counter(claim.verdict for claim in found.claims)["asked"] == guesses + 1


def test_of_several_right_numbers_the_most_exact_one_gives_the_points(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS)
    rules = ANYWHERE._replace(credit_rounding=0.5)
    grader = Grader(Task("", str(tmp_path / "qrels.txt"), rules=rules))
    for number, (text, points) in enumerate({"0.4166": 70, "0.4166, or 0.4167": 100, "0.4167, or 0.4166": 100}.items()):
        assert graded(grader, tmp_path / str(number), {"run.txt": RUN, "a.md": f"Our MAP is {text}."})[1] == points
    grader.rules = grader.rules._replace(claims="declared")
    files = {"run.txt": RUN, "a.md": "Our MAP is 0.4167.\n\nMAP = 0.4166"}
    assert graded(grader, tmp_path / "line", files)[1] == 70  # of which only the second needs no sentence


def test_an_expected_number_that_is_not_declared_is_told_with_the_one_that_was_found(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS)
    grader = Grader(Task("", str(tmp_path / "qrels.txt"), rules=DECLARED._replace(expected=("AP", "RR"))))
    files = {
        "run.txt": RUN,
        "a.csv": f"measure,value\nRR,{AP:.4f}\n",
        "report.md": f"Our RR is {AP:.4f}.\n\nOur MAP is {AP:.4f}.",
    }
    found, points = graded(grader, tmp_path / "ada", files)
    assert points == 70
    assert [claim.why for claim in found.claims if claim.verdict == "no claim"] == [
        "no number was declared for AP; 0.4167 (report.md:3) is right, but not declared"
    ]


# --- the counts add up ---


def test_the_counts_of_numbers_add_up_in_feedback_and_gradebook(graders: dict[str, Grader], tmp_path: Path) -> None:
    grader = graders["declared"]
    report = f"Our MAP is {AP:.4f}. The baseline's MAP is 0.2000. Jonas has MAP 0.3719, Ida MAP 0.3718.\n"
    files = {"run.txt": RUN, "claims.csv": "nDCG@10,0.5655\nRR,0.3333", "report.md": report}
    found, _ = graded(grader, tmp_path / "ada", files)
    entry = Entry(found, marks_of(found, grader.rules, {}), "ada")
    book = Grades("q", "s", "b", grader.rules, ("AP",), {}, (entry,))
    told = " ".join(feedback(entry, book).split())
    assert "6 numbers beside names of measures: 2 claimed, 1 confirmed, 1 explained, 2 asked." in told
    assert "MAP = 0.3719: the number equals no known value: none of the" in told
    sheets = {sheet.name: sheet for sheet in sheets_of(book)}
    row = {column.key: column.cells[0] for column in sheets["Grades"].columns}
    assert [row[f"numbers: {kind}"] for kind in ("found", *EVIDENCE)] == [6, 1, 1, 2]
    assert sum(row[f"claims: {verdict}"] for verdict in VERDICTS if verdict != "no claim") == 2
    rows = {column.key: column.cells for column in sheets["Claims"].columns}
    assert len(rows["verdict"]) == 6
    assert rows["sentence"][-1] == "Jonas has MAP 0.3719, Ida MAP 0.3718."
