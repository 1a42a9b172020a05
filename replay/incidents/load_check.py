"""Checks that Kafka can load a node's log.

Kafka fails to load a log if a record after the newest checkpoint contradicts the state before it.
"""

from pathlib import Path

from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.directory import KraftDirectory, open_directory
from metadata_log.kraft.quorum.facts import CheckpointId, NodeFacts
from records.errors import ContradictionError, CorruptLogError, UnknownHistoryError
from replay.incidents.directory_events import DirectoryLog
from replay.loader import load_image
from replay.time_travel.contradictions import explained


def contradiction_in(node: NodeFacts) -> ContradictionError | None:
    """Return the first contradiction that a controller finds in a node's log, or None.

    Kafka reports it as "Error loading metadata log record from offset N" and stops.

    Raises:
        UnavailableError: the directory changed meanwhile.
    """
    end_offset = node.batches.end_offset
    if node.end is None or node.end.end_offset != end_offset:
        return None  # Only a checkpoint is loaded, and it holds a state.
    directory = open_directory(Path(node.name))
    try:
        log = DirectoryLog(directory, end_offset, base=_newest(directory, node))
        with explained(log):
            load_image(log)
    except ContradictionError as error:
        return error
    except (CorruptLogError, UnknownHistoryError):
        return None  # The rule reports the damage.
    return None


def _newest(directory: KraftDirectory, node: NodeFacts) -> KraftCheckpoint | None:
    """Return the newest valid checkpoint, which Kafka loads; None if there is none.

    The checkpoint at offset 0 is ignored: it contains no committed state.
    """
    end_offset = node.batches.end_offset
    found = None
    for each in directory.checkpoints:
        is_whole = CheckpointId(each.end_offset, each.leader_epoch) in node.checkpoints
        if is_whole and 0 < each.end_offset <= end_offset:
            found = each
    return found
