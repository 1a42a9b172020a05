"""State of one of a fork's two branches, and how rows change it."""

from collections.abc import Sequence

from controller.latest import Latest, State
from metadata_log.batch import Batch
from records.envelope import Envelope
from replay.image.delta import MetadataDelta
from replay.image.provenance import Provenance
from replay.transactions import Transactions


def applied(state: State, rows: Sequence[Envelope]) -> State:
    """Return the state after the rows of one decision, or of one whole transaction.

    The rows need not begin at the state's next offset: rows written in the fork get the offsets
    that the same decision's rows have in the log. Thus later decisions keep their offsets, and
    brokers their epochs.

    Raises:
        ContradictionError: a row contradicts the state before it.
    """
    if not rows:
        return state
    delta = MetadataDelta(state.image)
    for row in Transactions().effective(rows):
        delta.replay(row)
    last = rows[-1]
    after = delta.apply(
        Provenance(offset=last.offset, leader_epoch=last.leader_epoch, timestamp=last.timestamp)
    )
    return Latest(state, rows[0].offset).apply(Batch.of(rows), after)
