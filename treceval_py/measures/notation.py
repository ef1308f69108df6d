"""From text to measures: trec_eval's ``ndcg_cut.5,10``, its printed ``ndcg_cut_10``, and ``nDCG(…)@10``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from treceval_py.errors import MeasureError, UnknownMeasureError
from treceval_py.measures.registry import FAMILIES, NICKNAMES, Family, Measure

__all__ = ["in_print_order", "parse_measures"]


def parse_measures(
    names: str | Measure | Iterable[str | Measure], *, leaves_out: frozenset[str] = frozenset()
) -> list[Measure]:
    """Return the measures that names mean, each once, in the order in which they are named.

    Parameters
    ----------
    names : str, Measure, or iterable of them
        A name in any notation: a nickname (``official``), a family (``P``: all its cutoffs), trec_eval's parameters
        (``P.5,10``, ``ndcg.1=3,2=9``), a printed name (``P_5``), or ir_measures' notation (``nDCG@10``,
        ``AP(rel=2)@100``). As in trec_eval, ``official`` with ``P.3`` has ``P_3`` in place of the nine cutoffs that
        ``P`` alone means; with ``P_3`` or ``P@3`` it has all ten.
    leaves_out : set of str
        Families that nicknames leave out.

    Raises
    ------
    UnknownMeasureError
        A name is not known; the nearest ones are named.
    MeasureError
        A parameter is malformed or out of range.

    Examples
    --------
    >>> [str(measure) for measure in parse_measures(["map", "P.5,10", "nDCG@10"])]
    ['map', 'P_5', 'P_10', 'nDCG@10']
    """
    if isinstance(names, (str, Measure)):
        names = [names]
    parsed = [(([name], False, False) if isinstance(name, Measure) else _parse(name, leaves_out)) for name in names]
    replaced = {measure.family for found, _, replaces in parsed if replaces for measure in found}
    wanted: dict[Measure, None] = {}
    for found, whole, _ in parsed:
        for measure in found:
            if not (whole and measure.family in replaced):
                wanted.setdefault(measure)
    return list(wanted)


def in_print_order(chosen: Iterable[Measure]) -> list[Measure]:
    """Sort measures as trec_eval prints them: by the registry's order, then by cutoff."""
    places = {name: place for place, name in enumerate(FAMILIES)}

    def key(measure: Measure) -> tuple[int, float]:
        at = measure.family.at
        return places[measure.family.name], float(dict(measure.parameters)[at.name]) if at is not None else 0.0

    return sorted(chosen, key=key)


def _parse(text: str, leaves_out: frozenset[str]) -> tuple[list[Measure], bool, bool]:
    """Return the measures of a name, whether it names families as a whole, and whether it replaces those."""
    if not isinstance(text, str):
        raise MeasureError(f"a measure is named by text, not by {text!r}", "Use a name such as 'map'.")
    if text in NICKNAMES:
        return _members(text, leaves_out), True, False
    try:
        return _parse_name(text)
    except UnknownMeasureError:
        raise
    except MeasureError as error:
        raise MeasureError(
            f"measure '{text}': {error.what}", error.todo or "See 'treceval measures' for its parameters."
        ) from None


def _members(nickname: str, leaves_out: frozenset[str]) -> list[Measure]:
    names = [name for name in NICKNAMES[nickname] if name not in leaves_out]
    return [measure for name in names for measure in FAMILIES[name].measures()]


def _parse_name(text: str) -> tuple[list[Measure], bool, bool]:
    if text in FAMILIES:
        return list(FAMILIES[text].measures()), True, False
    name, dot, rest = text.partition(".")
    if dot and name in FAMILIES:
        return _with_trec_parameters(FAMILIES[name], rest), False, True
    if dot and name in NICKNAMES:
        raise MeasureError("a nickname takes no parameters", f"Add the measure itself: {name} and P.5, for example.")
    printed = None if "@" in text or "(" in text else _parse_printed(text)
    found = printed or _parse_notation(text)
    if found is None:
        raise UnknownMeasureError(f"unknown measure '{text}'", _suggestion(text))
    return found, False, False


def _with_trec_parameters(family: Family, text: str) -> list[Measure]:
    if not text:
        raise MeasureError("no parameters after the dot", "Leave out the dot.")
    if family.at is not None:
        values = [family.at.parse(piece) for piece in text.split(",")]
        if len(set(values)) < len(values):
            raise MeasureError("a cutoff is given twice")
        found = [Measure(family, ((family.at.name, value),)) for value in sorted(values)]
        names = [measure.name for measure in found]
        if len(set(names)) < len(names):
            raise MeasureError("two cutoffs are printed alike", "Ask for one of them in another call.")
        return found
    if family.tail is not None:
        return [Measure(family, tuple(family.tail(text).items()), asked=f"{family.name}_{text}")]
    raise MeasureError(f"{family.name} takes no parameters", "Leave out the dot and what follows.")


def _parse_printed(text: str) -> list[Measure] | None:
    """Read a name as trec_eval prints it, such as ``iprec_at_recall_0.10`` or ``ndcg_1=3,2=9``."""
    for cut in (match.start() for match in reversed(list(re.finditer("_", text)))):
        family = FAMILIES.get(text[:cut])
        if text[cut + 1 :] and family is not None and (family.at is not None or family.tail is not None):
            return _with_trec_parameters(family, text[cut + 1 :])
    return None


_NO_CUTOFF = re.compile(r"[^@]+@\s*")

_NOTATION = re.compile(r"\s*(?P<name>[^\s()@.]+)\s*(\((?P<inside>.*)\))?\s*(@\s*(?P<at>\S+))?\s*")


def _parse_notation(text: str) -> list[Measure] | None:
    if _NO_CUTOFF.fullmatch(text):
        raise MeasureError("no cutoff after the @", "Write @10, for example.")
    match = _NOTATION.fullmatch(text)
    if match is None:
        return None
    name, at = match["name"], match["at"]
    candidates = [family for family in FAMILIES.values() if name in family.notation or name == family.name]
    if not candidates:
        return None
    fitting = [family for family in candidates if (family.at is not None) == (at is not None)]
    if not fitting:
        raise MeasureError(
            f"{name} needs a cutoff" if at is None else f"{name} takes no cutoff",
            f"Write {name}@10, for example." if at is None else "Leave out the @ and what follows.",
        )
    given = _arguments(match["inside"])
    family = next(
        (family for family in fitting if given.keys() <= {each.key for each in family.parameters}), fitting[0]
    )
    values: dict[str, Any] = {}
    for key, value in given.items():
        parameter = family.parameter(key)
        values[parameter.name] = parameter.parse(value)
    if family.at is not None and at is not None:
        values[family.at.name] = family.at.parse(at)
    asked = re.sub(r"\s+", "", text).replace("()", "")
    return [Measure(family, tuple(values.items()), asked=asked)]


def _arguments(inside: str | None) -> dict[str, str]:
    """Split ``rel=2, gains={1:3,2:9}`` at the commas outside of braces."""
    arguments: dict[str, str] = {}
    if inside is None or not inside.strip():
        return arguments
    for piece in re.split(r",(?![^{]*\})(?=\s*[A-Za-z_]+\s*=)", inside):
        key, equals, value = piece.partition("=")
        if not equals:
            raise MeasureError(f"'{piece.strip()}' is not of the form name=value")
        if key.strip() in arguments:
            raise MeasureError(f"{key.strip()} is given twice")
        arguments[key.strip()] = value.strip().strip("'\"")
    return _as_here(arguments)


_GAINS_OF_DCG = {"log2": "linear", "exp-log2": "exp"}


def _as_here(arguments: dict[str, str]) -> dict[str, str]:
    """Write ir_measures' ``dcg='exp-log2'`` and ``normalize=False`` as the parameters that they are here."""
    written: dict[str, str] = {}
    for key, value in arguments.items():
        if key == "dcg" and value in _GAINS_OF_DCG:
            written["gain"] = _GAINS_OF_DCG[value]
        elif key == "normalize" and value in ("True", "False"):
            written["normalised"] = "yes" if value == "True" else "no"
        else:
            written[key] = value
    return written


def _suggestion(text: str) -> str:
    known = [*FAMILIES, *NICKNAMES, *(name for family in FAMILIES.values() for name in family.notation)]
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.lower(), name)
    head = re.split(r"[.(@]", text.strip())[0].lower()
    import difflib

    near = difflib.get_close_matches(head, folded, n=3, cutoff=0.6)
    if not near:
        return "'treceval measures' lists them all."
    return f"Did you mean {' or '.join(folded[name] for name in near)}? 'treceval measures' lists them all."
