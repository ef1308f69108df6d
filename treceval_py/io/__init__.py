"""Text to tables and back: TREC's formats, plain or compressed."""
