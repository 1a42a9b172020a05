# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Encodes and decodes rows in C, by plans that the package `records` makes from its schemas.

It knows no record type: a plan lists the fields of one, and the same functions walk all plans. All
of it works on bytes between two pointers, and no byte is read without a comparison with the end.

It does the usual only. Whatever is unusual or damaged raises `Unusual`; the caller then calls the
codec in Python, which knows what to answer or which error to raise.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_FromLongLong
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef extern from "Python.h":
    object PyObject_Vectorcall(object, PyObject**, size_t, object)
    object PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    bint PyUnicode_IS_COMPACT_ASCII(object)
    double PyFloat_Unpack8(const char*, int) except? -1
    int PyFloat_Pack8(double, char*, int) except -1
    double PyFloat_AS_DOUBLE(object)

PLANS = 1
"""Version of what this module and the package `records` have to agree on."""


class Unusual(ValueError):
    """Raised for whatever only the codec in Python handles: other forms of values, and damage."""


cdef enum Kind:
    INT, LONG, BOOLEAN, DOUBLE, BYTES, STRING, UUID, INTS, ARRAY, RECORD

KINDS = {
    "int": INT, "long": LONG, "boolean": BOOLEAN, "double": DOUBLE, "bytes": BYTES,
    "string": STRING, "uuid": UUID, "ints": INTS, "array": ARRAY, "record": RECORD,
}

cdef enum:
    FIELDS_MAX = 32
    UUID_SIZE = 16
    # Of the table of shared arrays: entries, and bytes of an entry.
    SHARED_MAX = 65536
    SHARED_SIZE_MAX = 256
    BUFFER_SIZE = 2048

# Columns of the envelope, in order.
cdef enum:
    OFFSET, LEADER_EPOCH, TIMESTAMP, BATCH_OFFSET, VERSION, ORIGIN, DURABLE_END, CRC, EXTRA, ASKED
    KEPT, PAYLOAD, COLUMNS

cdef tuple NAMES = (
    "offset", "leader_epoch", "timestamp", "batch_offset", "record_version", "origin",
    "durable_end", "previous_crc32c", "extra", "asked", "kept", "payload",
)


cdef class Type:
    """Type of a value: its kind, and what it is made of if it is an array or a record."""

    cdef Kind kind
    cdef bint nullable
    cdef unsigned char null_branch, branch
    cdef Type items
    cdef Plan plan

    def __init__(self, str kind, null_branch=None, Type items=None, Plan plan=None):
        self.kind = KINDS[kind]
        self.nullable = null_branch is not None
        if self.nullable:
            self.null_branch, self.branch = 2 * null_branch, 2 - 2 * null_branch
        if (self.kind == ARRAY) != (items is not None) or (self.kind == RECORD) != (plan is not None):
            raise TypeError(f"a type of kind {kind} cannot be made of {items} and {plan}")
        self.items, self.plan = items, plan


cdef class Plan:
    """The fields of one class of structs, in the order in which they are encoded."""

    cdef readonly object cls
    cdef tuple names, types
    cdef int count

    def __init__(self, cls, tuple names, tuple types):
        if not len(names) == len(types) <= FIELDS_MAX:
            raise TypeError(f"{cls.__name__} has {len(names)} fields and {len(types)} types")
        for each in types:
            if not isinstance(each, Type):
                raise TypeError(f"{each} is not a type")
        self.cls, self.names, self.types, self.count = cls, names, types, len(names)


# --- decoding

cdef struct Cursor:
    const unsigned char* start
    const unsigned char* at
    const unsigned char* end
    # Accept only the encoding that the encoder writes.
    bint strict


cdef Cursor over(bytes data, Py_ssize_t position, bint strict) except *:
    cdef Cursor c
    if not 0 <= position <= PyBytes_GET_SIZE(data):
        raise Unusual("position outside of the bytes")
    c.start = <const unsigned char*>PyBytes_AS_STRING(data)
    c.at = c.start + position
    c.end = c.start + PyBytes_GET_SIZE(data)
    c.strict = strict
    return c


cdef inline int64_t long_at(Cursor* c) except? -7:
    """Read a zigzag integer of up to 64 bits."""
    cdef uint64_t rest = 0
    cdef unsigned char byte
    cdef int shift = 0
    while c.at < c.end:
        byte = c.at[0]
        c.at += 1
        rest |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            if (shift == 63 and byte > 1) or (c.strict and shift and not byte):
                break
            return <int64_t>(rest >> 1) ^ -<int64_t>(rest & 1)
        shift += 7
        if shift > 63:
            break
    raise Unusual("integer")


cdef inline int64_t int_at(Cursor* c) except? -7:
    cdef int64_t value = long_at(c)
    if c.strict and not INT32_MIN <= value <= INT32_MAX:
        raise Unusual("integer of more than 32 bits")
    return value


cdef inline unsigned char byte_at(Cursor* c) except? 0xF9:
    if c.at >= c.end:
        raise Unusual("end")
    c.at += 1
    return (c.at - 1)[0]


cdef inline const unsigned char* span_at(Cursor* c, int64_t size) except NULL:
    """Return the start of `size` bytes, and move behind them."""
    if size < 0 or size > c.end - c.at:
        raise Unusual("length")
    c.at += size
    return c.at - size


cdef inline int64_t count_at(Cursor* c) except -1:
    """Read the item count of an array's next block."""
    cdef int64_t count = long_at(c)
    if count < 0:
        if count == INT64_MIN or c.strict:
            raise Unusual("count")
        count = -count
        long_at(c)
    if count > c.end - c.at:
        raise Unusual("count")
    return count


cdef object value_at(Type t, Cursor* c):
    cdef unsigned char byte
    cdef int64_t size
    if t.nullable:
        byte = byte_at(c)
        if byte == t.null_branch:
            return None
        if byte != t.branch:
            raise Unusual("branch")
    if t.kind == INT:
        return PyLong_FromLongLong(int_at(c))
    if t.kind == LONG:
        return PyLong_FromLongLong(long_at(c))
    if t.kind == INTS:
        return ints_at(c)
    if t.kind == UUID:
        return PyBytes_FromStringAndSize(<const char*>span_at(c, UUID_SIZE), UUID_SIZE)
    if t.kind == STRING:
        size = long_at(c)
        return PyUnicode_DecodeUTF8(<const char*>span_at(c, size), size, NULL)
    if t.kind == BYTES:
        size = long_at(c)
        return PyBytes_FromStringAndSize(<const char*>span_at(c, size), size)
    if t.kind == BOOLEAN:
        byte = byte_at(c)
        if byte > 1:
            raise Unusual("truth value")
        return byte == 1
    if t.kind == DOUBLE:
        return PyFloat_Unpack8(<const char*>span_at(c, 8), 1)
    if t.kind == RECORD:
        return struct_at(t.plan, c)
    return array_at(t.items, c)


cdef object struct_at(Plan plan, Cursor* c):
    cdef PyObject* values[FIELDS_MAX]
    cdef int done = 0
    try:
        while done < plan.count:
            value = value_at(<Type>PyTuple_GET_ITEM(plan.types, done), c)
            Py_INCREF(value)
            values[done] = <PyObject*>value
            done += 1
        return PyObject_Vectorcall(plan.cls, values, 0, plan.names)
    finally:
        while done:
            done -= 1
            Py_DECREF(<object>values[done])


# Arrays by their encoded bytes: those of replicas and directories occur millions of times.
cdef dict _int_arrays = {}
cdef dict _uuid_arrays = {}


cdef object share(dict shared, const unsigned char* start, Py_ssize_t size, tuple items):
    if size > SHARED_SIZE_MAX:
        return items
    if len(shared) >= SHARED_MAX:
        shared.clear()
    return shared.setdefault(PyBytes_FromStringAndSize(<const char*>start, size), items)


cdef object ints_at(Cursor* c):
    cdef const unsigned char* start = c.at
    cdef int64_t count, i
    cdef list items
    if c.at < c.end and not c.at[0]:
        c.at += 1
        return ()
    count = c.at[0] >> 1 if c.at < c.end else 0
    if count and not c.at[0] & 0x81 and count + 2 <= c.end - c.at and not c.at[count + 1]:
        for i in range(1, count + 1):
            if c.at[i] >= 0x80:
                break
        else:
            found = _int_arrays.get(PyBytes_FromStringAndSize(<const char*>start, count + 2))
            if found is not None:
                c.at += count + 2
                return found
    items = []
    while True:
        count = count_at(c)
        if not count:
            break
        if c.strict and items:
            raise Unusual("array of several blocks")
        for i in range(count):
            items.append(PyLong_FromLongLong(int_at(c)))
    return share(_int_arrays, start, c.at - start, tuple(items))


cdef object array_at(Type t, Cursor* c):
    cdef const unsigned char* start = c.at
    cdef int64_t count, i
    cdef list items = []
    while True:
        count = count_at(c)
        if not count:
            break
        if c.strict and items:
            raise Unusual("array of several blocks")
        for i in range(count):
            items.append(value_at(t, c))
    if t.kind == UUID and items:
        return share(_uuid_arrays, start, c.at - start, tuple(items))
    return tuple(items)


# --- encoding

cdef struct Buffer:
    unsigned char* data
    Py_ssize_t size, capacity
    unsigned char first[BUFFER_SIZE]


cdef inline void start(Buffer* out) noexcept:
    out.data, out.size, out.capacity = out.first, 0, BUFFER_SIZE


cdef inline void free_buffer(Buffer* out) noexcept:
    if out.data != out.first:
        PyMem_Free(out.data)


cdef int grow(Buffer* out, Py_ssize_t size) except -1:
    cdef Py_ssize_t capacity = 2 * out.capacity + size
    cdef unsigned char* data
    if out.data == out.first:
        data = <unsigned char*>PyMem_Malloc(capacity)
        if data != NULL:
            memcpy(data, out.first, out.size)
    else:
        data = <unsigned char*>PyMem_Realloc(out.data, capacity)
    if data == NULL:
        raise MemoryError
    out.data, out.capacity = data, capacity
    return 0


cdef inline int need(Buffer* out, Py_ssize_t size) except -1:
    if out.capacity - out.size < size:
        grow(out, size)
    return 0


cdef inline int put_byte(Buffer* out, unsigned char byte) except -1:
    need(out, 1)
    out.data[out.size] = byte
    out.size += 1
    return 0


cdef inline int put_bytes(Buffer* out, const char* data, Py_ssize_t size) except -1:
    need(out, size)
    memcpy(out.data + out.size, data, size)
    out.size += size
    return 0


cdef inline int put_long(Buffer* out, int64_t value) except -1:
    cdef uint64_t rest = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    need(out, 10)
    while rest > 0x7F:
        out.data[out.size] = <unsigned char>(rest | 0x80)
        out.size += 1
        rest >>= 7
    out.data[out.size] = <unsigned char>rest
    out.size += 1
    return 0


cdef inline int64_t long_of(object value) except? -7:
    cdef int overflow = 0
    if type(value) is not int:
        raise Unusual("not an int")
    cdef int64_t found = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        raise Unusual("too large")
    return found


cdef inline int put_int_of(Buffer* out, object value) except -1:
    cdef int64_t found = long_of(value)
    if not INT32_MIN <= found <= INT32_MAX:
        raise Unusual("too large")
    return put_long(out, found)


cdef int put_value(Buffer* out, Type t, object value) except -1:
    cdef Py_ssize_t size
    cdef const char* text
    if t.nullable:
        if value is None:
            return put_byte(out, t.null_branch)
        put_byte(out, t.branch)
    if t.kind == INT:
        return put_int_of(out, value)
    if t.kind == LONG:
        return put_long(out, long_of(value))
    if t.kind == BOOLEAN:
        if value is not True and value is not False:
            raise Unusual("not a bool")
        return put_byte(out, value is True)
    if t.kind == DOUBLE:
        if type(value) is not float:
            raise Unusual("not a float")
        need(out, 8)
        PyFloat_Pack8(PyFloat_AS_DOUBLE(value), <char*>out.data + out.size, 1)
        out.size += 8
        return 0
    if t.kind == STRING:
        if type(value) is not str:
            raise Unusual("not a str")
        if PyUnicode_IS_COMPACT_ASCII(value):
            text = PyUnicode_AsUTF8AndSize(value, &size)
            put_long(out, size)
            return put_bytes(out, text, size)
        # Otherwise the string itself would keep a copy of what it is encoded as.
        value = (<str>value).encode()
    if t.kind == BYTES or t.kind == UUID or t.kind == STRING:
        if type(value) is not bytes:
            raise Unusual("not bytes")
        size = PyBytes_GET_SIZE(value)
        if t.kind != UUID:
            put_long(out, size)
        elif size != UUID_SIZE:
            raise Unusual("not a UUID")
        return put_bytes(out, PyBytes_AS_STRING(value), size)
    if t.kind == RECORD:
        return put_struct(out, t.plan, value)
    return put_array(out, t, value)


cdef int put_struct(Buffer* out, Plan plan, object value) except -1:
    cdef int i
    if type(value) is not plan.cls:
        raise Unusual("another class")
    for i in range(plan.count):
        field = getattr(value, <str>PyTuple_GET_ITEM(plan.names, i))
        put_value(out, <Type>PyTuple_GET_ITEM(plan.types, i), field)
    return 0


cdef int put_array(Buffer* out, Type t, object value) except -1:
    cdef Py_ssize_t i, size
    if type(value) is not tuple:
        raise Unusual("not a tuple")
    size = PyTuple_GET_SIZE(value)
    if size:
        put_long(out, size)
        for i in range(size):
            item = <object>PyTuple_GET_ITEM(value, i)
            if t.kind == INTS:
                put_int_of(out, item)
            else:
                put_value(out, t.items, item)
    return put_byte(out, 0)


# --- rows

cdef struct Span:
    const unsigned char* start
    Py_ssize_t size


cdef inline bint repeats(Cursor* c, Span* before) noexcept:
    """True if the bytes of `before` follow, too; move behind them."""
    if before.start == NULL or before.size > c.end - c.at:
        return False
    if memcmp(c.at, before.start, before.size) != 0:
        return False
    c.at += before.size
    return True


cdef class Rows:
    """Rows of one layout: the envelope's columns, and the plans of all records."""

    cdef object cls, plan_of
    cdef tuple names, optional
    cdef list plans
    cdef dict branches
    cdef int64_t type_count
    cdef int fields

    def __init__(self, cls, tuple names, tuple optional, tuple types, plan_of, type_count, has_added):
        """Keep what rows consist of.

        Args:
            names: Names of the envelope's fields.
            optional: Types of the fields from `origin` to `kept`.
            types: The classes of the records, by the branch of the payload's union.
            plan_of: Returns the plan of a branch; called once for each that occurs.
            type_count: How many of these occur in rows of this layout.
            has_added: True if rows have the fields `asked` and `kept`.
        """
        if names != NAMES or len(optional) != PAYLOAD - ORIGIN:
            raise TypeError("the envelope has other fields")
        if not all([isinstance(each, Type) for each in optional]) or type_count > len(types):
            raise TypeError("not the types of the fields or records")
        self.cls, self.names, self.optional, self.plan_of = cls, names, optional, plan_of
        self.plans = [None] * len(types)
        self.branches = {each: branch for branch, each in enumerate(types)}
        self.type_count = type_count
        self.fields = PAYLOAD if has_added else ASKED

    cdef Plan plan(self, Py_ssize_t branch):
        """Return the plan of a branch below the number of types."""
        found = self.plans[branch]
        if found is None:
            found = self.plans[branch] = self.plan_of(branch)
        return <Plan?>found

    def decode(self, bytes data, Py_ssize_t count):
        """Decode exactly `count` rows to envelopes."""
        cdef Cursor c = over(data, 0, False)
        cdef Row row
        cdef list rows = []
        cdef PyObject* values[COLUMNS]
        cdef list columns = [None] * COLUMNS
        cdef Py_ssize_t i
        cdef int field
        clear(&row)
        for i in range(count):
            head_at(self, &c, &row, columns)
            columns[PAYLOAD] = struct_at(payload_plan(self, &c), &c)
            for field in range(COLUMNS):
                values[field] = <PyObject*>columns[field]
            rows.append(PyObject_Vectorcall(self.cls, values, 0, self.names))
        at_end(&c)
        return rows

    def decode_records(self, bytes data, Py_ssize_t count):
        """Decode exactly `count` rows that have only a record and an origin, which are encoded as
        we encode them.

        Returns:
            The records, their versions, the first row's origin, and the encoded records.
        """
        cdef Cursor c = over(data, 0, False)
        cdef Row row
        cdef list records = [], versions = [], payloads = []
        cdef list columns = [None] * COLUMNS
        cdef const unsigned char* start
        cdef Py_ssize_t i
        cdef int field
        origin = None
        clear(&row)
        for i in range(count):
            c.strict = False
            head_at(self, &c, &row, columns)
            for field in range(DURABLE_END, PAYLOAD):
                if columns[field] is not None:
                    raise Unusual("other fields")
            if i == 0:
                origin = columns[ORIGIN]
            c.strict = True
            start = c.at
            records.append(struct_at(payload_plan(self, &c), &c))
            versions.append(columns[VERSION])
            payloads.append(PyBytes_FromStringAndSize(<const char*>start, c.at - start))
        at_end(&c)
        return tuple(records), tuple(versions), origin, tuple(payloads)

    def encode(self, rows):
        """Return the encoded rows."""
        cdef Buffer out
        cdef int field
        start(&out)
        try:
            for row in rows:
                if type(row) is not self.cls:
                    raise Unusual("another class")
                put_long(&out, long_of(row.offset))
                put_int_of(&out, row.leader_epoch)
                put_long(&out, long_of(row.timestamp))
                put_long(&out, long_of(row.batch_offset))
                put_int_of(&out, row.record_version)
                for field in range(ORIGIN, self.fields):
                    put_value(
                        &out,
                        <Type>PyTuple_GET_ITEM(self.optional, field - ORIGIN),
                        getattr(row, <str>PyTuple_GET_ITEM(self.names, field)),
                    )
                put_payload(&out, self, row.payload)
            return PyBytes_FromStringAndSize(<const char*>out.data, out.size)
        finally:
            free_buffer(&out)

    def encode_records(
        self, records, versions, offset, bytes before, bytes after, payloads=()
    ):
        """Return the encoded rows of records that share what stands before and after the version.

        Args:
            offset: Offset of the first record; the others follow.
            payloads: The records, encoded with their branch; may be empty.
        """
        cdef Buffer out
        cdef int64_t next_offset = long_of(offset)
        cdef Py_ssize_t i, count = len(records)
        if len(versions) != count or next_offset < 0 or next_offset > INT64_MAX - count:
            raise Unusual("versions or offset")
        if payloads and len(payloads) != count:
            raise Unusual("payloads")
        start(&out)
        try:
            for i in range(count):
                put_long(&out, next_offset + i)
                put_bytes(&out, PyBytes_AS_STRING(before), PyBytes_GET_SIZE(before))
                put_int_of(&out, versions[i])
                put_bytes(&out, PyBytes_AS_STRING(after), PyBytes_GET_SIZE(after))
                if payloads:
                    put_encoded(&out, payloads[i])
                else:
                    put_payload(&out, self, records[i])
            return PyBytes_FromStringAndSize(<const char*>out.data, out.size)
        finally:
            free_buffer(&out)

    def encode_record(self, record):
        """Return an encoded record, with its branch."""
        cdef Buffer out
        start(&out)
        try:
            put_payload(&out, self, record)
            return PyBytes_FromStringAndSize(<const char*>out.data, out.size)
        finally:
            free_buffer(&out)


cdef struct Row:
    # What is usually the same as in the row before: epoch, time and base offset; all between
    # version and record; the origin alone.
    Span stamp, between, origin


cdef inline void clear(Row* row) noexcept:
    row.stamp.start = row.between.start = row.origin.start = NULL


cdef int head_at(Rows rows, Cursor* c, Row* row, list columns) except -1:
    """Read a row up to its record. `columns` has the values of the row before."""
    cdef int field
    cdef const unsigned char* start
    columns[OFFSET] = PyLong_FromLongLong(long_at(c))
    if not repeats(c, &row.stamp):
        row.stamp.start = c.at
        for field in range(LEADER_EPOCH, VERSION):
            columns[field] = PyLong_FromLongLong(long_at(c))
        row.stamp.size = c.at - row.stamp.start
    columns[VERSION] = PyLong_FromLongLong(long_at(c))
    if repeats(c, &row.between):
        return 0
    start = c.at
    if not repeats(c, &row.origin):
        columns[ORIGIN] = value_at(<Type>PyTuple_GET_ITEM(rows.optional, 0), c)
        row.origin.start, row.origin.size = start, c.at - start
    for field in range(DURABLE_END, rows.fields):
        columns[field] = value_at(<Type>PyTuple_GET_ITEM(rows.optional, field - ORIGIN), c)
    row.between.start, row.between.size = start, c.at - start
    return 0


cdef inline Plan payload_plan(Rows rows, Cursor* c):
    cdef int64_t branch = long_at(c)
    if not 0 <= branch < rows.type_count:
        raise Unusual("branch")
    return rows.plan(branch)


cdef inline int at_end(Cursor* c) except -1:
    if c.at != c.end:
        raise Unusual("bytes left over")
    return 0


cdef int put_payload(Buffer* out, Rows rows, object record) except -1:
    branch = rows.branches.get(type(record))
    if branch is None:
        raise Unusual("another class")
    put_long(out, branch)
    return put_struct(out, rows.plan(branch), record)


cdef int put_encoded(Buffer* out, object payload) except -1:
    if type(payload) is not bytes:
        raise Unusual("not bytes")
    return put_bytes(out, PyBytes_AS_STRING(payload), PyBytes_GET_SIZE(payload))
