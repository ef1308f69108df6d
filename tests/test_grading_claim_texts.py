"""Claims in texts that were written without looking at the code that reads them (claim_texts.py)."""

from __future__ import annotations

import pytest
from claim_texts import CLAIMS, NO_CLAIMS, Text

from treceval_py.grading.claims.claims import Claimed, claims_in


def numbers(found: list[Claimed]) -> list[tuple[str, float]]:
    """Return each measure and number once, as claims are counted; percentages as shares."""
    return sorted(
        {
            (each.claim.measure.notation, round(each.claim.value / (100 if each.claim.percent else 1), 6))
            for each in found
            if each.claim is not None
        }
    )


def test_there_are_forty_of_each() -> None:
    assert len({text.what for text in CLAIMS}) == len({text.what for text in NO_CLAIMS}) == 40
    assert {len(text.claims) for text in CLAIMS} == {3}


@pytest.mark.parametrize("text", CLAIMS, ids=lambda text: text.what)
def test_three_numbers_are_claimed_and_no_others(text: Text) -> None:
    found = claims_in(text.data(), text.name)
    assert [each.fault for each in found] == [""] * len(found)
    assert numbers(found) == sorted(text.claims)
    assert all(each.place.startswith((f"{text.name}:", f"{text.name}, ")) for each in found)


@pytest.mark.parametrize("text", [text for text in CLAIMS if text.runs], ids=lambda text: text.what)
def test_a_row_per_run_says_whose_numbers_they_are(text: Text) -> None:
    found = claims_in(text.data(), text.name)
    assert {each.run: each.claim.value for each in found if each.claim} == {
        run: value for run, (_, value) in zip(text.runs, text.claims, strict=True)
    }


@pytest.mark.parametrize("text", NO_CLAIMS, ids=lambda text: text.what)
def test_no_number_is_claimed(text: Text) -> None:
    assert claims_in(text.data(), text.name) == []
