"""Boards: all runs of a folder in order, with a cache of their results."""
