"""Ages, such as `10m`, `1h30m` or `1w`."""

import re

# ASCII digits, of bounded length: int() also takes other digits, and rejects more than 4,300.
NUMBER = "[0-9]{1,4000}"

AGE = re.compile(f"(?:{NUMBER}(?:ms|s|m|h|d|w))+")

_PART = re.compile(f"({NUMBER})(ms|s|m|h|d|w)")
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def age_ms(age: str) -> int:
    """Return an age that matches AGE, in ms."""
    return sum(int(count) * _UNIT_MS[unit] for count, unit in _PART.findall(age))
