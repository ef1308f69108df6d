"""Findings as text, and the collection of them: what is kept, what is counted, in which order they come."""

from __future__ import annotations

from typing import Any

import pytest

from treceval_py.checking.findings import ENDING, Collector, Finding


def collector(*, most: int = 100, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> Collector:
    return Collector("run.txt", most=most, select=select, ignore=ignore)


def with_lines(code: str, *lines: int, most: int = 100) -> Collector:
    """Return a collector with a finding on each of some lines."""
    found = collector(most=most)
    for line in lines:
        found.add(code, "wrong", line=line)
    return found


def places(found: Collector) -> list[tuple[str, int]]:
    return [(each.code, each.line) for each in found.sorted()]


# --- a finding as text ---


@pytest.mark.parametrize(("line", "column", "place"), [(0, 0, "run.txt"), (7, 0, "run.txt:7"), (7, 12, "run.txt:7:12")])
def test_a_finding_begins_with_as_much_of_its_place_as_there_is(line: int, column: int, place: str) -> None:
    finding = Finding("R104", "error", "run.txt", line, column, "score 'nan' is not a number", "Mend it.")
    assert str(finding) == f"{place}: error R104: score 'nan' is not a number. Mend it."


def test_a_finding_without_advice_ends_with_what_was_found() -> None:
    assert (
        str(Finding("R122", "note", "run.txt", 3, 0, "lines stand apart")) == "run.txt:3: note R122: lines stand apart."
    )


def test_a_finding_is_one_line_without_control_characters() -> None:
    finding = Finding("R104", "error", "a\x1bb", 1, 1, "score '\n' is none", "Write\t1.")
    assert str(finding) == "a\\x1bb:1:1: error R104: score '\\n' is none. Write\\t1."


# --- what is wanted ---


@pytest.mark.parametrize(
    ("code", "select", "ignore", "wanted"),
    [
        ("R104", (), (), True),
        ("R104", ("R",), (), True),
        ("R104", ("R10",), (), True),
        ("R104", ("R104",), (), True),
        ("R104", ("R12",), (), False),
        ("R104", ("F",), (), False),
        ("R104", ("R",), ("R10",), False),
        # what ends reading is wanted unless exactly it is left out
        ("R112", ("F014",), ("R",), True),
        ("R112", ("F014",), ("R11",), True),
        ("R112", ("F014",), ("R112",), False),
    ],
)
def test_a_code_is_wanted_unless_it_is_left_out(
    code: str, select: tuple[str, ...], ignore: tuple[str, ...], wanted: bool
) -> None:
    assert collector(select=select, ignore=ignore).wants(code) is wanted


def test_a_collector_that_leaves_all_codes_out_takes_anything_in_silence() -> None:
    silent = Collector("", ignore=("", *ENDING))
    silent.add("F001", "empty", line=1)
    silent.add("R104", "nan", line=1)
    assert (silent.sorted(), silent.counts) == ([], {})


# --- adding and counting ---


def test_a_finding_that_is_added_has_the_severity_of_its_code_and_the_file() -> None:
    found = collector()
    found.add("R124", "ranks begin below 1", "Number them.", line=2, column=8)
    assert found.sorted() == [Finding("R124", "warning", "run.txt", 2, 8, "ranks begin below 1", "Number them.")]


def test_of_each_code_so_many_are_kept_and_all_are_counted() -> None:
    found = with_lines("R104", 1, 2, 3, most=2)
    found.add("R121", "twice", line=4)
    assert places(found) == [("R104", 1), ("R104", 2), ("R121", 4)]
    assert found.counts == {"R104": 3, "R121": 1}


def test_all_are_kept_where_the_most_is_0() -> None:
    assert len(with_lines("R104", *range(1, 201), most=0).sorted()) == 200


def test_what_is_not_wanted_is_neither_kept_nor_counted_but_known() -> None:
    found = collector(ignore=("R104",))
    found.add("R104", "nan", line=1)
    assert (found.sorted(), found.counts, found.every) == ([], {}, {"R104": 1})


def test_what_is_only_counted_is_not_kept() -> None:
    found = collector()
    found.count("R104")
    found.count("R104", 4)
    assert (found.sorted(), found.counts, found.every) == ([], {"R104": 5}, {"R104": 5})


@pytest.mark.parametrize("options", [{"ignore": ("R104",)}, {"select": ("R121",)}])
def test_what_is_counted_and_not_wanted_is_known_all_the_same(options: dict[str, tuple[str, ...]]) -> None:
    found = collector(**options)  # type: ignore[arg-type]
    found.count("R104", 4)
    assert (found.counts, found.every) == ({}, {"R104": 4})


@pytest.mark.parametrize(
    ("kept", "options", "code", "room"),
    [
        (1, {"most": 2}, "R104", True),
        (2, {"most": 2}, "R104", False),
        (2, {"most": 2}, "R121", True),
        (200, {"most": 0}, "R104", True),
        (0, {"ignore": ("R104",)}, "R104", False),
        (0, {"most": 0, "ignore": ("R104",)}, "R104", False),
    ],
)
def test_there_is_room_until_so_many_are_kept(kept: int, options: dict[str, Any], code: str, room: bool) -> None:
    found = collector(**options)
    for line in range(kept):
        found.add("R104", "wrong", line=line)
    assert found.room(code) is room


# --- taking from another collector ---


@pytest.mark.parametrize("options", [{"ignore": ("R104",)}, {"select": ("R121",)}])
def test_of_another_collector_only_what_is_wanted_is_kept_and_counted(options: dict[str, tuple[str, ...]]) -> None:
    other = with_lines("R104", 1, 2)
    other.add("R121", "twice", line=3)
    found = collector(**options)  # type: ignore[arg-type]
    found.take(other)
    assert places(found) == [("R121", 3)]
    assert (found.counts, found.every) == ({"R121": 1}, {"R104": 2, "R121": 1})


def test_there_is_as_much_room_for_two_collectors_as_for_one() -> None:
    found = with_lines("R104", 1, 2, most=3)
    found.take(with_lines("R104", 3, 4, 5, most=3))
    assert places(found) == [("R104", 1), ("R104", 2), ("R104", 3)]
    assert found.counts == {"R104": 5}


def test_nothing_is_kept_of_another_collector_where_there_is_no_room() -> None:
    found = with_lines("R104", 1, 2, most=2)
    found.take(with_lines("R104", 3, 4, most=2))
    assert places(found) == [("R104", 1), ("R104", 2)]
    assert not found.room("R104")


def test_room_in_one_code_is_not_taken_by_another_collector_s_findings_of_another_code() -> None:
    found = with_lines("R104", 1, 2, most=2)
    found.take(with_lines("R121", 3, 4, most=2))
    assert places(found) == [("R104", 1), ("R104", 2), ("R121", 3), ("R121", 4)]


def test_what_another_collector_has_only_counted_is_counted() -> None:
    found = collector(most=2)
    found.take(with_lines("R104", *range(1, 11), most=2))
    assert places(found) == [("R104", 1), ("R104", 2)]
    assert found.counts == {"R104": 10}


def test_all_of_two_collectors_are_kept_where_the_most_is_0() -> None:
    found = with_lines("R104", 1, 2, most=0)
    found.take(with_lines("R104", *range(3, 203), most=0))
    assert len(found.sorted()) == 202


def test_of_another_collector_only_some_codes_are_taken() -> None:
    other = with_lines("R104", 1, 2)
    other.add("R121", "twice", line=3)
    found = collector()
    found.take(other, only=("R121",))
    assert places(found) == [("R121", 3)]
    assert (found.counts, found.every) == ({"R121": 1}, {"R121": 1})


def test_another_collector_is_not_changed_by_what_is_taken_from_it() -> None:
    other = with_lines("R104", 1)
    found = collector()
    found.take(other)
    found.add("R104", "wrong", line=2)
    assert places(other) == [("R104", 1)]


def test_an_empty_collector_has_the_same_settings_and_no_findings() -> None:
    found = Collector("run.txt", most=1, select=("R", "F014"), ignore=("R121",))
    found.add("R104", "nan", line=1)
    empty = found.empty()
    assert (empty.file, empty.sorted(), empty.counts, empty.every) == ("run.txt", [], {}, {})
    assert [code for code in ("F001", "F014", "R104", "R112", "R121", "R124") if empty.wants(code)] == [
        "F001",
        "F014",
        "R104",
        "R112",
        "R124",
    ]
    empty.add("R104", "nan", line=1)
    assert not empty.room("R104")


# --- order ---


def test_findings_come_by_line_column_code_and_words_and_those_of_the_whole_file_last() -> None:
    places = [(9, 0, "R104", ""), (9, 3, "R104", ""), (9, 11, "F014", "c"), (9, 11, "R104", "a"), (9, 11, "R104", "b")]
    places += [(9, 11, "R124", "a"), (10, 1, "R104", ""), (0, 0, "F014", ""), (0, 0, "R104", ""), (0, 0, "R124", "")]
    found = collector()
    for line, column, code, what in places[::2] + places[1::2][::-1]:
        found.add(code, what, line=line, column=column)
    assert [(each.line, each.column, each.code, each.what) for each in found.sorted()] == places


# --- errors ---


def test_errors_are_all_findings_of_that_severity_and_no_others() -> None:
    found = collector()
    for code in ("R104", "R121", "R121", "R124", "F014"):
        found.add(code, "wrong")
    assert found.errors == 3


def test_errors_that_are_only_counted_or_not_wanted_are_errors() -> None:
    found = collector(most=1, ignore=("R121",))
    found.add("R121", "twice")
    found.count("R121", 2)
    found.count("R104", 4)
    found.count("R124", 8)
    assert found.errors == 1 + 2 + 4


def test_errors_of_another_collector_are_errors_where_they_are_not_wanted() -> None:
    found = collector(ignore=("R",))
    found.take(with_lines("R104", 1, 2))
    assert found.errors == 2
    assert with_lines("R124", 1, 2).errors == 0
