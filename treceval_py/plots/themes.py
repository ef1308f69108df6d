"""The colours of plots: those of the report page (reporting/page.css) on white paper, and hues for more runs."""

from __future__ import annotations

from typing import Any, NamedTuple

FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"


class Theme(NamedTuple):
    """The colours of a page and its plots.

    Attributes
    ----------
    paper, ink, muted, line, wash : str
        Background, text, secondary text, thin lines, and the background of highlighted parts.
    accent, tint : str
        Links and marks; the bars of means, grey as of the page's other runs.
    series : tuple of str, length 8
        The colours of runs, which repeat after eight: as on the page, of the run looked at and of the reference first.
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


_COLOURS: dict[str, tuple[Any, Any]] = {
    "paper": ("#ffffff", "#161618"),
    "ink": ("#1c1b1a", "#f3f0ea"),
    "muted": ("#67625a", "#a8a298"),
    "line": ("#e0dad0", "#3a3935"),
    "wash": ("#f5f2ec", "#202022"),
    "accent": ("#1a5fa8", "#6fb1f5"),
    "tint": ("#c4bdb1", "#55524c"),
    "series": (
        ("#1a5fa8", "#b1490a", "#00a06e", "#cf68a8", "#ad8b00", "#3d9ad4", "#1b1b1b", "#4f4a10"),
        ("#2b7fd0", "#e0661a", "#10a87c", "#cc79a7", "#e69f00", "#56b4e9", "#f0f0f0", "#f0e442"),
    ),
    "ramp": (("#f1efe9", "#16466f"), ("#232325", "#62a0d0")),
    "on_low": ("#000000", "#ffffff"),
    "on_high": ("#ffffff", "#000000"),
}

THEMES = {
    theme: Theme(**{part: colours[number] for part, colours in _COLOURS.items()})
    for number, theme in enumerate(("light", "dark"))
}


def config_of(theme: Theme) -> dict[str, Any]:
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
            "baseline": {"color": theme.series[1], "strokeWidth": 1.5, "strokeDash": [4, 3]},
            "even": {"color": theme.muted, "strokeWidth": 1},
            "on-low": {"color": theme.on_low},
            "on-high": {"color": theme.on_high},
            "number": {"color": theme.ink},
        },
    }
