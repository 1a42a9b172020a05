"""The audit: an independent recomputation of the state in Spark. Imports nothing of replay/image.

The names below are public; see docs/audit.md.
"""

from records.exports import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from replay.audit.library import AuditedLog as AuditedLog
    from replay.audit.library import open as open  # noqa: A004
    from replay.audit.queries import QUERIES as QUERIES
else:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__, {"library": "AuditedLog open", "queries": "QUERIES"}
    )
