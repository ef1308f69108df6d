"""Find the owner of a file from the names in exports of learning platforms; and make safe names for any file.

The names of Moodle, Canvas and Gradescope are parsed as their programs write them [1]_ [2]_ [3]_; those of Blackboard
and GitHub Classroom as their exports show them.

References
----------
.. [1] Moodle, mod/assign/classes/downloader.php: name or group and number, ``assignsubmission``, kind.
.. [2] Canvas, lib/content_zipper.rb: name or group in small letters without spaces, ``LATE``, number of the user,
   number and name of the file; a second file of the same name gets ``-1``, ``-2``, ….
.. [3] Gradescope, "Export submissions": a folder or file for each submission, and submission_metadata.yml with its
   submitters, its time and earlier submissions.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import NamedTuple

from treceval_py.grading.intake.folders import Owner

METADATA = "submission_metadata.yml"
"""Gradescope's file about the submitters."""


class Named(NamedTuple):
    """What the name of a file or folder of a class says.

    Attributes
    ----------
    student : str
        The student, with the platform's number, so that two of the same name stay apart.
    rest : str
        The student's own name for the file; empty for a folder.
    platform, owners, group, handed_in, late, attempt
        See `Submission`; later attempts are greater.
    number : int
        See `Item`.
    """

    student: str
    rest: str = ""
    platform: str = ""
    owners: tuple[Owner, ...] = ()
    group: str = ""
    handed_in: str = ""
    late: bool | None = None
    attempt: str = ""
    number: int = 0


# A folder, or the beginning of a name: "Ada Lovelace_12345_assignsubmission_file_". For groups that hand in together,
# the group's name replaces the student's, and "Default group" has no number; Moodle 2 put the group before each name.
_MOODLE = re.compile(
    r"(?:(?P<group>[^-]*\b(?:group|team|gruppe|groupe|grupo|gruppo|groep)\b[^-]*)-)?(?P<name>.+?)(?:_(?P<number>\d+))?"
    r"_assignsubmission_[a-z]+(?:_(?P<rest>.*))?",
    re.DOTALL | re.IGNORECASE,
)
_GROUP = re.compile(r"(?i).*\b(group|team|gruppe|groupe|grupo|gruppo|groep|équipe|equipo|小组|组)\b.*|.*[组組].*")

# "Homework 1_ada1_attempt_2026-01-01-10-00-00_run.txt", and the same with ".txt" for typed text.
_BLACKBOARD = re.compile(r"(?s)(?P<before>.+)_attempt_(?P<attempt>\d{4}(?:-\d\d){5})(?:_(?P<rest>.+)|(?P<typed>\.txt))")

# "lovelaceada_LATE_123_456_run.txt"; typed text has no file number; anonymous users begin with "anon".
_CANVAS = re.compile(
    r"(?:(?P<name>[^\W\d]\w*?)_)??(?P<late>LATE_)?(?P<user>\d+|anon_[A-Za-z0-9]{5})"
    r"_(?:(?P<number>\d+)_(?P<rest>.+)|(?P<typed>(?:text|link)\.html))",
    re.DOTALL,
)
NUMBERED = re.compile(r"-(\d)(?=(\.[^./]*)*$)")
"""Canvas's addition to the name of a file whose name existed already."""


def owners_of(
    names: Sequence[tuple[str, bool]], metadata: Mapping[str, Named] | None = None, repositories: bool = False
) -> list[Named]:
    """Return the owners of the files and folders of a class.

    Parameters
    ----------
    names : sequence of (str, bool)
        All names of the class, and whether each is a folder.
    metadata : mapping of str to Named, optional
        Gradescope's data about each, from `gradescope_of`.
    repositories : bool
        Whether the folders are repositories, as in GitHub Classroom.

    Returns
    -------
    list of Named
        In the same order. An entry that no platform named belongs to the student of its name, without the ending.

    Examples
    --------
    >>> owners_of([("Ada Lovelace_12345_assignsubmission_file_", True)])[0].student
    'Ada Lovelace_12345'
    >>> owners_of([("lovelaceada_LATE_123_456_run.txt", False)])[0][:3]
    ('lovelaceada_123', 'run.txt', 'canvas')
    >>> owners_of([("ada.run.gz", False)])[0].student
    'ada'
    """
    files = [name for name, folder in names if not folder]
    folders = [name for name, folder in names if folder]
    of_blackboard = _assignment([parts["before"] for name in files if (parts := _BLACKBOARD.fullmatch(name))], "_")
    # Canvas names have no mark of their own: a single "bm25_10_20_x.txt" among other names does not count.
    canvas = 2 * sum(_CANVAS.fullmatch(name) is not None for name in files) > len(files)
    of_github = _assignment(folders, "-") if len(folders) >= (2 if repositories else A_CLASS) else ""
    made = []
    for name, folder in names:
        if metadata and name in metadata:
            made.append(metadata[name]._replace(rest="" if folder else name))
        elif folder and of_github and not _MOODLE.fullmatch(name):
            login = name[len(of_github) :]
            made.append(Named(login, "", "github" if repositories else "", (Owner(number=login),)))
        else:
            made.append(named_of(name, folder, of_blackboard, canvas=canvas))
    return made


def named_of(name: str, folder: bool, assignment: str = "", *, canvas: bool = False) -> Named:
    """Return what a name alone says; ``assignment`` is the common beginning of Blackboard's names."""
    if parts := _MOODLE.fullmatch(name):
        owner = parts["name"] + (f"_{parts['number']}" if parts["number"] else "")
        group = parts["group"] or (parts["name"] if _GROUP.fullmatch(parts["name"]) else "")
        # "Participant" is everybody's name if they are anonymous.
        own = "" if parts["name"] == "Participant" else parts["name"]
        return Named(owner, parts["rest"] or "", "moodle", (Owner(own, parts["number"] or ""),), group)
    if parts := _BLACKBOARD.fullmatch(name):
        typed = parts["typed"] and "typed" + parts["typed"]
        login, at = parts["before"][len(assignment) :], parts["attempt"].split("-")
        when = _in_utc("-".join(at[:3]) + "T" + ":".join(at[3:]))
        rest = typed or parts["rest"]
        return Named(login, rest, "blackboard", (Owner(number=login),), handed_in=when, attempt=parts["attempt"])
    if canvas and not folder and (parts := _CANVAS.fullmatch(name)):
        user, own, rest = parts["user"], parts["name"] or "", parts["typed"] or parts["rest"]
        again = NUMBERED.search(rest)
        return Named(
            f"{own}_{user}" if own else user,
            rest,
            "canvas",
            (Owner(own, "" if user.startswith("anon") else user),),
            late=parts["late"] is not None,
            attempt="" if again is None else str(1 + int(again[1])),
            number=int(parts["number"] or 0),
        )
    student = name if folder else stem_of(name)
    email = student if re.fullmatch(r"[^@\s]+@[^@\s]+\.[A-Za-z]+", student) else ""
    owner = Owner("" if email else student, "", email)
    return Named(student, "" if folder else name, owners=(owner,))


A_CLASS = 3
"""Fewest files that look like runs, or folders that begin alike, which make a folder that of a class."""

_SHORT_NUMBER = re.compile(r"[\d_-]{0,3}")
"""Numbers too short to identify a student; registration numbers are longer."""


def _assignment(before: Sequence[str], end: str) -> str:
    """Return the name of the assignment with the character after it, from the common beginning of all students' names.

    A common part belongs to the student if only a short number would be left otherwise, as in ``HW_3_ada_1``.
    """
    first, last = min(before, default=""), max(before, default="")
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    at = first.rfind(end, 0, common) + 1
    while at and any(_SHORT_NUMBER.fullmatch(name[at:]) for name in before):
        at = first.rfind(end, 0, at - 1) + 1
    return first[:at]


_SECTION = re.compile(r"(?ms)^  (:\w+):(.*?)(?=^  :|\Z)")
_FIELD = re.compile(r"(?m)^ *(:\w+):[ \t]*(.*)$")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?")


def gradescope_of(text: str) -> dict[str, Named]:
    r"""Return Gradescope's data about each submission, from the relevant lines of its YAML.

    Examples
    --------
    >>> lines = "7.pdf:", "  :submitters:", "  - :name: Ada", "    :sid: '17'", "  :created_at: 2026-01-02 10:00:00 Z"
    >>> gradescope_of("\n".join(lines))["7.pdf"][:1], gradescope_of("\n".join(lines))["7.pdf"].handed_in
    (('Ada_17',), '2026-01-02T10:00:00Z')
    """
    known = {}
    for entry in re.split(r"(?m)^(?=\S)", text):
        name, _, rest = entry.partition("\n")
        sections = dict(_SECTION.findall(rest))
        items = [dict(_FIELD.findall(item)) for item in re.split(r"(?m)^ +- ", sections.get(":submitters", ""))[1:]]
        owners = tuple(Owner(*(_plain(item.get(key, "")) for key in (":name", ":sid", ":email"))) for item in items)
        if owners:
            called = [f"{owner.name}_{owner.number}".strip("_") or owner.email for owner in owners]
            group = ", ".join(owner.name or owner.email for owner in owners) if len(owners) > 1 else ""
            time = _TIME.search(sections.get(":created_at", ""))
            when = "" if time is None else _in_utc(f"{time[1]}T{time[2]}{time[3] or ''}")
            attempt = str(1 + len(re.findall(r"(?m)^  - ", sections.get(":history", ""))))
            named = Named(" and ".join(called), "", "gradescope", owners, group, when, attempt=attempt)
            known[_plain(name.rstrip().removesuffix(":"))] = named
    return known


def _in_utc(when: str) -> str:
    try:
        read = datetime.fromisoformat(when)
    except ValueError:
        return ""
    return when if read.tzinfo is None else read.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(value: str) -> str:
    """Return a YAML value without its quotes."""
    value = value.strip()
    if value.startswith('"'):
        with contextlib.suppress(ValueError):
            return str(json.loads(re.sub(r"\\x(..)", r"\\u00\1", value)))
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace("''", "'")
    return "" if value in ("null", "~") else value


def stem_of(name: str) -> str:
    """Return the name of a file without its endings: that of a compression, and one more.

    Examples
    --------
    >>> stem_of("ada.tsv.gz"), stem_of("J. Doe"), stem_of("ada.2")
    ('ada', 'J. Doe', 'ada.2')
    """
    short = re.sub(r"(?i)\.(gz|bz2|xz|zst)$", "", name)
    return re.sub(r"\.[A-Za-z][A-Za-z0-9]{0,7}$", "", short) or short or name


_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
"""Device names on Windows, with any ending."""

LONGEST = 80


def safe_name(student: str, taken: set[str]) -> str:
    """Return a unique name for the files of a student that works on any system.

    Parameters
    ----------
    student : str
        The student.
    taken : set of str
        The names in use, in lower case; the new one is added.

    Returns
    -------
    str
        ASCII letters, digits, dots, hyphens and underscores, at most 80, not beginning with a dot or hyphen. If letters
        were left out, or the name is in use, digits of a hash of the student's name are added.

    Examples
    --------
    >>> safe_name("Zoë Müßig_12345", set())
    'Zoe_Mussig_12345'
    """
    plain = unicodedata.normalize("NFKD", student.replace("ß", "ss"))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", plain).rstrip("_.").lstrip("_.-")
    lost = any(not letter.isascii() and letter.isalnum() for letter in plain)
    digits = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()
    if lost or not name or len(name) > LONGEST or _RESERVED.match(name):
        name = f"{name[: LONGEST - 10] or 'student'}-{digits[:8]}"
        name = f"_{name}" if _RESERVED.match(name) else name
    base, number = name, 1
    while name.lower() in taken:
        name = f"{base[: LONGEST - 10]}-{digits[:8]}" + (f"-{number}" if number > 1 else "")
        number += 1
    taken.add(name.lower())
    return name
