"""The page of a report: one HTML file that loads nothing, with its tables written out and its plots drawn by script."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from treceval_py.errors import OutputError
from treceval_py.rendering.plots import INSTALL, THEMES, config_of, list_plots, means_plot, pair_plots

__all__ = ["page"]

FOLDER = Path(__file__).parent
# What the page needs of Vega; the names are those that the bundle gives to its parts.
SNIPPET = "window.vegaEmbed = vegaEmbed;"


def page(payload: Mapping[str, Any]) -> str:
    """Return a report as one HTML document that works offline.

    Parameters
    ----------
    payload : mapping
        What the report is made of: names, means, values and texts as numbers, texts and lists that JSON can hold.

    Returns
    -------
    str
        The document. Summary and tables can be read without JavaScript; plots need it.

    Raises
    ------
    OutputError
        If a package of the extra ``report`` is not installed.

    Notes
    -----
    Nothing in the data can become markup or script: Jinja escapes what stands in the page, and in the data for the
    script ``<`` is written as an escape. Beyond that, the document has a policy by which only its own two scripts,
    named by their hashes, may run, expressions of plots are interpreted and not compiled, and nothing is fetched.
    """
    try:
        import jinja2  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise OutputError("a report needs the package jinja2, which is not installed", INSTALL) from None
    scripts = (_bundle(), _read("page.js"))
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = _number
    made: str = environment.from_string(_read("template.html")).render(
        report=payload,
        policy=_policy(scripts),
        themes=THEMES,
        style=_read("page.css"),
        scripts=scripts,
        data=_json(_data(payload)),
        pairs=[(one, other) for one in range(len(payload["runs"])) for other in range(one)],
    )
    return made


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script.

    It is made once a process, as that takes a second.
    """
    try:
        import vl_convert  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise OutputError("a report needs the package vl-convert-python, which is not installed", INSTALL) from None
    # A browser reads every line end as a newline, and the hash is that of what it has read.
    script: str = vl_convert.javascript_bundle(SNIPPET).replace("\r\n", "\n").replace("\r", "\n")
    if "</script" in script.lower() or "<!--" in script:
        raise OutputError("the plotting library of this version of vl-convert-python cannot be put in a page", INSTALL)
    return script


def _policy(scripts: tuple[str, ...]) -> str:
    """Return the content security policy: these scripts and no others, and nothing from outside."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _data(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data for the script: the payload without the parts in the template, and the plots."""
    plots = list_plots(payload)
    for place in range(len(payload["measures"])):
        # The page has the measure above the plot.
        plots[f"bars-{place}"] = {key: part for key, part in means_plot(payload, place).items() if key != "title"}
    written = ("differences_html", "summary_sentences", "warnings", "reproduce")
    return {
        "report": {key: value for key, value in payload.items() if key not in written},
        "plots": plots,
        "pair": pair_plots(texts=bool(payload["texts"])),
        "themes": {name: config_of(theme) for name, theme in THEMES.items()},
    }


def _json(data: Mapping[str, Any]) -> str:
    """Return JSON that cannot end its HTML element."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
