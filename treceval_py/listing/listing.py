"""List and find measures and profiles from Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from treceval_py.data.ids import shown
from treceval_py.errors import MeasureError, listed
from treceval_py.listing.of_measures import explained, families_of
from treceval_py.measuring import FAMILIES, by_section
from treceval_py.measuring.spelling import spellings_of
from treceval_py.rendering import text_of
from treceval_py.scoring.profiles import PROFILES, Profile, profile_named

Found = TypeVar("Found", "ListedMeasure", Profile)


class ListedMeasure(NamedTuple):
    """A measure that can be asked for; ``print`` explains it.

    Attributes
    ----------
    name : str
        Its name in the notation of ir_measures, or else as in `trec_eval`; ``@k`` stands for a cutoff: ``nDCG@k``.
    trec_eval : str
        trec_eval's name, or one in its style.
    title : str
        What it is, in one line.
    section : str
        Where lists have it.
    parameters : dict of str to str
        What can be given in parentheses, with the values allowed: ``AP(rel=2)``.
    """

    name: str
    trec_eval: str
    title: str
    section: str
    parameters: dict[str, str]

    def __str__(self) -> str:
        return explained(self.trec_eval)


class _Listing(tuple[Found, ...], Generic[Found]):
    """What was found: a tuple that prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {listed([each.name for each in self], 8)}>"

    def __str__(self) -> str:
        return text_of(self, "table")

    def _repr_html_(self) -> str:
        return text_of(self, "html")


class Measures(_Listing[ListedMeasure]):
    """Measures that were found: a tuple that prints as a table."""


class Profiles(_Listing[Profile]):
    """Profiles that were found: a tuple that prints as a table."""


def measures(text: str = "") -> Measures:
    """List all measures, or find some by a name, another program's spelling, or words of their titles.

    Parameters
    ----------
    text : str
        What to find. Default: all.

    Returns
    -------
    Measures
        The measures, those of that name first; each prints its explanation.

    Raises
    ------
    MeasureError
        There is no such measure; the message has the nearest.

    Examples
    --------
    >>> measures("reciprocal rank")
    <Measures: RR, RR@k, ERR, NERR8@k, NERR9@k, NERR10, NERR11, ERR_IA@k>
    >>> measures("NDCG10")[0].name
    'nDCG@k'
    """
    sections = {family.name: title for title, families in by_section().items() for family in families}
    names = {each: [FAMILIES[each].name, *FAMILIES[each].notation, *spellings_of(FAMILIES[each])] for each in sections}
    titles = {name: FAMILIES[name].title for name in sections}
    chosen = _ordered(text, names, titles) or _ordered(
        text, {name: [title] for name, title in sections.items()}, titles
    )
    families = [FAMILIES[each] for each in chosen] or families_of(text)
    return Measures(
        ListedMeasure(
            f"{family.notation[0]}{'@k' if family.at else ''}" if family.notation else family.name,
            family.name,
            family.title,
            sections[family.name],
            {each.key: each.range for each in family.parameters if each.key != "@"},
        )
        for family in families
    )


def profiles(text: str = "") -> Profiles:
    """List all profiles, or find some by a name or words of their titles.

    Parameters
    ----------
    text : str
        What to find. Default: all.

    Returns
    -------
    Profiles
        The profiles, that of this name first.

    Raises
    ------
    MeasureError
        There is no such profile; the message has the nearest.

    Examples
    --------
    >>> profiles("ranx")
    <Profiles: ranx>
    """
    titles = {name: profile.title for name, profile in PROFILES.items()}
    chosen = _ordered(text, {name: [name] for name in PROFILES}, titles)
    return Profiles([PROFILES[name] for name in chosen] or [profile_named(text)])


def _ordered(text: str, names: Mapping[str, Sequence[str]], titles: Mapping[str, str]) -> list[str]:
    """Return the keys that have a text among their names or its words, or their beginnings, in names or titles."""
    if not isinstance(text, str):
        raise MeasureError(f"what to find must be text, not {shown(text)}", "Give a name, such as nDCG, or words.")
    words = _words([text])

    def rank(key: str) -> int:
        if text.casefold() in map(str.casefold, names[key]):
            return 0
        had = _words(names[key]), _words([*names[key], titles[key]])
        met = (all(any(_begins(one, word) for one in texts) for word in words) for texts in had)
        return next((place for place, whole in enumerate(met, 1) if whole), 3)

    ranks = {key: rank(key) for key in names}
    return sorted((key for key in names if ranks[key] < 3), key=ranks.__getitem__)


def _begins(word: str, asked: str) -> bool:
    """Return whether a word is what was asked for, or begins with it; one or two letters begin too many."""
    return word == asked or (len(asked) > 2 and word.startswith(asked))


def _words(texts: Iterable[str]) -> list[str]:
    return re.findall(r"[^\W_]+", " ".join(texts).casefold())
