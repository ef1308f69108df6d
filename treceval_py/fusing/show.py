"""The settings chosen for a fusion, as a table."""

from __future__ import annotations

from treceval_py.fusing.methods import METHODS, Fusion
from treceval_py.fusing.tuning import Tuned
from treceval_py.io.digests import base_name
from treceval_py.rendering.envelope import Made
from treceval_py.rendering.tables import Column, Document, Table


def words_of(fusion: Fusion) -> str:
    """Return a setting in words: its method, normalisation and weights."""
    weights = fusion.weights
    said = f"{fusion.method} {fusion.norm}" if fusion.takes_scores else fusion.method
    if not METHODS[fusion.method].weighted:
        return said
    return f"{said}, weights " + ("equal" if weights is None else " ".join(f"{weight:g}" for weight in weights))


def document_of(tuned: Tuned, files: tuple[str, ...] = ()) -> Document:
    """Return a table of the settings of each fold and their gains.

    Parameters
    ----------
    tuned : Tuned
        The settings.
    files : tuple of str
        The fused runs, in the order of their weights.
    """
    chosen = tuned.chosen
    choices = (*chosen.folds, chosen.final)
    weights = f", weights of {', '.join(map(base_name, files))}" if files else ""
    alike = f"alike: number of settings, of {chosen.settings}, within one standard error of the best."
    table = Table(
        (
            Column("fold", [*map(str, range(1, len(chosen.folds) + 1)), "all"], text=True, head=True),
            Column("setting", [words_of(choice.fusion) for choice in choices], text=True),
            Column("queries", [choice.queries for choice in choices]),
            Column("mean", [choice.mean for choice in choices], title="chosen on"),
            Column("held_out", [choice.held_out for choice in choices], title="held out", unknown=""),
            Column("alike", [choice.alike for choice in choices]),
        ),
        name="folds",
        title=f"Settings chosen by {tuned.measure}{weights}",
        notes=(_about_means(tuned), alike),
    )
    return Document("fusion", [table], lambda _: Made(payload=tuned.record()))


def _about_means(tuned: Tuned) -> str:
    chosen = tuned.chosen
    return (
        f"Mean of {tuned.measure} over {chosen.final.queries} judged queries: {chosen.nested:.4f} with the setting of "
        f"each fold, chosen on the other folds (the estimate for new queries); {chosen.usual:.4f} with "
        f"{words_of(chosen.first)}; {chosen.final.mean:.4f} with the last row, chosen on the same queries "
        "(usually too high)."
    )
