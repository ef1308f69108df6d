"""Tables of cases for checks: places and codes stand in the test, and the recording holds every word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treceval_py.checking.findings import Finding

READERS = ("", "python")
"""Values of TRECEVAL_READER: the compiled scanner and the careful reader."""


def brief(findings: Iterable[Finding]) -> str:
    """Return the place and code of each finding: ``2:10 R103, 3 F014, F001``."""
    return ", ".join(f"{each.place.removeprefix(each.file).strip(':')} {each.code}".strip() for each in findings)


def briefs(found: Mapping[str, Iterable[Finding]]) -> dict[str, str]:
    """Return places and codes by the names of cases."""
    return {name: brief(each) for name, each in found.items()}


def words(found: Mapping[str, Iterable[Finding]]) -> dict[str, list[str]]:
    """Return what is printed of the findings, by the names of the cases that have any."""
    return {name: every for name, each in found.items() if (every := [str(one) for one in each])}
