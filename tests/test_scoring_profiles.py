"""Profiles: each has the numbers of the program that it stands for, on the messy pair, live and by hand."""

from __future__ import annotations

import io
import itertools
import json
import math
import random
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval
from modules import module_at
from random_runs import random_pair
from readers import use_reader
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.errors import MeasureError
from treceval_py.explaining import arithmetic
from treceval_py.scan import scanner
from treceval_py.scoring import CONVENTIONS, PROFILES

# The messy run lacks a judged query, and profiles differ in what that means.
pytestmark = pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.MissingQueriesWarning",
    "ignore::treceval_py.errors.SuspectRunWarning",
    "ignore:.* can differ from:treceval_py.errors.TrecevalWarning",
)

MESSY = Path(__file__).parent.parent / "data" / "messy"
QRELS, RUN = str(MESSY / "qrels.txt"), str(MESSY / "run.txt")

READERS = ["python"] if scanner() is None else ["python", "compiled"]

Row = dict[str, Any]
ROWS: list[Row] = json.loads((MESSY / "tools.json").read_text(encoding="utf-8"))
"""What each tool printed for the messy pair, with its version and the call."""

PROFILE_OF = {
    "trec_eval": "trec_eval-9",
    "pytrec_eval-terrier": "pytrec_eval",
    "ir_measures": "ir_measures",
    "gdeval.pl (in ir_measures)": "gdeval",
    "gdeval.pl (TREC Web)": "gdeval",
    "MS MARCO script": "msmarco",
    "ranx": "ranx",
    "scikit-learn": "sklearn",
    "BEIR": "beir",
    "FlagEmbedding": "flagembedding",
}

NOT_OURS = {
    # beside other measures, queries without a value count 0; alone, as here, they are left out
    ("ir_measures", "Accuracy", "calc_aggregate(['Accuracy', 'AP'], qrels, run)"),
    # of other judgments; tested below
    ("MS MARCO script", "RR@10", "only the lines with a label of 1 or more"),
    # a query without relevant documents makes all queries after it 0, a defect
    ("ranx", "Bpref", ""),
    # counts documents that are judged for no query at all; no measure here does
    ("BEIR", "Hole@10", ""),
}
"""Rows that no profile gives, by tool, measure and a part of the call."""


def reasons(row: Row) -> int:
    """Return how many reasons there are that no profile gives a row; 0 for one that has to come out."""
    return sum(
        (tool, measure) == (row["tool"], row["measure"]) and part in row["how"] for tool, measure, part in NOT_OURS
    )


def expressible() -> list[Row]:
    return [row for row in ROWS if not reasons(row)]


def label(row: Row) -> str:
    return f"{row['tool']} {row['version'].split()[0]}: {row['measure']}, {row['how'][:60]}"


def agrees(row: Row, value: float) -> bool:
    """Tell whether a value is that of a row, to the digits that the tool printed."""
    if row["tool"] == "trec_eval":
        return f"{value:.4f}" == f"{row['value']:.4f}"
    if row["tool"] in ("BEIR", "FlagEmbedding", "gdeval.pl (TREC Web)"):
        return f"{value:.5f}" == f"{row['value']:.5f}"  # the mean is rounded
    if "5 decimals" in row["note"]:
        return abs(value - row["value"]) <= 5e-6 + 1e-12  # each query is rounded, then the caller averages
    return abs(value - row["value"]) <= 1e-9


# --- what the tools printed for the messy pair ---


def test_every_row_of_the_messy_pair_comes_out_or_has_a_reason() -> None:
    assert {row["tool"] for row in ROWS} == set(PROFILE_OF)
    matched = [reasons(row) for row in ROWS]
    assert (sum(matched), max(matched)) == (len(NOT_OURS), 1), "a reason is for no row, or for several"
    for row in ROWS:
        try:
            results = te.evaluate(
                QRELS, RUN, [row["measure"]], profile=PROFILE_OF[row["tool"]], complete=" -c " in row["how"]
            )
            # ir_measures counts the missing query too, as 0 of a sum.
            queries = results.counted.sum() + (row["measure"] == "NumQ")
            comes_out = agrees(row, results.mean[row["measure"]]) and queries == row["queries"]
        except MeasureError:
            comes_out = False
        assert comes_out != bool(reasons(row)), label(row)


def test_ms_marco_on_relevant_judgments_only_is_the_profile_on_those_judgments(tmp_path: Path) -> None:
    (row,) = (row for row in ROWS if "only the lines with a label of 1 or more" in row["how"])
    kept = [line for line in Path(QRELS).read_text().splitlines() if int(line.split()[3]) >= 1]
    (tmp_path / "ref.tsv").write_text("\n".join(kept) + "\n")
    results = te.evaluate(tmp_path / "ref.tsv", RUN, profile="msmarco")
    assert results.mean["MRR@10"] == pytest.approx(row["value"], abs=1e-12)
    assert int(results.counted.sum()) == row["queries"]


# --- the tools that are installed, live ---


def pairs(number: int) -> Iterator[tuple[int, Any, Any]]:
    """Yield random judgments and runs: ties, some in 32 bits only, missing and extra queries."""
    for seed in range(number):
        qrels, run = random_pair(random.Random(seed), negatives=False)
        yield seed, qrels, run


PEERS = module_at(Path(__file__).parent / "peers" / "profiles_comparison.py")
"""All programs are tried by `.ci/run everything`, in environments of their own; here those that tests bring."""

AT_HAND = (
    "pytrec_eval",
    "ir_measures",
    "pyndeval",
    "gdeval",
    "msmarco",
    "sklearn",
    "flagembedding",
    "sentence-transformers",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", AT_HAND)
def test_every_measure_of_a_program_has_our_value_live_or_a_note(program: str) -> None:
    if not PEERS.there(program):
        pytest.skip(f"{program} is not installed")
    outcomes = PEERS.compare([program], PEERS.CASES, 0)
    assert PEERS.faults(outcomes, PEERS.CASES) == []


OTHER_HOLE = {"1": {"a": 1}}, {"1": {"a": 1.0}, "2": {"b": 1.0}}
"""BEIR counts b, which is judged for no query, and divides by one judged query: Hole@1 is 1 there, and 0 here."""


@pytest.mark.parametrize(
    ("value", "extra", "faults"),
    [(1.0, True, 0), (0.0, True, 1), (1.0, False, 1), (0.0, False, 1)],
    ids=["differs with a note", "never differs", "differs in silence", "never differs without extra queries"],
)
def test_a_silent_difference_and_a_declared_one_that_never_occurs_are_faults(
    value: float, extra: bool, faults: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, run = OTHER_HOLE
    run = run if extra else {"1": run["1"]}
    answer = PEERS.Answer("beir", qrels, run, [PEERS.Asked("Hole@1", "Hole@1", value)])
    monkeypatch.setitem(PEERS.PROGRAMS, "beir", ("treceval_py", lambda *_: iter([answer])))
    outcomes = PEERS.compare(["beir"], PEERS.CASES, 0)
    found = PEERS.faults(outcomes, PEERS.CASES)
    assert len({line.partition(" (beir ")[0] for line in found}) == faults + (value == 1.0 and not extra)
    assert ("Hole@1 = Hole@1: mean 1.0 and here 0.0" in str(found)) == (value == 1.0 and not extra)
    assert f"beir{' ' * 20}" in PEERS.table(outcomes)


# --- notes on what differs ---

NEGATIVE = {"1": {"a": 1, "b": -1}}, {"1": {"a": 2.0, "b": 1.0}}
WITHOUT = {"1": {"a": 1, "b": 0}}, {"1": {"a": 2.0, "b": 1.0}}


@pytest.mark.parametrize(
    ("profile", "measure", "given", "neighbour"),
    [
        ("beir", "Hole@1", OTHER_HOLE, WITHOUT),
        ("sklearn", "DCG", NEGATIVE, WITHOUT),
        ("sklearn", "DCG@10", NEGATIVE, WITHOUT),
        ("catboost", "nDCG@10", NEGATIVE, WITHOUT),
        ("catboost", "AverageGain@1", NEGATIVE, WITHOUT),
        ("torchmetrics-pos", "nDCG", NEGATIVE, WITHOUT),
        ("xgboost", "nDCG(gain=linear)@10", NEGATIVE, WITHOUT),
        ("ranx", "Bpref", ({**WITHOUT[0], "2": {"a": 0}}, {**WITHOUT[1], "2": {"a": 1.0}}), WITHOUT),
        ("ranx", "Bpref(rel=2)", ({"1": {"a": 2}, "2": {"a": 1}}, WITHOUT[1]), ({"1": {"a": 2}}, WITHOUT[1])),
        ("ir_measures", "Compat", WITHOUT, None),
    ],
)
def test_a_value_that_can_differ_from_the_program_comes_with_a_note(
    profile: str, measure: str, given: Any, neighbour: Any, tmp_path: Path
) -> None:
    for number, pair in enumerate((given, neighbour) if neighbour else (given,)):
        te.io.write_qrels(te.Qrels(pair[0]), tmp_path / "qrels")
        te.write_run(te.Run(pair[1]), tmp_path / "run")
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            results = te.evaluate(*pair, [measure, "NumRet"], profile=profile)
        said = [str(each.message) for each in warned if "can differ" in str(each.message)]
        done = treceval(["--profile", profile, "-m", measure, str(tmp_path / "qrels"), str(tmp_path / "run")])
        noted = [line for line in done.err.decode().splitlines() if "can differ" in line]
        (reason,) = [each.text for each in PROFILES[profile].differences_of(results.resolved[0])]
        expected = [] if number else [f"{measure} can differ from {profile}: {reason}."]
        assert said == expected
        assert noted == [f"note: {each}" for each in expected]
        assert results.differences == ({} if number else {measure: reason})
        assert f"{reason}." in shown(profile)
    # Other profiles have nothing to say of it, nor has this one of other measures.
    assert te.evaluate(*given, [measure], profile="pytrec_eval").differences == {}


def test_xgboost_refuses_the_negative_labels_whose_gains_would_be_exponential() -> None:
    assert te.evaluate(*NEGATIVE, ["nDCG@10"], profile="xgboost").differences == {}


def test_a_level_decides_whether_a_query_has_relevant_documents() -> None:
    # CatBoost's RecallAt:border=1.5 of a query whose labels are 1 and 0 is 1, as for one without labels above 0.
    qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": 2.0, "b": 1.0}}
    found = te.evaluate(qrels, run, ["RecallAt:top=1;border=1.5", "RecallAt:top=1", "AP"], profile="catboost")
    assert list(found.mean.values()) == [1.0, 1.0, 1.0]
    miss = te.evaluate(qrels, {"1": {"b": 2.0}}, ["RecallAt:top=1;border=1.5", "R@1"], profile="catboost")
    assert list(miss.mean.values()) == [1.0, 1.0]


# --- what is shown of profiles ---


def shown(*arguments: str) -> str:
    done = treceval(["profiles", *arguments])
    assert (done.status, done.err) == (0, b"")
    return done.out.decode()


def test_profiles_are_explained_in_these_words(snapshot: SnapshotAssertion) -> None:
    overview = shown()
    assert {"": overview, **{name: shown(name) for name in PROFILES}} == snapshot
    assert [line.split()[0] for line in overview.splitlines()[2 : len(PROFILES) + 2]] == [*PROFILES]
    for name, profile in PROFILES.items():
        # All that a profile declares is said of it.
        lines = shown(name).splitlines()
        for convention in CONVENTIONS.values():
            value = getattr(profile.conventions, convention.name)
            said = f"  {f'{convention.key}:{convention.show(value)}':18}{convention.question} {convention.says(value)}"
            usual = value == getattr(te.scoring.Conventions(), convention.name)
            assert (said in lines) != (convention.rare and usual), (name, said)
        for changes in profile.exceptions.values():
            for changed, value in changes.items():
                assert any(CONVENTIONS[changed].says(value) in line for line in lines), (name, changed)


def test_several_profiles_are_explained_and_an_unknown_one_is_refused(snapshot: SnapshotAssertion) -> None:
    assert shown("ranx", "beir") == shown("ranx") + "\n" + shown("beir")
    done = treceval(["profiles", "rank"])
    assert (done.status, done.out) == (2, b"")
    assert [done.err.decode(), refusal(te.evaluate, QRELS, RUN, profile="x")] == snapshot


def test_every_profile_computes_its_measures_in_python_by_the_command_and_by_signatures(tmp_path: Path) -> None:
    for name, profile in PROFILES.items():
        qrels = QRELS
        if name in OF_A_SAMPLE:
            qrels = str(tmp_path / name)
            te.io.write_qrels(te.read_qrels(QRELS), qrels, format=OF_A_SAMPLE[name])
        results = te.evaluate(qrels, RUN, profile=name)
        assert results.profile == name
        numbers = [value for key, value in results.mean.items() if key not in ("num_q", "num_ret")]
        assert numbers
        assert not any(math.isnan(value) for value in numbers)
        if profile.measures != te.scoring.DEFAULT_MEASURES:
            assert results.names == list(profile.measures)
        for form in ("short", "long"):
            signatures = [getattr(each, form) for each in results.signatures.values()]
            again = te.evaluate(qrels, RUN, signature=signatures)
            assert list(again.mean.values()) == [results.mean[measure] for measure in results.signatures], form
        (run,) = json.loads(treceval(["--profile", name, "--format", "json", qrels, RUN]).out)["runs"]
        assert {key: value for key, value in run["mean"].items() if key != "runid"} == dict(results.mean)


# --- measures that one program treats differently ---


B, A = {"b": 1.0, "a": 1.0, "c": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}


@pytest.mark.parametrize(
    ("relevant", "scores", "expected"),
    [
        # RR goes to pytrec_eval, RR@10 to a provider of its own. All tied: by descending id c b a, the relevant a third;
        # by ascending id first, as ir_measures 0.4.3 has it.
        pytest.param("a", B, {"RR": 1 / 3, "RR@10": 1.0}, id="two orders of ties"),
        # 2^24 + 1 is no 32-bit float: there the two tie, and b comes first; as 64-bit floats a does.
        pytest.param(
            "a", {"b": 2.0**24, "a": 2.0**24 + 1}, {"RR": 0.5, "RR@10": 1.0, "Judged@1": 1.0}, id="scores of two widths"
        ),
        pytest.param("b", B, {"Accuracy": 1.0}, id="ties in the order of the lines"),
        pytest.param("b", A, {"Accuracy": 0.5}, id="ties in the other order of the lines"),
    ],
)
def test_measures_of_ir_measures_rank_as_their_providers_do(
    relevant: str, scores: dict[str, float], expected: dict[str, float]
) -> None:
    results = te.evaluate({"1": {relevant: 1}}, {"1": scores}, [*expected], profile="ir_measures")
    assert dict(results.mean) == expected
    made = {name: each.conventions for name, each in results.signatures.items()}
    for name, signed in {"RR": ("float32", "docid-desc"), "RR@10": ("float64", "docid-asc")}.items():
        assert name not in made or (made[name].score_type, made[name].ties) == signed


SETS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}
OF_SETS = {"q1": {"b": 2.0, "a": 1.0}, "q3": {"a": 1.0}}
"""A run that has one of two judged queries, with the relevant document second: nDCG@10 = 1/log2 3, MRR@10 = 1/2."""


def test_each_measure_of_beir_has_its_own_queries_and_denominator() -> None:
    # nDCG is averaged over the queries in both files, MRR over all judged ones.
    results = te.evaluate(SETS, OF_SETS, ["MRR@10", "nDCG@10"], profile="beir")
    assert results.qids == ("q1", "q2")
    assert results.counted.tolist() == [[True, True], [True, False]]
    assert dict(results.mean) == {"MRR@10": 0.25, "nDCG@10": 1 / math.log2(3)}
    assert [each.queries for each in results.signatures.values()] == [2, 1]
    assert {key: dict(value) for key, value in results.items()} == {
        "q1": {"MRR@10": 0.5, "nDCG@10": 1 / math.log2(3)},
        "q2": {"MRR@10": 0.0},
    }
    frame = results.to_pandas()
    assert frame["MRR@10"].tolist() == [0.5, 0.0]
    assert np.isnan(frame["nDCG@10"]["q2"])
    same = te.evaluate(SETS, {"q2": {"a": 1.0}}, ["MRR@10", "nDCG@10"], profile="flagembedding")
    assert dict(same.mean) == {"MRR@10": 0.5, "nDCG@10": 1.0}


def test_a_cell_is_empty_where_a_query_does_not_count(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    te.io.write_qrels(te.Qrels(SETS), tmp_path / "qrels")
    te.write_run(te.Run(OF_SETS, tag="t"), tmp_path / "run")
    said = {}
    for form in ("trec", "csv", "tsv", "json", "table", "markdown", "latex"):
        options = ["-q", "-m", "MRR@10", "-m", "nDCG@10", "--profile", "beir", "--digits", "4", "--format", form]
        said[form] = treceval([*options, str(tmp_path / "qrels"), str(tmp_path / "run")]).out.decode()
    (run,) = json.loads(said["json"])["runs"]
    assert run["per_query"] == {"q1": {"MRR@10": 0.5, "nDCG@10": 0.6309}, "q2": {"MRR@10": 0.0}}
    said["json"] = json.dumps({key: run[key] for key in ("per_query", "mean")}, indent=1)
    assert said == snapshot


# --- which queries count ---

FOUR = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 0}, "q4": {"a": 0}}
"""q1 is in the run and found at rank 1; q2 is missing; q3 and q4 have nothing relevant, and q4 is missing too."""
OF_FOUR = {"q1": {"a": 1.0}, "q3": {"a": 1.0}, "q5": {"a": 1.0}}

BOTH, ALL, RELEVANT = {"q1", "q3"}, {"q1", "q2", "q3", "q4"}, {"q1", "q2"}

LISTS = ("lightgbm", "xgboost", "xgboost-minus", "catboost", "torchmetrics", "torchmetrics-pos")
"""Programs in which q5, which has no judgments, is a list without relevant documents; so would be q2, if it had one."""

COUNTED = {
    **dict.fromkeys(
        ("trec_eval-10", "trec_eval-9", "pytrec_eval", "beir", "flagembedding", "sklearn", "mteb"), (BOTH, ALL)
    ),
    **dict.fromkeys(("sample_eval", "sample_eval-trecvid"), (BOTH, ALL)),
    **dict.fromkeys(("ir_measures", "ranx", "flagembedding-tutorial", "msmarco", "coursework"), (ALL, ALL)),
    **dict.fromkeys(("gdeval", "statap-3", "statap-4"), ({"q1"}, RELEVANT)),
    **dict.fromkeys(LISTS, (BOTH | {"q5"}, ALL | {"q5"})),
    **dict.fromkeys(("torchmetrics-skip", "pytorch-ignite"), ({"q1"}, {"q1"})),
    **dict.fromkeys(("sentence-transformers", "recbole"), (RELEVANT, RELEVANT)),
}
"""The queries that nDCG@10 is averaged over, and those with -c."""

ONES = {"lightgbm", "xgboost", "catboost", "torchmetrics-pos"}
"""Those in which a query without relevant documents counts 1."""

NOT_LISTED = {"trec_eval-9", "pytrec_eval", "beir", "flagembedding", "mteb"}
"""Those that with -c do not list what they count as 0, as trec_eval 9 does not."""


def test_each_profile_averages_over_its_queries() -> None:
    cases = [(name, complete) for name in PROFILES for complete in (False, True)]
    for name, complete in cases:
        expected = COUNTED[name][complete]
        if name == "msmarco":
            run: Any = te.read_run(io.BytesIO(b"q1 a 1\nq3 a 1\nq5 a 1\n"))
            measure = "MRR@10"
        else:
            run, measure = OF_FOUR, "nDCG@10"
        results = te.evaluate(FOUR, run, [measure], profile=name, complete=complete)
        counted = {qid for qid, counts in zip(results.qids, results.counted[:, 0], strict=True) if counts}
        assert counted == expected, name
        # q1 has 1; under msmarco q3 too, where whatever is judged is relevant; or all others, which lack the relevant.
        ones = 2 if name == "msmarco" else len(expected) if name in ONES else 1
        assert results.mean[measure] == ones / len(expected), name
        unlisted = {"q2", "q4"} if complete and name in NOT_LISTED else set()
        assert set(results) == expected - unlisted, name
        assert results.missing == ("q2", "q4")
        assert results.unjudged == (() if name in LISTS else ("q5",))


def test_gdeval_leaves_out_queries_without_relevant_documents_also_with_c() -> None:
    # One judged below 0 only is without relevant documents too.
    qrels, run = {**FOUR, "q6": {"a": -1}}, {**OF_FOUR, "q6": {"a": 1.0}}
    for complete, expected in ((False, ["q1"]), (True, ["q1", "q2"])):
        results = te.evaluate(qrels, run, profile="gdeval", complete=complete)
        assert list(results) == expected
        assert results.mean["nDCG@20"] == 1 / len(expected)
        # ERR of one document of grade 1 at rank 1 on gdeval's scale up to 4: (2 - 1) / 16.
        assert results.mean["ERR@20"] == 1 / 16 / len(expected)
    assert te.evaluate({"1": {"a": 4}}, {"1": {"a": 1.0}}, "ERR@20", profile="gdeval").mean["ERR@20"] == 15 / 16
    assert "5" in refusal(te.evaluate, {"1": {"a": 5}}, {"1": {"a": 1.0}}, "ERR@20", profile="gdeval")


def test_gdeval_has_no_query_to_average_where_nothing_is_relevant(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"q1 0 a 0\n")
    (tmp_path / "run").write_bytes(b"q1 Q0 a 1 1 t\n")
    for measure in ("nDCG@20", "runid", "relstring", "official"):
        done = treceval(["-q", "--profile", "gdeval", "-m", measure, "qrels", "run"], folder=tmp_path)
        assert done.status == 0, done.err
        assert b"q1" not in done.out
        assert b"nan" not in done.out


# --- MS MARCO ---


class TestMsmarco:
    @pytest.mark.parametrize(
        ("lines", "judged", "expected"),
        [
            # The script puts passages at their ranks into a list of 1000: 3 stays 3 with nothing at 2.
            pytest.param("1 a 1\n1 b 3\n", {"b": 1}, 1 / 3, id="a gap"),
            pytest.param("1 a 4\n1 b 10\n", {"b": 1}, 1 / 10, id="the tenth"),
            pytest.param("1 a 4\n1 b 11\n", {"b": 1}, 0, id="below the tenth"),
            pytest.param("1 c 3\n1 b 2\n1 a 1\n", {"b": 1}, 1 / 2, id="lines in any order"),
            pytest.param("1 a 1\n1 b 1\n1 c 2\n", {"a": 1}, 0, id="of equal ranks not the first"),
            pytest.param("1 a 1\n1 b 1\n1 c 2\n", {"b": 1}, 1, id="of equal ranks the last"),
            pytest.param("1 b 2\n1 a 2\n1 c 1\n", {"b": 1}, 0, id="of equal ranks further down"),
            pytest.param("1 Q0 a 1 0.1 t\n1 Q0 b 2 0.9 t\n", {"a": 1}, 1, id="scores say nothing"),
            pytest.param("1 a 1\n1 b 2\n", {"b": 0}, 1 / 2, id="label 0"),
            pytest.param("1 a 1\n1 b 2\n", {"b": 3}, 1 / 2, id="label 3"),
            # The script counts its line.
            pytest.param("1 a 1\n1 b 2\n", {"b": -1}, 0, id="a negative label"),
        ],
    )
    def test_the_first_judged_document_counts_by_its_rank_column(
        self, lines: str, judged: dict[str, int], expected: float
    ) -> None:
        run = te.read_run(io.BytesIO(lines.encode()), None if "Q0" in lines else "msmarco")
        assert te.evaluate({"1": judged}, run, profile="msmarco").mean["MRR@10"] == expected

    def test_a_level_that_is_asked_for_counts_and_the_first_thousand_ranks(self) -> None:
        run = te.read_run(io.BytesIO(b"1 a 1\n1 b 2\n"))
        judged = {"1": {"a": 0, "b": 1}}
        assert te.evaluate(judged, run, profile="msmarco", level=1).mean["MRR@10"] == 1 / 2
        assert te.evaluate(judged, run, "MRR(rel=1)@10", profile="msmarco").mean["MRR(rel=1)@10"] == 1 / 2
        for rank, expected in ((1000, 1 / 1000), (1001, 0.0)):
            run = te.read_run(io.BytesIO(f"1 x 1\n1 a {rank}\n".encode()))
            assert te.evaluate({"1": {"a": 1}}, run, "RR", profile="msmarco").mean["RR"] == expected

    def test_other_ranks_are_refused_with_file_and_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
    ) -> None:
        (tmp_path / "qrels").write_bytes(b"1 0 a 1\n")
        said: dict[str, dict[str, str]] = {reader: {} for reader in READERS}
        for form in ("1\ta\t1\n1\tb\t{}\n", "1 Q0 a 1 2.0 t\n1 Q0 b {} 1.0 t\n"):
            for reader, rank in itertools.product(READERS, ("0", "-1", "x", "1.5")):
                (tmp_path / "run").write_text(form.format(rank))
                use_reader(monkeypatch, reader)
                done = treceval(["--profile", "msmarco", "qrels", "run"], folder=tmp_path)
                assert (done.status, done.out, done.err.count(b"\n")) == (1, b"", 1)
                said[reader][form.splitlines()[1].format(rank)] = done.err.decode()
        assert said["python"] == said[READERS[-1]] == snapshot

    def test_a_run_without_ranks_or_with_a_document_twice_is_refused(self, snapshot: SnapshotAssertion) -> None:
        runs = {"1": {"a": 1.0}}, io.BytesIO(b"1 a 1\n1 a 2\n")
        assert [refusal(te.evaluate, {"1": {"a": 1}}, run, profile="msmarco") for run in runs] == snapshot

    def test_ranks_have_no_ties_to_average(self) -> None:
        run = te.read_run(io.BytesIO(b"1 a 1\n1 b 3\n1 c 3\n"))
        names = ["nDCG@5", "nDCG(ties=average)@5"]
        found = te.evaluate({"1": {"a": 1, "b": 2, "c": 1}}, run, names, profile="msmarco")
        assert found.mean["nDCG(ties=average)@5"] == found.mean["nDCG@5"]

    @pytest.mark.parametrize(
        ("lines", "depth", "expected"),
        [
            pytest.param("1 c 3\n1 b 4\n1 x 1\n1 a 2\n", 2, 1.0, id="a at rank 2 of 2, and alone of the judged ones"),
            pytest.param("1 c 3\n1 b 4\n1 x 1\n1 a 2\n", 1, 0.0, id="only x"),
            pytest.param("1 a 1\n1 x 1\n1 c 2\n", 1, 0.0, id="of equal ranks the last, x"),
            pytest.param("1 x 1\n1 a 1\n1 c 2\n", 1, 1.0, id="of equal ranks the last, a"),
        ],
    )
    def test_ranks_decide_which_judged_documents_are_within_the_depth(
        self, lines: str, depth: int, expected: float
    ) -> None:
        run = te.read_run(io.BytesIO(lines.encode()), "msmarco")
        asked = {"1": {"a": 1}}, run, "AP(ties=together)"
        options: Any = {"profile": "msmarco", "judged_only": True, "depth": depth}
        assert te.evaluate(*asked, **options).mean["AP(ties=together)"] == expected
        explained = te.explain(*asked, against="trec_eval", **options).measures[0]
        assert explained.walks[0].steps[0].mean == expected
        terms = arithmetic(*asked, "1", **options)
        assert (terms.value, terms.apart) == (expected, True)

    @pytest.mark.parametrize("reader", READERS)
    def test_three_columns_and_trec_s_format_give_the_same(
        self, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        use_reader(monkeypatch, reader)
        names = ["MRR@10", "RR", "P@5", "AP", "R@1000"]
        for seed, qrels, run in pairs(25):
            rng = random.Random(seed)
            rows = [(qid, docid, rng.randint(1, 2 * len(row))) for qid, row in run.items() for docid in row]
            rows = [row for row in rows if row[2] <= 1500]
            te.io.write_qrels(te.Qrels(qrels), tmp_path / "qrels")
            (tmp_path / "three").write_text("".join(f"{qid}\t{docid}\t{rank}\n" for qid, docid, rank in rows))
            (tmp_path / "six").write_text(
                "".join(f"{qid} Q0 {docid} {rank} {rng.random()} t\n" for qid, docid, rank in rows)
            )
            three = te.evaluate(tmp_path / "qrels", tmp_path / "three", names, profile="msmarco")
            six = te.evaluate(tmp_path / "qrels", tmp_path / "six", names, profile="msmarco")
            assert three.qids == six.qids
            assert (three.matrix == six.matrix).all(), seed
            # The script itself, as its README tells it: a list of 1000 places by rank, and the first that is judged.
            expected = [slow_mrr(qrels[qid], [row[1:] for row in rows if row[0] == qid]) for qid in qrels]
            assert three.mean["MRR@10"] == pytest.approx(sum(expected) / len(expected), abs=1e-12), seed


def slow_mrr(judged: Mapping[str, int], ranked: list[tuple[str, int]]) -> float:
    """MRR@10 as MS MARCO's script computes it: places in a list, whatever was there before."""
    places = [""] * 1000
    for docid, rank in ranked:
        if rank <= 1000:
            places[rank - 1] = docid
    return next((1 / rank for rank, docid in enumerate(places[:10], 1) if docid in judged), 0.0)


# --- single conventions ---


def test_beir_takes_the_query_s_own_document_out() -> None:
    # ArguAna's queries are documents of the collection too. Without q1 the relevant document is first, with it second.
    for name, expected in (("beir", 1.0), ("flagembedding", 0.5), ("trec_eval-10", 0.5)):
        results = te.evaluate({"q1": {"a": 1}}, {"q1": {"q1": 2.0, "a": 1.0}}, ["P@1", "MRR@10"], profile=name)
        assert dict(results.mean) == {"P@1": expected == 1.0, "MRR@10": expected}
    # A self-hit is the whole id, and that of its own query.
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    run = {"q1": {"q2": 4.0, "q11": 3.0, "Q1": 2.5, "a": 2.0, "q1": 1.0}, "q2": {"q1": 2.0, "q2": 3.0, "a": 1.0}}
    results = te.evaluate(qrels, run, ["MRR@10", "NumRet"], profile="beir")
    assert [dict(results[qid]) for qid in qrels] == [{"MRR@10": 1 / 4, "NumRet": 4}, {"MRR@10": 1 / 2, "NumRet": 2}]


OF_A_SAMPLE = {"sample_eval": "sampled", "sample_eval-trecvid": "sampled", "statap-3": "prels", "statap-4": "prels"}
"""Profiles of programs for judgments of a sample, with the format that they read."""

LAST = {"ir_measures", "ranx", "beir", "flagembedding", "mteb", *OF_A_SAMPLE}
"""Programs that read a file into dictionaries, where the last line of a document stays."""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("qrels", "run", "place"),
    [
        # a has its last score, 1, so that b is first; or b its last label, 1.
        (b"1 0 b 1\n1 0 a 0\n", b"1 Q0 a 1 9 t\n1 Q0 b 2 5 t\n1 Q0 a 3 1 t\n", "run:3: "),
        (b"1 0 b 0\n1 0 a 0\n1 0 b 1\n", b"1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n", "qrels:3: "),
    ],
    ids=["run", "qrels"],
)
def test_of_a_document_twice_in_a_file_the_last_line_counts_or_it_is_refused(
    qrels: bytes, run: bytes, place: str, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_reader(monkeypatch, reader)
    (tmp_path / "qrels").write_bytes(qrels)
    (tmp_path / "run").write_bytes(run)
    file = place.partition(":")[0]
    for name in PROFILES:
        done = treceval(["--profile", name, "-m", "RR", "-m", "MRR@10", "qrels", "run"], folder=tmp_path)
        if name in LAST:
            assert done.out.split() == [b"RR", b"all", b"1.0000", b"MRR@10", b"all", b"1.0000"], name
            note = f"note: {file}: 1 line is replaced by a later line for the same document, as in {name}.\n"
            either = "MRR@10 can differ from ir_measures: it takes the higher of a document's judgments"
            assert done.err.decode() == note + (f"note: {either}.\n" if name == "ir_measures" else "")
        else:
            assert (done.status, done.err.decode()[: len(place)]) == (1, place), name
            assert (b"'a'" if file == "run" else b"'b'") in done.err


@pytest.mark.filterwarnings("ignore:.*replaced by a later line")
def test_a_document_keeps_the_place_of_its_first_line_in_a_dictionary() -> None:
    # As in a Python dictionary: a tie that line order breaks has a, whose first line is first, before b.
    lines = io.BytesIO(b"1 Q0 a 1 9 t\n1 Q0 b 2 5 t\n1 Q0 a 3 5 t\n")
    assert te.evaluate({"1": {"a": 1}}, lines, "RR", profile="ranx").mean["RR"] == 1.0


def test_scores_are_compared_in_the_width_of_the_profile() -> None:
    # 1 and 1 + 2^-24 are one 32-bit float: a tie, which the larger id wins, or the earlier line.
    qrels, run = {"1": {"a": 1}}, {"1": {"b": 1.0, "a": 1 + 2.0**-24}}
    for name, profile in PROFILES.items():
        if profile.conventions.order == "score":
            expected = 1 / 2 if profile.conventions.score_type == "float32" else 1.0
            assert te.evaluate(qrels, run, "AP", profile=name).mean["AP"] == expected, name
    narrow = {name for name, profile in PROFILES.items() if profile.conventions.score_type == "float32"}
    ours = {"trec_eval-9", "pytrec_eval", "ir_measures", "beir", "flagembedding", "mteb", "recbole", "pytorch-ignite"}
    assert narrow == ours | {"xgboost", "xgboost-minus", "torchmetrics", "torchmetrics-pos", "torchmetrics-skip"}
    # Scores too large for 32 bits are tied there.
    for name, expected in (("trec_eval-9", 1 / 2), ("trec_eval-10", 1.0)):
        assert te.evaluate(qrels, {"1": {"a": 1e300, "b": 1e200}}, "RR", profile=name).mean["RR"] == expected


def test_coursework_ranks_by_the_order_of_lines_whatever_ranks_and_scores_say() -> None:
    lines = io.BytesIO(b"1 Q0 b 9 0.1 t\n1 Q0 a 1 0.9 t\n")
    results = te.evaluate({"1": {"b": 1}}, lines, profile="coursework")
    assert dict(results.mean) == {"MAP": 1.0, "MRR": 1.0, "NDCG": 1.0}
    in_dictionary = te.evaluate({"1": {"b": 1}}, {"1": {"a": 0.5, "b": 0.9}}, "RR", profile="coursework")
    assert in_dictionary.mean["RR"] == 1 / 2


def test_ties_stay_in_the_order_of_lines() -> None:
    # The larger id, then the smaller one, first in the file: neither order of ids wins.
    kept = {
        name
        for name, profile in PROFILES.items()
        if profile.conventions.order == "score"
        and te.evaluate({"1": {"b": 1}}, {"1": {"b": 1.0, "a": 1.0}}, "RR@10", profile=name).mean["RR@10"] == 1.0
        and te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0, "b": 1.0}}, "RR@10", profile=name).mean["RR@10"] == 1.0
    }
    assert kept == {
        "ranx", "beir", "flagembedding", "flagembedding-tutorial", "lightgbm", "xgboost", "xgboost-minus", "recbole",
        "pytorch-ignite", "torchmetrics", "torchmetrics-pos", "torchmetrics-skip",
    }  # fmt: skip


# --- readers and ways in ---

AGREEING = ["num_q", "num_rel", "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P", "ndcg", "ndcg_cut.3,10",
            "MRR@10", "R_cap@5", "Judged@5", "ERR@10", "nERR@5", "RBP(p=0.8,rel=1)", "Accuracy", "Accuracy@3", "Compat",
            "nDCG(gain=exp)@5", "nDCG(ideal=retrieved)", "DCG", "gRBP"]  # fmt: skip


def lines_with_ranks(run: dict[str, dict[str, float]], rng: random.Random) -> list[str]:
    """Return a run's lines, with a rank column that has gaps."""
    lines = []
    for qid, row in run.items():
        ranks = rng.sample(range(1, 3 * len(row) + 1), len(row))
        for (docid, score), rank in zip(row.items(), ranks, strict=True):
            lines.append(f"{qid} Q0 {docid} {rank} {score!r} t\n")
    return lines


QUICK = ("lightgbm", "catboost", "torchmetrics", "torchmetrics-pos", "ranx", "pytorch-ignite")


@pytest.mark.both_readers
@pytest.mark.parametrize("complete", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PROFILES]
)
@pytest.mark.filterwarnings("ignore:.*no query counts, because none has a relevant document:UserWarning")
def test_both_readers_and_all_ways_in_agree(
    name: str, complete: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2 if name in QUICK and not complete else 12):
        rng = random.Random(seed)
        qrels, run = random_pair(rng)
        te.io.write_qrels(te.Qrels(qrels), tmp_path / "qrels")
        lines = lines_with_ranks(run, rng)
        (tmp_path / "run").write_text("".join(lines))
        # Lines of the queries in turn, so that none of them stands together.
        nth = [number for row in run.values() for number in range(len(row))]
        scattered = [lines[place] for place in sorted(range(len(lines)), key=nth.__getitem__)]
        (tmp_path / "scattered").write_text("".join(scattered))
        found: list[tuple[str, te.Results]] = []
        for reader in READERS:
            use_reader(monkeypatch, reader)
            ways: dict[str, Any] = {
                "path": str(tmp_path / "run"),
                "scattered": tmp_path / "scattered",
                "open file": io.BytesIO((tmp_path / "run").read_bytes()),
                "table": te.read_run(tmp_path / "run"),
            }
            if PROFILES[name].conventions.order != "rank":
                ways |= {"dictionary": run, "table of a dictionary": te.Run(run)}
            for way, given in ways.items():
                judged: Any = qrels if way == "dictionary" else str(tmp_path / "qrels")
                results = te.evaluate(judged, given, AGREEING, profile=name, complete=complete)
                found.append((f"{reader}, {way}", results))
        _, first = found[0]
        for way, results in found[1:]:
            assert results.qids == first.qids, (seed, way)
            for part in ("counted", "listed", "matrix", "averages"):
                assert getattr(results, part).tobytes() == getattr(first, part).tobytes(), (seed, way, part)
            assert list(map(str, results.signatures.values())) == list(map(str, first.signatures.values())), (seed, way)


# --- conventions that few programs have, by hand and over all orders ---


def of(**conventions: Any) -> te.scoring.Profile:
    return te.scoring.Profile("own", "a program of one's own", te.scoring.Conventions(**conventions))


def test_the_lower_label_is_first_among_equal_scores() -> None:
    # e (-1), then b and the unjudged u (0), a (1), c (2): of all orders the worst, whatever the ids.
    qrels = {"1": {"a": 1, "b": 0, "c": 2, "e": -1}}
    for order in itertools.permutations("abceu"):
        run = {"1": {"first": 2.0, **dict.fromkeys(order, 1.0)}}
        results = te.evaluate(qrels, run, ["RR", "RR(rel=2)", "nDCG"], profile=of(ties="worst"))
        assert results.mean["RR"] == 1 / 5
        assert results.mean["RR(rel=2)"] == 1 / 6
        ideal = 2 + 1 / math.log2(3)
        assert results.mean["nDCG"] == pytest.approx((1 / math.log2(6) + 2 / math.log2(7)) / ideal, rel=1e-12)
        cut = te.evaluate(qrels, run, ["num_rel_ret", "P@5"], profile=of(ties="worst"), depth=5)
        assert dict(cut.mean) == {"num_rel_ret": 1.0, "P@5": 1 / 5}
        judged = te.evaluate(qrels, run, ["RR", "num_ret"], profile=of(ties="worst"), judged_only=True)
        assert dict(judged.mean) == {"RR": 1 / 2, "num_ret": 3.0}


def test_what_was_not_retrieved_is_not_known() -> None:
    qrels, run = {"1": {"a": 1, "m": 3, "b": 2}, "2": {"m": 1}}, {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}
    known = of(known="retrieved")
    results = te.evaluate(qrels, run, ["AP", "R@1", "nDCG", "num_rel"], profile=known)
    ndcg = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert results["1"] == {"AP": 1.0, "R@1": 1 / 2, "nDCG": pytest.approx(ndcg), "num_rel": 2.0}
    assert results["2"]["num_rel"] == 0.0
    # The list ends at the depth.
    assert te.evaluate(qrels, run, ["AP", "num_rel"], profile=known, depth=1)["1"] == {"AP": 1.0, "num_rel": 1.0}
    for unrelevant, mean, queries in (("in", 1 / 2, 2), ("one", 1.0, 2), ("out", 1.0, 1)):
        profile = of(known="retrieved", unrelevant=unrelevant)
        found = te.evaluate(qrels, run, ["AP", "num_ret"], profile=profile)
        assert (found.mean["AP"], int(found.counted[:, 0].sum())) == (mean, queries)
        assert found.mean["num_ret"] == (2.0 if queries == 1 else 3.0)  # a count stays what it is


def test_a_document_with_a_score_of_0_or_less_may_be_taken_for_not_relevant() -> None:
    qrels, run = {"1": {"a": 1, "b": 1, "c": 1}}, {"1": {"x": 9.0, "a": 1e-50, "b": 0.0, "c": -1.0}}
    for options, more, expected in (
        ({}, {}, [1 / 4, 1 / 3, 1 / 2, 4]),
        ({"score_type": "float32"}, {}, [0, 0, 0, 4]),  # in which 1e-50 is 0
        ({}, {"judged_only": True}, [1 / 4, 1 / 3, 1.0, 3]),
    ):
        profile = of(not_positive="miss", known="retrieved", **options)
        found = te.evaluate(qrels, run, ["P@4", "R@4", "RR", "num_ret"], profile=profile, **more)
        assert list(found["1"].values()) == expected


def test_ranges_are_refused_where_a_convention_decides_more(snapshot: SnapshotAssertion) -> None:
    given: list[tuple[dict[str, Any], str]] = [
        ({"ties": "worst"}, "unjudged"),
        ({"unrelevant": "one"}, "unjudged"),
        ({"not_positive": "miss"}, "unjudged"),
        ({"known": "retrieved", "depth": 2}, "ties"),
    ]
    run = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}
    assert [
        refusal(
            te.ranges.assess,
            {"1": {"a": 1}},
            run,
            ["AP"],
            profile=of(**made),
            **{"ties": False, "unjudged": False, kind: True},
        )
        for made, kind in given
    ] == snapshot


@pytest.mark.parametrize(
    "conventions", [{"ties": "worst"}, {"ties": "ranx"}, {"known": "retrieved", "unrelevant": "one"}]
)
def test_the_range_over_ties_is_that_of_all_orders(conventions: dict[str, Any]) -> None:
    profile = of(**conventions)
    orders = [{docid: -float(rank) for rank, docid in enumerate(order)} for order in itertools.permutations("abcd")]
    for seed in range(10):
        rng = random.Random(seed)
        qrels = {"1": {docid: rng.choice([0, 0, 1, 2]) for docid in rng.sample("abcdm", 4)}}
        tied = {"1": dict.fromkeys("abcd", 1.0)}
        found = te.ranges.assess(qrels, tied, ["AP", "nDCG@2"], unjudged=False, profile=profile)
        for name, between in found.ties.items():
            values = [te.evaluate(qrels, {"1": order}, [name], profile=profile).mean[name] for order in orders]
            expected = [min(values), sum(values) / len(values), max(values)]
            means = [between.lowest_mean, between.expected_mean, between.highest_mean]
            assert means == pytest.approx(expected, abs=1e-12)


def test_the_name_trec_eval_is_the_default_profile_and_judgments_of_0_that_count_are_noted() -> None:
    assert te.evaluate(QRELS, RUN, "AP", profile="trec_eval").profile == "trec_eval-10"
    assert treceval(["--profile", "trec_eval", "-m", "map", QRELS, RUN]).out == treceval(["-m", "map", QRELS, RUN]).out
    done = treceval(["--profile", "msmarco", QRELS, RUN])
    zeros = sum(line.split()[3] == "0" for line in Path(QRELS).read_text().splitlines())
    assert f"{zeros} judgments of 0 count as relevant in msmarco; with -l 1 they would not be." in done.err.decode()
    assert b"count as relevant" not in treceval(["--profile", "msmarco", "-l", "1", QRELS, RUN]).err


@pytest.mark.parametrize(("documents", "reciprocal_rank"), [(15, 1 / 2), (16, 1 / 1)])
def test_ranx_moves_a_single_pair_of_equal_scores_among_sixteen_documents(
    documents: int, reciprocal_rank: float
) -> None:
    # The last score equals the first. Of 16 documents Numba's quicksort takes the last as pivot and puts it in front.
    scores = {str(number): -float(number) for number in range(documents)} | {str(documents - 1): 0.0}
    found = te.evaluate({"1": {str(documents - 1): 1}}, {"1": scores}, "RR", profile="ranx")
    assert found.mean["RR"] == reciprocal_rank
