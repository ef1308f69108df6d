"""What a file is, and what is wrong with all of it: told by the roles that values give to columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from treceval_py.data.columns import MSMARCO, QRELS, RUN, Layout, is_header
from treceval_py.diagnosis.sign import Sign

MOST_FIELDS = 100
"""Most fields into which a line is split: a damaged line may have a million, and the rest of it stays one field."""

MOST_GRADE = 10
"""The highest whole number that is taken for a label where ranks or scores are possible, too."""


class Kind(NamedTuple):
    """A kind of file.

    Attributes
    ----------
    name : str
        ``run``, ``msmarco`` (a run of three columns), ``qrels`` or ``judged-ranking``.
    what : str
        Its name in messages.
    layout : Layout
        Its fields, line by line.
    docid, rank, score, rel : int or None
        Positions of these fields, from 0.
    """

    name: str
    what: str
    layout: Layout
    docid: int
    rank: int | None = None
    score: int | None = None
    rel: int | None = None


KINDS = {
    kind.name: kind
    for kind in (
        Kind("run", "a run", RUN, docid=2, rank=3, score=4),
        Kind("msmarco", "an MS MARCO run", MSMARCO, docid=1, rank=2),
        Kind("qrels", "judgments", QRELS, docid=2, rel=3),
        Kind("judged-ranking", "a judged ranking", QRELS, docid=2, rel=3),
    )
}


def kind_of(layout: Layout) -> Kind | None:
    """Return the kind of a file with this layout; None if it is neither a run nor judgments of lines."""
    if layout in (RUN, MSMARCO):
        return KINDS["run" if layout == RUN else "msmarco"]
    return KINDS["qrels"]._replace(layout=layout) if layout.fields[-1] in ("rel", "level") else None


# -- fields --------------------------------------------------------------------------------------------------------

WHOLE = re.compile(rb"[+-]?[0-9]+")
DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
HEXADECIMAL = re.compile(rb"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)([pP][+-]?[0-9]+)?")
_QUOTED = re.compile(rb"([\"'])[^\"']+\1")

_COLUMN_NAMES = re.compile(
    rb"[\W_]*(topic|query|qid|q|run|system|doc|document|pid|corpus|passage|rank|position|score|sim|similarity|tag|rel"
    rb"|relevance|label|judge?ment|grade|iter|iteration|q0|sub|subtopic)[\W_]*(id|ids|no|num|number|name|tag|label)?s?[\W_]*",
    re.IGNORECASE,
)


def whole_number(text: bytes) -> int | None:
    """Return a field as a whole number of 64 bits; None if it is not one."""
    if text.isdigit() and len(text) < 19:  # nearly all fields
        return int(text)
    if not WHOLE.fullmatch(text):
        return None
    digits = text.lstrip(b"+-").lstrip(b"0")[:20] or b"0"  # int() refuses more than 4,300 digits
    number = -int(digits) if text.startswith(b"-") else int(digits)
    return number if -(2**63) <= number < 2**63 else None


def is_whole(text: bytes) -> bool:
    """Tell whether a field is a whole number of 64 bits."""
    return whole_number(text) is not None


def is_number(text: bytes) -> bool:
    """Tell whether a field is a number, also in the notation of other programs or countries."""
    try:
        float(text)
    except ValueError:
        return bool(DECIMAL_COMMA.fullmatch(text) or HEXADECIMAL.fullmatch(text))
    return True


def is_constant(text: bytes) -> bool:
    """Tell whether a field is what nearly all files have after the query: Q0 or 0."""
    return text.upper() in (b"Q0", b"0")


def names_columns(fields: Sequence[bytes]) -> bool:
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


# -- roles ---------------------------------------------------------------------------------------------------------

Rows = Sequence[Sequence[bytes]]


def counts_up(rows: Rows, rank: int, *, group: int = 0, other: int = 2, least: int = 3) -> bool:
    """Tell whether a column holds ranks.

    They count from 0 or 1 in the lines of each group, at least once up to ``least``, and the values of the other column
    are different there.
    """
    groups = _groups(rows, group)
    counting = all(_count([whole_number(fields[rank]) for fields in own]) for own in groups)
    return counting and _differ(groups, other) and max(map(len, groups), default=0) >= least


def falls(rows: Rows, score: int) -> bool:
    """Tell whether the numbers of a column never rise from one line of a query to the next."""
    if not all(re.fullmatch(rb"[+-]?[0-9.]+([eE][+-]?[0-9]+)?", fields[score]) for fields in rows):
        return False
    try:
        return all(_fall([float(fields[score]) for fields in own]) for own in _groups(rows))
    except ValueError:
        return False


def _groups(rows: Rows, group: int = 0) -> list[list[Sequence[bytes]]]:
    groups: dict[bytes, list[Sequence[bytes]]] = {}
    for fields in rows:
        groups.setdefault(fields[group], []).append(fields)
    return list(groups.values())


def _differ(groups: list[list[Sequence[bytes]]], field: int) -> bool:
    return all(len({fields[field] for fields in own}) == len(own) for own in groups)


def _count(numbers: Sequence[int | None]) -> bool:
    return numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])


def _fall(numbers: Sequence[float]) -> bool:
    return all(one >= two for one, two in pairwise(numbers))


def _of_three(rows: Rows, kind: str) -> str:
    """Return what three columns are, by the role of the last: scores, ranks or labels."""
    groups = _groups(rows)
    several = len(groups) < len(rows) and _differ(groups, 1)
    numbers = [[number for fields in own if (number := whole_number(fields[2])) is not None] for own in groups]
    whole = sorted(number for own in numbers for number in own)
    if len(whole) < len(rows):
        return "tevatron" if kind == "run" or (not kind and several and falls(rows, 2)) else ""
    falling = all(map(_fall, numbers)) and any(own[0] > own[-1] for own in numbers)
    if kind == "run":
        rising = any(own[0] < own[-1] for own in numbers) or (len(groups) == len(rows) and whole[-1] <= 1)
        ranked = rising and all(_fall(own[::-1]) for own in numbers)
        return "msmarco" if ranked else "tevatron" if falling else ""
    small = whole[0] >= -MOST_GRADE and whole[-1] <= MOST_GRADE
    if kind:  # in four columns that lack one, the second is the iteration
        counting = len(groups) < len(rows) and all(own == [*range(1, len(own) + 1)] for own in numbers)
        return "" if counting or not small or all(is_constant(fields[1]) for fields in rows) else "cranfield"
    alone = whole[0] > 0 and not several
    if alone or all(_count(own) or sorted(own) == [*range(1, len(own) + 1)] for own in numbers):
        return "msmarco"
    return "cranfield" if small else "tevatron" if falling else "msmarco"


def _of_four(rows: Rows, kind: str) -> str:
    """Return what four columns are: a run without Q0 and tag, or judgments, whose second column repeats."""
    # One judgment for each query, of documents with numbers, could look like ranks and scores.
    least = 1 + all(is_whole(fields[3]) for fields in rows)
    if counts_up(rows, 2, other=1, least=least) and falls(rows, 3):
        return "colbert"
    judged = kind or all(is_constant(fields[1]) or is_whole(fields[3]) for fields in rows)
    return "qrels" if judged else "colbert"


_METHODS = (b"0", b"1", b"2", b"4")


def _is_probability(text: bytes) -> bool:
    try:
        return text == b"NA" or 0 <= float(text) <= 1
    except ValueError:
        return False


def _of_five(rows: Rows, kind: str) -> str:
    """Return what five columns are: preferences, judgments of a sample, or a run without its tag."""
    drawn = all(is_whole(fields[2]) and fields[3] in _METHODS and _is_probability(fields[4]) for fields in rows)
    if drawn and any(fields[1] != b"0" for fields in rows):
        return "prels"
    if any(fields[1].upper() == b"Q0" or not is_number(fields[4]) for fields in rows):
        return "near"
    strata = kind or all(is_whole(fields[3]) or not is_number(fields[3]) for fields in rows)
    if strata and all(fields[1] == b"0" and is_whole(fields[4]) for fields in rows):
        return "near" if counts_up(rows, 3, least=1 + bool(kind)) else "sampled"
    return "near" if any(is_constant(fields[1]) and is_number(fields[3]) for fields in rows) else "prefs"


# -- files ---------------------------------------------------------------------------------------------------------

_OF_WIDTH = {"three": _of_three, "four": _of_four, "five": _of_five}

_WIDTHS = {"msmarco": "three", "qrels": "four", "judged-ranking": "four", "run": "run"}


def form_of(lines: Sequence[bytes], kind: str = "") -> str:
    """Return what most of the data lines of a file are.

    Parameters
    ----------
    lines : sequence of bytes
        The first of them, from `io.formats.lines_of`.
    kind : str
        What the file is given as, ``run`` or ``qrels``. Its first line must then be a line of data, or the header of
        BEIR's judgments, ids may begin with any character, and columns that could have two roles are nothing.

    Returns
    -------
    str
        ``run``, ``near`` (a run that lacks a column), ``qrels``, ``msmarco``, ``tevatron`` (qid docid score),
        ``cranfield`` (qid docid rel), ``colbert`` (qid docid rank score), ``sampled`` (qid 0 docid stratum rel),
        ``prels`` (qid docid rel method probability) or ``prefs`` (qid group subgroup docid level); ``beir`` if given as
        judgments; empty for anything else.
    """
    if kind == "qrels" and lines and is_header(lines[0]):
        return "beir"
    given = [_width(line.split(None, MOST_FIELDS)) if kind else _form(line) for line in lines]
    forms = Counter(given)
    best = max(("run", *_OF_WIDTH), key=lambda form: forms[form])
    few = not forms[best] or 2 * forms[best] < forms.total() - forms["header"] + (not kind)
    if few or forms["beir"] or (kind and given[:1] != [best]):
        return ""
    rows = [line.split() for line, form in zip(lines, given, strict=True) if form == best]
    return "run" if best == "run" else _OF_WIDTH[best](rows, kind)


def recognised(lines: Sequence[bytes], wanted: str | None = None) -> Kind:
    """Return the kind of a file whose lines are checked.

    Parameters
    ----------
    lines : sequence of bytes
        Its first data lines, from `io.formats.lines_of`.
    wanted : str or None
        A name of `KINDS` that the caller expects; ``run`` may turn out to be ``msmarco``.

    Returns
    -------
    Kind
        The kind of most of these lines; the expected kind, or a run, if they are not recognised.
    """
    if wanted is not None and wanted != "run":
        return KINDS[wanted]
    form = form_of(lines)
    judged = wanted is None and form in ("cranfield", "sampled", "prels", "qrels")
    return KINDS["qrels" if judged else "msmarco" if form == "msmarco" else "run"]


def cause_of(lines: Sequence[bytes], kind: Kind) -> Sign | None:
    """Find a cause that makes all lines of a file wrong.

    Parameters
    ----------
    lines : sequence of bytes
        The first data lines, from `io.formats.lines_of`.
    kind : Kind
        The kind as which the file is read.

    Returns
    -------
    Sign or None
        None if one of the lines is valid, or they show no common cause.
    """
    if kind.name == "run" and _is_shifted(lines):
        problem = "all columns are shifted by one: Q0 is the third field, but the second in a run"
        return Sign("R116", problem, "Delete the first column, probably an index; in pandas, write with index=False.")
    quoted = [is_quoted(line) for line in lines]
    if kind.name != "qrels" and any(quoted) and sum(quoted) >= len(lines) - 1:  # a header may have no quotes
        problem = "fields are in quotes, which become part of the ids"
        return Sign("R117", problem, "Write the file without quotes; in R use quote=FALSE.")
    forms, form = Counter(map(_form, lines)), form_of(lines)
    if forms[_WIDTHS[kind.name]] or (form == "near" and kind.name == "run"):
        return None
    del forms["header"]
    form = "beir" if forms["beir"] else form or max(forms, key=lambda one: forms[one], default="")
    if form in _SEPARATORS.values():
        problem = f"fields are separated by {form}, not by white space"
        return Sign("R112", problem, "Write the file with spaces or tabs between fields, without quotes.")
    if form in _JUDGMENTS or (form in RUNS and kind.rel is not None):
        return _of_other_role(form, kind)
    if form in _OTHERS:
        other, todo = _OTHERS[form]
        if form in ("msmarco", "tevatron") and not form_of(lines, "run"):
            other, todo = "a run of 3 columns", f"Name its format: {OF_THREE}."
        wanted = f"one of 6 columns ({kind.layout})" if kind.name == "run" and form in RUNS else kind.what
        return Sign("R113", f"this is {other}, not {wanted}", todo)
    if len(lines) < 3:
        return None  # too few lines for more than a finding for each
    counts = sorted({len(line.split(None, MOST_FIELDS)) for line in lines})
    if any(map(kind.layout.fits, counts)) and forms.total() - forms[""]:
        return None
    fields = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    noun = "field" if counts == [1] else "fields"
    problem = f"none of the first {len(lines)} lines is {kind.layout.what} ({kind.layout}): they have {fields} {noun}"
    return Sign("R113", problem, "Is it the right file?")


_SEPARATORS = {b",": "commas", b";": "semicolons", b"|": "bars"}

_JUDGMENTS = {
    "qrels": "judgments",
    "cranfield": "judgments of 3 columns (qid docid rel)",
    "sampled": "judgments of a sample (qid 0 docid stratum rel)",
    "prels": "judgments with probabilities (qid docid rel method probability)",
    "prefs": "preferences (qid group subgroup docid level)",
    "beir": "BEIR's judgments (query-id corpus-id score)",
}

RUNS = {
    "run": "a run",
    "near": "a run",
    "msmarco": "an MS MARCO run (qid docid rank)",
    "colbert": "a run of 4 columns (qid docid rank score)",
    "tevatron": "a run of 3 columns (qid docid score)",
}

OF_THREE = "msmarco (qid docid rank) or tevatron (qid docid score)"
"""The formats of runs of three columns."""

_OTHERS = {
    "run": ("a run of 6 columns", "Give it as a run."),
    **{form: (RUNS[form], f"Give its format, {form}.") for form in ("msmarco", "colbert", "tevatron")},
    "json": ("JSON", "Write one line per document."),
    "markup": ("HTML or XML", "Was a web page saved instead of the file?"),
}


def _of_other_role(form: str, kind: Kind) -> Sign:
    """Say that judgments were given for a run, a run for judgments, or judgments with too few or too many columns."""
    if kind.name == "judged-ranking" and form in RUNS:
        return Sign("R114", "this is a run, not a judged ranking", "Check it as a run: --as run.")
    if kind.rel is None:
        ranked = {
            "qrels": " Give a ranking with labels as a judged ranking.",
            "cranfield": f" Or name its format: {OF_THREE}.",
        }
        todo = "Is it the right file?" + ranked.get(form, "")
        return Sign("R114", f"these are {_JUDGMENTS[form]}, not {kind.what}", todo)
    if form in ("cranfield", "msmarco"):
        three = f"these are {_JUDGMENTS[form]}" if form in _JUDGMENTS else "3 fields"
        problem = f"{three}, but a judgment has 4 ({kind.layout})"
        return Sign("Q305", problem, "Put a 0, the iteration, after the query, on each line.")
    if form in _JUDGMENTS:
        sampled = ", or sampled or prels if they are judgments of a sample with a faulty line" * (form == "prefs")
        return Sign("R113", f"these are {_JUDGMENTS[form]}", f"Give their format, {form}{sampled}.")
    return Sign("R114", f"this is {RUNS[form]}, not {kind.what}", "Is it the right file?")


def _is_shifted(lines: Sequence[bytes]) -> bool:
    """Tell whether all lines except headers have a Q0 where a run has the document."""
    rows = [fields for fields in (line.split(None, MOST_FIELDS) for line in lines) if not names_columns(fields)]
    return bool(rows) and all(
        len(fields) > 5 and fields[0].isdigit() and fields[2].upper() == b"Q0" and not is_constant(fields[1])
        for fields in rows
    )


def swapped_columns(lines: Sequence[bytes]) -> Sign | None:
    """Find out from the first data lines of a run whether two of its columns are swapped."""
    rows = [fields for line in lines if len(fields := line.split()) > 5]
    if counts_up(rows, 3):
        return None
    if counts_up(rows, 4) and falls(rows, 3):
        first, second = (fields[4].decode() for fields in rows[:2])
        swap = f"rank and score are swapped: the score column counts {first}, {second}, …"
        return Sign("R119", swap, "Write qid Q0 docid rank score tag; otherwise every list is scored upside down.")
    if counts_up(rows, 3, group=2, other=0):
        swap = "query and document are swapped: ranks count the lines of the same document, each of another query"
        return Sign("R119", swap, "Write qid Q0 docid rank score tag.")
    return None


def _form(line: bytes) -> str:
    """Return the form of a data line, even if damaged; or how many fields it has, with numbers in their places."""
    if is_header(line):
        return "beir"
    if re.match(rb'[{\[]\s*["{\[\]}]|[{\[]$', line):
        return "json"
    if re.match(rb"<[!?/a-zA-Z]", line):
        return "markup"
    fields = line.split(None, MOST_FIELDS)
    for separator, name in _SEPARATORS.items():
        # Either the line has no other separator, or all fields but the last end with this one.
        ended = len(fields) > 2 and all(field.endswith(separator) for field in fields[:-1])
        if ended or (len(fields) < 3 and line.count(separator) >= 2):
            return name
    return "header" if names_columns(fields) else _width(fields)


def _width(fields: Sequence[bytes]) -> str:
    """Return how many fields a line has, with numbers in their places; empty if it has others."""
    count, numbers = len(fields), [is_number(field) for field in fields[2:5]]
    if count >= 6:
        return "run" if numbers[2] or is_whole(fields[3]) else ""
    if count == 5:
        return "five" if numbers[1] or numbers[2] else ""
    if count == 4:
        judged = is_whole(fields[3]) or (numbers[1] and (is_constant(fields[1]) or is_whole(fields[2])))
        return "four" if judged else ""
    return "three" if count == 3 and numbers[0] else ""
