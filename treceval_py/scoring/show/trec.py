"""Results as trec_eval prints them."""

from __future__ import annotations

from collections.abc import Iterator

from treceval_py.data.ids import encode
from treceval_py.measures.registry import COUNT, Measure
from treceval_py.scoring.results import Results
from treceval_py.scoring.show.options import Options
from treceval_py.scoring.show.sheet import signature_lines

__all__ = ["trec"]

ALL = "all"


def trec(runs: list[Results], options: Options) -> str:
    """Return lines of ``measure qid value``, the measure in 22 columns, a tab between; a block for each run.

    Signatures are comment lines after it.
    """
    lines: list[str] = []
    for results in runs:
        lines += _lines(results, options)
        if options.signature:
            # As comments, which whoever looks for a measure at the beginning of a line does not see.
            lines += [f"# {line}\n" for line in signature_lines([results], options)]
    return "".join(lines)


def _lines(results: Results, options: Options) -> Iterator[str]:
    names = [_padded(measure, number in results.texts, results) for number, measure in enumerate(results.measures)]
    if options.per_query:
        shown = [number for number, measure in enumerate(results.measures) if measure.family.per_query]
        for row, (qid, listed) in enumerate(zip(results.qids, results.listed.tolist(), strict=True)):
            if listed:
                values = results.matrix[row].tolist()
                counted = results.counted[row].tolist()
                for number in shown:
                    if counted[number]:
                        yield f"{names[number]}\t{qid}\t{_value(results, number, row, values[number], options)}\n"
    if options.summary:
        for number, (measure, average) in enumerate(zip(results.measures, results.averages.tolist(), strict=True)):
            if measure.family.summary:
                yield f"{names[number]}\t{ALL}\t{_value(results, number, -1, average, options)}\n"


def _padded(measure: Measure, text: bool, results: Results) -> str:
    # trec_eval counts the Z of a z-score on top of the 22 columns, and columns in bytes.
    name = measure.name
    prefix = "Z" if results.standardised and not text else ""
    return prefix + name + " " * (22 - len(encode(name)))


def _value(results: Results, number: int, row: int, value: float, options: Options) -> str:
    measure = results.measures[number]
    if number in results.texts:
        text = results.texts[number][row] if results.texts[number] else results.tag
        return f"'{text}'" if measure.family.per_query else text
    if measure.family.kind == COUNT and not results.standardised:
        return str(int(value))
    digits = 4 if options.digits is None else options.digits
    return f"{value:{digits + 2}.{digits}f}"
