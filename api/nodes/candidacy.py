"""Decides when a node may take the lease, given the leases of other nodes."""

from api.nodes.lease import LeaseWatch
from api.nodes.options import NodeOptions, content_of
from metadata_log.shared.shared_log import Lease
from metadata_log.writer.clock import MachineClocks

_PATIENCE = 2
"""Number of lease durations that a node waits in addition if other nodes should rather lead."""


class Candidacy:
    """Decides whether a node may take the lease, from the leases that other nodes hold."""

    def __init__(self, options: NodeOptions, process: bytes, clocks: MachineClocks) -> None:
        """Begin without having seen a lease; `process` identifies this process of the node."""
        self._options = options
        self._process = process
        self._watch = LeaseWatch(clocks)

    def is_next(self, found: Lease | None) -> bool:
        """Return whether the leader is handing over, and this node may lead next."""
        if found is None or found.process == self._process:
            return False
        content = content_of(found)
        return content.hands_over and content.is_for(self._options.node_id)

    def is_told(self, found: Lease | None) -> bool:
        """Return whether an operator has chosen this node as the next leader."""
        if self._options.own_settings:
            return True
        return found is not None and content_of(found).next_leader == self._options.node_id

    def is_free(self, found: Lease | None, *, is_patient: bool) -> bool:
        """Return whether this node may take the lease `found`, which was read just now.

        Args:
            is_patient: Whether other nodes should rather lead; this one then waits longer.
        """
        is_for_another = found is not None and not content_of(found).is_for(self._options.node_id)
        patience = _PATIENCE if is_patient or is_for_another else 0
        patience_ms = patience * self._options.lease_ms
        has_run_out = self._watch.has_run_out(found, patience_ms=patience_ms)
        is_own = found is not None and found.process == self._process and not patience
        return is_own or has_run_out
