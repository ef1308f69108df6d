"""Which reader is at work, how many threads it has, and the bar for reading that takes long."""

from __future__ import annotations

import io
import random
import re
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from command import treceval
from readers import use_reader

from treceval_py import Qrels, evaluate, read_qrels, scan
from treceval_py.cli import progress
from treceval_py.cli.progress import Bar
from treceval_py.data.ranking import Ranking
from treceval_py.errors import InputError, MeasureError, TrecevalError
from treceval_py.io import source
from treceval_py.judging import streaming
from treceval_py.judging.streaming import judge_file
from treceval_py.scan import reader_name, scanner, why_python
from treceval_py.threads import in_order

QRELS = b"1 0 a 1\n2 0 c 2\n"
RUN = b"1 Q0 b 1 3.5 tag\n1 Q0 a 2 2.5 tag\n2 Q0 c 1 0.25 tag\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_bytes(QRELS)
    (tmp_path / "run").write_bytes(RUN)
    return tmp_path


# --- the reader ---


def test_the_python_reader_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    use_reader(monkeypatch, "python")
    assert (scanner(), reader_name()) == (None, "Python")
    assert treceval(["--version"]).out.endswith(b"; reader: Python, as TRECEVAL_READER is python)\n")


def test_the_compiled_reader_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("treceval_py.scan._scan", reason="the package was installed without a compiler")
    use_reader(monkeypatch, "compiled")
    assert treceval(["--version"]).out.endswith(b"; reader: compiled)\n")


def test_a_reader_that_is_none_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_reader(monkeypatch, "fast")
    done = treceval(["qrels", "run"], folder=folder)
    assert (done.status, done.out) == (1, b"")
    assert done.err == b"treceval: TRECEVAL_READER is 'fast'. Set it to python or compiled, or leave it out.\n"


@pytest.mark.parametrize(
    ("files", "why", "todo"),
    [
        (["__init__.py"], "the compiled reader was not built", "Install a wheel, or with a C compiler at hand"),
        (["_scan.x.so", "x.py"], "the compiled reader is for another Python: _scan.x.so", "Install the package again"),
    ],
)
def test_without_a_compiled_reader_it_is_clear_why(
    files: list[str], why: str, todo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "treceval_py.scan._scan", None)
    monkeypatch.setattr(scan, "_chosen", scan._chosen.__wrapped__)
    monkeypatch.setattr(scan.os, "listdir", lambda _: files)
    use_reader(monkeypatch, "")
    assert (reader_name(), why_python()) == ("Python", why)
    use_reader(monkeypatch, "compiled")
    with pytest.raises(TrecevalError) as caught:
        scanner()
    assert str(caught.value) == f"TRECEVAL_READER is compiled, but {why}. {todo}, or leave the variable out."


# --- threads ---


def test_any_number_of_threads_gives_the_same(folder: Path) -> None:
    alone = treceval(["-q", "qrels", "run"], folder=folder)
    for threads in ("1", "2", "7", "256"):
        assert treceval(["-q", "--threads", threads, "qrels", "run"], folder=folder) == alone


@pytest.mark.parametrize("threads", [0, 257])
def test_threads_are_a_number_from_1_to_256_in_python_too(threads: int, folder: Path) -> None:
    with pytest.raises(MeasureError, match=f"threads must be 1 to 256, not {threads}"):
        evaluate(folder / "qrels", folder / "run", "map", threads=threads)


def test_a_run_that_fits_in_a_piece_needs_no_thread(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Thread", lambda **_: pytest.fail("a thread was started"))
    assert evaluate(folder / "qrels", folder / "run", "map", threads=8).mean["map"] == 0.75


def test_two_threads_are_enough_to_leave_the_work_to_others() -> None:
    one, two = (set(in_order(iter(range(4)), lambda _: threading.get_ident(), threads)) for threads in (1, 2))
    assert one == {threading.get_ident()}
    assert threading.get_ident() not in two


# --- pipes ---


class Pipe(io.RawIOBase):
    """Bytes that can be read once."""

    name = "pipe"

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(memoryview(buffer)[:1000])


def scattered(queries: int, documents: int) -> bytes:
    """Return a run whose queries come one document at a time."""
    return b"".join(
        b"%d Q0 d%d %d %d t\n" % (query, document, document + 1, documents - document)
        for document in range(documents)
        for query in range(queries)
    )


def in_blocks_of(size: int, patch: pytest.MonkeyPatch) -> None:
    """Let both readers read blocks of so many bytes."""
    patch.setattr(source, "BLOCK_SIZE", size)
    patch.setattr(source, "SMALL_BLOCK_SIZE", size)


@pytest.mark.parametrize("limit", [10, 1 << 25])
def test_a_pipe_with_scattered_queries_is_read_again_from_its_copy(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "SPOOL_SIZE", limit)
    in_blocks_of(100, monkeypatch)
    qrels = read_qrels(io.BytesIO(b"0 0 d4 1\n1 0 d0 1\n"))
    judged, _ = judge_file(qrels, Pipe(scattered(2, 50)))  # type: ignore[arg-type]
    assert judged.hits.rank.tolist() == [5, 1]
    assert judged.num_ret.tolist() == [50, 50]


def test_a_pipe_of_which_no_copy_can_be_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _: Any) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", lambda _: Full())
    with pytest.raises(InputError) as caught:
        judge_file(read_qrels(io.BytesIO(QRELS)), Pipe(RUN))  # type: ignore[arg-type]
    assert str(caught.value) == (
        "pipe: there is no room for a copy of the pipe: No space left on device. Write the run to a file first."
    )


# --- scattered queries ---


def outcome_of(data: bytes, qrels: Any, **options: Any) -> Any:
    ranking = Ranking(**{name: options.pop(name) for name in Ranking._fields if name in options})
    judged, retrieved = judge_file(qrels, io.BytesIO(data), ranking=ranking, **options)
    assert retrieved.seen is not None
    facts = [*retrieved._replace(seen=None), retrieved.seen.contradicting]
    return judged.qids, [column.tolist() for column in judged.hits], judged.num_ret.tolist(), judged.tag, facts


@pytest.mark.both_readers
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("limit", [pytest.param(1, marks=pytest.mark.slow), 300, 2000, 10**6])
def test_scattered_queries_are_judged_in_any_number_of_parts(
    limit: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(limit)
    queries = 20 if limit > 1 else 6  # for a limit of a byte, the run is read again for each byte that it has
    lines = [
        b"q%d Q0 d%d %d %d t%d\n" % (query, document, rng.randrange(90), rng.randrange(9), document)
        for query in range(queries)
        for document in range(rng.randrange(1, 40))
    ]
    rng.shuffle(lines)
    data = b"# head\n" + b"\n".join(lines) + b"# end\n"
    judgments = {
        f"q{query}": {f"d{number}": number % 3 - 1 for number in range(0, 50, 3)} for query in range(0, queries, 2)
    }
    use_reader(monkeypatch, "python")
    expected = outcome_of(data, Qrels(judgments))
    assert len(expected[-1][-1]) > queries / 2
    use_reader(monkeypatch, "")
    in_blocks_of(100, monkeypatch)
    monkeypatch.setattr(streaming, "SCATTERED_SIZE", limit)
    assert outcome_of(data, Qrels(judgments), threads=threads) == expected


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 10**6])
def test_a_document_twice_in_a_scattered_query_is_found_in_any_part(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "SCATTERED_SIZE", limit)
    in_blocks_of(50, monkeypatch)
    data = scattered(5, 20) + b"3 Q0 d7 99 0.5 t\n"
    with pytest.raises(InputError) as caught:
        judge_file(Qrels({"1": {"d1": 1}}), io.BytesIO(data))
    assert str(caught.value) == (
        "<file>:101: document 'd7' occurs twice in query '3' (first on line 39). Keep one of the two lines."
    )


def test_scattered_queries_are_not_held_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("treceval_py.scan._scan", reason="the Python reader does hold them")
    use_reader(monkeypatch, "compiled")
    in_blocks_of(50, monkeypatch)
    monkeypatch.setattr(streaming, "parts_of", lambda *_: pytest.fail("the run was read as a table"))
    judged, _ = judge_file(Qrels({"1": {"d1": 1}}), io.BytesIO(scattered(5, 20)))
    assert judged.hits.rank.tolist() == [2]


@pytest.mark.parametrize("line", [b"\n", b"# nothing\n"])
def test_lines_without_data_are_not_gathered(line: bytes) -> None:
    data = RUN + line * 5000
    sizes = [len(block) for block in source.blocks(io.BytesIO(data), 1000, whole_queries=True)]
    assert sum(sizes) == len(data)
    assert max(sizes) < 2100


def test_lines_without_data_after_a_query_do_not_cut_it() -> None:
    data = b"".join(b"%d Q0 d%d 1 1 t\n" % (number // 100, number) for number in range(1000))
    data = data.replace(b"d50 ", b"d50 1 1 t\n# half\n\n\n# of it\n0 Q0 x ")
    for size in range(800, 900):
        blocks = [bytes(block) for block in source.blocks(io.BytesIO(data), size, whole_queries=True)]
        assert sum(b"\n0 Q0" in b"\n" + block for block in blocks) <= 2
        assert sum(b"\n5 Q0" in b"\n" + block for block in blocks) == 1


# --- the bar ---


class Terminal(io.StringIO):
    """A standard error that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch, patience: float) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(progress, "PATIENCE", patience)
    return stream


def text_of(stream: Terminal) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())


def test_a_bar_shows_the_file_and_how_much_of_all_files_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch, patience=-1.0)
    files = [str(folder / "run"), str(folder / "qrels")]
    bar = Bar(files)
    bar.watch(len(RUN), len(RUN))
    bar.next()
    bar.watch(len(QRELS), len(QRELS))
    bar.__exit__()
    assert files[1] in text_of(terminal)
    assert f"{len(RUN) + len(QRELS)}/{len(RUN) + len(QRELS)} bytes" in text_of(terminal)


def test_a_bar_over_a_pipe_shows_how_much_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch, patience=-1.0)
    bar = Bar(["-"])
    bar.watch(12345, None)
    bar.__exit__()
    assert "12.3/? kB" in text_of(terminal)


def test_no_bar_is_shown_for_what_takes_less_than_a_second(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch, patience=60.0)
    with progress.progress([str(folder / "run")]) as bar:
        assert bar is not None
        bar.watch(1, 2)
    assert terminal.getvalue() == ""


def test_no_bar_is_shown_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (io.StringIO(), None):
        monkeypatch.setattr("sys.stderr", stream)
        with progress.progress(["run"]) as bar:
            assert bar is None


def test_reading_tells_how_far_it_is(folder: Path) -> None:
    told: list[tuple[int, int | None]] = []
    evaluate(folder / "qrels", folder / "run", "map", watch=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(RUN), len(RUN))
    told.clear()
    evaluate(folder / "qrels", io.BytesIO(RUN), "map", watch=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(RUN), None)
