"""Submissions that are made to do harm: each is refused with its reason, and what is beside it is read."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import random
import socket
import stat
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.intake import archives
from treceval_py.grading.intake.archives import IntakeError, Limits
from treceval_py.grading.intake.folders import Item, Submission
from treceval_py.grading.intake.intake import submissions
from treceval_py.grading.records import FileRead

RUN = b"1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n"

USUAL = Limits()
MIB = 1 << 20

Files = Iterable[tuple[str | zipfile.ZipInfo, bytes]]


@pytest.fixture(autouse=True)
def nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterable[None]:
    """Fail where reading submissions leaves a file anywhere that it could: here, or among temporary files."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    yield
    assert [*(tmp_path / "here").iterdir(), *(tmp_path / "temporary").iterdir()] == []


def zipped(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive; names that come twice are written twice."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in files:
            archive.NameToInfo.clear()  # or it warns of a name that comes twice
            archive.writestr(name, data)
    return stream.getvalue()


def special(name: str, kind: int) -> zipfile.ZipInfo:
    """Return the entry of something that is no file, as Unix programs write it."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    return info


def taken(folder: Path, archive: bytes, limits: Limits = USUAL) -> tuple[list[Submission], list[FileRead]]:
    """Read the archive of a class."""
    path = folder / "class.zip"
    path.write_bytes(archive)
    others: list[FileRead] = []
    return list(submissions(str(path), limits, others=others)), others


def refusals(submission: Submission) -> dict[str, str]:
    assert {each.role for each in submission.refused} <= {"refused"}
    return {each.name: each.why for each in submission.refused}


def content(item: Item) -> bytes:
    with item.opened() as stream:
        return stream.read()


def patched(archive: bytes, name: bytes, **fields: int) -> bytes:
    """Change what the list of members says of one: sizes, method, flags, CRC, offset (APPNOTE 4.3.12)."""
    data = bytearray(archive)
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(name))
    places = {"flags": ("<H", 8), "method": ("<H", 10), "crc": ("<L", 16), "packed": ("<L", 20), "size": ("<L", 24)}
    places["offset"] = ("<L", 42)
    for field, value in fields.items():
        form, place = places[field]
        struct.pack_into(form, data, at + place, value)
    return bytes(data)


ADA = ("ada/run.txt", RUN)
BOB = ("bob/run.txt", RUN)


# --- zip archives ---


def many_entries(count: int) -> bytes:
    """Return an archive whose list names so many empty files, made without zipfile; with zip64 records."""
    record = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"x"
    body = b"PK\x03\x04" + bytes(27)
    size, end = len(record) * count, len(body) + len(record) * count
    large = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, len(body))
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return body + record * count + large + locator + last


def terabytes() -> bytes:
    archive = bytearray(many_entries(3))
    struct.pack_into("<Q", archive, archive.rindex(b"PK\x06\x06") + 40, 1 << 40)
    return bytes(archive)


def damaged(change: Callable[[bytes], bytes]) -> bytes:
    """Return the archive of a class with another one of bob's in it, which was changed."""
    return zipped([ADA, ("bob/x.zip", change(zipped([("a", RUN)])))])


def sharing() -> bytes:
    archive = zipped([ADA, BOB, ("eve/run.txt", RUN)])
    where = zipfile.ZipFile(io.BytesIO(archive)).getinfo("bob/run.txt").header_offset
    return patched(archive, b"eve/run.txt", offset=where)


LONG = "bob/" + "x" * 130
FILES = [(f"bob/{number}", b"") for number in range(30)]
THREE = [("bob/a", b"x" * 60), ("bob/b", b"x" * 60), ("bob/c", b"x" * 30), ADA]
DEEP = [("deep.zip", zipped([("run.txt", RUN)])), ("run.txt", RUN)]
NO_UTF8 = zipped([ADA, ("Zo__/run.txt", RUN), ("J_rg/run.txt", RUN)])
UNUSUAL = {method: zipped([("run.txt", bytes(1 << 20))], method) for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)}

ZIP_ARCHIVES: dict[str, bytes | tuple[bytes, Limits]] = {
    "paths that lead out": zipped([ADA, BOB, ("bob/../../etc/passwd", b"x"), ("bob\\..\\..\\x", b"x")]),
    "a path of 255 characters": zipped([ADA, ("bob/" + "x" * 251, b"x")]),
    "a path of 256 characters": zipped([ADA, ("bob/" + "x" * 252, b"x")]),
    "32 folders": zipped([ADA, ("bob/" + "d/" * 31 + "x", RUN)]),
    "33 folders": zipped([ADA, ("bob/" + "d/" * 32 + "x", b"x")]),
    "a path to a folder above": zipped([ADA, BOB, ("../evil.txt", b"x")]),
    "a path from the root": zipped([ADA, BOB, ("/etc/cron.d/evil", b"x")]),
    "a path from the root of a disk": zipped([ADA, BOB, ("C:\\Windows\\evil", b"x")]),
    "a path to a server": zipped([ADA, BOB, ("\\\\server\\share\\evil", b"x")]),
    "NUL": zipped([ADA, ("bob/run.txt_.exe", RUN)]).replace(b"run.txt_.exe", b"run.txt\0.exe"),
    "control characters": zipped([ADA, ("bob\x1b[31m/run\r\u202etxt", RUN)]),
    "long names that are shown alike": zipped([ADA, (LONG + "1", RUN), (LONG + "2", b"2")]),
    "formulas and markup": zipped([ADA, ("=cmd|' !A0/run.txt", RUN), ("<script>x</run.txt", RUN)]),
    "two files of one name": zipped([ADA, BOB, ("bob/x.txt", b"1"), ("bob\\x.txt", b"2")]),
    # 0x94 is ö in code page 437
    "no mark of UTF-8": NO_UTF8.replace(b"Zo__", "Zoë".encode()).replace(b"J_rg", b"J\x94rg"),
    "a link": zipped([ADA, BOB, (special("bob/x", stat.S_IFLNK), b"/etc/passwd")]),
    "a pipe": zipped([ADA, BOB, (special("bob/x", stat.S_IFIFO), b"")]),
    "a device": zipped([ADA, BOB, (special("bob/x", stat.S_IFCHR), b"")]),
    "a disk": zipped([ADA, BOB, (special("bob/x", stat.S_IFBLK), b"")]),
    "a socket": zipped([ADA, BOB, (special("bob/x", stat.S_IFSOCK), b"")]),
    "encrypted": patched(zipped([ADA, BOB]), b"bob/run.txt", flags=1),
    "compressed by bzip2": zipped([ADA, ("bob/x.zip", UNUSUAL[zipfile.ZIP_BZIP2])]),
    "compressed by LZMA": zipped([ADA, ("bob/x.zip", UNUSUAL[zipfile.ZIP_LZMA])]),
    "bytes that are shared": sharing(),
    "beyond the end": patched(zipped([ADA, BOB], zipfile.ZIP_STORED), b"bob/run.txt", packed=1 << 20, size=1 << 20),
    "another name at its place": zipped([ADA, BOB]).replace(b"bob/run.txt", b"bob/rum.txt", 1),
    "an archive in an archive in an archive": zipped([ADA, ("bob/hand-in.zip", zipped(DEEP))]),
    "an archive that seems to have itself": zipped(
        [ADA, ("bob/r.zip", zipped([("r/r.zip", b"PK\x03\x04" + bytes(100))]))]
    ),
    "cut off": damaged(lambda data: data[:40]),
    "only a beginning": damaged(lambda data: data[:4]),
    "as large as allowed": (zipped([ADA, ("bob/a", bytes(1 << 20))]), Limits(file_bytes=1 << 20)),
    "too large by a byte": (zipped([ADA, ("bob/a", bytes((1 << 20) + 1))]), Limits(file_bytes=1 << 20)),
    "a bomb": (zipped([ADA, BOB, ("bob/bomb.txt", bytes(3 << 20))]), Limits(file_bytes=1 << 20)),
    "too much together": (zipped(THREE), Limits(submission_bytes=100)),
    "as much together as allowed": (zipped(THREE), Limits(submission_bytes=150)),
    "as many files as allowed": (zipped([*FILES[:3], ADA]), Limits(files=3)),
    "a file too many": (zipped([*FILES[:4], ADA]), Limits(files=3)),
    "an archive too many": (zipped([*FILES[:3], ("bob/x.zip", zipped([BOB])), ADA]), Limits(files=3)),
    "as many files in an archive as allowed": (zipped([ADA, ("bob/x.zip", zipped(FILES))]), Limits(files=3)),
    "too many files in an archive": (
        zipped([ADA, ("bob/x.zip", zipped([*FILES, ("bob/30", b"")]))]),
        Limits(files=3),
    ),
    "declared to be small": patched(zipped([ADA, ("bob/a", bytes(1 << 20))]), b"bob/a", size=10),
    "stored in more bytes than declared": patched(
        zipped([ADA, BOB], zipfile.ZIP_STORED), b"bob/run.txt", size=len(RUN) - 1
    ),
    "a list that is said to have terabytes": zipped([ADA, ("bob/x.zip", terabytes())]),
}


def reports(folder: Path, archives: Mapping[str, bytes | tuple[bytes, Limits]]) -> str:
    """Return what was read and what was refused of each archive, beside the run of ada."""
    told = []
    for name, given in archives.items():
        found, others = taken(folder, *given) if isinstance(given, tuple) else taken(folder, given)
        ada = next(each for each in found if each.student == "ada")
        assert [content(item) for item in ada.items] == [RUN], name
        told.append(f"# {name}")
        for each in found:
            if each != ada:
                read = [f"{item.name}{'' if content(item) == RUN else f' ({item.size} bytes)'}" for item in each.items]
                told.append(" ".join([f"{each.student}: {len(read)}", *read[:4]]))
                told += [f"  {file.name}: {file.why}" for file in each.refused[:3]]
                told += [f"  and {len(each.refused) - 3} more"] * (len(each.refused) > 3)
        told += [f"{file.role}: {file.name}: {file.why}" for file in others]
    return "\n".join(told)


def test_what_does_harm_in_a_zip_archive_is_refused_and_the_rest_is_read(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert reports(tmp_path, ZIP_ARCHIVES) == snapshot


# --- folders ---


def folder_of(tmp_path: Path) -> tuple[Path, Path]:
    """Make a folder of a class with two students, who handed in a run each."""
    folder = tmp_path / "class"
    for student in ("ada", "bob"):
        (folder / student).mkdir(parents=True)
        (folder / student / "run.txt").write_bytes(RUN)
    return folder, folder / "bob"


def bind(path: Path) -> None:
    """Make a socket; its path may be too long for an address."""
    here = os.getcwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(path.name)
    os.chdir(here)


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except OSError:
        pytest.skip("this user may not make devices")


LINK = "it is a link: links are not followed"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), LINK),
        (lambda path: path.symlink_to("/"), LINK),
        (lambda path: path.symlink_to(path), LINK),
        (lambda path: path.symlink_to("run.txt"), LINK),
        (os.mkfifo, "it is a pipe, not a file"),
        (bind, "it is a socket, not a file"),
        (device, "it is a device, not a file"),
    ],
    ids=["to a file", "to a folder", "to itself", "to a file beside it", "pipe", "socket", "device"],
)
def test_what_is_no_file_in_a_folder_is_refused(tmp_path: Path, make: Callable[[Path], None], why: str) -> None:
    folder, bob = folder_of(tmp_path)
    make(bob / "x")
    found = submissions(str(folder))
    assert refusals(found[1]) == {"x": why}
    assert [content(item) for item in found[1].items] == [RUN]


def test_a_link_in_the_place_of_a_student_is_refused(tmp_path: Path) -> None:
    folder, _ = folder_of(tmp_path)
    (folder / "eve").symlink_to(folder / "ada")
    found = submissions(str(folder))
    assert [each.student for each in found] == ["ada", "bob", "eve"]
    assert found[2].items == ()
    assert refusals(found[2]) == {"eve": "it is a link: links are not followed"}


def moved(bob: Path) -> None:
    bob.rename(bob.with_name("was"))
    bob.symlink_to(bob.with_name("was"))


def linked(bob: Path) -> None:
    (bob / "run.txt").unlink()
    (bob / "run.txt").symlink_to(bob.parent / "ada" / "run.txt")


CHANGED = "the file changed while it was being read. Run again when nothing writes to it."


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (linked, "it cannot be opened: "),
        (moved, "it cannot be opened: "),
        (lambda bob: (bob / "run.txt").write_bytes(RUN + RUN), CHANGED),
    ],
    ids=["link to a file", "link to a folder", "other content"],
)
def test_a_file_in_whose_place_is_another_one_is_not_read(
    tmp_path: Path, change: Callable[[Path], None], why: str
) -> None:
    folder, bob = folder_of(tmp_path)
    (item,) = submissions(str(folder))[1].items
    change(bob)
    with pytest.raises(IntakeError, match=rf"^run\.txt: {why}"):
        item.opened()


def test_a_hard_link_is_a_file(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    os.link(folder / "ada" / "run.txt", bob / "other.txt")
    assert [item.name for item in submissions(str(folder))[1].items] == ["other.txt", "run.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read any file")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    (bob / "x.txt").touch(mode=0)
    assert refusals(submissions(str(folder))[1]) == {"x.txt": "it cannot be opened: Permission denied"}


# --- too much ---


def test_folders_in_folders_are_entered_no_further_than_32(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    for depth in (32, 33):
        inner = bob.joinpath(*"d" * depth)
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "x.txt").touch()
    found = submissions(str(folder))[1]
    assert [item.name for item in found.items] == ["run.txt", "d/" * 32 + "x.txt"]
    why = "it is nested too deep, or its path is too long: nothing in it was read"
    assert refusals(found) == {"/".join("d" * 33): why}


def test_paths_in_folders_are_as_long_as_allowed(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    for name in ("aa/b/c", "aa/bb/c", "d/eeee", "d/eeeee", "g/hhhh/x"):
        (bob / name).parent.mkdir(parents=True, exist_ok=True)
        (bob / name).write_text(name)
    found = submissions(str(folder), Limits(path=6))[1]
    assert [item.name for item in found.items] == ["d/eeee", "aa/b/c"]
    assert refusals(found) == {
        "aa/bb/c": "its path has more than 6 characters",
        "run.txt": "its path has more than 6 characters",
        "d/eeeee": "its path has more than 6 characters",
        "g/hhhh/x": "its path has more than 6 characters",
    }
    found = submissions(str(folder), Limits(path=5))[1]
    assert refusals(found)["g/hhhh"] == "it is nested too deep, or its path is too long: nothing in it was read"


@pytest.mark.parametrize(("files", "told"), [(120, 100), (121, 101), (151, 101)])
def test_of_many_files_the_first_by_depth_and_name_are_taken(tmp_path: Path, files: int, told: int) -> None:
    names = [("bob/deep/a.txt", b""), *((f"bob/{number:04}.txt", b"") for number in range(files - 1)), ADA]
    (_, bob), _ = taken(tmp_path, zipped(names), Limits(files=20))
    assert [item.name for item in bob.items] == [f"{number:04}.txt" for number in range(20)]
    assert bob.refused[0] == FileRead("0020.txt", "refused", "the submission has more than 20 files", 0)
    # Of those that are not taken, 100 are told one by one.
    assert len(bob.refused) == told
    assert list(bob.refused[100:]) == [
        FileRead("…", "refused", f"{more} more, for the same or other reasons", 0) for more in [files - 120] if more
    ]


@pytest.mark.parametrize(
    ("most", "items", "why"),
    [
        (52, 51, {}),  # two in the folder of bob, and fifty in the other one
        (51, 1, {"many": "more than 51 files and folders: neither this folder nor the rest was read"}),
        (50, 1, {"many": "more than 50 files and folders: neither this folder nor the rest was read"}),
        (49, 1, {"many": "it has more than 49 files and folders"}),
    ],
)
def test_a_folder_with_too_many_entries_is_refused_as_a_whole(
    tmp_path: Path, most: int, items: int, why: dict[str, str]
) -> None:
    folder, bob = folder_of(tmp_path)
    (bob / "many").mkdir()
    for number in range(50):
        (bob / "many" / str(number)).touch()
    found = submissions(str(folder), Limits(entries=most))[1]
    assert (len(found.items), refusals(found)) == (items, why)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    for name, size in (("allowed.txt", 64 << 20), ("big.txt", (64 << 20) + 1), ("huge.txt", 10 << 30)):
        with open(bob / name, "wb") as stream:
            stream.truncate(size)  # takes no room on the disk
    found = submissions(str(folder))[1]
    assert [item.name for item in found.items] == ["allowed.txt", "run.txt"]
    assert refusals(found) == {
        "big.txt": "it has 64 MiB, more than 64 MiB",
        "huge.txt": "it has 10,240 MiB, more than 64 MiB",
    }


def test_the_usual_limits_are_generous() -> None:
    assert Limits() == Limits(64 * MIB, 256 * MIB, 1000, 100_000, 16 * 1024 * MIB, 255)
    assert (USUAL.of_a_student.entries, USUAL.of_a_student.unpacked) == (10_000, 512 * MIB)


def test_the_archive_of_a_class_with_too_many_files_is_refused_before_they_are_listed(tmp_path: Path) -> None:
    assert len(taken(tmp_path, zipped(FILES), Limits(entries=30))[0]) == 30
    for make in (zipped, lambda files: tarred(*files)):
        with pytest.raises(IntakeError, match=r"class\.zip: it has more than 30 files\. Hand in fewer files\.$"):
            taken(tmp_path, make([*FILES, ("bob/30", b"")]), Limits(entries=30))


def test_the_list_of_the_files_of_an_archive_is_read_up_to_a_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of each file 46 bytes and its name (APPNOTE 4.3.12), and of the end 22.
    data = zipped([("a", RUN), ("bb", RUN)])
    assert archives.LARGEST_DIRECTORY == 64 * MIB
    monkeypatch.setattr(archives, "LARGEST_DIRECTORY", 46 + 1 + 46 + 2)
    assert len(taken(tmp_path, zipped([("bob/x.zip", data)]))[0][0].items) == 2
    monkeypatch.setattr(archives, "LARGEST_DIRECTORY", 46 + 1 + 46 + 1)
    (bob,), _ = taken(tmp_path, zipped([("x.zip", data)]))
    assert refusals(bob) == {"x.zip": "the list of its files has 95 bytes, more than 94 bytes"}


@pytest.mark.slow
def test_a_list_of_a_million_files_is_refused_before_it_is_built(tmp_path: Path) -> None:
    archive = many_entries(1_000_000)
    tracemalloc.start()
    try:
        (_, bob), _ = taken(tmp_path, zipped([ADA, ("bob/x.zip", archive)]))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refusals(bob) == {"x.zip": "it has more than 10,000 files"}
    assert most < 4 * len(archive)  # a million records as objects would be some hundred bytes each


def test_reading_ends_at_the_limit_even_where_the_size_was_right_before(tmp_path: Path) -> None:
    folder, _ = folder_of(tmp_path)
    (item,) = submissions(str(folder))[1].items
    assert content(item._replace(limits=Limits(file_bytes=30))) == RUN
    with item._replace(limits=Limits(file_bytes=29)).opened() as stream, pytest.raises(IntakeError) as caught:
        stream.read()
    assert str(caught.value) == "run.txt: it has more than 29 bytes. Hand in a smaller file."


# --- archives that are damaged, or made to look so ---


def test_a_wrong_check_sum_is_told_when_the_file_is_read(tmp_path: Path) -> None:
    # 9,000 lines are more than what is looked at to tell what a file is.
    data = b"".join(b"1 Q0 d%d %d 0.5 t\n" % (number, number) for number in range(9000))
    (_, bob), _ = taken(tmp_path, patched(zipped([ADA, ("bob/run.txt", data)]), b"bob/run.txt", crc=1))
    with pytest.raises(IntakeError) as caught:
        content(bob.items[0])
    assert str(caught.value) == ("run.txt: it cannot be read: its bytes do not match their checksum. Hand it in again.")


# --- tar archives ---


def tarred(*members: tarfile.TarInfo | tuple[str, bytes], mode: str = "w:gz", form: int = tarfile.GNU_FORMAT) -> bytes:
    """Return a tar archive; what is given as a record is written as it is, without data."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return stream.getvalue()


def record(name: str, kind: bytes, target: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


def bobs(data: bytes, name: str = "x.tar", **limits: int) -> tuple[bytes, Limits]:
    return zipped([ADA, (f"bob/{name}", data)]), Limits(**limits)


def with_header(kind: bytes, value: bytes, size: int | None = None) -> bytes:
    """Return an archive that begins with a record about the next one."""
    header = record("x", kind, size=len(value) if size is None else size).tobuf(tarfile.GNU_FORMAT)
    return header + value.ljust(-(-len(value) // 512) * 512, b"\0") + WHOLE


WHOLE = tarred(("run.txt", RUN), ("b", b"b"), mode="w")
MANY = [(str(number), b"") for number in range(30)]

TAR_ARCHIVES: dict[str, bytes | tuple[bytes, Limits]] = {
    **{
        name: bobs(tarred(("run.txt", RUN), member, ("b/run.txt", RUN)))
        for name, member in {
            "a link": record("x", tarfile.SYMTYPE, "/etc/passwd"),
            "a hard link": record("x", tarfile.LNKTYPE, "run.txt"),
            "a pipe": record("x", tarfile.FIFOTYPE),
            "a device": record("x", tarfile.CHRTYPE),
            "a disk": record("x", tarfile.BLKTYPE),
            "holes": record("x", b"S"),
            "a path that leads out": ("../../evil", b"x"),
            "a path from the root": ("/etc/passwd", b"x"),
            "32 folders": ("d/" * 32 + "x", RUN),
            "33 folders": ("d/" * 33 + "x", b"x"),
            "a path of 255 characters": ("x" * 255, b"x"),
            "a path of 256 characters": ("x" * 256, b"x"),
        }.items()
    },
    **{
        f"long names and other letters, {form}": bobs(
            tarred(("é" * 60 + "/李明/" + "x" * 60, RUN), ("y", b"y"), form=form), "all.tgz"
        )
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
    },
    "two files of one name": bobs(tarred(("x", b"1"), ("./x", b"2"), ("y", b"y"))),
    # The archive has 20 blocks of 512 bytes, and twice the limit may be unpacked.
    "as much as may be unpacked": bobs(WHOLE, submission_bytes=5120),
    "more than may be unpacked": bobs(WHOLE, submission_bytes=5119),
    "a bomb": bobs(tarred(*((f"{number}", bytes(1 << 20)) for number in range(9))), submission_bytes=2 << 20),
    "seven archives": zipped([ADA, *((f"bob/{number}.tgz", tarred(("run.txt", RUN))) for number in range(7))]),
    "as large as allowed": bobs(tarred(("a", bytes(1000)), ("run.txt", RUN)), file_bytes=1000, submission_bytes=10**5),
    "too large by a byte": bobs(tarred(("a", bytes(1001)), ("run.txt", RUN)), file_bytes=1000, submission_bytes=10**5),
    "as many files as allowed": bobs(tarred(*MANY), files=3),
    "too many files": bobs(tarred(*MANY, ("30", b"")), files=3),
    "archives in an archive": bobs(
        tarred(("a.tgz", tarred(("run.txt", RUN))), ("b.zip", zipped([("run.txt", RUN)])), ("run.txt", RUN))
    ),
    "empty": bobs(b""),
    "half a record": bobs(WHOLE[:300]),
    "half a file": bobs(WHOLE[:530]),
    "no end": bobs(WHOLE[:1024]),
    "noise": bobs(WHOLE[:1024] + b"\1" * 512),
    "two archives": bobs(WHOLE + WHOLE),
    "half a gzip file": bobs(zlib.compress(WHOLE, wbits=31)[:40]),
    "no gzip file": bobs(b"\x1f\x8b" + bytes(60)),
    "a record that is said to have terabytes": bobs(with_header(tarfile.GNUTYPE_LONGNAME, b"x", 1 << 40)),
    "a record of 64 KiB": bobs(with_header(tarfile.GNUTYPE_LONGNAME, b"x" * (1 << 16))),
    "a record of a byte more": bobs(with_header(tarfile.GNUTYPE_LONGNAME, b"x" * ((1 << 16) + 1))),
    "another size in a record": bobs(with_header(tarfile.XHDTYPE, b"19 size=99999999999\n")),
    "a sparse file": bobs(with_header(tarfile.XHDTYPE, b"22 GNU.sparse.major=1\n")),
    "lengths that do not end": bobs(with_header(tarfile.XHDTYPE, (b"0 1 2 3 " * 64)[:512])),
}


def test_what_does_harm_in_a_tar_archive_is_refused_and_the_rest_is_read(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    assert reports(tmp_path, TAR_ARCHIVES) == snapshot


@pytest.mark.parametrize("make", [zipped, lambda files: tarred(*files, mode="w")], ids=["zip", "tar"])
def test_damaged_archives_never_stop_the_others(tmp_path: Path, make: Callable[[Files], bytes]) -> None:
    """Bytes of a student's archive are changed here and there; whatever comes of it, it is an item or a refusal."""
    for seed in range(40):
        chance = random.Random(seed)
        data = bytearray(make([("run.txt", RUN * 40), ("b/claims.txt", b"MAP = 0.5\n"), ("ü.txt", b"x")]))
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(4, len(data))] = chance.choice([0, 1, 0xFF, chance.randrange(256)])
        (ada, bob), _ = taken(tmp_path, zipped([ADA, ("bob/x.tar" if make != zipped else "bob/x.zip", bytes(data))]))
        assert [content(item) for item in ada.items] == [RUN], seed
        for item in bob.items:
            with contextlib.suppress(IntakeError):
                content(item)
        assert bob.items or bob.refused, seed
        assert pickle.loads(pickle.dumps(bob)) == bob, seed
