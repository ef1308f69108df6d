"""Plots as Vega-Lite specifications, which images and notebooks share.

A specification contains no colours. Marks have a style, and scales use the ranges of a `Theme`, so the same
specification works on light and dark backgrounds.

References
----------
A. Satyanarayan, D. Moritz, K. Wongsuphasawat, J. Heer. Vega-Lite: A Grammar of Interactive Graphics. IEEE
Transactions on Visualization and Computer Graphics 23(1), 2017. https://vega.github.io/vega-lite/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treceval_py.errors import MeasureError

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
PLOTS = ("bars", "scatter", "deltas", "precision-recall", "recall-depth", "overlap")
PLAIN = ",~f"  # 0.25, 1,000: no trailing zeros

# Colours repeat after eight runs; lines then have other dashes, and points another shape.
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3), (12, 4), (4, 2, 1, 2), (1, 5))
# Below this value one text colour is easier to read on the ramps of both themes, above it the other.
EVEN = 0.69

Spec = dict[str, Any]
Payload = Mapping[str, Any]


def specs(payload: Payload, *, measure: str | None = None, runs: tuple[int, int] = (0, 1)) -> dict[str, Spec]:
    """Return the plots of a comparison as Vega-Lite specifications, including their data.

    Parameters
    ----------
    payload : mapping
        The data of the report.
    measure : str, optional
        The measure of the plots. Default: all measures for the bars, the first one for the other plots.
    runs : tuple of two int
        The numbers of the two runs whose queries are compared: the one looked at, and the reference.

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
    measures = [shown["name"] for shown in payload["measures"]]
    names = [run["name"] for run in payload["runs"]]
    if measure is not None and measure not in measures:
        raise MeasureError(f"the measure {measure} is not in the comparison", f"It has: {', '.join(measures)}.")
    for run in runs if len(names) > 1 else ():
        if not 0 <= run < len(names):
            raise MeasureError(f"run {run} does not exist", f"Runs are numbered 0 to {len(names) - 1}.")
    place = 0 if measure is None else measures.index(measure)
    bars = [means_plot(payload, at) for at in (range(len(measures)) if measure is None else [place])]
    if len(bars) > 1:
        for plot in bars:
            del plot["$schema"]
        top = {"$schema": SCHEMA, "description": "Mean of each run, measure by measure", "columns": 2}
        bars = [{**top, "concat": bars}]
    plots = {"bars": bars[0]} | ({} if len(names) == 1 else _pair_plots(payload, place, runs))
    if payload["pr"] is not None:
        plots["precision-recall"] = _precision_recall(names, payload["pr"], runs)
    if payload["rd"] is not None:
        plots["recall-depth"] = _recall_depth(names, payload["rd"], runs)
    if payload["overlap"] is not None:
        plots["overlap"] = _overlap(names, payload["overlap"]["rbo"])
    return plots


def _plot(description: str, rows: Sequence[Spec] | None = None, *, height: int = 400, **parts: Any) -> Spec:
    """Return a plot as wide as its container."""
    head = {"$schema": SCHEMA, "description": description, "width": "container", "height": height}
    data = {} if rows is None else {"data": {"values": rows}}
    return {**head, "autosize": {"type": "fit-x", "contains": "padding"}, **data, **parts}


def _layer(mark: str, encoding: Spec, **look: Any) -> Spec:
    return {"mark": {"type": mark, **look}, "encoding": encoding}


def _number(field: str, title: str | None, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _name(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "nominal", **more}


def _value(field: str, title: str, format: str = ".4f") -> Spec:
    """Return a number of a tooltip."""
    return _number(field, title, format=format)


def means_plot(payload: Payload, place: int) -> Spec:
    """Return the bars of one measure: each run's mean with its confidence interval, and the baseline's mean."""
    measure, baseline = payload["measures"][place], payload["baseline"]
    rows = [
        {"name": run["name"], "mean": mean, "low": low, "high": high}
        | {"label": "–" if mean is None else f"{mean:.4f}", "base": number == baseline}
        for number, (run, mean, low, high) in enumerate(
            zip(payload["runs"], measure["means"], measure["low"], measure["high"], strict=True)
        )
    ]
    tooltip = [_name("name", title="Run"), _value("mean", "Mean"), _value("low", "From"), _value("high", "To")]
    mean = _number("mean", None, axis={"tickCount": 5, "format": PLAIN})
    layer = [_layer("bar", {"x": mean, "tooltip": tooltip}, style="mean", height={"band": 0.66})]
    # Without any known interval, the scale would be infinite, and Vega would warn on the console.
    between = any(row["low"] is not None for row in rows)
    if between:
        ends = {"x": _number("low", None), "x2": {"field": "high"}, "tooltip": tooltip}
        layer.append(_layer("rule", ends, style="interval"))
    if baseline is not None and rows[baseline]["mean"] is not None:
        line = _layer("rule", {"x": _number("mean", None), "y": None}, style="baseline")
        layer.append({"transform": [{"filter": "datum.base"}], **line})
    label = {"x": {"value": "width"}, "text": {"field": "label"}}
    layer.append(_layer("text", label, style="number", align="left", dx=8, aria=False))
    description = f"Mean {measure['label']} of {len(rows)} runs" + (", with confidence intervals" if between else "")
    encoding = {"y": _name("name", sort=None, title=None, axis={"ticks": False})}
    return _plot(description, rows, height=24 * len(rows), title=measure["label"], encoding=encoding, layer=layer)


def _pair_plots(payload: Payload, place: int, runs: tuple[int, int]) -> dict[str, Spec]:
    """Return the plots of the queries of two runs; tooltips include the queries' texts, if they are known."""
    first, second = (payload["runs"][run]["name"] for run in runs)
    shown, texts = payload["measures"][place], payload["texts"]
    measure = shown["name"]
    values = [
        {"qid": qid, "text": texts.get(qid, ""), "a": a, "b": b}
        for qid, a, b in zip(payload["qids"], *(shown["values"][run] for run in runs), strict=True)
        if a is not None and b is not None
    ]
    tooltip = [_name("qid", title="Query"), *([_name("text", title="Text")] if texts else [])]
    tooltip += [_value("a", first), _value("b", second), _value("delta", "Difference", "+.4f")]
    sides = ["first", "equal", "second"]
    better = "datum.label === 'equal' ? 'equal' : (datum.label === 'first' ? first : second) + ' better'"
    legend = {"title": None, "orient": "top", "labelExpr": better}
    side = _name("side", scale={"domain": sides, "range": "diverging"}, legend=legend)
    # As values, because quotes in a name could end a string in an expression.
    params = [{"name": "first", "value": first}, {"name": "second", "value": second}]
    transform: list[Spec] = [
        {"calculate": "datum.a - datum.b", "as": "delta"},
        {"calculate": "datum.delta > 0 ? 'first' : datum.delta < 0 ? 'second' : 'equal'", "as": "side"},
    ]
    data = {"name": "rows", "values": values}

    x, y = (
        _number(field, f"{measure} of {name}", axis={"tickCount": 6, "format": PLAIN})
        for field, name in (("b", second), ("a", first))
    )
    shape = side | {"scale": {"domain": sides, "range": [SHAPES[0], SHAPES[3], SHAPES[4]]}}
    point = {"x": x, "y": y, "color": side, "shape": shape, "size": {"value": 42}, "tooltip": tooltip}
    # The diagonal; both axes cover it, so that they have the same scale.
    lowest, highest = {"field": "lowest"}, {"field": "highest"}
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
    diagonal = {"x": x | lowest, "x2": highest, "y": y | lowest, "y2": highest}
    line = {"transform": ends, **_layer("rule", diagonal, style="even", aria=False)}
    points = _layer("point", point, filled=True, opacity=0.9)
    description = f"{measure} of {first} against {second}, query by query; above the line {first} is better"
    scatter = _plot(description, params=params, transform=transform, layer=[line, points], data=data)

    order = [{"field": "delta", "order": "descending"}, {"field": "qid", "order": "ascending"}]
    rank: list[Spec] = [
        {"window": [{"op": "row_number", "as": "rank"}], "sort": order},
        {"calculate": "datum.rank - 1", "as": "before"},
    ]
    axis = {"grid": False, "tickMinStep": 1, "format": ",d"}
    bar = {
        "x": _number("before", "Queries, in order of their difference", axis=axis, scale={"nice": False}),
        "x2": {"field": "rank"},
        "y": _number("delta", f"{measure}, {first} − {second}"),
        "y2": {"datum": 0},
        "color": side,
        "stroke": side,
        "strokeWidth": {"value": 0.4},  # a difference of zero is a bar without height: only its outline is visible
        "tooltip": tooltip,
    }
    description = f"Difference in {measure} between {first} and {second} of each query, in order"
    deltas = _plot(description, params=params, transform=transform + rank, layer=[_layer("rect", bar)], data=data)
    return {"scatter": scatter, "deltas": deltas}


def _curves(names: Sequence[str], curves: Payload, runs: tuple[int, int], x: Spec, y: Spec, description: str) -> Spec:
    """Return curves, one per run, distinguished by colour, shape and dash; the first colours are those of two runs."""
    order = [run for run in dict.fromkeys([*runs, *range(len(names))]) if run < len(names)]
    ordered = [names[run] for run in order]
    # Dashes have their own field: otherwise a legend of names would draw the outlines of its points with them.
    rows = [
        {"name": names[run], x["field"]: at, y["field"]: value, "turn": number // 8}
        for number, run in enumerate(order)
        for at, value in zip(curves["x"], curves["y"][run], strict=True)
    ]
    turns = list(range((len(names) + 7) // 8))
    dashes = {"domain": turns, "range": [list(DASHES[turn % len(DASHES)]) for turn in turns]}
    shapes = [SHAPES[(number + number // 8) % len(SHAPES)] for number in range(len(names))]
    colour, shape = (
        _name("name", title=None, sort=None, scale={"domain": ordered, **more}, legend={"orient": "bottom"})
        for more in ({}, {"range": shapes})
    )
    tooltip = [_name("name", title="Run"), _value(x["field"], x["title"], PLAIN), _value(y["field"], y["title"])]
    line = {
        "params": [{"name": "chosen", "select": {"type": "point", "fields": ["name"]}, "bind": "legend"}],
        **_layer("line", {"strokeDash": _name("turn", scale=dashes, legend=None)}, strokeWidth=1.8, aria=False),
    }
    points = _layer("point", {"shape": shape, "tooltip": tooltip}, filled=True, size=46)
    dim = {"condition": {"param": "chosen", "value": 1}, "value": 0.12}
    encoding = {"x": x, "y": y, "color": colour, "opacity": dim}
    return _plot(description, rows, encoding=encoding, layer=[line, points])


def _precision_recall(names: Sequence[str], curves: Payload, runs: tuple[int, int]) -> Spec:
    x = _number("recall", "Recall", axis={"values": curves["x"], "format": ".1f"})
    y = _number("precision", "Interpolated precision")
    return _curves(
        names, curves, runs, x, y, f"Interpolated precision at eleven points of recall, of {len(names)} runs"
    )


def _recall_depth(names: Sequence[str], curves: Payload, runs: tuple[int, int]) -> Spec:
    first, last = curves["x"][0], curves["x"][-1]
    scale = {"type": "log", "domain": [first, last], "nice": False} if len(curves["x"]) > 1 else {"type": "linear"}
    x = _number("depth", "Documents looked at", scale=scale, axis={"values": curves["x"], "format": "~s"})
    y = _number("recall", "Recall")
    return _curves(names, curves, runs, x, y, f"Recall at depths from {first} to {last}, of {len(names)} runs")


def _overlap(names: Sequence[str], rbo: Sequence[Sequence[float | None]]) -> Spec:
    rows = [
        {"one": one, "other": other, "rbo": value}
        for one, values in zip(names, rbo, strict=True)
        for other, value in zip(names, values, strict=True)
    ]
    axis = {"domain": False, "ticks": False, "grid": False}
    encoding = {
        "x": _name("other", sort=None, title=None, axis=axis | {"labelAngle": -40, "labelLimit": 130}),
        "y": _name("one", sort=None, title=None, axis=axis),
        "tooltip": [_name("one", title="Run"), _name("other", title="and"), _value("rbo", "RBO")],
    }
    shade = _number("rbo", "RBO", scale={"domain": [0, 1], "range": "ramp", "interpolate": "rgb"}, legend=None)
    number = {"text": {"field": "rbo", "type": "quantitative", "format": ".2f"}}
    layer: list[Spec] = [{"mark": "rect", "encoding": {"color": shade}}]
    for style, side in (("on-low", f"datum.rbo < {EVEN}"), ("on-high", f"datum.rbo >= {EVEN}")):
        text = _layer("text", number, style=style, aria=False, fontSize=11)
        layer.append({"transform": [{"filter": side}], **text})
    description = f"Rank-biased overlap of each pair of {len(names)} runs"
    return _plot(description, rows, height=30 * len(names), encoding=encoding, layer=layer)
