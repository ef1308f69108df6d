# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The text scanner: converts blocks of lines to columns, and judges columns, without Python objects in between.

It handles plain lines only. If a block contains anything else (a wrong number of fields, a number that only `float` or
`int` can decide, a NUL byte), `scan` returns None and the Python reader, which defines the behaviour, reads that block.
So no message is worded here.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memchr, memcmp, memcpy, strchr, strcmp

# Functions import NumPy, so that the version of the reader is told without it.

cdef extern from *:
    """
    #include <float.h>
    #include <stdint.h>

    /* The 128 bits of a product of two 64-bit numbers. */
    #if defined(__SIZEOF_INT128__)
    static inline uint64_t multiply(uint64_t a, uint64_t b, uint64_t *high) {
        unsigned __int128 product = (unsigned __int128)a * b;
        *high = (uint64_t)(product >> 64);
        return (uint64_t)product;
    }
    #else
    static inline uint64_t multiply(uint64_t a, uint64_t b, uint64_t *high) {
        uint64_t al = a & 0xFFFFFFFFu, ah = a >> 32, bl = b & 0xFFFFFFFFu, bh = b >> 32;
        uint64_t low = al * bl, cross = ah * bl + (low >> 32), other = al * bh + (cross & 0xFFFFFFFFu);
        *high = ah * bh + (cross >> 32) + (other >> 32);
        return (other << 32) | (low & 0xFFFFFFFFu);
    }
    #endif

    /* If intermediate results are wider than a double, products of doubles are rounded twice. */
    #if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    #define DOUBLES_ARE_DOUBLES 1
    #else
    #define DOUBLES_ARE_DOUBLES 0
    #endif

    /* Odd numbers without a pattern, to spread bits by multiplication. */
    #define SPREAD_ONE UINT64_C(0x9E3779B97F4A7C15)
    #define SPREAD_TWO UINT64_C(0xA0761D6478BD642F)
    """
    uint64_t multiply(uint64_t a, uint64_t b, uint64_t *high) noexcept nogil
    bint DOUBLES_ARE_DOUBLES
    uint64_t SPREAD_ONE
    uint64_t SPREAD_TWO

cdef extern from "Python.h":
    double PyOS_string_to_double(const char *text, char **end, void *overflow) except? -1.0


# -- bytes -------------------------------------------------------------------------------------------------------

cdef uint8_t WHITE[256]
"""The bytes that C's isspace and bytes.split treat as white space."""
for _code in range(256):
    WHITE[_code] = bytes([_code]).isspace()

cdef enum:
    NEWLINE = 10
    RETURN = 13
    SPACE = 32
    HASH = 35
    PLUS = 43
    MINUS = 45
    POINT = 46
    SMALL_E = 101


cdef inline const uint8_t *past_field(const uint8_t *at) noexcept nogil:
    """Return the white byte after a field. There is one, because every line ends with a newline."""
    while True:
        while at[0] > SPACE:
            at += 1
        if WHITE[at[0]]:
            return at
        at += 1


cdef inline const uint8_t *past_white(const uint8_t *at) noexcept nogil:
    """Return the next field of the line, or the newline."""
    while WHITE[at[0]] and at[0] != NEWLINE:
        at += 1
    return at


cdef int64_t newlines(const uint8_t *at, const uint8_t *end) noexcept nogil:
    cdef int64_t count = 0
    while at < end:
        count += at[0] == NEWLINE
        at += 1
    return count


# -- numbers -----------------------------------------------------------------------------------------------------

cdef enum:
    MOST_POWER = 120  # beyond this, the general conversion is used
    MOST_DIGITS = 18  # of a whole number that certainly fits in 64 bits

cdef double EXACT[23]  # the powers of ten that a double holds exactly
cdef uint64_t FIVE_HIGH[2 * MOST_POWER + 1]
cdef uint64_t FIVE_LOW[2 * MOST_POWER + 1]
cdef int32_t FIVE_EXPONENT[2 * MOST_POWER + 1]

for _power in range(23):
    EXACT[_power] = float(10**_power)


def _fill_powers():
    """For each power of ten, find a 128-bit P and an e such that P <= 10**power / 2**e < P + 1."""
    for power in range(-MOST_POWER, MOST_POWER + 1):
        if power >= 0:
            number = 10**power
            exponent = number.bit_length() - 128
            leading = number >> exponent if exponent >= 0 else number << -exponent
        else:
            number = 10**-power
            exponent = -(number.bit_length() - 1) - 128
            leading = (1 << -exponent) // number
            if leading.bit_length() > 128:
                leading >>= 1
                exponent += 1
        FIVE_HIGH[power + MOST_POWER] = leading >> 64
        FIVE_LOW[power + MOST_POWER] = leading & 0xFFFFFFFFFFFFFFFF
        FIVE_EXPONENT[power + MOST_POWER] = exponent


_fill_powers()


cdef bint nearest(uint64_t digits, int64_t power, double *value) noexcept nogil:
    """Find the double nearest to digits * 10**power; False if 128 bits do not decide it. ``digits`` is not 0."""
    cdef uint64_t wide = digits, high, low, middle, carry, mantissa, rest_high, half
    cdef int64_t shift = 0, exponent
    cdef int cut
    cdef union_double scale
    if power < -MOST_POWER or power > MOST_POWER:
        return False
    while not wide >> 56:
        wide <<= 8
        shift += 8
    while not wide >> 63:
        wide <<= 1
        shift += 1
    # X = wide * P / 2**64, rounded down. P is too small by less than 1, so the true product lies in [X, X + 2).
    low = multiply(wide, FIVE_HIGH[power + MOST_POWER], &high)
    multiply(wide, FIVE_LOW[power + MOST_POWER], &carry)
    low += carry
    high += low < carry
    # Its leading 53 bits are the mantissa; the rest decides the rounding, unless it is within 2 of a half.
    cut = 11 if high >> 63 else 10
    mantissa = high >> cut
    rest_high = high & ((<uint64_t>1 << cut) - 1)
    half = <uint64_t>1 << (cut - 1)
    if rest_high == half - 1 and low >= <uint64_t>-2:
        return False
    if rest_high == half and low == 0:
        return False
    if rest_high >= half:
        mantissa += 1
    exponent = FIVE_EXPONENT[power + MOST_POWER] - shift + 64 + 64 + cut
    scale.bits = <uint64_t>(exponent + 1023) << 52
    value[0] = <double>mantissa * scale.number
    return True


cdef union union_double:
    uint64_t bits
    double number


cdef double general(const uint8_t *start, const uint8_t *end, bint *bad) noexcept nogil:
    """Parse a number as `float` does, with the same function; faster code handles most numbers."""
    cdef char copy[512]
    cdef double value = 0.0
    if end - start >= 512:
        bad[0] = True
        return value
    memcpy(copy, start, end - start)
    copy[end - start] = 0
    with gil:
        try:
            value = PyOS_string_to_double(copy, NULL, NULL)
        except (ValueError, MemoryError):
            # No exception may leave this function. The Python reader converts the text again and raises the error.
            bad[0] = True
    # An infinite result means too large, which the Python reader reports; a written infinity does not come here.
    if value == INFINITY or value == -INFINITY:
        bad[0] = True
    return value


cdef inline bint same_letters(const uint8_t *at, const char *word, int length) noexcept nogil:
    cdef int position
    for position in range(length):
        if (at[position] | 32) != <uint8_t>word[position]:
            return False
    return True


cdef struct Decimal:
    uint64_t digits  # the first 19 significant digits
    int64_t power  # the value is digits * 10**power, or larger if it is not exact
    int32_t significant
    bint exact


cdef inline const uint8_t *past_digits(const uint8_t *at, Decimal *to, bint fraction) noexcept nogil:
    """Add the digits before or after the point; return the position after them."""
    cdef uint8_t digit
    while True:
        digit = at[0] - 48
        if digit > 9:
            return at
        at += 1
        if to.significant < 19:
            to.digits = to.digits * 10 + digit
            to.significant += to.digits != 0
            to.power -= fraction
        else:
            to.power += not fraction
            to.exact &= digit == 0


cdef inline const uint8_t *past_whole(const uint8_t *at, uint64_t *digits) noexcept nogil:
    """Parse digits; return the position after them. Beyond MOST_DIGITS the number may be wrong."""
    cdef uint8_t digit
    digits[0] = 0
    while True:
        digit = at[0] - 48
        if digit > 9:
            return at
        digits[0] = digits[0] * 10 + digit
        at += 1


cdef inline const uint8_t *past_exponent(const uint8_t *at, Decimal *to) noexcept nogil:
    """Add the exponent after the letter e; return the position after it, or NULL if there is none."""
    cdef const uint8_t *first
    cdef uint64_t digits
    cdef int64_t exponent
    cdef bint negative = at[0] == MINUS
    if at[0] == MINUS or at[0] == PLUS:
        at += 1
    first = at
    at = past_whole(at, &digits)
    # An exponent too long to parse is beyond MOST_POWER, so the general conversion parses the text.
    exponent = <int64_t>digits if at - first <= MOST_DIGITS else 10 * MOST_POWER
    to.power += -exponent if negative else exponent
    return at if at > first else NULL


cdef inline const uint8_t *number(const uint8_t *at, double *value, bint *bad) noexcept nogil:
    """Parse a float; return the position after it, which is white unless this is not a plain number (``bad``)."""
    cdef const uint8_t *start = at
    cdef const uint8_t *first
    cdef Decimal found = Decimal(0, 0, 0, True)
    cdef bint negative = at[0] == MINUS, written
    if at[0] == MINUS or at[0] == PLUS:
        at += 1
    first = at
    at = past_digits(at, &found, False)
    written = at > first
    if at[0] == POINT:
        first = at + 1
        at = past_digits(first, &found, True)
        written |= at > first
    elif not written and infinite(at):
        value[0] = -INFINITY if negative else INFINITY
        return past_field(at)
    if written and (at[0] | 32) == SMALL_E:
        at = past_exponent(at + 1, &found)
    if at == NULL or not written or not WHITE[at[0]]:
        bad[0] = True
        return past_field(start)
    if found.digits == 0:
        value[0] = 0.0
    elif not rounded(&found, value):
        value[0] = general(start, at, bad)
        return at
    if negative:
        value[0] = -value[0]
    return at


cdef inline bint rounded(const Decimal *found, double *value) noexcept nogil:
    """Find the double nearest to a decimal; False if that needs the general conversion."""
    cdef double other
    if DOUBLES_ARE_DOUBLES and found.exact and -22 <= found.power <= 22 and found.digits <= (<uint64_t>1 << 53):
        # Both are exact as doubles, so one operation rounds once.
        if found.power < 0:
            value[0] = <double>found.digits / EXACT[-found.power]
        else:
            value[0] = <double>found.digits * EXACT[found.power]
        return True
    if not nearest(found.digits, found.power, value):
        return False
    # More digits follow: the value lies between this one and the next.
    return found.exact or (nearest(found.digits + 1, found.power, &other) and other == value[0])


cdef inline bint infinite(const uint8_t *at) noexcept nogil:
    """Return whether a field is a word for infinity."""
    cdef int64_t length = past_field(at) - at
    return (length == 3 and same_letters(at, "inf", 3)) or (length == 8 and same_letters(at, "infinity", 8))


cdef inline const uint8_t *integer(const uint8_t *at, int64_t *value, int *kind) noexcept nogil:
    """Parse a whole number of at most 18 digits; ``kind`` is 0 for those, 1 for longer ones, 2 for anything else."""
    cdef const uint8_t *start
    cdef uint64_t digits
    cdef bint negative = at[0] == MINUS
    if at[0] == MINUS or at[0] == PLUS:
        at += 1
    start = at
    at = past_whole(at, &digits)
    kind[0] = 0
    if at == start or not WHITE[at[0]]:
        kind[0] = 2
        at = past_field(at)
    elif at - start > MOST_DIGITS:
        kind[0] = 1
    value[0] = <int64_t>(0 - digits if negative else digits)
    return at


# -- hash tables -----------------------------------------------------------------------------------------------

cdef struct Slot:
    uint64_t hash
    int32_t entry
    uint32_t round  # the round that filled the slot; slots of other rounds are free

cdef struct Table:
    Slot *slots
    uint64_t mask
    uint32_t round

cdef uint64_t SEED = hash("treceval") & 0xFFFFFFFFFFFFFFFF
"""Differs between processes, so that nobody can construct documents that all fall into one slot."""


cdef inline uint64_t fold(uint64_t a, uint64_t b) noexcept nogil:
    cdef uint64_t high, low
    low = multiply(a, b, &high)
    return high ^ low


cdef inline uint64_t hashed(const uint8_t *at, int64_t length) noexcept nogil:
    cdef uint64_t state = SEED ^ <uint64_t>length, part
    cdef uint32_t four, last
    while length > 8:
        memcpy(&part, at, 8)
        state = fold(state ^ part, SPREAD_ONE)
        at += 8
        length -= 8
    if length >= 4:
        memcpy(&four, at, 4)
        memcpy(&last, at + length - 4, 4)
        part = (<uint64_t>four << 32) | last
    elif length > 0:
        part = (<uint64_t>at[0] << 16) | (<uint64_t>at[length >> 1] << 8) | at[length - 1]
    else:
        part = 0
    return fold(state ^ part, SPREAD_TWO)


cdef bint make_room(Table *table, int64_t entries) noexcept nogil:
    """Ensure that the table is at most half full with this number of entries; False if memory runs out."""
    cdef uint64_t size = 64
    while size < 2 * <uint64_t>entries:
        size *= 2
    if table.slots != NULL and size <= table.mask + 1 and table.round != <uint32_t>-1:
        table.round += 1
        return True
    free(table.slots)
    table.slots = <Slot *>calloc(size, sizeof(Slot))
    table.mask = size - 1
    table.round = 1
    return table.slots != NULL


cdef inline void keep(Table *table, uint64_t key, int64_t entry) noexcept nogil:
    """Insert an entry that is known not to be in the table."""
    cdef uint64_t place = key & table.mask
    while table.slots[place].round == table.round:
        place = (place + 1) & table.mask
    table.slots[place] = Slot(key, <int32_t>entry, table.round)


# -- text to columns ---------------------------------------------------------------------------------------------

cdef struct Columns:
    int64_t rows
    int64_t queries
    int64_t stretches
    int64_t skipped
    int64_t *query_start  # the first position of each query's id in the text, and its length
    int64_t *query_length
    int64_t *stretch_query  # the query of each stretch of consecutive rows with the same query, and its first row
    int64_t *first_row
    Table table
    int64_t *skips  # the number of rows before each skipped line
    uint8_t *documents
    int64_t *offsets
    double *scores
    int64_t *whole  # ranks of a run, judgments of qrels
    int64_t tag_start
    int64_t tag_length
    bint ranked  # whether the rank column has only whole numbers
    bint ordered  # whether it agrees with the scores
    bint retagged  # whether tags differ
    bint spaced  # whether a tag has spaces


cdef int64_t numbered(Columns *to, const uint8_t *text, const uint8_t *query, int64_t length) noexcept nogil:
    """Return the number of a query, a new one if it was not seen before; -1 if memory runs out."""
    cdef uint64_t key = hashed(query, length), place
    cdef int64_t number
    cdef Slot *slot
    if to.queries == 0 or 2 * <uint64_t>to.queries > to.table.mask:
        if not make_room(&to.table, 4 * to.queries):
            return -1
        for number in range(to.queries):
            place = hashed(text + to.query_start[number], to.query_length[number])
            keep(&to.table, place, number)
    place = key & to.table.mask
    while True:
        slot = &to.table.slots[place]
        if slot.round != to.table.round:
            break
        if slot.hash == key and to.query_length[slot.entry] == length \
                and memcmp(text + to.query_start[slot.entry], query, length) == 0:
            return slot.entry
        place = (place + 1) & to.table.mask
    number = to.queries
    slot[0] = Slot(key, <int32_t>number, to.table.round)
    to.query_start[number] = query - text
    to.query_length[number] = length
    to.queries += 1
    return number


cdef bint any_numeric(const uint8_t *at, const uint8_t *end) noexcept nogil:
    """Return whether a field of the rest of a line looks like a number: has digits and what numbers also have."""
    cdef bint numeric, digits
    while at < end:
        numeric = True
        digits = False
        while not WHITE[at[0]]:
            digits |= <uint8_t>(at[0] - 48) <= 9
            numeric &= <uint8_t>(at[0] - 48) <= 9 or PLUS <= at[0] <= POINT or (at[0] | 32) == SMALL_E
            at += 1
        if numeric and digits:
            return True
        at = past_white(at)
    return False


cdef bint fill(const uint8_t *text, const uint8_t *end, bint run, Columns *to) noexcept nogil:
    """Split lines into columns; False if they are not plain. ``text`` ends with a newline."""
    cdef const uint8_t *at = text
    cdef const uint8_t *line
    cdef const uint8_t *begin
    cdef const uint8_t *query = NULL
    cdef const uint8_t *tag = NULL
    cdef int64_t query_length = -1, tag_length = -1, length, row = 0, used = 0
    cdef int64_t rank = 0, rank_before = 0
    cdef double score = 0.0, score_before = 0.0
    cdef int kind = 0
    cdef bint bad = False, same
    while at < end:
        line = at
        at = past_white(at)
        if at[0] == NEWLINE or at[0] == HASH:
            to.skips[to.skipped] = row
            to.skipped += 1
            at = <const uint8_t *>memchr(at, NEWLINE, end - at) + 1
            continue
        # The query is mostly the same as on the previous line.
        same = end - at > query_length and query_length > 0 and WHITE[at[query_length]] \
            and memcmp(at, query, query_length) == 0
        if same:
            at += query_length
        else:
            begin = at
            at = past_field(at)
            query = begin
            query_length = at - begin
            to.stretch_query[to.stretches] = numbered(to, text, query, query_length)
            if to.stretch_query[to.stretches] < 0:
                return False
            to.first_row[to.stretches] = row
            to.stretches += 1
        at = past_white(at)
        if at[0] == NEWLINE:
            return False
        at = past_white(past_field(at))
        if at[0] == NEWLINE:
            return False
        begin = at
        at = past_field(at)
        length = at - begin
        if length <= 16 and end - begin >= 16:
            memcpy(to.documents + used, begin, 16)
        else:
            memcpy(to.documents + used, begin, length)
        used += length
        to.offsets[row + 1] = used
        at = past_white(at)
        if at[0] == NEWLINE:
            return False
        at = integer(at, &rank, &kind)
        to.whole[row] = rank
        if kind == 1:
            return False
        if run:
            if kind == 2:
                to.ranked = False
            at = past_white(at)
            if at[0] == NEWLINE:
                return False
            at = number(at, &score, &bad)
            if bad:
                return False
            to.scores[row] = score
            if same and (rank <= rank_before or score > score_before):
                to.ordered = False
            rank_before = rank
            score_before = score
            at = past_white(at)
            if at[0] == NEWLINE:
                return False
            if tag_length > 0 and end - at > tag_length and at[tag_length] == NEWLINE \
                    and memcmp(at, tag, tag_length) == 0:
                tag = at
                at += tag_length
            else:
                begin = at
                at = past_field(at)
                if tag_length >= 0 and (at - begin != tag_length or memcmp(begin, tag, tag_length) != 0):
                    to.retagged = True
                tag = begin
                tag_length = at - tag
                at = past_white(at)
                if at[0] != NEWLINE:
                    to.spaced = True
                    # More fields may follow, unless a carriage return or a number shows that the tag does not begin here.
                    begin = <const uint8_t *>memchr(at, NEWLINE, end - at)
                    if any_numeric(tag, begin):
                        return False
                    at = begin
                    while WHITE[(begin - 1)[0]]:
                        begin -= 1
                    while WHITE[line[0]]:
                        line += 1
                    if memchr(line, RETURN, begin - line) != NULL:
                        return False
        else:
            if kind == 2:
                return False
            at = past_white(at)
            if at[0] != NEWLINE:
                return False
        at += 1
        row += 1
    to.rows = row
    to.tag_start = tag - text
    to.tag_length = tag_length
    return True


def scan(text, bint run):
    """Convert a block of whole lines to columns.

    Parameters
    ----------
    text : buffer
        Lines, each ended by a newline.
    run : bool
        Whether lines are from a run (qid Q0 docid rank score tag) or from judgments (qid iteration docid rel).

    Returns
    -------
    None if the Python reader must read the block, else a tuple of

    lines : int
        Number of lines.
    rows : int
        Number of lines with data, D.
    skips : (N,) int array
        For each line that is blank or a comment, the number of rows before it.
    qids : list of bytes, length Q
        The queries, in order of their first lines.
    queries : (S,) int array
        The query of each stretch, that is, of consecutive lines with the same query.
    starts : (S + 1,) int array
        The first row of each stretch, and D.
    documents, offsets : bytes, (D + 1,) int array
        The concatenated documents, and the position of each.
    scores : (D,) float array or None
        The scores of a run.
    whole : (D,) int array or None
        The judgments; for a run its ranks, or None if these are not whole numbers.
    ordered : bool
        Whether, within each stretch, ranks rise and scores do not.
    tag : bytes
        The tag of the last line.
    retagged, spaced : bool
        Whether tags differ, and whether fields follow one.
    """
    import numpy as np
    cdef const uint8_t[::1] view = text
    cdef int64_t size = view.shape[0]
    if size == 0 or view[size - 1] != NEWLINE:
        raise ValueError("a block ends with a newline")
    cdef const uint8_t *begin = &view[0]
    cdef int64_t lines
    cdef bint taken
    cdef Columns to
    with nogil:
        lines = newlines(begin, begin + size)
        taken = memchr(begin, 0, size) == NULL
    if not taken:
        return None
    # A line with data has at least four or six fields of one byte, and as many bytes between and after them.
    cdef int64_t most = min(lines, size // (12 if run else 8) + 1)
    cdef int64_t[::1] query_start = np.empty(most, dtype=np.int64)
    cdef int64_t[::1] query_length = np.empty(most, dtype=np.int64)
    queries = np.empty(most, dtype=np.int64)
    starts = np.empty(most + 1, dtype=np.int64)
    skips = np.empty(lines, dtype=np.int64)
    offsets = np.empty(most + 1, dtype=np.int64)
    scores = np.empty(most if run else 1, dtype=np.float64)
    whole = np.empty(most, dtype=np.int64)
    cdef int64_t[::1] queries_view = queries, starts_view = starts, skips_view = skips, offsets_view = offsets, whole_view = whole
    cdef double[::1] scores_view = scores
    # Short documents are copied 16 bytes at a time.
    cdef uint8_t[::1] documents = np.empty(size + 16, dtype=np.uint8)
    to.rows = to.queries = to.stretches = to.skipped = 0
    to.table.slots = NULL
    to.stretch_query = &queries_view[0]
    to.query_start = &query_start[0]
    to.query_length = &query_length[0]
    to.first_row = &starts_view[0]
    to.skips = &skips_view[0]
    to.documents = &documents[0]
    to.offsets = &offsets_view[0]
    to.offsets[0] = 0
    to.scores = &scores_view[0]
    to.whole = &whole_view[0]
    to.tag_start = to.tag_length = 0
    to.ranked = to.ordered = True
    to.retagged = to.spaced = False
    with nogil:
        taken = fill(begin, begin + size, run, &to)
        free(to.table.slots)
    if not taken:
        return None
    cdef int64_t rows = to.rows, each
    qids = [
        PyBytes_FromStringAndSize(<const char *>begin + query_start[each], query_length[each])
        for each in range(to.queries)
    ]
    starts_view[to.stretches] = rows
    return (
        lines,
        rows,
        skips[: to.skipped].copy(),
        qids,
        queries[: to.stretches].copy(),
        starts[: to.stretches + 1].copy(),
        PyBytes_FromStringAndSize(<const char *>to.documents, to.offsets[rows]),
        offsets[: rows + 1],
        scores[:rows] if run else None,
        whole[:rows] if to.ranked or not run else None,
        to.ordered,
        PyBytes_FromStringAndSize(<const char *>begin + to.tag_start, to.tag_length) if run and rows else b"",
        to.retagged,
        to.spaced,
    )


def select(text, int64_t parts, int64_t part):
    """Return the lines of the queries that belong to one of several parts of all queries, as bytes.

    All blocks read by this process put a query into the same part. Blank lines and comments belong to every part.
    """
    import numpy as np
    cdef const uint8_t[::1] view = text
    cdef int64_t size = view.shape[0]
    if size == 0 or view[size - 1] != NEWLINE:
        raise ValueError("a block ends with a newline")
    cdef const uint8_t *line = &view[0]
    cdef const uint8_t *end = line + size
    cdef const uint8_t *query
    cdef const uint8_t *next_line
    cdef uint8_t[::1] chosen = np.empty(size, dtype=np.uint8)
    cdef uint8_t *to = &chosen[0]
    with nogil:
        while line < end:
            query = past_white(line)
            next_line = past_field(query) if query[0] != NEWLINE else query
            if hashed(query, next_line - query) % <uint64_t>parts == <uint64_t>part:
                next_line = <const uint8_t *>memchr(next_line, NEWLINE, end - next_line) + 1
                memcpy(to, line, next_line - line)
                to += next_line - line
                line = next_line
            else:
                line = <const uint8_t *>memchr(next_line, NEWLINE, end - next_line) + 1
    return PyBytes_FromStringAndSize(<const char *>&chosen[0], to - &chosen[0])


# -- columns of Arrow to columns -----------------------------------------------------------------------------------

cdef extern from "Python.h":
    void *PyCapsule_GetPointer(object capsule, const char *name) except NULL

# The three structures of Arrow's C interface, whose layout is fixed.

cdef struct ArrowSchema:
    const char *format
    const char *name
    const char *metadata
    int64_t flags
    int64_t n_children
    ArrowSchema **children
    ArrowSchema *dictionary
    void (*release)(ArrowSchema *) noexcept
    void *private_data

cdef struct ArrowArray:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void **buffers
    ArrowArray **children
    ArrowArray *dictionary
    void (*release)(ArrowArray *) noexcept
    void *private_data

cdef struct ArrowArrayStream:
    int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept nogil
    int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept nogil
    const char *(*get_last_error)(ArrowArrayStream *) noexcept
    void (*release)(ArrowArrayStream *) noexcept
    void *private_data

cdef enum:
    LONGEST_WHOLE = 20  # bytes of a whole number of 64 bits
    LONGEST_IN_VIEW = 12  # bytes of a text that its view holds

cdef struct Values:
    char kind  # as Arrow names formats, but V for views of text
    char index  # the kind of the indices of a dictionary; 0 if there is none
    int64_t first
    int64_t first_entry
    const void *indices
    const void **buffers


cdef bint has_nulls(const ArrowArray *array) noexcept nogil:
    cdef const uint8_t *valid = <const uint8_t *>array.buffers[0]
    cdef int64_t row
    if valid == NULL or array.null_count == 0:
        return False
    for row in range(array.offset, array.offset + array.length):
        if not (valid[row >> 3] >> (row & 7)) & 1:
            return True
    return False


cdef bint open_values(const ArrowSchema *schema, const ArrowArray *batch, const char *name, Values *to) except -1:
    """Find the column with a name; raise ValueError if its values are neither text nor numbers, or if some are missing."""
    cdef const ArrowSchema *column
    cdef const ArrowArray *array = NULL
    cdef int64_t number
    for number in range(schema.n_children):
        column = schema.children[number]
        if strcmp(column.name, name) == 0:
            if array != NULL:
                raise ValueError("two columns with the same name")
            array = batch.children[number]
            to.index = column.format[0] if column.dictionary != NULL else 0
            to.kind = kind_of((column if column.dictionary == NULL else column.dictionary).format)
    if array == NULL or to.kind == 0 or has_nulls(array) or (array.dictionary != NULL and has_nulls(array.dictionary)):
        raise ValueError("values that are left to Python")
    to.first = batch.offset + array.offset
    to.indices = array.buffers[1]
    to.first_entry = array.dictionary.offset if array.dictionary != NULL else 0
    to.buffers = (array if array.dictionary == NULL else array.dictionary).buffers
    return True


cdef char kind_of(const char *format) noexcept:
    """Return the kind of a column; 0 if it holds neither text nor numbers."""
    if strcmp(format, "vu") == 0:
        return b"V"
    return format[0] if format[0] != 0 and format[1] == 0 and strchr("uUcCsSiIlLfg", format[0]) != NULL else 0


cdef inline int64_t whole_at(const void *values, char kind, int64_t row) noexcept nogil:
    """Return a whole number; one of 64 bits without a sign may become negative."""
    if kind == b"l" or kind == b"L":
        return (<const int64_t *>values)[row]
    if kind == b"i":
        return (<const int32_t *>values)[row]
    if kind == b"I":
        return (<const uint32_t *>values)[row]
    if kind == b"s":
        return (<const int16_t *>values)[row]
    if kind == b"S":
        return (<const uint16_t *>values)[row]
    if kind == b"c":
        return (<const int8_t *>values)[row]
    return (<const uint8_t *>values)[row]


cdef inline const uint8_t *text_at(const Values *of, int64_t row, uint8_t *room, int64_t *length) noexcept nogil:
    """Return the text of a row, and its length. Whole numbers are written into ``room``, in decimal."""
    cdef const uint8_t *view
    cdef int32_t parts[4]
    cdef int64_t whole
    cdef uint64_t rest
    cdef uint8_t *digit = room + LONGEST_WHOLE
    row += of.first
    if of.index:
        row = of.first_entry + whole_at(of.indices, of.index, row)
    if of.kind == b"u":
        memcpy(parts, <const int32_t *>of.buffers[1] + row, 8)
        length[0] = parts[1] - parts[0]
        return <const uint8_t *>of.buffers[2] + parts[0]
    if of.kind == b"U":
        whole = (<const int64_t *>of.buffers[1])[row]
        length[0] = (<const int64_t *>of.buffers[1])[row + 1] - whole
        return <const uint8_t *>of.buffers[2] + whole
    if of.kind == b"V":
        view = <const uint8_t *>of.buffers[1] + 16 * row
        memcpy(parts, view, 16)
        length[0] = parts[0]
        # Length, first bytes, number of a buffer and position in it; or length and text.
        return view + 4 if parts[0] <= LONGEST_IN_VIEW else <const uint8_t *>of.buffers[2 + parts[2]] + parts[3]
    whole = whole_at(of.buffers[1], of.kind, row)
    rest = 0 - <uint64_t>whole if whole < 0 and of.kind != b"L" else <uint64_t>whole
    while True:
        digit -= 1
        digit[0] = 48 + rest % 10
        rest //= 10
        if rest == 0:
            break
    if whole < 0 and of.kind != b"L":
        digit -= 1
        digit[0] = MINUS
    length[0] = room + LONGEST_WHOLE - digit
    return digit


def arrow_batch(stream, dict numbers, bytes query, bytes document, bytes value, bytes rank):
    """Convert the next rows of a stream of Arrow to columns.

    Parameters
    ----------
    stream : PyCapsule
        What ``__arrow_c_stream__`` returned.
    numbers : dict of bytes to int
        The numbers of queries so far, to which new ones are added, in order of their first rows.
    query, document, value : bytes
        The names of the columns.
    rank : bytes or None
        The name of a column of ranks.

    Returns
    -------
    None at the end of the stream, else a tuple of

    queries : (S,) int array
        The query of each stretch, that is, of consecutive rows with the same query.
    starts : (S + 1,) int array
        The first row of each stretch, and D.
    documents, offsets : bytes, (D + 1,) int array
        The concatenated documents, and the position of each.
    values : (D,) int or float array
        The values.
    ranks : (D,) int array or None
        The ranks.
    ordered : bool
        Whether ranks are known to rise, and scores not to rise, within each stretch.

    Raises
    ------
    ValueError
        The stream cannot be read, or another reader must read it: an id is neither text nor a whole number, a value is
        no number of a machine, a rank is no whole number, or something is missing.
    """
    import numpy as np
    cdef ArrowArrayStream *source = <ArrowArrayStream *>PyCapsule_GetPointer(stream, "arrow_array_stream")
    cdef ArrowSchema schema
    cdef ArrowArray batch
    cdef Values of_query, of_document
    cdef uint8_t room[LONGEST_WHOLE]
    cdef const uint8_t *at
    cdef const uint8_t *before = NULL
    cdef uint8_t *to
    cdef int64_t row, rows, length = 0, length_before = -1, used = 0
    cdef int64_t[::1] offsets_view, ranks_view
    cdef double[::1] scores_view
    cdef bint ordered = True
    cdef int failed
    cdef list queries = [], starts = []
    schema.release = NULL
    batch.release = NULL
    if source.release == NULL:
        raise ValueError("a stream that was read already")
    try:
        with nogil:
            failed = source.get_schema(source, &schema) or source.get_next(source, &batch)
        if failed:
            raise ValueError("the stream cannot be read")
        if batch.release == NULL:
            return None
        if has_nulls(&batch):
            raise ValueError("values that are left to Python")
        rows = batch.length
        open_values(&schema, &batch, query, &of_query)
        open_values(&schema, &batch, document, &of_document)
        if strchr("fg", of_query.kind) != NULL or strchr("fg", of_document.kind) != NULL:
            raise ValueError("ids with a decimal point")
        values = numbers_of(&schema, &batch, value)
        ranks = None if rank is None else numbers_of(&schema, &batch, rank)
        if ranks is not None and ranks.dtype.kind != "i":
            raise ValueError("ranks that are not whole numbers")
        if ranks is not None and values.dtype.kind == "f":
            scores_view, ranks_view = values, ranks
        else:
            ordered = False
        for row in range(rows):
            at = text_at(&of_query, row, room, &length)
            if length == length_before and memcmp(at, before, length) == 0:
                if ordered and (ranks_view[row] <= ranks_view[row - 1] or not scores_view[row] <= scores_view[row - 1]):
                    ordered = False
            else:
                qid = PyBytes_FromStringAndSize(<const char *>at, length)
                queries.append(numbers.setdefault(qid, len(numbers)))
                starts.append(row)
                before = <const uint8_t *>PyBytes_AsString(qid)
                length_before = length
        offsets = np.zeros(rows + 1, dtype=np.int64)
        offsets_view = offsets
        for row in range(rows):
            text_at(&of_document, row, room, &length)
            used += length
            offsets_view[row + 1] = used
        if rows and not of_document.index and strchr("uU", of_document.kind) != NULL:  # they follow one another already
            documents = PyBytes_FromStringAndSize(<const char *>text_at(&of_document, 0, room, &length), used)
        else:
            documents = PyBytes_FromStringAndSize(NULL, used)
            to = <uint8_t *>PyBytes_AsString(documents)
            for row in range(rows):
                at = text_at(&of_document, row, room, &length)
                memcpy(to + offsets_view[row], at, length)
    finally:
        if batch.release != NULL:
            batch.release(&batch)
        if schema.release != NULL:
            schema.release(&schema)
    whole = np.array(queries, dtype=np.int64), np.array([*starts, rows], dtype=np.int64)
    return *whole, documents, offsets, values, ranks, ordered


cdef numbers_of(const ArrowSchema *schema, const ArrowArray *batch, const char *name):
    """Return a column of numbers as an array of 64-bit numbers."""
    import numpy as np
    cdef Values of
    cdef int64_t row
    cdef double[::1] floats
    cdef int64_t[::1] wholes
    open_values(schema, batch, name, &of)
    if of.index or strchr("uUV", of.kind) != NULL:
        raise ValueError("values that are left to Python")
    if strchr("fg", of.kind) != NULL:
        numbers = np.empty(batch.length, dtype=np.float64)
        floats = numbers
        for row in range(batch.length):
            floats[row] = (<const double *>of.buffers[1])[of.first + row] if of.kind == b"g" \
                else (<const float *>of.buffers[1])[of.first + row]
        return numbers
    numbers = np.empty(batch.length, dtype=np.int64)
    wholes = numbers
    for row in range(batch.length):
        wholes[row] = whole_at(of.buffers[1], of.kind, of.first + row)
        if wholes[row] < 0 and of.kind == b"L":
            raise ValueError("a number beyond 64 bits with a sign")
    return numbers


# -- columns to judged documents ---------------------------------------------------------------------------------

cdef struct Hit:
    double score
    const uint8_t *document
    int64_t length
    int64_t rel
    int64_t row
    int64_t above

cdef int better_first(const void *one, const void *other) noexcept nogil:
    cdef const Hit *a = <const Hit *>one
    cdef const Hit *b = <const Hit *>other
    return above(b.score, b.document, b.length, a) - above(a.score, a.document, a.length, b)


cdef inline bint above(double score, const uint8_t *document, int64_t length, const Hit *hit) noexcept nogil:
    """Return whether a document is ranked above another: by a higher score, or the same score and a larger id."""
    cdef int order
    if score != hit.score:
        return score > hit.score
    order = memcmp(document, hit.document, length if length < hit.length else hit.length)
    return order > 0 or (order == 0 and length > hit.length)


cdef uint8_t NOTHING[1]
"""Placeholder for an empty document: nothing is read from it, but memcmp needs a pointer."""
NOTHING[0] = 0

cdef struct Judge:
    const uint8_t *documents
    const int64_t *offsets
    const double *scores
    const uint8_t *judged
    const int64_t *judged_offsets
    const int64_t *rels
    bint narrow
    Table table
    Hit *hits
    int64_t room


cdef inline double seen(const Judge *by, int64_t row) noexcept nogil:
    return <double><float>by.scores[row] if by.narrow else by.scores[row]


cdef int64_t judge_query(Judge *by, int64_t start, int64_t stop, int64_t first, int64_t last, int64_t *twice) noexcept nogil:
    """Find the judged documents of rows start to stop, using judgments first to last, sorted by rank.

    Returns their number, or -1 if memory runs out; ``above`` is the number of documents above each. ``twice`` becomes
    the first row whose document already occurred in the query, if any.
    """
    cdef int64_t row, each, count = 0, low, high, middle, length
    cdef uint64_t key, place
    cdef const uint8_t *document
    cdef Slot *slot
    cdef double score, before
    cdef bint descending = True
    cdef Table *table = &by.table
    if not make_room(table, stop - start + last - first):
        return -1
    if last - first > by.room:
        free(by.hits)
        by.room = 2 * (last - first)
        by.hits = <Hit *>malloc(by.room * sizeof(Hit))
        if by.hits == NULL:
            by.room = 0
            return -1
    for each in range(first, last):
        document = by.judged + by.judged_offsets[each]
        # Judgments have negative entries; rows of the query have the others.
        keep(table, hashed(document, by.judged_offsets[each + 1] - by.judged_offsets[each]), first - each - 1)
    for row in range(start, stop):
        document = by.documents + by.offsets[row]
        length = by.offsets[row + 1] - by.offsets[row]
        key = hashed(document, length)
        place = key & table.mask
        while True:
            slot = &table.slots[place]
            if slot.round != table.round:
                slot.hash = key
                slot.entry = <int32_t>(row - start)
                slot.round = table.round
                break
            if slot.hash == key:
                if slot.entry >= 0:
                    each = start + slot.entry
                    if by.offsets[each + 1] - by.offsets[each] == length \
                            and memcmp(by.documents + by.offsets[each], document, length) == 0:
                        if twice[0] < 0:
                            twice[0] = row
                        break
                else:
                    each = first - slot.entry - 1
                    if by.judged_offsets[each + 1] - by.judged_offsets[each] == length \
                            and memcmp(by.judged + by.judged_offsets[each], document, length) == 0:
                        by.hits[count] = Hit(0.0, document, length, by.rels[each], row, 0)
                        count += 1
                        slot.entry = <int32_t>(row - start)
                        break
            place = (place + 1) & table.mask
    if count == 0:
        return 0
    before = INFINITY
    for row in range(start, stop):
        score = seen(by, row)
        # Ties are ordered by document, even at plus infinity.
        if not score < before and row > start:
            descending = False
            break
        before = score
    if descending:
        for each in range(count):
            by.hits[each].above = by.hits[each].row - start
        return count
    for each in range(count):
        by.hits[each].score = seen(by, by.hits[each].row)
    qsort(by.hits, count, sizeof(Hit), better_first)
    # Each document is above the hits from some position on; summing these gives the documents above each hit.
    for row in range(start, stop):
        score = seen(by, row)
        document = by.documents + by.offsets[row]
        length = by.offsets[row + 1] - by.offsets[row]
        low = 0
        high = count
        while low < high:
            middle = (low + high) >> 1
            if above(score, document, length, &by.hits[middle]):
                high = middle
            else:
                low = middle + 1
        if low < count:
            by.hits[low].above += 1
    for each in range(1, count):
        by.hits[each].above += by.hits[each - 1].above
    return count


cdef inline uint64_t place_in(
    const int32_t *slots, uint64_t mask, const uint8_t *known, const int64_t *bounds, const uint8_t *sought, int64_t length
) noexcept nogil:
    """Return the slot of an id among known ones, or the free slot where it belongs."""
    cdef uint64_t place = hashed(sought, length) & mask
    cdef int64_t row
    while slots[place] >= 0:
        row = slots[place]
        if bounds[row + 1] - bounds[row] == length and memcmp(known + bounds[row], sought, length) == 0:
            break
        place = (place + 1) & mask
    return place


def index(const uint8_t[::1] ids, const int64_t[::1] offsets):
    """Return for each id the row where it first occurs, and a table of the ids for `rows_of`."""
    import numpy as np
    cdef int64_t count = offsets.shape[0] - 1, row
    cdef uint64_t size = 64, place
    if count > 2**30:
        raise MemoryError("more ids than this reader can hold")
    while size < 2 * <uint64_t>count:
        size *= 2
    cdef const uint8_t *text = &ids[0] if ids.shape[0] else NOTHING
    slots, firsts = np.full(size, -1, dtype=np.int32), np.empty(count, dtype=np.int64)
    cdef int32_t[::1] slots_view = slots
    cdef int64_t[::1] firsts_view = firsts
    with nogil:
        for row in range(count):
            place = place_in(&slots_view[0], size - 1, text, &offsets[0], text + offsets[row], offsets[row + 1] - offsets[row])
            if slots_view[place] < 0:
                slots_view[place] = <int32_t>row
            firsts_view[row] = slots_view[place]
    return firsts, slots


def rows_of(
    const uint8_t[::1] known,
    const int64_t[::1] bounds,
    const int32_t[::1] slots,
    const uint8_t[::1] ids,
    const int64_t[::1] offsets,
):
    """Return the row of each id among known ones, of which `index` made a table; -1 for others."""
    import numpy as np
    cdef int64_t rows = bounds.shape[0] - 1, count = offsets.shape[0] - 1, each, row = -1, length
    cdef const uint8_t *text = &known[0] if known.shape[0] else NOTHING
    cdef const uint8_t *sought = &ids[0] if ids.shape[0] else NOTHING
    places = np.empty(count, dtype=np.int64)
    cdef int64_t[::1] places_view = places
    with nogil:
        for each in range(count):
            length = offsets[each + 1] - offsets[each]
            # Runs mostly have their queries in the order of the judgments.
            row += 1
            if not (
                row < rows
                and bounds[row + 1] - bounds[row] == length
                and memcmp(text + bounds[row], sought + offsets[each], length) == 0
            ):
                row = slots[place_in(&slots[0], slots.shape[0] - 1, text, &bounds[0], sought + offsets[each], length)]
            places_view[each] = row
    return places


def repeated(const uint8_t[::1] documents, const int64_t[::1] offsets, const int64_t[::1] starts):
    """Return the first row whose document already occurred in its query, or -1; parameters as for `judge`."""
    import numpy as np
    cdef int64_t queries = starts.shape[0] - 1
    no_judgments = np.zeros(1, dtype=np.int64)
    return judge(
        documents, offsets, np.zeros(0), starts, np.full(queries, -1, dtype=np.int64), b"", no_judgments, no_judgments,
        no_judgments[:0], False, -1, False,
    )[4]


def take(const uint8_t[::1] documents, const int64_t[::1] offsets, const int64_t[::1] order):
    """Return the documents of some rows in a new order, as bytes, and the offsets of these."""
    import numpy as np
    cdef int64_t rows = offsets.shape[0] - 1, count = order.shape[0], each, row
    cdef const uint8_t *text = &documents[0] if documents.shape[0] else NOTHING
    cdef bint known = True
    starts = np.zeros(count + 1, dtype=np.int64)
    cdef int64_t[::1] starts_view = starts
    with nogil:
        for each in range(count):
            row = order[each]
            known = 0 <= row < rows
            if not known:
                break
            starts_view[each + 1] = starts_view[each] + offsets[row + 1] - offsets[row]
    if not known:
        raise IndexError("a row that is not in the column")
    chosen = PyBytes_FromStringAndSize(NULL, starts_view[count])
    cdef char *to = PyBytes_AsString(chosen)
    with nogil:
        for each in range(count):
            row = order[each]
            memcpy(to + starts_view[each], text + offsets[row], offsets[row + 1] - offsets[row])
    return chosen, starts


def last_lines(const uint8_t[::1] documents, const int64_t[::1] offsets, const int64_t[::1] starts):
    """Find the rows that remain if the last line of each document counts; parameters as for `judge`.

    Returns
    -------
    places, values : (K,) int arrays
        The rows where the documents first occurred, and the rows where they last occurred.
    first : (Q + 1,) int array
        The first document of each query, and K.
    """
    import numpy as np
    cdef int64_t queries = starts.shape[0] - 1, number, row, each, length, count = 0
    cdef uint64_t key, place
    cdef Slot *slot
    cdef Table table = Table(NULL, 0, 0)
    cdef bint room = True
    cdef const uint8_t *text = &documents[0] if documents.shape[0] else NOTHING
    places = np.empty(offsets.shape[0], dtype=np.int64)
    values = np.empty(offsets.shape[0], dtype=np.int64)
    first = np.zeros(queries + 1, dtype=np.int64)
    cdef int64_t[::1] places_view = places, values_view = values, first_view = first
    for number in range(queries):
        if starts[number + 1] - starts[number] > 2**30:
            raise MemoryError("more documents in a query than this reader can hold")
    with nogil:
        for number in range(queries):
            room = make_room(&table, starts[number + 1] - starts[number])
            if not room:
                break
            for row in range(starts[number], starts[number + 1]):
                length = offsets[row + 1] - offsets[row]
                key = hashed(text + offsets[row], length)
                place = key & table.mask
                while True:
                    slot = &table.slots[place]
                    if slot.round != table.round:
                        slot[0] = Slot(key, <int32_t>(count - first_view[number]), table.round)
                        places_view[count] = values_view[count] = row
                        count += 1
                        break
                    each = first_view[number] + slot.entry
                    if slot.hash == key \
                            and offsets[places_view[each] + 1] - offsets[places_view[each]] == length \
                            and memcmp(text + offsets[places_view[each]], text + offsets[row], length) == 0:
                        values_view[each] = row
                        break
                    place = (place + 1) & table.mask
            first_view[number + 1] = count
        free(table.slots)
    if not room:
        raise MemoryError
    return places[:count], values[:count], first


def judge(
    const uint8_t[::1] documents,
    const int64_t[::1] offsets,
    const double[::1] scores,
    const int64_t[::1] starts,
    const int64_t[::1] rows,
    const uint8_t[::1] judged,
    const int64_t[::1] judged_offsets,
    const int64_t[::1] judged_starts,
    const int64_t[::1] rels,
    bint narrow,
    int64_t depth,
    bint judged_only,
):
    """Find the judged documents of a run's queries.

    Parameters
    ----------
    documents, offsets, scores : buffer, (D + 1,) int array, (D,) float array
        The run's documents and their scores.
    starts : (Q + 1,) int array
        The first row of each query, and D.
    rows : (Q,) int array
        The judged query of each, negative if it has no judgments.
    judged, judged_offsets, judged_starts, rels
        The same columns of the judgments.
    narrow : bool
        Compare scores as float32.
    depth : int
        Number of documents of a query that count; negative for all.
    judged_only : bool
        Remove unjudged documents from the ranking.

    Returns
    -------
    query, rank, rel : (H,) int arrays
        The hits, sorted by position in ``rows`` and rank; ``query`` is a row of the judgments.
    num_ret : (Q,) int array
        Number of documents of each query that count.
    twice : int
        The first row whose document already occurred in its query, or -1.
    """
    import numpy as np
    cdef int64_t queries = rows.shape[0], number, each, first, last, count = 0, found, used = 0, most = 0, rank
    cdef int64_t twice = -1, judged_rank
    for number in range(queries):
        if rows[number] >= 0:
            each = judged_starts[rows[number] + 1] - judged_starts[rows[number]]
            most += min(each, starts[number + 1] - starts[number])
        if starts[number + 1] - starts[number] > 2**30:
            raise MemoryError("more documents in a query than this reader can hold")
    query = np.empty(most, dtype=np.int64)
    ranks = np.empty(most, dtype=np.int64)
    judgments = np.empty(most, dtype=np.int64)
    num_ret = np.empty(queries, dtype=np.int64)
    cdef int64_t[::1] query_view = query, ranks_view = ranks, judgments_view = judgments, num_ret_view = num_ret
    cdef Judge by
    by.documents = &documents[0] if documents.shape[0] else NOTHING
    by.offsets = &offsets[0]
    by.scores = &scores[0] if scores.shape[0] else NULL
    by.judged = &judged[0] if judged.shape[0] else NOTHING
    by.judged_offsets = &judged_offsets[0]
    by.rels = &rels[0] if rels.shape[0] else NULL
    by.narrow = narrow
    by.table.slots = NULL
    by.hits = NULL
    by.room = 0
    with nogil:
        for number in range(queries):
            first = last = 0
            if rows[number] >= 0:
                first = judged_starts[rows[number]]
                last = judged_starts[rows[number] + 1]
            found = judge_query(&by, starts[number], starts[number + 1], first, last, &twice)
            if found < 0:
                count = -1
                break
            count = starts[number + 1] - starts[number]
            if 0 <= depth < count:
                count = depth
            judged_rank = 0
            for each in range(found):
                rank = by.hits[each].above + 1
                if rank > count:
                    break
                if judged_only:
                    if by.hits[each].rel < 0:
                        continue
                    judged_rank += 1
                    rank = judged_rank
                query_view[used] = rows[number]
                ranks_view[used] = rank
                judgments_view[used] = by.hits[each].rel
                used += 1
            num_ret_view[number] = judged_rank if judged_only else count
        free(by.table.slots)
        free(by.hits)
    if count < 0:
        raise MemoryError
    return query[:used], ranks[:used], judgments[:used], num_ret, twice


# -- dictionaries and arrays to judged documents -------------------------------------------------------------------

cdef extern from *:
    """
    /* Missing in the limited API. */
    #ifdef Py_LIMITED_API
    #define FLOAT_OF PyFloat_AsDouble
    #else
    #define FLOAT_OF PyFloat_AS_DOUBLE
    #endif

    /* Whether a text equals its UTF-8 bytes; a text with surrogates does not. */
    static inline int has_bytes(PyObject *text) {
        Py_ssize_t size;
    #ifndef Py_LIMITED_API
        if (PyUnicode_CheckExact(text) && PyUnicode_IS_ASCII(text)) return 1;
    #endif
        if (PyUnicode_AsUTF8AndSize(text, &size) != NULL) return 1;
        PyErr_Clear();
        return 0;
    }

    /* Plain C, because compilers then compare several scores at once, as many as the processor can. */
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define FOR_EACH_PROCESSOR
    #endif

    FOR_EACH_PROCESSOR
    static int64_t count_above(const double *scores, int64_t count, double score, int64_t *equal) {
        int64_t above = 0, same = 0, each;
        for (each = 0; each < count; each++) {
            above += scores[each] > score;
            same += scores[each] == score;
        }
        *equal = same;
        return above;
    }

    /* The same for all documents of a row; 32-bit scores, as models compute them, are compared as such. */
    #define MOST_IN_ROW 320
    #define COUNT_ABOVE_ALL(NAME, FLOAT, WHOLE) \
    FOR_EACH_PROCESSOR \
    static void NAME(const double *scores, int64_t count, int64_t *above) { \
        FLOAT all[MOST_IN_ROW]; \
        int64_t first, each, other; \
        for (each = 0; each < count; each++) all[each] = (FLOAT)scores[each]; \
        for (; each < MOST_IN_ROW; each++) all[each] = 0; \
        for (first = 0; first < count; first += 64) { \
            WHOLE found[64] = {0}; \
            for (other = 0; other < count; other++) { \
                FLOAT score = all[other]; \
                for (each = 0; each < 64; each++) found[each] += score > all[first + each]; \
            } \
            for (each = first; each < count && each < first + 64; each++) above[each] = found[each - first]; \
        } \
    }
    COUNT_ABOVE_ALL(count_above_all, double, int64_t)
    COUNT_ABOVE_ALL(count_above_all_narrow, float, int32_t)
    """
    void count_above_all(const double *scores, int64_t count, int64_t *above) noexcept nogil
    void count_above_all_narrow(const double *scores, int64_t count, int64_t *above) noexcept nogil
    int64_t MOST_IN_ROW
    double FLOAT_OF(PyObject *number)
    bint has_bytes(PyObject *text)
    int64_t count_above(const double *scores, int64_t count, double score, int64_t *equal) noexcept nogil

cdef extern from "Python.h":
    ctypedef struct PyObject
    void *Py_TYPE(PyObject *given)
    bint PyUnicode_CheckExact(PyObject *given)
    bint PyLong_CheckExact(PyObject *given)
    bint PyDict_CheckExact(PyObject *given)
    bint PyFloat_Check(PyObject *given)
    double PyLong_AsDouble(PyObject *number)
    int64_t PyLong_AsLongLong(PyObject *number)
    PyObject *PyErr_Occurred()
    void PyErr_Clear()
    int PyUnicode_Compare(PyObject *one, PyObject *other) nogil  # called with the GIL: only dictionaries have texts
    bint PyDict_Next(PyObject *given, Py_ssize_t *position, PyObject **key, PyObject **value)
    PyObject *PyDict_GetItemWithError(PyObject *given, PyObject *key)
    Py_ssize_t PyDict_Size(PyObject *given)

cdef double EXACT_INTEGER = 2.0**53

cdef object NUMPY_TEXT = None

cdef enum:
    MOST_COMPARISONS = 1000000  # beyond this, dictionaries are converted to a table


cdef struct Sought:
    double score
    int64_t name
    int64_t rel
    int64_t above  # in a row of scores: its position among the documents, later the number of documents above it

cdef struct Lists:
    double *scores  # of the documents of a query
    int64_t *names  # their ids: addresses of Python texts, or whole numbers
    int64_t *above  # the number of documents above each
    int64_t *order  # the sought document at each rank; negative for other documents
    int64_t room  # more than the number of documents, because a rank may be one beyond them
    int64_t count
    bint descending
    bint texts
    Sought *sought
    int64_t sought_room
    int64_t *hits  # three rows of hits_room: query, rank and rel of all hits so far
    int64_t hits_room
    int64_t used


cdef void release(Lists *by) noexcept nogil:
    free(by.scores)
    free(by.names)
    free(by.order)
    free(by.above)
    free(by.sought)


cdef bint make_lists(Lists *by, int64_t documents, int64_t judgments) noexcept nogil:
    """Ensure room for a query with this number of documents and judgments; False if memory runs out."""
    cdef int64_t room = min(documents, judgments)
    if documents >= by.room or by.scores == NULL:
        free(by.scores)
        free(by.names)
        free(by.order)
        free(by.above)
        by.room = 2 * documents + 16
        by.scores = <double *>malloc(by.room * sizeof(double))
        by.names = <int64_t *>malloc(by.room * sizeof(int64_t))
        by.order = <int64_t *>malloc(by.room * sizeof(int64_t))
        by.above = <int64_t *>malloc(by.room * sizeof(int64_t))
        if by.scores == NULL or by.names == NULL or by.order == NULL or by.above == NULL:
            return False
    if room > by.sought_room or by.sought == NULL:
        free(by.sought)
        by.sought_room = 2 * room + 16
        by.sought = <Sought *>malloc(by.sought_room * sizeof(Sought))
        if by.sought == NULL:
            return False
    by.count = 0
    by.descending = True
    return True


cdef inline void listed(Lists *by, double score, int64_t name) noexcept nogil:
    """Add a document to the list of a query."""
    if by.count and not score < by.scores[by.count - 1]:
        by.descending = False
    by.scores[by.count] = score
    by.names[by.count] = name
    by.count += 1


cdef inline bint written_later(uint64_t one, uint64_t other) noexcept nogil:
    """Return whether a whole number comes after another when their digits are sorted as text."""
    cdef uint64_t size = 1, other_size = 1, shift = 1
    while one // size >= 10:
        size *= 10
    while other // other_size >= 10:
        other_size *= 10
    if size == other_size:
        return one > other
    if size > other_size:
        shift = size // other_size
        return one // shift >= other  # of texts with the same beginning, the longer one comes later
    shift = other_size // size
    return one > other // shift


cdef inline bint later(const Lists *by, int64_t one, int64_t other) noexcept nogil:
    if by.texts:
        # Without surrogates, the order of texts is the order of their bytes.
        return PyUnicode_Compare(<PyObject *>one, <PyObject *>other) > 0
    return written_later(one, other)


cdef int better_number(const void *one, const void *other) noexcept nogil:
    cdef const Sought *a = <const Sought *>one
    cdef const Sought *b = <const Sought *>other
    if a.score != b.score:
        return 1 if a.score < b.score else -1
    return -1 if written_later(a.name, b.name) else 1


cdef bint all_above(Lists *by) noexcept nogil:
    """Count the documents above each document of a row; False if two have equal scores."""
    cdef int64_t each, counted = 0
    cdef bint narrow = True
    for each in range(by.count):
        narrow &= <double><float>by.scores[each] == by.scores[each]
    if narrow:
        count_above_all_narrow(by.scores, by.count, by.above)
    else:
        count_above_all(by.scores, by.count, by.above)
    for each in range(by.count):
        counted += by.above[each]
    return counted == by.count * (by.count - 1) // 2


cdef void order_by_sorting(Lists *by, int64_t sought) noexcept nogil:
    """Put the sought documents, whose ids are whole numbers, at their ranks."""
    cdef int64_t each, low, high, middle
    cdef Sought *hit
    qsort(by.sought, sought, sizeof(Sought), better_number)
    for each in range(sought):
        by.sought[each].above = 0
    # Each document is above the hits from some position on; summing these gives the documents above each hit.
    for each in range(by.count):
        low = 0
        high = sought
        while low < high:
            middle = (low + high) >> 1
            hit = &by.sought[middle]
            if by.scores[each] > hit.score or (
                by.scores[each] == hit.score and written_later(by.names[each], hit.name)
            ):
                high = middle
            else:
                low = middle + 1
        if low < sought:
            by.sought[low].above += 1
    for each in range(sought):
        if each:
            by.sought[each].above += by.sought[each - 1].above
        by.order[by.sought[each].above] = each


cdef int64_t rank_sought(Lists *by, int64_t sought, int64_t query, int64_t depth, bint judged_only) noexcept nogil:
    """Add the sought documents to the hits, in rank order; return the number of documents that count.

    Of documents with equal scores, the larger id comes first.
    """
    cdef int64_t each, other, above, equal, half, met, rank = 0, count = by.count
    cdef int64_t limit = depth if 0 <= depth < count else count
    cdef int64_t used, room
    cdef int64_t *hits
    cdef Sought *hit
    if by.descending and not by.texts and not judged_only:
        # They were found in rank order.
        used = by.used
        room = by.hits_room
        hits = by.hits
        for each in range(sought):
            hit = &by.sought[each]
            if hit.above >= limit:
                break
            hits[used] = query
            hits[room + used] = hit.above + 1
            hits[2 * room + used] = hit.rel
            used += 1
        by.used = used
        return limit
    for each in range(count):
        by.order[each] = -1
    if not by.descending and not by.texts and count > MOST_IN_ROW:
        order_by_sorting(by, sought)
        sought = 0
    elif not by.texts and (by.descending or all_above(by)):
        for each in range(sought):
            hit = &by.sought[each]
            by.order[hit.above if by.descending else by.above[hit.above]] = each
        sought = 0
    for each in range(sought):
        hit = &by.sought[each]
        if by.descending:
            # A branchless search, because no processor could predict the branches.
            above = 0
            other = count
            while other > 0:
                half = (other + 1) >> 1
                above += half if by.scores[above + half - 1] > hit.score else 0
                other -= half
            by.order[above] = each
            continue
        above = count_above(by.scores, count, hit.score, &equal)
        if equal > 1:
            for other in range(count):
                if by.scores[other] == hit.score and later(by, by.names[other], hit.name):
                    above += 1
        by.order[above] = each
    for each in range(limit):
        # Written for each document, and kept only for hits; there is room for one more than these.
        hit = &by.sought[by.order[each] if by.order[each] >= 0 else 0]
        met = by.order[each] >= 0 and not (judged_only and hit.rel < 0)
        rank += met
        by.hits[by.used] = query
        by.hits[by.hits_room + by.used] = rank if judged_only else each + 1
        by.hits[2 * by.hits_room + by.used] = hit.rel
        by.used += met
    return rank if judged_only else limit


cdef inline bint plain_text(PyObject *given) noexcept:
    """Return whether looking up an id runs none of the caller's code, which could change the dictionary meanwhile."""
    return PyUnicode_CheckExact(given) or <PyObject *>Py_TYPE(given) == <PyObject *>NUMPY_TEXT


cdef inline bint plain_number(PyObject *given, bint narrow, double *value) noexcept:
    """Find the score given as a float, or as a whole number that a float holds exactly; False for others and NaN."""
    if PyFloat_Check(given):
        value[0] = FLOAT_OF(given)
    elif PyLong_CheckExact(given):
        value[0] = PyLong_AsDouble(given)
        if PyErr_Occurred() != NULL:
            PyErr_Clear()
            return False
        if not -EXACT_INTEGER <= value[0] <= EXACT_INTEGER:
            return False
    else:
        return False
    if narrow:
        value[0] = <double><float>value[0]
    return value[0] == value[0]


cdef int64_t list_documents(Lists *by, PyObject *documents, bint narrow) noexcept:
    """Copy the documents of a query; -1 if they are not plain."""
    cdef Py_ssize_t position = 0
    cdef PyObject *docid
    cdef PyObject *value
    cdef double score
    # Nothing here or in the look-ups below creates an object, so none of the caller's code can run in between. Without
    # a GIL, another thread may still add to a dictionary, so nothing is written beyond the room that was made.
    while PyDict_Next(documents, &position, &docid, &value):
        if by.count + 1 == by.room or not plain_text(docid) or not has_bytes(docid):
            return -1
        if not plain_number(value, narrow, &score):
            return -1
        listed(by, score, <int64_t>docid)
    return by.count


cdef int64_t seek(Lists *by, PyObject *documents, PyObject *labels, bint narrow) noexcept:
    """Find the judged documents of a query; return their number, or -1 if they are not plain."""
    cdef Py_ssize_t position = 0
    cdef PyObject *docid
    cdef PyObject *value
    cdef PyObject *found
    cdef int64_t count = 0
    cdef Sought *hit
    cdef bint fewer = PyDict_Size(labels) <= by.count
    while PyDict_Next(labels if fewer else documents, &position, &docid, &value):
        found = PyDict_GetItemWithError(documents if fewer else labels, docid)
        if found == NULL:
            if PyErr_Occurred() != NULL:
                PyErr_Clear()
                return -1
            continue
        if count == by.sought_room or by.used + count + 1 == by.hits_room:
            return -1
        hit = &by.sought[count]
        if not plain_number(found if fewer else value, narrow, &hit.score):
            return -1
        hit.name = <int64_t>docid
        hit.rel = PyLong_AsLongLong(value if fewer else found)
        if hit.rel == -1 and PyErr_Occurred() != NULL:
            PyErr_Clear()
            return -1
        count += 1
    if not by.descending and count * by.count > MOST_COMPARISONS:
        return -1
    return count


def judge_nested(dict judgments, run, bint narrow, int64_t depth, bint judged_only):
    """Find the judged documents of ``{qid: {docid: score}}``.

    Parameters
    ----------
    judgments : dict of length Q
        ``{qid: {docid: rel}}``, with ids that are plain str.
    run : mapping
        The run.
    narrow, depth, judged_only
        As for `judge`.

    Returns
    -------
    hits : (3, H) int array
        Query, rank and rel of the hits, sorted by query and rank; a query is its position in `judgments`.
    num_ret : (Q,) int array
        Number of documents of each query that count; negative if the run lacks the query.
    some : bool
        Whether any number is negative.
    left : list of str
        The run's other queries, in its order, which are not judged here because something about them is not plain.
    """
    global NUMPY_TEXT
    import numpy as np

    NUMPY_TEXT = np.str_
    cdef Py_ssize_t position = 0
    cdef PyObject *qid
    cdef PyObject *labels
    cdef PyObject *documents
    cdef int64_t place = 0, met = 0, most = 0, count
    cdef bint some = False
    cdef dict queries
    cdef set left = set()
    # Look-ups of queries do not run the caller's code either.
    if type(run) is dict and all_plain(<PyObject *>run):
        queries = run
    else:
        queries = dict(run.items())
        left.update([each for each in queries if not plain_text(<PyObject *>each)])
        queries = {each: queries[each] for each in queries if each not in left}
    while PyDict_Next(<PyObject *>judgments, &position, &qid, &labels):
        most += PyDict_Size(labels)
    position = 0
    num_ret = np.empty(len(judgments), dtype=np.int64)
    hits = np.empty((3, most + 1), dtype=np.int64)
    cdef int64_t[::1] retrieved = num_ret
    cdef int64_t[:, ::1] hits_view = hits
    cdef Lists by = Lists(NULL, NULL, NULL, NULL, 0, 0, True, True, NULL, 0, &hits_view[0, 0], most + 1, 0)
    try:
        while PyDict_Next(<PyObject *>judgments, &position, &qid, &labels):
            count = -1
            documents = PyDict_GetItemWithError(<PyObject *>queries, qid)
            if documents != NULL:
                met += 1
                count = nested_query(&by, documents, labels, place, narrow, depth, judged_only)
                if count < 0:
                    left.add(<object>qid)
            retrieved[place] = count
            some |= count < 0
            place += 1
        if met < len(queries):
            for each, value in queries.items():
                if each not in judgments and nested_query(&by, <PyObject *>value, NULL, 0, narrow, depth, False) < 0:
                    left.add(each)
    finally:
        release(&by)
    return hits[:, : by.used], num_ret, some, [each for each in run if each in left] if left else []


cdef bint all_plain(PyObject *queries) noexcept:
    cdef Py_ssize_t position = 0
    cdef PyObject *qid
    cdef PyObject *value
    while PyDict_Next(queries, &position, &qid, &value):
        if not plain_text(qid):
            return False
    return True


cdef int64_t nested_query(
    Lists *by, PyObject *documents, PyObject *labels, int64_t place, bint narrow, int64_t depth, bint judged_only
) except -2:
    """Judge a query, or only check it if it has no labels; return the number of documents, or -1 if not plain."""
    cdef int64_t sought = 0
    if not PyDict_CheckExact(documents):
        return -1
    if not make_lists(by, PyDict_Size(documents), PyDict_Size(labels) if labels != NULL else 0):
        raise MemoryError
    if list_documents(by, documents, narrow) < 0:
        return -1
    if labels == NULL:
        return 0
    sought = seek(by, documents, labels, narrow)
    if sought < 0:
        return -1
    return rank_sought(by, sought, place, depth, judged_only)


cdef int64_t list_numbered(
    Lists *by, Table *table, const double *scores, const float *short_scores, const int64_t *ids, int64_t size, const int64_t *judged, int64_t judgments,
    const int64_t *rels, bint narrow, int64_t *sought,
) noexcept nogil:
    """Copy a row of scores and ids, and find those that are judged.

    Without ids, documents are the positions in the row, and the judged ones ascend. Returns -1, or the position of an
    error: a NaN score, or a repeated id.
    """
    cdef int64_t at, each, next_judged = 0, found = 0, count = 0, name
    cdef uint64_t place, mask = table.mask
    cdef uint32_t current = table.round
    cdef double score, before = INFINITY
    cdef bint descending = True
    cdef Slot *slots = table.slots
    # Local copies, because a compiler cannot know that the writes below do not change them.
    cdef double *all_scores = by.scores
    cdef int64_t *names = by.names
    cdef Sought *hits = by.sought
    if ids != NULL:
        for each in range(judgments):
            if judged[each] >= 0:
                place = numbered_place(judged[each]) & mask
                while slots[place].round == current:
                    place = (place + 1) & mask
                slots[place] = Slot(<uint64_t>judged[each], <int32_t>(-1 - each), current)
    for at in range(size):
        if short_scores != NULL:
            score = short_scores[at]
        else:
            score = <double><float>scores[at] if narrow else scores[at]
        each = -1
        if ids == NULL:
            name = at
            if next_judged < judgments and judged[next_judged] == at:
                each = next_judged
                next_judged += 1
            elif score != score:
                continue  # neither a document nor a judgment: an unused place
        else:
            name = ids[at]
            if name < 0:
                continue
            place = numbered_place(name) & mask
            while slots[place].round == current and slots[place].hash != <uint64_t>name:
                place = (place + 1) & mask
            if slots[place].round == current:
                if slots[place].entry >= 0:
                    break
                each = -1 - slots[place].entry
            slots[place] = Slot(<uint64_t>name, <int32_t>at, current)
        if score != score:
            break
        descending &= score < before or count == 0
        before = score
        all_scores[count] = score
        names[count] = name
        if each >= 0:
            hits[found] = Sought(score, name, rels[each], count)
            found += 1
        count += 1
    else:
        at = -1
    by.count = count
    by.descending = descending
    sought[0] = found
    return at


cdef inline uint64_t numbered_place(int64_t name) noexcept nogil:
    """Distribute whole numbers over a table."""
    cdef uint64_t spread = (<uint64_t>name ^ SEED) * SPREAD_ONE
    return spread ^ (spread >> 32)


def judge_arrays(
    scores,
    ids,
    const int64_t[:, ::1] rows,
    int64_t queries,
    const int64_t[::1] judged,
    const int64_t[::1] starts,
    const int64_t[::1] rels,
    bint narrow,
    int64_t depth,
    bint judged_only,
):
    """Find the judged documents of rows of scores.

    Parameters
    ----------
    scores : (R, K) array of float64 or float32
        The scores of each row.
    ids : (R, K) int array, or None
        The documents; negative ids are none. Without ids, a document is its position in the row, and a NaN score means
        no document, unless that document is judged.
    rows : (3, R) int array
        For each row, in query order: its number, its query's row in the judgments, and that query's position among all
        in order; the latter two are negative without judgments.
    queries : int
        The number of judged queries, Q.
    judged, starts, rels : (D,), (Q + 1,), (D,) int arrays
        The judged documents (negative for those that cannot occur), the first of each query and D, and their labels.
        Without ids, the documents of a query ascend.
    narrow, depth, judged_only
        As for `judge`.

    Returns
    -------
    hits : (3, H) int array
        Query, rank and rel of the hits, sorted by query and rank; a query is its position.
    num_ret : (Q,) int array
        Number of documents of each query that count; negative if it has no row.
    some : bool
        Whether any number is negative.
    wrong : tuple of int, or None
        The row and the position of a NaN score or of a repeated document.
    empty : bool
        Whether some row has no document.
    """
    import numpy as np
    cdef int64_t size, each, row, query, first, judgments, sought = 0, at = -1, most = 0, met = 0
    cdef const int64_t[:, ::1] ids_view
    cdef const int64_t *names = NULL
    cdef const double[:, ::1] long_view
    cdef const float[:, ::1] short_view
    cdef const double *values = NULL
    cdef const float *short_values = NULL
    cdef bint is_short = scores.itemsize == 4
    if is_short:
        short_view = scores
        size = short_view.shape[1]
    else:
        long_view = scores
        size = long_view.shape[1]
    cdef Table table = Table(NULL, 0, 0)
    cdef Lists by = Lists(NULL, NULL, NULL, NULL, 0, 0, True, False, NULL, 0, NULL, 0, 0)
    cdef bint room = True, empty = False
    if size > 2**30:
        raise MemoryError("more documents in a query than this reader can hold")
    if ids is not None:
        ids_view = ids
        if ids_view.shape[0] != scores.shape[0] or ids_view.shape[1] != size:
            raise ValueError("ids have another shape than scores")
    for each in range(rows.shape[1]):
        if rows[1, each] >= 0:
            most += min(size, starts[rows[1, each] + 1] - starts[rows[1, each]])
    num_ret = np.empty(queries, dtype=np.int64)
    hits = np.empty((3, most + 1), dtype=np.int64)
    cdef int64_t[::1] retrieved = num_ret
    cdef int64_t[:, ::1] hits_view = hits
    by.hits = &hits_view[0, 0]
    by.hits_room = most + 1
    for each in range(queries):
        retrieved[each] = -1
    with nogil:
        for each in range(rows.shape[1]):
            row = rows[0, each]
            query = rows[1, each]
            first = starts[query] if query >= 0 else 0
            judgments = starts[query + 1] - first if query >= 0 else 0
            room = make_lists(&by, size, judgments) and (ids is None or make_room(&table, size + judgments))
            if not room:
                break
            if size:
                if is_short:
                    short_values = &short_view[row, 0]
                else:
                    values = &long_view[row, 0]
                if ids is not None:
                    names = &ids_view[row, 0]
            at = list_numbered(
                &by, &table, values, short_values, names, size, &judged[0] + first if judgments else NULL, judgments,
                &rels[0] + first if judgments else NULL, narrow, &sought,
            )
            if at >= 0:
                break
            empty |= by.count == 0
            if query >= 0:
                met += 1
                retrieved[rows[2, each]] = rank_sought(&by, sought, rows[2, each], depth, judged_only)
        free(table.slots)
        release(&by)
    if not room:
        raise MemoryError
    return hits[:, : by.used], num_ret, met < queries, (row, at) if at >= 0 else None, empty


# -- text --------------------------------------------------------------------------------------------------------

cdef extern from "Python.h":
    char *PyOS_double_to_string(double value, char format, int precision, int flags, int *kind) except NULL
    void PyMem_Free(void *text)
    int Py_DTSF_ADD_DOT_0

cdef enum:
    LONGEST_NUMBER = 24  # -1.7976931348623157e+308
    MOST_PLAIN = 15  # digits of a decimal that no other decimal as short can stand for


cdef inline int64_t put_whole(uint8_t *to, uint64_t value, int64_t least) noexcept nogil:
    """Write a whole number with at least so many digits; return how many it has."""
    cdef uint8_t digits[LONGEST_WHOLE]
    cdef int64_t at = LONGEST_WHOLE
    while value or LONGEST_WHOLE - at < least:
        at -= 1
        digits[at] = 48 + value % 10
        value //= 10
    memcpy(to, digits + at, LONGEST_WHOLE - at)
    return LONGEST_WHOLE - at


cdef inline int64_t put_plain(uint8_t *to, double value) noexcept nogil:
    """Write a number as `repr` does, if it has at most 15 digits and no exponent; else return 0.

    Doubles are so close that at most one decimal of 15 digits is read as this one, and so it is the shortest, apart
    from zeros at its end. It is found by one multiplication and proved by one division, both of exact numbers.
    """
    cdef double size = -value if value < 0 else value
    cdef int64_t places = MOST_PLAIN, length = 0
    cdef uint64_t digits, whole
    if not (DOUBLES_ARE_DOUBLES and 1e-4 <= size < 1e15):
        return 0
    while size >= EXACT[MOST_PLAIN - places]:
        places -= 1
    if size < 0.1:
        places += 1 + (size < 0.01) + (size < 0.001)
    digits = <uint64_t>(size * EXACT[places] + 0.5)
    if <double>digits / EXACT[places] != size:
        return 0
    if places >= 8 and digits % 100000000 == 0:
        digits //= 100000000
        places -= 8
    while places > 1 and digits % 10 == 0:
        digits //= 10
        places -= 1
    if value < 0:
        to[0] = MINUS
        length = 1
    if not places:  # 15 digits before the point
        digits *= 10
        places = 1
    whole = digits // <uint64_t>EXACT[places]
    length += put_whole(to + length, whole, 1)
    to[length] = POINT
    return length + 1 + put_whole(to + length + 1, digits - whole * <uint64_t>EXACT[places], places)


cdef int64_t put_number(uint8_t *to, double value) except -1:
    """Write a number as `repr` does, with its function."""
    cdef char *text = PyOS_double_to_string(value, 114, 0, Py_DTSF_ADD_DOT_0, NULL)
    cdef int64_t length = 0
    while text[length]:
        to[length] = text[length]
        length += 1
    PyMem_Free(text)
    return length


cdef struct Piece:
    const uint8_t *text
    const int64_t *offsets
    const int64_t *wholes
    const double *numbers
    int64_t length  # of a text that is the same in each row


def joined(*columns):
    """Return rows of text, one after another.

    Each column is a text that is the same in each row, as bytes; a pair of the bytes of texts and their offsets; an
    int64 array; or a float64 array, whose numbers are written as `repr` does. One of them at least is not bytes.
    """
    import numpy as np
    cdef Piece pieces[16]
    cdef Piece *piece
    cdef int64_t row, each, rows = -1, here, room = 0, at = 0, length, value, count = len(columns)
    cdef const uint8_t[::1] text
    cdef const int64_t[::1] wholes
    cdef const double[::1] numbers
    if count > 16:
        raise ValueError("more than 16 columns")
    for column in columns:
        if not isinstance(column, bytes):
            here = len(column[1]) - 1 if isinstance(column, tuple) else len(column)
            if rows not in (-1, here):
                raise ValueError("columns of different lengths")
            rows = here
    for each in range(count):
        column = columns[each]
        pieces[each] = Piece(NULL, NULL, NULL, NULL, 0)
        if isinstance(column, bytes):
            text = column
            pieces[each].text = &text[0] if text.shape[0] else NOTHING
            pieces[each].length = text.shape[0]
            room += rows * text.shape[0]
            continue
        if isinstance(column, tuple):
            text, wholes = column
            if wholes[rows] > text.shape[0]:
                raise ValueError("offsets beyond the text")
            pieces[each].text = &text[0] if text.shape[0] else NOTHING
            pieces[each].offsets = &wholes[0]
            room += wholes[rows] - wholes[0]
            continue
        if not rows:
            continue
        if column.dtype.kind == "f":
            numbers = column
            pieces[each].numbers = &numbers[0]
            room += rows * LONGEST_NUMBER
        else:
            wholes = column
            pieces[each].wholes = &wholes[0]
            room += rows * LONGEST_WHOLE
    written = np.empty(room + 1, dtype=np.uint8)
    cdef uint8_t[::1] view = written
    cdef uint8_t *to = &view[0]
    with nogil:
        for row in range(rows):
            for each in range(count):
                piece = &pieces[each]
                if piece.numbers is not NULL:
                    length = put_plain(to + at, piece.numbers[row])
                    if not length:
                        with gil:
                            length = put_number(to + at, piece.numbers[row])
                elif piece.wholes is not NULL:
                    value = piece.wholes[row]
                    length = 0
                    if value < 0:
                        to[at] = MINUS
                        at += 1
                    length = put_whole(to + at, 0 - <uint64_t>value if value < 0 else <uint64_t>value, 1)
                elif piece.offsets is not NULL:
                    length = piece.offsets[row + 1] - piece.offsets[row]
                    memcpy(to + at, piece.text + piece.offsets[row], length)
                else:
                    length = piece.length
                    memcpy(to + at, piece.text, length)
                at += length
    return memoryview(written)[:at]
