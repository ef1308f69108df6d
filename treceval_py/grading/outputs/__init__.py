"""Files that are written about a class: gradebook, feedback, overview."""
