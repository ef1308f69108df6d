"""A course: who is in it, what of it is whose, and its tasks."""
