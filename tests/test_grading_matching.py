"""Students of a table of claims, found again among those who handed something in."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.claims.claims import claims_in
from treceval_py.grading.course.matching import Fit, Identity, fits, match_students


def matched(written: list[str], students: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return for each student the places of its claims, and what is left; the name on row N has its claim on line N + 2."""
    (claim,) = claims_in(b"MAP = 0.5", "x")
    claims = {name: [claim._replace(place=f"claims.csv:{row + 2}")] for row, name in enumerate(written)}
    found, strays = match_students(claims, [Identity((student,)) for student in students])
    assert sum(map(len, found.values())) + len(strays) == len(written)
    return {students[at]: [each.place for each in mine] for at, mine in found.items()}, strays


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
        ("123", "Ada_123"),
        ("a b c d e", "edcba"),  # joined in any order, up to five words
    ],
)
def test_a_student_is_found_however_the_name_is_written(written: str, student: str) -> None:
    found = matched([written], [student, "Grace Hopper_777_assignsubmission_file"])
    assert found == ({student: ["claims.csv:2"]}, [])


@pytest.mark.parametrize(
    ("written", "students", "found"),
    [
        # the name as it stands goes before one that resembles it
        (["ada", "Ada"], ["Ada", "ada"], {"ada": ["claims.csv:2"], "Ada": ["claims.csv:3"]}),
        (["Ada", "ADA"], ["ada"], {"ada": ["claims.csv:2", "claims.csv:3"]}),
        (["Müller", "Muller"], ["Müller"], {"Müller": ["claims.csv:2"]}),
        (["Ada Lovelace 4711"], ["Ada Lovelace_12345", "Bob_678"], {"Ada Lovelace_12345": ["claims.csv:2"]}),
        # all words of a name, up to 200 letters
        (["x" * 200 + "1"], ["x" * 200 + "2"], {"x" * 200 + "2": ["claims.csv:2"]}),
        (["x" * 199 + "1"], ["x" * 199 + "2"], {}),
    ],
)
def test_names_that_resemble_one_another_are_given_to_the_right_students(
    written: list[str], students: list[str], found: dict[str, list[str]]
) -> None:
    assert matched(written, students)[0] == found


def test_names_that_fit_nobody_or_several_are_given_to_none(snapshot: SnapshotAssertion) -> None:
    strays = [
        (["Ada"], ["Ada Lovelace"]),
        (["Ada Lovelace King"], ["Ada Lovelace"]),
        (["12"], ["Ada_12345"]),
        (["12"], ["Ada_12"]),
        (["Grace 12345"], ["Ada 12345"]),
        (["a b c d e f"], ["fedcba"]),
        (["ADA"], ["ada", "Ada", "grace"]),
        (["12345"], ["Ada_12345", "Bob_12345", "Cy_12345"]),
        (["12345"], ["Ada_12345", "Bob_12345", "Cy_12345", "Di_12345"]),
        (["12345", "Ada Lovelace"], ["Ada Lovelace_12345"]),
        (["Ada Lovelace_12345", "12345"], ["Ada Lovelace_12345"]),
        (["\x1b[31m" + "x" * 200], ["ada"]),
    ]
    assert "\n".join(line for each in strays for line in matched(*each)[1]) == snapshot


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


def test_another_name_is_not_the_name() -> None:
    meier = who("Bo", handles=("meier@x.example",))
    for wanted, student in (
        ("かとう", who("がとう")),
        ("明", who("李明")),
        ("Anna Schmidt-Meier", meier),
        ("李", who("李明")),
    ):
        assert fits([who(wanted)], [*OTHERS, student], parts=True) == [Fit()], wanted


WEI = [who("Li Wei", numbers=("111",)), who("Li Wei", numbers=("222",)), who("Ada")]
NUMBERED = [who("Suharto", numbers=("4711",)), who("Ada", numbers=("4712",))]
LONG = [who("Ada Augusta Lovelace"), who("Ada Augusta King"), who("Grace Brewster Hopper")]
MARIA = [who("Maria", handles=("mm@uni.example",)), who("Jo Li", handles=("maria@uni.example",))]
MAILED = [who("Ada", handles=("ada@uni.example",)), who("Grace", handles=("grace@uni.example",))]


@pytest.mark.parametrize(
    ("wanted", "students", "parts", "found"),
    [
        # of two of the same name the number decides
        ([who("Li Wei_222"), who("Wei, Li 111")], WEI, False, [Fit(1), Fit(0)]),
        ([who("Li Wei")], WEI, False, [Fit(candidates=(0, 1))]),
        # numbers of another system say nothing; where a number of one fits, those that do not are another student's
        ([who("Suharto_12345"), who("Ada_12346")], NUMBERED, False, [Fit(0), Fit(1)]),
        ([who("Suharto_12345"), who("Ada_4712")], NUMBERED, False, [Fit(), Fit(1)]),
        # two words of a longer name are enough where one student has them and parts are allowed
        ([who("Hopper, Grace")], LONG, False, [Fit()]),
        ([who("Hopper, Grace")], LONG, True, [Fit(2, partly=True)]),
        ([who("Ada Augusta")], LONG, True, [Fit(candidates=(0, 1))]),
        ([who("Grace")], LONG, True, [Fit()]),
        # a name goes before the mailbox of another one, and an address before a name
        ([who("Maria")], MARIA, False, [Fit(0)]),
        ([who("maria")], MARIA[1:], False, [Fit(0)]),
        ([who("Ada", handles=("grace@uni.example",))], MAILED, False, [Fit(1, sure=True)]),
    ],
)
def test_the_strongest_sign_decides(
    wanted: list[Identity], students: list[Identity], parts: bool, found: list[Fit]
) -> None:
    assert fits(wanted, students, parts=parts) == found


def test_a_name_without_end_is_harmless() -> None:
    names = [who(f"{'ada b ' * 100_000}{number}") for number in range(20)]
    assert fits(names, [who("Ada B"), who("Grace")], parts=True)[0].student is None
