"""Notes on runs whose settings were chosen on queries of the comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treceval_py.runs.record import hash_of_query, read_sidecar


def about_tuned(runs: Iterable[tuple[str, str, str]], qids: Sequence[str]) -> list[str]:
    """Return a note for each run whose settings, by its record, were chosen on some of the queries.

    Parameters
    ----------
    runs : iterable of (str, str, str)
        The name of each run, its file and the SHA-256 of the file; both empty if it came from elsewhere.
    qids : sequence of str
        The queries of the comparison.

    Returns
    -------
    list of str
        The notes; cross-validated runs, whose settings for each query were chosen without it, get a milder one.
    """
    notes: list[str] = []
    hashes: set[str] = set()
    for name, file, digest in runs:
        record = read_sidecar(file, digest) if digest else None
        tuned = None if record is None else record.get("tuned")
        if not isinstance(tuned, dict) or not isinstance(tuned.get("queries"), list):
            continue
        hashes = hashes or set(map(hash_of_query, qids))
        common = len(hashes.intersection(map(str, tuned["queries"])))
        if not common:
            continue
        those = f"{common} of the {len(qids)} queries compared" if common < len(qids) else "the queries compared"
        if tuned.get("nested"):
            notes.append(
                f"the settings of {name} were chosen by cross-validation on {those}, each query without its own "
                "judgments: its p-values are nearly right, as folds share queries."
            )
        else:
            notes.append(
                f"the settings of {name} were chosen on {those}: its mean is too high there and its p-values are too "
                "low. Choose them on other queries, or by cross-validation."
            )
    return notes
