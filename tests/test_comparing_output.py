"""What a comparison looks like: tables for terminals, papers and pages, and records for programs."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.outcome import Compared, Difference, Settings
from treceval_py.comparing.outcome import Tested as Outcome
from treceval_py.comparing.show.sentences import methods, notes, sentences
from treceval_py.comparing.show.tables import records
from treceval_py.comparing.simultaneous import Simultaneous
from treceval_py.comparing.variance import Anova
from treceval_py.rendering import FORMATS
from treceval_py.rendering.escaping import typeset
from treceval_py.rendering.numbers import number, p_value
from treceval_py.rendering.terminal import panels
from treceval_py.scoring.signatures import Signature

NAN, INF = float("nan"), float("inf")

MADE = Signature.parse("AP(rel=1)|p:trec_eval-10|#:4|q:fff4dd91|v:0.1.0")

ANOVA = Anova(
    systems_ss=1.0, queries_ss=2.0, error_ss=3.0, systems_df=1, queries_df=3, error_df=3, systems_f=12.345,
    systems_p=0.0391, queries_f=45.6, queries_p=0.00002, error_ms=1.0,
)  # fmt: skip

HOSTILE = (
    "a|b&lt;_d", "<script>alert(1)</script>", "\"it's\"", "模型😀", "שלום", "x\x1b[31mred\r\n", "[opt]*{}$%#\\^~", "=1+1",
    "Zoë--rm3``x''", "\udc80",
)  # fmt: skip


def difference(run=1, other=0, *, mean=0.1, p=0.01, adjusted=0.02, tests=("t",), **changes):
    made = Difference(
        run, other, mean, mean - 0.05, mean + 0.05, dict.fromkeys(tests, Outcome(2.5, p, adjusted)), 0.5, 0.125, 0.875, 3,
        0, 1, NAN, 34.0,
    )  # fmt: skip
    return made._replace(**changes)


def together(runs, p=0.01, critical=2.5):
    """Return a test of all pairs, each of which has this p-value."""
    p = np.full((runs, runs), p)
    np.fill_diagonal(p, 1.0)
    return Simultaneous(p * 0, p * 0, p, np.full(99, critical))


def compared(measure="map", means=(0.25, 0.35), letters=("b", "a"), differences=None, **changes):
    means = np.array(means)
    made = Compared(
        measure, MADE, ("1", "2", "3", "4"), np.repeat(means[:, None], 4, axis=1), means, means - 0.1, means + 0.1,
        (int(means.argmax()),), letters, ANOVA, together(len(means)), (difference(),) if differences is None else tuple(differences), (), 0.05,
    )  # fmt: skip
    return made._replace(**changes)


def comparison(
    *measures, runs=("bm25", "dense"), baseline=0, notes=(), judgments="qrels.txt", version="0.1.0", **settings
):
    found = measures or (compared(),)
    family = sum(len(each.differences) for each in found)
    files = tuple(f"{name}.txt" for name in runs)
    settings = {"test": "t", "tests": ("t",), "correction": "holm", "interval": "t", "letters": "tukey"} | settings
    return Comparison(runs, baseline, found, Settings(**settings), family, files, judgments, notes, version)


def hostile(measures=("map",)):
    """Return a comparison of runs with names that formats must escape."""
    count = len(HOSTILE)
    differences = [difference(run) for run in range(1, count)]
    means = [0.1 + run / 100 for run in range(count)]
    found = [compared(name, means, ("a",) * count, differences) for name in measures]
    return comparison(*found, runs=HOSTILE, notes=("the <b> & 100 % of \x07",))


def many_runs(count, *measures):
    """Return a comparison of many runs without differences."""
    found = [compared(name, [0.3] * count, ("a",) * count, [], best=(0,)) for name in measures]
    return comparison(*found, runs=tuple(f"system{number}" for number in range(count)))


def shown(format, found=None, **layout):
    found = comparison() if found is None else found
    if format == "latex":
        return found.to_latex(**{"sort": "given", "columns": 2, "raw_names": True} | layout)
    return found.to_text(format, **{"sort": "given"} | layout)


class TestNumbers:
    @pytest.mark.parametrize(
        ("p", "text"),
        [
            (0.01234, "0.0123"),
            (0.0001, "0.0001"),
            (0.00009, "<0.0001"),
            (0.0, "<0.0001"),
            (0.99999, "1.0000"),
            (NAN, "–"),
        ],
    )
    def test_p_values_have_four_decimals_and_are_never_zero(self, p, text):
        assert p_value(p) == text

    @pytest.mark.parametrize(
        ("value", "text"),
        [(0.12345, "0.123"), (-0.5, "-0.500"), (-0.0001, "0.000"), (NAN, "–"), (INF, "∞"), (-INF, "-∞")],
    )
    def test_a_number_has_its_decimals_and_is_never_minus_zero(self, value, text):
        assert number(value, 3) == text

    @pytest.mark.parametrize(("value", "text"), [(0.5, "+0.5"), (-0.5, "-0.5"), (0.01, "0.0"), (INF, "+∞")])
    def test_a_difference_has_its_sign(self, value, text):
        assert number(value, 1, signed=True) == text


class TestTerminal:
    def test_means_differences_and_what_they_mean(self):
        precision = compared("P_10", (0.5, 0.25), ("a", "a"), [difference(mean=-0.25, adjusted=0.06)])
        result, *others = sentences(comparison(compared(), precision))
        assert shown("table", comparison(compared(), precision)).splitlines() == [
            result,
            "",
            "run                    map           P_10",
            "─────────────────────────────────────────────",
            "bm25 (baseline)     0.2500   b   ● 0.5000   a",
            "dense             ● 0.3500 ▲ a     0.2500   a",
            "",
            "Differences from bm25 (baseline)",
            "",
            "measure   run     difference         95 % pointwise    p (t)   p (Holm)       d        95 % of d   w/t/l   needed",
            "─" * 113,
            "map       dense      +0.1000 ▲   [+0.0500, +0.1500]   0.0100     0.0200   +0.50   [+0.12, +0.88]   3/0/1       34",
            "",
            "P_10      dense      -0.2500     [-0.3000, -0.2000]   0.0100     0.0600   +0.50   [+0.12, +0.88]   3/0/1       34",
            "",
            "●: highest mean.",
            *others,
        ]

    def test_of_each_two_runs_both_are_named_and_means_have_no_marks(self):
        lines = shown("table", comparison(baseline=None)).splitlines()
        assert lines[4:8] == ["bm25      0.2500 b", "dense   ● 0.3500 a", "", "Differences of all pairs of runs"]
        assert lines[11].startswith("map       dense   bm25       +0.1000 ▲")

    def test_without_letters_and_marks_no_space_is_left_for_them(self):
        found = comparison(compared(letters=("", ""), differences=[difference(adjusted=0.5)]), letters="none")
        assert shown("table", found).splitlines()[2:6] == [
            "run                    map",
            "──────────────────────────",
            "bm25 (baseline)     0.2500",
            "dense             ● 0.3500",
        ]

    def test_equal_means_are_all_best(self):
        means = compared(means=(0.35, 0.25, 0.35), letters=("a",) * 3, best=(0, 2), differences=[])
        lines = shown("table", comparison(means, runs=("a", "b", "c"))).splitlines()
        assert [line.count("●") for line in lines[4:7]] == [1, 0, 1]

    def test_no_mean_is_best_where_all_are_equal(self):
        found = comparison(compared(means=(0.25, 0.25), letters=("a", "a"), best=(0, 1)))
        for name in ("table", "markdown", "html", "latex"):
            text = shown(name, found)
            assert not any(sign in text for sign in ("●", "**0.", "<b>", "textbf", "highest mean"))

    def test_the_best_mean_is_bold_where_styles_may_be_used(self):
        assert shown("table", colour=True).splitlines()[5] == "dense             \x1b[1m● 0.3500 ▲ a\x1b[0m"
        assert "\x1b" not in shown("table")

    def test_means_wider_than_the_terminal_are_cut_into_blocks_of_measures(self):
        found = comparison(compared(), compared("P_10"), compared("recip_rank"))
        # the names take 15 columns, a measure 12 and 3 before it, the last one 14 and 3
        lines = shown("table", found, width=45).splitlines()
        assert [line for line in lines if line.startswith("run ")] == [
            "run                    map           P_10",
            "run               recip_rank",
        ]

    def test_differences_wider_than_the_terminal_are_cut_into_blocks_that_begin_with_names(self):
        lines = shown("table", width=78).splitlines()
        # 7 + 3 + 5 for names; 12, 18, 6 and 8 with 3 before each are 56; 5 for d with its 3 do not fit into the other 7
        assert lines[10:18] == [
            "measure   run     difference         95 % pointwise    p (t)   p (Holm)",
            "─" * 71,
            "map       dense      +0.1000 ▲   [+0.0500, +0.1500]   0.0100     0.0200",
            "",
            "measure   run         d        95 % of d   w/t/l   needed",
            "─" * 57,
            "map       dense   +0.50   [+0.12, +0.88]   3/0/1       34",
            "",
        ]

    def test_the_width_of_names_is_that_of_the_terminal(self):
        # 模型模型 takes 8 columns, and a mean 10 with 3 before it: two measures fit beside it into 34, not into 33
        found = comparison(compared(), compared("P_10"), runs=("模型模型", "bm25"), baseline=None)
        titles = [
            [line for line in shown("table", found, width=width).splitlines() if line.startswith("run ")]
            for width in (34, 33)
        ]
        assert [len(lines) for lines in titles] == [1, 2]

    def test_nothing_but_names_and_signatures_is_wider_than_the_terminal(self):
        tests = ("t", "wilcoxon", "sign", "randomisation")
        made = [compared(name, differences=[difference(tests=tests)]) for name in ("map", "ndcg_cut_10", "recip_rank")]
        lines = shown("table", comparison(*made, tests=tests, notes=("word " * 40,)), width=60).splitlines()
        assert max(map(len, lines)) <= 60

    def test_sentences_are_wrapped_with_a_hanging_indent(self):
        lines = shown("table", width=80).splitlines()
        at = lines.index("needed: queries with which a two-sided paired t-test finds this d with power")
        assert lines[at + 1] == "  0.8, at 0.05."

    def test_many_letters_in_a_row_are_written_as_the_first_and_the_last(self):
        found = comparison(compared(letters=("abcdefg", "a")))
        assert shown("table", found).splitlines()[4] == "bm25 (baseline)     0.2500   a–g"

    def test_a_large_number_of_queries_is_not_written_out(self):
        needs = [difference(needed=needed) for needed in (21336669.0, 10001.0, 10000.0, INF)]
        lines = shown("table", comparison(compared(differences=needs))).splitlines()[11:15]
        assert [line.split()[-1] for line in lines] == [">10,000", ">10,000", "10000", "∞"]

    def test_corrected_p_values_stand_behind_those_of_their_test_and_name_it(self):
        found = comparison(compared(differences=[difference(tests=("t", "sign"))]), tests=("t", "sign"))
        assert "p (t)   p (t, Holm)   p (sign)       d" in shown("table", found)

    def test_what_cannot_be_had_is_a_dash(self):
        nothing = difference(
            p=NAN, adjusted=NAN, low=NAN, high=NAN, effect=NAN, effect_low=NAN, effect_high=NAN, needed=NAN
        )
        row = shown("table", comparison(compared(differences=[nothing]))).splitlines()[11]
        assert row.split() == ["map", "dense", "+0.1000", "–", "–", "–", "–", "–", "3/0/1", "–"]

    def test_an_infinite_effect_and_need_are_shown(self):
        found = comparison(compared(differences=[difference(effect=-INF, needed=INF)]))
        assert {"-∞", "∞"} <= set(shown("table", found).splitlines()[11].split())

    def test_control_characters_of_names_are_visible(self):
        text = shown("table", hostile())
        assert "x\\x1b[31mred\\r\\n" in text
        assert "\x1b" not in text
        assert "\r" not in text
        assert "\x07" not in text

    def test_digits_are_those_of_means_and_differences(self):
        text = shown("table", digits=2)
        assert "● 0.35 ▲ a" in text
        assert "+0.10 ▲   [+0.05, +0.15]   0.0100     0.0200" in text


class TestMarks:
    @pytest.mark.parametrize(
        ("mean", "adjusted", "mark"),
        [(0.1, 0.05, "▲"), (-0.1, 0.05, "▼"), (0.1, 0.0501, None), (0.1, NAN, None), (0.0, 0.01, None)],
    )
    def test_a_difference_is_marked_up_to_alpha_after_correction(self, mean, adjusted, mark):
        found = comparison(compared(differences=[difference(mean=mean, p=0.001, adjusted=adjusted)]))
        cells = shown("table", found).splitlines()[5]
        assert [sign for sign in "▲▼" if sign in cells] == ([mark] if mark else [])

    def test_the_test_of_the_settings_decides(self):
        tests = {"sign": Outcome(1.0, 0.01, 0.01), "t": Outcome(1.0, 0.5, 0.5)}
        found = compared(differences=[difference()._replace(tests=tests)])
        assert "▲" in shown("table", comparison(found, test="sign", tests=("sign", "t"))).splitlines()[5]
        assert "▲" not in shown("table", comparison(found, test="t", tests=("t", "sign"))).splitlines()[5]


class TestSentences:
    def test_the_defaults_are_said(self):
        assert sentences(comparison(notes=("two runs are alike",))) == [
            "dense has the higher map, 0.3500 against 0.2500. The difference is significant (simultaneous test, p ≤ 0.05).",
            "Means over 4 queries, judged by qrels.txt.",
            (
                "▲▼: mean above or below that of bm25 (baseline), with a significant difference: two-sided paired t-test, "
                "p ≤ 0.05, Holm's correction over 1 p-value."
            ),
            "Intervals of differences: 95 %, pointwise (each by itself), Student's t.",
            (
                "Letters: runs that share one do not differ significantly: Tukey's HSD test after a two-way analysis of "
                "variance at 0.05."
            ),
            (
                "d: mean of the differences over their standard deviation (Cohen's d_z), with the pointwise 95 % interval "
                "of the noncentral t distribution."
            ),
            "w/t/l: queries in which the run wins, ties and loses.",
            "needed: queries with which a two-sided paired t-test finds this d with power 0.8, at 0.05.",
            "map, two-way analysis of variance: systems F(1, 3) = 12.35, p = 0.0391; queries F(3, 3) = 45.60, p < 0.0001.",
            "Note: two runs are alike.",
            "map: AP(rel=1)|p:trec_eval-10|#:4|q:fff4dd91|v:0.1.0",
            "treceval_py 0.1.0",
        ]

    def test_resamples_and_seed_are_said_only_where_they_are_used(self):
        assert "seed" not in " ".join(sentences(comparison()))
        settings = {"test": "randomisation", "tests": ("randomisation",), "resamples": 5000, "seed": 7}
        found = comparison(compared(differences=[difference(tests=("randomisation",))]), **settings)
        assert methods(found)["randomisation"] == (
            "Randomisation: 5,000 random sign flips, seed 7; all sign flips where there are no more than that."
        )

    def test_the_bootstrap_says_how_it_is_drawn(self):
        said = methods(comparison(interval="bca", confidence=0.9, bootstrap=2000, seed=7))["interval"]
        assert (
            said
            == "Intervals of differences: 90 %, pointwise (each by itself), BCa bootstrap, 2,000 resamples, seed 7."
        )

    @pytest.mark.parametrize(
        ("confidence", "text"),
        [
            (0.9999999999999999, "99.99999999999999 %"),
            (0.999, "99.9 %"),
            (0.29, "29 %"),
            (0.9, "90 %"),
            (1e-7, "0.00001 %"),
        ],
    )
    def test_a_confidence_has_all_its_digits(self, confidence, text):
        said = methods(comparison(confidence=confidence))["interval"]
        assert said == f"Intervals of differences: {text}, pointwise (each by itself), Student's t."

    def test_a_level_has_all_its_digits(self):
        assert "p ≤ 0.9999999, " in methods(comparison(alpha=0.9999999))["test"]

    def test_one_resample_is_singular(self):
        found = comparison(
            interval="bca", bootstrap=1, letters="randomised-tukey", tests=("randomisation",), resamples=1
        )
        assert methods(found)["interval"].endswith("BCa bootstrap, 1 resample, seed 1.")
        assert methods(found)["groups"].endswith("randomised Tukey HSD test at 0.05, 1 resample, seed 1.")
        assert methods(found)["randomisation"].startswith("Randomisation: 1 random sign flip, seed 1;")

    def test_a_note_is_called_one_once(self):
        assert notes(comparison(notes=("Note: a.", "b"))) == ["Note: a.", "Note: b."]

    def test_the_randomised_tukey_test_says_how_it_is_drawn(self):
        assert methods(comparison(compared(), compared("P_10"), letters="randomised-tukey", seed=7))["groups"] == (
            "Letters: runs that share one do not differ significantly: randomised Tukey HSD test at 0.05, "
            "100,000 resamples, seed 7, for each measure by itself."
        )

    def test_that_nothing_is_corrected_is_said(self):
        found = comparison(correction="none")
        assert methods(found)["test"].endswith("two-sided paired t-test, p ≤ 0.05, 1 p-value, not corrected.")
        assert "p (Holm)" not in shown("table", found)

    def test_other_tests_are_named(self):
        found = comparison(compared(differences=[difference(tests=("t", "sign"))]), tests=("t", "sign"))
        assert methods(found)["tests"] == "Also computed: two-sided sign test (sign); p-values shown as they are."

    def test_the_margin_of_equivalence_is_said(self):
        found = comparison(compared(differences=[difference(equivalence=0.25)]), margin=0.01)
        assert methods(found)["equivalence"] == (
            "p (equal): the difference lies within ±0.01, two one-sided paired t-tests, not corrected."
        )
        assert "p (equal)" in shown("table", found)
        assert "0.2500" in shown("table", found).splitlines()[11]

    def test_measures_over_different_queries_are_told_apart(self):
        found = comparison(compared(), compared("P_10"), compared("iprec", qids=("1",)), judgments="")
        assert methods(found)["queries"] == "Means over 4 queries (map, P_10), 1 query (iprec)."

    def test_what_there_is_not_is_not_explained(self):
        found = comparison(compared(letters=("", ""), anova=None, signature=None), letters="none")
        assert not [line for line in sentences(found) if line.startswith(("Letters", "map", "p (equal)", "Note"))]


class TestRecords:
    def test_a_record_has_all_that_was_found_of_a_difference(self):
        settings = {"tests": ("t", "sign"), "margin": 0.01, "correction": "benjamini-hochberg"}
        found = comparison(compared(differences=[difference(tests=("t", "sign"), equivalence=0.25)]), **settings)
        assert records(found) == [
            {
                "measure": "map", "run": "dense", "other": "bm25", "mean_run": 0.35, "mean_other": 0.25,
                "difference": 0.1, "low": 0.05, "high": 0.1 + 0.05, "interval": "t", "confidence": 0.95,
                "p_t": 0.01, "adjusted_t": 0.02, "statistic_t": 2.5,
                "p_sign": 0.01, "adjusted_sign": 0.02, "statistic_sign": 2.5,
                "effect": 0.5, "effect_low": 0.125, "effect_high": 0.875, "wins": 3, "ties": 0, "losses": 1,
                "p_equivalence": 0.25, "needed": 34.0, "queries": 4, "correction": "benjamini-hochberg",
                "letters_run": "a", "letters_other": "b",
            }
        ]  # fmt: skip

    def test_without_a_margin_there_is_no_test_of_equivalence(self):
        assert "p_equivalence" not in records(comparison())[0]

    def test_a_data_frame_has_a_row_for_each_difference(self):
        frame = comparison(compared(), compared("P_10")).to_pandas()
        assert frame[["measure", "run", "wins"]].values.tolist() == [["map", "dense", 3], ["P_10", "dense", 3]]


class TestSeparated:
    @pytest.mark.parametrize(("format", "delimiter"), [("csv", ","), ("tsv", "\t")])
    def test_numbers_have_all_their_digits(self, format, delimiter):
        found = comparison(compared(differences=[difference(mean=1 / 3, p=1e-12)]))
        (row,) = csv.DictReader(io.StringIO(shown(format, found)), delimiter=delimiter)
        assert (float(row["difference"]), float(row["p_t"]), row["wins"]) == (1 / 3, 1e-12, "3")

    def test_digits_are_those_of_values_and_not_of_p_values(self):
        found = comparison(compared(differences=[difference(mean=1 / 3, p=1e-12)]))
        (row,) = csv.DictReader(io.StringIO(shown("csv", found, digits=2)))
        assert (row["difference"], row["mean_run"], row["p_t"]) == ("0.33", "0.35", "1e-12")

    def test_no_number_is_an_empty_cell_and_infinite_is_inf(self):
        found = comparison(compared(differences=[difference(p=NAN, needed=INF)]))
        (row,) = csv.DictReader(io.StringIO(shown("csv", found)))
        assert (row["p_t"], row["needed"]) == ("", "inf")

    def test_letters_and_the_queries_needed_are_whole(self):
        found = comparison(compared(letters=("abcdefg", "a"), differences=[difference(needed=21336669.0)]))
        (row,) = csv.DictReader(io.StringIO(shown("csv", found)))
        assert (row["letters_other"], row["needed"]) == ("abcdefg", "21336669.0")
        (measure,) = json.loads(shown("json", found))["measures"]
        assert (measure["runs"][0]["letters"], measure["differences"][0]["needed"]) == ("abcdefg", 21336669.0)

    @pytest.mark.parametrize(("format", "delimiter"), [("csv", ","), ("tsv", "\t")])
    def test_names_are_read_back_and_none_is_a_formula(self, format, delimiter):
        rows = csv.DictReader(io.StringIO(shown(format, hostile()), newline=""), delimiter=delimiter)
        assert tuple(row["run"] for row in rows) == (*HOSTILE[1:7], "'=1+1", *HOSTILE[8:])

    def test_a_negative_number_with_few_decimals_is_no_formula(self):
        found = comparison(compared(differences=[difference(mean=-1 / 3)]))
        (row,) = csv.DictReader(io.StringIO(shown("csv", found, digits=2)))
        assert row["difference"] == "-0.33"

    def test_a_carriage_return_is_quoted(self):
        found = comparison(runs=("bm25", "a\rb"))
        assert shown("csv", found).splitlines(keepends=True)[1:] == [
            'map,"a\r',
            f'b"{shown("csv").splitlines()[1][9:]}\n',
        ]


class TestJson:
    def read(self, found, **layout):
        def refuse(constant):
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(shown("json", found, **layout), parse_constant=refuse)

    def test_nothing_is_lost(self):
        found = self.read(comparison(compared(together=together(2, 0.04), left_out=("9",)), notes=("a note",), seed=7))
        assert (found["settings"]["seed"], found["settings"]["margin"], found["baseline"]) == (7, None, "bm25")
        assert found["runs"] == [
            {"name": "bm25", "file": "bm25.txt", "tag": None, "sha256": None},
            {"name": "dense", "file": "dense.txt", "tag": None, "sha256": None},
        ]
        assert list(found)[:7] == [
            "treceval_py", "kind", "judgments", "profile", "complete", "signatures", "runs",
        ]  # fmt: skip
        assert (found["kind"], found["profile"]) == ("comparison", "trec_eval-10")
        assert (found["family"], found["notes"], found["judgments"]) == (1, ["a note"], "qrels.txt")
        (measure,) = found["measures"]
        assert measure["signature"]["long"] == MADE.long
        assert (measure["queries"], measure["left_out"], measure["best"]) == (["1", "2", "3", "4"], ["9"], ["dense"])
        assert measure["runs"][0] == {
            "name": "bm25", "mean": 0.25, "interval": "t", "low": 0.15, "high": 0.35, "letters": "b", "values": [0.25] * 4,
        }  # fmt: skip
        assert measure["together"] == {"critical": 2.5, "resamples": 99, "p": [[1.0, 0.04], [0.04, 1.0]]}
        assert measure["anova"]["systems_f"] == 12.345
        (row,) = measure["differences"]
        assert (row["run"], row["other"], row["difference"], row["p_t"]) == ("dense", "bm25", 0.1, 0.01)

    def test_what_is_no_finite_number_is_null(self):
        untested = compared(anova=None, differences=[difference(p=NAN, needed=INF)], together=None, level=NAN)
        (measure,) = self.read(comparison(untested))["measures"]
        assert (measure["anova"], measure["together"]) == (None, None)
        assert (measure["differences"][0]["p_t"], measure["differences"][0]["needed"]) == (None, None)

    def test_bytes_that_are_not_utf_8_are_shown(self):
        assert self.read(hostile())["runs"][-1]["name"] == "\\x80"

    def test_digits_are_those_of_values_and_not_of_p_values(self):
        (measure,) = self.read(comparison(compared(means=(1 / 3, 0.5))), digits=2)["measures"]
        assert measure["runs"][0]["values"] == [0.33] * 4
        assert measure["anova"]["queries_p"] == 0.00002


class TestMarkdown:
    def test_the_best_mean_is_bold_and_letters_are_raised(self):
        assert shown("markdown").splitlines()[:10] == [
            sentences(comparison())[0],
            "",
            "| run | map |",
            "| :-- | --: |",
            "| bm25 (baseline) | 0.2500 <sup>b</sup> |",
            "| dense | **0.3500** ▲ <sup>a</sup> |",
            "",
            "Differences from bm25 (baseline)",
            "",
            "| measure | run | difference |  | 95 % pointwise | p (t) | p (Holm) | d | 95 % of d | w/t/l | needed |",
        ]

    def test_names_are_shown_as_they_are_by_a_reader_of_markdown(self):
        markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py renders the table")
        tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(shown("markdown", hostile()))
        text = ["".join(part.content for part in token.children or []) for token in tokens if token.type == "inline"]
        names = [*HOSTILE[:5], "x\\x1b[31mred\\r\\n", *HOSTILE[6:-1], "\\x80"]
        # a row has two cells, and above are the result and two titles
        assert text[3 : 3 + 2 * len(names) : 2] == [f"{names[0]} (baseline)", *names[1:]]


class Reader(HTMLParser):
    """Collects the elements and the texts of a page, and checks that elements close in order."""

    EMPTY = frozenset({"meta", "link", "img", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))


class TestHtml:
    def test_it_is_a_section_without_scripts_and_links(self):
        found = Reader(shown("html", hostile()))
        assert found.elements[0] == ("section", {"class": "treceval-comparison"})
        assert {tag for tag, _ in found.elements}.isdisjoint({"script", "link", "img", "iframe", "html", "body"})
        assert not {name for _, given in found.elements for name in given} & {"src", "href", "onclick"}
        assert "url(" not in shown("html")
        assert "@import" not in shown("html")

    def test_the_result_is_the_first_text(self):
        texts = [text for tag, text in Reader(shown("html")).texts if tag != "style" and text.strip()]
        assert texts[0] == sentences(comparison())[0]

    def test_names_are_text(self):
        found = Reader(shown("html", hostile()))
        names = [text for tag, text in found.texts if tag == "bdi"][: len(HOSTILE)]
        assert names == [*HOSTILE[:5], "x\\x1b[31mred\\r\\n", *HOSTILE[6:-1], "\\x80"]

    def test_it_is_ascii_whatever_the_encoding_of_the_page(self):
        assert shown("html", hostile()).isascii()

    def test_every_title_says_what_it_heads(self):
        headers = [given for tag, given in Reader(shown("html")).elements if tag == "th"]
        assert headers
        assert {given.get("scope") for given in headers} == {"col", "row"}

    def test_the_best_mean_is_bold_and_marks_have_words(self):
        row = shown("html").split("</tr>")[2]
        assert "<td><b>0.3500</b>" in row
        assert "<sup>a</sup>" in row
        assert '<span role="img" aria-label="significantly above">&#9650;</span>' in row

    def test_every_rule_of_the_style_stays_in_the_section(self):
        style = shown("html").split("<style>")[1].split("</style>")[0]
        selectors = [part.strip() for rule in style.split("}")[:-1] for part in rule.split("{")[0].split(",")]
        assert all(".treceval-comparison" in selector for selector in selectors)

    def test_many_differences_are_folded(self):
        many = comparison(compared(differences=[difference()] * 41))
        assert "<details>" in shown("html", many)
        assert "<details open>" in shown("html")

    def test_a_notebook_shows_it(self):
        assert comparison()._repr_html_() == shown("html", sort="map")


DOCUMENT = """\\documentclass{article}
\\usepackage[utf8]{inputenc}
\\usepackage[T1]{fontenc}
\\usepackage{booktabs}
\\begin{document}
%s
\\end{document}
"""


class TestLatex:
    def test_the_table_of_means_is_ready_for_a_paper(self):
        assert shown("latex").split("\n\n")[0].splitlines() == [
            r"% \usepackage{booktabs}",
            r"% \usepackage[T1]{fontenc}",
            "% map: AP(rel=1)|p:trec_eval-10|#:4|q:fff4dd91|v:0.1.0",
            "% treceval_py 0.1.0",
            r"\begin{table*}",
            r"\centering",
            (
                r"\caption{dense has the higher map, 0.3500 against 0.2500. The difference is significant (simultaneous test, "
                r"p $\leq$ 0.05). Means over 4 queries, judged by qrels.txt. Bold: highest mean. "
                r"$^{\bigtriangleup}$$^{\bigtriangledown}$: mean above or below that of bm25 (baseline), with a significant "
                r"difference: two-sided paired t-test, p $\leq$ 0.05, Holm's correction over 1 p-value. Letters: runs that "
                r"share one do not differ significantly: Tukey's HSD test after a two-way analysis of variance at 0.05.}\label{tab:comparison}"
            ),
            r"\smallskip",
            r"\begin{tabular}{lr@{}l}",
            r"\toprule",
            r"Run & \multicolumn{2}{c}{map} \\",
            r"\midrule",
            r"bm25 (baseline) & 0.2500 & \textsuperscript{b} \\",
            r"dense & \textbf{0.3500} & $^{\bigtriangleup}$\,\textsuperscript{a} \\",
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table*}",
        ]

    def test_the_table_of_differences_stands_under_the_names_of_measures(self):
        lines = shown("latex").split("\n\n")[1].splitlines()
        assert lines[-7:-2] == [
            r"Run & \multicolumn{2}{c}{difference} & 95 \% pointwise & p (Holm) & d & 95 \% of d & w/t/l \\",
            r"\midrule",
            r"\multicolumn{8}{@{}l}{\emph{map}} \\",
            r"dense & +0.1000 & $^{\bigtriangleup}$ & {[}0.0500, 0.1500] & 0.0200 & +0.50 & {[}0.12, 0.88] & 3/0/1 \\",
            r"\bottomrule",
        ]

    def test_without_correction_the_p_value_itself_is_shown(self):
        assert "& $p$ & d &" in shown("latex", comparison(correction="none"))

    def test_a_randomised_test_says_its_resamples_and_seed_in_the_caption(self):
        made = compared(differences=[difference(tests=("randomisation",))])
        found = comparison(made, test="randomisation", tests=("randomisation",), seed=7)
        assert "Randomisation: 100,000 random sign flips, seed 7;" in shown("latex", found).split("\\label")[0]

    def test_notes_stand_in_the_caption_of_the_first_table(self):
        found = comparison(notes=("left out: 2 queries that not all runs have", "values are rounded."))
        first, second, _ = shown("latex", found).split("\n\n")
        (caption,) = [line for line in first.splitlines() if line.startswith("\\caption")]
        assert " Note: left out: 2 queries that not all runs have. Note: values are rounded.}" in caption
        assert "Note:" not in second

    def test_many_letters_in_a_row_are_written_as_the_first_and_the_last(self):
        assert r"\textsuperscript{a--g}" in shown("latex", comparison(compared(letters=("abcdefg", "a"))))

    def test_of_several_tests_the_corrected_p_value_names_its_own(self):
        found = comparison(compared(differences=[difference(tests=("t", "sign"))]), tests=("t", "sign"))
        assert r"95 \% pointwise & p (t, Holm) & p (sign) & d" in shown("latex", found)

    def test_more_runs_than_fit_on_a_page_go_on_in_another_table_of_the_same_number(self):
        assert shown("latex", many_runs(36, "map")).count("\\begin{table*}") == 2
        text = shown("latex", many_runs(37, "map"))
        assert text.count("\\begin{table*}") == 3
        assert text.count("\\caption{Continued.}") == text.count("\\addtocounter{table}{-1}") == 1
        assert [line.split(" ")[0] for line in text.splitlines() if line.startswith("system")] == [
            f"system{number}" for number in range(37)
        ]

    @pytest.mark.slow
    @pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on the path")
    def test_two_hundred_runs_compile_without_a_complaint(self, tmp_path):
        body = shown("latex", many_runs(200, *(f"ndcg_cut_{cutoff}" for cutoff in range(1, 13))))
        (tmp_path / "paper.tex").write_text(DOCUMENT % f"{body}\nAs table~\\ref{{tab:comparison}} shows.", "utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=True)
        log = (tmp_path / "paper.log").read_text("latin-1")
        for complaint in ("Float too large", "Overfull", "Undefined", "Missing character"):
            assert complaint not in log
        # the text and the blocks of measures are one table
        assert "{tab:comparison}{{1}{" in (tmp_path / "paper.aux").read_text("latin-1")

    def test_no_difference_is_left_out_however_many_there_are(self):
        text = shown("latex", comparison(compared(differences=[difference()] * 400)))
        assert text.count("dense & +0.1000") == 400

    def test_measures_that_do_not_fit_side_by_side_stand_below_each_other(self):
        found = comparison(*(compared(f"ndcg_cut_{cutoff}") for cutoff in range(1, 13)))
        lines = shown("latex", found).split("\n\n")[0].splitlines()
        assert len([line for line in lines if line.startswith("Run &")]) > 1

    @pytest.mark.parametrize(
        ("text", "typed"),
        [
            ("a_b & 100 %", r"a\_b \& 100 \%"),
            ("[x]*", "{[}x]{*}"),
            ("bm25--rm3", "bm25-{}-rm3"),
            ("Zoë", "Zoë"),
            (
                "模型😀",
                r"\textless{}U+6A21\textgreater{}\textless{}U+578B\textgreater{}\textless{}U+1F600\textgreater{}",
            ),
            ("x\x1b\n", r"x\textbackslash{}x1b\textbackslash{}n"),
            ("±∞ ≤ – ▲", r"$\pm$$\infty$ $\leq$ -- $^{\bigtriangleup}$"),
        ],
    )
    def test_text_is_typed_so_that_it_shows(self, text, typed):
        assert typeset(text) == typed

    @pytest.mark.slow
    @pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on the path")
    def test_it_compiles_with_the_names_of_anybody(self, tmp_path):
        body = shown("latex", hostile(["map", "ndcg_cut_10", *(f"P_{cutoff}" for cutoff in range(12))]))
        body += shown("latex", hostile()) + shown("latex", comparison(baseline=None))
        (tmp_path / "paper.tex").write_text(DOCUMENT % body, "utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False)
        log = (tmp_path / "paper.log").read_text("latin-1")
        assert done.returncode == 0, log[-2000:]
        assert "Undefined" not in log
        assert "Missing character" not in log

    @pytest.mark.slow
    @pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on the path")
    def test_a_usual_comparison_fits_on_the_page(self, tmp_path):
        names = ("bm25", "bm25+rm3", "minilm", "bge-small", "e5-base", "splade", "colbert", "rrf")
        differences = [difference(run, mean=-0.0123, p=1e-9) for run in range(1, 8)]
        found = [
            compared(name, [0.3 + run / 100 for run in range(8)], ("ab",) * 8, differences)
            for name in ("map", "ndcg_cut_10", "recip_rank", "P_10", "recall_1000")
        ]
        (tmp_path / "paper.tex").write_text(DOCUMENT % shown("latex", comparison(*found, runs=names)), "utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=True)
        assert "Overfull" not in (tmp_path / "paper.log").read_text("latin-1")


class TestPanels:
    def test_columns_are_divided_where_the_room_ends(self):
        assert panels([5, 5, 5], 10) == [range(2), range(2, 3)]

    def test_a_column_wider_than_the_room_stands_alone(self):
        assert panels([1, 20, 1], 10) == [range(1), range(1, 2), range(2, 3)]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_takes_one_query_and_names_of_any_kind(format):
    nothing = difference(
        p=NAN, adjusted=NAN, low=NAN, high=NAN, effect=NAN, effect_low=NAN, effect_high=NAN, needed=NAN
    )
    found = compared(letters=("", ""), differences=[nothing], anova=None, signature=None, qids=("1",))
    assert shown(format, comparison(found, runs=("\udc80", "\u202eabc"))).endswith("\n")
