"""JSON form of an upgrade check: the obstacles to another version."""

from collections.abc import Sequence

import msgspec

from api.documents.document import Document
from controller.upgrade.findings import CHECKED, NOT_CHECKED, Finding


class Upgrade(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an upgrade check; `ready` is true if nothing in the log prevents the upgrade.

    Attributes:
        checked, not_checked: What the check looked at, and what no log can tell, in words.
    """

    ready: bool
    findings: Sequence[Finding]
    checked: str = CHECKED
    not_checked: str = NOT_CHECKED


UPGRADE_CHECK = Document(type=Upgrade, of=lambda _, found: Upgrade(ready=not found, findings=found))
