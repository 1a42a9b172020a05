"""Replay: from records to images, snapshots, time travel and audit.

The names below are the public names of `docs/library.md`. They are imported on first use.
"""

from records.exports import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from replay.expressions.expression import Expression as Expression
    from replay.image.configs import BROKER as BROKER
    from replay.image.configs import TOPIC as TOPIC
    from replay.image.delta import MetadataDelta as MetadataDelta
    from replay.image.digest import image_digest as image_digest
    from replay.image.metadata import MetadataImage as MetadataImage
    from replay.image.provenance import Provenance as Provenance
    from replay.loader import BatchSource as BatchSource
    from replay.loader import Replayer as Replayer
    from replay.loader import load_image as load_image
    from replay.snapshot.info import SnapshotInfo as SnapshotInfo
    from replay.snapshot.store import SnapshotStore as SnapshotStore
    from replay.snapshot_lifecycle import create_snapshot as create_snapshot
    from replay.time_travel.objects import parse_object as parse_object
    from replay.timeline import Timeline as Timeline
else:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "expressions.expression": "Expression",
            "image.configs": "BROKER TOPIC",
            "image.delta": "MetadataDelta",
            "image.digest": "image_digest",
            "image.metadata": "MetadataImage",
            "image.provenance": "Provenance",
            "loader": "BatchSource Replayer load_image",
            "snapshot.info": "SnapshotInfo",
            "snapshot_lifecycle": "create_snapshot",
            "snapshot.store": "SnapshotStore",
            "time_travel.objects": "parse_object",
            "timeline": "Timeline",
        },
    )
