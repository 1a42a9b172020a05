# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Follows partitions in C, for the outages and the timeline of a log.

Most rows of a log change only the ISR or the leader of a partition, or create a partition. They are
applied here, to the same dicts and objects that the rules in Python use, in `replay/incidents`.
Whatever else happens is left to those rules: other rows are returned, and of a change whose
consequences are not the usual ones only the state is changed, before a rule is called with it.

Fields are read where their class keeps them, as Python's interpreter does: objects of the classes in
`Layout` only, and a class that keeps its fields in another way is refused.
"""

from types import MemberDescriptorType

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE

cdef extern from "Python.h":
    object PyObject_Vectorcall(object, PyObject**, size_t, PyObject*)

cdef extern from "structmember.h":
    ctypedef struct PyMemberDef:
        int type
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member
    int T_OBJECT_EX

cdef tuple NOTHING = ()

PLANS = 1
"""Version of what this module and the package `replay` have to agree on."""

cdef enum:
    FIELDS_MAX = 16
    CHANGE_FIELDS = 12
    PARTITION_FIELDS = 14

# The fields of each class, in order. Those of a change from SETS on are None if it does not set them.
# The record that creates a partition has the same fields as the partition.
cdef enum:
    OFFSET, TIMESTAMP, BATCH_OFFSET, EXTRA, PAYLOAD
cdef enum:
    OF_PARTITION, OF_TOPIC, NEW_LEADER, NEW_RECOVERY, NEW_ISR, SETS
cdef enum:
    TOPIC_ID, PARTITION_ID, REPLICAS, ISR, REMOVING, ADDING, LEADER, RECOVERY, LEADER_EPOCH, EPOCH
    DIRECTORIES, ELR, LAST_KNOWN_ELR, MODE
cdef enum:
    FIRST, NAMES, COUNTS

ROW = ("offset", "timestamp", "batch_offset", "extra", "payload")
CHANGE = (
    *("partition_id", "topic_id", "leader", "leader_recovery_state", "isr", "replicas"),
    *("removing_replicas", "adding_replicas", "directories", "eligible_leader_replicas"),
    *("last_known_elr", "mode"),
)
PARTITION = (
    *("topic_id", "partition_id", "replicas", "isr", "removing_replicas", "adding_replicas"),
    *("leader", "leader_recovery_state", "leader_epoch", "partition_epoch", "directories"),
    *("eligible_leader_replicas", "last_known_elr", "mode"),
)
GROUP = ("first", "names", "counts")


cdef class Layout:
    """A class, and where its objects keep some of their fields."""

    cdef object cls
    cdef Py_ssize_t places[FIELDS_MAX]

    def __init__(self, cls, tuple names):
        if len(names) > FIELDS_MAX:
            raise TypeError(f"{cls.__name__}: {len(names)} fields are too many")
        self.cls = cls
        for i, name in enumerate(names):
            self.places[i] = place_of(cls, name)


cdef Py_ssize_t place_of(cls, name) except -1:
    cdef PyMemberDef* member
    descriptor = vars(cls).get(name)
    if type(descriptor) is not MemberDescriptorType:
        raise TypeError(f"{cls.__name__} does not keep {name} in its objects")
    member = (<PyMemberDescrObject*>descriptor).d_member
    if member.type != T_OBJECT_EX:
        raise TypeError(f"{cls.__name__} does not keep {name} as an object")
    return member.offset


cdef inline PyObject* peek(Layout layout, owner, int field) except NULL:
    """Return a field's value, which `owner` keeps alive; `owner` must be of the layout's class."""
    cdef PyObject* found = (<PyObject**>(<char*><PyObject*>owner + layout.places[field]))[0]
    if found == NULL:
        raise AttributeError("a field is not set")
    return found


cdef inline object get(Layout layout, owner, int field):
    return <object>peek(layout, owner, field)


cdef class Changes:
    """Applies changes of only the ISR or the leader of partitions, and further partitions of topics.

    An iterator over the rows that are left to the caller.
    """

    cdef Layout rows, changes, creations, partitions
    cdef object no_leader, leader_unset, recovery_unset, otherwise
    cdef dict live
    cdef tuple left
    cdef Py_ssize_t index
    cdef bint is_calm
    # The last change; a new partition was None before.
    cdef object before, after
    cdef tuple old_isr, new_isr

    def __cinit__(self, row, change, creation, partition, unset, no_leader, dict live, otherwise):
        """Keep where the state is.

        Args:
            row, change, creation, partition: The classes of these objects.
            unset: Leader and recovery state of a change that does not set them.
            live: The partitions by topic id and partition id.
            otherwise: Called with a row, and its partition before and after it, if the consequences
                of a change are not the usual ones.
        """
        if partition.__struct_fields__ != PARTITION or {*change.__struct_fields__} != {*CHANGE}:
            raise TypeError("the records or the partitions have other fields")
        if {*creation.__struct_fields__} != {*PARTITION}:
            raise TypeError("the records that create partitions have other fields")
        self.rows, self.changes = Layout(row, ROW), Layout(change, CHANGE)
        self.creations, self.partitions = Layout(creation, PARTITION), Layout(partition, PARTITION)
        self.leader_unset, self.recovery_unset = unset
        self.no_leader, self.live, self.otherwise = no_leader, live, otherwise
        self.left = ()

    def replay(self, tuple rows not None, bint is_calm):
        """Return an iterator over the rows that are left to the caller; the others are applied.

        Args:
            is_calm: True if no broker's record can be the cause of a change.
        """
        self.left, self.index, self.is_calm = rows, 0, is_calm
        return self

    def __iter__(self):
        return self

    def __next__(self):
        while self.index < PyTuple_GET_SIZE(self.left):
            row = <object>PyTuple_GET_ITEM(self.left, self.index)
            self.index += 1
            if not self.apply(row):
                return row
            if not self.see(row):
                self.otherwise(row, self.before, self.after)
        self.left = ()
        self.index = 0
        raise StopIteration

    cdef bint see(self, row) except -1:
        """Handle the consequences of the change in a row; return False if they are not usual."""
        return False

    cdef bint apply(self, row) except -1:
        """Set a partition; return False, with nothing changed, if the row is not plain."""
        if type(row) is not self.rows.cls or peek(self.rows, row, EXTRA) != <PyObject*>None:
            return False
        record = get(self.rows, row, PAYLOAD)
        if type(record) is self.changes.cls:
            return self.change(record)
        return type(record) is self.creations.cls and self.create(record)

    cdef bint change(self, record) except -1:
        cdef int field
        for field in range(SETS, CHANGE_FIELDS):
            if peek(self.changes, record, field) != <PyObject*>None:
                return False
        if peek(self.changes, record, NEW_RECOVERY) != <PyObject*>self.recovery_unset:
            return False
        topic = self.live.get(get(self.changes, record, OF_TOPIC))
        if type(topic) is not dict:
            return False
        partition_id = get(self.changes, record, OF_PARTITION)
        before = (<dict>topic).get(partition_id)
        if type(before) is not self.partitions.cls:
            return False
        old_isr, isr = get(self.partitions, before, ISR), get(self.changes, record, NEW_ISR)
        isr = old_isr if isr is None else isr
        if type(isr) is not tuple or type(old_isr) is not tuple:
            return False
        self.after = self.changed(before, isr, get(self.changes, record, NEW_LEADER))
        self.before, self.old_isr, self.new_isr = before, old_isr, isr
        (<dict>topic)[partition_id] = self.after
        return True

    cdef bint create(self, record) except -1:
        """Add a partition to a topic that has others, whose id it shares."""
        cdef PyObject* values[FIELDS_MAX]
        cdef PyObject* sibling = NULL
        cdef Py_ssize_t at = 0
        cdef int field
        topic = self.live.get(get(self.creations, record, TOPIC_ID))
        partition_id, isr = get(self.creations, record, PARTITION_ID), get(self.creations, record, ISR)
        if type(topic) is not dict or type(isr) is not tuple or partition_id in <dict>topic:
            return False
        if not PyDict_Next(<dict>topic, &at, NULL, &sibling):
            return False
        first = <object>sibling
        if type(first) is not self.partitions.cls:
            return False
        for field in range(PARTITION_FIELDS):
            values[field] = peek(self.creations, record, field)
            if field in (ELR, LAST_KNOWN_ELR) and values[field] == <PyObject*>None:
                values[field] = <PyObject*>NOTHING
        values[TOPIC_ID] = peek(self.partitions, first, TOPIC_ID)
        self.after = PyObject_Vectorcall(self.partitions.cls, values, PARTITION_FIELDS, NULL)
        self.before, self.old_isr, self.new_isr = None, None, isr
        (<dict>topic)[partition_id] = self.after
        return True

    cdef object changed(self, before, isr, leader):
        """Return a partition after a change, as `changed` of `replay/image/partitions.py` does."""
        cdef PyObject* values[FIELDS_MAX]
        cdef int field
        for field in range(PARTITION_FIELDS):
            values[field] = peek(self.partitions, before, field)
        values[ISR] = <PyObject*>isr
        epoch = get(self.partitions, before, EPOCH) + 1
        values[EPOCH] = <PyObject*>epoch
        if leader != self.leader_unset:
            leader_epoch = get(self.partitions, before, LEADER_EPOCH) + 1
            values[LEADER], values[LEADER_EPOCH] = <PyObject*>leader, <PyObject*>leader_epoch
        return PyObject_Vectorcall(self.partitions.cls, values, PARTITION_FIELDS, NULL)


cdef class OutageChanges(Changes):
    """Ends the outages of partitions that are well again, and begins those of one kind."""

    cdef dict open, min_isr, labels
    cdef list ended
    cdef object outage, kind, own

    def keep(self, dict open_, dict min_isr, dict labels, list ended, outage, kind, own):
        """Keep where the outages are.

        Args:
            open_: The current outages by topic id and partition id.
            outage: The class of outages; made with `kind`, and `own` as the cause, for partitions
                that have a leader and enough in-sync replicas, but not all.
        """
        self.open, self.min_isr, self.labels, self.ended = open_, min_isr, labels, ended
        self.outage, self.kind, self.own = outage, kind, own
        return self

    cdef bint see(self, row) except -1:
        topic_id = get(self.partitions, self.after, TOPIC_ID)
        key = topic_id, get(self.partitions, self.after, PARTITION_ID)
        replicas = get(self.partitions, self.after, REPLICAS)
        needed, known = self.min_isr.get(topic_id), self.open.get(key)
        if needed is None or type(replicas) is not tuple:
            return False
        if get(self.partitions, self.after, LEADER) == self.no_leader:
            return False
        if PyTuple_GET_SIZE(self.new_isr) < needed:
            return False
        if PyTuple_GET_SIZE(self.new_isr) < PyTuple_GET_SIZE(<tuple>replicas):
            return self.begin(row, key, known)
        if known is not None:
            self.end(row, key, known)
        return True

    cdef bint begin(self, row, tuple key, known) except -1:
        cdef PyObject* values[7]
        label = self.labels.get(<object>PyTuple_GET_ITEM(key, 0))
        if known is not None or label is None or not self.is_calm:
            return False
        if get(self.partitions, self.after, ADDING):
            return False
        values[0], values[1] = <PyObject*>label, <PyObject*>self.kind
        values[2], values[3] = peek(self.rows, row, OFFSET), peek(self.rows, row, TIMESTAMP)
        values[4], values[5] = <PyObject*>self.own, <PyObject*>self.before
        values[6] = <PyObject*>self.after
        self.open[key] = (PyObject_Vectorcall(self.outage, values, 7, NULL),)
        return True

    cdef int end(self, row, tuple key, known) except -1:
        offset, time = get(self.rows, row, OFFSET), get(self.rows, row, TIMESTAMP)
        del self.open[key]
        for each in known:
            each.to_offset, each.to_time = offset, time
            self.ended.append(each)
        return 0


cdef class EventChanges(Changes):
    """Adds ISRs that grow or shrink, and new partitions, to the groups of a timeline."""

    cdef dict labels, names, up, caused, latest, changed_groups
    cdef Layout groups
    cdef object of_changes, of_topics, grew, shrank, created

    def keep(
        self,
        group,
        dict labels,
        dict names,
        dict up,
        dict caused,
        dict latest,
        dict changed,
        kinds,
        effects,
    ):
        """Keep where the groups are.

        Args:
            group: The class of the groups.
            labels: Names of topics by id.
            names: Names of partitions by topic id and partition id.
            up: Offset of the record that brought each broker back.
            caused: Groups of changes by the offset of their cause.
            latest: The last group of each kind whose records are of one batch.
            changed: Its keys are the groups that have changed.
            kinds: The kinds of a batch's groups of changes and of new partitions.
            effects: Texts for an ISR that grew, one that shrank, and a new partition.
        """
        self.groups, self.labels = Layout(group, GROUP), labels
        self.names, self.up, self.caused, self.latest = names, up, caused, latest
        self.changed_groups = changed
        self.of_changes, self.of_topics = kinds
        self.grew, self.shrank, self.created = effects
        return self

    cdef bint see(self, row) except -1:
        if self.before is None:
            return self.add(row, self.group_of_batch(self.of_topics, row), self.created)
        if peek(self.partitions, self.before, LEADER) != peek(self.partitions, self.after, LEADER):
            return False
        if PyTuple_GET_SIZE(self.old_isr) == PyTuple_GET_SIZE(self.new_isr):
            return False
        is_grown = PyTuple_GET_SIZE(self.old_isr) < PyTuple_GET_SIZE(self.new_isr)
        if not (is_grown or self.is_calm):
            return False
        cause = self.came() if is_grown else None
        if cause is None:
            group = self.group_of_batch(self.of_changes, row)
        else:
            group = self.caused.get(cause)
        return self.add(row, group, self.grew if is_grown else self.shrank)

    cdef bint add(self, row, group, effect) except -1:
        """Add a row to a group; return False if there is none, or the partition has no name yet."""
        if type(group) is not self.groups.cls:
            return False
        name = self.name()
        if name is None:
            return False
        group.last = row
        names, counts = get(self.groups, group, NAMES), get(self.groups, group, COUNTS)
        (<dict?>names)[name] = None
        (<dict?>counts)[effect] = (<dict?>counts).get(effect, 0) + 1
        self.changed_groups[group] = None
        return True

    cdef object came(self):
        """Return the offset of the last record that brought a new member of the ISR back."""
        found = None
        for each in self.new_isr:
            if each not in self.old_isr:
                offset = self.up.get(each)
                if offset is not None and (found is None or offset > found):
                    found = offset
        return found

    cdef object group_of_batch(self, kind, row):
        """Return the group of a kind for a row's batch, if there is one already."""
        group = self.latest.get(kind)
        if type(group) is not self.groups.cls:
            return None
        first = get(self.groups, group, FIRST)
        if type(first) is not self.rows.cls:
            return None
        is_of_batch = get(self.rows, first, BATCH_OFFSET) == get(self.rows, row, BATCH_OFFSET)
        return group if is_of_batch else None

    cdef object name(self):
        """Return the partition's name, if the topic's or the partition's is known."""
        topic_id = get(self.partitions, self.after, TOPIC_ID)
        partition_id = get(self.partitions, self.after, PARTITION_ID)
        topic = self.names.get(topic_id)
        if type(topic) is not dict:
            return None
        name = (<dict>topic).get(partition_id)
        if name is None:
            label = self.labels.get(topic_id)
            if label is None:
                return None
            name = (<dict>topic)[partition_id] = f"partition:{label}/{partition_id}"
        return name
