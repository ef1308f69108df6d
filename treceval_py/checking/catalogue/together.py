"""Findings about a run, or a judged ranking, together with judgments."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, NOTE, WARNING, Code

CODES: tuple[Code, ...] = (
    Code(
        "X201",
        "no-common-query",
        ERROR,
        "No query of the run is judged",
        "There is nothing to score, so this program refuses. Usually the run is for other topics, or a program has "
        "rewritten the query ids.",
        "QRELS: 301 0 d1 1\nrun:   401 Q0 d1 1 9.5 tag",
        "Give the judgments of these queries, or the run for these judgments; or write query ids as in QRELS.",
    ),
    Code(
        "X202",
        "queries-missing",
        WARNING,
        "Judged queries are missing from the run",
        "With -c, in ir_measures and in MS MARCO's script, a missing query counts as 0. Without -c, trec_eval 9 "
        "averages over the queries in the run, so a run that omits hard queries scores higher; trec_eval 10 refuses "
        "the run. Means over different queries cannot be compared.",
        "QRELS: 1 0 d1 1\n       2 0 d1 1\nrun:   1 Q0 d1 1 9.5 tag",
        "Find out why the queries are missing: the run stopped early, or nothing was found for them.",
    ),
    Code(
        "X203",
        "queries-not-judged",
        NOTE,
        "Some queries of the run are not judged",
        "Most programs leave them out of scores; trectools counts them in the mean. Many collections judge only part "
        "of their topics, as TREC's deep learning track does.",
        "QRELS: 1 0 d1 1\nrun:   1 Q0 d1 1 9.5 tag\n       2 Q0 d1 1 9.5 tag",
        "Nothing, if the collection judges only some of the queries.",
    ),
    Code(
        "X204",
        "look-alike-query",
        WARNING,
        "A query is not judged, but one with nearly the same id is",
        "Ids are text. A program that writes 37.1 as 37_1, 007 as 7, or 301 as 301.0 (a data frame that read ids as "
        "numbers) creates different queries: the run's query is not scored, and the judged query counts as missing.",
        "QRELS: 37.1 0 d1 1\nrun:   37_1 Q0 d1 1 9.5 tag",
        "Write query ids as in QRELS; read them as text, never as numbers.",
    ),
    Code(
        "X205",
        "no-judged-document",
        WARNING,
        "No retrieved document is judged for its query",
        "The queries match, but every value is 0. Usually document ids were rewritten (other case, a file ending, a "
        "folder, a prefix, leading zeros), query ids were mixed up, or the run is on another collection.",
        "QRELS: 1 0 FT911-3 1\nrun:   1 Q0 ft911-3.txt 1 9.5 tag",
        "Write document ids as in QRELS; if they are right, check that QRELS belongs to this collection.",
    ),
    Code(
        "X206",
        "few-judged",
        WARNING,
        "Hardly any of the first documents are judged",
        "If judgments come from a pool of runs, most documents that a sensible system ranks high are judged. If fewer "
        "than a tenth of the first 10 documents are, the run is probably on another version of the corpus, or its "
        "queries are mixed up; in any case its values mean little. Reported only if judgments are pooled (some labels "
        "are 0 or less, and queries have 20 judgments or more on average) and at least 50 documents can be looked up.",
        "QRELS: 1 0 d1 1 and 99 others\nrun:   1 Q0 x1 1 9.5 tag and 9 others, of which QRELS knows none",
        "Compare a few document ids of the run, and the texts behind them, with those of QRELS.",
    ),
    Code(
        "X207",
        "documents-never-judged",
        NOTE,
        "Most of the first documents are not judged for any query",
        "A document outside every query's pool was either never found by the pooled systems or missing from their "
        "corpus. If this holds for half of the first 10 documents, values are lower than they should be: look at "
        "bpref, or at the range with --unjudged. Reported only if judgments are pooled, as for X206.",
        "QRELS: 1 0 d1 1 and 99 others\nrun:   1 Q0 d1 1 9.5 tag and 9 others, of which QRELS knows 4",
        "Check that the corpus is the version that was judged. If so, give a range with --unjudged.",
    ),
    Code(
        "X208",
        "rank-and-score-values",
        WARNING,
        "The run has different values by ranks and by scores",
        "trec_eval and most programs order documents by score; MS MARCO's script and ndeval use the rank column. If "
        "the two contradict each other (R123), the same file has two values for each measure. Reported if RR@10 "
        "differs in its first four decimals.",
        "QRELS: 1 0 d1 1\nrun:   1 Q0 d1 1 8.5 tag\n       1 Q0 d2 2 9.5 tag",
        "Find out which column is right, and rewrite the other one.",
    ),
    Code(
        "X209",
        "distances-values",
        WARNING,
        "The run would score higher in reverse order",
        "If scores are probably distances (R129), the best documents are last in every program that orders by falling "
        "score. If AP would be higher in reverse order, the finding gives both values: if the second is much higher, "
        "scores are distances.",
        "QRELS: 1 0 d1 1\nrun:   1 Q0 d1 1 0.12 tag\n       1 Q0 d2 2 0.31 tag\n       1 Q0 d3 3 0.47 tag",
        "Write the negative of the distance as the score.",
    ),
    Code(
        "X210",
        "labels-differ",
        WARNING,
        "A judged ranking and QRELS have different labels",
        "A judged ranking carries its own labels and is scored with them; the judgments given beside it differ. "
        "Somebody judged the document again, judged it for another query, or changed the label.",
        "QRELS:   1 0 d1 0\nranking: 1 Q0 d1 1",
        "Use the label of QRELS, or find out which one is right.",
    ),
)
"""Findings about a run together with judgments."""
