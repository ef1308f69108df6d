"""evaluate, results, and what is printed of them."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval
from refused import refusal
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.measuring import FAMILIES
from treceval_py.rendering.style import Style
from treceval_py.scoring.show import RESULT_FORMATS, Options, results_text

# The run lacks a query; what is said of that is tested in test_rendering_objects.py.
pytestmark = pytest.mark.filterwarnings(
    "ignore::treceval_py.errors.MissingQueriesWarning", "ignore::treceval_py.errors.SuspectRunWarning"
)

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1}, "3": {"z": 1}}
RUN = {"1": {"b": 3.0, "a": 2.0, "x": 1.0}, "2": {"a": 1.0}, "9": {"a": 1.0}}

FILES = {
    "qrels": "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 1\n3 0 z 1\n",
    "run": "1 Q0 b 1 3.0 first\n1 Q0 a 2 2.0 first\n1 Q0 x 3 1.0 first\n2 Q0 a 1 1.0 first\n9 Q0 a 1 1.0 first\n",
    "other": "1 Q0 c 1 3.0 second\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_values_are_found_by_query_and_measure() -> None:
    results = te.evaluate(QRELS, RUN, ["map", "P@2"])
    assert results["1"]["map"] == 0.25  # 1/2 at rank 2, over two relevant documents
    assert results["1"]["P@2"] == 0.5
    assert dict(results["2"]) == {"map": 1.0, "P@2": 0.5}
    assert list(results) == ["1", "2"]


def test_measures_can_be_any_iterable() -> None:
    results = te.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, (name for name in ["map", "P@5"]))
    assert dict(results.mean) == {"map": 1.0, "P@5": 0.2}


def test_averages_are_found_by_any_name_of_the_measure() -> None:
    results = te.evaluate(QRELS, RUN, ["map", "ndcg_cut.1"])
    assert results.mean["map"] == results.mean["AP"] == 0.625
    assert results.mean["ndcg_cut_1"] == results.mean["nDCG@1"] == results.mean["ndcg_cut.1"] == 0.5
    with pytest.raises(KeyError):
        results.mean["nDCG@2"]
    with pytest.raises(KeyError):
        results.mean["no such measure"]


def test_a_missing_query_is_left_out_and_named() -> None:
    results = te.evaluate(QRELS, RUN, "map")
    assert (results.missing, results.unjudged) == (("3",), ("9",))
    assert results.mean["map"] == 0.625


def test_a_missing_query_counts_as_an_empty_ranking_when_all_count() -> None:
    results = te.evaluate(QRELS, RUN, ["map", "num_ret", "num_rel"], complete=True)
    assert list(results) == ["1", "2", "3"]
    assert results["3"]["map"] == 0.0
    assert results.mean["map"] == pytest.approx(1.25 / 3)
    assert results.mean["num_rel"] == 4


def test_trec_eval_9_counts_a_missing_query_as_zero_without_listing_it() -> None:
    results = te.evaluate(QRELS, RUN, ["map", "yaap", "num_q"], complete=True, profile="trec_eval-9")
    assert list(results) == ["1", "2"]
    assert results.mean["num_q"] == 3
    # An empty ranking has yaap = ln(1/2); 9.0.8 adds 0.
    ten = te.evaluate(QRELS, RUN, ["map", "yaap", "num_q"], complete=True)
    assert results.mean["yaap"] - ten.mean["yaap"] == pytest.approx(np.log(2) / 3)


def test_the_level_applies_to_measures_that_do_not_say_one() -> None:
    results = te.evaluate(QRELS, {"1": {"a": 2.0, "c": 1.0}}, ["RR", "RR(rel=1)"], level=2)
    assert (results["1"]["RR"], results["1"]["RR(rel=1)"]) == (0.5, 1.0)


def test_the_collection_size_is_for_utility() -> None:
    # b: one relevant, one other, two not relevant in a collection of five: 0·1 + 0·1 + 0·1 + 1·(5 - 2 - 1)
    results = te.evaluate({"1": {"a": 1, "b": 1}}, {"1": {"a": 1.0, "c": 0.5}}, "utility.0,0,0,1", collection_size=5)
    assert results.mean["utility_0,0,0,1"] == 2.0


def test_a_geometric_mean_floors_zeros() -> None:
    results = te.evaluate({"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"b": 1.0}}, "gm_map")
    assert results.mean["gm_map"] == pytest.approx((1.0 * 0.00001) ** 0.5)


def test_texts_are_apart_from_numbers() -> None:
    results = te.evaluate(QRELS, te.Run(RUN, tag="mine"), ["map", "relstring", "runid"])
    assert results.text("relstring") == {"1": "01-", "2": "1"}
    assert results.text("runid") == {"1": "mine", "2": "mine"}
    assert list(results["1"]) == ["map"]
    with pytest.raises(KeyError):
        results.text("map")


def test_results_become_a_frame_with_a_row_a_query() -> None:
    frame = te.evaluate(QRELS, RUN, ["map", "P.1,2", "num_q", "relstring"]).to_pandas()
    assert list(frame.index) == ["1", "2"]
    assert list(frame.columns) == ["map", "P_1", "P_2", "relstring"]
    assert frame.loc["1", "map"] == 0.25
    assert frame.index.name == "query"


def test_results_can_be_pickled() -> None:
    results = te.evaluate(QRELS, RUN, ["official", "AP(rel=2)"])
    again = pickle.loads(pickle.dumps(results))
    assert dict(again["1"]) == dict(results["1"])
    assert dict(again.mean) == dict(results.mean)


def test_results_show_what_they_are() -> None:
    assert repr(te.evaluate(QRELS, RUN, ["map"])) == (
        "<Results of '<run>': 2 queries, map=0.6250; 1 judged missing (3), left out>"
    )


def test_inputs_are_not_changed() -> None:
    qrels, run = {"1": {"b": 1, "a": 0}}, {"1": {"a": 1.0, "b": 2.0}}
    te.evaluate(qrels, run)
    assert (qrels, run) == ({"1": {"b": 1, "a": 0}}, {"1": {"a": 1.0, "b": 2.0}})
    assert list(qrels["1"]) == ["b", "a"]


def test_arguments_out_of_range_are_refused(snapshot: SnapshotAssertion) -> None:
    wrong: list[dict[str, Any]] = [
        {"level": -1},
        {"depth": -1},
        {"collection_size": -1},
        {"profile": "trec_eval-8"},
        {"profile": 9},
    ]
    assert [refusal(te.evaluate, QRELS, RUN, **each) for each in wrong] == snapshot
    # b, which is first in query 1, is judged 0; of no documents none is relevant.
    ends: list[tuple[dict[str, Any], float]] = [
        ({"level": 0}, 1.0),
        ({"level": 1}, 0.5),
        ({"depth": 0}, 0.0),
        ({"depth": 1}, 0.5),
    ]
    assert [te.evaluate(QRELS, RUN, "P@1", **end).mean["P@1"] for end, _ in ends] == [value for _, value in ends]


# Output. The trec format is tested against trec_eval in test_scoring_trec_eval.py.


LINES = {
    "strange": "77 Q0 a 1 1.0 t\n",
    "contradicting": "1 Q0 b 2 3.0 t\n1 Q0 a 1 2.0 t\n1 Q0 x 3 1.0 t\n2 Q0 a 1 1.0 t\n3 Q0 z 1 1 t\n",
    "distances": "1 Q0 b 1 0.1 t\n1 Q0 a 2 0.2 t\n2 Q0 a 1 0.3 t\n2 Q0 b 2 0.4 t\n3 Q0 z 1 1 t\n",
    "copy": FILES["run"],
    "odd": "1 Q0 c 1 3.0 a_b|c&d%\n",
    "qrels4": "1 0 a 1\n2 0 a 1\n3 0 a 1\n4 0 a 1\n",
    "control": "1 Q0 c 1 3.0 \x1b[31mred\udcff\n",
}

PRINTED = [
    "-m map qrels run",
    "-c -m map qrels other",
    "-c -m map qrels strange",
    "-c -m map qrels4 strange",
    "-m map qrels contradicting",
    "-m map qrels distances",
    "-m map -m num_ret qrels run other",
    "--format trec -m map qrels run other",
    "--format csv -m map qrels run copy",
    "--format csv -m map qrels run run",
    "-q --format csv -m recip_rank -m P.3 qrels run other",
    "--format tsv --digits 2 -m map qrels run",
    "--format markdown -m P.5 qrels odd",
    "--format latex -m P.5 qrels odd",
    "--format table -m map qrels control",
    "score -m map qrels run",
]
"""Commands of which all is recorded: values, columns, blocks, escapes, and notes on standard error.

AP of query 1 is 1/2 at rank 2 over two relevant documents, 0.25, and of query 2 1: a mean of 0.6250.
"""


def test_what_is_printed(folder, snapshot: SnapshotAssertion) -> None:
    for name, text in LINES.items():
        (folder / name).write_bytes(text.encode(errors="surrogateescape"))
    said = {}
    for words in PRINTED:
        done = treceval(words.split(), folder=folder)
        assert done.status == 0
        said[words] = [done.out.decode(), done.err.decode()]
    assert said["-m map qrels run"][0] == "map                   \tall\t0.6250\n"
    assert said["score -m map qrels run"] == said["-m map qrels run"]
    assert said == snapshot


def test_ranks_that_agree_or_say_nothing_are_not_noted(folder) -> None:
    # Equal ranks say nothing, ranks that are no numbers are not looked at, and the order of lines does not matter.
    for ranks in ("123", "000", "111", "aab", "321"):
        lines = [
            f"1 Q0 {docid} {rank} {4 - int(rank) if rank.isdigit() else 1}.5 t\n"
            for docid, rank in zip("abc", ranks, strict=True)
        ]
        (folder / "run").write_text("".join(lines) + "2 Q0 a 1 1.0 t\n3 Q0 z 1 1 t\n")
        assert treceval(["-m", "map", "qrels", "run"], folder=folder).err == b"", ranks


def test_json_says_what_was_scored_and_how(folder) -> None:
    done = treceval(["-q", "--format", "json", "-m", "map", "-m", "nDCG@2", "qrels", "run", "other"], folder=folder)
    document = json.loads(done.out)
    assert document["profile"] == "trec_eval-10"
    assert document["judgments"] == "qrels"
    assert document["measures"] == {"map": "AP(rel=1)", "nDCG@2": "nDCG@2"}
    first, second = document["runs"]
    assert (first["name"], first["file"], first["queries"]) == ("first", "run", 2)
    assert (first["missing"], first["unjudged"]) == (["3"], ["9"])
    assert first["per_query"]["1"]["map"] == 0.25
    assert first["mean"]["map"] == 0.625
    assert second["per_query"].keys() == {"1"}


def test_a_table_with_many_long_names_is_not_cut(folder) -> None:
    runs = []
    for number in range(12):
        name = f"run{number}"
        (folder / name).write_text(f"1 Q0 c 1 3.0 a-rather-long-tag-of-a-run-{number}\n")
        runs.append(name)
    lines = treceval(["-m", "map", "qrels", *runs], folder=folder).out.decode().splitlines()
    assert len(lines) == 3
    assert all(f"a-rather-long-tag-of-a-run-{number}" in lines[0] for number in range(12))
    assert lines[2].count("0.5000") == 12


def test_ids_that_are_not_utf8_stay_as_they_are_in_trec_format(folder) -> None:
    (folder / "qrels").write_bytes(b"q\xff 0 a 1\n")
    (folder / "run").write_bytes(b"q\xff Q0 a 1 1.0 t\n")
    assert treceval(["-q", "-n", "-m", "map", "qrels", "run"], folder=folder).out == (
        b"map                   \tq\xff\t1.0000\n"
    )


def test_a_file_is_written_whole_with_o(folder) -> None:
    done = treceval(["-m", "map", "-o", "scores.txt", "qrels", "run"], folder=folder)
    assert done.out == b""
    assert (folder / "scores.txt").read_bytes() == b"map                   \tall\t0.6250\n"
    refused = treceval(["-m", "map", "-o", "scores.txt", "qrels", "nothing.txt"], folder=folder)
    assert refused.status == 1
    assert (folder / "scores.txt").read_bytes() == b"map                   \tall\t0.6250\n"
    assert sorted(path.name for path in folder.iterdir()) == ["other", "qrels", "run", "scores.txt"]


def test_tables_have_the_measures_as_named_and_lines_as_trec_eval_prints_them(folder) -> None:
    named = ["-m", "recip_rank", "-m", "map", "qrels", "run"]
    lines = treceval(named, folder=folder).out.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["map", "recip_rank"]
    for form in ("csv", "tsv"):
        rows = treceval([*named, "--format", form], folder=folder).out.decode().splitlines()
        assert [re.split("[,\t]", row)[1] for row in rows[1:]] == ["recip_rank", "map"]
    # Nothing is named: all tables have the usual order, and our own notation.
    usual = treceval(["qrels", "run", "--format", "csv"], folder=folder).out.decode().splitlines()[1:]
    printed = treceval(["qrels", "run"], folder=folder).out.decode().splitlines()
    shown, lines = [row.split(",")[1] for row in usual], [line.split()[0] for line in printed]
    assert te.measuring.parse_measures(shown) == te.measuring.parse_measures(lines)
    assert (shown[5], lines[5], shown[-1], lines[-1]) == ("AP", "map", "nDCG@10", "ndcg_cut_10")


def test_long_options_can_be_shortened(folder) -> None:
    full = treceval(["-q", "-c", "-m", "map", "qrels", "run"], folder=folder)
    short = treceval(["--query", "--complete", "--meas=map", "qrels", "run"], folder=folder)
    assert short.out == full.out


def test_measures_lists_every_measure() -> None:
    listing = treceval(["measures"]).out.decode()
    assert all(f"\n{name} " in listing for name in FAMILIES)
    assert "\nofficial" in listing


def test_measures_explains_a_nickname() -> None:
    assert treceval(["measures", "prefs"]).out.startswith(b"prefs: runid, num_q, ")


def test_z_scores_use_the_norms_of_query_and_measure() -> None:
    results = te.evaluate(QRELS, RUN, ["map", "num_ret"])
    z = results.standardise({("1", "map"): (0.5, 0.25), ("2", "map"): (0.5, 0.5), ("1", "num_ret"): (3.0, 0.0)})
    assert (z["1"]["map"], z["2"]["map"]) == (-1.0, 1.0)
    assert z.mean["map"] == 0.0
    assert (z["1"]["num_ret"], z["2"]["num_ret"]) == (0.0, -1000000.0)


def test_every_format_has_as_many_digits_as_asked_and_takes_empty_selections() -> None:
    results = te.evaluate(QRELS, RUN, ["P@3"])
    for name in RESULT_FORMATS:
        text = results_text([results], name, Options(), Style(digits=2))
        assert ("0.33" in text, "0.333" in text) == (True, False), name
        assert "0.3333" not in results_text([results], name, Options(per_query=False, summary=False), Style()), name


def test_the_top_of_the_scale_that_is_taken_from_the_judgments_is_said(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 3\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 r\n")
    said = treceval(["-m", "ERR@20", "-m", "GAP", "qrels", "run"], folder=tmp_path)
    # One document that stops 7 of 8 readers, and the highest average precision there is.
    assert said.out == b"ERR@20                \tall\t0.8750\nGAP                   \tall\t1.0000\n"
    assert said.err == (
        b"note: qrels: the highest judgment, 3, is used as the top of the scale in ERR@20, GAP; set max_rel=3 to fix it.\n"
    )
    for given in (["-m", "ERR(max_rel=4)@20"], ["-m", "ERR@20", "--profile", "gdeval"]):
        done = treceval([*given, "qrels", "run"], folder=tmp_path)
        assert (done.out.split()[-1], done.err) == (b"0.4375", b"")
    # Judgments as they are: 0.05 · 3.
    done = treceval(["-m", "rbp.95", "qrels", "run"], folder=tmp_path)
    assert (done.out.split()[-1], done.err) == (b"0.1500", b"")


def test_measures_that_need_different_judgments_are_refused_together(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "qrels").write_text("1 s1 a 1\n1 s2 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 r\n")
    assert treceval(["-m", "alpha_nDCG@5", "-m", "num_q", "qrels", "run"], folder=tmp_path).status == 0
    refused = treceval(["-m", "alpha_nDCG@5", "-m", "map", "qrels", "run"], folder=tmp_path)
    assert (refused.status, refused.err.decode()) == (1, snapshot)


def test_that_no_query_counts_is_said(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 r\n")
    done = treceval(["--profile", "gdeval", "-m", "nDCG@10", "qrels", "run"], folder=tmp_path)
    assert done.out == b"nDCG@10               \tall\t0.0000\n"
    assert done.err == b"note: run: no query counts, because none has a relevant document.\n"
