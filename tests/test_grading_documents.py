"""Documents that students hand in become lines and tables with places, whatever their format, and harm nobody."""

from __future__ import annotations

import io
import json
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from submitted_documents import body, docx, paragraph
from submitted_documents import pdf as pdf_of
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.claims.documents import pdf as reading_of_pdf
from treceval_py.grading.claims.documents.document import LONGEST, MOST_CELLS, Blocks, Document, Full, Grid, Line, Row
from treceval_py.grading.claims.documents.reading import FORMATS, is_document, read_document


def blocks(text: str | bytes, name: str) -> list[Any]:
    """Return lines as (place, text) and tables as lists of (place, cells); what separates paragraphs is left out."""
    document = read_document(text.encode() if isinstance(text, str) else text, name)
    assert document.fault == ""
    return shown(document)


def shown(document: Document) -> list[Any]:
    found: list[Any] = []
    for block in document.blocks:
        if isinstance(block, Grid):
            found.append([(row.place, *row.cells) for row in block.rows])
        elif block.text:
            found.append((block.place, block.text))
    return found


def packed(**parts: str | bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return stream.getvalue()


def word(inside: str, before: str = "") -> bytes:
    return docx(body(inside, before))


def sheet(row: str, strings: str = "<sst><si><t>MAP</t></si></sst>") -> bytes:
    return packed(**{"xl/sharedStrings.xml": strings, "xl/worksheets/sheet1.xml": f"<s>{row}</s>"})


def notebook(*cells: dict[str, Any]) -> bytes:
    return json.dumps({"nbformat": 4, "cells": cells}).encode()


def printed(**output: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": "print('MAP = 0.1')", "outputs": [output]}


TABLE = r"""\begin{table}[ht]
\caption{Runs of \emph{mine}}
\begin{tabular}{l|cc} \toprule
 & \multicolumn{2}{c}{Values} \\ \cmidrule(lr){2-3}
Run & \makecell{AP\\mean} & P@5 \\
\multirow{2}{*}{A \& B} & 0.25 & .3 \\[2pt]
 & \textbf{0.3088} & $0.379 \pm 0.01$ \\ % last
\end{tabular}\end{table}"""
VERSION_3 = {"cell_type": "code", "input": "1", "outputs": [{"output_type": "pyout", "text": "MAP = 0.3"}]}
SUPERSCRIPT = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>2</w:t></w:r>'
CELLS = {
    '<c t="s"><v>0</v></c>': "MAP", '<c t="s"><v>1</v></c>': "", '<c t="inlineStr"><is><t>a</t><t>b</t></is></c>': "ab",
    '<c t="str"><v>c</v></c>': "c", '<c t="b"><v>1</v></c>': "", "<c><v>0.30880000000000002</v></c>": "0.3088",
    "<c><v>20.0</v></c>": "20", "<c><v>x</v></c>": "x", "<c/>": "", '<c r="L7"><v>9</v></c>': "9",
}  # fmt: skip
VALUES = (*list(CELLS.values())[:-1], "", "", "9")  # column L is the twelfth one

BLOCKS: dict[str, dict[str, list[Any]]] = {
    "notes.txt": {
        "MAP = 0.4009, MRR = 0.9440\n\nend\n": [(":1", "MAP = 0.4009, MRR = 0.9440"), (":3", "end")],
        "| m | v |\n|---|:-:|\n| MAP | 0.2 |\n": [[(":1", "m", "v"), (":3", "MAP", "0.2")]],
        "+---+---+\n| m | v |\n+===+===+\n| MAP | 0.2 |\n+---+---+\n": [(":1", "+---+---+"), [(":2", "m", "v"), (":4", "MAP", "0.2")]],
        "MAP;P@5\n0,28;0,5\nrest": [[(":1", "MAP", "P@5"), (":2", "0,28", "0,5")], (":3", "rest")],
        "      MAP  P@5\na  0.30  0.4\n\n": [[(":1", "", "MAP", "P@5"), (":2", "a", "0.30", "0.4")]],
        "System MAP P@5\nOur run 0.3 0.4 ± 0.1\nThe end": [[(":1", "System", "MAP", "P@5"), (":2", "Our run", "0.3", "0.4±0.1")], (":3", "The end")],
        "#  Model  MAP\n-- ------ -----\na  mine  0.4ᵃ¹": [[(":1", "#", "Model", "MAP"), (":3", "a", "mine", "0.4ᵃ¹")]],
        "runid\tall\tr\nmap\tall\t0.3\n": [(":1", "runid all r"), (":2", "map all 0.3")],
        "a  b\n1  2\nmap  all  0.3": [[(":1", "a", "b"), (":2", "1", "2")], (":3", "map all 0.3")],
        "We used k1, b, and so on,\nthat is 0.9, 0.4, and so on,": [(":1", "We used k1, b, and so on,"), (":2", "that is 0.9, 0.4, and so on,")],
        "run MAP\nours 0.3": [(":1", "run MAP"), (":2", "ours 0.3")],
        "a b c d, MAP\nx, 0.3": [[(":1", "a b c d", "MAP"), (":2", "x", "0.3")]],
        "a b c d e, MAP\nx, 0.3": [(":1", "a b c d e, MAP"), (":2", "x, 0.3")],
        "k1 = 0.9, b = 0.4\nk1 = 1.2, b = 0.75": [(":1", "k1 = 0.9, b = 0.4"), (":2", "k1 = 1.2, b = 0.75")],
    },
    "long.md": {
        "x" * 401 + " MAP " + "x" * 400: [(":1", "MAP " + "x" * 400)],  # words of more are data
        "的" * 401: [(":1", "的" * 401)],
        "a b c\nx 2 3\n\ny 5 6\n\nwords": [[(":1", "a", "b", "c"), (":2", "x", "2", "3"), (":4", "y", "5", "6")], (":6", "words")],
    },
    "results.csv": {
        "run,MAP\nbaseline,0.1\n\nmine,0.3\n": [[(":1", "run", "MAP"), (":2", "baseline", "0.1")], [(":4", "mine", "0.3")]],
        'sep=;\nrun;MAP\n"a;\nb";0,3\nc;0,4': [[(":2", "run", "MAP"), (":3", "a; b", "0,3"), (":5", "c", "0,4")]],
        "MAP = 0.4009, MRR = 0.9440\n": [(":1", "MAP = 0.4009, MRR = 0.9440")],
        "a title\nrun,MAP,P@5\nmine,0.3": [(":1", "a title"), [(":2", "run", "MAP", "P@5"), (":3", "mine", "0.3", "")]],
        "MAP 0.3\n": [(":1", "MAP 0.3")],
    },
    "results.json": {
        '{\n"map": 0.280,\n"note": "a \\" b"\n}': [[(":2", "map", "0.280"), (":1", "note", 'a " b')]],
        '{"base": {"map": 0.2},\n"ours": {"map": 1e-3, "P": 0.5}}': [[(":1", "", "map", "P"), (":1", "base", "0.2", ""), (":2", "ours", "1e-3", "0.5")]],
        '[{"m": "MAP", "v": 0.3}, {"m": "P"}]': [[(":1", "", "m", "v"), (":1", "", "MAP", "0.3"), (":1", "", "P", "")]],
        '{"run": "a", "map": 0.2}\n{"run": "b", "map": 0.3}': [[(":1", "", "run", "map"), (":1", "", "a", "0.2"), (":2", "", "b", "0.3")]],
        '{"map": 0.2}\n{"map": 0.2}\n': [[(":1", "", "map"), (":1", "", "0.2"), (":2", "", "0.2")]],
        '{"columns": ["a", "b"], "data": [0.1, 0.2]}': [[(":1", "columns", "a", "b"), (":1", "data", "0.1", "0.2")]],
        '{"k1": 0.9, "scores": {"map": 0.3}, "seen": true}': [[(":1", "k1", "0.9")], [(":1", "map", "0.3")]],
        '{"map": 0.3,}': [(":1", '{"map": 0.3,}')],
    },
    "printed.txt": {
        "{'a': {'m': np.float64(0.5)}, 'b': {'m': 1}}": [[(":1", "", "m"), (":1", "a", "0.5"), (":1", "b", "1")]],
        "{'a': None}": [(":1", "{'a': None}")],
    },
    "onlinetext.html": {
        "<p>MAP = <b>0.28</b>\n<p>caf&eacute;": [(":1", "MAP = 0.28"), (":2", "café")],
        "<?xml version='1.0'?>\n<!DOCTYPE html>\nMAP = 0.3": [(":3", "MAP = 0.3")],
        "<p>0.3088<sup>2</sup>": [(":1", "0.3088 2")],
        "<!-- MAP = 0.1 --><script>MAP = 0.2</script><style>x</style>MRR": [(":1", "MRR")],
        "<table><tr><th>m<th>MAP</tr>\n<tr><td><p>ours</p><td>0.28</table>after": [[(":1", "m", "MAP"), (":2", "ours", "0.28")], (":2", "after")],
        "<tr><th rowspan=2>x<th colspan=2>runs<tr><td>a<td>b": [[(":1", "x", "runs", "runs"), (":1", "", "a", "b")]],
        "<tr><td>a<td>b<td>c<tr><td rowspan=2>d<td>e<td>f<tr><td>g<td>h": [[(":1", "a", "b", "c"), (":1", "d", "e", "f"), (":1", "", "g", "h")]],
        "<pre>a\nb</pre>c\nd": [(":1", "a"), (":2", "b"), (":2", "c d")],
        "<td><pre>a\nb</pre></td></table>c\nd": [[(":1", "a b")], (":2", "c d")],
        "<td>a<table><tr><td>b</table>c": [[(":1", "a")], [(":1", "b")], (":1", "c")],
        "<pre>\nmap all 0.3\n\n  m  v\na  1  2\n</pre>": [(":2", "map all 0.3"), [(":4", "", "m", "v"), (":5", "a", "1", "2")]],
    },
    "report.tex": {
        r"A \textbf{MAP} of $0{,}3$\,\% for f\"ur \cite[p.~2]{x}, \v{s}": [(":1", "A MAP of 0,3 % for fur , s")],
        "x\\footnote{MAP = 0.3}": [(":1", "x; MAP = 0.3")],
        r"$\mathrm{MAP} \approx 0.3088^{1}$ 0.5\textsuperscript{2}": [(":1", "MAP ≈ 0.3088^1 0.5 2")],
        "\\newcommand{\\x}{0.1}\n\\begin{document}\nMAP % = 0.2\n\\end{document}\nP = 0.3": [(":3", "MAP")],
        "a\n\\begin{verbatim}\nmap all 30%\n\\end{verbatim}\nb": [(":1", "a"), (":3", "map all 30%"), (":5", "b")],
        "\\begin{comment}\nMAP = 0.1\n\\end{comment}\nb": [(":4", "b")],
        r"\begin{tabular}{c} a & \begin{tabular}{c}x \\ y\end{tabular} & .5 \\ \end{tabular} b": [[(":1", "a", "x y", ".5")], (":1", "b")],
        "\\begin{tabular}{c} MAP = 0.1": [[(":1", "MAP = 0.1")]],
        TABLE: [(":2", "Runs of mine"), [(":4", "", "Values", "Values"), (":5", "Run", "AP mean", "P@5"), (":6", "A & B", "0.25", ".3"), (":7", "", "0.3088", "0.379 ± 0.01")]],
    },
    "work.ipynb": {
        notebook({"cell_type": "markdown", "source": ["# R\n", "MAP = 0.3"]}): [(", cell 1, line 1", "# R"), (", cell 1, line 2", "MAP = 0.3")],
        notebook(printed(text=["\x1b[1mMAP\x1b[0m = 0.3\n"])): [(", cell 1, output line 1", "MAP = 0.3")],
        notebook(printed(data={"text/plain": "0.3", "image/png": "AAAA"})): [(", cell 1, output line 1", "0.3")],
        notebook(printed(data={"text/plain": "no", "text/html": "<table><td>a"})): [[(", cell 1, output", "a")]],
        notebook(printed(ename="ValueError", traceback=["MAP = 0.1"])): [],
        notebook(printed(text=None)): [],
        json.dumps({"nbformat": 3, "worksheets": [{"cells": [VERSION_3]}]}).encode(): [(", cell 1, output line 1", "MAP = 0.3")],
    },
    "report.docx": {
        word(paragraph("MAP = 0.3") + paragraph("P = 0.4")): [(", paragraph 1", "MAP = 0.3"), (", paragraph 2", "P = 0.4")],
        word(f"<w:sdt><w:sdtContent>{paragraph('in a field')}</w:sdtContent></w:sdt>"): [(", paragraph 1", "in a field")],
        word("<w:p><w:ins><w:r><w:t>0.</w:t></w:r></w:ins><w:del><w:r><w:delText>9</w:delText></w:r></w:del><w:r><w:t>3</w:t></w:r></w:p>"): [(", paragraph 1", "0.3")],
        word(f"<w:p><w:r><w:t>0.3</w:t></w:r>{SUPERSCRIPT}</w:p>"): [(", paragraph 1", "0.3 2")],
        word(f"{paragraph('x')}<w:tbl><w:tr><w:tc>{paragraph('MAP')}</w:tc><w:tc>{paragraph('0.3')}</w:tc></w:tr></w:tbl>{paragraph('y')}"): [(", paragraph 1", "x"), [(", table 1, row 1", "MAP", "0.3")], (", paragraph 2", "y")],
        word(f'<w:tbl><w:tr/><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p/></w:tc><w:tc>{paragraph("a")}</w:tc></w:tr></w:tbl>'): [[(", table 1, row 2", "", "", "a")]],
        word("<w:p><w:r><w:t>m</w:t><w:tab/><w:t>v</w:t><w:br/><w:t>MAP</w:t><w:tab/><w:t>0.3</w:t></w:r></w:p>"): [[(", paragraph 1", "m", "v"), (", paragraph 1", "MAP", "0.3")]],
    },
    "results.xlsx": {
        sheet(f'<row r="{row}">{"".join(CELLS)}</row>'): [[(f", sheet 1, row {place}", *VALUES)]]
        for row, place in (("7", 7), ("9999999", 9_999_999), ("99999999", 1), ("\u00b2", 1), ("", 1))
    } | {
        sheet("<row><c><v>1</v></c></row><row><c/></row><row><c><v>2</v></c></row>"): [[(", sheet 1, row 1", "1")], [(", sheet 1, row 3", "2")]],
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BLOCKS)
def test_a_document_is_lines_and_the_tables_among_them(name: str) -> None:
    if name.endswith("docx"):
        pytest.importorskip("docx")
    assert {text: blocks(text, name) for text in BLOCKS[name]} == BLOCKS[name]


def test_a_workbook_of_excel_is_read() -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["run", "MAP"])
    book.active.append(["mine", 0.3088])
    stream = io.BytesIO()
    book.save(stream)
    assert blocks(stream.getvalue(), "r.xlsx") == [
        [(", sheet 1, row 1", "run", "MAP"), (", sheet 1, row 2", "mine", "0.3088")]
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_text_may_be_in_the_encodings_of_windows_and_be_cut_within_a_letter(encoding: str) -> None:
    assert blocks("Güte: MAP = 0.3".encode(encoding), "a.txt") == [(":1", "Güte: MAP = 0.3")]
    for cut in (1, 2, 3):
        assert blocks("Güte: MAP = 0.3 😀".encode()[:-cut], "a.txt") == [(":1", "Güte: MAP = 0.3")]


# --- PDF ---


def stream(content: bytes, more: bytes = b"") -> bytes:
    packed = zlib.compress(content)
    return b"<<%s/Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (more, len(packed), packed)


def pdf(*contents: bytes, resources: bytes = b"", objects: tuple[bytes, ...] = ()) -> bytes:
    """Return a PDF with pages of these contents; further objects have the numbers from 4 on."""
    first = 4 + len(objects)
    pages = [
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>%s>>>>"
        % (first + 2 * number + 1, resources)
        for number in range(len(contents))
    ]
    kids = b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(contents)))
    return pdf_of(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(contents)),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        *objects,
        *(part for page, content in zip(pages, contents, strict=True) for part in (page, content)),
    )


def text_at(*words: tuple[int, int, int, str]) -> bytes:
    """Return the content of a page: sizes, places and words."""
    return b"".join(b"BT /F %d Tf %d %d Td (%s) Tj ET\n" % (size, x, y, text.encode()) for size, x, y, text in words)


def test_a_pdf_has_lines_on_pages_and_tables() -> None:
    pytest.importorskip("pypdf")
    rows = [("System", "MAP", "P@5"), ("Our run", "0.3088", "0.35")]
    second = text_at(
        *((12, 50 + 150 * at, 700 - 20 * row, cell) for row, cells in enumerate(rows) for at, cell in enumerate(cells))
    )
    assert blocks(pdf(stream(text_at((12, 50, 700, "MAP = 0.3"))), stream(second)), "report.pdf") == [
        (", page 1, line 1", "MAP = 0.3"),
        [(", page 2, line 1", "System", "MAP", "P@5"), (", page 2, line 2", "Our run", "0.3088", "0.35")],
    ]
    # a smaller digit after a number is that of a footnote
    for size, text in ((8, "0.3 2"), (9, "0.32"), (10, "0.32")):
        page = text_at((10, 50, 700, "0.3"), (size, 64, 700, "2"))
        assert blocks(pdf(stream(page)), "r.pdf") == [(", page 1, line 1", text)]


def test_a_pdf_that_needs_a_password_is_not_read() -> None:
    pypdf = pytest.importorskip("pypdf")
    for password, found in (
        ("", ""),
        ("x", "r.pdf was not read because it is encrypted: hand it in without a password"),
    ):
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(stream(text_at((12, 50, 700, "MAP = 0.3"))))))
        writer.encrypt(password, "owner", algorithm="RC4-128")
        made = io.BytesIO()
        writer.write(made)
        document = read_document(made.getvalue(), "r.pdf")
        assert (document.fault, len(document.blocks) > 0) == (found, not password)


# --- what cannot be read ---

UNREAD: dict[str, tuple[str, Callable[[], bytes]]] = {
    "old format": ("a/old.doc", lambda: b"\xd0\xcf\x11\xe0"),
    "no notebook": ("r.ipynb", lambda: b"{"),
    "no cells": ("r.ipynb", lambda: b'{"cells": 3}'),
    "damaged Word": ("r.docx", lambda: b"no"),
    "older Word": ("r.docx", lambda: b"\xd0\xcf\x11\xe0"),
    "damaged PDF": ("r.pdf", lambda: b"%PDF-1.4"),
    "pictures": ("r.pdf", lambda: pdf(stream(b"0 0 m 9 9 l S"))),
    "damaged Excel": ("r\x1b.xlsx", lambda: packed(**{"xl/sharedStrings.xml": "<"})),
    "long name": ("x" * 81 + ".doc", lambda: b"\xd0"),
    # at the limits, where another reason is found, and just beyond them
    "8 MiB of XML": ("r.xlsx", lambda: packed(**{"a.xml": bytes(8 << 20)})),
    "more XML": ("r.xlsx", lambda: packed(**{"a.xml": bytes(8 << 20), "b.rels": b"x"})),
    "64 MiB": ("r.xlsx", lambda: packed(**{"a.png": bytes(64 << 20)})),
    "more than 64 MiB": ("r.docx", lambda: packed(**{"a.png": bytes((64 << 20) + 1)})),
    "5000 parts": ("r.xlsx", lambda: packed(**{str(part): "" for part in range(5000)})),
    "5001 parts": ("r.xlsx", lambda: packed(**{str(part): "" for part in range(5001)})),
    "32 MiB": ("r.ipynb", lambda: b"{" + b" " * ((32 << 20) - 1)),
    "more than 32 MiB": ("r.ipynb", lambda: b"{" + b" " * (32 << 20)),
    "1,000,000 values": ("r.ipynb", lambda: b"[" * 1_000_000),
    "1,000,001 values": ("r.ipynb", lambda: b"[{," + b"[" * 999_998),
    "1 MiB of text": ("a.txt", lambda: b"x" * (1 << 20)),
    "more than 1 MiB of text": ("a.txt", lambda: b"x" * ((1 << 20) + 1)),
    "more than 4 MiB of a page": ("a.html", lambda: b"x" * ((4 << 20) + 1)),
    "31 lists in a list": ("a.json", lambda: b"[" * 31 + b"{}" + b"]" * 31),
    "32 lists in a list": ("a.json", lambda: b"[" * 32 + b"{}" + b"]" * 32),
    "many objects": ("a.json", lambda: b"[" * 500_000),
    "many keys": ("a.json", lambda: b'{"a":' * 100_000),
    "many fields": ("a.docx", lambda: word("<w:sdt>" * 100_000)),
}


def test_what_cannot_be_read_has_a_fault(snapshot: SnapshotAssertion) -> None:
    pytest.importorskip("pypdf")
    pytest.importorskip("docx")
    found = {}
    for case, (name, make) in UNREAD.items():
        found[case] = read_document(make(), name).fault
    assert found == snapshot


ROW = Row(":1", ("x",) * 100)
FULL: dict[str, tuple[Callable[[Blocks], None], int]] = {
    "only its first 20,000 lines were read": (lambda blocks: blocks.line(":1", "x"), 20_000),
    "only the first 100,000 cells of its tables were read": (lambda blocks: blocks.grid([ROW]), 1000),
    "only its first 1,000,000 characters were read": (lambda blocks: blocks.line(":1", "x" * 400), 2500),
}


@pytest.mark.parametrize("fault", FULL)
def test_a_document_has_so_many_lines_cells_and_characters(fault: str) -> None:
    add, most = FULL[fault]
    found = Blocks()
    for _ in range(most):
        add(found)
    found.end()
    with pytest.raises(Full, match=f"^{fault}$"):
        _ = add(found), found.end()


def test_a_cell_is_cut_and_a_table_has_a_hundred_columns() -> None:
    found = Blocks()
    found.grid([Row("", ("x" * 400, "y" * 401)), Row("", ("x",) * 101)], "z" * 401)
    (grid,) = found.taken
    assert isinstance(grid, Grid)
    assert [[*map(len, row.cells)] for row in grid.rows] == [[400, 400, *[0] * 98], [1] * 100]
    assert len(grid.caption) == LONGEST


SPANS = {"2": 2, "0": 1, "x": 1, "99": 99, "101": 100, "9999": 100, "00002": 1, "\u00b2": 1}


def test_a_cell_of_a_page_spans_a_hundred_columns_at_most() -> None:
    rows = {span: blocks(f"<table><tr><td colspan={span}>a</table>", "a.html")[0][0] for span in SPANS}
    assert {span: len(row) - 1 for span, row in rows.items()} == SPANS


@pytest.mark.parametrize(("package", "name"), [("pypdf", "r.pdf"), ("docx", "r.docx")])
def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, package: str, name: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    called = {"docx": "python-docx"}.get(package, package)
    assert read_document(b"%PDF-" * (package == "pypdf") + b"x", name).fault == (
        f"{name} was not read because {called} is not installed"
    )


@pytest.mark.parametrize(("limit", "most", "what"), [("PAGES", 4, "pages"), ("OPERATORS", 12, "drawing operators")])
def test_so_many_pages_and_operators_of_a_pdf_are_read(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, what: str
) -> None:
    pytest.importorskip("pypdf")
    data = pdf(*[stream(b"BT (a) Tj ET")] * 4)
    for few, fault in (
        (most, ""),
        (most - 1, f"r.pdf was not read to its end: only its first {most - 1} {what} were read"),
    ):
        monkeypatch.setattr(reading_of_pdf, f"_MOST_{limit}", few)
        assert read_document(data, "r.pdf").fault == fault


def test_a_damaged_page_leaves_the_others() -> None:
    pytest.importorskip("pypdf")
    whole = stream(text_at((12, 50, 700, "MAP = 0.3")))
    document = read_document(pdf(stream(b"[" * 100_000), whole), "r.pdf")
    assert shown(document) == [(", page 2, line 1", "MAP = 0.3")]
    assert document.fault == "r.pdf was not read to its end: page 1 is damaged (RecursionError)"


KINDS = {
    ("Report.PDF", b"%PDF-1.7"): "pdf", ("report", b"\n%PDF-1.7"): "pdf", ("a.docx", b"PK\x03\x04\0"): "docx",
    ("a.ipynb", b"{"): "notebook", ("README", b"MAP = 0.3"): "text", ("a.txt", b"<!DOCTYPE html>"): "html",
    ("a.txt", b"\xff\xfeM\0"): "text", ("a.csv", b"a,b"): "csv", ("eval.py", b"MAP = 0.3"): "", ("a.bin", b"\0\1"): "",
    ("x/requirements.txt", b"numpy"): "", ("a.aux", b"MAP = 0.3"): "", ("results.yml", b"map: 0.3"): "text",
    ("a.log", b"This is pdfTeX, 1"): "", ("a.log", b"MAP = 0.3"): "text", ("a.txt", b" \n"): "", ("a.pages", b"PK\x03\x04\0"): "other",
    ("a.bin", b" " * 1019 + b"%PDF-"): "pdf", ("a.bin", b" " * 1020 + b"%PDF-"): "text",
}  # fmt: skip


def test_the_kind_of_a_document_is_known_by_its_name_and_beginning() -> None:
    assert {(name, head): is_document(name, head) for name, head in KINDS} == KINDS
    assert {*KINDS.values()} <= {"", *FORMATS}


# --- hostile documents ---


def test_entities_of_xml_are_neither_expanded_nor_loaded() -> None:
    pytest.importorskip("docx")
    outside = word(paragraph("MAP &a; = 0.3"), '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>')
    assert "root:" not in str(read_document(outside, "r.docx"))
    ten = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    bomb = word(paragraph("&a9;"), f'<!DOCTYPE a [<!ENTITY a0 "MAP = 0.3">{ten}]>')
    assert sum(len(block.text) for block in read_document(bomb, "r.docx").blocks if isinstance(block, Line)) < 100
    for entities, named in ((f'<!ENTITY a0 "0.3">{ten}', "a9"), ('<!ENTITY a0 "0.3">', "a0")):
        cell = f'<worksheet><row><c t="str"><v>&{named};</v></c></row></worksheet>'
        sheet = packed(**{"xl/worksheets/sheet1.xml": f"<!DOCTYPE a [{entities}]>{cell}"})
        assert read_document(sheet, "r.xlsx").fault == "r.xlsx was not read because it is damaged"


CELL = "<w:tr><w:tc><w:p><w:r><w:t>1</w:t></w:r></w:p></w:tc></w:tr>"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.csv", lambda: b"a,0.1\n" * 170_000),
        ("a.txt", lambda: b"a b c\n1 2 3\n" * 80_000),
        ("a.html", lambda: b"<table>" + b"<tr><td>0.1" * 300_000),
        ("a.json", lambda: b"[" + b'{"a":1},' * 120_000 + b"{}]"),
        ("a.tex", lambda: b"\\begin{tabular}{c}" + b"a&b\\\\" * 140_000 + b"\\end{tabular}"),
        ("a.docx", lambda: word(f"<w:tbl>{CELL * 110_000}</w:tbl>")),
        ("a.xlsx", lambda: packed(**{"xl/worksheets/sheet1.xml": f"<s>{'<row><c><v>1</v></c></row>' * 250_000}</s>"})),
        ("a.ipynb", lambda: notebook(printed(data={"text/html": "<table>" + "<tr><td>0.1" * 1_000_000}))),
        ("a.ipynb", lambda: notebook(printed(text="MAP = 0.3\n" * 1_000_000))),
    ],
)  # fmt: skip
def test_of_a_million_cells_or_lines_the_first_are_read(name: str, make: Callable[[], bytes]) -> None:
    if name == "a.docx":
        pytest.importorskip("docx")
    document = read_document(make(), name)
    assert " was not read to its end: only " in document.fault
    cells = sum(len(row.cells) for block in document.blocks if isinstance(block, Grid) for row in block.rows)
    assert 0 < cells + len(document.blocks) <= 2 * MOST_CELLS


BACKSLASHES = [
    "\\begin{tabular}", "\\begin{tabular}{c}a\\end{tabular}", "\\caption{", "\\cite[", "\\multirow{2}{", "{", "\\\\",
    "\\\\[", "\\makecell{", "\\begin{verbatim}",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", BACKSLASHES)
def test_a_mebibyte_of_latex_that_never_ends_is_read_at_once(part: str) -> None:
    begun = time.process_time()
    read_document(part.encode() * ((1 << 20) // len(part)), "a.tex")
    assert time.process_time() - begun < 20  # hours, where each beginning is followed to the end of the file


@pytest.mark.slow
def test_bombs_in_a_pdf_are_not_unpacked() -> None:
    pytest.importorskip("pypdf")
    fault = read_document(pdf(stream(b" " * (100 << 20))), "r.pdf").fault
    assert fault == "r.pdf was not read because page 1 is damaged (LimitReachedError)"
    # Forms each of which shows the next one twice: a billion times in the end.
    forms = [
        stream(
            b"/X%d Do /X%d Do" % (n, n),
            b"/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X%d %d 0 R>>>>" % (n, n + 5),
        )
        for n in range(30)
    ]
    last = stream(b"0 0 m", b"/Subtype/Form/BBox[0 0 9 9]/Resources<</Font<</F 3 0 R>>>>")
    shows = text_at((12, 50, 700, "MAP = 0.3")) + b"/X0 Do"
    bomb = pdf(stream(shows), resources=b"/XObject<</X0 4 0 R>>", objects=(*forms, last))
    assert (", page 1, line 1", "MAP = 0.3") in shown(read_document(bomb, "r.pdf"))
