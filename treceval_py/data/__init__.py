"""Judgments and runs as columns that can be read as dictionaries, and the rules that order documents."""
