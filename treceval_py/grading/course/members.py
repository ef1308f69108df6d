"""The owners of submissions: everybody on the roster, and what each handed in, alone or with a group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from treceval_py.grading.claims.claims import shown
from treceval_py.grading.course.matching import Identity, fits, may_be
from treceval_py.grading.course.roster import Roster, identity_of
from treceval_py.grading.grades import Person, Question
from treceval_py.grading.intake.items import Owner, Submission


class Member(NamedTuple):
    """A row of the gradebook.

    Attributes
    ----------
    person : Person or None
        The student; None without a roster, or for a submission of nobody on it.
    submission : int or None
        Number of the submission; None if nothing was handed in.
    questions : tuple of Question
        Questions for a person to look at.
    """

    person: Person | None
    submission: int | None
    questions: tuple[Question, ...] = ()


class Class(NamedTuple):
    """A class.

    Attributes
    ----------
    members : tuple of Member
        Everybody on the roster, then the submissions of nobody on it.
    submissions : tuple of Submission
        The submissions that count, and those of nobody.
    """

    members: tuple[Member, ...]
    submissions: tuple[Submission, ...]

    def identities(self) -> list[Identity]:
        """Return the names, numbers and addresses of each member, the displayed name first."""
        return [_of_member(member, self.submissions) for member in self.members]


def class_of(handed_in: Sequence[Submission], roster: Roster | None, groups: str = "") -> Class:
    """Find the owners of submissions.

    Parameters
    ----------
    handed_in : sequence of Submission
        The submissions.
    roster : Roster or None
        Everybody in the course; without it, each submission belongs to the students that it names.
    groups : str
        A pattern for the groups of the roster that hand in together; empty for none.

    Returns
    -------
    Class
        All students and all submissions.
    """
    if roster is None:
        return Class(tuple(_without_roster(handed_in)), tuple(handed_in))
    people = roster.people
    mine, asked = _owners(handed_in, people)
    counting = {person: several[-1] for person, several in mine.items()}
    _give_to_groups(counting, handed_in, people, groups)
    owned = {at for several in mine.values() for at in several}
    left = sorted({*range(len(handed_in))} - owned - {*counting.values()})
    kept = sorted({*counting.values(), *left})
    place: dict[int | None, int] = {at: number for number, at in enumerate(kept)}
    members = []
    for person, student in enumerate(people):
        at, several = counting.get(person), mine.get(person, [])
        earlier = ", ".join(shown(handed_in[number].student) for number in several[:-1])
        said = [f"the last of several submissions counts, not {earlier}"] if earlier else []
        if at is not None and len(handed_in[at].owners) > 1:
            said += asked.get(at, ())
        members.append(Member(student, place.get(at), _questions(said)))
    members += [Member(None, place[at], _questions(asked.get(at, [NOT_ON_IT]))) for at in left]
    return Class(tuple(members), tuple(handed_in[at] for at in kept))


NOT_ON_IT = "nobody on the roster has this name"


def _questions(asked: Sequence[str]) -> tuple[Question, ...]:
    return tuple(Question("nobody's", sentence) for sentence in asked)


def _without_roster(handed_in: Sequence[Submission]) -> Iterator[Member]:
    """Yield the students named by submissions; only joint submissions give several members."""
    for at, submission in enumerate(handed_in):
        if len(submission.owners) < 2:
            yield Member(None, at)
            continue
        for owner in submission.owners:
            name = owner.name or owner.email or owner.number
            yield Member(Person(name, owner.number, owner.email, group=submission.group), at)


def _owners(
    submissions: Sequence[Submission], people: Sequence[Person]
) -> tuple[dict[int, list[int]], dict[int, list[str]]]:
    """Return each person's submissions, the last one last; and questions about the owners of submissions."""
    whose = [(at, identity) for at, submission in enumerate(submissions) for identity in identities_of(submission)]
    matches = fits([identity for _, identity in whose], [identity_of(person) for person in people])
    owned: dict[int, list[tuple[int, bool]]] = {}
    asked: dict[int, list[str]] = {}
    for (at, identity), fit in zip(whose, matches, strict=True):
        if fit.student is not None:
            owned.setdefault(fit.student, []).append((at, fit.sure))
            continue
        may = may_be([people[number].name for number in fit.candidates])
        joint = len(submissions[at].owners) > 1
        said = f"'{shown(identity.names[0])}' {may or 'is not on the roster'}" if joint else may or NOT_ON_IT
        asked.setdefault(at, []).append(said)
    mine: dict[int, list[int]] = {}
    for person, own in owned.items():
        # Submissions with different numbers of the platform are not from one student, unless an address decides.
        numbers = {submissions[at].numbers for at, sure in own if not sure} - {()}
        several = len(numbers) + any(sure for _, sure in own) > 1
        for at, sure in own:
            if several and not sure:
                asked.setdefault(at, []).append(may_be([people[person].name]))
            else:
                mine.setdefault(person, []).append(at)
    return {person: sorted(own, key=lambda at: (submissions[at].handed_in, at)) for person, own in mine.items()}, asked


def _give_to_groups(
    counting: dict[int, int], submissions: Sequence[Submission], people: Sequence[Person], pattern: str
) -> None:
    """Give members without a submission the submission of their group."""
    of_people, named = {*counting.values()}, dict[str, list[int]]()
    for at, submission in enumerate(submissions):
        group = _plain(submission.group) or (_plain(submission.student) if at not in of_people else "")
        named.setdefault(group, []).append(at)
    members: dict[str, list[int]] = {}
    for number, person in enumerate(people):
        for name in filter(None, map(_plain, re.split("[,;]", person.group))):
            members.setdefault(name, []).append(number)
    for group, own in members.items():
        shared = (
            [counting[number] for number in own if number in counting] if fnmatchcase(group, _plain(pattern)) else []
        )
        if together := named.get(group) or shared:
            last = max(together, key=lambda at: (submissions[at].handed_in, at))
            for number in own:
                counting.setdefault(number, last)


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


def identities_of(submission: Submission) -> list[Identity]:
    """Return the names, numbers and addresses of each owner of a submission."""
    owners = submission.owners or (Owner(),)
    alone = (submission.student,) if len(owners) == 1 else ()
    return [
        Identity(
            tuple(filter(None, (*alone, owner.name, owner.number))) or (owner.email,),
            (owner.number,) if any(map(str.isdigit, owner.number)) else (),
            tuple(filter(None, (owner.email, "" if owner.number.isdigit() else owner.number))),
        )
        for owner in owners
    ]


def _of_member(member: Member, submissions: Sequence[Submission]) -> Identity:
    """Return the names, numbers and addresses of a member, from the roster and from the submission."""
    own = Identity(()) if member.person is None else identity_of(member.person)
    if member.submission is None:
        return own
    submission = submissions[member.submission]
    alone = identities_of(submission)[0] if len(submission.owners) < 2 else Identity((submission.student,))
    return Identity(*(tuple(dict.fromkeys((*mine, *more))) for mine, more in zip(own, alone, strict=True)))
