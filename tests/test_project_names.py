"""A measure has one name, and a difference one sign, in all that is printed of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import treceval

import treceval_py as te
from treceval_py.boards.board import board
from treceval_py.grading.rules import Rules
from treceval_py.rendering import FORMATS
from treceval_py.reporting.payload import report_payload
from treceval_py.scoring.profiles import USUAL_MEASURES, profile_of

DATA = Path(__file__).parent.parent / "data"
QRELS, BM25, MINILM = "qrels.tsv", "runs/bm25.txt", "runs/minilm.txt"

# A signature has the measure with its level, P(rel=1)@10, and so none of these names.
SPELLINGS = ("P_10", "P@10", "p@10", "precision_at_10", "Precision@10")

FEW = ("--resamples", "199")

COMMANDS = {
    "score": ("score", BM25),
    "score each query": ("score", "-q", "--signature", BM25),
    "score two": ("score", BM25, MINILM),
    "ties": ("score", "--ties", "-q", BM25),
    "unjudged": ("score", "--unjudged", BM25),
    "compare": ("compare", *FEW, BM25, MINILM),
    "compare groups": ("compare", *FEW, BM25, MINILM, "--groups", "query_groups.tsv"),
    "compare queries": ("compare", BM25, MINILM, "--per-query", "2"),
    "board": ("board", *FEW, "--no-cache", BM25, MINILM),
    "gate": ("gate", BM25, MINILM),
    "agree": ("agree", "--bootstrap", "100", "judge.tsv", BM25, MINILM),
}


def printed(command: Sequence[str], *options: str) -> str:
    """Return what a command prints of the sample runs, without what escapes signs in LaTeX and HTML."""
    name, *rest = command
    done = treceval([name, QRELS, *rest, *options], folder=DATA)
    assert done.status in (0, 4), done.err  # a gate cannot tell with so few queries
    return done.out.decode().replace("\\", "").replace("&#64;", "@")


def names_in(text: str) -> set[str]:
    """Return the spellings of the measure in a text."""
    return {name for name in SPELLINGS if re.search(rf"(?<![\w@]){name}(?![\w@])", text)}


@pytest.mark.parametrize("typed", SPELLINGS[:2])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_measure_is_shown_by_the_name_that_was_typed(command: str, typed: str) -> None:
    found = {form: names_in(printed(COMMANDS[command], "-m", typed, "--format", form)) for form in FORMATS}
    assert found == {form: {typed} for form in FORMATS}


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("agree", "compare queries")])
def test_one_of_several_is_shown_in_notation(command: str) -> None:
    for form in ("table", "csv", "json"):
        assert names_in(printed(COMMANDS[command], "-m", "P", "--format", form)) == {"P@10"}


def test_the_format_of_trec_eval_has_its_names_and_those_that_were_typed() -> None:
    for options, names in {"-m P": {"P_10"}, "-m P.10": {"P_10"}, "-m P@10": {"P@10"}, "-m p@10": {"p@10"}}.items():
        assert names_in(printed(COMMANDS["score each query"], *options.split(), "--format", "trec")) == names
    official = printed(("score", BM25))
    assert [line.split()[0] for line in official.splitlines()][5:10] == [
        "map",
        "gm_map",
        "Rprec",
        "bpref",
        "recip_rank",
    ]


@pytest.mark.parametrize("typed", SPELLINGS)
def test_objects_of_python_have_the_name_that_was_typed(typed: str) -> None:
    results = [te.evaluate(DATA / QRELS, DATA / run, [typed]) for run in (BM25, MINILM)]
    first = results[0]
    assert (list(first.mean), list(first["10086"]), first.names, list(first.signatures)) == ([typed],) * 4
    assert list(first.to_pandas().columns) == [typed]
    assert names_in(repr(first)) == {typed}
    assert {first.mean[name] for name in SPELLINGS} == {first.mean[typed]}  # and is found by any
    compared = te.compare(results)
    assert names_in(f"{compared!r} {compared.to_pandas()['measure'].tolist()}") == {typed}
    assert names_in(json.dumps(report_payload(compared))) == {typed}
    assert {compared[name].measure for name in SPELLINGS} == {typed}
    assert board(DATA / QRELS, DATA / "runs", [typed]).measures == (typed,)


MEANS = {"AP": "MAP", "RR": "MRR"}


@pytest.mark.parametrize("command", ["compare", "compare groups", "board", "gate", "ties"])
def test_means_are_headed_map_and_mrr_unless_another_name_was_typed(command: str) -> None:
    def measures(text: str) -> set[str]:
        # Without signatures, which have AP(rel=1), and the correlation τ_AP.
        return set(re.findall(r"(?<![\w(:τ_])(M?AP|M?RR|map|mrr)(?![\w(])", text))

    several = COMMANDS[command]
    without_queries = tuple(word for word in several if word != "-q")
    for form in ("table", "markdown", "latex", "html"):
        assert measures(printed(without_queries, "--format", form)) == set(MEANS.values()), form
        assert measures(printed(without_queries, "-m", "AP", "-m", "RR", "--format", form)) == set(MEANS.values()), form
        assert measures(printed(without_queries, "-m", "map", "-m", "mrr", "--format", form)) == {"map", "mrr"}, form
    assert measures(printed(without_queries, "--format", "csv")) <= {"AP", "RR"}


def test_a_query_has_ap_and_their_mean_is_map() -> None:
    for command in ("score each query", "ties"):
        lines = printed(COMMANDS[command], "-m", "official", "--format", "table").splitlines()
        rows = [line.split()[:2] for line in lines if " AP " in line or " MAP " in line]
        assert {name for query, name in rows if query != "all"} == {"AP"}
        assert {name for query, name in rows if query == "all"} == {"MAP"}
        rows = [
            line.split(",")[:2] for line in printed(COMMANDS[command], "-m", "official", "--format", "csv").splitlines()
        ]
        assert {name for _, name in rows if name.endswith("AP")} - {"GMAP"} == {"AP"}  # one key for programs
    queries = printed(COMMANDS["compare queries"], "--format", "table")
    assert re.search("^AP, bm25 → minilm", queries, re.MULTILINE)


def test_the_default_measures_are_the_same_everywhere() -> None:
    usual = set(USUAL_MEASURES)
    for command in ("compare", "compare groups", "board", "gate", "ties"):
        assert usual <= set(re.findall(r"[\w@]+", printed(COMMANDS[command], "--format", "csv"))), command
    assert [rule.name for rule in Rules().measures] == list(USUAL_MEASURES)
    assert [each.name for each in profile_of(None).usual_measures] == list(USUAL_MEASURES)
    assert [each.name for each in profile_of("msmarco").usual_measures] == ["MRR@10"]
    found = te.explain(DATA / QRELS, DATA / BM25)
    assert [each.measure.name for each in found.measures] == list(USUAL_MEASURES)


def test_a_difference_is_the_candidate_minus_the_baseline() -> None:
    # The means of AP as trec_eval 10.0 prints them (data/README.md): bm25 0.6358, minilm 0.8490; minilm is the candidate.
    better = 0.8490 - 0.6358
    compared = te.compare(DATA / QRELS, [DATA / BM25, DATA / MINILM], ["AP"])
    (pair,) = compared["AP"].differences
    deltas = compared.plot("deltas").spec
    rows = json.loads(printed(COMMANDS["compare"], "-m", "AP", "--format", "json"))["measures"][0]
    gate = json.loads(printed(COMMANDS["gate"], "-m", "AP", "--format", "json"))["measures"][0]
    queries = printed(COMMANDS["compare queries"], "-m", "AP", "--format", "csv").splitlines()
    place = queries[0].split(",").index("delta")
    differences = {
        "python": pair.mean,
        "pandas": compared.to_pandas()["difference"][0],
        "json": rows["differences"][0]["difference"],
        "csv": float(printed(COMMANDS["compare"], "-m", "AP", "--format", "csv").splitlines()[1].split(",")[5]),
        "gate": gate["difference"],
    }
    assert {name: round(value, 4) for name, value in differences.items()} == dict.fromkeys(
        differences, round(better, 4)
    )
    for command in ("compare", "gate"):
        for form in ("table", "markdown", "latex", "html"):
            text = printed(COMMANDS[command], "-m", "AP", "--format", form).replace("&#43;", "+")
            assert "+0.2132" in text, (command, form)
            assert "-0.2132" not in text
            assert "−0.2132" not in text
    assert all(float(row.split(",")[place]) > 0 for row in queries[1:])  # minilm is better in both
    assert deltas["transform"][0] == {"calculate": "datum.a - datum.b", "as": "delta"}
    assert deltas["params"][0]["value"] == "minilm"
    # The other way round, all signs change.
    assert round(te.compare(DATA / QRELS, [DATA / MINILM, DATA / BM25], ["AP"])["AP"].differences[0].mean, 4) == -0.2132


def test_results_are_compared_under_the_names_that_were_typed_for_them(tmp_path: Path) -> None:
    def headings(*results: te.Results | str) -> list[str]:
        return [each.heading for each in te.compare(list(results)).measures]

    runs = [DATA / BM25, DATA / MINILM]
    typed = [te.evaluate(DATA / QRELS, run, ["AP@10", "map_cut_5"]) for run in runs]
    assert headings(*typed) == ["MAP@10", "map_cut_5"]
    members = [te.evaluate(DATA / QRELS, run, ["map_cut"]) for run in runs]
    assert headings(*members)[:2] == ["MAP@5", "MAP@10"]
    assert headings(typed[0], members[1]) == ["MAP@10", "map_cut_5"]  # as the first has it
    typed[0].save(tmp_path / "typed.json")
    assert headings(str(tmp_path / "typed.json"), typed[1]) == ["MAP@10", "map_cut_5"]
    assert [each.heading for each in te.comparing.read_results(tmp_path / "typed.json").measures] == [
        "MAP@10",
        "map_cut_5",
    ]
    for place, results in enumerate(members):
        results.save(tmp_path / f"{place}.json")
    assert headings(*(str(tmp_path / f"{place}.json") for place in range(2)))[0] == "MAP@5"


def saved(folder: Path, name: str, run: str, measures: list[str], profile: str | None = None) -> str:
    """Save results of a sample run; return the file."""
    path = folder / f"{name}.json"
    te.evaluate(DATA / QRELS, DATA / run, measures, profile=profile).save(path)
    return str(path)


def test_a_name_of_a_profile_means_the_same_after_results_were_saved(tmp_path: Path) -> None:
    # In BEIR Accuracy@k is Success@k; ranx' recall is of all that was retrieved.
    beir = (
        saved(tmp_path, "beir", BM25, ["Accuracy@5", "recall"], "ranx"),
        saved(tmp_path, "b", BM25, ["Accuracy@5"], "beir"),
    )
    assert list(te.comparing.read_results(beir[0]).mean)[1] == "recall"
    read = te.comparing.read_results(beir[1])
    assert [each.notation for each in read.measures] == ["Success@5"]
    assert read.mean["Success@5"] == read.mean["Accuracy@5"] == read.mean["hit@5"]
    other = saved(tmp_path, "other", MINILM, ["Success@5"], "beir")
    assert te.compare([beir[1], other], measures=["Success@5"]).measures[0].measure == "Success@5"
    assert te.compare([beir[1], other]).measures[0].measure == "Accuracy@5"  # the first one's name
    pairs = saved(tmp_path, "pairs", MINILM, ["Accuracy@5"])
    with pytest.raises(te.errors.EvaluationError, match="lack Success@5"):
        te.compare([beir[1], pairs], measures=["Success@5"])


def test_values_are_read_by_any_name_of_their_profile() -> None:
    results = te.evaluate(DATA / QRELS, DATA / BM25, ["hit@5", "Accuracy@5"], profile="beir")
    assert list(results.mean) == ["hit@5"]
    assert results.mean["Accuracy@5"] == results.mean["hit@5"]
    assert results["10086"]["Accuracy@5"] == results["10086"]["Success@5"]
    for name in ("Accuracy@6", ("hit@5",)):
        with pytest.raises(KeyError):
            results.mean[name]  # type: ignore[index]


def test_collections_have_one_measure_by_whatever_names_and_profiles() -> None:
    def results(measures: list[str], profile: str | None = None) -> dict[str, te.Results]:
        return {run: te.evaluate(DATA / QRELS, DATA / run, measures, profile=profile) for run in (BM25, MINILM)}

    for first, second in ((["map", "P_5"], ["AP", "P@5"]), (["RR@10"], ["MRR@10"])):
        board = te.boards.board_over({"one": results(first), "two": results(second)})
        assert (board.measures, board.notes) == (tuple(first), ())
    board = te.boards.board_over({"one": results(["Accuracy@5"], "beir"), "two": results(["Accuracy@5"])})
    assert board.measures == ("main measure",)
    assert "(Success@5, Accuracy@5)" in board.notes[0]


def test_two_measures_with_one_printed_name_are_refused() -> None:
    # trec_eval prints two decimals of a recall level.
    with pytest.raises(te.errors.MeasureError, match=r"two measures are shown as iprec_at_recall_0\.30\."):
        te.evaluate(DATA / QRELS, DATA / BM25, ["iprec_at_recall.0.304", "iprec_at_recall.0.30"])
    assert len(te.evaluate(DATA / QRELS, DATA / BM25, ["iprec_at_recall.0.31", "iprec_at_recall.0.30"]).mean) == 2


@pytest.mark.parametrize("kind", ["margin", "floor"])
def test_a_gate_has_one_margin_and_one_floor_of_a_measure(kind: str) -> None:
    given = ("gate", QRELS, BM25, MINILM, f"--{kind}", "AP=0.5", f"--{kind}")
    done = treceval([*given, "map=0.1"], folder=DATA)
    assert (done.status, done.out) == (2, b"")
    assert f"the {kind} of AP is given twice, also as map. Give one of them." in done.err.decode()
    assert treceval([*given, "RR=0.1"], folder=DATA).status in (0, 4)
