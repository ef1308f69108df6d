"""What a comparison looks like: tables for terminals, papers and pages, and records for programs."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from treceval_py.comparing.comparison import Comparison
from treceval_py.comparing.outcome import Compared, Difference, Settings
from treceval_py.comparing.outcome import Tested as Outcome
from treceval_py.comparing.show.sentences import methods, sentences
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


NOTHING = difference(p=NAN, adjusted=NAN, low=NAN, high=NAN, effect=NAN, effect_low=NAN, effect_high=NAN, needed=NAN)


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
    return Comparison(
        runs, baseline, found, Settings(**{"tests": ("t",)} | settings), family, files, judgments, notes, version
    )


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
        return found.to_latex(**{"sort": "given", "columns": 2} | layout)
    return found.to_text(format, **{"sort": "given"} | layout)


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.01234, "0.0123"), (0.0001, "0.0001"), (0.00009, "<0.0001"), (0.0, "<0.0001"), (0.99999, "1.0000"), (NAN, "–")],
)
def test_p_values_have_four_decimals_and_are_never_zero(p, text):
    assert p_value(p) == text


@pytest.mark.parametrize(
    ("value", "text", "signed"),
    [
        (0.12345, "0.1", "+0.1"), (-0.5, "-0.5", "-0.5"), (-0.0001, "0.0", "0.0"), (0.01, "0.0", "0.0"), (NAN, "–", "–"),
        (INF, "∞", "+∞"), (-INF, "-∞", "-∞"),
    ],
)  # fmt: skip
def test_a_number_has_its_decimals_and_sign_and_is_never_minus_zero(value, text, signed):
    assert (number(value, 1), number(value, 1, signed=True)) == (text, signed)


class TestTerminal:
    def test_means_differences_and_what_they_mean(self, snapshot: SnapshotAssertion):
        precision = compared("P_10", (0.5, 0.25), ("a", "a"), [difference(mean=-0.25, adjusted=0.06)])
        assert shown("table", comparison(compared(), precision)) == snapshot(name="two measures")
        assert shown("table", comparison(baseline=None)) == snapshot(name="pairs")
        plain = comparison(compared(letters=("", ""), differences=[difference(adjusted=0.5)]))
        assert shown("table", plain) == snapshot(name="no letters and marks")
        tests = comparison(compared(differences=[difference(tests=("t", "wilcoxon"))]), tests=("t", "wilcoxon"))
        assert shown("table", tests, digits=2) == snapshot(name="two tests and two digits")
        assert shown("table", hostile()) == snapshot(name="any names")

    def test_equal_means_are_all_best_unless_all_are_equal(self):
        means = compared(means=(0.35, 0.25, 0.35), letters=("a",) * 3, best=(0, 2), differences=[])
        lines = shown("table", comparison(means, runs=("a", "b", "c"))).splitlines()
        assert [line.count("●") for line in lines[4:7]] == [1, 0, 1]
        found = comparison(compared(means=(0.25, 0.25), letters=("a", "a"), best=(0, 1)))
        for name in ("table", "markdown", "html", "latex"):
            text = shown(name, found)
            assert not any(sign in text for sign in ("●", "**0.", "<b>", "textbf", "highest mean"))

    def test_the_best_mean_is_bold_where_styles_may_be_used(self):
        assert shown("table", colour=True).splitlines()[5] == "dense             \x1b[1m● 0.3500 ▲ a\x1b[0m"
        assert "\x1b" not in shown("table")

    def test_tables_wider_than_the_terminal_are_cut_into_blocks_that_begin_with_names(
        self, snapshot: SnapshotAssertion
    ):
        # the names take 15 columns, a measure 12 and 3 before it, the last one 14 and 3
        found = comparison(compared(), compared("P_10"), compared("recip_rank"))
        assert shown("table", found, width=45).splitlines()[2:13] == snapshot(name="means")
        # 7 + 3 + 5 for names; 12, 18, 6 and 8 with 3 before each are 56; 5 for d with its 3 do not fit into the other 7
        assert shown("table", width=78).splitlines()[10:] == snapshot(name="differences")

    def test_the_width_of_names_is_that_of_the_terminal(self):
        # 模型模型 takes 8 columns, and a mean 10 with 3 before it: two measures fit beside it into 34, not into 33
        found = comparison(compared(), compared("P_10"), runs=("模型模型", "bm25"), baseline=None)
        titles = [
            [line for line in shown("table", found, width=width).splitlines() if line.startswith("run ")]
            for width in (34, 33)
        ]
        assert [len(lines) for lines in titles] == [1, 2]

    def test_nothing_but_names_and_signatures_is_wider_than_the_terminal(self):
        tests = ("t", "wilcoxon", "simultaneous", "randomisation")
        made = [compared(name, differences=[difference(tests=tests)]) for name in ("map", "ndcg_cut_10", "recip_rank")]
        lines = shown("table", comparison(*made, tests=tests, notes=("word " * 40,)), width=60).splitlines()
        assert max(map(len, lines)) <= 60

    def test_a_large_number_of_queries_is_not_written_out_and_the_unknown_is_a_dash(self):
        needs = [difference(needed=needed) for needed in (21336669.0, 10001.0, 10000.0, INF)]
        needs += [NOTHING, difference(effect=-INF, needed=INF)]
        rows = [line.split() for line in shown("table", comparison(compared(differences=needs))).splitlines()[11:17]]
        assert [row[-1] for row in rows] == [">10,000", ">10,000", "10000", "∞", "–", "∞"]
        assert rows[4] == ["map", "dense", "+0.1000", "–", "–", "–", "–", "–", "3/0/1", "–"]
        assert "-∞" in rows[5]


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
        tests = {"wilcoxon": Outcome(1.0, 0.01, 0.01), "t": Outcome(1.0, 0.5, 0.5)}
        found = compared(differences=[difference()._replace(tests=tests)])
        assert "▲" in shown("table", comparison(found, tests=("wilcoxon", "t"))).splitlines()[5]
        assert "▲" not in shown("table", comparison(found, tests=("t", "wilcoxon"))).splitlines()[5]


class TestSentences:
    def test_the_defaults_are_described(self, snapshot: SnapshotAssertion):
        assert sentences(comparison(notes=("two runs are alike", "Note: a."))) == snapshot
        untested = comparison(compared(letters=("", ""), anova=None, signature=None))
        assert not [line for line in sentences(untested) if line.startswith(("Letters", "map", "p (equal)", "Note"))]

    def test_settings_are_described_where_they_are_used(self, snapshot: SnapshotAssertion):
        drawn = {"tests": ("randomisation",), "resamples": 5000, "seed": 7}
        two = [compared(), compared("P_10")]
        cases = {
            "randomisation": comparison(compared(differences=[difference(tests=("randomisation",))]), **drawn),
            "one resample": comparison(
                compared(differences=[difference(tests=("randomisation",))]), **drawn | {"resamples": 1}
            ),
            "the simultaneous test": comparison(*two, tests=("simultaneous",), seed=7),
            "a level with all digits": comparison(alpha=0.9999999),
            "another test": comparison(
                compared(differences=[difference(tests=("t", "wilcoxon"))]), tests=("t", "wilcoxon")
            ),
            "equivalence": comparison(compared(differences=[difference(equivalence=0.25)]), margin=0.01),
            "other queries": comparison(*two, compared("iprec", qids=("1",)), judgments=""),
        }
        assert {case: methods(found) for case, found in cases.items()} == snapshot
        assert "0.2500" in shown("table", cases["equivalence"]).splitlines()[11]

    @pytest.mark.parametrize(
        ("alpha", "text"),
        [(1e-12, "99.9999999999 %"), (0.001, "99.9 %"), (0.71, "29 %"), (0.1, "90 %"), (0.07, "93 %"), (0.3, "70 %")],
    )
    def test_a_confidence_has_all_its_digits(self, alpha, text):
        said = methods(comparison(alpha=alpha))["interval"]
        assert said.startswith(f"Intervals of differences: {text}, simultaneous over all pairs of runs, ")


class TestRecords:
    def test_a_record_has_all_that_was_found_of_a_difference(self):
        tests = ("t", "wilcoxon")
        found = comparison(compared(differences=[difference(tests=tests, equivalence=0.25)]), tests=tests, margin=0.01)
        assert records(found) == [
            {
                "measure": "map", "run": "dense", "other": "bm25", "mean_run": 0.35, "mean_other": 0.25,
                "difference": 0.1, "low": 0.05, "high": 0.1 + 0.05, "interval": "simultaneous", "confidence": 0.95,
                "p_t": 0.01, "adjusted_t": 0.02, "statistic_t": 2.5,
                "p_wilcoxon": 0.01, "adjusted_wilcoxon": 0.02, "statistic_wilcoxon": 2.5,
                "effect": 0.5, "effect_low": 0.125, "effect_high": 0.875, "wins": 3, "ties": 0, "losses": 1,
                "p_equivalence": 0.25, "needed": 34.0, "queries": 4, "correction": "holm",
                "letters_run": "a", "letters_other": "b",
            }
        ]  # fmt: skip

    def test_without_a_margin_there_is_no_test_of_equivalence(self):
        assert "p_equivalence" not in records(comparison())[0]


class TestSeparated:
    @pytest.mark.parametrize(("format", "delimiter"), [("csv", ","), ("tsv", "\t")])
    @pytest.mark.parametrize("digits", [None, 2])
    def test_numbers_have_all_their_digits_unless_fewer_are_asked_for(self, format, delimiter, digits):
        # no number is an empty cell; digits are those of values, not of p-values; a negative number is no formula
        made = [difference(mean=-1 / 3, p=1e-12, needed=21336669.0), difference(p=NAN, needed=INF)]
        found = comparison(compared(differences=made, letters=("abcdefg", "a")))
        rows = csv.DictReader(io.StringIO(shown(format, found, digits=digits)), delimiter=delimiter)
        names = ("difference", "mean_run", "p_t", "wins", "needed", "letters_other")
        first, second = ([row[name] for name in names] for row in rows)
        value = "-0.33" if digits else repr(-1 / 3)
        assert first == [value, "0.35", "1e-12", "3", "21336669.0" if digits is None else first[4], "abcdefg"]
        assert second[2:5] == ["", "3", "inf"]

    @pytest.mark.parametrize(("format", "delimiter"), [("csv", ","), ("tsv", "\t")])
    def test_names_are_read_back_and_none_is_a_formula(self, format, delimiter):
        rows = csv.DictReader(io.StringIO(shown(format, hostile()), newline=""), delimiter=delimiter)
        assert tuple(row["run"] for row in rows) == (*HOSTILE[1:7], "'=1+1", *HOSTILE[8:])
        found = csv.DictReader(
            io.StringIO(shown(format, comparison(runs=("bm25", "a\rb"))), newline=""), delimiter=delimiter
        )
        assert [row["run"] for row in found] == ["a\rb"]


class TestJson:
    def test_nothing_is_lost(self, snapshot: SnapshotAssertion):
        found = comparison(compared(together=together(2, 0.04), left_out=("9",)), notes=("a note",), seed=7)
        assert shown("json", found) == snapshot(name="all")
        untested = compared(anova=None, differences=[difference(p=NAN, needed=INF)], together=None, level=NAN)
        text = shown("json", comparison(untested, compared(means=(1 / 3, 0.5)), runs=("\udc80", "b")), digits=2)
        json.loads(text, parse_constant=pytest.fail)
        assert text == snapshot(name="unknown numbers, two digits and bytes that are not UTF-8")


class TestMarkdown:
    def test_the_best_mean_is_bold_and_letters_are_raised(self, snapshot: SnapshotAssertion):
        assert shown("markdown") == snapshot

    def test_names_are_shown_as_they_are_by_a_reader_of_markdown(self):
        markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py renders the table")
        tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(shown("markdown", hostile()))
        text = ["".join(part.content for part in token.children or []) for token in tokens if token.type == "inline"]
        names = [*HOSTILE[:5], "x\\x1b[31mred\\r\\n", *HOSTILE[6:-1], "\\x80"]
        # a row has two cells, and above are the result and two titles
        assert text[3 : 3 + 2 * len(names) : 2] == [f"{names[0]} (baseline)", *names[1:]]


class TestHtml:
    def test_it_is_a_section_of_ascii_without_scripts_and_links(self, snapshot: SnapshotAssertion):
        style = re.compile(r"<style>(.*?)</style>", re.DOTALL)
        assert style.sub("", shown("html")) == snapshot(name="usual")
        assert style.sub("", shown("html", hostile())) == snapshot(name="any names")
        assert shown("html", hostile()).isascii()
        (rules,) = style.findall(shown("html"))
        assert "url(" not in rules
        assert "@import" not in rules
        selectors = [part for rule in rules.split("}")[:-1] for part in rule.split("{")[0].split(",")]
        assert all(".treceval-comparison" in selector for selector in selectors)
        assert comparison()._repr_html_() == shown("html", sort="map")

    def test_many_differences_are_folded(self):
        for count, tag in ((40, "<details open>"), (41, "<details>")):
            assert tag in shown("html", comparison(compared(differences=[difference()] * count)))


DOCUMENT = """\\documentclass{article}
\\usepackage[utf8]{inputenc}
\\usepackage[T1]{fontenc}
\\usepackage{booktabs}
\\begin{document}
%s
\\end{document}
"""


def needs_latex(test):
    missing = shutil.which("pdflatex") is None
    return pytest.mark.slow(pytest.mark.skipif(missing, reason="pdflatex is not on the path")(test))


def compiled(folder: Path, body: str) -> str:
    """Compile a paper and return its log."""
    (folder / "paper.tex").write_text(DOCUMENT % body, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
    log = (folder / "paper.log").read_text("latin-1")
    assert done.returncode == 0, log[-2000:]
    return log


class TestLatex:
    def test_the_tables_are_ready_for_a_paper(self, snapshot: SnapshotAssertion):
        assert shown("latex") == snapshot(name="usual")
        made = compared(differences=[difference(tests=("randomisation", "t"))], letters=("abcdefg", "a"))
        settings = {"tests": ("randomisation", "t"), "seed": 7}
        notes = ("left out: 2 queries that not all runs have", "values are rounded.")
        assert shown("latex", comparison(made, notes=notes, **settings)) == snapshot(name="two tests and notes")
        assert "& $p$ & d &" in shown(
            "latex", comparison(compared(differences=[difference(tests=("simultaneous",))]), tests=("simultaneous",))
        )

    def test_more_runs_than_fit_on_a_page_go_on_in_another_table_of_the_same_number(self):
        assert shown("latex", many_runs(36, "map")).count("\\begin{table*}") == 2
        text = shown("latex", many_runs(37, "map"))
        assert text.count("\\begin{table*}") == 3
        assert text.count("\\caption{Continued.}") == text.count("\\addtocounter{table}{-1}") == 1
        assert [line.split(" ")[0] for line in text.splitlines() if line.startswith("system")] == [
            f"system{number}" for number in range(37)
        ]

    @needs_latex
    def test_two_hundred_runs_compile_without_a_complaint(self, tmp_path):
        body = shown("latex", many_runs(200, *(f"ndcg_cut_{cutoff}" for cutoff in range(1, 13))))
        log = compiled(tmp_path, f"{body}\nAs table~\\ref{{tab:comparison}} shows.")
        assert re.findall("Float too large|Overfull|Undefined|Missing character", log) == []
        # the text and the blocks of measures are one table
        assert "{tab:comparison}{{1}{" in (tmp_path / "paper.aux").read_text("latin-1")

    def test_no_difference_is_left_out_however_many_there_are(self):
        text = shown("latex", comparison(compared(differences=[difference()] * 120)))
        assert text.count("dense & +0.1000") == 120

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

    @needs_latex
    def test_it_compiles_with_any_names(self, tmp_path):
        body = shown("latex", hostile(["map", "ndcg_cut_10", *(f"P_{cutoff}" for cutoff in range(12))]))
        body += shown("latex", hostile()) + shown("latex", comparison(baseline=None))
        assert re.findall("Undefined|Missing character", compiled(tmp_path, body)) == []

    @needs_latex
    def test_a_usual_comparison_fits_on_the_page(self, tmp_path):
        names = ("bm25", "bm25+rm3", "minilm", "bge-small", "e5-base", "splade", "colbert", "rrf")
        differences = [difference(run, mean=-0.0123, p=1e-9) for run in range(1, 8)]
        found = [
            compared(name, [0.3 + run / 100 for run in range(8)], ("ab",) * 8, differences)
            for name in ("map", "ndcg_cut_10", "recip_rank", "P_10", "recall_1000")
        ]
        assert "Overfull" not in compiled(tmp_path, shown("latex", comparison(*found, runs=names)))


@pytest.mark.parametrize(
    ("widths", "parts"),
    [([5, 5, 5], [(0, 2), (2, 3)]), ([1, 20, 1], [(0, 1), (1, 2), (2, 3)]), ([5, 6], [(0, 1), (1, 2)])],
)
def test_columns_are_divided_where_the_room_ends_and_a_wide_one_is_alone(widths, parts):
    assert panels(widths, 10) == [range(*part) for part in parts]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_takes_one_query_and_names_of_any_kind(format):
    found = compared(letters=("", ""), differences=[NOTHING], anova=None, signature=None, qids=("1",))
    assert shown(format, comparison(found, runs=("\udc80", "\u202eabc"))).endswith("\n")
