"""Findings about a file, before its lines are read."""

from __future__ import annotations

from treceval_py.checking.findings import ERROR, NOTE, WARNING, Code

CODES: tuple[Code, ...] = (
    Code(
        "F001",
        "empty-file",
        ERROR,
        "The file is empty",
        "There is nothing to score. trec_eval and this program refuse the file; pytrec_eval reads it as a run without "
        "queries, and ir_measures prints 0 for every measure.",
        "",
        "Give the right file, or let the program that writes it finish.",
    ),
    Code(
        "F002",
        "cannot-be-read",
        ERROR,
        "The file cannot be read",
        "The file does not exist, is a directory, lacks read permission, or changed while it was being read.",
        "",
        "Check the name and the permissions, and wait until no program is writing to the file.",
    ),
    Code(
        "F003",
        "byte-order-mark",
        WARNING,
        "The file begins with a byte-order mark",
        "Some editors write these three bytes (EF BB BF) before the text. This program skips them. trec_eval, "
        "pytrec_eval and ir_measures read them as part of the first query's id: the first line then belongs to a "
        "different query, so the real one silently loses a document or is not judged.",
        "\ufeff1 Q0 d1 1 2.5 tag",
        "Save the file as UTF-8 without a byte-order mark; --fix does this.",
        fixed=True,
    ),
    Code(
        "F004",
        "utf-16",
        ERROR,
        "The file is UTF-16 text",
        "Each character takes two bytes. PowerShell writes redirected output like this. This program refuses to score "
        "such a file; the check decodes it. trec_eval silently scores 0; others end with a UnicodeDecodeError.",
        "1\u24000\u2400 \u2400Q\u24000\u2400",
        "Save the file as UTF-8; --fix does this.",
        fixed=True,
    ),
    Code(
        "F005",
        "nul-byte",
        ERROR,
        "The file contains NUL bytes",
        "They come from a crash while the file was being written, or from binary data. This program refuses the file; "
        "trec_eval 10 aborts with a memory error, and others continue with an id that matches nothing.",
        "1 Q0 d\u24001 1 2.5 tag",
        "Write the file again.",
    ),
    Code(
        "F006",
        "not-text",
        ERROR,
        "The file is not text",
        "It is an archive, a document, an image or other binary data. Nothing in it can be scored.",
        "PK\u2403\u2404",
        "Unpack or export it. A run and judgments are text files with one document per line.",
    ),
    Code(
        "F007",
        "damaged-compression",
        ERROR,
        "The compressed data is damaged or cut off",
        "A checksum is wrong or the end is missing, for example after an interrupted download. Reading stops there. A "
        "file is read in pieces of a few megabytes: the pieces before the damage are checked; the damaged piece and "
        "everything after it are not.",
        "",
        "Copy or download the file again.",
    ),
    Code(
        "F008",
        "carriage-returns",
        ERROR,
        "Lines end with carriage returns",
        "Old Macintosh programs, and some exports, end lines with CR alone. This program and trec_eval read such a "
        "file as a single line. If the file has no newline, or only one at its end, the check treats each carriage "
        "return as a line end; otherwise it lists the lines that contain one.",
        "1 Q0 d1 1 2.5 tag\u240d1 Q0 d2 2 1.5 tag",
        "Save the file with newlines; --fix does this if no line ends in another way.",
        fixed=True,
    ),
    Code(
        "F009",
        "crlf",
        NOTE,
        "Lines end with CR LF",
        "Windows ends lines like this. This program and trec_eval treat the carriage return as white space; programs "
        "that split lines at single spaces or tabs make it part of the tag or of the label.",
        "1 Q0 d1 1 2.5 tag\u240d",
        "Save the file with newlines only; --fix does this.",
        fixed=True,
    ),
    Code(
        "F010",
        "long-line",
        ERROR,
        "A line has more than 16,777,216 bytes",
        "No line of a run or of judgments is that long, and it would have to be held in memory. Reading stops there.",
        "",
        "Find out what the file is; its line ends may be missing.",
    ),
    Code(
        "F011",
        "invalid-utf-8",
        WARNING,
        "A byte is not valid UTF-8",
        "The text is damaged or in another encoding, such as Latin-1. This program compares ids byte by byte, so "
        "scores are right if the other file has the same bytes; programs in Python refuse the file or replace the "
        "byte.",
        "1 Q0 caf\\xe9 1 2.5 tag",
        "Save the file as UTF-8.",
    ),
    Code(
        "F012",
        "control-character",
        WARNING,
        "A line contains a control character",
        "It is invisible, but it is part of an id, a number or a tag, and may change how a terminal shows the line.",
        "1 Q0 d\u241b1 1 2.5 tag",
        "Delete it.",
    ),
    Code(
        "F013",
        "odd-space",
        WARNING,
        "A character looks like a space or is invisible, but does not separate fields",
        "No-break and zero-width spaces come from web pages and word processors. This program and trec_eval read them "
        "as part of an id, which then matches no other id; Python's str.split, and therefore ir_measures, treats most "
        "of them as spaces. The same file gives different scores. Soft hyphens, joiners and direction marks are "
        "invisible, but two ids that differ in one are different ids.",
        "1\u00a0Q0 d1 1 2.5 tag",
        "Write a plain space, or delete the character; --fix writes a space if the line has its fields only then.",
        fixed=True,
    ),
    Code(
        "F014",
        "blank-line",
        NOTE,
        "There are blank lines",
        "This program skips them. Other readers refuse them, especially in judgments.",
        "1 Q0 d1 1 2.5 tag\n\n1 Q0 d2 2 1.5 tag",
        "Delete them; --fix does this.",
        fixed=True,
    ),
    Code(
        "F015",
        "comment-line",
        NOTE,
        "There are comments",
        "This program and trec_eval 10 skip lines that begin with #. trec_eval 9, pytrec_eval and ir_measures read "
        "them as data or refuse the file.",
        "# BM25, k1=0.9\n1 Q0 d1 1 2.5 tag",
        "Delete them if other programs read the file.",
    ),
    Code(
        "F017",
        "no-data-lines",
        ERROR,
        "The file has no data lines",
        "All lines are blank or comments, so there is nothing to score.",
        "# nothing but this",
        "Give the right file.",
    ),
    Code(
        "F018",
        "not-lines",
        NOTE,
        "The file is not made of lines with fields",
        "It is JSON, JSON Lines, Parquet, or BEIR's judgments. Only the reader for that format checks it; lines are "
        "not checked one by one.",
        '{"1": {"d1": 2.5}}',
        "Convert it with treceval convert to a run or judgments with lines, and check those.",
    ),
    Code(
        "F019",
        "comment-like-data",
        WARNING,
        "A comment looks like data",
        "It begins with # and has the fields of a run or of judgments. This program and trec_eval 10 skip such lines, "
        "so queries whose ids begin with # are silently lost. trec_eval 9, pytrec_eval and ir_measures read them as "
        "data.",
        "#301 Q0 d1 1 2.5 tag\n302 Q0 d1 1 2.5 tag",
        "If it is data, give the query an id that does not begin with #.",
    ),
)
