"""Files damaged at random: the program always ends well. ``damage.py`` runs as many more as one likes."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from damage import MUTATIONS, SHAPES, Case, check, failures_of, make_case


@pytest.mark.both_readers
@pytest.mark.parametrize(
    ("start", "count"),
    [(0, 60), *(pytest.param(start, 250, marks=pytest.mark.slow) for start in range(60, 1500, 250))],
)
def test_damaged_files_are_scored_or_refused_in_one_line(start: int, count: int) -> None:
    failures = [f"{failure.case}\n{failure.wrong}" for failure in failures_of(1, range(start, start + count))]
    assert not failures, "\n\n".join(failures[:3])


def test_a_case_is_the_same_every_time_and_differs_from_others() -> None:
    cases = [make_case(7, index) for index in range(50)]
    assert cases == [make_case(7, index) for index in range(50)]
    assert len(set(map(str, cases))) > 40


@pytest.mark.parametrize("shape", SHAPES)
def test_files_without_damage_are_scored(shape: str, tmp_path: Path) -> None:
    kind, qrels, run = SHAPES[shape]
    measure = {"qrels": "map", "qrels_jg": "map_avgjg"}.get(kind, "prefs_simp")
    case = Case(0, ("-R", kind, "-m", measure, "-c", "qrels", "run"), {"qrels": qrels, "run": gzip.compress(run)})
    assert check(case, str(tmp_path)) is None


def test_every_kind_of_damage_is_done_to_some_file() -> None:
    names = {mutation.__name__ for mutation in MUTATIONS}
    assert {"flip_bit", "truncate", "double_line", "drop_field", "garble_number", "concatenate", "replace"} <= names


def broken(arguments: object) -> int:
    raise ZeroDivisionError("division by zero")


def hanging(arguments: object) -> int:
    while True:
        pass


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda arguments: 0, r"^status 0, but no results"),
        (lambda arguments: 3, r"^a status that has no meaning"),
        (lambda arguments: 1, r"^not exactly one line on stderr"),
        (broken, r"ZeroDivisionError: division by zero\n$"),
        (hanging, r"Hang: no end after 0.05 seconds\n$"),
    ],
    ids=["nothing", "a status", "no words", "an exception", "a hang"],
)
def test_what_does_not_end_well_would_be_seen(
    run: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("damage.run", run)
    monkeypatch.setattr("damage.SECONDS", 0.05)
    assert re.search(said, check(make_case(1, 0), str(tmp_path)) or "")
