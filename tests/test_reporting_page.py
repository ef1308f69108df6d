"""The page of a report: what it does when opened in Chromium without a screen."""

from __future__ import annotations

import csv
import io
import math
import re
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import treceval
from report_payloads import HOSTILE, NAMES, drawn_payload
from scipy import stats
from shared import ROBUST, skip_without_shared

import treceval_py as te
from treceval_py.comparing.show.sentences import finding
from treceval_py.comparing.simultaneous import simultaneous
from treceval_py.reporting.page import page

pytestmark = pytest.mark.slow


DATA = Path(__file__).parent.parent / "data"
SAMPLE = ("bm25", "jaccard", "minilm")
QRELS = str(DATA / "qrels.tsv")
PAIR = [str(DATA / "runs" / f"{name}.txt") for name in ("bm25", "minilm")]
MINUS = "\N{MINUS SIGN}"


class Opened:
    """A page that is open, and what it did beside showing itself."""

    def __init__(
        self, browser: Any, file: Path, at: str = "", *, wide: int = 1400, scheme: str = "light", scripts: bool = True
    ) -> None:
        self.scripts = scripts
        self.context = browser.new_context(
            viewport={"width": wide, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
        )
        self.tab = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text))
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(file.as_uri() + at)
        if scripts:
            self.tab.wait_for_selector("html[data-ready]")
            self.settle()

    def settle(self) -> None:
        """Wait until the parts outside of the window are drawn, too."""
        if self.scripts:
            self.tab.wait_for_selector("html:not([data-busy])", state="attached")

    def texts(self, selector: str) -> list[str]:
        """Return the texts of elements with single spaces, and with a plain minus."""
        self.settle()
        found = self.tab.eval_on_selector_all(selector, "all => all.map((each) => each.innerText ?? each.textContent)")
        return [" ".join(text.split()).replace(MINUS, "-") for text in found]

    def text(self, selector: str) -> str:
        return self.texts(selector)[0]

    def count(self, selector: str) -> int:
        self.settle()
        return int(self.tab.locator(selector).count())

    def numbers(self) -> dict[str, str]:
        """Return the numbers of the two runs by what they are."""
        return dict(zip(self.texts(".numbers dt"), self.texts(".numbers dd"), strict=True))

    @property
    def chosen(self) -> dict[str, str]:
        """What the page shows as chosen: measure, reference, run, query."""
        return {
            "m": self.text("#measures [aria-pressed=true]"),
            "ref": self.text("#two .says .is-ref"),
            "run": self.text("#two .says .is-run"),
            "q": self.text("#queries [aria-selected=true] b"),
        }

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tab.keyboard.press(key)
        self.settle()

    def saved(self, figure: str, kind: str) -> bytes:
        """Return what a figure is saved as."""
        self.settle()
        with self.tab.expect_download() as started:
            self.tab.locator(f"#{figure} .save button", has_text=kind).click()
        return Path(started.value.path()).read_bytes()

    def rows(self, figure: str) -> list[list[str]]:
        """Return the rows of a figure's CSV; the first is the head."""
        return list(csv.reader(io.StringIO(self.saved(figure, "CSV").decode(), newline="")))


Open = Callable[..., Opened]


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Open pages, and see at the end that they said nothing and fetched nothing."""
    pages: list[tuple[Opened, Path]] = []

    def open_page(file: Path, *args: Any, **more: Any) -> Opened:
        pages.append((Opened(browser, file, *args, **more), file))
        return pages[-1][0]

    yield open_page
    for each, file in pages:
        assert each.said == []
        assert {url.split("#")[0] for url in each.asked if not url.startswith(("data:", "blob:"))} == {file.as_uri()}
        each.context.close()


def sample_comparison(runs: tuple[str, ...] = SAMPLE, measures: Any = ("map", "nDCG@10", "RR", "P@10")) -> Any:
    files = [str(DATA / "runs" / f"{name}.txt") for name in runs]
    return te.compare(QRELS, files, measures=list(measures), names=list(runs))


def sample_payload(comparison: Any) -> dict[str, Any]:
    """Return the payload of the sample collection with all texts, and with groups."""

    def read(name: str) -> dict[str, str]:
        lines = (DATA / name).read_text("utf-8").splitlines()
        return dict(line.split("\t", 1) for line in lines)

    payload = te.reporting.report_payload(
        comparison,
        qrels=QRELS,
        runs=[str(DATA / "runs" / f"{name}.txt") for name in comparison.runs],
        texts=read("queries.tsv"),
        passages=read("collection.tsv"),
        title="Sample",
        command="treceval report qrels.tsv bm25.txt jaccard.txt minilm.txt -o report.html",
    )
    half = len(payload["qids"]) // 2
    parts = [["first", list(range(half))], ["second", list(range(half, len(payload["qids"])))]]
    payload["groups"] = [{"name": "by half", "sets": parts}, *payload["groups"]]
    level = 0.05 / sum(len(group["sets"]) for group in payload["groups"])
    for made in payload["measures"]:
        made["student"] = {str(n): stats.t.isf(level / 2, n - 1) for n in range(2, len(payload["qids"]) + 1)}
    return payload


@pytest.fixture(scope="module")
def comparison() -> Any:
    return sample_comparison()


def written(folder: Path, payload: dict[str, Any]) -> Path:
    (folder / "report.html").write_text(page(payload), encoding="utf-8")
    return folder / "report.html"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, comparison: Any) -> Path:
    return written(tmp_path_factory.mktemp("sample"), sample_payload(comparison))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("drawn"), drawn_payload())


# Its numbers are Python's


def signed(value: float, digits: int = 4) -> str:
    return f"{value:+.{digits}f}"


def test_each_value_of_a_page_is_printed_as_on_the_terminal(opened: Open, tmp_path: Path) -> None:
    # In query n, all documents from rank n to rank 64 are relevant: RR is 1/n, and P@64 (65 - n)/64. Both have ties of
    # four decimals, such as 1/32 = 0.03125, which Python rounds to the even digit, and JavaScript up.
    judged = "".join(f"{n} 0 d{rank} 1\n" for n in range(1, 65) for rank in range(n, 65))
    ranking = "".join(f"{n} Q0 d{rank} {rank} {100 - rank} x\n" for n in range(1, 65) for rank in range(1, 65))
    for name, text in (("qrels", judged), ("run", ranking)):
        (tmp_path / name).write_text(text)
    steps = (str(tmp_path / "qrels"), str(tmp_path / "run"), ("RR", "P@64"))
    sample = (QRELS, PAIR[0], ("nDCG@10", "AP"))  # nDCG@10 of query 63 is 0.388652, which is 0.38865 and 0.3886 if cut
    for qrels, run, measures in (steps, sample):
        named = [part for measure in measures for part in ("-m", measure)]
        printed = treceval(["score", qrels, run, *named, "-q"]).out.decode()
        rows = [line.split() for line in printed.splitlines()]
        treceval(["report", qrels, run, *named, "-o", str(tmp_path / "page.html")])
        shown = opened(tmp_path / "page.html")
        for place, measure in enumerate(measures):
            shown.tab.locator("#measures button").nth(place).click()
            values = {}
            for item in range(shown.count("#queries li")):
                shown.tab.locator("#queries li").nth(item).dispatch_event("click")
                values[shown.text("#queries [aria-selected=true] b")] = shown.text(".asked p b")
            assert values
            assert values == {qid: value for name, qid, value in rows if name == measure and qid != "all"}


@pytest.mark.parametrize("place", range(4))
def test_differences_intervals_and_p_values_are_those_of_the_comparison(
    opened: Open, sample: Path, comparison: Any, place: int
) -> None:
    measure = comparison.measures[place]
    together = measure.together
    shown = opened(sample, f"#m={measure.measure}")
    head, *rows = shown.rows("runs")
    reference = next(row[0] for row in rows if row[head.index("verdict")] == "reference")
    for row in rows:
        if row[0] == reference:
            continue
        cell = dict(zip(head, row, strict=True))
        one, other = comparison.runs.index(row[0]), comparison.runs.index(reference)
        each = measure.values[one] - measure.values[other]
        half = together.critical(0.05) * together.error[one, other]
        # Means have all their digits, and standard errors of less than 0.1 eight: off by 5e-10 times a critical t of 3.
        assert float(cell["difference"]) == pytest.approx(each.mean(), abs=1e-12)
        assert float(cell["low"]) == pytest.approx(each.mean() - half, abs=2e-9)
        assert float(cell["high"]) == pytest.approx(each.mean() + half, abs=2e-9)
        assert float(cell["p_corrected"]) == pytest.approx(together.p[one, other], rel=1e-12)
        assert [int(cell[name]) for name in ("won", "even", "lost")] == [
            np.sum(each > 0), np.sum(each == 0), np.sum(each < 0)
        ]  # fmt: skip
        better = "significantly better" if each.mean() > 0 else "significantly worse"
        assert cell["verdict"] == (better if abs(each.mean()) > half else "no significant difference")


@pytest.mark.parametrize(("one", "other"), [("minilm", "bm25"), ("jaccard", "bm25"), ("bm25", "minilm")])
def test_any_two_runs_have_their_numbers(opened: Open, sample: Path, comparison: Any, one: str, other: str) -> None:
    values = comparison.measures[0].values
    each = values[comparison.runs.index(one)] - values[comparison.runs.index(other)]
    shown = opened(sample, f"#run={one}&ref={other}")
    numbers = shown.numbers()
    d = each.mean() / each.std(ddof=1)
    assert numbers["Difference"] == signed(each.mean())
    assert numbers["Effect size d"] == signed(d, 2)
    wins, even, losses = np.sum(each > 0), np.sum(each == 0), np.sum(each < 0)
    assert numbers["Queries won · even · lost"] == f"{wins} · {even} · {losses}"
    # The power of the two-sided paired t-test from scipy's noncentral t distribution.
    needed = int(numbers["Queries needed to detect it"].replace(",", ""))
    # At the level of the test of all pairs: that of a paired t-test with its critical t and 29 degrees of freedom.
    level = 2 * stats.t.sf(comparison.measures[0].together.critical(0.05), 29)

    def power(n: int) -> float:
        quantile = stats.t.isf(level / 2, n - 1)
        noncentral = stats.nct(n - 1, abs(d) * math.sqrt(n))
        return float(noncentral.sf(quantile) + noncentral.cdf(-quantile))

    exact = next(n for n in range(2, 5000) if power(n) >= 0.8)
    assert needed == exact
    assert f"{wins} queries go to {one}, {losses} to {other}" in shown.text("#two .says")


@pytest.mark.parametrize(
    "runs",
    [("bm25", "minilm"), SAMPLE, ("minilm", "bm25", "minilm"), ("bm25", "bm25", "bm25"), ("bm25", "bm25")],
)
def test_the_page_and_the_command_say_the_same_of_what_came_out(
    opened: Open, tmp_path: Path, runs: tuple[str, ...]
) -> None:
    files = [str(DATA / "runs" / f"{name}.txt") for name in runs]
    names = [f"{name} {n}" for n, name in enumerate(runs)]
    made = te.compare(QRELS, files, measures=["map", "P@10", "RR"], names=names)
    shown = opened(written(tmp_path, te.reporting.report_payload(made)))
    for place, compared in enumerate(made.measures):
        shown.tab.locator("#measures button").nth(place).click()
        first, *rest = finding(made, compared)
        assert shown.text("#finding") == first
        # The page has the interval of two runs, too, whichever is the reference: run minus reference.
        assert shown.text("#apart").split(" The mean difference, ")[0] == " ".join(rest)
        if len(set(runs)) == 1:  # nothing is finer than another, and no run has the least
            assert "ruler" not in shown.text("body")
            assert "least in" not in shown.text("body")


def test_all_differences_are_run_minus_reference_whichever_run_is_the_reference(opened: Open, tmp_path: Path) -> None:
    made = te.compare(QRELS, PAIR, measures="map", names=["bm25", "minilm"])
    file = written(tmp_path, te.reporting.report_payload(made, qrels=QRELS, runs=PAIR))
    low, high = made.measures[0].means.tolist()
    for baseline, sign in (("bm25", 1), ("minilm", -1)):
        run = "minilm" if baseline == "bm25" else "bm25"
        shown = opened(file, f"#ref={baseline}&run={run}&q=63")
        difference = signed(sign * (high - low))
        assert f"The mean difference, {run} - {baseline}, is {difference}," in shown.text("#apart")
        assert shown.numbers()["Difference"] == difference
        assert f" is {abs(high - low):.4f} {'higher' if sign > 0 else 'lower'}." in shown.text("#two .says")
        assert difference in shown.text(f"#runs tbody tr[data-run='{made.runs.index(run)}']")
        shown.tab.locator(f"#runs tr[data-run='{made.runs.index(run)}'] td:has(svg)").first.hover()
        assert shown.text(".hint").startswith(f"{run} - {baseline}: {difference} map")
        of_query = "+0.6429" if sign > 0 else "-0.6429"  # minilm 1, bm25 0.3571
        assert shown.text(".asked p b:nth-of-type(3)") == shown.text("table.changes tr.sum td") == of_query
        assert shown.text("#queries [aria-selected=true] .right") == f"{sign * 0.642857:+.3f}"
        shown.tab.locator("#scatter circle.mark[data-q]").first.scroll_into_view_if_needed()
        place = next(n for n, row in enumerate(shown.rows("bars")[1:]) if row[0] == "63")
        shown.tab.locator("#bars rect.target").nth(place).hover()
        assert shown.text(".hint").endswith(f": {of_query}")


def test_groups_have_t_intervals_corrected_for_their_number(opened: Open, sample: Path, comparison: Any) -> None:
    shown = opened(sample, "#run=minilm&ref=bm25")
    given = sample_payload(comparison)
    sets = [each for group in given["groups"] for each in group["sets"]]
    head, first, *rows = shown.rows("groups")
    assert head == ["attribute", "group", "queries", "difference", "low", "high"]
    assert first[1] == "all queries"
    assert [row[1] for row in rows] == [label for label, _ in sets]
    values = np.array(given["measures"][0]["values"])
    for row, (_, queries) in zip(rows, sets, strict=True):
        each = (values[comparison.runs.index("minilm")] - values[comparison.runs.index("bm25")])[queries]
        low, high = stats.t.interval(1 - 0.05 / len(sets), len(each) - 1, each.mean(), stats.sem(each))
        assert [float(x) for x in row[2:]] == pytest.approx([len(each), each.mean(), low, high], abs=1e-8)


def ranked(run: str, qid: str) -> list[str]:
    """Return the documents of a run as trec_eval ranks them: by score, then by descending id."""
    lines = (DATA / "runs" / f"{run}.txt").read_text().splitlines()
    rows = [(np.float32(parts[4]), parts[2].encode()) for parts in map(str.split, lines) if parts[0] == qid]
    return [docid.decode() for _, docid in sorted(rows, reverse=True)]


def judged(qid: str) -> dict[str, int]:
    lines = map(str.split, (DATA / "qrels.tsv").read_text().splitlines())
    return {docid: int(rel) for query, _, docid, rel in lines if query == qid}


def contributions(measure: str, run: str, qid: str) -> dict[str, float]:
    """Return what each relevant document adds to the value, written out as the measures are defined."""
    rels = {docid: rel for docid, rel in judged(qid).items() if rel > 0}
    ideal = sum(rel / math.log2(n + 2) for n, rel in enumerate(sorted(rels.values(), reverse=True)[:10]))
    found, adds = 0, {}
    for rank, docid in enumerate(ranked(run, qid), start=1):
        if docid not in rels:
            continue
        found += 1
        adds[docid] = {
            "map": found / rank / len(rels),
            "nDCG@10": rels[docid] / math.log2(rank + 1) / ideal if rank <= 10 else 0.0,
            "RR": 1 / rank if found == 1 else 0.0,
            "P@10": 0.1 if rank <= 10 else 0.0,
        }[measure]
    return adds


@pytest.mark.parametrize("odd", [{}, {"third": {"1": {"b": 2.0, "a": 1.0}, "2": {"c": 1.0}}}])
def test_no_run_leads_where_means_are_equal(opened: Open, tmp_path: Path, odd: dict[str, Any]) -> None:
    qrels, good = {"1": {"a": 1}, "2": {"c": 1}}, {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}
    made = te.compare(qrels, {"first": good, "second": good, **odd}, measures=["AP", "RR"])
    shown = opened(written(tmp_path, te.reporting.report_payload(made)))
    assert ("Highest MRR: first and second." if odd else "Higher MRR: equal.") in shown.text("body")


@pytest.mark.parametrize("measure", ["map", "nDCG@10", "RR", "P@10"])
def test_what_documents_add_is_what_the_measure_says_and_sums_to_the_difference(
    opened: Open, sample: Path, comparison: Any, measure: str
) -> None:
    name = comparison.measures[["map", "nDCG@10", "RR", "P@10"].index(measure)].measure
    for qid in ("63", "10086"):
        shown = opened(sample, f"#m={name}&run=minilm&ref=bm25&q={qid}")
        head, *rows = shown.rows("changes")
        assert ",".join(head) == "document,grade,rank in bm25,rank in minilm,adds in bm25,adds in minilm,change"
        before, now = contributions(measure, "bm25", qid), contributions(measure, "minilm", qid)
        rels = judged(qid)
        assert sorted(row[0] for row in rows) == sorted(docid for docid, rel in rels.items() if rel > 0)
        for docid, grade, _, _, was, adds, change in rows:
            # The value that they are scaled to has seven digits.
            assert int(grade) == rels[docid]
            assert float(was) == pytest.approx(before.get(docid, 0.0), abs=1e-6)
            assert float(adds) == pytest.approx(now.get(docid, 0.0), abs=1e-6)
            assert float(change) == pytest.approx(now.get(docid, 0.0) - before.get(docid, 0.0), abs=2e-6)
        total = sum(now.values()) - sum(before.values())
        assert float(shown.text("table.changes tr.sum td")) == pytest.approx(total, abs=6e-5)
        assert shown.text("table.changes tr.sum td") == shown.text(".asked p b:nth-of-type(3)")


def test_both_rankings_are_those_of_the_files_with_texts_and_lines_to_the_run_that_they_help(
    opened: Open, sample: Path
) -> None:
    shown = opened(sample, "#run=minilm&ref=bm25&q=63")
    _, *rows = shown.rows("rankings")
    rels = judged("63")
    for run in ("bm25", "minilm"):
        documents = [(int(rank), docid, grade) for name, rank, docid, grade in rows if name == run]
        top = ranked(run, "63")[:20]
        assert documents == [(n, docid, str(rels.get(docid, ""))) for n, docid in enumerate(top, start=1)]
    # Lines join the documents that both have.
    assert shown.count("#rankings .joined") == len(set(ranked("bm25", "63")[:20]) & set(ranked("minilm", "63")[:20]))
    grades = shown.texts("#rankings .badge-text")
    assert grades == [str(rels.get(docid, "?")) for run in ("bm25", "minilm") for docid in ranked(run, "63")[:20]]
    assert shown.text(".asked h3") == "Query 63 how does compound interest work"
    passages = dict(line.split("\t", 1) for line in (DATA / "collection.tsv").read_text("utf-8").splitlines())
    first = shown.text("table.changes tbody th")
    assert shown.text("table.changes tr.told")[:60] == passages[first][:60]
    shown.tab.locator("#rankings summary").click()
    top = ranked("bm25", "63")[0]
    assert shown.text("#rankings table.both tbody td").startswith(f"{top} {passages[top][:40]}")
    # In query 63 minilm has all relevant documents in front: each of them helps it.
    assert shown.count("#rankings .joined.to-run") == 4
    assert shown.count("#rankings .joined.to-ref") == 0
    shown.press("s")
    assert shown.count("#rankings .joined.to-ref") == 4


# By mouse


def test_queries_are_opened_in_the_plots_and_in_the_list_which_is_searched_by_id_and_by_text(
    opened: Open, sample: Path
) -> None:
    shown = opened(sample)
    for mark in ("#scatter circle.mark", "#bars rect.target"):
        for number in (3, 17):
            target = shown.tab.locator(mark).nth(number)
            query = int(target.get_attribute("data-q") or "")
            target.dispatch_event("click")
            assert shown.count(f"#query-{query}[aria-selected=true]") == 1
            assert shown.text(".asked h3").startswith(f"Query {shown.chosen['q']} ")
            assert shown.tab.evaluate("location.hash").endswith(f"q={shown.chosen['q']}")
    row = shown.tab.locator("#queries li").nth(5)
    query, qid = row.get_attribute("data-q"), row.locator("b").inner_text()
    row.click()
    assert shown.chosen["q"] == qid
    point = shown.tab.locator(f"#scatter circle.mark[data-q='{query}']")
    ring = shown.tab.locator("#scatter .ring")
    assert float(ring.get_attribute("cx") or "") == pytest.approx(float(point.get_attribute("cx") or ""), abs=0.1)
    assert shown.text("#bars text.here") == qid
    assert shown.text("#announced").startswith(f"Query {qid}")
    shown.tab.fill("#find", "COMPOUND interest")
    assert shown.texts("#queries li b") == ["63"]
    assert shown.text(".queries .note").startswith("1 of 30 queries")
    shown.tab.fill("#find", "100")
    assert shown.texts("#queries li b") == ["10086"]
    shown.tab.fill("#find", "nothing like it")
    assert shown.texts("#queries li b") == []
    shown.tab.fill("#find", "")
    assert len(shown.texts("#queries li b")) == 30


def test_queries_are_listed_in_the_order_of_their_difference(opened: Open, sample: Path, comparison: Any) -> None:
    shown = opened(sample, "#run=minilm&ref=bm25")
    values = comparison.measures[0].values
    each = values[comparison.runs.index("minilm")] - values[comparison.runs.index("bm25")]
    assert [float(text) for text in shown.texts("#queries li .right")] == pytest.approx(sorted(each), abs=6e-4)
    _, *rows = shown.rows("bars")
    assert [row[0] for row in rows] == shown.texts("#queries li b")


def test_a_group_is_chosen_and_left_by_mouse_and_keyboard_and_a_choice_in_the_bar_changes_all_parts(
    opened: Open, sample: Path
) -> None:
    shown = opened(sample)
    group = shown.tab.locator("#groups [data-group='0.1']")
    group.dispatch_event("click")
    assert group.get_attribute("aria-pressed") == "true"
    assert shown.text(".queries .note").startswith("15 queries (second)")
    assert shown.count("#scatter circle.faded") == 15
    assert shown.count("#bars rect.faded") == 15
    shown.press("Escape")
    assert shown.count("#scatter circle.faded") == 0
    group.focus()
    shown.press("Enter")
    assert group.get_attribute("aria-pressed") == "true"
    assert shown.tab.evaluate("document.activeElement.dataset.group") == "0.1"
    shown.press(" ")
    assert group.get_attribute("aria-pressed") == "false"
    for place in (1, 3):
        label = shown.texts("#measures button")[place]
        shown.tab.locator("#measures button").nth(place).click()
        assert label in shown.text("#finding")
        assert shown.text(".numbers dt") == label
        assert label in shown.text("#bars figcaption p")
        assert label in shown.text(".asked p")
    shown.tab.select_option("#reference", label="jaccard")
    shown.tab.select_option("#looked-at", label="bm25")
    assert (shown.chosen["ref"], shown.chosen["run"]) == ("jaccard", "bm25")
    shown.tab.click("#swap")
    assert (shown.chosen["ref"], shown.chosen["run"]) == ("bm25", "jaccard")
    assert "bm25" in shown.text("#announced")


def test_a_run_or_query_is_highlighted_wherever_it_is(opened: Open, sample: Path) -> None:
    shown = opened(sample)
    shown.tab.locator("#queries").scroll_into_view_if_needed()
    row = shown.tab.locator("#queries li").nth(2)
    query = row.get_attribute("data-q")
    row.hover()
    point = f"getComputedStyle(document.querySelector('#scatter circle.mark[data-q=\"{query}\"]')).fill"
    assert shown.tab.evaluate(point) == "rgb(28, 27, 26)"
    shown.tab.locator("#relevant-ranks .track").first.hover()
    assert shown.tab.evaluate(point) != "rgb(28, 27, 26)"


# By keyboard


def test_measures_runs_and_queries_are_changed_and_found_by_keys(opened: Open, sample: Path) -> None:
    shown = opened(sample)
    before = shown.chosen
    labels = shown.texts("#measures button")
    shown.press("m", "m")
    assert shown.chosen["m"] == labels[2]
    shown.press("M", "M", "M")
    assert shown.chosen["m"] == labels[3]
    shown.press("m")
    assert shown.chosen["m"] == before["m"]
    shown.press("s")
    assert (shown.chosen["ref"], shown.chosen["run"]) == (before["run"], before["ref"])
    shown.press("r")
    assert (shown.chosen["ref"], shown.chosen["run"]) == (before["ref"], before["run"])
    shown.press("p")
    assert f"pins={before['run']}" in shown.tab.evaluate("location.hash")
    shown.press("Escape")
    assert "pins" not in shown.tab.evaluate("location.hash")
    listed = shown.texts("#queries li b")
    shown.tab.focus("#queries")
    shown.press("Home")
    assert shown.chosen["q"] == listed[0]
    shown.press("ArrowDown", "j", "ArrowDown")
    assert shown.chosen["q"] == listed[3]
    shown.press("k")
    assert shown.chosen["q"] == listed[2]
    assert shown.tab.evaluate("document.activeElement.id") == "queries"
    selected = shown.tab.get_attribute("#queries", "aria-activedescendant")
    assert shown.tab.get_attribute(f"#{selected}", "aria-selected") == "true"
    shown.press("End")
    assert shown.chosen["q"] == listed[-1]
    shown.press("]")
    assert shown.chosen["q"] == listed[-1]
    shown.press("[", "[")
    assert shown.chosen["q"] == listed[-3]
    shown.press("/")
    assert shown.tab.evaluate("document.activeElement.id") == "find"
    shown.tab.keyboard.type("compound s")  # s is a letter here, and no swap
    shown.press("Backspace", "Backspace", "Enter")
    assert shown.tab.evaluate("document.activeElement.id") == "queries"
    assert shown.chosen["q"] == "63"


def test_table_parts_theme_and_help_have_keys_and_one_stop_of_the_tab_key(opened: Open, sample: Path) -> None:
    shown = opened(sample)
    assert shown.count("#runs tbody [tabindex='0']") == 1
    assert shown.count("#queries [tabindex='0']") == 0
    assert shown.count("#scatter [tabindex], #bars [tabindex]") == 0
    rows = shown.tab.locator("#runs tbody tr[data-run]")
    rows.nth(0).focus()
    shown.press("ArrowDown", "j", "k")
    assert shown.tab.evaluate("document.activeElement.dataset.run") == rows.nth(1).get_attribute("data-run")
    shown.press("End")
    shown.press("Enter")
    assert shown.chosen["run"] == shown.text("#runs tbody tr:last-child th").removesuffix("○").strip()
    rows.nth(2).focus()
    shown.press("r")
    assert shown.chosen["ref"] == shown.text("#runs tbody tr:last-child th").removesuffix("○").strip()
    for key, part in (("2", "two"), ("3", "one"), ("1", "all")):
        shown.press(key)
        assert shown.tab.evaluate("document.activeElement.id") == part
    shown.press("t", "t")
    assert shown.tab.evaluate("document.documentElement.dataset.theme") == "dark"
    shown.press("?")
    assert shown.tab.is_visible("#help")
    assert "next, previous measure" in shown.text("#help")
    measure = shown.chosen["m"]
    shown.press("m")  # keys are off while the list is open
    assert shown.chosen["m"] == measure
    shown.press("Escape")
    assert not shown.tab.is_visible("#help")
    shown.tab.click("#keys")
    shown.tab.locator("#help button").click()
    assert not shown.tab.is_visible("#help")


# The address


def test_what_is_chosen_stands_in_the_address_and_comes_back(opened: Open, sample: Path) -> None:
    shown = opened(sample)
    shown.press("m", "s", "p")
    shown.tab.select_option("#margin", "0.05")
    shown.tab.locator("#groups [data-group='0.0']").dispatch_event("click")
    shown.tab.locator("#queries li").nth(4).click()
    state, address = shown.chosen, shown.tab.evaluate("location.hash")
    again = opened(sample, address)
    assert again.chosen == state
    assert again.tab.evaluate("location.hash") == address
    assert again.tab.locator("#groups [aria-pressed=true]").get_attribute("data-group") == "0.0"
    assert again.tab.input_value("#margin") == "0.05"
    assert again.text(".queries .note") == shown.text(".queries .note")


def test_names_in_the_address_that_are_unknown_are_passed_over(opened: Open, sample: Path) -> None:
    chosen = opened(sample).chosen
    for address in (
        "#m=none&ref=none&run=none&q=none&group=none&pins=none,x&heat=none&margin=-1&unfolded=7",
        "#m=%E0%A4%A&ref=&run=constructor&q=__proto__&x=y&=&&&margin=Infinity",
        "#",
    ):
        assert opened(sample, address).chosen == chosen, address


def test_hostile_names_come_back_from_the_address_and_rows_are_looked_at(opened: Open, drawn: Path) -> None:
    shown = opened(drawn)
    for run in (2, 3, 6):
        shown.tab.select_option("#looked-at", str(run))
        again = opened(drawn, shown.tab.evaluate("location.hash"))
        assert again.chosen["run"] == " ".join(NAMES[run].split())
        assert again.count("img") == 0
    row = shown.tab.locator("#runs tbody tr[data-run='2']")
    row.locator("td").nth(1).click()
    assert shown.chosen["run"] == HOSTILE
    row = shown.tab.locator("#runs tbody tr[data-run='1']")
    row.locator(".pin").dispatch_event("click")
    assert "pins=dense" in shown.tab.evaluate("location.hash")


def test_an_address_that_is_changed_by_hand_is_followed(opened: Open, sample: Path, comparison: Any) -> None:
    shown = opened(sample)
    last = shown.texts("#measures button")[3]
    shown.tab.evaluate(f"location.hash = '#m={comparison.measures[3].measure}&q=63'")
    assert shown.text(".asked h3").startswith("Query 63 ")
    assert shown.chosen["m"] == last


# One run


def test_a_single_run_has_its_values_its_worst_queries_and_their_documents(opened: Open, tmp_path: Path) -> None:
    done = treceval([
        "report", QRELS, PAIR[0], "-m", "map", "-m", "P@10", "-o", str(tmp_path / "one.html"),
        "--queries", str(DATA / "queries.tsv"), "--corpus", str(DATA / "collection.tsv"),
    ])  # fmt: skip
    assert done.status == 0
    results = te.evaluate(QRELS, PAIR[0], ["map", "P@10"])
    for wide in (360, 1440):
        shown = opened(tmp_path / "one.html", wide=wide)
        assert shown.tab.evaluate("document.documentElement.scrollWidth") <= wide
        assert shown.text("#finding") == f"bm25 has map {results.mean['map']:.4f}."
        assert f"map {results.mean['map']:.4f}" in shown.text("#runs tbody")
        for hidden in ("#reference", "#looked-at", "#swap", "#margin", "#heat", "#ranks", "#overlap", "#key"):
            assert not shown.tab.is_visible(hidden), hidden
        for figure in ("precision", "recall", "bars", "groups", "rankings", "changes"):
            assert shown.tab.is_visible(f"#{figure} .drawn"), figure
        # Its worst query is opened, and all are listed, the worst first.
        ordered = sorted(results, key=lambda qid: results[qid]["map"])
        listed = [float(text) for text in shown.texts("#queries li .right")]
        assert listed == pytest.approx([results[qid]["map"] for qid in ordered], abs=6e-4)
        assert shown.text("#queries [aria-selected=true] b") == ordered[0] == "63"
        _, *rows = shown.rows("rankings")
        assert [docid for _, _, docid, _ in rows] == ranked("bm25", "63")[:20]
        adds = {row[0]: float(row[3]) for row in shown.rows("changes")[1:]}
        expected = contributions("map", "bm25", "63")
        assert {docid: add for docid, add in adds.items() if add} == pytest.approx(expected, abs=1e-5)
        shown.press("s", "r", "p", "m", "]")  # keys of two runs do nothing
        assert shown.text("#finding") == f"bm25 has P@10 {results.mean['P@10']:.4f}."


# Saving figures

FIGURES = ("runs", "ranks", "precision", "recall", "overlap", "heat", "scatter", "bars", "groups", "rankings", "changes", "relevant-ranks")  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_figure_is_saved_as_svg_that_needs_nothing_else(opened: Open, sample: Path, scheme: str) -> None:
    for place, figure in enumerate(FIGURES):
        if place % 6 == 0:  # Chromium asks before a page saves its eleventh file
            shown = opened(sample, "#q=63", scheme=scheme)
        root = ET.fromstring(shown.saved(figure, "SVG"))
        assert root.tag == f"{SVG}svg", figure
        texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
        assert root.findtext(f"{SVG}title") in " ".join(texts), figure
        assert "Sample · " in " ".join(texts), figure
        assert {each.get("class") for each in root.iter()} == {None}, figure
        assert "var(" not in ET.tostring(root, "unicode"), figure
        ground = root.find(f"{SVG}rect")
        assert ground is not None
        assert ground.get("fill") == ("rgb(253, 252, 250)" if scheme == "light" else "rgb(22, 22, 24)")
        fonts = {font for each in root.iter(f"{SVG}text") if (font := each.get("font-family")) is not None}
        # A name with a digit of its own is a font only in quotes; others are made to fit where it is missing.
        assert '"Source Sans 3", Helvetica, Arial, sans-serif' in fonts, figure
        assert all(each.get("textLength") for each in root.iter(f"{SVG}text") if "".join(each.itertext())), figure
        assert all("Helvetica" in font or "Georgia" in font or "Menlo" in font for font in fonts), figure


def test_saved_drawings_have_what_is_shown_and_pictures_twice_their_size(opened: Open, sample: Path) -> None:
    shown = opened(sample, "#q=63&run=minilm&ref=bm25")
    points = ET.fromstring(shown.saved("scatter", "SVG"))
    assert len(list(points.iter(f"{SVG}circle"))) == 30 + 1  # and the ring round the chosen one
    table = ET.fromstring(shown.saved("changes", "SVG"))
    texts = ["".join(each.itertext()) for each in table.iter(f"{SVG}text")]
    assert "Difference of the query" in texts
    assert "+0.6429" in texts
    assert any(text.startswith("Compound interest was called") for text in texts)
    for figure in ("scatter", "rankings", "heat", "runs"):
        drawing = ET.fromstring(shown.saved(figure, "SVG"))
        png = shown.saved(figure, "PNG")
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        size = struct.unpack(">II", png[16:24])
        assert size == tuple(int(2 * float(drawing.get(side) or "")) for side in ("width", "height")), figure


def test_tables_of_values_are_quoted_and_complete(opened: Open, drawn: Path) -> None:
    shown = opened(drawn, "#run=rrf(bm25%2C%20dense)")
    given = drawn_payload()["measures"][0]["values"]
    head, *rows = shown.rows("scatter")
    assert head[:2] == ["query", "rrf(bm25, dense)"]
    assert len(rows) == 100
    assert {row[0]: float(row[1]) for row in rows} == {f"q{n + 1}": value for n, value in enumerate(given[5])}
    for figure in ("ranks", "precision", "recall", "overlap", "heat"):
        assert len(shown.rows(figure)) > 1, figure


# All can use it


def test_on_a_narrow_screen_the_second_list_is_below_the_first_and_cells_are_as_wide_as_a_finger(
    opened: Open, sample: Path
) -> None:
    shown = opened(sample, "#q=63&run=minilm&ref=bm25", wide=360)
    ids = shown.tab.locator("#rankings .document .id")
    boxes = [ids.nth(place).bounding_box() for place in (0, 20)]
    assert all(box is not None and 0 <= box["x"] < 300 for box in boxes)
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[1]["y"] > boxes[0]["y"] + 20 * 22
    # In query 63 minilm ranks all four relevant documents higher; each arrow names the rank in the other list.
    assert sorted(shown.texts("#rankings .arrow.to-run text")) == sorted(
        str(ranked(run, "63").index(docid) + 1)
        for run in ("bm25", "minilm") for docid, rel in judged("63").items() if rel > 0
    )  # fmt: skip
    shown.tab.locator("#heat .scroll").scroll_into_view_if_needed()
    box = shown.tab.locator("#heat .cells > svg:not(.beside)").bounding_box()
    assert box is not None
    assert box["width"] >= 30 * 24
    assert box["height"] >= 3 * 24
    # Names stay where they are when the columns are scrolled.
    name = shown.tab.locator("#heat .beside .label").first
    before = name.bounding_box()
    shown.tab.evaluate("document.querySelector('#heat .scroll').scrollLeft = 200")
    assert name.bounding_box() == before


def test_figures_are_saved_by_one_line_that_is_seen_on_hover_and_on_focus(opened: Open, sample: Path) -> None:
    shown = opened(sample)
    line = shown.tab.locator("#scatter > .save")
    seen = "getComputedStyle(document.querySelector('#scatter > .save')).opacity"
    assert shown.tab.evaluate(seen) == "0"
    for act in (shown.tab.locator("#scatter h3").hover, line.locator("button").first.focus):
        act()
        shown.tab.wait_for_timeout(300)
        assert shown.tab.evaluate(seen) == "1"
        shown.tab.mouse.move(0, 0)
    assert all(shown.count(f"#{figure} > .save") == 1 for figure in FIGURES)


def test_counts_have_whole_ticks_and_other_values_have_not(opened: Open, tmp_path: Path) -> None:
    made = te.compare(QRELS, PAIR, measures=["num_rel_ret", "map"])
    shown = opened(written(tmp_path, te.reporting.report_payload(made)))
    ticks = shown.texts("#bars svg text[text-anchor=end]")[:-1]
    assert ticks
    assert all(re.fullmatch(r"[+-]?\d+", tick) for tick in ticks)
    shown.press("m")
    assert any("." in tick for tick in shown.texts("#bars svg text[text-anchor=end]"))


def test_axe_finds_nothing(opened: Open, sample: Path, tmp_path: Path) -> None:
    name = "axe_playwright_python.sync_playwright"
    axe = pytest.importorskip(name, reason="needs axe-playwright-python: .[dev] has it")

    def violations(shown: Opened) -> list[tuple[str, str]]:
        return [(each["id"], each["nodes"][0]["html"]) for each in axe.Axe().run(shown.tab).response["violations"]]

    for scheme in ("light", "dark"):
        shown = opened(sample, "#q=63&pins=jaccard&group=by%20half%3A%20first", scheme=scheme)
        shown.tab.locator("#rankings summary").click()
        assert violations(shown) == []
        shown.press("?")
        assert violations(shown) == []
    treceval(["report", QRELS, PAIR[0], "-o", str(tmp_path / "one.html"), "--corpus", str(DATA / "collection.tsv")])
    for wide, scheme in ((360, "light"), (1400, "dark")):
        assert violations(opened(tmp_path / "one.html", wide=wide, scheme=scheme)) == []
    shown = opened(written(tmp_path, drawn_payload(50, 30, 2)), wide=360)
    for query in ("q2", "q1"):  # without documents, and with them
        shown.tab.evaluate(f"location.hash = '#q={query}'")
        assert violations(shown) == []


def test_without_scripts_the_means_are_there(opened: Open, drawn: Path) -> None:
    shown = opened(drawn, scripts=False)
    assert shown.count("table.runs tbody tr") == 8
    assert "has the highest AP" in shown.text("#finding")
    assert "JavaScript" in shown.text("noscript")
    assert not shown.tab.is_visible("#two")
    assert shown.tab.is_visible("footer")


def test_a_dark_page_is_printed_light_and_without_its_controls(opened: Open, sample: Path) -> None:
    shown = opened(sample, scheme="dark")
    shown.tab.emulate_media(media="print", color_scheme="dark")
    assert shown.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for control in ("#bar", ".queries", ".save", "#keys", "#theme"):
        assert not shown.tab.locator(control).first.is_visible(), control
    for part in ("#runs", "#scatter", "#rankings", "footer"):
        assert shown.tab.is_visible(part), part
    printed = shown.tab.pdf(prefer_css_page_size=True)
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 8


# States


STATES = {
    "two runs": {"runs": 2},
    "two runs, one query": {"runs": 2, "queries": 1, "measures": 1},
    "one query": {"runs": 3, "queries": 1, "measures": 2, "curves": False},
    "thirty queries": {"queries": 30},
    "fifty runs": {"runs": 50, "queries": 20, "measures": 2},
    "200 runs": {"runs": 200, "measures": 2, "documents": 0},
    "7,000 queries": {"runs": 5, "queries": 6980, "measures": 2, "documents": 3},
    "300 queries": {"runs": 3, "queries": 300, "measures": 1},
    "saved results": {"documents": 0, "curves": False, "texts": False},
    "values missing": {"missing": True, "baseline": 0},
}


@pytest.mark.parametrize("wide", [360, 1400])
@pytest.mark.parametrize("state", STATES)
def test_each_state_is_shown(opened: Open, tmp_path: Path, state: str, wide: int) -> None:
    given = drawn_payload(**STATES[state])
    shown = opened(written(tmp_path, given), wide=wide)
    assert shown.tab.evaluate("document.documentElement.scrollWidth") <= wide
    assert shown.text(".asked h3").startswith("Query q")
    assert shown.count("#queries li") == min(300, len(given["qids"]) - 2 * (state == "values missing"))
    shown.press("s", "m", "[", "]")
    assert shown.tab.evaluate("document.documentElement.scrollWidth") <= wide
    for figure in ("scatter", "bars"):
        assert shown.count(f"#{figure} svg") == 1


def test_many_queries_are_hexagons_an_outline_and_a_list_of_the_largest_differences(
    opened: Open, tmp_path: Path
) -> None:
    shown = opened(written(tmp_path, drawn_payload(2, 3000, 1, documents=0)))
    assert shown.count("#scatter circle.mark") == 200
    assert 20 < shown.count("#scatter .hexagon") < 3000
    assert shown.count("#bars path.c-run") == 1
    assert shown.text(".queries .note").startswith("3,000 queries, the 300 largest differences")
    shown.tab.fill("#find", "q2999")
    assert shown.texts("#queries li b") == ["q2999"]
    target = shown.tab.locator("#bars rect.target").nth(10)
    query = int(target.get_attribute("data-q") or "")
    target.dispatch_event("click")
    assert shown.text(".asked h3").startswith(f"Query q{query + 1} ")
    # A column of the heat map has 12 of the queries; they are listed until another word is sought, or Esc.
    cells = shown.tab.locator("#heat .cells canvas")
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    assert box is not None
    shown.tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert shown.text(".queries .note").startswith("12 queries of one column")
    shown.press("Escape")
    assert shown.text(".queries .note").startswith("3,000 queries")


def test_queries_without_documents_say_so_and_how_they_are_had(opened: Open, drawn: Path, tmp_path: Path) -> None:
    shown = opened(drawn, "#q=q2")
    assert "The page has no documents of this query. It has the documents of 34 of 100 queries" in shown.text(
        ".without"
    )
    assert not shown.tab.is_visible("#rankings")
    assert shown.tab.is_visible("#query-values")
    shown.tab.evaluate("location.hash = '#q=q1'")
    shown.tab.wait_for_selector("#rankings", state="visible")
    assert not shown.tab.is_visible("#query-values")
    shown = opened(written(tmp_path, drawn_payload(documents=0, curves=False)))
    assert "Made from judgments and run files" in shown.text(".without")


def test_a_measure_that_is_no_sum_shows_ranks_and_no_sum(opened: Open, drawn: Path) -> None:
    shown = opened(drawn, "#m=R@100&q=q1")
    assert shown.text("#changes h3") == "Which documents moved"
    assert shown.texts("#changes thead th") == ["Document", "Grade", "Rank"]
    assert shown.count("#changes .sum") == 0
    assert "is not a sum over documents" in shown.text("#rankings figcaption p")


# The command ----------------------------------------------------------------------------------------


def test_the_command_writes_a_page_that_opens(opened: Open, tmp_path: Path) -> None:
    written_to = tmp_path / "report.html"
    done = treceval(["report", QRELS, *PAIR, "-o", str(written_to), "--queries", str(DATA / "queries.tsv")])
    assert (done.status, done.out) == (0, b"")
    shown = opened(written_to)
    results = te.evaluate(QRELS, PAIR[1], "map")
    shown.press("/")
    shown.tab.keyboard.type("how long does it take")
    shown.press("Enter")
    qid = shown.chosen["q"]
    _, *rows = shown.rows("scatter")
    assert {row[0]: float(row[1]) for row in rows}[qid] == pytest.approx(results[qid]["map"], abs=1e-5)
    assert f"{results.mean['map']:.4f}" in shown.text("#runs")
    assert str(DATA) not in written_to.read_text("utf-8")


def test_eight_runs_of_trec_robust_are_shown(opened: Open, tmp_path: Path) -> None:
    skip_without_shared()
    written_to = tmp_path / "report.html"
    measures = [part for name in ("map", "nDCG@10", "P@10", "RR") for part in ("-m", name)]
    treceval(["report", str(ROBUST / "qrels.txt.gz"), str(ROBUST / "input.*"), *measures, "-o", str(written_to)])
    assert written_to.stat().st_size < 3_000_000
    shown = opened(written_to)
    assert re.fullmatch(r"pircRBa1 has the highest \S+, 0.3101\.", shown.text("#finding"))
    assert len(shown.rows("bars")) == 1 + 100
    for query in range(0, 100, 9):  # what documents add is the value, in all of these
        shown.tab.locator("#queries li").nth(query).click()
        difference = shown.text(".asked p b:nth-of-type(3)")
        assert shown.text("table.changes tr.sum td") == difference


@pytest.mark.parametrize("wide", [768, 1024, 1181, 1280, 1440])
def test_the_table_of_runs_fits_its_window_with_names_of_trec_and_ranges(
    opened: Open, tmp_path: Path, wide: int
) -> None:
    given = drawn_payload(runs=8, queries=30, measures=4)
    names = ["MU03rob01", "NLPR03vb10", "SABIR03BASE", "UIUC03Rd1", "aplrob03a", "a-name-of-22-letters-xx", "pircRBa1"]
    for run, name in zip(given["runs"], names, strict=False):
        run["name"] = name
    for measure, label in zip(
        given["measures"], ["nDCG@10", "P(rel=2)@100", "Success@1000", "RBP(p=0.95)"], strict=True
    ):
        measure["name"] = measure["label"] = label
    shown = opened(written(tmp_path, given), wide=wide)
    assert shown.count("#runs tbody tr") == 8
    table, room = (f"document.querySelector('#runs {part}')" for part in ("table", ".drawn"))
    assert shown.tab.evaluate(f"{table}.offsetWidth <= {room}.clientWidth")
    assert shown.tab.evaluate("document.documentElement.scrollWidth") <= wide


def test_documents_without_a_text_say_so_where_others_have_one(opened: Open, sample: Path, tmp_path: Path) -> None:
    assert opened(sample, "#q=63").count("#rankings .document .absent") == 0
    given = drawn_payload()  # relevant-0 alone has a text
    shown = opened(written(tmp_path, given), "#q=q1")
    assert shown.count("#rankings .document .text") == shown.count("#rankings .document")
    assert all(text.startswith("text not") for text in shown.texts("#rankings .document .absent"))
    shown = opened(written(tmp_path, drawn_payload(texts=False)), "#q=q1")
    assert shown.count("#rankings .document .text") == 0


def test_a_hint_goes_when_the_page_is_scrolled(opened: Open, sample: Path) -> None:
    shown = opened(sample)
    shown.tab.locator("#runs tbody td:has(svg)").nth(2).hover()
    shown.tab.wait_for_timeout(100)
    assert shown.tab.is_visible(".hint")
    shown.tab.evaluate("scrollBy(0, 400)")
    shown.tab.wait_for_selector(".hint", state="hidden")


def test_no_interval_leaves_the_range_of_the_measure(opened: Open, tmp_path: Path) -> None:
    right, wrong = {"a": 2.0, "x": 1.0}, {"x": 2.0}
    runs = {"one": {"1": wrong, "2": right}, "other": {"1": right, "2": wrong}}  # RR 0 and 1, and 1 and 0
    made = te.compare({"1": {"a": 1}, "2": {"a": 1}}, runs, ["RR", "utility"])
    for measure, low, high in (("RR", -1, 1), ("utility", -math.inf, math.inf)):
        head, *rows = opened(written(tmp_path, te.reporting.report_payload(made)), f"#m={measure}").rows("runs")
        (cells,) = [dict(zip(head, row, strict=True)) for row in rows if "reference" not in row]
        reach = simultaneous(made[measure].values, resamples=10_000, seed=1)
        half = reach.critical(0.05) * reach.error[0, 1]
        assert float(cells["low"]) == pytest.approx(max(low, -half), abs=1e-4)
        assert float(cells["high"]) == pytest.approx(min(high, half), abs=1e-4)
        assert half > 1
