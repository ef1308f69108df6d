"""Boards over many collections: where they are found, what is averaged and ranked, and what is printed."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import tomllib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import command
import jsonschema
import numpy as np
import pytest
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.boards.cache import CACHE_NAME
from treceval_py.boards.collections import found_in, listed_in
from treceval_py.boards.over import CollectionsBoard, board_over
from treceval_py.comparing.saved.files import passed_over
from treceval_py.rendering import FORMATS, text_of
from treceval_py.scoring.planning import Scoring

QRELS = "1 0 a 1\n2 0 c 1\n3 0 d 1\n"
FIRST = "1 Q0 a 1 2 first\n2 Q0 c 1 2 first\n3 Q0 x 1 2 first\n3 Q0 d 2 1 first\n"  # RR 1, 1, 1/2
SECOND = "1 Q0 b 1 2 second\n1 Q0 a 2 1 second\n2 Q0 x 1 2 second\n3 Q0 d 1 2 second\n"  # RR 1/2, 0, 1


def treceval(*arguments: str | Path) -> tuple[int, str, str]:
    """Run the command; return its status, output and messages."""
    done = command.treceval([str(each) for each in arguments])
    return done.status, done.out.decode(), done.err.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two collections: one is laid out as BEIR's, the other has its runs beside the judgments."""
    place = tmp_path / "all"
    (place / "cars" / "qrels").mkdir(parents=True)
    (place / "cars" / "runs").mkdir()
    (place / "law").mkdir()
    (place / "cars" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n2\tc\t1\n3\td\t1\n")
    (place / "cars" / "runs" / "one.txt").write_text(FIRST)
    (place / "cars" / "runs" / "two.run").write_text(SECOND)
    (place / "law" / "qrels.txt").write_text(QRELS)
    (place / "law" / "one.txt").write_text(FIRST)
    (place / "law" / "two.run").write_text(FIRST.replace("2 Q0 c 1", "2 Q0 y 1").replace("first", "other"))
    return place


# What is averaged and ranked ------------------------------------------------------------------------


def test_the_mean_is_that_of_the_collections_means(folder: Path) -> None:
    found = board_over(folder, "RR")
    # cars: (1 + 1 + 1/2) / 3 and (1/2 + 0 + 1) / 3; law: 2.5 / 3 and (1 + 0 + 1/2) / 3
    assert [(run.rank, run.name) for run in found.runs] == [(1, "one"), (2, "two")]
    assert [run.averages for run in found.runs] == [(pytest.approx(2.5 / 3),), (pytest.approx(0.5),)]
    assert found.runs[1].means == ((pytest.approx(0.5),), (pytest.approx(0.5),))
    collections = [(each.name, each.queries, each.judgments) for each in found.collections]
    assert collections == [("cars", 3, "test.tsv"), ("law", 3, "qrels.txt")]


def test_each_collection_counts_alike_whatever_its_number_of_queries() -> None:
    values = {
        "small": {"a": {"1": 1.0}, "b": {"1": 0.0}},
        "large": {"a": dict.fromkeys("12345678", 0.2), "b": dict.fromkeys("12345678", 0.4)},
    }
    found = board_over(values)
    assert [(run.name, run.averages[0]) for run in found.runs] == [
        ("a", pytest.approx((1 + 0.2) / 2)),
        ("b", pytest.approx((0 + 0.4) / 2)),
    ]
    assert found.notes == ("small has one query, so the error is unknown and counts as 0.",)
    assert board_over(values, resampled="collections").notes == ()
    alone = board_over(dict.fromkeys(("x", "y"), values["small"]))
    assert alone.notes == ("x, y have one query, so the error is unknown and counts as 0.",)
    assert [run.ranks is None for run in board_over({"x": values["small"]}).runs] == [True, True]


def test_a_run_that_lacks_a_collection_has_neither_mean_nor_rank(folder: Path) -> None:
    (folder / "law" / "one.txt").unlink()
    found = board_over(folder, "RR")
    last = found.runs[-1]
    assert (last.name, last.rank, last.ranks, last.lacking) == ("one", None, None, 1)
    assert math.isnan(last.averages[0])
    assert last.means[0] == (pytest.approx(2.5 / 3),)
    assert math.isnan(last.means[1][0])
    assert [run.rank for run in found.runs] == [1, None]
    assert found.notes == ("1 run lacks a collection and has neither mean nor rank: one (law).",)
    row = text_of(found, "table").splitlines()[3].split()
    assert row == ["–", "one", "–", "●", "0.8333", "–"]


def test_at_most_five_runs_that_lack_a_collection_are_named() -> None:
    rows = {"1": 1.0, "2": 0.5}
    for count, end in ((5, "b4 (y)."), (6, "b4 (y) and 1 more.")):
        found = board_over({"x": {"a": rows} | {f"b{number}": rows for number in range(count)}, "y": {"a": rows}})
        (note,) = found.notes
        assert note.startswith(f"{count} runs lack a collection and have neither mean nor rank: b0 (y), b1 (y), ")
        assert note.endswith(end)


def test_runs_of_which_none_has_all_collections_have_no_ranks() -> None:
    found = board_over({"x": {"a": {"1": 1.0, "2": 0.5}}, "y": {"b": {"1": 1.0, "2": 0.5}}})
    assert [(run.name, run.rank) for run in found.runs] == [("a", None), ("b", None)]
    for name in FORMATS:
        assert text_of(found, name)


def test_equal_means_share_a_rank_and_an_interval() -> None:
    rows = {"1": 0.1, "2": 0.5, "3": 0.6}
    found = board_over({"x": {"b": rows, "a": rows}, "y": {"a": rows, "b": rows}})
    assert [(run.rank, run.name, run.ranks) for run in found.runs] == [(1, "a", (1, 2)), (1, "b", (1, 2))]
    assert found.runs[0].like_next is True
    assert "●" not in text_of(found, "table")


def test_collections_that_all_say_the_same_tell_runs_apart_for_sure() -> None:
    same = {"a": {"1": 0.5, "2": 0.7}, "b": {"1": 0.2, "2": 0.1}}
    found = board_over({"x": same, "y": same}, resampled="collections")
    assert [(run.name, run.ranks, run.like_next) for run in found.runs] == [("a", (1, 1), False), ("b", (2, 2), None)]
    assert "nan" not in text_of(found, "table")


def test_clearly_different_runs_are_told_apart_and_close_ones_are_not() -> None:
    rng = np.random.default_rng(1)

    def collection() -> dict[str, dict[str, float]]:
        hard = rng.random(30)
        noise = 0.05 * rng.standard_normal((3, 30))
        runs = {"high": hard + 0.5, "close": hard + 0.5, "low": hard}
        return {
            name: dict(zip(map(str, range(30)), (row + each).tolist(), strict=True))
            for (name, row), each in zip(runs.items(), noise, strict=True)
        }

    found = board_over({str(number): collection() for number in range(5)})
    assert [run.name for run in found.runs[2:]] == ["low"]
    assert [run.ranks for run in found.runs] == [(1, 2), (1, 2), (3, 3)]
    assert [run.like_next for run in found.runs] == [True, False, None]


def test_what_is_drawn_decides_the_interval() -> None:
    # In each collection the same run is always ahead, but not in the same way in all: queries are sure, collections not.
    values = {
        str(number): {
            "a": {str(query): 0.5 + gain + 0.001 * query for query in range(20)},
            "b": {str(query): 0.5 + 0.001 * ((query * 7) % 20) for query in range(20)},
        }
        for number, gain in enumerate((0.3, -0.2, 0.3, -0.2, 0.1))
    }
    by_queries, by_collections = (board_over(values, resampled=each) for each in ("queries", "collections"))
    assert [run.ranks for run in by_queries.runs] == [(1, 1), (2, 2)]
    assert [run.ranks for run in by_collections.runs] == [(1, 2), (1, 2)]
    assert board_over(values).runs == board_over(values, resampled="both").runs


def test_one_collection_has_its_queries_resampled_only_over_those_of_all_runs() -> None:
    values = {"x": {"a": {"1": 1.0, "2": 0.5, "3": 0.1, "4": 0.1}, "b": {"1": 0.0, "2": 0.6, "3": 0.2}}}
    found = board_over(values)
    assert (found.resampled, found.runs[0].averages) == ("queries", (pytest.approx(1.6 / 3),))
    assert found.notes == (
        "x: 1 query that some runs lack is left out (4).",
        "there is only one collection, so the bootstrap is over its queries.",
    )
    values["x"]["b"].pop("3")
    (note,) = board_over(values, resampled="queries").notes
    assert note == "x: 2 that some runs lack are left out (3, 4)."


def test_results_are_taken_as_they_are() -> None:
    results = {name: te.evaluate({"1": {"a": 1}, "2": {"b": 1}}, run, ["RR", "P@1"]) for name, run in (
        ("good", {"1": {"a": 1.0}, "2": {"b": 1.0}}),
        ("bad", {"1": {"x": 2.0, "a": 1.0}, "2": {"b": 1.0}}),
    )}  # fmt: skip
    found = board_over({"one": results, "two": results})
    assert found.measures == ("RR", "P@1")
    assert [(run.name, run.averages) for run in found.runs] == [("good", (1, 1)), ("bad", (0.75, 0.5))]
    assert found.collections[0].signatures[0] == results["good"].signature(0)


VALUES: list[object] = [
    {}, {"x": {}}, {"x": 7}, {"x": {"a": {}}}, {"x": {"a": 7}}, {"x": {"a": {"1": math.nan}}}, {"x": {"a": {"1": math.inf}}},
    {"x": {"a": {"1": "high"}}}, {"x": {"a": {"1": [1, 2]}}}, 7,
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {"resampled": "runs"}, {"resamples": 99}, {"resamples": 1_000_001}, {"seed": -1}, {"confidence": 1.0}, {"alpha": 0},
    {"by": "name"}, {"measures": ["map", "P"]},
]  # fmt: skip


def test_values_and_options_that_are_none_are_refused(snapshot: SnapshotAssertion) -> None:
    one = {"x": {"a": {"1": 1.0}}}
    said = {repr(values): refusal(board_over, values) for values in VALUES}
    assert said | {repr(options): refusal(board_over, one, **options) for options in OPTIONS} == snapshot
    board_over(one, resamples=100, seed=0, by="tag", alpha=0.001, confidence=0.999)


# A folder -------------------------------------------------------------------------------------------


def test_a_folder_is_searched_for_collections_and_names_the_rest(folder: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "README.md").write_text("about\n")
    (folder / ".hidden").mkdir()
    (folder / "empty").mkdir()
    (folder / "cars" / "corpus.jsonl").write_text('{"_id": "a", "text": "…"}\n')
    (folder / "cars" / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    (folder / "law" / "notes.txt").write_text("what the annotators said\n")
    found = found_in(folder)
    assert [each.name for each in found.collections] == ["cars", "law"]
    for number in range(3):
        (folder / f"{number}.txt").write_text("more\n")
        (folder / "law" / f"{number}.md").write_text("more\n")
    assert (found.notes, found_in(folder).notes) == snapshot  # at most five are named


def test_unclear_and_missing_collections_are_refused(folder: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "law" / "qrels.2024.txt").write_text(QRELS)
    (tmp_path / "none" / "runs").mkdir(parents=True)
    said = [refusal(found_in, place) for place in (folder, tmp_path / "none")]
    assert [text.replace(str(tmp_path), "").removeprefix("InputError: ") for text in said] == snapshot


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("1 Q0 a 1 0.5 t\n", True), ("1 Q0 a 1 x t\n", False), ("1 Q0 a 1 nan t\n", False), ("1 Q0 a 1 0.5\n", False),
        ("1\ta\t1\n", True), ("1\ta\tx\n", False), ("1\ta\t1.5\n", True), ("1\ta\n", False), ("map\t1\t0.5\n", True),
    ],
)  # fmt: skip
def test_files_beside_judgments_are_runs_if_they_begin_like_one(folder: Path, line: str, run: bool) -> None:
    (folder / "law" / "three").write_text(line)
    assert (f"{folder}/law/three" in found_in(folder).collections[1].runs) == run


@pytest.mark.parametrize(("line", "judgments"), [("1 0 a 1\n", 2), ("1 0 a -1\n", 2), ("1 0 a x\n", 1), ("1 0 a\n", 1)])
def test_files_named_qrels_are_judgments_if_they_begin_like_them(folder: Path, line: str, judgments: int) -> None:
    (folder / "law" / "Qrels.other").write_text(line)
    with pytest.raises(te.errors.InputError, match="2 files of judgments") if judgments == 2 else nullcontext():
        assert found_in(folder).collections[1].judgments == f"{folder}/law/qrels.txt"


def test_a_file_that_is_named_as_judgments_but_is_a_run_is_none(folder: Path) -> None:
    (folder / "law" / "qrels-bm25.txt").write_text(SECOND)
    law = found_in(folder).collections[1]
    assert Path(str(law.judgments)).name == "qrels.txt"
    assert [Path(each).name for each in law.runs] == ["one.txt", "qrels-bm25.txt", "two.run"]


def test_saved_results_need_no_judgments(folder: Path, tmp_path: Path) -> None:
    for collection, judgments, place in (("cars", "qrels/test.tsv", "runs"), ("law", "qrels.txt", ".")):
        target = tmp_path / "saved" / collection
        target.mkdir(parents=True)
        for name in ("one.txt", "two.run"):
            run = folder / collection / place / name
            results = te.evaluate(folder / collection / judgments, run, "RR", complete=True)
            results.save(target / f"{Path(name).stem}.json")
    saved, scored = board_over(tmp_path / "saved"), board_over(folder, "RR")
    assert [run[:5] for run in saved.runs] == [run[:5] for run in scored.runs]
    unused = "law: all runs are saved results, so its judgments are not used."
    assert unused not in saved.notes
    (tmp_path / "saved" / "law" / "qrels.txt").write_bytes((folder / "law" / "qrels.txt").read_bytes())
    assert unused in board_over(tmp_path / "saved").notes


def test_a_file_that_cannot_be_scored_is_an_error_and_its_run_lacks_the_collection(folder: Path) -> None:
    (folder / "cars" / "runs" / "two.run").write_text("what?\n")
    found = board_over(folder, "RR")
    assert [run.rank for run in found.runs] == [1, None]
    assert [Path(error.file).name for error in found.errors] == ["two.run"]
    status, out, err = treceval("board", folder, "-m", "RR", "--no-cache")
    assert (status, "two.run:1:" in err, "Not scored:" in out) == (1, True, True)


def test_runs_are_the_same_by_file_or_by_tag(folder: Path) -> None:
    found = board_over(folder, "RR", by="tag")
    assert {run.name: run.lacking for run in found.runs} == {"first": 0, "second": 1, "other": 1}


def test_each_collection_is_cached_in_the_folder_of_its_runs(folder: Path) -> None:
    first = board_over(folder, "RR", cache=True)
    again = board_over(folder, "RR", cache=True)
    assert (first.scored, again.scored) == (4, 0)
    assert first.runs == again.runs
    assert (folder / "cars" / "runs" / CACHE_NAME).is_file()
    assert (folder / "law" / CACHE_NAME).is_file()


# A TOML file ----------------------------------------------------------------------------------------

TEXTS = tomllib.loads(Path(__file__).with_name("collections.toml").read_text("utf-8"))
LISTED = TEXTS["listed"]


def test_a_file_lists_collections_with_weights_measures_and_names(folder: Path, snapshot: SnapshotAssertion) -> None:
    (folder / "all.toml").write_text(LISTED)
    found = board_over(folder / "all.toml", resamples=100)
    # one: RR 2.5 / 3 in cars, P@1 2 / 3 in law; two: 1.5 / 3 and 1 / 3
    means = {run.name: run.averages[0] for run in found.runs}
    assert means == {
        "one": pytest.approx((3 * 2.5 / 3 + 2 / 3) / 4),
        "second": pytest.approx((3 * 1.5 / 3 + 1 / 3) / 4),
    }
    assert found.measures == ("main measure",)
    assert text_of(found, "table").replace(te.__version__, "VERSION") == snapshot
    (folder / "all.toml").write_text(LISTED.replace("two =", "three ="))
    assert "no run has a name that [names] gives to second." in board_over(folder / "all.toml").notes
    (folder / "all.toml").write_text(LISTED.replace("two = ", "one = ").replace('"second"', '"two"'))
    assert "two runs of collection 'cars' are named 'two'" in refusal(board_over, folder / "all.toml")


def test_options_come_before_what_a_file_says_for_all_and_after_its_collections(folder: Path) -> None:
    text = f'profile = "trec_eval-9"\nlevel = 2\n{LISTED}'.replace(
        'name = "law"', 'name = "law"\nprofile = "ranx"\nlevel = 1'
    )
    (folder / "all.toml").write_text(text)
    for measures, profile, level, expected in (
        ("map", "trec_eval-10", 3, [("map", "trec_eval-10", 3), ("P@1", "ranx", 1)]),
        (None, None, None, [("RR", "trec_eval-9", 2), ("P@1", "ranx", 1)]),
    ):
        found = board_over(folder / "all.toml", scoring=Scoring(measures, profile, level), resamples=100)
        made = [(each.measures[0], each.signatures[0]) for each in found.collections]
        assert [(name, how.profile, dict(how.measure.parameters)["level"]) for name, how in made] == expected


ONE = "[[collection]]\nname = 'x'\nruns = 'y'\n"


def test_what_a_file_says_is_checked(folder: Path, snapshot: SnapshotAssertion) -> None:
    file, said = folder / "all.toml", {}
    for case, text in TEXTS["refused"].items():
        file.write_text(text.replace("{ONE}", ONE))
        said[case] = refusal(listed_in, file).removeprefix("InputError: ").removeprefix(f"{folder}/")
    assert said["not TOML"].startswith("all.toml:1: ")
    assert said == snapshot
    other = "judgments = 'z'\n[[collection]]\nname = 'z'\nruns = 'y'\nweight = 1e-9\n"
    file.write_text(f"level = 0\n{ONE}weight = 1e9\n{other}")
    found = listed_in(file)
    collections = [(each.weight, each.judgments, each.level) for each in found.collections]
    assert collections == [(1e9, f"{folder}/z", None), (1e-9, None, None)]
    assert found.level == 0


# What is printed ------------------------------------------------------------------------------------


def made() -> CollectionsBoard:
    """Return a board of three runs over two collections, of which one run lacks one."""
    return board_over(
        {
            "one|1": {"a<b": {"1": 0.9, "2": 0.7, "3": 0.8}, "c": {"1": 0.1, "2": 0.4, "3": 0.2}, "d": {"1": 0.5, "2": 0.5, "3": 0.9}},
            "two": {"a<b": {"1": 0.8, "2": 0.9, "3": 0.8}, "c": {"1": 0.1, "2": 0.2, "3": 0.2}},
        },
        "map",
        resampled="queries",
    )  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_a_board_in_every_format(format: str, snapshot: SnapshotAssertion) -> None:
    text = re.sub(r"<style>.*?</style>\n", "", text_of(made()._replace(critical=1.9312), format), flags=re.DOTALL)
    assert text.replace(te.__version__, "VERSION") == snapshot


def test_json_is_what_the_schema_says_and_a_board_a_short_line_in_python() -> None:
    document = json.loads(text_of(made(), "json"), parse_constant=pytest.fail)
    schema = (Path(__file__).parent.parent / "docs" / "json-schema.json").read_text("utf-8")
    jsonschema.validate(document, json.loads(schema))
    assert repr(made()) == "<CollectionsBoard of 3 runs over 2 collections by map: a<b 0.8167, c 0.2000, d nan>"
    assert "<table" in made()._repr_html_()


# The command ----------------------------------------------------------------------------------------


def test_the_command_takes_a_folder_or_a_file(folder: Path) -> None:
    status, out, _ = treceval("board", folder, "-m", "RR", "--format", "csv", "--no-cache")
    assert (status, [row["run"] for row in csv.DictReader(io.StringIO(out))]) == (0, ["one", "two"])
    (folder.parent / "all.toml").write_text(LISTED.replace('"cars/', '"all/cars/').replace('"law/', '"all/law/'))
    _, out, _ = treceval("board", folder.parent / "all.toml", "--format", "csv", "--no-cache", "--resample", "queries")
    assert [row["run"] for row in csv.DictReader(io.StringIO(out))] == ["one", "second"]
    assert not list(folder.rglob(CACHE_NAME))


@pytest.mark.parametrize(
    "arguments", ["all/law/qrels.txt", "all --cache x", "all/law/qrels.txt all/law/one.txt --resample both"]
)
def test_options_that_do_not_go_together_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(folder.parent)
    status, _, err = treceval("board", *arguments.split())
    assert (status, err) == (2, snapshot)


# What folders do not stand for ----------------------------------------------------------------------


def test_what_a_folder_does_not_stand_for_is_named(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "old").mkdir(parents=True)
    for name in ("a.run", "a.run.json", "b.run", ".DS_Store", "README.md", ".treceval-board.json.gz", "qrels.txt"):
        (runs / name).write_text("x\n")
    (runs / "link.run").symlink_to("a.run")
    (runs / "gone.run").symlink_to("nowhere")
    (note,) = passed_over([runs, runs / "a.run"], without=[runs / "qrels.txt", None])
    assert note == (
        "in folder runs 6 entries are skipped: .DS_Store (hidden), README.md (a text about the folder), "
        "a.run.json (about a.run), gone.run (a link to nothing), link.run (a link to another file here) and 1 more."
    )


@pytest.mark.parametrize("name", ["board", "compare"])
def test_commands_note_what_they_pass_over(folder: Path, name: str) -> None:
    (folder / "cars" / "runs" / "old").mkdir()
    arguments = [folder / "cars/qrels/test.tsv", folder / "cars/runs", "-m", "RR"]
    _, out, _ = treceval(name, *arguments, *(["--no-cache"] if name == "board" else []))
    assert "in folder runs 1 entry is skipped: old (a folder)." in out
