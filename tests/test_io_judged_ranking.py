"""Judged rankings: one file that is ranking and judgments at once."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from command import table, treceval
from syrupy.assertion import SnapshotAssertion

import treceval_py as te

# The worked example of the coursework scorer. Grades in rank order 2 0 1 0 3, 0 1 0 0 and 1 1.
# AP (1 + 2/3 + 3/5)/3 = 0.755556, 1/2, 1. RR 1, 1/2, 1. DCG of the first query 2 + 0 + 1/log2(3) + 0 + 3/log2(5) =
# 3.922959 over 3 + 2 + 1/log2(3) = 5.630930: 0.696681; of the others 1, as rank 2 is not discounted.
EXAMPLE = (
    "1 Q0 e 2\n1 Q0 d 0\n1 Q0 c 1\n1 Q0 b 0\n1 Q0 a 3\n2 Q0 a 0\n2 Q0 b 1\n2 Q0 c 0\n2 Q0 d 0\n3 Q0 a 1\n3 Q0 b 1\n"
)
# First relevant documents at ranks 4, none, none, 5: RR 1/4, 0, 0, 1/5, on average 0.1125. AP is the same.
SECOND = "".join(
    f"{qid} Q0 d{rank} {int(rank == first)}\n" for qid, first in enumerate((4, 0, 0, 5), 1) for rank in range(1, 7)
)

AVERAGES = (
    "MAP                   \tall\t0.7519\nMRR                   \tall\t0.8333\nNDCG                  \tall\t0.8989\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ranking").write_text(EXAMPLE)
    (tmp_path / "second").write_text(SECOND)
    return tmp_path


def printed(folder: Path, *options: str, stdin: bytes = b"") -> str:
    done = treceval(options, stdin=stdin, folder=folder)
    assert (done.status, done.err) == (0, b"")
    return done.out.decode()


def test_the_profile_is_that_of_the_coursework_scorer(folder: Path) -> None:
    assert printed(folder, "--judged-ranking", "ranking") == AVERAGES


def test_the_coursework_scorer_prints_five_decimals(folder: Path) -> None:
    assert printed(folder, "--judged-ranking", "ranking", "--format", "coursework") == (
        "MAP = 0.75185\nMRR = 0.83333\nNDCG = 0.89889\n"
    )


def test_each_query_is_printed_as_well(folder: Path) -> None:
    assert printed(folder, "--judged-ranking", "ranking", "--format", "coursework", "-q") == (
        "MAP(1) = 0.75556\nMRR(1) = 1.00000\nNDCG(1) = 0.69668\n"
        "MAP(2) = 0.50000\nMRR(2) = 0.50000\nNDCG(2) = 1.00000\n"
        "MAP(3) = 1.00000\nMRR(3) = 1.00000\nNDCG(3) = 1.00000\n"
        "MAP = 0.75185\nMRR = 0.83333\nNDCG = 0.89889\n"
    )
    assert printed(folder, "--judged-ranking", "ranking", "-q", "-n", "-m", "MRR") == (
        "MRR                   \t1\t1.0000\nMRR                   \t2\t0.5000\nMRR                   \t3\t1.0000\n"
    )


def test_relevant_documents_that_are_late_or_absent(folder: Path) -> None:
    assert printed(folder, "--judged-ranking", "second", "-m", "MRR", "-m", "MAP", "--format", "coursework") == (
        "MAP = 0.11250\nMRR = 0.11250\n"
    )


def test_negative_judgments_count_as_not_relevant(folder: Path) -> None:
    (folder / "negative").write_text(EXAMPLE.replace(" 0\n", " -1\n"))
    assert printed(folder, "--judged-ranking", "negative") == AVERAGES


@pytest.mark.parametrize("name", ["coursework", "trec"])
def test_several_files_have_a_block_each(folder: Path, name: str) -> None:
    both = ["--judged-ranking", "ranking", "--judged-ranking", "second"]
    parts = [printed(folder, "--format", name, "--judged-ranking", each) for each in ("ranking", "second")]
    assert printed(folder, "--format", name, *both) == "".join(parts)


def test_several_files_make_a_table(folder: Path) -> None:
    # Each has judgments of its own, and yet they stand side by side: that is what was asked for.
    text = printed(folder, "--judged-ranking", "ranking", "--judged-ranking", "second", "-m", "MRR")
    assert text == "measure   ranking   second\n──────────────────────────\nMRR        0.8333   0.1125\n"


def test_several_files_are_printed_in_every_format(folder: Path) -> None:
    files = ["--judged-ranking", "ranking", "--judged-ranking", "second"]
    for name in ("csv", "tsv", "markdown", "latex", "html"):
        text = printed(folder, *files, "-m", "MRR", "--digits", "4", "--format", name)
        assert ("0.8333" in text, "0.1125" in text) == (True, True), name


def test_json_names_the_file_of_each_run(folder: Path) -> None:
    text = printed(folder, "--judged-ranking", "ranking", "--judged-ranking", "second", "-m", "MRR", "--format", "json")
    found = {run["file"]: run["mean"]["MRR"] for run in json.loads(text)["runs"]}
    assert found == {"ranking": pytest.approx(5 / 6), "second": pytest.approx(0.1125)}


def test_standard_input_can_be_one_of_the_files(folder: Path) -> None:
    assert printed(folder, "--judged-ranking", "-", stdin=EXAMPLE.encode()) == AVERAGES
    done = treceval(["--judged-ranking", "-", "--judged-ranking", "-"], folder=folder)
    assert (done.status, done.err) == (
        2,
        b"treceval: Standard input (-) can be read only once. See 'treceval score --help'.\n",
    )


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_a_compressed_file_is_read(folder: Path, pack: Callable[[bytes], bytes]) -> None:
    (folder / "packed").write_bytes(pack(EXAMPLE.encode()))
    assert printed(folder, "--judged-ranking", "packed") == AVERAGES
    assert printed(folder, "--judged-ranking", "-", stdin=pack(EXAMPLE.encode())) == AVERAGES


def test_blank_lines_comments_and_other_line_ends_are_skipped(folder: Path) -> None:
    (folder / "untidy").write_bytes(
        b"\xef\xbb\xbf# mine\r\n\r\n" + EXAMPLE.replace(" ", "\t").replace("\n", "\r\n").encode()
    )
    assert printed(folder, "--judged-ranking", "untidy") == AVERAGES


def test_the_lines_of_a_query_can_stand_apart(folder: Path) -> None:
    lines = EXAMPLE.splitlines(keepends=True)
    scattered = [
        line
        for number in range(5)
        for line in (lines[number], *lines[5 + number : 6 + number], *lines[9 + number : 10 + number])
    ]
    (folder / "scattered").write_text("".join(dict.fromkeys(scattered)))
    assert printed(folder, "--judged-ranking", "scattered") == AVERAGES


def test_other_options_and_profiles_apply(folder: Path) -> None:
    # Only the first document of each query counts: AP 1/3, 0, 1/2; over the relevant documents of the whole file.
    text = printed(folder, "--judged-ranking", "ranking", "-M", "1", "-m", "MAP", "--digits", "6")
    assert text == "MAP                   \tall\t0.277778\n"
    # At level 2 the first query has relevant documents at ranks 1 and 5: (1 + 2/5)/2 = 0.7, over three queries.
    text = printed(folder, "--judged-ranking", "ranking", "-l", "2", "-m", "MAP", "--digits", "6")
    assert text == "MAP                   \tall\t0.233333\n"


@pytest.mark.parametrize("profile", ["trec_eval-10", "msmarco", "ranx", "ir_measures", "beir"])
def test_lines_keep_their_order_under_every_profile(folder: Path, profile: str) -> None:
    # The ids of the first query fall from line to line, so that an order by ids would show.
    text = printed(
        folder, "--judged-ranking", "ranking", "--profile", profile, "-l", "1", "-m", "RR@10", "--digits", "6"
    )
    assert text == "RR@10                 \tall\t0.833333\n"


def test_ndcg_of_another_profile_is_another_one(folder: Path) -> None:
    # Of query 2 trec_eval has 1/log2(3) = 0.630930, where ranks 1 and 2 are discounted differently.
    text = printed(folder, "--judged-ranking", "ranking", "--profile", "trec_eval-10", "-q", "-n", "-m", "ndcg")
    assert text.splitlines()[1] == "ndcg                  \t2\t0.6309"


REFUSED: dict[str, bytes] = {
    "bad:4": b"1 0 a 1\n1 0 b 0\n2 0 a 1\n1 0 a 0\n",
    "bad:2": b"# comment\n1 0 a x\n",
    "bad:3": b"\n1 0 a 1\n1 a 1\n",
    "bad": b"",
    "bad:1": b"1 0 a\0 1\n",
}


def test_what_is_no_judged_ranking_is_refused(folder: Path, snapshot: SnapshotAssertion) -> None:
    found = {}
    for place, data in REFUSED.items():
        (folder / "bad").write_bytes(data)
        done = treceval(["--judged-ranking", "ranking", "--judged-ranking", "bad"], folder=folder)
        assert (done.status, done.out) == (1, b"")
        assert done.err.startswith(f"{place}: ".encode())
        found[place] = done.err.decode()
        with pytest.raises(te.errors.InputError):
            te.io.read_judged_ranking(str(folder / "bad"))
    for options, status in {
        "nothing": 1,
        ".": 1,
        "ranking ranking": 2,
        "ranking qrels run": 2,
        "ranking -m P_avgjg.5": 1,
    }.items():
        done = treceval(["--judged-ranking", *options.split()], folder=folder)
        assert (done.status, done.out) == (status, b"")
        found[options] = done.err.decode()
    assert table(found) == snapshot


def test_its_signature_can_be_repeated(folder: Path) -> None:
    asked = ["--judged-ranking", "ranking", "--format", "csv"]
    (row,) = csv.DictReader(io.StringIO(printed(folder, *asked, "-m", "NDCG", "--signature")))
    (again,) = csv.DictReader(io.StringIO(printed(folder, *asked, "--repeat", row["signature"])))
    assert again["run"] == row["run"]
    assert row["signature"].startswith("nDCG(discount=jk)|p:coursework|#:3|q:")


def test_from_python_it_is_judgments_and_a_run() -> None:
    qrels, run = te.io.read_judged_ranking(io.BytesIO(EXAMPLE.encode()))
    assert dict(qrels["2"]) == {"a": 0, "b": 1, "c": 0, "d": 0}
    assert list(run["1"]) == ["e", "d", "c", "b", "a"]
    assert dict(run["3"]) == {"a": -1.0, "b": -2.0}
    assert run.ranks is not None
    assert run.ranks.tolist() == [1, 2, 3, 4, 5, 1, 2, 3, 4, 1, 2]
    means = te.evaluate(qrels, run, profile="coursework").mean
    assert [round(value, 5) for value in means.values()] == [0.75185, 0.83333, 0.89889]
