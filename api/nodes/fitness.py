"""Whether a node may lead: its release understands the log, and its settings are the leader's.

A node is compared with the last leader, as described in that leader's lease. If there was no leader
yet, any node may lead.
"""

import hashlib
from collections.abc import Mapping

import msgspec

from api.nodes.options import LeaderContent
from api.nodes.release import Release
from controller.asked.asked import logged_settings
from controller.decisions.config_definitions.brokers import broker_config
from controller.decisions.context.context import Settings
from replay.image.metadata import MetadataImage

_DIGEST_DIGITS = 16

_IF_TOLD = "leads only if told to, by `nodes lead` or `serve --own-settings`"


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """Why a node would not lead; empty if it would.

    Attributes:
        not_understood: Records and feature levels of the log that the last leader's release
            understands and this node's does not. If there are any, the node never leads.
        other_settings: Names of the settings that differ from the last leader's. If there are any,
            the node leads only if an operator says so.
        requests_from: Offset from which the node knows the ids of requests; None unless the last
            leader knew earlier ones. The node would execute a repeated earlier request again, so
            it leads only if an operator says so.
    """

    not_understood: tuple[str, ...] = ()
    other_settings: tuple[str, ...] = ()
    requests_from: int | None = None

    @property
    def text(self) -> str:
        """The reasons why the node would not lead, in words; empty if there are none."""
        found = []
        if self.not_understood:
            what = ", ".join(self.not_understood)
            found.append(f"never leads: its release does not understand {what}")
        if self.other_settings:
            found.append(
                f"{_IF_TOLD}: its settings differ from the leader's in "
                f"{', '.join(self.other_settings)}"
            )
        if self.requests_from is not None:
            found.append(
                f"{_IF_TOLD}: its folder begins at offset {self.requests_from}, so it does not "
                "know all recent requests, and would carry out again those that are repeated"
            )
        return "; ".join(found)

    def may_lead(self, *, is_told: bool) -> bool:
        """Return whether the node may lead, given whether an operator says so."""
        is_like_leader = not self.other_settings and self.requests_from is None
        return not self.not_understood and (is_told or is_like_leader)


def unfit(own: LeaderContent, leader: LeaderContent | None) -> Unfit:
    """Return why a node would not lead after the last leader, by what that leader's lease says."""
    if leader is None:
        return Unfit()
    missed = () if own.version == leader.version else own.not_understood
    names = sorted(own.settings.keys() | leader.settings.keys())
    return Unfit(
        not_understood=tuple([each for each in missed if each not in leader.not_understood]),
        other_settings=tuple(
            [name for name in names if own.settings.get(name) != leader.settings.get(name)]
        ),
        requests_from=own.requests_from if own.requests_from > leader.requests_from else None,
    )


def leader_content(
    image: MetadataImage,
    release: Release,
    settings: Mapping[str, str],
    addresses: dict[str, str],
    requests_from: int,
) -> LeaderContent:
    """Return what a node would write in its lease if it led from this image on.

    Args:
        settings: As returned by `settings_digests`.
        requests_from: Offset from which the node knows the ids of requests.
    """
    return LeaderContent(
        addresses=addresses,
        version=release.version,
        not_understood=release.not_understood(image),
        settings=dict(settings),
        requests_from=requests_from,
    )


def settings_digests(settings: Settings) -> dict[str, str]:
    """Return a digest of each setting that decisions depend on, by name.

    A config set to its default is left out, like one that is not set. A secret's digest tells only
    whether it is set.
    """
    kept = logged_settings(settings)
    for name in ("node_id", "default_partitions", "default_replication_factor"):
        del kept[name]
    configs = kept.pop("static_configs").items()
    kept |= {name: value for name, value in configs if value != _default_of(name)}
    kept["authorizer"] = type(settings.authorizer).__name__
    return {name: _digest(value) for name, value in kept.items()}


def _default_of(name: str) -> str | None:
    definition = broker_config(name)
    return None if definition is None else definition.default


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.msgpack.encode(value)).hexdigest()[:_DIGEST_DIGITS]
