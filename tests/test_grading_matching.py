"""People are found by number, address, login or whole name; whoever else it may be is a question for a person."""

from __future__ import annotations

from grading_samples import claims_in
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.people import Fit, Identity, fits, match_students


def who(*names: str, numbers: tuple[str, ...] = (), handles: tuple[str, ...] = ()) -> Identity:
    return Identity(names, numbers, handles)


ADA = who("Ada Lovelace", numbers=("0004711",), handles=("ada@uni.example", "adal"))
OTHERS = (who("Grace Hopper", numbers=("4713",), handles=("grace@uni.example", "gracebot")), who("王芳"))

SAME: dict[str, tuple[Identity, Identity]] = {
    "as written": (who("a1"), who("a1")),
    "case, order, commas": (who("Lovelace, ADA"), who("ada_lovelace")),
    "spelled out": (who("Mueller"), who("Müller")),
    "without accents": (who("jose nunez"), who("José Nuñez")),
    "decomposed": (who("M\u00fcller"), who("Mu\u0308ller")),
    "sharp s": (who("STRAUSS"), who("Strauß")),
    "apostrophes": (who("O'Brien Pat"), who("O’Brien, Pat")),
    "a platform's words and number": (who("Ada Lovelace"), who("Ada Lovelace_12345_assignsubmission_file")),
    "a number of another system": (who("Ada Lovelace_123"), who("Ada Lovelace", numbers=("4711",))),
    "a space in a name without": (who("李 明"), who("李明")),
    "the same in another order": (who("小明 王_98765"), who("王 小明")),
    "Cyrillic": (who("Анна Соловьёва"), who("Соловьева, Анна")),
    "wide letters": (who("ＬＩ Ｍｉｎｇ"), who("Li Ming")),
    "Devanagari": (who("रमेश कुमार"), who("कुमार रमेश")),
    "Greek": (who("Παπαδόπουλος Νίκος"), who("Νικος Παπαδοπουλος")),
    "a number": (who("4711"), ADA),
    "a number only": (who("", numbers=("4711",)), ADA),
    "three digits": (who("471 Ada"), who("Ada Lovelace", numbers=("471",))),
    "a number and a word of the name": (who("Ada King 4711"), ADA),
    "a number and joined names": (who("lovelaceada", numbers=("4711",)), ADA),
    "an address": (who("x", handles=("ADA@uni.example",)), ADA),
    "an address as the name": (who("Ada@uni.example"), ADA),
    "a login": (who("AdaL"), ADA),
    "the beginning of an address": (who("ada"), ADA),
    "200 letters": (who("x" * 200 + "1"), who("x" * 200 + "2")),
}


def test_a_person_is_found_by_number_address_login_or_whole_name() -> None:
    for case, (wanted, student) in SAME.items():
        assert [fit.student for fit in fits([wanted], [*OTHERS, student])] == [2], case
        assert fits([wanted], OTHERS) == [Fit()], case


# Who is looked for, and whether it may be Ada; else it is nobody.
OTHER: dict[str, tuple[Identity, bool]] = {
    "joined": (who("lovelaceada"), True),
    "a part of the name": (who("Lovelace"), True),
    "a longer name": (who("Ada Augusta Lovelace"), True),
    "a number with another name": (who("Bo King 4711"), True),
    "one word of two": (who("Ada King"), False),
    "two digits": (who("47 Bo"), False),
    "two digits with the name": (who("Ada Lovelace_12"), True),
    "another kana": (who("かとう"), False),
    "a letter of a name": (who("王"), False),
    "199 letters": (who("x" * 199 + "1"), False),
    "no name": (who(""), False),
}


def test_any_other_name_is_nobodys_with_the_student_whom_it_may_be() -> None:
    students = [*OTHERS, ADA, who("Ann", numbers=("47",)), who("がとう"), who("x" * 199 + "2")]
    for case, (wanted, known) in OTHER.items():
        assert fits([wanted], students) == [Fit(candidates=(2,) * known)], case


WEI = [who("Li Wei", numbers=("111",)), who("Li Wei", numbers=("222",)), who("Ada")]
MARIA = [who("Maria", handles=("mm@uni.example",)), who("Jo Li", handles=("maria@uni.example",))]
MAILED = [who("Ada", handles=("ada@uni.example",)), who("Grace", handles=("grace@uni.example",))]
NUMBERED = [who("Ada Byron", numbers=("555",)), who("Ada Lovelace", numbers=("666",))]
SEVERAL: dict[str, tuple[list[Identity], list[Identity], list[Fit]]] = {
    "of two of a name the number decides": ([who("Li Wei_222"), who("Wei, Li 111")], WEI, [Fit(1), Fit(0)]),
    "without a number nothing does": ([who("Li Wei")], WEI, [Fit(candidates=(0, 1))]),
    "nor with one of another system": ([who("Li Wei_333")], WEI, [Fit(candidates=(0, 1))]),
    "the whole name goes before a number": ([who("Ada Lovelace_555")], NUMBERED, [Fit(1)]),
    "as written before without accents": ([who("Muller")], [who("Müller"), who("muller")], [Fit(1)]),
    "a name goes before the mailbox of another": ([who("maria")], MARIA, [Fit(0)]),
    "which decides alone": ([who("maria")], MARIA[1:], [Fit(0)]),
    "an address goes before a name": ([who("Ada", handles=("grace@uni.example",))], MAILED, [Fit(1, sure=True)]),
    "two may be the same": ([who("ada lovelace"), who("Lovelace_Ada")], NUMBERED, [Fit(1), Fit(1)]),
    "a part of several": ([who("Ada")], NUMBERED, [Fit(candidates=(0, 1))]),
}


def test_the_strongest_sign_decides() -> None:
    for case, (wanted, students, expected) in SEVERAL.items():
        assert fits(wanted, students) == expected, case


def test_claims_of_a_class_are_given_to_their_students_and_others_are_listed(snapshot: SnapshotAssertion) -> None:
    (claim,) = claims_in(b"MAP = 0.5", "x")
    names = ["Lovelace, Ada", "ADA LOVELACE", "Ada", "Grace Hopper", "12345", "\x1b[31m" + "x" * 200]
    claims = {name: [claim._replace(place=f"claims.csv:{line}")] for line, name in enumerate(names, 2)}
    students = [who("Ada Lovelace"), *(who(f"{name}_12345") for name in ("Bob", "Cy", "Di", "Ed"))]
    matched, strays = match_students({**claims, "Nobody": []}, students)
    assert {at: [each.place for each in mine] for at, mine in matched.items()} == {0: ["claims.csv:2", "claims.csv:3"]}
    assert strays == snapshot
    assert match_students(claims, students[:-1])[1][2] == strays[2].removesuffix(" or 1 more")


def test_a_name_without_end_is_harmless() -> None:
    names = [who(f"{'ada b ' * 100_000}{number}") for number in range(20)]
    assert fits(names, [who("Ada B"), who("Grace")])[0].student is None
