"""Which of several runs of a submission counts."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from treceval_py.errors import visible
from treceval_py.grading.claims.claims import DECLARED, Claimed
from treceval_py.grading.intake.candidates import last_of
from treceval_py.grading.marking.claiming import MOST_OTHERS, explained, says_something
from treceval_py.grading.marking.trying import Tried


def chosen(
    tried: Sequence[Tried], claims: Sequence[Claimed], of_row: Mapping[str, int], *, wanted: str, named: str
) -> tuple[int, str]:
    """Return which run counts, and why.

    Parameters
    ----------
    tried : sequence of Tried
        The runs, at least one, the likeliest first.
    claims : sequence of Claimed
        All numbers of the submission.
    of_row : mapping of str to int
        The runs of some names in claims, from `runs_of_rows`.
    wanted : str
        The file that the teacher chose; empty for none.
    named : str
        The pattern of the rules for the file that counts; empty for none.

    Returns
    -------
    int
        Number of the run that counts.
    str
        Which run counts and why, without a full stop; empty if there was no choice.
    """
    numbers, why = _named(tried, wanted, named)
    if len(tried) == 1:
        return 0, f"{tried[0].graded.run} counts: {why}" if wanted else ""
    number = numbers[0]
    if len(numbers) > 1:
        number, more = _one_of(tried, numbers, claims, of_row)
        why = "; ".join(filter(None, (why, more)))
    return number, f"{tried[number].graded.run} counts: {why}"


def _one_of(
    tried: Sequence[Tried], numbers: Sequence[int], claims: Sequence[Claimed], of_row: Mapping[str, int]
) -> tuple[int, str]:
    """Return which of several runs counts, and why."""
    scored = [number for number in numbers if tried[number].is_scored]
    # X201: none of its queries is judged.
    scored = [number for number in scored if "X201" not in tried[number].graded.counts] or scored
    if len(scored) == 1:
        return scored[0], f"it is the only one of {len(numbers)} runs that can be scored and has judged queries"
    if not scored:
        return numbers[0], f"none of {len(numbers)} runs can be scored, and it looks most like one"
    telling = [at for at, claim in enumerate(claims) if says_something(claim)]
    mine = {
        number: [at for at, claim in enumerate(claims) if of_row.get(claim.run, number) == number] for number in scored
    }
    fits = "right for"
    counts = {number: sum(tried[number].right[at] for at in mine[number] if at in telling) for number in scored}
    if telling and not any(counts.values()):
        fits = "explained by"
        for number in scored[:MOST_OTHERS]:
            declared = [claims[at] for at in mine[number] if claims[at].weight == DECLARED]
            counts[number] = explained(tried[number], declared)
    most = max(counts.values())
    scored = [number for number in scored if counts[number] == most]
    said = "1 claimed number is" if most == 1 else f"{most} claimed numbers are"
    if most and len(scored) == 1:
        return scored[0], f"{said} {fits} it, and fewer are {fits} any other run"
    if most:
        said = f"{said} {fits} each of {len(scored)} runs; "
    else:
        said = f"no claimed number is right for any of {len(tried)} runs, or explained by one; " if claims else ""
    last, why = last_of([tried[number].file for number in scored])
    latest = next(number for number in scored if tried[number].file is last)
    why = why or f"nothing shows which of {len(scored)} runs was handed in last, so the first of them counts"
    return latest, said + why


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
    pattern = pattern.casefold()
    known = (name.casefold(), name.rsplit("/", 1)[-1].casefold())
    return pattern in known or any(fnmatch.fnmatchcase(form, pattern) for form in known)
