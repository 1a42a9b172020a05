"""Bugs in claiming epochs, fencing and recovery."""

from tests.torture.planted_bugs.bug import Bug

_LOG = "metadata_log/writer/log.py"
_CLAIMS = "metadata_log/writer/claims.py"
_RECOVERY = "metadata_log/recovery/recovery.py"

BUGS = (
    Bug(
        name="epoch used again",
        what="A writer takes the epoch of the one before.",
        file=_CLAIMS,
        old="    epoch = max([known_epoch, *claims]) + 1\n    try:\n        fs.open(",
        new="""    epoch = max([known_epoch, *claims, 1])
    try:
        fs.exists(directory / claim_name(epoch)) or fs.open(""",
        campaign="crashes",
        seeds=(0, 1, 2),
        expects="was used before|stands after epoch",
    ),
    Bug(
        name="no check of a higher claim",
        what="A writer answers although another one has taken over.",
        file=_CLAIMS,
        old="        if self._fs.exists(self._next) or not self._fs.exists(self._own):\n",
        new="        if not self._own.name:\n",
        campaign="crashes",
        seeds=tuple(range(10)),
        expects="was acknowledged at offset|CorruptLogError",
    ),
    Bug(
        name="higher claim looked for before the sync",
        what="Who takes over between the check and the end of the sync does not see the batch.",
        file="metadata_log/writer/log_writer.py",
        old="        self._sync()\n        self._owner.check()\n",
        new="        self._owner.check()\n        self._sync()\n",
        campaign="crashes",
        seeds=tuple(range(20)),
        expects="was acknowledged at offset|CorruptLogError|a reader saw",
    ),
    Bug(
        name="lock not taken",
        what="A second writer opens a log that has one.",
        file="metadata_log/files/lock.py",
        old='        return fs.lock(directory / LOCK, f"{os.getpid()}\\n")\n',
        new='        return fs.lock(directory / f"{LOCK}-{len(fs.list(directory))}", "")\n',
        campaign="tests/metadata_log/test_log.py",
        seeds=(0,),
        expects="second_writer_is_refused",
    ),
    Bug(
        name="recovery cuts below durable_end",
        what="A damaged block is cut, although a later one proves that it was acknowledged.",
        file=_RECOVERY,
        old="            return Rest.TORN_BELOW_LIMIT\n",
        new="            return Rest.TORN\n",
        campaign="corruption",
        seeds=(0, 1, 2),
        expects="a writer's start cut it",
    ),
    Bug(
        name="recovery does not write again what it keeps",
        what="Blocks that only the page cache has, after a failed sync, are kept and lost later.",
        file=_RECOVERY,
        old="            self._keep(file, tail.position)\n",
        new="            file.truncate(tail.position)\n            file.sync()\n",
        campaign="io_errors",
        seeds=tuple(range(8)),
        expects="lost|CorruptLogError|a reader saw",
    ),
    Bug(
        name="a fenced writer goes on",
        what="Who was fenced is asked again, and believes what it wrote after that.",
        file=_LOG,
        old="        except UnavailableError as error:\n",
        new="        except (UnavailableError, FencedError) as error:\n",
        campaign="crashes",
        seeds=tuple(range(10)),
        expects="by a writer that lost the log",
    ),
    Bug(
        name="slow takers-over are let be",
        what="Who claimed earlier puts its file under a name that its successor uses by now.",
        file="metadata_log/files/file_publish.py",
        old="int(part[1]) < owner.leader_epoch:\n",
        new="int(part[1]) > owner.leader_epoch:\n",
        campaign="tests/metadata_log/test_faults.py",
        seeds=(0,),
        expects="slow_taker_over",
    ),
    Bug(
        name="time goes back",
        what="A batch may be given a time before that of the batch before.",
        file=_LOG,
        old="        timestamp = max(decided, self._last_timestamp)\n",
        new="        timestamp = decided - 5_000 * (base % 2)\n",
        campaign="crashes",
        seeds=(0, 1),
        expects="stands after",
    ),
    Bug(
        name="recovery believes the mark alone",
        what="Whole blocks behind the mark are cut, although they were answered.",
        file=_RECOVERY,
        old="        limit = file.size() if after is None else "
        "min(after.previous_length, file.size())\n",
        new="        limit = self._tail.position\n",
        campaign="crashes",
        seeds=(0, 1, 2),
        expects="lost|CorruptLogError|a reader saw",
    ),
)
