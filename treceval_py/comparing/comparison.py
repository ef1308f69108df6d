"""The comparison of runs that callers get: looked up by measure and run, and printed in every format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treceval_py.comparing.outcome import Compared, Outcome
from treceval_py.comparing.show.figures import plot_of
from treceval_py.comparing.show.tables import document_of, records
from treceval_py.data.ids import encode, shown
from treceval_py.errors import MeasureError, UnknownKeyError, brief, listed
from treceval_py.measuring import Measure
from treceval_py.plots.images import Plot
from treceval_py.rendering import render
from treceval_py.rendering.envelope import json_safe
from treceval_py.rendering.style import Style
from treceval_py.scoring.results import place_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Outcome):
    """Comparison of runs over the same queries; prints as a table, also in notebooks.

    Attributes
    ----------
    runs : tuple of str, length S
        The names of the runs.
    baseline : int or None
        Number of the run that others are compared with; None if every pair is compared.
    measures : tuple of Compared, length M
        The results for each measure.
    settings : Settings
        Tests and other settings.
    family : int
        Number of p-values corrected together.
    files : tuple of str, length S
        The name, without folders, of the file of each run or of its saved results.
    judgments_name : str
        The name of the judgments' file, without folders; empty if all results were saved.
    notes : tuple of str
        What was left out or assumed.
    version : str
        The version of treceval_py that compared them.
    digests : tuple of str, length S
        The SHA-256 of each file, in hexadecimal; empty if a run did not come from a file.
    judgments_digest : str
        That of the judgments' file.
    groups : tuple of QueryGroups
        The groups of queries that were asked for, by each attribute.
    by_group : tuple of Grouped
        For each measure, the runs in the groups of each attribute.
    """

    def __getitem__(self, measure: str | Measure) -> Compared:
        try:
            return self.measures[place_of([compared.measure for compared in self.measures], measure)]
        except MeasureError as error:
            raise UnknownKeyError(error.what, error.todo) from None

    def __str__(self) -> str:
        return self.to_text("table")

    def __repr__(self) -> str:
        measures = listed([compared.measure for compared in self.measures])
        runs = "1 run" if len(self.runs) == 1 else f"{len(self.runs)} runs"
        return f"<Comparison of {runs} in {measures}: {listed(self.runs)}>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def sorted(self, by: str | None = None) -> Comparison:
        """Return the comparison with its runs in another order.

        Parameters
        ----------
        by : str, optional
            A measure: the highest mean comes first; ``"name"``: by name; ``"given"``: as they are. Default: the first
            measure.

        Raises
        ------
        MeasureError
            The comparison lacks the measure.
        """
        if by == "given":
            return self
        order = list(range(len(self.runs)))
        if by == "name":
            order.sort(key=lambda run: encode(self.runs[run]))
        else:
            at = 0 if by is None else place_of([compared.measure for compared in self.measures], by)
            # Means that differ by rounding errors only are equal, and their runs stay in the given order.
            order.sort(key=lambda run: -float(f"{self.measures[at].means[run]:.12g}"))
        return replace(
            self,
            runs=tuple(self.runs[run] for run in order),
            baseline=None if self.baseline is None else order.index(self.baseline),
            measures=tuple(each.in_order(order) for each in self.measures),
            by_group=tuple(each.in_order(order) for each in self.by_group),
            files=tuple(self.files[run] for run in order),
            digests=tuple(self.digests[run] for run in order) if self.digests else (),
        )

    def to_text(
        self,
        format: str = "table",
        *,
        digits: int | None = None,
        colour: bool = False,
        width: int | None = None,
        sort: str | None = None,
    ) -> str:
        """Return the comparison as text.

        Parameters
        ----------
        format : str
            ``table``, ``markdown`` or another format of ``--format``.
        digits : int, optional
            Decimals. Default: 4, or all in csv, tsv and json.
        colour : bool
            Whether terminal styles may be used.
        width : int, optional
            Terminal columns to fit tables into.
        sort : str, optional
            Order of the runs, as of `sorted`. Default: by the first measure in table, markdown, latex and html, and as
            given in csv, tsv and json.

        Raises
        ------
        MeasureError
            The format is unknown, or `digits` is not a whole number from 0; it is a ValueError.
        """
        if digits is not None and (not isinstance(digits, int) or digits < 0):
            raise MeasureError(f"digits must be 0 or more, not {shown(digits)}")
        style = Style(digits=digits, colour=colour, width=width)
        return render(document_of(self.sorted_for(format, sort), style), format, style)

    def sorted_for(self, format: str, by: str | None = None) -> Comparison:
        """Return the comparison with its runs in the order `by`, or else in the default order of `format`."""
        return self.sorted("given" if by is None and format in ("csv", "tsv", "json") else by)

    def to_latex(
        self, *, digits: int | None = None, columns: int = 1, siunitx: bool = False, sort: str | None = None
    ) -> str:
        """Return LaTeX tables for booktabs, with captions that state the test, and a paragraph for the text.

        Parameters
        ----------
        digits : int, optional
            Decimals. Default: 4.
        columns : {1, 2}
            Width of the tables: one column of text in every usual style, or a page (``table*``).
        siunitx : bool
            Align numbers by the package siunitx.
        sort
            As of `to_text`.

        Raises
        ------
        MeasureError
            The measure to sort by is not among those compared, or `columns` is neither 1 nor 2.
        """
        if columns not in (1, 2):
            raise MeasureError(f"columns must be 1 or 2, not {shown(columns)}")
        style = Style(digits=digits, columns=columns, siunitx=siunitx)
        return render(document_of(self.sorted_for("latex", sort), style), "latex", style)

    def to_html(self, *, digits: int | None = None) -> str:
        """Return an HTML fragment: a table with `digits` decimals, and an explanation of the marks."""
        return self.to_text("html", digits=digits)

    def plot(
        self,
        plot: str = "bars",
        *,
        measure: str | Measure | None = None,
        runs: tuple[str | int, str | int] | None = None,
    ) -> Plot:
        """Return a plot, as in reports, to show in a notebook or to save.

        Parameters
        ----------
        plot : {"bars", "scatter", "deltas"}
            Means with intervals; the values of two runs against each other; or their differences, in order.
        measure : str or Measure, optional
            The measure. Default: bars of every measure, and else the first one.
        runs : tuple of two str or int, optional
            The two runs of "scatter" and "deltas", by names or numbers. Default: the first other run, and the baseline.

        Raises
        ------
        MeasureError
            The plot, the measure or a run is unknown.
        EvaluationError
            The plot needs the runs themselves, so only a report has it.
        """
        names = [compared.measure for compared in self.measures]
        measure = None if measure is None else names[place_of(names, measure)]
        pair = None if runs is None else (self._place(runs[0]), self._place(runs[1]))
        return plot_of(self, plot, measure, pair)

    def _place(self, run: str | int) -> int:
        if isinstance(run, str) and run not in self.runs:
            raise MeasureError(f"no run is named '{brief(run)}'", f"The runs are {listed(self.runs)}.")
        return self.runs.index(run) if isinstance(run, str) else run

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each difference: measure, run, other, means and all statistics."""
        import pandas as pd

        # pandas keeps text as Arrow does, which has no bytes that are not UTF-8.
        rows = [
            {key: json_safe(cell) if isinstance(cell, str) else cell for key, cell in row.items()}
            for row in records(self)
        ]
        frame: pd.DataFrame = pd.DataFrame(rows)
        return frame
