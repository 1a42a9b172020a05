"""Announces the leader as a voter in the log, once brokers of Kafka fetch from it."""

import hashlib

from api.service.service import Service
from api.transport.log_limit import limited_logger
from controller.authorization.caller import Caller
from controller.decisions.brokers.voters import AnnounceVoter
from records.base import Uuid
from records.errors import MetadataLogError

log = limited_logger(__name__)

COMMAND = "announce voter"


class VoterAnnouncement:
    """Announces one service in each epoch in which it leads."""

    def __init__(self, service: Service, listener: str | None) -> None:
        """Prepare to announce a service.

        Args:
            listener: Name of its listener in the brokers' `controller.listener.names`; None: only
                if the log has voters already.
        """
        self._service = service
        self._listener = listener
        self._epoch = -1

    async def made(self, host: str, port: int, caller: Caller) -> None:
        """Write the voters with this leader's address, unless the log has it.

        If the log cannot be written, the next request tries again.

        Args:
            caller: The broker that asks; it needs CLUSTER_ACTION on the cluster.
        """
        service = self._service
        epoch = service.controller_epoch
        is_wanted = self._listener is not None or any(service.image.voters())
        if epoch == self._epoch or not is_wanted:
            return
        settings = service.settings
        request = AnnounceVoter(
            voter_id=settings.node_id,
            directory_id=directory_id(settings.cluster_id, settings.node_id),
            listener=self._listener,
            host=host,
            port=port,
        )
        try:
            await service.run(COMMAND, request, caller=caller)
        except MetadataLogError as error:
            log.warning("the voters cannot be written for brokers: %s", error)
            return
        self._epoch = epoch


def directory_id(cluster_id: str, node_id: int) -> Uuid:
    """Return a node's directory id, which is the same at every start."""
    return Uuid(hashlib.sha256(f"{cluster_id} {node_id}".encode()).digest()[:16])
