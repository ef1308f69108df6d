"""The tests of differences between runs, by the names that users write."""

from __future__ import annotations

SIMULTANEOUS = "simultaneous"
"""The test of all pairs; it decides marks, letters and intervals unless another test is asked for."""

TESTS = {
    SIMULTANEOUS: "simultaneous test of all pairs of runs, a studentised bootstrap of the largest paired t",
    "t": "two-sided paired t-test",
    "wilcoxon": "two-sided Wilcoxon signed-rank test",
    "randomisation": "two-sided randomisation test",
}
"""What each is called in a sentence."""

RESAMPLES = {SIMULTANEOUS: 10_000, "randomisation": 100_000}
"""How many resamples a test draws."""
