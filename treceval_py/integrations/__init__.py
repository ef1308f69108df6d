"""Scoring inside of other packages. Each module needs the package that it is named after; none is loaded by itself."""
