"""Students of a table of claims, found again among those who handed something in."""

from __future__ import annotations

import pytest

from treceval_py.grading.claims.claims import Claimed, claims_in
from treceval_py.grading.course.matching import Fit, Identity, fits, match_students


def claim(line: int) -> Claimed:
    (found,) = claims_in(b"MAP = 0.5", "x")
    return found._replace(place=f"claims.csv:{line}")


def matched(written: list[str], students: list[str]) -> dict[str, list[str]]:
    """Return for each student the places of its claims; the name written on row N has its claim on line N + 2."""
    claims = {name: [claim(row + 2)] for row, name in enumerate(written)}
    found, strays = match_students(claims, [Identity((student,)) for student in students])
    assert sum(map(len, found.values())) + len(strays) == len(written)
    return {students[at]: [each.place for each in mine] for at, mine in found.items()}


def stray(written: list[str], students: list[str]) -> list[str]:
    claims = {name: [claim(row + 2)] for row, name in enumerate(written)}
    return match_students(claims, [Identity((student,)) for student in students])[1]


@pytest.mark.parametrize(
    ("written", "student"),
    [
        ("ada", "ada"),
        ("Ada LOVELACE", "ada lovelace"),
        ("Lovelace, Ada", "Ada_Lovelace"),
        ("Müller", "Mueller"),
        ("Muller", "Müller"),
        ("José Nuñez", "jose nunez"),
        ("M\u00fcller", "Mu\u0308ller"),
        ("Strauß", "STRAUSS"),
        ("12345", "Ada Lovelace_12345_assignsubmission_file"),
        ("Ada Lovelace", "Ada Lovelace_12345_assignsubmission_file"),
        ("Ada Lovelace (12345)", "12345"),
        ("lovelaceada", "lovelaceada_LATE_123_456"),
        ("s0123", "s0123 Ada"),
    ],
)
def test_a_student_is_found_however_the_name_is_written(written: str, student: str) -> None:
    assert matched([written], [student, "Grace Hopper_777_assignsubmission_file"]) == {student: ["claims.csv:2"]}


def test_the_name_as_it_stands_goes_before_one_that_resembles_it() -> None:
    assert matched(["ada", "Ada"], ["Ada", "ada"]) == {"ada": ["claims.csv:2"], "Ada": ["claims.csv:3"]}


def test_two_writings_of_a_name_are_one_student() -> None:
    assert matched(["Ada", "ADA"], ["ada"]) == {"ada": ["claims.csv:2", "claims.csv:3"]}


def test_who_is_there_gets_no_claims_of_a_name_that_only_resembles_the_own() -> None:
    assert matched(["Müller", "Muller"], ["Müller"]) == {"Müller": ["claims.csv:2"]}


@pytest.mark.parametrize(
    ("written", "student"),
    [("Ada", "Ada Lovelace"), ("Ada Lovelace King", "Ada Lovelace"), ("12", "Ada_12345"), ("Grace 12345", "Ada 12345")],
)
def test_a_part_of_a_name_is_not_the_name(written: str, student: str) -> None:
    assert stray([written], [student]) == [
        f"claims.csv:2: student '{written}' handed nothing in, or under another name"
    ]  # fmt: skip


def test_a_name_that_fits_several_students_is_given_to_none() -> None:
    assert stray(["ADA"], ["ada", "Ada", "grace"]) == ["claims.csv:2: student 'ADA' may be 'ada' or 'Ada'"]
    assert stray(["12345"], ["Ada_12345", "Bob_12345", "Cy_12345", "Di_12345"]) == [
        "claims.csv:2: student '12345' may be 'Ada_12345' or 'Bob_12345' or 'Cy_12345' or 1 more"
    ]


def test_two_names_that_fit_one_student_are_given_to_none() -> None:
    assert stray(["12345", "Ada Lovelace"], ["Ada Lovelace_12345"]) == [
        "claims.csv:2: student '12345' may be 'Ada Lovelace_12345', but so may another name in the table",
        "claims.csv:3: student 'Ada Lovelace' may be 'Ada Lovelace_12345', but so may another name in the table",
    ]


def test_who_has_claims_by_the_name_as_it_stands_is_named_where_another_name_fits_too() -> None:
    assert stray(["Ada Lovelace_12345", "12345"], ["Ada Lovelace_12345"]) == [
        "claims.csv:3: student '12345' may be 'Ada Lovelace_12345', but so may another name in the table"
    ]


def test_first_and_last_name_are_enough_where_the_platform_has_another_number() -> None:
    assert matched(["Ada Lovelace 4711"], ["Ada Lovelace_12345", "Bob_678"]) == {"Ada Lovelace_12345": ["claims.csv:2"]}


def test_a_name_with_control_characters_is_shown_as_escapes() -> None:
    assert stray(["\x1b[31m" + "x" * 200], ["ada"]) == [
        "claims.csv:2: student '\\x1b[31m" + "x" * 75 + "…' handed nothing in, or under another name"
    ]


def who(*names: str, numbers: tuple[str, ...] = (), handles: tuple[str, ...] = ()) -> Identity:
    return Identity(names, numbers, handles)


OTHERS = (who("Grace Hopper", numbers=("4713",), handles=("grace@uni.example", "gracebot")), who("王芳"))


@pytest.mark.parametrize(
    ("wanted", "student"),
    [
        (who("lovelaceada_123"), who("Ada Lovelace", numbers=("4711",))),
        (who("obrienpat"), who("O’Brien, Pat")),
        (who("李 明"), who("李明")),
        (who("明李_98765"), who("李明", "明 李", numbers=("4711",))),
        (who("王 小明"), who("小明 王")),
        (who("Анна Соловьёва"), who("Соловьева, Анна")),
        (who("ＬＩ Ｍｉｎｇ"), who("Li Ming")),
        (who("रमेश कुमार"), who("कुमार रमेश")),
        (who("Παπαδόπουλος Νίκος"), who("Νικος Παπαδοπουλος")),
        (who("Ada-L"), who("Ada Lovelace", handles=("ada-l",))),
        (who("adal"), who("Ada Lovelace", handles=("adal@uni.example",))),
        (who("x", handles=("ADA@uni.example",)), who("Ada Lovelace", handles=("ada@uni.example",))),
        (who("ada@uni.example"), who("Ada Lovelace", handles=("ada@uni.example",))),
        (who("4711"), who("Ada Lovelace", numbers=("0004711",))),
        (who("Ada King 4711"), who("Ada Lovelace", numbers=("4711",))),
        (who("", numbers=("4711",)), who("Ada Lovelace", numbers=("4711",))),
    ],
    ids=lambda each: each.names[0] or "number only",
)
def test_a_person_is_found_in_any_order_and_script(wanted: Identity, student: Identity) -> None:
    (fit,) = fits([wanted], [*OTHERS, student])
    assert fit.student == 2


@pytest.mark.parametrize(
    ("wanted", "student"),
    [(who("かとう"), who("がとう")), (who("明"), who("李明")), (who("Anna Schmidt-Meier"), who("Bo", handles=("meier@x.example",))), (who("李"), who("李明"))],
    ids=lambda each: each.names[0],
)  # fmt: skip
def test_another_name_is_not_the_name(wanted: Identity, student: Identity) -> None:
    assert fits([wanted], [*OTHERS, student], parts=True) == [Fit()]


def test_of_two_of_the_same_name_the_number_decides() -> None:
    students = [who("Li Wei", numbers=("111",)), who("Li Wei", numbers=("222",)), who("Ada")]
    assert [fit.student for fit in fits([who("Li Wei_222"), who("Wei, Li 111")], students)] == [1, 0]
    assert fits([who("Li Wei")], students) == [Fit(candidates=(0, 1))]


def test_numbers_of_another_system_say_nothing() -> None:
    students = [who("Suharto", numbers=("4711",)), who("Ada", numbers=("4712",))]
    assert [fit.student for fit in fits([who("Suharto_12345"), who("Ada_12346")], students)] == [0, 1]
    # Where a number of one fits, those that do not fit are another student's.
    assert [fit.student for fit in fits([who("Suharto_12345"), who("Ada_4712")], students)] == [None, 1]


def test_two_words_of_a_longer_name_are_enough_where_one_student_has_them_and_parts_are_allowed() -> None:
    students = [who("Ada Augusta Lovelace"), who("Ada Augusta King"), who("Grace Brewster Hopper")]
    assert fits([who("Hopper, Grace")], students) == [Fit()]
    assert fits([who("Hopper, Grace")], students, parts=True) == [Fit(2, partly=True)]
    assert fits([who("Ada Augusta")], students, parts=True) == [Fit(candidates=(0, 1))]
    assert fits([who("Grace")], students, parts=True) == [Fit()]


def test_a_name_goes_before_the_mailbox_of_another_one() -> None:
    students = [who("Maria", handles=("mm@uni.example",)), who("Jo Li", handles=("maria@uni.example",))]
    assert fits([who("Maria")], students) == [Fit(0)]
    assert fits([who("maria")], students[1:]) == [Fit(0)]


def test_a_name_without_end_is_harmless() -> None:
    names = [who(f"{'ada b ' * 100_000}{number}") for number in range(20)]
    assert fits(names, [who("Ada B"), who("Grace")], parts=True)[0].student is None


def test_an_address_goes_before_a_name() -> None:
    students = [who("Ada", handles=("ada@uni.example",)), who("Grace", handles=("grace@uni.example",))]
    assert fits([who("Ada", handles=("grace@uni.example",))], students) == [Fit(1, sure=True)]
