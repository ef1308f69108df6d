"""What may be found in a line of a run or of judgments, by itself."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, WARNING, Code

__all__ = ["CODES"]

_RUN = (
    Code(
        "R101",
        "too-few-fields",
        ERROR,
        "A line has too few fields, or too many",
        "A run's line has six: qid Q0 docid rank score tag; one of MS MARCO has three: qid docid rank. This program "
        "and trec_eval refuse the file; trectools counts its lines from 0.",
        "1 Q0 d1 first 2.5",
        "Add what is missing.",
    ),
    Code(
        "R102",
        "spaces-in-tag",
        WARNING,
        "The tag has spaces",
        "This program and trec_eval take its first word for the tag. pytrec_eval and ir_measures fail, and trectools "
        "takes other columns for the documents. It is told once for a file.",
        "1 Q0 d1 1 2.5 my first run",
        "Write the tag as one word.",
    ),
    Code(
        "R103",
        "score-not-a-number",
        ERROR,
        "A score is no number",
        "This program refuses it. trec_eval takes as many characters as make a number, and 0 where there are none, "
        "without a word; trectools makes a score of its own of it.",
        "1 Q0 d1 1 high tag",
        "Write the score as 12, 12.5 or 1.25e1.",
    ),
    Code(
        "R104",
        "score-nan",
        ERROR,
        "A score is NaN, not a number",
        "It is neither above nor below any other score, so the place of the document is an accident of the sorting. "
        "This program refuses it; trec_eval, pytrec_eval, ir_measures, ranx and trectools all give some value, and "
        "they do not agree.",
        "1 Q0 d1 1 nan tag",
        "Find the cause: a division by zero, an empty document, a number that overflowed.",
    ),
    Code(
        "R105",
        "score-infinite",
        WARNING,
        "A score is infinite",
        "It can be ordered, but all documents that have it are ties, and differences of scores are no numbers.",
        "1 Q0 d1 1 -inf tag",
        "Find the cause: often it is the logarithm of zero.",
    ),
    Code(
        "R106",
        "score-decimal-comma",
        ERROR,
        "A score has a decimal comma",
        "This program refuses it. trec_eval reads what stands before the comma, so that 2,5 and 2,4 are ties; others "
        "end with an error.",
        "1 Q0 d1 1 2,5 tag",
        "Write a point.",
    ),
    Code(
        "R107",
        "score-too-large",
        ERROR,
        "A score is too large for a 64-bit float",
        "It becomes infinite, and a tie with all others that do. This program refuses it.",
        "1 Q0 d1 1 1e999 tag",
        "Use smaller numbers: the order is all that counts.",
    ),
    Code(
        "R108",
        "score-odd-notation",
        ERROR,
        "A score is written so that programs read different numbers",
        "Python takes 1_0 for 10, C for 1; C takes 0x1A for 26, Python refuses it. This program refuses both.",
        "1 Q0 d1 1 1_0 tag",
        "Write digits, a point and an exponent only.",
    ),
    Code(
        "R109",
        "rank-not-whole",
        WARNING,
        "A rank is no whole number",
        "Most programs order by scores and never look at ranks. Those that do, such as MS MARCO's script and ndeval, "
        "refuse the line or read another rank.",
        "1 Q0 d1 first 2.5 tag",
        "Write ranks from 1; --fix does not, as it cannot know what was meant.",
    ),
    Code(
        "R110",
        "header-line",
        ERROR,
        "A line names the columns",
        "A run has no header. This program refuses it; trec_eval takes it for a document of another query, and "
        "programs in Python end with a ValueError. One in the middle shows that two files were put into one.",
        "qid Q0 docid rank score tag\n1 Q0 d1 1 2.5 tag",
        "Delete the header; with pandas write header=False. --fix removes one on the first line.",
        fixed=True,
    ),
    Code(
        "R111",
        "tag-changes",
        WARNING,
        "The tag changes within the file",
        "A run has one tag. Where it changes, two runs were likely put into one file: documents then come twice, or "
        "queries are from different systems. It is told once for a file.",
        "1 Q0 d1 1 2.5 bm25\n2 Q0 d1 1 0.8 dense",
        "Score each run by itself; if it is one run, give it one tag.",
    ),
    Code(
        "R112",
        "separated-by-commas",
        ERROR,
        "Fields are separated by commas, semicolons or bars",
        "This is how spreadsheets and pandas write tables. TREC's files have white space between fields. It is told "
        "once, and reading ends.",
        "1,Q0,d1,1,2.5,tag",
        "Write spaces or tabs; with pandas sep=' ', header=False, index=False.",
    ),
    Code(
        "R113",
        "other-format",
        ERROR,
        "The file is of another format",
        "None of the first lines is what it should be. It is told once, and reading ends.",
        "<html>\n<body>",
        "Give the right file, or say what it is with --as.",
    ),
    Code(
        "R114",
        "swapped",
        ERROR,
        "Judgments are in the place of a run, or a run is in that of judgments",
        "trec_eval says that line 1 of the judgments is malformed. It is told once, and reading ends.",
        "1 0 d1 1",
        "Swap the two files.",
    ),
    Code(
        "R115",
        "msmarco-rank-not-whole",
        ERROR,
        "A rank of an MS MARCO run is no whole number",
        "Such a run has no scores: the rank is all that orders documents. This program and MS MARCO's script refuse "
        "it.",
        "1\td1\t1.5",
        "Write ranks from 1.",
    ),
    Code(
        "R116",
        "shifted-columns",
        ERROR,
        "All columns are shifted by one",
        "A column stands before the query, such as the index that pandas writes: Q0 is then the document of every "
        "line, and the rank its score. It is told once, and reading ends.",
        "0 1 Q0 d1 1 2.5 tag\n1 1 Q0 d2 2 1.5 tag",
        "Delete the first column; with pandas write index=False.",
    ),
    Code(
        "R117",
        "quoted-fields",
        ERROR,
        "Fields are in quotes",
        "TREC's files have no quotes: they become part of the id, so that no query and no document is judged, and a "
        "quoted number is not a number. R's write.table and some CSV writers add them. It is told once for a file, and "
        "reading ends.",
        '"1" Q0 "d1" 1 2.5 "tag"',
        "Write the fields without quotes; in R with quote=FALSE, with pandas with quoting=csv.QUOTE_NONE.",
        fixed=True,
    ),
    Code(
        "R118",
        "tag-missing",
        ERROR,
        "A line lacks its tag",
        "It has five fields, qid Q0 docid rank score, and a run's line has six. This program and trec_eval refuse the "
        "file; trectools counts its lines from 0. No value depends on the tag, so that --fix writes one: that of the "
        "lines before, else 'run'.",
        "1 Q0 d1 1 2.5",
        "Add a tag, one word, at the end of each line.",
        fixed=True,
    ),
    Code(
        "R119",
        "columns-swapped",
        WARNING,
        "Two columns are swapped: rank and score, or query and document",
        "Where the score is in the place of the rank, the ranks 1, 2, 3 are taken for scores, and every list is scored "
        "upside down. Where the document is in the place of the query, hardly any query is judged. It is told once, of "
        "the first lines.",
        "1 Q0 d7 9.5 1 mine\n1 Q0 d8 8.0 2 mine\n1 Q0 d9 7.5 3 mine",
        "Write qid Q0 docid rank score tag.",
    ),
)

_JUDGMENTS = (
    Code(
        "Q301",
        "wrong-field-count",
        ERROR,
        "A line of judgments has too few fields, or too many",
        "It has four: qid iteration docid rel. This program refuses the file.",
        "1 0 d1",
        "Mend the line, or delete it.",
    ),
    Code(
        "Q302",
        "label-not-whole",
        ERROR,
        "A label is no whole number",
        "This program refuses it. trec_eval reads the whole number at its beginning, and 0 where there is none, "
        "without a word: 0.5 becomes 0, which is not relevant.",
        "1 0 d1 0.5",
        "Write labels as whole numbers, such as 0, 1, 2.",
    ),
    Code(
        "Q303",
        "label-too-large",
        ERROR,
        "A label is beyond 64 bits",
        "No program holds it.",
        "1 0 d1 99999999999999999999",
        "Use small labels, such as 0, 1, 2.",
    ),
    Code(
        "Q304",
        "header-line",
        ERROR,
        "A line of judgments names the columns",
        "TREC's judgments have no header. This program refuses it; trec_eval takes it for a judgment of another query.",
        "qid iteration docid rel\n1 0 d1 1",
        "Delete the header. --fix removes one on the first line.",
        fixed=True,
    ),
    Code(
        "Q305",
        "iteration-missing",
        ERROR,
        "Judgments have no iteration column",
        "Three columns are those of MS MARCO's runs, or BEIR's judgments without their header. Judgments have a second "
        "column, which is 0 and means nothing. If it is so on the first lines, it is told once, and reading ends.",
        "1 d1 1",
        "Put a 0 after the query.",
    ),
)

CODES: tuple[Code, ...] = _RUN + _JUDGMENTS
