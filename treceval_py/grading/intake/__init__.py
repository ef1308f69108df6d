"""Intake: what was handed in, by whom, without anything that could do harm."""
