"""Bugs in what a node's folder is after a power loss."""

from tests.torture.planted_bugs.bug import Bug

_RECOVERY = "metadata_log/recovery/copy_recovery.py"
_RULES = "tests/metadata_log/test_recovery_rules.py"

BUGS = (
    Bug(
        name="a mark before the data",
        what="A node reports as durable what it has not synced, and the store trims it.",
        file="metadata_log/writer/node_writer.py",
        old="        if self._file is not None:\n            self._file.sync()\n",
        new="",
        campaign="nodes_power",
        seeds=(0,),
        expects="UnknownHistoryError",
    ),
    Bug(
        name="a torn mark refuses a copy",
        what="A node whose commit mark is torn does not start.",
        file="metadata_log/writer/owned_log.py",
        old="        if not is_copy:\n            raise\n        return NO_MARK\n",
        new="        raise\n",
        campaign="tests/shared_log/test_power_loss.py",
        seeds=(0,),
        expects="test_damage_is_fetched_again",
    ),
    Bug(
        name="a gap between segments is kept",
        what="A folder is cut behind a segment that does not continue the one before.",
        file=_RECOVERY,
        old="header is None or (kept and not kept[-1].precedes(header))",
        new="header is None",
        campaign=_RULES,
        seeds=(0,),
        expects="test_node_does_what_its_column_says",
    ),
    Bug(
        name="a cut to the segment's beginning",
        what="Of a torn segment the whole blocks are cut, too.",
        file=_RECOVERY,
        old="        scan = segment.scan(size)\n",
        new="        scan = segment.scan(segment.first_position)\n",
        campaign="nodes_power",
        seeds=(1, 2, 3, 4),
        expects="was reported to be on the disk|UnknownHistoryError",
    ),
    Bug(
        name="segments behind a cut stay",
        what="Of the segments behind a cut the newest alone is removed.",
        file=_RECOVERY,
        old="            fs.unlink(directory / segment_name(base))\n",
        new="            fs.unlink(directory / segment_name(base))\n        break\n",
        campaign=_RULES,
        seeds=(0,),
        expects="test_node_does_what_its_column_says",
    ),
    Bug(
        name="a folder without its beginning",
        what="A folder whose first segment is missing is cut at its end, not filled anew.",
        file=_RECOVERY,
        old="    except CorruptLogError:\n        return []\n    return bases\n",
        new="    except CorruptLogError:\n        return bases\n    return bases\n",
        campaign=_RULES,
        seeds=(0,),
        expects="test_node_does_what_its_column_says",
    ),
)
