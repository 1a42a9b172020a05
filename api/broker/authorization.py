"""Authorization of a broker's clients, by the ACLs and feature levels that the controller sends."""

from collections.abc import Mapping

from api.kafka.messages.replicas import FULL, UpdateMetadataRequest
from controller.authorization.authorizer import Access, Authorizer
from controller.authorization.caller import Caller
from records.envelope import Envelope
from records.kafka.codec import decode_value
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance


class Authorization:
    """Determines the rights of callers, from the controller's last update.

    The image has only the records that an authorizer needs. Before the first update the image is
    empty, and the broker serves no partition.
    """

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._image = MetadataImage.EMPTY

    @property
    def image(self) -> MetadataImage:
        """Image of the ACLs, feature levels and requested users that the controller has sent."""
        return self._image

    def access(self, caller: Caller) -> Access:
        """Return a caller's current rights."""
        return Access(self._authorizer, self._image, caller)

    @property
    def levels(self) -> Mapping[str, int]:
        """The finalized feature levels, by feature name."""
        return self._image.features()

    def update(self, request: UpdateMetadataRequest) -> None:
        """Apply the rights in a request; if its type is FULL, they replace all earlier rights.

        Raises:
            CorruptLogError: a record cannot be read, or removes an ACL that does not exist.
        """
        is_full = request.type == FULL
        if not is_full and not request.rights:
            return
        offset = request.metadata_offset
        delta = MetadataDelta(MetadataImage.EMPTY if is_full else self._image)
        for value in request.rights:
            delta.replay(_row(value, offset))
        self._image = delta.apply(Provenance(offset=offset))


def _row(value: bytes, offset: int) -> Envelope:
    decoded = decode_value(value)
    return Envelope(
        offset=offset,
        leader_epoch=0,
        timestamp=0,
        batch_offset=offset,
        record_version=decoded.version,
        payload=decoded.record,
    )
