"""A whole check: thirty kinds of findings in one pass, nothing about clean files, and what a run would score otherwise."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import pytest

import treceval_py as te
from treceval_py.checking import CODES, check
from treceval_py.checking.checking import Checked

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
    (b"1 Q0 d12 2 8.5", [(15, "R118")]),
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


def test_json_judgments_become_judgments_of_lines() -> None:
    (found,) = check(io.BytesIO(b'{"1": {"a": 1}}'), kind="qrels").findings
    assert str(found) == (
        "<file>: note F018: json is not made of lines with fields; only its reader checked it, and it can be "
        "read. Use treceval convert to make judgments with lines, and check those."
    )


BEIR = b"query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t7\n"


def test_beir_s_judgments_are_left_to_their_reader() -> None:
    (found,) = checked(BEIR).findings
    assert str(found) == (
        "<file>: note F018: these are BEIR's judgments (query-id corpus-id score); only their reader checked "
        "them, and reads them. Use treceval convert to make judgments with lines, and check those."
    )


def test_labels_of_beir_s_judgments_are_held_to_a_scale() -> None:
    found = check(io.BytesIO(BEIR), scale=(0, 3))
    (label,) = [each for each in found.findings if each.code == "Q312"]
    assert str(label) == (
        "<file>: warning Q312: 1 of 2 labels is outside the scale from 0 to 3: 7 of document 'b' of query '1'. Correct "
        "the label, or the scale."
    )


def test_beir_s_judgments_in_the_place_of_a_run_are_told() -> None:
    (found,) = checked(BEIR, b"1 0 a 1\n").findings
    assert str(found) == (
        "<file>:1: error R113: this is a file of BEIR's judgments (query-id corpus-id score), not a run. "
        "Convert it with treceval convert to judgments with four columns."
    )


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


# --- what is looked for ---

COMMAS = b"1,Q0,a,1,2.5,t\n" * 3


@pytest.mark.parametrize(
    ("lines", "kind", "code"),
    [
        (b"", None, "F001"),
        (b"1 Q0 d\x001 1 2 t\n" * 3, None, "F005"),
        (b"PK\x03\x04", None, "F006"),
        (gzip.compress(b"1 Q0 a 1 2 t\n" * 100)[:-9], None, "F007"),
        (b"# nothing\n", None, "F017"),
        (COMMAS, None, "R112"),
        (b"<html>\n<body>\n", None, "R113"),
        (b"1 0 a 1\n", "run", "R114"),
        (b"0 1 Q0 a 1 2 t\n1 1 Q0 b 2 1 t\n", None, "R116"),
    ],
)
def test_what_ends_reading_is_told_whatever_is_selected(lines: bytes, kind: str | None, code: str) -> None:
    assert set(check(io.BytesIO(lines), kind=kind, select=["Q310"]).counts) == {code}


def test_a_file_that_is_not_there_is_told_whatever_is_selected(tmp_path: Path) -> None:
    assert set(check(tmp_path / "none.txt", select=["R1"]).counts) == {"F002"}


def test_a_beginning_does_not_leave_out_what_ends_reading() -> None:
    assert set(check(io.BytesIO(COMMAS), ignore=["R", "R11"]).counts) == {"R112"}


def test_its_very_code_leaves_out_what_ends_reading() -> None:
    found = check(io.BytesIO(COMMAS), ignore=["R112"])
    assert (found.findings, found.unread) == ([], "R112")


def test_the_name_of_a_code_leaves_out_what_ends_reading() -> None:
    assert check(io.BytesIO(COMMAS), ignore=["separated-by-commas"]).findings == []


def test_judgments_without_iterations_that_are_not_selected_are_known_as_not_read() -> None:
    found = check(io.BytesIO(b"1 a 1\n" * 3), kind="qrels", select=["Q31"])
    assert (found.findings, found.unread) == ([], "Q305")


@pytest.mark.parametrize("lines", [b"1 Q0 a 1 nan t\n", b"1 Q0 a 1 2 t\n1 Q0 b\x00 2 1 t\n"])
def test_of_a_file_with_errors_that_was_looked_at_to_its_end_nothing_is_not_read(lines: bytes) -> None:
    assert checked(lines).unread == ""


def test_codes_are_taken_in_any_case_and_by_name() -> None:
    lines = b"1 Q0 a 1 nan t\n1 Q0 b 2 high t\n"
    assert set(check(io.BytesIO(lines), select=["r104"]).counts) == {"R104"}
    assert set(check(io.BytesIO(lines), ignore=["Score-NaN"]).counts) == {"R103"}


def test_a_name_of_two_codes_means_both() -> None:
    for lines, code in (
        (b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 2 t\n", "R122"),
        (b"1 0 a 1\n2 0 a 1\n1 0 b 1\n", "Q315"),
    ):
        assert set(check(io.BytesIO(lines), select=["queries-interleaved"]).counts) == {code}


HAVE = "'treceval check --explain all' lists them all."


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"select": "R2"}, "select is the text 'R2', not a collection of codes. Give ['R2']."),
        ({"ignore": "R104"}, "ignore is the text 'R104', not a collection of codes. Give ['R104']."),
        ({"select": ["Z9"]}, f"select: there is no code 'Z9'. {HAVE}"),
        ({"ignore": [104]}, f"ignore: there is no code '104'. Did you mean R104? {HAVE}"),
        ({"select": [""]}, f"select: there is no code ''. {HAVE}"),
        ({"ignore": ["score-nam"]}, f"ignore: there is no code 'score-nam'. Did you mean score-nan? {HAVE}"),
        (
            {"most": -1},
            ("most is -1, which is not a number of findings. Give a whole number from 1, or 0 to keep all."),
        ),
        (
            {"most": 1.5},
            ("most is 1.5, which is not a number of findings. Give a whole number from 1, or 0 to keep all."),
        ),
        (
            {"scale": (0,)},
            "scale is (0,), not the lowest and the highest label. Give two whole numbers, such as (0, 3).",
        ),
        (
            {"scale": "0-3"},
            "scale is '0-3', not the lowest and the highest label. Give two whole numbers, such as (0, 3).",
        ),
        (
            {"scale": (3, 0)},
            "scale is (3, 0), not the lowest and the highest label. Give two whole numbers, such as (0, 3).",
        ),
        (
            {"scale": (0, "3")},
            "scale is (0, '3'), not the lowest and the highest label. Give two whole numbers, such as (0, 3).",
        ),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(te.EvaluationError, match=f"^{re.escape(said)}$"):
        check(io.BytesIO(b"1 Q0 a 1 2 t\n"), **options)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(te.EvaluationError, match="unknown kind of file 'runs'"):
        check(io.BytesIO(b"1 Q0 a 1 2 t\n"), kind="runs")


def test_a_duplicate_is_found_where_the_lines_of_a_query_do_not_stand_together() -> None:
    lines = b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 b 2 2 t\n1 Q0 a 3 1 t\n"
    assert (5, 6, "R121") in told(checked(lines))
    assert (3, 1, "R122") in told(checked(lines))


def test_a_judgment_that_comes_twice_is_found_where_the_lines_of_a_query_do_not_stand_together() -> None:
    lines = b"1 0 a 1\n2 0 a 1\n1 0 b 1\n2 0 a 0\n"
    assert told(checked(lines)) == [(3, 0, "Q315"), (4, 7, "Q311")]


def test_what_is_said_of_labels_and_ids_is_said_once_where_judgments_are_read_again() -> None:
    lines = b"37.1 0 a 1\n37_1 0 a -1\n37.1 0 b -3\n"
    assert checked(lines).counts == {"Q312": 1, "Q313": 1, "Q314": 1, "Q315": 1, "Q316": 1}


def test_a_judged_ranking_whose_lines_do_not_stand_together_is_looked_at_once_beside_judgments() -> None:
    found = check(
        io.BytesIO(b"1 Q0 a 1\n2 Q0 a 1\n1 Q0 b 1\n"), io.BytesIO(b"1 0 a 1\n1 0 b 0\n2 0 a 1\n"), kind="judged-ranking"
    )
    assert told(found) == [(3, 0, "Q315"), (3, 8, "X210")]


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
    assert would.what == ("RR@10 is 0.5000 by the scores, and 1.0000 by the rank column, which MS MARCO's script uses")


def test_it_says_what_distances_would_score_the_other_way_round() -> None:
    # By score: d, c, b, a, and a is relevant: AP is 1/4. The other way round it is 1.
    lines = b"".join(b"1 Q0 %c %d %d.5 t\n" % (97 + rank, rank + 1, rank) for rank in range(4))
    found = checked(lines, b"1 0 a 1\n")
    (would,) = [each for each in found.findings if each.code == "X209"]
    assert would.what == "AP is 0.2500, and would be 1.0000 with the lowest score first"


DISTANCES = b"".join(b"1 Q0 %c %d %d.5 t\n" % (97 + rank, rank + 1, rank) for rank in range(4))
CONTRADICTING = b"1 Q0 a 2 9 t\n1 Q0 b 1 8 t\n"


def codes_of(lines: bytes, qrels: bytes, **options: Any) -> set[str]:
    return {each.code for each in check(io.BytesIO(lines), io.BytesIO(qrels), **options).findings}


def test_ranks_that_change_no_value_that_is_printed_are_told_without_values() -> None:
    # The relevant c is third by the scores and by the ranks.
    assert codes_of(CONTRADICTING + b"1 Q0 c 3 7 t\n", b"1 0 c 1\n") == {"R123"}


@pytest.mark.parametrize("relevant", [b"d", b"x"])
def test_scores_that_the_other_way_round_give_no_more_are_told_without_values(relevant: bytes) -> None:
    # The relevant d is first by score; x was not retrieved.
    assert "X209" not in codes_of(DISTANCES, b"1 0 a 0\n1 0 " + relevant + b" 1\n")


@pytest.mark.parametrize(("select", "codes"), [("X209", {"X209"}), ("X", {"X208", "X209"})])
def test_what_distances_would_score_is_told_where_only_values_are_selected(select: str, codes: set[str]) -> None:
    assert codes_of(DISTANCES, b"1 0 a 1\n", select=[select]) == codes


def test_what_contradicting_ranks_would_score_is_told_where_it_alone_is_selected() -> None:
    assert codes_of(CONTRADICTING, b"1 0 b 1\n", select=["X208"]) == {"X208"}


@pytest.mark.parametrize("options", [{"ignore": ["R120"]}, {"select": ["X"]}])
def test_a_run_that_cannot_be_scored_is_not_even_where_its_error_is_left_out(options: dict[str, Any]) -> None:
    lines = b"".join(b"1 Q0 %c 0 %d t\n" % (97 + rank, rank) for rank in range(6)) + b"1 Q0 f 0 5 t\n"
    found = check(io.BytesIO(lines), io.BytesIO(b"1 0 a 1\n"), **options)
    assert found.errors == 0
    assert not any(each.code in ("F002", "X209") for each in found.findings)


# --- the examples of all codes ---

SYMBOLS = {"\u240d": b"\r", "\u2400": b"\0", "\u241b": b"\x1b", "\u2403": b"\x03", "\u2404": b"\x04", "\\xe9": b"\xe9"}
"""How examples show what cannot be seen, and what it is."""

KIND_OF = {"R115": "msmarco", "R133": "msmarco", "R134": "msmarco", "R114": "run", "X210": "judged-ranking"}
"""What the examples are that are not recognised as what they are about."""

NOT_RUN = {"X206", "X207"}
"""They are described, as they have a hundred lines."""


def bytes_of(example: str) -> bytes:
    data = example.encode()
    for shown, meant in SYMBOLS.items():
        data = data.replace(shown.encode(), meant)
    return data if b"\0" in data and b"\0Q" in data else data + b"\n"


def parts_of(example: str) -> tuple[bytes, bytes | None]:
    """Return the lines of an example, and the judgments beside them where it has some."""
    if not example.startswith("QRELS:"):
        return bytes_of(example), None
    parts: dict[str, list[str]] = {}
    name = ""
    for line in example.splitlines():
        label, colon, rest = line.partition(":")
        name, rest = (label, rest) if colon and label.isalpha() else (name, line)
        parts.setdefault(name, []).append(rest.strip())
    judgments, lines = ("\n".join(every) for every in parts.values())
    return bytes_of(lines), bytes_of(judgments)


@pytest.mark.parametrize("code", [code for code, each in CODES.items() if each.example and code not in NOT_RUN])
def test_the_example_of_a_code_gives_its_finding(code: str) -> None:
    lines, qrels = parts_of(CODES[code].example)
    kind = KIND_OF.get(code, "qrels" if code.startswith("Q") else None)
    found = check(io.BytesIO(lines), None if qrels is None else io.BytesIO(qrels), kind=kind)
    assert code in found.counts
