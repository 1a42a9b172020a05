"""What stands in the way of another version."""

from collections.abc import Sequence

import msgspec

from controller.upgrade.findings import Finding


class Upgrade(msgspec.Struct, frozen=True, kw_only=True):
    """`ready` if nothing in the log stands in the way."""

    ready: bool
    findings: Sequence[Finding]
