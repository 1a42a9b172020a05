"""Config values that are secrets: left out of commands unless requested."""

from collections.abc import Mapping

import msgspec

from records.secrets import is_secret_config
from replay.kafka_commands.command import NotSaid


class Secrets(msgspec.Struct, frozen=True):
    """The policy for secret config values: shown or left out."""

    are_shown: bool

    def split(self, values: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """Return the values that may be shown, and the names of the others; sorted by name."""
        hidden = [] if self.are_shown else [name for name in values if is_secret_config(name)]
        return {name: values[name] for name in sorted(values) if name not in hidden}, sorted(hidden)


def hidden_value(resource: str, name: str) -> NotSaid:
    """Return the remark that a config's value was left out."""
    return NotSaid(
        object=f"config:{resource}#{name}",
        reason="its value is a secret, or may be one: --show-secrets puts it into the command",
    )
