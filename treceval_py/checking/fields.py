"""Explain what is wrong with a line or with one of its fields: pure functions from bytes to findings."""

from __future__ import annotations

import math
import re

from treceval_py.checking.reading import ODD_SPACES
from treceval_py.checking.rows import Kind, column_of
from treceval_py.data.ids import beginning_of, decode, quoted
from treceval_py.diagnosis.sign import Sign
from treceval_py.io.lines import integer

MOST_FIELDS = 100
"""Most fields into which a line is split: a damaged line may have a million, and the rest of it stays one field."""

_LEAST, _MOST = -(2**63), 2**63 - 1

_WHOLE = re.compile(rb"[+-]?[0-9]+")
_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(rb"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)([pP][+-]?[0-9]+)?")
_QUOTED = re.compile(rb"([\"'])[^\"']+\1")
_ODD = re.compile(f"[{ODD_SPACES}]")

# The part of a text that C's strtod and strtol read; if there is none, programs in C continue with 0.
_LEADING_NUMBER = re.compile(rb"[+-]?(inf|nan|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)", re.IGNORECASE)
_LEADING_WHOLE = re.compile(rb"[+-]?[0-9]+")

_COLUMN_NAMES = re.compile(
    rb"[\W_]*(topic|query|qid|q|run|system|doc|document|pid|corpus|passage|rank|position|score|sim|similarity|tag|rel"
    rb"|relevance|label|judge?ment|grade|iter|iteration|q0|sub|subtopic)[\W_]*(id|ids|no|num|number|name|tag|label)?s?[\W_]*",
    re.IGNORECASE,
)


def whole_number(text: bytes) -> int | None:
    """Return a field as a whole number of 64 bits; None if it is not one."""
    if text.isdigit() and len(text) < 19:  # nearly all fields
        return int(text)
    if not _WHOLE.fullmatch(text):
        return None
    number = integer(text)
    return number if _LEAST <= number <= _MOST else None


def is_whole(text: bytes) -> bool:
    """Tell whether a field is a whole number of 64 bits."""
    return whole_number(text) is not None


def is_number(text: bytes) -> bool:
    """Tell whether a field is a number, also in the notation of other programs or countries."""
    try:
        float(text)
    except ValueError:
        return bool(_DECIMAL_COMMA.fullmatch(text) or _HEXADECIMAL.fullmatch(text))
    return True


def names_columns(fields: list[bytes]) -> bool:
    """Tell whether a line has column names instead of data; without a number, two known names are enough."""
    if any(re.fullmatch(rb"[+-]?[0-9.,]+", field) for field in fields):
        return False
    known = sum(bool(_COLUMN_NAMES.fullmatch(field)) for field in fields)
    return known >= 2 and 2 * known >= len(fields)


def is_quoted(line: bytes) -> bool:
    """Tell whether the first field and at least one other are in quotes, and all quotes of the line enclose fields."""
    fields = line.split(None, MOST_FIELDS)
    quoted = [field for field in fields if _QUOTED.fullmatch(field)]
    return len(quoted) > 1 and quoted[0] is fields[0] and line.count(b'"') + line.count(b"'") == 2 * len(quoted)


def unquoted(line: bytes) -> bytes:
    """Return a line for which `is_quoted` is true, without its quotes."""
    return line.replace(b'"', b"").replace(b"'", b"")


def about_score(text: bytes) -> Sign | None:
    """Say what is wrong with a score; of the faults, only an infinite score (R105) can be used."""
    shown = f"score {quoted(text)}"
    try:
        value = float(text)
    except ValueError:
        return _about_no_number(text, shown)
    if b"_" in text:
        problem = f"{shown} is {_short(value)} in Python, and {_as_in_c(text)} in trec_eval"
        return Sign("R108", problem, "Write numbers with only digits, a decimal point and an exponent.")
    if math.isnan(value):
        problem = f"{shown} is not a number, so it cannot be ranked"
        return Sign("R104", problem, "Find its cause; often it is a division by zero.")
    if not math.isinf(value):
        return None
    if b"i" in text.lower():
        return Sign("R105", f"{shown} is infinite", "Find its cause; often it is the logarithm of zero.")
    return Sign("R107", f"{shown} is too large for a 64-bit float", "Use smaller numbers.")


def _about_no_number(text: bytes, shown: str) -> Sign:
    if _DECIMAL_COMMA.fullmatch(text):
        problem = f"{shown} has a decimal comma, and trec_eval reads {_as_in_c(text)}"
        return Sign("R106", problem, f"Write {beginning_of(text.replace(b',', b'.'))}.")
    if _HEXADECIMAL.fullmatch(text):
        problem = f"{shown} is hexadecimal, which trec_eval reads and Python refuses"
        return Sign("R108", problem, "Write numbers with only digits, a decimal point and an exponent.")
    problem = f"{shown} is not a number, and trec_eval reads {_as_in_c(text)}"
    return Sign("R103", problem, "Write it as 12, 12.5 or 1.25e1.")


def about_rank(text: bytes, kind: Kind) -> Sign:
    """Say what is wrong with a rank that is not a whole number."""
    wrong = f"rank {quoted(text)} " + ("does not fit in 64 bits" if _WHOLE.fullmatch(text) else "is not a whole number")
    if kind.name == "msmarco":
        return Sign("R115", wrong, "Write ranks as whole numbers from 1: this run is ordered by them alone.")
    return Sign("R109", wrong, "Write ranks as whole numbers from 1: some programs order by them, not by scores.")


def about_label(text: bytes) -> Sign:
    """Say what is wrong with a label that is not a whole number of 64 bits."""
    shown = f"label {quoted(text)}"
    if _WHOLE.fullmatch(text):
        return Sign("Q303", f"{shown} does not fit in 64 bits", "Use smaller labels, such as 0, 1, 2.")
    leading = _LEADING_WHOLE.match(text)
    read = 0 if leading is None else min(max(integer(leading[0]), _LEAST), _MOST)
    problem = f"{shown} is not a whole number, and trec_eval reads {read}"
    return Sign("Q302", problem, "Write labels as whole numbers, such as 0, 1, 2.")


def about_count(line: bytes, fields: list[bytes], kind: Kind) -> tuple[Sign, int]:
    """Say what is wrong with a line that has too few or too many fields.

    Returns
    -------
    fault : Sign
        What is wrong.
    column : int
        For a short line, its end; for a long line, the beginning of the surplus.
    """
    layout, count = kind.layout, len(fields)
    number = f"{'more than ' * (count > MOST_FIELDS)}{min(count, MOST_FIELDS)} field" + "s" * (count != 1)
    expected = f"{'at least ' if layout.more else ''}{len(layout.fields)} ({layout})"
    mismatch = f"{number}, but {layout.what} has {expected}"
    long = count > len(layout.fields)
    column = column_of(line, len(layout.fields)) if long else 1 + len(decode(line.rstrip()))
    code, todo = "R101" if kind.rel is None else "Q301", "Correct the line, or delete it."
    if not line.isascii() and _ODD.search(decode(line)):
        todo = "A character that only looks like a space joins two fields: write a plain space."
    elif kind.name == "run":
        if lacks_tag(fields):
            code = "R118"
        todo = _about_missing(fields) or todo
    elif kind.rel is not None and count == 3:
        if is_whole(fields[2]):
            code, todo = "Q305", "Put a 0, the iteration, after the query."
        else:
            todo = "The label is missing."
    return Sign(code, mismatch, todo), column


def lacks_tag(fields: list[bytes]) -> bool:
    """Tell whether a line has all fields of a run's line except the tag."""
    return len(fields) == 5 and is_whole(fields[3]) and is_number(fields[4])


def _about_missing(fields: list[bytes]) -> str:
    """Say which column is missing from a run's line; empty if its other columns do not show it."""
    if len(fields) == 5:
        if lacks_tag(fields):
            return "The tag is missing: write one at the end."
        if is_number(fields[3]) and not is_number(fields[4]):
            if fields[1].upper() in (b"Q0", b"0"):
                return "The rank or the score is missing."
            if is_whole(fields[2]):
                return "The second column is missing: write Q0 after the query."
        return "The tag or another column is missing."
    return ""


def _as_in_c(text: bytes) -> str:
    """Return the number that C's strtod reads from a text: it takes the longest beginning that is a number."""
    if hexadecimal := _HEXADECIMAL.match(text):
        try:
            return _short(float.fromhex(hexadecimal[0].decode()))
        except OverflowError:
            return "-inf" if text.startswith(b"-") else "inf"
    decimal = _LEADING_NUMBER.match(text)
    return "0" if decimal is None else _short(float(decimal[0]))


def _short(value: float) -> str:
    return f"{value:.15g}"
