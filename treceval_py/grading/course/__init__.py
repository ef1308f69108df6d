"""A course: its students, the owners of submissions, and its tasks."""
