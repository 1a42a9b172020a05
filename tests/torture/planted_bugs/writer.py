"""Bugs in writing, syncing, updating the commit mark and answering."""

from tests.torture.planted_bugs.bug import Bug

_LOG = "metadata_log/writer/log.py"
_WRITER = "metadata_log/writer/log_writer.py"

_SYNC = """            self._flush()
            self._file.sync()
        self.synced = self.tail
"""

BUGS = (
    Bug(
        name="acknowledge before sync",
        what="The callers are answered before their batches are synced.",
        file=_LOG,
        old="""            if self._writer.group_size_bytes:
                is_alone = len(group) == 1 and not self._queue.has_waiting
                self.on_sync(await self._group_commit.commit(is_alone=is_alone))
""",
        new="""            for queued, result in results:
                queued.resolve(result)
            await asyncio.sleep(0)
            if self._writer.group_size_bytes:
                is_alone = len(group) == 1 and not self._queue.has_waiting
                self.on_sync(await self._group_commit.commit(is_alone=is_alone))
""",
        campaign="crashes",
        seeds=(0, 1, 2, 3),
        expects="was acknowledged at offset",
    ),
    Bug(
        name="skip data sync",
        what="A group is written and answered, and never synced.",
        file=_WRITER,
        old=_SYNC,
        new="""            self._flush()
        self.synced = self.tail
""",
        campaign="crashes",
        seeds=(0, 1, 2),
        expects="lost|CorruptLogError",
    ),
    Bug(
        name="skip directory sync after rename",
        what="A new segment's name is not on stable storage when records in it are answered.",
        file="metadata_log/files/file_publish.py",
        old="        fs.sync_directory(path.parent)\n",
        new="",
        campaign="crashes",
        seeds=(0, 1, 2, 3),
        expects="lost|CorruptLogError",
    ),
    Bug(
        name="segment named before it is synced",
        what="A segment gets its name before its header is on stable storage.",
        file="metadata_log/files/fs.py",
        old="""        write(file)
        file.sync()
""",
        new="""        write(file)
""",
        campaign="crashes",
        seeds=(0, 1, 2, 3),
        expects="CorruptLogError",
    ),
    Bug(
        name="mark before sync",
        what="The commit mark is moved to bytes that are only just being synced.",
        file=_WRITER,
        old=_SYNC,
        new="""            self._flush()
        self.synced = self.tail
        self._move_mark()
        if self._file is not None:
            self._file.sync()
""",
        campaign="crashes",
        seeds=(0, 1, 2, 3),
        expects="CorruptLogError|a reader saw",
    ),
    Bug(
        name="mark too far",
        what="The mark names one byte more than was synced.",
        file=_WRITER,
        old="            position=synced.position,\n",
        new="            position=synced.position + 1,\n",
        campaign="crashes",
        seeds=(0,),
        expects="CorruptLogError",
    ),
    Bug(
        name="wrong previous CRC",
        what="Within a group, blocks name the CRC of the last synced block, not of the one before.",
        file=_WRITER,
        old="            previous_crc32c=self.tail.last_crc32c or None,\n",
        new="            previous_crc32c=self.synced.last_crc32c or None,\n",
        campaign="crashes",
        seeds=(0, 1, 2, 3),
        expects="CorruptLogError",
    ),
    Bug(
        name="durable_end too high",
        what="A block says that all before it was durable, when it was only written.",
        file=_WRITER,
        old="            durable_end=self.synced.end_offset or None,\n",
        new="            durable_end=self.tail.end_offset or None,\n",
        campaign="crashes",
        seeds=tuple(range(12)),
        expects="CorruptLogError",
    ),
    Bug(
        name="answers in the wrong order",
        what="The batches of a group are answered with each other's offsets.",
        file=_LOG,
        old="        for queued, result in results:\n",
        new="""        told = [result for _, result in reversed(results)]
        for (queued, _), result in zip(results, told, strict=True):
""",
        campaign="crashes",
        seeds=(0, 1, 2, 3),
        expects="was acknowledged as",
    ),
    Bug(
        name="refused batch takes offsets",
        what="A batch that is refused for its size has moved the end of the log already.",
        file=_WRITER,
        old="        stored = self._encode(rows, self._sync_marker, rest)\n",
        new="""        self.tail = msgspec.structs.replace(tail, end_offset=end_offset)
        stored = self._encode(rows, self._sync_marker, rest)
""",
        campaign="tests/metadata_log/test_log.py",
        seeds=(0,),
        expects="too_many_bytes",
    ),
    Bug(
        name="partial batch on a full disk",
        what="What was written before the disk was full stays, although its callers were refused.",
        file=_WRITER,
        old="""            self._roll_back()
            raise
        self._unwritten.clear()
""",
        new="""            raise
        self._unwritten.clear()
""",
        campaign="io_errors",
        seeds=(0, 1, 2),
        expects="refused",
    ),
    Bug(
        name="cut after a full disk not synced",
        what="A refused batch is cut in the page cache only: a power loss brings it back.",
        file=_WRITER,
        old="""            self._file.truncate(self.synced.position)
            self._file.sync()
""",
        new="""            self._file.truncate(self.synced.position)
""",
        campaign="io_errors",
        seeds=(0, 1, 2),
        expects="refused",
    ),
    Bug(
        name="failed sync tried again",
        what="A sync that failed is tried again, and believed when it then succeeds.",
        file=_WRITER,
        old=_SYNC,
        new="""            self._flush()
            try:
                self._file.sync()
            except OSError:
                self._file.sync()
        self.synced = self.tail
""",
        campaign="io_errors",
        seeds=(0, 1, 2),
        expects="lost|CorruptLogError",
    ),
)
