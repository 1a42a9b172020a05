"""The principal of a certificate's subject: Kafka's `ssl.principal.mapping.rules`.

A comma-separated list of rules; the first rule that matches the whole distinguished name is used:

    RULE:^CN=([^,]+),OU=.*$/$1/L     the name is replaced, and made lower case (L) or upper (U)
    DEFAULT                          the name as it is

Source: SslPrincipalMapper of Kafka 4.0.
"""

import re
from typing import Self

import msgspec

from records.errors import RequestError

USER = "User:"
MAPPING_RULES = "ssl.principal.mapping.rules"
DEFAULT = "DEFAULT"

_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)"
    r"|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
    r"\s*(?:,|$)"
)
_GROUP = re.compile(r"\$(\d)")


class _Rule(msgspec.Struct, frozen=True):
    """A rule.

    Attributes:
        pattern: Matches distinguished names; None for DEFAULT.
        replacement: The resulting name, in Python's syntax for regular expression templates.
        case: L for lower case, U for upper case, "" for no change.
    """

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""

    def name(self, subject: str) -> str | None:
        """Return the name that the rule gives a subject, None if the rule does not match."""
        if self.pattern is None:
            return subject
        found = self.pattern.fullmatch(subject)
        if found is None:
            return None
        name = found.expand(self.replacement)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)


class PrincipalMapping(msgspec.Struct, frozen=True):
    """Rules that give each certificate a principal."""

    rules: tuple[_Rule, ...] = (_Rule(None),)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a list of rules.

        Raises:
            RequestError: INVALID_CONFIG, a rule is malformed.
        """
        rules, at = [], 0
        while at < len(text):
            found = _RULE.match(text, at)
            if found is None:
                raise _malformed(text[at:], "write RULE:PATTERN/REPLACEMENT/[LU] or DEFAULT")
            rules.append(_parsed(found))
            at = found.end()
        return cls(tuple(rules)) if rules else cls()

    def principal(self, subject: str) -> str | None:
        """Return the principal of a subject.

        None if no rule matches, or if the resulting name is empty.
        """
        for rule in self.rules:
            name = rule.name(subject)
            if name is not None:
                return USER + name if name else None
        return None


def _parsed(found: re.Match[str]) -> _Rule:
    if found["default"]:
        return _Rule(None)
    try:
        pattern = re.compile(found["pattern"])
        replacement = _GROUP.sub(r"\\g<\1>", found["replacement"])
        # An unknown group is found here, not with the first client.
        groups = [int(number) for number in _GROUP.findall(found["replacement"])]
        if max(groups, default=0) > pattern.groups:
            raise re.error(f"there is no group {max(groups)}")
    except re.error as error:
        raise _malformed(found[0], str(error)) from error
    return _Rule(pattern, replacement, found["case"])


def _malformed(rule: str, why: str) -> RequestError:
    return RequestError("INVALID_CONFIG", f"{MAPPING_RULES}: {rule!r} is not a rule: {why}")
