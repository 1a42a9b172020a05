"""Replaces host names and addresses, so that a report or dump can be given to others.

A host has the same stand-in everywhere. Hosts are collected from endpoints, ACLs, and configs that
contain addresses; then they are replaced in all texts, as whole words.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from api.questions.redaction import redact_field

# They say nothing about anybody's network.
_PUBLIC = frozenset({"", "*", "localhost", "0.0.0.0", "127.0.0.1", "::", "::1"})

_ADDRESS = re.compile(
    r"(?<![\w.:-])(?:\d{1,3}(?:\.\d{1,3}){3}(?![\w.-]*\w)"
    r"|(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}"
    r"|(?:[0-9a-fA-F]{1,4}:){1,6}:(?:[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){0,5})?)"
)
# What stands before a port, such as in PLAINTEXT://kafka-1.example.org:9092
_BEFORE_PORT = re.compile(r"(?<![\w.-])([A-Za-z0-9](?:[\w.-]*\w)?):\d{1,5}(?!\w)")
_IN_URL = re.compile(r"://\[?([^\s/\]:,]+)")

# Of the header of a report: what comes from a log. The rest are names that the program gives.
_SECTIONS = (
    *("values", "labels", "origins", "texts", "links", "names", "event_texts", "event_origins"),
    *("outage_texts", "summary"),
)


class HostMask:
    """Collects hosts from a report's fields or from records, then replaces them."""

    def __init__(self) -> None:
        self._hosts: set[str] = set()

    def field(self, kind: str, name: str, value: Any) -> Any:
        """Return a field's value without secrets, and collect the hosts in it."""
        shown = redact_field(kind, name, value)
        if kind == "acl" and name == "host":
            self._hosts.add(shown)
        elif kind == "config" and isinstance(shown, str):
            self._hosts.update(_hosts_of_config(shown))
        else:
            self._hosts.update(_endpoints_in(shown))
        return shown

    def mask(self, header: dict[str, Any]) -> dict[str, Any]:
        """Return the header of a report with stand-ins such as `host-1` for hosts."""
        sections = {name: header[name] for name in _SECTIONS}
        self._hosts.update(_addresses_in(sections))
        replace = self.replacing()
        return header | {name: replace(value) for name, value in sections.items()}

    def learn(self, record: dict[str, Any]) -> None:
        """Collect the hosts in a record's fields."""
        self._hosts.update(_addresses_in(record))
        self._hosts.update(_named_hosts(record))
        if isinstance(record.get("value"), str):
            self._hosts.update(_hosts_of_config(record["value"]))

    def replacing(self) -> Callable[[Any], Any]:
        """Return a function that replaces hosts in every string of its argument, at any depth.

        It replaces the hosts collected so far, each with that host's stand-in.
        """
        hosts = sorted(self._hosts - _PUBLIC)
        replace = _replacer({host: f"host-{number}" for number, host in enumerate(hosts, 1)})
        return lambda value: _mapped(value, replace)


def _endpoints_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            if isinstance(each, dict) and isinstance(each.get("host"), str):
                yield each["host"]


def _hosts_of_config(value: str) -> Iterator[str]:
    for pattern in (_BEFORE_PORT, _IN_URL):
        yield from (host for host in pattern.findall(value) if not host.isdigit())


def _named_hosts(value: Any) -> Iterator[str]:
    """Yield the values of all fields called `host`, at any depth, as in endpoints and ACLs."""
    if isinstance(value, dict):
        if isinstance(value.get("host"), str):
            yield value["host"]
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _named_hosts(item)


def _addresses_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield from _ADDRESS.findall(value)
        case dict():
            yield from _addresses_in(list(value.values()))
        case list() | tuple():
            for item in value:
                yield from _addresses_in(item)


def _replacer(names: dict[str, str]) -> Callable[[str], str]:
    if not names:
        return lambda text: text
    # The longest first: a host's name may begin with another's.
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.-])(?:{known})(?![\w-]|\.\w)")
    return lambda text: pattern.sub(lambda found: names[found[0]], text)


def _mapped(value: Any, replace: Callable[[str], str]) -> Any:
    match value:
        case str():
            return replace(value)
        case dict():
            return {name: _mapped(item, replace) for name, item in value.items()}
        case list() | tuple():
            return [_mapped(item, replace) for item in value]
    return value
