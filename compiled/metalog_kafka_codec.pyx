# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Decodes the records of Kafka's batches in C, by plans that `metadata_log` makes from its layouts.

It knows no record type: a plan lists the fields of one, and the same functions walk all plans. All
of it works on bytes between two pointers, and no byte is read without a comparison with the end.

It accepts exactly the form that our encoder writes: no key, no headers, times as in the batch's
header, no unknown tags, no tagged field equal to its default, tags ascending, integers in as few
bytes as they need. It stops before the first record in another form; the caller continues with the
decoder in Python, which knows what to answer or which error to raise.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.long cimport PyLong_FromLong, PyLong_FromLongLong
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport INT32_MAX, INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint32_t, uint64_t

cdef extern from "Python.h":
    object PyObject_Vectorcall(object, PyObject**, size_t, object)
    object PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    double PyFloat_Unpack8(const char*, int) except? -1

PLANS = 1
"""Version of what this module and the package `metadata_log` have to agree on."""


class NotPlain(ValueError):
    """Raised inside this module for a record that is damaged or in an unusual form."""


cdef enum Kind:
    BOOL, INT8, INT16, UINT16, INT32, INT64, FLOAT64, UUID, STRUCTURE, STRING, BYTES, ARRAY

KINDS = {
    "bool": BOOL, "int8": INT8, "int16": INT16, "uint16": UINT16, "int32": INT32, "int64": INT64,
    "float64": FLOAT64, "uuid": UUID, "structure": STRUCTURE, "string": STRING, "bytes": BYTES,
    "array": ARRAY,
}

cdef enum:
    FIELDS_MAX = 32
    UUID_SIZE = 16
    FRAME_SIZE = 3
    # Of a table of shared arrays: entries, and bytes of an entry.
    SHARED_MAX = 65536
    SHARED_SIZE_MAX = 256
    # Columns of the envelope that are given; the others keep their defaults.
    OFFSET = 0
    VERSION = 4
    PAYLOAD = 5
    COLUMNS = 6

cdef tuple NAMES = (
    "offset", "leader_epoch", "timestamp", "batch_offset", "record_version", "payload",
)


cdef class Type:
    """Type of a value: its kind, and what it is made of if it is an array or a structure."""

    cdef Kind kind
    cdef bint nullable
    cdef Type items
    cdef Plan plan

    def __init__(self, str kind, bint nullable=False, Type items=None, Plan plan=None):
        self.kind = KINDS[kind]
        self.nullable = nullable
        if (self.kind == ARRAY) != (items is not None):
            raise TypeError(f"a type of kind {kind} cannot be made of {items}")
        if (self.kind == STRUCTURE) != (plan is not None):
            raise TypeError(f"a type of kind {kind} cannot be made of {plan}")
        # No metadata record has a structure that may be null.
        if nullable and self.kind < STRING:
            raise TypeError(f"a value of kind {kind} cannot be null")
        self.items, self.plan = items, plan


cdef class Plan:
    """The fields of one version of a structure.

    A value has the place of its name in `names`, so that they reach the class in its own order.
    """

    cdef object cls
    cdef tuple names, types, tagged_types, defaults
    cdef int count, tagged_count
    cdef int places[FIELDS_MAX]
    cdef int tagged_places[FIELDS_MAX]
    cdef uint32_t tags[FIELDS_MAX]

    def __init__(self, cls, tuple names, tuple fields, tuple tagged):
        """Keep the fields.

        Args:
            names: Names of all fields that this version has, in the order of the class.
            fields: Name and type of each field that is always written, in their order.
            tagged: Tag, name, type and default of each tagged field, by ascending tag.
        """
        if not len(names) == len(fields) + len(tagged) <= FIELDS_MAX:
            raise TypeError(f"{cls.__name__} has {len(names)} fields")
        if sorted(names) != sorted([each[0] for each in fields] + [each[1] for each in tagged]):
            raise TypeError(f"{cls.__name__} has other fields than {names}")
        self.cls, self.names = cls, names
        self.count, self.tagged_count = len(fields), len(tagged)
        self.types = _all_types([type_ for _, type_ in fields])
        self.tagged_types = _all_types([type_ for _, _, type_, _ in tagged])
        self.defaults = tuple([default for _, _, _, default in tagged])
        for i, (name, _) in enumerate(fields):
            self.places[i] = names.index(name)
        for i, (tag, name, _, _) in enumerate(tagged):
            if i and tag <= self.tags[i - 1]:
                raise TypeError(f"the tags of {cls.__name__} do not ascend")
            self.tags[i], self.tagged_places[i] = tag, names.index(name)


def _all_types(list types):
    if not all([isinstance(each, Type) for each in types]):
        raise TypeError(f"not all of {types} are types")
    return tuple(types)


# --- values

cdef struct Cursor:
    const unsigned char* at
    const unsigned char* end


cdef inline const unsigned char* span_at(Cursor* c, int64_t size) except NULL:
    """Return the start of `size` bytes, and move behind them."""
    if size < 0 or size > c.end - c.at:
        raise NotPlain("length")
    c.at += size
    return c.at - size


cdef inline unsigned char byte_at(Cursor* c) except? 0xF9:
    return span_at(c, 1)[0]


cdef inline int64_t unsigned_at(Cursor* c) except -1:
    """Read an unsigned integer of up to 32 bits, in as few bytes as it needs."""
    cdef uint64_t value = 0
    cdef unsigned char byte
    cdef int shift = 0
    while c.at < c.end and shift < 35:
        byte = c.at[0]
        c.at += 1
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32 or (shift and not byte):
                break
            return <int64_t>value
        shift += 7
    raise NotPlain("integer")


cdef inline int64_t zigzag_at(Cursor* c) except? -7:
    cdef int64_t rest = unsigned_at(c)
    return (rest >> 1) ^ -(rest & 1)


cdef inline uint64_t big_endian(const unsigned char* at, int size) noexcept:
    cdef uint64_t value = 0
    cdef int i
    for i in range(size):
        value = value << 8 | at[i]
    return value


cdef object scalar_at(Kind kind, Cursor* c):
    cdef unsigned char byte
    if kind == INT32:
        return PyLong_FromLong(<int32_t>big_endian(span_at(c, 4), 4))
    if kind == UUID:
        return PyBytes_FromStringAndSize(<const char*>span_at(c, UUID_SIZE), UUID_SIZE)
    if kind == INT64:
        return PyLong_FromLongLong(<int64_t>big_endian(span_at(c, 8), 8))
    if kind == INT8:
        return PyLong_FromLong(<int8_t>span_at(c, 1)[0])
    if kind == INT16:
        return PyLong_FromLong(<int16_t>big_endian(span_at(c, 2), 2))
    if kind == UINT16:
        return PyLong_FromLong(<long>big_endian(span_at(c, 2), 2))
    if kind == FLOAT64:
        return PyFloat_Unpack8(<const char*>span_at(c, 8), 0)
    byte = span_at(c, 1)[0]
    if byte > 1:
        raise NotPlain("truth value")
    return byte == 1


cdef object value_at(Type t, Cursor* c):
    cdef int64_t size
    if t.kind < STRUCTURE:
        return scalar_at(t.kind, c)
    if t.kind == STRUCTURE:
        return structure_at(t.plan, c)
    if t.kind == ARRAY and (t.items.kind == INT32 or t.items.kind == UUID):
        return shared_array_at(t, c)
    size = unsigned_at(c) - 1
    if size < 0:
        return null_of(t)
    if t.kind == STRING:
        return PyUnicode_DecodeUTF8(<const char*>span_at(c, size), size, NULL)
    if t.kind == BYTES:
        return PyBytes_FromStringAndSize(<const char*>span_at(c, size), size)
    return array_at(t.items, size, c)


cdef inline object null_of(Type t):
    if not t.nullable:
        raise NotPlain("null")
    return None


cdef object array_at(Type items, int64_t count, Cursor* c):
    # An item takes at least one byte.
    if count > c.end - c.at:
        raise NotPlain("count")
    cdef tuple array = PyTuple_New(count)
    cdef int64_t i
    for i in range(count):
        item = value_at(items, c)
        Py_INCREF(item)
        PyTuple_SET_ITEM(array, i, item)
    return array


# Arrays by their bytes, count included: the millions of partitions of an image share few distinct
# replica lists and directories.
cdef dict _int_arrays = {}
cdef dict _uuid_arrays = {}


cdef object shared_array_at(Type t, Cursor* c):
    cdef const unsigned char* start = c.at
    cdef int64_t count = unsigned_at(c) - 1
    cdef int64_t size
    cdef dict shared = _int_arrays if t.items.kind == INT32 else _uuid_arrays
    if count < 0:
        return null_of(t)
    if not count:
        return ()
    size = count * (4 if t.items.kind == INT32 else UUID_SIZE) + (c.at - start)
    if size > SHARED_SIZE_MAX or size > c.end - start:
        return array_at(t.items, count, c)
    raw = PyBytes_FromStringAndSize(<const char*>start, size)
    found = shared.get(raw)
    if found is not None:
        c.at = start + size
        return found
    if len(shared) >= SHARED_MAX:
        shared.clear()
    array = array_at(t.items, count, c)
    shared[raw] = array
    return array


cdef object structure_at(Plan plan, Cursor* c):
    cdef PyObject* values[FIELDS_MAX]
    cdef int i, count = plan.count + plan.tagged_count
    for i in range(count):
        values[i] = NULL
    try:
        for i in range(plan.count):
            value = value_at(<Type>PyTuple_GET_ITEM(plan.types, i), c)
            Py_INCREF(value)
            values[plan.places[i]] = <PyObject*>value
        tagged_section_at(plan, values, c)
        return PyObject_Vectorcall(plan.cls, values, 0, plan.names)
    finally:
        for i in range(count):
            if values[i] != NULL:
                Py_DECREF(<object>values[i])


cdef int tagged_section_at(Plan plan, PyObject** values, Cursor* c) except -1:
    cdef int64_t left = unsigned_at(c)
    cdef int64_t tag = unsigned_at(c) if left else -1
    cdef int i
    for i in range(plan.tagged_count):
        value = <object>PyTuple_GET_ITEM(plan.defaults, i)
        if plan.tags[i] == tag:
            value = tagged_value_at(<Type>PyTuple_GET_ITEM(plan.tagged_types, i), value, c)
            left -= 1
            tag = unsigned_at(c) if left else -1
        Py_INCREF(value)
        values[plan.tagged_places[i]] = <PyObject*>value
    if left:
        raise NotPlain("tag")
    return 0


cdef object tagged_value_at(Type t, object default, Cursor* c):
    cdef int64_t size = unsigned_at(c)
    cdef const unsigned char* start = c.at
    value = value_at(t, c)
    # A field that holds its default is not written.
    if c.at - start != size or PyObject_RichCompareBool(value, default, Py_EQ):
        raise NotPlain("tagged field")
    return value


# --- records of a batch

cdef class Rows:
    """The envelope, and the plans of all records by the three bytes of their frames."""

    cdef object cls
    # By the bytes of API key and version, each below 128.
    cdef list plans

    def __init__(self, cls, dict plans):
        self.cls = cls
        self.plans = [None] * (128 * 128)
        for (key, version), plan in plans.items():
            if not (0 <= key < 128 and 0 <= version < 128 and isinstance(plan, Plan)):
                raise TypeError(f"no plan of a record with a frame of three bytes: {key, version}")
            self.plans[key << 7 | version] = plan

    def decode(
        self, bytes batch not None, Py_ssize_t position, Py_ssize_t delta, Py_ssize_t count,
        int64_t batch_offset, leader_epoch, timestamp,
    ):
        """Decode the plain data records of a batch from a position on.

        Args:
            delta: Offset delta of the record at this position.
            count: How many records the whole batch has.

        Returns:
            The envelopes of all records before the first that is not plain, and the position
            after them.
        """
        cdef Cursor c
        cdef list rows = []
        cdef const unsigned char* start = <const unsigned char*>PyBytes_AS_STRING(batch)
        cdef list columns = [None, leader_epoch, timestamp, batch_offset, None, None]
        cdef PyObject* values[COLUMNS]
        cdef int i
        if not 0 <= position <= PyBytes_GET_SIZE(batch) or not 0 <= delta <= count <= INT32_MAX:
            raise NotPlain("position or count")
        if batch_offset > INT64_MAX - count:
            raise NotPlain("offset")
        c.at, c.end = start + position, start + PyBytes_GET_SIZE(batch)
        try:
            while delta < count:
                columns[OFFSET] = PyLong_FromLongLong(batch_offset + delta)
                record_at(self, delta, &c, columns)
                for i in range(COLUMNS):
                    values[i] = <PyObject*>columns[i]
                rows.append(PyObject_Vectorcall(self.cls, values, 0, NAMES))
                position = c.at - start
                delta += 1
        except ValueError:
            pass
        return rows, position


cdef int record_at(Rows rows, Py_ssize_t delta, Cursor* c, list columns) except -1:
    """Read a record: its length, attributes, time delta, offset delta, key, value, headers."""
    cdef Cursor inner
    cdef int64_t size = zigzag_at(c)
    inner.at = span_at(c, size)
    inner.end = c.at
    if byte_at(&inner) or byte_at(&inner) or zigzag_at(&inner) != delta or byte_at(&inner) != 1:
        raise NotPlain("record")
    size = zigzag_at(&inner)
    if size != inner.end - inner.at - 1 or inner.end[-1]:
        raise NotPlain("value")
    inner.end -= 1
    value_of(rows, &inner, columns)
    return 0


cdef int value_of(Rows rows, Cursor* c, list columns) except -1:
    """Read a framed value that ends where the bytes end."""
    cdef const unsigned char* frame = span_at(c, FRAME_SIZE)
    if frame[0] != 1 or frame[1] >= 0x80 or frame[2] >= 0x80:
        raise NotPlain("frame")
    plan = rows.plans[frame[1] << 7 | frame[2]]
    if plan is None:
        raise NotPlain("type or version")
    columns[VERSION] = PyLong_FromLong(frame[2])
    columns[PAYLOAD] = structure_at(<Plan>plan, c)
    if c.at != c.end:
        raise NotPlain("bytes left over")
    return 0
