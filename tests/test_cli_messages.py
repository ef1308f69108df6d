"""What is refused, and in which words: one line on standard error, nothing on standard output, no traceback."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from command import Done, treceval

from treceval_py import PROFILES
from treceval_py.rendering import FORMATS

QRELS = b"1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = b"1 Q0 b 1 3.5 tag\n1 Q0 a 2 2.5 tag\n2 Q0 c 1 0.25 tag\n"
PREFS = b"1 g s a 3\n1 g s b 2\n"

HERE = Path(__file__).parent

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


class Folder:
    """A folder with the files qrels and run, in which commands are run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write(qrels=QRELS, run=RUN)

    def write(self, **files: bytes) -> None:
        for name, data in files.items():
            (self.path / name).write_bytes(data)

    def score(self, *arguments: str, stdin: bytes = b"", **files: bytes) -> Done:
        self.write(**files)
        return treceval(arguments or ("-m", "map", "qrels", "run"), stdin=stdin, folder=self.path)

    def refused(self, *arguments: str, status: int = 1, stdin: bytes = b"", **files: bytes) -> str:
        """Return the line with which a command is refused."""
        done = self.score(*arguments, stdin=stdin, **files)
        assert (done.status, done.out) == (status, b"")
        return one_line(done.err)


def one_line(err: bytes) -> str:
    text = err.decode()
    assert text.endswith("\n")
    line = text.removesuffix("\n")
    assert line.isprintable()
    assert line.endswith((".", "?"))
    return line


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# --- files that are not text ---


def test_utf_16_with_a_mark_is_named_as_such(folder: Folder) -> None:
    assert folder.refused(run=RUN.decode().encode("utf-16")) == "run: this is UTF-16 text: save it as UTF-8."


def test_utf_16_of_the_other_byte_order_is_named_as_such(folder: Folder) -> None:
    run = b"\xfe\xff" + RUN.decode().encode("utf-16-be")
    assert folder.refused(run=run) == "run: this is UTF-16 text: save it as UTF-8."


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_named_as_such(encoding: str, folder: Folder) -> None:
    run = RUN.decode().encode(encoding)
    assert folder.refused(run=run) == "run: this looks like UTF-16 text: save it as UTF-8."


def test_judgments_in_utf_16_are_named_as_such(folder: Folder) -> None:
    assert folder.refused(qrels=QRELS.decode().encode("utf-16")) == "qrels: this is UTF-16 text: save it as UTF-8."


def test_compressed_utf_16_is_named_as_such(folder: Folder) -> None:
    run = gzip.compress(RUN.decode().encode("utf-16"))
    assert folder.refused(run=run) == "run: this is UTF-16 text: save it as UTF-8."


NUL = "a NUL byte, so this is a binary file, not text. Give a text file of judgments or of a run."


def test_a_nul_byte_is_refused_on_its_line(folder: Folder) -> None:
    assert folder.refused(run=b"# head\n" + RUN.replace(b"a 2", b"a\0 2")) == f"run:3: {NUL}"


def test_a_nul_byte_in_a_comment_is_refused_too(folder: Folder) -> None:
    assert folder.refused(qrels=b"# head\0\n" + QRELS) == f"qrels:1: {NUL}"


def test_a_binary_file_is_refused(folder: Folder) -> None:
    assert folder.refused(run=b"\x7fELF\2\1\1\0\0\0\0\0" + bytes(range(256))) == f"run:1: {NUL}"


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"PK\x03\x04", "a zip archive: unpack it first"),
        (b"%PDF-1.7", "a PDF document"),
        (b"\x93NUMPY\1\0", "a NumPy array: load it with numpy and use Run.from_arrays"),
    ],
)
def test_other_kinds_of_files_are_named(start: bytes, what: str, folder: Folder) -> None:
    assert folder.refused(run=start + b"\x14\0\0\0\10\0") == f"run: this is {what}."


def test_a_web_page_is_refused_by_its_first_line(folder: Folder) -> None:
    assert folder.refused(run=b"<!DOCTYPE html>\n<html>\n") == (
        "run:1: 2 fields, but a run's line has at least 6 (qid Q0 docid rank score tag). Is it the right file?"
    )


def test_gzip_data_that_is_cut_off_is_refused(folder: Folder) -> None:
    assert folder.refused(run=gzip.compress(RUN)[:-9]) == (
        "run:4: the compressed data is damaged or cut off "
        "(Compressed file ended before the end-of-stream marker was reached). Copy or download the file again."
    )


@pytest.mark.parametrize("name", PACKERS)
def test_compressed_data_that_is_cut_off_is_never_half_a_run(name: str, folder: Folder) -> None:
    packed = PACKERS[name](RUN)
    for length in range(6, len(packed)):
        refusal = folder.refused(run=packed[:length])
        assert re.match(r"run:[1-4]: the compressed data is damaged or cut off \(", refusal), refusal


# --- numbers ---


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "+NAN"])
def test_nan_is_refused_as_a_score(text: str, folder: Folder) -> None:
    assert folder.refused(run=RUN.replace(b"2.5", text.encode())) == (
        f"run:2: score '{text}' is not a number, so it cannot be ranked. Find its cause."
    )


@pytest.mark.parametrize("text", ["high", "0x10", "1.2.3", "1e", "--1", "1f", "nan(0)", "٣", "None"])
def test_a_score_that_is_no_number_is_refused(text: str, folder: Folder) -> None:
    assert folder.refused(run=RUN.replace(b"2.5", text.encode())) == (
        f"run:2: score '{text}' is not a number. Write it as 12, 12.5 or 1.25e1."
    )


@pytest.mark.parametrize(("text", "better"), [("2,5", "2.5"), ("-,5", "-.5"), ("1,5e3", "1.5e3")])
def test_a_decimal_comma_is_named_as_such(text: str, better: str, folder: Folder) -> None:
    assert folder.refused(run=RUN.replace(b"2.5", text.encode())) == (
        f"run:2: score '{text}' has a decimal comma. Write {better}."
    )


@pytest.mark.parametrize("text", ["1_0", "1_000.5"])
def test_underscores_in_scores_are_refused(text: str, folder: Folder) -> None:
    assert folder.refused(run=RUN.replace(b"2.5", text.encode())) == (
        f"run:2: score '{text}' is not a number. Write it without underscores."
    )


@pytest.mark.parametrize("text", ["1e999", "-1e999", "1e0400"])
def test_a_score_too_large_for_its_type_is_refused(text: str, folder: Folder) -> None:
    assert folder.refused(run=RUN.replace(b"2.5", text.encode())) == (
        f"run:2: score '{text}' is too large for a 64-bit float. Use smaller numbers."
    )


@pytest.mark.parametrize("text", ["0.5", "1.0", "x", "yes", "1e0", "0x1", "1_0", "1,0", "+", "nan", "inf", "٣"])
def test_a_judgment_that_is_no_integer_is_refused(text: str, folder: Folder) -> None:
    assert folder.refused(qrels=QRELS.replace(b"b 0", b"b " + text.encode())) == (
        f"qrels:2: judgment '{text}' is not a whole number. Grades are integers, such as 0, 1, 2."
    )


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "9" * 25])
def test_a_judgment_beyond_64_bits_is_refused(text: str, folder: Folder) -> None:
    assert folder.refused(qrels=QRELS.replace(b"b 0", b"b " + text.encode())) == (
        f"qrels:2: judgment '{text}' is beyond 64 bits. Use smaller grades."
    )


def test_a_judgment_of_thousands_of_digits_is_refused(folder: Folder) -> None:
    line = folder.refused(qrels=QRELS.replace(b"b 0", b"b " + b"9" * 5000))
    assert line.startswith("qrels:2: judgment '9999")
    assert line.endswith(" is beyond 64 bits. Use smaller grades.")


def test_a_judgment_with_leading_zeros_is_not_blamed_for_another_one(folder: Folder) -> None:
    assert folder.refused(qrels=b"1 0 a 0000000000000000000000001\n1 0 b x\n") == (
        "qrels:2: judgment 'x' is not a whole number. Grades are integers, such as 0, 1, 2."
    )


def test_an_id_that_is_long_is_not_shown_whole(folder: Folder) -> None:
    """Wherever it turns up: twice in a group, in no file of the two, or missing."""
    long = b"x" * 100_000
    twice = (b"1 g " + long + b" 1\n") * 2
    assert len(folder.refused("-R", "qrels_jg", "-m", "map_avgjg", "qrels", "run", qrels=twice)) < 300
    assert len(folder.refused(run=long + b" Q0 a 1 1.0 t\n")) < 400
    done = folder.score(qrels=QRELS + long + b" 0 a 1\n")
    assert (done.status, len(done.err) < 400) == (0, True)


def test_a_field_that_is_long_is_not_shown_whole(folder: Folder) -> None:
    """A message is read on a terminal: one line of a damaged file may have millions of characters."""
    assert len(folder.refused(run=RUN.replace(b"2.5", b"x" * 100_000))) < 1000


@pytest.mark.parametrize("text", ["nan", "x", "1,5", "1e999", "1_0"])
def test_a_level_that_is_no_number_is_refused(text: str, folder: Folder) -> None:
    line = folder.refused("-R", "prefs", "-m", "prefs", "qrels", "run", qrels=PREFS.replace(b"2", text.encode()))
    assert line.startswith(f"qrels:2: level '{text}' ")


def test_no_line_after_the_first_that_is_wrong_is_named(folder: Folder) -> None:
    assert folder.refused(run=b"1 Q0 a 1 1 t\n1 Q0 b 2 x t\n1 Q0 c 3 y t\n").startswith("run:2: score 'x' ")


# --- header lines ---


def test_a_header_line_of_a_run_is_named_as_such(folder: Folder) -> None:
    assert folder.refused(run=b"qid Q0 docid rank score tag\n" + RUN) == (
        "run:1: score 'score' is not a number; this looks like a header line. Delete the header."
    )


def test_a_header_line_of_judgments_is_named_as_such(folder: Folder) -> None:
    assert folder.refused(qrels=b"qid iteration docid rel\n" + QRELS) == (
        "qrels:1: judgment 'rel' is not a whole number; this looks like a header line. Delete the header."
    )


def test_a_header_line_after_a_byte_order_mark_is_named_as_such(folder: Folder) -> None:
    assert folder.refused(qrels=b"\xef\xbb\xbfqid iteration docid rel\n" + QRELS) == (
        "qrels:1: judgment 'rel' is not a whole number; this looks like a header line. Delete the header."
    )


def test_a_first_line_with_a_bad_score_is_not_taken_for_a_header(folder: Folder) -> None:
    """Its rank is a number, so deleting the line would lose a document."""
    assert folder.refused(run=RUN.replace(b"3.5", b"high")) == (
        "run:1: score 'high' is not a number. Write it as 12, 12.5 or 1.25e1."
    )


def test_a_first_line_with_a_bad_judgment_is_not_taken_for_a_header(folder: Folder) -> None:
    assert folder.refused(qrels=b"1 0 a yes\n") == (
        "qrels:1: judgment 'yes' is not a whole number. Grades are integers, such as 0, 1, 2."
    )


# --- fields ---


def test_a_run_with_five_fields_is_refused(folder: Folder) -> None:
    assert folder.refused(run=RUN.replace(b"a 2 2.5 tag", b"a 2 2.5")) == (
        "run:2: 5 fields, but a run's line has at least 6 (qid Q0 docid rank score tag). "
        "Is the tag or another column missing?"
    )


def test_judgments_with_five_fields_are_refused(folder: Folder) -> None:
    assert folder.refused(qrels=QRELS.replace(b"b 0", b"b 0 x")) == (
        "qrels:2: 5 fields, but a judgment has 4 (qid iteration docid rel). Correct the line."
    )


def test_judgments_with_three_fields_are_refused(folder: Folder) -> None:
    assert folder.refused(qrels=b"1 a 1\n") == (
        "qrels:1: 3 fields, but a judgment has 4 (qid iteration docid rel). "
        "Is the iteration column (a 0 after the qid) missing?"
    )


def test_one_field_is_called_one_field(folder: Folder) -> None:
    assert folder.refused(run=RUN + b"x\n") == (
        "run:4: 1 field, but a run's line has at least 6 (qid Q0 docid rank score tag). Correct the line."
    )


def test_a_file_with_commas_is_named_as_such(folder: Folder) -> None:
    assert folder.refused(run=RUN.replace(b" ", b",")) == (
        "run:1: 1 field, but a run's line has at least 6 (qid Q0 docid rank score tag). "
        "Separate fields with spaces or tabs, not with commas."
    )


def test_a_run_of_ms_marco_that_is_to_be_trec_s_is_named_as_such(folder: Folder) -> None:
    assert folder.refused("-T", "trec_results", "qrels", "run", run=b"1\ta\t1\n1\tb\t2\n") == (
        "run:1: 3 fields, but a run's line has at least 6 (qid Q0 docid rank score tag). "
        "This looks like an MS MARCO run (qid docid rank), format msmarco."
    )


def test_a_file_with_old_mac_line_ends_is_refused(folder: Folder) -> None:
    assert folder.refused(qrels=QRELS.replace(b"\n", b"\r")) == (
        "qrels:1: 12 fields, but a judgment has 4 (qid iteration docid rel). End lines with a newline."
    )


def test_a_run_with_old_mac_line_ends_is_refused(folder: Folder) -> None:
    """Extra columns are allowed, so all of it would be read as one document."""
    assert folder.refused(run=RUN.replace(b"\n", b"\r")) == (
        "run:1: 18 fields, but a run's line has at least 6 (qid Q0 docid rank score tag). End lines with a newline."
    )


def test_tags_with_spaces_are_no_damage(folder: Folder) -> None:
    done = folder.score(run=RUN.replace(b"tag", b"my best run"))
    assert (done.status, done.err) == (0, b"")


def test_a_byte_order_mark_is_no_damage(folder: Folder) -> None:
    done = folder.score(run=b"\xef\xbb\xbf" + RUN, qrels=b"\xef\xbb\xbf" + QRELS)
    assert done == (0, b"map                   \tall\t0.7500\n", b"")


def test_gzip_is_no_damage(folder: Folder) -> None:
    done = folder.score(run=gzip.compress(RUN), qrels=gzip.compress(QRELS))
    assert done == (0, b"map                   \tall\t0.7500\n", b"")


def test_lines_are_counted_with_blank_and_comment_lines(folder: Folder) -> None:
    assert folder.refused(run=b"\xef\xbb\xbf# head\r\n\r\n" + RUN + b"\n# more\n1 Q0 x\n").startswith("run:8: 3 fields")


# --- duplicates ---


def test_a_document_twice_in_a_query_is_refused_with_both_lines(folder: Folder) -> None:
    assert folder.refused(run=RUN + b"2 Q0 c 2 0.1 tag\n") == (
        "run:4: document 'c' occurs twice in query '2' (first on line 3). Keep one of the two lines."
    )


def test_a_document_twice_in_a_scattered_query_is_refused_with_both_lines(folder: Folder) -> None:
    assert folder.refused(run=RUN + b"1 Q0 z 3 1 tag\n2 Q0 c 2 0.1 tag\n") == (
        "run:5: document 'c' occurs twice in query '2' (first on line 3). Keep one of the two lines."
    )


def test_lines_of_duplicates_are_counted_with_blank_and_comment_lines(folder: Folder) -> None:
    assert folder.refused(run=b"# head\n\n" + RUN + b"\n\n# more\n1 Q0 b 9 1 tag\n") == (
        "run:9: document 'b' occurs twice in query '1' (first on line 3). Keep one of the two lines."
    )


def test_a_document_judged_twice_is_refused_even_if_alike(folder: Folder) -> None:
    assert folder.refused(qrels=QRELS + b"1 0 a 1\n") == (
        "qrels:4: document 'a' occurs twice in query '1' (first on line 1). Keep one of the two lines."
    )


def test_contradictory_judgments_are_refused(folder: Folder) -> None:
    assert folder.refused(qrels=b"1 0 a 1\n1 5 a 0\n") == (
        "qrels:2: document 'a' occurs twice in query '1' (first on line 1). Keep one of the two lines."
    )


def test_duplicates_of_a_query_that_is_not_judged_are_refused(folder: Folder) -> None:
    assert folder.refused(run=RUN + b"9 Q0 x 1 1 tag\n9 Q0 x 2 1 tag\n") == (
        "run:5: document 'x' occurs twice in query '9' (first on line 4). Keep one of the two lines."
    )


def test_of_several_duplicates_the_first_one_in_its_query_is_named(folder: Folder) -> None:
    assert folder.refused(run=b"1 Q0 a 1 3 t\n1 Q0 b 1 3 t\n1 Q0 b 1 3 t\n1 Q0 a 1 3 t\n") == (
        "run:3: document 'b' occurs twice in query '1' (first on line 2). Keep one of the two lines."
    )


def test_a_document_of_two_queries_is_no_duplicate(folder: Folder) -> None:
    assert folder.score(run=RUN + b"2 Q0 a 2 0.1 tag\n", qrels=QRELS + b"2 0 a 0\n").status == 0


# --- other files than were meant ---


SWAPPED_RUN = "This looks like the run: are the arguments swapped? The order is QRELS RUN."
SWAPPED_QRELS = "This looks like the judgments: are the arguments swapped? The order is QRELS RUN."


def test_a_run_in_place_of_judgments_is_named_as_such(folder: Folder) -> None:
    assert folder.refused("run", "qrels") == (
        f"run:1: 6 fields, but a judgment has 4 (qid iteration docid rel). {SWAPPED_RUN}"
    )


def test_judgments_in_place_of_a_run_are_named_as_such(folder: Folder) -> None:
    assert folder.refused("qrels", "qrels") == (
        f"qrels:1: 4 fields, but a run's line has at least 6 (qid Q0 docid rank score tag). {SWAPPED_QRELS}"
    )


@pytest.mark.parametrize("name", PACKERS)
def test_swapped_files_are_named_as_such_when_compressed(name: str, folder: Folder) -> None:
    folder.write(qrels=PACKERS[name](QRELS), run=PACKERS[name](RUN))
    assert folder.refused("run", "qrels").endswith(SWAPPED_RUN)


def test_swapped_files_are_named_as_such_after_comments(folder: Folder) -> None:
    assert folder.refused("run", "qrels", run=b"# head\n\n" + RUN) == (
        f"run:3: 6 fields, but a judgment has 4 (qid iteration docid rel). {SWAPPED_RUN}"
    )


@pytest.mark.parametrize("form", ["qrels_jg", "prefs", "qrels_prefs"])
def test_swapped_files_are_named_as_such_in_every_format(form: str, folder: Folder) -> None:
    assert folder.refused("-R", form, "-m", "prefs" if "prefs" in form else form, "run", "qrels").endswith(SWAPPED_RUN)


def test_an_empty_file_is_refused(folder: Folder) -> None:
    assert folder.refused(run=b"") == "run: the file is empty. Is it the right file?"


def test_empty_judgments_are_refused(folder: Folder) -> None:
    assert folder.refused(qrels=b"") == "qrels: the file is empty. Is it the right file?"


def test_an_empty_standard_input_is_refused(folder: Folder) -> None:
    assert folder.refused("qrels", "-") == "<stdin>: the file is empty. Is it the right file?"


@pytest.mark.parametrize("text", [b"\n", b" \t\r\n\n", b"# a\n# b", b"\xef\xbb\xbf", b"\xef\xbb\xbf# a\n"])
def test_a_file_of_comments_and_blank_lines_is_refused(text: bytes, folder: Folder) -> None:
    assert folder.refused(run=text) == "run: no data lines, only comments or blank lines. Is it the right file?"


def test_a_directory_is_refused(folder: Folder) -> None:
    assert folder.refused("qrels", ".") == ".: is a directory. Give a file."


def test_a_file_that_is_not_there_is_refused(folder: Folder) -> None:
    assert folder.refused("qrels", "nope") == "nope: no such file. Check the name."


def test_judgments_that_are_not_there_are_refused(folder: Folder) -> None:
    assert folder.refused("nope", "run") == "nope: no such file. Check the name."


def test_an_empty_name_is_shown_as_one(folder: Folder) -> None:
    assert folder.refused("qrels", "") == "'': no such file. Check the name."


def test_a_path_through_a_file_is_refused(folder: Folder) -> None:
    assert folder.refused("qrels", "run/x") == "run/x: cannot be opened: Not a directory. Check the file."


def test_a_name_that_is_too_long_is_refused(folder: Folder) -> None:
    assert folder.refused("qrels", "x" * 300).endswith("xxx: cannot be opened: File name too long. Check the file.")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(folder: Folder) -> None:
    (folder.path / "run").chmod(0)
    assert folder.refused() == "run: cannot be opened: Permission denied. Check the file."


def test_a_file_that_fails_while_it_is_read_is_refused(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    class Failing:
        read = staticmethod(fail)

    from treceval_py.errors import InputError
    from treceval_py.io.trec import read_run

    with pytest.raises(InputError) as caught:
        read_run(Failing())  # type: ignore[arg-type]
    assert str(caught.value) == "<file>: cannot be read: Input/output error. Check the file."


def test_the_second_of_several_runs_is_named_by_its_own_name(folder: Folder) -> None:
    assert folder.refused("qrels", "run", "other", other=b"1 Q0 a 1 x t\n", status=1).startswith("other:1: score 'x' ")


def test_no_query_in_common_shows_the_ids_of_both(folder: Folder) -> None:
    run = b"".join(b"q%d Q0 a 1 1 t\n" % number for number in range(1, 6))
    assert folder.refused(run=run) == (
        "run: no query of q1, q2, q3, … (5 queries) is judged: qrels has 1, 2 (2 queries). "
        "Check that both files belong together and use the same query ids."
    )


def test_no_query_in_common_of_one_is_written_in_the_singular(folder: Folder) -> None:
    assert folder.refused(qrels=b"001 0 a 1\n", run=b"1 Q0 a 1 1 t\n") == (
        "run: no query of 1 (1 query) is judged: qrels has 001 (1 query). "
        "Check that both files belong together and use the same query ids."
    )


# --- other kinds of judgments ---


def test_two_levels_of_a_document_in_a_group_are_refused(folder: Folder) -> None:
    prefs = b"# head\n1 g s a 3\n1 g s b 2\n1 g s a 2\n"
    assert folder.refused("-R", "prefs", "-m", "prefs", "qrels", "run", qrels=prefs) == (
        "qrels:4: document 'a' has two levels in group 'g' of query '1'. Give each document one level in a group."
    )


def test_level_0_beside_another_level_is_refused(folder: Folder) -> None:
    prefs = b"1 g s a 3\n1 g s b 2\n1 g t a 0\n1 g t c 1\n"
    assert folder.refused("-R", "prefs", "-m", "prefs", "qrels", "run", qrels=prefs) == (
        "qrels:3: document 'a' has both level 0 and another one in group 'g' of query '1'. "
        "Give each document one level in a group."
    )


def test_documents_each_preferred_to_the_other_are_refused(folder: Folder) -> None:
    prefs = b"1 g s a 2\n1 g s b 1\n1 g t b 2\n1 g t a 1\n"
    line = folder.refused("-R", "prefs", "-m", "prefs", "qrels", "run", qrels=prefs)
    assert line.startswith("qrels:")
    assert line.endswith(
        ": documents 'b' and 'a' are each preferred to the other in group 'g' of query '1'. "
        "Give each document one level in a group."
    )


def test_graded_preferences_in_the_format_of_preferences_are_refused(folder: Folder) -> None:
    assert folder.refused("-R", "prefs", "-m", "prefs", "qrels", "run") == (
        "qrels:1: 4 fields, but a preference judgment has 5 (qid group subgroup docid level). "
        "Is its format qrels_prefs (qid group docid level)?"
    )


def test_preferences_in_the_format_of_graded_preferences_are_refused(folder: Folder) -> None:
    assert folder.refused("-R", "qrels_prefs", "-m", "prefs", "qrels", "run", qrels=PREFS) == (
        "qrels:1: 5 fields, but a preference judgment has 4 (qid group docid level). "
        "Is its format prefs (qid group subgroup docid level)?"
    )


def test_preferences_in_the_format_of_qrels_are_refused(folder: Folder) -> None:
    assert folder.refused(qrels=PREFS) == (
        "qrels:1: 5 fields, but a judgment has 4 (qid iteration docid rel). Correct the line."
    )


def test_a_group_that_judges_twice_is_refused(folder: Folder) -> None:
    qrels = b"1 g a 1\n1 h a 0\n1 g a 1\n"
    assert folder.refused("-R", "qrels_jg", "-m", "qrels_jg", "qrels", "run", qrels=qrels) == (
        "qrels:3: group 'g' judges document 'a' twice for query '1'. Keep one of the two lines."
    )


ASK = "Choose other measures, or name the file's format (-R)."


@pytest.mark.parametrize(
    ("form", "measure", "message"),
    [
        (
            "qrels",
            "prefs_simp",
            "prefs_simp needs preference judgments (prefs), but these are relevance judgments (qrels)",
        ),
        (
            "qrels",
            "map_avgjg",
            "map_avgjg needs judgments by groups (qrels_jg), but these are relevance judgments (qrels)",
        ),
        ("qrels_jg", "map", "map needs relevance judgments (qrels), but these are judgments by groups (qrels_jg)"),
        ("qrels_prefs", "map", "map needs relevance judgments (qrels), but these are preference judgments (prefs)"),
        (
            "qrels_prefs",
            "map_avgjg",
            "map_avgjg needs judgments by groups (qrels_jg), but these are preference judgments (prefs)",
        ),
    ],
)
def test_a_measure_of_other_judgments_is_refused(form: str, measure: str, message: str, folder: Folder) -> None:
    assert folder.refused("-R", form, "-m", measure, "qrels", "run") == f"qrels: measure {message}. {ASK}"


def test_the_default_measures_need_relevance_judgments(folder: Folder) -> None:
    assert folder.refused("-R", "qrels_jg", "qrels", "run").endswith(
        f" needs relevance judgments (qrels), but these are judgments by groups (qrels_jg). {ASK}"
    )


# --- norms for z-scores ---


def test_a_norm_that_is_no_number_is_refused(folder: Folder) -> None:
    assert folder.refused("-Z", "norms", "qrels", "run", norms=b"1 map 0.25 0.1\n1 P_5 x 1\n") == (
        "norms:2: mean 'x' is not a number. Write it as 12, 12.5 or 1.25e1."
    )


def test_a_norm_with_three_fields_is_refused(folder: Folder) -> None:
    assert folder.refused("-Z", "norms", "qrels", "run", norms=b"1 map 0.25\n") == (
        "norms:1: 3 fields, but a norm has 4 (qid measure mean deviation). Correct the line."
    )


def test_a_norm_that_occurs_twice_is_refused(folder: Folder) -> None:
    assert folder.refused("-Z", "norms", "qrels", "run", norms=b"1 map 0.25 0.1\n\n1 map 0.5 0.1\n") == (
        "norms:3: measure 'map' of query '1' occurs twice. Keep one of the two lines."
    )


def test_norms_that_are_not_there_are_refused(folder: Folder) -> None:
    assert folder.refused("-Z", "nope", "qrels", "run") == "nope: no such file. Check the name."


# --- usage ---


SEE = "See 'treceval --help'."
LISTS = "'treceval measures' lists them all."
PARAMETERS = "See 'treceval measures' for its parameters."

USAGE: dict[str, str] = {
    "": f"Missing argument 'QRELS'. {SEE}",
    "qrels": f"Missing argument 'RUN [RUN…]'. {SEE}",
    "score qrels": f"Missing argument 'RUN [RUN…]'. {SEE}",
    "qrels run -m": f"Option '-m' requires an argument. {SEE}",
    "-x qrels run": f"No such option '-x'. {SEE}",
    "-cx qrels run": f"No such option '-x'. {SEE}",
    "--foo qrels run": f"No such option '--foo'. Did you mean '--format'? {SEE}",
    "--query_eval_wanted=1 qrels run": f"Option '--query_eval_wanted' does not take a value. {SEE}",
    "- -": f"Standard input (-) can be read only once. {SEE}",
    "qrels - run -": f"Standard input (-) can be read only once. {SEE}",
    "-R foo qrels run": (
        "Invalid value for '-R' / '--judgment-format' / '--Rel_info_format': 'foo' is not one of 'qrels', 'qrels_jg', 'prefs', "
        f"'qrels_prefs', 'msmarco', 'beir', 'json', 'jsonl', 'parquet', 'ir_datasets'. {SEE}"
    ),
    "-T foo qrels run": (
        "Invalid value for '-T' / '--run-format' / '--Results_format': 'foo' is not one of 'trec_results', 'msmarco', 'json', 'jsonl', "
        f"'parquet'. {SEE}"
    ),
    "--format foo qrels run": (
        "Invalid value for '--format': 'foo' is not one of "
        + ", ".join(f"'{name}'" for name in ("trec", *FORMATS, "coursework"))
        + f". {SEE}"
    ),
    "--profile foo qrels run": "unknown profile 'foo'. Choose one of " + ", ".join(PROFILES) + ".",
    "--profile trec_eval-8 qrels run": "unknown profile 'trec_eval-8'. Did you mean trec_eval-9?",
    "-l abc qrels run": f"Invalid value for '-l' / '--level' / '--level_for_rel': 'abc' is not a whole number. {SEE}",
    "-l -1 qrels run": f"Invalid value for '-l' / '--level' / '--level_for_rel': -1 is not 0 or more. {SEE}",
    "-M 1.5 qrels run": f"Invalid value for '-M' / '--depth' / '--Max_retrieved_per_topic': '1.5' is not a whole number. {SEE}",
    "-M -3 qrels run": f"Invalid value for '-M' / '--depth' / '--Max_retrieved_per_topic': -3 is not 0 or more. {SEE}",
    "-N 1e6 qrels run": f"Invalid value for '-N' / '--collection-size' / '--Number_docs_in_coll': '1e6' is not a whole number. {SEE}",
    "--digits x qrels run": f"Invalid value for '--digits': 'x' is not a whole number. {SEE}",
    "-m bad qrels run": f"unknown measure 'bad'. {LISTS}",
    "-m bad.5 qrels run": f"unknown measure 'bad.5'. {LISTS}",
    "-m .5 qrels run": f"unknown measure '.5'. {LISTS}",
    "-m = qrels run": f"unknown measure '='. {LISTS}",
    "-m=map qrels run": f"unknown measure '=map'. {LISTS}",
    "-m Map qrels run": f"unknown measure 'Map'. Did you mean map? {LISTS}",
    "-m recip_ran qrels run": f"unknown measure 'recip_ran'. Did you mean recip_rank? {LISTS}",
    "-m ncdg@10 qrels run": f"unknown measure 'ncdg@10'. Did you mean ndcg@10? {LISTS}",
    "-m map. qrels run": "measure 'map.': no parameters after the dot. Leave out the dot.",
    "-m map.5 qrels run": "measure 'map.5': map takes no parameters. See 'treceval measures map'.",
    "-m official.5 qrels run": (
        "measure 'official.5': a nickname takes no parameters. Add the measure itself: official and P.5, for example."
    ),
    "-m P.0 qrels run": f"measure 'P.0': cutoff must be 1 or more, not 0. {PARAMETERS}",
    "-m P.-5 qrels run": f"measure 'P.-5': cutoff must be 1 or more, not -5. {PARAMETERS}",
    "-m P_0 qrels run": f"measure 'P_0': cutoff must be 1 or more, not 0. {PARAMETERS}",
    "-m nDCG@0 qrels run": f"measure 'nDCG@0': cutoff must be 1 or more, not 0. {PARAMETERS}",
    "-m P.5,5 qrels run": f"measure 'P.5,5': a cutoff is given twice. {PARAMETERS}",
    "-m P.5,05 qrels run": f"measure 'P.5,05': a cutoff is given twice. {PARAMETERS}",
    "-m P.abc qrels run": f"measure 'P.abc': 'abc' is not a whole number. {PARAMETERS}",
    "-m P.5, qrels run": f"measure 'P.5,': '' is not a whole number. {PARAMETERS}",
    "-m P.23.4 qrels run": f"measure 'P.23.4': '23.4' is not a whole number. {PARAMETERS}",
    "-m P.1e3 qrels run": f"measure 'P.1e3': '1e3' is not a whole number. {PARAMETERS}",
    "-m P.0x10 qrels run": f"measure 'P.0x10': '0x10' is not a whole number. {PARAMETERS}",
    "-m iprec_at_recall.-1 qrels run": f"measure 'iprec_at_recall.-1': recall must be between 0 and 1, not -1. {PARAMETERS}",
    "-m rbp.p=2 qrels run": f"measure 'rbp.p=2': p must be between 0 and 1, not 2. {PARAMETERS}",
    "-m rbp.p=x qrels run": f"measure 'rbp.p=x': 'x' is not a number. {PARAMETERS}",
    "-m rbp.p=nan qrels run": f"measure 'rbp.p=nan': 'nan' is not a number. {PARAMETERS}",
    "-m rbp.0.5 qrels run": f"measure 'rbp.0.5': '0.5' is not of the form name=value. {PARAMETERS}",
    "-m set_F.-1 qrels run": f"measure 'set_F.-1': beta must be 0 or more, not -1. {PARAMETERS}",
    "-m set_F.1e999 qrels run": f"measure 'set_F.1e999': '1e999' is not a number. {PARAMETERS}",
    "-m utility.1,2 qrels run": f"measure 'utility.1,2': coefficients must be four numbers, not 1,2. {PARAMETERS}",
    "-m ndcg.5 qrels run": f"measure 'ndcg.5': '5' is not of the form name=value. {PARAMETERS}",
    "-m ndcg.1=3=4 qrels run": f"measure 'ndcg.1=3=4': '1=3=4' is not of the form name=value. {PARAMETERS}",
    "-m ndcg.1=x qrels run": f"measure 'ndcg.1=x': 'x' is not a number. {PARAMETERS}",
    "-m AP(rel=x) qrels run": f"measure 'AP(rel=x)': 'x' is not a whole number. {PARAMETERS}",
    "-m AP(rel=-1) qrels run": f"measure 'AP(rel=-1)': rel must be 0 or more, not -1. {PARAMETERS}",
    "-m AP(foo=1) qrels run": "measure 'AP(foo=1)': map has no parameter 'foo'. It has rel, norm, ties, judged_only.",
    "-m P(rel=2) qrels run": "measure 'P(rel=2)': P needs a cutoff. Write P@10, for example.",
    "-m Rprec@5 qrels run": "measure 'Rprec@5': Rprec takes no cutoff. See 'treceval measures Rprec'.",
    "measures foo": f"unknown measure 'foo'. {LISTS}",
}


@pytest.mark.parametrize("command", USAGE)
def test_a_wrong_command_is_refused_with_what_is_wrong_about_it(command: str, folder: Folder) -> None:
    assert treceval_refuses(folder, command.split()) == f"treceval: {USAGE[command]}"


def treceval_refuses(folder: Folder, arguments: list[str]) -> str:
    done = treceval(arguments, folder=folder.path)
    assert (done.status, done.out) == (2, b"")
    return one_line(done.err)


def test_usage_is_checked_before_files_are_read(folder: Folder) -> None:
    assert folder.refused("-m", "bad", "nope", "nope", status=2) == f"treceval: unknown measure 'bad'. {LISTS}"


def test_an_option_cut_too_short_shows_what_it_may_be(folder: Folder) -> None:
    line = treceval_refuses(folder, ["--R", "qrels", "qrels", "run"])
    assert "--Rel_info_format" in line
    assert "--Results_format" in line


@pytest.mark.parametrize("digits", ["1000", "99999999999", "999999999999999999"])
def test_more_digits_than_a_number_has_are_refused(digits: str, folder: Folder) -> None:
    assert treceval_refuses(folder, ["--digits", digits, "qrels", "run"]).startswith(
        "treceval: Invalid value for '--digits': "
    )


def test_a_measure_whose_name_ends_in_a_bar_is_not_told_about_a_dot(folder: Folder) -> None:
    assert "dot" not in treceval_refuses(folder, ["-m", "P_", "qrels", "run"])


# --- what is shown ---


def test_control_characters_of_ids_are_made_visible(folder: Folder) -> None:
    run = b"1 Q0 \x1b[31ma 1 1 t\n1 Q0 \x1b[31ma 2 1 t\n"
    assert folder.refused(run=run) == (
        "run:2: document '\\x1b[31ma' occurs twice in query '1' (first on line 1). Keep one of the two lines."
    )


def test_control_characters_of_other_alphabets_are_made_visible(folder: Folder) -> None:
    run = "1 Q0 a 1 \u202e5\u200b t\n".encode()
    assert folder.refused(run=b"# x\n" + run).startswith("run:2: score '\\u202e5\\u200b' is not a number")


def test_bytes_that_are_not_utf_8_are_made_visible(folder: Folder) -> None:
    assert folder.refused(run=b"1 Q0 a 1 1 t\nq\xff Q0 a 1 \xe9 t\n") == (
        "run:2: score '\\xe9' is not a number. Write it as 12, 12.5 or 1.25e1."
    )


def test_letters_of_any_language_are_shown_as_they_are(folder: Folder) -> None:
    run = "日本 Q0 é 1 1 t\n日本 Q0 é 2 1 t\n".encode()
    assert folder.refused(run=run) == (
        "run:2: document 'é' occurs twice in query '日本' (first on line 1). Keep one of the two lines."
    )


def test_control_characters_of_file_names_are_made_visible(folder: Folder) -> None:
    assert folder.refused("qrels", "a\nb\x1b[1m") == "a\\nb\\x1b[1m: no such file. Check the name."


def test_file_names_that_are_not_utf_8_are_made_visible(folder: Folder) -> None:
    assert folder.refused("qrels", os.fsdecode(b"r\xff")) == "r\\xff: no such file. Check the name."


def test_control_characters_of_measures_are_made_visible(folder: Folder) -> None:
    assert folder.refused("-m", "\x1b[1m", "qrels", "run", status=2) == (
        f"treceval: unknown measure '\\x1b[1m'. {LISTS}"
    )


def test_control_characters_of_options_are_made_visible(folder: Folder) -> None:
    assert folder.refused("--\x1b[1m", "qrels", "run", status=2) == f"treceval: No such option '--\\x1b[1m'. {SEE}"


def test_control_characters_of_ids_are_made_visible_in_notes(folder: Folder) -> None:
    done = folder.score(qrels=QRELS + b"\x1b[31m 0 a 1\n", run=RUN + b"q\xff\x07 Q0 a 1 1 t\n")
    assert done.err == (
        b"note: run: 1 judged query is missing (\\x1b[31m), and left out; -c counts it.\n"
        b"note: run: 1 query of the run has no judgments (q\\xff\\x07) and is not scored.\n"
    )


# --- numbers at the edge of their types ---


def test_levels_beyond_32_bits_are_ranked_without_a_warning(folder: Folder) -> None:
    prefs = b"1 g s a 1e300\n1 g s b 2\n"
    arguments = ("--profile", "trec_eval-9", "-R", "prefs", "-m", "prefs_simp", "qrels", "run")
    run = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"
    assert folder.score(*arguments, qrels=prefs, run=run) == (0, b"prefs_simp            \tall\t1.0000\n", b"")


@pytest.mark.parametrize("measure", ["all_trec", "G", "ndcg", "Rndcg"])
def test_judgments_of_64_bits_are_scored_without_a_warning(measure: str, folder: Folder) -> None:
    qrels = b"1 0 a 9223372036854775807\n1 0 b -9223372036854775808\n1 0 c 4294967296\n2 0 a 64\n2 0 b 2000\n"
    run = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n1 Q0 c 3 1 t\n2 Q0 b 1 1 t\n"
    done = folder.score("-q", "-l", "0", "-m", measure, "qrels", "run", qrels=qrels, run=run)
    assert (done.status, done.err) == (0, b"")


# --- notes ---


def test_queries_that_are_missing_or_not_judged_are_noted(folder: Folder) -> None:
    qrels = QRELS + b"3 0 a 1\n4 0 a 1\n5 0 a 1\n6 0 a 1\n"
    done = folder.score(qrels=qrels, run=RUN + b"9 Q0 a 1 1 t\n")
    assert done.status == 0
    assert (
        done.err
        == (
            "note: run: 4 judged queries are missing (3, 4, 5, …), and left out; -c counts them.\n"
            "note: run: 1 query of the run has no judgments (9) and is not scored.\n"
        ).encode()
    )


def test_a_query_that_counts_as_empty_is_noted(folder: Folder) -> None:
    done = folder.score("-c", "-m", "map", "qrels", "run", qrels=QRELS + b"3 0 a 1\n")
    assert done == (
        0,
        b"map                   \tall\t0.5000\n",  # (1/2 + 1 + 0) / 3
        b"note: run: 1 judged query is missing (3), and counts as an empty ranking.\n",
    )


def test_a_run_without_a_judged_query_is_noted_where_it_counts(folder: Folder) -> None:
    done = folder.score("-c", "-m", "map", "qrels", "run", run=b"9 Q0 a 1 1 t\n")
    assert done == (
        0,
        b"map                   \tall\t0.0000\n",
        (
            b"note: run: no query of the run is judged in qrels; is it the right file?\n"
            b"note: run: 2 judged queries are missing (1, 2), and count as empty rankings.\n"
            b"note: run: 1 query of the run has no judgments (9) and is not scored.\n"
        ),
    )


def test_no_notes_are_printed_when_a_later_run_is_refused(folder: Folder) -> None:
    assert folder.refused("qrels", "run", "other", run=RUN + b"9 Q0 a 1 1 t\n", other=b"x\n").startswith("other:1: ")


# --- output ---


def test_output_to_a_folder_that_is_not_there_is_refused(folder: Folder) -> None:
    assert folder.refused("-o", "missing/x", "qrels", "run") == (
        "missing/x: cannot be written: No such file or directory. Check the folder and the space left."
    )


def test_output_to_a_directory_is_refused(folder: Folder) -> None:
    assert folder.refused("-o", ".", "qrels", "run") == (
        ".: cannot be written: Is a directory. Check the folder and the space left."
    )


full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")


@full
def test_output_to_a_full_disk_is_refused(folder: Folder) -> None:
    assert folder.refused("-o", "/dev/full", "qrels", "run") == (
        "/dev/full: cannot be written: No space left on device. Check the folder and the space left."
    )


def test_an_output_file_stays_as_it_was_when_the_run_is_refused(folder: Folder) -> None:
    folder.refused("-o", "out", "qrels", "run", out=b"as before", run=b"x\n")
    assert (folder.path / "out").read_bytes() == b"as before"
    assert sorted(os.listdir(folder.path)) == ["out", "qrels", "run"]


def test_output_to_a_file_leaves_standard_output_empty(folder: Folder) -> None:
    done = folder.score("-m", "map", "-o", "out", "qrels", "run")
    assert (done, (folder.path / "out").read_bytes()) == ((0, b"", b""), b"map                   \tall\t0.7500\n")


# --- how the process ends ---


def shell(folder: Folder, line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in which ``$T`` is the program."""
    environment = {**os.environ, "PYTHON": sys.executable}
    command = 'T="$PYTHON -m treceval_py"; ' + line
    return subprocess.run(
        ["sh", "-c", command], cwd=folder.path, env=environment, capture_output=True, check=False, timeout=60
    )


def test_the_exit_status_of_bad_data_is_1(folder: Folder) -> None:
    done = shell(folder, "$T qrels nope")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"nope: no such file. Check the name.\n")


def test_the_exit_status_of_bad_usage_is_2(folder: Folder) -> None:
    done = shell(folder, "$T -m bad qrels run")
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        b"",
        f"treceval: unknown measure 'bad'. {LISTS}\n".encode(),
    )


@full
@pytest.mark.parametrize("command", ["qrels run", "--help", "--version", "measures", "measures map"])
def test_standard_output_on_a_full_disk_is_refused(command: str, folder: Folder) -> None:
    done = shell(folder, f"$T {command} >/dev/full")
    assert (done.returncode, done.stdout) == (1, b"")
    assert "No space left on device" in one_line(done.stderr)


def test_standard_output_that_is_closed_is_refused(folder: Folder) -> None:
    done = shell(folder, "$T qrels run >&-")
    assert (done.returncode, done.stderr) == (1, b"treceval: standard output is closed. Use -o FILE.\n")


def test_output_to_a_file_needs_no_standard_output(folder: Folder) -> None:
    done = shell(folder, "$T -m map -o out qrels run >&-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (folder.path / "out").read_bytes() == b"map                   \tall\t0.7500\n"


def test_an_error_needs_no_standard_output(folder: Folder) -> None:
    done = shell(folder, "$T qrels nope >&-")
    assert (done.returncode, done.stderr) == (1, b"nope: no such file. Check the name.\n")


def test_an_error_needs_no_standard_error(folder: Folder) -> None:
    done = shell(folder, "$T qrels nope 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_standard_input_that_is_closed_is_refused(folder: Folder) -> None:
    done = shell(folder, "$T qrels - <&-")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"<stdin>: standard input is closed. Give a file instead of '-'.\n"


def test_files_need_no_standard_input(folder: Folder) -> None:
    done = shell(folder, "$T -m map qrels run <&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"map                   \tall\t0.7500\n", b"")


def test_messages_need_no_locale(folder: Folder) -> None:
    (folder.path / "run").write_bytes("1 Q0 é 1 1 t\n1 Q0 é 1 1 t\n".encode())
    done = shell(folder, "LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii $T qrels run")
    assert done.stderr.decode() == (
        "run:2: document 'é' occurs twice in query '1' (first on line 1). Keep one of the two lines.\n"
    )


def started(folder: Folder, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "treceval_py", *arguments],
        cwd=folder.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """Return how a process ended, and its standard error."""
    try:
        process.wait(60)
    finally:
        process.kill()
    assert process.stderr is not None
    assert process.stdout is not None
    with process.stderr, process.stdout:
        return process.returncode, process.stderr.read()


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Send what Ctrl-C sends, when the program has come to wait for the next bytes of a pipe."""
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("sent", [b"", b"1 Q0 a 1 1 t\n", b"\x1f\x8b"])
def test_an_interruption_ends_the_program_as_it_ends_any_other(sent: bytes, folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe")
    process = started(folder, "qrels", "pipe")
    with open(folder.path / "pipe", "wb", buffering=0) as pipe:  # waits until the program has opened it
        pipe.write(sent)
        interrupt(process)
        assert ended(process) == (-signal.SIGINT, b"")


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_while_a_pipe_has_no_writer_is_quiet(folder: Folder) -> None:
    os.mkfifo(folder.path / "first")
    os.mkfifo(folder.path / "second")
    process = started(folder, "first", "second")
    with open(folder.path / "first", "wb") as pipe:
        pipe.write(QRELS)
    interrupt(process)
    assert ended(process) == (-signal.SIGINT, b"")


def test_a_closed_pipe_ends_the_program_quietly(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe")
    process = started(folder, "qrels", "pipe")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with open(folder.path / "pipe", "wb") as pipe:
        pipe.write(RUN)
    with process.stderr:
        assert (process.stderr.read(), process.wait(60)) == (b"", -signal.SIGPIPE)


def test_the_first_lines_of_a_long_output_can_be_taken(folder: Folder) -> None:
    queries = range(2000)
    folder.write(
        qrels=b"".join(b"%d 0 a 1\n" % query for query in queries),
        run=b"".join(b"%d Q0 a 1 1 t\n" % query for query in queries),
    )
    done = shell(folder, "$T -q qrels run | head -1")
    assert (done.stdout, done.stderr) == (b"num_ret               \t0\t1\n", b"")


# --- what trec_eval refuses ---


def recorded() -> list[Any]:
    """Return the recorded cases that trec_eval refuses, and this program too."""
    cases = [
        json.loads(line)
        for line in gzip.decompress((HERE.parent / "conformance" / "trec_eval.jsonl.gz").read_bytes()).splitlines()
    ]
    return [pytest.param(case, id=case["id"]) for case in cases if case["expect"] == "refuse"]


@pytest.mark.parametrize("case", recorded())
def test_what_trec_eval_refuses_is_refused_in_one_line(case: dict[str, Any], tmp_path: Path) -> None:
    for name, text in case["files"].items():
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    done = treceval(case["args"], stdin=case.get("stdin", "").encode(), folder=tmp_path)
    assert done.status in (1, 2)
    assert done.out == b""
    one_line(done.err)
