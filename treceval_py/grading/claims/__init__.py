"""Claims: found in submissions, read from the table of a class, and compared with the values of the run."""
