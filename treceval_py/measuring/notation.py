"""Parse measures from trec_eval's ``ndcg_cut.5,10``, its printed ``ndcg_cut_10``, and notation such as ``nDCG(…)@10``.

`spelling` reads the spellings of other programs.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from treceval_py.data.ids import shown
from treceval_py.errors import MeasureError, UnknownMeasureError
from treceval_py.measuring.parameters import arguments_of
from treceval_py.measuring.registry import FAMILIES, NICKNAMES, PARSED, Family, Measure, folded

_Parsed = tuple[list[Measure], bool, bool]
"""Measures, whether the name stands for whole families, and whether it replaces these."""


MOST_KNOWN = 1000
"""Number of names that are kept with what they mean: a loop has the same few, thousands of times."""

_NOT_DECIDED: Mapping[str, str] = MappingProxyType({})


def parse_measures(
    names: str | Measure | Iterable[str | Measure],
    *,
    leaves_out: frozenset[str] = frozenset(),
    names_here: Mapping[str, str] = _NOT_DECIDED,
) -> list[Measure]:
    """Return the measures that names mean, each once, in the order of the names.

    Parameters
    ----------
    names : str, Measure, or iterable of them
        A name in any notation: a nickname (``official``), a family (``P``: all its cutoffs), trec_eval's parameters
        (``P.5,10``, ``ndcg.1=3,2=9``), a printed name (``P_5``), ir_measures' notation (``nDCG@10``,
        ``AP(rel=2)@100``) and its measure objects, several cutoffs (``P@[5,10]``), or another program's name
        (``ndcg@10``, ``hit_rate_at_10``, ``NDCG:top=10``), in any case; or several names (``"map, nDCG@10"``). As in
        trec_eval, ``official`` with ``P.3`` has ``P_3`` instead of the nine default cutoffs of ``P``; with ``P_3`` or
        ``P@3`` it has all ten.
    leaves_out : set of str
        Families that nicknames omit.
    names_here : mapping of str to str
        The meaning of names in a profile (`Profile.names`). Other ambiguous names get a `Measure.note`.

    Returns
    -------
    list of Measure
        The measures, without the parameters that a profile gives them.

    Raises
    ------
    UnknownMeasureError
        A name is unknown, or its measure cannot be computed here.
    MeasureError
        A parameter is malformed or out of range.

    Examples
    --------
    >>> [str(measure) for measure in parse_measures(["map", "P.5,10", "nDCG@10"])]
    ['map', 'P_5', 'P_10', 'nDCG@10']
    >>> [measure.notation for measure in parse_measures(["ndcg_at_10", "hit_rate@5", "map@100-l2"])]
    ['nDCG@10', 'Success@5', 'AP(rel=2)@100']
    """
    given: list[Any]
    try:
        given = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    except TypeError:  # an array without dimensions
        given = [names]
    parsed: list[_Parsed] = []
    for name in given:
        key = (name, leaves_out, *names_here.items()) if isinstance(name, str) else None
        known = PARSED.get(key)
        if isinstance(name, Measure):
            known = [([name], False, False)]
        elif known is None or [
            one for each in known for one in each[0] if FAMILIES.get(one.family.name) is not one.family
        ]:
            known = _parse(name, leaves_out, names_here)
            if key is not None and len(PARSED) < MOST_KNOWN:
                PARSED[key] = known
        parsed += known
    replaced = {measure.family for measures, _, replaces in parsed if replaces for measure in measures}
    wanted: dict[Measure, None] = {}
    for measures, whole, _ in parsed:
        for measure in measures:
            if not (whole and measure.family in replaced):
                wanted.setdefault(measure)
    return list(wanted)


def several(given: Any, kinds: tuple[type, ...], wanted: str, todo: str) -> list[Any]:
    """Return one or several values of the given types as a list.

    Raises
    ------
    MeasureError
        A value has another type; ``wanted`` and ``todo`` are the message.
    """
    try:
        values = [given] if isinstance(given, kinds) else list(given)
    except TypeError:
        values = [given]
    for value in values:
        if not isinstance(value, kinds):
            raise MeasureError(f"{wanted}, not {shown(value)}", todo)
    return values


def in_print_order(chosen: Iterable[Measure]) -> list[Measure]:
    """Sort measures as trec_eval prints them: in the registry's order, then by cutoff.

    Parameters
    ----------
    chosen : iterable of Measure
        The measures.

    Returns
    -------
    list of Measure
        The same measures.
    """
    places = {name: place for place, name in enumerate(FAMILIES)}

    def key(measure: Measure) -> tuple[int, float]:
        at = measure.family.at
        return places[measure.family.name], float(dict(measure.parameters)[at.name]) if at is not None else 0.0

    return sorted(chosen, key=key)


def _parse(name: object, leaves_out: frozenset[str], names_here: Mapping[str, str]) -> list[_Parsed]:
    """Return what a name, or each name of a list in one text, stands for."""
    # ir_measures' measures are recognised by this method; their text is their name.
    text = str(name) if hasattr(name, "iter_calc") else name
    if not isinstance(text, str):
        raise MeasureError(f"a measure is named by text, not by {shown(text)}", "Use a name such as 'map'.")
    if text in NICKNAMES:
        names = [name for name in NICKNAMES[text] if name not in leaves_out]
        return [([measure for name in names for measure in FAMILIES[name].measures()], True, False)]
    read, wrong = None, None
    try:
        read = _read(text, names_here)
    except UnknownMeasureError:
        raise
    except MeasureError as error:
        problem = f"measure {shown(text)}: {error.what}"
        wrong = MeasureError(problem, error.todo or _todo(text))
    if read is not None:
        return [read]
    for separator in (_COMMA, _BETWEEN):  # a name may have blanks, as Mean Average Precision has
        names = [name for name in re.split(separator, text) if name]
        measures = [name for name in names if name != text and _is_name(name, leaves_out, names_here)]
        if measures and (measures == names or (wrong is None and separator is _BETWEEN)):
            return [one for name in names for one in _parse(name, leaves_out, names_here)]
    if wrong is not None:
        raise wrong
    meant = meant_by(text)
    todo = (f"Did you mean {meant}? " if meant else "") + "'treceval measures' lists them all."
    raise UnknownMeasureError(f"unknown measure {shown(text)}", todo)


def _is_name(text: str, leaves_out: frozenset[str], names_here: Mapping[str, str]) -> bool:
    """Tell whether a text names a measure."""
    with contextlib.suppress(MeasureError):
        return bool(_parse(text, leaves_out, names_here))
    return False


def is_measure(name: object) -> bool:
    """Tell whether this is a measure or the name of one."""
    try:
        return bool(parse_measures(name))  # type: ignore[arg-type]
    except MeasureError:
        return False


def _todo(text: str) -> str:
    """Return what to do about a malformed parameter or cutoff."""
    if meant := _cutoff_meant(text):
        return f"Write {meant}."
    name, _, cutoff = text.partition("@")
    if not re.fullmatch(r"\w+@\w[\w,]*", text):
        return "See 'treceval measures' for its parameters."
    if cutoff in ("all", "full") and _without_cutoff(name):
        return f"For the whole ranking, write {name}."
    return f"Write {name}@{f'[{cutoff}]' if ',' in cutoff else '10'}, for example."


def _cutoff_meant(text: str) -> str:
    """Return the notation that a text with a number after its name probably means; empty if there is none."""
    # In brackets, a low number may be a level.
    match = re.fullmatch(r"(\w+)(?:\.|[(-](?=[5-9]|\d\d)|@(?:\w+=)?)(\d+)\)?", text)
    meant = match and f"{'F1' if match[1] == 'F' else match[1]}@{match[2]}"
    return meant if meant and meant != text and is_measure(meant) else ""


def with_cutoff(measure: str, cutoff: object) -> str:
    """Return a measure with another cutoff; that of nDCG if it takes none."""
    asked = f"{measure.partition('@')[0]}@{cutoff}"
    return asked if is_measure(asked) else f"nDCG@{cutoff}"


def _without_cutoff(name: str) -> bool:
    """Tell whether a name without a cutoff is one measure, of whole rankings."""
    with contextlib.suppress(MeasureError):
        (one, *more) = parse_measures(name)
        return not more and one.family.at is None
    return False


_COMMA, _BETWEEN = (rf"{separator}(?=[A-Za-z])(?![^(]*\))" for separator in (r"\s*,\s*", r"[\s,]+"))
"""What separates measures in one text: not what separates cutoffs or arguments."""


def _read(text: str, names_here: Mapping[str, str] = _NOT_DECIDED) -> _Parsed | None:
    """Parse a name that is no nickname, as a profile decides it or in any notation; None if it is in none."""
    try:
        here = _parse_spelling(text, names_here) if names_here else None
        return here or _parse_name(text) or _parse_spelling(text) or _parse_loosely(text)
    except UnknownMeasureError:
        raise
    except MeasureError:
        # It may only look like trec_eval's or ir_measures' notation, as recall_at_10 and AP@100-l2 do.
        with contextlib.suppress(MeasureError):
            if read := _parse_spelling(text):
                return read
        raise


def _parse_name(text: str) -> _Parsed | None:
    """Parse a name in trec_eval's or ir_measures' notation; None if it is neither."""
    if text in FAMILIES:
        whole = FAMILIES[text].measures()
        # A family with cutoffs is a list, of which no member was typed.
        named = whole if FAMILIES[text].at else [replace(one, asked=text) for one in whole]
        return _noted(named, text), True, False
    name, dot, rest = text.partition(".")
    if dot and name in FAMILIES:
        return _with_trec_parameters(FAMILIES[name], rest), False, True
    if dot and name in NICKNAMES:
        raise MeasureError("a nickname takes no parameters", f"Add the measure itself: {name} and P.5, for example.")
    if re.fullmatch(_NO_CUTOFF, text):
        raise MeasureError("no cutoff after the @", "Write @10, for example.")
    read = (None if "@" in text or "(" in text else _parse_printed(text)) or _parse_notation(text)
    return None if read is None else (read, False, False)


def _with_trec_parameters(family: Family, text: str) -> list[Measure]:
    if not text:
        raise MeasureError("no parameters after the dot", "Leave out the dot.")
    if family.at is not None:
        values = [family.at.parse(piece) for piece in text.split(",")]
        if len(set(values)) < len(values):
            raise MeasureError("a cutoff is given twice")
        measures = [Measure(family, ((family.at.name, value),)) for value in sorted(values)]
        if len({measure.trec_name for measure in measures}) < len(measures):
            raise MeasureError("two cutoffs have the same printed name", "Ask for one of them in another call.")
        return [replace(measure, asked=measure.trec_name) for measure in measures]
    if family.tail is not None:
        return [Measure(family, tuple(family.tail(text).items()), asked=f"{family.name}_{text}")]
    raise MeasureError(f"{family.name} takes no parameters", f"See 'treceval measures {family.name}'.")


def _parse_printed(text: str) -> list[Measure] | None:
    """Parse a name as trec_eval prints it, such as ``iprec_at_recall_0.10`` or ``ndcg_1=3,2=9``."""
    for cut in (match.start() for match in reversed(list(re.finditer("_", text)))):
        family = FAMILIES.get(text[:cut])
        if text[cut + 1 :] and family is not None and (family.at is not None or family.tail is not None):
            return _with_trec_parameters(family, text[cut + 1 :])
    return None


_NO_CUTOFF = r"[^@]+@\s*"

_NOTATION = r"\s*(?P<name>[^\s()@.]+)\s*(\((?P<inside>.*)\))?\s*(@\s*(?P<at>[^\s\[\]]+))?\s*"


def _parse_notation(text: str) -> list[Measure] | None:
    """Parse ``AP(rel=2)@100`` with the names and parameters used here; None for anything else."""
    match = re.fullmatch(_NOTATION, text)
    if match is None:
        return None
    name, at = match["name"], match["at"]
    named = [family for family in FAMILIES.values() if name in family.notation or name == family.name]
    if not named:
        return None
    given = arguments_of(match["inside"])
    if at is None:  # as in IPrec(recall=0.1)
        at = next((given.pop(family.at.name) for family in named if family.at and family.at.name in given), None)
    fitting = [family for family in named if (family.at is not None) == (at is not None)]
    for family in fitting:
        if given.keys() <= family.keys.keys():
            return _noted([_measure(family, given, at, text)], name)
    return None


def _measure(family: Family, given: Mapping[str, str], at: str | None, text: str) -> Measure:
    values: dict[str, Any] = {}
    for key, value in given.items():
        parameter = family.parameter(key)
        values[parameter.name] = parameter.parse(value)
    if family.at is not None and at is not None:
        values[family.at.name] = family.at.parse(at)
    asked = re.sub(r"\s+", "", text).replace("()", "")
    return Measure(family, tuple(values.items()), asked=asked)


_CUTOFFS = r"\[[^\]]*\]"


def _parse_spelling(text: str, names_here: Mapping[str, str] = _NOT_DECIDED) -> _Parsed | None:
    """Parse another program's spelling; with `names_here`, only if the profile decides its meaning."""
    from treceval_py.measuring.spelling import meaning_here, meaning_of

    meaning = meaning_here(text, names_here) if names_here else meaning_of(text)
    if meaning is None:
        return None
    measures = [
        _measure(meaning.family, meaning.arguments, at, text if at is None else re.sub(_CUTOFFS, at, text))
        for at in meaning.cutoffs or (None,)
    ]
    return (measures if names_here else _noted(measures, meaning.name)), False, False


def _parse_loosely(text: str) -> _Parsed | None:
    """Parse a name in words, ``Mean Average Precision``, or one that its cutoff follows at once, ``P5``."""
    with contextlib.suppress(MeasureError):
        if " " in text.strip() and (read := _parse_spelling(re.sub(r"\s+", "_", text.strip()))):
            # A name with _ is a program's own spelling; in words it is nobody's.
            own = any("_" in spelling for spelling, _ in read[0][0].family.elsewhere)
            notes = ["" if own else one.note.replace(one.name, text.strip()) for one in read[0]]
            measures = [replace(one, asked=one.notation, note=note) for one, note in zip(read[0], notes, strict=True)]
            return measures, False, False
        known = {folded(name) for family in FAMILIES.values() for name in (family.name, *family.notation)}
        if folded(text) not in known and (glued := re.fullmatch(r"([A-Za-z_-]*[A-Za-z])([0-9]{1,9})", text)):
            read = _parse_spelling(f"{glued[1]}@{glued[2]}")
            return read if read and all("cutoff" in dict(one.parameters) for one in read[0]) else None
    return None


def _noted(measures: Sequence[Measure], name: str) -> list[Measure]:
    """Return measures with a note on the other meaning of their name."""
    for family, spelling, words in ((one.family, *pair) for one in measures[:1] for pair in one.family.elsewhere):
        if name == spelling or (folded(name) == folded(spelling) and name not in family.notation):
            note = f" is {words}. Other profiles may define it differently."
            return [replace(each, note=each.name + note) for each in measures]
    return list(measures)


def meant_by(text: str) -> str:
    """Return the probable spelling of an unknown name; empty unless it can mean only one measure."""
    from treceval_py.measuring.spelling import suggestion

    def read(meant: str) -> object:
        if meant in NICKNAMES:
            return NICKNAMES[meant]
        try:
            parsed = _read(meant)
        except MeasureError:
            return None
        return parsed and parsed[0]

    cutoff, near = _cutoff_meant(text), suggestion(text, read)
    # A letter too many before a parameter looks like another measure with a cutoff: grbp.5, which may be rbp.5.
    return (cutoff or near) if not (cutoff and near) or read(cutoff) == read(near) else ""
