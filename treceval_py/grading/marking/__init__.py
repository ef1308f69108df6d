"""Marking of one submission: its scores, its points, and similar submissions."""
