"""Findings about judgments as a whole."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, NOTE, WARNING, Code

CODES: tuple[Code, ...] = (
    Code(
        "Q310",
        "duplicate-judgment",
        ERROR,
        "A document has two lines with the same label in one query",
        "The lines agree, so the label is not in doubt; but trec_eval, pytrec_eval and this program refuse the file. "
        "ir_measures reads it.",
        "1 0 d1 1\n1 0 d1 1",
        "Delete one of the two lines; --fix does this.",
        fixed=True,
    ),
    Code(
        "Q311",
        "contradictory-judgment",
        ERROR,
        "A document has two lines with different labels in one query",
        "Only one of the labels can count, and scores depend on which. trec_eval and this program refuse the file, "
        "pytrec_eval fails without a message, and ir_measures silently uses the last line.",
        "1 0 d1 1\n1 0 d1 0",
        "Find out from the source of the judgments which label is right, and delete the other line.",
    ),
    Code(
        "Q312",
        "label-outside-scale",
        WARNING,
        "A label is outside the scale",
        "Labels are gains in nDCG and ERR: a single 22 typed for a 2 outweighs all other labels of its query. Without "
        "--scale only implausible labels are reported: labels below -2, and labels of 10 or more that are over twice "
        "the next lower label and rarer than 1 in 100 positive labels. -1 and -2, which mark documents that were not "
        "judged, are allowed on every scale, even on 0-3.",
        "1 0 d1 2\n1 0 d2 -3",
        "Correct the label; if it is intended, give the scale with --scale.",
    ),
    Code(
        "Q313",
        "negative-label",
        NOTE,
        "Some labels are negative",
        "In trec_eval a document with a negative label is in the pool but not judged: bpref ignores it, and measures "
        "of ranks count it as not relevant. In the Web Track -2 marks junk. Programs that do not handle negative "
        "labels use them as gains below zero.",
        "1 0 d1 -1",
        "Nothing, if the labels are intended. If they mark documents that are not relevant, write 0.",
    ),
    Code(
        "Q314",
        "query-without-relevant",
        NOTE,
        "A query has no relevant document",
        "Every run scores 0 on this query. trec_eval and most other programs include that 0 in the mean; gdeval and "
        "trectools leave the query out, so their means are higher.",
        "1 0 d1 0\n1 0 d2 0",
        "Nothing, if no relevant document is known. When you compare with other numbers, say how such queries were "
        "counted.",
    ),
    Code(
        "Q315",
        "queries-interleaved",
        NOTE,
        "The lines of a query are not together",
        "trec_eval and this program bring them together. Programs that read a query until the next one begins keep "
        "only the last group of lines, or score the query twice.",
        "1 0 d1 1\n2 0 d1 1\n1 0 d2 0",
        "Sort the lines by query, using a stable sort so that nothing else changes.",
    ),
    Code(
        "Q316",
        "look-alike-ids",
        WARNING,
        "Two query ids of the file differ only in notation",
        "Ids are text: 037 and 37, or 37.1 and 37_1, are two queries. If they were meant to be one, its judgments are "
        "split in two, and a run lacks the documents of one half.",
        "37.1 0 d1 1\n37_1 0 d2 1",
        "If it is one query, write its id in one way.",
    ),
    Code(
        "Q317",
        "judgments-of-groups",
        WARNING,
        "The second column distinguishes judgments of a document, by group or by subtopic",
        "In most judgments the second column is 0 and has no meaning. Here a query lists a document more than once, "
        "with different second columns: several assessors judged it, or it was judged for each subtopic. As plain "
        "judgments, such lines are duplicates, which trec_eval and this program refuse; other programs use the last "
        "line.",
        "1 0 d1 1\n1 1 d1 0",
        "For measures of groups and of diversity, read the file with -R qrels_jg. For other measures, keep one group, "
        "or merge the judgments into one.",
    ),
)
"""Findings about judgments as a whole."""
