"""Whether a node may lead: its release understands the log, and its settings are the leader's.

Compared is with the last leader, as its lease tells. Nothing is asked of the first one.
"""

import hashlib
from collections.abc import Mapping
from importlib.metadata import version

import msgspec

from api.nodes.options import LeaderContent
from controller.asked.asked import logged_settings
from controller.decisions.config_definitions.brokers import broker_config
from controller.decisions.context.context import Settings
from controller.decisions.levels import SUPPORTED_LEVELS
from replay.image.metadata import MetadataImage

_DIGEST_DIGITS = 16


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """Why a node would not lead; empty if it would.

    Attributes:
        not_understood: What the log holds that the last leader's release knows, and this node's
            does not: records, or levels of features. Such a node never leads.
        other_settings: Names of the settings that differ from the last leader's. Such a node leads
            only if an operator says so.
    """

    not_understood: tuple[str, ...] = ()
    other_settings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The reasons in words; empty if there are none."""
        found = []
        if self.not_understood:
            what = ", ".join(self.not_understood)
            found.append(f"never leads: its release does not understand {what}")
        if self.other_settings:
            found.append(
                "leads only if told to, by `nodes lead` or `serve --own-settings`: its settings "
                f"differ from the leader's in {', '.join(self.other_settings)}"
            )
        return "; ".join(found)

    def may_lead(self, *, is_told: bool) -> bool:
        """Return whether the node may lead, given whether an operator says so."""
        return not self.not_understood and (is_told or not self.other_settings)


def unfit(own: LeaderContent, leader: LeaderContent | None) -> Unfit:
    """Compare what a node would tell as leader with what the last leader tells."""
    if leader is None:
        return Unfit()
    missed = () if own.version == leader.version else own.not_understood
    names = sorted(own.settings.keys() | leader.settings.keys())
    return Unfit(
        not_understood=tuple([each for each in missed if each not in leader.not_understood]),
        other_settings=tuple(
            [name for name in names if own.settings.get(name) != leader.settings.get(name)]
        ),
    )


def leader_content(
    image: MetadataImage, settings: Mapping[str, str], addresses: dict[str, str]
) -> LeaderContent:
    """Return what a node tells the others when it leads from this image on.

    Args:
        settings: As `settings_digests`.
    """
    return LeaderContent(
        addresses=addresses,
        version=version("metadata-log"),
        not_understood=not_understood(image),
        settings=dict(settings),
    )


def not_understood(image: MetadataImage) -> tuple[str, ...]:
    """Return what an image has that this release does not understand."""
    found = [
        f"{name} {level}"
        for name, level in sorted(image.features().items())
        if level > SUPPORTED_LEVELS.get(name, (0, 0))[1]
    ]
    if image.provenance.not_understood is not None:
        found.append("some records (see `metalog info`)")
    return tuple(found)


def settings_digests(settings: Settings) -> dict[str, str]:
    """Return a digest of each setting that decisions depend on, by name.

    A config with its default is left out, as one that is not set. Of secrets only is compared
    whether they are set.
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
