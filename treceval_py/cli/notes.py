"""Notes on standard error about results: what was left out, replaced or assumed."""

from __future__ import annotations

from treceval_py.data.ids import first_of
from treceval_py.scoring.profiles import PROFILES
from treceval_py.scoring.results import Results

__all__ = ["about"]


def about(results: Results) -> list[str]:
    """Say what was left out, replaced or assumed."""
    said: list[str] = []
    if results.missing:
        count = len(results.missing)
        are = "judged query is" if count == 1 else "judged queries are"
        if results.complete:
            what = "and counts as an empty ranking" if count == 1 else "and count as empty rankings"
        elif any(each.missing != "out" for each in results.conventions):
            left = [
                measure.name
                for measure, each in zip(results.measures, results.conventions, strict=True)
                if each.missing == "out"
            ]
            what = f"and left out of {', '.join(left[:3])}{', …' if len(left) > 3 else ''}; -c counts " + (
                "it" if count == 1 else "them"
            )
        else:
            what = "and left out; -c counts " + ("it" if count == 1 else "them")
        if not set(results.qids) - set(results.missing):
            unknown = f"no query of the run is judged in {results.judgments_name}; is it the right file?"
            said.append(f"{results.run_name}: {unknown}")
        said.append(f"{results.run_name}: {count} {are} missing ({first_of(results.missing)}), {what}.")
    if results.unjudged:
        count = len(results.unjudged)
        have = "query of the run has" if count == 1 else "queries of the run have"
        are = "is" if count == 1 else "are"
        said.append(
            f"{results.run_name}: {count} {have} no judgments ({first_of(results.unjudged)}) and {are} not scored."
        )
    if results.measures and not results.counted.any():
        said.append(f"{results.run_name}: no query counts, as none has a relevant document.")
    if results.replaced:
        lines = "1 line is" if results.replaced == 1 else f"{results.replaced} lines are"
        said.append(
            f"{results.run_name}: {lines} replaced by a later one of the same document, as in {results.profile}."
        )
    if results.contradictions.qids:
        said.append(_about_ranks(results))
    if any("max_rel" in dict(resolved.parameters) for resolved in results.resolved):
        said += _about_scale(results)
    return said


def _about_scale(results: Results) -> list[str]:
    """Say which top of the scale was taken from the judgments."""
    profile = PROFILES.get(results.profile)
    taken = []
    for measure, resolved in zip(results.measures, results.resolved, strict=True):
        meant = measure if profile is None else profile.meaning_of(measure)
        if "max_rel" in dict(resolved.parameters) and "max_rel" not in dict(meant.parameters):
            taken.append((measure.name, dict(resolved.parameters)["max_rel"]))
    if not taken:
        return []
    names, top = ", ".join(name for name, _ in taken), taken[0][1]
    what = f"judgments go up to {top}, which is taken for the top of the scale in {names}; max_rel={top} says so."
    return [f"{results.judgments_name}: {what}"]


def _about_ranks(results: Results) -> str:
    found = results.contradictions
    queries = len(results.unjudged) + len(set(results.qids) - set(results.missing))
    where = f"{results.run_name}: in {len(found.qids)} of {queries} queries ({first_of(found.qids)})"
    if found.reversed:
        return f"{where} scores grow with the rank. If they are distances, give their negatives: more is better."
    return f"{where} the rank column contradicts the scores, which decide."
