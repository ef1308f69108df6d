"""Scoring: conventions, profiles and signatures; judgments, runs and measures become results."""
