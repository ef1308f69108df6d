"""A whole check: thirty kinds of findings in one pass, nothing about clean files, and what a run would score otherwise."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

import treceval_py as te
from treceval_py.lint import CODES, check
from treceval_py.lint.checking import Checked

SHARED = Path(__file__).parent.parent.parent / "shared" / "data"
DATA = Path(__file__).parent.parent / "data"

real_data = pytest.mark.skipif(not SHARED.exists(), reason="the real runs of ../shared are not at hand")


def checked(lines: bytes, qrels: bytes | None = None, **options: int) -> Checked:
    return check(io.BytesIO(lines), None if qrels is None else io.BytesIO(qrels), **options)


def told(found: Checked) -> list[tuple[int, int, str]]:
    return [(each.line, each.column, each.code) for each in found.findings]


JUDGED = "".join(
    f"{qid} 0 d{qid}{number} {int(number < 3)}\n" for qid in ("1", "2", "3", "4", "5", "37.1") for number in range(1, 6)
).encode()

THIRTY = [
    (b"\xef\xbb\xbfqid Q0 docid rank score tag", [(1, "F003"), (1, "R110")]),
    (b"# a comment", [(0, "F015")]),
    (b"", [(0, "F014")]),
    (b"1 Q0 d11 1 9 t", []),
    (b"1 Q0 d12 2 8.5", [(15, "R101")]),
    (b"1 Q0 d13 3 8 my tag", [(10, "R126"), (14, "R111"), (17, "R102")]),
    (b"1 Q0 d14 4 high t", [(12, "R103")]),
    (b"1 Q0 d15 5 nan t", [(12, "R104")]),
    (b"1 Q0 d16 6 inf t", [(10, "R123"), (12, "R105")]),
    (b"1 Q0 d17 7 1,5 t", [(12, "R106")]),
    (b"1 Q0 d18 8 1e999 t", [(12, "R107")]),
    (b"1 Q0 d19 9 1_0 t", [(12, "R108")]),
    (b"1 Q0 d21 9 3 other", []),  # another tag, which is told once
    (b"1 Q0 d\xe4 9 2 t", [(7, "F011")]),
    (b"1 Q0 d\x1b[1m 9 1 t", [(7, "F012")]),
    (b"1 Q0 d\xc2\xa022 9 0.5 t", [(7, "F013")]),
    (b"1 Q0 d23 9 0.4 t\r", [(0, "F009")]),
    (b"1 Q0 d\x0024 9 0.3 t", [(7, "F005")]),
    (b"2 Q0 d21 1 5 t", []),
    (b"2 Q0 d21 1 5 t", [(6, "R120")]),
    (b"2 Q0 d22 2 4 t", []),
    (b"2 Q0 d22 2 3 t", [(6, "R121")]),
    (b"2 Q0 d23 9 3.5 t", []),
    (b"3 Q0 d31 0 2 t", [(10, "R125"), (12, "R127")]),
    (b"3 Q0 d32 0 2 t", []),
    (b"3 Q0 d33 0 2 t", []),
    (b"3 Q0 d34 0 2 t", []),
    (b"3 Q0 d35 0 2 t", []),
    (b"4 Q0 d41 1 1 t", []),
    (b"4 Q0 d42 2 2 t", []),
    (b"4 Q0 d43 3 3 t", []),
    (b"4 Q0 d44 4 4 t", []),
    (b"4 Q0 d45 5 5 t", []),
    (b"5 Q0 d51 1 1 t", []),
    (b"6 Q0 d61 0 5 t", [(0, "X203"), (10, "R124")]),
    (b"6 Q0 d62 1 1.00000002 t", []),
    (b"6 Q0 d63 2 1.00000001 t", [(12, "R131")]),
    (b"37_1 Q0 d1 1 5 t", [(1, "X204")]),
    (b"37_1 Q0 d2 2 4 t", []),
    (b"37_1 Q0 d3 5 4 t", []),
    (b"99 Q0 d1 1 5 t", []),
    (b"5 Q0 d52 2 0.9 t", [(1, "R122")]),
]
"""Lines, each with the columns and codes of what is found on it."""


def test_thirty_kinds_of_findings_come_in_one_pass_with_line_and_column() -> None:
    found = checked(b"".join(line + b"\n" for line, _ in THIRTY), JUDGED)
    expected = [(number, *each) for number, (_, every) in enumerate(THIRTY, 1) for each in every]
    assert told(found) == [*expected, (0, 0, "X202")]
    assert len({code for _, _, code in told(found)}) == 30


def test_every_code_that_is_found_is_declared() -> None:
    found = checked(b"".join(line + b"\n" for line, _ in THIRTY), JUDGED)
    assert {each.code for each in found.findings} <= set(CODES)
    assert all(each.severity == CODES[each.code].severity for each in found.findings)


# --- clean files ---

TRUE_OF_ROBUST = {
    "input.MU03rob01.gz": [(7, 24, "R130")],  # 97.5 % of the documents are tied
    "input.NLPR03vb10.gz": [(671, 0, "R132")],  # three queries have one or two documents more than the others
    "input.SABIR03BASE.gz": [],
    "input.UIUC03Rd1.gz": [],
    "input.aplrob03a.gz": [(1, 22, "R124")],  # ranks from 0
    "input.pircRBa1.gz": [(1, 22, "R124")],
    "input.rutcor03100.gz": [(2, 24, "R130")],
    "input.uic0301.gz": [(1, 19, "R124"), (2286, 19, "R126")],  # ranks from 0, with gaps
}


@real_data
@pytest.mark.parametrize("name", TRUE_OF_ROBUST)
def test_the_runs_of_robust_2003_give_what_is_true_of_them(name: str) -> None:
    folder = SHARED / "robust03"
    assert told(check(folder / name, folder / "qrels.txt.gz")) == TRUE_OF_ROBUST[name]


@real_data
@pytest.mark.parametrize(
    "name",
    [
        "robust03/qrels.txt.gz",
        "msmarco/qrels.dl19-passage.txt",
        "msmarco/qrels.dl20-passage.txt",
        "msmarco/qrels.msmarco-passage.dev-subset.txt",
        "msmarco-sample/qrels.tsv",
        "trec_eval-test/qrels.test",
        "trec_eval-test/qrels-302.test",
        "trec_eval-test/results.test",
        "trec_eval-test/results-302.test",
        "trec_eval-test/results.comment.test",
    ],
)
def test_a_clean_file_gives_nothing(name: str) -> None:
    assert told(check(SHARED / name)) == []


TRUE_OF_TREC_EVAL = {
    "qrels.test.with-comments": {"F015"},
    "qrels.comment.test": {"Q314"},  # one query has no relevant document
    "qrels.rel_level": {"Q313"},  # labels of -1
    "qrels.123": {"Q313", "Q315", "Q317"},  # three groups of judgments, one after the other
    "qrels.comments.123": {"F015", "Q313", "Q315", "Q317"},
    "results.trunc": {"R102", "R122", "R126"},  # a sentence for a tag, two queries in turn
}


@real_data
@pytest.mark.parametrize("name", TRUE_OF_TREC_EVAL)
def test_the_other_test_files_of_trec_eval_give_what_is_true_of_them(name: str) -> None:
    assert set(check(SHARED / "trec_eval-test" / name).counts) == TRUE_OF_TREC_EVAL[name]


def test_the_files_of_this_project_give_what_is_true_of_them() -> None:
    codes = {
        name: set(check(DATA / name).counts)
        for name in ("qrels.tsv", "runs/minilm.txt", "runs/bm25.txt", "runs/jaccard.txt")
    }
    # Scores of few words are often the same.
    assert codes == {
        "qrels.tsv": set(),
        "runs/minilm.txt": set(),
        "runs/bm25.txt": {"R130"},
        "runs/jaccard.txt": {"R130"},
    }


# --- the file as a whole ---


def test_a_run_is_recognised_by_its_lines() -> None:
    kinds = {
        "run": b"1 Q0 a 1 2.5 t\n",
        "msmarco": b"1\ta\t1\n",
        "qrels": b"1 0 a 1\n",
    }
    for name, line in kinds.items():
        kind = checked(line).kind
        assert kind is not None
        assert kind.name == name


def test_a_file_that_is_not_there_is_a_finding(tmp_path: Path) -> None:
    (found,) = check(str(tmp_path / "none.txt")).findings
    assert (found.code, found.line, found.column) == ("F002", 0, 0)
    assert str(found) == f"{tmp_path}/none.txt: error F002: no such file. Check the name."


def test_a_json_run_is_left_to_its_reader() -> None:
    assert told(checked(b'{"1": {"a": 2.5}}')) == [(0, 0, "F018")]
    assert [each.code for each in checked(b'{"1": {"a": "high"}}').findings] == ["F002"]


def test_what_is_the_same_on_each_line_is_told_once() -> None:
    found = checked(b"1,Q0,a,1,2.5,t\n" * 100_000)
    assert [each.code for each in found.findings] == ["R112"]


def test_findings_beyond_the_most_are_counted() -> None:
    found = checked(b"".join(b"1 Q0 d%d %d nan t\n" % (n, n) for n in range(1, 201)), most=3)
    assert [each.line for each in found.findings if each.code == "R104"] == [1, 2, 3]
    assert found.counts["R104"] == 200
    assert found.errors == 200


def test_codes_are_selected_and_ignored_by_their_beginnings() -> None:
    lines = b"1 Q0 a 1 nan t\n1 Q0 b 2 high t\n"
    assert set(check(io.BytesIO(lines), select=["R104"]).counts) == {"R104"}
    assert set(check(io.BytesIO(lines), select=["R"], ignore=["R104"]).counts) == {"R103"}
    assert set(check(io.BytesIO(lines), ignore=["R10"]).counts) == set()


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(te.EvaluationError, match="unknown kind of file 'runs'"):
        check(io.BytesIO(b"1 Q0 a 1 2 t\n"), kind="runs")


def test_a_duplicate_is_found_where_the_lines_of_a_query_do_not_stand_together() -> None:
    lines = b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 b 2 2 t\n1 Q0 a 3 1 t\n"
    assert (5, 6, "R121") in told(checked(lines))
    assert (3, 1, "R122") in told(checked(lines))


def test_a_compressed_run_from_a_pipe_is_checked_like_any_other() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    lines = b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 a 2 nan t\n"
    assert told(check(Pipe(gzip.compress(lines)))) == told(check(io.BytesIO(lines)))


# --- what the run would score otherwise ---


def test_it_says_what_ms_marco_would_make_of_contradicting_ranks() -> None:
    # By the scores the relevant b comes second, 1/2; by the ranks first, 1.
    found = checked(b"1 Q0 a 2 9 t\n1 Q0 b 1 8 t\n", b"1 0 b 1\n")
    (would,) = [each for each in found.findings if each.code == "X208"]
    assert would.what == ("RR@10 is 0.5000 by the scores, and 1.0000 by the rank column, as MS MARCO's script takes it")


def test_it_says_what_distances_would_score_the_other_way_round() -> None:
    # By score: d, c, b, a, and a is relevant: AP is 1/4. The other way round it is 1.
    lines = b"".join(b"1 Q0 %c %d %d.5 t\n" % (97 + rank, rank + 1, rank) for rank in range(4))
    found = checked(lines, b"1 0 a 1\n")
    (would,) = [each for each in found.findings if each.code == "X209"]
    assert would.what == "AP is 0.2500, and would be 1.0000 if the lowest score stood first"
