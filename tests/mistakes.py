"""Judgments and a run on which common mistakes of scoring give other values."""

from __future__ import annotations

LABELS = {"q1": {"a": 2, "b": 1, "c": 0, "d": 1}, "q2": {"a": 1, "b": 3}, "q3": {"a": 1}}
"""q3 is not in the run."""

LISTS = {
    "q1": {"x": 5.0, "a": 4.0, "b": 3.0, "c": 2.0, "y": 1.0},
    "q2": {"c": 3.0, "b": 2.0, "a": 1.0},
    "q4": {"a": 1.0},
    "q5": {"a": 1.0},
}
"""q4 and q5 are not judged."""

AP_1, AP_2 = (1 / 2 + 2 / 3) / 3, (1 / 2 + 2 / 3) / 2
"""q1 has relevant documents at ranks 2 and 3 and a third one not retrieved; q2 has its two at ranks 2 and 3."""
