"""Plots as images: for files, pages and notebooks."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from typing import Any

from treceval_py.errors import EvaluationError, MeasureError, OutputError, brief
from treceval_py.plots.specs import PLOTS, Payload, Spec, specs
from treceval_py.plots.themes import THEMES, config_of
from treceval_py.version import pip_install

WIDTH = 640


def image(
    payload: Payload,
    plot: str,
    format: str = "png",
    *,
    measure: str | None = None,
    runs: tuple[int, int] = (0, 1),
    scale: float = 2,
) -> bytes:
    """Return one plot as an image on a light background.

    Parameters
    ----------
    payload : mapping
        The data of the report.
    plot : str
        One of ``PLOTS``.
    format : {"png", "svg"}
        The image format.
    measure, runs
        As for ``specs``.
    scale : float
        Pixels of a PNG per unit of the plot, which is 640 units wide.

    Returns
    -------
    bytes
        The content of a file.

    Raises
    ------
    MeasureError
        The plot, the format, the measure or a run is unknown.
    EvaluationError
        The comparison lacks data for the plot, such as runs if only results were saved.
    OutputError
        The package that draws plots is not installed.
    """
    if plot not in PLOTS:
        raise MeasureError(f"unknown plot '{plot}'", f"Choose one of {', '.join(PLOTS)}.")
    if format not in ("png", "svg"):
        raise MeasureError(f"unknown image format '{format}'", "Choose png or svg.")
    made = specs(payload, measure=measure, runs=runs)
    if plot not in made:
        raise EvaluationError(
            f"the plot {plot} cannot be drawn from these: curves need relevance judgments and run files; "
            "scatter, deltas and overlap need two runs with queries in common",
            "Choose another plot, or give run files instead of saved results.",
        )
    return _drawn(_sized(made[plot], len(payload["runs"])), format, "light", scale)


def _drawn(spec: Spec, format: str, theme: str, scale: float = 2) -> bytes:
    """Draw a specification with a fixed width, and return the file's content.

    Raises
    ------
    OutputError
        The package that draws plots is not installed.
    """
    try:
        import vl_convert  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        missing = "plots need the package vl-convert-python, which is not installed"
        raise OutputError(missing, pip_install("report")) from None
    text, config = json.dumps(spec), config_of(THEMES[theme])
    if format == "png":
        return bytes(vl_convert.vegalite_to_png(text, config=config, scale=scale))
    if format == "html":
        return bytes(vl_convert.vegalite_to_html(text, config=config, bundle=True), "utf-8")
    return bytes(vl_convert.vegalite_to_svg(text, config=config), "utf-8")


def _sized(spec: Spec, runs: int) -> Spec:
    """Return a plot with a fixed width, because there is no page to set it."""
    if "concat" in spec:
        return {**spec, "concat": [_sized(plot, runs) for plot in spec["concat"]]}
    size = {key: value for key, value in spec.items() if key != "autosize"}
    # A heat map has a column per run.
    return {**size, "width": max(WIDTH, 36 * runs), "padding": 16, "config": {"legend": {"columns": 4}}}


FILES = ("svg", "png", "html", "json")
"""File formats of plots."""

MIME = "application/vnd.vegalite.v6+json"

# Notebooks have their own themes; elsewhere the reader's system decides.
_LIGHT = '[data-jp-theme-light="true"], [data-theme="light"], .vscode-light'
_DARK = '[data-jp-theme-light="false"], .vscode-dark, .vscode-high-contrast, [theme="dark"], [data-theme="dark"]'
STYLE = f"""
.treceval-plot img {{ max-width: 100%; }}
.treceval-plot .tp-dark {{ display: none; }}
@media (prefers-color-scheme: dark) {{
  .treceval-plot .tp-light {{ display: none; }} .treceval-plot .tp-dark {{ display: inline; }}
}}
:is({_LIGHT}) .treceval-plot .tp-light, :is({_DARK}) .treceval-plot .tp-dark {{ display: inline; }}
:is({_LIGHT}) .treceval-plot .tp-dark, :is({_DARK}) .treceval-plot .tp-light {{ display: none; }}
"""


class Plot:
    """A plot. A notebook shows it in its light or dark theme, and `save` writes it to a file.

    Attributes
    ----------
    spec : dict
        Its Vega-Lite specification, which contains the data but no colours.
    """

    def __init__(self, spec: Spec, rows: int) -> None:
        self.spec = _sized(spec, rows)

    def __repr__(self) -> str:
        return f"<Plot: {brief(str(self.spec['description']), 200)}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:  # noqa: ARG002
        # Every type: a notebook chooses one that it supports, and HTML has both themes.
        bundle: dict[str, Any] = {"text/plain": repr(self), MIME: self._coloured("light")}
        with suppress(OutputError):  # without the package that draws plots
            bundle["text/html"] = self._repr_html_()
        return bundle

    def _repr_html_(self) -> str:
        words = escape(str(self.spec["description"]))
        images = []
        for theme in THEMES:
            drawn = b64encode(_drawn(self.spec, "svg", theme)).decode()
            images.append(f'<img class="tp-{theme}" alt="{words}" src="data:image/svg+xml;base64,{drawn}">')
        return f'<div class="treceval-plot"><style>{STYLE}</style>{"".join(images)}</div>'

    def save(self, path: str | os.PathLike[str], *, theme: str = "light", scale: float = 2) -> None:
        """Write the plot to a file; the file is complete or absent.

        Parameters
        ----------
        path : path
            The file; its ending sets the format: ``.svg``, ``.png``, ``.html`` (a page that works offline) or ``.json``
            (the specification).
        theme : {"light", "dark"}
            The colours.
        scale : float
            Pixels of a PNG per unit of the plot.

        Raises
        ------
        MeasureError
            The ending or the theme is unknown.
        OutputError
            The file cannot be written, or the package that draws plots is not installed.
        """
        ending = os.path.splitext(os.fspath(path))[1].lower().removeprefix(".")
        if ending not in FILES:
            raise MeasureError(f"a plot cannot be saved as '{brief(os.fspath(path))}'", f"End it in {_either(FILES)}.")
        if theme not in THEMES:
            raise MeasureError(f"unknown theme {brief(repr(theme))}", f"Choose {_either(tuple(THEMES))}.")
        spec = self._coloured(theme)
        raw = json.dumps(spec).encode() if ending == "json" else _drawn(self.spec, ending, theme, scale)
        from treceval_py.io.target import written_whole

        with written_whole(path) as stream:
            stream.write(raw)

    def _coloured(self, theme: str) -> Spec:
        """Return the specification with a theme's colours."""
        config = config_of(THEMES[theme])
        own = self.spec.get("config", {})
        return {**self.spec, "config": config | {key: {**config.get(key, {}), **part} for key, part in own.items()}}


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
