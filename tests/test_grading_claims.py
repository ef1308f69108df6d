"""Numbers beside names of measures: which there are, which of them are declared, and tables of a class."""

from __future__ import annotations

import io
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from grading_samples import claims_in
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import InputError, MeasureError, UnknownMeasureError
from treceval_py.grading.claims.claims import Claimed, claimed, claims_of
from treceval_py.grading.claims.documents.reading import read_document
from treceval_py.grading.claims.naming import measure_named
from treceval_py.grading.exercise import claims_of_class
from treceval_py.grading.marking.claiming import first_claims

TEXTS: dict[str, list[dict[str, Any]]] = tomllib.loads((Path(__file__).parent / "claim_texts.toml").read_text("utf-8"))


def made(text: dict[str, Any]) -> bytes:
    """Return the file of a text; one with paragraphs and tables is a Word document, one with pages a PDF."""
    raw = io.BytesIO()
    if "paragraphs" in text:
        document = pytest.importorskip("docx").Document()
        for part in text["paragraphs"]:
            if isinstance(part, str):
                document.add_paragraph(part)
                continue
            table = document.add_table(rows=len(part), cols=len(part[0]))
            for cells, row in zip(part, table.rows, strict=True):
                for content, cell in zip(cells, row.cells, strict=True):
                    cell.text = content
        document.save(raw)
    elif "pages" in text:
        document = pytest.importorskip("fpdf").FPDF()
        document.set_font("Helvetica", size=11)
        for page in text["pages"]:
            document.add_page()
            for line in page.splitlines():
                document.cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
        raw.write(bytes(document.output()))
    else:
        raw.write(text["written"].encode())
    return raw.getvalue()


def listed(found: list[Claimed]) -> str:
    """Return measures and numbers as in the file of texts."""
    return ", ".join(f"{each.claim.measure.notation if each.claim else each.measure} {each.text}" for each in found)


def of_text(text: dict[str, Any]) -> tuple[str, str]:
    name = text.get("file", "report.md")
    found = claims_in(made(text), name)
    assert all(each.place.startswith((f"{name}:", f"{name}, ")) for each in found)
    return text["what"], listed(found)


@pytest.mark.parametrize("kind", ["trap", "text", pytest.param("packed", marks=pytest.mark.slow)])
def test_a_text_gives_all_numbers_that_stand_beside_names_of_measures(kind: str) -> None:
    packed = [text for text in TEXTS["text"] if "written" not in text]
    texts = packed if kind == "packed" else [text for text in TEXTS[kind] if text not in packed]
    assert [of_text(text) for text in texts] == [(text["what"], text.get("numbers", "")) for text in texts]


# --- what is declared ---

DECLARED, WRITTEN, SHOWN = "declared", "written", "shown"
WEIGHTS = (SHOWN, WRITTEN, DECLARED)
FORMS: list[tuple[str, str, str]] = [
    # lines of names and numbers, and nothing else in the file
    ("MAP = 0.5", "a.txt", "AP 0.5 declared"),
    ("MAP: 0.5\n\n- nDCG@10: 0,41 %", "a.txt", "AP 0.5 declared, nDCG@10 0,41 % declared"),
    ("MAP = 0.5, MRR = 0.6; P@10: 0.3", "a.md", "AP 0.5 declared, RR 0.6 declared, P@10 0.3 declared"),
    ("MAP=0.28 NDCG@10=0.55", "a", "AP 0.28 declared, nDCG@10 0.55 declared"),
    ("MAP = 0.3912 ± 0.0210", "a", "AP 0.3912 declared"),
    ("AP(rel=2)@100 = 0.3", "a", "AP(rel=2)@100 0.3 declared"),
    ("Mean Reciprocal Rank (MRR): 0.5", "a", "RR 0.5 declared"),
    ("P@5 (precision): 0.4\nPrecision (P@10): 0.3", "a", "P@5 0.4 declared, P@10 0.3 declared"),
    ("Normalized discounted cumulative gain (nDCG@10): 0.4", "a", "nDCG@10 0.4 declared"),
    ("MAP 0.75\nP@5,0.2", "a", "AP 0.75 declared, P@5 0.2 declared"),
    ("{'map': 0.5, 'P_10': np.float64(0.4)}", "a.txt", "AP 0.5 declared, P@10 0.4 declared"),
    ("num_ret = 1,000\nMAP = 1", "a", "NumRet 1,000 declared, AP 1 declared"),
    # the output of trec_eval, of the run that was handed in; for one query it is shown
    ("runid all mine\nmap all 0.5\nP_5 all 0.2", "a", "AP 0.5 declared (mine), P@5 0.2 declared (mine)"),
    ("map q1 0.5\nmap all 0.6", "a", "AP 0.6 declared, AP 0.5 shown (q1)"),
    # that of treceval: each format, with the values of queries beside
    ("AP(q1) = 0.5\nAP = 0.6", "a", "AP 0.6 declared, AP 0.5 shown (q1)"),
    ("AP(q3) = 0.5\nAP = 0.6", "a", "AP 0.6 written, AP 0.5 shown (q3)"),
    ("query,measure,mine\nq1,AP,0.5\nall,AP,0.6", "a.csv", "AP 0.6 declared (mine), AP 0.5 shown (q1)"),
    ("query  measure    t\n───────────────────\nq1     AP       0.5\n\nall    AP       0.6", "a", "AP 0.5 shown (q1 t), AP 0.6 shown (t)"),
    ('{"treceval_py": "0.1.0", "runs": [{"name": "x", "tag": "mine", "mean": {"AP": 0.6}, "per_query": {"q1": {"AP": 0.5}}}]}', "a.json", "AP 0.6 declared (mine)"),
    ('{"treceval_py": "0.1.0", "runs": [{"name": "mine.txt", "tag": "t", "mean": {"AP": 0.6}}, {"name": "x", "tag": "t", "mean": {"AP": 0.5}}]}', "a.json", "AP 0.6 written (mine.txt), AP 0.5 shown (x)"),
    # dictionaries of queries, as pytrec_eval's, and of means
    ('{"q1": {"map": 0.5}, "q2": {"map": 0.3}, "all": {"map": 0.4}}', "a.json", "AP 0.4 declared, AP 0.5 shown (q1), AP 0.3 shown (q2)"),
    ("{'mean': {'map': np.float64(0.4)}}", "a.txt", "AP 0.4 declared"),
    ("{'q3': {'map': 0.4}}", "a.txt", "AP 0.4 shown (q3)"),
    # one table, with measures and numbers only
    ("measure,value\nMAP,0.5\nP@5,0.2", "a.csv", "AP 0.5 declared, P@5 0.2 declared"),
    ("| Measure | Value |\n|:--|--:|\n| MAP | **0.5** |", "a.md", "AP 0.5 declared"),
    ("MAP;P@5\n0,5;0,2", "a.csv", "AP 0,5 declared, P@5 0,2 declared"),
    ('{"map": 0.5}', "a.json", "AP 0.5 declared"),
    ("qid,map\nq1,0.1\nq2,0.3\nall,0.2", "a.csv", "AP 0.2 declared, AP 0.1 shown (q1), AP 0.3 shown (q2)"),
    ("measure,query,value\nmap,q1,0.1\nmap,all,0.5", "a.csv", "AP 0.5 declared, AP 0.1 shown (q1)"),
    # a row or column of a run that was handed in needs no words either
    ("| run | MAP |\n|--|--|\n| mine.txt | 0.5 |", "a.md", "AP 0.5 declared (mine.txt)"),
    ("measure,MINE\nMAP,0.5", "a.csv", "AP 0.5 declared (mine)"),
    # beside a word anything might be meant
    ("Results\nMAP = 0.5", "a.md", "AP 0.5 written"),
    ("MAP = 0.5\nwith the title", "a.md", "AP 0.5 written"),
    ("| of | Jonas |\n|--|--|\n| so | far |\n\nMAP = 0.5", "a.md", "AP 0.5 written"),
    ("MAP = 0.5 (trec_eval)", "a.md", "AP 0.5 shown"),
    ("MAP (baseline) = 0.5", "a.md", "AP 0.5 shown (baseline)"),
    ("Our MAP is 0.5.", "a.md", "AP 0.5 shown"),
    ("runid all other\nmap all 0.5", "a", "AP 0.5 written (other)"),
    ("runid all mine\nmap all 0.5\nrunid all x\nmap all 0.6", "a", "AP 0.5 written (mine), AP 0.6 shown (x)"),
    ("| run | MAP |\n|--|--|\n| mine | 0.5 |\n| ours | 0.6 |", "a.md", "AP 0.5 written (mine), AP 0.6 shown (ours)"),
    ("| Jonas | MAP |\n|--|--|\n| | 0.5 |", "a.md", "AP 0.5 shown (jonas)"),
    ("| measure | ours |\n|--|--|\n| MAP | 0.5 |", "a.md", "AP 0.5 shown (ours)"),
    ("| MAP |\n|--|\n| 0.5 |\n| 0.6 |", "a.md", "AP 0.5 shown, AP 0.6 shown"),
    ("| | A | B |\n|--|--|--|\n| | MAP | MAP |\n| x | 0.5 | 0.6 |", "a.md", "AP 0.5 shown (x a), AP 0.6 shown (x b)"),
    # a number before its name, though there is one before it too
    ("Trained for RR it has 0.5 (MAP).", "a.md", "AP 0.5 shown"),
    ("Trained for RR it has 0.5 MAP.", "a.md", "AP 0.5 shown"),
    ("The RR is 0.5 (MAP is better).", "a.md", "RR 0.5 shown"),
    ("RR = 0.5 MAP is good.", "a.md", "RR 0.5 shown"),
    # two names of one measure
    ("Its normalized discounted cumulative gain (nDCG@10) is 0.4.", "a.md", "nDCG@10 0.4 shown"),
    ("P@5 (precision), RR (MRR): 0.4, 0.3!", "a.md", "P@5 0.4 shown, RR 0.3 shown"),
    # settings are no numbers of a measure, unless they are called like one
    ("With RR and k1 = 0.9 the ndcg = 0.4 (p < 0.05).", "a.md", "nDCG 0.4 shown"),
    ('{"ours": {"test": {"map": 0.5}}}', "a.json", "AP 0.5 shown (ours / test)"),
    # in a file of claims everything is declared
    ("measure,value,note\nMAP,0.5,ours\nP@5,0.2,", "claims.csv", "AP 0.5 declared (ours), P@5 0.2 declared"),
    ("measure\tvalue\nMAP\t\nP@5\t0.2", "x/Claims.TSV", "P@5 0.2 declared"),
    ('{"ours": {"map": 0.5}}', "claims.json", "AP 0.5 declared (ours)"),
    ('# mine\nMAP = 0.5\n"nDCG@10" = 0.4', "claims.toml", "AP 0.5 declared, nDCG@10 0.4 declared"),
    ("MAP,0.5\nMAP,0.6", "claims.csv", "AP 0.5 declared, AP 0.6 declared"),
    # but for words
    ("# Jonas has MAP 0.6.\nMAP = 0.5", "claims.toml", "AP 0.5 declared, AP 0.6 shown"),
    ("measure,value,note\nMAP,0.5,Jonas has MAP 0.6", "claims.csv", "AP 0.5 declared (Jonas has MAP 0.6)"),
    ("Our MAP is 0.5.\n\nMAP = 0.6", "claims.txt", "AP 0.6 written, AP 0.5 shown"),
    ("MAP = 0.5\nRR of Jonas: 0.6", "my-claims.csv", "AP 0.5 written, RR 0.6 shown"),
]  # fmt: skip


def in_words(found: list[Claimed]) -> str:
    runs = [f" ({each.run})" if each.run else "" for each in found]
    pairs = zip(listed(found).split(", ") if found else [], found, runs, strict=True)
    return ", ".join(f"{number} {WEIGHTS[each.weight]}{run}" for number, each, run in pairs)


def test_a_number_is_declared_if_its_form_needs_no_word() -> None:
    found = {
        (text, name): in_words(claims_of(read_document(text.encode(), name), name, ["mine.txt", "mine"], {"q1", "q2"}))
        for text, name, _ in FORMS
    }
    assert found == {(text, name): expected for text, name, expected in FORMS}


NOTHING = [
    "", "Group: 12", "G: 3", "P: 3", "k1 = 0.9", "b = 0.4", "runid all bm25", "MAP: the mean of average precisions",
    "MAP", "2026-01-01", "| Measure | MAP | MRR |", "https://example.org/MAP=0.5/x", "relstring all 1", "MAP = 2",
    "MAP = 10 of 12", "p = 0.05", "p < 0.05", "Precision 0.31", "MAP took 0.4 s", "3.2 MAP", "hr: 3", "topics-l2 = 5",
    "NDGC@10 = 0.123", "MAP = high",
]  # fmt: skip


def test_a_line_about_something_else_gives_no_number() -> None:
    found = {line: listed(claims_in(line.encode(), "a.txt")) for line in NOTHING}
    assert {line: numbers for line, numbers in found.items() if numbers} == {}


def test_places_count_the_lines_of_the_file_and_sentences_are_kept() -> None:
    found = claims_in(b"Results\r\n\r\nOur MAP\r\nis 0.5. It is good.\r\n\x0c\rMRR = 0.6\n", "r/a.txt")
    assert [(each.place, each.sentence) for each in found] == [
        ("r/a.txt:6", "MRR = 0.6"),  # what needs no words comes first
        ("r/a.txt:4", "Our MAP is 0.5."),
    ]
    table = b"<table><tr><th>m<th>MAP<tr><td>x<td>0.5</table>"
    assert [(each.place, each.sentence) for each in claims_in(table, "a.html")] == [("a.html:1", "x | 0.5")]


def test_of_a_sentence_three_hundred_characters_are_kept() -> None:
    for words, kept in ((290, 299), (291, 300), (292, 300)):
        (found,) = claims_in(f"{'a' * words}, MAP 0.5".encode(), "a.md")
        assert (len(found.sentence), found.sentence[-7:]) == (kept, "MAP 0.5")


# --- names ---

NAMES = {
    "MAP": "AP", "map": "AP", "Map@10": "AP@10", "mean average precision": "AP", "ndcg@10": "nDCG@10",
    "NDCG": "nDCG", "nDCG 10": "nDCG@10", "ndcg_cut.10": "nDCG@10", "MRR@10": "RR@10",
    "Mean Reciprocal Rank (MRR)": "RR", "precision at 5": "P@5", "p@5": "P@5", "P5": "P@5",
    "recall@100": "R@100", "Hit@10": "Success@10", "R-Precision": "Rprec", "nERR@10": "nERR@10",
    "NERR8@10": "NERR8@10", "iprec_at_recall_0.10": "IPrec@0.1",
    # of other programs; hits are said as people do, and no count
    "ndcg_at_10": "nDCG@10", "cosine_map@100": "AP(norm=capped)@100", "NDCG:top=10": "nDCG(ideal=retrieved)@10",
    "RetrievalMRR(top_k=10)": "RR@10", "hits@10": "Success@10", "map@100-l2": "AP(rel=2)@100",
}  # fmt: skip


def test_a_measure_is_known_by_names_that_people_write() -> None:
    assert {name: measure_named(name).notation for name in NAMES} == NAMES


def test_a_name_of_several_measures_says_so() -> None:
    with pytest.raises(MeasureError, match=r"^P stands for 9 measures\. Name one, such as P@5\.$"):
        measure_named("P")


def test_what_is_no_measure_is_refused() -> None:
    for name in ("", "official", "k1", "MAP" * 50, "Group 3"):
        with pytest.raises(UnknownMeasureError):
            measure_named(name)


# --- what cannot be read ---


UNREADABLE = [
    ("MAP = =cmd()|' /C calc'!A0", "MAP", "=cmd()| /C calc!A0", "'=cmd()| /C calc!A0' is not a number"),
    ("MAP = high", "MAP", "high", "'high' is not a number"),
    ("MAP =", "MAP", "", "there is no number"),
    ("MAP = 1e999", "MAP", "1e999", "'1e999' has more digits than a number can have"),
    ("NDGC@10 = 0.123", "NDGC@10", "0.123", "'NDGC@10' is not a measure; is NDCG@10 meant?"),
    ("P = 0.3", "P", "0.3", "P stands for 9 measures"),
    ("Precision = 0.31", "Precision", "0.31", "measure 'Precision': Precision needs a cutoff"),
    ("MAP = 0." + "3" * 300, "MAP", f"0.{'3' * 78}…", f"'0.{'3' * 78}…' has more digits than a number can have"),
    ("MAP = \x1b31m0.5\u202e", "MAP", "\\x1b31m0.5\\u202e", "'\\x1b31m0.5\\u202e' is not a number"),
    ("MAP = 0.5\xff", "MAP", "0.5ÿ", "'0.5ÿ' is not a number"),
    ("measure,value\nMPA,0.5", "MPA", "0.5", "'MPA' is not a measure"),
    ("measure,value\nMAP,high", "MAP", "high", "'high' is not a number"),
]


def test_in_a_file_of_claims_what_cannot_be_read_says_why() -> None:
    for line, *expected in UNREADABLE:
        (found,) = claims_in(line.encode(), "claims.csv" if "," in line else "claims.toml")
        assert [found.claim, found.measure, found.text, found.fault] == [None, *expected]


DIGITS: dict[str, int | None] = {
    "0." + "3" * 20: 20, "0." + "3" * 21: None, "3" * 20 + ".5": 1, "3" * 21 + ".5": None, "1e20": 0, "1e21": None,
    "3.5e-60": 20, "3e-1": 1, "3.5e-19": 20, "35e1": 0, "0.35e1": 1, "1,000": 3,
}  # fmt: skip


def test_a_number_has_twenty_digits_at_most() -> None:
    found = {number: claimed("MAP", number, "c").claim for number in DIGITS}
    assert {number: claim and claim.digits for number, claim in found.items()} == DIGITS


def test_of_many_numbers_the_first_two_hundred_are_read_declared_ones_first_and_the_last_says_so() -> None:
    for several, fault in ((200, ""), (201, "only the first 200 numbers of a submission are read")):
        texts = b"The MAP is 0.4.\n\n" * (several - 1) + b"MAP = 0.5\n", b"MAP = 0.5\n" * several
        for found in (first_claims(claims_in(text, "a")) for text in texts):
            assert (len(found), found[0].text, found[-1].fault) == (200, "0.5", fault)
            assert {each.fault for each in found[:-1]} == {""}
    mixed = first_claims([*claims_in(b"The MAP is 0.4.\n\n" * 199, "a"), *claims_in(b"MAP = 0.5\nRR = 0.6", "b")])
    assert (mixed[0].text, len(mixed), bool(mixed[-1].fault)) == ("0.5", 200, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "MAP 0.4 ", "a MAP of ", "than the the the baseline 0.41 ", "{'a':", "'map': ", "MAP and ", "| MAP ", "MAP = ",
        "MAP.........................................", "0.4009 ", "MAP of our very own nice new system ", "MAP (",
    ],
)  # fmt: skip
def test_a_mebibyte_of_what_looks_like_numbers_is_read_in_bounded_time(text: str) -> None:
    begun = time.process_time()
    for line in (text * 100_000, (text * 40 + "\n") * 1000):
        claims_in(line.encode()[: 1 << 20], "report.md")
    assert time.process_time() - begun < 60  # hours, where each beginning is followed to the end of the file


@pytest.mark.parametrize("text", ["<a ", "<!--", "<![CDATA[", "&#", "</"])
def test_a_quarter_of_a_mebibyte_of_markup_that_never_ends_is_read_at_once(text: str) -> None:
    begun = time.process_time()
    assert claims_in(text.encode() * ((1 << 18) // len(text)), "x.html") == []
    assert time.process_time() - begun < 5  # a minute, where each beginning is followed to the end of the file


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
    ("student,measure,value\nada,MAP,0.75\nbob,nDCG@10,0.25\n", {"ada": WIDE["ada"][:1], "bob": WIDE["bob"]}),
    # columns and separators may differ
    ("Value; Student ;MEASURE\n0,75;ada;MAP\n", ADA),
    ("student\tmeasure\tvalue\nada\tMAP\t0,75\n", ADA),
    ('\ufeffstudent,group,measure,value\r\n"ada","3","MAP","0,75"\r\n', ADA),
    ("\n\nstudent|measure|value\n\nada|MAP|0.75\n", {"ada": [("MAP", "0.75", "claims.csv:5")]}),
    ("sep=;\nstudent;measure;value\nada;MAP;0,75\n", {"ada": [("MAP", "0,75", "claims.csv:3")]}),
    # a student is named by all columns that say who it is
    (
        "Name,Vorname,Matrikelnummer,Measure,Value\nLovelace,Ada,12345,MAP,0.5\n",
        {"Ada Lovelace 12345": [("MAP", "0.5", "claims.csv:2")]},
    ),
    ("Matrikelnummer;measure;value\n12345;MAP;0,5\n", {"12345": [("MAP", "0,5", "claims.csv:2")]}),
    ("student,name,measure,value\nada1,Ada,MAP,0.5\n", {"ada1": [("MAP", "0.5", "claims.csv:2")]}),
    ("e-mail,MAP\nada@x.org,0.5\n", {"ada@x.org": [("MAP", "0.5", "claims.csv:2")]}),
    # a column for each measure
    ("student,MAP,nDCG@10\nada,0.75,0.5\nbob,,0.25\n", WIDE),
    ("Vorname;Nachname;MAP;nDCG@10;Punkte\n;ada;0.75;0.5;3\n;bob;;0.25;4\n", WIDE),
    ("MAP\tnDCG@10\tUser\n0.75\t0.5\tada\n\t0.25\tbob\n", WIDE),
    # a field of two lines counts as both, and nothing is claimed without a value
    (
        'student,measure,value\n"Ada\nLovelace",MAP,0.75\nbob,MAP,\n',
        {"Ada\nLovelace": [("MAP", "0.75", "claims.csv:2")], "bob": []},
    ),
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
    *("", "ada,MAP,0.5\n", "student,measure,value\nada,MAP,0,75\n", "student,measure,value\n\nada,MAP\n"),
    *("student,measure,value\n,MAP,0.5\n", "student,measure,value\nada,,0.5\n"),
    *('student,measure,value\nada,"MAP"x,0.5\n', "measure,value\nMAP,0.5\n", "student,measure\nada,MAP\n"),
]


def test_a_malformed_table_is_refused_with_its_line(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    said = []
    for text in [*MALFORMED, None]:
        path = tmp_path / "none.csv" if text is None else table(tmp_path, text)
        with pytest.raises(InputError) as error:
            claims_of_class(path)
        said.append(str(error.value).replace(str(tmp_path), "HERE"))
    assert said == snapshot
