"""Match different forms of a person's name, number or address."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

from treceval_py.grading.claims.claims import Claimed, shown

_PLATFORMS = frozenset({"assignment", "assignsubmission", "attempt", "file", "late", "onlinetext", "submission"})
"""Words that learning platforms add to the names of folders."""

_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe"})
_OTHER_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i"})
_ACCENTED = re.compile("[a-z\u0370-\u04ff]")
"""Letters that stay the same without accents: Latin, Greek, Cyrillic. In kana or Devanagari, marks are letters."""

_IDEOGRAPH = "\u2e80"
"""First character from which a word of two letters is a whole name."""

SHORTEST_NUMBER, MOST_WORDS = 3, 5

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
        Possible students, if none is certain.
    sure : bool
        Whether an address or a login name decided.
    partly : bool
        Whether only a part of the name fits.
    """

    student: int | None = None
    candidates: tuple[int, ...] = ()
    sure: bool = False
    partly: bool = False


Words = tuple[str, ...]


class _Parts(NamedTuple):
    """An identity, split into comparable parts, all in lower case.

    Attributes
    ----------
    exact : frozenset of str
        The names, exactly as written.
    plain : frozenset of tuple of str
        Their words in alphabetical order.
    spellings : frozenset of tuple of str
        The same words with umlauts written out, and without accents.
    words : frozenset of tuple of str
        The spellings without numbers and without the platforms' words.
    joined : frozenset of str
        These words in any order, without spaces: ``lovelaceada``.
    numbers : frozenset of str
        Numbers, and words with digits such as ``s0123``.
    handles : frozenset of str
        Addresses and login names.
    mailboxes : frozenset of str
        The part of addresses before the ``@``, which often is a login name.
    called : frozenset of str
        The names, since a person looked for may be named by an address or login name.
    """

    exact: frozenset[str]
    plain: frozenset[Words]
    spellings: frozenset[Words]
    words: frozenset[Words]
    joined: frozenset[str]
    numbers: frozenset[str]
    handles: frozenset[str]
    mailboxes: frozenset[str]
    called: frozenset[str]


class _Level(NamedTuple):
    """A way of matching: two identities have a key in common, and are alike.

    Attributes
    ----------
    keys : callable
        Returns the keys of an identity.
    alike : callable
        Tells whether two identities with a common key are alike; None if all are.
    alone : bool
        Whether nobody else may match the same student.
    sure : bool
        See `Fit`.
    """

    keys: Callable[[_Parts], Iterable[Hashable]]
    alike: Callable[[_Parts, _Parts], bool] | None = None
    alone: bool = True
    sure: bool = False


def fits(wanted: Sequence[Identity], students: Sequence[Identity], *, parts: bool = False) -> list[Fit]:
    """Find the student who fits each of some identities.

    The criteria, in order: an address or login name; the exact name; the name without regard to case, spaces and order
    of words; without regard to accents; the part of an address before the ``@``; a number, unless it comes with another
    name; and last the name without numbers, even if its words are joined. An identity that fits several students gets
    none, unless a number decides. A student who was matched by a stronger criterion is not matched by a weaker one.

    Parameters
    ----------
    wanted : sequence of Identity
        The identities to look for.
    students : sequence of Identity
        The students.
    parts : bool, optional
        Whether two words of a longer name suffice if they fit only one student.

    Returns
    -------
    list of Fit
        One for each identity.
    """
    mine, theirs = [_taken_apart(identity) for identity in wanted], [_taken_apart(identity) for identity in students]
    known = frozenset[str]().union(*(person.numbers for person in mine))
    if known.isdisjoint(frozenset[str]().union(*(person.numbers for person in theirs))):
        # The numbers are from two systems, such as a platform and a university, so they are ignored.
        mine, theirs = ([person._replace(numbers=frozenset()) for person in side] for side in (mine, theirs))
    matches: dict[int, Fit] = {}
    for level in (*_LEVELS, *((_BY_PARTS,) if parts else ())):
        taken = {fit.student for fit in matches.values()} if level.alone else set()
        likes = _likes(mine, theirs, level, matches, taken)
        claimants = Counter(student for own in likes.values() for student in own)
        for at, own in likes.items():
            if len(own) == 1 and not (level.alone and claimants[own[0]] > 1):
                matches[at] = Fit(own[0], sure=level.sure, partly=level is _BY_PARTS)
            elif own:
                matches[at] = Fit(candidates=tuple(own))
    # Students who fit may already be matched with somebody else.
    left = [at for at in range(len(mine)) if at not in matches]
    for level in _LEVELS[-4:]:
        for at, own in _likes(mine, theirs, level, matches, set()).items():
            if at in left and own:
                matches[at] = Fit(candidates=tuple(own))
    return [matches.get(at, Fit()) for at in range(len(mine))]


def _likes(
    mine: Sequence[_Parts], theirs: Sequence[_Parts], level: _Level, matches: Mapping[int, Fit], taken: set[int | None]
) -> dict[int, list[int]]:
    """Return the matching students of each identity not found yet; if there are several, only those with its number."""
    index: dict[Hashable, list[int]] = {}
    for student, parts in enumerate(theirs):
        if student not in taken:
            for key in level.keys(parts):
                index.setdefault(key, []).append(student)
    likes = {}
    for at, parts in enumerate(mine):
        if at in matches:
            continue
        near = sorted({student for key in level.keys(parts) for student in index.get(key, ())})
        own = [student for student in near if level.alike is None or level.alike(parts, theirs[student])]
        numbered = [student for student in own if not parts.numbers.isdisjoint(theirs[student].numbers)]
        likes[at] = numbered if len(own) > 1 and len(numbered) == 1 else own
    return likes


def _taken_apart(identity: Identity) -> _Parts:
    small = [unicodedata.normalize("NFKC", name[:LONGEST]).casefold() for name in identity.names]
    forms = {form for name in small for form in (name.translate(_SPELLED_OUT), name.translate(_OTHER_LETTERS))}
    spelled = {tuple(sorted(_words(_without_accents(form)))) for form in forms}
    long = {word for words in spelled for word in words if len(word) >= SHORTEST_NUMBER}
    numbers = {word for word in long if any(map(str.isdigit, word))}
    numbers |= {number.strip().casefold() for number in identity.numbers if number.strip()}
    words = {
        tuple(word for word in words if word not in _PLATFORMS and not any(map(str.isdigit, word))) for words in spelled
    } - {()}
    handles = {handle.strip().casefold() for handle in identity.handles if handle.strip()}
    return _Parts(
        frozenset(identity.names),
        frozenset(tuple(sorted(_words(name))) for name in small),
        frozenset(spelled),
        frozenset(words),
        frozenset(joined for name in words for joined in _joined(name)),
        frozenset(number.lstrip("0") or number for number in numbers),
        frozenset(handles),
        frozenset(handle.partition("@")[0] for handle in handles if "@" in handle),
        frozenset(map(str.strip, small)),
    )


def _words(text: str) -> list[str]:
    """Split a text into words; combining marks belong to the letters before them."""
    letters = (letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " " for letter in text)
    return "".join(letters).split()


def _joined(words: Words) -> Iterator[str]:
    if len(words) > MOST_WORDS:
        yield "".join(words)
    else:
        yield from map("".join, permutations(words))


def _without_accents(text: str) -> str:
    letters: list[str] = []
    for letter in unicodedata.normalize("NFKD", text):
        if not (unicodedata.combining(letter) and letters and _ACCENTED.match(letters[-1])):
            letters.append(letter)
    return unicodedata.normalize("NFC", "".join(letters))


def _numbered_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether two identities share a number, or their words if only one of them has numbers."""
    if mine.numbers and theirs.numbers:
        # A number that comes with another name is another student's.
        some = {word for words in mine.words for word in words} & {word for words in theirs.words for word in words}
        named = mine.words and theirs.words and not some and mine.joined.isdisjoint(theirs.joined)
        return not mine.numbers.isdisjoint(theirs.numbers) and not named
    return not mine.words.isdisjoint(theirs.words)


def _named_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether two identities share first and last name; their numbers may differ, as platforms use their own."""
    return not (mine.numbers and theirs.numbers) or any(
        len(words) > 1 or (len(words[0]) > 1 and words[0] >= _IDEOGRAPH) for words in mine.words | theirs.words
    )


def _mailed_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether the name of one identity is the part before the ``@`` in the address of the other."""
    return not mine.called.isdisjoint(theirs.mailboxes) or not theirs.called.isdisjoint(mine.mailboxes)


def _partly_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether one name contains all words of the other."""
    return any(set(one) <= set(other) or set(other) <= set(one) for one in mine.words for other in theirs.words)


def _handled_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether two identities share an address or login, or one of them is named by that of the other."""
    by_handle = bool(mine.handles or theirs.handles)
    return by_handle and not (mine.handles or mine.called).isdisjoint(theirs.handles or theirs.called)


_LEVELS = (
    _Level(lambda parts: parts.handles | parts.called, _handled_alike, alone=False, sure=True),
    _Level(lambda parts: parts.exact, alone=False),
    _Level(lambda parts: parts.plain, alone=False),
    _Level(lambda parts: parts.spellings),
    _Level(lambda parts: parts.mailboxes | parts.called, _mailed_alike),
    _Level(lambda parts: [*parts.words, *parts.numbers], _numbered_alike),
    _Level(lambda parts: parts.joined, _named_alike),
)
"""The criteria, strongest first; the last four also give candidates if nobody was found."""

_BY_PARTS = _Level(lambda parts: [pair for words in parts.words for pair in combinations(words, 2)], _partly_alike)


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
    matches = fits([Identity((name,)) for name in claims], students)
    matched: dict[int, list[Claimed]] = {}
    strays = []
    for (name, mine), fit in zip(claims.items(), matches, strict=True):
        if fit.student is not None:
            matched.setdefault(fit.student, []).extend(mine)
        else:
            place = f"{mine[0].place}: " if mine else ""
            names = [students[at].names[0] for at in fit.candidates]
            who = may_be(names, "another name in the table") or "handed nothing in, or under another name"
            strays.append(f"{place}student '{shown(name)}' {who}")
    return matched, strays


def may_be(names: Sequence[str], other: str) -> str:
    """Say who somebody may be; empty without candidates.

    Parameters
    ----------
    names : sequence of str
        The candidates.
    other : str
        Words for another possible match of the only candidate.
    """
    if not names:
        return ""
    said = "may be " + " or ".join(f"'{shown(name)}'" for name in names[:3])
    if len(names) == 1:
        return f"{said}, but so may {other}"
    return said + (f" or {len(names) - 3} more" if len(names) > 3 else "")
