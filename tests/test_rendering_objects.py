"""What comes out: dictionaries, frames, saved results, warnings, and objects that show themselves."""

from __future__ import annotations

import inspect
import json
import pickle
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import table, treceval
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.grading.grades import Person
from treceval_py.plots.images import Plot
from treceval_py.plots.specs import specs

DATA = Path(__file__).parent.parent / "data"
QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1}, "3": {"z": 1}}
RUN = {"1": {"b": 3.0, "a": 2.0, "x": 1.0}, "2": {"a": 1.0}, "3": {"y": 1.0, "z": 0.5}}
SHORT = {qid: RUN[qid] for qid in ("1", "2")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    te.io.write_qrels(QRELS, tmp_path / "qrels")
    te.write_run(SHORT, tmp_path / "run", tag="tag")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def quietly(qrels: Any = QRELS, run: Any = SHORT, measures: Any = ("map", "nDCG@10"), **options: Any) -> te.Results:
    return te.Evaluator(qrels, te.Scoring(measures, **options)).scored(run)


# Dictionaries and frames ----------------------------------------------------------------------------


def test_averages_and_values_of_queries_are_plain_dictionaries_and_numbers_of_a_frame() -> None:
    results = te.evaluate(QRELS, RUN, ["map", "P@2", "num_q", "relstring"])
    mean = te.evaluate(QRELS, RUN, ["map", "P@2"]).mean
    assert json.loads(json.dumps(mean)) == {"map": pytest.approx((0.25 + 1 + 0.5) / 3), "P@2": 0.5}
    assert json.dumps(results["1"]) == '{"map": 0.25, "P@2": 0.5}'
    assert results["1"] == {"map": 0.25, "P@2": 0.5}
    assert {**mean} == dict(mean.items())
    frame = pd.DataFrame({"bm25": mean, "again": mean})
    assert list(frame.index) == ["map", "P@2"]
    assert frame.dtypes.tolist() == [np.float64, np.float64]
    assert frame.loc["map", "bm25"] == mean["map"]
    found = results.to_dict()
    assert {qid: values["map"] for qid, values in found.items()} == {"1": 0.25, "2": 1.0, "3": 0.5}
    assert ({type(each) for each in found.values()}, list(found["2"])) == ({dict}, ["map", "P@2"])


def test_a_value_is_found_under_every_notation_of_its_measure() -> None:
    mean = te.evaluate(QRELS, RUN, ["nDCG@10"]).mean
    for name in ("nDCG@10", "ndcg_cut.10", "ndcg_cut_10"):
        assert name in mean
        assert mean[name] == mean.get(name) == mean["nDCG@10"]
    for name in ("map", "nDCG@5", "no such measure", "P", 5, None):
        assert name not in mean
        assert mean.get(name) is None
        assert mean.get(name, 0.5) == 0.5
        with pytest.raises(KeyError):
            mean[name]  # type: ignore[index]
    assert list(mean) == ["nDCG@10"]
    again = pickle.loads(pickle.dumps(mean))
    assert again["ndcg_cut_10"] == again["nDCG@10"] == mean["nDCG@10"]


def test_results_become_a_frame_of_polars_or_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars", reason="makes a frame of polars")
    results = te.evaluate(QRELS, RUN, ["map", "P.1,2", "num_q", "relstring"])
    frame = results.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["query", "map", "P_1", "P_2", "relstring"]
    assert frame["map"].to_list() == [0.25, 1.0, 0.5]
    monkeypatch.setitem(sys.modules, "polars", None)
    message = "^this needs the package polars, which is not installed. pip install polars, or use to_pandas.$"
    with pytest.raises(te.errors.OutputError, match=message):
        results.to_polars()


# Saved results --------------------------------------------------------------------------------------


def test_results_are_saved_as_the_command_prints_them(folder: Path) -> None:
    quietly("qrels", "run", ["map", "relstring", "ndcg_cut.10"]).save("saved.json")
    command = ["-q", "--format", "json", "-m", "map", "-m", "relstring", "-m", "ndcg_cut.10", "qrels", "run"]
    assert (folder / "saved.json").read_bytes() == treceval(command, folder=folder).out


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("profile", te.scoring.PROFILES)
def test_saved_results_come_back_bit_for_bit(profile: str, complete: bool, tmp_path: Path) -> None:
    names = ["official", "nDCG@10", "AP(rel=2)", "relstring", "runid"]
    files = DATA / "messy" / "qrels.txt", DATA / "messy" / "run.txt"
    results = quietly(*map(str, files), names, profile=profile, complete=complete)
    results.save(tmp_path / "saved.json")
    again = te.comparing.read_results(tmp_path / "saved.json")
    assert again.mean == results.mean
    assert again.to_dict() == results.to_dict()
    assert again.signatures == results.signatures
    for name in ("qids", "measures", "names", "resolved", "missing", "unjudged", "complete", "profile", "tag"):
        assert getattr(again, name) == getattr(results, name)
    assert again.text("relstring") == results.text("relstring")
    # What judgments alone say of a query that is not listed (num_rel), and its text, are not in the file.
    families = [each.family for each in results.measures]
    by_query = [each.per_query and not each.of_judgments and each.name != "relstring" for each in families]
    for name in ("matrix", "counted"):  # queries that count 0 and are not listed are there too
        assert np.array_equal(getattr(again, name)[:, by_query], getattr(results, name)[:, by_query], equal_nan=True)
    te.scoring.check_comparable([results, again])
    again.save(tmp_path / "again.json")
    saved, twice = (json.loads((tmp_path / f"{name}.json").read_text())["runs"] for name in ("saved", "again"))
    assert twice == saved


def test_a_training_loop_feeds_a_comparison_with_results_and_files(tmp_path: Path) -> None:
    evaluator = te.Evaluator(QRELS, te.Scoring(["map", "nDCG@10"]))
    runs = [{qid: {"a": weight, "b": 1.0, "c": 0.5, "z": 0.2} for qid in QRELS} for weight in (0.3, 0.7, 1.5)]
    scored = [evaluator.score(run) for run in runs]
    for epoch, results in enumerate(scored):
        results.save(tmp_path / f"{epoch}.json")
    given = {"first": tmp_path / "0.json", "second": scored[1], "third": te.comparing.read_results(tmp_path / "2.json")}
    found = te.compare(runs=given)
    direct = te.compare(runs=dict(zip(given, scored, strict=True)))
    assert found.runs == ("first", "second", "third")
    assert [each.values.tolist() for each in found.measures] == [each.values.tolist() for each in direct.measures]


def test_one_of_several_saved_runs_is_read_by_its_name(folder: Path) -> None:
    (folder / "other").write_text("1 Q0 c 1 3.0 second\n")
    treceval(["-q", "--format", "json", "-m", "map", "-o", "both.json", "qrels", "run", "other"], folder=folder)
    assert te.comparing.read_results("both.json", "second").to_dict() == {"1": {"map": 0.5}}
    with pytest.raises(te.errors.InputError, match=r"^both.json: it has 2 runs. Name one: run= tag, second.$"):
        te.comparing.read_results("both.json")
    with pytest.raises(te.errors.InputError, match=r"^both.json: it has no run 'third'. It has tag, second.$"):
        te.comparing.read_results("both.json", "third")


ONE_RUN = '{"treceval_py": "1", "measures": {"map": "AP"}, "runs": [%s]}'
NOT_SAVED = [
    "map all 0.5\n",
    "{}",
    '{"treceval_py": "1", "runs": 1}',
    ONE_RUN % '{"name": "a", "mean": {"map": 1}}',
    ONE_RUN.replace("map", "odd").replace("AP", "odd") % '{"name": "a", "per_query": {"1": {"odd": 1}}}',
    ONE_RUN % '{"name": "a", "per_query": {"1": {"map": null}}}',
    ONE_RUN % '{"per_query": {"1": {"map": 1}}, "signatures": {"map": {"long": "x"}}}',
]


def test_what_is_not_saved_results_is_refused(folder: Path, snapshot: SnapshotAssertion) -> None:
    found = {}
    for text in NOT_SAVED:
        Path("x").write_text(text)
        with pytest.raises(te.errors.TrecevalError) as caught:
            te.comparing.read_results("x")
        found[text.strip()] = str(caught.value)
    Path("x").write_text(ONE_RUN % '{"name": "a", "per_query": {"1": {"map": 1}}}')
    assert te.comparing.read_results("x").to_dict() == {"1": {"map": 1.0}}
    assert table(found) == snapshot


# Judged queries that the run lacks ------------------------------------------------------------------


def test_judged_queries_that_averages_leave_out_are_warned_of_at_the_line_that_scores() -> None:
    with pytest.warns(te.errors.MissingQueriesWarning) as caught:
        te.evaluate(QRELS, SHORT, "map")
    (said,) = [str(each.message) for each in caught]
    assert said == "<run>: 1 judged query is missing (3), and left out; complete=True counts it."
    assert caught[0].filename == __file__
    assert issubclass(te.errors.MissingQueriesWarning, te.errors.TrecevalWarning)
    evaluator = te.Evaluator(QRELS, te.Scoring(["map"]))
    with pytest.warns(te.errors.MissingQueriesWarning, match="2 judged queries are missing") as caught:
        evaluator.score({"1": {"a": 1.0}})
    assert caught[0].filename == __file__
    with warnings.catch_warnings(record=True) as seen:  # a loop is warned once
        warnings.simplefilter("default")
        for _ in range(3):
            evaluator.score(SHORT)
    assert len(seen) == 1


def test_only_measures_that_leave_queries_out_are_named_and_the_signature_decides() -> None:
    te.evaluate(QRELS, SHORT, "map", complete=True)
    te.evaluate(QRELS, SHORT, "map", profile="ir_measures")
    # BEIR's own MRR counts every judged query; the averages of its other measures are over those of the run.
    with pytest.warns(te.errors.MissingQueriesWarning, match=r"left out of nDCG@10; complete=True"):
        te.evaluate(QRELS, SHORT, ["nDCG@10", "RR@10"], profile="beir")
    signature = quietly(measures=["map"]).signatures["map"]
    with pytest.warns(te.errors.MissingQueriesWarning, match=r"and left out\.$"):
        te.evaluate(QRELS, SHORT, signature=signature)


def test_what_has_notes_of_its_own_does_not_warn(folder: Path) -> None:
    te.compare(runs=[SHORT, RUN], qrels=QRELS, measures="map")
    te.ranges.assess(QRELS, SHORT, "map")
    te.explain(QRELS, SHORT, "AP")
    te.board("qrels", ["run"], "map", complete=False)
    assert b"Warning" not in treceval(["-m", "map", "qrels", "run"], folder=folder).err


def test_results_say_which_judged_queries_are_missing() -> None:
    shown = "<Results of '<run>': 2 queries, map=0.6250, nDCG@10=0.6199; 1 judged missing (3), left out>"
    assert repr(quietly()) == shown
    assert repr(quietly(complete=True)).endswith("; 1 judged missing (3), counted>")
    assert "missing" not in repr(quietly(run=RUN))


# Objects that show themselves -----------------------------------------------------------------------

LONG = "\x1b[31m" + "x" * 700
"""A name that would fill the screen, and colour it."""


def _objects(folder: Path) -> dict[str, Any]:
    """Return an object of each public class, with names that are too long and many queries."""
    ids = [f"{number}-{LONG}" for number in range(12)]
    qrels = te.Qrels({qid: {"a": 1, "b": 0} for qid in ids})
    run = te.Run({qid: {"b": 2.0, "a": 1.0} for qid in ids[1:]}, tag=LONG)
    qrels.name = run.name = LONG
    names = [f"nDCG(gains={{1:{number}}})@{number}" for number in range(1, 15)]
    (folder / "prefs").write_text("".join(f"{number} g s d{number} 1.0\n" for number in range(99)))
    (folder / "groups").write_text("".join(f"{number} g d{number} 1\n" for number in range(99)))
    results = quietly(qrels, run, names)
    groups, preferences = te.io.read_judgment_groups(folder / "groups"), te.io.read_preferences(folder / "prefs")
    judged = te.judging.judge(qrels, run, documents=True)
    assert judged.documents is not None
    checked = te.check(DATA / "messy" / "run.txt")
    tuned = te.fusing.tune_fusion(qrels, [run, {qid: {LONG: 2.0, "a": 1.0} for qid in ids[1:]}], measure=names[-1])
    te.write_run(run, folder / "run")
    te.io.write_qrels(qrels, folder / "qrels")
    return {
        "Agreement": te.judges.agree({LONG: qrels, "other": qrels, **{str(n): qrels for n in range(9)}}, bootstrap=1),
        "Board": te.board(folder / "qrels", [folder / "run"]),
        "CollectionsBoard": te.boards.board_over(
            {LONG: {LONG: dict.fromkeys(ids, 0.5), "b": dict.fromkeys(ids, 0.25)}}, LONG
        ),
        "Comparison": te.compare(runs={LONG: results, "other": results}),
        "Conventions": te.scoring.Conventions(),
        "Evaluator": te.Evaluator(qrels, te.Scoring(names)),
        "Explanation": te.explain(qrels, run, claims=["RR=0.5"]),
        "Finding": checked.findings[0]._replace(file=LONG, what=LONG),
        "Hits": judged.hits,
        "JudgedRun": judged,
        "JudgmentGroups": groups,
        "QueryGroups": te.data.QueryGroups.from_labels("set", {str(n): LONG * (n % 2 + 1) for n in range(9)}),
        "Measure": te.measuring.Measure(results.measures[0].family, asked=LONG),
        "Preference": te.data.Preference(b"g" * 5000, b"\xff" * 5000, b"d", 1.0),
        "Preferences": preferences,
        "Profile": te.scoring.PROFILES["ranx"]._replace(title=LONG),
        "Qrels": qrels,
        "RankedQuery": judged.documents[0],
        "Reading": te.scoring.Reading(LONG),
        "RelevanceEvaluator": te.RelevanceEvaluator(QRELS, {"map", "ndcg"}),
        "Results": results,
        "Roster": te.grading.Roster((Person(LONG),) * 99, "moodle", (LONG,) * 99, LONG),
        "Rules": te.grading.Rules(title=LONG),
        "Run": run,
        "Scoring": te.Scoring(names, LONG),
        "Sensitivity": te.ranges.assess(qrels, run, names[:5]),
        "Signature": results.signature(0)._replace(profile=LONG),
        "Tuned": tuned.tuned,
        "TunedFusion": tuned,
        "Verdict": te.gating.gate(None, results, results),
        "arithmetic": te.explaining.arithmetic(qrels, run, "nDCG@10", ids[0]),
        "check": checked,
        "a measure of a comparison": te.compare(runs=[RUN, RUN], qrels=QRELS).measures[0],
        "a range of ties": te.ranges.assess(QRELS, RUN, "map").ties["map"],
        "a range of labels": te.ranges.assess(QRELS, RUN, "map").unjudged["map"],
    }


def test_every_object_shows_itself_in_one_short_line(tmp_path: Path) -> None:
    objects = _objects(tmp_path)
    assert {name for name in te.__all__ if inspect.isclass(getattr(te, name))} <= objects.keys()
    for name, found in objects.items():
        shown = repr(found)
        assert shown.isprintable(), name
        assert len(shown) < 600, name
        assert "array(" not in shown, name
        assert name[0].islower() or type(found).__name__ in shown, name


def rows_of(html: str) -> list[list[str]]:
    """Return the cells of all rows of tables, without markup."""
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows]


SHOWN: dict[str, Callable[[], Any]] = {
    "-m map qrels run": lambda: quietly("qrels", "run", ["map"]),
    "--ties --unjudged -m map qrels run": lambda: te.ranges.assess("qrels", "run", ["map"]),
    "board --no-cache -m map qrels run other": lambda: te.board("qrels", ["run", "other"], "map"),
    "compare -m map qrels run other": lambda: te.compare(runs=["run", "other"], qrels="qrels", measures="map"),
    "gate -m map --margin 1 qrels run other": lambda: te.gating.gate("qrels", "run", "other", "map", margin=1),
    "check run": lambda: te.check("run"),
}


@pytest.mark.parametrize("command", SHOWN)
def test_a_notebook_shows_what_the_command_prints(command: str, folder: Path) -> None:
    te.write_run({"1": {"c": 3.0}, "2": {"a": 1.0}}, "other", tag="second")
    done = treceval([*command.split(), "--format", "html"], folder=folder)
    printed = done.out.decode()
    assert rows_of(printed), done.err
    assert rows_of(SHOWN[command]()._repr_html_()) == rows_of(printed)


def test_a_notebook_says_how_to_count_missing_queries_and_no_name_becomes_markup() -> None:
    shown = quietly({"<i>": {"a": 1}, "q": {"a": 1}}, te.Run({"q": {"a": 1.0}}, tag="<script>"))._repr_html_()
    assert "1 judged query is missing (&lt;i&gt;), and left out; complete=True counts it." in shown
    assert "&lt;script&gt;" in shown
    for part in ("-c counts", "<script>", "<i>"):
        assert part not in shown


def test_a_notebook_shows_an_explanation() -> None:
    found = te.explain(QRELS, SHORT, claims=["AP=0.4167"], against=["ranx"])
    shown = found._repr_html_()
    # (0.25 + 1 + 0) / 3, the missing query counted
    assert ["0.416667", "3"] in [row[:2] for row in rows_of(shown)]
    assert ["0.6250", "2"] in [row[:2] for row in rows_of(shown)]
    assert "AP = 0.4167 is given by" in shown
    assert "From trec_eval-10 to ranx" in shown
    none = te.explain(QRELS, SHORT, claims=["AP=0.123456789"])._repr_html_()
    assert re.search(r"not reproduced by any of the \d+ ways tried; nearest", none)


def test_a_notebook_shows_the_arithmetic_of_a_query() -> None:
    shown = te.explaining.arithmetic(QRELS, RUN, "AP", "1")._repr_html_()
    assert ["2", "a", "2.0", "1", "0.500000", "0.500000", "1 relevant / rank 2"] in rows_of(shown)
    assert "0.5 / 2 relevant = 0.250000" in shown
    empty = te.explaining.arithmetic(QRELS, {"1": {"x": 1.0}}, "AP", "1")._repr_html_()
    assert "No document adds anything." in empty


# Plots ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparison() -> te.comparing.Comparison:
    runs = {name: str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "jaccard", "minilm")}
    return te.compare(runs=runs, qrels=str(DATA / "qrels.tsv"), measures=["map", "nDCG@10"])


@pytest.mark.parametrize("plot", ["bars", "scatter", "deltas"])
def test_a_plot_of_a_comparison_is_that_of_its_report(plot: str, comparison: te.comparing.Comparison) -> None:
    of_report = specs(te.reporting.report_payload(comparison), runs=(1, 0))[plot]
    found = comparison.plot(plot)
    sized = {"autosize", "width", "padding", "config", "concat"}
    assert {key: part for key, part in found.spec.items() if key not in sized} == {
        key: part for key, part in of_report.items() if key not in sized
    }
    assert "color" not in json.dumps(found.spec.get("config"))


def test_a_plot_that_there_is_not_is_refused(
    comparison: te.comparing.Comparison, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    board, explained = te.board(DATA / "qrels.tsv", DATA / "runs", "map"), te.explain(QRELS, SHORT, "AP")
    cases: dict[str, Callable[[], object]] = {
        "pie": lambda: comparison.plot("pie"),
        "overlap": lambda: comparison.plot("overlap"),
        "another measure": lambda: comparison.plot("bars", measure="P@5"),
        "another run": lambda: comparison.plot("scatter", runs=("x", "bm25")),
        "run 3": lambda: comparison.plot("scatter", runs=(0, 3)),
        "run -1": lambda: comparison.plot("scatter", runs=(0, -1)),
        "another measure of a board": lambda: board.plot("RR"),
        "another measure of an explanation": lambda: explained.plot("RR"),
        "a PDF": lambda: comparison.plot().save("x.pdf"),
        "a blue theme": lambda: comparison.plot().save(tmp_path / "x.json", theme="blue"),
    }
    found = {}
    for name, act in cases.items():
        with pytest.raises(te.errors.TrecevalError) as caught:
            act()
        found[name] = str(caught.value)
    assert comparison.plot("scatter", runs=(0, 2)).spec["description"].startswith("map of bm25 against minilm")
    plot = comparison.plot("scatter", measure="ndcg_cut.10", runs=("minilm", 1))
    assert plot.spec["description"].startswith("nDCG@10 of minilm against jaccard")
    assert comparison.plot(measure="map").spec["title"] == "map"
    assert table(found) == snapshot


def bars(plot: Plot) -> list[tuple[str, float]]:
    return [(row["name"], row["mean"]) for row in plot.spec["data"]["values"]]


def test_a_board_has_bars_of_its_means() -> None:
    board = te.board(DATA / "qrels.tsv", DATA / "runs", ["map", "nDCG@10"])
    assert bars(board.plot()) == [(run.name, run.means[0]) for run in board.runs]
    assert bars(board.plot("ndcg_cut_10")) == [(run.name, run.means[1]) for run in board.runs]
    assert board.plot().spec["data"]["values"][0]["low"] == board.runs[0].low
    assert board.plot("ndcg_cut_10").spec["data"]["values"][0]["low"] is None


def test_an_explanation_has_bars_of_its_values() -> None:
    found = te.explain(QRELS, SHORT, "AP")
    values = [float(row[0]) for row in rows_of(found._repr_html_())[1:]]
    assert [value for _, value in bars(found.plot())] == values
    assert bars(found.plot())[1] == ("trec_eval-10, and 5 more", 0.625)
    assert bars(found.plot("map")) == bars(found.plot())


@pytest.mark.slow
def test_a_plot_is_saved_in_every_format(comparison: te.comparing.Comparison, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="draws plots: .[report] has it")
    plot = comparison.plot("deltas")
    for theme in ("light", "dark"):
        for ending in ("svg", "png", "json"):
            plot.save(tmp_path / f"{theme}.{ending}", theme=theme)
    plot.save(tmp_path / "light.html")
    assert (tmp_path / "light.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "light.svg").read_text().startswith("<svg")
    assert "#161618" in (tmp_path / "dark.svg").read_text()  # the ground of the dark theme, as in page.css
    assert "https://cdn" not in (tmp_path / "light.html").read_text()
    assert json.loads((tmp_path / "dark.json").read_text())["config"]["background"] == "#161618"


@pytest.mark.slow
def test_a_notebook_gets_a_plot_in_both_themes(comparison: te.comparing.Comparison) -> None:
    pytest.importorskip("vl_convert", reason="draws plots: .[report] has it")
    bundle = comparison.plot()._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html", "application/vnd.vegalite.v6+json"}
    assert bundle["text/html"].count("data:image/svg+xml;base64,") == 2
    assert bundle["application/vnd.vegalite.v6+json"]["$schema"].endswith("/v6.json")


def test_a_notebook_without_the_package_that_draws_gets_the_specification(
    comparison: te.comparing.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "text/html" not in comparison.plot()._repr_mimebundle_()
    with pytest.raises(te.errors.OutputError, match="plots need the package vl-convert-python, which is not installed"):
        comparison.plot().save("x.svg")
