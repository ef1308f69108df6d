"""The site: what is in its pages, and what they do in Chromium without a screen."""

from __future__ import annotations

import functools
import inspect
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from modules import module_at

pytestmark = pytest.mark.both_readers  # pages are the same with either, and take minutes to build

HOME = Path(__file__).parent.parent
DOCS = HOME / "docs"
MATHJAX = DOCS / "_static" / "vendor" / "mathjax"


def test_mathjax_is_as_published_and_has_its_licence() -> None:
    # mathjax.sha256 is sha256sum of the files of mathjax@3.2.2 in the npm registry, folder es5
    published = (HOME / "tests" / "mathjax.sha256").read_text("utf-8").splitlines()
    found = {path.relative_to(MATHJAX).as_posix(): path for path in MATHJAX.rglob("*") if path.is_file()}
    assert "Apache License" in found.pop("LICENSE").read_text("utf-8")
    assert {f"{sha256(path.read_bytes()).hexdigest()}  {name}" for name, path in found.items()} == set(published)


# The site is built once. -----------------------------------------------------------------------------


FLAGS = ("--builder", "html", "--fail-on-warning", "--keep-going", "--fresh-env", "--jobs", "auto", "--quiet")


def built(source: Path, into: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sphinx", *FLAGS, "-c", str(DOCS), "-d", str(into / "trees"), str(source)]
    # The kernel of notebooks must see this environment's package, too.
    path = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [*command, str(into / "site")],
        cwd=HOME,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="builds the site, which needs Sphinx: .[docs] has it")
    into = tmp_path_factory.mktemp("site")
    done = built(DOCS, into)
    assert done.returncode == 0, done.stderr
    return into / "site"


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, str]:
    found = {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*.html"))}
    return {name: path.read_text("utf-8") for name, path in found.items() if not name.startswith("_static/")}


@pytest.mark.slow
def test_every_page_of_docs_is_there_with_a_description(pages: dict[str, str]) -> None:
    written = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert {"measures/ndcg.html", "rules.html", "architecture.html"} <= written <= set(pages)
    undescribed = {
        name for name, text in pages.items() if not re.search(r'<meta name="description" content=".{16}', text)
    }
    assert undescribed == {"genindex.html", "py-modindex.html", "search.html"} & set(pages)


@pytest.mark.slow
def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="builds a page, which needs Sphinx: .[docs] has it")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "index.md").write_text("# Title\n\n[Elsewhere](there.md) and [here](#here).\n", "utf-8")
    done = built(tmp_path / "source", tmp_path)
    assert done.returncode != 0
    assert "there.md" in done.stderr
    assert "not found: 'here'" in done.stderr


@pytest.mark.slow
def test_every_public_name_method_and_attribute_is_described(site: Path) -> None:
    from sphinx.util.inventory import InventoryFile

    found = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    described = {name for kind, names in found.items() if kind.startswith("py:") for name in names}
    packages = [import_module(package) for package in module_at(DOCS / "names.py").public()]
    wanted = {f"{package.__name__}.{name}" for package in packages for name in package.__all__}
    for path in (HOME / "treceval_py" / "integrations").glob("[a-z]*.py"):  # read: what it imports may be missing
        names = re.findall(r"^(?:def|class) ([a-zA-Z]\w*)", path.read_text("utf-8"), re.MULTILINE)
        wanted |= {f"treceval_py.integrations.{path.stem}.{name}" for name in names}
    for package in packages:
        for name in package.__all__:
            kind = getattr(package, name)
            if inspect.isclass(kind) and name != "Rules":  # whose page is rules
                wanted |= {f"{package.__name__}.{name}.{member}" for member in members_of(kind)}
    assert wanted - described == set()


def members_of(kind: type) -> set[str]:
    """Return the methods, properties and attributes of a class that are not described as parameters."""
    ours = [vars(each) for each in kind.__mro__ if each.__module__.startswith("treceval_py")]
    kinds = property | classmethod | staticmethod | FunctionType
    members = {name for found in ours for name, value in found.items() if isinstance(value, kinds)}
    members |= {each.name for each in fields(kind)} if is_dataclass(kind) else set(getattr(kind, "_fields", ()))
    parameters = re.findall(r"^(\w[\w, ]*) : ", inspect.getdoc(kind) or "", re.MULTILINE)
    described = {each for names in parameters for each in names.split(", ")}
    return {each for each in members - described if not each.startswith("_")}


# In a browser. ---------------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[dict[str, str]]:
    """How the site begins, opened from its folder and from a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield {"file": site.as_uri() + "/", "http": f"http://127.0.0.1:{server.server_port}/"}
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """How a tab is opened; what pages ask for is kept in its attribute `asked`."""
    contexts = []

    def tab(**options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        return page

    yield tab
    for context in contexts:
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "wide"), [("file", 360), ("http", 1400)])
def test_pages_fit_and_ask_for_nothing_elsewhere(
    served: dict[str, str], pages: dict[str, str], opened: Callable[..., Any], scheme: str, wide: int
) -> None:
    tab = opened(viewport={"width": wide, "height": 800})
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    wider, with_math, with_mathjax = [], [], []
    for name in pages:
        before = len(tab.asked)
        tab.goto(served[scheme] + name)
        if tab.evaluate("document.documentElement.scrollWidth") > wide:
            wider.append(name)
        if tab.locator(".math").count():
            with_math.append(name)
        if any("mathjax" in each for each in tab.asked[before:]):
            with_mathjax.append(name)
    assert [each for each in tab.asked if not each.startswith((served[scheme], "data:"))] == []
    assert wider == []
    assert errors == []
    assert with_mathjax == with_math != []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["file", "http"])
def test_search_finds_a_measure(served: dict[str, str], opened: Callable[..., Any], scheme: str) -> None:
    tab = opened()
    tab.goto(served[scheme] + "index.html")
    tab.keyboard.press("Control+k")
    tab.keyboard.type("ndcg")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#search-results .search-summary:has-text('found')")
    found = tab.locator("ul.search li a").evaluate_all("links => links.map(each => each.href)")
    assert any("measures/ndcg.html" in each for each in found)
    assert any("why-numbers-differ.html" in each for each in found)


@pytest.mark.slow
def test_formulas_are_drawn(served: dict[str, str], pages: dict[str, str], opened: Callable[..., Any]) -> None:
    tab = opened()
    failed: list[str] = []
    tab.on("requestfailed", lambda request: failed.append(request.url))
    wrong = []
    for name in [name for name, text in pages.items() if 'class="math ' in text]:
        tab.goto(served["file"] + name)
        tab.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
        tab.evaluate("MathJax.startup.promise")
        drawn, formulas = tab.locator("mjx-container").count(), tab.locator(".math").count()
        if not drawn == formulas > 0 or tab.locator("mjx-merror").count():
            wrong.append(name)
    assert wrong == []
    assert failed == []


@pytest.mark.slow
def test_the_finder_finds_measures_by_any_name(served: dict[str, str], opened: Callable[..., Any]) -> None:
    tab = opened()
    tab.goto(served["file"] + "measures.html")
    for words, first in {
        "ndcg_cut_10": "ndcg_cut",
        "MRR@10": "recip_rank_cut",
        "hit-rate": "success",  # ranx and others
        "harmonic mean": "F1_cut",
        "nerr8": "nerr8_cut",
    }.items():
        tab.fill("#finder", words)
        shown = tab.locator(".stacked tbody tr:visible a").evaluate_all("links => links.map(a => a.innerText)")
        assert 0 < len(shown) < 12, words
        tab.press("#finder", "Enter")
        tab.wait_for_url(f"**/measures/{first}.html")
        tab.go_back()
    tab.fill("#finder", "recall")
    assert tab.locator(".stacked tbody tr:visible a").first.inner_text() == "R@k"  # whose name it is, not IPrec
    assert tab.locator("[role=status]").inner_text() == ""
    tab.fill("#finder", "no such measure")
    assert tab.locator("section section:visible").count() == 0
    assert tab.locator("[role=status]").inner_text() == "No measure matches."
    tab.fill("#finder", "")
    assert tab.locator(".stacked tbody tr:visible").count() == len(list((DOCS / "measures").glob("*.md")))


TRIED = (
    "index tutorial compare commands measures measures/ndcg_cut measures/alpha_ndcg_cut reference/treceval_py gallery "
    "why-numbers-differ search"
)


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 360)])
def test_pages_are_accessible(served: dict[str, str], opened: Callable[..., Any], scheme: str, width: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe: .[dev] has it")
    tab = opened(color_scheme=scheme, viewport={"width": width, "height": 800})
    serious = []
    for name in TRIED.split():
        tab.goto(f"{served['http']}{name}.html")
        tab.wait_for_timeout(300)
        for each in axe.Axe().run(tab).response["violations"]:
            if each["impact"] in ("serious", "critical"):
                serious.append((name, each["id"], each["nodes"][0]["html"][:200]))
    assert serious == []


@pytest.mark.slow
def test_what_is_copied_has_no_prompts(served: dict[str, str], opened: Callable[..., Any]) -> None:
    tab = opened(permissions=["clipboard-read", "clipboard-write"])
    tab.goto(served["http"] + "index.html")
    copied = []
    for number in (0, 1, 2):
        tab.locator("div.highlight").nth(number).hover()
        tab.locator("button.copybtn").nth(number).click()
        copied.append(tab.evaluate("navigator.clipboard.readText()"))
    assert copied[0].partition(" #")[0].strip() == f"pip install {module_at(DOCS / 'make.py').INSTALLED}"
    assert copied[1] == "treceval -m map -m nDCG@10 data/qrels.tsv data/runs/bm25.txt"
    assert copied[2].splitlines()[0] == "import treceval_py as te"
    assert ">>>" not in copied[2]
