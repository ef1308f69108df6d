"""What is wrong with one line of a run or of judgments: with the number of its fields, or with one of them."""

from __future__ import annotations

import math
import re

from treceval_py.data.columns import BEIR, GRADED_PREFERENCES, MSMARCO, PREFERENCES, QRELS, RUN, Layout, is_header
from treceval_py.data.ids import beginning_of, decode, quoted
from treceval_py.diagnosis.columns import (
    DECIMAL_COMMA,
    HEXADECIMAL,
    MOST_FIELDS,
    OF_THREE,
    WHOLE,
    is_constant,
    is_number,
    is_whole,
    whole_number,
)
from treceval_py.diagnosis.sign import Sign

ODD_SPACES = "\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
"""Characters that look like a space or are invisible, but do not separate fields: a regular expression's class."""

_ODD = re.compile(f"[{ODD_SPACES}]")

# The part of a text that C's strtod and strtol read; if there is none, programs in C continue with 0.
_LEADING_NUMBER = re.compile(rb"[+-]?(inf|nan|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)", re.IGNORECASE)
_LEADING_WHOLE = re.compile(rb"[+-]?[0-9]+")

# The compiled reader leaves a line with such a field after the score to Python.
_PLAIN = re.compile(rb"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?")


HEADER = ("a header line", "Delete it: trec_eval reads it as data.")


# -- a line with another number of fields --------------------------------------------------------------------------


def fields_of(line: bytes, fields: list[bytes], layout: Layout) -> tuple[list[bytes], Sign | None]:
    """Return the fields of a line that has not exactly those of its layout, and what is wrong with it.

    Parameters
    ----------
    line : bytes
        The line, without its newline.
    fields : list of bytes
        The line, split at white space.
    layout : Layout
        The layout.

    Returns
    -------
    fields : list of bytes
        The fields to read; others than the given ones if only tabs separate them.
    fault : Sign or None
        What is wrong; None if the line can be read.
    """
    count, width = len(fields), len(layout.fields)
    if count > width and b"\r" in line.strip():  # old Macintosh files end lines with just a carriage return
        return fields, _sign(fields, layout, "End lines with a newline.")
    if count > width and layout.separator is None:
        if (joint := _joint(fields, layout)) is not None:
            joined = f"two lines in one: a newline is missing at {quoted(joint)}"
            todo = "Put it in: before another file is joined to one, it must end with a newline."
            return fields, Sign(_code(layout), joined, todo)
        parts = [part.strip() for part in line.split(b"\t")]
        if len(parts) == width and all(parts) and _has_numbers(parts, layout):
            return parts, None
        if layout == RUN:
            return fields, _spaced(fields)
    if layout.fits(count):
        return fields, None
    if not line.isascii() and _ODD.search(decode(line)):
        todo = "A character that only looks like a space joins two fields: write a plain space."
        return fields, _sign(fields, layout, todo)
    return fields, _sign(fields, layout, _advice(fields, layout))


def _code(layout: Layout) -> str:
    return "R101" if layout in (RUN, MSMARCO) else "Q301"


def _sign(fields: list[bytes], layout: Layout, todo: str) -> Sign:
    count = len(fields)
    number = f"{'more than ' * (count > MOST_FIELDS)}{min(count, MOST_FIELDS)} field" + "s" * (count != 1)
    expected = f"{'at least ' if layout.more else ''}{len(layout.fields)} ({layout})"
    code = "R118" if layout == RUN and lacks_tag(fields) else _code(layout)
    if layout == QRELS and count == 3 and is_whole(fields[2]):
        code = "Q305"
    return Sign(code, f"{number}, but {layout.what} has {expected}", todo)


def _has_numbers(fields: list[bytes], layout: Layout) -> bool:
    if layout == RUN:
        spaced = len(b" ".join(fields[:3]).split()) > 3
        return spaced and is_whole(fields[3]) and _PLAIN.fullmatch(fields[4]) is not None
    return is_whole(fields[-1])


def _joint(fields: list[bytes], layout: Layout) -> bytes | None:
    """Return the field at which the next line begins that should have begun after a newline; None if none does.

    The second column, a Q0 or 0, occurs again, and numbers follow it as they should.
    """
    if layout == RUN:
        for at in range(2, len(fields) - 4):
            begins = fields[at].upper() == b"Q0" or (at > 5 and fields[at] == fields[1])
            if at == 2:  # the line ends within its second column
                begins = fields[1] != fields[2] and fields[1].startswith(fields[2]) and is_constant(fields[2])
            if begins and is_whole(fields[at + 2]) and _PLAIN.fullmatch(fields[at + 3]):
                return fields[at - 1]
    elif layout == QRELS:
        for at in range(4, len(fields) - 2):
            if fields[at] == fields[1] and is_whole(fields[at + 2]):
                return fields[at - 1]
    elif layout == MSMARCO and len(fields) in (5, 6) and is_whole(fields[-1]) and not is_constant(fields[1]):
        return fields[-3] if fields[2][:1].isdigit() else None
    return None


def _spaced(fields: list[bytes]) -> Sign | None:
    """Say that the id of a query or of a document contains spaces; None if it is the tag that does.

    Rank and score are then followed by a tag of one word.
    """
    more = len(fields) - 6
    rank, score = fields[3 + more : 5 + more]
    if not is_whole(rank) or not _PLAIN.fullmatch(score):
        return None
    todo = "Write ids without spaces, or one tab between fields."
    if fields[1 + more].upper() == b"Q0" and not is_constant(fields[1]):
        if more == 1 and fields[0].isdigit():
            problem = "the columns are shifted by one: Q0 is the third field, but the second in a run"
            return Sign("R101", problem, "Delete the first column, probably an index.")
        return Sign("R101", f"query id {quoted(b' '.join(fields[: 1 + more]))} contains a space", todo)
    read_as_score = is_whole(fields[3]) and _PLAIN.fullmatch(fields[4])
    if read_as_score and (is_whole(score) or not _PLAIN.fullmatch(fields[5])):
        return None
    docid = quoted(b" ".join(fields[2 : 3 + more]))
    return Sign("R101", f"document id {docid} contains a space, which makes a part of it the rank", todo)


def lacks_tag(fields: list[bytes]) -> bool:
    """Tell whether a line has all fields of a run's line except the tag."""
    return len(fields) == 5 and is_whole(fields[3]) and is_number(fields[4])


def _advice(fields: list[bytes], layout: Layout) -> str:
    about = {RUN: _about_run, QRELS: _about_judgment}.get(layout, lambda _: "")(fields)
    likely, name = {
        PREFERENCES: (GRADED_PREFERENCES, "qrels_prefs"),
        GRADED_PREFERENCES: (PREFERENCES, "prefs"),
        MSMARCO: (RUN, "trec_results"),
    }.get(layout, (layout, ""))
    if about or likely.fits(len(fields)):
        return about or f"Is its format {name} ({likely})?"
    if layout == BEIR and len(fields) == 1:
        return "Separate fields with tabs."
    if fields[0].startswith((b"<", b"{", b"[")):
        return "Is it the right file?"
    commas = len(fields) == 1 and b"," in fields[0]
    return "Separate fields with spaces or tabs, not with commas." if commas else "Correct the line."


def _about_run(fields: list[bytes]) -> str:
    """Say what is missing from a run's line; empty if that is unknown."""
    count = len(fields)
    if count == 5:
        return _about_missing(fields)
    forms = {3: OF_THREE, 4: "colbert (qid docid rank score)"}
    return f"Write {RUN}, or name its format: {forms[count]}." if count in forms and is_number(fields[-1]) else ""


def _about_missing(fields: list[bytes]) -> str:
    """Say which column is missing from a run's line of five fields."""
    if lacks_tag(fields):
        return "The tag is missing: write one at the end."
    if is_number(fields[3]) and not is_number(fields[4]):
        if is_constant(fields[1]):
            return "The rank or the score is missing."
        if is_whole(fields[2]):
            return "The second column is missing: write Q0 after the query."
    return "The tag or another column is missing."


def _about_judgment(fields: list[bytes]) -> str:
    """Say what a judgment lacks, or what else it is; empty if that is unknown."""
    if is_header(b"\t".join(fields)):
        return "This looks like the header of BEIR judgments, format beir."
    if len(fields) == 3:
        return "Put a 0, the iteration, after the query." if is_whole(fields[2]) else "The label is missing."
    if len(fields) != 5 or not is_number(fields[4]):
        return ""
    if fields[1] == b"0" and is_whole(fields[3]):
        return "If this is a judgment of a sample (qid 0 docid stratum rel), name its format: sampled."
    return f"Is its format prefs ({PREFERENCES})?"


# -- one of its fields ---------------------------------------------------------------------------------------------


def about_number(text: bytes, noun: str = "score", *, nan: bool = False) -> Sign | None:
    """Say what is wrong with a number; of the faults, only an infinite one (R105) can be used, and NaN if allowed."""
    shown = f"{noun} {quoted(text)}"
    try:
        value = float(text)
    except ValueError:
        return _about_no_number(text, shown)
    if b"_" in text:
        problem = f"{shown} is {_short(value)} in Python, and {_as_in_c(text)} in trec_eval"
        return Sign("R108", problem, "Write numbers with only digits, a decimal point and an exponent.")
    if math.isnan(value):
        problem = f"{shown} is not a number, so it cannot be ranked"
        return None if nan else Sign("R104", problem, "Find its cause; often it is a division by zero.")
    if not math.isinf(value):
        return None
    if b"i" in text.lower():
        return Sign("R105", f"{shown} is infinite", "Find its cause; often it is the logarithm of zero.")
    return Sign("R107", f"{shown} is too large for a 64-bit float", "Use smaller numbers.")


def _about_no_number(text: bytes, shown: str) -> Sign:
    if DECIMAL_COMMA.fullmatch(text):
        problem = f"{shown} has a decimal comma, and trec_eval reads {_as_in_c(text)}"
        return Sign("R106", problem, f"Write {beginning_of(text.replace(b',', b'.'))}.")
    if HEXADECIMAL.fullmatch(text):
        problem = f"{shown} is hexadecimal, which trec_eval reads and Python refuses"
        return Sign("R108", problem, "Write numbers with only digits, a decimal point and an exponent.")
    problem = f"{shown} is not a number, and trec_eval reads {_as_in_c(text)}"
    return Sign("R103", problem, "Write it as 12, 12.5 or 1.25e1.")


def about_rank(text: bytes, *, alone: bool) -> Sign:
    """Say what is wrong with a rank that is not a whole number; ``alone`` if there is no score to order by."""
    wrong = f"rank {quoted(text)} " + ("does not fit in 64 bits" if WHOLE.fullmatch(text) else "is not a whole number")
    if alone:
        return Sign("R115", wrong, "Write ranks as whole numbers from 1: this run is ordered by them alone.")
    return Sign("R109", wrong, "Write ranks as whole numbers from 1: some programs order by them, not by scores.")


def about_label(text: bytes, noun: str = "label") -> Sign:
    """Say what is wrong with a label that is not a whole number of 64 bits."""
    shown = f"{noun} {quoted(text)}"
    if WHOLE.fullmatch(text):
        return Sign("Q303", f"{shown} does not fit in 64 bits", "Use smaller labels, such as 0, 1, 2.")
    leading = _LEADING_WHOLE.match(text)
    read = whole_number(b"0" if leading is None else leading[0])
    read = (-(2**63) if text.startswith(b"-") else 2**63 - 1) if read is None else read
    problem = f"{shown} is not a whole number, and trec_eval reads {read}"
    return Sign("Q302", problem, "Write labels as whole numbers, such as 0, 1, 2.")


def _as_in_c(text: bytes) -> str:
    """Return the number that C's strtod reads from a text: it takes the longest beginning that is a number."""
    if hexadecimal := HEXADECIMAL.match(text):
        try:
            return _short(float.fromhex(hexadecimal[0].decode()))
        except OverflowError:
            return "-inf" if text.startswith(b"-") else "inf"
    decimal = _LEADING_NUMBER.match(text)
    return "0" if decimal is None else _short(float(decimal[0]))


def _short(value: float) -> str:
    return f"{value:.15g}"
