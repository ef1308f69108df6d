"""What is written of a class: gradebook, feedback, overview."""
