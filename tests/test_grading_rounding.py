"""How a claimed number and a value agree: each threshold, and what is just beyond it."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.claims.claims import claimed
from treceval_py.grading.claims.reconciling import agreement, figure

CORRECT, ROUNDING, UNCHECKED = "correct", "rounding", "unchecked"

NOISE, MORE = 9e-10, 1.2e-9
"""Another order of additions makes the first of these differences, and not the second."""

# A number; values of ours, each with the verdict, None where they do not agree; the tolerance, if there is one.
AGREED: list[tuple[str, dict[float, str | None], float]] = [
    # half-way values may be rounded either way; beyond that, what is cut off
    ("0.30", {0.3: CORRECT, 0.305: CORRECT, 0.295: CORRECT, 0.305 + NOISE: CORRECT, 0.305 + MORE: ROUNDING}, 0),
    ("0.30", {0.31 - MORE: ROUNDING, 0.2949: None, 0.31 - NOISE: None, 0.285: None}, 0),
    # off by one in the last digit, after rounding: by 1.5 units at most, of three decimals or more
    ("0.300", {0.3009: ROUNDING, 0.3015: ROUNDING, 0.2985: ROUNDING}, 0),
    ("0.300", {0.3015 + MORE: None, 0.2985 - MORE: None, 0.3025: None}, 0),
    # as if the values of queries were rounded to four decimals: by half of 0.0001 at most
    ("0.30000", {0.30005: ROUNDING, 0.29995: ROUNDING, 0.30005 + MORE: None, 0.29995 - MORE: None}, 0),
    # a single decimal says too little, unless it is exact; 1 is no percentage; digits before the point count
    ("0.3", {0.3: CORRECT, 0.3 + MORE: UNCHECKED, 0.35: UNCHECKED, 0.25: UNCHECKED, 0.3501: None}, 0),
    *(("1", {1.0: CORRECT, 0.99: None, 0.01: None}, 0), ("1.0", {0.96: UNCHECKED}, 0), ("1.00", {0.996: CORRECT}, 0)),
    *(("1.5", {1.54: CORRECT, 1.56: None, 0.015: CORRECT}, 0), ("15", {15.4: CORRECT}, 0)),
    # the tolerance comes on top of the rounding
    ("0.30", {0.3055: CORRECT, 0.3056: ROUNDING}, 0.0005),
    ("0.3", {0.31: CORRECT, 0.3101: UNCHECKED}, 0.01),
    # nothing can be cut off to 0
    ("0.00", {0.005: CORRECT, 0.0051: None}, 0),
    *(("0.000", {0.0012: None, 0.0004: CORRECT}, 0), ("0.001", {0.0019: ROUNDING}, 0)),
    # percentages
    *(("30 %", {0.304: CORRECT}, 0), ("30", {0.304: CORRECT, 0.306: ROUNDING}, 0), ("66.6 %", {2 / 3: ROUNDING}, 0)),
    ("30.0", {0.3014: ROUNDING, 30.04: CORRECT}, 0),  # of a measure that may be so large
    *(("2", {0.02: CORRECT}, 0), ("0.3 %", {0.3: None, 0.003: CORRECT}, 0), ("49%", {0.4861: CORRECT}, 0)),
    *(("-0.30", {-0.304: CORRECT, -0.306: None}, 0), ("-30", {-0.304: CORRECT}, 0)),
]
COUNTED: list[tuple[str, dict[float, str | None]]] = [
    ("1000", {1000.0: CORRECT, 1000.5: CORRECT, 1000.51: None}),
    *(("1000.0", {1000.08: None}), ("7", {7.0: CORRECT, 7.4: None})),  # no count is cut off
    ("100", {1.0: None}),  # and none is a percentage
    ("100000", {100000.5 + 9e-5: CORRECT, 100000.5 + 1.2e-4: None}),
]


def test_a_number_agrees_with_a_value_to_its_last_digit(snapshot: SnapshotAssertion) -> None:
    found, expected, words = {}, {}, {}
    for measure, text, value, tolerance, verdict in [
        *(("AP", text, value, tolerance, verdict) for text, own, tolerance in AGREED for value, verdict in own.items()),
        *(("NumRet", text, value, 0, verdict) for text, own in COUNTED for value, verdict in own.items()),
    ]:
        case = f"{measure} {text} of {value!r}, {tolerance}"
        claim = claimed(measure, text, "c").claim
        assert claim is not None
        agreed = agreement(claim, value, tolerance)
        found[case], expected[case] = agreed and agreed[0], verdict
        words[case] = agreed and agreed[1]
    assert found == expected
    assert {case: why for case, why in words.items() if why} == snapshot


FIGURES = {
    (1234.0, 0): "1234", (1 / 3, 1): "0.3333", (1 / 3, 4): "0.3333", (1 / 3, 5): "0.33333", (1 / 3, 10): "0.3333333333",
    (1 / 3, 11): "0.3333333333",
}  # fmt: skip


def test_a_value_is_shown_with_four_to_ten_decimals() -> None:
    assert {case: figure(*case) for case in FIGURES} == FIGURES
