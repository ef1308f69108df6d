"""What is refused, and in which words: one line on standard error, nothing on standard output, no traceback."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from command import LINES, REFUSED, Done, table, treceval
from syrupy.assertion import SnapshotAssertion

from treceval_py.errors import InputError, brief, listed, shortened
from treceval_py.io.trec import read_trec_run as read_run

QRELS = b"1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = b"1 Q0 b 1 3.5 tag\n1 Q0 a 2 2.5 tag\n2 Q0 c 1 0.25 tag\n"
PREFS = b"1 g s a 3\n1 g s b 2\n"
MAP = "-m map qrels run"
SCORED = b"map                   \tall\t0.7500\n"  # (1/2 + 1) / 2

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
        self.write()

    def write(self, **files: bytes) -> None:
        for name, data in {"qrels": QRELS, "run": RUN, **files}.items():
            (self.path / name).write_bytes(data)

    def score(self, command: str | list[str] = MAP, **files: bytes) -> Done:
        self.write(**files)
        return treceval(command.split() if isinstance(command, str) else command, folder=self.path)

    def refused(self, command: str | list[str] = MAP, status: int = 1, **files: bytes) -> str:
        """Return the line with which a command is refused."""
        done = self.score(command, **files)
        assert (done.status, done.out) == (status, b""), command
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


# --- files that look like something else ---


JUDGED = b"1 Q0 a 1\n1 Q0 b 0\n2 Q0 c 0\n2 Q0 d 1\n"  # RR 1 and 1/2


def test_of_a_single_file_the_message_says_what_it_is_and_what_lacks(folder: Folder) -> None:
    (folder.path / "judged").write_bytes(JUDGED)
    said = folder.refused("qrels", 2)
    assert "Missing argument 'RUN [RUN…]': qrels looks like judgments. Give a run after it; or," in said
    assert folder.score("-m map qrels run").out == SCORED
    said = folder.refused("-m RR judged", 2)
    assert "or, if its lines are also the ranking, --judged-ranking judged. See" in said
    assert folder.score("-m RR --judged-ranking judged").out.split() == [b"RR", b"all", b"0.7500"]
    said = folder.refused("-m map run", 2)
    assert "Missing argument 'QRELS': run looks like a run. Give the judgments before it." in said
    for other in ("nosuch.txt", "-", "."):
        assert "Missing argument 'RUN [RUN…]'. See 'treceval score --help'." in folder.refused(other, 2)


@pytest.mark.parametrize("options", ["-m RR", "-m RR --ties", "-q -m RR --format csv"])
def test_a_judged_ranking_in_place_of_a_run_is_scored_as_the_message_says(options: str, folder: Folder) -> None:
    for name in ("judged", "again"):
        (folder.path / name).write_bytes(JUDGED)
    for runs, hint in (
        ("judged", "--judged-ranking judged"),
        ("judged again", "--judged-ranking judged --judged-ranking again"),
        ("run judged", "--judged-ranking judged"),
    ):
        said = folder.refused(f"{options} qrels {runs}")
        assert said.startswith("judged:1: these are judgments, not a run. ")
        assert said.endswith(f"If its lines are also a ranking, score it without QRELS: treceval {hint}.")
        done = folder.score(f"-m RR --format csv {hint}")
        assert done.status == 0
        assert b"0.75" in done.out


def test_a_run_with_a_wrong_line_is_not_taken_for_judgments(folder: Folder) -> None:
    said = folder.refused("-m RR qrels run", run=RUN + b"2 Q0 c 1\n")
    assert said.startswith("run:4: 4 fields, ")
    assert "--judged-ranking" not in said


# --- files ---


def utf_16(text: bytes, encoding: str = "utf-16") -> bytes:
    return text.decode().encode(encoding)


def second_score(text: str) -> bytes:
    return RUN.replace(b"2.5", text.encode())


def second_judgment(text: str) -> bytes:
    return QRELS.replace(b"b 0", b"b " + text.encode())


SCORES = """nan NaN -nan +NAN high 0x10 1.2.3 1e --1 1f nan(0) ٣ None 2,5 -,5 1,5e3 +1,5E-3 1,5e ,  1,2,3 1_0 1_000.5
1e999 -1e999 1e0400 1.7976931348623159e308"""
JUDGMENTS = """0.5 1.0 x yes 1e0 0x1 1_0 1,0 + nan inf ٣ 9223372036854775808 -9223372036854775809
9999999999999999999999999"""
MARK = b"\xef\xbb\xbf"

WRONG: dict[str, tuple[str, bytes]] = {
    **{name: (place, text.encode()) for name, (place, text) in REFUSED["wrong"].items()},
    "UTF-16 with a mark": ("run", utf_16(RUN)),
    "UTF-16 of the other byte order": ("run", b"\xfe\xff" + utf_16(RUN, "utf-16-be")),
    "UTF-16 without a mark, little end first": ("run", utf_16(RUN, "utf-16-le")),
    "UTF-16 without a mark, big end first": ("run", utf_16(RUN, "utf-16-be")),
    "judgments in UTF-16": ("qrels", utf_16(QRELS)),
    "compressed UTF-16": ("run", gzip.compress(utf_16(RUN))),
    "a program": ("run:1", b"\x7fELF\2\1\1\0\0\0\0\0" + bytes(range(256))),
    "a NumPy array": ("run", b"\x93NUMPY\1\0\x14\0\0\0\10\0"),
    "gzip data cut off": ("run:4", gzip.compress(RUN)[:-9]),
    "bytes that are not UTF-8": ("run:2", b"1 Q0 a 1 1 t\nq\xff Q0 a 1 \xe9 t\n"),
    **{f"score {text}": ("run:2", second_score(text)) for text in SCORES.split()},
    **{f"judgment {text}": ("qrels:2", second_judgment(text)) for text in JUDGMENTS.split()},
    "a judgment of 5,000 digits": ("qrels:2", second_judgment("9" * 5000)),
    "a field of 80 bytes": ("run:2", second_score("x" * 80)),
    "a field of 81 bytes": ("run:2", second_score("x" * 81)),
}
"""Files that are refused: where, and what they hold."""


def test_a_wrong_file_is_refused_with_its_line(folder: Folder, snapshot: SnapshotAssertion) -> None:
    found = {name: folder.refused(**{place.split(":")[0]: data}) for name, (place, data) in WRONG.items()}
    assert {name: line for name, line in found.items() if not line.startswith(f"{WRONG[name][0]}: ")} == {}
    assert table(found) == snapshot


RIGHT: dict[str, dict[str, bytes]] = {
    "tags with spaces": {"run": RUN.replace(b"tag", b"my best run")},
    "byte-order marks": {"run": MARK + RUN, "qrels": MARK + QRELS},
    "gzip": {"run": gzip.compress(RUN), "qrels": gzip.compress(QRELS)},
    "a document of two queries": {"run": RUN + b"2 Q0 a 2 0.1 tag\n", "qrels": QRELS + b"2 0 a 0\n"},
    "scores in full": {"run": RUN.replace(b"3.5", b"1.7976931348623157e308").replace(b"2.5", b"-1e-999")},
    "infinite scores": {"run": RUN.replace(b"3.5", b"+Infinity").replace(b"2.5", b"-inf")},
    "judgments in full": {"qrels": second_judgment("-9223372036854775808") + b"3 0 c 9223372036854775807\n"},
    "a judgment with a sign and 5,000 zeros": {"qrels": QRELS.replace(b"a 1", b"a +" + b"0" * 5000 + b"1")},
    "judgments in Windows line ends": {"qrels": QRELS.replace(b"\n", b"\r\n")},
}


def test_what_is_no_damage_is_scored_without_a_word(folder: Folder) -> None:
    found = {name: folder.score("-m map qrels run", **files) for name, files in RIGHT.items()}
    missing = {name: done for name, done in found.items() if b"judged query is missing" in done.err}
    assert list(missing) == ["judgments in full"]
    assert {name: done for name, done in found.items() if done != (0, SCORED, b"") and name not in missing} == {}
    assert missing["judgments in full"].out == SCORED


@pytest.mark.parametrize("name", PACKERS)
def test_compressed_data_that_is_cut_off_is_never_half_a_run(name: str) -> None:
    packed = PACKERS[name](RUN)
    for length in range(6, len(packed)):
        with pytest.raises(InputError, match=r"^<file>:[1-4]: the compressed data is damaged or cut off \("):
            read_run(io.BytesIO(packed[:length]))


def test_an_id_that_is_long_is_not_shown_whole(folder: Folder) -> None:
    """Wherever it turns up: twice in a group, in no file of the two, missing, or as a field."""
    long = b"x" * 100_000
    assert len(folder.refused("-R qrels_jg -m map_avgjg qrels run", qrels=(b"1 g " + long + b" 1\n") * 2)) < 300
    assert len(folder.refused(run=long + b" Q0 a 1 1.0 t\n")) < 400
    assert len(folder.refused(run=RUN.replace(b"2.5", long))) < 400
    done = folder.score(qrels=QRELS + long + b" 0 a 1\n")
    assert (done.status, len(done.err) < 400) == (0, True)


def test_text_of_messages_is_cut_just_beyond_its_length() -> None:
    """The middle goes of a message, the end of what a line shows, the last of a list."""
    assert shortened("a" * 600) == "a" * 600
    assert shortened("a" * 300 + "b" * 301) == "a" * 299 + "…" + "b" * 299
    assert shortened("\a" * 150) == r"\x07" * 150  # 600 characters, once visible
    assert shortened("\a" * 151) == (r"\x07" * 151)[:299] + "…" + (r"\x07" * 151)[-299:]
    assert (brief("a" * 50), brief("a" * 51)) == ("a" * 50, "a" * 49 + "…")
    assert listed("abcdef") == "a, b, c, d, e, f"
    assert listed("abcdefgh") == "a, b, c, d, e, f, and 2 more"
    assert listed(["a" * 51]) == "a" * 49 + "…"
    name = "n" * 201
    assert str(InputError("bad", file=name[1:], line=1)) == f"{name[1:]}:1: bad."
    assert str(InputError("bad", "Do.", file=name)) == f"{'n' * 99}…{'n' * 99}: bad. Do."


# --- the two files, and what kind they are ---

PREFERRED = "-R prefs -m prefs qrels run"
SWAPPED_RUN = "this is a run, not judgments. Are the two files swapped? The order is QRELS RUN."

KINDS = (
    "prefs_simp of qrels",
    "map_avgjg of qrels",
    "map of qrels_jg",
    "map of qrels_prefs",
    "map_avgjg of qrels_prefs",
)
WRONG_FILES: dict[str, dict[str, str]] = {
    **REFUSED["wrong_files"],
    "a name that is too long": {"at": "./" + "x" * 97, "command": "qrels ./" + "x" * 300},
    **{
        f"level {text}": {"at": "qrels:2", "command": PREFERRED, "qrels": PREFS.decode().replace("2", text)}
        for text in ("nan", "x", "1,5", "1e999", "1_0")
    },
    **{name: {"at": "qrels:", "command": "-m {} -R {} qrels run".format(*name.split(" of "))} for name in KINDS},
}
"""Commands that are refused with status 1: the file and its line, the command, and the files."""


def test_a_wrong_file_is_refused_by_its_own_name(folder: Folder, snapshot: SnapshotAssertion) -> None:
    found = {}
    for name, case in WRONG_FILES.items():
        files = {file: text.encode() for file, text in case.items() if file not in ("at", "command")}
        found[name] = folder.refused(case["command"], **files)
    assert {name: line for name, line in found.items() if not line.startswith(WRONG_FILES[name]["at"])} == {}
    assert table(found) == snapshot


def test_names_of_files_are_shown_in_printable_characters(folder: Folder) -> None:
    names = {"a\nb\x1b[1m.x": "a\\nb\\x1b[1m.x", os.fsdecode(b"./r\xff"): "./r\\xff"}
    for name, shown in names.items():
        assert folder.refused(["qrels", name]) == f"{shown}: no such file. Check the name."


@pytest.mark.parametrize("name", PACKERS)
def test_swapped_files_are_named_as_such_when_compressed(name: str, folder: Folder) -> None:
    assert folder.refused("run qrels", qrels=PACKERS[name](QRELS), run=PACKERS[name](RUN)).endswith(SWAPPED_RUN)


def test_swapped_files_are_named_as_such_in_every_format(folder: Folder) -> None:
    for form, measure in {"qrels_jg": "qrels_jg", "prefs": "prefs", "qrels_prefs": "prefs"}.items():
        assert folder.refused(f"-R {form} -m {measure} run qrels").endswith(SWAPPED_RUN)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(folder: Folder) -> None:
    (folder.path / "run").chmod(0)
    done = treceval(MAP.split(), folder=folder.path)
    assert done == (1, b"", b"run: cannot be opened: Permission denied. Check the file.\n")


def test_a_file_that_fails_while_it_is_read_is_refused() -> None:
    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    class Failing:
        read = staticmethod(fail)

    with pytest.raises(InputError) as caught:
        read_run(Failing())  # type: ignore[arg-type]
    assert str(caught.value) == "<file>: cannot be read: Input/output error. Check the file."


# --- usage ---

USAGE = LINES["refused"]
"""Commands that are refused before any file is read."""

ACCEPTED = LINES["accepted"]
"""Their neighbours."""


def test_a_wrong_command_is_refused_with_what_is_wrong_about_it(folder: Folder, snapshot: SnapshotAssertion) -> None:
    lines = {command: folder.refused(command, status=2) for command in ["", *USAGE]}
    assert table({repr(command)[1:-1]: line for command, line in lines.items()}) == snapshot


def test_commands_at_the_edge_of_what_is_refused_are_accepted(folder: Folder) -> None:
    folder.write(other=RUN.replace(b"tag", b"other"))
    found = {command: treceval(command.split(), folder=folder.path) for command in ACCEPTED}
    assert {command: done.err for command, done in found.items() if done.status} == {}


# --- numbers at the edge of their types ---


def test_levels_beyond_32_bits_are_ranked_without_a_warning(folder: Folder) -> None:
    prefs = b"1 g s a 1e300\n1 g s b 2\n"
    run = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n"
    command = "--profile trec_eval-9 -R prefs -m prefs_simp qrels run"
    assert folder.score(command, qrels=prefs, run=run) == (0, b"prefs_simp            \tall\t1.0000\n", b"")


def test_judgments_of_64_bits_are_scored_without_a_warning(folder: Folder) -> None:
    qrels = b"1 0 a 9223372036854775807\n1 0 b -9223372036854775808\n1 0 c 4294967296\n2 0 a 64\n2 0 b 2000\n"
    run = b"1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n1 Q0 c 3 1 t\n2 Q0 b 1 1 t\n"
    for measure in ("all_trec", "G", "ndcg", "Rndcg"):
        done = folder.score(f"-q -l 0 -m {measure} qrels run", qrels=qrels, run=run)
        assert (done.status, done.err) == (0, b""), measure


# --- notes ---

MORE = QRELS + b"3 0 a 1\n4 0 a 1\n5 0 a 1\n"
NOTES: dict[str, tuple[str, bytes, str, dict[str, bytes]]] = {
    "queries missing and not judged": (
        "-m map qrels run",
        SCORED,
        "4 judged queries are missing (3, 4, 5, …), and left out|1 query of the run has no judgments (9)",
        {"qrels": MORE + b"6 0 a 1\n", "run": RUN + b"9 Q0 a 1 1 t\n"},
    ),
    "three queries missing": ("-m map qrels run", SCORED, "3 judged queries are missing (3, 4, 5)", {"qrels": MORE}),
    "a query that counts as empty": (
        "-c -m map qrels run",
        b"map                   \tall\t0.5000\n",  # (1/2 + 1 + 0) / 3
        "1 judged query is missing (3), and counts as an empty ranking",
        {"qrels": QRELS + b"3 0 a 1\n"},
    ),
    "no judged query, where it counts": (
        "-c -m map qrels run",
        b"map                   \tall\t0.0000\n",
        "no query of the run is judged|2 judged queries are missing (1, 2), and count|1 query of the run",
        {"run": b"9 Q0 a 1 1 t\n"},
    ),
    "control characters of ids": (
        "-m map qrels run",
        SCORED,
        r"missing (\x1b[31m)|no judgments (q\xff\x07)",
        {"qrels": QRELS + b"\x1b[31m 0 a 1\n", "run": RUN + b"q\xff\x07 Q0 a 1 1 t\n"},
    ),
}


def test_queries_that_are_missing_or_not_judged_are_noted(folder: Folder, snapshot: SnapshotAssertion) -> None:
    found = {name: folder.score(command, **files) for name, (command, _, _, files) in NOTES.items()}
    for name, done in found.items():
        assert (done.status, done.out) == (0, NOTES[name][1]), name
        said, expected = done.err.decode().splitlines(), NOTES[name][2].split("|")
        assert [text in line for line, text in zip(said, expected, strict=True)] == [True] * len(said), name
    assert table({name: done.err.decode() for name, done in found.items()}) == snapshot


# --- output ---

full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")


@full
def test_output_to_a_full_disk_is_refused(folder: Folder) -> None:
    assert folder.refused("-o /dev/full qrels run") == (
        "/dev/full: cannot be written: No space left on device. Check the folder and the space left."
    )


def test_an_output_file_stays_as_it_was_when_the_run_is_refused(folder: Folder) -> None:
    folder.refused("-o out qrels run", out=b"as before", run=b"x\n")
    assert (folder.path / "out").read_bytes() == b"as before"
    assert sorted(os.listdir(folder.path)) == ["out", "qrels", "run"]


def test_output_to_a_file_leaves_standard_output_empty(folder: Folder) -> None:
    done = folder.score("-m map -o out qrels run")
    assert (done, (folder.path / "out").read_bytes()) == ((0, b"", b"written: out\n"), SCORED)


# --- how the process ends ---


def shell(folder: Folder, line: str) -> tuple[int, str, str]:
    """Run a line of shell in which ``$T`` is the program."""
    environment = {**os.environ, "PYTHON": sys.executable}
    command = 'T="$PYTHON -m treceval_py"; ' + line
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder.path, env=environment, capture_output=True, check=False, timeout=60
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


NOPE = "nope.txt: no such file. Check the name.\n"
SHELL: dict[str, tuple[str, tuple[int, str, str]]] = {
    "bad data": ("$T qrels nope.txt", (1, "", NOPE)),
    "bad usage": (
        "$T -m bad qrels run",
        (2, "", "treceval: unknown measure 'bad'. 'treceval measures' lists them all.\n"),
    ),
    "standard output that is closed": (
        "$T qrels run >&-",
        (1, "", "treceval: standard output is closed. Use -o FILE.\n"),
    ),
    "output to a file needs no standard output": (
        "$T -m map -o out qrels run >&-; cat out",
        (0, SCORED.decode(), "written: out\n"),
    ),
    "an error needs no standard output": ("$T qrels nope.txt >&-", (1, "", NOPE)),
    "an error needs no standard error": ("$T qrels nope.txt 2>&-", (1, "", "")),
    "standard input that is closed": (
        "$T qrels - <&-",
        (1, "", "<stdin>: standard input is closed. Give a file instead of '-'.\n"),
    ),
    "files need no standard input": ("$T -m map qrels run <&-", (0, SCORED.decode(), "")),
    "messages need no locale": (
        "echo '1 Q0 é 1 é t' >run; LC_ALL=C PYTHONUTF8=0 PYTHONIOENCODING=ascii $T qrels run",
        (1, "", "run:1: score 'é' is not a number, and trec_eval reads 0. Write it as 12, 12.5 or 1.25e1.\n"),
    ),
    "the first line of a long output": (
        "for i in $(seq 3000); do echo $i 0 a 1; done >long; sed 's/a 1/a 1 1 t/' long >run; $T -q long run | head -1",
        (0, "num_ret               \t1\t1\n", ""),
    ),
}


@pytest.mark.parametrize("name", SHELL)
def test_the_process_ends_with_a_status_and_one_line(name: str, folder: Folder) -> None:
    line, expected = SHELL[name]
    assert shell(folder, line) == expected


@full
@pytest.mark.parametrize("command", ["qrels run", "--help", "--version", "measures", "measures map"])
def test_standard_output_on_a_full_disk_is_refused(command: str, folder: Folder) -> None:
    status, out, err = shell(folder, f"$T {command} >/dev/full")
    assert (status, out) == (1, "")
    assert "No space left on device" in one_line(err.encode())


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


# --- what trec_eval refuses ---


def test_what_trec_eval_refuses_is_refused_in_one_line(tmp_path: Path) -> None:
    recorded = gzip.decompress((HERE.parent / "conformance" / "trec_eval.jsonl.gz").read_bytes()).splitlines()
    cases = [case for case in map(json.loads, recorded) if case["expect"] == "refuse"]
    found = {}
    for case in cases:
        for name, text in case["files"].items():
            (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        done = treceval(case["args"], stdin=case.get("stdin", "").encode(), folder=tmp_path)
        found[case["id"]] = done.status, done.out
        one_line(done.err)
        for name in case["files"]:
            (tmp_path / name).unlink()
    assert {name: ended for name, ended in found.items() if ended not in ((1, b""), (2, b""))} == {}
    assert len(found) == 77
