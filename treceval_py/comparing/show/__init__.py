"""A comparison of runs, of its queries and of its agreement as tables."""
