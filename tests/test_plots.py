"""Plots as images and as specifications."""

from __future__ import annotations

import re
import struct
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from report_payloads import drawn_payload

from treceval_py.errors import EvaluationError, MeasureError
from treceval_py.plots.images import image
from treceval_py.plots.specs import PLOTS, specs
from treceval_py.plots.themes import THEMES

pytest.importorskip("vl_convert", reason="plots need vl-convert-python: .[report] has it")


@pytest.mark.slow
@pytest.mark.parametrize("plot", PLOTS)
def test_plots_are_drawn_as_images(plot: str) -> None:
    png = image(drawn_payload(), plot, "png")
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    wide, high = struct.unpack(">II", png[16:24])
    assert wide >= 1000
    assert high >= 400
    root = ET.fromstring(image(drawn_payload(), plot, "svg"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_the_scatter_plot_has_a_point_for_each_query() -> None:
    svg = image(drawn_payload(queries=17), "scatter", "svg", runs=(2, 1)).decode()
    points = re.findall(r'aria-roledescription="point"', svg)
    assert len(points) == 17


def test_the_plots_hold_the_numbers_of_the_table() -> None:
    given = drawn_payload()
    rows = specs(given, measure="nDCG@10")["bars"]["data"]["values"]
    assert [row["mean"] for row in rows] == given["measures"][1]["means"]
    assert [row["low"] for row in rows] == given["measures"][1]["low"]
    assert [row["label"] for row in rows] == [f"{mean:.4f}" for mean in given["measures"][1]["means"]]


def test_plots_and_runs_that_are_not_there_are_refused() -> None:
    with pytest.raises(MeasureError, match=r"^unknown plot 'pie'\. Choose one of bars, "):
        image(drawn_payload(), "pie")
    with pytest.raises(MeasureError, match=r"^run 8 does not exist\. Runs are numbered 0 to 7\.$"):
        image(drawn_payload(), "scatter", runs=(0, 8))
    with pytest.raises(MeasureError, match=r"^the measure ERR is not in the comparison\. It has: AP, "):
        image(drawn_payload(), "bars", measure="ERR")
    with pytest.raises(MeasureError, match=r"^unknown image format 'gif'\. Choose png or svg\.$"):
        image(drawn_payload(), "bars", "gif")
    with pytest.raises(EvaluationError, match=r"^the plot overlap cannot be drawn from these: curves need"):
        image(drawn_payload(curves=False), "overlap")


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_colours_are_told_from_their_ground(name: str) -> None:
    # WCAG 2.2, 1.4.3 and 1.4.11: 4.5 for text, 3 for graphics; black on white has 21.
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    theme = THEMES[name]
    for ground in (theme.paper, theme.wash):
        for text in (theme.ink, theme.muted, theme.accent):
            assert contrast(text, ground) >= 4.5, (text, ground)
    for colour in (*theme.series, theme.muted):
        assert contrast(colour, theme.paper) >= 3, colour


@pytest.mark.parametrize("name", ["light", "dark"])
def test_numbers_are_read_on_each_shade_of_a_heat_map(name: str) -> None:
    theme = THEMES[name]
    low, high = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in theme.ramp)
    for step in range(101):
        mixed = "#" + "".join(f"{round(a + (b - a) * step / 100):02x}" for a, b in zip(low, high, strict=True))
        assert contrast(theme.on_low if step < 69 else theme.on_high, mixed) >= 4.5, step


def test_colours_are_those_of_the_page_blue_for_the_run_looked_at_and_orange_for_the_reference() -> None:
    made = specs(drawn_payload(3), runs=(2, 0))
    names = [run["name"] for run in drawn_payload(3)["runs"]]
    for plot in ("precision-recall", "recall-depth"):
        assert made[plot]["encoding"]["color"]["scale"]["domain"] == [names[2], names[0], names[1]]
    # --blue and --orange of page.css, in light colours and in dark ones hues of these.
    assert THEMES["light"].series[:2] == ("#1a5fa8", "#b1490a")


def test_fifty_runs_are_told_apart_by_colour_shape_and_dash() -> None:
    plot = specs(drawn_payload(50))["precision-recall"]
    line, points = (layer["encoding"] for layer in plot["layer"])
    shapes, dashes = points["shape"]["scale"]["range"], line["strokeDash"]["scale"]["range"]
    turns = [row["turn"] for row in plot["data"]["values"][::11]]  # eleven points each
    assert len(set(shapes[:8])) == 8
    # Colours come again after eight runs.
    assert len({(run % 8, shapes[run], tuple(dashes[turns[run]])) for run in range(50)}) == 50


@pytest.mark.parametrize(
    ("depths", "scale"),
    [([1, 10, 50], {"type": "log", "domain": [1, 50], "nice": False}), ([7], {"type": "linear"})],
)
def test_the_axis_of_depths_ends_at_the_first_and_last_depth(depths: list[int], scale: dict[str, Any]) -> None:
    given = drawn_payload()
    given["rd"] = {"x": depths, "y": [[0.5] * len(depths) for _ in given["runs"]]}
    assert specs(given)["recall-depth"]["encoding"]["x"]["scale"] == scale
