"""Bugs in reading: missing checks, and wrong places in errors."""

from tests.torture.planted_bugs.bug import Bug

_SCAN = "metadata_log/format/segment_scan.py"
_READER = "metadata_log/reader/log_reader.py"

_UNREADABLE = """                block = self._decode(stored, body)
            except CorruptLogError as error:
                raise corrupt(self.path, self.position, str(error), self.next_offset) from error
"""

BUGS = (
    Bug(
        name="reader reads past the mark",
        what="A reader goes on to the end of the file, into what is only just being written.",
        file=_READER,
        old="            limit = self.mark.position\n",
        new="            limit = file.size()\n",
        campaign="corruption",
        seeds=(0, 1),
        expects="appended",
    ),
    Bug(
        name="torn mark accepted",
        what="The CRC of a mark is not looked at.",
        file="metadata_log/format/commit_mark.py",
        old="    if google_crc32c.value(body) != crc:\n",
        new="    if google_crc32c.value(body) == -crc:\n",
        campaign="corruption",
        seeds=(0, 1, 2),
        expects="commit.mark",
    ),
    Bug(
        name="header CRC not checked",
        what="A damaged header is believed.",
        file="metadata_log/format/segment.py",
        old="        if found != expected:\n",
        new="        if found == b'':\n",
        campaign="corruption",
        seeds=(0, 1),
        expects="flipped",
    ),
    Bug(
        name="chain of CRCs not checked",
        what="Damage that zstandard does not notice goes unnoticed.",
        file=_SCAN,
        old="        if before is None or after == before:\n",
        new="        if before is None or after >= 0:\n",
        campaign="corruption",
        seeds=tuple(range(12)),
        expects="flipped|another log|mark",
    ),
    Bug(
        name="offsets not compared",
        what="A block that does not follow the one before it is read where it stands.",
        file=_SCAN,
        old="    if next_offset is not None and first.offset != next_offset:\n",
        new="    if next_offset is not None and first.offset < 0:\n",
        campaign="corruption",
        seeds=tuple(range(6)),
        expects="block|removed|moved|exchanged",
    ),
    Bug(
        name="damage taken for the end",
        what="A reader stops at a damaged block as if the log ended there.",
        file=_SCAN,
        old=_UNREADABLE,
        new="""                block = self._decode(stored, body)
            except CorruptLogError:
                return
""",
        campaign="corruption",
        seeds=(0,),
        expects="the reader|flipped",
    ),
    Bug(
        name="last block not compared with the mark",
        what="Nothing vouches for the last block but its own checksum.",
        file=_READER,
        old="        if scan is None or scan.last_crc32c in (None, self.mark.last_crc32c):\n",
        new="        if scan is None or scan.last_crc32c != scan.position:\n",
        campaign="tests/metadata_log/test_damage.py",
        seeds=(0,),
        expects="unused_bit_of_the_last_block",
    ),
    Bug(
        name="index entry believed",
        what="An index entry that does not fit the segment is read from all the same.",
        file="metadata_log/reader/block_search.py",
        old="            return entry if fits else start\n",
        new="            return entry\n",
        campaign="tests/metadata_log/test_damage.py",
        seeds=(0,),
        expects="index_of_another_log",
    ),
    Bug(
        name="index believed without its CRC",
        what="A damaged index entry sends a reader to the wrong place.",
        file="metadata_log/format/offset_index.py",
        old="        if google_crc32c.value(body) != crc:\n",
        new="        if google_crc32c.value(body) == -crc:\n",
        campaign="corruption",
        seeds=(0, 1, 2, 3),
        expects="index",
    ),
    Bug(
        name="checkpoint without its footer",
        what="A checkpoint that was cut at a block's end is taken for whole.",
        file="metadata_log/format/checkpoint.py",
        old="    if not isinstance(rows[-1].payload, SnapshotFooterRecord):\n",
        new="    if not rows:\n",
        campaign="corruption",
        seeds=(22, 52, 54),
        expects="checkpoint.*(cut|removed)",
    ),
    Bug(
        name="damage told at the wrong place",
        what="An error names the start of the file instead of the damaged block.",
        file=_SCAN,
        old=_UNREADABLE,
        new=_UNREADABLE.replace("self.position", "0"),
        campaign="corruption",
        seeds=(0,),
        expects="is named",
    ),
    Bug(
        name="too much held to be intact",
        what="An error counts the damaged batch among those that are intact.",
        file=_SCAN,
        old=_UNREADABLE,
        new=_UNREADABLE.replace("self.next_offset", "(self.next_offset or 0) + stored.count"),
        campaign="corruption",
        seeds=(0,),
        expects="to be intact",
    ),
    Bug(
        name="manifest's text not checked",
        what="A manifest that is no UTF-8 ends the program instead of naming the file.",
        file="metadata_log/files/json_file.py",
        old="    except (msgspec.DecodeError, UnicodeDecodeError) as error:\n",
        new="    except msgspec.DecodeError as error:\n",
        campaign="corruption",
        seeds=(7, 15, 23),
        expects="UnicodeDecodeError",
    ),
)
