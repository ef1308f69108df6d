"""What is known of a submission once it was graded: plain data that is kept, and that every output is made from."""

from __future__ import annotations

from typing import NamedTuple

from treceval_py._types import FloatArray, IntArray
from treceval_py.checking.findings import Finding

__all__ = [
    "BY_TEACHER",
    "CONVENTION",
    "CORRECT",
    "FAILED",
    "JUDGED",
    "MISSING",
    "MISTAKE",
    "NOT_REPRODUCED",
    "OF_WHICH",
    "NO_CLAIM",
    "REFUSED",
    "REPAIRED",
    "ROUNDING",
    "SCORED",
    "STATUSES",
    "UNCHECKED",
    "VERDICTS",
    "AgainstBaseline",
    "Checked",
    "FileRead",
    "Graded",
    "Loss",
    "LostDocument",
    "RunRead",
]

JUDGED = "judged-ranking"
"""The kind of file that is ranking and judgments at once."""

SCORED, REPAIRED, REFUSED, MISSING, FAILED = "scored", "repaired", "refused", "missing", "failed"

STATUSES = {
    SCORED: "the run was read and scored",
    REPAIRED: "the run was scored after lossless repairs",
    REFUSED: "a file was found, but it is not a run that can be scored",
    MISSING: "no run was found",
    FAILED: "grading was stopped: too much time, memory or data, or a crash",
}
"""What became of a submission."""

CORRECT, ROUNDING, CONVENTION, MISTAKE = "correct", "rounding", "convention", "mistake"
NOT_REPRODUCED, UNCHECKED, NO_CLAIM = "not reproduced", "unchecked", "no claim"

VERDICTS = {
    CORRECT: "the number is right",
    ROUNDING: "the number is right but for its rounding",
    CONVENTION: "the number is right under another convention",
    MISTAKE: "the number is explained by a common mistake",
    NOT_REPRODUCED: "no convention and no common mistake gives the number",
    UNCHECKED: "the number could not be checked: no run, no known measure, or too few digits",
    NO_CLAIM: "no number was claimed where one was expected",
}
"""What is said of a claim."""

OF_WHICH = "nothing shows of which run this number is"
"""Why a number could not be checked where there may be several runs."""


BY_TEACHER = ("accepted by the teacher", "rejected by the teacher")
"""How the reason of a claim begins on which the teacher decided."""


class FileRead(NamedTuple):
    """A file of a submission.

    Attributes
    ----------
    name : str
        Its path within the submission, with slashes.
    role : str
        ``run``, ``judged ranking``, ``claims``, ``report`` (a document that was read and has no claims), ``unread``
        (one that may have claims and was not read), ``not used`` or ``refused``.
    why : str
        Why it has this role, for people; whole sentence without full stop.
    bytes : int
        Its size, uncompressed where that is known.
    """

    name: str
    role: str
    why: str
    bytes: int


class Checked(NamedTuple):
    """A claim, and what is said of it.

    Attributes
    ----------
    measure : str
        The measure, as it was claimed.
    text : str
        The number, as it was written.
    place : str
        Where it was claimed: ``claims.csv:4``.
    verdict : str
        One of `VERDICTS`.
    value : float or None
        The number under the assignment's conventions; None where there is none.
    why : str
        Which convention or mistake, how it was rounded, what came nearest, or why it was not checked; without full
        stop; empty for a correct one.
    profile : str
        The profile that gives the number; empty where none does by itself.
    run : str
        The file of the run by which it was checked; empty without one.
    counts : bool
        Whether it can give points: a number of a run that does not count gives none, and takes none.
    """

    measure: str
    text: str
    place: str
    verdict: str
    value: float | None = None
    why: str = ""
    profile: str = ""
    run: str = ""
    counts: bool = True


class RunRead(NamedTuple):
    """One of the runs of a submission.

    Attributes
    ----------
    name : str
        The file.
    kind : str
        ``run``, ``msmarco``, ``judged-ranking`` or empty.
    status : str
        ``scored``, ``repaired`` or ``refused``.
    reason : str
        Why it is refused, a sentence without full stop; empty otherwise.
    measures : dict of str to float
        The means; empty where it is refused.
    hash_of_run, hash_of_ranking : str
        As of `Graded`.
    right : int
        How many claims are right for it.
    handed_in : str
        When, as of `Graded`.
    """

    name: str
    kind: str = ""
    status: str = REFUSED
    reason: str = ""
    measures: dict[str, float] = {}  # noqa: RUF012 - never changed
    hash_of_run: str = ""
    hash_of_ranking: str = ""
    right: int = 0
    handed_in: str = ""


class LostDocument(NamedTuple):
    """A document that the baseline ranks higher.

    Attributes
    ----------
    docid : str
        The document.
    label : int
        Its judgment.
    rank : int or None
        Its rank in the submission; None where it is not retrieved.
    baseline : int or None
        Its rank in the baseline.
    """

    docid: str
    label: int
    rank: int | None
    baseline: int | None


class Loss(NamedTuple):
    """A query in which the submission is below the baseline; the documents are the relevant ones that fell most."""

    qid: str
    value: float
    baseline: float
    documents: tuple[LostDocument, ...] = ()


class AgainstBaseline(NamedTuple):
    """A submission beside the baseline, by the first measure.

    Attributes
    ----------
    name : str
        The baseline.
    measure : str
        The measure.
    value, baseline : float
        Both means, over all judged queries or over those that both have, as the rules say.
    queries, better, worse, equal : int
        How many queries these are, and in how many the submission has the higher, lower, same value.
    p : float or None
        That of a paired t-test, two-sided; None with fewer than two queries.
    losses : tuple of Loss
        The queries that lost most, largest loss first.
    """

    name: str
    measure: str
    value: float
    baseline: float
    queries: int
    better: int
    worse: int
    equal: int
    p: float | None
    losses: tuple[Loss, ...] = ()


class Graded(NamedTuple):
    """A submission, graded but for its points, which rules give.

    Attributes
    ----------
    student : str
        Who it is from: the name of the folder or file, as it was found.
    source : str
        The folder, file or member of an archive that it came in.
    status : str
        One of `STATUSES`.
    reason : str
        Why it is refused, missing or failed, a sentence without full stop; empty otherwise.
    files : tuple of FileRead
        The files that were found.
    run : str
        The file that counts, which was scored unless the submission is refused; empty without one.
    kind : str
        ``run``, ``msmarco``, ``judged-ranking`` or empty.
    lines, queries, documents : int
        Of the run.
    missing_queries : tuple of int
        How many judged queries the run lacks, and how many queries are judged.
    findings : tuple of Finding
        What the check of the run found, as many of each code as are kept.
    counts : dict of str to int
        How many findings of each code there are.
    repairs : tuple of str
        What was repaired before scoring, each a sentence without full stop.
    profile : str
        The profile under which the run was scored.
    measures : dict of str to float
        The means.
    signatures : dict of str to str
        How each number was made.
    claims : tuple of Checked
        The claims; also, for those that are expected and were not made, one with the verdict `NO_CLAIM`.
    against : AgainstBaseline or None
        The comparison with the baseline, where there is one.
    hash_of_run : str
        SHA-256 of the bytes of the run, hexadecimal; empty without one.
    hash_of_ranking : str
        A hash of the rankings themselves, whatever scores and tag are.
    tops : (T, K) int64 array or None
        Numbers that stand for the first K documents of the first T queries that are judged, in the order of their
        bytes; -1 where there are fewer. None without a run.
    runs : tuple of RunRead
        All files that were read as runs, the one that counts first.
    chosen : str
        Which run counts and why, where there were several; a sentence without full stop, empty otherwise.
    values : (T,) float64 array or None
        The first measure of the rules for each judged query, in the order of their bytes; NaN where there is none. None
        without a run.
    handed_in : str
        When it was handed in, as far as that is known: ISO 8601, in UTC where the zone is known; empty otherwise.
    late : bool or None
        What the platform says of it; None where it says nothing.
    attempt : str
        Which of several attempts it is, as the platform counts them; empty where it does not.
    """

    student: str
    source: str
    status: str
    reason: str = ""
    files: tuple[FileRead, ...] = ()
    run: str = ""
    kind: str = ""
    lines: int = 0
    queries: int = 0
    documents: int = 0
    missing_queries: tuple[int, int] = (0, 0)
    findings: tuple[Finding, ...] = ()
    counts: dict[str, int] = {}  # noqa: RUF012 - never changed
    repairs: tuple[str, ...] = ()
    profile: str = ""
    measures: dict[str, float] = {}  # noqa: RUF012 - never changed
    signatures: dict[str, str] = {}  # noqa: RUF012 - never changed
    claims: tuple[Checked, ...] = ()
    against: AgainstBaseline | None = None
    hash_of_run: str = ""
    hash_of_ranking: str = ""
    tops: IntArray | None = None
    runs: tuple[RunRead, ...] = ()
    chosen: str = ""
    values: FloatArray | None = None
    handed_in: str = ""
    late: bool | None = None
    attempt: str = ""
