"""The site: what is in its pages, and what they do in Chromium without a screen."""

from __future__ import annotations

import functools
import inspect
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import click
import pytest

import treceval_py as te
from treceval_py import retrieval
from treceval_py.cli.commands import treceval

pytestmark = pytest.mark.both_readers  # pages are the same with either, and take minutes to build

HOME = Path(__file__).parent.parent
DOCS = HOME / "docs"
MATHJAX = DOCS / "_static" / "vendor" / "mathjax"

# Made with sha256sum of the files of mathjax@3.2.2 in the npm registry, folder es5.
PUBLISHED = {
    "a11y/assistive-mml.js": "5b8414e36cd63d154b90beab67e5e3399c7439aff97f4b556761224f8176f657",
    "core.js": "44d9c29f77d89537e024d165e2c0d7e981a98d75ed53b6c236fac899ed631abb",
    "input/tex-base.js": "8479dec6af20d01ecca8f9785609c6d80ff9e3fc2ff4e038400632e78cec6c51",
    "input/tex/extensions/ams.js": "624d59b8b8585d3d69a8106b87bac62f8a2495b6caea7906a258ce1f15ff1ea4",
    "output/chtml.js": "287022a5672cb02108104df6a0c4d1ae219cc9d9e53e06ccb8c023c47ff867ce",
    "output/chtml/fonts/tex.js": "b525b71e41a7fdb124ef6a2b44d5250cb7fc2f56d7e73494ad03d090d0e4f28a",
    "startup.js": "84f4ec49041b12a6dadc5d1689babc80f417435cfcbd890ec712e374152bbb88",
    **{
        f"output/chtml/fonts/woff-v2/MathJax_{name}.woff": digest
        for name, digest in {
            "Main-Bold": "88b98cad3688915e50da55553ff6ad185e0dce134b47f176e91b100f8a9b175c",
            "Main-Italic": "355254db9ca10a09a3b5f0929d74eb4670f44fbe864c07526a06213e0a0caf6c",
            "Main-Regular": "1cb1c39ea642f26a4dfed230b4aea1c3c218689421f6e9c0a7c1811693c4fa07",
            "Math-Italic": "a009bea404f7a500ded48f8b9ad9cf16e12504b3195dd9e25975289b8256b0f0",
            "Size1-Regular": "c49810b53ecc0d87d8028762c518924197dd9d3f905b08f99ea241301085b9cb",
            "Size2-Regular": "30e889b58cbc51adfbb038ab1a96dc4025aa3542a3cff7712fc55ece510675e2",
            "Size3-Regular": "5cda41563a095bd70c78e2dda13d0f8cb922c71c90fffd0a0044c65173a66e83",
            "Size4-Regular": "3bc6ecaae7ecf6f8d7f8ea07bddbaca8601e2cb6e89d6aef58e78d9f6d8a398f",
            "Zero": "481e39042508ae313a60618af1e37146ab93e9324c98e4c78b8f17fe55d41e0b",
        }.items()
    },
}


def test_mathjax_is_as_published_and_has_its_licence() -> None:
    found = {path.relative_to(MATHJAX).as_posix(): path for path in MATHJAX.rglob("*") if path.is_file()}
    assert "Apache License" in found.pop("LICENSE").read_text("utf-8")
    assert {name: sha256(path.read_bytes()).hexdigest() for name, path in found.items()} == PUBLISHED


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


class Page(HTMLParser):
    """What a page links to and can be linked at."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.described = self.titled = False
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        self.described |= given.get("name") == "description" and len(given["content"]) > 20
        if tag != "link" or given.get("rel") not in ("index", "search", "next", "prev"):
            self.targets += [given[name] for name in ("href", "src") if name in given]


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Page]:
    return {
        path.relative_to(site).as_posix(): Page(path)
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }


@pytest.mark.slow
def test_no_link_is_dead(site: Path, pages: dict[str, Page]) -> None:
    dead = []
    for name, page in pages.items():
        for target in page.targets:
            address, anchor = urldefrag(target)
            if re.match(r"(https?|mailto|data):", address):
                continue
            there = unquote(urljoin(name, address.partition("?")[0])) if address else name
            if there.endswith("/"):
                there += "index.html"
            known = pages[there].ids if there in pages else {""} if (site / there).is_file() else None
            if known is None or (anchor and there in pages and unquote(anchor) not in known):
                dead.append((name, target))
    assert dead == []


@pytest.mark.slow
def test_every_page_of_docs_is_there_with_a_description(pages: dict[str, Page]) -> None:
    written = [path.relative_to(DOCS) for path in DOCS.rglob("*.md")]
    assert {path.with_suffix(".html").as_posix() for path in written} <= set(pages)
    undescribed = {name for name, page in pages.items() if not page.described}
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
@pytest.mark.parametrize("name", treceval.list_commands(click.Context(treceval)))
def test_the_page_of_commands_has_every_option(site: Path, name: str) -> None:
    page = (site / "commands.html").read_text("utf-8")
    section = page.partition(f'<section id="treceval-{name}">')[2].partition("<section ")[0]
    command = treceval.get_command(click.Context(treceval), name)
    assert command is not None
    written = set(re.findall(r'<span class="pre">(--?[\w-]+)</span>', section))
    spellings = {each for option in command.params for each in (*option.opts, *option.secondary_opts)}
    assert {each for each in spellings if each.startswith("-")} <= written
    assert {"-h", "--help"} <= written


MODULES = {
    "treceval_py": te.__all__,
    "treceval_py.retrieval": retrieval.__all__,
    **{f"treceval_py.integrations.{name}": None for name in ("beir", "ir_measures", "mteb", "sentence_transformers")},
}


@pytest.fixture(scope="session")
def described(site: Path) -> set[str]:
    from sphinx.util.inventory import InventoryFile

    found = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    return {name for kind, names in found.items() if kind.startswith("py:") for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_described(described: set[str], module: str) -> None:
    names = MODULES[module]
    if names is None:  # read, not imported: the package that it is for may be missing
        text = (HOME / f"{module.replace('.', '/')}.py").read_text("utf-8")
        names = re.findall(r'"(\w+)"', re.findall(r"__all__ = \[(.*?)\]", text, re.DOTALL)[0])
    assert names
    assert {f"{module}.{name}" for name in names} <= described


@pytest.mark.slow
@pytest.mark.parametrize("module", ["treceval_py", "treceval_py.retrieval"])
def test_methods_properties_and_attributes_are_described(described: set[str], module: str) -> None:
    classes = [each for each in vars(import_module(module))["__all__"] if each != "Rules"]  # docs/rules.md has its own
    missing = []
    for name in classes:
        kind = getattr(import_module(module), name)
        if not inspect.isclass(kind):
            continue
        ours = [vars(each) for each in kind.__mro__ if each.__module__.startswith("treceval_py")]
        members = {
            member
            for found in ours
            for member, value in found.items()
            if isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)
        }
        members |= {each.name for each in fields(kind)} if is_dataclass(kind) else set(getattr(kind, "_fields", ()))
        parameters = re.findall(r"^(\w[\w, ]*) : ", inspect.getdoc(kind) or "", re.MULTILINE)
        told = {each for names in parameters for each in names.split(", ")}
        missing += [
            f"{name}.{member}"
            for member in members
            if not member.startswith("_") and f"{module}.{name}.{member}" not in described and member not in told
        ]
    assert missing == []


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


def asked_by(tab: Any) -> list[str]:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    return asked


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "wide"), [("file", 360), ("http", 1400)])
def test_pages_fit_and_ask_for_nothing_elsewhere(
    served: dict[str, str], pages: dict[str, Page], browser: Any, scheme: str, wide: int
) -> None:
    context = browser.new_context(viewport={"width": wide, "height": 800})
    tab = context.new_page()
    asked, errors = asked_by(tab), []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    wider, with_math, with_mathjax = [], [], []
    for name in pages:
        before = len(asked)
        tab.goto(served[scheme] + name)
        if tab.evaluate("document.documentElement.scrollWidth") > wide:
            wider.append(name)
        if tab.locator(".math").count():
            with_math.append(name)
        if any("mathjax" in each for each in asked[before:]):
            with_mathjax.append(name)
    context.close()
    assert [each for each in asked if not each.startswith((served[scheme], "data:"))] == []
    assert wider == []
    assert errors == []
    assert with_mathjax == with_math != []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["file", "http"])
def test_search_finds_a_measure(served: dict[str, str], browser: Any, scheme: str) -> None:
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(served[scheme] + "index.html")
    tab.keyboard.press("Control+k")
    tab.keyboard.type("ndcg")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#search-results .search-summary:has-text('found')")
    found = tab.locator("ul.search li a").evaluate_all("links => links.map(each => each.href)")
    context.close()
    assert any("measures.html" in each for each in found)
    assert any("ranking.html" in each for each in found)


@pytest.mark.slow
def test_formulas_are_drawn(served: dict[str, str], browser: Any) -> None:
    context = browser.new_context()
    tab = context.new_page()
    failed: list[str] = []
    tab.on("requestfailed", lambda request: failed.append(request.url))
    tab.goto(served["file"] + "explanation/ranking.html")
    tab.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
    tab.evaluate("MathJax.startup.promise")
    tab.evaluate("document.fonts.ready")
    drawn, formulas = tab.locator("mjx-container").count(), tab.locator(".math").count()
    mistakes = tab.locator("mjx-merror").count()
    context.close()
    assert drawn == formulas > 20
    assert mistakes == 0
    assert failed == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "tutorial.html",
        "compare.html",
        "commands.html",
        "reference/scoring.html",
        "explanation/ranking.html",
        "search.html",
    ],
)
def test_pages_are_accessible(served: dict[str, str], browser: Any, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe: .[dev] has it")
    context = browser.new_context(color_scheme=scheme)
    tab = context.new_page()
    tab.goto(served["http"] + name)
    tab.wait_for_timeout(300)
    found = axe.Axe().run(tab).response["violations"]
    context.close()
    serious = [
        (each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.slow
def test_the_colours_can_be_chosen_and_stay(served: dict[str, str], browser: Any) -> None:
    context = browser.new_context(color_scheme="light", viewport={"width": 1400, "height": 800})
    tab = context.new_page()
    tab.goto(served["http"] + "index.html")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(paper)
    tab.locator(".theme-switch-button:visible").click()
    tab.locator(".theme-switch-item[data-mode='dark']:visible, [data-mode='dark']:visible").first.click()
    dark = tab.evaluate(paper)
    tab.goto(served["http"] + "measures.html")
    after = tab.evaluate(paper)
    context.close()
    assert light != dark == after


@pytest.mark.slow
def test_what_is_copied_has_no_prompts(served: dict[str, str], browser: Any) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    tab = context.new_page()
    tab.goto(served["http"] + "index.html")
    copied = []
    for number in (0, 1):
        tab.locator("div.highlight").nth(number).hover()
        tab.locator("button.copybtn").nth(number).click()
        copied.append(tab.evaluate("navigator.clipboard.readText()"))
    context.close()
    assert copied[0] == "treceval -m map -m nDCG@10 data/qrels.tsv data/runs/bm25.txt"
    assert copied[1].splitlines()[0] == "import treceval_py as te"
    assert ">>>" not in copied[1]
