"""Collections of texts: passages, queries and documents, in files and data sets."""
