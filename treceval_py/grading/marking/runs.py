"""Several runs of a submission: which run each claim is about, and which run counts."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence

from treceval_py.errors import visible
from treceval_py.grading.claims.claims import Claimed
from treceval_py.grading.intake.candidates import last_of
from treceval_py.grading.intake.platforms import stem_of
from treceval_py.grading.marking.trying import Tried
from treceval_py.grading.rule_keys import Rules

NOT_HANDED_IN = -1
"""Replaces a run's number if a row of a table is about a run that was not handed in."""


# --- which run counts ---


def chosen(
    tried: Sequence[Tried],
    rules: Rules,
    wanted: str,
    *,
    right: Sequence[int],
    explained: Callable[[Sequence[int]], list[int]],
) -> tuple[int, str]:
    """Return which run counts, and why.

    Parameters
    ----------
    tried : sequence of Tried
        The runs, at least one, the likeliest first.
    rules : Rules
        The rules, which say how one is chosen.
    wanted : str
        The file that the teacher chose; empty for none.
    right : sequence of int
        For each run, the number of claims that are right for it.
    explained : callable
        Takes the numbers of some runs, and returns for each how many claims it explains; slower than ``right``.

    Returns
    -------
    int
        Number of the run that counts.
    str
        Which run counts and why, without a full stop; empty if there was no choice.
    """
    numbers, named = _named(tried, wanted, rules.named)
    if len(tried) == 1:
        return 0, f"{tried[0].graded.run} counts: {named}" if wanted else ""
    number, why = (numbers[0], "") if len(numbers) == 1 else _one_of(tried, numbers, right, explained)
    return number, f"{tried[number].graded.run} counts: " + "; ".join(filter(None, (named, why)))


def _one_of(
    tried: Sequence[Tried],
    numbers: Sequence[int],
    right: Sequence[int],
    explained: Callable[[Sequence[int]], list[int]],
) -> tuple[int, str]:
    """Return which of several runs counts, and why."""
    scored = [number for number in numbers if tried[number].is_scored]
    # X201: none of its queries is judged.
    scored = [number for number in scored if "X201" not in tried[number].graded.counts] or scored
    if len(scored) == 1:
        return scored[0], f"it is the only one of {len(numbers)} runs that can be scored and has judged queries"
    if not scored:
        return numbers[0], f"none of {len(numbers)} runs can be scored, and it looks most like one"
    fits, word, counts = "right for", "for", [right[number] for number in scored]
    if not any(counts):
        fits, word, counts = "explained by", "by", explained(scored)
    most = max(counts)
    scored = [number for number, count in zip(scored, counts, strict=True) if count == most]
    others = "the other run" if len(tried) == 2 else f"any of the other {len(tried) - 1} runs"
    said = "1 claimed number is" if most == 1 else f"{most} claimed numbers are"
    if most and len(scored) == 1:
        return scored[0], f"{said} {fits} it, more than {word} {others}"
    words = f"{said} {fits} each of {len(scored)} runs; " if most else ""
    if not most and any(run.right for run in tried):
        words = f"no claimed number is right for any of {len(tried)} runs, or explained by one; "
    last, why = last_of([tried[number].file for number in scored])
    latest = next(number for number in scored if tried[number].file is last)
    return latest, words + (
        why or f"nothing shows which of {len(scored)} runs was handed in last, so the first of them counts"
    )


def _named(tried: Sequence[Tried], wanted: str, pattern: str) -> tuple[list[int], str]:
    """Return the runs with the name that the teacher chose, else those named by the rules, else all."""
    said = list[str]()
    for name, by in ((wanted, "the teacher chose"), (pattern, "the rules count files named")):
        named = [number for number, run in enumerate(tried) if name and is_named(run.graded.run, name)]
        if named:
            return named, "; ".join([*said, f"{by} {visible(name)}"])
        if name:
            said.append(f"{by} {visible(name)}, but no run has that name")
    return list(range(len(tried))), "; ".join(said)


def is_named(name: str, pattern: str) -> bool:
    """Tell whether a pattern fits a file, or the last part of its path."""
    known = (name.casefold(), _last(name).casefold())
    return pattern.casefold() in known or any(fnmatch.fnmatchcase(form, pattern.casefold()) for form in known)


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


# --- of which run a claim speaks ---


def says_something(claimed: Claimed) -> bool:
    """Tell whether a claim can tell runs apart: numbers with a single decimal, and 0 and 1, are right for many."""
    return claimed.claim is not None and claimed.claim.value not in (0, 1) and claimed.claim.digits > 1


def rows_of(claims: Sequence[Claimed]) -> list[str]:
    """Return the names of runs in claims, without repetitions."""
    return list(dict.fromkeys(claim.run for claim in claims if claim.run))


def runs_of_rows(claims: Sequence[Claimed], tried: Sequence[Tried]) -> dict[str, int]:
    """Return the runs that claims name by their file, its stem or their tag, or else those whose numbers they give."""
    names = [names_of(run.graded.run, run.tag) for run in tried]
    fits = {row: [at for at, known in enumerate(names) if row.casefold() in known] for row in rows_of(claims)}
    by_row = {row: numbers[0] for row, numbers in fits.items() if len(numbers) == 1}
    for row in [row for row in fits if row not in by_row]:
        of_row = [at for at, claim in enumerate(claims) if claim.run == row and says_something(claim)]
        counts = {
            number: sum(run.right[at] for at in of_row)
            for number, run in enumerate(tried)
            if run.right and number not in by_row.values()
        }
        best = [number for number, count in counts.items() if count == max(counts.values())]
        if len(best) == 1 and counts[best[0]]:
            by_row[row] = best[0]
    return by_row


def names_of(file: str, tag: str) -> set[str]:
    """Return the names that a table may use for a run, without regard to case."""
    last = _last(file)
    return {name.casefold() for name in (file, last, stem_of(last), tag) if name}


def of_which(rows: Sequence[str], by_row: Mapping[str, int], counts: int) -> dict[str, int]:
    """Complete the assignment of rows to runs, once it is known which run counts.

    Parameters
    ----------
    rows : sequence of str
        The names in the claims.
    by_row : mapping of str to int
        The runs of some names, from `runs_of_rows`.
    counts : int
        Number of the run that counts.

    Returns
    -------
    dict of str to int
        The run of each name; `NOT_HANDED_IN` if it can only be another run. Empty if it is unknown which of several
        names belongs to the run that counts.
    """
    left = [row for row in rows if row not in by_row]
    if not by_row and len(rows) > 1:
        return {}
    if len(left) == 1 and counts not in by_row.values():
        return {**by_row, left[0]: counts}
    return {**dict.fromkeys(left, NOT_HANDED_IN), **by_row}
