"""Files damaged at random: the program always ends well. ``damage.py`` runs as many more as one likes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from damage import MUTATIONS, SHAPES, Case, check, failures_of, make_case


@pytest.mark.both_readers
@pytest.mark.parametrize(
    "start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in range(250, 1500, 250))]
)
def test_damaged_files_are_scored_or_refused_in_one_line(start: int) -> None:
    failures = [f"{failure.case}\n{failure.wrong}" for failure in failures_of(1, range(start, start + 250))]
    assert not failures, "\n\n".join(failures[:3])


def test_a_case_is_the_same_every_time() -> None:
    assert [make_case(7, index) for index in range(50)] == [make_case(7, index) for index in range(50)]


def test_cases_differ() -> None:
    assert len({str(make_case(7, index)) for index in range(50)}) > 40


@pytest.mark.parametrize("shape", SHAPES)
def test_files_without_damage_are_scored(shape: str, tmp_path: Path) -> None:
    kind, qrels, run = SHAPES[shape]
    measure = {"qrels": "map", "qrels_jg": "map_avgjg"}.get(kind, "prefs_simp")
    case = Case(0, ("-R", kind, "-m", measure, "-c", "qrels", "run"), {"qrels": qrels, "run": gzip.compress(run)})
    assert check(case, str(tmp_path)) is None


def test_every_kind_of_damage_is_done_to_some_file() -> None:
    names = {mutation.__name__ for mutation in MUTATIONS}
    assert {"flip_bit", "truncate", "double_line", "drop_field", "garble_number", "concatenate", "replace"} <= names


def test_an_error_with_status_0_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("damage.run", lambda arguments: 0)
    found = check(make_case(1, 0), str(tmp_path))
    assert found is not None
    assert found.startswith("status 0, but no results")


def test_an_exception_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(arguments: object) -> int:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("damage.run", broken)
    found = check(make_case(1, 0), str(tmp_path))
    assert found is not None
    assert found.endswith("ZeroDivisionError: division by zero\n")


def test_a_hang_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hanging(arguments: object) -> int:
        while True:
            pass

    monkeypatch.setattr("damage.run", hanging)
    monkeypatch.setattr("damage.SECONDS", 0.05)
    found = check(make_case(1, 0), str(tmp_path))
    assert found is not None
    assert found.endswith("Hang: no end after 0.05 seconds\n")
