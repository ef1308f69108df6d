"""Gzip, whoever decompresses: the text, and where and how it is refused, are those of `gzip.GzipFile`.

Its words are without the numbers and bytes that it adds to some. Headers are checked by zlib, which is stricter: it refuses
flags that have no meaning and, if there is one, a wrong checksum of the header.
"""

from __future__ import annotations

import ast
import gzip
import io
import re
import struct
import sys
import zlib
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from treceval_py.errors import InputError
from treceval_py.io import gzipped
from treceval_py.io.gzipped import Gzip
from treceval_py.io.trec import read_trec_qrels as read_qrels

LIBRARIES: dict[str, ModuleType] = {"standard": zlib}
try:
    from zlib_ng import zlib_ng
except ImportError:
    pass
else:
    LIBRARIES["zlib-ng"] = zlib_ng

PIECE = gzipped.PIECE

Outcome = tuple[bytes, str, bool]

with_each = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


class ByteByByte(io.BytesIO):
    """Gives compressed data a byte at a time, so that GzipFile loses no text before damage; headers come whole."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(size if size is not None and 0 <= size < 4096 else 1)


def outcome(read: Any) -> Outcome:
    """Return the text that is read, the message that ends it, and whether that is about the end."""
    text = b""
    try:
        while piece := read():
            text += piece
    except (EOFError, OSError, zlib.error) as error:
        return text, str(error), isinstance(error, EOFError)
    return text, "", False


def expected(data: bytes) -> Outcome:
    stream = gzip.GzipFile(fileobj=ByteByByte(data))
    text, message, cut = outcome(lambda: stream.read1(1 << 16))
    rest = re.fullmatch(r"Not a gzipped file \((b.*)\)", message)
    if rest is not None and len(ast.literal_eval(rest[1])) < 2:  # too little to know
        return text, "Compressed file ended before the end-of-stream marker was reached", True
    return text, re.sub(r" \(b.*\)$| 0x\w+ != 0x\w+$", "", message), cut


def found(data: bytes, library: ModuleType, room: int = 1 << 16) -> Outcome:
    stream, buffer = Gzip(io.BytesIO(data), library), memoryview(bytearray(room))
    return outcome(lambda: bytes(buffer[: stream.readinto(buffer)]))


def header(flags: int, method: int = 8) -> bytes:
    """Return the beginning of a member with the optional fields that flags announce (RFC 1952, 2.3)."""
    fields = b"\x03\0abc" * bool(flags & 4) + b"name\0" * bool(flags & 8) + b"what\0" * bool(flags & 16)
    head = b"\x1f\x8b" + struct.pack("<BBLBB", method, flags, 0, 0, 255) + fields
    return head + struct.pack("<H", zlib.crc32(head) & 0xFFFF) * bool(flags & 2)


def member(text: bytes, level: int = 6, flags: int = 0, crc: int = 0, size: int = 0, method: int = 8) -> bytes:
    """Return a member; crc and size falsify its end."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    end = struct.pack("<II", zlib.crc32(text) ^ crc, len(text) ^ size)
    return header(flags, method) + packer.compress(text) + packer.flush() + end


LINES = b"".join(
    b"%d Q0 doc%d %d %.4f tag\n" % (row // 50, row * 7919 % 1000, row % 50, 90 - row / 9) for row in range(300)
)

texts = st.one_of(
    st.binary(max_size=80),
    st.integers(0, len(LINES)).map(lambda size: LINES[:size]),
    st.integers(0, 70_000).map(lambda size: b"a" * size),
)
flags = st.sampled_from([0, 0, 2, 4, 8, 16, 30])
between = st.sampled_from([b"", b"", b"\0" * 9, b"\0\0\x1f", b"1 0 z 1\n"])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Several members with zeros or something else behind them, then cut off and with some bytes after headers changed."""
    data, places = bytearray(), []
    for _ in range(draw(st.integers(1, 3))):
        flag = draw(flags)
        start = len(data) + len(header(flag))
        data += member(draw(texts), draw(st.integers(0, 9)), flag) + draw(between)
        places += range(start, len(data))
    for _ in range(draw(st.integers(0, 2))):
        data[draw(st.sampled_from(places))] ^= draw(st.integers(1, 255))
    return bytes(data[: draw(st.sampled_from([len(data), draw(st.integers(0, len(data)))]))])


@pytest.mark.slow
@with_each
@settings(deadline=None, max_examples=150)
@given(data=files(), room=st.integers(1, 70_000), piece=st.sampled_from([1, 7, 512, PIECE]))
@example(data=member(b"a") + b"\0" * 9 + member(b"b") + b"\0", room=1, piece=1)
@example(data=member(b"a" * 9) + b"\0\x1f", room=2, piece=512)
@example(data=member(b"a", crc=1) + member(b"b"), room=9, piece=7)
@example(data=member(b"a", size=1), room=9, piece=7)
@example(data=member(b"a", method=7), room=9, piece=7)
@example(data=member(LINES)[:-9], room=50, piece=512)
@example(data=member(LINES, flags=30)[:17], room=50, piece=512)
def test_any_data_are_read_as_gzip_reads_them(library: ModuleType, data: bytes, room: int, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gzipped, "PIECE", piece)
        result = found(data, library, room)
    if result[1] == "CRC check failed":  # which zlib sees before the size of the text, where the file may end
        data += bytes(4)
    assert result == expected(data)


@with_each
def test_damage_at_any_byte_is_found_where_gzip_finds_it(library: ModuleType) -> None:
    whole, messages = member(LINES[:900], flags=8), set()
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 0x55
        result = found(bytes(data), library)
        if at == 3:
            assert result == (b"", "Error -3 while decompressing data: unknown header flags set", False)
        else:
            assert result == expected(bytes(data)), at
        messages.add(result[1].split(" ")[-1])
    assert len(messages) > 5  # damage of several kinds


@with_each
def test_a_cut_anywhere_is_found_after_the_same_text(library: ModuleType) -> None:
    whole = member(LINES[:500], flags=30) + member(b"")
    for size in range(len(whole)):
        assert found(whole[:size], library) == expected(whole[:size]), size


@with_each
def test_a_wrong_checksum_of_a_header_is_refused(library: ModuleType) -> None:
    data = bytearray(member(b"a", flags=2))
    assert found(bytes(data), library) == (b"a", "", False)
    data[4] ^= 1  # its time
    assert found(bytes(data), library) == (b"", "Error -3 while decompressing data: header crc mismatch", False)


@with_each
def test_the_line_of_damage_is_named(library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzipped, "_fastest", lambda: library)
    lines = b"".join(b"1 0 d%d 1\n" % row for row in range(5000))
    data = bytearray(member(lines))
    data[len(data) // 2 :] = b"\xff" * 99
    text, why, _ = expected(bytes(data))
    assert 1000 < text.count(b"\n") < 4000
    with pytest.raises(InputError) as caught:
        read_qrels(io.BytesIO(data))
    assert str(caught.value) == (
        f"<file>:{text.count(bytes([10])) + 1}: the compressed data is damaged or cut off ({why}). "
        "Copy or download the file again."
    )


@with_each
def test_no_more_is_unpacked_than_there_is_room_for(library: ModuleType) -> None:
    """A bomb: 16 MB in 16 KB."""
    stream, buffer, calls = Gzip(io.BytesIO(gzip.compress(bytes(1 << 24))), library), bytearray(1 << 12), 0
    while count := stream.readinto(buffer):
        calls += 1
        assert count <= len(buffer)
    assert calls >= 1 << 12


def test_zlib_ng_is_used_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    expected_module = LIBRARIES.get("zlib-ng", zlib)
    assert gzipped._fastest() is expected_module
    monkeypatch.setitem(sys.modules, "zlib_ng", None)  # as if it were not
    assert gzipped._fastest() is zlib


@with_each
def test_without_room_nothing_is_read(library: ModuleType) -> None:
    stream = Gzip(io.BytesIO(gzip.compress(b"abc")), library)
    assert stream.readinto(memoryview(bytearray(0))) == 0
    assert found(gzip.compress(b"abc"), library) == (b"abc", "", False)
    buffer = bytearray(9)
    assert (stream.readinto(memoryview(buffer)), bytes(buffer[:3])) == (3, b"abc")


@with_each
def test_an_error_is_not_forgotten(library: ModuleType) -> None:
    damaged = bytearray(gzip.compress(b"abc"))
    damaged[-5] ^= 1  # the checksum
    stream, buffer = Gzip(io.BytesIO(bytes(damaged) + gzip.compress(b"more")), library), memoryview(bytearray(9))
    assert stream.readinto(buffer) == 3
    for _ in range(2):
        with pytest.raises(zlib.error, match="CRC check failed"):
            stream.readinto(buffer)
