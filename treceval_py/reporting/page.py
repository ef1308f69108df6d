"""The page of a report: one HTML file that loads nothing, readable without its script, which draws the figures."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from treceval_py.version import __version__

FOLDER = files("treceval_py.reporting")

LIBRARY = "vendor/d3.min.js"
"""D3 7.9.0, as published by its authors, with its licence next to it."""

FONTS = {
    "Source Sans 3": "vendor/source-sans-3-latin-wght-normal.woff2",
    "Source Serif 4": "vendor/source-serif-4-latin-wght-normal.woff2",
}
"""The fonts of figures and of text, for Latin letters, as published by Fontsource; others are the system's."""

SCRIPTS = ("core.js", "overview.js", "figures.js", "pair.js", "query.js", "exports.js", "keys.js")
"""The parts of the page's script in the folder script/, in this order: the first has the shared code."""


def page(payload: Mapping[str, Any]) -> str:
    """Return a report as one HTML document that works offline.

    Parameters
    ----------
    payload : mapping
        The contents, as `report_payload` returns them.

    Returns
    -------
    str
        The document. The finding and the table of means can be read without JavaScript; figures need it.

    Notes
    -----
    Data cannot become markup or script: Jinja escapes the text of the page, the data for the script are compressed and
    in base64, and the script inserts them as text nodes. In addition, the document's policy allows only its own two
    scripts, by their hashes, and no requests.
    """
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = _number
    # The runs by the first measure, best first, as ordered by the script.
    means, names = payload["measures"][0]["means"], [run["name"] for run in payload["runs"]]
    order = sorted(range(len(means)), key=lambda run: (means[run] is None, -(means[run] or 0), names[run]))
    body = environment.from_string(_read("template.html")).render(report=payload, order=order, data=_packed(payload))
    return whole_page(payload["title"], body, (_read(LIBRARY), _script()))


def whole_page(title: str, body: str, scripts: Sequence[str], *, style: str = "", private: bool = False) -> str:
    """Return a complete HTML document with the style of reports, which fetches nothing and runs only these scripts.

    Parameters
    ----------
    title : str
        Its title, as plain text.
    body : str
        Its content, as markup.
    scripts : sequence of str
        Its scripts; the document's policy names them by their hashes.
    style : str
        What it adds to the style of reports.
    private : bool
        Ask search engines not to list it.
    """
    hidden = '<meta name="robots" content="noindex">\n' if private else ""
    run = "".join(f"<script>{script}</script>\n" for script in scripts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{hidden}<meta name="generator" content="treceval {__version__}">
<title>{escape(title)}</title>
<style>
{_fonts()}{_read("page.css")}{style}
</style>
</head>
<body>
{body}{run}</body>
</html>
"""


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _fonts() -> str:
    return "".join(
        f'@font-face{{font-family:"{name}";font-weight:200 900;font-display:block;'
        f'src:url(data:font/woff2;base64,{b64encode((FOLDER / file).read_bytes()).decode()}) format("woff2")}}\n'
        for name, file in FONTS.items()
    )


def _script() -> str:
    """Return the parts as one script: a function that shares only what its first part declares."""
    first, *others = (_read(f"script/{name}") for name in SCRIPTS)
    blocks = "".join(f"{{\n{part}}}\n" for part in others)
    return f'"use strict";\n(() => {{\n{first}{blocks}T.open();\n}})();\n'


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: only these scripts, and nothing from outside."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _packed(payload: Mapping[str, Any]) -> str:
    """Return the data for the script, compressed, in letters that cannot close an element."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # No time in the header: the same data give the same page. A lone surrogate becomes a question mark.
    return b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode()


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}".replace("-", "\u2212")
