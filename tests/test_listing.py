"""Measures and profiles, listed and found from Python."""

from __future__ import annotations

import pytest
from refused import refusal

import treceval_py as te
from treceval_py.cli.commands import treceval
from treceval_py.measuring import FAMILIES, by_section
from treceval_py.scoring.profiles import PROFILES


@pytest.mark.parametrize(
    ("text", "first", "number"),
    [
        ("map", "map", None),
        ("MAP", "map", None),
        ("nDCG", "ndcg", None),
        ("ndcg", "ndcg", None),
        ("P", "P", None),
        ("NDCG10", "ndcg_cut", 1),  # with a cutoff, it is one measure
        ("cosine_map@100", "map_cut", 1),
        ("reciprocal rank", "recip_rank", None),
        ("interpolated prec", "iprec_at_recall", 2),  # 11pt_avg averages it
        ("Judgment groups", "map_avgjg", None),
    ],
)
def test_a_measure_is_found_by_names_spellings_and_words(text: str, first: str, number: int | None) -> None:
    listed = te.measures(text)
    assert listed[0].trec_eval == first
    assert number is None or len(listed) == number


def test_every_measure_is_found_by_each_of_its_names() -> None:
    for family in FAMILIES.values():
        for name in (family.name, *family.notation):
            assert family.name in [each.trec_eval for each in te.measures(name)], name


def test_all_measures_are_in_print_order_and_a_set_has_its_members() -> None:
    listed = te.measures()
    assert [each.trec_eval for each in listed] == [one.name for families in by_section().values() for one in families]
    # trec_eval 10's -m set: what it prints
    assert [each.trec_eval for each in te.measures("official")][:5] == [
        "runid",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
    ]


def test_what_is_listed_says_how_to_ask_for_it() -> None:
    whole, cut = te.measures("nDCG")[:2]
    assert (whole.name, cut.name, cut.trec_eval) == ("nDCG", "nDCG@k", "ndcg_cut")
    assert whole.parameters["gain"] == "linear or exp or binary"
    asked = whole.name, cut.name.replace("@k", "@3")
    assert list(te.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, asked).mean.values()) == [1.0, 1.0]


def test_lists_print_as_the_command_prints_them() -> None:
    for name, listed in (("measures", te.measures()), ("profiles", te.profiles())):
        assert repr(listed).startswith(f"<{name.capitalize()}: ")
        assert "<table" in listed._repr_html_()
        printed = str(listed).splitlines()
        assert len(printed) > len(listed)
        assert set(printed) <= set(_printed(name).splitlines()) | {""}
    assert str(te.measures("nDCG@10")[0]) == _printed("measures", "ndcg_cut")
    (row,) = [line for line in str(te.measures("bpref")).splitlines() if line.startswith("bpref")]
    assert row.split()[1] == "Bpref"


def _printed(*arguments: str) -> str:
    from click.testing import CliRunner

    return CliRunner().invoke(treceval, arguments, catch_exceptions=False).output


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ranx", ["ranx"]),
        ("trec_eval-9", ["trec_eval-9"]),
        ("sentence-transformers", ["sentence-transformers"]),
        ("torchmetrics", ["torchmetrics"]),
    ],
)
def test_a_profile_is_found_by_its_name(text: str, names: list[str]) -> None:
    assert [profile.name for profile in te.profiles(text)][: len(names)] == names


def test_all_profiles_are_listed() -> None:
    assert [profile.name for profile in te.profiles()] == list(PROFILES)
    assert te.profiles("trec_eval")[0].name == "trec_eval-10"  # as profile="trec_eval" means


def test_what_is_not_there_gets_the_nearest_name() -> None:
    assert refusal(te.measures, "ndgc").startswith("UnknownMeasureError: unknown measure 'ndgc'. Did you mean ndcg?")
    assert refusal(te.profiles, "rankx") == "MeasureError: unknown profile 'rankx'. Did you mean ranx?"
    assert refusal(te.measures, 5).startswith("MeasureError: what to find must be text, not 5.")
