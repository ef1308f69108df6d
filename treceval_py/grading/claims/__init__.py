"""Claims: found in what was handed in, read from the table of a class, and set beside what the run gives."""
