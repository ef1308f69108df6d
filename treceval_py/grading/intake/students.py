"""Which student of a table of claims is which student of the submissions, who are often written differently."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from treceval_py.grading.claims.claims import Claimed, shown

__all__ = ["match_students"]

_PLATFORMS = frozenset({"assignment", "assignsubmission", "attempt", "file", "late", "onlinetext", "submission"})
"""Words that learning platforms put into the names of folders."""

_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe"})
_OTHER_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i"})
_WORD = re.compile(r"[^\W_]+")
SHORTEST_NUMBER = 3


class _Name(NamedTuple):
    """A name, taken apart.

    Attributes
    ----------
    plain : tuple of str
        Its words in alphabetical order, in small letters.
    spellings : frozenset of tuple of str
        The same with umlauts written out, and without accents.
    words : frozenset of tuple of str
        The spellings without numbers and without the words of platforms.
    numbers : frozenset of str
        The words with digits, such as ``12345`` or ``s0123``.
    """

    plain: tuple[str, ...]
    spellings: frozenset[tuple[str, ...]]
    words: frozenset[tuple[str, ...]]
    numbers: frozenset[str]


def match_students(
    claims: Mapping[str, Sequence[Claimed]], students: Sequence[str]
) -> tuple[dict[str, list[Claimed]], list[str]]:
    """Give the claims of a class to the students who handed something in.

    A name is taken as it stands; else whatever case, spaces and order of words are; else whatever accents are; else by
    a number of the student within the name of a folder, or by the name beside such numbers; and last by first and last
    name together, whatever the numbers. What fits several students
    is given to none, and who has claims by the name as it stands gets no others by a name that only resembles it.

    Parameters
    ----------
    claims : mapping of str to sequence of Claimed
        The claims of each student, as written in a table.
    students : sequence of str
        The names under which something was handed in.

    Returns
    -------
    matched : dict of str to list of Claimed
        The claims by the names of ``students``.
    strays : list of str
        For each name that is left over why, with the place of its first claim; sentences without full stop.
    """
    found = {name: _taken_apart(name) for name in students}
    owner = {name: name for name in claims if name in found}
    left = {name: _taken_apart(name) for name in claims if name not in owner}
    candidates: dict[str, list[str]] = {}
    _give(left, found, lambda mine, theirs: mine.plain == theirs.plain, owner, candidates)
    for alike in (_spelled_alike, _numbered_alike, _named_alike):
        given = set(owner.values())
        free = {name: parts for name, parts in found.items() if name not in given}
        _give(left, free, alike, owner, candidates, alone=True)
    for name, parts in left.items():
        if name not in owner and name not in candidates:
            # Those whom it fits have claims by another name.
            candidates[name] = [
                each for each, own in found.items() if _spelled_alike(parts, own) or _numbered_alike(parts, own)
            ]
    matched: dict[str, list[Claimed]] = {}
    for name, mine in claims.items():
        if name in owner:
            matched.setdefault(owner[name], []).extend(mine)
    return matched, [_stray(name, claims[name], candidates.get(name, [])) for name in claims if name not in owner]


def _give(
    left: Mapping[str, _Name],
    found: Mapping[str, _Name],
    alike: Callable[[_Name, _Name], bool],
    owner: dict[str, str],
    candidates: dict[str, list[str]],
    *,
    alone: bool = False,
) -> None:
    """Add to ``owner`` the names that are like that of one student; with ``alone``, where no other name is like it.

    Names that are like those of several students come into ``candidates``, and are not looked at again.
    """
    likes = {
        name: [student for student, theirs in found.items() if alike(parts, theirs)]
        for name, parts in left.items()
        if name not in owner and name not in candidates
    }
    claimants = Counter(student for students in likes.values() for student in students)
    for name, students in likes.items():
        if len(students) == 1 and not (alone and claimants[students[0]] > 1):
            owner[name] = students[0]
        elif students:
            candidates[name] = students


def _taken_apart(name: str) -> _Name:
    small = unicodedata.normalize("NFC", name).casefold()
    forms = [small.translate(_SPELLED_OUT), small.translate(_OTHER_LETTERS)]
    spelled = [tuple(sorted(_WORD.findall(_without_accents(form)))) for form in forms]
    numbers = frozenset(word for words in spelled for word in words if _is_number(word))
    names = [
        tuple(word for word in words if word not in _PLATFORMS and not any(map(str.isdigit, word))) for words in spelled
    ]
    return _Name(
        tuple(sorted(_WORD.findall(small))), frozenset(spelled), frozenset(words for words in names if words), numbers
    )


def _without_accents(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def _is_number(word: str) -> bool:
    return len(word) >= SHORTEST_NUMBER and any(map(str.isdigit, word))


def _spelled_alike(mine: _Name, theirs: _Name) -> bool:
    return not mine.spellings.isdisjoint(theirs.spellings)


def _numbered_alike(mine: _Name, theirs: _Name) -> bool:
    """Tell whether two names share their numbers, or their words where only one of them has numbers."""
    same_words = not mine.words.isdisjoint(theirs.words)
    if mine.numbers and theirs.numbers:
        # A number with another name beside it is another student's.
        return not mine.numbers.isdisjoint(theirs.numbers) and (same_words or not mine.words or not theirs.words)
    return same_words


def _named_alike(mine: _Name, theirs: _Name) -> bool:
    """Tell whether two names share first and last name, though not the number: platforms have numbers of their own."""
    return any(len(words) > 1 for words in mine.words & theirs.words)


def _stray(name: str, claims: Sequence[Claimed], students: Sequence[str]) -> str:
    place = f"{claims[0].place}: " if claims else ""
    if not students:
        return f"{place}student '{shown(name)}' handed nothing in, or under another name"
    names = " or ".join(f"'{shown(student)}'" for student in students[:3])
    if len(students) == 1:
        return f"{place}student '{shown(name)}' may be {names}, but so may another name in the table"
    more = f" or {len(students) - 3} more" if len(students) > 3 else ""
    return f"{place}student '{shown(name)}' may be {names}{more}"
