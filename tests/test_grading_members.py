"""Whose submissions are: everybody on the roster, groups, and those of nobody on it."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.course import roster_of
from treceval_py.grading.grades import Person
from treceval_py.grading.intake.archives import Place
from treceval_py.grading.intake.folders import Item, Owner, Submission
from treceval_py.grading.people import Class, Roster, class_of

ADA = Person("Ada Lovelace", "1001", "ada@uni.example", "adal", "Team 1")
GRACE = Person("Grace Hopper", "1002", "grace@uni.example", "graceh", "Team 1, Lab B")
LI = Person("李明", "1003", "", "", "Team 2")
ROSTER = Roster((ADA, GRACE, LI))
IN_TWO = Roster((ADA, GRACE, LI._replace(row=(("first name", "明"), ("last name", "李")))))


def submission(student: str, *owners: Owner, day: int = 0, group: str = "") -> Submission:
    item = Item("run.txt", 1, Place("/", (), (), (0, 0)))
    time = f"2026-01-0{day}T00:00:00Z" if day else ""
    return Submission(student, f"in/{student}", (item,), owners=owners, group=group, handed_in=time)


TOGETHER = submission("submission_7", Owner("Ada Lovelace", "1001"), Owner("明 李", "", "li@uni.example"))
NUMBERED = [submission(f"Ada Lovelace_{number}", Owner("Ada Lovelace", number)) for number in ("555", "666")]
OWN = [submission("Grace Hopper", day=2), submission("李明")]
SECOND = submission("ada lovelace", day=2)
OF_BOTH = submission("submission_7", Owner("Ada Lovelace"), Owner("Grace Hopper"), day=2)

CASES: dict[str, tuple[list[Submission], Roster | None, str]] = {
    "everybody on the roster, and nobody": ([submission("Lovelace, Ada_555"), submission("Mallory_666")], ROSTER, ""),
    "a name that fits only partly": ([submission("Ada Augusta Lovelace")], ROSTER, ""),
    "no roster": ([submission("ada"), submission("grace")], None, ""),
    "two together without a roster": ([TOGETHER], None, ""),
    "two together": ([TOGETHER], IN_TWO, ""),
    "a stranger in a group": ([submission("submission_7", Owner("Ada Lovelace"), Owner("Mallory"))], ROSTER, ""),
    "two of a person are one, the last one first": ([SECOND, submission("Lovelace_Ada", day=1)], ROSTER, ""),
    "two of one name that only the numbers of the platform distinguish": (NUMBERED, ROSTER, ""),
    "two with the same number of the platform": ([NUMBERED[0], NUMBERED[0]._replace(student="Ada_555")], ROSTER, ""),
    "in the name of a group": ([submission("team_1"), submission("x", group="Team 2")], ROSTER, ""),
    "of a member": (OWN, ROSTER, ""),
    "of a member, in another group": (OWN, ROSTER, "Lab *"),
    "of a member, for the group": (OWN, ROSTER, "Team *"),
    "of a member under two names, for the group": (
        [submission("Grace Hopper"), submission("hopper_grace")],
        ROSTER,
        "Team *",
    ),
    "one's own, and a later one of a group": ([submission("Ada Lovelace", day=1), OF_BOTH], ROSTER, ""),
    "one's own, and an earlier one of a group": ([submission("Ada Lovelace", day=3), OF_BOTH], ROSTER, ""),
    "members of a group, of which the last counts": (
        [submission("Ada Lovelace", day=1), submission("Grace Hopper", day=2)],
        Roster((ADA, GRACE, LI._replace(group="Team 1"))),
        "Team *",
    ),
}


def told(found: Class) -> str:
    """Return the members with their submissions and questions, and the files of submissions."""
    lines = []
    for each in found.members:
        student = "–" if each.submission is None else found.submissions[each.submission].student
        questions = "".join(f"; {question.kind}: {question.what}" for question in each.questions)
        lines.append(f"{'?' if each.person is None else each.person.name}: {student}{questions}")
    lines += [f"  {each.source}: {[item.name for item in each.items]}" for each in found.submissions]
    return "\n".join(lines)


def test_members_have_their_submissions_and_strangers_are_asked_about(snapshot: SnapshotAssertion) -> None:
    assert "\n".join(f"# {name}\n{told(class_of(*case))}" for name, case in CASES.items()) == snapshot


def test_members_can_be_called_as_on_the_roster_and_as_their_submission() -> None:
    found = class_of([submission("Ada Lovelace_555")], ROSTER)
    assert found.identities()[0] == (("Ada Lovelace", "Ada Lovelace_555"), ("1001",), ("ada@uni.example", "adal"))


def test_a_course_without_a_roster_has_those_who_handed_something_in() -> None:
    first = [submission("Ada Lovelace_555", Owner("Ada Lovelace", "555")), submission("bob")]
    second = [submission("Lovelace Ada_77", Owner("Lovelace Ada", "77")), submission("carla"), submission("Bob")]
    assert [each.name for each in roster_of([first, second]).people] == ["Ada Lovelace", "bob", "carla"]
