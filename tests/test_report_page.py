"""The page of a report, opened in Chromium without a screen, and its plots as images."""

from __future__ import annotations

import re
import shutil
import struct
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval

import treceval_py as te
from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.rendering.plots import PLOTS, THEMES, image, specs
from treceval_py.report.page import page

playwright = pytest.importorskip("playwright.sync_api", reason="opens pages, which needs playwright: .[dev] has it")
pytest.importorskip("jinja2", reason="a report needs jinja2: .[report] has it")
pytest.importorskip("vl_convert", reason="a report needs vl-convert-python: .[report] has it")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="opens pages, which needs Chromium on the path")

DATA = Path(__file__).parent.parent / "data"
ROBUST = Path("../shared/data/robust03")

HOSTILE = "</script><script>alert(1)</script>"
QUOTES = '"><img src=x onerror="alert(2)"> & \'x\''
NAMES = ["bm25", "dense-é-日本語", HOSTILE, QUOTES, "{second}", "rrf(bm25, dense)", "a-name-that-is-long-" * 3, "zero"]
MEASURES = ["AP", "nDCG@10", "P@10", "RR", "R@100"]


def payload(
    runs: int = 8,
    queries: int = 100,
    measures: int = 5,
    *,
    texts: bool = True,
    baseline: int | None = 0,
    curves: bool = True,
) -> dict[str, Any]:
    """Return what a report is made of, in all its parts: values are drawn, a run is a little better than the one before."""
    drawn = np.random.default_rng(7)
    names = [NAMES[run] if run < len(NAMES) else f"run {run}" for run in range(runs)]
    qids = [f"q{number}" for number in range(1, queries + 1)]
    hard = drawn.beta(1.4, 1.6, (measures, 1, queries))
    values = np.clip(hard + drawn.normal(0, 0.12, (measures, runs, queries)) + 0.012 * np.arange(runs)[:, None], 0, 1)
    values = np.round(values, 6)
    means = values.mean(axis=2)
    half = 1.98 * values.std(axis=2) / np.sqrt(queries)
    depth = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    fall = np.linspace(0, 1, 11)
    near = 0.15 + 0.8 * np.exp(-0.35 * np.abs(np.subtract.outer(np.arange(runs), np.arange(runs))))
    np.fill_diagonal(near, 1)
    return {
        "title": f"Eight runs {HOSTILE}",
        "made": {"version": "1.0.0", "command": f"treceval report qrels '{HOSTILE}' -o report.html", "date": None},
        "judgments": "qrels.robust04.txt",
        "queries": {MEASURES[place]: qids for place in range(measures)},
        "texts": {qid: f"what is known about subject {qid} {HOSTILE}" for qid in qids} if texts else {},
        "runs": [{"name": name, "file": f"runs/{name}.gz", "tag": name} for name in names],
        "baseline": baseline,
        "confidence": 0.95,
        "measures": [
            {
                "name": MEASURES[place],
                "signature": f"{MEASURES[place]}|q:{queries}|tie:docid",
                "long": f"{MEASURES[place]}|queries:{queries}|ties:descending document ids|judgments:0123456789abcdef",
                "means": means[place].tolist(),
                "low": (means - half)[place].tolist(),
                "high": (means + half)[place].tolist(),
                "best": [int(np.argmax(means[place]))],
                "letters": [("a", "ab", "b", "bc", "c")[run % 5] for run in range(runs)],
                "marks": ["" if run == baseline or run % 3 == 0 else "▲▼"[run % 2] for run in range(runs)],
                "adjusted": [None if run == baseline else round(0.2 / (run + 1), 6) for run in range(runs)],
                "values": values[place].tolist(),
            }
            for place in range(measures)
        ],
        "summary_sentences": [
            f"{runs} runs over {queries} queries; differences are tested with a paired t-test.",
            "p-values are corrected after Holm, 28 of them together; level 0.05.",
        ],
        "differences_html": "<table><caption>AP</caption><tr><th>run<th>difference<th>95 % interval<th>p</tr>"
        + "".join(
            f"<tr><th>run {run}<td>+0.0{run}12<td>[−0.0{run}01, +0.0{run}94]<td>0.0{run}</tr>" for run in range(1, runs)
        )
        + "</table>",
        "precision_recall": {
            "recall": [round(step / 10, 1) for step in range(11)],
            "precision": [((0.7 + 0.02 * run) * (1 - fall) ** (1.2 + 0.05 * run)).tolist() for run in range(runs)],
        }
        if curves
        else None,
        "recall_at_depth": {
            "depth": depth,
            "recall": [(np.log1p(depth) / np.log1p(1000) * (0.6 + 0.3 * run / runs)).tolist() for run in range(runs)],
        }
        if curves
        else None,
        "overlap": {
            "rbo": near.tolist(),
            "shared": near.tolist(),
            "tau": (2 * near - 1).tolist(),
            "depth": 100,
            "p": 0.9,
            "queries": queries,
        }
        if curves
        else None,
        "warnings": [
            {"run": names[0], "kind": "ties", "text": "in 12 of 100 queries documents at equal scores change P@10"},
            {"run": names[-1], "kind": "unjudged", "text": "38.4 % of the first 10 documents are not judged"},
            {"run": names[-1], "kind": "missing", "text": f"3 queries are missing: {HOSTILE}, 302, 303"},
        ],
        "reproduce": ["treceval report qrels.robust04.txt runs/*.gz -o report.html --seed 1"],
    }


# Without a browser ----------------------------------------------------------------------------------


def test_a_page_names_its_scripts_by_their_hashes_and_allows_nothing_else() -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page(payload()))
    assert policy is not None
    allowed = dict(part.strip().split(" ", 1) for part in policy[1].replace("&#39;", "'").split(";"))
    assert allowed["default-src"] == "'none'"
    assert re.fullmatch(r"('sha256-[A-Za-z0-9+/=]+' ?){2}", allowed["script-src"])
    assert "connect-src" not in allowed
    assert "unsafe-eval" not in policy[1]


def test_a_page_fetches_nothing() -> None:
    made = page(payload())
    markup = re.sub(r"<script.*?</script>", "", made, flags=re.DOTALL)
    assert re.findall(r"(?:src|href)=\"(?!#)", markup) == []
    assert "@import" not in markup
    assert "url(" not in markup


def test_hostile_names_are_text_in_the_markup() -> None:
    made = page(payload())
    assert "<script>alert" not in made
    assert "<img src=x" not in made


def test_a_page_of_eight_runs_is_small() -> None:
    assert len(page(payload(queries=6980)).encode()) < 6_000_000


def test_means_are_in_the_markup_with_four_decimals() -> None:
    given = payload()
    made = page(given)
    for measure in given["measures"]:
        for mean in measure["means"]:
            assert f">{mean:.4f}<" in made


def test_a_page_without_curves_overlap_and_texts_has_no_such_sections() -> None:
    made = page(payload(curves=False, texts=False, baseline=None))
    assert 'id="curves"' not in made
    assert 'id="overlap"' not in made


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS)
def test_plots_are_drawn_as_images(plot: str) -> None:
    png = image(payload(), plot, "png")
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    wide, high = struct.unpack(">II", png[16:24])
    assert wide >= 1000
    assert high >= 400
    root = ET.fromstring(image(payload(), plot, "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_the_scatter_plot_has_a_point_for_each_query() -> None:
    svg = image(payload(queries=17), "scatter", "svg", runs=(2, 1)).decode()
    points = re.findall(r'aria-roledescription="point"', svg)
    assert len(points) == 17


def test_the_plots_hold_the_numbers_of_the_table() -> None:
    given = payload()
    rows = specs(given, measure="nDCG@10")["bars"]["data"]["values"]
    assert [row["mean"] for row in rows] == given["measures"][1]["means"]
    assert [row["low"] for row in rows] == given["measures"][1]["low"]
    assert [row["label"] for row in rows] == [f"{mean:.4f}" for mean in given["measures"][1]["means"]]


def test_plots_and_runs_that_are_not_there_are_refused() -> None:
    with pytest.raises(MeasureError, match=r"^unknown plot 'pie'\. Choose one of bars, "):
        image(payload(), "pie")
    with pytest.raises(MeasureError, match=r"^run 8 does not exist\. Runs are numbered 0 to 7\.$"):
        image(payload(), "scatter", runs=(0, 8))
    with pytest.raises(MeasureError, match=r"^the measure ERR is not in the comparison\. It has: AP, "):
        image(payload(), "bars", measure="ERR")
    with pytest.raises(MeasureError, match=r"^unknown image format 'gif'\. Choose png or svg\.$"):
        image(payload(), "bars", "gif")
    with pytest.raises(EvaluationError, match=r"^the plot overlap cannot be drawn from these: curves need"):
        image(payload(curves=False), "overlap")


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_colours_are_told_from_their_ground(name: str) -> None:
    # WCAG 2.2, 1.4.3 and 1.4.11: 4.5 for text, 3 for graphics; black on white has 21.
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    theme = THEMES[name]
    for ground in (theme.paper, theme.wash):
        for text in (theme.ink, theme.muted, theme.accent):
            assert contrast(text, ground) >= 4.5, (text, ground)
    for colour in (*theme.series, theme.muted):
        assert contrast(colour, theme.paper) >= 3, colour


@pytest.mark.parametrize("name", ["light", "dark"])
def test_numbers_are_read_on_each_shade_of_a_heat_map(name: str) -> None:
    theme = THEMES[name]
    low, high = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in theme.ramp)
    for step in range(101):
        mixed = "#" + "".join(f"{round(a + (b - a) * step / 100):02x}" for a, b in zip(low, high, strict=True))
        assert contrast(theme.on_low if step < 69 else theme.on_high, mixed) >= 4.5, step


def test_fifty_runs_are_told_apart_by_colour_shape_and_dash() -> None:
    plot = specs(payload(50))["precision-recall"]
    line, points = (layer["encoding"] for layer in plot["layer"])
    shapes, dashes = points["shape"]["scale"]["range"], line["strokeDash"]["scale"]["range"]
    turns = [row["turn"] for row in plot["data"]["values"][::11]]  # eleven points each
    assert len(set(shapes[:8])) == 8
    # Colours come again after eight runs.
    assert len({(run % 8, shapes[run], tuple(dashes[turns[run]])) for run in range(50)}) == 50


# In a browser ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


class Opened:
    """A page that is open, and what it did beside showing itself."""

    def __init__(
        self, browser: Any, file: Path, *, wide: int = 1280, scheme: str = "light", scripts: bool = True
    ) -> None:
        context = browser.new_context(
            viewport={"width": wide, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        self.tab = context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(file.as_uri())
        if scripts:
            self.tab.wait_for_selector("html[data-drawn]", timeout=30_000)

    def rows(self, plot: str) -> list[dict[str, Any]]:
        """Return the rows that a plot of two runs holds."""
        found: list[dict[str, Any]] = self.tab.evaluate(f"document.getElementById('{plot}').view.data('rows')")
        return found

    def names(self) -> list[str]:
        """Return the runs in the order of the summary."""
        found: list[str] = self.tab.eval_on_selector_all("#summary tbody th", "all => all.map(one => one.innerText)")
        return [name.removesuffix("baseline").strip() for name in found]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("report") / "report.html"
    found.write_text(page(payload()), encoding="utf-8")
    return found


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_errors_and_asks_for_nothing_but_itself(browser: Any, file: Path, scheme: str) -> None:
    opened = Opened(browser, file, scheme=scheme)
    assert opened.said == []
    assert opened.asked == [file.as_uri()]


@pytest.mark.slow
@needs_browser
def test_every_plot_has_its_marks(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    marks = "document.querySelectorAll('#{} svg .mark-{}.role-mark {}').length"
    for place in range(5):
        assert opened.tab.evaluate(marks.format(f"bars-{place}", "rect", "path")) == 8
        assert opened.tab.evaluate(marks.format(f"bars-{place}", "rule", "line")) == 8 + 1  # and the baseline
    assert opened.tab.evaluate(marks.format("scatter", "symbol", "path")) == 100
    assert opened.tab.evaluate(marks.format("deltas", "rect", "path")) == 100
    assert opened.tab.evaluate(marks.format("precision-recall", "symbol", "path")) == 8 * 11
    assert opened.tab.evaluate(marks.format("recall-depth", "symbol", "path")) == 8 * 10
    assert opened.tab.evaluate(marks.format("overlap-plot", "rect", "path")) == 8 * 8


@pytest.mark.slow
@needs_browser
def test_the_summary_sorts_by_click_and_by_keyboard(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    given = payload()
    means = given["measures"][1]["means"]
    names = [run["name"] for run in given["runs"]]
    best_first = [names[run] for run in sorted(range(8), key=lambda run: -means[run])]
    opened.tab.click("#summary thead th:nth-child(3) button")
    assert opened.names() == best_first
    assert opened.tab.get_attribute("#summary thead th:nth-child(3)", "aria-sort") == "descending"
    opened.tab.focus("#summary thead th:nth-child(3) button")
    opened.tab.keyboard.press("Enter")
    assert opened.names() == best_first[::-1]
    assert opened.tab.get_attribute("#summary thead th:nth-child(3)", "aria-sort") == "ascending"


@pytest.mark.slow
@needs_browser
def test_choosing_runs_and_a_measure_changes_both_plots(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    given = payload()["measures"][2]["values"]
    opened.tab.select_option("#first", "3")
    opened.tab.select_option("#second", "5")
    opened.tab.select_option("#measure", "2")
    opened.tab.wait_for_function("document.getElementById('scatter').view.data('rows')[0].a === " + repr(given[3][0]))
    opened.tab.wait_for_function("document.getElementById('deltas').view.data('rows')[0].b === " + repr(given[5][0]))
    for plot in ("scatter", "deltas"):
        rows = sorted(opened.rows(plot), key=lambda row: int(row["qid"][1:]))
        assert [row["a"] for row in rows] == given[3]
        assert [row["b"] for row in rows] == given[5]
    wins = sum(a > b for a, b in zip(given[3], given[5], strict=True))
    assert f" is better in {wins}, " in opened.tab.inner_text("#pair")
    assert opened.said == []


@pytest.mark.slow
@needs_browser
def test_the_largest_differences_are_listed_with_the_texts_of_the_queries(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    given = payload()
    a, b = given["measures"][0]["values"][1], given["measures"][0]["values"][0]
    order = sorted(range(100), key=lambda query: -abs(a[query] - b[query]))
    first = opened.tab.eval_on_selector_all("#largest tbody tr:first-child > *", "all => all.map(one => one.innerText)")
    assert first[0] == f"q{order[0] + 1}"
    assert first[1] == given["texts"][f"q{order[0] + 1}"]
    assert first[2:4] == [f"{a[order[0]]:.4f}", f"{b[order[0]]:.4f}"]
    assert opened.tab.locator("#largest tbody tr").count() == 20


@pytest.mark.slow
@needs_browser
def test_hostile_names_stay_text(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    assert opened.names() == [" ".join(name.split()) for name in NAMES]
    assert opened.tab.locator("img").count() == 0
    assert opened.said == []


@pytest.mark.slow
@needs_browser
def test_themes_follow_the_system_and_the_button(browser: Any, file: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = (Opened(browser, file, scheme=scheme) for scheme in ("light", "dark"))
    assert light.tab.evaluate(ground) == "rgb(255, 255, 255)"
    assert dark.tab.evaluate(ground) == "rgb(21, 23, 27)"
    light.tab.focus("#theme")
    for _ in range(2):  # auto, light, dark
        light.tab.keyboard.press("Enter")
    assert light.tab.inner_text("#theme") == "Theme: dark"
    assert light.tab.evaluate(ground) == "rgb(21, 23, 27)"


@pytest.mark.slow
@needs_browser
def test_a_dark_page_is_printed_light(browser: Any, file: Path) -> None:
    opened = Opened(browser, file, scheme="dark")
    ground = "document.querySelector('#scatter svg').style.backgroundColor"
    assert opened.tab.evaluate(ground) == "rgb(21, 23, 27)"
    opened.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.tab.evaluate(ground) == "rgb(255, 255, 255)"
    opened.tab.evaluate("dispatchEvent(new Event('afterprint'))")
    opened.tab.wait_for_function(f"{ground} === 'rgb(21, 23, 27)'")


@pytest.mark.slow
@needs_browser
def test_a_query_of_the_list_is_marked_in_the_plots(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    button = "#largest tbody tr:nth-child(3) button"
    qid = opened.tab.inner_text(button)
    opened.tab.focus(button)
    opened.tab.wait_for_function(f"document.getElementById('scatter').view.signal('picked') === '{qid}'")
    opened.tab.keyboard.press("Enter")
    assert opened.tab.get_attribute(button, "aria-pressed") == "true"
    opened.tab.focus("#swap")
    assert opened.tab.evaluate("document.getElementById('deltas').view.signal('picked')") == qid


@pytest.mark.slow
@needs_browser
def test_the_text_of_a_query_is_shown_at_its_point(browser: Any, file: Path) -> None:
    opened = Opened(browser, file)
    opened.tab.locator("#scatter svg .mark-symbol.role-mark path").nth(50).hover(force=True)
    told = opened.tab.locator("#vg-tooltip-element.visible")
    told.wait_for()
    assert re.search(r"what is known about subject q\d+ " + re.escape(HOSTILE), told.inner_text())
    assert opened.said == []


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("wide", [360, 1280])
def test_the_page_is_no_wider_than_the_screen(browser: Any, file: Path, wide: int) -> None:
    opened = Opened(browser, file, wide=wide)
    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= wide


@pytest.mark.slow
@needs_browser
def test_without_scripts_the_tables_are_there(browser: Any, file: Path) -> None:
    opened = Opened(browser, file, scripts=False)
    assert len(opened.names()) == 8
    assert opened.tab.is_visible("#differences table")
    assert not opened.tab.is_visible("#first")


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize(
    ("runs", "queries", "measures", "curves"),
    [(2, 1, 1, False), (3, 1, 2, True), (50, 20, 2, True), (2, 6980, 1, True)],
)
def test_few_and_many_runs_and_queries_are_shown(
    browser: Any, tmp_path: Path, runs: int, queries: int, measures: int, curves: bool
) -> None:
    given = payload(runs, queries, measures, texts=False, baseline=None, curves=curves)
    (tmp_path / "report.html").write_text(page(given), encoding="utf-8")
    opened = Opened(browser, tmp_path / "report.html")
    assert opened.said == []
    assert len(opened.rows("scatter")) == queries
    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 1280


# The command ----------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_browser
def test_the_command_writes_a_page_that_opens(browser: Any, tmp_path: Path) -> None:
    runs = [str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "minilm")]
    written = tmp_path / "report.html"
    arguments = ["report", str(DATA / "qrels.tsv"), *runs, "-o", str(written), "--queries", str(DATA / "queries.tsv")]
    done = treceval(arguments)
    assert (done.status, done.out) == (0, b"")
    opened = Opened(browser, written)
    assert opened.said == []
    assert opened.names() == ["bm25", "minilm"]
    results = te.evaluate(str(DATA / "qrels.tsv"), runs[1], "map")
    rows = {row["qid"]: row for row in opened.rows("scatter")}
    assert rows["7"]["a"] == pytest.approx(results["7"]["map"], rel=1e-5)  # six digits are kept
    assert f"{results.mean['map']:.4f}" in opened.tab.inner_text("#summary")
    assert f"treceval report {DATA}" in opened.tab.inner_text("#reproduce")


@pytest.mark.slow
@needs_browser
def test_eight_runs_of_trec_robust_are_shown(browser: Any, tmp_path: Path) -> None:
    if not ROBUST.exists():
        pytest.skip(f"{ROBUST} is not there: runs of TREC 2003 Robust, which are not part of this project")
    written = tmp_path / "report.html"
    measures = [part for name in ("map", "nDCG@10", "P@10", "RR", "R@100") for part in ("-m", name)]
    treceval(["report", str(ROBUST / "qrels.txt.gz"), str(ROBUST / "input.*"), *measures, "-o", str(written)])
    assert written.stat().st_size < 6_000_000
    opened = Opened(browser, written)
    assert (opened.said, opened.asked) == ([], [written.as_uri()])
    assert len(opened.rows("deltas")) == 100


def test_saved_results_make_a_page_without_curves(tmp_path: Path) -> None:
    saved = []
    for name in ("bm25", "minilm"):
        saved.append(str(tmp_path / f"{name}.json"))
        run = str(DATA / "runs" / f"{name}.txt")
        treceval(["-q", "-m", "map", "--format", "json", "-o", saved[-1], str(DATA / "qrels.tsv"), run])
    done = treceval(["report", *saved, "-o", str(tmp_path / "report.html")])
    assert done.status == 0, done.err
    assert 'id="curves"' not in (tmp_path / "report.html").read_text("utf-8")


def test_single_plots_are_written(tmp_path: Path) -> None:
    runs = [str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "minilm")]
    plots = ["--png", f"bars={tmp_path}/bars.png", "--svg", f"deltas={tmp_path}/deltas.svg", "--of", "minilm", "bm25"]
    done = treceval(["report", str(DATA / "qrels.tsv"), *runs, *plots])
    assert done.status == 0, done.err
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert "minilm − bm25" in (tmp_path / "deltas.svg").read_text("utf-8")


def test_the_plots_of_the_command_are_those_of_the_report() -> None:
    from treceval_py.cli.report import PLOTS as OFFERED

    assert OFFERED == PLOTS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing output: add -o FILE, --png PLOT=FILE or --svg PLOT=FILE."),
        (["--png", "bars"], "Invalid value for '--png': 'bars' is not of the form PLOT=FILE, such as bars=bars.png."),
        (["-o", "-"], "Pages and plots cannot be written to standard output (-); name a file."),
        (["-o", "x.html", "--of", "a", "b"], "--of selects the runs of --png and --svg; add one of these."),
        (["--svg", "pie=x"], f"Invalid value for '--svg': unknown plot 'pie'; choose one of {', '.join(PLOTS)}."),
    ],
)
def test_where_to_write_must_be_said(arguments: list[str], message: str) -> None:
    done = treceval(["report", "qrels", "one", "two", *arguments])
    assert done.status == 2
    assert done.err.decode() == f"treceval: {message} See 'treceval report --help'.\n"


def test_one_file_is_not_written_twice(tmp_path: Path) -> None:
    runs = [str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "minilm")]
    plots = ["--png", f"bars={tmp_path}/a.png", "--png", f"scatter={tmp_path}/a.png"]
    done = treceval(["report", str(DATA / "qrels.tsv"), *runs, *plots])
    assert done.err.decode() == f"{tmp_path}/a.png: two outputs would go to this file. Name another file.\n"


def test_nothing_is_written_where_a_plot_cannot_be_drawn(tmp_path: Path) -> None:
    saved = []
    for name in ("bm25", "minilm"):
        saved.append(str(tmp_path / f"{name}.json"))
        run = str(DATA / "runs" / f"{name}.txt")
        treceval(["-q", "-m", "map", "--format", "json", "-o", saved[-1], str(DATA / "qrels.tsv"), run])
    done = treceval(["report", *saved, "-o", str(tmp_path / "new.html"), "--svg", f"overlap={tmp_path}/x.svg"])
    assert done.status == 1
    assert not (tmp_path / "new.html").exists()
