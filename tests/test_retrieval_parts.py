"""What is kept of long work by groups of queries."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from treceval_py.errors import OutputError
from treceval_py.retrieval.parts import Parts, key_of


def parts_of(folder: Path, key: str = "one", count: int = 3) -> Parts:
    return Parts(str(folder / "search" / key_of(key)), count)


def test_what_was_written_is_there_for_the_next(tmp_path: Path) -> None:
    parts = parts_of(tmp_path)
    assert parts.missing() == [0, 1, 2]
    parts.write(1, scores=np.arange(3.0), positions=np.arange(3))
    again = parts_of(tmp_path)
    assert again.missing() == [0, 2]
    read = again.read(1)
    assert (read["scores"].tolist(), read["positions"].tolist()) == ([0.0, 1.0, 2.0], [0, 1, 2])
    assert parts_of(tmp_path, "another").missing() == [0, 1, 2]


def test_a_file_is_named_by_its_number_and_content(tmp_path: Path) -> None:
    parts_of(tmp_path).write(7, scores=np.zeros(2))
    (file,) = (tmp_path / "search" / hashlib.sha256(b'"one"').hexdigest()[:16]).iterdir()
    assert file.name == f"00007-{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}.npz"


@pytest.mark.parametrize("damage", ["truncated", "unfinished"])
def test_what_is_damaged_is_missing(tmp_path: Path, damage: str) -> None:
    parts_of(tmp_path).write(0, scores=np.zeros(2))
    (file,) = (tmp_path / "search").rglob("*.npz")
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:-1])
    else:  # what a killed process leaves, though it may be whole
        file.rename(file.with_name(f".{file.name}.treceval0"))
    assert parts_of(tmp_path).missing() == [0, 1, 2]


def test_a_damaged_file_does_not_hide_a_whole_one(tmp_path: Path) -> None:
    parts_of(tmp_path).write(0, scores=np.zeros(2))
    (file,) = (tmp_path / "search").rglob("*.npz")
    shutil.copy(file, file.with_name(f"00000-{'f' * 16}.npz"))
    shutil.copy(file, file.with_name(f"00000-{'0' * 16}.npz"))
    assert parts_of(tmp_path).missing() == [1, 2]


def test_all_parts_go_and_nothing_else(tmp_path: Path) -> None:
    for key in ("one", "two"):
        parts_of(tmp_path, key).write(0, scores=np.zeros(2))
    (stopped,) = (tmp_path / "search" / key_of("one")).iterdir()
    stopped.with_name(f".{stopped.name}.treceval0").write_bytes(b"")
    parts_of(tmp_path).clear()
    assert [path.name for path in (tmp_path / "search").iterdir()] == [key_of("two")]
    parts_of(tmp_path, "two").clear()
    assert not list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "search").write_text("")
    with pytest.raises(OutputError, match="the folder cannot be used: Not a directory"):
        parts_of(tmp_path)


def test_numbers_of_six_digits_are_found_and_removed(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, count=100_002)
    for number in (99_999, 100_000):
        parts.write(number, scores=np.zeros(1))
    again = parts_of(tmp_path, count=100_002)
    assert not {99_999, 100_000} & set(again.missing())
    again.clear()
    assert not (tmp_path / "search").exists()
