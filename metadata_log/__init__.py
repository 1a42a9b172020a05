"""Storage of the log: segments, recovery, checkpoints, and Kafka's own log directories.

The public names below are listed in `docs/library.md`. Importing the package imports none of them.
"""

from records.exports import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metadata_log.batch import AppendResult as AppendResult
    from metadata_log.batch import Batch as Batch
    from metadata_log.batch import NewBatch as NewBatch
    from metadata_log.care.archive import archive as archive
    from metadata_log.care.backup import back_up as back_up
    from metadata_log.care.store import Store as Store
    from metadata_log.care.store import open_store as open_store
    from metadata_log.creation import create_log as create_log
    from metadata_log.fs import OsFs as OsFs
    from metadata_log.log_reader import LogReader as LogReader
    from metadata_log.mirror import MirrorBuilder as MirrorBuilder
    from metadata_log.position import Position as Position
else:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "batch": "AppendResult Batch NewBatch",
            "care.archive": "archive",
            "care.backup": "back_up",
            "care.store": "Store open_store",
            "creation": "create_log",
            "fs": "OsFs",
            "log_reader": "LogReader",
            "mirror": "MirrorBuilder",
            "position": "Position",
        },
    )
