"""Parse measure names of other programs: ``ndcg_at_10``, ``cosine_map@100``, ``NDCG:top=10;type=Exp``, ``map@100-l2``.

The names are declared with the measures (``written=`` of `registry.declare`), some with the mark of a program
(`MARKS`). This module has the grammar around them; it reduces a text to a name, arguments, cutoffs and a level. A name
with an undeclared mark means the same as without the mark. Case, ``_`` and ``-`` do not matter, unless two measures
differ by case, or the text is just one of trec_eval's names.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from treceval_py.data.numbers import integer
from treceval_py.errors import MeasureError, UnknownMeasureError
from treceval_py.measuring.parameters import MOST_MAX_REL, arguments_of, translated
from treceval_py.measuring.registry import FAMILIES, NICKNAMES, NOT_COMPUTED, Family, folded

MARKS: Mapping[str, str] = {
    "cosine_X": "sentence-transformers' ``[NAME_]cosine_X@10``, with any of its similarity functions",
    "retrieval_X": "torchmetrics' class ``RetrievalX`` and its function ``retrieval_x``",
    "metric/X": "TF-Ranking's ``metric/X_10``",
    "X:": "CatBoost's ``X:top=10;type=Exp``",
    "X-": "XGBoost's ``X@10-``",
    "X.": "ranx' ``X.95``, whose digits are not a cutoff; ``{}`` in the parameters is 0.95",
    "X@": "the same, written ``X@95``, in lower case",
    "X(key)": "``X(key=10)``: this argument must be given, as in ignite's ``NDCG(top_k=10)``",
    "X(key=value)": "``X(key=value)``: this argument must have this value",
}
"""How a declared spelling of the name X is marked as belonging to a program, and the notation that the mark covers."""


class Meaning(NamedTuple):
    """The meaning of a name.

    Attributes
    ----------
    family : Family
        The family of measures.
    arguments : dict of str to str
        The text of each parameter, by its key in notation.
    cutoffs : tuple of str
        The text of each cutoff; empty if the family takes none.
    name : str
        The name, without cutoffs and arguments.
    """

    family: Family
    arguments: dict[str, str]
    cutoffs: tuple[str, ...]
    name: str


class _Written(NamedTuple):
    """A text split into parts; `keys` are its keys for look-up, each with the argument that belongs to the key."""

    name: str
    keys: tuple[tuple[str, str], ...]
    arguments: dict[str, str]
    cutoffs: tuple[str, ...]
    digits: str
    level: str


_Entries = dict[str, list[tuple[Family, str]]]
"""For each spelling of a name, the families it stands for and the parameters it implies."""


# --- taking a text apart ---

_OF_CATBOOST = re.compile(r"\s*(?P<name>[^\s:;()@=]+)\s*:(?P<inside>[^:()@]*)")
_OF_OTHERS = re.compile(
    r"\s*(?P<name>[^\s()@]+?)\s*(?:\((?P<inside>.*)\))?\s*(?:@\s*(?P<at>\[[^\]]*\]|\S+?))?"
    r"(?:-l(?P<level>\d{1,9})|(?P<dash>-))?\s*"
)
_CUT_NAME = re.compile(r"(?P<name>.+?)(?:_cut[_.]|(?:_at)?_)(?P<at>\d+(?:\.\d+)?)")
_DOTTED_NAME = re.compile(r"(?P<name>[^.]+)\.(?P<digits>\d+)")
_OF_FUNCTIONS = ("accuracy", "precision", "recall", "ndcg", "mrr", "map")
_OF_SIMILARITY = re.compile(
    rf"(?:.*[_-])?(?:cosine|dot|euclidean|manhattan|cos_sim|dot_score)[_-]({'|'.join(_OF_FUNCTIONS)})"
)
_SCOPE, _CLASS = "metric/", "retrieval"


def _taken_apart(text: str) -> _Written | None:
    """Split a text into parts; None if it is not written like a measure.

    Raises
    ------
    MeasureError
        It is written like a measure, but its arguments are malformed.
    """
    of_catboost = _OF_CATBOOST.fullmatch(text)
    match = of_catboost or _OF_OTHERS.fullmatch(text)
    if match is None or match["name"].endswith("."):  # rbp.95 has digits there
        return None
    parts = match.groupdict()
    name, at, level = parts["name"], parts.get("at"), parts.get("level") or ""
    given = arguments_of(parts["inside"].strip(" ;").replace(";", ",") if of_catboost else parts["inside"])
    mark = ":" if of_catboost else parts["dash"] or ""
    digits = at or ""
    if digits:
        mark = mark or "@"
    elif cut := _CUT_NAME.fullmatch(name):
        name, at = cut["name"], cut["at"]
    elif dotted := _DOTTED_NAME.fullmatch(name):
        name, digits, mark = dotted["name"], dotted["digits"], "."
    level = given.pop("relevance_threshold", level)
    keys = tuple(_keys(name, mark, given))
    ours = translated(given)
    if at is not None and "@" in ours:
        raise MeasureError("the cutoff is given twice")
    at = ours.pop("@", at)
    if at is None:
        return _Written(name, keys, ours, (), digits, level)
    pieces = at[1:-1].split(",") if at.startswith("[") and at.endswith("]") else [at]
    return _Written(name, keys, ours, tuple(piece.strip() for piece in pieces), digits, level)


def _readable(text: str) -> _Written | None:
    """Return a text taken apart, or None if it is malformed."""
    with contextlib.suppress(MeasureError):
        return _taken_apart(text)
    return None


def _keys(name: str, mark: str, arguments: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the keys for looking up a name, with the mark of its program first."""
    plain = folded(name.removeprefix(_SCOPE))
    bases = [plain]
    if similarity := _OF_SIMILARITY.fullmatch(name.lower()):
        bases = ["cosine" + similarity[1], similarity[1]]
    elif name.startswith(_SCOPE):
        bases = [_SCOPE + plain, plain]
    elif plain.startswith(_CLASS):
        bases = [plain, plain.removeprefix(_CLASS)]
    if mark == ".":  # without a mark, a dot belongs to trec_eval's notation
        bases = [plain + mark]
    elif mark:
        bases.insert(0, plain + mark)
    for base in bases:
        for key, value in arguments.items():
            yield folded(f"{base}({key}={value})"), key
            yield folded(f"{base}({key})"), ""
        yield base, ""


# --- what a name means ---


@lru_cache(maxsize=1)
def _index(families: tuple[Family, ...]) -> dict[str, _Entries]:
    """Return the names of all families, folded."""
    index: dict[str, _Entries] = {}
    for family in families:
        plain = ((name, "") for name in dict.fromkeys((family.name, *family.notation)))
        for name, parameters in (*plain, *family.written):
            index.setdefault(folded(name), {}).setdefault(name, []).append((family, parameters))
    return index


def spellings_of(family: Family) -> dict[str, str]:
    """Return the spellings of a family in other programs, with or without a cutoff, and the parameters they imply."""
    head = family.notation[:1]
    alike = [each for each in FAMILIES.values() if head and each.notation[:1] == head] or [family]
    return {spelling: parameters for each in alike for spelling, parameters in each.written}


def meaning_of(text: str) -> Meaning | None:
    """Return the meaning of a text; None if it does not name a measure.

    Raises
    ------
    UnknownMeasureError
        It names a measure that cannot be computed here.
    MeasureError
        Its arguments are malformed, a cutoff is missing or not allowed, or measures differ by case.
    """
    written = _taken_apart(text)
    if written is None:
        return None
    index, known = _index(tuple(FAMILIES.values())), False
    # trec_eval refuses Map: its own names alone are read only as it writes them.
    if text.strip().lower() in FAMILIES and written.name not in index.get(folded(written.name), ()):
        return None
    for key, argument in written.keys:
        if key not in index:
            continue
        known = True
        if key.endswith("@") and not _in_small_letters(written.name, index[key[:-1]]):
            continue
        # Without an argument or an apparent cutoff that belongs to the key.
        others = {name: value for name, value in written.arguments.items() if name != argument}
        asked = written._replace(arguments=others, cutoffs=() if key.endswith("@") else written.cutoffs)
        if (chosen := _chosen(asked, index[key])) is not None:
            return _completed(asked, *chosen)
    _check_computed(text, written)
    if known and written.cutoffs:
        raise MeasureError(f"{written.name} takes no cutoff", f"See 'treceval measures {written.name}'.")
    if known:
        level = any(family.at and family.at.name == "recall" for family, _ in index[key].get(written.name, ()))
        todo = f"Write {written.name}@{0.1 if level else 10}, for example."
        raise MeasureError(f"{written.name} needs a cutoff", todo)
    return None


def _in_small_letters(name: str, others: _Entries) -> bool:
    """Return whether a name is written as in ranx, in lower case, rather than as another measure.

    Raises
    ------
    MeasureError
        It is written like neither.
    """
    if name.islower() or name in others:
        return name.islower()
    raise MeasureError(f"{' and '.join(others)} are different measures", "Write one of them, in these letters.")


def _check_computed(text: str, written: _Written) -> None:
    """Refuse a measure that cannot be computed here."""
    for spelling, why in NOT_COMPUTED.items():
        name = folded(spelling)
        if any(key.startswith(name[:-1]) if name.endswith("*") else key == name for key, _ in written.keys):
            raise UnknownMeasureError(f"measure '{text}' cannot be computed here: {why}")


def meaning_here(text: str, names_here: Mapping[str, str]) -> Meaning | None:
    """Return the meaning of a text in a profile.

    None if the profile does not decide: it has no meaning for the name, or the meaning does not fit the presence or
    absence of a cutoff in the text.

    Parameters
    ----------
    text : str
        A name as a program writes it.
    names_here : mapping of str to str
        Notation by bare name, as in `Profile.names`.
    """
    if (written := _readable(text)) is None:
        return None
    decided = {folded(name): notation for name, notation in names_here.items()}
    meant = next((decided[key] for key, _ in written.keys if key in decided), None)
    notation = None if meant is None else _OF_OTHERS.fullmatch(meant)
    if notation is None or (notation["at"] and written.cutoffs):
        return None
    cutoffs = (notation["at"],) if notation["at"] else written.cutoffs
    fitting = [family for family in FAMILIES.values() if notation["name"] in (family.name, *family.notation)]
    chosen = _fitting([(family, "") for family in fitting], cut=bool(cutoffs), given=written.arguments)
    if chosen is None:
        return None
    return _completed(written._replace(cutoffs=cutoffs), chosen[0], notation["inside"] or "")


def _chosen(written: _Written, entries: _Entries) -> tuple[Family, str] | None:
    """Return the family of a name and the parameters it implies; None if none fits the cutoff.

    Raises
    ------
    MeasureError
        Several measures differ only by case, and the name matches none of them.
    """
    fitting = {
        name: entry
        for name, of_name in entries.items()
        if (entry := _fitting(of_name, cut=bool(written.cutoffs), given=written.arguments)) is not None
    }
    ours = any(written.name in family.notation for family, _ in entries.get(written.name, ()))
    if ours or written.name in fitting:
        return fitting.get(written.name)
    if len(set(fitting.values())) > 1:
        raise MeasureError(f"{' and '.join(fitting)} are different measures", "Write one of them, in these letters.")
    return next(iter(fitting.values()), None)


def _fitting(
    entries: Sequence[tuple[Family, str]], *, cut: bool, given: Mapping[str, str]
) -> tuple[Family, str] | None:
    """Return the first family, or family with the same notation, that accepts a cutoff or its absence."""
    alike = [entry for entry in entries if (entry[0].at is not None) == (cut or "@=" in entry[1])] or [
        (family, parameters)
        for declared, parameters in entries
        for family in FAMILIES.values()
        if (family.at is not None) == (cut or "@=" in parameters)
        and declared.notation
        and family.notation[:1] == declared.notation[:1]
    ]
    takes = [entry for entry in alike if given.keys() <= {each.key for each in entry[0].parameters}]
    return next(iter(takes or alike), None)


def _completed(written: _Written, family: Family, parameters: str) -> Meaning:
    """Return the meaning completed with the parts around the name."""
    arguments = {**arguments_of(parameters.replace("{}", f"0.{written.digits}")), **written.arguments}
    usual = arguments.pop("@", None)
    if written.level:
        arguments = {**_from_level(written, family, arguments), **arguments}
    cutoffs = written.cutoffs or (() if usual is None else (usual,))
    return Meaning(family, arguments, cutoffs, written.name)


def _from_level(written: _Written, family: Family, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the meaning of ranx' ``-l2``: the level; or gains of 0 for lower labels and unchanged gains for others.

    Raises
    ------
    MeasureError
        The measure has neither a level nor gains.
    """
    level = integer(written.level)
    if level > MOST_MAX_REL:
        raise MeasureError(f"level {level} is above {MOST_MAX_REL}, the highest judgment")
    if family.takes("level"):
        return {"rel": written.level}
    if level <= 1:  # labels below 1 have no gain anyway
        return {}
    if family.takes("min_rel"):
        return {"min_rel": str(level - 1)}
    if not family.takes("gains") or arguments.get("gain", "linear") != "linear":
        raise MeasureError(f"{written.name} has no level", _in_place_of(level, written, family, arguments))
    return {"gains": "{" + ",".join(f"{label}:0" for label in range(1, level)) + "}"}


def _in_place_of(level: int, written: _Written, family: Family, arguments: Mapping[str, str]) -> str:
    """Return how to write a measure without a level: with the gains that it then has, if these are few."""
    if not family.takes("gains") or level > MOST_LEVEL or arguments["gain"] not in ("exp", "binary"):
        return f"'treceval measures {family.name}' lists its parameters."
    worth = [2**label - 1 if arguments["gain"] == "exp" else 1 for label in range(level + 2)]
    gains = ",".join(f"{label}:{worth[label] if label >= level else 0}" for label in range(1, level + 2))
    others = [f"{key}={value}" for key, value in arguments.items() if key != "gain"]
    cut = f"@{written.cutoffs[0]}" if written.cutoffs else ""
    return f"Give the gain of each label: {family.notation[0]}({', '.join([f'gains={{{gains}}}', *others])}){cut}."


# --- the probable meaning of an unknown text ---

MOST_LEVEL = 8
"""The highest level for which a message lists gains."""

SHORT = 8
"""A name shorter than this may differ from a known one in one letter, a longer one in two."""


def suggestion(text: str, parse: Callable[[str], object]) -> str:
    """Return the probable spelling of an unknown name; empty unless all candidates are the same measure.

    All names within the same distance must mean the same with the text's cutoff and arguments. So whichever name was
    mistyped, the suggestion is its measure, or there is none.

    Parameters
    ----------
    text : str
        A text that names no measure.
    parse : callable
        Maps text to its meaning; None if it has none.
    """
    if (written := _readable(text)) is None:
        return ""
    name_there = written.name.removeprefix(_SCOPE)
    plain = folded(name_there)
    names = _vocabulary(tuple(FAMILIES.values()))
    reach = 1 if len(plain) < SHORT else 2
    if (name := text.strip()).lower() in FAMILIES and name in (name.upper(), name.capitalize()):
        reach = 0  # Map means map, although gap is near; but nRBP may also be a mistyped nNRBP
    near = [key for key in (*names, *map(folded, NOT_COMPUTED)) if _distance(plain, key, reach) <= reach]
    # Digits may be an unmarked cutoff, and a measure that cannot be computed may have been meant.
    if any(key not in names or re.sub(r"\D", "", key) != re.sub(r"\D", "", plain) for key in near):
        return ""
    candidates: dict[str, object] = {}
    for name in itertools.chain.from_iterable(names[key] for key in near):
        meant = text.replace(name_there, name, 1)
        if (meaning := parse(meant)) is not None:
            candidates[meant] = meaning
    meanings = list(candidates.values())
    if not meanings or any(each != meanings[0] for each in meanings):
        return ""
    return min(candidates, key=lambda meant: (_distance(text, meant, len(text)), meant))


@lru_cache(maxsize=1)
def _vocabulary(families: tuple[Family, ...]) -> dict[str, tuple[str, ...]]:
    """Return all names that may precede a cutoff, by their keys for look-up."""
    plain = {key: tuple(entries) for key, entries in _index(families).items() if key.isidentifier() or key[0].isdigit()}
    marked = {_CLASS + key: tuple(f"{_CLASS}_{name}" for name in names) for key, names in plain.items()}
    marked |= {f"cosine{name}": (f"cosine_{name}",) for name in _OF_FUNCTIONS}
    return {**marked, **plain, **{folded(name): (name,) for name in NICKNAMES}}


def _distance(one: str, other: str, most: int) -> int:
    """Return the number of letters omitted, added, replaced or swapped with the next; at most `most` + 1."""
    # Most names are out of reach at once.
    if abs(len(one) - len(other)) > most or len(set(one) ^ set(other)) > 2 * most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, theirs in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != theirs))
            if row > 1 < column and letter == other[column - 2] and theirs == one[row - 2]:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return min(last[-1], most + 1)
