"""Documents that are made to do harm, beside a good run: the run is scored, and what is beside it is found."""

from __future__ import annotations

import contextlib
import json
import socket
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from submitted_documents import body, docx, paragraph, pdf

import treceval_py as te
from treceval_py.grading.grades import Grades

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 1\n2 0 d 0\n"
# The relevant document is second for query 1, and first for query 2: AP is (1/2 + 1) / 2.
RUN = b"1 Q0 b 1 0.9 t\n1 Q0 a 2 0.8 t\n2 Q0 c 1 0.9 t\n2 Q0 d 2 0.8 t\n"
SECRET = "0.1357"
MILLION = 10**6
HUNDRED_MEGABYTES = 10**8


def laughs() -> bytes:
    """Return a document of 10^9 words, by entities of entities."""
    names = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return docx(body(paragraph("&l9;"), f'<!DOCTYPE x [<!ENTITY l0 "MAP = 0.5 ">{names}]>'))


def outside(secret: Path) -> bytes:
    """Return a document that has another file as its text."""
    return docx(body(paragraph("&s;"), f'<!DOCTYPE x [<!ENTITY s SYSTEM "file://{secret}">]>'))


def stream(data: bytes, filters: bytes = b"/FlateDecode", more: bytes = b"") -> bytes:
    return b"<< /Filter %s /Length %d %s >>\nstream\n%s\nendstream" % (filters, len(data), more, data)


FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
CATALOG, PAGES = b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> "
    b"/XObject << /X 5 0 R >> >> >>"
)


def page(content: bytes, filters: bytes = b"/FlateDecode", more: bytes = b"") -> bytes:
    """Return a PDF of one page with this stream, which is packed already."""
    return pdf(CATALOG, PAGES, PAGE, FONT, stream(content, filters, more))


def packed(unit: bytes, size: int = HUNDRED_MEGABYTES) -> bytes:
    """Return what unpacks to that many bytes."""
    made = zlib.compressobj(1)
    block = unit * (MILLION // len(unit))
    return b"".join([made.compress(block) for _ in range(size // len(block))]) + made.flush()


def cells(number: int) -> bytes:
    return b'{"cells": [' + b", ".join([b'{"cell_type": "raw", "source": ""}'] * number) + b'], "nbformat": 4}'


def pictures() -> bytes:
    """Return a notebook with 20 MB of pictures, and a number behind them."""
    image = {"output_type": "display_data", "data": {"image/png": "A" * 20 * MILLION}, "metadata": {}}
    said = {"cell_type": "markdown", "source": ["Rprec = 0.5\n"], "metadata": {}}
    code = {"cell_type": "code", "source": [], "outputs": [image], "metadata": {}, "execution_count": 1}
    return json.dumps({"cells": [code, said], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def documents(secret: Path, url: str) -> dict[str, bytes]:
    """Return documents by their name, of which the last word is that of the file."""
    entity = f'<!DOCTYPE x SYSTEM "{url}" [<!ENTITY s SYSTEM "{url}">]>'
    row = f"<w:tr>{'<w:tc><w:p/></w:tc>' * 1000}</w:tr>"
    parts = [
        *(None, 7, {"cell_type": 3, "source": {"a": 1}}),
        {"cell_type": "code", "outputs": [None, {"output_type": "stream", "text": [1, [2]]}]},
        {"cell_type": "code", "outputs": {"data": []}},
        {"cell_type": "markdown", "source": [["MAP = 0.5"], None]},
    ]
    drawing = b"/Type /XObject /Subtype /Form /Resources << /XObject << /X 5 0 R >> >>"
    action = b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /Launch /F (/bin/touch) /P (evil) >> >>"
    count = b"<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>"
    kids = b"<< /Type /Pages /Kids [" + b"3 0 R " * 30_000 + b"] /Count 30000 >>"
    words = stream(zlib.compress(b"BT /F1 9 Tf (words and words) Tj ET\n" * 1000))
    circle = (
        b"%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Root 1 0 R /Prev 9 >>\nstartxref\n9\n%%EOF\n"
    )
    page_of = f'<link rel=stylesheet href="{url}"><img src="{url}"><iframe src="file://{secret}"></iframe>'
    loads = f'{page_of}<object data="file://{secret}"></object><script>fetch("{url}")</script>'
    latex = f"\\documentclass{{article}}\\begin{{document}}\\input{{{secret}}}\\include{{{secret}}}"
    reads = f"{latex}\\verbatiminput{{{secret}}}\\immediate\\write18{{touch evil}}\\end{{document}}"
    return {
        "100 MB of blanks.docx": docx(body("<w:p/>").replace(b"<w:p/>", b" " * HUNDRED_MEGABYTES + b"<w:p/>")),
        "entities of entities.docx": laughs(),
        "another file.docx": outside(secret),
        "an address.docx": docx(body(paragraph("&s;"), entity)),
        "a million cells.docx": docx(body(f"<w:tbl>{row}</w:tbl>" * 1000)),
        "tables in tables.docx": docx(body("<w:tbl><w:tr><w:tc>" * 100_000 + "</w:tc></w:tr></w:tbl>" * 100_000)),
        "without parts.docx": docx(b"")[:-30],
        "that leads out.docx": docx(body("<w:p/>"), ("../../evil.txt", b"evil")),
        "100 MB of text.pdf": page(packed(b"BT /F1 9 Tf (MAP = 0.5) Tj ET\n")),
        "packed twice.pdf": page(zlib.compress(packed(b"BT (a) Tj ET ")), b"[/FlateDecode /FlateDecode]"),
        "pages in a circle.pdf": pdf(CATALOG, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"),
        "that draws itself.pdf": page(zlib.compress(b"/X Do /X Do"), more=drawing),
        "a milliard pages.pdf": pdf(CATALOG, count, PAGE, FONT, stream(b"", b"[]")),
        "30,000 times the same page.pdf": pdf(CATALOG, kids, PAGE, FONT, words),
        "objects in a circle.pdf": circle,
        "that runs a program.pdf": pdf(action, PAGES, PAGE, FONT),
        "100,000 brackets.pdf": pdf(b"[" * 100_000),
        "100,000 brackets.ipynb": b'{"cells": ' + b"[" * 100_000,
        "a million cells.ipynb": cells(MILLION),
        "20 MB of pictures.ipynb": pictures(),
        "other things.ipynb": b'{"cells": {"a": 1}, "nbformat": NaN, "metadata": ' + b"9" * 10_000 + b"}",
        "parts of other types.ipynb": json.dumps({"cells": parts}).encode(),
        "a million cells.html": b"<table><tr>" + b"<td>1" * MILLION,
        "boxes in boxes.html": b"<div>" * 100_000 + b"MAP = 0.5",
        "tags that do not end.html": b"<a " * MILLION,
        "that loads what is elsewhere.html": loads.encode(),
        "that reads another file.tex": reads.encode(),
        "that defines itself.tex": b"\\def\\a{\\a\\a}\\newcommand{\\b}{\\b\\b}\\a\\b " * 1000,
        "a million cells.tex": b"\\begin{tabular}{c}" + b"1 &" * MILLION + b"\\end{tabular}",
        "100,000 braces.tex": b"{" * 100_000,
        "tables in tables.tex": b"\\begin{tabular}{c}" * 100_000,
        "a million columns.csv": b"MAP," * MILLION + b"\n" + b"0.5," * MILLION,
        "a million pipes.md": b"|" * MILLION + b"\n|" + b"---|" * 250_000 + b"\n" + b"|" * MILLION,
        "a million times a name.txt": b"a MAP of " * 110_000,
        "a million digits.txt": b"MAP = 0." + b"3" * MILLION + b"\nMAP of" + b" " * 100_000 + b"0.5",
        "100,000 brackets.json": b'{"MAP":' * 100_000,
    }


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, Callable[[], bool]]]:
    """Yield an address, and whether anybody has called there."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)

        def called() -> bool:
            try:
                server.accept()[0].close()
            except BlockingIOError:
                return False
            return True

        yield f"http://127.0.0.1:{server.getsockname()[1]}/x", called


@pytest.fixture(scope="module")
def class_(tmp_path_factory: pytest.TempPathFactory, address: tuple[str, Callable[[], bool]]) -> tuple[Grades, Path]:
    """Grade all documents, each beside a good run with its claim."""
    folder = tmp_path_factory.mktemp("hostile")
    secret = folder / "secret.tex"
    secret.write_text(f"MAP = {SECRET}\n")
    (folder / "qrels.txt").write_text(QRELS)
    for name, data in documents(secret, address[0]).items():
        own = folder / "class" / name.replace(",", "")
        own.mkdir(parents=True)
        (own / f"r.{name.rpartition('.')[2]}").write_bytes(data)
        (own / "run.txt").write_bytes(RUN)
        (own / "results.txt").write_text("MAP = 0.75\n")
    (folder / "rules.toml").write_text("[limits]\nseconds = 60\n")
    rules = te.grading.read_rules(folder / "rules.toml")
    return te.grading.grade(folder / "qrels.txt", folder / "class", folder / "out", rules=rules), folder


@pytest.mark.slow
def test_a_hostile_document_takes_nothing_from_the_run_beside_it_and_is_accounted_for(
    class_: tuple[Grades, Path],
) -> None:
    found = {each.student: each.graded for each in class_[0].entries}
    assert len(found) == 36
    assert {name: each.reason for name, each in found.items() if (each.status, each.run) != ("scored", "run.txt")} == {}
    right = ("results.txt:1", "0.75", "correct")
    assert [
        name
        for name, each in found.items()
        if right not in [(claim.place, claim.text, claim.verdict) for claim in each.claims]
    ] == []
    files = {name: [file for file in each.files if file.name.startswith("r.")] for name, each in found.items()}
    roles = {"claims", "report", "unread", "not used"}
    assert {
        name: own for name, own in files.items() if len(own) != 1 or own[0].role not in roles or not own[0].why
    } == {}


@pytest.mark.slow
def test_no_other_file_is_read_and_nobody_is_called(
    class_: tuple[Grades, Path], address: tuple[str, Callable[[], bool]]
) -> None:
    grades, folder = class_
    assert not address[1]()
    written = [path for path in (folder / "out").rglob("*") if path.is_file()]
    assert all(SECRET.encode() not in path.read_bytes() for path in written)
    assert not any("evil" in path.name for path in folder.rglob("*"))
    assert not any(claim.text == SECRET for entry in grades.entries for claim in entry.graded.claims)


@pytest.mark.slow
def test_pictures_do_not_hide_the_number_behind_them(class_: tuple[Grades, Path]) -> None:
    (claims,) = (each.graded.claims for each in class_[0].entries if each.student == "20 MB of pictures.ipynb")
    # R-precision is 0 for query 1 and 1 for query 2.
    assert ("0.5", "r.ipynb, cell 2, line 1") in [(claim.text, claim.place) for claim in claims]
