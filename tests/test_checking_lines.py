"""What a check finds in single lines, and the rows that it makes of good ones. Lines and columns are counted by hand."""

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treceval_py as te
from treceval_py.checking import check as check_file
from treceval_py.checking.catalogue import files
from treceval_py.checking.catalogue import lines as line_codes
from treceval_py.checking.findings import Collector
from treceval_py.checking.lines import TagWatch, looks_like, recognise, rows_of
from treceval_py.checking.reading import Chunk, chunks
from treceval_py.checking.rows import KINDS, Rows
from treceval_py.errors import InputError

CODES = {code.code: code for part in (files, line_codes) for code in part.CODES}
GOOD = b"1 Q0 a 1 2.5 t\n"
JUDGED = b"1 0 a 1\n"

both_readers = pytest.mark.parametrize("reader", ["", "python"], ids=["fast", "careful"])


def check(text: bytes, kind: str = "run", **options: Any) -> tuple[Rows | None, list[str]]:
    collector = Collector("f", CODES, **options)
    rows = rows_of(Chunk(1, text), KINDS[kind], collector, tags=TagWatch())
    return rows, [str(finding) for finding in collector.sorted()]


def found(text: bytes, kind: str = "run", **options: Any) -> list[str]:
    return check(text, kind, **options)[1]


def some(rows: Rows | None) -> Rows:
    assert rows is not None
    return rows


# -- rows ----------------------------------------------------------------------------------------------------------


@both_readers
def test_lines_of_a_run_become_columns(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    rows = some(check(b"1 Q0 a 1 2.5 t\n# c\n1 Q0 b 2 -1e3 t\n\n2 Q0 a 1 7 t\n1 Q0 c 3 0 t\n")[0])
    assert rows.qids == [b"1", b"2", b"1"]
    assert rows.starts.tolist() == [0, 2, 3, 4]
    assert rows.docids.text() == ["a", "b", "a", "c"]
    assert rows.scores is not None
    assert rows.scores.tolist() == [2.5, -1000.0, 7.0, 0.0]
    assert rows.ranks is not None
    assert rows.ranks.tolist() == [1, 2, 1, 3]
    assert rows.rels is None
    assert list(rows.lines) == [1, 3, 5, 6]
    assert list(rows.at) == [0, 2, 4, 5]
    assert rows.column(2, 4) == 10


@both_readers
def test_lines_of_judgments_become_columns(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    rows = some(check(b"1 0 a 1\n1 0 b -2\n2 0 a +3\n", "qrels")[0])
    assert (rows.qids, rows.starts.tolist()) == ([b"1", b"2"], [0, 2, 3])
    assert rows.rels is not None
    assert rows.rels.tolist() == [1, -2, 3]
    assert (rows.scores, rows.ranks) == (None, None)


@both_readers
def test_lines_of_an_ms_marco_run_become_columns(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    rows = some(check(b"1\ta\t1\n # c\n\t1\tb\t2\n2\ta\t1\n", "msmarco")[0])
    assert (rows.qids, rows.docids.text()) == ([b"1", b"2"], ["a", "b", "a"])
    assert rows.ranks is not None
    assert rows.ranks.tolist() == [1, 2, 1]
    assert (rows.scores, rows.rels) == (None, None)
    assert list(rows.lines) == [1, 3, 4]
    assert rows.line_text(1) == b"\t1\tb\t2"


def test_lines_count_from_the_first_one_of_the_chunk() -> None:
    rows = rows_of(Chunk(101, GOOD + b"\n" + GOOD), KINDS["run"], Collector("f", CODES), tags=TagWatch())
    assert list(some(rows).lines) == [101, 103]


def test_good_lines_beside_a_bad_one_are_kept() -> None:
    rows = some(check(GOOD + b"1 Q0 b 2 abc t\n" + b"1 Q0 c 3 1 t\n")[0])
    assert (rows.docids.text(), list(rows.lines)) == (["a", "c"], [1, 3])
    assert rows.ranks is not None
    assert rows.ranks.tolist() == [1, 3]


def test_lines_without_data_give_no_rows() -> None:
    assert check(b"\n# c\n") == (None, [])


@both_readers
@pytest.mark.parametrize("end", [b"\n", b" \n", b"\t\r\n", b"\r\n"])
@pytest.mark.parametrize("between", [b" ", b"\t", b"   ", b" \t\v\f"])
def test_white_space_of_any_kind_gives_nothing(
    reader: str, between: bytes, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    line = between.join([b"1", b"Q0", b"a", b"1", b"2.5", b"tag"]) + end
    assert found(b"  " + line + line) == []


@both_readers
@pytest.mark.parametrize("score", [b"+.5", b"5.", b"-0", b"1E-400", b"0.1234567890123456789012345", b"1e+05"])
def test_numbers_of_any_other_form_give_nothing(reader: str, score: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    assert found(b"1 Q0 a 01 " + score + b" t\n") == []


# -- runs ----------------------------------------------------------------------------------------------------------


COUNT = "fields, but a run's line has at least 6 (qid Q0 docid rank score tag)."


@pytest.mark.parametrize(
    ("line", "place", "words", "todo"),
    [
        (b"1 b 2 1.5 t", "2:12", "5", "The second column is missing: write Q0 after the query."),
        (b"1 Q0 b 1.5 t", "2:13", "5", "The rank or the score is missing."),
        (b"1 Q0 b t x", "2:11", "5", "The tag or another column is missing."),
        (b"1 Q0  ", "2:5", "2", "Correct the line, or delete it."),
        (
            "1 Q0 ä\u00a01 2.5 t".encode(),
            "2:15",
            "5",
            "A character that only looks like a space joins two fields: write a plain space.",
        ),
    ],
)
def test_too_few_fields(line: bytes, place: str, words: str, todo: str) -> None:
    assert found(GOOD + line + b"\n") == [f"f:{place}: error R101: {words} {COUNT} {todo}"]


def test_spaces_in_the_tag_are_told_once() -> None:
    rows, findings = check(b"1 Q0 a 1 2.5 my tag\n1 Q0 b 2 1.5 my tag\n")
    assert findings == [
        (
            "f:1:17: warning R102: 7 fields, but a run's line has 6: the tag contains spaces. "
            "Write the tag as one word: pytrec_eval and others refuse such lines."
        )
    ]
    assert len(some(rows).docids) == 2


def test_spaces_in_the_tag_are_found_where_the_last_word_is_the_first() -> None:
    assert [line[:21] for line in found(GOOD + b"1 Q0 b 2 1.5 t x t\n")] == ["f:2:16: warning R102:"]


@pytest.mark.parametrize(
    ("score", "finding"),
    [
        ("abc", "error R103: score 'abc' is not a number, and trec_eval reads 0. Write it as 12, 12.5 or 1.25e1."),
        (
            "2.5x",
            ("error R103: score '2.5x' is not a number, and trec_eval reads 2.5. Write it as 12, 12.5 or 1.25e1."),
        ),
        (
            "NaN",
            (
                "error R104: score 'NaN' is not a number, so it cannot be ranked. Find its "
                "cause; often it is a division by zero."
            ),
        ),
        (
            "-inf",
            ("warning R105: score '-inf' is infinite. Find its cause; often it is the logarithm of zero."),
        ),
        ("2,5", "error R106: score '2,5' has a decimal comma, and trec_eval reads 2. Write 2.5."),
        ("1e999", "error R107: score '1e999' is too large for a 64-bit float. Use smaller numbers."),
        (
            "1_0",
            (
                "error R108: score '1_0' is 10 in Python, and 1 in trec_eval. Write "
                "numbers with only digits, a decimal point and an exponent."
            ),
        ),
        (
            "0x1A",
            (
                "error R108: score '0x1A' is hexadecimal, which trec_eval reads and Python refuses. Write "
                "numbers with only digits, a decimal point and an exponent."
            ),
        ),
    ],
)
def test_a_score_that_is_no_plain_number(score: str, finding: str) -> None:
    assert found(GOOD + f"1 Q0 ä 2 {score} t\n".encode()) == [f"f:2:10: {finding}"]


# What C reads of them is what glibc's strtod gives, printed with %.15g.
@pytest.mark.parametrize(
    ("score", "read"),
    [
        ("infinite", "inf"),
        ("info", "inf"),
        ("-infx", "-inf"),
        ("inf,5", "inf"),
        ("nano", "nan"),
        ("nan(1)", "nan"),
        ("0x1Az", "26"),
        ("-0x.8p1q", "-1"),
        ("0x1p99999x", "inf"),
        ("0x", "0"),
        ("1e+", "1"),
    ],
)
def test_of_a_score_that_is_no_number_it_is_said_what_c_reads(score: str, read: str) -> None:
    assert found(GOOD + f"1 Q0 b 2 {score} t\n".encode()) == [
        f"f:2:10: error R103: score '{score}' is not a number, and trec_eval reads {read}. Write it as 12, 12.5 or 1.25e1."
    ]


def test_an_infinite_score_is_kept() -> None:
    rows = some(check(GOOD + b"1 Q0 b 2 -inf t\n")[0])
    assert rows.scores is not None
    assert rows.scores.tolist() == [2.5, -np.inf]


RANK = "Write ranks as whole numbers from 1: some programs order by them, not by scores."


@pytest.mark.parametrize(
    ("rank", "what"),
    [
        ("first", "is not a whole number"),
        ("1.5", "is not a whole number"),
        ("9223372036854775808", "does not fit in 64 bits"),  # 2**63
    ],
)
def test_a_rank_that_is_no_whole_number(rank: str, what: str) -> None:
    rows, findings = check(GOOD + f"1 Q0 b {rank} 2 t\n".encode() + GOOD)
    assert findings == [f"f:2:8: warning R109: rank '{rank}' {what}. {RANK}"]
    rows = some(rows)
    assert rows.ranks is not None
    assert rows.unranked is not None
    assert (rows.ranks.tolist(), rows.unranked.tolist()) == ([1, 0, 1], [False, True, False])


def test_a_header_line() -> None:
    rows, findings = check(b"# c\nquery_id iter doc_id rank score run_id\n" + GOOD)
    assert findings == ["f:2:1: error R110: a header line. Delete it: trec_eval reads it as data."]
    assert list(some(rows).lines) == [3]


@pytest.mark.parametrize(
    ("header", "line", "kind", "code"),
    [
        (b"qid Q0 docid rank score tag\n", GOOD, "run", "R110"),
        (b"qid docid rank score tag\n", GOOD, "run", "R110"),
        (b"qid iteration docid rel\n", JUDGED, "qrels", "Q304"),
        (b"qid\tdocid\trank\n", b"1\ta\t1\n", "msmarco", "R110"),
    ],
)
def test_a_header_line_in_the_middle(header: bytes, line: bytes, kind: str, code: str) -> None:
    assert found(line + header + line, kind) == [
        (f"f:2:1: error {code}: a header line in the middle of the file. Delete it: two files may have been joined.")
    ]


@both_readers
@pytest.mark.parametrize(
    "text",
    [
        b"0 1 Q0 d1 1 2.5 tag\n1 1 Q0 d2 2 1.5 tag\n",
        b"0 1 Q0 77 1 2.5 tag\n1 1 Q0 78 2 1.5 tag\n",
        b"0 1 Q0 77 1 2.5\n1 1 Q0 78 2 2.5\n",
        b"0\t1\tq0\t77\t1\t2.5\ttag\n",
    ],
    ids=["names", "numbers", "no tag", "tabs"],
)
def test_shifted_columns_are_told_once(reader: str, text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    assert found(text) == [
        (
            "f:1: error R116: all columns are shifted by one: Q0 is the third field, but the second in a run. "
            "Delete the first column, probably an index; in pandas, write with index=False."
        )
    ]


def test_columns_shifted_under_a_header_are_told_where_the_header_stands() -> None:
    assert [line[:16] for line in found(b" query q0 docid rank score tag\n0 1 Q0 77 1 2.5 tag\n")] == [
        "f:1: error R116:"
    ]


@both_readers
def test_a_document_named_q0_shifts_nothing(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    rows, findings = check(b"1 Q0 Q0 1 2.5 t\n2 0 Q0 1 2.5 t\n")
    assert (some(rows).docids.text(), findings) == (["Q0", "Q0"], [])


@both_readers
def test_a_tag_that_is_missing_is_told_on_each_line(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    todo = "The tag is missing: write one at the end."
    assert found(GOOD + b"1 Q0 b 2 1.5\n") == [f"f:2:13: error R118: 5 {COUNT} {todo}"]


@both_readers
@pytest.mark.parametrize(
    "text",
    [
        b'"1" "Q0" "a" "1" "2.5" "t"\n',
        b"'1' Q0 'a' 1 2.5 't'\n",
        b'qid Q0 docid rank score tag\n"1" Q0 "a" 1 2.5 "t"\n',
    ],
    ids=["all", "texts", "under a header"],
)
def test_fields_in_quotes_are_told_once(reader: str, text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    todo = "Write the file without quotes; in R use quote=FALSE."
    assert found(text) == [f"f:1: error R117: fields are in quotes, which become part of the ids. {todo}"]


@pytest.mark.parametrize("line", [b"1 Q0 'tis 1 2.5 t\n", b'"1 Q0 a" 1 2.5 t\n', b'1 Q0 "a" 1 2.5 t\n'])
def test_quotes_that_are_part_of_ids_are_left(line: bytes) -> None:
    assert not any(" R117: " in each for each in found(line + GOOD))


SWAPPED = {
    "rank and score": b"1 Q0 a 9.5 1 t\n1 Q0 b 9.5 2 t\n1 Q0 c 1 3 t\n2 Q0 a 7 1 t\n",
    "rank and score, from 0": b"1 Q0 a 9.5 0 t\n1 Q0 b 8 1 t\n1 Q0 c -1e-1 2 t\n",
    "query and document": b"a Q0 1 1 9 t\nb Q0 1 2 8 t\nc Q0 1 3 7 t\na Q0 2 1 9 t\n",
}


@pytest.mark.parametrize("which", list(SWAPPED))
def test_two_columns_that_are_swapped_are_named_once(which: str) -> None:
    checked = check_file(io.BytesIO(SWAPPED[which]))
    (finding,) = checked.findings  # not that scores are distances, or ranks not whole
    assert str(finding).startswith(f"<file>:1: warning R119: {which.partition(',')[0]} are swapped: ")


@pytest.mark.parametrize(
    "text",
    [
        b"1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n1 Q0 c 3 3 t\n",  # scores that are ranks
        b"1 Q0 a 1 0.1 t\n1 Q0 b 2 0.2 t\n1 Q0 c 3 0.3 t\n",  # distances
        b"1 Q0 a 0.1 1 t\n1 Q0 b 0.2 2 t\n1 Q0 c 0.3 3 t\n",  # what rises with them is not a score
        b"1 Q0 a 1 9 t\n2 Q0 a 1 9 t\n3 Q0 a 1 9 t\n",  # the same first document
        b"1 Q0 a 9.5 1 t\n1 Q0 b 8.5 2 t\n",  # too few
    ],
)
def test_columns_that_only_look_a_little_swapped_are_left(text: bytes) -> None:
    assert "R119" not in check_file(io.BytesIO(text)).counts


TAG = "A run has one tag: were two runs joined into one file?"


@both_readers
@pytest.mark.parametrize("line", [b"1 Q0 b 2 1.5 u\n", b"1  Q0 b 2 1.5 u\n2 Q0 b 2 1.5 v\n", b"\n1 Q0  b 2 1.5 t2\n"])
def test_a_tag_that_changes_is_told_once(reader: str, line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    place, tag = {b"1 Q": ("2:14", "u"), b"1  ": ("2:15", "u"), b"\n1 ": ("3:15", "t2")}[line[:3]]
    assert found(GOOD + line) == [f"f:{place}: warning R111: tag '{tag}', but 't' from line 1 on. {TAG}"]


def test_a_tag_that_changes_from_one_chunk_to_the_next() -> None:
    collector, tags = Collector("f", CODES), TagWatch()
    rows_of(Chunk(1, GOOD), KINDS["run"], collector, tags=tags)
    rows_of(Chunk(2, b"2 Q0 a 1 2.5 u\n"), KINDS["run"], collector, tags=tags)
    assert [str(finding) for finding in collector.sorted()] == [
        f"f:2:14: warning R111: tag 'u', but 't' from line 1 on. {TAG}"
    ]


@pytest.mark.parametrize(
    ("line", "by"),
    [
        (b"1,Q0,a,1,2.5,t\n", "commas"),
        (b"1, Q0, a, 1, 2.5, t\n", "commas"),
        (b"1;Q0;a;1;2,5;t\n", "semicolons"),
        (b"1|Q0|a|1|2.5|t\n", "bars"),
    ],
)
def test_other_separators_are_told_once(line: bytes, by: str) -> None:
    assert found(b"\n" + line * 30) == [
        (
            f"f:2: error R112: fields are separated by {by}, not by white space. "
            "Write the file with spaces or tabs between fields, without quotes."
        )
    ]


@pytest.mark.parametrize(
    ("text", "kind", "finding"),
    [
        (
            b"1\ta\t1\n" * 9,
            "run",
            "this is an MS MARCO run (qid docid rank), not a run. Check it as one: --as msmarco.",
        ),
        (GOOD * 9, "msmarco", "this is a run of six columns, not an MS MARCO run. Give it as a run."),
        (
            b"<html>\n<body>\n",
            "run",
            "this is HTML or XML, not a run. Was a web page saved instead of the file?",
        ),
        (b'[{"qid": 1},\n{"qid": 2}]\n', "run", "this is JSON, not a run. Write one line per document."),
        (
            b"query-id\tcorpus-id\tscore\n1\ta\t1\n",
            "qrels",
            (
                "this is a file of BEIR's judgments (query-id corpus-id score), not judgments. "
                "Convert it with treceval convert to judgments with four columns."
            ),
        ),
        (
            b"Dear all\nthis is my run\nsee below\n",
            "run",
            (
                "none of the first 3 lines is a run's line (qid Q0 docid rank score tag): they have 2 to 4 fields. "
                "Is it the right file?"
            ),
        ),
    ],
)
def test_other_formats_are_told_once(text: bytes, kind: str, finding: str) -> None:
    assert found(text, kind) == [f"f:1: error R113: {finding}"]


@pytest.mark.parametrize(
    ("text", "kind", "finding"),
    [
        (
            JUDGED * 9,
            "run",
            (
                "these are judgments, not a run. Are the two files swapped? Check a ranking with labels "
                "--as judged-ranking."
            ),
        ),
        (GOOD * 9, "qrels", "this is a run, not judgments. Are the two files swapped?"),
        (GOOD * 9, "judged-ranking", "this is a run, not a judged ranking. Check it as a run: --as run."),
    ],
)
def test_swapped_files_are_told_once(text: bytes, kind: str, finding: str) -> None:
    assert found(text, kind) == [f"f:1: error R114: {finding}"]


def test_after_a_cause_for_all_lines_nothing_more_is_read() -> None:
    collector, tags = Collector("f", CODES), TagWatch()
    for first in (1, 10):
        assert rows_of(Chunk(first, JUDGED * 9), KINDS["run"], collector, tags=tags) is None
    assert tags.over
    assert collector.counts == {"R114": 1}


def test_a_rank_of_an_ms_marco_run_that_is_no_whole_number() -> None:
    assert found(b"1 a 1\n1 b 1.5\n", "msmarco") == [
        (
            "f:2:5: error R115: rank '1.5' is not a whole number. Write ranks as "
            "whole numbers from 1: this run is ordered by them alone."
        )
    ]


@both_readers
@pytest.mark.parametrize("white", [b"\v", b"\f", b"\r"])
def test_white_space_of_any_kind_counts_where_the_tag_has_spaces(
    reader: str, white: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seven fields with six spaces, and six with four: five a line, as if both had six fields.
    monkeypatch.setenv("TRECEVAL_READER", reader)
    text = GOOD + b"1 Q0 b 2 2 x t\n" + b"1 Q0 c" + white + b"3 1 t\n"
    assert [line[:21] for line in found(text)] == ["f:2:12: warning R111:", "f:2:14: warning R102:"]


ZEROS = b"0" * 5000


@both_readers
@pytest.mark.parametrize(
    ("line", "kind"),
    [(b"1 Q0 a %b1 9 t\n", "run"), (b"1 a %b1\n", "msmarco"), (b"1 0 a %b1\n", "qrels")],
    ids=["run", "msmarco", "qrels"],
)
def test_a_number_with_thousands_of_zeros_is_that_number(
    reader: str, line: bytes, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # int() refuses more than 4,300 digits.
    monkeypatch.setenv("TRECEVAL_READER", reader)
    rows, findings = check(line % ZEROS, kind)
    numbers = some(rows).rels if kind == "qrels" else some(rows).ranks
    assert numbers is not None
    assert (numbers.tolist(), findings) == ([1], [])


@pytest.mark.parametrize("reader", ["", "python"], ids=["compiled", "Python"])
@pytest.mark.parametrize(
    ("line", "read", "expected"),
    [
        (b"1 0 a %b1\n", te.read_qrels, {"1": {"a": 1}}),
        (b"1 0 a -%b7\n", te.read_qrels, {"1": {"a": -7}}),
        (b"1 Q0 a %b1 9 t\n", te.read_run, {"1": {"a": 9.0}}),
        (b"1\ta\t%b3\n", te.read_run, {"1": {"a": -3.0}}),  # the negative rank
    ],
    ids=["judgments", "a negative label", "run", "msmarco"],
)
def test_a_number_with_thousands_of_zeros_is_read(
    reader: str, line: bytes, read: Any, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    assert read(io.BytesIO(line % ZEROS)).to_dict() == expected


@pytest.mark.parametrize("reader", ["", "python"], ids=["compiled", "Python"])
def test_a_label_of_thousands_of_digits_is_refused(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    with pytest.raises(InputError, match="is beyond 64 bits"):
        te.read_qrels(io.BytesIO(b"1 0 a " + b"9" * 5000 + b"\n"))


def test_several_lines_in_one_are_no_row() -> None:
    rows, findings = check(GOOD + b"1 Q0 b 2 1 t\r1 Q0 c 3 0 t\n")
    assert (some(rows).docids.text(), findings) == (["a"], [])  # the carriage return is a finding of the file


# -- judgments -----------------------------------------------------------------------------------------------------


FOUR = "but a judgment has 4 (qid iteration docid rel)."


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        (b"1 0 b", f"2:6: error Q301: 3 fields, {FOUR} The label is missing."),
        (b"1 0 b c 1", f"2:9: error Q301: 5 fields, {FOUR} Correct the line, or delete it."),
        (b"1 b 1", f"2:6: error Q305: 3 fields, {FOUR} Put a 0, the iteration, after the query."),
    ],
)
def test_judgments_with_another_number_of_fields(line: bytes, finding: str) -> None:
    assert found(JUDGED + line + b"\n", "qrels") == [f"f:{finding}"]


def test_an_iteration_that_is_missing_everywhere_is_told_once() -> None:
    assert found(b"1 a 1\n1 b 0\n", "qrels") == [
        f"f:1: error Q305: 3 fields, {FOUR} Put a 0, the iteration, after the query, on each line."
    ]


# What trec_eval reads of 0.5, 1.5 and x was tried: 0, 1 and 0. The others are what glibc's strtol gives.
@pytest.mark.parametrize(
    ("label", "read"),
    [
        ("0.5", 0),
        ("1.5", 1),
        ("x", 0),
        ("1_0", 1),
        ("-0003x", -3),
        ("99999999999999999999x", 9223372036854775807),
        ("-99999999999999999999x", -9223372036854775808),
    ],
)
def test_a_label_that_is_no_whole_number(label: str, read: int) -> None:
    rows, findings = check(JUDGED + f"1 0 b {label}\n".encode(), "qrels")
    assert findings == [
        (
            f"f:2:7: error Q302: label '{label}' is not a whole number, and trec_eval reads {read}. "
            "Write labels as whole numbers, such as 0, 1, 2."
        )
    ]
    assert some(rows).docids.text() == ["a"]


def test_a_label_beyond_64_bits() -> None:
    assert found(JUDGED + b"1 0 b 9223372036854775808\n", "qrels") == [
        "f:2:7: error Q303: label '9223372036854775808' does not fit in 64 bits. Use smaller labels, such as 0, 1, 2."
    ]


def test_a_header_line_of_judgments() -> None:
    assert found(b"qid iteration docid rel\n" + JUDGED, "qrels") == [
        "f:1:1: error Q304: a header line. Delete it: trec_eval reads it as data."
    ]


# -- kinds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "wanted", "name"),
    [
        (GOOD, None, "run"),
        (JUDGED, None, "qrels"),
        (b"1 a 1\n", None, "msmarco"),
        (b"qid Q0 docid rank score tag\n" + GOOD, None, "run"),
        (b"# c\n\n" + JUDGED * 3 + b"broken\n", None, "qrels"),
        (GOOD * 3 + b"1 Q0 a", None, "run"),
        (b"1 Q0 a 1 2,5 t\n", None, "run"),
        ("1 0 a 1\n".encode("utf-16"), None, "qrels"),
        (b"\xef\xbb\xbf" + JUDGED, None, "qrels"),
        (b"1 a 1\r1 b 2\r", None, "msmarco"),
        (b"hello\n", None, "run"),
        (JUDGED, "run", "run"),
        (b"1 a 1\n", "run", "msmarco"),
        (GOOD, "qrels", "qrels"),
        (JUDGED, "judged-ranking", "judged-ranking"),
    ],
)
def test_a_file_is_recognised_by_its_first_lines(head: bytes, wanted: str | None, name: str) -> None:
    assert recognise(head, wanted).name == name


@pytest.mark.parametrize(
    "head", [b"", b"hello\n", b"MAP = 0.25\n", b"query-id\tcorpus-id\tscore\n1\ta\t1\n", b"\0\1\2"]
)
def test_what_is_no_run_and_no_judgments_looks_like_nothing(head: bytes) -> None:
    assert looks_like(head) is None


# -- all of it -----------------------------------------------------------------------------------------------------


def test_findings_beyond_the_most_are_counted() -> None:
    collector = Collector("f", CODES, most=2)
    rows_of(Chunk(1, GOOD + b"1 Q0 b 2 x t\n" * 5), KINDS["run"], collector, tags=TagWatch())
    assert (len(collector.sorted()), collector.counts) == (2, {"R103": 5})


def test_a_line_of_a_million_fields_is_told_in_few_words() -> None:
    assert found(JUDGED + b"1 " * 1_000_000 + b"\n", "qrels") == [
        f"f:2:9: error Q301: more than 100 fields, {FOUR} Correct the line, or delete it."
    ]


DATA = Path("../shared/data")


@pytest.mark.skipif(not DATA.exists(), reason="the data sets are not here")
@both_readers
@pytest.mark.parametrize(
    ("name", "kind", "lines"),
    [
        ("robust03/input.uic0301.gz", "run", 99_969),
        ("robust03/input.NLPR03vb10.gz", "run", 1_004),
        ("robust03/qrels.txt.gz", "qrels", 128_796),
        ("msmarco/qrels.msmarco-passage.dev-subset.txt", "qrels", 7_437),
        ("trec_eval-test/results.test", "run", 1_500),
    ],
)
def test_clean_files_give_nothing(
    name: str, kind: str, lines: int, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRECEVAL_READER", reader)
    collector, tags, count = Collector(name, CODES), TagWatch(), 0
    for chunk in chunks(DATA / name, collector):
        assert recognise(chunk.text, None).name == kind
        count += len(some(rows_of(chunk, KINDS[kind], collector, tags=tags)).docids)
    assert (collector.sorted(), count) == ([], lines)  # lines as `wc -l` counts them


def test_the_words_after_a_run_in_trec_evals_own_data_are_a_tag_with_spaces() -> None:
    path = DATA / "trec_eval-test/results.trunc"
    if not path.exists():
        pytest.skip("trec_eval's data is not here")
    collector = Collector("f", CODES)
    for chunk in chunks(path, collector):
        rows_of(chunk, KINDS["run"], collector, tags=TagWatch())
    assert [(each.code, each.line, each.column) for each in collector.sorted()] == [("R102", 1, 43)]


def test_each_code_of_lines_and_files_has_its_test() -> None:
    text = Path(__file__).read_text("utf-8") + (Path(__file__).parent / "test_checking_reading.py").read_text("utf-8")
    assert [code for code in CODES if f" {code}: " not in text] == []


def test_a_compressed_run_gives_the_rows_of_a_plain_one() -> None:
    collector = Collector("f", CODES)
    (chunk,) = chunks(io.BytesIO(gzip.compress(GOOD)), collector)
    assert some(rows_of(chunk, KINDS["run"], collector, tags=TagWatch())).docids.text() == ["a"]
