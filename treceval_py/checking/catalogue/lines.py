"""Findings about a single line of a run or of judgments."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, WARNING, Code

_RUN = (
    Code(
        "R101",
        "too-few-fields",
        ERROR,
        "A line has too few or too many fields",
        "A line of a run has six fields: qid Q0 docid rank score tag; a line of an MS MARCO run has three: qid docid "
        "rank. This program and trec_eval refuse the file; trectools counts its lines from 0.",
        "1 Q0 d1 first 2.5",
        "Add what is missing.",
    ),
    Code(
        "R102",
        "spaces-in-tag",
        WARNING,
        "The tag contains spaces",
        "This program and trec_eval use its first word as the tag. pytrec_eval and ir_measures fail, and trectools "
        "takes the documents from the wrong columns. Reported once per file.",
        "1 Q0 d1 1 2.5 my first run",
        "Write the tag as one word.",
    ),
    Code(
        "R103",
        "score-not-a-number",
        ERROR,
        "A score is not a number",
        "This program refuses it. trec_eval silently reads as many characters as form a number, and 0 if none do; "
        "trectools makes up a score of its own.",
        "1 Q0 d1 1 high tag",
        "Write the score as 12, 12.5 or 1.25e1.",
    ),
    Code(
        "R104",
        "score-nan",
        ERROR,
        "A score is NaN",
        "NaN is neither above nor below any other score, so the document's rank depends on the sorting algorithm. This "
        "program refuses it; trec_eval, pytrec_eval, ir_measures, ranx and trectools all give a value, and they do "
        "not agree.",
        "1 Q0 d1 1 nan tag",
        "Find the cause: a division by zero, an empty document, or a number that overflowed.",
    ),
    Code(
        "R105",
        "score-infinite",
        WARNING,
        "A score is infinite",
        "Infinite scores can be sorted, but all documents with the same one are tied, and their differences are NaN.",
        "1 Q0 d1 1 -inf tag",
        "Find the cause: often it is the logarithm of zero.",
    ),
    Code(
        "R106",
        "score-decimal-comma",
        ERROR,
        "A score has a decimal comma",
        "This program refuses it. trec_eval reads the part before the comma, so 2,5 and 2,4 are tied; others end with "
        "an error.",
        "1 Q0 d1 1 2,5 tag",
        "Write a decimal point.",
    ),
    Code(
        "R107",
        "score-too-large",
        ERROR,
        "A score is too large for a 64-bit float",
        "It becomes infinite, and so tied with every other score that does. This program refuses it.",
        "1 Q0 d1 1 1e999 tag",
        "Use smaller numbers: only the order counts.",
    ),
    Code(
        "R108",
        "score-odd-notation",
        ERROR,
        "Programs read a score as different numbers",
        "Python reads 1_0 as 10, C as 1; C reads 0x1A as 26, Python refuses it. This program refuses both.",
        "1 Q0 d1 1 1_0 tag",
        "Use only digits, a decimal point and an exponent.",
    ),
    Code(
        "R109",
        "rank-not-whole",
        WARNING,
        "A rank is not a whole number",
        "Most programs order documents by score and ignore ranks. Programs that use ranks, such as MS MARCO's script "
        "and ndeval, refuse the line or read another rank.",
        "1 Q0 d1 first 2.5 tag",
        "Write ranks from 1. --fix does not, because the intended rank is unknown.",
    ),
    Code(
        "R110",
        "header-line",
        ERROR,
        "A line contains column names",
        "A run has no header. This program refuses the line; trec_eval reads it as a document of another query, and "
        "programs in Python end with a ValueError. A header in the middle shows that two files were joined.",
        "qid Q0 docid rank score tag\n1 Q0 d1 1 2.5 tag",
        "Delete the header; in pandas, write with header=False. --fix removes a header on the first line.",
        fixed=True,
    ),
    Code(
        "R111",
        "tag-changes",
        WARNING,
        "The tag changes within the file",
        "A run has one tag. If the tag changes, two runs were probably joined into one file: documents are then "
        "listed twice, or queries come from different systems. Reported once per file.",
        "1 Q0 d1 1 2.5 bm25\n2 Q0 d1 1 0.8 dense",
        "Score each run separately; if it is a single run, give it a single tag.",
    ),
    Code(
        "R112",
        "separated-by-commas",
        ERROR,
        "Fields are separated by commas, semicolons or bars",
        "Spreadsheets and pandas write tables like this. TREC files have white space between fields. Reported once; "
        "reading stops there.",
        "1,Q0,d1,1,2.5,tag",
        "Use spaces or tabs; in pandas, write with sep=' ', header=False, index=False.",
    ),
    Code(
        "R113",
        "other-format",
        ERROR,
        "The file is in another format",
        "None of the first lines fits the expected format. Reported once; reading stops there.",
        "<html>\n<body>",
        "Give the right file, or name its format with --as.",
    ),
    Code(
        "R114",
        "swapped",
        ERROR,
        "Judgments were given as a run, or a run as judgments",
        "trec_eval reports that line 1 of the judgments is malformed. Reported once; reading stops there.",
        "1 0 d1 1",
        "Swap the two files.",
    ),
    Code(
        "R115",
        "msmarco-rank-not-whole",
        ERROR,
        "A rank in an MS MARCO run is not a whole number",
        "Such a run has no scores: documents are ordered by rank alone. This program and MS MARCO's script refuse it.",
        "1\td1\t1.5",
        "Write ranks from 1.",
    ),
    Code(
        "R116",
        "shifted-columns",
        ERROR,
        "All columns are shifted by one",
        "There is an extra column before the query, such as the index that pandas writes: Q0 is then the document of "
        "every line, and the rank its score. Reported once; reading stops there.",
        "0 1 Q0 d1 1 2.5 tag\n1 1 Q0 d2 2 1.5 tag",
        "Delete the first column; in pandas, write with index=False.",
    ),
    Code(
        "R117",
        "quoted-fields",
        ERROR,
        "Fields are in quotes",
        "TREC files have no quotes: they become part of the ids, so no query and no document is judged, and a quoted "
        "number is not a number. R's write.table and some CSV writers add them. Reported once per file; reading stops "
        "there.",
        '"1" Q0 "d1" 1 2.5 "tag"',
        "Write the fields without quotes; in R use quote=FALSE, in pandas quoting=csv.QUOTE_NONE.",
        fixed=True,
    ),
    Code(
        "R118",
        "tag-missing",
        ERROR,
        "A line has no tag",
        "It has five fields, qid Q0 docid rank score; a line of a run has six. This program and trec_eval refuse the "
        "file; trectools counts its lines from 0. Values do not depend on the tag, so --fix writes one: the tag of "
        "the lines before, otherwise 'run'.",
        "1 Q0 d1 1 2.5",
        "Add a one-word tag at the end of each line.",
        fixed=True,
    ),
    Code(
        "R119",
        "columns-swapped",
        WARNING,
        "Two columns are swapped: rank and score, or query and document",
        "If score and rank are swapped, the ranks 1, 2, 3 are read as scores, and every list is scored upside down. If "
        "document and query are swapped, hardly any query is judged. Reported once, for the first lines.",
        "1 Q0 d7 9.5 1 mine\n1 Q0 d8 8.0 2 mine\n1 Q0 d9 7.5 3 mine",
        "Write qid Q0 docid rank score tag.",
    ),
)

_JUDGMENTS = (
    Code(
        "Q301",
        "wrong-field-count",
        ERROR,
        "A line of judgments has too few or too many fields",
        "It must have four: qid iteration docid rel. This program refuses the file.",
        "1 0 d1",
        "Correct the line, or delete it.",
    ),
    Code(
        "Q302",
        "label-not-whole",
        ERROR,
        "A label is not a whole number",
        "This program refuses it. trec_eval silently reads the whole number at its beginning, or 0 if there is none: "
        "0.5 becomes 0, which is not relevant.",
        "1 0 d1 0.5",
        "Write labels as whole numbers, such as 0, 1, 2.",
    ),
    Code(
        "Q303",
        "label-too-large",
        ERROR,
        "A label does not fit in 64 bits",
        "No program can hold it.",
        "1 0 d1 99999999999999999999",
        "Use small labels, such as 0, 1, 2.",
    ),
    Code(
        "Q304",
        "header-line",
        ERROR,
        "A line of judgments contains column names",
        "TREC judgments have no header. This program refuses the line; trec_eval reads it as a judgment of another "
        "query.",
        "qid iteration docid rel\n1 0 d1 1",
        "Delete the header. --fix removes a header on the first line.",
        fixed=True,
    ),
    Code(
        "Q305",
        "iteration-missing",
        ERROR,
        "Judgments have no iteration column",
        "Lines with three columns are an MS MARCO run, or BEIR's judgments without their header. TREC judgments have a "
        "second column, which is 0 and has no meaning. If it is missing on the first lines, this is reported once and "
        "reading stops.",
        "1 d1 1",
        "Put a 0 after the query.",
    ),
)

CODES: tuple[Code, ...] = _RUN + _JUDGMENTS
