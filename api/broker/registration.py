"""The data with which a broker registers at the controller."""

import msgspec

from api.kafka.messages.brokers import BrokerRegistrationRequest, Feature, Listener
from api.security.listeners import SecurityProtocol
from controller.decisions.levels import SUPPORTED_LEVELS
from records.base import Uuid


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The data that a broker sends in its registration."""

    broker_id: int
    cluster_id: str
    incarnation_id: Uuid
    listeners: tuple[Listener, ...]
    rack: str | None
    log_dirs: tuple[Uuid, ...]

    @property
    def has_sasl(self) -> bool:
        """True if the clients of any listener authenticate with SASL."""
        return any(SecurityProtocol(each.security_protocol).has_sasl for each in self.listeners)

    def request(self, previous_broker_epoch: int) -> BrokerRegistrationRequest:
        """Return the registration request.

        Args:
            previous_broker_epoch: The broker epoch of the previous process, if that shut down
                cleanly.
        """
        return BrokerRegistrationRequest(
            broker_id=self.broker_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=self.listeners,
            features=tuple(
                [
                    Feature(name=name, min_supported_version=low, max_supported_version=high)
                    for name, (low, high) in sorted(SUPPORTED_LEVELS.items())
                ]
            ),
            rack=self.rack,
            log_dirs=self.log_dirs,
            previous_broker_epoch=previous_broker_epoch,
        )
