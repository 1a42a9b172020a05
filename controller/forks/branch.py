"""State of one of a fork's two branches, and how rows change it."""

from collections.abc import Sequence

from controller.pipeline.latest import IndexChanges, State
from records.envelope import Envelope
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.transactions import Transactions


class Applied:
    """The rows of one decision, or of one whole transaction, applied to a state.

    The rows need not begin at the state's next offset: rows written in the fork get the offsets
    that the same decision's rows have in the log. Thus later decisions keep their offsets, and
    brokers their epochs.

    Attributes:
        rows: The rows.
        after: The state after them.
    """

    def __init__(self, state: State, rows: Sequence[Envelope]) -> None:
        """Apply rows to a state.

        Raises:
            ContradictionError: a row contradicts the state before it.
        """
        self.rows = rows
        self._delta = delta = MetadataDelta(state.image)
        for found in Transactions().resolved(rows):
            if found.in_effect:
                delta.replay_all(found.rows)
        self.after = self._followed(state, delta.apply(_provenance(rows)))

    def applied_to(self, state: State) -> State:
        """Apply `rows` to another state, and return the resulting state.

        If `state` has the same objects (by identity) as the state given to the constructor, as far
        as the rows read or change them, the changed objects are taken from `after` instead of
        being computed again.

        Raises:
            ContradictionError: a row contradicts the state.
        """
        image = self._delta.applied_to(state.image, _provenance(self.rows))
        if image is None:
            return Applied(state, self.rows).after
        return self._followed(state, image)

    def _followed(self, state: State, image: MetadataImage) -> State:
        changes = IndexChanges()
        changes.add(row.payload for row in self.rows)
        return state.followed_by(image, changes)


def _provenance(rows: Sequence[Envelope]) -> Provenance:
    last = rows[-1]
    return Provenance(offset=last.offset, leader_epoch=last.leader_epoch, timestamp=last.timestamp)
