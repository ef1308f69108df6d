"""Ranges of values, on the command line (``--ties``, ``--unjudged``) and from Python (`assess`)."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval
from random_runs import random_pair
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.judging.judged import JudgedRun
from treceval_py.judging.locating import judge
from treceval_py.measuring import FAMILIES
from treceval_py.measuring.facts import Labels, Promotes
from treceval_py.measuring.registry import TEXT
from treceval_py.ranges import tie_ranges
from treceval_py.scoring.profiles import PROFILES

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1, "d": 0}, "3": {"z": 1}}
RUN = {"1": {"a": 2.0, "b": 2.0, "x": 2.0, "c": 1.0}, "2": {"d": 1.0, "a": 0.5}, "9": {"a": 1.0}}
# In query 1 a, b and x are tied and c stands below them; R = 2. With a at rank 1, 2 or 3, AP is (1 + 2/4)/2 = 3/4,
# (1/2 + 2/4)/2 = 1/2 or (1/3 + 2/4)/2 = 5/12, on average 5/9, and RR 1, 1/2 or 1/3, on average 11/18. Of equal scores
# the larger id stands first: x, b, a. In query 2 nothing is tied: AP and RR are 1/2.
# Is x, which is not judged, relevant, AP of query 1 is (1 + 2/3 + 3/4)/3 = 29/36. Three of its four documents are judged.

FILES = {
    "qrels": "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n2 0 d 0\n3 0 z 1\n",
    "run": "1 Q0 a 1 2 one\n1 Q0 b 2 2 one\n1 Q0 x 3 2 one\n1 Q0 c 4 1 one\n2 Q0 d 1 1 one\n2 Q0 a 2 0.5 one\n",
    # As the run, but in query 2 both documents are tied: AP is 1/2 or 1.
    "tied": "1 Q0 a 1 2 one\n1 Q0 b 2 2 one\n1 Q0 x 3 2 one\n1 Q0 c 4 1 one\n2 Q0 d 1 1 one\n2 Q0 a 2 1 one\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def printed(folder: Path, *options: str, runs: tuple[str, ...] = ("run",), status: int = 0) -> str:
    done = treceval([*options, "qrels", *runs], folder=folder)
    assert done.status == status, done.err
    return done.out.decode()


def columns(folder: Path, *options: str, **more: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV as dictionaries."""
    return list(csv.DictReader(io.StringIO(printed(folder, "--format", "csv", *options, **more))))


def numbers(row: dict[str, str], *names: str) -> list[float]:
    return [float(row[name]) for name in names or ("value", "lowest", "expected", "highest")]


# What is printed ------------------------------------------------------------------------------------


PRINTED = {
    "ties": "--ties -m map -m RR@10",
    "unjudged documents": "--unjudged -m map",
    "queries": "--ties -q -m map",
    # As trec_eval 9 prints scores: of query 3, which the run lacks, nothing but what it does to the average of three.
    "a query that counts 0 unlisted": "--ties --unjudged -q -c --profile trec_eval-9 -m map",
    "tsv without the average": "--ties -q -n --digits 3 --format tsv -m RR",
    "markdown": "--ties -q --format markdown -m map",
}


def test_ranges_are_printed(folder: Path, snapshot: SnapshotAssertion) -> None:
    said = {case: printed(folder, *options.split()).splitlines() for case, options in PRINTED.items()}
    said["two runs"] = printed(folder, "--ties", "-m", "map", runs=("run", "tied")).splitlines()
    assert said == snapshot
    # 11/24, 19/36, 5/8 and 47/72, as above
    assert said["ties"][4].split() == ["map", "0.4583", "0.4583", "0.5278", "0.6250", "1", "2"]
    assert said["unjudged documents"][4].split() == ["map", "0.4583", "0.4583", "0.6528", "0.8750"]


def test_csv_has_all_digits_and_a_block_for_each_kind(folder: Path) -> None:
    ties, unjudged_block = printed(folder, "--ties", "--unjudged", "--format", "csv", "-m", "map").split("\n\n")
    (row,) = csv.DictReader(io.StringIO(ties))
    assert list(row) == ["measure", "value", "lowest", "expected", "highest", "queries touched", "queries"]
    assert numbers(row) == pytest.approx([11 / 24, 11 / 24, 19 / 36, 5 / 8], rel=1e-15)
    assert (row["queries touched"], row["queries"]) == ("1", "2")
    (row,) = csv.DictReader(io.StringIO(unjudged_block))
    assert list(row) == ["measure", "value", "lowest", "highest", "judged"]
    assert numbers(row, "value", "lowest", "highest", "judged") == pytest.approx([11 / 24, 11 / 24, 47 / 72, 7 / 8])


def test_json_has_a_list_of_records(folder: Path) -> None:
    found = json.loads(
        printed(folder, "--ties", "--unjudged", "-q", "--format", "json", "-m", "map", runs=("run", "tied"))
    )
    assert found["kind"] == "ranges"
    assert [run["tag"] for run in found["runs"]] == ["one", "one"]
    assert [(row["query"], row["run"]) for row in found["ties"]] == [
        (query, run) for run in ("run", "tied") for query in ("1", "2", "all")
    ]
    assert found["ties"][2] == {
        "query": "all", "run": "run", "measure": "map", "value": pytest.approx(11 / 24), "lowest": pytest.approx(11 / 24),
        "expected": pytest.approx(19 / 36), "highest": 5 / 8, "queries touched": 1, "queries": 2,
    }  # fmt: skip
    assert found["unjudged"][0] == {
        "query": "1", "run": "run", "measure": "map", "value": pytest.approx(5 / 12), "lowest": pytest.approx(5 / 12),
        "highest": pytest.approx(29 / 36), "judged": 3 / 4,
    }  # fmt: skip


def test_an_average_that_is_not_known_is_said_to_be_so(folder: Path) -> None:
    # Of 24 tied documents 12 are relevant: C(24, 12) = 2,704,156 orders, and yaap has no closed form.
    (folder / "qrels").write_text("".join(f"1 0 d{number} 1\n" for number in range(12)))
    (folder / "run").write_text("".join(f"1 Q0 d{number} {number + 1} 1 t\n" for number in range(24)))
    assert "   not known   " in printed(folder, "--ties", "-m", "yaap")
    (row,) = columns(folder, "--ties", "-m", "yaap")
    assert row["expected"] == ""
    assert json.loads(printed(folder, "--ties", "--format", "json", "-m", "yaap"))["ties"][0]["expected"] is None


def test_a_query_id_that_is_not_utf_8_is_json_all_the_same(folder: Path) -> None:
    (folder / "qrels").write_bytes(b"q\xff 0 a 1\n")
    (folder / "run").write_bytes(b"q\xff Q0 a 1 1 t\n")
    done = treceval(["--ties", "-q", "--format", "json", "-m", "map", "qrels", "run"], folder=folder)
    assert json.loads(done.out.decode("utf-8"))["ties"][0]["query"] == "q\\xff"


@pytest.mark.parametrize("name", ["table", "markdown"])
def test_names_do_not_steer_the_terminal(folder: Path, name: str) -> None:
    (folder / "qrels").write_text("\x1b[31m 0 a 1\n")
    (folder / "a\x1b[0m").write_text("\x1b[31m Q0 a 1 1 t\n")
    text = printed(folder, "--ties", "-q", "--format", name, "-m", "map", runs=("a\x1b[0m", "a\x1b[0m"))
    assert "\x1b" not in text
    assert "\\x1b[31m" in text.replace("\\\\", "\\").replace("\\[", "[")  # Markdown escapes both


def test_a_run_comes_from_standard_input_and_output_goes_to_a_file(folder: Path) -> None:
    assert printed(folder, "--ties", "-m", "map", "-o", "ranges.txt") == ""
    assert (folder / "ranges.txt").read_text() == printed(folder, "--ties", "-m", "map")
    done = treceval(["--ties", "-m", "map", "qrels", "-"], stdin=FILES["run"].encode(), folder=folder)
    assert done.out.decode() == printed(folder, "--ties", "-m", "map")


def test_missing_queries_are_noted(folder: Path, snapshot: SnapshotAssertion) -> None:
    one = treceval(["--ties", "-m", "map", "qrels", "run"], folder=folder).err.decode()
    (folder / "qrels").write_text(FILES["qrels"] + "4 0 z 1\n")
    two = treceval(["--ties", "-m", "map", "qrels", "run"], folder=folder).err.decode()
    assert [one, two, treceval(["--ties", "-c", "-m", "map", "qrels", "run"], folder=folder).err.decode()] == snapshot


# Options --------------------------------------------------------------------------------------------

OPTIONS = {
    # Query 3, which the run lacks, counts 0.
    "-c": [11 / 36, 11 / 36, 19 / 54, 5 / 12],
    # Two documents: of query 1 a is one of them with 2/3, at rank 1 or 2; AP is 1/2, 1/4 or 0, on average 1/4.
    "-M 2": [1 / 4, 1 / 4, 3 / 8, 1 / 2],
    "-M 0": [0.0, 0.0, 0.0, 0.0],
    # Without x, a is at rank 1 or 2, and c at 3: (1 + 2/3)/2 = 5/6 or (1/2 + 2/3)/2 = 7/12.
    "-J": [13 / 24, 13 / 24, 29 / 48, 2 / 3],
    # Only c is relevant, at rank 4, and nothing in query 2.
    "-l 2": [1 / 8, 1 / 8, 1 / 8, 1 / 8],
    # ranx keeps the order of lines, so that a is first; all judged queries count.
    "--profile ranx": [5 / 12, 11 / 36, 19 / 54, 5 / 12],
}


def test_options_are_those_of_scoring(folder: Path) -> None:
    for options, wanted in OPTIONS.items():
        (row,) = columns(folder, "--ties", "-m", "map", *options.split())
        assert numbers(row) == pytest.approx(wanted, rel=1e-14), options
        (scored,) = csv.DictReader(io.StringIO(printed(folder, "--format", "csv", "-m", "map", *options.split())))
        assert float(row["value"]) == float(scored["one"])
    # x is taken out before it could have a label
    (row,) = columns(folder, "--unjudged", "-J", "-m", "map")
    assert numbers(row, "value", "lowest", "highest", "judged") == pytest.approx([13 / 24, 13 / 24, 13 / 24, 1.0])


def test_without_measures_there_are_the_profiles_own_or_the_usual_ones(folder: Path) -> None:
    assert [row["measure"] for row in columns(folder, "--ties", "--profile", "gdeval")] == ["nDCG@20", "ERR@20"]
    usual = ["AP", "nDCG@10", "RR", "P@10"]
    assert [row["measure"] for row in columns(folder, "--ties")] == usual
    assert [row["measure"] for row in columns(folder, "--unjudged")] == usual


def test_a_profile_that_ranks_by_lines_has_no_ties(folder: Path) -> None:
    for row in columns(folder, "--ties", "--profile", "coursework", "-q"):
        value, lowest, expected, highest = numbers(row)
        assert value == lowest == expected == highest


# Refused --------------------------------------------------------------------------------------------


def test_ranges_are_computed_as_a_signature_says(folder: Path) -> None:
    named = ["--profile", "ranx", "-l", "2", "-m", "AP"]
    said = treceval([*named, "--signature", "qrels", "run"], folder=folder).out.decode()
    signature = said.partition("# AP: ")[2].strip()
    plain, repeated = (
        treceval(["--ties", "--format", "csv", *how, "qrels", "run"], folder=folder).out.decode().splitlines()[1]
        for how in (named, ["--repeat", signature])
    )
    assert plain.startswith("AP,")
    assert repeated == plain.replace("AP,", "AP(rel=2),")


REFUSED = {
    **{
        f"{kind} {option}": 2
        for kind in ("--ties", "--unjudged")
        for option in ("-Z norms", "--signature", "--long-signature")
    },
    "--ties --format trec -m map": 2,
    "--ties --format coursework -m map": 2,
    "--ties -m infAP": 2,
    "--unjudged -m bpref": 2,
    "--ties -m mapp": 2,
    "--ties -m P_avgjg.5": 1,
    "--ties --profile msmarco": 1,
    "--ties -M 2 -J -m map": 1,
    "--ties --judged-ranking": 2,
    "--ties -m StRecall@5": 1,
}
"""Options without ranges, with the exit status."""


def test_what_has_no_ranges_is_refused_in_one_line(folder: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "groups").write_text("1 A a 1\n1 B b 1\n")
    said = {}
    for options, status in REFUSED.items():
        judgments = "groups" if "StRecall" in options else "qrels"
        done = treceval([*options.split(), judgments, *([] if "ranking" in options else ["run"])], folder=folder)
        assert (done.status, done.out, done.err.count(b"\n")) == (status, b"", 1), options
        said[options] = done.err.decode()
    assert said == snapshot


# From Python ----------------------------------------------------------------------------------------


def test_values_and_ranges_have_the_names_that_were_asked_for() -> None:
    found = te.ranges.assess(QRELS, RUN, ["AP", "RR@10"])
    assert list(found.ties) == list(found.unjudged) == ["AP", "RR@10"]
    assert found.qids == {"AP": ("1", "2"), "RR@10": ("1", "2")}
    assert found.ties["AP"].lowest.tolist() == pytest.approx([5 / 12, 1 / 2])
    assert found.ties["AP"].expected.tolist() == pytest.approx([5 / 9, 1 / 2])
    assert found.ties["AP"].highest.tolist() == pytest.approx([3 / 4, 1 / 2])
    assert found.ties["AP"].touched.tolist() == [True, False]
    assert found.ties["RR@10"].expected.tolist() == pytest.approx([11 / 18, 1 / 2])
    assert found.unjudged["AP"].highest.tolist() == pytest.approx([29 / 36, 1 / 2])
    assert found.unjudged["AP"].judged.tolist() == [3 / 4, 1.0]
    assert found.results.mean["AP"] == pytest.approx(11 / 24)


def test_only_what_is_asked_for_is_computed() -> None:
    found = te.ranges.assess(QRELS, RUN, ["bpref"], unjudged=False)  # whose range over labels is not known
    assert (list(found.ties), found.unjudged) == (["bpref"], {})
    found = te.ranges.assess(QRELS, RUN, ["map"], ties=False)
    assert (found.ties, list(found.unjudged)) == ({}, ["map"])


def test_the_rank_column_is_refused_for_ties_only() -> None:
    run = te.read_run(io.BytesIO(FILES["run"].encode()))
    with pytest.raises(te.errors.EvaluationError, match="by the rank column, which has no ties"):
        te.ranges.assess(QRELS, run, profile="msmarco")
    found = te.ranges.assess(QRELS, run, profile="msmarco", ties=False)
    # Every judged document counts as relevant (level 0): a stands first in query 1, d in query 2; query 3 is missing.
    assert found.results.mean["MRR@10"] == pytest.approx(2 / 3)


def test_measures_that_a_profile_ranks_otherwise_have_ties_of_their_own() -> None:
    # ir_measures hands RR to trec_eval's code, with 32-bit scores, and RR@10 to a provider with 64-bit ones.
    run = {"1": {"a": 1.0, "b": 1.0 + 1e-9}, "2": {"a": 1.0, "d": 1.0}}
    found = te.ranges.assess(QRELS, run, ["RR", "RR@10"], unjudged=False, profile="ir_measures")
    assert [found.ties[name].num_touched for name in ("RR", "RR@10")] == [2, 1]
    assert (found.results["1"]["RR"], found.results["1"]["RR@10"]) == (0.5, 0.5)
    assert (found.results["2"]["RR"], found.results["2"]["RR@10"]) == (0.5, 1.0)  # larger id first, smaller id first
    for name, width in (("RR", "float32"), ("RR@10", "float64")):
        judged = judge(te.Qrels(QRELS), te.Run(run), score_type=width, tied=True)
        (direct,) = tie_ranges(judged, te.measuring.parse_measures(name))
        for column in ("lowest", "expected", "highest"):
            assert getattr(found.ties[name], column).tolist() == getattr(direct, column).tolist()


NUMBERS = [family for family in FAMILIES.values() if family.judged is JudgedRun and family.kind != TEXT]
TIE_FAMILIES = [family for family in NUMBERS if family.promotes is not Promotes.UNKNOWN]
LABEL_FAMILIES = [family for family in NUMBERS if family.labels is not Labels.UNKNOWN]


def check_within(found: te.ranges.Sensitivity, kind: str) -> None:
    """Check that the values, and their average, lie in their ranges."""
    for name, between in getattr(found, kind).items():
        assert between.lowest_mean - 1e-9 <= found.results.mean[name] <= between.highest_mean + 1e-9, name
        for row, qid in enumerate(found.qids[name]):
            if qid in found.results and name in found.results[qid]:
                value = found.results[qid][name]
                assert between.lowest[row] - 1e-9 <= value <= between.highest[row] + 1e-9, (qid, name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ties", "unjudged"])
@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "msmarco"])
def test_values_lie_in_their_ranges(profile: str, kind: str) -> None:
    conventions = PROFILES[profile].conventions
    if kind == "unjudged" and (conventions.ties == "worst" or conventions.unrelevant == "one"):
        pytest.skip("refused")
    rng = random.Random(profile + kind)
    assessed = 0
    for _ in range(12):
        qrels, run = random_pair(rng)
        for family in TIE_FAMILIES if kind == "ties" else LABEL_FAMILIES:
            depth = rng.choice([None, 0, 1, 3])
            options: dict[str, Any] = {
                # At level 0 every label is relevant, while a document without a judgment is not.
                "level": rng.choice([None, 1, 2]),
                "depth": depth,
                "judged_only": depth is None and rng.random() < 0.4,
                "complete": PROFILES[profile].when_complete != "zero" and rng.random() < 0.5,
            }
            try:
                found = te.ranges.assess(
                    qrels,
                    run,
                    family.measures()[:1],
                    ties=kind == "ties",
                    unjudged=kind != "ties",
                    profile=profile,
                    **options,
                )
            except te.errors.TrecevalError:  # one of the refusals above
                continue
            check_within(found, kind)
            assessed += 1
    assert assessed > 100


@pytest.mark.parametrize("name", ["yaap", "ideal_dcg", "rbp_residual"])
def test_a_missing_query_that_counts_0_counts_0_in_the_range_too(name: str) -> None:
    # An empty ranking has another value than 0 (yaap has ln 1/2), but 9.0.8 adds 0.
    check_within(te.ranges.assess(QRELS, RUN, [name], unjudged=False, profile="trec_eval-9", complete=True), "ties")


def test_a_document_that_is_the_query_can_stand_above_others_that_are_judged() -> None:
    # BEIR takes q out, and -J takes out x: a is at rank 1.
    qrels, run = {"q": {"a": 1}}, {"q": {"x": 4.0, "q": 3.0, "a": 2.0}}
    found = te.ranges.assess(qrels, run, ["AP"], unjudged=False, profile="beir", judged_only=True)
    assert (found.results.mean["AP"], found.ties["AP"].lowest_mean, found.ties["AP"].highest_mean) == (1.0, 1.0, 1.0)
    averaged = te.evaluate(qrels, run, ["nDCG(ties=average)"], profile="beir", judged_only=True)
    assert averaged.mean["nDCG(ties=average)"] == 1.0


def test_nothing_is_tied_after_a_rank_column_has_decided() -> None:
    run = te.read_run(io.BytesIO(FILES["run"].encode()))
    options: dict[str, Any] = {"profile": "msmarco", "judged_only": True}
    plain = te.evaluate(QRELS, run, ["nDCG"], **options)
    averaged = te.evaluate(QRELS, run, ["nDCG(ties=average)"], **options)
    assert averaged.matrix.ravel().tolist() == pytest.approx(plain.matrix.ravel().tolist())


def test_assessing_changes_nothing() -> None:
    qrels = {qid: dict(judged) for qid, judged in QRELS.items()}
    run = {qid: dict(scores) for qid, scores in RUN.items()}
    te.ranges.assess(qrels, run, ["map"])
    assert (qrels, run) == (QRELS, RUN)
    assert np.isfinite(te.ranges.assess(te.Qrels(qrels), te.Run(run), ["map"]).ties["map"].expected_mean)
