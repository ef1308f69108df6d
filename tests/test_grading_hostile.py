"""Submissions that are made to do harm: each is refused with its reason, and what is beside it is read."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import socket
import stat
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from treceval_py.grading.intake.intake import IntakeError, Item, Limits, Submission, submissions
from treceval_py.grading.records import FileRead

RUN = b"1 Q0 a 1 0.9 t\n1 Q0 b 2 0.8 t\n"

USUAL = Limits()

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


# --- paths ---


@pytest.mark.parametrize(
    ("name", "as_shown", "why"),
    [
        ("bob/../../../etc/passwd", "../../../etc/passwd", "its path leads out of the archive"),
        ("bob\\..\\..\\x", "../../x", "its path leads out of the archive"),
        ("bob/" + "x" * 300, "x" * 120 + "…", "its path has 304 characters, more than 255"),
        ("bob/" + "d/" * 40 + "x", "/".join("d" * 40) + "/x", "it is nested in 41 folders, more than 32"),
    ],
    ids=["traversal", "traversal with backslashes", "a long name", "forty folders"],
)
def test_a_path_in_an_archive_that_does_harm_is_refused(tmp_path: Path, name: str, as_shown: str, why: str) -> None:
    (ada, bob), others = taken(tmp_path, zipped([ADA, BOB, (name, b"x")]))
    assert [content(item) for item in (*ada.items, *bob.items)] == [RUN, RUN]
    assert refusals(bob) == {as_shown: why}
    assert others == []


@pytest.mark.parametrize(
    ("name", "as_shown", "why"),
    [
        ("../evil.txt", "../evil.txt", "its path leads out of the archive"),
        ("/etc/cron.d/evil", "/etc/cron.d/evil", "its path begins at the root of a disk"),
        ("C:\\Windows\\evil", "C:/Windows/evil", "its path begins at the root of a disk"),
        ("\\\\server\\share\\evil", "/server/share/evil", "its path begins at the root of a disk"),
    ],
)
def test_a_path_that_is_outside_of_all_submissions_belongs_to_no_student(
    tmp_path: Path, name: str, as_shown: str, why: str
) -> None:
    found, others = taken(tmp_path, zipped([ADA, BOB, (name, b"x")]))
    assert [each.student for each in found] == ["ada", "bob"]
    assert others == [FileRead(as_shown, "refused", why, 1)]


def test_a_name_with_a_nul_character_is_refused(tmp_path: Path) -> None:
    archive = zipped([ADA, ("bob/run.txt_.exe", RUN)]).replace(b"run.txt_.exe", b"run.txt\0.exe")
    (_, bob), _ = taken(tmp_path, archive)
    assert refusals(bob) == {"run.txt\\x00.exe": "its name has a NUL character, which can hide another name after it"}


def test_control_characters_of_a_name_are_made_visible(tmp_path: Path) -> None:
    found, _ = taken(tmp_path, zipped([ADA, ("bob\x1b[31m/run\r\u202etxt", RUN)]))
    assert found[1].student == "bob\\x1b[31m"
    assert found[1].source.endswith("class.zip/bob\\x1b[31m")
    assert [item.name for item in found[1].items] == ["run\\r\\u202etxt"]
    assert content(found[1].items[0]) == RUN


def test_files_whose_names_are_shown_alike_have_different_ones(tmp_path: Path) -> None:
    long = "bob/" + "x" * 130
    (_, bob), _ = taken(tmp_path, zipped([ADA, (long + "1", RUN), (long + "2", b"2")]))
    assert [item.name for item in bob.items] == ["x" * 120 + "…", "x" * 120 + "… (2)"]


def test_a_formula_or_markup_in_a_name_stays_text(tmp_path: Path) -> None:
    found, _ = taken(tmp_path, zipped([("=cmd|' !A0/run.txt", RUN), ("<script>x</run.txt", RUN)]))
    assert [each.student for each in found] == ["<script>x<", "=cmd|' !A0"]


def test_two_files_of_one_name_are_both_refused(tmp_path: Path) -> None:
    (_, bob), _ = taken(tmp_path, zipped([ADA, BOB, ("bob/x.txt", b"1"), ("bob\\x.txt", b"2")]))
    assert [item.name for item in bob.items] == ["run.txt"]
    why = "the archive has 2 files of this name, so it is not clear which one is meant"
    assert [(each.name, each.why) for each in bob.refused] == [("x.txt", why), ("x.txt", why)]


def test_a_name_in_utf8_without_a_mark_is_read_as_such(tmp_path: Path) -> None:
    found, _ = taken(tmp_path, zipped([ADA, ("Zo__/run.txt", RUN)]).replace(b"Zo__", "Zoë".encode()))
    assert found[0].student == "Zoë"


def test_a_name_in_cp437_is_read_as_such(tmp_path: Path) -> None:
    found, _ = taken(tmp_path, zipped([ADA, ("J_rg/run.txt", RUN)]).replace(b"J_rg", b"J\x94rg"))
    assert found[0].student == "Jörg"  # 0x94 is ö in code page 437


# --- what is no file ---


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (stat.S_IFLNK, "it is a link, not a file: links are not followed"),
        (stat.S_IFIFO, "it is a pipe, not a file"),
        (stat.S_IFCHR, "it is a device, not a file"),
        (stat.S_IFBLK, "it is a device, not a file"),
        (stat.S_IFSOCK, "it is a socket, not a file"),
    ],
)
def test_what_is_no_file_in_an_archive_is_refused(tmp_path: Path, kind: int, why: str) -> None:
    (_, bob), _ = taken(tmp_path, zipped([ADA, BOB, (special("bob/x", kind), b"/etc/passwd")]))
    assert refusals(bob) == {"x": why}
    assert [item.name for item in bob.items] == ["run.txt"]


def folder_of(tmp_path: Path) -> tuple[Path, Path]:
    """Make a folder of a class with two students, who handed in a run each."""
    folder = tmp_path / "class"
    for student in ("ada", "bob"):
        (folder / student).mkdir(parents=True)
        (folder / student / "run.txt").write_bytes(RUN)
    return folder, folder / "bob"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "it is a link: links are not followed"),
        (lambda path: path.symlink_to("/"), "it is a link: links are not followed"),
        (lambda path: path.symlink_to(path), "it is a link: links are not followed"),
        (lambda path: path.symlink_to("run.txt"), "it is a link: links are not followed"),
        (os.mkfifo, "it is a pipe, not a file"),
    ],
    ids=["to a file", "to a folder", "to itself", "to a file beside it", "pipe"],
)
def test_what_is_no_file_in_a_folder_is_refused(tmp_path: Path, make: Callable[[Path], None], why: str) -> None:
    folder, bob = folder_of(tmp_path)
    make(bob / "x")
    found = submissions(str(folder))
    assert refusals(found[1]) == {"x": why}
    assert [content(item) for item in found[1].items] == [RUN]


def test_a_socket_in_a_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, bob = folder_of(tmp_path)
    with socket.socket(socket.AF_UNIX) as opened:
        monkeypatch.chdir(bob)  # its path may be too long for an address
        opened.bind("x")
        assert refusals(submissions(str(folder))[1]) == {"x": "it is a socket, not a file"}


def test_a_device_in_a_folder_is_refused(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    try:
        os.mknod(bob / "x", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except OSError:
        pytest.skip("this user may not make devices")
    assert refusals(submissions(str(folder))[1]) == {"x": "it is a device, not a file"}


def test_a_link_in_the_place_of_a_student_is_refused(tmp_path: Path) -> None:
    folder, _ = folder_of(tmp_path)
    (folder / "eve").symlink_to(folder / "ada")
    found = submissions(str(folder))
    assert [each.student for each in found] == ["ada", "bob", "eve"]
    assert found[2].items == ()
    assert refusals(found[2]) == {"eve": "it is a link: links are not followed"}


def test_a_link_that_took_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    (item,) = submissions(str(folder))[1].items
    (bob / "run.txt").unlink()
    (bob / "run.txt").symlink_to(folder / "ada" / "run.txt")
    with pytest.raises(IntakeError, match=r"^run\.txt: it cannot be opened: "):
        item.opened()


def test_a_link_that_took_the_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    (item,) = submissions(str(folder))[1].items
    bob.rename(folder / "was")
    bob.symlink_to(folder / "was")
    with pytest.raises(IntakeError, match=r"^run\.txt: it cannot be opened: "):
        item.opened()


def test_a_file_that_changed_is_not_read(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    (item,) = submissions(str(folder))[1].items
    (bob / "run.txt").write_bytes(RUN + RUN)
    with pytest.raises(IntakeError) as caught:
        item.opened()
    assert str(caught.value) == (
        "run.txt: the file changed while it was being read. Run again when nothing writes to it."
    )


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


@contextlib.contextmanager
def nested(top: Path, depth: int) -> Iterator[None]:
    """Make so many folders in one another, and take them away again, which not every program can."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    try:
        yield
    finally:
        while (top / "d" / "d").exists():
            (top / "d" / "d").rename(top / "inner")
            (top / "d").rmdir()
            (top / "inner").rename(top / "d")


def test_five_hundred_folders_in_one_another_are_entered_no_further_than_32(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    with nested(bob, 500):
        found = submissions(str(folder))[1]
    assert [item.name for item in found.items] == ["run.txt"]
    why = "it is nested too deep, or its path is too long: nothing in it was read"
    assert refusals(found) == {"/".join("d" * 33): why}


def test_of_many_files_the_first_by_depth_and_name_are_taken(tmp_path: Path) -> None:
    files = [("bob/deep/a.txt", b""), *((f"bob/{number:04}.txt", b"") for number in range(150)), ADA]
    (_, bob), _ = taken(tmp_path, zipped(files), Limits(files=20))
    assert [item.name for item in bob.items] == [f"{number:04}.txt" for number in range(20)]
    assert bob.refused[0] == FileRead("0020.txt", "refused", "the submission has more than 20 files", 0)
    # 151 files, of which 20 are taken and 100 told one by one.
    assert bob.refused[100] == FileRead("…", "refused", "31 more, for the same or other reasons", 0)
    assert len(bob.refused) == 101


def test_a_folder_with_too_many_entries_is_refused_as_a_whole(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    (bob / "many").mkdir()
    for number in range(51):
        (bob / "many" / str(number)).touch()
    found = submissions(str(folder), Limits(entries=50))[1]
    assert [item.name for item in found.items] == ["run.txt"]
    assert refusals(found) == {"many": "it has more than 50 files and folders"}


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    folder, bob = folder_of(tmp_path)
    with open(bob / "big.txt", "wb") as stream:
        stream.truncate(10 << 30)  # takes no room on the disk
    found = submissions(str(folder))[1]
    assert [item.name for item in found.items] == ["run.txt"]
    assert refusals(found) == {"big.txt": "it has 10,240 MiB, more than 64 MiB"}


def test_files_that_are_too_much_together_are_refused(tmp_path: Path) -> None:
    files = [("bob/a", b"x" * 60), ("bob/b", b"x" * 60), ("bob/c", b"x" * 30), ADA]
    (_, bob), _ = taken(tmp_path, zipped(files), Limits(submission_bytes=100))
    assert [item.name for item in bob.items] == ["a", "c"]
    assert refusals(bob) == {"b": "with it, the files of the submission have more than 100 bytes"}


def test_the_archive_of_a_class_with_too_many_files_is_refused_before_they_are_listed(tmp_path: Path) -> None:
    with pytest.raises(IntakeError) as caught:
        taken(tmp_path, zipped([(f"bob/{number}", b"") for number in range(31)]), Limits(entries=30))
    assert str(caught.value).endswith("class.zip: it has more than 30 files. Hand in fewer files.")


def many_entries(count: int) -> bytes:
    """Return an archive whose list names so many empty files, made without zipfile; with zip64 records."""
    record = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"x"
    body = b"PK\x03\x04" + bytes(27)
    size, end = len(record) * count, len(body) + len(record) * count
    large = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, len(body))
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return body + record * count + large + locator + last


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


def test_a_list_that_is_said_to_have_terabytes_is_refused(tmp_path: Path) -> None:
    archive = bytearray(many_entries(3))
    at = archive.rindex(b"PK\x06\x06")
    struct.pack_into("<Q", archive, at + 40, 1 << 40)
    (_, bob), _ = taken(tmp_path, zipped([ADA, ("bob/x.zip", bytes(archive))]))
    assert list(refusals(bob)) == ["x.zip"]
    assert bob.items == ()


def test_a_file_of_zeros_is_refused_by_its_declared_size(tmp_path: Path) -> None:
    (_, bob), _ = taken(tmp_path, zipped([ADA, BOB, ("bob/bomb.txt", bytes(3 << 20))]), Limits(file_bytes=1 << 20))
    assert refusals(bob) == {"bomb.txt": "it has 3 MiB, more than 1 MiB"}
    assert [item.name for item in bob.items] == ["run.txt"]


def test_a_file_that_declares_ten_bytes_and_has_many_is_refused(tmp_path: Path) -> None:
    noise = b"".join(zlib.crc32(bytes([a, b])).to_bytes(4, "big") for a in range(64) for b in range(64))
    archive = patched(zipped([ADA, ("bob/bomb.txt", noise)]), b"bob/bomb.txt", size=10)
    (_, bob), _ = taken(tmp_path, archive)
    (why,) = refusals(bob).values()
    assert why.startswith("it is declared to have 10 bytes, but has ")


def test_what_a_small_declared_size_hides_is_never_read(tmp_path: Path) -> None:
    archive = patched(zipped([ADA, ("bob/bomb.txt", bytes(1 << 20))]), b"bob/bomb.txt", size=10)
    (_, bob), _ = taken(tmp_path, archive)
    assert bob.items == ()
    assert refusals(bob) == {"bomb.txt": "it cannot be read: its bytes do not match their checksum"}


def test_reading_ends_at_the_limit_even_where_the_size_was_right_before(tmp_path: Path) -> None:
    folder, _ = folder_of(tmp_path)
    (item,) = submissions(str(folder))[1].items
    with item._replace(limits=Limits(file_bytes=20)).opened() as stream, pytest.raises(IntakeError) as caught:
        stream.read()
    assert str(caught.value) == "run.txt: it has more than 20 bytes. Hand in a smaller file."


# --- archives that are damaged, or made to look so ---


def test_a_wrong_check_sum_is_told_when_the_file_is_read(tmp_path: Path) -> None:
    # 9,000 lines are more than what is looked at to tell what a file is.
    data = b"".join(b"1 Q0 d%d %d 0.5 t\n" % (number, number) for number in range(9000))
    (_, bob), _ = taken(tmp_path, patched(zipped([ADA, ("bob/run.txt", data)]), b"bob/run.txt", crc=1))
    with pytest.raises(IntakeError) as caught:
        content(bob.items[0])
    assert str(caught.value) == ("run.txt: it cannot be read: its bytes do not match their checksum. Hand it in again.")


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    (_, bob), _ = taken(tmp_path, patched(zipped([ADA, ("bob/run.txt", RUN)]), b"bob/run.txt", flags=1))
    assert refusals(bob) == {"run.txt": "it is encrypted: hand it in without a password"}


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_whose_bombs_cannot_be_bounded_are_refused(tmp_path: Path, method: int) -> None:
    inner = zipped([("run.txt", bytes(1 << 20))], method)
    (_, bob), _ = taken(tmp_path, zipped([ADA, ("bob/x.zip", inner)]))
    why = "it is compressed in an unusual way: make the archive with the usual settings"
    assert refusals(bob) == {"x.zip/run.txt": why}


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    archive = zipped([ADA, BOB, ("eve/run.txt", RUN)])
    where = zipfile.ZipFile(io.BytesIO(archive)).getinfo("bob/run.txt").header_offset
    found, _ = taken(tmp_path, patched(archive, b"eve/run.txt", offset=where))
    why = "it shares bytes with another file of the archive, or lies beyond its end, as in a zip bomb"
    assert [refusals(each) for each in found] == [{}, {"run.txt": why}, {"run.txt": why}]


def test_a_member_that_reaches_beyond_the_end_is_refused(tmp_path: Path) -> None:
    stored = zipped([ADA, ("bob/run.txt", RUN)], zipfile.ZIP_STORED)
    (_, bob), _ = taken(tmp_path, patched(stored, b"bob/run.txt", packed=1 << 20, size=1 << 20))
    why = "it shares bytes with another file of the archive, or lies beyond its end, as in a zip bomb"
    assert refusals(bob) == {"run.txt": why}


def test_a_member_that_has_another_name_at_its_place_is_refused(tmp_path: Path) -> None:
    archive = zipped([ADA, ("bob/run.txt", RUN)])
    first = archive.index(b"bob/run.txt")
    archive = archive[:first] + b"bob/rum.txt" + archive[first + 11 :]
    (_, bob), _ = taken(tmp_path, archive)
    why = "it cannot be read: the list of files gives it another name"
    assert refusals(bob) == {"run.txt": why}


def test_an_archive_in_an_archive_of_a_student_is_refused(tmp_path: Path) -> None:
    inner = zipped([("deep.zip", zipped([("run.txt", RUN)])), ("run.txt", RUN)])
    (_, bob), _ = taken(tmp_path, zipped([ADA, ("bob/hand-in.zip", inner)]))
    assert [(item.name, content(item)) for item in bob.items] == [("hand-in.zip/run.txt", RUN)]
    why = "it is a zip archive in an archive: hand in the files themselves"
    assert refusals(bob) == {"hand-in.zip/deep.zip": why}


def test_an_archive_that_has_itself_ends(tmp_path: Path) -> None:
    """A quine has a copy of itself; as far as can be seen from outside, it is an archive that never ends."""
    inner = zipped([("r/r.zip", b"PK\x03\x04" + bytes(100))])
    (_, bob), _ = taken(tmp_path, zipped([ADA, ("bob/r.zip", inner)]))
    assert refusals(bob) == {"r.zip/r/r.zip": "it is a zip archive in an archive: hand in the files themselves"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zipped([("a", RUN)])[:40], "it has no list of files, as if its end were cut off"),
        (b"PK\x03\x04", "it has no list of files, as if its end were cut off"),
    ],
)
def test_an_archive_that_is_cut_off_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    (_, bob), _ = taken(tmp_path, zipped([ADA, ("bob/x.zip", data)]))
    assert refusals(bob) == {"x.zip": f"this zip archive cannot be read: {why}"}


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


def of_bob(folder: Path, name: str, data: bytes, limits: Limits = USUAL) -> Submission:
    """Return what bob handed in, in a class of two, beside whom ada is read."""
    (ada, bob), others = taken(folder, zipped([ADA, (f"bob/{name}", data)]), limits)
    assert [content(item) for item in ada.items] == [RUN]
    assert others == []
    return bob


@pytest.mark.parametrize(
    ("member", "name", "why"),
    [
        (record("x", tarfile.SYMTYPE, "/etc/passwd"), "x", "it is a link, not a file: links are not followed"),
        (record("x", tarfile.LNKTYPE, "run.txt"), "x", "it is a link, not a file: links are not followed"),
        (record("x", tarfile.FIFOTYPE), "x", "it is a pipe, not a file"),
        (record("x", tarfile.CHRTYPE), "x", "it is a device, not a file"),
        (record("x", b"S"), "x", "it is of a kind that cannot be read: make the archive with the usual settings"),
        (("../../evil", b"x"), "../../evil", "its path leads out of the archive"),
        (("/etc/passwd", b"x"), "etc/passwd", "its path begins at the root of a disk"),
        (("d/" * 40 + "x", b"x"), "/".join("d" * 40) + "/x", "it is nested in 40 folders, more than 32"),
        (("x" * 300, b"x"), "x" * 112 + "…", "its path has 300 characters, more than 255"),
    ],
    ids=["link", "hard link", "pipe", "device", "holes", "traversal", "root", "forty folders", "a long name"],
)
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_what_does_harm_in_a_tar_archive_is_refused(
    tmp_path: Path, member: tarfile.TarInfo | tuple[str, bytes], name: str, why: str, mode: str
) -> None:
    bob = of_bob(tmp_path, "all.tar", tarred(("run.txt", RUN), member, ("b/run.txt", RUN), mode=mode))
    assert {item.name: content(item) for item in bob.items} == {"all.tar/run.txt": RUN, "all.tar/b/run.txt": RUN}
    ((shown, told),) = refusals(bob).items()
    assert (shown.removeprefix("all.tar/").lstrip("/"), told) == (name, why)


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_letters_of_a_tar_archive_are_read(tmp_path: Path, form: int) -> None:
    name = "é" * 60 + "/李明/" + "x" * 60
    bob = of_bob(tmp_path, "all.tgz", tarred((name, RUN), ("y", b"y"), form=form))
    assert [content(item) for item in bob.items] == [b"y", RUN]
    assert bob.items[1].name.startswith("all.tgz/ééé")


def test_two_files_of_one_name_in_a_tar_archive_are_both_refused(tmp_path: Path) -> None:
    bob = of_bob(tmp_path, "all.tgz", tarred(("x", b"1"), ("./x", b"2"), ("y", b"y")))
    why = "the archive has 2 files of this name, so it is not clear which one is meant"
    assert [(each.name, each.why) for each in bob.refused] == [("all.tgz/x", why)] * 2


def test_a_bomb_of_tar_and_gzip_is_unpacked_no_further_than_the_limit(tmp_path: Path) -> None:
    data = tarred(("run.txt", RUN), *((f"{number}", bytes(1 << 20)) for number in range(9)))
    bob = of_bob(tmp_path, "all.tgz", data, Limits(submission_bytes=2 << 20))
    assert bob.items == ()
    assert refusals(bob) == {"all.tgz": "it unpacks to more than 4 MiB"}


def test_no_more_than_five_tar_archives_of_a_submission_are_unpacked(tmp_path: Path) -> None:
    data = tarred(("run.txt", RUN))
    (_, bob), _ = taken(tmp_path, zipped([ADA, *((f"bob/{number}.tgz", data) for number in range(7))]))
    assert [item.name for item in bob.items] == [f"{number}.tgz/run.txt" for number in range(5)]
    why = "no more than 5 tar archives are unpacked: hand in one, or the files themselves"
    assert refusals(bob) == {"5.tgz": why, "6.tgz": why}


def test_a_file_of_a_tar_archive_that_is_too_large_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    data = tarred(("big.txt", bytes(3 << 20)), ("run.txt", RUN))
    bob = of_bob(tmp_path, "all.tgz", data, Limits(file_bytes=1 << 20))
    assert {item.name: content(item) for item in bob.items} == {"all.tgz/run.txt": RUN}
    assert refusals(bob) == {"all.tgz/big.txt": "it has 3 MiB, more than 1 MiB"}


def test_a_tar_archive_with_too_many_files_is_refused(tmp_path: Path) -> None:
    data = tarred(*((str(number), b"") for number in range(31)))
    assert refusals(of_bob(tmp_path, "x.tgz", data, Limits(files=3))) == {"x.tgz": "it has more than 30 files"}


def test_an_archive_in_a_tar_archive_is_refused(tmp_path: Path) -> None:
    data = tarred(("a.tgz", tarred(("run.txt", RUN))), ("b.zip", zipped([("run.txt", RUN)])), ("run.txt", RUN))
    bob = of_bob(tmp_path, "x.tgz", data)
    assert [item.name for item in bob.items] == ["x.tgz/run.txt"]
    assert refusals(bob) == {
        "x.tgz/a.tgz": "it is a tar archive in an archive: hand in the files themselves",
        "x.tgz/b.zip": "it is a zip archive in an archive: hand in the files themselves",
    }


WHOLE = tarred(("run.txt", RUN), ("b", b"b"), mode="w")
DAMAGED = "this tar archive cannot be read: "


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", DAMAGED + "it ends too early"),
        (WHOLE[:300], DAMAGED + "it ends too early"),
        (WHOLE[:530], DAMAGED + "it ends too early"),
        (WHOLE[:1024], DAMAGED + "it ends too early"),
        (WHOLE[:1024] + b"\1" * 512, DAMAGED + "it is damaged"),
        (WHOLE + WHOLE, "it continues after its end, as if several archives were joined"),
        (zlib.compress(WHOLE, wbits=31)[:40], DAMAGED + "it ends too early"),
        (b"\x1f\x8b" + bytes(60), DAMAGED + "it is damaged"),
    ],
    ids=[
        "empty",
        "half a record",
        "half a file",
        "no end",
        "noise",
        "two archives",
        "half a gzip file",
        "no gzip file",
    ],
)
def test_a_damaged_tar_archive_is_refused_as_a_whole(tmp_path: Path, data: bytes, why: str) -> None:
    bob = of_bob(tmp_path, "x.tar", data)
    assert (bob.items, refusals(bob)) == ((), {"x.tar": why})


def test_a_record_of_tar_that_is_said_to_have_terabytes_is_refused(tmp_path: Path) -> None:
    header = record("x", tarfile.GNUTYPE_LONGNAME, size=1 << 40).tobuf(tarfile.GNU_FORMAT)
    assert refusals(of_bob(tmp_path, "x.tar", header + bytes(4096))) == {"x.tar": DAMAGED + "it is damaged"}


@pytest.mark.parametrize("value", [b"19 size=99999999999\n", b"22 GNU.sparse.major=1\n"])
def test_a_record_of_tar_that_changes_a_size_is_refused(tmp_path: Path, value: bytes) -> None:
    header = record("x", tarfile.XHDTYPE, size=len(value)).tobuf(tarfile.USTAR_FORMAT)
    data = header + value.ljust(512, b"\0") + WHOLE
    assert refusals(of_bob(tmp_path, "x.tar", data)) == {"x.tar": DAMAGED + "it is damaged"}


def test_the_lengths_in_a_record_of_tar_cannot_keep_it_from_ending(tmp_path: Path) -> None:
    value = (b"0 1 2 3 " * 64)[:512]
    header = record("x", tarfile.XHDTYPE, size=len(value)).tobuf(tarfile.USTAR_FORMAT)
    bob = of_bob(tmp_path, "x.tar", header + value + WHOLE)
    assert [item.name for item in bob.items] == ["x.tar/b", "x.tar/run.txt"]


@pytest.mark.parametrize("seed", range(40))
def test_damaged_tar_archives_never_stop_the_others(tmp_path: Path, seed: int) -> None:
    import random

    chance = random.Random(seed)
    data = bytearray(tarred(("run.txt", RUN * 40), ("b/claims.txt", b"MAP = 0.5\n"), ("ü.txt", b"x"), mode="w"))
    for _ in range(chance.randint(1, 6)):
        data[chance.randrange(len(data))] = chance.choice([0, 1, 0xFF, chance.randrange(256)])
    bob = of_bob(tmp_path, "x.tar", bytes(data))
    for item in bob.items:
        with contextlib.suppress(IntakeError):
            content(item)
    assert bob.items or bob.refused


@pytest.mark.parametrize("seed", range(40))
def test_damaged_archives_never_stop_the_others(tmp_path: Path, seed: int) -> None:
    """Bytes of a student's archive are changed here and there; whatever comes of it, it is an item or a refusal."""
    import random

    chance = random.Random(seed)
    data = bytearray(zipped([("run.txt", RUN * 40), ("b/claims.txt", b"MAP = 0.5\n"), ("ü.txt", b"x")]))
    for _ in range(chance.randint(1, 6)):
        data[chance.randrange(4, len(data))] = chance.choice([0, 1, 0xFF, chance.randrange(256)])
    (ada, bob), _ = taken(tmp_path, zipped([ADA, ("bob/x.zip", bytes(data))]))
    assert [content(item) for item in ada.items] == [RUN]
    for item in bob.items:
        with contextlib.suppress(IntakeError):
            content(item)
    assert bob.items or bob.refused
    assert pickle.loads(pickle.dumps(bob)) == bob
