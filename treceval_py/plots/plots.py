"""Plots as Vega-Lite specifications, which images and notebooks share.

A specification contains no colours. Marks have a style, and scales use the ranges of a `Theme`, so the same
specification works on light and dark backgrounds.

References
----------
A. Satyanarayan, D. Moritz, K. Wongsuphasawat, J. Heer. Vega-Lite: A Grammar of Interactive Graphics. IEEE
Transactions on Visualization and Computer Graphics 23(1), 2017. https://vega.github.io/vega-lite/
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import Any, NamedTuple

from treceval_py.errors import EvaluationError, MeasureError, OutputError, brief

INSTALL = "pip install 'treceval-py[report]'"
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
PLOTS = ("bars", "scatter", "deltas", "precision-recall", "recall-depth", "overlap")
WIDTH = 640
PLAIN = ",~f"  # 0.25, 1,000: no trailing zeros

Spec = dict[str, Any]
Payload = Mapping[str, Any]


class Theme(NamedTuple):
    """The colours of a page and its plots.

    Attributes
    ----------
    paper, ink, muted, line, wash : str
        Background, text, secondary text, thin lines, and the background of highlighted parts.
    accent, tint : str
        Links and marks; the bars of means.
    series : tuple of str, length 8
        The colours of runs, which repeat after eight.
    ramp : tuple of str, length 2
        The two ends of a heat map's colours, from none to all.
    on_low, on_high : str
        Text colours on the lower and the higher part of the heat map.

    References
    ----------
    M. Okabe, K. Ito. Color Universal Design: How to make figures and presentations that are friendly to colorblind
    people. 2002. The hues are theirs. On white, their yellow, orange and sky blue are too pale, so they are darker
    here; vermilion and yellow differ in lightness.
    """

    paper: str
    ink: str
    muted: str
    line: str
    wash: str
    accent: str
    tint: str
    series: tuple[str, ...]
    ramp: tuple[str, str]
    on_low: str
    on_high: str


THEMES = {
    "light": Theme(
        paper="#ffffff",
        ink="#1b1d21",
        muted="#5b616b",
        line="#d9dce1",
        wash="#f5f6f8",
        accent="#0065a8",
        tint="#a9c9e2",
        series=("#0065a8", "#bb4400", "#00a06e", "#cf68a8", "#ad8b00", "#3d9ad4", "#1b1b1b", "#4f4a10"),
        ramp=("#eef4fa", "#00427a"),
        on_low="#000000",
        on_high="#ffffff",
    ),
    "dark": Theme(
        paper="#15171b",
        ink="#e8eaed",
        muted="#a3a9b3",
        line="#353a42",
        wash="#1d2025",
        accent="#7cc0f0",
        tint="#33566f",
        series=("#2b7fd0", "#e0661a", "#10a87c", "#cc79a7", "#e69f00", "#56b4e9", "#f0f0f0", "#f0e442"),
        ramp=("#1b2530", "#62a0d0"),
        on_low="#ffffff",
        on_high="#000000",
    ),
}

# Colours repeat after eight runs; lines then have other dashes, and points another shape.
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3), (12, 4), (4, 2, 1, 2), (1, 5))
# Below this value one text colour is easier to read on the ramps of both themes, above it the other.
EVEN = 0.69


def _config_of(theme: Theme) -> Spec:
    """Return the configuration that gives specifications a theme's colours and fonts."""
    axis = {"domainColor": theme.line, "gridColor": theme.line, "tickColor": theme.line, "gridOpacity": 0.7}
    text = {"labelColor": theme.ink, "titleColor": theme.muted, "titleFontWeight": "normal"}
    size = {"labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": theme.paper,
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**axis, **text, **size, "labelPadding": 6, "titlePadding": 10, "titleLimit": 420, "labelFlush": False},
        "legend": {**text, **size, "symbolSize": 70, "rowPadding": 5, "symbolLimit": 1000},
        "title": {"color": theme.ink, "fontSize": 14, "anchor": "start", "fontWeight": 600, "offset": 12},
        "text": {"fontSize": 12},
        "range": {
            "category": list(theme.series),
            "diverging": [theme.series[0], theme.muted, theme.series[1]],
            "ramp": list(theme.ramp),
        },
        "style": {
            "mean": {"color": theme.tint},
            "interval": {"color": theme.ink, "strokeWidth": 1.5},
            "baseline": {"color": theme.ink, "strokeWidth": 1, "strokeDash": [4, 3]},
            "even": {"color": theme.muted, "strokeWidth": 1},
            "on-low": {"color": theme.on_low},
            "on-high": {"color": theme.on_high},
            "number": {"color": theme.ink},
        },
    }


class Pair(NamedTuple):
    """A measure, and the names of the two runs whose queries it compares."""

    measure: str
    first: str
    second: str


def specs(payload: Payload, *, measure: str | None = None, runs: tuple[int, int] = (0, 1)) -> dict[str, Spec]:
    """Return the plots of a comparison as Vega-Lite specifications, including their data.

    Parameters
    ----------
    payload : mapping
        The data of the report.
    measure : str, optional
        The measure of the plots. Default: all measures for the bars, the first one for the other plots.
    runs : tuple of two int
        The numbers of the two runs whose queries are compared.

    Returns
    -------
    dict of str to dict
        By the name of the plot: "bars", "scatter" and "deltas"; also "precision-recall", "recall-depth" and "overlap"
        if runs were read.

    Raises
    ------
    MeasureError
        The measure or a run is not in the comparison.
    """
    measures = payload["measures"]
    place = _measure_place(payload, measure)
    names = [run["name"] for run in payload["runs"]]
    for run in runs:
        if not 0 <= run < len(names):
            raise MeasureError(f"run {run} does not exist", f"Runs are numbered 0 to {len(names) - 1}.")
    made: dict[str, Spec] = {"bars": _bars(payload, range(len(measures)) if measure is None else [place])}
    first, second = (names[run] for run in runs)
    pair = Pair(measures[place]["name"], first, second)
    rows = _pair_rows(payload, place, runs)
    for name, plot in _pair_plots(pair, texts=bool(payload["texts"])).items():
        made[name] = plot | {"data": {"name": "rows", "values": rows}}
    return made | _list_plots(payload)


def _list_plots(payload: Payload) -> dict[str, Spec]:
    """Return the plots of the runs' lists, as far as the payload has the data."""
    names = [run["name"] for run in payload["runs"]]
    makers = {
        "precision-recall": (_precision_recall, "pr"),
        "recall-depth": (_recall_depth, "rd"),
        "overlap": (_overlap, "overlap"),
    }
    return {name: maker(names, payload[part]) for name, (maker, part) in makers.items() if payload[part] is not None}


def _measure_place(payload: Payload, measure: str | None) -> int:
    names = [one["name"] for one in payload["measures"]]
    if measure is None:
        return 0
    if measure not in names:
        raise MeasureError(f"the measure {measure} is not in the comparison", f"It has: {', '.join(names)}.")
    return names.index(measure)


def _plot(description: str, height: int, rows: Sequence[Spec] | None = None, **parts: Any) -> Spec:
    """Return a plot as wide as its container."""
    head = {"$schema": SCHEMA, "description": description, "width": "container", "height": height}
    data = {} if rows is None else {"data": {"values": list(rows)}}
    return {**head, "autosize": {"type": "fit-x", "contains": "padding"}, **data, **parts}


def _number(field: str, title: str | None, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _told(field: str, title: str, format: str | None = ".4f") -> Spec:
    """Return one line of a tooltip."""
    if format is None:
        return {"field": field, "type": "nominal", "title": title}
    return {"field": field, "type": "quantitative", "title": title, "format": format}


def _bars(payload: Payload, places: Sequence[int]) -> Spec:
    plots = [means_plot(payload, place) for place in places]
    if len(plots) == 1:
        return plots[0]
    top = {"$schema": SCHEMA, "description": "Mean of each run, measure by measure", "columns": 2}
    return {**top, "concat": [{key: part for key, part in plot.items() if key != "$schema"} for plot in plots]}


def means_plot(payload: Payload, place: int) -> Spec:
    """Return the bars of one measure: each run's mean with its confidence interval, and the baseline's mean."""
    measure, baseline = payload["measures"][place], payload["baseline"]
    rows = [
        {"name": run["name"], "mean": mean, "low": low, "high": high, "label": _label(mean), "base": number == baseline}
        for number, (run, mean, low, high) in enumerate(
            zip(payload["runs"], measure["means"], measure["low"], measure["high"], strict=True)
        )
    ]
    place_of_name = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"ticks": False}}
    told = [_told("name", "Run", None), _told("mean", "Mean"), _told("low", "From"), _told("high", "To")]
    layer: list[Spec] = [
        {
            "mark": {"type": "bar", "style": "mean", "height": {"band": 0.66}},
            "encoding": {"x": _number("mean", None, axis={"tickCount": 5, "format": PLAIN}), "tooltip": told},
        }
    ]
    # Without any known interval, the scale would be infinite, and Vega would warn on the console.
    between = any(row["low"] is not None for row in rows)
    if between:
        encoding = {"x": _number("low", None), "x2": {"field": "high"}, "tooltip": told}
        layer.append({"mark": {"type": "rule", "style": "interval"}, "encoding": encoding})
    if baseline is not None and rows[baseline]["mean"] is not None:
        line = {"mark": {"type": "rule", "style": "baseline"}, "encoding": {"x": _number("mean", None), "y": None}}
        layer.append({"transform": [{"filter": "datum.base"}], **line})
    label = {"type": "text", "style": "number", "align": "left", "dx": 8, "aria": False}
    layer.append({"mark": label, "encoding": {"x": {"value": "width"}, "text": {"field": "label"}}})
    description = f"Mean {measure['name']} of {len(rows)} runs" + (", with confidence intervals" if between else "")
    encoding = {"y": place_of_name}
    return _plot(description, 24 * len(rows), rows, title=measure["name"], encoding=encoding, layer=layer)


def _label(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _pair_rows(payload: Payload, place: int, runs: tuple[int, int]) -> list[Spec]:
    """Return the queries of two runs: the rows of "scatter" and "deltas"."""
    measure = payload["measures"][place]
    texts = payload["texts"]
    first, second = (measure["values"][run] for run in runs)
    return [
        {"qid": qid, "text": texts.get(qid, ""), "a": a, "b": b}
        for qid, a, b in zip(payload["qids"], first, second, strict=True)
        if a is not None and b is not None
    ]


def _pair_plots(pair: Pair, *, texts: bool) -> dict[str, Spec]:
    """Return the plots of two runs, without rows; with `texts`, tooltips include the query's text."""
    words = [_told("text", "Text", None)] if texts else []
    told = [_told("qid", "Query", None), *words]
    told += [_told("a", pair.first), _told("b", pair.second), _told("delta", "Difference", "+.4f")]
    # As values, because quotes in a name could end a string in an expression.
    params = [{"name": "first", "value": pair.first}, {"name": "second", "value": pair.second}]
    sides = {
        "field": "side",
        "type": "nominal",
        "scale": {"domain": ["first", "equal", "second"], "range": "diverging"},
        "legend": {
            "title": None,
            "orient": "top",
            "labelExpr": "datum.label === 'equal' ? 'equal' : (datum.label === 'first' ? first : second) + ' better'",
        },
    }
    transform = [
        {"calculate": "datum.a - datum.b", "as": "delta"},
        {"calculate": "datum.delta > 0 ? 'first' : datum.delta < 0 ? 'second' : 'equal'", "as": "side"},
    ]
    common: Spec = {"params": params, "transform": transform}
    return {"scatter": _scatter(pair, common, told, sides), "deltas": _deltas(pair, common, told, sides)}


def _scatter(pair: Pair, common: Spec, told: list[Spec], sides: Spec) -> Spec:
    axis = {"tickCount": 6, "format": PLAIN}
    x = _number("b", f"{pair.measure} of {pair.second}", axis=axis)
    y = _number("a", f"{pair.measure} of {pair.first}", axis=axis)
    shapes = [SHAPES[0], SHAPES[3], SHAPES[4]]
    points = {
        "mark": {"type": "point", "filled": True, "opacity": 0.9},
        "encoding": {
            "x": x,
            "y": y,
            "color": sides,
            "shape": sides | {"scale": {"domain": sides["scale"]["domain"], "range": shapes}},
            "size": {"value": 42},
            "tooltip": told,
        },
    }
    # The diagonal; both axes cover it, so that they have the same scale.
    ends: list[Spec] = [
        {"calculate": "min(datum.a, datum.b)", "as": "lesser"},
        {"calculate": "max(datum.a, datum.b)", "as": "greater"},
        {
            "aggregate": [
                {"op": "min", "field": "lesser", "as": "lowest"},
                {"op": "max", "field": "greater", "as": "highest"},
            ]
        },
    ]
    diagonal = {
        "transform": ends,
        "mark": {"type": "rule", "style": "even", "aria": False},
        "encoding": {
            "x": x | {"field": "lowest"},
            "x2": {"field": "highest"},
            "y": y | {"field": "lowest"},
            "y2": {"field": "highest"},
        },
    }
    description = (
        f"{pair.measure} of {pair.first} against {pair.second}, query by query; above the line {pair.first} is better"
    )
    return _plot(description, 400, **common, layer=[diagonal, points])


def _deltas(pair: Pair, common: Spec, told: list[Spec], sides: Spec) -> Spec:
    order = [{"field": "delta", "order": "descending"}, {"field": "qid", "order": "ascending"}]
    rank: list[Spec] = [
        {"window": [{"op": "row_number", "as": "rank"}], "sort": order},
        {"calculate": "datum.rank - 1", "as": "before"},
    ]
    axis = {"grid": False, "tickMinStep": 1, "format": ",d"}
    encoding = {
        "x": _number("before", "Queries, in order of their difference", axis=axis, scale={"nice": False}),
        "x2": {"field": "rank"},
        "y": _number("delta", f"{pair.measure}, {pair.first} − {pair.second}"),
        "y2": {"datum": 0},
        "color": sides,
        "stroke": sides,
        "strokeWidth": {"value": 0.4},
        "tooltip": told,
    }
    # A difference of zero is a bar without height: only its outline is visible.
    layer = [{"mark": {"type": "rect"}, "encoding": encoding}]
    description = f"Difference in {pair.measure} between {pair.first} and {pair.second} of each query, in order"
    return _plot(description, 400, **common | {"transform": common["transform"] + rank}, layer=layer)


def _series(names: Sequence[str], x: Spec, y: Spec, description: str, rows: Sequence[Spec]) -> Spec:
    """Return curves, one per run, distinguished by colour, shape and dash."""
    which = {"field": "name", "type": "nominal", "title": None, "sort": None}
    shapes = [SHAPES[(number + number // 8) % len(SHAPES)] for number in range(len(names))]
    turn = {name: number // 8 for number, name in enumerate(names)}
    # Dashes have their own field: otherwise a legend of names would draw the outlines of its points with them.
    rows = [{**row, "turn": turn[row["name"]]} for row in rows]
    turns = list(range(max(turn.values()) + 1))
    dashes = {"domain": turns, "range": [list(DASHES[one % len(DASHES)]) for one in turns]}
    dim = {"condition": {"param": "chosen", "value": 1}, "value": 0.12}
    below = {"legend": {"orient": "bottom"}}
    told = [_told("name", "Run", None)]
    told += [_told(x["field"], x["title"], PLAIN), _told(y["field"], y["title"])]
    line = {
        "params": [{"name": "chosen", "select": {"type": "point", "fields": ["name"]}, "bind": "legend"}],
        "mark": {"type": "line", "strokeWidth": 1.8, "aria": False},
        "encoding": {"strokeDash": {"field": "turn", "type": "nominal", "scale": dashes, "legend": None}},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 46},
        "encoding": {
            "shape": which | {"scale": {"domain": list(names), "range": shapes}, **below},
            "tooltip": told,
        },
    }
    colour = which | {"scale": {"domain": list(names)}, **below}
    encoding = {"x": x, "y": y, "color": colour, "opacity": dim}
    return _plot(description, 400, rows, encoding=encoding, layer=[line, points])


def _precision_recall(names: Sequence[str], curves: Payload) -> Spec:
    rows = [
        {"name": name, "recall": recall, "precision": value}
        for name, curve in zip(names, curves["y"], strict=True)
        for recall, value in zip(curves["x"], curve, strict=True)
    ]
    x = _number("recall", "Recall", axis={"values": list(curves["x"]), "format": ".1f"})
    y = _number("precision", "Interpolated precision")
    return _series(names, x, y, f"Interpolated precision at eleven points of recall, of {len(names)} runs", rows)


def _recall_depth(names: Sequence[str], curves: Payload) -> Spec:
    depths = list(curves["x"])
    rows = [
        {"name": name, "depth": depth, "recall": value}
        for name, curve in zip(names, curves["y"], strict=True)
        for depth, value in zip(depths, curve, strict=True)
    ]
    scale = {"type": "log", "domain": [depths[0], depths[-1]], "nice": False} if len(depths) > 1 else {"type": "linear"}
    x = _number("depth", "Documents looked at", scale=scale, axis={"values": depths, "format": "~s"})
    y = _number("recall", "Recall")
    return _series(names, x, y, f"Recall at depths from {depths[0]} to {depths[-1]}, of {len(names)} runs", rows)


def _overlap(names: Sequence[str], overlap: Payload) -> Spec:
    every = range(len(names))
    rows = [
        {"one": names[one], "other": names[other], "rbo": overlap["rbo"][one][other]}
        for one in every
        for other in every
    ]
    axis = {"domain": False, "ticks": False, "grid": False}
    place = {"type": "nominal", "sort": None, "title": None}
    encoding = {
        "x": {"field": "other", **place, "axis": axis | {"labelAngle": -40, "labelLimit": 130}},
        "y": {"field": "one", **place, "axis": axis},
        "tooltip": [
            _told("one", "Run", None),
            _told("other", "and", None),
            _told("rbo", "RBO"),
        ],
    }
    shade = _number("rbo", "RBO", scale={"domain": [0, 1], "range": "ramp", "interpolate": "rgb"}, legend=None)
    number = {"text": {"field": "rbo", "type": "quantitative", "format": ".2f"}}
    layer: list[Spec] = [{"mark": "rect", "encoding": {"color": shade}}]
    for style, side in (("on-low", f"datum.rbo < {EVEN}"), ("on-high", f"datum.rbo >= {EVEN}")):
        mark = {"type": "text", "style": style, "aria": False, "fontSize": 11}
        layer.append({"transform": [{"filter": side}], "mark": mark, "encoding": number})
    description = f"Rank-biased overlap of each pair of {len(names)} runs"
    return _plot(description, 30 * len(names), rows, encoding=encoding, layer=layer)


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
        One of `PLOTS`.
    format : {"png", "svg"}
        The image format.
    measure, runs
        As for `specs`.
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
            f"the plot {plot} cannot be drawn from these: curves need relevance judgments and run files, and "
            "overlap needs runs with queries in common",
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
        raise OutputError("plots need the package vl-convert-python, which is not installed", INSTALL) from None
    text, config = json.dumps(spec), _config_of(THEMES[theme])
    if format == "png":
        return bytes(vl_convert.vegalite_to_png(text, config=config, scale=scale))
    if format == "html":
        page: str = vl_convert.vegalite_to_html(text, config=config, bundle=True)
        return page.encode()
    drawn: str = vl_convert.vegalite_to_svg(text, config=config)
    return drawn.encode()


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
        images = [
            f'<img class="tp-{theme}" alt="{words}" src="data:image/svg+xml;base64,{b64encode(drawn).decode()}">'
            for theme, drawn in ((theme, _drawn(self.spec, "svg", theme)) for theme in THEMES)
        ]
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
        raw = (
            json.dumps(self._coloured(theme)).encode() if ending == "json" else _drawn(self.spec, ending, theme, scale)
        )
        from treceval_py.io.target import written_whole

        with written_whole(path) as stream:
            stream.write(raw)

    def _coloured(self, theme: str) -> Spec:
        """Return the specification with a theme's colours."""
        config = _config_of(THEMES[theme])
        own = self.spec.get("config", {})
        return {**self.spec, "config": config | {key: {**config.get(key, {}), **part} for key, part in own.items()}}


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
