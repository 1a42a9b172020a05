"""JSON form of an upgrade check: the obstacles to another version."""

from collections.abc import Sequence

import msgspec

from controller.upgrade.findings import Finding


class Upgrade(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an upgrade check; `ready` is true if nothing in the log prevents the upgrade."""

    ready: bool
    findings: Sequence[Finding]
