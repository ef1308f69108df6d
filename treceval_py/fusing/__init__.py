"""One run from several: by ranks, by scores, with weights."""
