"""From a corpus and queries to a run file: encode with a BGE model, search with Faiss, and never do an hour twice.

Nothing of this is imported by the rest of the package, and its heavy packages (the extra ``retrieve``) are imported
where they are used.
"""
