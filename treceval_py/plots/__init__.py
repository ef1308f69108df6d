"""Plots of what commands print, as Vega-Lite specifications and as images."""
