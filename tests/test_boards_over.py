"""Boards over many collections: where they are found, what is averaged and ranked, and what is printed."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path

import command
import jsonschema
import numpy as np
import pytest

import treceval_py as te
from treceval_py.boards.cache import CACHE_NAME
from treceval_py.boards.collections import found_in, listed_in
from treceval_py.boards.over import CollectionsBoard, board_over
from treceval_py.comparing.saved.files import passed_over
from treceval_py.rendering import FORMATS, text_of

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
    assert [(each.name, each.queries, each.judgments) for each in found.collections] == [
        ("cars", 3, "test.tsv"),
        ("law", 3, "qrels.txt"),
    ]


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
    assert found.notes == ("small has one query, whose error is not known: it counts as 0.",)


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


def test_one_collection_has_its_queries_resampled_only() -> None:
    found = board_over({"x": {"a": {"1": 1.0, "2": 0.5}, "b": {"1": 0.0, "2": 0.6}}})
    assert found.resampled == "queries"
    assert found.notes == ("there is one collection, so the bootstrap is over its queries alone.",)


def test_queries_that_a_run_lacks_are_left_out_of_given_values_and_named() -> None:
    found = board_over({"x": {"a": {"1": 1.0, "2": 0.5, "3": 0.1}, "b": {"1": 0.0, "2": 0.6}}}, resampled="queries")
    assert found.runs[0].averages == (0.75,)
    assert found.notes == ("x: 1 query that some runs lack is left out (3).",)


def test_results_are_taken_as_they_are() -> None:
    results = {name: te.evaluate({"1": {"a": 1}, "2": {"b": 1}}, run, ["RR", "P@1"]) for name, run in (
        ("good", {"1": {"a": 1.0}, "2": {"b": 1.0}}),
        ("bad", {"1": {"x": 2.0, "a": 1.0}, "2": {"b": 1.0}}),
    )}  # fmt: skip
    found = board_over({"one": results, "two": results})
    assert found.measures == ("RR", "P@1")
    assert [(run.name, run.averages) for run in found.runs] == [("good", (1, 1)), ("bad", (0.75, 0.5))]
    assert found.collections[0].signatures[0] == results["good"].signature(0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "there is no collection. Give at least one."),
        ({"x": {}}, "collection 'x' must map runs to results or values. Give at least one run."),
        ({"x": {"a": {}}}, "run 'a' of collection 'x' must have results or values by query."),
        ({"x": {"a": {"1": math.nan}}}, "a value of run 'a' in 'x' is not a number. Correct it."),
        ({"x": {"a": {"1": "high"}}}, "a value of run 'a' in 'x' is not a number. Correct it."),
        (7, "collections must be a folder, a TOML file or a mapping, not 7."),
    ],
)
def test_values_that_are_not_numbers_are_refused(values: object, message: str) -> None:
    with pytest.raises(te.EvaluationError, match=re.escape(message)):
        board_over(values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resampled": "runs"}, "resampled must be one of both, queries, collections, not 'runs'"),
        ({"resamples": 99}, "resamples must be 100 to 1000000, not 99"),
        ({"seed": -1}, "seed must be 0 or more, not -1"),
        ({"confidence": 1.0}, "confidence must be above 0 and below 1, not 1.0"),
        ({"by": "name"}, "runs cannot be named by 'name'. Choose 'tag' or 'file'."),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(te.TrecevalError, match=re.escape(message)):
        board_over({"x": {"a": {"1": 1.0}}}, **options)  # type: ignore[arg-type]


# A folder -------------------------------------------------------------------------------------------


def test_a_folder_is_searched_for_collections_and_names_the_rest(folder: Path) -> None:
    (folder / "README.md").write_text("about\n")
    (folder / ".hidden").mkdir()
    (folder / "empty").mkdir()
    (folder / "cars" / "corpus.jsonl").write_text('{"_id": "a", "text": "…"}\n')
    (folder / "cars" / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    (folder / "law" / "notes.txt").write_text("what the annotators said\n")
    found = found_in(folder)
    assert [each.name for each in found.collections] == ["cars", "law"]
    assert found.notes == (
        (
            "3 entries of the folder are no collections: .hidden (hidden), README.md (not a folder), empty (lacks "
            "judgments or runs)."
        ),
        "3 entries of the folder are not used: cars/corpus.jsonl, cars/qrels/train.tsv, law/notes.txt.",
    )


def test_two_files_of_judgments_are_not_guessed_between(folder: Path) -> None:
    (folder / "law" / "qrels.2024.txt").write_text(QRELS)
    with pytest.raises(te.InputError, match=r"it has 2 files of judgments \(qrels.2024.txt, qrels.txt\). Keep one"):
        found_in(folder)


def test_a_file_that_is_named_as_judgments_but_is_a_run_is_none(folder: Path) -> None:
    (folder / "law" / "qrels-bm25.txt").write_text(SECOND)
    law = found_in(folder).collections[1]
    assert Path(str(law.judgments)).name == "qrels.txt"
    assert [Path(each).name for each in law.runs] == ["one.txt", "qrels-bm25.txt", "two.run"]


def test_a_folder_without_collections_says_what_one_is(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(te.InputError, match=r"no folder in it has judgments and runs\. Give each collection a folder"):
        found_in(tmp_path)


def test_saved_results_need_no_judgments(folder: Path, tmp_path: Path) -> None:
    for collection in ("cars", "law"):
        target = tmp_path / "saved" / collection
        target.mkdir(parents=True)
        judgments = "qrels/test.tsv" if collection == "cars" else "qrels.txt"
        for name in ("one.txt", "two.run"):
            run = folder / collection / ("runs" if collection == "cars" else "") / name
            results = te.evaluate(folder / collection / judgments, run, "RR", complete=True)
            results.save(target / f"{Path(name).stem}.json")
    saved, scored = board_over(tmp_path / "saved"), board_over(folder, "RR")
    assert [run[:5] for run in saved.runs] == [run[:5] for run in scored.runs]


def test_a_file_that_cannot_be_scored_is_an_error_and_its_run_lacks_the_collection(folder: Path) -> None:
    (folder / "cars" / "runs" / "two.run").write_text("what?\n")
    found = board_over(folder, "RR")
    assert [run.rank for run in found.runs] == [1, None]
    assert [Path(error.file).name for error in found.errors] == ["two.run"]


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

LISTED = """
measures = ["RR"]
[[collection]]
name = "cars"
judgments = "cars/qrels/test.tsv"
runs = "cars/runs"
weight = 3
[[collection]]
name = "law"
judgments = "law/qrels.txt"
runs = ["law/one.txt", "law/two.run"]
measures = ["P@1"]
[names]
two = "second"
"""


def test_a_file_lists_collections_with_weights_measures_and_names(folder: Path) -> None:
    (folder / "all.toml").write_text(LISTED)
    found = board_over(folder / "all.toml")
    # one: RR 2.5 / 3 in cars, P@1 2 / 3 in law; two: 1.5 / 3 and 1 / 3
    means = {run.name: run.averages[0] for run in found.runs}
    assert means == {
        "one": pytest.approx((3 * 2.5 / 3 + 2 / 3) / 4),
        "second": pytest.approx((3 * 1.5 / 3 + 1 / 3) / 4),
    }
    assert found.measures == ("main measure",)
    assert (
        "means over collections are of different measures (RR, P@1): of each collection the first counts."
        in found.notes
    )
    assert "Weights: cars 3, law 1." in text_of(found, "table")


def test_options_come_before_what_a_file_says_for_all_and_after_its_collections(folder: Path) -> None:
    (folder / "all.toml").write_text(LISTED)
    found = board_over(folder / "all.toml", "map")
    assert [each.measures for each in found.collections] == [("map",), ("P@1",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[collection]]\nname = 'x'\n", "collection 1: it lacks name or runs."),
        ("[[collection]]\nname = 'x'\nruns = 3\n", "collection 1: runs is 3; it must be text, or a list of texts."),
        (
            '[[collection]]\nname = "x"\nruns = "y\\u0000"\n',
            r"collection 1: runs is 'y\x00'; it must be text, or a list",
        ),
        ("[[collection]]\nname = 'x'\nruns = 'y'\nfolder = 'z'\n", "collection 1: unknown key 'folder'."),
        ("[[collection]]\nname = 'x'\nruns = 'y'\nweight = 0\n", "collection 1: weight is 0; it must be above 0."),
        (
            "[[collection]]\nname = 'x'\nruns = 'y'\nlevel = -1\n",
            "collection 1: level is -1; it must be a whole number",
        ),
        ("[[collection]]\nname = 'x'\nruns = 'y'\n" * 2, "two collections are named 'x'. Rename one."),
        ("measures = 'map'\n", "it lists no collection. Write [[collection]]"),
        ("[names]\na = 1\n[[collection]]\nname = 'x'\nruns = 'y'\n", "[names] must give each name another one."),
        ("one\n", "all.toml:1: is not TOML: expected '=' after a key"),
    ],
)
def test_what_a_file_says_is_checked(folder: Path, text: str, message: str) -> None:
    (folder / "all.toml").write_text(text)
    with pytest.raises(te.InputError, match=re.escape(message)):
        listed_in(folder / "all.toml")


def test_a_new_name_that_no_run_has_is_said(folder: Path) -> None:
    (folder / "all.toml").write_text(LISTED.replace("two =", "three ="))
    assert "no run has a name that [names] gives to second." in board_over(folder / "all.toml").notes


def test_two_runs_of_a_collection_cannot_have_one_name(folder: Path) -> None:
    (folder / "all.toml").write_text(LISTED.replace("two = ", "one = ").replace('"second"', '"two"'))
    with pytest.raises(te.EvaluationError, match="two runs of collection 'cars' are named 'two'"):
        board_over(folder / "all.toml")


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


def test_the_table_of_a_board() -> None:
    assert text_of(made(), "table").splitlines() == [
        "rank   95 % ranks   run   next    mean map      one|1        two",
        "─" * (4 + 10 + 3 + 5 + 8 + 8 + 8 + 6 * 3),
        "   1            1   a<b   apart   ● 0.8167   ● 0.8000   ● 0.8333",
        "   2            2   c               0.2000     0.2333     0.1667",
        "   –            –   d                    –     0.6333          –",
        "",
        "●: highest mean.",
        "Ranked by the mean of the means in 2 collections (6 queries): map.",
        (
            "Ranks: 95 % interval of each run's rank, by a bootstrap over the queries of each collection: the range for "
            "other queries of the same collections (1000 draws, seed 1); each holds for its run alone."
        ),
        (
            "Next: whether a run can be told apart from the one below it. Of 1 pair of neighbours, 0 cannot (the same "
            f"bootstrap, alpha = 0.05 for all pairs of runs together: the difference is less than {made().critical:.2f} "
            "standard errors)."
        ),
        "Note: 1 run lacks a collection and has neither mean nor rank: d (two).",
        f"treceval_py {te.__version__}",
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_shows_the_runs_their_means_and_the_gap(format: str) -> None:
    text = text_of(made(), format)
    assert re.search(r"0\.81\d*", text)
    assert re.search(r"0\.63\d*", text)
    if format in ("csv", "tsv"):
        first, *_, last = csv.DictReader(io.StringIO(text), delimiter="," if format == "csv" else "\t")
        assert (first["rank"], first["rank_low"], first["rank_high"], first["like_next"]) == ("1", "1", "1", "no")
        assert (last["rank"], last["mean map"], last["two: map"], last["collections_lacking"]) == ("", "", "", "1")


def test_json_is_what_the_schema_says() -> None:
    document = json.loads(text_of(made(), "json"), parse_constant=pytest.fail)
    text = (Path(__file__).parent.parent / "docs" / "json.md").read_text("utf-8")
    jsonschema.validate(document, json.loads(text.split("```json schema")[1].split("```")[0]))
    assert document["kind"] == "collections"
    assert (document["neighbours"], document["neighbours_alike"]) == (1, 0)
    assert document["runs"][2]["rank"] is None
    assert document["runs"][2]["collections"]["two"] == {"file": None, "sha256": None, "mean": {"map": None}}


def test_a_board_is_a_short_line_in_python_and_a_table_in_a_notebook() -> None:
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


def test_a_collection_with_a_damaged_run_is_an_exit_status(folder: Path) -> None:
    (folder / "cars" / "runs" / "two.run").write_text("what?\n")
    status, out, err = treceval("board", folder, "-m", "RR", "--no-cache")
    assert (status, "two.run:1:" in err, "Not scored:" in out) == (1, True, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder}/law/qrels.txt"], "Missing argument 'RUNS…'."),
        (["{folder}", "--cache", "x"], "Each collection has a cache of its own; remove --cache."),
        (
            ["{folder}/law/qrels.txt", "{folder}/law/one.txt", "--resample", "both"],
            "--resample needs a folder or TOML file of collections, without RUNS.",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(folder: Path, arguments: list[str], message: str) -> None:
    status, _, err = treceval("board", *(each.format(folder=folder) for each in arguments))
    assert (status, message in err) == (2, True)


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
        "in folder runs 6 entries are not taken for a run: .DS_Store (hidden), README.md (a text about the folder), "
        "a.run.json (about a.run), gone.run (a link to nothing), link.run (a link to another file here) and 1 more."
    )


@pytest.mark.parametrize("name", ["board", "compare"])
def test_commands_note_what_they_pass_over(folder: Path, name: str) -> None:
    (folder / "cars" / "runs" / "old").mkdir()
    arguments = [folder / "cars/qrels/test.tsv", folder / "cars/runs", "-m", "RR"]
    _, out, _ = treceval(name, *arguments, *(["--no-cache"] if name == "board" else []))
    assert "in folder runs 1 entry is not taken for a run: old (a folder)." in out
