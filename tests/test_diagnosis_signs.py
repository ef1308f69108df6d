"""Signs of a mistake in a run: one note each, in every command that scores, and none where nothing is wrong."""

from __future__ import annotations

import io
import json
import random
import warnings
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from command import Done, treceval
from shared import ROBUST, SHARED, needs_shared

import treceval_py as te
from treceval_py.checking.checking import check
from treceval_py.diagnosis import noting
from treceval_py.diagnosis.signs import Lists, Seen, look, merged
from treceval_py.io.source import Text

pytestmark = pytest.mark.filterwarnings("ignore::treceval_py.errors.MissingQueriesWarning")

DATA = Path(__file__).parent.parent / "data"


class Line(NamedTuple):
    """A line of a run."""

    qid: str
    docid: str
    rank: object
    score: object


Lines = list[Line]

QUERIES, DOCUMENTS = 20, 30


def clean(seed: int = 1) -> Lines:
    """Return a run in which nothing is wrong: documents and scores of each query at random."""
    rng = random.Random(seed)
    return [
        Line(f"q{query:02}", f"DOC-{number:04}", rank, round(score, 6))
        for query in range(1, QUERIES + 1)
        for rank, (number, score) in enumerate(
            zip(
                rng.sample(range(1, 1000), DOCUMENTS),
                sorted((rng.uniform(1, 20) for _ in range(DOCUMENTS)), reverse=True),
                strict=True,
            ),
            1,
        )
    ]


def judgments(lines: Lines) -> str:
    """Judge every other document of a run, the first two of them relevant, and documents that it lacks."""
    text = []
    for qid, group in groupby(lines, key=lambda line: line.qid):
        text += [f"{qid} 0 {line.docid} {int(number < 2)}\n" for number, line in enumerate([*group][::2])]
        text += [f"{qid} 0 OTHER-{number:04} 0\n" for number in range(10)]
    return "".join(text)


def written(lines: Lines, tag: str = "mine") -> bytes:
    return "".join(f"{line.qid} Q0 {line.docid} {line.rank} {line.score} {tag}\n" for line in lines).encode()


def documents(rewrite: Callable[[str], str]) -> Callable[[Lines], Lines]:
    return lambda lines: [line._replace(docid=rewrite(line.docid)) for line in lines]


def queries(rewrite: Callable[[str], str]) -> Callable[[Lines], Lines]:
    return lambda lines: [line._replace(qid=rewrite(line.qid)) for line in lines]


def scores(rewrite: Callable[[Line], object], *, rank: object = None) -> Callable[[Lines], Lines]:
    return lambda lines: [
        line._replace(score=rewrite(line), rank=line.rank if rank is None else rank) for line in lines
    ]


def bfloat16(score: float) -> float:
    bits = np.array([score], dtype=np.float32).view(np.uint32) & 0xFFFF0000
    return float(bits.view(np.float32)[0])


def turned(lines: Lines) -> Lines:
    """Write distances: the best first, with the smallest score."""
    return [line._replace(score=round(25 - float(str(line.score)), 6)) for line in lines]


def rotated(lines: Lines, by: int) -> Lines:
    """Give each query's documents to another query."""
    qids = sorted({line.qid for line in lines})
    return [line._replace(qid=qids[(qids.index(line.qid) + by) % len(qids)]) for line in lines]


def by_ids(lines: Lines) -> Lines:
    return [line._replace(score=int(line.docid[-4:])) for line in lines]


def same_ranking(lines: Lines) -> Lines:
    first = [line for line in lines if line.qid == "q01"]
    return [line._replace(docid=first[at % DOCUMENTS].docid) for at, line in enumerate(lines)]


def shuffled_ranks(lines: Lines) -> Lines:
    ranks = random.Random(3).sample(range(1, DOCUMENTS + 1), DOCUMENTS)
    return [line._replace(rank=ranks[at % DOCUMENTS]) for at, line in enumerate(lines)]


DAMAGES: dict[str, tuple[Callable[[Lines], Lines], str, str]] = {
    "an ending": (documents("{}.txt".format), "X205", "Write document ids as in the judgments."),
    "two endings": (documents("{}.html.gz".format), "X205", "Write document ids as in the judgments."),
    "a folder": (documents("docs/{}".format), "X205", "Write document ids as in the judgments."),
    "small letters": (documents(str.lower), "X205", "Write document ids as in the judgments."),
    "angle brackets": (documents("<{}>".format), "X205", "Write document ids as in the judgments."),
    "quotes": (documents('"{}"'.format), "X205", "they differ only in quotes"),
    "URLs": (documents("https://x.org/a/{}".format), "X205", "the beginning of the URL"),
    "a prefix": (documents("col:{}".format), "X205", "the prefix"),
    "brackets and a prefix": (documents("<col:{}>".format), "X205", "angle brackets and the prefix"),
    "segments": (documents("{}#3".format), "X205", "Score segments as documents with --max-passage"),
    "leading zeros": (documents(lambda docid: docid.replace("-0", "-")), "X205", "leading zeros"),
    "the number alone": (documents(lambda docid: docid[4:]), "X205", "the text before the number"),
    "other punctuation": (documents(lambda docid: docid.replace("-", "_")), "X205", "punctuation"),
    "another collection": (documents(lambda docid: f"x{int(docid[4:]) * 7919}y"), "X205", "for another collection"),
    "mixed queries": (lambda lines: rotated(lines, 7), "X206", "are the query ids the same?"),
    "other queries": (
        queries(lambda qid: f"topic{int(qid[1:]) + 500}"),
        "X201",
        "Are these the judgments for this run?",
    ),
    "queries without zeros": (queries(lambda qid: f"q{int(qid[1:])}"), "X204", "Write query ids as in the judgments."),
    "queries as numbers": (queries(lambda qid: qid[1:]), "X201", "Write query ids as in the judgments."),
    "rank and score": (
        lambda lines: [line._replace(rank=line.score, score=line.rank) for line in lines],
        "R119",
        "Write qid Q0 docid rank score tag",
    ),
    "rank from 0 and score": (
        lambda lines: [line._replace(rank=line.score, score=int(str(line.rank)) - 1) for line in lines],
        "R119",
        "Write qid Q0 docid rank score tag",
    ),
    "scores of 0": (scores(lambda _: 0), "R127", "Write the scores of the ranking."),
    "scores of 1 but for one query": (
        scores(lambda line: line.score if line.qid == "q05" else 1.0),
        "R127",
        "Write the scores of the ranking.",
    ),
    "distances": (turned, "R129", "write them with the opposite sign"),
    "distances without ranks": (
        lambda lines: scores(lambda line: line.score, rank=0)(turned(lines)),
        "R129",
        "the opposite sign",
    ),
    "distances, and ranks that are no numbers": (
        lambda lines: scores(lambda line: line.score, rank="-")(turned(lines)),
        "R129",
        "write them with the opposite sign",
    ),
    "ranks as scores": (scores(lambda line: line.rank), "R129", "write them with the opposite sign"),
    "ranks of another run": (shuffled_ranks, "R123", "Find out which of the two is right."),
    "ids as scores": (by_ids, "R128", "not ids or row numbers"),
    "half precision": (
        scores(lambda line: float(np.float16(line.score))),
        "R130",
        "Compute or convert scores in single precision",
    ),
    "bfloat16": (scores(lambda line: bfloat16(float(str(line.score)))), "R130", "in single precision"),
    "one decimal": (scores(lambda line: round(float(str(line.score)) / 4, 1)), "R130", "Write scores with more digits"),
    "cut off": (lambda lines: lines[:-20], "R132", "Write it again"),
    "one ranking": (same_ranking, "R135", "The ranking does not depend on the query"),
}
"""What is done to a clean run, the sign that it gives, and some of what is said."""

CLOSE = {"half precision", "bfloat16"}
"""Damages of runs whose scores are close together, as those of dense models are."""


class Case(NamedTuple):
    folder: Path
    lines: Lines
    code: str
    said: str


@pytest.fixture(params=DAMAGES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    damage, code, said = DAMAGES[request.param]
    lines = clean()
    if request.param in CLOSE:
        lines = [line._replace(score=round(0.7 + float(str(line.score)) / 2000, 7)) for line in lines]
    (tmp_path / "runs").mkdir()
    (tmp_path / "qrels.txt").write_text(judgments(lines))
    (tmp_path / "clean.txt").write_bytes(written(clean(), "clean"))
    (tmp_path / "runs" / "damaged.txt").write_bytes(written(damage(lines)))
    (tmp_path / "runs" / "clean.txt").write_bytes(written(clean(), "clean"))
    return Case(tmp_path, damage(lines), code, said)


def notes_of(done: Done, case: Case) -> list[str]:
    """Return the lines on standard error that say what the sign says."""
    return [line for line in done.err.decode().splitlines() if case.said in line]


def test_a_damage_is_noted_once_with_what_to_do_by_score_and_in_python(case: Case) -> None:
    folder = case.folder
    done = treceval(["-c", "-m", "map", "qrels.txt", "runs/damaged.txt"], folder=folder)
    assert len(notes_of(done, case)) == 1, done.err
    qrels, run = (folder / name for name in ("qrels.txt", "runs/damaged.txt"))
    with pytest.warns(te.errors.SuspectRunWarning) as caught:
        results = te.evaluate(qrels, run, "map", complete=True)
    assert [case.said in str(each.message) for each in caught].count(True) == 1
    assert case.code in [sign.code for sign in results.signs]
    assert len(results.signs) <= noting.MOST
    document = json.loads(treceval(["-c", "--format", "json", "qrels.txt", str(run)], folder=folder).out)
    assert document["runs"][0]["signs"] == [sign._asdict() for sign in results.signs]


def test_what_is_noted_is_found_by_check(case: Case) -> None:
    qrels, run = (case.folder / name for name in ("qrels.txt", "runs/damaged.txt"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", te.errors.SuspectRunWarning)
        noted = {sign.code for sign in te.evaluate(qrels, run, "map", complete=True).signs}
    assert noted <= set(check(qrels, run).counts)
    alone = {code for code in noted if code.startswith("R")} - {"R132"}
    assert alone <= set(check(run).counts)


COMMANDS = {
    "compare": ["compare", "-c", "qrels.txt", "clean.txt", "runs/damaged.txt"],
    "gate": ["gate", "qrels.txt", "clean.txt", "runs/damaged.txt"],
    "board": ["board", "qrels.txt", "runs", "--no-cache"],
    "report": ["report", "-c", "qrels.txt", "clean.txt", "runs/damaged.txt", "-o", "report.html"],
    "ranges": ["--ties", "-c", "-m", "map", "qrels.txt", "runs/damaged.txt"],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_scores_notes_a_damage_once(case: Case, command: str) -> None:
    done = treceval(COMMANDS[command], folder=case.folder)
    # Notes of gates and boards stand below their tables, whose lines are wrapped.
    whole = " ".join((done.out + done.err).decode().split())
    assert whole.count(case.said) == 1, whole


@pytest.mark.slow
def test_comparisons_gates_and_boards_warn_in_python(case: Case) -> None:
    qrels, run, other = (case.folder / name for name in ("qrels.txt", "runs/damaged.txt", "clean.txt"))
    for score in (
        lambda: te.compare(qrels, [other, run], complete=True),
        lambda: te.gating.gate(qrels, other, run),
        lambda: te.board(qrels, case.folder / "runs"),
        lambda: te.Evaluator(qrels, te.Scoring(["map"], complete=True)).score(run),
    ):
        with pytest.warns(te.errors.SuspectRunWarning) as caught:
            score()
        assert [case.said in str(each.message) for each in caught].count(True) == 1


@pytest.mark.slow
def test_grade_reports_a_damage_as_a_finding(case: Case) -> None:
    done = treceval(["grade", "qrels.txt", "runs/damaged.txt", "--single"], folder=case.folder)
    findings = [finding["code"] for finding in json.loads(done.out)["findings"]]
    code = "X204" if case.said.startswith("Write query ids") else case.code
    assert code in findings


def test_a_clean_run_has_no_sign_in_any_form(tmp_path: Path) -> None:
    lines = clean()
    (tmp_path / "runs").mkdir()
    (tmp_path / "qrels.txt").write_text(judgments(lines))
    for name, seed in (("clean.txt", 1), ("runs/damaged.txt", 1), ("runs/clean.txt", 1)):
        (tmp_path / name).write_bytes(written(clean(seed), Path(name).stem))
    for name in COMMANDS:
        done = treceval(COMMANDS[name], folder=tmp_path)
        assert not any(said in (done.out + done.err).decode() for _, _, said in DAMAGES.values()), name
    run: dict[str, dict[str, float]] = {}
    for line in lines:
        run.setdefault(line.qid, {})[line.docid] = float(str(line.score))
    qrels = te.read_qrels(tmp_path / "qrels.txt")
    for form in (run, te.Run(run), tmp_path / "clean.txt", io.BytesIO((tmp_path / "clean.txt").read_bytes())):
        assert te.evaluate(qrels, form, "map").signs == ()


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(path.name for path in ROBUST.glob("input.*")))
def test_real_runs_have_no_sign(file: str) -> None:
    assert te.evaluate(ROBUST / "qrels.txt.gz", ROBUST / file, "map").signs == ()


@pytest.mark.parametrize("run", ["bm25", "jaccard", "minilm"])
def test_sample_runs_have_no_sign(run: str) -> None:
    assert te.evaluate(DATA / "qrels.tsv", DATA / "runs" / f"{run}.txt", "map").signs == ()


def nested(lines: Lines) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for line in lines:
        run.setdefault(line.qid, {})[line.docid] = float(str(line.score))
    return run


@pytest.mark.parametrize("name", sorted(set(DAMAGES) - {"rank and score", "rank from 0 and score"}))
def test_dictionaries_have_the_same_signs(name: str) -> None:
    damage, code, _ = DAMAGES[name]
    if code in ("R123", "R132", "R128"):  # without ranks, or seen only where all scores are looked at
        return
    lines = clean()
    if name in CLOSE:
        lines = [line._replace(score=round(0.7 + float(str(line.score)) / 2000, 7)) for line in lines]
    qrels = te.read_qrels(Text(judgments(lines).encode(), "qrels"))
    with pytest.warns(te.errors.SuspectRunWarning):
        results = te.evaluate(qrels, nested(damage(lines)), "map", complete=True)
    assert code in [sign.code for sign in results.signs]


def test_arrays_of_distances_have_the_sign() -> None:
    rng = np.random.default_rng(1)
    ids = np.array([rng.permutation(500)[:30] for _ in range(10)])
    distances = np.sort(rng.uniform(0, 2, (10, 30)), axis=1)
    qrels = {str(query): {str(ids[query, 0]): 1, str(ids[query, 29]): 0} for query in range(10)}
    with pytest.warns(te.errors.SuspectRunWarning, match="scores grow from line to line in 10 of 10 queries"):
        te.evaluate(qrels, (distances, ids), "map")
    assert te.evaluate(qrels, (-distances, ids), "map").signs == ()


# Public cases. What is right is said in shared/public-cases/README.md.


@needs_shared
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("l2", ["scores grow with the rank in 1 of 1 query, as distances and ranks do"]),
        ("ascending-but-right", []),
        ("segment-ids", ["Score segments as documents with --max-passage"]),
    ],
)
def test_public_cases_are_noted_as_they_should(name: str, said: list[str]) -> None:
    folder = SHARED.parent / "public-cases"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", te.errors.SuspectRunWarning)
        results = te.evaluate(folder / f"{name}.qrels", folder / f"{name}.run", ["map"])
    assert [part in sign.text for part, sign in zip(said, results.signs, strict=True)] == [True] * len(said)
    found = check(folder / f"{name}.qrels", folder / f"{name}.run").counts
    assert {sign.code for sign in results.signs} <= set(found)
    assert "R129" not in found or said


# Thresholds: a case at each, and one just beyond.


def codes(qrels: dict[str, dict[str, int]], lines: Sequence[tuple[str, str, object, object]]) -> list[str]:
    text = "".join(f"{qid} Q0 {docid} {rank} {score} t\n" for qid, docid, rank, score in lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", te.errors.SuspectRunWarning)
        return [sign.code for sign in te.evaluate(qrels, Text(text.encode(), "run"), "map", complete=True).signs]


def listed(counts: Sequence[int], score: Callable[[int, int], object], rank: bool = True) -> list[tuple]:
    """Return lines of queries with given numbers of documents, of which the first is judged relevant by `JUDGED`."""
    return [
        (f"q{query}", f"d{query * 7919 % 101}x{(at * 37 + query) % 1000}", at + 1 if rank else 0, score(query, at))
        for query, count in enumerate(counts)
        for at in range(count)
    ]


JUDGED = {f"q{query}": {f"d{query * 7919 % 101}x{query % 100}": 1} for query in range(40)}


def falling(query: int, at: int) -> float:
    return 100 - at - query / 64 - 0.003 * at * at


@pytest.mark.parametrize(
    ("code", "lines", "there"),
    [
        # all scores equal: 9 of 10 queries, 8 of 10; 10 documents, 9 documents
        ("R127", listed([3] * 10, lambda query, at: 1 if query else -at), True),
        ("R127", listed([3] * 10, lambda query, at: 1 if query > 1 else -at), False),
        ("R127", listed([5, 5], lambda *_: 1), True),
        ("R127", listed([5, 4], lambda *_: 1), False),
        # scores that grow with the rank: 3 documents, 2 documents; 9 of 10 queries, 8 of 10
        ("R129", listed([3], lambda _, at: at), True),
        ("R129", listed([2], lambda _, at: at), False),
        ("R129", listed([3] * 10, lambda query, at: at if query else -at), True),
        ("R129", listed([3] * 10, lambda query, at: at if query > 1 else -at), False),
        # the same from line to line: 8! = 40,320 orders of eight documents, 7! = 5,040 of seven
        ("R129", listed([8], lambda _, at: at, rank=False), True),
        ("R129", listed([7], lambda _, at: at, rank=False), False),
        # ranks that contradict scores: one query with two documents
        ("R123", [("q0", "a", 1, 1), ("q0", "b", 2, 2)], True),
        ("R123", [("q0", "a", 1, 2), ("q0", "b", 2, 2)], False),
        # ties: 40 of 200 documents, 38 of 200; 200 documents, 198
        ("R130", listed([200], lambda _, at: -(at // 2 * 2 if at < 40 else at) / 100), True),
        ("R130", listed([200], lambda _, at: -(at // 2 * 2 if at < 38 else at) / 100), False),
        ("R130", listed([100, 100], lambda _, at: -(at // 2) / 100), True),
        ("R130", listed([100, 99], lambda _, at: -(at // 2) / 100), False),
        # with three decimals, and as whole numbers
        ("R130", listed([200], lambda _, at: -(at // 2) / 1000), False),
        ("R130", listed([200], lambda _, at: -(at // 2)), False),
        # cut off: 10 queries, 9 queries; 10 documents, 9; half as many, more
        ("R132", listed([10] * 9 + [5], falling), True),
        ("R132", listed([10] * 9 + [6], falling), False),
        ("R132", listed([10] * 8 + [5], falling), False),
        ("R132", listed([9] * 9 + [4], falling), False),
        ("R132", listed([10] * 8 + [11, 5], falling), False),
        ("R132", listed([5] + [10] * 9, falling), False),
        # the same ranking: five documents, four; three queries, two
        ("R135", [(f"q{query}", f"e{at}", at, -at * 1.37) for query in range(3) for at in range(5)], True),
        ("R135", [(f"q{query}", f"e{at}", at, -at * 1.37) for query in range(9) for at in range(4)], False),
        ("R135", [(f"q{query}", f"e{at}", at, -at * 1.37) for query in range(2) for at in range(9)], False),
        # no document judged for any query: one document; judged for another query: 50 documents, 49
        ("X205", [("q0", "xy", 1, 1)], True),
        ("X205", [("q0", "d41x1", 1, 1)], False),
        (
            "X205",
            [("q0", f"d{at * 7919 % 101}x{at}" if at == 1 else f"x{at}y", at + 1, -at * at) for at in range(50)],
            True,
        ),
        (
            "X205",
            [("q0", f"d{at * 7919 % 101}x{at}" if at == 1 else f"x{at}y", at + 1, -at * at) for at in range(49)],
            False,
        ),
        # a similar document is judged
        ("X205", [("q0", "D0X0", 1, 1)], True),
        # rank and score: three documents, two
        ("R119", [("q0", "a", 0.5, 1), ("q0", "b", 0.4, 2), ("q0", "c", 0.3, 3)], True),
        ("R119", [("q0", "a", 0.5, 1), ("q0", "b", 0.4, 2)], False),
        ("R119", [("q0", "a", 0.5, 1), ("q0", "b", 0.4, 2), ("q0", "c", 0.3, 4)], False),
        ("R119", [("q0", "a", 0, 1), ("q0", "b", 0, 2), ("q0", "c", 0, 3)], False),
    ],
)
def test_every_threshold_has_two_sides(code: str, lines: list, there: bool) -> None:
    assert (code in codes(JUDGED, lines)) is there


@pytest.mark.parametrize(("hits", "there"), [(9, True), (10, False)])
def test_less_than_a_tenth_of_the_first_ten_must_be_judged(hits: int, there: bool) -> None:
    lines = listed([10] * 10, falling)
    qrels: dict[str, dict[str, int]] = {
        f"q{query}": {f"pool{number}": 0 for number in range(20)} for query in range(10)
    }
    for qid, docid, *_ in lines[:hits]:
        qrels[qid][docid] = 1
    assert ("X206" in codes(qrels, lines)) is there


@pytest.mark.parametrize(
    ("queries", "judged", "hits", "there"),
    [
        # of 20 * 5 judged documents: 4, 5
        (20, 5, 4, True),
        (20, 5, 5, False),
        # three judgments a query, two
        (20, 3, 2, True),
        (40, 2, 2, False),
        # 51 judged documents, 48
        (17, 3, 1, True),
        (16, 3, 1, False),
    ],
)
def test_of_few_judgments_a_twentieth_must_be_among_the_first_ten(
    queries: int, judged: int, hits: int, there: bool
) -> None:
    lines = listed([10] * queries, falling)
    qrels = {f"q{query}": {f"other{number}": 1 for number in range(judged)} for query in range(queries)}
    for qid, docid, *_ in lines[::10][:hits]:
        qrels[qid] = {docid: 1, **{f"other{number}": 1 for number in range(1, judged)}}
    assert ("X206" in codes(qrels, lines)) is there
    text = "".join(f"{qid} Q0 {docid} {rank} {score} t\n" for qid, docid, rank, score in lines)
    assert ("X206" in check(qrels, io.BytesIO(text.encode())).counts) is there


def test_judgments_can_show_that_ascending_scores_are_right() -> None:
    # AP is 1/5 as it is, with the relevant document last, and 1 in reverse order.
    lines = listed([5], lambda _, at: at)
    assert codes({"q0": {lines[0][1]: 1}}, lines) == ["R129"]
    assert codes({"q0": {lines[4][1]: 1}}, lines) == []
    # In the middle it is the same either way: the rank column decides.
    assert codes({"q0": {lines[2][1]: 1}}, lines) == ["R129"]
    assert codes({"q0": {lines[2][1]: 1}}, [(*line[:2], 0, line[3]) for line in lines]) == []


def test_the_most_serious_three_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ids rise with the scores, too, and the last query is short.
    lines = [(f"q{query}", f"x{at:02}y", 20 - at, 20 - at) for query in range(20) for at in range(20)]
    lines = [(qid, docid, 21 - rank, score) for qid, docid, rank, score in lines]
    assert codes(JUDGED, lines) == ["X205", "R135", "R128"]
    assert codes(JUDGED, lines[:-12]) == ["X205", "R128", "R132"]
    monkeypatch.setattr(noting, "MOST", 2)
    assert codes(JUDGED, lines) == ["X205", "R135"]


def test_a_ranking_by_ranks_does_not_ask_for_scores() -> None:
    lines = listed([3] * 4, lambda *_: 1)
    text = "".join(f"{qid} Q0 {docid} {rank} {score} t\n" for qid, docid, rank, score in lines).encode()
    with pytest.warns(te.errors.SuspectRunWarning, match="all scores of a query are the same"):
        te.evaluate(JUDGED, Text(text, "run"), "RR@10", complete=True)
    assert te.evaluate(JUDGED, Text(text, "run"), "RR@10", profile="msmarco").signs == ()


def test_the_refusal_of_a_run_without_judged_queries_names_a_similar_query() -> None:
    with pytest.raises(te.errors.EvaluationError, match=r"'q07' is not judged, but '7' is: .*Write query ids as in"):
        te.evaluate({"7": {"a": 1}}, {"q07": {"a": 1.0}}, "map")
    with pytest.raises(te.errors.EvaluationError, match=r"the judgments have 7\. Check that both belong together"):
        te.evaluate({"7": {"a": 1}}, {"q08": {"a": 1.0}}, "map")


# Pieces.


def seen_of(text: bytes) -> Seen:
    return look(Lists.of(te.read_run(Text(text, "run"))))


@pytest.mark.parametrize("name", DAMAGES)
def test_pieces_show_what_the_whole_run_shows(name: str) -> None:
    lines = DAMAGES[name][0](clean())
    by_query = [[*group] for _, group in groupby(lines, key=lambda line: line.qid)]
    whole = seen_of(written(lines))
    for cuts in ([7], [1, 2, 19], [*range(1, len(by_query))]):
        edges = zip([0, *cuts], [*cuts, len(by_query)], strict=True)
        parts = [seen_of(written([line for query in by_query[a:b] for line in query])) for a, b in edges]
        pieces = merged(parts)
        facts = [name for name in Seen.__annotations__ if name not in ("doubt", "following")]
        assert [getattr(pieces, name) for name in facts] == [getattr(whole, name) for name in facts]
        assert pieces.doubt == pytest.approx(whole.doubt)
        assert pieces.follows_ids == whole.follows_ids


def test_saved_results_keep_their_signs(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text(judgments(clean()))
    run.write_bytes(written(turned(clean())))
    with pytest.warns(te.errors.SuspectRunWarning, match="as distances and ranks do"):
        results = te.evaluate(qrels, run, "map")
    results.save(tmp_path / "results.json")
    assert te.comparing.read_results(tmp_path / "results.json").signs == results.signs != ()
