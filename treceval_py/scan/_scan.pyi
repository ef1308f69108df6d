from collections.abc import Mapping

from treceval_py._types import AnyArray, FloatArray, IntArray

_Bytes = bytes | memoryview

def scan(
    text: _Bytes, run: bool
) -> (
    tuple[
        int,
        int,
        IntArray,
        list[bytes],
        IntArray,
        IntArray,
        bytes,
        IntArray,
        FloatArray | None,
        IntArray | None,
        bool,
        bytes,
        bool,
        bool,
    ]
    | None
): ...
def arrow_batch(
    stream: object, numbers: dict[bytes, int], query: bytes, document: bytes, value: bytes, rank: bytes | None
) -> tuple[IntArray, IntArray, bytes, IntArray, FloatArray | IntArray, IntArray | None, bool] | None: ...
def select(text: _Bytes, parts: int, part: int) -> bytes: ...
def index(ids: _Bytes, offsets: IntArray) -> tuple[IntArray, AnyArray]: ...
def rows_of(known: _Bytes, bounds: IntArray, slots: AnyArray, ids: _Bytes, offsets: IntArray) -> IntArray: ...
def repeated(documents: _Bytes, offsets: IntArray, starts: IntArray) -> int: ...
def take(documents: _Bytes, offsets: IntArray, order: IntArray) -> tuple[bytes, IntArray]: ...
def last_lines(documents: _Bytes, offsets: IntArray, starts: IntArray) -> tuple[IntArray, IntArray, IntArray]: ...
def judge(
    documents: _Bytes,
    offsets: IntArray,
    scores: FloatArray,
    starts: IntArray,
    rows: IntArray,
    judged: _Bytes,
    judged_offsets: IntArray,
    judged_starts: IntArray,
    rels: IntArray,
    narrow: bool,
    depth: int,
    judged_only: bool,
) -> tuple[IntArray, IntArray, IntArray, IntArray, int]: ...
def judge_nested(
    judgments: dict[str, tuple[int, dict[str, int]]],
    run: Mapping[str, Mapping[str, float]],
    narrow: bool,
    depth: int,
    judged_only: bool,
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, list[str]]: ...
def joined(*columns: bytes | tuple[_Bytes, IntArray] | IntArray | FloatArray) -> memoryview: ...
