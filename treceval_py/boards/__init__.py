"""Boards: all runs of a folder in order, and what is kept of them between two boards."""
