"""What a person should look at: the list "needs a human", of each submission and of the class."""

from __future__ import annotations

__all__ = ["KINDS"]

KINDS = {
    "unread": "a document was not read",
    "several runs": "there are several runs, one of which was chosen",
    "no claims": "claims were expected, and none was found",
    "alike": "the run is like another one",
    "too good": "the scores are nearly perfect",
    "another's claim": "a claimed number is right for another student's run",
    "nobody's": "a submission belongs to nobody on the roster, or may belong to several",
    "kept edit": "a file was edited by hand, and is kept as it is",
}
"""The reasons, with what they mean."""
