"""The site's configuration; ``make site`` builds it into build/site, without a network."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection
from html import escape
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from numpydoc.docscrape import NumpyDocString
from numpydoc.xref import DEFAULT_LINKS, make_xref
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autodoc.mock import mock
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

HOME = Path(__file__).parent.parent
sys.path.insert(0, str(HOME))

sys.path.insert(0, str(HOME / "docs"))

import make  # noqa: E402
import names  # noqa: E402

import treceval_py  # noqa: E402

project = "treceval_py"
author = "the treceval_py developers"
project_copyright = author
version = release = treceval_py.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_static"]
# A plot has more forms than the page takes.
suppress_warnings = ["mystnb.unknown_mime_type"]

# Pages.

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The Python reference. Types are in the docstrings, where they are shorter than those in the code.

nitpicky = True
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["ir_measures", "sentence_transformers", "torch"]  # what integrations are for
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
PUBLIC = {name: f"{package}.{name}" for package, listed in names.public().items() for name in listed}
numpydoc_xref_aliases = {
    # as text: what Python's own types are is known
    **{word: word for word, link in DEFAULT_LINKS.items() if link.startswith(":")},
    **{name: public for name, public in PUBLIC.items() if name[0].isupper()},
    "DataFrame": "pandas.DataFrame",
}

# Pages of others, by the names that docstrings have for them: their inventories could only be had from a network.
ELSEWHERE = {
    "pandas.DataFrame": "https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.html",
    "numpy.ndarray": "https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html",
}

# Formulas: the parts of MathJax that they need are in _static, as published. Pages without formulas do not load it.

mathjax_path = "vendor/mathjax/startup.js"
mathjax3_config = {
    "loader": {"load": ["input/tex-base", "[tex]/ams", "output/chtml", "a11y/assistive-mml"]},
    "tex": {"packages": {"[+]": ["ams"]}},
}

# How it looks.

html_theme = "pydata_sphinx_theme"
html_title = "treceval_py"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"treceval_py {version}", "alt_text": "treceval_py"},
    "show_toc_level": 1,
    "navigation_depth": 3,
    "header_links_before_dropdown": 8,
    "search_bar_text": "Search",
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "primary_sidebar_end": [],
    "navbar_persistent": ["search-button"],
}
html_sidebars: dict[str, list[str]] = {
    "**": ["sidebar-nav-bs"],
    "index": [],
    "tutorial": [],
    "gallery": [],
    "search": [],
}

# Files of the repository that are pages of the site.

REPOSITORY = {
    "data/README.md": "/data.md",
    "benchmarks/README.md": "/benchmarks.md",
    "conformance/README.md": "/kit.md",
    "CONTRIBUTING.md": "/contributing.md",
    "CHANGELOG.md": "/changelog.md",
}


def _read(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Take pages in full for indexes; lead files of the repository to pages; add links to notebooks; end examples."""
    if (page := f"{docname}.md") in make.IN_FULL:
        source[0] = make.IN_FULL[page]()
    if docname == "python-reference":
        source[0] += "\n".join(["", *make.packages_table()])
    if docname.startswith("notebooks/") and not docname.endswith("/index"):
        link = f"{{nb-download}}`Download this notebook <{docname.partition('/')[2]}.ipynb>`"
        source[0] = re.sub(r"^(# .*)$", rf"\1\n\n{link}", source[0], count=1, flags=re.M)
    up = "../" * (docname.count("/") + 1)
    for name, page in REPOSITORY.items():
        source[0] = source[0].replace(f"]({up}{name}", f"]({page}")
    # the empty line that ends an example for doctest
    source[0] = re.sub(r"(```pycon\n.*?)\n+```", r"\1\n```", source[0], flags=re.DOTALL)


class Described(SphinxDirective):
    """A table of public names of a module, one a line, then each with its docstring."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the descriptions, by Sphinx's own directives."""
        module, names = self.arguments[0], [line.strip() for line in self.content if line.strip()]
        with mock(autodoc_mock_imports):
            found = {name: getattr(import_module(module), name) for name in names}
        lines = [f".. py:currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name, value in found.items() if callable(value)]
        for name, value in found.items():
            lines += ["", *_directive(module, name, value)]
        text = ["```{eval-rst}", *lines, "```"]
        return self.parse_text_to_nodes(StringList(text, source=self.get_source_info()[0]))


def _directive(module: str, name: str, value: object) -> list[str]:
    if inspect.isclass(value):
        return [f".. autoclass:: {name}", "   :members:", "   :inherited-members:"]
    if callable(value):
        return [f".. autofunction:: {name}"]
    # Not autodata: it takes the docstring of the value's type where the value comes from another module.
    home = treceval_py.MODULES.get(module, {}).get(name)
    said = ModuleAnalyzer.for_module(f"treceval_py.{home}" if home else module).find_attr_docs()["", name]
    return [f".. py:data:: {name}", "", *(f"   {line}" for line in said)]


def _skipped(_app: Sphinx, _what: str, name: str, value: Any, _skip: bool, _options: Any) -> bool:
    """Tell whether a member of a class is left out: all but the methods and properties that this package defines."""
    function = getattr(value, "fget", None) or getattr(value, "func", None) or value
    ours = str(getattr(function, "__module__", "")).startswith("treceval_py")
    return name.startswith("_") or not ours or not callable(function)


def _prepared(_app: Sphinx, what: str, _name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Mark the names of parameters as code, and take out attributes, which get entries of their own."""
    if callable(value):
        for number, line in enumerate(lines):
            lines[number] = re.sub(
                r"(?<![`:\w])`(\w+)`(?!`)", lambda found: _marked(found, inspect.signature(value).parameters), line
            )
    if what == "class" and (place := _section("Attributes", lines)):
        del lines[place]


def _marked(found: re.Match[str], parameters: Collection[str]) -> str:
    return f"`{found[0]}`" if found[1] in parameters else found[0]


def _section(title: str, lines: list[str]) -> slice | None:
    """Return where a section of a docstring is."""
    for start, line in enumerate(lines[:-1]):
        if line == title and lines[start + 1].startswith("---"):
            ends = [
                end
                for end in range(start + 2, len(lines) - 1)
                if lines[end + 1].startswith("---") and set(lines[end + 1]) == {"-"}
            ]
            return slice(start, min(ends, default=len(lines)))
    return None


def _completed(app: Sphinx, what: str, _name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Describe each attribute of a class by an entry, which can be linked to; its own docstring is preferred."""
    if what != "class":
        return
    aliases = app.config.numpydoc_xref_aliases
    for each in NumpyDocString(inspect.getdoc(value) or "")["Attributes"]:
        for name in each.name.split(", "):
            if isinstance(getattr(value, name, None), property):
                continue
            kind = make_xref(each.type, aliases, "all")
            lines += ["", f".. py:attribute:: {name}", "", f"   ({kind})"]
            lines += [f"   {line}" for line in each.desc]


def _signed(
    _app: Sphinx, what: str, _name: str, value: Any, _options: Any, signature: str | None, _returns: str | None
) -> tuple[str, None] | None:
    """Leave out what a class is called with where its docstring does not tell: its users get objects from functions."""
    if what != "class" or signature is None or NumpyDocString(inspect.getdoc(value) or "")["Parameters"]:
        return None
    return "", None


def _elsewhere(app: Sphinx, env: BuildEnvironment, node: pending_xref, text: nodes.Element) -> nodes.Element | None:
    """Resolve names of others, and names of this package that are written as in code or in a module of their own."""
    target = node["reftarget"]
    if address := ELSEWHERE.get(target):
        return nodes.reference("", "", text, internal=False, refuri=address)
    first, dot, rest = target.removeprefix("te.").partition(".")
    if node.get("refdomain") != "py" or first not in PUBLIC:
        return None
    domain = env.domains.python_domain
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", f"{PUBLIC[first]}{dot}{rest}", node, text)


def _headed(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], tree: nodes.document | None) -> None:
    """Describe a page for search engines by its first paragraph outside of a table."""
    found = tree.findall(nodes.paragraph) if tree else ()
    first = next((each for each in found if not isinstance(each.parent, nodes.entry)), None)
    if first:
        said = shorten(first.astext(), 160, placeholder=" …")
        context["metatags"] += f'<meta name="description" content="{escape(said)}">'


def _completed_pages(_app: Sphinx) -> None:
    """Write the pages that are not in git."""
    make.write_for_site()


def _cleared(app: Sphinx, _error: Exception | None) -> None:
    """Remove the theme's source maps, a third of the site."""
    for path in Path(app.outdir).glob("_static/**/*.map"):
        path.unlink()


def setup(app: Sphinx) -> None:
    """Add what the site needs."""
    app.add_directive("described", Described)
    app.connect("builder-inited", _completed_pages)
    app.connect("source-read", _read)
    app.connect("autodoc-process-signature", _signed)
    app.connect("autodoc-skip-member", _skipped)
    app.connect("autodoc-process-docstring", _prepared, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", _completed, priority=600)  # after it
    app.connect("missing-reference", _elsewhere)
    app.connect("html-page-context", _headed)
    app.connect("build-finished", _cleared)
