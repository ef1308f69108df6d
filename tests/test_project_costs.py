"""The measurement of costs: what it lets pass, and that it knows every command; `make costs` runs it."""

from __future__ import annotations

import costs
import pytest

from treceval_py.cli.commands import COMMANDS


@pytest.mark.parametrize(
    ("growing", "holds"),
    [
        ([0.1, 0.24, 0.548], True),  # 5.29 times and two hundredths of a second more
        ([0.1, 0.2, 0.55], False),
        ([0.1, 0.26, 0.5], True),  # one doubling pays for both
        ([0.0, 0.01, 0.019], True),  # what cannot be seen
        ([0.0, 0.01, 0.021], False),
        ([-0.01, 0.0, 0.019], True),  # less than the few lines took
    ],
)
def test_a_cost_may_grow_as_its_input_and_a_little_more(growing: list[float], holds: bool) -> None:
    assert costs.within(growing) == holds


def test_every_command_has_a_case_and_every_case_is_of_a_command() -> None:
    assert {case.command for case in costs.CASES} == {*COMMANDS, "trec_eval"}


def test_a_file_is_declared_once() -> None:
    named = [*costs.TEXTS, *costs.MADE, *costs.OTHERS]
    assert len(named) == len(set(named))
