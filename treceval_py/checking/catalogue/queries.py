"""Findings about the queries of a run: repeated documents, ranks, scores, depth."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, NOTE, WARNING, Code

CODES: tuple[Code, ...] = (
    Code(
        "R120",
        "duplicate-line",
        ERROR,
        "A document is listed twice in a query, with the same score",
        "A document can have only one rank. trec_eval refuses such a run without saying where; ir_measures and ranx "
        "score it silently. The usual cause is merged lists, or a file that was written twice.",
        "1 Q0 d7 1 9.5 mine\n1 Q0 d7 2 9.5 mine",
        "Delete one of the two lines.",
        fixed=True,
    ),
    Code(
        "R121",
        "duplicate-document",
        ERROR,
        "A document is listed twice in a query, with different scores",
        "A document can have only one rank, and only the author of the run knows which line is right. trec_eval "
        "refuses such a run without saying where; ir_measures and ranx score it silently, and their values can be too "
        "low or too high. The usual cause is passages written under the id of their document: keep the best one of "
        "each document.",
        "1 Q0 d7 1 9.5 mine\n1 Q0 d7 2 8.0 mine",
        "Find out which of the two lines is right, and delete the other.",
    ),
    Code(
        "R122",
        "queries-interleaved",
        NOTE,
        "The lines of a query are not together",
        "Values do not depend on it in this program, trec_eval and programs built on it: they sort lines by query "
        "before scoring. Programs that read query by query treat the later lines as another query, or score the same "
        "query again.",
        "1 Q0 d7 1 9.5 mine\n2 Q0 d4 1 7.0 mine\n1 Q0 d8 2 8.0 mine",
        "Sort the lines by query if another program reads them.",
    ),
    Code(
        "R123",
        "rank-contradicts-score",
        WARNING,
        "A document with a smaller rank has a lower score than one with a larger rank",
        "Programs disagree about such a run. trec_eval, pytrec_eval, ir_measures, ranx and this program use scores and "
        "ignore ranks; MS MARCO's script and ndeval use ranks. So the same file has two values for each measure. "
        "Documents with the same rank do not count as a contradiction. The usual causes are scores of a first stage "
        "next to the ranks of a second one, and distances written as scores.",
        "1 Q0 d7 1 3.0 mine\n1 Q0 d8 2 9.5 mine",
        "Find out which of the two is right. If the ranks are, write scores that fall as ranks rise.",
    ),
    Code(
        "R124",
        "rank-from-0",
        WARNING,
        "Ranks begin below 1",
        "Ranks begin at 1. Programs that use scores do not notice; MS MARCO's script moves rank 0 to the end of the "
        "list, which loses the best document of each query.",
        "1 Q0 d7 0 9.5 mine\n1 Q0 d8 1 8.0 mine",
        "Number ranks from 1.",
        fixed=True,
    ),
    Code(
        "R125",
        "rank-constant",
        NOTE,
        "All documents of a query have the same rank",
        "Some programs, such as BEIR's writer, fill the rank column with 0. Programs that use scores do not notice; "
        "programs that use ranks keep one document per query.",
        "1 Q0 d7 0 9.5 mine\n1 Q0 d8 0 8.0 mine",
        "Number ranks from 1 if another program uses them.",
        fixed=True,
    ),
    Code(
        "R126",
        "rank-repeated-or-missing",
        NOTE,
        "The ranks of a query are not 1, 2, 3 and so on",
        "Programs that use scores do not notice. Programs that use ranks lose one of two documents with the same rank, "
        "and have a gap for each missing rank. The usual cause is lines that were removed, or lists that were merged.",
        "1 Q0 d7 1 9.5 mine\n1 Q0 d8 3 8.0 mine",
        "Renumber the ranks if another program uses them.",
        fixed=True,
    ),
    Code(
        "R127",
        "scores-constant",
        WARNING,
        "All documents of a query, three or more, have the same score",
        "Without different scores there is no ranking: trec_eval and programs built on it then order documents by id, "
        "largest first; others keep the order of lines. The value measures the ids, not the system. The usual cause is "
        "a score column filled with a constant.",
        "1 Q0 d7 1 1.0 mine\n1 Q0 d8 2 1.0 mine\n1 Q0 d9 3 1.0 mine",
        "Write the scores of the ranking; if there are none, write the negative of the rank.",
    ),
    Code(
        "R128",
        "scores-follow-docids",
        WARNING,
        "In every query the order by score is the order of document ids",
        "A ranking by relevance does not depend on ids. The usual causes are ids or row numbers written as scores, and "
        "documents that were never sorted. Reported if all queries with five or more documents are in the order of "
        "ids, as text or by the number at their end, and the probability of this by chance is below 1 in 10,000.",
        "1 Q0 d1 1 8 mine\n"
        "1 Q0 d2 2 7 mine\n"
        "1 Q0 d3 3 6 mine\n"
        "1 Q0 d4 4 5 mine\n"
        "1 Q0 d5 5 4 mine\n"
        "1 Q0 d6 6 3 mine\n"
        "1 Q0 d7 7 2 mine\n"
        "1 Q0 d8 8 1 mine",
        "Write the scores of the ranking.",
    ),
    Code(
        "R129",
        "likely-distances",
        WARNING,
        "Scores grow with the rank, as distances do",
        "Scoring puts the highest score first; for distances the smallest is best. So every program that uses scores "
        "silently scores the list upside down. Reported if scores grow with ranks in nine of ten queries with three "
        "or more documents. If the rank column is unusable, the order of lines replaces it, and five documents are "
        "required.",
        "1 Q0 d7 1 0.25 mine\n1 Q0 d4 2 0.50 mine\n1 Q0 d8 3 0.75 mine",
        "If the scores are distances, write them with the opposite sign.",
    ),
    Code(
        "R130",
        "many-ties",
        WARNING,
        "At least a fifth of all documents share their score with another document of their query",
        "The order of tied documents does not come from the system: trec_eval puts the larger id first, ir_measures "
        "for some measures the smaller one, others the earlier line, and MS MARCO's script uses ranks. The usual cause "
        "is scores that were rounded or written with few digits. Queries in which all scores are equal do not count "
        "(R127), nor does a document listed again with the same score (R120).",
        "1 Q0 d7 1 0.9 mine\n1 Q0 d4 2 0.8 mine\n1 Q0 d8 3 0.8 mine",
        "Write scores with more digits. treceval --ties shows the range of each value.",
    ),
    Code(
        "R131",
        "ties-in-single-precision",
        NOTE,
        "Different scores are equal in single precision",
        "trec_eval 9, pytrec_eval and programs built on them hold scores in 32 bits, so they see ties between "
        "documents with different scores, and order those by id. trec_eval 10 and this program use 64 bits. Reported "
        "from one pair of neighbours in a hundred.",
        "1 Q0 d7 1 0.9000000001 mine\n1 Q0 d8 2 0.9000000000 mine",
        "If values must be the same in all programs, write scores that differ in their first six digits.",
    ),
    Code(
        "R132",
        "depth-differs",
        NOTE,
        "Nearly all queries have the same number of documents, but a few differ",
        "Programs score whatever the file contains. If four of five queries have the same number of documents, the "
        "others are reported, because lines may have been lost when files were cut or merged. A query for which the "
        "system found fewer documents than requested is not a mistake.",
        "1 Q0 d7 1 9.5 mine\n"
        "2 Q0 d4 1 7.0 mine\n"
        "3 Q0 d5 1 6.0 mine\n"
        "4 Q0 d6 1 5.0 mine\n"
        "5 Q0 d8 1 9.0 mine\n"
        "5 Q0 d9 2 8.0 mine",
        "Find out why these queries have fewer documents, or more.",
    ),
    Code(
        "R133",
        "msmarco-rank-below-1",
        ERROR,
        "A run of MS MARCO has ranks below 1",
        "Such a run has no scores, only ranks. MS MARCO's script moves rank 0 to the end of the list, which loses the "
        "best document of each query; this program refuses the run.",
        "1\td7\t0\n1\td8\t1",
        "Number ranks from 1.",
    ),
    Code(
        "R134",
        "msmarco-rank-repeated-or-missing",
        WARNING,
        "The ranks of a query of an MS MARCO run are not 1, 2, 3 and so on",
        "Such a run has no scores, only ranks. Of two documents with the same rank, only the later line counts. MS "
        "MARCO's script fills missing ranks with passage 0, and a query for which that passage is relevant then "
        "scores.",
        "1\td7\t1\n1\td8\t1",
        "Number the documents of each query from 1, without gaps.",
    ),
    Code(
        "R135",
        "same-ranking",
        WARNING,
        "All queries have the same documents in the same order",
        "The ranking does not depend on the query. The usual causes are a loop that does not use its query, a cache, "
        "and the scores of one query written for all. Reported for three or more queries with three or more documents "
        "each.",
        "1 Q0 d7 1 9 mine\n1 Q0 d8 2 8 mine\n1 Q0 d4 3 7 mine\n"
        "2 Q0 d7 1 9 mine\n2 Q0 d8 2 8 mine\n2 Q0 d4 3 7 mine\n"
        "3 Q0 d7 1 9 mine\n3 Q0 d8 2 8 mine\n3 Q0 d4 3 7 mine",
        "Find out where the query gets lost.",
    ),
    Code(
        "R136",
        "same-documents",
        NOTE,
        "All queries have the same documents, in different orders",
        "This is normal if the system ranks the whole collection, or the same candidates for all queries; otherwise "
        "the documents of one query were ranked for all. Reported for three or more queries with three or more "
        "documents each.",
        "1 Q0 d7 1 9 mine\n1 Q0 d8 2 8 mine\n1 Q0 d4 3 7 mine\n"
        "2 Q0 d8 1 9 mine\n2 Q0 d7 2 8 mine\n2 Q0 d4 3 7 mine\n"
        "3 Q0 d4 1 9 mine\n3 Q0 d8 2 8 mine\n3 Q0 d7 3 7 mine",
        "Nothing, if the collection has no other documents.",
    ),
)
"""In the order of their numbers."""
