"""A whole check: thirty kinds of findings in one pass, nothing about clean files, and what a run would score otherwise."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from findings import brief, briefs, words
from refused import refusal
from shared import SHARED, needs_shared
from syrupy.assertion import SnapshotAssertion

import treceval_py as te
from treceval_py.checking import CODES
from treceval_py.checking.checking import Checked, check

DATA = Path(__file__).parent.parent / "data"


def checked(lines: bytes, qrels: bytes | None = None, **options: Any) -> Checked:
    return check(None if qrels is None else io.BytesIO(qrels), io.BytesIO(lines), **options)


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


@needs_shared
@pytest.mark.parametrize("name", TRUE_OF_ROBUST)
def test_the_runs_of_robust_2003_give_what_is_true_of_them(name: str) -> None:
    folder = SHARED / "robust03"
    assert told(check(folder / "qrels.txt.gz", folder / name)) == TRUE_OF_ROBUST[name]


@needs_shared
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


@needs_shared
@pytest.mark.parametrize("name", TRUE_OF_TREC_EVAL)
def test_the_other_test_files_of_trec_eval_give_what_is_true_of_them(name: str) -> None:
    assert set(check(SHARED / "trec_eval-test" / name).counts) == TRUE_OF_TREC_EVAL[name]


def test_the_files_of_this_project_give_what_is_true_of_them() -> None:
    # Scores of few words are often the same.
    true = {"qrels.tsv": "", "runs/minilm.txt": "", "runs/bm25.txt": "14:15 R130", "runs/jaccard.txt": "15:14 R130"}
    assert {name: brief(check(DATA / name).findings) for name in true} == true


# --- the file as a whole ---

BEIR = b"query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t7\n"
JUDGMENTS = b"1 0 a 1\n1 0 b 0\n2 0 a 1\n"
COMMAS = b"1,Q0,a,1,2.5,t\n" * 3
CONTRADICTING = b"1 Q0 a 2 9 t\n1 Q0 b 1 8 t\n"
DISTANCES = b"".join(b"1 Q0 %c %d %d.5 t\n" % (97 + rank, rank + 1, rank) for rank in range(4))
BAD = b"1 Q0 a 1 nan t\n1 Q0 b 2 high t\n"
SCATTERED = b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 a 2 2 t\n2 Q0 b 2 2 t\n2 Q0 b 3 2 t\n"
"""In query 1 a comes again with another score, in query 2 b with the same one."""

WHOLE: dict[str, tuple[bytes, bytes | None, dict[str, Any], str]] = {
    "a JSON run": (b'{"1": {"a": 2.5}}', None, {}, "F018"),
    "a JSON run that cannot be read": (b'{"1": {"a": "high"}}', None, {}, "F002"),
    "JSON judgments": (b'{"1": {"a": 1}}', None, {"kind": "qrels"}, "F018"),
    "BEIR's judgments": (BEIR, None, {}, "F018"),
    "BEIR's judgments, as judgments": (BEIR, None, {"kind": "qrels"}, "F018"),
    "BEIR's judgments, as a run": (BEIR, None, {"kind": "run"}, "1 R114"),
    "BEIR's judgments and a scale": (BEIR, None, {"scale": (0, 3)}, "F018, Q312"),
    "BEIR's judgments and a wider scale": (BEIR, None, {"scale": (0, 7)}, "F018"),
    "BEIR's judgments in the place of a run": (BEIR, JUDGMENTS, {}, "1 R114"),
    "the same fault on each line": (b"1,Q0,a,1,2.5,t\n" * 100_000, None, {}, "1 R112"),
    # lines of queries that are not together
    "documents that are repeated": (SCATTERED, None, {"select": ["R12"]}, "3:1 R122, 3:6 R121, 5:6 R120"),
    "a judgment that is repeated": (b"1 0 a 1\n2 0 a 1\n1 0 b 1\n2 0 a 0\n", None, {}, "3 Q315, 4:7 Q311"),
    "labels and ids of judgments": (
        b"37.1 0 a 1\n37_1 0 a -1\n37.1 0 b -3\n",
        None,
        {},
        "2 Q313, 2 Q314, 2:1 Q316, 3 Q315, 3:10 Q312",
    ),
    "a judged ranking": (
        b"1 Q0 a 1\n2 Q0 a 1\n1 Q0 b 1\n",
        JUDGMENTS,
        {"kind": "judged-ranking"},
        "3 Q315, 3:8 X210",
    ),
    # 37_1 is not judged but looks like 37.1; 7 is not judged either; and 9 is missing.
    "a run beside judgments": (
        b"1 Q0 a 1 3 t\n37_1 Q0 c 1 3 t\n7 Q0 c 1 3 t\n1 Q0 b 2 2 t\n",
        b"1 0 a 1\n37.1 0 c 1\n9 0 c 1\n",
        {"select": ["X"]},
        "2 X203, 2:1 X204, X202",
    ),
    # judgments beside judgments
    "judgments without a query in common": (b"1 0 a 1\n", b"7 0 a 0\n", {}, ""),
    "judgments, as judgments": (b"1 0 a 1\n", b"7 0 a 0\n", {"kind": "qrels"}, ""),
    "judgments that contradict themselves": (b"1 0 a 1\n1 0 a 0\n", b"7 0 a 1\n", {}, "2:7 Q311"),
    # what is looked for
    "an empty file": (b"", None, {"select": ["Q310"]}, "F001"),
    "NUL bytes": (b"1 Q0 d\x001 1 2 t\n" * 3, None, {"select": ["Q310"]}, "1:7 F005"),
    "a zip archive": (b"PK\x03\x04", None, {"select": ["Q310"]}, "F006"),
    "damaged gzip": (gzip.compress(b"1 Q0 a 1 2 t\n" * 100)[:-9], None, {"select": ["Q310"]}, "101 F007"),
    "the end of a line is missing": (b"1 Q0 a 1 2 t\n1 Q0 b", None, {"select": ["Q310"]}, "2 F021"),
    "a comment": (b"# nothing\n", None, {"select": ["Q310"]}, "F017"),
    "commas": (COMMAS, None, {"select": ["Q310"]}, "1 R112"),
    "HTML": (b"<html>\n<body>\n", None, {"select": ["Q310"]}, "1 R113"),
    "judgments for a run": (b"1 0 a 1\n", None, {"select": ["Q310"], "kind": "run"}, "1 R114"),
    "shifted columns": (b"0 1 Q0 a 1 2 t\n1 1 Q0 b 2 1 t\n", None, {"select": ["Q310"]}, "1 R116"),
    "commas, and the beginning of their code": (COMMAS, None, {"ignore": ["R", "R11"]}, "1 R112"),
    "commas, and their code": (COMMAS, None, {"ignore": ["R112"]}, ""),
    "commas, and the name of their code": (COMMAS, None, {"ignore": ["separated-by-commas"]}, ""),
    "one code": (BAD, None, {"select": ["R104"]}, "1:10 R104"),
    "one code in small letters": (BAD, None, {"select": ["r104"]}, "1:10 R104"),
    "all but one code": (BAD, None, {"select": ["R"], "ignore": ["R104"]}, "2:10 R103"),
    "all but one name": (BAD, None, {"ignore": ["Score-NaN"]}, "2:10 R103"),
    "all but some codes": (BAD, None, {"ignore": ["R10"]}, ""),
    "a name of two codes": (SCATTERED, None, {"select": ["queries-interleaved"]}, "3:1 R122"),
    "a name of two codes, of judgments": (
        b"1 0 a 1\n2 0 a 1\n1 0 b 1\n",
        None,
        {"select": ["queries-interleaved"]},
        "3 Q315",
    ),
    # what the run would score otherwise; in the first the relevant c is third by the scores and by the ranks
    "ranks that change no value": (CONTRADICTING + b"1 Q0 c 3 7 t\n", b"1 0 c 1\n", {}, "1:8 R123"),
    "the value by ranks alone": (CONTRADICTING, b"1 0 b 1\n", {"select": ["X208"]}, "X208"),
    "a rank of 0": (CONTRADICTING + b"2 Q0 c 0 7 t\n", b"1 0 b 1\n2 0 c 1\n", {}, "1:8 R123, 3:8 R124"),
    "a rank of -1": (CONTRADICTING + b"2 Q0 c -1 7 t\n", b"1 0 b 1\n2 0 c 1\n", {}, "1:8 R123, 3:8 R124"),
    "distances, the best one first": (DISTANCES, b"1 0 a 0\n1 0 d 1\n", {"select": ["X209"]}, ""),
    "distances, none relevant": (DISTANCES, b"1 0 a 0\n1 0 x 1\n", {"select": ["X209"]}, ""),
    "distances, only values": (DISTANCES, b"1 0 a 1\n", {"select": ["X209"]}, "X209"),
    "distances, all that is beside judgments": (DISTANCES, b"1 0 a 1\n", {"select": ["X"]}, "X208, X209"),
    # With a document twice the run cannot be scored, even if that error is left out.
    "distances, and an error that is ignored": (
        b"".join(b"1 Q0 %c 0 %d t\n" % (97 + rank, rank) for rank in range(6)) + b"1 Q0 f 0 5 t\n",
        b"1 0 a 1\n",
        {"ignore": ["R120"]},
        "1:8 R125, 1:10 R129",
    ),
    "distances, and an error that is not selected": (
        b"".join(b"1 Q0 %c 0 %d t\n" % (97 + rank, rank) for rank in range(6)) + b"1 Q0 f 0 5 t\n",
        b"1 0 a 1\n",
        {"select": ["X"]},
        "",
    ),
}


def test_a_whole_file_gives_what_is_true_of_it(snapshot: SnapshotAssertion) -> None:
    found = {name: checked(lines, qrels, **options) for name, (lines, qrels, options, _) in WHOLE.items()}
    findings = {name: each.findings for name, each in found.items()}
    assert briefs(findings) == {name: expected for name, (_, _, _, expected) in WHOLE.items()}
    assert {name: each.counts for name, each in found.items() if each.counts.total() != len(each.findings)} == {}
    assert words(findings) == snapshot


@pytest.mark.parametrize(
    ("lines", "options", "unread"),
    [
        (COMMAS, {"ignore": ["R112"]}, "R112"),
        (b"1 a 1\n1 b 2\n1 c 3\n", {"kind": "qrels", "select": ["Q31"]}, "Q305"),
        (BEIR, {"kind": "qrels"}, ""),
        (b"1 Q0 a 1 nan t\n", {}, ""),
        (b"1 Q0 a 1 2 t\n1 Q0 b\x00 2 1 t\n", {}, ""),
        (CONTRADICTING + b"2 Q0 c 0 7 t\n", {}, ""),
    ],
)
def test_it_is_known_why_a_file_was_not_read_to_its_end(lines: bytes, options: dict[str, Any], unread: str) -> None:
    assert checked(lines, **options).unread == unread


def test_the_kind_of_a_file_is_recognised() -> None:
    kinds = {"run": b"1 Q0 a 1 2.5 t\n", "msmarco": b"1\ta\t1\n", "qrels": b"1 0 a 1\n"}
    found = {name: checked(line, b"7 0 a 0\n" if name == "qrels" else None).kind for name, line in kinds.items()}
    assert [each and each.name for each in found.values()] == list(kinds)
    assert checked(BEIR, kind="qrels").kind is None


@pytest.mark.parametrize("qrels", [None, b"1 0 a 1\n"])
def test_a_file_that_is_not_there_is_a_finding_whatever_is_selected(qrels: bytes | None) -> None:
    found = check(None if qrels is None else io.BytesIO(qrels), "no/such/run.txt", select=["R1"])
    assert [str(each) for each in found.findings] == ["no/such/run.txt: error F002: no such file. Check the name."]
    assert (found.kind, found.lines, found.shape, found.unread) == (None, 0, None, "F002")


def test_findings_beyond_the_most_are_counted() -> None:
    found = checked(b"".join(b"1 Q0 d%d %d nan t\n" % (n, n) for n in range(1, 201)), most=3)
    assert [each.line for each in found.findings if each.code == "R104"] == [1, 2, 3]
    assert (found.counts["R104"], found.errors, found.warnings) == (200, 200, 0)
    commented = checked(b"# c\n" + b"1 Q0 a 1 nan t\n" * 1000, most=1)
    assert repr(commented) == "<Checked '<file>': 1,000 errors, 0 warnings, 1 note in 1,001 lines>"


@pytest.mark.parametrize(
    "options",
    [
        {"select": "R2"},
        {"ignore": "R104"},
        {"select": ["Z9"]},
        {"ignore": [104]},
        {"select": [""]},
        {"ignore": ["score-nam"]},
        {"most": -1},
        {"most": 1.5},
        {"scale": (0,)},
        {"scale": (0, 1, 2)},
        {"scale": "0-3"},
        {"scale": (3, 0)},
        {"scale": (0, "3")},
        {"kind": "runs"},
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(te.errors.EvaluationError) as refused:
        checked(b"1 Q0 a 1 2 t\n", **options)
    assert str(refused.value) == snapshot


def test_options_at_their_limits_are_taken() -> None:
    assert checked(b"1 0 a 3\n", scale=(3, 3), most=0).findings == []


def test_a_compressed_run_from_a_pipe_is_checked_like_any_other() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    lines = b"1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 a 2 nan t\n"
    assert told(check(Pipe(gzip.compress(lines)))) == told(check(io.BytesIO(lines)))


# --- what the run would score otherwise ---

# Of CONTRADICTING b is second by score, 1/2, and first by rank, 1. DISTANCES are d, c, b, a by score, so that AP is 1/4
# if a is relevant, and 1 the other way round. Judged queries that the run lacks count as 0, and others do not count.
OTHERWISE = [
    (CONTRADICTING, b"1 0 b 1\n", 1 / 2, 1),
    (CONTRADICTING, b"1 0 b 1\n2 0 c 1\n3 0 c 1\n4 0 c 1\n", 1 / 2 / 4, 1 / 4),
    (CONTRADICTING + b"7 Q0 c 1 3 t\n", b"1 0 b 1\n2 0 c 1\n", 1 / 2 / 2, 1 / 2),
    (DISTANCES, b"1 0 a 1\n", 1 / 4, 1),
    (DISTANCES, b"1 0 a 1\n2 0 x 1\n", 1 / 4 / 2, 1 / 2),
]


@pytest.mark.parametrize(("lines", "qrels", "value", "other"), OTHERWISE)
def test_it_says_what_the_run_would_score_otherwise(lines: bytes, qrels: bytes, value: float, other: float) -> None:
    by_rank = f"RR@10 is {value:.4f} by the scores, and {other:.4f} by the rank column, which MS MARCO's script uses"
    turned = f"AP is {value:.4f}, and would be {other:.4f} with the lowest score first"
    said = turned if lines == DISTANCES else by_rank
    assert said in [each.what for each in checked(lines, qrels).findings]


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
    found = check(None if qrels is None else io.BytesIO(qrels), io.BytesIO(lines), kind=kind)
    assert code in found.counts


def test_judgments_come_first_and_one_argument_is_checked_alone(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 t\n")
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    assert "X202" in check(qrels, run).counts
    assert check(None, run) == check(run) == check(run=run)
    assert check(run).kind.name == "run"  # type: ignore[union-attr]
    assert check(qrels).kind.name == "qrels"  # type: ignore[union-attr]
    assert refusal(check) == "EvaluationError: there is nothing to check. Give judgments, a run, or both."
    assert refusal(check, run, qrels).endswith(
        "this is a run, not judgments. Are the two files swapped? The order is QRELS RUN."
    )
