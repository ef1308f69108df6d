"""Intake: the files that were handed in and their owners, read without risk of harm."""
