"""Runs that are made here: written as files, each with its record."""
