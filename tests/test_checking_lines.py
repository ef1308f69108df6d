"""What a check finds in single lines, and the rows that it makes of good ones. Lines and columns are counted by hand."""

import gzip
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from findings import READERS, brief, briefs, words
from readers import use_reader
from shared import SHARED, needs_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.checking.catalogue import CODES
from treceval_py.checking.checking import check as check_file
from treceval_py.checking.findings import Collector, Finding
from treceval_py.checking.lines import TagWatch, rows_of
from treceval_py.checking.reading import Chunk, chunks
from treceval_py.checking.rows import QueryLines
from treceval_py.diagnosis.columns import KINDS, form_of, recognised
from treceval_py.errors import InputError
from treceval_py.io.formats import lines_of

GOOD = b"1 Q0 a 1 2.5 t\n"
JUDGED = b"1 0 a 1\n"
ZEROS = b"0" * 5000


@pytest.fixture(params=READERS, ids=["fast", "careful"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the compiled scanner, then with the careful reader."""
    use_reader(monkeypatch, request.param)


both_readers = pytest.mark.usefixtures("reader")


def check(*texts: bytes, kind: str = "run", first: int = 1) -> tuple[QueryLines | None, list[Finding]]:
    """Check texts, one chunk each; return the rows of the last one and all findings."""
    collector, tags, rows = Collector("f"), TagWatch(), None
    for text in texts:
        rows = rows_of(Chunk(first, text), KINDS[kind], collector, tags=tags)
        first += text.count(b"\n")
    return rows, collector.sorted()


def some(rows: QueryLines | None) -> QueryLines:
    assert rows is not None
    return rows


def columns(rows: QueryLines | None) -> tuple[object, ...]:
    """Return ids of queries and where each begins, documents, and numbers: scores, ranks, labels, lines."""
    rows = some(rows)
    numbers = (None if each is None else each.tolist() for each in (rows.scores, rows.ranks, rows.rels))
    return rows.qids, rows.starts.tolist(), rows.docids.text(), *numbers, list(rows.lines)


# -- rows ----------------------------------------------------------------------------------------------------------


@both_readers
def test_lines_become_columns() -> None:
    rows = check(b"1 Q0 a 1 2.5 t\n# c\n1 Q0 b 2 -1e3 t\n\n2 Q0 a 1 7 t\n1 Q0 c 3 0 t\n")[0]
    scores, ranks = [2.5, -1000.0, 7.0, 0.0], [1, 2, 1, 3]
    assert columns(rows) == ([b"1", b"2", b"1"], [0, 2, 3, 4], ["a", "b", "a", "c"], scores, ranks, None, [1, 3, 5, 6])
    assert (list(some(rows).at), some(rows).column(2, 4)) == ([0, 2, 4, 5], 10)
    judged = columns(check(b"1 0 a 1\n1 0 b -2\n2 0 a +3\n", kind="qrels")[0])
    assert judged == ([b"1", b"2"], [0, 2, 3], ["a", "b", "a"], None, None, [1, -2, 3], [1, 2, 3])
    ranking = check(b"1\ta\t1\n # c\n\t1\tb\t2\n2\ta\t1\n", kind="msmarco")[0]
    assert columns(ranking) == ([b"1", b"2"], [0, 2, 3], ["a", "b", "a"], None, [1, 2, 1], None, [1, 3, 4])
    assert some(ranking).line_text(1) == b"\t1\tb\t2"


@both_readers
def test_lines_count_from_the_first_one_of_the_chunk() -> None:
    assert list(some(check(GOOD + b"\n" + GOOD, first=101)[0]).lines) == [101, 103]


def test_good_lines_beside_a_bad_one_are_kept() -> None:
    found = columns(check(GOOD + b"1 Q0 b 2 abc t\n" + b"1 Q0 c 3 1 t\n")[0])
    assert found == ([b"1"], [0, 2], ["a", "c"], [2.5, 1.0], [1, 3], None, [1, 3])


def test_lines_without_data_give_no_rows() -> None:
    assert check(b"\n# c\n") == (None, [])


@both_readers
def test_white_space_and_numbers_of_any_form_give_nothing() -> None:
    lines = [
        b"  " + between.join([b"1", b"Q0", b"a", b"1", b"2.5", b"tag"]) + end
        for between in (b" ", b"\t", b"   ", b" \t\v\f")
        for end in (b"\n", b" \n", b"\t\r\n", b"\r\n")
    ]
    scores = (b"+.5", b"5.", b"-0", b"1E-400", b"0.1234567890123456789012345", b"1e+05")
    lines += [b"1 Q0 a 01 " + score + b" t\n" for score in scores]
    assert {line: brief(check(line * 2)[1]) for line in lines} == dict.fromkeys(lines, "")


def test_an_infinite_score_is_kept() -> None:
    assert columns(check(GOOD + b"1 Q0 b 2 -inf t\n")[0])[3] == [2.5, -np.inf]


def test_a_rank_that_is_no_whole_number_is_marked() -> None:
    rows = some(check(GOOD + b"1 Q0 b 1.5 2 t\n" + GOOD)[0])
    assert rows.unranked is not None
    assert (columns(rows)[4], rows.unranked.tolist()) == ([1, 0, 1], [False, True, False])


def test_several_lines_in_one_are_no_row() -> None:
    rows, findings = check(GOOD + b"1 Q0 b 2 1 t\r1 Q0 c 3 0 t\n")
    assert (some(rows).docids.text(), findings) == (["a"], [])  # the carriage return is a finding of the file


@both_readers
def test_a_number_with_thousands_of_zeros_is_that_number() -> None:
    # int() refuses more than 4,300 digits.
    for kind, line, at in (("run", b"1 Q0 a %b1 9 t\n", 4), ("msmarco", b"1 a %b1\n", 4), ("qrels", b"1 0 a %b1\n", 5)):
        rows, findings = check(line % ZEROS, kind=kind)
        assert (columns(rows)[at], findings) == ([1], [])
    read: dict[bytes, tuple[Any, object]] = {
        b"1 0 a %b1\n": (te.read_qrels, {"1": {"a": 1}}),
        b"1 0 a -%b7\n": (te.read_qrels, {"1": {"a": -7}}),
        b"1 Q0 a %b1 9 t\n": (te.read_run, {"1": {"a": 9.0}}),
        b"1\ta\t%b1\n": (te.read_run, {"1": {"a": -1.0}}),  # the negative rank
    }
    assert {line: reads(io.BytesIO(line % ZEROS)).to_dict() for line, (reads, _) in read.items()} == {
        line: expected for line, (_, expected) in read.items()
    }


@both_readers
def test_a_label_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(InputError, match="does not fit in 64 bits"):
        te.read_qrels(io.BytesIO(b"1 0 a " + b"9" * 5000 + b"\n"))


# -- findings ------------------------------------------------------------------------------------------------------

SCORES = {
    "abc": "R103", "2.5x": "R103", "NaN": "R104", "-inf": "R105", "2,5": "R106", "1e999": "R107", "1_0": "R108",
    "0x1A": "R108",
}  # fmt: skip

# What C reads of them is what glibc's strtod gives, printed with %.15g.
READ_BY_C = {
    "infinite": "inf", "info": "inf", "-infx": "-inf", "inf,5": "inf", "nano": "nan", "nan(1)": "nan", "0x1Az": "26",
    "-0x.8p1q": "-1", "0x1p99999x": "inf", "-0x1p99999x": "-inf", "0x": "0", "1e+": "1", "x1": "0",
}  # fmt: skip

# What trec_eval reads of 0.5, 1.5 and x was tried: 0, 1 and 0. The others are what glibc's strtol gives.
LABELS_BY_C = {
    "0.5": 0, "1.5": 1, "x": 0, "1_0": 1, "-0003x": -3, "99999999999999999999x": 9223372036854775807,
    "-99999999999999999999x": -9223372036854775808,
}  # fmt: skip

RUN: dict[str, tuple[bytes, str]] = {
    "no second column": (GOOD + b"1 b 2 1.5 t\n", "2:12 R101"),
    "no second column, a rank that is not whole": (GOOD + b"1 b 2.5 1.5 t\n", "2:14 R101"),
    "no rank or score": (GOOD + b"1 Q0 b 1.5 t\n", "2:13 R101"),
    "no rank or score, and 0 for Q0": (GOOD + b"1 0 b 2 t\n", "2:10 R101"),
    "another column": (GOOD + b"1 Q0 b t x\n", "2:11 R101"),
    "two fields": (GOOD + b"1 Q0  \n", "2:5 R101"),
    "four fields": (GOOD + b"1 Q0 b 2\n", "2:9 R101"),
    "a space that separates nothing": (GOOD + "1 Q0 ä\u00a01 2.5 t\n".encode(), "2:15 R101"),
    "no tag": (GOOD + b"1 Q0 b 2 1.5\n", "2:13 R118"),
    "spaces in the tag, twice": (b"1 Q0 a 1 2.5 my tag\n1 Q0 b 2 1.5 my tag\n", "1:17 R102"),
    "spaces in a tag that ends with the first": (GOOD + b"1 Q0 b 2 1.5 t x t\n", "2:16 R102"),
    "a tag of 95 words": (GOOD + b"1 Q0 b 2 1.5" + b" t" * 95 + b"\n", "2:16 R102"),
    "a tag of 96 words": (GOOD + b"1 Q0 b 2 1.5" + b" t" * 96 + b"\n", "2:16 R102"),
    "two lines in one": (GOOD + b"1 Q0 b 2 2 tq2 Q0 e 1 9 t\n", "2:16 R101"),
    "two lines in one, with a space": (GOOD + b"1 Q0 b 2 2 t q2 Q0 e 1 9 t\n", "2:14 R101"),
    "two lines in one, with spaces in tags": (GOOD + b"1 Q0 b 2 2 my tq2 Q0 e 1 9 my t\n", "2:15 R101"),
    "three lines in one": (GOOD + b"1 0 b 2 2 t1 0 c 3 1 t1 0 d 4 0 t\n", "2:14 R101"),
    "a line cut off before a number, and another": (GOOD + b"1 Q0 b 2 13 Q0 e 1 9 t\n", "2:16 R101"),
    "a line cut off in the second column, and another": (GOOD + b"1 Q02 Q0 e 1 9 t\n", "2:16 R101"),
    "a number in a tag": (GOOD + b"1 Q0 b 2 1.5 t 1 0.9\n", "2:16 R102"),
    "a tag that could be a line": (GOOD + b"1 Q0 b 2 1.5 t x y 1 0.9 z\n", "2:16 R102"),
    "a space in a document's id": (GOOD + b"1 Q0 New York 2 1 t\n", "2:19 R101"),
    "two spaces in a document's id": (GOOD + b"1 Q0 .I 1 2 3 1.5 t\n", "2:15 R101"),
    "a number in a document's id": (GOOD + b"1 Q0 .I 1 2 1.5 t\n", "2:17 R101"),
    "a document's id, or a tag of two words": (GOOD + b"1 Q0 .I 1 2 1 t\n", "2:13 R111, 2:15 R102"),
    "a space in a query's id": (GOOD + b"new york Q0 b 2 1.5 t\n", "2:21 R101"),
    "an index on one line": (GOOD + b"7 1 Q0 b 2 1.5 t\n", "2:16 R101"),
    "a space in an id between tabs": (GOOD + b"1\tQ0\tNew York\t2\t1\tt\n", "2:1 F020"),
    "another tag": (GOOD + b"1 Q0 b 2 1.5 u\n", "2:14 R111"),
    "two other tags": (GOOD + b"1  Q0 b 2 1.5 u\n2 Q0 b 2 1.5 v\n", "2:15 R111"),
    "a tag that begins like the first": (GOOD + b"\n1 Q0  b 2 1.5 t2\n", "3:15 R111"),
    # Seven fields with six spaces, and six with four: five a line, as if both had six fields.
    "a vertical tab that separates": (GOOD + b"1 Q0 b 2 2 x t\n1 Q0 c\v3 1 t\n", "2:12 R111, 2:14 R102"),
    "a form feed that separates": (GOOD + b"1 Q0 b 2 2 x t\n1 Q0 c\f3 1 t\n", "2:12 R111, 2:14 R102"),
    "a carriage return that separates": (GOOD + b"1 Q0 b 2 2 x t\n1 Q0 c\r3 1 t\n", "2:12 R111, 2:14 R102"),
    "a long tag": (b"1 Q0 a 1 2 %b\n1  Q0 b 2 1 %b\n" % (b"t" * 65, b"t" * 65), ""),
    "another long tag": (b"1 Q0 a 1 2 %b\n1  Q0 b 2 1 %bu\n" % (b"t" * 65, b"t" * 64), "2:13 R111"),
    "a rank of words": (GOOD + b"1 Q0 b first 2 t\n", "2:8 R109"),
    "a rank with a fraction": (GOOD + b"1 Q0 b 1.5 2 t\n", "2:8 R109"),
    "the largest rank": (GOOD + b"1 Q0 b 9223372036854775807 2 t\n", ""),  # 2**63 - 1
    "a rank beyond 64 bits": (GOOD + b"1 Q0 b 9223372036854775808 2 t\n", "2:8 R109"),
    "the lowest rank": (GOOD + b"1 Q0 b -9223372036854775808 2 t\n", ""),
    "a rank below 64 bits": (GOOD + b"1 Q0 b -9223372036854775809 2 t\n", "2:8 R109"),
    "a header": (b"# c\nquery_id iter doc_id rank score run_id\n" + GOOD, "2:1 R110"),
    "a header in the middle": (GOOD + b"qid Q0 docid rank score tag\n" + GOOD, "2:1 R110"),
    "a header without Q0 in the middle": (GOOD + b"qid docid rank score tag\n" + GOOD, "2:1 R110"),
    "two known names of four": (GOOD + b"qid docid a b\n", "2:1 R110"),
    "two known names of five": (GOOD + b"qid docid a b c\n", "2:16 R101"),
    "names with a number": (b"qid Q0 docid rank 1.5 tag\n", "1:14 R109"),
    "names, and a digit where the score is": (
        GOOD + b"qid Q0 docid rank score1 tag\n",
        "2:14 R109, 2:19 R103, 2:26 R111",
    ),
    "shifted columns": (b"0 1 Q0 d1 1 2.5 tag\n1 1 Q0 d2 2 1.5 tag\n", "1 R116"),
    "shifted columns with numbers": (b"0 1 Q0 77 1 2.5 tag\n1 1 Q0 78 2 1.5 tag\n", "1 R116"),
    "shifted columns without tag": (b"0 1 Q0 77 1 2.5\n1 1 Q0 78 2 2.5\n", "1 R116"),
    "shifted columns, tabs": (b"0\t1\tq0\t77\t1\t2.5\ttag\n", "1 R116"),
    "shifted columns under a header": (b" query q0 docid rank score tag\n0 1 Q0 77 1 2.5 tag\n", "1 R116"),
    "documents named Q0": (b"1 Q0 Q0 1 2.5 t\n2 0 Q0 1 2.5 t\n", ""),
    "quotes": (b'"1" "Q0" "a" "1" "2.5" "t"\n', "1 R117"),
    "quotes around texts": (b"'1' Q0 'a' 1 2.5 't'\n", "1 R117"),
    "quotes under a header": (b'qid Q0 docid rank score tag\n"1" Q0 "a" 1 2.5 "t"\n', "1 R117"),
    "quotes on all lines but two": (GOOD + b"1 Q0 b 2 2 t\n" + b'"1" Q0 "c" 3 1 "t"\n', "3:16 R111"),
    "an apostrophe in an id": (b"1 Q0 'tis 1 2.5 t\n" + GOOD, ""),
    "quotes around several fields": (b'"1 Q0 a" 1 2.5 t\n' + GOOD, ""),
    "quotes around the document only": (b'1 Q0 "a" 1 2.5 t\n' + GOOD, ""),
    "commas": (b"\n" + b"1,Q0,a,1,2.5,t\n" * 30, "2 R112"),
    "commas and spaces": (b"1, Q0, a, 1, 2.5, t\n" * 30, "1 R112"),
    "semicolons": (b"1;Q0;a;1;2,5;t\n" * 30, "1 R112"),
    "bars": (b"1|Q0|a|1|2.5|t\n" * 30, "1 R112"),
    "two commas": (b"1,a,1\n", "1 R112"),
    "one comma": (b"1,a\n", "1:4 R101"),
    "an MS MARCO run": (b"1\ta\t1\n" * 9, "1 R113"),
    "HTML": (b"<html>\n<body>\n", "1 R113"),
    "JSON": (b'[{"qid": 1},\n{"qid": 2}]\n', "1 R113"),
    "three lines of a letter": (b"Dear all\nthis is my run\nsee below\n", "1 R113"),
    "two lines of a letter": (b"Dear all\nthis is my run\n", "1:9 R101, 2:15 R101"),
    "three lines of one word": (b"Dear\nall\nbelow\n", "1 R113"),
    "three lines of six words, and one line of a run": (
        b"a b c d e f\n" * 3 + GOOD,
        "1:7 R109, 1:9 R103, 2:7 R109, 2:9 R103, 3:7 R109, 3:9 R103, 4:14 R111",
    ),
    "judgments": (JUDGED * 9, "1 R114"),
    "no tag on any line": (b"1 Q0 a 1 2.5\n" * 3, "1:13 R118, 2:13 R118, 3:13 R118"),
    "five fields, the fourth one a number": (b"1 Q0 b 2 t\n" * 3, "1:11 R101, 2:11 R101, 3:11 R101"),
    "five fields, the last one a number": (b"1 Q0 b t 2\n" * 3, "1:11 R101, 2:11 R101, 3:11 R101"),
    "five words": (b"a b c d e\n" * 3, "1 R113"),
}
RUN |= {f"score {score}": (GOOD + f"1 Q0 ä 2 {score} t\n".encode(), f"2:10 {SCORES[score]}") for score in SCORES}
RUN |= {f"read by C: {score}": (GOOD + f"1 Q0 b 2 {score} t\n".encode(), "2:10 R103") for score in READ_BY_C}

OTHERS: dict[str, dict[str, tuple[bytes, str]]] = {
    "qrels": {
        "quotes": (b"'1' 0 'a' 1\n", ""),
        "two lines in one": (JUDGED + b"1 0 b 12 0 c 1\n", "2:10 Q301"),
        "three lines in one": (JUDGED + b"1 0 b 12 0 c 13 0 d 1\n", "2:10 Q301"),
        "a space in an id between tabs": (JUDGED + b"1\t0\tNew York\t1\n", "2:1 F020"),
        "a sample": (b"1 0 a 2 1\n1 0 b 2 0\n", "1 R113"),
        "preferences": (JUDGED + b"1 g h b 1\n", "2:9 Q301"),
        "no label": (JUDGED + b"1 0 b\n", "2:6 Q301"),
        "five fields": (JUDGED + b"1 0 b c 1\n", "2:9 Q301"),
        "a hundred fields": (JUDGED + b"1 " * 100 + b"\n", "2:9 Q301"),
        "a hundred and one fields": (JUDGED + b"1 " * 101 + b"\n", "2:9 Q301"),
        "a million fields": (JUDGED + b"1 " * 1_000_000 + b"\n", "2:9 Q301"),
        "one field": (JUDGED + b"1\n", "2:2 Q301"),
        "no iteration": (JUDGED + b"1 b 1\n", "2:6 Q305"),
        "no iteration anywhere": (b"1 a 1\n1 b 0\n", "1 Q305"),
        "a label beyond 64 bits": (JUDGED + b"1 0 b 9223372036854775808\n", "2:7 Q303"),
        "a header": (b"qid iteration docid rel\n" + JUDGED, "1:1 Q304"),
        "a header in the middle": (JUDGED + b"qid iteration docid rel\n" + JUDGED, "2:1 Q304"),
        "a run": (GOOD * 9, "1 R114"),
        "BEIR's judgments": (b"query-id\tcorpus-id\tscore\n1\ta\t1\n", "1 R113"),
        **{f"label {label}": (JUDGED + f"1 0 b {label}\n".encode(), "2:7 Q302") for label in LABELS_BY_C},
    },
    "msmarco": {
        "two lines in one": (b"1 a 1\n1 b 22 c 1\n", "2:8 R101"),
        "two lines in one, with a space": (b"1 a 1\n1 b 2 2 c 1\n", "2:7 R101"),
        "a run's line": (b"1 a 1\n1 Q0 b 2 2.5 t\n", "2:8 R101"),
        "a run's line of numbers": (b"1 a 1\n1 Q0 7 2 2.5 3\n", "2:8 R101"),
        "a rank with a fraction": (b"1 a 1\n1 b 1.5\n", "2:5 R115"),
        "a header in the middle": (b"1\ta\t1\nqid\tdocid\trank\n1\ta\t1\n", "2:1 R110"),
        "a run": (GOOD * 9, "1 R113"),
    },
    "judged-ranking": {"a run": (GOOD * 9, "1 R114")},
}


@pytest.mark.parametrize("kind", ["run", *OTHERS])
def test_what_is_wrong_with_lines_is_found_by_both_readers(
    kind: str, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    cases = {"run": RUN, **OTHERS}[kind]
    found = []
    for reader in READERS:
        use_reader(monkeypatch, reader)
        found.append({name: check(text, kind=kind)[1] for name, (text, _) in cases.items()})
    assert found[0] == found[1]
    assert briefs(found[0]) == {name: expected for name, (_, expected) in cases.items()}
    assert words(found[0]) == snapshot


def test_a_finding_names_the_number_that_c_reads() -> None:
    reads = {score: f"and trec_eval reads {read}. Write" for score, read in READ_BY_C.items()}
    reads |= {
        "2.5x": "and trec_eval reads 2.5. Write",
        "2,5": "reads 2. Write 2.5.",
        "1_0": "is 10 in Python, and 1 in",
    }
    assert {s: str(check(GOOD + f"1 Q0 b 2 {s} t\n".encode())[1][0]) for s, read in reads.items()
            if read not in str(check(GOOD + f"1 Q0 b 2 {s} t\n".encode())[1][0])} == {}  # fmt: skip
    for label, number in LABELS_BY_C.items():
        (finding,) = check(JUDGED + f"1 0 b {label}\n".encode(), kind="qrels")[1]
        assert f"and trec_eval reads {number}. " in str(finding)


def test_spaces_in_tags_leave_the_rows() -> None:
    assert len(some(check(b"1 Q0 a 1 2.5 my tag\n1 Q0 b 2 1.5 my tag\n")[0]).docids) == 2


@both_readers
def test_a_tag_that_changes_from_one_chunk_to_the_next() -> None:
    assert brief(check(GOOD, b"2 Q0 a 1 2.5 u\n", b"3 Q0 a 1 2.5 u\n")[1]) == "2:14 R111"
    assert brief(check(GOOD, GOOD, b"3 Q0 a 1 2.5 t t\n", b"3 Q0 b 1 1.5 t t\n")[1]) == "3:16 R102"
    # Beyond the first chunk quotes and a document Q0 are what the file has, and no cause for all of its lines.
    assert brief(check(GOOD, b'"2" Q0 "Q0" 1 2.5 t\n', b"3 Q0 Q0 1 2.5 t\n")[1]) == ""


def test_after_a_cause_for_all_lines_nothing_more_is_read() -> None:
    collector, tags = Collector("f"), TagWatch()
    for first in (1, 10):
        assert rows_of(Chunk(first, JUDGED * 9), KINDS["run"], collector, tags=tags) is None
    assert tags.over
    assert collector.counts == {"R114": 1}


SWAPPED = {
    "rank and score": b"1 Q0 a 9.5 1 t\n1 Q0 b 9.5 2 t\n1 Q0 c 1 3 t\n2 Q0 a 7 1 t\n",
    "rank and score, from 0": b"1 Q0 a 9.5 0 t\n1 Q0 b 8 1 t\n1 Q0 c -1e-1 2 t\n",
    "query and document": b"a Q0 1 1 9 t\nb Q0 1 2 8 t\nc Q0 1 3 7 t\na Q0 2 1 9 t\n",
}
NOT_SWAPPED = {
    "scores that are ranks": b"1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n1 Q0 c 3 3 t\n",
    "distances": b"1 Q0 a 1 0.1 t\n1 Q0 b 2 0.2 t\n1 Q0 c 3 0.3 t\n",
    "what rises with them is not a score": b"1 Q0 a 0.1 1 t\n1 Q0 b 0.2 2 t\n1 Q0 c 0.3 3 t\n",
    "the same first document": b"1 Q0 a 1 9 t\n2 Q0 a 1 9 t\n3 Q0 a 1 9 t\n",
    "two lines": b"1 Q0 a 9.5 1 t\n1 Q0 b 8.5 2 t\n",
    "ranks from 2": b"1 Q0 a 9.5 2 t\n1 Q0 b 8.5 3 t\n1 Q0 c 7.5 4 t\n",
    "the same document twice": b"1 Q0 a 9.5 1 t\n1 Q0 b 8.5 2 t\n1 Q0 b 7.5 3 t\n",
    "a text for a score": b"1 Q0 a 9.5 1 t\n1 Q0 b 8.5 2 t\n1 Q0 c x 3 t\n",
    "two points in a score": b"1 Q0 a 9.5 1 t\n1 Q0 b 8.5 2 t\n1 Q0 c 7.5.5 3 t\n",
}


def test_two_columns_that_are_swapped_are_named_once(snapshot: SnapshotAssertion) -> None:
    found = {name: check_file(io.BytesIO(text)).findings for name, text in SWAPPED.items()}
    assert briefs(found) == dict.fromkeys(SWAPPED, "1 R119")  # not that scores are distances, or ranks not whole
    assert words(found) == snapshot
    others = {name: check_file(io.BytesIO(text)).counts["R119"] for name, text in NOT_SWAPPED.items()}
    assert others == dict.fromkeys(NOT_SWAPPED, 0)


def test_findings_beyond_the_most_are_counted() -> None:
    collector = Collector("f", most=2)
    rows_of(Chunk(1, GOOD + b"1 Q0 b 2 x t\n" * 5), KINDS["run"], collector, tags=TagWatch())
    assert (brief(collector.sorted()), collector.counts) == ("2:10 R103, 3:10 R103", {"R103": 5})


# -- kinds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "wanted", "name"),
    [
        (GOOD, None, "run"),
        (JUDGED, None, "qrels"),
        (JUDGED[:-1], None, "qrels"),
        (b"1 a 1\n", None, "msmarco"),
        (b"qid Q0 docid rank score tag\n" + GOOD, None, "run"),
        (b"# c\n\n" + JUDGED * 3 + b"broken\n", None, "qrels"),
        (JUDGED * 2 + b"broken\n", None, "qrels"),
        (JUDGED + b"broken\n", None, "run"),  # half of the lines is not most of them
        (b"x\n" * 5 + JUDGED * 15 + GOOD * 100, None, "qrels"),  # of 20 lines
        (b"x\n" * 10 + JUDGED * 11, None, "run"),
        (GOOD * 3 + b"1 Q0 a", None, "run"),
        (b"1 Q0 a 1 2,5 t\n", None, "run"),
        (b"1 0 a 0.5\n", None, "qrels"),
        (b"1 x a 0.5\n", None, "run"),
        ("1 0 a 1\n".encode("utf-16"), None, "qrels"),
        (b"\xef\xbb\xbf" + JUDGED, None, "qrels"),
        (b"1 a 1\r1 b 2\r", None, "msmarco"),
        (b"hello\n", None, "run"),
        # three columns: ranks count, labels are small and do not, scores fall
        (b"1 a 2\n1 b 0\n1 c 2\n", None, "qrels"),
        (b"1 a 3\n1 b 1\n1 c 2\n", None, "msmarco"),
        (b"1 a 10\n1 b 1\n1 c 1\n", None, "qrels"),
        (b"1 a 11\n1 b 1\n1 c 1\n", None, "run"),
        (b"1 a 11\n1 b 1\n1 c 12\n", None, "msmarco"),
        (b"1 a 1\n2 b 1\n1 c 2\n", None, "msmarco"),
        # five: judgments of a sample, or a run without a tag, whose ranks count
        (b"1 0 a 2 1\n1 0 b 2 0\n", None, "qrels"),
        (b"1 0 a top 1\n1 0 b rest 0\n", None, "qrels"),
        (b"1 0 a 0.5 1\n1 0 b 0.25 0\n", None, "run"),
        (b"1 0 a 1 2\n1 0 b 2 1\n", None, "run"),
        (JUDGED, "run", "run"),
        (b"1 a 1\n", "run", "msmarco"),
        (GOOD, "qrels", "qrels"),
        (JUDGED, "judged-ranking", "judged-ranking"),
    ],
)
def test_a_file_is_recognised_by_its_first_lines(head: bytes, wanted: str | None, name: str) -> None:
    assert recognised(lines_of(head), wanted).name == name


def test_a_text_that_is_neither_run_nor_judgments_looks_like_nothing() -> None:
    heads = [b"", b"hello\n", b"MAP = 0.25\n", b"query-id\tcorpus-id\tscore\n1\ta\t1\n", b"\0\1\2"]
    assert [head for head in heads if form_of(lines_of(head))] == []


# -- all of it -----------------------------------------------------------------------------------------------------


# Lines as `wc -l` counts them.
REAL = {
    "robust03/input.NLPR03vb10.gz": ("run", 1_004),
    "msmarco/qrels.msmarco-passage.dev-subset.txt": ("qrels", 7_437),
    "trec_eval-test/results.test": ("run", 1_500),
}


@needs_shared
@both_readers
def test_all_lines_of_clean_files_are_read() -> None:
    for name, (kind, lines) in REAL.items():
        collector, tags, count = Collector(name), TagWatch(), 0
        for chunk in chunks(SHARED / name, collector):
            assert recognised(lines_of(chunk.text)).name == kind
            count += len(some(rows_of(chunk, KINDS[kind], collector, tags=tags)).docids)
        assert (collector.sorted(), count) == ([], lines), name


def test_each_code_of_lines_and_files_has_its_test() -> None:
    recorded = Path(__file__).parent / "__snapshots__"
    text = "".join((recorded / f"test_checking_{name}.ambr").read_text("utf-8") for name in ("lines", "reading"))
    text += Path(__file__).with_name("test_checking_reading.py").read_text("utf-8")  # whose paths are not recorded
    assert [code for code in CODES if re.match("F|R10|R11|Q30", code) and f" {code}: " not in text] == []


def test_a_compressed_run_gives_the_rows_of_a_plain_one() -> None:
    collector = Collector("f")
    (chunk,) = chunks(io.BytesIO(gzip.compress(GOOD)), collector)
    assert some(rows_of(chunk, KINDS["run"], collector, tags=TagWatch())).docids.text() == ["a"]
