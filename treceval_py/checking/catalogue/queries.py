"""What is found by looking at the queries of a run: documents that come twice, ranks, scores, depth."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, NOTE, WARNING, Code

__all__ = ["CODES"]

CODES: tuple[Code, ...] = (
    Code(
        "R120",
        "duplicate-line",
        ERROR,
        "A document comes twice in a query, with the same score",
        "A document can stand at one rank only. trec_eval refuses such a run without saying where; ir_measures and "
        "ranx score it without a word. Lists that were merged, or a file that was written to twice, are the usual "
        "cause.",
        "1 Q0 d7 1 9.5 mine\n1 Q0 d7 2 9.5 mine",
        "Delete one of the two lines.",
        fixed=True,
    ),
    Code(
        "R121",
        "duplicate-document",
        ERROR,
        "A document comes twice in a query, with different scores",
        "A document can stand at one rank only, and which of the two is meant only the author of the run knows. "
        "trec_eval refuses such a run without saying where; ir_measures and ranx score it without a word, and their "
        "values can be too low or too high. Passages that were written under the id of their document are the usual "
        "cause: keep the best one of each.",
        "1 Q0 d7 1 9.5 mine\n1 Q0 d7 2 8.0 mine",
        "Find out which of the two lines is right, and delete the other.",
    ),
    Code(
        "R122",
        "queries-interleaved",
        NOTE,
        "The lines of a query do not stand together",
        "Values do not depend on it: here, in trec_eval and in its kin, lines are sorted by query before they are "
        "scored. Programs that read query by query take the lines further down for another query, or for the same "
        "one once more.",
        "1 Q0 d7 1 9.5 mine\n2 Q0 d4 1 7.0 mine\n1 Q0 d8 2 8.0 mine",
        "Sort the lines by query if another program is to read them.",
    ),
    Code(
        "R123",
        "rank-contradicts-score",
        WARNING,
        "A document with a smaller rank has a lower score than one with a larger rank",
        "Programs disagree about such a run. trec_eval, pytrec_eval, ir_measures, ranx and this program go by scores "
        "and do not look at ranks; MS MARCO's script and ndeval go by ranks. So the same file has two values of each "
        "measure. Documents with the same rank contradict nothing. Scores of a first stage beside the ranks of a "
        "second one, or distances as scores, are the usual causes.",
        "1 Q0 d7 1 3.0 mine\n1 Q0 d8 2 9.5 mine",
        "Find out which of the two is right. If ranks are, write scores that fall as ranks rise.",
    ),
    Code(
        "R124",
        "rank-from-0",
        WARNING,
        "Ranks begin below 1",
        "Ranks begin at 1. Programs that go by scores do not notice; MS MARCO's script puts rank 0 at the end of the "
        "list, where it is lost, and with it the best document of each query.",
        "1 Q0 d7 0 9.5 mine\n1 Q0 d8 1 8.0 mine",
        "Number ranks from 1.",
        fixed=True,
    ),
    Code(
        "R125",
        "rank-constant",
        NOTE,
        "All documents of a query have the same rank",
        "Some programs, such as BEIR's writer, fill the rank column with 0. Programs that go by scores do not "
        "notice; those that go by ranks keep one document of each query.",
        "1 Q0 d7 0 9.5 mine\n1 Q0 d8 0 8.0 mine",
        "Number ranks from 1 if another program is to go by them.",
        fixed=True,
    ),
    Code(
        "R126",
        "rank-repeated-or-missing",
        NOTE,
        "The ranks of a query are not 1, 2, 3 and so on",
        "Programs that go by scores do not notice. Those that go by ranks lose a document of two with the same rank, "
        "and have a gap where one is missing. Lines that were taken out, or lists that were merged, are the usual "
        "causes.",
        "1 Q0 d7 1 9.5 mine\n1 Q0 d8 3 8.0 mine",
        "Number ranks anew if another program is to go by them.",
        fixed=True,
    ),
    Code(
        "R127",
        "scores-constant",
        WARNING,
        "All documents of a query, three or more, have the same score",
        "Without different scores there is no ranking: trec_eval and its kin then order documents by id, the largest "
        "first, and others as they come. The value is that of the ids. A score column that was filled with a "
        "constant is the usual cause.",
        "1 Q0 d7 1 1.0 mine\n1 Q0 d8 2 1.0 mine\n1 Q0 d9 3 1.0 mine",
        "Write the scores of the ranking; if there are none, the negative of the rank.",
    ),
    Code(
        "R128",
        "scores-follow-docids",
        WARNING,
        "In all queries the order by score is that of document ids",
        "A ranking by relevance has nothing to do with ids. Ids or row numbers that were written as scores, or "
        "documents that were never sorted, are the usual causes. It is told where all queries of five or more "
        "documents are in the order of ids, as text or by the number at their end, and where chance would bring that "
        "about in less than one of 10,000 runs.",
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
        "Scoring puts the highest score first; of distances the smallest is best. So the list is scored upside down, "
        "by every program that goes by scores, and without a word. It is told where scores grow with ranks in nine "
        "of ten queries of three or more documents. Where the rank column says nothing, the order of lines stands "
        "for it, and five documents are asked for.",
        "1 Q0 d7 1 0.25 mine\n1 Q0 d4 2 0.50 mine\n1 Q0 d8 3 0.75 mine",
        "If the scores are distances, write them with the sign changed.",
    ),
    Code(
        "R130",
        "many-ties",
        WARNING,
        "A fifth or more of all documents share their score with another one of their query",
        "Which of them stands first is then no matter of the system: trec_eval puts the larger id first, ir_measures "
        "for some measures the smaller one, others the earlier line, and MS MARCO's script goes by ranks. Scores "
        "that were rounded or written with few digits are the usual cause. Queries of which all scores are the same "
        "do not count (R127), nor does the same document that comes again with the same score (R120).",
        "1 Q0 d7 1 0.9 mine\n1 Q0 d4 2 0.8 mine\n1 Q0 d8 3 0.8 mine",
        "Write scores with more digits. treceval --ties says between which bounds each value can lie.",
    ),
    Code(
        "R131",
        "ties-in-single-precision",
        NOTE,
        "Scores that are different are equal in single precision",
        "trec_eval 9, pytrec_eval and what builds upon them hold scores in 32 bits, and so take documents for tied "
        "that have different scores. They then order them by id. trec_eval 10 and this program hold 64 bits. It is "
        "told from one pair of neighbours in a hundred on.",
        "1 Q0 d7 1 0.9000000001 mine\n1 Q0 d8 2 0.9000000000 mine",
        "Where values must be the same in all programs, write scores of which six digits differ.",
    ),
    Code(
        "R132",
        "depth-differs",
        NOTE,
        "Nearly all queries have the same number of documents, but a few have another one",
        "Programs score what is there. Where four of five queries have the same number of documents, the others are "
        "told, as lines may have been lost when files were cut or merged. A query for which fewer documents are "
        "found than were asked for is no mistake.",
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
        "Such a run has no scores, so that ranks are all there is. MS MARCO's script puts rank 0 at the end of the "
        "list, where it is lost, and with it the best document of each query; this program refuses it.",
        "1\td7\t0\n1\td8\t1",
        "Number ranks from 1.",
    ),
    Code(
        "R134",
        "msmarco-rank-repeated-or-missing",
        WARNING,
        "The ranks of a query of an MS MARCO run are not 1, 2, 3 and so on",
        "Such a run has no scores, so that ranks are all there is. Of two documents with the same rank only that of "
        "the later line counts. MS MARCO's script fills ranks that are missing with the passage 0, and a query for "
        "which that is relevant then scores.",
        "1\td7\t1\n1\td8\t1",
        "Number the documents of each query from 1, without gaps.",
    ),
    Code(
        "R135",
        "same-ranking",
        WARNING,
        "All queries have the same documents in the same order",
        "The ranking then does not depend on the query. A query that was not put into the loop, a cache, or scores of "
        "one query that were written for all, are the usual causes. It is told of three or more queries with three or "
        "more documents each.",
        "1 Q0 d7 1 9 mine\n1 Q0 d8 2 8 mine\n1 Q0 d4 3 7 mine\n"
        "2 Q0 d7 1 9 mine\n2 Q0 d8 2 8 mine\n2 Q0 d4 3 7 mine\n"
        "3 Q0 d7 1 9 mine\n3 Q0 d8 2 8 mine\n3 Q0 d4 3 7 mine",
        "Find out where the query is lost.",
    ),
    Code(
        "R136",
        "same-documents",
        NOTE,
        "All queries have the same documents, in different orders",
        "Where a ranking is of the whole collection, or of the same candidates for all queries, it is as it should be; "
        "otherwise the documents of one query were ranked for all. It is told of three or more queries with three or "
        "more documents each.",
        "1 Q0 d7 1 9 mine\n1 Q0 d8 2 8 mine\n1 Q0 d4 3 7 mine\n"
        "2 Q0 d8 1 9 mine\n2 Q0 d7 2 8 mine\n2 Q0 d4 3 7 mine\n"
        "3 Q0 d4 1 9 mine\n3 Q0 d8 2 8 mine\n3 Q0 d7 3 7 mine",
        "Nothing, if these are all documents that there are.",
    ),
)
"""In the order of their numbers."""
