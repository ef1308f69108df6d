"""Word documents and PDF files for tests, part by part."""

from __future__ import annotations

import io
import zipfile

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def docx(document: bytes, *more: tuple[str, bytes]) -> bytes:
    """Return a Word document with this main part."""
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>'
    )
    relations = (
        f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
    )
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("[Content_Types].xml", types)
        made.writestr("_rels/.rels", relations)
        made.writestr("word/document.xml", document)
        for name, data in more:
            made.writestr(name, data)
    return raw.getvalue()


def body(inside: str, before: str = "") -> bytes:
    return f'<?xml version="1.0"?>{before}<w:document xmlns:w="{WORD}"><w:body>{inside}</w:body></w:document>'.encode()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def pdf(*objects: bytes, root: int = 1) -> bytes:
    """Return a PDF of these objects."""
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % at for at in places)
    return (
        made
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (
            len(places) + 1,
            table,
            len(places) + 1,
            root,
            len(made),
        )
    )
