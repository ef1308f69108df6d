"""Files that end within a line: named as such by every reader, and never repaired."""

from __future__ import annotations

import io

import pytest
from readers import use_reader

import treceval_py as te
from treceval_py.checking.fixing import fix
from treceval_py.diagnosis.columns import KINDS
from treceval_py.errors import InputError
from treceval_py.io import source

QRELS = b"1 0 a 1\n1 0 bb 2"
RUN = b"1 Q0 a 1 2.5 tag\n1 Q0 bb 2 1.25 tag"
CUT = r"<file>:2: the file ends within this line: it was cut off\. Copy it or write it again\."


def codes(data: bytes, kind: str) -> list[str]:
    return [
        finding.code for finding in te.check(io.BytesIO(data), kind=kind, select=["F", "R10", "R118", "Q30"]).findings
    ]


@pytest.mark.parametrize("reader", ["compiled", "python"])
@pytest.mark.parametrize(("kind", "data", "width"), [("run", RUN, 6), ("qrels", QRELS, 4)])
def test_a_last_line_that_lacks_fields_was_cut_off(
    kind: str, data: bytes, width: int, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_reader(monkeypatch, reader)
    read = te.read_run if kind == "run" else te.read_qrels
    for end in range(data.index(b"\n") + 2, len(data) + 1):
        part, target = data[:end], io.BytesIO()
        if len(part.splitlines()[1].split()) < width:
            with pytest.raises(InputError, match=CUT):
                read(io.BytesIO(part))
            with pytest.raises(InputError, match=CUT):
                fix(io.BytesIO(part), target, KINDS[kind])
            assert not target.getvalue()
            assert codes(part, kind) == ["F021"]
        else:
            read(io.BytesIO(part))
            fix(io.BytesIO(part), target, KINDS[kind])
            assert target.getvalue() == part.rstrip() + b"\n"
            assert not codes(part, kind)


def test_a_run_is_not_scored_if_it_was_cut_off() -> None:
    with pytest.raises(InputError, match=CUT):
        te.evaluate({"1": {"a": 1}}, io.BytesIO(RUN[:-4]))
    assert te.evaluate({"1": {"a": 1}}, io.BytesIO(RUN), "P@1").mean == {"P@1": 1}


@pytest.mark.parametrize("size", range(1, len(RUN)))
def test_the_line_before_may_be_in_an_earlier_piece(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "SHORTEST_BLOCK", 4)
    with pytest.raises(InputError, match=r"the file ends within this line"):
        list(source.blocks(io.BytesIO(RUN[:-4]), size, columns=True))


@pytest.mark.parametrize(
    "data",
    [
        b"1 Q0 a 1 2.5\n1 Q0 b 2 1.5",  # no line has a tag
        b"1 Q0 a 1 2.5 my tag\n1 Q0 b 2 1.5 my",  # a tag of two words, and of one
        b"# made by hand in the spring\n1 0 a 1",
        b"1 0 a 1\n# end",
        b"1\t0\tNew York\t1\n1\t0\tRome\t1",
        b"1 0 a 1\n\n1 0",  # the line before has no fields
        b"1 0 a 1\n \t",
    ],
)
def test_other_last_lines_without_a_newline_are_read(data: bytes) -> None:
    assert b"".join(source.blocks(io.BytesIO(data), columns=True)) == data + b"\n"


def test_lines_with_newlines_were_not_cut_off() -> None:
    with pytest.raises(InputError, match=r"5 fields.*The tag is missing"):
        te.read_run(io.BytesIO(RUN[:-4] + b"\n"))
