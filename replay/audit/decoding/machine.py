"""Runs a program (program.py) that decodes the bytes of records; compiled by numba.

The functions work for any schema, so they are compiled only once and kept in numba's cache on disk.
Each read is bounds-checked.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy

from replay.audit.decoding.program import DEPTH_MAX, Op

# Numba treats module-level integers as constants.
_INTEGER, _BOOLEAN, _OCTETS, _FIXED = map(int, (Op.INTEGER, Op.BOOLEAN, Op.OCTETS, Op.FIXED))
_UNION, _JUMP, _LOOP, _NEXT = map(int, (Op.UNION, Op.JUMP, Op.LOOP, Op.NEXT))
_INTEGERS, _FIXEDS, _CONSTANT = map(int, (Op.INTEGERS, Op.FIXEDS, Op.CONSTANT))
_BEGIN, _END, _DROP = map(int, (Op.BEGIN, Op.END, Op.DROP))
_DEPTH_MAX = DEPTH_MAX

_INT_MAX = 2**31 - 1

_VARINT = "a number is longer than 64 bits, or ends after the block"
_RANGE = "a number does not fit its type"
_BRANCH = "a union has no such branch"
_SIZE = "a value ends after the block"
_FLAG = "a boolean is neither 0 nor 1"
_REST = "the records do not end with the block"


def _integer(data: Any, at: Any, end: Any) -> Any:
    """Decode the zigzag varint at index `at`; return its value and the index after it."""
    if at < end and data[at] < 128:
        octet = numpy.int64(data[at])
        return (octet >> 1) ^ -(octet & 1), at + 1
    found = numpy.uint64(0)
    shift = numpy.uint64(0)
    start = at
    while at < end and shift < 64:
        octets = numpy.uint64(data[at])
        found |= (octets & numpy.uint64(127)) << shift
        at += 1
        if octets < 128 and (shift < 63 or octets < 2):
            half = numpy.int64(found >> numpy.uint64(1))
            return half ^ -numpy.int64(found & numpy.uint64(1)), at
        shift += numpy.uint64(7)
    raise ValueError(_VARINT, start)


def _compiled(
    function: Callable[..., Any], result: Any, *arguments: Any, **options: Any
) -> Callable[..., Any]:
    """Compile a function; keep the result on disk if there is a writable folder for it."""
    signature = result(*arguments)
    try:
        compiled: Callable[..., Any] = numba.njit(signature, cache=True, **options)(function)
    except (OSError, RuntimeError):  # no such folder; a full disk
        compiled = numba.njit(signature, **options)(function)
    return compiled


_octets = numba.types.Array(numba.types.uint8, 1, "C", readonly=True)
_longs = numba.types.int64[::1]
_table = numba.types.int64[:, ::1]
_pair = numba.types.UniTuple(numba.types.int64, 2)

integer = _compiled(_integer, _pair, _octets, numba.types.int64, numba.types.int64, inline="always")


def _count(data: Any, at: Any, end: Any) -> Any:
    """Decode the item count of an array or map block; return it and the index after it."""
    start = at
    count, at = integer(data, at, end)
    if count < 0:
        _, at = integer(data, at, end)
        count = -count
    if count < 0:  # -2**63 stays negative
        raise ValueError(_SIZE, start)
    return count, at


count_ = _compiled(_count, _pair, _octets, numba.types.int64, numba.types.int64)


def _run(
    data: Any,
    ends: Any,
    counts: Any,
    code: Any,
    targets: Any,
    firsts: Any,
    seconds: Any,
    items: Any,
) -> Any:
    """Decode the records of some blocks; return the number of rows that were kept.

    Args:
        data: The bytes of the blocks, one after the other.
        ends: By block, the index of the byte after it.
        counts: By block, the number of its records.
        code, targets: The `code` and `targets` of the program.
        firsts, seconds: The results, by column and row. For a single value: the value and 1; for
            bytes: the index of the first one and the size; for a list: the index of its first item
            in `items` and the number of items. The caller sets all `seconds` to -1; this remains
            where there is no value.
        items: The items of lists: integers, or the indices of their first bytes.

    Raises:
        ValueError: the bytes do not fit the program; the arguments are a message and the index of
            the byte.
    """
    loops = numpy.empty(_DEPTH_MAX, numpy.int64)
    depth = 0
    row = 0
    used = 0
    at = 0
    for block in range(len(ends)):
        end = ends[block]
        for _ in range(counts[block]):
            begun = used
            is_kept = True
            step = 0
            while step >= 0:
                op, column, a, b = code[step, 0], code[step, 1], code[step, 2], code[step, 3]
                step += 1
                if op == _INTEGER:
                    start = at
                    value, at = integer(data, at, end)
                    if a and (value > _INT_MAX or value < -_INT_MAX - 1):
                        raise ValueError(_RANGE, start)
                    if column >= 0:
                        firsts[column, row] = value
                        seconds[column, row] = 1
                elif op == _UNION:
                    start = at
                    value, at = integer(data, at, end)
                    if value < 0 or value >= b:
                        raise ValueError(_BRANCH, start)
                    if column >= 0:
                        firsts[column, row] = value
                        seconds[column, row] = 1
                    step = targets[a + value]
                elif op == _JUMP:
                    step = a
                elif op in (_OCTETS, _FIXED):
                    start, size = at, a
                    if op == _OCTETS:
                        size, at = integer(data, at, end)
                    if size < 0 or size > end - at:
                        raise ValueError(_SIZE, start)
                    if column >= 0:
                        firsts[column, row] = at
                        seconds[column, row] = size
                    at += size
                elif op in (_INTEGERS, _FIXEDS):
                    first = used
                    count, at = count_(data, at, end)
                    while count > 0:
                        if op == _INTEGERS:
                            if count > end - at:
                                raise ValueError(_SIZE, at)
                            for _i in range(count):
                                start = at
                                value, at = integer(data, at, end)
                                if a and (value > _INT_MAX or value < -_INT_MAX - 1):
                                    raise ValueError(_RANGE, start)
                                if column >= 0:
                                    items[used] = value
                                    used += 1
                        elif a > 0:
                            if count > (end - at) // a:
                                raise ValueError(_SIZE, at)
                            for _i in range(count):
                                if column >= 0:
                                    items[used] = at
                                    used += 1
                                at += a
                        count, at = count_(data, at, end)
                    if column >= 0:
                        firsts[column, row] = first
                        seconds[column, row] = used - first
                elif op == _LOOP:
                    loops[depth] = 0
                    depth += 1
                    step = a
                elif op == _NEXT:
                    left = loops[depth - 1]
                    if left == 0:
                        left, at = count_(data, at, end)
                        if left > end - at:
                            raise ValueError(_SIZE, at)
                    if left == 0:
                        depth -= 1
                    else:
                        loops[depth - 1] = left - 1
                        step = a
                elif op == _BOOLEAN:
                    if at >= end:
                        raise ValueError(_SIZE, at)
                    if data[at] > 1:
                        raise ValueError(_FLAG, at)
                    if column >= 0:
                        firsts[column, row] = data[at]
                        seconds[column, row] = 1
                    at += 1
                elif op == _CONSTANT:
                    firsts[column, row] = a
                    seconds[column, row] = b
                elif op == _BEGIN:
                    firsts[column, row] = at
                elif op == _END:
                    seconds[column, row] = at - firsts[column, row]
                elif op == _DROP:
                    is_kept = False
                else:
                    step = -1
            if is_kept:
                row += 1
            else:
                used = begun
                seconds[:, row] = -1
        if at != end:
            raise ValueError(_REST, at)
    return row


run = _compiled(
    _run, numba.types.int64, _octets, _longs, _longs, _table, _longs, _table, _table, _longs
)
"""`_run`, compiled."""


def _gathered(data: Any, firsts: Any, sizes: Any) -> Any:
    """Copy byte strings of `data`; return Arrow offsets (0, then the end of each) and the copy."""
    offsets = numpy.zeros(len(firsts) + 1, numpy.int32)
    end = 0
    for index in range(len(firsts)):
        end += max(sizes[index], 0)
        offsets[index + 1] = end
    copied = numpy.empty(end, numpy.uint8)
    for index in range(len(firsts)):
        start = offsets[index]
        for place in range(sizes[index]):
            copied[start + place] = data[firsts[index] + place]
    return offsets, copied


gathered = _compiled(
    _gathered,
    numba.types.Tuple((numba.types.int32[::1], numba.types.uint8[::1])),
    *(_octets, _longs, _longs),
)
"""`_gathered`, compiled."""


def _listed(items: Any, firsts: Any, counts: Any) -> Any:
    """Copy the items of lists; return Arrow offsets (0, then the end of each list) and the copy."""
    offsets = numpy.zeros(len(firsts) + 1, numpy.int32)
    end = 0
    for index in range(len(firsts)):
        end += max(counts[index], 0)
        offsets[index + 1] = end
    copied = numpy.empty(end, numpy.int64)
    for index in range(len(firsts)):
        start = offsets[index]
        for place in range(counts[index]):
            copied[start + place] = items[firsts[index] + place]
    return offsets, copied


listed = _compiled(
    _listed, numba.types.Tuple((numba.types.int32[::1], _longs)), _longs, _longs, _longs
)
"""`_listed`, compiled."""
