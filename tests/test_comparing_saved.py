"""Files of saved results that are compared in place of runs, and which files and names are meant."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from command import treceval

import treceval_py as te
from treceval_py.comparing.saved.files import run_files
from treceval_py.comparing.saved.measures import harmonised
from treceval_py.comparing.saved.naming import unique_names
from treceval_py.comparing.saved.reading import is_saved, read_saved
from treceval_py.comparing.scores import Scored, scored_of
from treceval_py.scoring.signatures import Signature

DATA = Path(__file__).parent.parent / "data"
QRELS = str(DATA / "qrels.tsv")
RUNS = tuple(str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "jaccard", "minilm"))
SHARED = Path(__file__).parent.parent.parent / "shared" / "data"

MEASURES = ("num_rel_ret", "map", "recip_rank", "P_5", "nDCG@10")
"""In the order in which they are printed."""
TEXT_FORMATS = ("trec", "csv", "tsv")
FULL_FORMATS = ("csv", "tsv", "json")

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="needs trec_eval's recorded output in ../shared/data")


def written(folder: Path, text: str, name: str = "saved.txt") -> str:
    path = folder / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return str(path)


def scored(folder: Path, format: str, *options: str, runs: Sequence[str] = RUNS[:1], profile: str = "") -> str:
    """Score runs on the command line and return the file of what it printed."""
    path = str(folder / f"saved.{format}")
    names = [argument for name in MEASURES for argument in ("-m", name)]
    rules = ["--profile", profile] if profile else []
    done = treceval(["-q", "--format", format, "-o", path, *names, *options, *rules, QRELS, *runs])
    assert (done.status, done.out) == (0, b""), done.err
    return path


def now(run: str, *, profile: str = "trec_eval-10", complete: bool = False) -> Scored:
    return scored_of(te.evaluate(QRELS, run, MEASURES, profile=profile, complete=complete), "")


def lacking(folder: Path, *qids: str) -> str:
    """Return a run that lacks queries."""
    lines = Path(RUNS[0]).read_text().splitlines(keepends=True)
    return written(folder, "".join(line for line in lines if line.split()[0] not in qids), "lacking.txt")


def same(found: Scored, expected: Scored, *, decimals: int | None = None) -> None:
    """Assert that all queries that count have the same values, in the same order."""
    assert found.measures == expected.measures
    some = ~np.isnan(expected.values).all(axis=1)
    assert found.qids == tuple(np.array(expected.qids, dtype=object)[some])
    values = expected.values[some]
    np.testing.assert_array_equal(found.values, values if decimals is None else np.round(values, decimals))


def refusal(path: str) -> str:
    """Return what is said of a file, without its folder."""
    with pytest.raises(te.InputError) as error:
        read_saved(path)
    return str(error.value).replace(path, Path(path).name)


def said(folder: Path, text: str, name: str = "saved.txt") -> str:
    return refusal(written(folder, text, name))


# --- what was saved comes back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["trec_eval-10", "trec_eval-9", "msmarco"])
@pytest.mark.parametrize("format", FULL_FORMATS)
def test_full_precision_comes_back_exactly(tmp_path: Path, format: str, profile: str) -> None:
    (found,) = read_saved(scored(tmp_path, format, profile=profile))
    same(found, now(RUNS[0], profile=profile))
    assert (found.name, found.digits) == ("bm25", None)


@pytest.mark.parametrize("profile", ["trec_eval-10", "trec_eval-9", "msmarco"])
def test_lines_come_back_to_four_decimals(tmp_path: Path, profile: str) -> None:
    (found,) = read_saved(scored(tmp_path, "trec", profile=profile))
    same(found, now(RUNS[0], profile=profile), decimals=4)
    assert found.digits == 4


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_as_many_digits_come_back_as_were_asked_for(tmp_path: Path, format: str) -> None:
    (found,) = read_saved(scored(tmp_path, format, "--digits", "6"))
    same(found, now(RUNS[0]), decimals=6)
    assert found.digits == 6


def test_lines_with_more_than_twelve_decimals_were_not_rounded(tmp_path: Path) -> None:
    (found,) = read_saved(scored(tmp_path, "trec", "--digits", "17"))
    np.testing.assert_allclose(found.values, now(RUNS[0]).values, rtol=0, atol=1e-17)
    assert found.digits is None


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_several_runs_of_a_file_come_back(tmp_path: Path, format: str) -> None:
    found = read_saved(scored(tmp_path, format, "-m", "runid", runs=RUNS))
    assert [run.name for run in found] == ["bm25", "jaccard", "minilm"]
    for run, path in zip(found, RUNS, strict=True):
        same(run, now(path), decimals=4 if format == "trec" else None)


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_long_signatures_come_back(tmp_path: Path, format: str) -> None:
    found = read_saved(scored(tmp_path, format, "--long-signature", runs=RUNS))
    assert [run.signatures for run in found] == [now(path).signatures for path in RUNS]


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_short_signatures_come_back_but_for_the_hash_of_the_queries(tmp_path: Path, format: str) -> None:
    found = read_saved(scored(tmp_path, format, "--signature", runs=RUNS, profile="msmarco"))
    for run, path in zip(found, RUNS, strict=True):
        expected = [signature for signature in now(path, profile="msmarco").signatures if signature is not None]
        assert run.signatures == tuple(signature._replace(query_set="") for signature in expected)


def test_signatures_of_json_come_back_whether_or_not_they_were_asked_for(tmp_path: Path) -> None:
    found = read_saved(scored(tmp_path, "json", runs=RUNS))
    assert [run.signatures for run in found] == [now(path).signatures for path in RUNS]


def test_a_column_signature_of_a_single_run_is_no_run(tmp_path: Path) -> None:
    (found,) = read_saved(scored(tmp_path, "csv", "--signature"))
    assert found.name == "bm25"
    assert found.signatures[0] is not None


@pytest.mark.filterwarnings("ignore::treceval_py.MissingQueriesWarning")
@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_a_query_that_the_run_lacks_has_no_values(tmp_path: Path, format: str) -> None:
    run = lacking(tmp_path, "377", "1043")
    (found,) = read_saved(scored(tmp_path, format, runs=[run]))
    same(found, now(run), decimals=4 if format == "trec" else None)
    assert len(found.qids) == 28


def test_json_tells_which_queries_the_run_lacks(tmp_path: Path) -> None:
    (found,) = read_saved(scored(tmp_path, "json", runs=[lacking(tmp_path, "377", "1043")]))
    assert found.missing == ("1043", "377")


@pytest.mark.parametrize("profile", ["trec_eval-10", "trec_eval-9", "msmarco"])
def test_json_has_the_queries_that_count_0_unlisted(tmp_path: Path, profile: str) -> None:
    run = lacking(tmp_path, "377", "1043")
    (found,) = read_saved(scored(tmp_path, "json", "-c", runs=[run], profile=profile))
    same(found, now(run, profile=profile, complete=True))
    assert len(found.qids) == 30


@pytest.mark.parametrize("signature", ["--signature", "--long-signature"])
@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_signatures_and_the_other_runs_tell_which_queries_count_0_unlisted(
    tmp_path: Path, format: str, signature: str
) -> None:
    runs = [lacking(tmp_path, "377", "1043"), RUNS[1]]
    found = read_saved(scored(tmp_path, format, "-c", signature, runs=runs, profile="trec_eval-9"))
    same(found[0], now(runs[0], profile="trec_eval-9", complete=True), decimals=4 if format == "trec" else None)
    assert [run.missing for run in found] == [("1043", "377"), ()]


@pytest.mark.parametrize(
    ("option", "part", "other"), [("--long-signature", "set:", "set:0000"), ("--signature", "#:30|", "#:31|")]
)
def test_nothing_is_put_in_where_signatures_are_of_other_queries(
    tmp_path: Path, option: str, part: str, other: str
) -> None:
    runs = [lacking(tmp_path, "377", "1043"), RUNS[1]]
    path = Path(scored(tmp_path, "tsv", "-c", option, runs=runs, profile="trec_eval-9"))
    path.write_text(path.read_text().replace(part, other))
    assert [len(run.qids) for run in read_saved(path)] == [28, 30]


def test_how_many_relevant_documents_a_missing_query_has_is_not_known(tmp_path: Path) -> None:
    run = lacking(tmp_path, "377")
    (found,) = read_saved(scored(tmp_path, "json", "-c", "-m", "num_rel", runs=[run], profile="trec_eval-9"))
    row = found.values[found.qids.index("377")]
    assert [name for name, value in zip(found.measures, row, strict=True) if np.isnan(value)] == ["num_rel"]


def test_signatures_end_a_run_where_there_are_no_averages(tmp_path: Path) -> None:
    found = read_saved(scored(tmp_path, "trec", "-n", "--long-signature", runs=RUNS))
    assert [run.name for run in found] == ["saved (1)", "saved (2)", "saved (3)"]
    assert [run.signatures for run in found] == [now(path).signatures for path in RUNS]


def test_without_signatures_a_query_that_is_not_listed_is_not_there(tmp_path: Path) -> None:
    run = lacking(tmp_path, "377", "1043")
    (found,) = read_saved(scored(tmp_path, "trec", "-c", runs=[run], profile="trec_eval-9"))
    assert len(found.qids) == 28


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_averages_may_be_left_out(tmp_path: Path, format: str) -> None:
    (found,) = read_saved(scored(tmp_path, format, "-n"))
    same(found, now(RUNS[0]), decimals=4 if format == "trec" else None)


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_what_has_no_number_for_each_query_is_left_out(tmp_path: Path, format: str) -> None:
    others = ("num_q", "gm_map", "runid", "relstring")
    (found,) = read_saved(scored(tmp_path, format, *(word for name in others for word in ("-m", name))))
    assert found.measures == MEASURES


@pytest.mark.parametrize(
    "text",
    [
        "P_5\t1\t0.2\nmap\t2\t0.5\nP_5\t2\t0.4\nmap\tall\t0.5\nP_5\tall\t0.3\n",
        "query,measure,a\n1,map,\n1,P_5,0.2\n2,map,0.5\n2,P_5,0.4\nall,map,0.5\nall,P_5,0.3\n",
        '{"treceval_py": "0", "measures": {"map": "AP", "P_5": "P@5"}, "runs": [{"per_query": {"1": {"P_5": 0.2}, "2": {"map": 0.5, "P_5": 0.4}}}]}',
    ],
)
def test_measures_keep_their_order_where_the_first_query_lacks_one(tmp_path: Path, text: str) -> None:
    (found,) = read_saved(written(tmp_path, text))
    assert found.measures == ("map", "P_5")
    assert str(found.values.tolist()) == "[[nan, 0.2], [0.5, 0.4]]"


# --- trec_eval's lines -------------------------------------------------------------------------------------------


def test_a_line_is_a_measure_a_query_and_a_value(tmp_path: Path) -> None:
    text = "map                   \t301\t0.2500\nP_5                   \t301\t0.4000\nmap\t9\t0.5\nP_5 9 0.2\n"
    (found,) = read_saved(written(tmp_path, text))
    assert (found.measures, found.qids) == (("map", "P_5"), ("301", "9"))
    assert found.values.tolist() == [[0.25, 0.4], [0.5, 0.2]]


def test_queries_are_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "map\té\t1.0000\nmap\tz\t0.5000\nmap\t9\t0.2500\nmap\t10\t0.0000\n"))
    assert found.qids == ("10", "9", "z", "é")


def test_a_query_may_have_some_measures_only(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "map\t1\t0.2500\nP_5\t1\t0.4000\nmap\t2\t0.5000\n"))
    assert str(found.values.tolist()) == "[[0.25, 0.4], [0.5, nan]]"


def test_ids_may_have_spaces_between_tabs(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "map\twhat is it\t0.2500\n"))
    assert found.qids == ("what is it",)


def test_ids_may_have_white_space_that_is_not_ascii(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "map\t\u3000a\xa0\t0.2500\nmap b\u3000c 0.5\n"))
    assert found.qids == ("b\u3000c", "\u3000a\xa0")


def test_ids_may_be_no_utf8(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "map\t\udcff\t0.2500\n"))
    assert found.qids == ("\udcff",)


def test_windows_line_ends_and_a_byte_order_mark_are_taken(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeffmap\t1\t0.2500\r\n\r\nmap\tall\t0.2500\r\n")
    assert is_saved(path)
    assert read_saved(path)[0].values.tolist() == [[0.25]]


def test_names_of_other_programs_are_kept(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "map\t1\t0.2500\nmy_measure\t1\t0.4000\nmy_measure\tall\tgood\n"))
    assert set(found.measures) == {"map", "my_measure"}


def test_a_run_is_called_by_its_tag(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "map\t1\t0.2500\nrunid\tall\tstandard\n"))
    assert (found.name, found.tag) == ("standard", "standard")


def test_a_run_without_a_tag_is_called_by_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, "map\t1\t0.2500\n", "input.mine.eval")
    (found,) = read_saved(path)
    assert (found.name, found.tag, found.file) == ("mine", "", path)


def test_a_query_after_averages_begins_another_run(tmp_path: Path) -> None:
    text = "map\t1\t0.2500\nrunid\tall\tone\nmap\tall\t0.2500\nmap\t1\t0.5000\nrunid\tall\ttwo\nmap\tall\t0.5000\n"
    found = read_saved(written(tmp_path, text))
    assert [(run.name, run.values.tolist()) for run in found] == [("one", [[0.25]]), ("two", [[0.5]])]


def test_runs_of_one_name_are_numbered(tmp_path: Path) -> None:
    text = "map\t1\t0.2500\nmap\tall\t0.2500\nmap\t1\t0.5000\nmap\tall\t0.5000\n"
    assert [run.name for run in read_saved(written(tmp_path, text))] == ["saved (1)", "saved (2)"]


def test_comments_that_are_no_signatures_are_passed_over(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "# made: by hand | yesterday\n#\nmap\t1\t0.2500\n# map: good\n"))
    assert found.signatures == (None,)


def test_a_signature_may_stand_before_the_values(tmp_path: Path) -> None:
    text = "# map: AP(rel=1)|p:trec_eval-10|#:1|q:0123abcd|v:0.1.0\nmap\t1\t0.2500\nmap\t2\t0.2500\n"
    (found,) = read_saved(written(tmp_path, text))
    assert found.signatures == (Signature.parse("AP(rel=1)|p:trec_eval-10|#:1|q:0123abcd|v:0.1.0"),)


@pytest.mark.parametrize(
    "text",
    [
        "map\t1\t0.5\nWorstRank\t1\t7\n# map: {map}\n# WorstRank: {other}\n",
        "query,measure,a,signature\n1,map,0.5,{map}\n1,WorstRank,7,{other}\n",
        """{{"treceval_py": "0", "runs": [{{"per_query": {{"1": {{"map": 0.5, "WorstRank": 7}}}},
        "signatures": {{"map": {{"short": "{map}"}}, "WorstRank": {{"short": "{other}"}}}}}}]}}""",
    ],
)
def test_how_an_unknown_measure_was_made_is_not_known(tmp_path: Path, text: str) -> None:
    rest = "p:trec_eval-10|#:1|q:0123abcd|v:0.1.0"
    saved = text.format(map=f"AP(rel=1)|{rest}", other=f"WorstRank(rel=1)|{rest}")
    (found,) = read_saved(written(tmp_path, saved))
    signatures = dict(zip(found.measures, found.signatures, strict=True))
    assert signatures == {"map": Signature.parse(f"AP(rel=1)|{rest}"), "WorstRank": None}


def test_ir_measures_has_the_query_first(tmp_path: Path) -> None:
    path = written(tmp_path, "q1\tAP\t0.2500\nq1\tnDCG@10\t0.5000\nq1\tmine\t1.0000\nall\tAP\t0.2500\n")
    assert is_saved(path)
    (found,) = read_saved(path)
    assert (set(found.measures), found.qids) == ({"AP", "nDCG@10", "mine"}, ("q1",))


@pytest.mark.slow
def test_ir_measures_own_output_is_read(tmp_path: Path) -> None:
    pytest.importorskip("ir_measures")
    qrels = written(tmp_path, Path(QRELS).read_text().replace("\t", " "), "qrels.txt")
    command = [sys.executable, "-m", "ir_measures", "-q", qrels, RUNS[0], "AP(rel=2)", "nDCG@10", "P@5"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (found,) = read_saved(written(tmp_path, done.stdout))
    expected = scored_of(te.evaluate(QRELS, RUNS[0], ["AP(rel=2)", "nDCG@10", "P@5"]), "")
    assert (found.measures, found.qids, found.digits) == (expected.measures, expected.qids, 4)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=5.1e-5)


def test_counts_say_nothing_about_decimals(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "num_ret\t1\t500\nmap\t1\t0.250\n"))
    assert found.digits == 3


def test_numbers_of_different_lengths_were_not_rounded(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "query,measure,a\n1,map,0.25\n2,map,0.125\n"))
    assert found.digits is None


@pytest.mark.parametrize(
    "text",
    ["query,measure,a\n1,map,0.5\n2,map,1.0\n", '{"treceval_py": "0", "runs": [{"per_query": {"1": {"map": 0.5}}}]}'],
)
def test_numbers_that_are_short_in_full_were_not_rounded(tmp_path: Path, text: str) -> None:
    (found,) = read_saved(written(tmp_path, text))
    assert found.digits is None


def test_a_query_may_be_called_as_a_measure_is(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, "map\tG\t0.5000\n"))
    assert (found.measures, found.qids) == (("map",), ("G",))


def test_a_row_may_have_no_signature(tmp_path: Path) -> None:
    signature = "AP(rel=1)|p:trec_eval-10|#:1|q:0123abcd|v:0.1.0"
    (found,) = read_saved(written(tmp_path, f"query,measure,a,signature\n1,map,0.5,\n2,map,0.5,{signature}\n"))
    assert found.signatures == (Signature.parse(signature),)


# --- trec_eval's recorded output ---------------------------------------------------------------------------------


@needs_shared
def test_the_regression_output_of_trec_eval_is_read() -> None:
    path = str(SHARED / "trec_eval-test" / "out.test.aq")
    assert is_saved(path)
    (found,) = read_saved(path)
    assert (found.name, found.qids, found.digits) == ("STANDARD", ("301", "302", "303"), 4)
    # grep -P '^(map|P_10|num_rel) ' out.test.aq
    row = dict(zip(found.measures, found.values[0].tolist(), strict=True))
    assert (row["num_ret"], row["map"], row["P_10"]) == (500.0, 0.0324, 0.2)
    assert {"num_q", "gm_map", "runid", "relstring"}.isdisjoint(found.measures)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("version", ["9", "10"])
def test_the_means_of_what_trec_eval_printed_are_the_averages_that_it_printed(version: str) -> None:
    for path in sorted((SHARED / "robust03" / "expected").glob(f"*.trec_eval-{version}.txt.gz")):
        (found,) = read_saved(str(path))
        assert found.name == path.name.split(".")[0]
        lines = [line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
        averages = {measure: value for measure, qid, value in lines if qid == "all"}
        for measure in ("map", "P_10", "ndcg_cut_10", "recip_rank"):
            mean = found.values[:, found.measures.index(measure)].mean()
            assert mean == pytest.approx(float(averages[measure]), abs=1.01e-4)


@needs_shared
@pytest.mark.parametrize("name", ["out.test", "out.test.a"])
def test_output_of_trec_eval_without_queries_is_refused(name: str) -> None:
    path = str(SHARED / "trec_eval-test" / name)
    assert is_saved(path)
    assert refusal(path) == f"{name}: it has only averages, but comparing needs values per query. Save it with -q."


@needs_shared
def test_z_scores_of_trec_eval_are_refused() -> None:
    path = str(SHARED / "trec_eval-test" / "out.test.aqZ")
    assert is_saved(path)
    assert refusal(path) == (
        "out.test.aqZ:1: these are z-scores ('Znum_ret'), which cannot be compared. Save the original values, "
        "without -Z."
    )


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "json"])
def test_averages_alone_are_refused(tmp_path: Path, format: str) -> None:
    path = str(tmp_path / "saved")
    assert treceval(["--format", format, "-o", path, QRELS, RUNS[0]]).status == 0
    assert is_saved(path)
    assert refusal(path) == "saved: it has only averages, but comparing needs values per query. Save it with -q."


@pytest.mark.parametrize("format", ["csv", "json"])
def test_z_scores_are_refused(tmp_path: Path, format: str) -> None:
    norms = written(tmp_path, "377 map 0.5 0.1\n", "norms")
    message = refusal(scored(tmp_path, format, "-Z", norms))
    place = "saved.csv:2" if format == "csv" else "saved.json"
    assert message == (
        f"{place}: these are z-scores ('Znum_rel_ret'), which cannot be compared. Save the original values, without -Z."
    )


def test_ranges_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "saved.csv")
    assert treceval(["-q", "--ties", "-m", "map", "--format", "csv", "-o", path, QRELS, RUNS[0]]).status == 0
    assert refusal(path) == (
        "saved.csv:1: these are ranges over ties or unjudged documents, which cannot be compared. Save the original "
        "values, without --ties and --unjudged."
    )


@pytest.mark.parametrize("option", ["--ties", "--unjudged"])
def test_ranges_in_json_are_refused(tmp_path: Path, option: str) -> None:
    path = str(tmp_path / "saved.json")
    assert treceval(["-q", option, "-m", "map", "--format", "json", "-o", path, QRELS, RUNS[0]]).status == 0
    assert is_saved(path)
    assert refusal(path) == (
        "saved.json: these are ranges over ties or unjudged documents, which cannot be compared. Save the original "
        "values, without --ties and --unjudged."
    )


@pytest.mark.parametrize("command", ["compare", "board"])
def test_comparisons_and_boards_are_refused(tmp_path: Path, command: str) -> None:
    path = str(tmp_path / "saved.json")
    options = ["--no-cache"] if command == "board" else []
    done = treceval([command, *options, "-m", "map", "--format", "json", "-o", path, QRELS, *RUNS[:2]])
    assert done.status == 0, done.err
    assert is_saved(path)
    what = "comparison" if command == "compare" else "board"
    assert refusal(path) == (
        f"saved.json: this is a {what}, not results of runs. Save results with treceval -q --format json."
    )


@pytest.mark.parametrize("format", ["table", "markdown", "latex"])
@pytest.mark.parametrize(
    "options", [["-q"], [], ["compare"], ["board", "--no-cache"]], ids=["queries", "averages", "compare", "board"]
)
def test_tables_for_people_are_refused(tmp_path: Path, format: str, options: list[str]) -> None:
    path = str(tmp_path / "saved")
    done = treceval([*options, "-m", "map", "--format", format, "-o", path, QRELS, *RUNS[:2]])
    assert done.status == 0, done.err
    assert is_saved(path)
    assert refusal(path) == "saved: this is a table for people. Save results with --format json, csv or trec."


def test_a_table_with_a_long_header_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"query   measure   {'run   ' * 9999}\n{'─' * 9999}\n")
    assert is_saved(path)
    assert refusal(path) == "saved.txt: this is a table for people. Save results with --format json, csv or trec."


def test_results_that_are_nested_too_deeply_are_to_be_saved_again(tmp_path: Path) -> None:
    text = '{"treceval_py": "0.1.0", "runs": ' + "[" * 200_000
    message = "saved.txt: the JSON is nested too deeply. Save it again with treceval -q --format json."
    assert said(tmp_path, text) == message


LINES = {
    "map\t1\t0.25\nmap\t1\t0.5\n": "saved.txt:2: measure 'map' occurs twice for query '1'. Keep one of the two, or save "
    "each run in its own file.",
    "map\t1\t0.25\nmap\tall\t0.5\nmap\tall\t0.5\n": "saved.txt:3: measure 'map' occurs twice for query 'all'. Keep one "
    "of the two.",
    "map\t1\tgood\n": "saved.txt:1: the value of measure 'map' for query '1' is 'good', which is not a number. Write it "
    "as 0.25 or 2.5e-1.",
    "map\t1\t1_0\n": "saved.txt:1: the value of measure 'map' for query '1' is '1_0', which is not a number. Write it as "
    "0.25 or 2.5e-1.",
    "map\t1\tNaN\n": "saved.txt:1: the value of measure 'map' for query '1' is 'NaN', which is not finite. Leave out queries without a value.",
    "map\t1\t0.5\nmap\tall\t-inf\n": "saved.txt:2: the value of measure 'map' for query 'all' is '-inf', which is not "
    "finite. Leave out queries without a value.",
    "map\t1\t1e999\n": "saved.txt:1: the value of measure 'map' for query '1' is '1e999', which is too large for a "
    "64-bit float. Is it the right number?",
    "map\t1\t0.5\nmap\t2\n": "saved.txt:2: 2 fields, but a line of saved results has 3 (measure qid value). Save it "
    "with -q, which prints values per query.",
    "map\t1\t0.5\nm\n": "saved.txt:2: 1 field, but a line of saved results has 3 (measure qid value). Is the line cut "
    "off, or from another file?",
    "1 Q0 a 1 0.5 t\n": "saved.txt:1: 6 fields, but a line of saved results has 3 (measure qid value). This looks like "
    "a run; score it.",
    "1 0 a 1\n": "saved.txt:1: 4 fields, but a line of saved results has 3 (measure qid value). This looks like "
    "judgments.",
    "1\ta\t1\n": "saved.txt: neither '1' nor any other name in it is a known measure. Is it the right file?",
    "relstring\t1\t'01'\nrunid\tall\tmine\n": "saved.txt: no measure of 'mine' has a value per query. Save measures that have one, such as map, with -q.",
    "map\t1\t0.5\0\n": "saved.txt:1: a NUL byte, so this is a binary file, not text. Give a text file of saved "
    "results.",
    "# nothing\n": "saved.txt: no data lines, only comments or blank lines. Is it the right file?",
    "": "saved.txt: the file is empty. Is it the right file?",
    "map\t1\t0.5\n# map: WorstRank|p:trec_eval-10|#:1|q:0123abcd|v:0.1.0\n": "saved.txt:2: the signature of 'map' "
    "cannot be read: unknown measure 'WorstRank'. 'treceval measures' lists them all.",
    "map\t1\t0.5\n# map: AP|x\n": "saved.txt:2: the signature of 'map' cannot be read: 'AP|x' is not a signature: 'x' is "
    "not of the form key:value, or occurs twice.",
}


@pytest.mark.parametrize("text", LINES)
def test_a_malformed_line_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    assert said(tmp_path, text) == LINES[text]


ROWS = {
    "1,map\n": "saved.csv:2: 2 cells, but the header has 3. Is the line cut off?",
    "1,map,0.5\n\n1,map,0.5\n": "saved.csv:4: measure 'map' occurs twice for query '1'. Keep one of the two, or save "
    "each run in its own file.",
    ",map,0.5\n": "saved.csv:2: a query id is empty. Give every query an id.",
    "1,,0.5\n": "saved.csv:2: the name of a measure is empty. Give every measure a name.",
    '1,map,"0.5\n': "saved.csv:2: the row cannot be read: unexpected end of data. Fix the syntax.",
    "1,map,\n": "saved.csv: no measure of 'a' has a value per query. Save measures that have one, such as map, with -q.",
}


@pytest.mark.parametrize("rows", ROWS)
def test_a_malformed_row_is_refused_with_its_place(tmp_path: Path, rows: str) -> None:
    assert said(tmp_path, "query,measure,a\n" + rows, "saved.csv") == ROWS[rows]


HEADERS = {
    "query,measure,a,\n": "saved.csv:1: column 4 has no name. Give every run a name.",
    "query,measure,a,a\n": "saved.csv:1: two columns are named 'a'. Rename one.",
}


@pytest.mark.parametrize("header", HEADERS)
def test_a_malformed_header_is_refused(tmp_path: Path, header: str) -> None:
    assert said(tmp_path, header + "1,map,0.5,0.5\n", "saved.csv") == HEADERS[header]


def test_two_signatures_of_a_measure_are_refused(tmp_path: Path) -> None:
    text = "query,measure,a,signature\n1,map,0.5,one\n2,map,0.5,two\n"
    message = "saved.csv:3: measure 'map' of 'a' has two signatures. Keep the right one."
    assert said(tmp_path, text, "saved.csv") == message


def test_a_quoted_cell_may_have_commas_and_line_ends(tmp_path: Path) -> None:
    (found,) = read_saved(written(tmp_path, 'query,measure,"a, b"\n"1\n2",map,0.5\n', "saved.csv"))
    assert (found.name, found.qids) == ("a, b", ("1\n2",))


def document(per_query: object, **more: object) -> str:
    """Return JSON of one run, ``a``."""
    return json.dumps({"treceval_py": "0.1.0", "runs": [{"name": "a", "per_query": per_query, **more}]})


def test_the_least_json_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, document({"1": {"map": 0.5}, "all": {"map": 1}}))
    assert is_saved(path)
    (found,) = read_saved(path)
    assert (found.name, found.qids, found.values.tolist()) == ("a", ("1", "all"), [[0.5], [1.0]])


DOCUMENTS = {
    document(
        {"1": {"map": "good"}}
    ): "the value of measure 'map' for query '1' is 'good', which is not a number. Write it as 0.25 or 2.5e-1.",
    document({"1": {"map": float("nan")}}): "the value of measure 'map' for query '1' is 'nan', which is not finite. "
    "Leave out queries without a value.",
    document({"1": {"map": None}}): "query '1' of run 'a' has a value that is not a number. Save it again with "
    "treceval -q --format json.",
    document({"1": {"map": True}}): "query '1' of run 'a' has a value that is not a number. Save it again with "
    "treceval -q --format json.",
    document({"1": [0.5]}): "query '1' of run 'a' is not an object. Save it again with treceval -q --format json.",
    document({"1": {"map": 0.5}}, tag=7): "run 1 has 'tag' that is not text. Save it again with treceval "
    "-q --format json.",
    document({"1": {"map": 0.5}}, missing=[1]): "run 'a' has 'missing' that is not a list of query ids. Save it "
    "again with treceval -q --format json.",
    document({"": {"map": 0.5}}): "a query id is empty. Give every query an id.",
    document({"1": {"map": 0.5}}).replace('"map": 0.5', '"map": 0.5, "map": 0.5'): "query '1' of run 'a' has 'map' "
    "twice. Keep one of the two.",
    '{"treceval_py": "0.1.0", "runs": []}': "this JSON does not hold results of treceval_py. Save them with treceval -q "
    "--format json.",
    '{"1": {"a": 0.5}}': "this JSON does not hold results of treceval_py. Save them with treceval -q --format json.",
    document({"1": {"map": 0.5}}) + "\n}": "text follows the end of the JSON object. Remove it.",
}


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_malformed_document_is_refused(tmp_path: Path, text: str) -> None:
    message = said(tmp_path, text)
    assert message.removeprefix("saved.txt: ").removeprefix("saved.txt:2: ") == DOCUMENTS[text]


def test_an_id_that_is_no_unicode_text_is_refused(tmp_path: Path) -> None:
    message = said(tmp_path, document({"\ud800": {"map": 0.5}}))
    assert message == r"saved.txt: identifier '\ud800' cannot be written as UTF-8. Use valid Unicode text."


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trec", "csv", "tsv", "json"])
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path, name: str) -> None:
    path = scored(tmp_path, name, "--long-signature", runs=[lacking(tmp_path, "377"), RUNS[1]])
    valid = Path(path).read_bytes()
    if name == "json":
        valid = json.dumps(json.loads(valid)).encode()
    draw = random.Random(f"{name} 1")
    target = tmp_path / "damaged"
    for _ in range(300):
        damaged = bytearray(valid)
        for _ in range(draw.randint(1, 4)):
            at, piece = draw.randrange(len(damaged) + 1), draw.randrange(len(damaged))
            cut = damaged[piece : piece + draw.choice([0, 1, 2, 30])]
            new = draw.choice(
                [b"", b"\n", b"\t", b",", b'"', b"{", b"}", b"\0", b"\xff", b"all", b"nan", b"9" * 99, cut]
            )
            damaged[at : at + draw.choice([0, 1, 2, 5, 200])] = new
        target.write_bytes(damaged[: draw.choice([len(damaged), len(damaged), draw.randrange(1, len(damaged))])])
        is_saved(target)
        message = ""
        try:
            assert all(run.values.shape == (len(run.qids), len(run.measures)) for run in read_saved(target))
        except te.TrecevalError as error:
            message = str(error)
        assert message.isprintable()
        assert not message or message.startswith(f"{target}:")


# --- which files have saved results ------------------------------------------------------------------------------

NOT_SAVED = {
    "a run": "1 Q0 a 1 0.5 t\n",
    "judgments": "1 0 a 1\n",
    "a run of MS MARCO": "1048585\t7187158\t1\n1048585\t7187157\t2\n",
    "a run of MS MARCO whose query is called as a measure is": "map\tD12\t1\nmap\tD13\t2\n",
    "a run of MS MARCO whose document is called as a measure is": "q1\tmap\t1\n",
    "a run of MS MARCO whose document is called as a count is": "q1\tnum_ret\t1\n",
    "judgments of BEIR": "query-id\tcorpus-id\tscore\n1\ta\t1\n",
    "a run in JSON": '{"1": {"a": 0.5}}',
    "a run in JSON of a query that is called as ranges are": '{"ties": {"a": 0.5}}',
    "a run in JSON Lines": '{"qid": "1", "docid": "a", "score": 0.5}\n{"qid": "1", "docid": "b", "score": 0.5}\n',
    "nothing": "",
    "comments": "# map: AP\n",
    "other CSV": "query,docid,score\n1,a,0.5\n",
}


@pytest.mark.parametrize("what", NOT_SAVED)
def test_other_files_are_no_saved_results(tmp_path: Path, what: str) -> None:
    assert not is_saved(written(tmp_path, NOT_SAVED[what]))


SAVED = {
    "lines": "map\t1\t0.5000\n",
    "counts": "num_rel_ret\t1\t5\n",
    "lines after comments": "# made by hand\n\nmap 1 0.5\n",
    "lines after many comments": "# made by hand\n" * 400 + "map 1 0.5\n",
    "lines after another program's": "mine\t1\t0.1\nmap\t1\t0.5000\n",
    "averages": "runid\tall\tmine\n",
    "z-scores": "Zmap\t1\t-0.5\n",
    "lines of ir_measures": "q1\tAP\t0.2500\n",
    "CSV": "query,measure,a\n",
    "TSV": "query\tmeasure\ta\n",
    "CSV with quotes": '"query","measure","a"\n',
    "JSON": '{"treceval_py": "0.1.0", "profile": "trec_eval-10"',
    "JSON with sorted keys": '{"complete": false, "judgments": "qrels.txt"',
}


@pytest.mark.parametrize("what", SAVED)
def test_saved_results_are_known_by_their_beginning(tmp_path: Path, what: str) -> None:
    assert is_saved(written(tmp_path, SAVED[what]))


def test_compressed_results_are_recognised_and_read(tmp_path: Path) -> None:
    path = tmp_path / "saved.eval.gz"
    path.write_bytes(gzip.compress(b"map\t1\t0.5000\n"))
    assert is_saved(path)
    (found,) = read_saved(path)
    assert (found.name, found.values.tolist()) == ("saved", [[0.5]])


def test_standard_input_folders_and_files_that_are_not_there_are_no_saved_results(tmp_path: Path) -> None:
    assert not any(map(is_saved, ["-", "", str(tmp_path), str(tmp_path / "none")]))


def test_a_pipe_is_no_saved_result_and_is_left_untouched() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"map\t1\t0.5000\n")
    os.close(writing)
    try:
        assert not is_saved(f"/dev/fd/{reading}")
        assert os.read(reading, 99) == b"map\t1\t0.5000\n"
    finally:
        os.close(reading)


# --- one spelling ------------------------------------------------------------------------------------------------


def named(*measures: str) -> Scored:
    values = np.zeros((1, len(measures)))
    return Scored("a", "a.txt", "a", measures, ("1",), values, (None,) * len(measures))


def test_equal_measures_take_the_first_spelling() -> None:
    found = harmonised([named("nDCG@10", "mine"), named("P@5", "ndcg_cut_10"), named("P_5", "ndcg_cut.10", "mine")])
    assert [run.measures for run in found] == [("nDCG@10", "mine"), ("P@5", "nDCG@10"), ("P@5", "nDCG@10", "mine")]


def test_measures_with_other_parameters_keep_their_names() -> None:
    assert harmonised([named("map"), named("AP(rel=2)")])[1].measures == ("AP(rel=2)",)


def test_two_equal_measures_of_a_run_keep_two_names() -> None:
    found = harmonised([named("map"), named("AP", "map"), named("AP", "MAP")])
    assert [run.measures for run in found] == [("map",), ("AP", "map"), ("map", "MAP")]


# --- which files are meant ---------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder ``runs`` with three runs, and what is none."""
    names = ("b.txt", "B.txt", "a.txt.gz", "a.txt.gz.json", "c.json", ".cache", "README", "readme.txt", "notes.md")
    (tmp_path / "runs" / "older").mkdir(parents=True)
    for name in names:
        (tmp_path / "runs" / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_stands_for_the_runs_in_it(runs: Path) -> None:
    assert run_files(["runs/"]) == ["runs/B.txt", "runs/a.txt.gz", "runs/b.txt", "runs/c.json"]


def test_a_pattern_stands_for_the_files_that_match(runs: Path) -> None:
    assert run_files(["runs/?.txt", "runs/[c]*"]) == ["runs/B.txt", "runs/b.txt", "runs/c.json"]


def test_a_file_with_the_name_of_a_pattern_is_meant_itself(runs: Path) -> None:
    (runs / "a*.txt").touch()
    (runs / "ab.txt").touch()
    assert run_files(["a*.txt"]) == ["a*.txt"]


def test_files_are_in_the_order_of_the_bytes_of_their_names(tmp_path: Path) -> None:
    # f0 9d 90 80 comes before ff, of which Python makes U+DCFF, which comes before U+1D400.
    for name in ("\udcff", "\U0001d400"):
        (tmp_path / name).touch()
    expected = [str(tmp_path / "\U0001d400"), str(tmp_path / "\udcff")]
    assert run_files([str(tmp_path)]) == expected
    assert run_files([str(tmp_path / "?")]) == expected


@pytest.mark.parametrize("given", ["runs", "runs/*.txt"])
def test_a_link_to_a_file_beside_it_is_that_file(runs: Path, given: str) -> None:
    (runs / "runs" / "a-latest.txt").symlink_to("b.txt")
    found = run_files([given])
    assert "runs/b.txt" in found
    assert "runs/a-latest.txt" not in found


def test_of_two_links_to_a_file_elsewhere_the_first_is_meant(runs: Path) -> None:
    (runs / "best.txt").touch()
    for name in ("y", "x"):
        (runs / "runs" / "older" / name).symlink_to(runs / "best.txt")
    assert run_files(["runs/older"]) == ["runs/older/x"]


@pytest.mark.parametrize("given", ["runs", "runs/*"])
def test_a_folder_or_pattern_may_be_without_some_of_its_files(runs: Path, given: str) -> None:
    found = run_files([given], without=["runs/../runs/b.txt", str(runs / "runs" / "c.json"), "none"])
    assert not {"runs/b.txt", "runs/c.json"} & set(found)
    assert {"runs/B.txt", "runs/a.txt.gz"} <= set(found)


def test_a_file_that_is_named_is_meant_whatever_is_left_out(runs: Path) -> None:
    assert run_files(["runs/b.txt"], without=["runs/b.txt"]) == ["runs/b.txt"]


def test_a_folder_without_other_files_is_refused(runs: Path) -> None:
    (runs / "runs" / "older" / "one").touch()
    with pytest.raises(te.InputError) as error:
        run_files(["runs/older"], without=["runs/older/one"])
    assert str(error.value) == "runs/older: it has no files."


def test_a_file_and_a_link_to_it_that_are_both_named_are_refused(runs: Path) -> None:
    (runs / "latest.txt").symlink_to("runs/b.txt")
    with pytest.raises(te.InputError) as error:
        run_files(["runs/b.txt", "latest.txt"])
    assert str(error.value) == "latest.txt: it is the same file as runs/b.txt. Remove one."


def test_other_paths_stay_in_their_order(runs: Path) -> None:
    assert run_files(["none.txt", "-", "runs/b.txt"]) == ["none.txt", "-", "runs/b.txt"]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["runs/older"], "runs/older: it has no files."),
        (["runs/*.run"], "runs/*.run: no file matches."),
        (["runs/old*"], "runs/old*: no file matches."),
        (["runs/b.txt", "runs"], "runs/b.txt: it is given twice. Remove one."),
        (["runs/b.txt", "./runs/older/../b.txt"], "./runs/older/../b.txt: it is given twice. Remove one."),
        (["-", "-"], "-: it is given twice. Remove one."),
    ],
)
def test_what_stands_for_no_file_or_comes_twice_is_refused(runs: Path, paths: list[str], message: str) -> None:
    with pytest.raises(te.InputError) as error:
        run_files(paths)
    assert str(error.value) == message


# --- what runs are called ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tags", "files", "names"),
    [
        (["one", "two"], ["a.txt", "b.txt"], ("one", "two")),
        (["one", "one"], ["x/input.a.gz", "y/b.run.bz2"], ("a", "b")),
        (["", "two"], ["a.trec", "b.json"], ("a", "b")),
        (["run", "two"], ["x/a.tsv", "x/b.txt"], ("a", "two")),
        (["run", "a"], ["x/a.tsv", "x/b.txt"], ("a", "b")),
        (["run", "two"], ["<run>", "b.txt"], ("run", "two")),
        (["one", "one"], ["x/a.txt", "y/a.txt"], ("a (1)", "a (2)")),
        (["one", "two", "one"], ["a.csv", "a.csv", "b.csv"], ("a (one)", "a (two)", "b (one)")),
        (["one", "two", "one"], ["x/a", "x/a", "y/a"], ("a (1)", "a (2)", "a (3)")),
        (["one", "one"], ["a.csv", "a.csv"], ("a (1)", "a (2)")),
    ],
)
def test_runs_are_called_by_the_first_names_that_tell_them_apart(
    tags: list[str], files: list[str], names: tuple[str, ...]
) -> None:
    assert unique_names(tags, files) == names


def test_files_of_one_name_are_told_apart_by_their_hashes() -> None:
    digests = ["0123456789abcdef", "fedcba9876543210"]
    assert unique_names(["one", "one"], ["x/a.txt", "y/a.txt"], None, digests) == ("a (01234567)", "a (fedcba98)")
    assert unique_names(["one", "one"], ["x/a.txt", "y/a.txt"], None, digests[:1] * 2) == ("a (1)", "a (2)")
    assert unique_names(["one", "one"], ["x/a.txt", "<stdin>"], None, ["01234567", ""]) == ("a", "<stdin>")


def test_an_ending_that_is_all_of_a_name_stays() -> None:
    assert unique_names(["", "", ""], ["x/.txt", "x/input.", "x/.gz"]) == (".txt", "input.", ".gz")


def test_runs_are_called_as_asked() -> None:
    assert unique_names(["one", "two"], ["a.txt", "b.txt"], "file") == ("a", "b")
    assert unique_names(["one", "two"], ["a.txt", "a.txt"], "tag") == ("one", "two")


@pytest.mark.parametrize(
    ("tags", "files", "by", "message"),
    [
        (
            ["x", "x"],
            ["a.txt", "b.txt"],
            "tag",
            "runs a.txt and b.txt are both named 'x'. Name them by files, or rename one.",
        ),
        (
            ["x", "y"],
            ["x/a.txt", "y/a.txt"],
            "file",
            "runs x/a.txt and y/a.txt are both named 'a'. Name them by tags, or rename one.",
        ),
        (["x", "x"], ["a", "a"], "tag", "two runs of a are both named 'x'. Name them by files, or rename one."),
        (["x", ""], ["a", "b"], "tag", "run b has no tag. Name runs by files."),
        (["x", "y"], ["a", "b"], "name", "runs cannot be named by 'name'. Choose 'tag' or 'file'."),
    ],
)
def test_names_that_do_not_tell_runs_apart_are_refused(
    tags: list[str], files: list[str], by: str, message: str
) -> None:
    with pytest.raises(te.EvaluationError) as error:
        unique_names(tags, files, by)
    assert str(error.value) == message
