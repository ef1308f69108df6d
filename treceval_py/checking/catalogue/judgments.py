"""What may be found in judgments, beyond their lines."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, NOTE, WARNING, Code

__all__ = ["CODES"]

CODES: tuple[Code, ...] = (
    Code(
        "Q310",
        "duplicate-judgment",
        ERROR,
        "A document has two lines with the same label in one query",
        "The lines agree, so nothing is in doubt; but trec_eval, pytrec_eval and this program refuse such a file. "
        "ir_measures reads it.",
        "1 0 d1 1\n1 0 d1 1",
        "Delete one of the two lines; --fix does it.",
        fixed=True,
    ),
    Code(
        "Q311",
        "contradictory-judgment",
        ERROR,
        "A document has two lines with different labels in one query",
        "Only one of the labels can count, and which one it is decides scores. trec_eval and this program refuse the "
        "file, pytrec_eval fails without a message, and ir_measures takes the last line without a word.",
        "1 0 d1 1\n1 0 d1 0",
        "Find out which label is meant, and delete the other line. Nothing but the source of the judgments can tell.",
    ),
    Code(
        "Q312",
        "label-outside-scale",
        WARNING,
        "A label is outside the scale",
        "Labels are gains in nDCG and ERR: one label 22 that was to be a 2 outweighs all others of its query. Without "
        "--scale only what can hardly be meant is told: labels below -2, and a label from 10 on that is more than "
        "twice the next lower one, and that fewer than 1 in 100 of the positive labels reach. -1 and -2, which mark "
        "documents that were not judged, are within every scale, also within 0-3.",
        "1 0 d1 2\n1 0 d2 -3",
        "Correct the label, or give the scale with --scale if it is meant.",
    ),
    Code(
        "Q313",
        "negative-label",
        NOTE,
        "Some labels are negative",
        "To trec_eval a document with a negative label is in the pool but not judged: bpref leaves it out, and "
        "measures of ranks take it as not relevant. In the Web Track -2 marks junk. A program that does not look for "
        "them takes them as gains below zero.",
        "1 0 d1 -1",
        "Nothing, if that is what the labels mean. If it marks documents that are not relevant, write 0.",
    ),
    Code(
        "Q314",
        "query-without-relevant",
        NOTE,
        "A query has no relevant document",
        "Whatever a run retrieves, it scores 0 there. trec_eval and most others count that 0 in the mean; gdeval and "
        "trectools leave the query out of it, so their means are higher.",
        "1 0 d1 0\n1 0 d2 0",
        "Nothing, if no relevant document is known. Say how such queries were counted when you compare with other "
        "numbers.",
    ),
    Code(
        "Q315",
        "queries-interleaved",
        NOTE,
        "The lines of a query do not stand together",
        "trec_eval and this program bring them together. Programs that read a query until the next one begins keep "
        "the last stretch, or score the query twice.",
        "1 0 d1 1\n2 0 d1 1\n1 0 d2 0",
        "Sort the lines by query, with a stable sort so that nothing else changes.",
    ),
    Code(
        "Q316",
        "look-alike-ids",
        WARNING,
        "Two query ids of the file differ only in how they are written",
        "Ids are text: 037 and 37, or 37.1 and 37_1, are two queries. If one was meant, its judgments are cut in two, "
        "and a run has no documents for one of them.",
        "37.1 0 d1 1\n37_1 0 d2 1",
        "Write the id in one way if it is one query.",
    ),
    Code(
        "Q317",
        "judgments-of-groups",
        WARNING,
        "The second column tells judgments of a document apart, as those of groups or subtopics",
        "In most judgments the second column is 0 and says nothing. Here a query has a document more than once, with "
        "different second columns: several assessors judged it, or it was judged for each subtopic. Read as plain "
        "judgments such lines are duplicates, which trec_eval and this program refuse; other programs take the last "
        "line.",
        "1 0 d1 1\n1 1 d1 0",
        "Give them with -R qrels_jg for the measures of groups and of diversity. For other measures keep one group, or "
        "make one judgment of several.",
    ),
)
"""Findings about judgments as a whole."""
