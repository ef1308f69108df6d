"""Match people by a number, an address, a login or a whole name; whoever else it may be is a question for a person."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from treceval_py.grading.claims.claims import Claimed, shown

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


def _always(_mine: _Forms, _theirs: _Forms) -> bool:
    return True


def _numbered_alike(mine: _Forms, theirs: _Forms) -> bool:
    """Tell whether two identities share a number, and have no names or some word or all letters in common."""
    some, others = ({word for words in forms.words for word in words} for forms in (mine, theirs))
    named = some and others and some.isdisjoint(others) and mine.letters.isdisjoint(theirs.letters)
    return not mine.numbers.isdisjoint(theirs.numbers) and not named


def _mailed_alike(mine: _Forms, theirs: _Forms) -> bool:
    """Tell whether the name of one identity is the part before the ``@`` in the address of the other."""
    return not mine.called.isdisjoint(theirs.mailboxes) or not theirs.called.isdisjoint(mine.mailboxes)


def _parts_of(forms: _Forms) -> set[str | Words]:
    """Return everything by which an identity may resemble another one."""
    return {*forms.numbers, *forms.letters, *(word for words in forms.words for word in words)}


def _may_be_alike(mine: _Forms, theirs: _Forms) -> bool:
    """Tell whether two identities share a number or all letters, or one name has all words of the other."""
    parts = (set(one) <= set(other) or set(other) <= set(one) for one in mine.words for other in theirs.words)
    return not (mine.numbers.isdisjoint(theirs.numbers) and mine.letters.isdisjoint(theirs.letters)) or any(parts)


_Keys = Callable[[_Forms], Iterable[str | Words]]
_LEVELS: tuple[tuple[_Keys, Callable[[_Forms, _Forms], bool]], ...] = (
    (lambda forms: forms.called | forms.handles, _handled_alike),
    (lambda forms: forms.called, _always),
    (lambda forms: forms.words, _always),
    (lambda forms: forms.numbers, _numbered_alike),
    (lambda forms: forms.called | forms.mailboxes, _mailed_alike),
    (_parts_of, _may_be_alike),
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
