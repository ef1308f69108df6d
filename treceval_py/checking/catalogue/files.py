"""What may be found in a file before its lines are looked at."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, NOTE, WARNING, Code

__all__ = ["CODES"]

CODES: tuple[Code, ...] = (
    Code(
        "F001",
        "empty-file",
        ERROR,
        "The file is empty",
        "There is nothing to score. trec_eval and this program refuse it; pytrec_eval reads a run without queries, and "
        "ir_measures prints 0 for every measure.",
        "",
        "Give the right file, or let the program that wrote it run to its end.",
    ),
    Code(
        "F002",
        "cannot-be-read",
        ERROR,
        "The file cannot be read",
        "There is no such file, it is a directory, permission is missing, or it changed while it was read.",
        "",
        "Check the name and the permissions; wait until nothing writes to the file any more.",
    ),
    Code(
        "F003",
        "byte-order-mark",
        WARNING,
        "The file begins with a byte-order mark",
        "Three bytes (EF BB BF) that some editors write before the text. This program leaves them out. trec_eval, "
        "pytrec_eval and ir_measures take them for a part of the first query's id: the query on the first line is then "
        "another one, and loses a document or is not judged, without a word.",
        "\ufeff1 Q0 d1 1 2.5 tag",
        "Save the file as UTF-8 without a byte-order mark; --fix does it.",
        fixed=True,
    ),
    Code(
        "F004",
        "utf-16",
        ERROR,
        "The file is UTF-16 text",
        "Each character takes two bytes, as PowerShell writes what is redirected. This program refuses such a file, "
        "the check decodes it. trec_eval reads it without a word and scores 0; others end with a UnicodeDecodeError.",
        "1\u24000\u2400 \u2400Q\u24000\u2400",
        "Save the file as UTF-8; --fix does it.",
        fixed=True,
    ),
    Code(
        "F005",
        "nul-byte",
        ERROR,
        "The file has NUL bytes",
        "They come from a crash while the file was written, or from binary data. This program refuses such a file; "
        "trec_eval 10 aborts in its memory management, others go on with an id that nothing matches.",
        "1 Q0 d\u24001 1 2.5 tag",
        "Write the file again.",
    ),
    Code(
        "F006",
        "not-text",
        ERROR,
        "The file is no text",
        "It is an archive, a document, an image or other binary data. Nothing in it can be scored.",
        "PK\u2403\u2404",
        "Unpack or export it; a run and judgments are text, a line for each document.",
    ),
    Code(
        "F007",
        "damaged-compression",
        ERROR,
        "The compressed data is damaged or cut off",
        "A checksum is wrong or the end is missing, as after a download that broke off. Reading ends there. A file is "
        "read in pieces of some megabytes: those before the damage are checked, the one with it and all after it "
        "are not.",
        "",
        "Copy or download the file again.",
    ),
    Code(
        "F008",
        "carriage-returns",
        ERROR,
        "Carriage returns end lines",
        "Old Macintosh programs, and some exports, end lines with CR alone. To this program, and to trec_eval, all of "
        "such a file is one line. The check takes each for the end of a line if there is no newline in the file, or "
        "only one at its end; otherwise it names the lines in which there is one.",
        "1 Q0 d1 1 2.5 tag\u240d1 Q0 d2 2 1.5 tag",
        "Save the file with newlines; --fix does it where no line ends otherwise.",
        fixed=True,
    ),
    Code(
        "F009",
        "crlf",
        NOTE,
        "Lines end with CR LF",
        "This is how Windows ends lines. This program and trec_eval take the carriage return for white space; programs "
        "that cut lines at single spaces or tabs take it for a part of the tag or of the label.",
        "1 Q0 d1 1 2.5 tag\u240d",
        "Save the file with newlines alone; --fix does it.",
        fixed=True,
    ),
    Code(
        "F010",
        "long-line",
        ERROR,
        "A line has more than 16,777,216 bytes",
        "No line of a run or of judgments is so long, and it would have to be held in memory. Reading ends there.",
        "",
        "Find out what the file is; lines may be missing their ends.",
    ),
    Code(
        "F011",
        "invalid-utf-8",
        WARNING,
        "A byte is no UTF-8",
        "The text is in another encoding, such as Latin-1, or damaged. This program compares ids byte by byte, so "
        "scores are right if the other file has the same bytes; programs in Python refuse the file, or replace the "
        "byte.",
        "1 Q0 caf\\xe9 1 2.5 tag",
        "Save the file as UTF-8.",
    ),
    Code(
        "F012",
        "control-character",
        WARNING,
        "A control character is in the line",
        "Nobody sees it, but it is a part of an id, a number or a tag, and may steer the terminal that shows it.",
        "1 Q0 d\u241b1 1 2.5 tag",
        "Delete it.",
    ),
    Code(
        "F013",
        "odd-space",
        WARNING,
        "A character looks like a space, or like nothing, but separates no fields",
        "A no-break space or a zero-width one comes from web pages and word processors. To this program and to "
        "trec_eval it is a part of an id, which then matches no other; Python's str.split, and so ir_measures, takes "
        "most of them for spaces. The same file gives different scores. Soft hyphens, joiners and marks of direction "
        "are seen by nobody, but two ids that differ in one are two ids.",
        "1\u00a0Q0 d1 1 2.5 tag",
        "Write a plain space, or delete it; --fix writes one where only then the line has its fields.",
        fixed=True,
    ),
    Code(
        "F014",
        "blank-line",
        NOTE,
        "There are blank lines",
        "This program leaves them out. Other readers refuse them, most of all in judgments.",
        "1 Q0 d1 1 2.5 tag\n\n1 Q0 d2 2 1.5 tag",
        "Delete them; --fix does it.",
        fixed=True,
    ),
    Code(
        "F015",
        "comment-line",
        NOTE,
        "There are comments",
        "This program and trec_eval 10 leave out lines that begin with #. trec_eval 9, pytrec_eval and ir_measures "
        "take them for data or refuse the file.",
        "# BM25, k1=0.9\n1 Q0 d1 1 2.5 tag",
        "Delete them if others are to read the file.",
    ),
    Code(
        "F017",
        "no-data-lines",
        ERROR,
        "The file has no line with data",
        "All lines are blank or comments, so there is nothing to score.",
        "# nothing but this",
        "Give the right file.",
    ),
    Code(
        "F018",
        "not-lines",
        NOTE,
        "The file has no lines of fields",
        "It is JSON, JSON Lines or Parquet, or BEIR's judgments. Only the reader of such files looks at them, and no "
        "line is checked by itself.",
        '{"1": {"d1": 2.5}}',
        "treceval convert makes a run or judgments of lines, which can be checked.",
    ),
    Code(
        "F019",
        "comment-like-data",
        WARNING,
        "A comment looks like data",
        "It begins with #, and has the fields of a run or of judgments. This program and trec_eval 10 leave out such "
        "lines, so that queries whose ids begin with # are lost without a word. trec_eval 9, pytrec_eval and "
        "ir_measures read them as data.",
        "#301 Q0 d1 1 2.5 tag\n302 Q0 d1 1 2.5 tag",
        "If it is data, give the query an id that does not begin with #.",
    ),
)
