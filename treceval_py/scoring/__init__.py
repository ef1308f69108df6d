"""Scoring: judgments, runs and measures become results, under conventions, profiles and signatures."""
