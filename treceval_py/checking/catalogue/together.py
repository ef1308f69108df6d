"""What may be found in a run, or a judged ranking, beside judgments."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, NOTE, WARNING, Code

__all__ = ["CODES"]

CODES: tuple[Code, ...] = (
    Code(
        "X201",
        "no-common-query",
        ERROR,
        "Not one query of the run is judged",
        "There is nothing to score, and this program refuses. Mostly the run is for other topics, or a program has "
        "rewritten the query ids.",
        "QRELS: 301 0 d1 1\nrun:   401 Q0 d1 1 9.5 tag",
        "Give the judgments of these queries, or the run for these judgments; or write query ids as QRELS does.",
    ),
    Code(
        "X202",
        "queries-missing",
        WARNING,
        "Judged queries are missing from the run",
        "With -c, in ir_measures and in MS MARCO's script a missing query counts as 0. Without, trec_eval 9 takes the "
        "mean over the queries that are there, so a run that leaves hard queries out scores higher; trec_eval 10 "
        "refuses it. Two means over different queries cannot be compared.",
        "QRELS: 1 0 d1 1\n       2 0 d1 1\nrun:   1 Q0 d1 1 9.5 tag",
        "Find out why the queries are missing: a run that stopped early, or queries that found nothing.",
    ),
    Code(
        "X203",
        "queries-not-judged",
        NOTE,
        "Some queries of the run are not judged",
        "They are left out of scores by most programs; trectools counts them in the mean. Many collections judge only "
        "part of their topics, as TREC's deep learning track does.",
        "QRELS: 1 0 d1 1\nrun:   1 Q0 d1 1 9.5 tag\n       2 Q0 d1 1 9.5 tag",
        "Nothing, if the collection judges only some of the queries.",
    ),
    Code(
        "X204",
        "look-alike-query",
        WARNING,
        "A query is not judged, but one that is written nearly alike is",
        "Ids are text. A program that writes 37.1 as 37_1, 007 as 7, or 301 as 301.0 (a data frame that took ids for "
        "numbers) makes other queries of them: the run's is not scored, and the judged one counts as missing.",
        "QRELS: 37.1 0 d1 1\nrun:   37_1 Q0 d1 1 9.5 tag",
        "Write query ids as QRELS does; read them as text, never as numbers.",
    ),
    Code(
        "X205",
        "no-judged-document",
        WARNING,
        "Not one retrieved document is judged for its query",
        "The queries fit, and every value is 0. Mostly document ids were rewritten (other case, a file ending, a "
        "folder, a prefix, leading zeros), ids of queries were mixed up, or the run is on another collection.",
        "QRELS: 1 0 FT911-3 1\nrun:   1 Q0 ft911-3.txt 1 9.5 tag",
        "Write document ids as QRELS does; if they are right, look whether QRELS belongs to this collection.",
    ),
    Code(
        "X206",
        "few-judged",
        WARNING,
        "Hardly any of the first documents are judged",
        "Where judgments come from a pool of runs, most of what a sensible system ranks high is judged. If fewer than "
        "a tenth of the first 10 documents are, the run is likely on another version of the corpus, or its queries are "
        "mixed up; in any case its values say little. Told only where judgments are pooled (some labels are 0 or less, "
        "and a query has 20 judgments or more on average) and 50 documents or more can be looked up.",
        "QRELS: 1 0 d1 1 and 99 others\nrun:   1 Q0 x1 1 9.5 tag and 9 others, of which QRELS knows none",
        "Compare a few document ids of the run with those of QRELS, and the texts behind them.",
    ),
    Code(
        "X207",
        "documents-never-judged",
        NOTE,
        "Most of the first documents are judged for no query at all",
        "A document that no query's pool has may be one that the pooled systems never found, or one that their corpus "
        "did not have. If it is so of half of the first 10 documents, values are lower than they should be: look at "
        "bpref, or at the range with --unjudged. Told where judgments are pooled, as of X206.",
        "QRELS: 1 0 d1 1 and 99 others\nrun:   1 Q0 d1 1 9.5 tag and 9 others, of which QRELS knows 4",
        "Look whether it is the version of the corpus that was judged. If so, give a range with --unjudged.",
    ),
    Code(
        "X208",
        "rank-and-score-values",
        WARNING,
        "By ranks and by scores the run has different values",
        "trec_eval and most programs order documents by score; MS MARCO's script and ndeval take the rank column. "
        "Where the two contradict each other (R123), the same file has two values of every measure. It is told where "
        "RR@10 differs in its first four decimals.",
        "QRELS: 1 0 d1 1\nrun:   1 Q0 d1 1 8.5 tag\n       1 Q0 d2 2 9.5 tag",
        "Find out which of the two was meant, and write the other column anew.",
    ),
    Code(
        "X209",
        "distances-values",
        WARNING,
        "The other way round the run would have a higher value",
        "Where scores are likely distances (R129), the best documents stand last in every program that orders by "
        "falling score. Where AP would be higher the other way round, the finding says what it is and what it would "
        "be: if that is much higher, scores are distances.",
        "QRELS: 1 0 d1 1\nrun:   1 Q0 d1 1 0.12 tag\n       1 Q0 d2 2 0.31 tag\n       1 Q0 d3 3 0.47 tag",
        "Write the negative of a distance as the score.",
    ),
    Code(
        "X210",
        "labels-differ",
        WARNING,
        "A judged ranking has another label than QRELS",
        "A judged ranking carries labels of its own, and is scored with them; the judgments beside it say something "
        "else. Somebody has judged anew, has judged for another query, or has changed the label.",
        "QRELS:   1 0 d1 0\nranking: 1 Q0 d1 1",
        "Take the label of QRELS, or find out which one is right.",
    ),
)
"""Findings about a run beside judgments."""
