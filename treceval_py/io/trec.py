"""TREC's text formats: judgments (``qid iteration docid rel``) and runs (``qid Q0 docid rank score tag``).

Also the two other kinds of judgments that trec_eval reads: groups of judgments (``qrels_jg``) and preferences
(``prefs``, ``qrels_prefs``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from itertools import pairwise, repeat

from treceval_py._types import Source
from treceval_py.data.columns import GRADED_PREFERENCES, PREFERENCES, QRELS, QRELS_GROUPS, RUN
from treceval_py.data.groups import JudgmentGroups
from treceval_py.data.ids import decode, quoted
from treceval_py.data.preferences import Preference, Preferences
from treceval_py.data.qrels import Qrels
from treceval_py.data.run import Run
from treceval_py.errors import InputError, RepeatedDocumentError
from treceval_py.io.formats import Kind
from treceval_py.io.rows import Part, Rows, parts_of, read_blocks
from treceval_py.io.source import Text, name_of, source_of

Judgments = Qrels | JudgmentGroups | Preferences


def read_trec_qrels(source: Source) -> Qrels:
    """Read relevance judgments: lines of ``qid iteration docid rel``; as for `named.read_qrels`."""
    try:
        return Rows(name_of(source), parts_of(source, QRELS)).qrels()
    except RepeatedDocumentError as error:
        raise twice_judged(error, source) from None


def twice_judged(error: RepeatedDocumentError, source: Source) -> RepeatedDocumentError:
    """Return an error about judgments, with other advice if the file can be read again, as judgments of groups."""
    if isinstance(source, Text):
        source.seek(0)
    elif not isinstance(source, (str, os.PathLike)) or source == "-":
        return error
    try:
        read_judgment_groups(source)
    except InputError:
        return error
    return RepeatedDocumentError(error.what, OF_GROUPS, file=error.file, line=error.line)


OF_GROUPS = "Read judgments of groups or subtopics in format qrels_jg (-R qrels_jg); otherwise keep one group."


def read_trec_run(source: Source) -> Run:
    """Read a run: lines of ``qid Q0 docid rank score tag``; as for `named.read_run`.

    Only ``qid``, ``docid`` and ``score`` affect the ranking; the tag is the last line's. Lines may be in any order. A
    rank column of whole numbers is kept, to compare it with the scores (`rank_contradictions`).
    """
    return Rows(name_of(source), parts_of(source, RUN)).run()


def parts(source: Source, kinds: Collection[Kind]) -> tuple[Kind, Iterator[Part]]:
    """Return the rows of a run or of judgments, block by block, and which they are."""
    (kind,) = kinds
    return kind, parts_of(source, RUN if kind == "run" else QRELS)


def read_judgment_groups(source: Source | None = None, *, text: str | None = None) -> JudgmentGroups:
    """Read judgments by groups of assessors (trec_eval's ``qrels_jg``): lines of ``qid group docid rel``.

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file.
    text : str, optional
        The text of the file, instead of a source.

    Returns
    -------
    JudgmentGroups
        The judgments of each query by group.

    Raises
    ------
    InputError
        The file cannot be read, a line is malformed, or a group judges a document twice for a query.
    """
    given = source_of(source, text)
    name = name_of(given)
    groups: dict[str, dict[bytes, dict[bytes, int]]] = {}
    for block in read_blocks(given, QRELS_GROUPS):
        rels = block.integers(3, "judgment").tolist()
        qids, names, docids = block.columns[:3]
        for start, stop in pairwise(block.stretches(2).tolist()):
            judged = groups.setdefault(decode(qids[start]), {}).setdefault(names[start], {})
            new = dict(zip(docids[start:stop], rels[start:stop], strict=True))
            if len(new) < stop - start or not judged.keys().isdisjoint(new):
                row = start
                while docids[row] not in judged:
                    judged[docids[row]], row = 0, row + 1
                group, docid, qid = quoted(names[row]), quoted(docids[row]), quoted(qids[row])
                twice = f"group {group} judges document {docid} twice for query {qid}"
                block.refuse(row, twice, "Keep one of the two lines.")
            judged.update(new)
    return JudgmentGroups(groups, name=name)


def read_graded_preferences(source: Source) -> Preferences:
    """Read preferences in the format ``qrels_prefs``; as for `read_preferences`."""
    return read_preferences(source, subgroups=False)


def read_preferences(source: Source | None = None, *, subgroups: bool = True, text: str | None = None) -> Preferences:
    """Read preference judgments (trec_eval's ``prefs`` and ``qrels_prefs``).

    Parameters
    ----------
    source : str, path or binary file
        The file, ``"-"`` for standard input, or an open binary file.
    subgroups : bool
        True for ``prefs``, lines of ``qid group subgroup docid level``; False for ``qrels_prefs``, lines of
        ``qid group docid level``, where each group is one sub-group.
    text : str, optional
        The text of the file, instead of a source.

    Returns
    -------
    Preferences
        The preferences of each query.

    Raises
    ------
    InputError
        The file cannot be read or a line is malformed.
    """
    given = source_of(source, text)
    layout = PREFERENCES if subgroups else GRADED_PREFERENCES
    lines: dict[str, list[Preference]] = {}
    for block in read_blocks(given, layout):
        levels = block.numbers(len(layout.fields) - 1, "level").tolist()
        qids, group, *subgroup, docid = block.columns[:-1]
        fields = zip(group, subgroup[0] if subgroup else repeat(b""), docid, levels, block.lines, strict=False)
        judged = list(map(Preference._make, fields))
        for start, stop in pairwise(block.stretches().tolist()):
            lines.setdefault(decode(qids[start]), []).extend(judged[start:stop])
    return Preferences(lines, name=name_of(given))
