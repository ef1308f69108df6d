"""Make a second class, as teachers meet one, to try `treceval grade` on: exports of four platforms, with rosters.

    python make_course.py FOLDER

writes qrels.txt, baseline.txt, rules.toml, and an export and a roster of each of Moodle, Canvas, Gradescope and GitHub
Classroom to FOLDER; and course.toml with course/, a course of two such sheets.

Everybody has a run of their own, drawn with a seed, and writes its numbers down in another way and another language:
in notebooks, PDF, Word, LaTeX, HTML, Markdown, tables and prose. Some hand in several runs, some hand in twice or late,
some have damaged runs beside good claims. What is to be said of each is written here, beside what is handed in; it is
what the tests compare with. Numbers are computed in plain Python, by the functions of make.py, which share nothing with
treceval_py.
"""

from __future__ import annotations

import gzip
import html
import io
import json
import pathlib
import random
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from make import average_precision, ndcg, reciprocal_rank

SEED = 20
DOCUMENTS = [f"IR-{number:04}" for number in range(1200)]
DEPTH = 50

RULES = """\
title = "Ranked retrieval, sheet 4"

[scoring]
profile = "trec_eval-10"
measures = ["AP", "nDCG@10", "RR", "P@10"]

[points]
run = 40
claims = 60

[claims]
claims = "anywhere"  # nobody was told where to declare numbers
"""


# --- judgments and runs ---


class Sheet(NamedTuple):
    """An exercise: the labels of each query, and the documents that any system finds for it."""

    labels: dict[str, dict[str, int]]
    pools: dict[str, list[str]]

    @property
    def qrels(self) -> bytes:
        """The judgments, as a file."""
        rows = (f"{qid} 0 {docid} {rel}\n" for qid, labels in self.labels.items() for docid, rel in labels.items())
        return "".join(rows).encode()


def sheet(number: int, queries: Sequence[str]) -> Sheet:
    """Return an exercise, drawn with its number."""
    draw = random.Random(SEED + number)
    labels, pools = {}, {}
    for qid in queries:
        pools[qid] = draw.sample(DOCUMENTS, 70)
        labels[qid] = {docid: draw.choices((0, 1, 2, 3), (76, 13, 8, 3))[0] for docid in sorted(pools[qid][:45])}
    return Sheet(labels, pools)


FOUR = sheet(4, [str(qid) for qid in range(401, 421)])
FIVE = sheet(5, [str(qid) for qid in range(501, 516)])
LABELS = FOUR.labels


def precision(ranking: Sequence[str], labels: Mapping[str, int], cutoff: int = 10) -> float:
    """Return P, by default at 10."""
    return sum(labels.get(docid, 0) > 0 for docid in ranking[:cutoff]) / cutoff


class Own:
    """A run of somebody's own: rankings of 50 documents for each query, drawn with the name.

    Parameters
    ----------
    name : str
        Whose it is.
    quality : float
        How much better relevant documents do than others, in standard deviations of the noise.
    of : Sheet
        The exercise.
    """

    def __init__(self, name: str, quality: float = 0.7, of: Sheet = FOUR) -> None:
        draw = random.Random(f"{SEED} {name}")
        self.tag = name.lower().replace(" ", "-")
        self.labels = of.labels
        self.rankings: dict[str, list[str]] = {}
        for qid, pool in of.pools.items():
            score = {each: quality * of.labels[qid].get(each, 0) + draw.gauss(0, 1) for each in pool}
            self.rankings[qid] = sorted(score, key=lambda each: -score[each])[:DEPTH]

    def text(self, separator: str = " ") -> bytes:
        """Return the run, with six columns; no two scores of a query are equal."""
        return "".join(
            separator.join((qid, "Q0", docid, str(rank), f"{30 - rank / 2:.2f}", self.tag)) + "\n"
            for qid, ranking in self.rankings.items()
            for rank, docid in enumerate(ranking, 1)
        ).encode()

    def judged(self) -> bytes:
        """Return the rankings with the labels of the assignment: ``qid Q0 docid rel``."""
        return "".join(
            f"{qid} Q0 {docid} {self.labels[qid].get(docid, 0)}\n"
            for qid, ranking in self.rankings.items()
            for docid in ranking
        ).encode()

    def mean(self, measure: object) -> float:
        """Return the mean of a measure over all queries."""
        values = [measure(ranking, self.labels[qid]) for qid, ranking in self.rankings.items()]  # type: ignore[operator]
        return sum(values) / len(values)

    @property
    def ap(self) -> float:
        """Mean average precision."""
        return self.mean(average_precision)

    @property
    def ndcg(self) -> float:
        """Mean nDCG@10."""
        return self.mean(ndcg)

    @property
    def rr(self) -> float:
        """Mean reciprocal rank."""
        return self.mean(reciprocal_rank)

    @property
    def p(self) -> float:
        """Mean precision at 10."""
        return self.mean(precision)

    @property
    def grown(self) -> float:
        """Mean nDCG@10 with gains of 2^rel - 1, as gdeval has them."""
        return self.mean(lambda ranking, labels: ndcg(ranking, labels, 10, lambda grade: 2.0**grade - 1))

    @property
    def upside_down(self) -> float:
        """Mean average precision of the rankings from their last document on."""
        return self.mean(lambda ranking, labels: average_precision(ranking[::-1], labels))


def four(value: float) -> str:
    """Return a value to 4 decimals."""
    return f"{value:.4f}"


def comma(value: float) -> str:
    """Return a value to 4 decimals, which stand after a comma."""
    return four(value).replace(".", ",")


BASELINE = Own("baseline", 0.35)
BEFORE = {"AP": four(BASELINE.ap), "nDCG@10": four(BASELINE.ndcg), "RR": four(BASELINE.rr), "P@10": four(BASELINE.p)}


# --- kinds of files ---


def archive(
    files: Mapping[str, bytes], times: Mapping[str, tuple[int, int, int, int, int, int]] | None = None
) -> bytes:
    """Return a zip; the same bytes each time."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(
                zipfile.ZipInfo(name, (times or {}).get(name, (2026, 1, 12, 18, 30, 0))), data, zipfile.ZIP_DEFLATED
            )
    return raw.getvalue()


def tarball(files: Mapping[str, bytes]) -> bytes:
    """Return a tar.gz; the same bytes each time."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as made:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), mtime=0)


def pdf(*pages: str) -> bytes:
    """Return a PDF with a text layer, one line below the other; without pages' text it is what a scanner makes."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    for number, page in enumerate(pages):
        resources = f"/Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R"
        objects.append(f"<< /Type /Page /MediaBox [0 0 595 842] {resources} >>".encode())
        shown = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in page.splitlines()]
        lines = "".join(f"({line}) Tj T*\n" for line in shown)
        packed = zlib.compress(f"BT /F1 11 Tf 14 TL 60 780 Td\n{lines}ET".encode("cp1252"))
        objects.append(b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed))
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = "".join(f"{at:010} 00000 n \n" for at in places)
    end = f"trailer\n<< /Size {len(places) + 1} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
    return made + f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}{end}".encode()


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def word(*parts: str | Sequence[Sequence[str]]) -> bytes:
    """Return a Word document of paragraphs and tables."""

    def paragraph(text: str) -> str:
        return f'<w:p><w:r><w:t xml:space="preserve">{html.escape(text)}</w:t></w:r></w:p>'

    def table(rows: Sequence[Sequence[str]]) -> str:
        made = "".join(
            "<w:tr>" + "".join(f"<w:tc><w:tcPr/>{paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>" for row in rows
        )
        grid = "<w:tblGrid>" + "<w:gridCol/>" * len(rows[0]) + "</w:tblGrid>"
        return f"<w:tbl><w:tblPr/>{grid}{made}</w:tbl>"

    body = "".join(paragraph(part) if isinstance(part, str) else table(part) for part in parts)
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    return archive(
        {
            "[Content_Types].xml": f'{head}<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>'.encode(),
            "_rels/.rels": f'{head}<Relationships xmlns="{_PACKAGE}/relationships">'
            f'<Relationship Id="rId1" Type="{relation}" Target="word/document.xml"/></Relationships>'.encode(),
            "word/document.xml": f'{head}<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'.encode(),
        }
    )


def notebook(*cells: tuple[str, str, str]) -> bytes:
    """Return a notebook; a cell is ``markdown`` or ``code``, its source, and what the code printed."""
    made = []
    for number, (kind, source, printed) in enumerate(cells, 1):
        cell: dict[str, object] = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": lines_of(source),
        }
        if kind == "code":
            output = {"name": "stdout", "output_type": "stream", "text": lines_of(printed)}
            cell.update(execution_count=number, outputs=[output] if printed else [])
        made.append(cell)
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, as notebooks keep them."""
    return text.splitlines(keepends=True)


# --- what is to be said ---


class Said(NamedTuple):
    """What is to be said of a claim.

    Attributes
    ----------
    measure, text : str
        The measure, in the notation of ir_measures, and the number as it is written.
    place : str
        Where it is found.
    verdict : str
        What is to be said of it.
    run : str
        The file by which it is checked; empty for the run that counts.
    counts : bool
        Whether it counts for points.
    words : str
        Words that stand in the reason.
    """

    measure: str
    text: str
    place: str
    verdict: str = "correct"
    run: str = ""
    counts: bool = True
    words: str = ""


class Student(NamedTuple):
    """Somebody of the class, and what is to become of the submission.

    Attributes
    ----------
    name : str
        The name, as the roster has it: given name first.
    files : dict
        The bytes of each file that is handed in.
    points : float
        What it is worth.
    status : str
        What is to become of it.
    said : sequence of Said
        All claims that there are in the files.
    run : str
        The file that counts; empty where none does.
    roles : dict
        What files are taken for, of those that matter.
    needs : str
        Why a person should look at it: kinds of questions, separated by commas.
    times : dict
        When files were handed in, where that matters.
    late : bool
        Whether the platform marks it as late.
    """

    name: str
    files: Mapping[str, bytes]
    points: float
    status: str = "scored"
    said: Sequence[Said] = ()
    run: str = "run.txt"
    roles: Mapping[str, str] = {}
    needs: str = ""
    times: Mapping[str, tuple[int, int, int, int, int, int]] = {}
    late: bool = False


def right(place: str, own: Own, *measures: str) -> list[Said]:
    """Return right numbers, to 4 decimals, all of the same place."""
    return [Said(measure, VALUES[measure](own), place) for measure in measures]


VALUES = {
    "AP": lambda own: four(own.ap),
    "nDCG@10": lambda own: four(own.ndcg),
    "RR": lambda own: four(own.rr),
    "P@10": lambda own: four(own.p),
}


def damaged(own: Own) -> bytes:
    """Return a run with a score that is no number, in line 7."""
    lines = own.text().decode().splitlines()
    fields = lines[6].split()
    return "\n".join([*lines[:6], " ".join([*fields[:4], "nan", fields[5]]), *lines[7:], ""]).encode()


# --- the class, in which everybody writes numbers down in another way ---


def _signs(own: Own) -> str:
    return f"MAP = {four(own.ap)}, MRR = {four(own.rr)}\n"


def _ways() -> Iterable[Student]:
    """Yield those who have a good run and right numbers."""
    own = Own("Ada Okafor")
    yield Student(
        "Ada Okafor",
        {"run.txt": own.text(), "results.txt": _signs(own).encode()},
        100,
        said=right("results.txt:1", own, "AP", "RR"),
    )
    own = Own("Björn Åkesson")
    text = f"MAP: {four(own.ap)}, MRR: {four(own.rr)}, nDCG@10: {four(own.ndcg)}\n"
    yield Student(
        "Björn Åkesson",
        {"run.txt": own.text(), "results.txt": text.encode()},
        100,
        said=right("results.txt:1", own, "AP", "RR", "nDCG@10"),
    )
    own = Own("Chloé Dubois")
    table = (
        f"run,MAP,nDCG@10,MRR,P@10\nbaseline,{','.join(BEFORE.values())}\n"
        f"mine,{four(own.ap)},{four(own.ndcg)},{four(own.rr)},{four(own.p)}\n"
    )
    yield Student(
        "Chloé Dubois",
        {"run.txt": own.text(), "results.csv": table.encode()},
        100,
        said=right("results.csv:3", own, *VALUES),
    )
    own = Own("David Kim")
    text = (
        "# Sheet 4\n\nThe baseline has a MAP of " + BEFORE["AP"] + ", the exercise asks for 0.25.\n\n"
        f"We obtained MAP = {four(own.ap)} and nDCG@10 = {four(own.ndcg)} on the test topics.\n"
    )
    yield Student(
        "David Kim",
        {"run.txt": own.text(), "README.md": text.encode()},
        100,
        said=right("README.md:5", own, "AP", "nDCG@10"),
        needs="unknown number",
    )
    own = Own("李明")
    text = (
        f"# 实验报告\n\n基线系统的 MAP 为 {BEFORE['AP']}。\n"
        f"我们的系统在测试集上的 MAP 为 {four(own.ap)}，nDCG@10 为 {four(own.ndcg)}。\n"
    )
    yield Student(
        "李明", {"run.txt": own.text(), "报告.md": text.encode()}, 100, said=right("报告.md:4", own, "AP", "nDCG@10")
    )
    own = Own("Jürgen Müller")
    report = pdf(
        f"Übungsblatt 4\nJürgen Müller, 2004711\n\nDie Baseline erreicht einen MAP von {comma(BASELINE.ap)}.",
        f"2 Ergebnisse\n\nUnser System erreicht einen MAP von {comma(own.ap)} und einen\n"
        f"nDCG@10 von {comma(own.ndcg)} auf den Testanfragen.",
    )
    yield Student(
        "Jürgen Müller",
        {"run.txt": own.text(), "Bericht.pdf": report},
        100,
        said=[
            Said("AP", comma(own.ap), "Bericht.pdf, page 2, line 2"),
            Said("nDCG@10", comma(own.ndcg), "Bericht.pdf, page 2, line 3"),
        ],
    )
    own = Own("Sofía García")
    report = word(
        "Recuperación de información, práctica 4",
        f"El sistema de referencia obtiene un MAP de {comma(BASELINE.ap)}.",
        (
            ("Medida", "Referencia", "Nuestro"),
            ("MAP", comma(BASELINE.ap), comma(own.ap)),
            ("P@10", comma(BASELINE.p), comma(own.p)),
        ),
    )
    yield Student(
        "Sofía García",
        {"run.txt": own.text(), "informe.docx": report},
        100,
        said=[
            Said("AP", comma(own.ap), "informe.docx, table 1, row 2"),
            Said("P@10", comma(own.p), "informe.docx, table 1, row 3"),
        ],
    )
    own = Own("Émile Lefèvre")
    report = (
        "\\documentclass{article}\n\\begin{document}\n\\section{Résultats}\n"
        f"Notre système obtient une MAP de ${four(own.ap)}$.\n"
        "\\begin{tabular}{lcc}\n\\hline\nSystème & nDCG@10 & MRR \\\\\n\\hline\n"
        f"baseline & {BEFORE['nDCG@10']} & {BEFORE['RR']} \\\\\n"
        f"notre système & \\textbf{{{four(own.ndcg)}}} & \\textbf{{{four(own.rr)}}} \\\\\n"
        "\\hline\n\\end{tabular}\n\\end{document}\n"
    )
    yield Student(
        "Émile Lefèvre",
        {"run.txt": own.text(), "rapport.tex": report.encode()},
        100,
        said=[*right("rapport.tex:4", own, "AP"), *right("rapport.tex:10", own, "nDCG@10", "RR")],
    )
    own = Own("Giulia Bianchi")
    book = notebook(
        ("markdown", "# Foglio 4\nBM25 con RM3, k1 = 0.9, b = 0.4", ""),
        (
            "code",
            "MAP = 0.5  # TODO\nprint(evaluate(run))",
            f"43 s\n{{'map': {four(own.ap)}, 'P_10': {four(own.p)}}}\n",
        ),
        ("markdown", f"Abbiamo ottenuto un nDCG@10 di **{comma(own.ndcg)}**.", ""),
    )
    yield Student(
        "Giulia Bianchi",
        {"run.txt": own.text(), "foglio4.ipynb": book},
        100,
        said=[
            Said("AP", four(own.ap), "foglio4.ipynb, cell 2, output line 2"),
            Said("P@10", four(own.p), "foglio4.ipynb, cell 2, output line 2"),
            Said("nDCG@10", comma(own.ndcg), "foglio4.ipynb, cell 3, line 1"),
        ],
    )
    own = Own("Nguyễn Thị Hồng")
    table = (
        f"# Kết quả\n\n| measure | baseline | mine |\n|---|---|---|\n| MAP | {BEFORE['AP']} | {four(own.ap)} |\n"
        f"| nDCG@10 | {BEFORE['nDCG@10']} | {four(own.ndcg)} |\n"
    )
    yield Student(
        "Nguyễn Thị Hồng",
        {"run.txt": own.text(), "README.md": table.encode()},
        100,
        said=[*right("README.md:5", own, "AP"), *right("README.md:6", own, "nDCG@10")],
    )
    own = Own("Priya Raman")
    page = (
        "<!DOCTYPE html>\n<html><body>\n<h1>Results</h1>\n<script>var MAP = 0.99;</script>\n"
        f"<p>The MAP is <b>{four(own.ap)}</b>.</p>\n<p>nDCG@10: {four(own.ndcg)}</p>\n</body></html>\n"
    )
    yield Student(
        "Priya Raman",
        {"run.txt": own.text(), "results.html": page.encode()},
        100,
        said=[*right("results.html:5", own, "AP"), *right("results.html:6", own, "nDCG@10")],
    )
    own = Own("Tomasz Wójcik")
    rows = [
        f"{qid};{comma(average_precision(ranking, LABELS[qid]))};{comma(reciprocal_rank(ranking, LABELS[qid]))}\n"
        for qid, ranking in own.rankings.items()
    ]
    table = f"qid;AP;RR\n{''.join(rows)}all;{comma(own.ap)};{comma(own.rr)}\n"
    yield Student(
        "Tomasz Wójcik",
        {"run.txt": own.text(), "wyniki.csv": table.encode()},
        100,
        said=[Said("AP", comma(own.ap), "wyniki.csv:22"), Said("RR", comma(own.rr), "wyniki.csv:22")],
    )
    own = Own("Олена Коваль")
    text = f"MAP = {four(own.ap)} ± 0.0412\nP@10 = {four(own.p)} ± 0.0533\n"
    yield Student(
        "Олена Коваль",
        {"run.txt": own.text(), "results.txt": text.encode()},
        100,
        said=[*right("results.txt:1", own, "AP"), *right("results.txt:2", own, "P@10")],
    )
    own = Own("Yuki Tanaka")
    text = (
        "          map  ndcg_cut_10  recip_rank\n"
        f"base   {BEFORE['AP']}       {BEFORE['nDCG@10']}      {BEFORE['RR']}\n"
        f"mine   {four(own.ap)}       {four(own.ndcg)}      {four(own.rr)}\n"
    ).replace("base", "baseline")
    yield Student(
        "Yuki Tanaka",
        {"run.txt": own.text(), "output.log": text.encode()},
        100,
        said=right("output.log:3", own, "AP", "nDCG@10", "RR"),
    )
    own = Own("Fatima Zahra")
    text = f"I compared BM25 with k1 = 1.2 and k1 = 0.9. The second one has a MAP of {own.ap:.2f}.\n"
    yield Student(
        "Fatima Zahra",
        {"run.txt": own.text(), "notes.txt": text.encode()},
        100,
        said=[Said("AP", f"{own.ap:.2f}", "notes.txt:1")],
    )
    own = Own("Lars Nielsen")
    text = (
        f"runid                 \tall\t{own.tag}\nnum_q                 \tall\t20\n"
        f"map                   \tall\t{four(own.ap)}\n"
        f"recip_rank            \tall\t{four(own.rr)}\nP_10                  \tall\t{four(own.p)}\n"
    )
    yield Student(
        "Lars Nielsen",
        {"run.txt": own.text(), "trec_eval.out": text.encode()},
        100,
        said=[
            Said("NumQ", "20", "trec_eval.out:2"),
            *right("trec_eval.out:3", own, "AP"),
            *right("trec_eval.out:4", own, "RR"),
            *right("trec_eval.out:5", own, "P@10"),
        ],
    )
    own = Own("João Pereira")
    text = f"<p>Segue o meu trabalho.</p><p>MAP: {comma(own.ap)}<br>nDCG@10: {comma(own.ndcg)}</p>"
    yield Student(
        "João Pereira",
        {"run.txt": own.text(), "onlinetext.html": text.encode()},
        100,
        said=[Said("AP", comma(own.ap), "onlinetext.html:1"), Said("nDCG@10", comma(own.ndcg), "onlinetext.html:1")],
    )
    own = Own("Anna de Vries")
    files = {"sheet4/run.txt": own.text(), "sheet4/report.md": f"De MAP is {four(own.ap)}.\n".encode()}
    yield Student(
        "Anna de Vries",
        {"sheet4.tar.gz": tarball(files)},
        100,
        said=[Said("AP", four(own.ap), "sheet4.tar.gz/sheet4/report.md:1")],
        run="sheet4.tar.gz/sheet4/run.txt",
    )


def _verdicts() -> Iterable[Student]:
    """Yield those whose numbers are not all right."""
    own = Own("Marta Rossi")
    text = f"MAP = {four(own.ap)}\nnDCG@10 = {four(own.grown)}\n"
    yield Student(
        "Marta Rossi",
        {"run.txt": own.text(), "results.txt": text.encode()},
        85,  # 40 + 30 + half of 30
        said=[
            *right("results.txt:1", own, "AP"),
            Said("nDCG@10", four(own.grown), "results.txt:2", "convention", words="gain 2^rel - 1"),
        ],
    )
    own = Own("Hans Huber")
    text = f"Wir erhalten einen MAP von {comma(own.upside_down)}.\n"
    yield Student(
        "Hans Huber",
        {"run.txt": own.text(), "bericht.txt": text.encode()},
        40,  # the number stands in a sentence, and is not right
        needs="unknown number",
    )
    own = Own("Ivan Petrov")
    yield Student(
        "Ivan Petrov",
        {
            "run.txt": own.text(),
            "results.md": f"| MAP | nDCG@10 |\n|---|---|\n| 0.873214 | {four(own.ndcg)} |\n".encode(),
        },
        70,  # 40 + one of two claims
        said=[Said("AP", "0.873214", "results.md:3", "not reproduced"), *right("results.md:3", own, "nDCG@10")],
    )
    own = Own("Kofi Mensah")
    text = f"MAP: {100 * own.ap:.2f} %\nP@10: {100 * own.p:.2f} %\n"
    yield Student(
        "Kofi Mensah",
        {"run.txt": own.text(), "results.txt": text.encode()},
        100,
        said=[
            Said("AP", f"{100 * own.ap:.2f} %", "results.txt:1"),
            Said("P@10", f"{100 * own.p:.2f} %", "results.txt:2"),
        ],
    )
    # The numbers of another's run.
    yield Student(
        "Peter Copy",
        {"run.txt": Own("Peter Copy").text(), "results.txt": _signs(Own("Ada Okafor")).encode()},
        40,
        said=[
            Said("AP", four(Own("Ada Okafor").ap), "results.txt:1", "not reproduced"),
            Said("RR", four(Own("Ada Okafor").rr), "results.txt:1", "not reproduced"),
        ],
        needs="another's claim",
    )


def _damaged() -> Iterable[Student]:
    """Yield those whose runs cannot be scored, beside claims that can be read."""
    own = Own("Marek Novák")
    yield Student(
        "Marek Novák",
        {"run.txt": damaged(own), "results.txt": _signs(own).encode()},
        0,
        "refused",
        [
            Said("AP", four(own.ap), "results.txt:1", "unchecked"),
            Said("RR", four(own.rr), "results.txt:1", "unchecked"),
        ],
        roles={"run.txt": "run", "results.txt": "claims"},
    )
    own = Own("Zoë Papadopoulou")
    text = f"We obtained MAP = {four(own.ap)} and nDCG@10 = {four(own.ndcg)} on the test topics.\n"
    yield Student(
        "Zoë Papadopoulou",
        {"run.txt": damaged(own), "report.txt": text.encode()},
        0,
        "refused",
        roles={"run.txt": "run", "report.txt": "report"},
    )
    own = Own("Omar Haddad")
    table = f"run,MAP,nDCG@10\nbaseline,{BEFORE['AP']},{BEFORE['nDCG@10']}\nmine,{four(own.ap)},{four(own.ndcg)}\n"
    yield Student(
        "Omar Haddad",
        {"results.csv": table.encode()},
        0,
        "missing",
        run="",
        roles={"results.csv": "report"},
    )
    # Judged rankings, whatever their names.
    own = Own("Ingrid Solberg")
    yield Student(
        "Ingrid Solberg",
        {"judged_ranking.txt": own.judged(), "results.txt": f"MAP = {four(own.ap)}\n".encode()},
        100,
        said=right("results.txt:1", own, "AP"),
        run="judged_ranking.txt",
    )
    own = Own("Rafael Silva")
    yield Student(
        "Rafael Silva",
        {"qrels_run.txt": own.judged(), "results.txt": f"MRR = {four(own.rr)}\n".encode()},
        100,
        said=right("results.txt:1", own, "RR"),
        run="qrels_run.txt",
    )


def _several() -> Iterable[Student]:
    """Yield those who hand in several runs."""
    one, two, three = (Own(f"Noor Ali {number}", quality) for number, quality in (("1", 0.4), ("2", 0.6), ("3", 0.8)))
    table = "| run | MAP | nDCG@10 |\n|---|---|---|\n" + "".join(
        f"| run{number} | {four(own.ap)} | {four(own.ndcg)} |\n" for number, own in enumerate((one, two, three), 1)
    )
    yield Student(
        "Noor Ali",
        {"run1.txt": one.text(), "run2.txt": two.text(), "run3.txt": three.text(), "README.md": table.encode()},
        100,
        said=[
            Said(measure, VALUES[measure](own), f"README.md:{2 + number}", run=f"run{number}.txt", counts=number == 3)
            for number, own in enumerate((one, two, three), 1)
            for measure in ("AP", "nDCG@10")
        ],
        run="run3.txt",
        needs="several runs",
        times={f"run{number}.txt": (2026, 1, 10 + number, 12, 0, 0) for number in (1, 2, 3)},
    )
    first, second = Own("Elif Yılmaz 1", 0.6), Own("Elif Yılmaz 2", 0.6)
    # The claims fit the run that was handed in first.
    yield Student(
        "Elif Yılmaz",
        {"bm25.txt": first.text(), "tfidf.txt": second.text(), "sonuc.txt": _signs(first).encode()},
        100,
        said=[
            Said("AP", four(first.ap), "sonuc.txt:1"),
            Said("RR", four(first.rr), "sonuc.txt:1"),
        ],
        run="bm25.txt",
        needs="several runs",
        times={"bm25.txt": (2026, 1, 10, 12, 0, 0), "tfidf.txt": (2026, 1, 11, 12, 0, 0)},
    )
    first, second = Own("Samuel Cohen 1", 0.9), Own("Samuel Cohen 2", 0.6)
    # Nothing is claimed: the last one counts, which is neither the better nor the larger one.
    yield Student(
        "Samuel Cohen",
        {"a.run": second.text(), "b.run": first.text()},
        40,
        run="a.run",
        needs="several runs, no claims",
        times={"b.run": (2026, 1, 10, 12, 0, 0), "a.run": (2026, 1, 11, 12, 0, 0)},
    )
    first, second = Own("Mei Lin Chen 1", 0.6), Own("Mei Lin Chen 2", 0.6)
    text = f"| run | MAP |\n|---|---|\n| dense | {four(first.ap)} |\n| hybrid | 0.912345 |\n"
    yield Student(
        "Mei Lin Chen",
        {"dense.txt": first.text(), "hybrid.txt": second.text(), "results.md": text.encode()},
        100,
        said=[
            Said("AP", four(first.ap), "results.md:3", run="dense.txt"),
            Said("AP", "0.912345", "results.md:4", "not reproduced", run="hybrid.txt", counts=False),
        ],
        run="dense.txt",
        needs="several runs",
        times={"dense.txt": (2026, 1, 10, 12, 0, 0), "hybrid.txt": (2026, 1, 11, 12, 0, 0)},
    )
    # A table of the usual models, each of which is a run of the student's own.
    models = {"bm25": Own("Kenji Sato 1"), "tfidf": Own("Kenji Sato 2"), "ql": Own("Kenji Sato 3")}
    text = "| model | MAP |\n|---|---|\n" + "".join(f"| {name} | {four(own.ap)} |\n" for name, own in models.items())
    yield Student(
        "Kenji Sato",
        {**{f"{name}.run": own.text() for name, own in models.items()}, "report.md": text.encode()},
        100,
        said=[
            Said("AP", four(own.ap), f"report.md:{line}", run=f"{name}.run", counts=name == "ql")
            for line, (name, own) in enumerate(models.items(), 3)
        ],
        run="ql.run",
        needs="several runs",
        times={f"{name}.run": (2026, 1, day, 12, 0, 0) for day, name in enumerate(models, 10)},
    )


def _ideal() -> bytes:
    """Return a run that has the judgments' order."""
    own = Own("ideal")
    own.rankings = {qid: sorted(labels, key=lambda docid: -labels[docid])[:DEPTH] for qid, labels in LABELS.items()}
    return own.text()


def _for_a_person() -> Iterable[Student]:
    """Yield those whom a person should look at."""
    yield Student(
        "Carla Blank",
        {"run.txt": Own("Carla Blank").text(), "scan.pdf": pdf("")},
        40,
        roles={"scan.pdf": "unread"},
        needs="unread, no claims",
    )
    yield Student(
        "Dmitri Broken",
        {"run.txt": Own("Dmitri Broken").text(), "report.pdf": b"%PDF-1.7\n" + bytes(range(256)) * 4},
        40,
        roles={"report.pdf": "unread"},
        needs="unread, no claims",
    )
    yield Student(
        "Eva Kaputt",
        {"run.txt": Own("Eva Kaputt").text(), "Bericht.docx": b"PK\x03\x04" + bytes(range(200))},
        40,
        roles={"Bericht.docx": "unread"},
        needs="unread, no claims",
    )
    yield Student("Gustav Still", {"run.txt": Own("Gustav Still").text()}, 40, needs="no claims")
    text = (
        f"The baseline of the course has a MAP of {BEFORE['AP']}. Nogueira and Cho (2019) report an MRR@10 of 0.365.\n"
    )
    yield Student(
        "Helga Andere",
        {"run.txt": Own("Helga Andere").text(), "report.txt": text.encode()},
        40,
        roles={"report.txt": "report"},
        needs="unknown number",
    )
    own = Own("Twin One")
    files = {"run.txt": own.text(), "results.txt": _signs(own).encode()}
    for name in ("Twin One", "Twin Two"):
        yield Student(name, files, 100, said=right("results.txt:1", own, "AP", "RR"), needs="alike")
    text = f"MAP: {BEFORE['AP']}\n"
    yield Student(
        "Bruno Base",
        {"run.txt": BASELINE.text(), "results.txt": text.encode()},
        100,
        said=[Said("AP", BEFORE["AP"], "results.txt:1")],
        needs="alike",
    )
    yield Student(
        "Olga Orakel",
        {"run.txt": _ideal(), "results.txt": b"MAP: 1.0000\n"},
        100,
        said=[Said("AP", "1.0000", "results.txt:1")],
        needs="too good",
    )
    yield Student("Nils Nichts", {}, 0, "missing", run="")


CLASS = [*_ways(), *_verdicts(), *_damaged(), *_several(), *_for_a_person()]


# --- the exports of four platforms, and their rosters ---


class Export(NamedTuple):
    """What a platform exports.

    Attributes
    ----------
    platform : str
        The platform.
    file : str
        The name of the archive.
    packed : bytes
        The archive.
    roster : str
        The roster, as CSV.
    students : sequence of Student
        What is to be said of each student, those who share a submission included.
    strangers : sequence of str
        The names of submissions that belong to nobody on the roster.
    claims : bytes
        A table of claims of the class; empty without one.
    """

    platform: str
    file: str
    packed: bytes
    roster: str
    students: Sequence[Student]
    strangers: Sequence[str] = ()
    claims: bytes = b""


def _email(number: int) -> str:
    return f"s{number}@example.edu"


def _parts(name: str) -> tuple[str, str]:
    """Return given names and family name."""
    given, _, family = name.rpartition(" ")
    return (given, family) if given else (name[1:], name[:1])


STRANGER = "Max Mustermann"


def moodle() -> Export:
    """Return a folder for each student, and the grading worksheet as roster."""
    packed: dict[str, bytes] = {}
    times = {}
    rows = [
        "Identifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,Grade can be changed,Feedback comments"
    ]
    everybody = [*CLASS, Student(STRANGER, {"run.txt": Own(STRANGER).text()}, 40)]
    for number, student in enumerate(everybody, 2001):
        for name, data in student.files.items():
            kind = "onlinetext" if name == "onlinetext.html" else "file"
            path = f"{student.name}_{number}_assignsubmission_{kind}_/{name}"
            packed[path] = data
            times[path] = student.times.get(name, (2026, 1, 5 + number % 7, number % 24, number % 60, 0))
        if student.name != STRANGER:
            status = "Submitted for grading" if student.files else "No submission"
            rows.append(f"Participant {number},{student.name},{100000 + number},{_email(number)},{status},,100.00,Yes,")
    return Export("Moodle", "moodle.zip", archive(packed, times), "\n".join(rows) + "\n", CLASS, [STRANGER])


def canvas() -> Export:
    """Return files in one folder, whose names say whose they are, and the gradebook as roster."""
    packed: dict[str, bytes] = {}
    rows = ["Student,ID,SIS User ID,SIS Login ID,Section,Sheet 4 (8841)", "    Points Possible,,,,,100.0"]
    students = []
    for number, (name, late) in enumerate((("Ada Okafor", False), ("Nguyễn Thị Hồng", True), ("李明", False)), 3001):
        own = Own(name)
        given, family = _parts(name)
        key = f"{family}{given}".lower().replace(" ", "") + ("_LATE" if late else "")
        packed[f"{key}_{number}_{70000 + number}_run.txt"] = own.text()
        packed[f"{key}_{number}_{80000 + number}_results.txt"] = _signs(own).encode()
        rows.append(f'"{family}, {given}",{number},{100000 + number},s{number},IR 1,')
        students.append(Student(name, {}, 100, said=right("results.txt:1", own, "AP", "RR"), late=late))
    # The second attempt is shorter, and counts.
    name, number = "Lars Nielsen", 3004
    old, new = Own(f"{name} 1"), Own(f"{name} 2")
    short = b"".join(line for line in new.text().splitlines(keepends=True) if int(line.split()[3]) <= 20)
    new.rankings = {qid: ranking[:20] for qid, ranking in new.rankings.items()}
    packed[f"nielsenlars_{number}_71001_run.txt"] = old.text()
    packed[f"nielsenlars_{number}_72002_run-1.txt"] = short
    packed[f"nielsenlars_{number}_72003_results.txt"] = f"P@10 = {four(new.p)}\n".encode()
    rows.append(f'"Nielsen, Lars",{number},{100000 + number},s{number},IR 1,')
    students.append(Student(name, {}, 100, said=right("results.txt:1", new, "P@10"), run="run-1.txt"))
    name, number = "Nils Nichts", 3005
    rows.append(f'"Nichts, Nils",{number},{100000 + number},s{number},IR 1,')
    students.append(Student(name, {}, 0, "missing", run=""))
    packed["mustermannmax_3999_73999_run.txt"] = Own(STRANGER).text()
    return Export("Canvas", "canvas.zip", archive(packed), "\n".join(rows) + "\n", students, ["mustermannmax"])


Group = tuple[str, ...]


def _gradescope(submitted: Sequence[tuple[Group, str, Mapping[str, bytes]]]) -> bytes:
    """Return an export: who handed in, when, and what; owners and times are in a file beside the submissions."""
    packed: dict[str, bytes] = {}
    lines = ["---"]
    for number, (group, at, files) in enumerate(submitted, 55501):
        for name, data in files.items():
            packed[f"assignment_8841_export/submission_{number}/{name}"] = data
        lines += [f"submission_{number}:", "  :submitters:"]
        for name in group:
            lines += [f"  - :name: {name}", f"    :sid: '{_number(name)}'", f"    :email: s{_number(name)}@example.edu"]
        lines += [f"  :created_at: {at}.123456000 Z", "  :score: 0.0", "  :status: processed"]
    packed["assignment_8841_export/submission_metadata.yml"] = ("\n".join(lines) + "\n").encode()
    return archive(packed)


def _number(name: str) -> int:
    return 104000 + sum(name.encode())


def _gradescope_roster(names: Iterable[str]) -> str:
    rows = ["First Name,Last Name,SID,Email,Role,Sections"]
    for name in names:
        given, family = _parts(name)
        rows.append(f"{given},{family},{_number(name)},s{_number(name)}@example.edu,Student,IR 1")
    return "\n".join(rows) + "\n"


def _with_report(own: Own) -> dict[str, bytes]:
    return {"run.txt": own.text(), "report.md": f"Our run has a MAP of {four(own.ap)}.\n".encode()}


def gradescope() -> Export:
    """Return a folder for each submission, its owners in a file beside them, and a roster."""
    submitted: list[tuple[Group, str, Mapping[str, bytes]]] = []
    students = [Student("Nils Nichts", {}, 0, "missing", run="")]
    for group in (("Ada Okafor",), ("李明", "Sofía García"), (STRANGER,)):
        own = Own(" and ".join(group))
        submitted.append((group, "2026-01-12 18:30:00", _with_report(own)))
        said = right("report.md:1", own, "AP")
        students += [Student(name, {}, 100, said=said) for name in group if name != STRANGER]
    roster = _gradescope_roster(student.name for student in students)
    return Export("Gradescope", "gradescope.zip", _gradescope(submitted), roster, students, [STRANGER])


def github() -> Export:
    """Return a repository for each student, the roster of the classroom, and a table of more claims by Excel."""
    packed: dict[str, bytes] = {}
    rows = ['"identifier","github_username","github_id","name"']
    table = ["Student;P@10;RR"]
    students = []
    for number, (name, login) in enumerate(
        (("Ada Okafor", "ada-ok"), ("Björn Åkesson", "bjorn97"), ("李明", "liming-ir")), 5001
    ):
        own = Own(name)
        folder = f"sheet-4-submissions/sheet-4-{login}"
        packed[f"{folder}/README.md"] = (
            b"# Sheet 4\n\nReport MAP and nDCG@10 of your run in results.md; MAP must be at least 0.2.\n"
        )
        packed[f"{folder}/.git/HEAD"] = b"ref: refs/heads/main\n"
        packed[f"{folder}/.github/workflows/classroom.yml"] = b"name: Autograding\non: [push]\n"
        packed[f"{folder}/src/search.py"] = b"K1 = 0.9\nB = 0.4\nMAP = 0.99\n"
        packed[f"{folder}/results/run.txt"] = own.text("\t")
        packed[f"{folder}/results.md"] = f"- MAP: {four(own.ap)}\n- nDCG@10: {four(own.ndcg)}\n".encode()
        rows.append(f'"{name}","{login}","{number}","{login}"')
        said = [*right("results.md:1", own, "AP"), *right("results.md:2", own, "nDCG@10")]
        if name != "李明":  # who has no place in the encoding of the table
            given, family = _parts(name)
            table.append(f"{family}, {given};{comma(own.p)};{comma(own.rr)}")
            place = f"github-claims.csv:{len(table)}"
            said += [Said("P@10", comma(own.p), place), Said("RR", comma(own.rr), place)]
        students.append(Student(name, {}, 100, said=said, run="results/run.txt"))
    rows.append('"Nils Nichts","","",""')
    students.append(Student("Nils Nichts", {}, 0, "missing", run=""))
    packed["sheet-4-submissions/sheet-4-stranger/run.txt"] = Own(STRANGER).text()
    roster, claims = "\n".join(rows) + "\n", "\r\n".join(table).encode("cp1252")
    return Export("GitHub Classroom", "github.zip", archive(packed), roster, students, ["stranger"], claims)


EXPORTS = (moodle, canvas, gradescope, github)


# --- a course of two sheets ---

COURSE = """\
title = "Information retrieval"

[scoring]
measures = ["AP", "nDCG@10", "RR", "P@10"]

[claims]
claims = "anywhere"

[late]
free_days = 2
per_day = 0.1

[[task]]
name = "sheet-4"
qrels = "qrels.txt"
baseline = "baseline.txt"

[task.late]
deadline = 2026-01-12T23:59:00Z

[[task]]
name = "sheet-5"
qrels = "qrels-5.txt"

[task.points]
run = 20
claims = 30

[task.late]
deadline = 2026-01-19T23:59:00Z
"""


def course() -> tuple[dict[str, bytes], str, dict[str, tuple[float, float]]]:
    """Return the files of a course, its roster, and the points of each student on both sheets."""
    both: list[list[tuple[Group, str, Mapping[str, bytes]]]] = [[], []]
    handed_in = {
        ("Ada Okafor",): ("2026-01-12 18:30:00", "2026-01-19 18:30:00"),
        # Two days late, which are free, and then one more of 10 % of 50 points.
        ("Björn Åkesson",): ("2026-01-14 20:00:00", "2026-01-20 10:00:00"),
        ("李明", "Sofía García"): ("2026-01-12 23:58:00", "2026-01-19 23:58:00"),
        # Three days late on the first sheet, of which two are free.
        ("Émile Lefèvre",): ("2026-01-15 10:00:00", ""),
    }
    for group, times in handed_in.items():
        for submitted, of, at in zip(both, (FOUR, FIVE), times, strict=True):
            if at:
                submitted.append((group, at, _with_report(Own(" and ".join(group), 0.7, of))))
    files = {
        "course.toml": COURSE.encode(),
        "qrels.txt": FOUR.qrels,
        "qrels-5.txt": FIVE.qrels,
        "baseline.txt": BASELINE.text(),
        "course/sheet-4.zip": _gradescope(both[0]),
        "course/sheet-5.zip": _gradescope(both[1]),
    }
    points = {
        "Ada Okafor": (100.0, 50.0),
        "Björn Åkesson": (100.0, 45.0),
        "李明": (100.0, 50.0),
        "Sofía García": (100.0, 50.0),
        "Émile Lefèvre": (90.0, 0.0),
        "Nils Nichts": (0.0, 0.0),
    }
    return files, _gradescope_roster(points), points


def write(folder: pathlib.Path) -> None:
    """Write the class."""
    folder.mkdir(parents=True, exist_ok=True)
    files, roster, _ = course()
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "course-roster.csv").write_text(roster, "utf-8")
    (folder / "rules.toml").write_text(RULES, "utf-8")
    for made in EXPORTS:
        export = made()
        (folder / export.file).write_bytes(export.packed)
        (folder / export.file.replace(".zip", "-roster.csv")).write_text(export.roster, "utf-8")
        if export.claims:
            (folder / export.file.replace(".zip", "-claims.csv")).write_bytes(export.claims)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(pathlib.Path(sys.argv[1]))
