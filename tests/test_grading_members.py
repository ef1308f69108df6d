"""Whose submissions are: everybody on the roster, groups, and those of nobody on it."""

from __future__ import annotations

from treceval_py.grading.course.members import Class, class_of
from treceval_py.grading.course.roster import Roster
from treceval_py.grading.course.tasks import roster_of
from treceval_py.grading.grades import Person
from treceval_py.grading.intake.items import Item, Owner, Place, Submission

ADA = Person("Ada Lovelace", "1001", "ada@uni.example", "adal", "Team 1")
GRACE = Person("Grace Hopper", "1002", "grace@uni.example", "graceh", "Team 1, Lab B")
LI = Person("李明", "1003", "", "", "Team 2")
ROSTER = Roster((ADA, GRACE, LI))


def item(name: str) -> Item:
    return Item(name, 1, Place("/", (), (), (0, 0, 0)))  # type: ignore[arg-type]


def submission(student: str, *owners: Owner, **more: object) -> Submission:
    made = Submission(student, f"in/{student}", (item("run.txt"),), owners=owners)
    return made._replace(**more)  # type: ignore[arg-type]


def rows(found: Class) -> list[tuple[str, str]]:
    """Return who has which submission."""
    return [
        (
            "?" if each.person is None else each.person.name,
            "" if each.submission is None else found.submissions[each.submission].student,
        )
        for each in found.members
    ]


def asked(found: Class) -> list[str]:
    return [question.what for each in found.members for question in each.questions if question.kind == "nobody's"]


def test_everybody_on_the_roster_is_a_member_and_so_is_a_submission_of_nobody() -> None:
    found = class_of([submission("Lovelace, Ada_55"), submission("Mallory_66")], ROSTER)
    assert rows(found) == [
        *(("Ada Lovelace", "Lovelace, Ada_55"), ("Grace Hopper", ""), ("李明", "")),
        ("?", "Mallory_66"),
    ]
    assert asked(found) == ["nobody on the roster has this name"]


def test_a_name_that_fits_only_partly_is_asked_about() -> None:
    found = class_of([submission("Ada Augusta Lovelace")], ROSTER)
    assert rows(found)[0] == ("Ada Lovelace", "Ada Augusta Lovelace")
    assert asked(found) == ["only a part of the name fits 'Ada Augusta Lovelace'"]


def test_without_a_roster_each_submission_is_a_member() -> None:
    found = class_of([submission("ada"), submission("grace")], None)
    assert rows(found) == [("?", "ada"), ("?", "grace")]
    assert asked(found) == []


def test_those_who_handed_in_together_are_members_each_with_and_without_a_roster() -> None:
    together = submission("submission_7", Owner("Ada Lovelace", "1001"), Owner("明 李", "", "li@uni.example"))
    assert rows(class_of([together], None)) == [("Ada Lovelace", "submission_7"), ("明 李", "submission_7")]
    people = Roster((*ROSTER.people[:2], LI._replace(row=(("first name", "明"), ("last name", "李")))))
    found = class_of([together], people)
    assert rows(found) == [("Ada Lovelace", "submission_7"), ("Grace Hopper", ""), ("李明", "submission_7")]
    assert asked(found) == []


def test_a_stranger_in_a_group_is_told() -> None:
    found = class_of([submission("submission_7", Owner("Ada Lovelace"), Owner("Mallory"))], ROSTER)
    assert rows(found)[0] == ("Ada Lovelace", "submission_7")
    assert asked(found) == ["'Mallory' is not on the roster"]


def test_several_submissions_of_a_person_are_one_with_the_files_of_both() -> None:
    first = submission("ada lovelace", handed_in="2026-01-02T00:00:00Z")
    found = class_of([first, submission("Lovelace_Ada", handed_in="2026-01-01T00:00:00Z")], ROSTER)
    assert rows(found) == [("Ada Lovelace", "ada lovelace"), ("Grace Hopper", ""), ("李明", "")]
    (both,) = found.submissions
    assert [each.name for each in both.items] == ["ada lovelace/run.txt", "Lovelace_Ada/run.txt"]
    assert both.source == "in/ada lovelace and 1 more"


def test_two_of_the_same_name_whom_only_the_numbers_of_the_platform_tell_apart_are_not_one_person() -> None:
    found = class_of(
        [
            submission("Ada Lovelace_55", Owner("Ada Lovelace", "55")),
            submission("Ada Lovelace_66", Owner("Ada Lovelace", "66")),
        ],
        ROSTER,
    )
    assert rows(found)[0] == ("Ada Lovelace", "")
    assert rows(found)[3:] == [("?", "Ada Lovelace_55"), ("?", "Ada Lovelace_66")]
    assert asked(found) == ["may be 'Ada Lovelace', but so may another submission"] * 2


def test_a_submission_in_the_name_of_a_group_is_that_of_its_members() -> None:
    found = class_of([submission("team_1"), submission("x", group="Team 2")], ROSTER)
    assert rows(found) == [("Ada Lovelace", "team_1"), ("Grace Hopper", "team_1"), ("李明", "x")]
    assert asked(found) == []


def test_what_a_member_handed_in_counts_for_the_group_where_the_rules_say_so() -> None:
    own = [submission("Grace Hopper", handed_in="2026-01-02T00:00:00Z"), submission("李明")]
    assert rows(class_of(own, ROSTER)) == [("Ada Lovelace", ""), ("Grace Hopper", "Grace Hopper"), ("李明", "李明")]
    assert rows(class_of(own, ROSTER, "Lab *"))[0] == ("Ada Lovelace", "")
    assert rows(class_of(own, ROSTER, "Team *"))[0] == ("Ada Lovelace", "Grace Hopper")


def test_what_a_member_handed_in_under_two_names_counts_whole_for_the_group() -> None:
    found = class_of([submission("Grace Hopper"), submission("hopper_grace")], ROSTER, "Team *")
    assert rows(found)[:2] == [("Ada Lovelace", "hopper_grace"), ("Grace Hopper", "hopper_grace")]
    assert [len(each.items) for each in found.submissions] == [2]
    assert asked(found) == []


def test_of_a_submission_of_ones_own_and_one_of_a_group_the_last_counts_and_the_other_one_is_told() -> None:
    own = submission("Ada Lovelace", handed_in="2026-01-01T00:00:00Z")
    together = submission(
        "submission_7", Owner("Ada Lovelace"), Owner("Grace Hopper"), handed_in="2026-01-02T00:00:00Z"
    )
    found = class_of([own, together], ROSTER)
    assert rows(found)[:2] == [("Ada Lovelace", "submission_7"), ("Grace Hopper", "submission_7")]
    assert asked(found) == ["the last of several submissions counts, not Ada Lovelace"]


def test_members_can_be_called_as_on_the_roster_and_as_their_submission() -> None:
    found = class_of([submission("Ada Lovelace_55")], ROSTER)
    assert found.identities()[0] == (
        ("Ada Lovelace", "Ada Lovelace_55"),
        ("1001",),
        ("ada@uni.example", "adal"),
    )


def test_a_course_without_a_roster_has_those_who_handed_something_in() -> None:
    first = [submission("Ada Lovelace_55", Owner("Ada Lovelace", "55")), submission("bob")]
    second = [submission("Lovelace Ada_77", Owner("Lovelace Ada", "77")), submission("carla"), submission("Bob")]
    assert [each.name for each in roster_of([first, second]).people] == ["Ada Lovelace", "bob", "carla"]
