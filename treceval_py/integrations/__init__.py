"""Scoring inside other packages. Each module needs the package it is named after; none is imported automatically."""
