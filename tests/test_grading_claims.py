"""Claims: which lines of a file are claims, which numbers they have, and tables of a class."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import InputError, MeasureError, UnknownMeasureError
from treceval_py.grading.claims.claims import Claimed, claimed, claims_in, claims_of, claims_of_class
from treceval_py.grading.claims.documents.document import Document, Line
from treceval_py.grading.claims.naming import measure_named


def read(text: str) -> list[tuple[str, float, int]]:
    """Return measure, number and decimals of each claim of a text; all must be readable."""
    found = claims_in(text.encode(), "claims.txt")
    assert [each.fault for each in found] == [""] * len(found)
    return [(each.claim.measure.notation, each.claim.value, each.claim.digits) for each in found if each.claim]


# --- lines ---


CLAIMS: dict[str, dict[str, list[tuple[str, float, int]]]] = {
    "a line": {
        "MAP = 0.75185": [("AP", 0.75185, 5)],
        "MAP=0.75185": [("AP", 0.75185, 5)],
        "nDCG@10: 0.41": [("nDCG@10", 0.41, 2)],
        "map                   \tall\t0.1234": [("AP", 0.1234, 4)],
        "ndcg_cut_10           \tall\t0.1234": [("nDCG@10", 0.1234, 4)],
        "- **MRR**: 0,34": [("RR", 0.34, 2)],
        "2. MRR = .5": [("RR", 0.5, 1)],
        "| P@5 | 0.200 |": [("P@5", 0.2, 3)],
        "MAP 0.75": [("AP", 0.75, 2)],
        "MAP,0.75": [("AP", 0.75, 2)],
        "MAP;0,75": [("AP", 0.75, 2)],
        "MAP = 0.5 (trec_eval, k1 = 0.9)": [("AP", 0.5, 1)],
        "MAP = 0.5. # as printed": [("AP", 0.5, 1)],
        "MAP = 3.5e-1": [("AP", 0.35, 2)],
        "MAP = \u22120.5": [("AP", -0.5, 1)],
        "AP(rel=2)@100 = 0.3": [("AP(rel=2)@100", 0.3, 1)],
        "INST(T=1, max_rel=3) = 0.164": [("INST(max_rel=3,T=1)", 0.164, 3)],
        "nDCG(gain=exp, discount=jk)@10 = 0.4": [("nDCG(discount=jk,gain=exp)@10", 0.4, 1)],
        "ndcg_1=3,2=9=0.25": [("nDCG(gains={1:3,2:9})", 0.25, 2)],
        "num_ret = 1,000": [("NumRet", 1000.0, 0)],
        "num_ret = 2": [("NumRet", 2.0, 0)],
        "MAP = 1": [("AP", 1.0, 0)],
        "MAP = 0": [("AP", 0.0, 0)],
        "num_ret: 60.000": [("NumRet", 60.0, 3)],
        "MAP = 0.81818181818181823": [("AP", 0.8181818181818182, 17)],
    },
    "several on a line": {
        "MAP = 0.5, MRR = 0.6 and P@10 = 0.3\n": [("AP", 0.5, 1), ("RR", 0.6, 1), ("P@10", 0.3, 1)],
        "MAP=0.28 NDCG@10=0.55": [("AP", 0.28, 2), ("nDCG@10", 0.55, 2)],
        "MAP: 0.28 mean reciprocal rank: 0.5": [("AP", 0.28, 2), ("RR", 0.5, 1)],
        "MAP = 0.28 | P@5 = 0.3": [("AP", 0.28, 2), ("P@5", 0.3, 1)],
        "MAP = 0.5 (k1 = 0.9 b = 0.4)": [("AP", 0.5, 1)],
    },
    "beside others": {
        "MAP (better than the baseline): 0.3": [("AP", 0.3, 1)],
        "MAP: 0.3 (baseline: 0.2)": [("AP", 0.3, 1)],
    },
    "a row for each": {
        "measure,value\nMAP,0.75\nP@5,0.2\n": [("AP", 0.75, 2), ("P@5", 0.2, 1)],
        "Measure;Value\nMAP;0,75\n": [("AP", 0.75, 2)],
        "value\tmetric\tnote\n0.75\tMAP\tours\n": [("AP", 0.75, 2)],
        "measure,value\nMAP,0.75\n\nWith regards,Ada\n": [("AP", 0.75, 2)],
        'measure,value\nMAP,"0,75"\n': [("AP", 0.75, 2)],
        "measure,query,value\nmap,301,0.1\nmap,all,0.5\n": [("AP", 0.5, 1)],
        "| Measure | Value |\n|:---|---:|\n| MAP | 0.75 |\n\nMRR = 0.5\n": [("AP", 0.75, 2), ("RR", 0.5, 1)],
    },
    "a column for each measure": {
        "| model | MAP | nDCG@10 |\n|---|---|---|\n| ours | **0.28** | 0.55 |\n": [("AP", 0.28, 2), ("nDCG@10", 0.55, 2)],
        "MAP,nDCG@10\n0.28,0.55\n": [("AP", 0.28, 2), ("nDCG@10", 0.55, 2)],
        "MAP;nDCG@10\n0,28;0,55\n": [("AP", 0.28, 2), ("nDCG@10", 0.55, 2)],
        "qid\tmap\tP_5\n1\t0.2\t0.4\nall\t0.3\t0.2\n": [("AP", 0.3, 1), ("P@5", 0.2, 1)],
        "| model | MAP |\n|---|---|\n| baseline | 0.2 |\n| ours | 0.28 |\n": [("AP", 0.28, 2)],
        "| model | MAP |\n|---|---|\n| BM25 | 0.2 |\n| ours | 0.28 |\n": [("AP", 0.28, 2)],
        "| model | MAP |\n|---|---|\n| BM25 | 0.2 |\n\nMRR = 0.5\n": [("AP", 0.2, 1), ("RR", 0.5, 1)],
        "| model | MAP |\n|---|---|\n| | 0.2 |\n| | 0.28 |\n": [],
        "| model | MAP |\n|---|---|\n| baseline | 0.2 |\n": [],
    },
    "JSON": {
        '{"map": 0.28}': [("AP", 0.28, 2)],
        '{"map": "0.280"}': [("AP", 0.28, 3)],
        '{"baseline": {"map": 0.2}, "ours": {"map": 0.28}}': [("AP", 0.28, 2)],
        '{"1": {"map": 0.2}, "2": {"map": 0.3}}': [],
        '{"1": {"map": 0.2}, "2": {"map": 0.3}, "all": {"map": 0.25}}': [("AP", 0.25, 2)],
        '[{"measure": "MAP", "value": 0.28}, {"measure": "MAP", "query": 3, "value": 0.1}]': [("AP", 0.28, 2)],
        '{"map": null, "k1": 0.9, "P@5": true}': [],
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_number_for_a_measure_is_a_claim(kind: str) -> None:
    assert {text: read(text) for text in CLAIMS[kind]} == CLAIMS[kind]


def test_a_percent_sign_is_part_of_the_number() -> None:
    (found,) = claims_in(b"MRR = 34.98 %\n", "claims.txt")
    assert found.claim is not None
    assert (found.claim.value, found.claim.digits, found.claim.percent, found.text) == (34.98, 2, True, "34.98 %")


NO_CLAIMS = [
    "", "Group: 12", "G: 3", "Q: 3", "k1 = 0.9", "b = 0.4", "alpha = 0.5", "map 301 0.1234", "map\tq1\t0.1234",
    "runid all bm25", "MAP: the mean of average precisions", "MAP", "# MAP = 0.5", "we all know", "2026-01-01",
    "| Measure | MAP | MRR |", "| MAP | 0.5 | 0.6 |", "|---|---|", "see https://example.org/MAP=0.5/x",
    "Our baseline had MAP = 0.2",
    # of others
    "MAP (baseline): 0.20", "MAP (BM25) = 0.2", "MAP [previous run] = 0.2", "MAP (of the others): 0.2",
    "MAP: 0.20 (baseline)", "| MAP (baseline) | 0.2 |", "measure,value\nMAP (baseline),0.2",
    "runid all 12", "relstring all 1", "Precision 0.31",
    # settings and differences, and misspelt names whose numbers do not look like values
    "MAP = 2", "MAP = 9", "MAP = 10", "MAP = +0.5", "MAP +0.5", "p = 0.05", "p=0.05", "p: 0.05", "p 0.05", "map 301 0.5", "MAP 2",
    "NDGC@10 = 0.12", "NDGC@10: 0.123", "ΔMPA = 0.123", "MAP 0.3 -> 0.4 -> MRR",
    # like names of other programs
    "hr: 3", "pre: 3", "set: 3", "me@10 = 3", "room@5 = 3", "look_at_5 = 3", "topics-l2 = 5",
]  # fmt: skip


def test_a_line_about_something_else_is_no_claim() -> None:
    found = {line: claims_in(line.encode(), "claims.txt") for line in NO_CLAIMS}
    assert {line: claims for line, claims in found.items() if claims} == {}


def test_places_count_the_lines_of_the_file() -> None:
    found = claims_in(b"Results\r\n\r\nMAP = 0.5\r\n\x0c\rMRR = 0.6\n", "report/claims.txt")
    assert [each.place for each in found] == ["report/claims.txt:3", "report/claims.txt:5"]
    found = claims_in(b'{\n "map": 0.5,\n "P_5": 0.5\n}\n', "claims.json")
    assert [each.place for each in found] == ["claims.json:2", "claims.json:3"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_claims_are_read_with_a_byte_order_mark(encoding: str) -> None:
    (found,) = claims_in("MAP = 0.5\n".encode(encoding), "claims.txt")
    assert (found.measure, found.text) == ("MAP", "0.5")


# --- pages ---


@pytest.mark.parametrize(
    ("page", "claims"),
    [
        ("<p>MAP = <b>0.28</b></p>", [("MAP", "0.28", 1)]),
        ("<p>Hello</p>\n<p>MAP&nbsp;=&nbsp;0.28<br>MRR: 0.3</p>", [("MAP", "0.28", 2), ("MRR", "0.3", 2)]),
        ("<table><tr><td><p>MAP</p></td><td>0.28</td></tr></table>", [("MAP", "0.28", 1)]),
        ("<!-- MAP = 0.1\n--><script>MAP = 0.2</script>MRR = 0.3", [("MRR", "0.3", 2)]),
        ("<tr><th>model<th>MAP</tr>\n<tr><td>ours<td>0.28</tr>", [("MAP", "0.28", 2)]),
    ],
)
def test_the_claims_of_a_page_are_those_that_are_seen(page: str, claims: list[tuple[str, str, int]]) -> None:
    found = claims_in(page.encode(), "onlinetext.html")
    assert [(each.measure, each.text, each.place) for each in found] == [
        (measure, text, f"onlinetext.html:{line}") for measure, text, line in claims
    ]


@pytest.mark.parametrize("text", ["<a ", "<!--", "<![CDATA[", "&#", "</"])
def test_a_quarter_of_a_mebibyte_of_markup_that_never_ends_is_read_at_once(text: str) -> None:
    begun = time.process_time()
    assert claims_in(text.encode() * ((1 << 18) // len(text)), "x.html") == []
    assert time.process_time() - begun < 5  # a minute, where each beginning is followed to the end of the file


# --- names ---


NAMES = {
    "MAP": "AP", "map": "AP", "Map@10": "AP@10", "mean average precision": "AP", "ndcg@10": "nDCG@10",
    "NDCG": "nDCG", "nDCG 10": "nDCG@10", "ndcg_cut.10": "nDCG@10", "MRR@10": "RR@10",
    "Mean Reciprocal Rank (MRR)": "RR", "precision at 5": "P@5", "p@5": "P@5", "P5": "P@5",
    "recall@100": "R@100", "Hit@10": "Success@10", "R-Precision": "Rprec", "nERR@10": "nERR@10",
    "NERR8@10": "NERR8@10", "iprec_at_recall_0.10": "IPrec@0.1",
}  # fmt: skip


def test_a_measure_is_known_by_names_that_people_write() -> None:
    assert {name: measure_named(name).notation for name in NAMES} == NAMES


def test_a_name_of_several_measures_says_so() -> None:
    with pytest.raises(MeasureError, match=r"^P stands for 9 measures\. Name one, such as P_5\.$"):
        measure_named("P")


OF_PROGRAMS = {
    "ndcg_at_10: 0.41": "nDCG@10",
    "cosine_map@100 = 0.41": "AP(norm=capped)@100",
    "NDCG:top=10 = 0.5": "nDCG(ideal=retrieved)@10",
    "RetrievalMRR(top_k=10): 0.41": "RR@10",
    "hits@10 = 0.9": "Success@10",  # as people say it, and no count
    "map@100-l2 = 0.3": "AP(rel=2)@100",
}


def test_names_of_other_programs_are_claims() -> None:
    assert {line: [notation for notation, *_ in read(line)] for line in OF_PROGRAMS} == {
        line: [notation] for line, notation in OF_PROGRAMS.items()
    }


@pytest.mark.parametrize("name", ["", "official", "k1", "MAP" * 50, "Group 3"])
def test_what_is_no_measure_is_refused(name: str) -> None:
    with pytest.raises(UnknownMeasureError):
        measure_named(name)


# --- what cannot be read ---


@pytest.mark.parametrize(
    ("line", "measure", "text", "fault"),
    [
        ("MAP = =cmd()|' /C calc'!A0", "MAP", "=cmd()|' /C calc'!A0", "'=cmd()|' /C calc'!A0' is not a number"),
        ("MAP = high", "MAP", "high", "'high' is not a number"),
        ("MAP =", "MAP", "", "there is no number"),
        ("MAP = 1e999", "MAP", "1e999", "'1e999' has more digits than a number can have"),
        ("NDGC@10 = 0.123", "NDGC@10", "0.123", "'NDGC@10' is not a measure; is NDCG@10 meant?"),
        ("MPA = 0.123", "MPA", "0.123", "'MPA' is not a measure"),  # MAP, or OPA
        ("P = 0.3", "P", "0.3", "P stands for 9 measures"),
        ("map all nan", "map", "nan", "'nan' is not a number"),
        ("Precision = 0.31", "Precision", "0.31", "measure 'Precision': Precision needs a cutoff"),
        ("Precision: 0.31", "Precision", "0.31", "measure 'Precision': Precision needs a cutoff"),
        ("MAP = 0." + "3" * 300, "MAP", f"0.{'3' * 78}…", f"'0.{'3' * 78}…' has more digits than a number can have"),
        ("MAP = \x1b[31m0.5\u202e", "MAP", "\\x1b[31m0.5\\u202e", "'\\x1b[31m0.5\\u202e' is not a number"),
    ],
)
def test_a_claim_that_cannot_be_read_says_why(line: str, measure: str, text: str, fault: str) -> None:
    assert claims_in(line.encode(), "c") == [Claimed(None, measure, text, "c:1", fault)]


@pytest.mark.parametrize(
    ("number", "digits"),
    [
        ("0." + "3" * 20, 20),
        ("0." + "3" * 21, None),
        ("3" * 20 + ".5", 1),
        ("3" * 21 + ".5", None),
        ("1e20", 0),
        ("1e21", None),
        ("3.5e-60", 20),
        ("3e-1", 1),
        ("3.5e-19", 20),
        ("35e1", 0),
        ("0.35e1", 1),
        ("1,000", 3),
    ],
)
def test_a_number_has_twenty_digits_at_most(number: str, digits: int | None) -> None:
    claim = claimed("MAP", number, "c").claim
    assert (claim and claim.digits) == digits


def test_letters_behind_a_number_make_it_none() -> None:
    (found,) = claims_in(b"MAP = 0.5\xff\n", "c")  # y with two dots in cp1252
    assert (found.text, found.fault) == ("0.5ÿ", "'0.5ÿ' is not a number")


def test_of_many_claims_the_first_two_hundred_are_read_and_the_last_says_so() -> None:
    assert {each.fault for each in claims_in(b"MAP = 0.5\n" * 200, "c")} == {""}
    found = claims_in(b"MAP = 0.5\n" * 201, "c")
    assert [len(found), found[-1].place, {each.fault for each in found[:-1]}] == [200, "c:200", {""}]
    assert found[-1].fault == "only the first 200 claims of a submission are read"
    assert found[-1].claim is not None


def test_of_names_that_may_be_misspelt_the_first_two_hundred_are_compared() -> None:
    for others, fault in ((199, "'NDGC@10' is not a measure; is NDCG@10 meant?"), (200, "")):
        found = claims_in(b"zzzzq = 0.123\n" * others + b"NDGC@10 = 0.123\n", "c")
        assert [each.fault for each in found] == [fault] * bool(fault)


def test_what_was_not_read_of_a_document_is_said_with_its_last_claim() -> None:
    lines = (Line(":1", "MAP = 0.5"), Line(":2", "MRR = 0.6"))
    assert [each.fault for each in claims_of(Document("text", lines, "the end was not read"), "c")] == [
        "",
        "the end was not read",
    ]
    assert claims_of(Document("text", (), "nothing was read"), "c") == []


# --- the table of a class ---


def table(folder: Path, text: str | bytes) -> Path:
    path = folder / "claims.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def in_short(found: dict[str, list[Claimed]]) -> dict[str, list[tuple[str, str, str]]]:
    return {student: [(each.measure, each.text, each.place) for each in mine] for student, mine in found.items()}


ADA = {"ada": [("MAP", "0,75", "claims.csv:2")]}
WIDE = {
    "ada": [("MAP", "0.75", "claims.csv:2"), ("nDCG@10", "0.5", "claims.csv:2")],
    "bob": [("nDCG@10", "0.25", "claims.csv:3")],
}
CLASSES: list[tuple[str, dict[str, list[tuple[str, str, str]]]]] = [
    (
        "student,measure,value\nada,MAP,0.75\nbob,MAP,0.5\nada,MRR,0.6\n",
        {
            "ada": [("MAP", "0.75", "claims.csv:2"), ("MRR", "0.6", "claims.csv:4")],
            "bob": [("MAP", "0.5", "claims.csv:3")],
        },
    ),
    # columns and separators may differ
    ("Value; Student ;MEASURE\n0,75;ada;MAP\n", ADA),
    ("student\tmeasure\tvalue\nada\tMAP\t0,75\n", ADA),
    ('student,measure,value\n"ada","MAP","0,75"\n', ADA),
    ('\ufeffstudent,measure,value\r\nada,MAP,"0,75"\r\n', ADA),
    ('student,group,measure,value\nada,3,MAP,"0,75"\n', ADA),
    ("name,metric,claimed\nada , MAP , 0.75\n,,\n", {"ada": [("MAP", "0.75", "claims.csv:2")]}),
    ("\n\nstudent|measure|value\n\nada|MAP|0.75\n", {"ada": [("MAP", "0.75", "claims.csv:5")]}),
    # a student is named by all columns that say who it is
    (
        "Name,Vorname,Matrikelnummer,Maß,Wert\nLovelace,Ada,12345,MAP,0.5\n",
        {"Ada Lovelace 12345": [("MAP", "0.5", "claims.csv:2")]},
    ),
    ("Matrikelnummer;Maß;Wert\n12345;MAP;0,5\n", {"12345": [("MAP", "0,5", "claims.csv:2")]}),
    ("Vorname,Nachname,Maß,Wert\nAda,Lovelace,MAP,0.5\n", {"Ada Lovelace": [("MAP", "0.5", "claims.csv:2")]}),
    ("student,name,measure,value\nada1,Ada,MAP,0.5\n", {"ada1": [("MAP", "0.5", "claims.csv:2")]}),
    ("sep=;\nstudent;measure;value\nada;MAP;0,75\n", {"ada": [("MAP", "0,75", "claims.csv:3")]}),
    # a column for each measure
    ("student,MAP,nDCG@10\nada,0.75,0.5\nbob,,0.25\n", WIDE),
    ("Vorname;Nachname;MAP;nDCG@10;Punkte\n;ada;0.75;0.5;3\n;bob;;0.25;4\n", WIDE),
    ("MAP\tnDCG@10\tUser\n0.75\t0.5\tada\n\t0.25\tbob\n", WIDE),
    # a field of two lines counts as both
    (
        'student,measure,value\n"Ada\nLovelace",MAP,0.75\nbob,MAP,0.5\n',
        {"Ada\nLovelace": [("MAP", "0.75", "claims.csv:2")], "bob": [("MAP", "0.5", "claims.csv:4")]},
    ),
    ("student,measure,value\nada,MAP,\n", {"ada": []}),
]


def test_a_class_has_its_claims_by_student(tmp_path: Path) -> None:
    found = [claims_of_class(table(tmp_path, text)) for text, _ in CLASSES]
    assert [in_short(each) for each in found] == [expected for _, expected in CLASSES]
    assert all(claim.claim for each in found for claims in each.values() for claim in claims)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_table_is_read_in_the_encodings_that_excel_writes(tmp_path: Path, encoding: str) -> None:
    path = table(tmp_path, "student;measure;value\nJörg Müller;MAP;0,75\n".encode(encoding))
    assert in_short(claims_of_class(path)) == {"Jörg Müller": [("MAP", "0,75", "claims.csv:2")]}


def test_a_formula_in_a_table_is_a_claim_that_cannot_be_read(tmp_path: Path) -> None:
    found = claims_of_class(table(tmp_path, "student,measure,value\nada,MAP,=cmd()\n"))
    assert found == {"ada": [Claimed(None, "MAP", "=cmd()", "claims.csv:2", "'=cmd()' is not a number")]}


MALFORMED = [
    "",
    "ada,MAP,0.5\n",
    "student,measure,value\nada,MAP,0,75\n",
    "student,measure,value\n\nada,MAP\n",
    "student,measure,value\n,MAP,0.5\n",
    "student,measure,value\nada,,0.5\n",
    'student,measure,value\nada,"MAP"x,0.5\n',
    "measure,value\nMAP,0.5\n",
    "student,measure\nada,MAP\n",
]


def test_a_malformed_table_is_refused_with_its_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = {}
    for text in [*MALFORMED, None]:
        path = tmp_path / "none.csv" if text is None else table(tmp_path, text)
        with pytest.raises(InputError) as error:
            claims_of_class(path)
        said[str(text)] = str(error.value).replace(str(tmp_path), "HERE")
    assert list(said.values()) == snapshot
