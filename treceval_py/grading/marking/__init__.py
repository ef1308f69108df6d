"""One submission: scored, its points, and which others are like it."""
