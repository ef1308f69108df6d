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
from grading_samples import ADA, COURSE, ENTRIES, GRADES, SCRIPT
from syrupy.assertion import SnapshotAssertion

from treceval_py.grading.grades import Grades, Pair
from treceval_py.grading.outputs.pages import MOST, overview
from treceval_py.grading.rules import MeasureRule


def body(page: str) -> str:
    return re.sub(r"(?s)<(script|style)>.*?</\1>", "", page).partition("<body>")[2]


def rows(page: str, section: str) -> list[list[str]]:
    """Return the cells of a table, without the titles."""
    found = re.search(rf'(?s)<section id="{section}".*?<tbody>(.*?)</tbody>', page)
    assert found is not None
    lines = found[1].split("</tr>")[:-1]
    return [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.split("</t[hd]>", line)[:-1]]
        for line in lines
    ]


def words(page: str) -> str:
    """Return the text of a page, a line for each row, paragraph and item."""
    marked = re.sub(r"</(tr|p|li|h\d|section|summary)>", "\v", body(page).replace("\n", " "))
    lines = (" ".join(re.sub(r"<[^>]*>", " ", line).split()) for line in marked.split("\v"))
    return html.unescape("\n".join(filter(None, lines)))


# Without a browser --------------------------------------------------------------------------------


def test_a_page_runs_its_own_script_only_and_fetches_nothing() -> None:
    made = overview(GRADES)
    (script,) = re.findall(r"(?s)<script>(.*?)</script>", made)
    named = b64encode(sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{named}';" in made
    assert '<meta name="robots" content="noindex">' in made
    links = re.findall(r"(?:src|href)=\"([^\"#][^\"]*)\"", body(made))
    assert sorted(set(links)) == sorted(f"feedback/{entry.name}.txt" for entry in ENTRIES)
    assert not re.search(r"url\((?!data:)|@import|https?:", made.replace("http://evil", ""))
    assert overview(GRADES) == made


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
    made = body(overview(GRADES))
    assert [each for each in (SCRIPT, "\x1b", "\u202e", "\x00") if each in made] == []
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in made


def test_students_are_in_the_order_of_the_first_measure_and_those_without_are_last() -> None:
    page = overview(GRADES)
    # AP: 0.3125 twice, 0.25 twice, 0.2, 0.125, 0.05; then three without
    assert [row[6] for row in rows(page, "grades")] == [
        *("0.3125", "0.3125", "0.2500", "0.2500", "0.2000", "0.1250", "0.0500"), *[""] * 3,
    ]  # fmt: skip
    nan = ENTRIES[0]._replace(graded=ADA._replace(measures={"AP": float("nan")}))
    some = overview(GRADES._replace(entries=(nan, *ENTRIES[1:3]), pairs=()))
    assert [row[6] for row in rows(some, "grades")] == ["0.2500", "0.2000", "–"]
    assert "In the order of AP." in page
    assert "The baseline has 0.2500." in page


def test_the_student_is_the_heading_of_a_row() -> None:
    students = re.search(r"<tbody>(.*?)</tbody>", overview(GRADES), re.DOTALL)
    assert students is not None
    for row in students[1].split("<tr")[1:]:
        assert row.count("<th") == 1
        assert row.index('<th scope="row"') < row.index("<td")


def test_verdicts_and_findings_are_counted() -> None:
    page = overview(GRADES)
    # correct, rounding, convention, mistake, not reproduced, unchecked, no claim; confirmed, explained, asked
    assert ["".join(row[1:]) for row in rows(page, "verdicts")] == ["1101010112", "1010101000", "0000010000"]
    # Bob: 17 and 1, Dan: 1; errors first
    found = [row[:4] for row in rows(page, "findings")]
    assert found == [["R112", "error", "1", "1"], ["R120", "error", "1", "17"], ["R130", "warning", "1", "1"]]


NOBODY = Grades("qrels", "folder", "", GRADES.rules._replace(title=""), measures=(), baseline_measures={}, entries=())


def test_a_page_has_the_class_and_all_that_needs_a_look(snapshot: SnapshotAssertion) -> None:
    assert words(overview(GRADES)) == snapshot(name="class")
    assert words(overview(COURSE)) == snapshot(name="course")
    assert words(overview(NOBODY)).startswith("Overview of the class\n0 students\nAbout About\n")


@pytest.mark.parametrize(("pairs", "more"), [(MOST, []), (MOST + 1, ["1"]), (MOST + 1200, ["1,200"])])
def test_a_long_list_of_pairs_is_cut(pairs: int, more: list[str]) -> None:
    page = overview(GRADES._replace(pairs=(Pair(0, 1, "same documents", 1.0, 50),) * pairs))
    assert re.findall(r"And ([\d,]+) more, all in the gradebook", page) == more
    assert len(rows(page, "alike")) == MOST


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
        page.goto(target.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.close()


@pytest.mark.slow
def test_a_click_on_a_title_sorts_by_name_or_from_the_highest_number(opened: Any) -> None:
    page = opened()
    assert (page.title(), page.faults) == ("Retrieval, exercise 3", [])

    def column(title: str, place: int) -> list[str]:
        page.click(f"#grades thead button:has-text('{title}')")
        return [row.inner_text() for row in page.query_selector_all(f"#grades tbody tr > :nth-child({place})")]

    assert column("points", 2) == [*("100.00", "75.00", "70.00", "50.25", "47.50", "40.00", "40.00"), *["0.00"] * 3]
    assert column("points", 2)[:4] == ["0.00", "0.00", "0.00", "40.00"]
    assert page.get_attribute("#grades thead th:nth-child(2)", "aria-sort") == "ascending"
    assert [name[:4] for name in column("student", 1) if name[0].isalpha()] == [
        *("Ada ", "Bob", "Eve\\", "joe\\", "Ödön", "xxxx"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768, 1200, 1920])
def test_the_page_is_as_wide_as_the_window_and_reads_without_javascript(opened: Any, width: int) -> None:
    assert opened(width).evaluate("document.documentElement.scrollWidth") == width
    page = opened(width, java_script_enabled=False)
    assert len(page.query_selector_all("#grades tbody th")) == 10
    assert page.query_selector("thead button") is None


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
