"""The owners of submissions: everybody on the roster, and what each handed in, alone or with a group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
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
        The submissions; several submissions of a person are merged into one.
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
    people, submissions = roster.people, list(handed_in)
    mine, strangers, questions = _owners(submissions, people)
    counting = {person: several[-1] for person, several in mine.items()}
    used = {at for several in mine.values() for at in several}
    for person, several in mine.items():
        others = {at for key, own in mine.items() if key != person for at in own}
        if len(several) > 1 and others.isdisjoint(several):
            submissions[several[-1]] = _merged([submissions[at] for at in several])
        elif len(several) > 1:
            names = ", ".join(shown(submissions[at].student) for at in several[:-1])
            questions.setdefault(person, []).append(f"the last of several submissions counts, not {names}")
    _give_to_groups(counting, submissions, people, groups)
    left = sorted({*range(len(submissions))} - used - {*counting.values()})
    kept = sorted({*counting.values(), *left})
    place = {at: number for number, at in enumerate(kept)}
    members = []
    for person, student in enumerate(people):
        at = counting.get(person)
        asked = list(questions.get(person, ()))
        if at is not None and len(submissions[at].owners) > 1:
            asked += strangers.get(at, ())
        members.append(Member(student, None if at is None else place[at], _questions(asked)))
    members += [Member(None, place[at], _questions(strangers.get(at, [NOT_ON_IT]))) for at in left]
    return Class(tuple(members), tuple(submissions[at] for at in kept))


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
) -> tuple[dict[int, list[int]], dict[int, list[str]], dict[int, list[str]]]:
    """Return each person's submissions, the last one last; and questions, by submission and by person."""
    whose = [(at, identity) for at, submission in enumerate(submissions) for identity in identities_of(submission)]
    matches = fits([identity for _, identity in whose], [identity_of(person) for person in people], parts=True)
    owned: dict[int, list[tuple[int, bool]]] = {}
    strangers: dict[int, list[str]] = {}
    partly: dict[int, list[str]] = {}
    for (at, identity), fit in zip(whose, matches, strict=True):
        if fit.student is not None:
            owned.setdefault(fit.student, []).append((at, fit.sure))
            if fit.partly:
                partly[fit.student] = [f"only a part of the name fits '{shown(submissions[at].student)}'"]
        else:
            may = may_be([people[number].name for number in fit.candidates], "another submission")
            who = f"'{shown(identity.names[0])}' " if len(submissions[at].owners) > 1 else ""
            strangers.setdefault(at, []).append(
                f"{who}{may}" if may else f"{who}is not on the roster" if who else NOT_ON_IT
            )
    mine: dict[int, list[int]] = {}
    for person, own in owned.items():
        kept = own if _of_one(own, submissions) else [pair for pair in own if pair[1]]
        for at, _ in (pair for pair in own if pair not in kept):
            strangers.setdefault(at, []).append(may_be([people[person].name], "another submission"))
        if kept:
            mine[person] = sorted((at for at, _ in kept), key=lambda at: (submissions[at].handed_in, at))
    return mine, strangers, partly


def _of_one(own: Sequence[tuple[int, bool]], submissions: Sequence[Submission]) -> bool:
    """Tell whether submissions that fit a person are from one student, judged by the platform's numbers."""
    numbers = {submissions[at].numbers for at, sure in own if submissions[at].numbers and not sure}
    return len(numbers) < 2 and not (numbers and any(sure for _, sure in own))


def _give_to_groups(
    counting: dict[int, int], submissions: Sequence[Submission], people: Sequence[Person], pattern: str
) -> None:
    """Give members without a submission the submission of their group."""
    members: dict[str, list[int]] = {}
    titles: dict[str, str] = {}
    for number, person in enumerate(people):
        for name in filter(None, map(str.strip, re.split("[,;]", person.group))):
            members.setdefault(_plain(name), []).append(number)
            titles[_plain(name)] = name
    of_people = {*counting.values()}
    named: dict[str, list[int]] = {}
    for at, submission in enumerate(submissions):
        group = _plain(submission.group) or (_plain(submission.student) if at not in of_people else "")
        if group in members:
            named.setdefault(group, []).append(at)
    for group, own in members.items():
        together = named.get(group, []) or [counting[number] for number in own if number in counting]
        if together and (group in named or (pattern and fnmatchcase(titles[group], pattern))):
            last = max(together, key=lambda at: (submissions[at].handed_in, at))
            for number in own:
                counting.setdefault(number, last)


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())


def _merged(parts: Sequence[Submission]) -> Submission:
    """Merge the submissions of a person under several names, keeping the last name."""
    named = [part.renamed(partial("{}/{}".format, part.student)) for part in reversed(parts)]
    return parts[-1]._replace(
        source=f"{parts[-1].source} and {len(parts) - 1} more",
        items=tuple(item for part in named for item in part.items),
        refused=tuple(file for part in named for file in part.refused),
    )


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
