"""Read text into tables and write tables as text: TREC's and other formats, plain or compressed."""
