"""The documents that students hand in, as lines and tables."""
