"""How a claimed number and a value agree: each threshold, and what is just beyond it."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.claims.claims import claimed
from treceval_py.grading.claims.rounding import agreement, figure

CORRECT, ROUNDING, UNCHECKED = "correct", "rounding", "unchecked"

AGREED: list[tuple[str, float, float, str | None]] = [
    # a number, our value, the tolerance, the verdict; None where they do not agree
    ("0.30", 0.3, 0.0, CORRECT),
    ("0.30", 0.305, 0.0, CORRECT),  # half-way values may be rounded either way
    ("0.30", 0.295, 0.0, CORRECT),
    ("0.30", 0.305 + 9e-10, 0.0, CORRECT),  # another order of additions
    ("0.30", 0.305 + 1.2e-9, 0.0, ROUNDING),
    ("0.30", 0.2949, 0.0, None),
    ("0.30", 0.31 - 1.2e-9, 0.0, ROUNDING),  # cut off
    ("0.30", 0.31 - 9e-10, 0.0, None),
    # off by one in the last digit, after rounding: by 1.5 units at most, of three decimals or more
    ("0.300", 0.3009, 0.0, ROUNDING),  # cut off
    ("0.300", 0.3015, 0.0, ROUNDING),
    ("0.300", 0.2985, 0.0, ROUNDING),
    ("0.300", 0.3015 + 1.2e-9, 0.0, None),
    ("0.300", 0.2985 - 1.2e-9, 0.0, None),
    ("0.300", 0.3025, 0.0, None),
    ("0.30", 0.285, 0.0, None),
    # as if the values of queries were rounded to four decimals: by half of 0.0001 at most
    ("0.30000", 0.30005, 0.0, ROUNDING),
    ("0.30000", 0.29995, 0.0, ROUNDING),
    ("0.30000", 0.30005 + 1.2e-9, 0.0, None),
    ("0.30000", 0.29995 - 1.2e-9, 0.0, None),
    # a single decimal says too little, unless it is exact
    ("0.3", 0.3, 0.0, CORRECT),
    ("0.3", 0.3 + 1.2e-9, 0.0, UNCHECKED),
    ("0.3", 0.35, 0.0, UNCHECKED),
    ("0.3", 0.25, 0.0, UNCHECKED),
    ("0.3", 0.3501, 0.0, None),
    ("1", 1.0, 0.0, CORRECT),
    ("1", 0.99, 0.0, None),
    ("1", 0.01, 0.0, None),  # 1 is no percentage
    ("1.0", 0.96, 0.0, UNCHECKED),
    ("1.00", 0.996, 0.0, CORRECT),
    # the tolerance comes on top of the rounding
    ("0.30", 0.3055, 0.0005, CORRECT),
    ("0.30", 0.3056, 0.0005, ROUNDING),
    ("0.3", 0.31, 0.01, CORRECT),
    ("0.3", 0.3101, 0.01, UNCHECKED),
    ("1.5", 1.54, 0.0, CORRECT),  # digits before the point count
    ("15", 15.4, 0.0, CORRECT),
    # nothing can be cut off to 0
    ("0.00", 0.005, 0.0, CORRECT),
    ("0.00", 0.0051, 0.0, None),
    ("0.000", 0.0012, 0.0, None),
    ("0.001", 0.0019, 0.0, ROUNDING),
    # percentages
    ("30 %", 0.304, 0.0, CORRECT),
    ("30", 0.304, 0.0, CORRECT),
    ("30", 0.306, 0.0, ROUNDING),
    ("30.0", 0.3014, 0.0, ROUNDING),
    ("30.0", 30.04, 0.0, CORRECT),  # of a measure that may be so large
    ("2", 0.02, 0.0, CORRECT),
    ("0.3 %", 0.3, 0.0, None),
    ("0.3 %", 0.003, 0.0, CORRECT),
    ("-0.30", -0.304, 0.0, CORRECT),
    ("-0.30", -0.306, 0.0, None),
    ("-30", -0.304, 0.0, CORRECT),
]
COUNTED: list[tuple[str, float, str | None]] = [
    ("1000", 1000.0, CORRECT),
    ("1000", 1000.5, CORRECT),
    ("1000", 1000.51, None),
    ("1000.0", 1000.08, None),  # no count is cut off
    ("7", 7.0, CORRECT),
    ("7", 7.4, None),
    ("100", 1.0, None),  # and none is a percentage
    ("100000", 100000.5 + 9e-5, CORRECT),
    ("100000", 100000.5 + 1.2e-4, None),
]


def test_a_number_agrees_with_a_value_to_its_last_digit(snapshot: SnapshotAssertion) -> None:
    found, expected, words = {}, {}, {}
    for measure, text, value, tolerance, verdict in [
        *(("AP", *each) for each in AGREED),
        *(("NumRet", text, value, 0.0, verdict) for text, value, verdict in COUNTED),
    ]:
        case = f"{measure} {text} of {value!r}, {tolerance}"
        claim = claimed(measure, text, "c").claim
        assert claim is not None
        agreed = agreement(claim, value, tolerance)
        found[case], expected[case] = agreed and agreed[0], verdict
        words[case] = agreed and agreed[1]
    assert found == expected
    assert {case: why for case, why in words.items() if why} == snapshot


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (1234.0, 0, "1234"),
        (1 / 3, 1, "0.3333"),
        (1 / 3, 4, "0.3333"),
        (1 / 3, 5, "0.33333"),
        (1 / 3, 10, "0.3333333333"),
        (1 / 3, 11, "0.3333333333"),
    ],
)
def test_a_value_is_shown_with_four_to_ten_decimals(value: float, digits: int, shown: str) -> None:
    assert figure(value, digits) == shown
