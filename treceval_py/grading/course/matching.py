"""Which of several writings of a person's name, number or address belong together."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

from treceval_py.grading.claims.claims import Claimed, shown

__all__ = ["Fit", "Identity", "fits", "match_students", "may_be"]

_PLATFORMS = frozenset({"assignment", "assignsubmission", "attempt", "file", "late", "onlinetext", "submission"})
"""Words that learning platforms put into the names of folders."""

_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe"})
_OTHER_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i"})
_ACCENTED = re.compile("[a-z\u0370-\u04ff]")
"""Letters that are the same without their accents: Latin, Greek, Cyrillic. In kana or Devanagari marks are letters."""

_IDEOGRAPH = "\u2e80"
"""From here on, a word of two letters is a whole name."""

SHORTEST_NUMBER, MOST_WORDS = 3, 5

LONGEST = 200
"""So many characters of a name are looked at: those of files in archives can be very long."""


class Identity(NamedTuple):
    """What is known of who somebody is.

    Attributes
    ----------
    names : tuple of str
        Names as they are written, in any order, also with a number in them.
    numbers : tuple of str
        Numbers of any system: of the student, of the platform's account.
    handles : tuple of str
        E-mail addresses and login names.
    """

    names: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    handles: tuple[str, ...] = ()


class Fit(NamedTuple):
    """Who somebody is.

    Attributes
    ----------
    student : int or None
        The number of the student; None where nobody fits, or several do.
    candidates : tuple of int
        Who else it may be, where it is nobody for sure.
    sure : bool
        Whether an address or a login name says so.
    partly : bool
        Whether only a part of the name says so.
    """

    student: int | None = None
    candidates: tuple[int, ...] = ()
    sure: bool = False
    partly: bool = False


Words = tuple[str, ...]


class _Parts(NamedTuple):
    """An identity, taken apart; all in small letters.

    Attributes
    ----------
    exact : frozenset of str
        The names as they are written.
    plain : frozenset of tuple of str
        Their words in alphabetical order.
    spellings : frozenset of tuple of str
        The same with umlauts written out, and without accents.
    words : frozenset of tuple of str
        The spellings without numbers and without the words of platforms.
    joined : frozenset of str
        These words in any order, without spaces: ``lovelaceada``.
    numbers : frozenset of str
        Numbers, and words with digits such as ``s0123``.
    handles : frozenset of str
        Addresses and login names.
    mailboxes : frozenset of str
        What is before the ``@`` of addresses, which often is a name of login.
    called : frozenset of str
        The names, as who is looked for may be called by an address or name of login.
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
    """A way to belong together: two identities have a key in common, and are alike.

    Attributes
    ----------
    keys : callable
        Returns the keys of an identity.
    alike : callable
        Tells whether two identities with a common key are alike; None where all are.
    alone : bool
        Whether nobody else may be like the same student.
    sure : bool
        As of `Fit`.
    """

    keys: Callable[[_Parts], Iterable[Hashable]]
    alike: Callable[[_Parts, _Parts], bool] | None = None
    alone: bool = True
    sure: bool = False


def fits(wanted: Sequence[Identity], students: Sequence[Identity], *, parts: bool = False) -> list[Fit]:
    """Find the student that each of some identities is.

    An address or login name decides first; then the name as it is written; then whatever case, spaces and order of
    words are; whatever accents are; what is before the ``@`` of an address; a number, unless another name is beside
    it; and last the name whatever numbers are, also where words are written together. What fits several students is
    given to none, unless a number tells which; and who has something by a surer way gets nothing by a less sure one.

    Parameters
    ----------
    wanted : sequence of Identity
        Who is looked for.
    students : sequence of Identity
        Among whom.
    parts : bool, optional
        Whether two words of a longer name are enough where they fit one student only.

    Returns
    -------
    list of Fit
        One for each that was looked for.
    """
    mine, theirs = [_taken_apart(each) for each in wanted], [_taken_apart(each) for each in students]
    known = frozenset[str]().union(*(each.numbers for each in mine))
    if known.isdisjoint(frozenset[str]().union(*(each.numbers for each in theirs))):
        # The numbers are of two systems, such as those of a platform and of a university, and say nothing.
        mine, theirs = ([each._replace(numbers=frozenset()) for each in side] for side in (mine, theirs))
    found: dict[int, Fit] = {}
    for level in (*_LEVELS, *((_BY_PARTS,) if parts else ())):
        taken = {each.student for each in found.values()} if level.alone else set()
        likes = _likes(mine, theirs, level, found, taken)
        claimants = Counter(student for own in likes.values() for student in own)
        for at, own in likes.items():
            if len(own) == 1 and not (level.alone and claimants[own[0]] > 1):
                found[at] = Fit(own[0], sure=level.sure, partly=level is _BY_PARTS)
            elif own:
                found[at] = Fit(candidates=tuple(own))
    # Those whom it fits may have been taken by another one.
    left = [at for at in range(len(mine)) if at not in found]
    for level in _LEVELS[-4:]:
        for at, own in _likes(mine, theirs, level, found, set()).items():
            if at in left and own:
                found[at] = Fit(candidates=tuple(own))
    return [found.get(at, Fit()) for at in range(len(mine))]


def _likes(
    mine: Sequence[_Parts], theirs: Sequence[_Parts], level: _Level, found: Mapping[int, Fit], taken: set[int | None]
) -> dict[int, list[int]]:
    """Return for each that was not found yet the students it is like; of several, those with its number."""
    index: dict[Hashable, list[int]] = {}
    for student, parts in enumerate(theirs):
        if student not in taken:
            for key in level.keys(parts):
                index.setdefault(key, []).append(student)
    likes = {}
    for at, parts in enumerate(mine):
        if at in found:
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
        frozenset(joined for each in words for joined in _joined(each)),
        frozenset(number.lstrip("0") or number for number in numbers),
        frozenset(handles),
        frozenset(handle.partition("@")[0] for handle in handles if "@" in handle),
        frozenset(map(str.strip, small)),
    )


def _words(text: str) -> list[str]:
    """Cut a text into words; marks belong to the letters before them."""
    letters = (each if each.isalnum() or unicodedata.category(each)[0] == "M" else " " for each in text)
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
    """Tell whether two identities share their numbers, or their words where only one of them has numbers."""
    if mine.numbers and theirs.numbers:
        # A number with another name beside it is another student's.
        some = {word for words in mine.words for word in words} & {word for words in theirs.words for word in words}
        named = mine.words and theirs.words and not some and mine.joined.isdisjoint(theirs.joined)
        return not mine.numbers.isdisjoint(theirs.numbers) and not named
    return not mine.words.isdisjoint(theirs.words)


def _named_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether two identities share first and last name, though not the number: platforms have their own."""
    return not (mine.numbers and theirs.numbers) or any(
        len(words) > 1 or (len(words[0]) > 1 and words[0] >= _IDEOGRAPH) for words in mine.words | theirs.words
    )


def _mailed_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether one identity is called by what is before the ``@`` of the other one's address."""
    return not mine.called.isdisjoint(theirs.mailboxes) or not theirs.called.isdisjoint(mine.mailboxes)


def _partly_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether the words of one name are all in the other one."""
    return any(set(one) <= set(other) or set(other) <= set(one) for one in mine.words for other in theirs.words)


def _handled_alike(mine: _Parts, theirs: _Parts) -> bool:
    """Tell whether two identities share an address or login, or the one without any is called by that of the other."""
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
"""The ways, surest first; the last four also name who it may be where nobody was found."""

_BY_PARTS = _Level(lambda parts: [pair for words in parts.words for pair in combinations(words, 2)], _partly_alike)


# --- the claims of a class ---


def match_students(
    claims: Mapping[str, Sequence[Claimed]], students: Sequence[Identity]
) -> tuple[dict[int, list[Claimed]], list[str]]:
    """Give the claims of a class to the students who handed something in, as of `fits`.

    Parameters
    ----------
    claims : mapping of str to sequence of Claimed
        The claims of each student, as written in a table.
    students : sequence of Identity
        Who handed something in; the first of the names is shown.

    Returns
    -------
    matched : dict of int to list of Claimed
        The claims by the numbers of ``students``.
    strays : list of str
        For each name that is left over why, with the place of its first claim; sentences without full stop.
    """
    found = fits([Identity((name,)) for name in claims], students)
    matched: dict[int, list[Claimed]] = {}
    strays = []
    for (name, mine), fit in zip(claims.items(), found, strict=True):
        if fit.student is not None:
            matched.setdefault(fit.student, []).extend(mine)
        else:
            place = f"{mine[0].place}: " if mine else ""
            names = [students[at].names[0] for at in fit.candidates]
            who = may_be(names, "another name in the table") or "handed nothing in, or under another name"
            strays.append(f"{place}student '{shown(name)}' {who}")
    return matched, strays


def may_be(names: Sequence[str], other: str) -> str:
    """Say whom somebody may be; empty without candidates.

    Parameters
    ----------
    names : sequence of str
        The candidates.
    other : str
        What else may be the only one.
    """
    if not names:
        return ""
    said = "may be " + " or ".join(f"'{shown(name)}'" for name in names[:3])
    if len(names) == 1:
        return f"{said}, but so may {other}"
    return said + (f" or {len(names) - 3} more" if len(names) > 3 else "")
