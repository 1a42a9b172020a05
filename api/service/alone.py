"""Answers of a single service to the questions about leadership that nodes answer."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from api.service.follower_status import FollowerStatus
from controller.decisions.context.context import Settings
from replay.image.metadata import MetadataImage


class Alone(ABC):
    """A service that no other process takes over from; services that follow a log override this.

    Attributes:
        is_live: False if the log may be a copy, which ends at its last record.
    """

    is_live = True

    @property
    @abstractmethod
    def is_active(self) -> bool:
        """True if this process makes the decisions on the log."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """The controller's settings."""

    @property
    @abstractmethod
    def image(self) -> MetadataImage:
        """The committed image."""

    @property
    def leader_id(self) -> int:
        """The id of the node that decides, -1 if there is none."""
        return self.settings.node_id

    @property
    def leader_addresses(self) -> Mapping[str, str]:
        """Addresses of the node that decides, by listener; empty for this process."""
        return {}

    @property
    def behind_s(self) -> float:
        """Seconds since this process last had all committed records."""
        return 0.0

    @property
    def lease_left_s(self) -> float | None:
        """Seconds for which this node may still decide unless it renews its lease, 0 if it does not
        decide; None for a service without other nodes."""
        return None

    @property
    def why_inactive(self) -> str:
        """The reason why this process makes no decisions; used only if `is_active` is False."""
        return "this process lost the log"

    @property
    def standing(self) -> FollowerStatus | None:
        """The status of this process if it follows another one's log; None if it decides."""
        return None

    @property
    def is_ready(self) -> bool:
        """True if this process can serve all requests that are meant for it."""
        return self.is_active

    async def final_end(self, log_end: int) -> int:
        """Return the end of the final records, exclusive, of a log that ends at `log_end`."""
        return log_end

    async def confirmed_end(self) -> int:
        """Return the end of the log as this process knows it: no other process writes the log."""
        return self.image.provenance.next_offset
