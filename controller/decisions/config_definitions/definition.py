"""Config definitions: type, default, valid values."""

import enum
import re
from collections.abc import Mapping
from typing import NoReturn

import msgspec


class ConfigType(enum.Enum):
    """Type of a config value."""

    BOOLEAN = "boolean"
    INT = "int"
    SHORT = "short"
    LONG = "long"
    DOUBLE = "double"
    STRING = "string"
    # Comma-separated items.
    LIST = "list"
    # Name of a Java class.
    CLASS = "class"
    PASSWORD = "password"


class Update(enum.Enum):
    """Where a broker's config can be changed (KIP-226)."""

    FILE = "file"
    """The config can be changed only in each broker's static file."""
    BROKER = "broker"
    """The config can be changed in the static file, and in the log for one broker."""
    CLUSTER = "cluster"
    """The config can be changed in the static file, and in the log for one broker or for all."""


class ConfigDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """Definition of one config.

    `server_names` are the broker configs from which this config takes its value, in order of
    precedence, each with the factor from its unit to the unit of this config. `allowed`, if not
    empty, lists the valid values (for a list: the valid items); `form` is a pattern that values
    must match. `minimum` and `maximum` are inclusive. A config that is not inherited applies only
    to the resource that sets it. `since` is the first release of Kafka that has it, or `ours`. The
    default "" means no value, unless the type is a text or a list.
    """

    name: str
    type: ConfigType
    default: str
    server_names: tuple[tuple[str, int], ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    allowed: frozenset[str] = frozenset()
    form: re.Pattern[str] | None = None
    is_inherited: bool = True
    update: Update = Update.CLUSTER
    doc: str = ""
    since: str = ""

    @property
    def valid_values(self) -> str:
        """Text of the values that `check` accepts; "" if it accepts any value of the type."""
        if self.allowed:
            return ", ".join(sorted(self.allowed))
        if self.form is not None:
            return self.form.pattern
        if self.minimum is None and self.maximum is None:
            return ""
        return " ".join(
            f"{sign} {limit:.17g}"
            for sign, limit in (("at least", self.minimum), ("at most", self.maximum))
            if limit is not None
        )

    def check(self, value: str) -> None:
        """Check type and bounds of a value.

        Raises:
            ValueError: the value is invalid.
        """
        if self.type in _NUMBERS:
            self._check_number(value)
        elif self.type is ConfigType.BOOLEAN:
            if value.strip().lower() not in ("true", "false"):
                self._refuse(value, "is neither true nor false")
        else:
            for item in list_items(value) if self.type is ConfigType.LIST else [value]:
                self._check_text(value, item)

    def _check_number(self, value: str) -> None:
        try:
            # Python accepts 1_000; brokers do not.
            plain = value.replace("_", "?")
            number = float(plain) if self.type is ConfigType.DOUBLE else int(plain)
        except ValueError:
            self._refuse(value, f"is not a number of type {self.type.value}")
        low, high = _NUMBERS[self.type]
        if not low <= number <= high:
            self._refuse(value, f"does not fit the type {self.type.value}")
        if self.minimum is not None and number < self.minimum:
            self._refuse(value, f"is below {self.minimum:g}")
        if self.maximum is not None and number > self.maximum:
            self._refuse(value, f"is above {self.maximum:g}")

    def _check_text(self, value: str, item: str) -> None:
        if self.allowed and item not in self.allowed:
            self._refuse(value, f"is not one of {', '.join(sorted(self.allowed))}")
        if self.form is not None and not self.form.fullmatch(item):
            self._refuse(value, f"does not have the form {self.form.pattern}")

    def _refuse(self, value: str, reason: str) -> NoReturn:
        raise ValueError(f"{self.name}: {value!r} {reason}")


def unknown_definition(name: str) -> ConfigDefinition:
    """Return a definition for a config that is in a log but unknown to this release."""
    return ConfigDefinition(name=name, type=ConfigType.STRING, default="", is_inherited=False)


def list_items(value: str) -> list[str]:
    """Return the items of a value of type LIST."""
    return [item for part in value.split(",") if (item := part.strip())]


def whole_number(value: str) -> int | None:
    """Parse an INT or LONG; return None if it is invalid, as may occur in imported logs."""
    try:
        return int(value)
    except ValueError:
        return None


_NUMBERS: Mapping[ConfigType, tuple[float, float]] = {
    ConfigType.SHORT: (-(2**15), 2**15 - 1),
    ConfigType.INT: (-(2**31), 2**31 - 1),
    ConfigType.LONG: (-(2**63), 2**63 - 1),
    ConfigType.DOUBLE: (float("-inf"), float("inf")),
}
