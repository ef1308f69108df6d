"""The record of a graded submission: plain data that is kept, and from which all output is made."""

from __future__ import annotations

from typing import NamedTuple

from treceval_py._types import FloatArray, IntArray
from treceval_py.checking.findings import Finding

KEPT = ".grades"
"""The folder of records within the output; it marks the output as a folder that grading made."""

MANIFEST = "files.json"
"""List of the written files, in the folder of records: for each name the SHA-256 of the content, or None if unknown."""

JUDGED = "judged-ranking"
"""The kind of a file that is both ranking and judgments."""

SCORED, REPAIRED, REFUSED, MISSING, FAILED = "scored", "repaired", "refused", "missing", "failed"

STATUSES = {
    SCORED: "the run was scored",
    REPAIRED: "the run was scored after lossless repairs",
    REFUSED: "a file was found, but it is not a run that can be scored",
    MISSING: "no run was found",
    FAILED: "grading was stopped: too much time, memory or data, or a crash",
}
"""The results of grading a submission."""

CORRECT, ROUNDING, CONVENTION, MISTAKE = "correct", "rounding", "convention", "mistake"
NOT_REPRODUCED, UNCHECKED, NO_CLAIM = "not reproduced", "unchecked", "no claim"

VERDICTS = {
    CORRECT: "the number is right",
    ROUNDING: "the number is right except for its rounding",
    CONVENTION: "the number is right under another convention",
    MISTAKE: "the number is explained by a common mistake",
    NOT_REPRODUCED: "the number is not reproduced by any convention or common mistake that was tried",
    UNCHECKED: "the number could not be checked: no run, no known measure, or too few digits",
    NO_CLAIM: "no number was claimed where one was expected",
}
"""The verdicts on a claim."""

CONFIRMED, EXPLAINED, ASKED = "confirmed", "explained", "asked"

EVIDENCE = {
    CONFIRMED: "the number is right for the run",
    EXPLAINED: "the number is known from elsewhere: a query, another run, the baseline or another convention",
    ASKED: "the number equals no known value: a question for a person",
}
"""What is said of a number that is not declared; it has no effect on the points."""

OF_WHICH = "nothing shows to which run this number belongs"
"""Why a number could not be checked if there may be several runs."""


BY_TEACHER = ("accepted by the teacher", "rejected by the teacher")
"""How the reason of a claim begins if the teacher decided on it."""


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
        Why it has this role, for people; a sentence without a full stop.
    bytes : int
        Its size in bytes, uncompressed if known.
    """

    name: str
    role: str
    why: str
    bytes: int


class Checked(NamedTuple):
    """A claim with its verdict, or another number beside the name of a measure.

    Attributes
    ----------
    measure : str
        The measure, as claimed.
    text : str
        The number, as written.
    place : str
        Place of the claim, such as ``claims.csv:4``.
    verdict : str
        One of `VERDICTS`, or of `EVIDENCE` if it is not declared.
    value : float or None
        The number under the assignment's conventions; None if there is none.
    why : str
        Which convention or mistake, how it was rounded, what came nearest, or why it was not checked; without a full
        stop; empty for a correct claim.
    profile : str
        The profile that gives the number; empty if no profile alone gives it.
    run : str
        The file of the run by which it was checked; empty without a run.
    counts : bool
        Whether it affects points; a number of a run that does not count has no effect, and evidence has none.
    sentence : str
        The sentence or row that it stands in, if it is not declared.
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
    sentence: str = ""


class RunRead(NamedTuple):
    """One of the runs of a submission.

    Attributes
    ----------
    name : str
        The file.
    status : str
        ``scored``, ``repaired`` or ``refused``.
    reason : str
        Why it is refused, a sentence without a full stop; empty otherwise.
    measures : dict of str to float
        The means; empty if it is refused.
    right : int
        Number of claims that are right for it.
    handed_in : str
        When it was handed in; see `Graded`.
    """

    name: str
    status: str = REFUSED
    reason: str = ""
    measures: dict[str, float] = {}  # noqa: RUF012 - never changed
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
        Its rank in the submission; None if it was not retrieved.
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
    """A submission compared with the baseline, by the first measure.

    Attributes
    ----------
    name : str
        The baseline.
    measure : str
        The measure.
    value, baseline : float
        Both means, over all judged queries or over the common ones, depending on the rules.
    queries, better, worse, equal : int
        Number of these queries, and of those in which the submission has the higher, lower or same value.
    p : float or None
        Result of a two-sided paired t-test; None with fewer than two queries.
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
    """A graded submission, without its points, which depend on the rules.

    Attributes
    ----------
    student : str
        Its author: the name of the folder or file, as found.
    source : str
        The folder, file or archive member that it came in.
    status : str
        One of ``STATUSES``.
    reason : str
        Why it is refused, missing or failed, a sentence without a full stop; empty otherwise.
    files : tuple of FileRead
        The files that were found.
    run : str
        The file that counts, which was scored unless the submission is refused; empty without one.
    kind : str
        ``run``, ``msmarco``, ``judged-ranking`` or empty.
    lines, queries, documents : int
        Their numbers in the run.
    missing_queries : tuple of int
        Number of judged queries that the run lacks, and number of judged queries.
    findings : tuple of Finding
        The findings of the check of the run that were kept.
    counts : dict of str to int
        Number of findings per code.
    repairs : tuple of str
        The repairs before scoring, each a sentence without a full stop.
    profile : str
        The profile under which the run was scored.
    measures : dict of str to float
        The means.
    signatures : dict of str to str
        The signature of each number.
    claims : tuple of Checked
        The claims, and all other numbers beside names of measures; expected claims that were not made have the verdict
        ``NO_CLAIM``.
    against : AgainstBaseline or None
        The comparison with the baseline, if there is one.
    hash_of_run : str
        SHA-256 of the bytes of the run, hexadecimal; empty without a run.
    hash_of_ranking : str
        A hash of the rankings, independent of scores and tag.
    tops : (T, K) int64 array or None
        The first K documents of the first T judged queries, as numbers, in byte order of the queries; -1 for missing
        documents. None without a run.
    runs : tuple of RunRead
        All files that were read as runs, the one that counts first.
    chosen : str
        Which run counts and why, if there were several; a sentence without a full stop, empty otherwise.
    values : (T,) float64 array or None
        The first measure of the rules for each judged query, in byte order of the queries; NaN if there is no value.
        None without a run.
    handed_in : str
        When it was handed in, if known: ISO 8601, in UTC if the zone is known; empty otherwise.
    late : bool or None
        Whether the platform marks it as late; None if unknown.
    attempt : str
        Number of the attempt, as the platform counts; empty if it does not.
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
