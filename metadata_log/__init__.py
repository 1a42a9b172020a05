"""Storage of the log: segments, recovery, checkpoints, and Kafka's own log directories.

The public names below are listed in `docs/library.md`. Importing the package imports none of them.
"""

from records.exports import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from metadata_log.care.archive import archive as archive
    from metadata_log.care.backup import back_up as back_up
    from metadata_log.files.fs import OsFs as OsFs
    from metadata_log.format.batch import AppendResult as AppendResult
    from metadata_log.format.batch import Batch as Batch
    from metadata_log.format.batch import NewBatch as NewBatch
    from metadata_log.reader.log_reader import LogReader as LogReader
    from metadata_log.reader.position import Position as Position
    from metadata_log.stores.store import Store as Store
    from metadata_log.stores.store import open_store as open_store
    from metadata_log.writer.creation import create_log as create_log
    from metadata_log.writer.mirror import MirrorBuilder as MirrorBuilder
else:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "format.batch": "AppendResult Batch NewBatch",
            "care.archive": "archive",
            "care.backup": "back_up",
            "stores.store": "Store open_store",
            "writer.creation": "create_log",
            "files.fs": "OsFs",
            "reader.log_reader": "LogReader",
            "writer.mirror": "MirrorBuilder",
            "reader.position": "Position",
        },
    )
