"""The overview of an invented class, as text and opened in Chromium without a screen."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from grading_samples import ADA, COURSE, ENTRIES, GRADES, LONG, SCRIPT
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.grades import Grades, Pair
from treceval_py.grading.outputs.overview import histogram, overview
from treceval_py.grading.rule_keys import MeasureRule
from treceval_py.version import __version__

pytest.importorskip("jinja2", reason="an overview needs jinja2: .[grade] has it")


def content(text: str, pattern: str) -> str:
    """Return what a pattern that has one group finds."""
    found = re.search(pattern, text, re.DOTALL)
    assert found is not None
    return found[1]


# Without a browser --------------------------------------------------------------------------------


def test_a_page_allows_its_own_script_and_style_by_their_hashes_and_nothing_else() -> None:
    made = overview(GRADES)
    policy = content(made, r'Content-Security-Policy" content="([^"]*)"').replace("&#39;", "'")
    hashes = [
        b64encode(sha256(content(made, pattern).encode()).digest()).decode()
        for pattern in (r"<script>(.*?)</script>", r"<style>(.*?)</style>")
    ]
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_a_page_fetches_nothing_and_links_to_feedback_only() -> None:
    made = overview(GRADES)
    links = re.findall(r"(?:src|href)=\"([^\"#][^\"]*)\"", made)
    assert sorted(set(links)) == sorted(f"feedback/{entry.name}.txt" for entry in ENTRIES)
    assert "@import" not in made
    assert "url(" not in made
    assert " style=" not in made


def test_hostile_text_in_every_place_is_text() -> None:
    image = '"><img src=x onerror=alert(1)>'
    grades = GRADES._replace(
        qrels=image,
        submissions=image,
        baseline=image,
        measures=(image,),
        baseline_measures={image: 0.5},
        strays=(image,),
        notes=(image,),
        rules=GRADES.rules._replace(title=image, measures=(MeasureRule(image, full_from=0.5),), points_measures=5.0),
        entries=(ENTRIES[0]._replace(graded=ADA._replace(student=image, measures={image: 0.5}), name=image),),
        pairs=(Pair(0, -1, image, 1.0, 1),),
    )
    assert "<img" not in overview(grades)
    made = overview(GRADES)
    assert [each for each in (SCRIPT, "\x1b", "\u202e", "\x00") if each in made] == []
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in made


def test_the_same_grades_give_the_same_page() -> None:
    assert overview(GRADES) == overview(GRADES)


def test_students_are_in_the_order_of_the_first_measure_and_those_without_are_last() -> None:
    body = content(overview(GRADES), r'id="summary".*?<tbody>(.*?)</tbody>')
    names = re.findall(r'href="feedback/([^"]*)\.txt"', body)
    # AP: 0.3125 twice, 0.25 twice, 0.2, 0.125, 0.05; then three without
    assert names == [
        *("Ada_Lovelace", "fdp.txt", "Odon_von_Horvath", "joe_sixpack", "Bob"),
        *("1_1_cmd", "x", "HYPERLINK", "Eve", "script"),
    ]


def test_the_class_is_summed_up() -> None:
    figures = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd></div>", overview(GRADES))
    # 100 + 75 + 47.5 + 0 + 0 + 0 + 40 + 40 + 70 + 50.25 = 422.75; the middle two are 40 and 47.5
    assert figures == [
        *(
            ("scored", "6"),
            ("repaired", "1"),
            ("refused", "1"),
            ("missing", "1"),
            ("failed", "1"),
            ("need a human", "5"),
        ),
        *(("mean of the points, of 100", "42.3"), ("median of the points", "43.8"), ("passed", "4 of 10")),
    ]


def test_verdicts_are_counted_by_measure() -> None:
    made = content(overview(GRADES), r'aria-label="Verdicts by measure">.*?<tbody>(.*?)</tbody>')
    rows = [re.findall(r">(\d+)<", row) for row in made.split("</tr>")[:3]]
    # correct, rounding, convention, mistake, not reproduced, unchecked, no claim; confirmed, explained, asked
    assert rows == [list("1101010112"), list("1010101000"), list("0000010000")]


def test_what_there_is_not_has_no_section() -> None:
    made = overview(GRADES._replace(entries=ENTRIES[8:9], pairs=(), strays=(), notes=()))
    for name in ("unscored", "claims", "findings", "alike"):
        assert f'id="{name}"' not in made
        assert f'href="#{name}"' not in made
    assert 'id="human"' not in overview(GRADES._replace(entries=ENTRIES, strays=()))


NOBODY = Grades("qrels", "folder", "", GRADES.rules._replace(title=""), measures=(), baseline_measures={}, entries=())
RULES = GRADES.rules._replace(
    measures=(MeasureRule("AP", 1.0, 0.1, 0.3), MeasureRule("RR")), points_measures=20.0, expected=("AP", "RR")
)
OTHER = ENTRIES[0]._replace(graded=ENTRIES[0].graded._replace(kind="judged-ranking", profile="coursework"))
CALLED = [
    each._replace(graded=each.graded._replace(student=name))
    for each, name in zip(ENTRIES, ("ann", "ben", "cid", "dan"), strict=False)
]
GROUP = (Pair(0, 1, "same file", 1.0, 50), Pair(1, 2, "same ranking", 1.0, 50), Pair(2, 3, "nearly the same", 0.97, 50))
DOCUMENTS = (Pair(0, 1, "same documents", 1.0, 50), Pair(1, 2, "same documents", 0.9, 50))

PARTS: dict[str, tuple[Grades, str]] = {
    "an empty class": (NOBODY, "class"),
    "rules": (GRADES._replace(rules=RULES), "how"),
    "rules without expected claims": (GRADES, "how"),
    "values of another convention": (GRADES._replace(entries=(OTHER, *ENTRIES[1:])), "students"),
    "a group with the same ranking": (GRADES._replace(entries=tuple(CALLED), pairs=GROUP), "alike"),
    "the same documents": (GRADES._replace(pairs=DOCUMENTS), "alike"),
}


def section(page: str, name: str) -> str:
    return content(page, rf'<section id="{name}"[^>]*>(.*?)</section>')


def words(markup: str) -> str:
    """Return the text of markup, a line for each row, paragraph and item."""
    markup = re.sub(r"(?s)<(script|style)>.*?</\1>", "", markup)
    markup = re.sub(r"</(tr|p|li|h\d|dd|section|summary|caption|figcaption)>", "\v", markup.replace("\n", " "))
    lines = (" ".join(re.sub(r"<[^>]*>", " ", line).split()) for line in markup.split("\v"))
    return html.unescape("\n".join(filter(None, lines))).replace(f"treceval {__version__}", "treceval VERSION")


def test_a_page_has_the_class_and_all_that_needs_a_look(snapshot: SnapshotAssertion) -> None:
    assert words(overview(GRADES)) == snapshot(name="class")
    assert words(overview(COURSE)) == snapshot(name="course")
    parts = [f"# {name}\n{words(section(overview(grades), part))}\n" for name, (grades, part) in PARTS.items()]
    assert "".join(parts) == snapshot(name="parts")
    assert words(overview(NOBODY)).startswith("Overview of the class Skip to the students 0 students")


@pytest.mark.parametrize(("pairs", "more"), [(200, []), (201, ["1"]), (212, ["12"])])
def test_a_long_list_of_pairs_is_cut(pairs: int, more: list[str]) -> None:
    page = overview(GRADES._replace(pairs=(Pair(0, 1, "same documents", 1.0, 50),) * pairs))
    assert re.findall(r"and (\d+) more, all in the gradebook", page) == more


# Histograms ---------------------------------------------------------------------------------------


def test_a_histogram_counts_parts_of_a_range_and_the_last_has_its_end() -> None:
    made = histogram([0, 5, 10, 99.9, 100], 0, 100, mark=None, unit="points")
    # parts of 10: 0 and 5; 10; 99.9 and 100
    assert [bar.number for bar in made.bars] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert made.bars[9].title == "90 to 100 points: 2 students"
    assert made.said == "0 to 10 points: 2 students; 10 to 20 points: 1 student; 90 to 100 points: 2 students"


def test_a_value_at_the_beginning_of_a_part_belongs_to_it_though_floats_are_below() -> None:
    # 0.3 / 0.1 is 2.9999999999999996
    made = histogram([0.3], 0.0, 1.0, mark=None, unit="AP")
    assert [bar.title for bar in made.bars if bar.number] == ["0.3 to 0.4 AP: 1 student"]


@pytest.mark.parametrize(("value", "said"), [(0.25, "0.25 to 0.30 AP"), (0.0, "0.00 to 0.05 AP"), (-1.0, "-1.00 to")])
def test_a_histogram_of_one_value_has_one_bar(value: float, said: str) -> None:
    made = histogram([value, value], value, value, mark=value, unit="AP")
    assert [bar.number for bar in made.bars] == [2]
    assert made.said.startswith(said)


def test_the_highest_bar_fills_the_height_and_the_others_are_in_proportion() -> None:
    made = histogram([1, 1, 1, 1, 2], 0, 10, mark=None, unit="")
    heights = [bar.height for bar in made.bars if bar.number]
    assert heights[1] * 4 == pytest.approx(heights[0], abs=0.02)
    assert len({bar.y + bar.height for bar in made.bars}) == 1


def test_the_baseline_stands_where_its_value_is() -> None:
    made = histogram([0, 10], 0, 10, mark=5.0, unit="")
    assert made.mark is not None
    first, last = made.bars[0], made.bars[-1]
    assert made.mark == pytest.approx((first.x + last.x + last.width) / 2, abs=0.02)


# In a browser -------------------------------------------------------------------------------------


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Return a function that opens the overview; what goes wrong in it is collected in ``faults``."""
    target = tmp_path / "overview.html"
    pages = []

    def show(width: int = 1200, grades: Grades = GRADES, **options: Any) -> Any:
        target.write_text(overview(grades), "utf-8")
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        page.faults = []
        page.on("console", lambda message: page.faults.append(message.text))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("dialog", lambda dialog: page.faults.append(dialog.message) or dialog.dismiss())
        page.goto(target.as_uri())
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.close()


def first_names(page: Any) -> list[str]:
    return [row.inner_text() for row in page.query_selector_all("#summary tbody th")]


@pytest.mark.slow
def test_the_page_opens_without_a_fault(opened: Any) -> None:
    page = opened()
    assert page.title() == "Retrieval, exercise 3"
    assert page.faults == []
    assert page.evaluate("getComputedStyle(document.querySelector('.histogram')).display") == "block"


@pytest.mark.slow
def test_a_click_on_a_title_sorts_by_name_or_from_the_highest_number(opened: Any) -> None:
    page = opened()

    def points() -> list[str]:
        page.click("#summary thead button:has-text('Points')")
        return [row.inner_text() for row in page.query_selector_all("#summary tbody td:nth-child(2)")]

    assert points() == [*("100.00", "75.00", "70.00", "50.25", "47.50", "40.00", "40.00"), *["0.00"] * 3]
    assert points()[:4] == ["0.00", "0.00", "0.00", "40.00"]
    assert page.get_attribute("#summary thead th:nth-child(2)", "aria-sort") == "ascending"
    page.click("#summary thead button:has-text('Student')")
    assert [name for name in first_names(page) if name[0].isalpha()] == [
        *(
            "Ada Lovelace",
            "Bob",
            "Eve\\x1b[31m\\x00\\x07",
            "joe\\tsixpack@",
            "Ödön von Horváth-日本語",
            LONG[:79] + "…",
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768, 1200])
def test_the_page_is_as_wide_as_the_window(opened: Any, width: int) -> None:
    page = opened(width)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 1920])
def test_no_column_is_cut_in_a_wide_window(opened: Any, width: int) -> None:
    measures = ("AP", "nDCG@10", "RR", "P@10", "R@100", "bpref", "ndcg_cut_100", "Rprec")
    values = dict.fromkeys(measures, 0.25)
    entries = tuple(each._replace(graded=each.graded._replace(measures=values)) for each in COURSE.entries)
    page = opened(width, grades=COURSE._replace(measures=measures, baseline_measures=values, entries=entries))
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    boxes = page.evaluate(
        "[...document.querySelectorAll('.scroll')].map((each) => [each.clientWidth, each.scrollWidth])"
    )
    assert len(boxes) >= 4
    assert [inside for box, inside in boxes if inside > box] == []


@pytest.mark.slow
def test_the_page_reads_without_javascript(opened: Any) -> None:
    page = opened(java_script_enabled=False)
    assert len(first_names(page)) == 10
    assert page.query_selector("#summary thead button") is None


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_both_schemes(opened: Any, scheme: str) -> None:
    page = opened(color_scheme=scheme)
    ink, paper = (
        [int(part) for part in re.findall(r"\d+", page.evaluate(f"getComputedStyle(document.body).{name}"))[:3]]
        for name in ("color", "backgroundColor")
    )
    # WCAG 2.2, 1.4.6: 7 to 1
    assert contrast(ink, paper) > 7
    assert (sum(paper) < sum(ink)) == (scheme == "dark")


def contrast(one: list[int], other: list[int]) -> float:
    """Return the contrast of two colours (WCAG 2.2, relative luminance)."""

    def luminance(colour: list[int]) -> float:
        parts = [part / 255 for part in colour]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def test_values_of_another_convention_are_marked_and_are_in_no_histogram() -> None:
    page = overview(PARTS["values of another convention"][0])
    # AP and nDCG@10 of one of ten
    assert re.findall(r"([\d.]+)<span class=\"dagger\">†", page) == ["0.3125", "0.5000"]
    assert "†" not in overview(GRADES)
    # seven values of AP, of which one is left out
    plot = content(page, r'aria-label="AP: ([^"]*)"')
    assert sum(map(int, re.findall(r"(\d+) student", plot))) == 6


def test_who_is_excused_is_in_no_mean_and_has_no_points() -> None:
    page = overview(COURSE)
    figures = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd></div>", page))
    # 66.5 and 75
    assert (figures["mean of the points, of 100"], figures["excused"], figures["passed"]) == ("70.8", "1", "2 of 2")
    row = content(page, r'(<th scope="row"><a href="feedback/Zoe.txt">.*?)</tr>')
    assert '<td data-value="">–</td>' in row
