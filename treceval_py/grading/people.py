"""The owners of submissions: everybody on the roster, what each handed in, alone or with a group, and who is who.

People are matched by a number, an address, a login or a whole name; whoever else it may be is a question for a person.
"""

from __future__ import annotations

import os
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from itertools import chain, zip_longest
from typing import NamedTuple

from treceval_py.data.ids import beginning_of, quoted
from treceval_py.errors import InputError
from treceval_py.grading.claims.claims import Claimed, shown
from treceval_py.grading.claims.documents.text import SEPARATED, content_of, decoded, lines_of, records
from treceval_py.grading.grades import Person, Question
from treceval_py.grading.intake.folders import Owner, Submission

_PLATFORMS = frozenset({"assignment", "assignsubmission", "attempt", "file", "late", "onlinetext", "submission"})
"""Words that learning platforms add to the names of folders."""

_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe"})
_OTHER_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i"})

_EAST_ASIAN = "\u2e80"
"""First letter of the scripts that write a name without spaces."""

SHORTEST_NUMBER = 3
"""Fewest characters of a word with digits that is a number of a student."""

LONGEST = 200
"""Most characters of a name that are used: file names in archives can be very long."""


class Identity(NamedTuple):
    """The known names, numbers and addresses of a person.

    Attributes
    ----------
    names : tuple of str
        Names as written, in any order, possibly with a number.
    numbers : tuple of str
        Numbers in any system: of the student, or of the platform's account.
    handles : tuple of str
        E-mail addresses and login names.
    """

    names: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    handles: tuple[str, ...] = ()


class Fit(NamedTuple):
    """The student who fits an identity.

    Attributes
    ----------
    student : int or None
        Number of the student; None if nobody fits, or several do.
    candidates : tuple of int
        Students that it may be, if none is certain.
    sure : bool
        Whether an address or a login name decided.
    """

    student: int | None = None
    candidates: tuple[int, ...] = ()
    sure: bool = False


Words = tuple[str, ...]


class _Forms(NamedTuple):
    """An identity in comparable forms, all in lower case.

    Attributes
    ----------
    called : frozenset of str
        The names as written; a person looked for may be named by an address or login name.
    handles : frozenset of str
        Addresses and login names.
    mailboxes : frozenset of str
        The part of addresses before the ``@``, which often is a login name.
    numbers : frozenset of str
        Numbers, and words with digits such as ``s0123``.
    words : frozenset of tuple of str
        The words of each name in alphabetical order, with umlauts written out and without accents; numbers and the
        platforms' words are left out.
    letters : frozenset of str
        The letters of each name in alphabetical order: equal for ``lovelaceada`` and ``Ada Lovelace``.
    """

    called: frozenset[str]
    handles: frozenset[str]
    mailboxes: frozenset[str]
    numbers: frozenset[str]
    words: frozenset[Words]
    letters: frozenset[str]


def fits(wanted: Sequence[Identity], students: Sequence[Identity]) -> list[Fit]:
    """Find the student who fits each of some identities.

    The criteria, in order: an address or a login name; the name as written; the words of the name in any order, without
    regard to accents; a number, unless it comes with another name; the part of an address before the ``@``. An identity
    that fits several students gets none, unless a number decides.

    Parameters
    ----------
    wanted : sequence of Identity
        The identities to look for.
    students : sequence of Identity
        The students.

    Returns
    -------
    list of Fit
        One for each identity.
    """
    mine, theirs = [_forms_of(identity) for identity in wanted], [_forms_of(identity) for identity in students]
    matches: dict[int, Fit] = {}
    for keys, alike in _LEVELS:
        index: dict[str | Words, list[int]] = {}
        for student, forms in enumerate(theirs):
            for key in keys(forms):
                index.setdefault(key, []).append(student)
        for at, forms in enumerate(mine):
            if at in matches:
                continue
            near = sorted({student for key in keys(forms) for student in index.get(key, ())})
            own = [student for student in near if alike(forms, theirs[student])]
            numbered = [student for student in own if not forms.numbers.isdisjoint(theirs[student].numbers)]
            own = numbered if len(numbered) == 1 else own
            if len(own) == 1 and alike is not _may_be_alike:
                matches[at] = Fit(own[0], sure=alike is _handled_alike)
            elif own:
                matches[at] = Fit(candidates=tuple(own))
    return [matches.get(at, Fit()) for at in range(len(mine))]


def _forms_of(identity: Identity) -> _Forms:
    called = [unicodedata.normalize("NFKC", name[:LONGEST]).casefold().strip() for name in identity.names]
    plain = [_without_accents(name.translate(table)) for name in called for table in (_SPELLED_OUT, _OTHER_LETTERS)]
    numbers = {word for name in plain for word in _split(name) if _is_number(word)}
    numbers |= {number.strip().casefold() for number in identity.numbers}
    handles = {handle.strip().casefold() for handle in identity.handles}
    words = frozenset(map(_words, plain)) - {()}
    return _Forms(
        frozenset(called) - {""},
        frozenset(handles) - {""},
        frozenset(handle.partition("@")[0] for handle in handles if "@" in handle),
        frozenset(number.lstrip("0") or number for number in numbers) - {""},
        words,
        frozenset("".join(sorted("".join(name))) for name in words),
    )


def _split(text: str) -> list[str]:
    """Split a text into words; combining marks belong to the letters before them."""
    letters = (letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " " for letter in text)
    return "".join(letters).split()


def _is_number(word: str) -> bool:
    return len(word) >= SHORTEST_NUMBER and any(map(str.isdigit, word))


def _words(name: str) -> Words:
    """Return the words of a name in alphabetical order; those of an East Asian name as one."""
    words = sorted(word for word in _split(name) if word not in _PLATFORMS and not _is_number(word))
    if words and words[0] >= _EAST_ASIAN:
        return ("".join(sorted("".join(words))),)
    return tuple(words)


def _without_accents(text: str) -> str:
    """Return a text without accents on Latin, Greek and Cyrillic letters; in kana or Devanagari, marks are letters."""
    letters: list[str] = []
    for letter in unicodedata.normalize("NFKD", text):
        if not (unicodedata.combining(letter) and letters and letters[-1] < "\u0500"):
            letters.append(letter)
    return unicodedata.normalize("NFC", "".join(letters))


def _handled_alike(mine: _Forms, theirs: _Forms) -> bool:
    """Tell whether two identities share an address or login, or one of them is named by that of the other."""
    by_handle = bool(mine.handles or theirs.handles)
    return by_handle and not (mine.handles or mine.called).isdisjoint(theirs.handles or theirs.called)


def _numbered_alike(mine: _Forms, theirs: _Forms) -> bool:
    """Tell whether two identities share a number, and have no names or some word or all letters in common."""
    some, others = ({word for words in forms.words for word in words} for forms in (mine, theirs))
    named = some and others and some.isdisjoint(others) and mine.letters.isdisjoint(theirs.letters)
    return not mine.numbers.isdisjoint(theirs.numbers) and not named


def _mailed_alike(mine: _Forms, theirs: _Forms) -> bool:
    """Tell whether the name of one identity is the part before the ``@`` in the address of the other."""
    return not mine.called.isdisjoint(theirs.mailboxes) or not theirs.called.isdisjoint(mine.mailboxes)


def _may_be_alike(mine: _Forms, theirs: _Forms) -> bool:
    """Tell whether two identities share a number or all letters, or one name has all words of the other."""
    parts = (set(one) <= set(other) or set(other) <= set(one) for one in mine.words for other in theirs.words)
    return not (mine.numbers.isdisjoint(theirs.numbers) and mine.letters.isdisjoint(theirs.letters)) or any(parts)


_Keys = Callable[[_Forms], Iterable[str | Words]]
_LEVELS: tuple[tuple[_Keys, Callable[[_Forms, _Forms], bool]], ...] = (
    (lambda forms: forms.called | forms.handles, _handled_alike),
    (lambda forms: forms.called, lambda *_: True),
    (lambda forms: forms.words, lambda *_: True),
    (lambda forms: forms.numbers, _numbered_alike),
    (lambda forms: forms.called | forms.mailboxes, _mailed_alike),
    (lambda forms: chain(forms.numbers, forms.letters, *forms.words), _may_be_alike),
)
"""The criteria, strongest first: keys, and whether two with a common key are alike; the last gives candidates only."""


# --- the claims of a class ---


def match_students(
    claims: Mapping[str, Sequence[Claimed]], students: Sequence[Identity]
) -> tuple[dict[int, list[Claimed]], list[str]]:
    """Match the claims of a class to the students who handed something in, using `fits`.

    Parameters
    ----------
    claims : mapping of str to sequence of Claimed
        The claims of each student, under the name in the table.
    students : sequence of Identity
        The students who handed something in; messages show the first name of each.

    Returns
    -------
    matched : dict of int to list of Claimed
        The claims, by index in ``students``.
    strays : list of str
        The reason for each name that is left over, with the place of its first claim; sentences without full stops.
    """
    matched: dict[int, list[Claimed]] = {}
    strays = []
    for (name, mine), fit in zip(claims.items(), fits([Identity((name,)) for name in claims], students), strict=True):
        if fit.student is not None:
            matched.setdefault(fit.student, []).extend(mine)
        else:
            place = f"{mine[0].place}: " if mine else ""
            who = may_be([students[at].names[0] for at in fit.candidates]) or "handed nothing in, or under another name"
            strays.append(f"{place}student '{shown(name)}' {who}")
    return matched, strays


def may_be(names: Sequence[str]) -> str:
    """Say who somebody may be; empty without candidates."""
    names = [f"'{shown(name)}'" for name in names]
    more = f" or {len(names) - 3} more" if len(names) > 3 else ""
    return f"may be {' or '.join(names[:3])}{more}" if names else ""


class Roster(NamedTuple):
    """Everybody in a course.

    Attributes
    ----------
    people : tuple of Person
        The students, in the order of the file.
    platform : str
        ``moodle``, ``canvas``, ``gradescope`` or ``github``; empty for a plain table.
    columns : tuple of str
        The column titles, in the order of the file.
    file : str
        The path, as given.
    """

    people: tuple[Person, ...] = ()
    platform: str = ""
    columns: tuple[str, ...] = ()
    file: str = ""

    def __repr__(self) -> str:
        platform = f" of {self.platform}" if self.platform else ""
        return f"<Roster{platform}: {len(self.people)} students>"


_TITLES: dict[str, dict[str, list[str]]] = tomllib.loads((files(__package__) / "roster.toml").read_text("utf-8"))
_MEANING = {title: meaning for meaning, titles in _TITLES["meaning"].items() for title in titles}

GIVEN, FAMILY, NAME, NUMBER, ACCOUNT, EMAIL, LOGIN, GROUP, ROLE = _TITLES["meaning"]
"""Meanings of columns."""

_OF_MOODLE = ({GIVEN, FAMILY, EMAIL}, {ACCOUNT, NAME, EMAIL})
"""Meanings of the columns that Moodle's participants, grades and grading worksheet have in common."""

_STAFF = re.compile(
    r"(?i)instructor|teacher|\bta\b|assistant|reader|observer|dozent|lehrende|tutor|enseignant|profesor"
)

_NOBODY = frozenset({"points possible", "student, test", "test student"})
"""Names in rows of Canvas that are not students."""

SEPARATORS = ",;\t"


def read_roster(path: str | os.PathLike[str]) -> Roster:
    """Read a roster: a table whose first line names its columns.

    The function accepts the participants, grades and grading worksheet of Moodle, the gradebook of Canvas, the roster
    and grades of Gradescope, the roster of GitHub Classroom, and any table with at least one of the columns ``name``
    (or ``first name`` and ``last name``), ``number``, ``email`` and ``login``; ``group`` is read too. Titles may be in
    several languages. Other columns are kept.

    Parameters
    ----------
    path : path
        CSV separated by commas, semicolons or tabs, in UTF-8, UTF-16 or Windows-1252, as Excel writes it.

    Returns
    -------
    Roster
        The students, without teachers, assistants and others, if the table has their roles.

    Raises
    ------
    InputError
        The file cannot be read, is not such a table, or lists a student twice.
    """
    file = os.fspath(path)
    data = content_of(file)
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise InputError("this is a workbook, but a roster must be CSV", "Save it as CSV.", file=file)
    lines = lines_of(decoded(data))
    skipped = bool(lines) and SEPARATED.fullmatch(lines[0]) is not None
    separator = max(SEPARATORS, key=next((line for line in lines[skipped:] if line.strip()), "").count)
    rows = records(lines, int(skipped), separator, file)
    first, titles = next(rows, (1, []))
    meanings, known = set(map(meaning_of, titles)), {title.casefold().strip() for title in titles}
    if not {GIVEN, FAMILY, NAME, EMAIL, NUMBER, ACCOUNT, LOGIN} & meanings:
        written = beginning_of(", ".join(titles).encode()) if titles else "nothing"
        fault = f"expected a line that names columns such as name, number and email, found {written}"
        raise InputError(fault, "Begin the roster with name,number,email.", file=file, line=first)
    moodle = "moodle" if any(own <= meanings for own in _OF_MOODLE) else ""
    platform = next((name for name, own in _TITLES["platform"].items() if set(own) <= known), moodle)
    people: list[Person] = []
    seen: dict[tuple[str, str], int] = {}
    for line, cells in rows:
        if any(cell.strip() for cell in cells[len(titles) :]):
            fault = f"expected {len(titles)} columns as in the first line, found {len(cells)}"
            raise InputError(fault, "Put quotes around a field that contains a separator.", file=file, line=line)
        row = tuple(zip_longest(titles, cells[: len(titles)], fillvalue=""))
        if (person := _person(row, platform)) is not None:
            _check_new(person, seen, file, line)
            people.append(person)
    if not people:
        raise InputError("there are no students in the roster", "Write a line for each student.", file=file)
    return Roster(tuple(people), platform, tuple(titles), file)


def meaning_of(title: str) -> str:
    """Return the meaning of a column; empty if it is unknown."""
    return _MEANING.get(unicodedata.normalize("NFC", " ".join(title.casefold().split())), "")


def columns_of_students(titles: Sequence[str]) -> list[int]:
    """Return the columns that identify a student: one of that name, or the parts of a name and a number."""
    if "student" in (lowered := [title.lower() for title in titles]):
        return [lowered.index("student")]
    first = {meaning_of(title): at for at, title in reversed([*enumerate(titles)])}
    for parts in (((GIVEN,), (FAMILY, NAME), (NUMBER, ACCOUNT)), ((LOGIN, EMAIL),)):
        if own := [first[known[0]] for part in parts if (known := [meaning for meaning in part if meaning in first])]:
            return own
    return []


def _cells(row: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the cells of each meaning in a row."""
    cells: dict[str, list[str]] = {}
    for title, cell in row:
        if cell.strip() not in ("", "-"):
            cells.setdefault(meaning_of(title), []).append(" ".join(cell.split()))
    return cells


def _person(row: tuple[tuple[str, str], ...], platform: str) -> Person | None:
    """Return the student of a row; None if the row is empty, or not about a student."""
    own = {meaning: cells[0] for meaning, cells in _cells(row).items()}
    if _STAFF.search(own.get(ROLE, "")) or own.get(NAME, "").casefold() in _NOBODY:
        return None
    account, number, email, login = (own.get(meaning, "") for meaning in (ACCOUNT, NUMBER, EMAIL, LOGIN))
    if not email and "@" in login:  # common in Canvas
        email, login = login, ""
    email = email or account * ("@" in account)  # a common choice in GitHub Classroom
    numbered = account.isalnum() and any(map(str.isdigit, account))
    number = number or account * numbered
    if platform == "github" and account and "@" not in account and not numbered:
        own[NAME] = account  # the name that the teacher knows; the other one is that of the account
    name = _name(own) or login or email or number
    return Person(name, number, email, login, own.get(GROUP, ""), row) if name else None


def _name(own: dict[str, str]) -> str:
    """Return the full name, given name first; empty if there is none."""
    given, family, written = (own.get(meaning, "") for meaning in (GIVEN, FAMILY, NAME))
    if written and bool(given) != bool(family):
        if set((given or family).casefold().split()) <= set(re.split(r"[\s,]+", written.casefold())):
            given = family = ""
        else:  # "Name, Vorname": here the name is the part that the other column lacks
            given, family = given or written, family or written
    if not (given or family):
        if written.count(",") != 1:
            return written
        family, given = (part.strip() for part in written.split(","))
    if min(given + family, default="") >= "\u2e80":  # ideographs: family name first, and together
        return family + given
    return f"{given} {family}".strip()


def _check_new(person: Person, seen: dict[tuple[str, str], int], file: str, line: int) -> None:
    """Raise if a student is on the roster twice, since the owner of a submission would be ambiguous."""
    own = {kind: value for kind, value in zip(Person._fields[1:4], person[1:4], strict=True) if value}
    for kind, value in (own or {"name": person.name}).items():
        before = seen.setdefault((kind, value.casefold()), line)
        if before != line:
            fault = f"{kind} {quoted(value.encode())} is already on line {before}"
            raise InputError(fault, "Keep one of the two.", file=file, line=line)


def identity_of(person: Person) -> Identity:
    """Return everything that identifies a person, including other columns of the roster's row."""
    cells = _cells(person.row)
    accounts = [*cells.get(NUMBER, ()), *cells.get(ACCOUNT, ())]
    given, family = (cells.get(part, [""])[-1] for part in (GIVEN, FAMILY))
    names = [person.name, *cells.get(NAME, ()), *accounts, f"{given} {family}"]
    # Moodle writes "Participant 12345", or "Teilnehmer/in12345".
    numbers = [person.number, *(re.sub(r"^[^\W\d]{4,}\D*(?=\d+$)", "", number) for number in accounts)]
    handles = [person.email, person.login, *cells.get(EMAIL, ()), *cells.get(LOGIN, ())]
    return Identity(*(tuple(dict.fromkeys(filter(str.strip, texts))) for texts in (names, numbers, handles)))


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
        both = []
        for member in self.members:
            own, alone = Identity(()) if member.person is None else identity_of(member.person), Identity(())
            if member.submission is not None:
                submission = self.submissions[member.submission]
                several = len(submission.owners) > 1
                alone = Identity((submission.student,)) if several else identities_of(submission)[0]
            both.append(zip(own, alone, strict=True))
        return [Identity(*(tuple(dict.fromkeys(mine + more)) for mine, more in pair)) for pair in both]


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
        return Class(
            tuple(
                Member(None if owner is None else _person_of(owner, submission), at)
                for at, submission in enumerate(handed_in)
                for owner in (submission.owners if len(submission.owners) > 1 else [None])
            ),
            tuple(handed_in),
        )
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


def _person_of(owner: Owner, submission: Submission) -> Person:
    name = owner.name or owner.email or owner.number
    return Person(name, owner.number, owner.email, group=submission.group)


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
        shared = [counting[number] for number in own if number in counting and fnmatchcase(group, _plain(pattern))]
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
