"""`metalog snapshot create` with a topic that this release cannot read, as from a later one.

python -m tests.api.unreadable_snapshot TOPIC LOG
"""

import sys

from msgspec.structs import replace

from api.cli.entry import main
from replay.image.topic_entry import TopicEntry
from replay.snapshot.stored_topic import StoredTopic

_MALFORMED = b"\xc1"

_of = StoredTopic.of


def _unreadable(entry: TopicEntry) -> StoredTopic:
    stored = _of(entry)
    return replace(stored, body=_MALFORMED) if stored.topic.name == _name else stored


if __name__ == "__main__":
    _name = sys.argv.pop(1)
    StoredTopic.of = staticmethod(_unreadable)  # type: ignore[method-assign]
    sys.argv[1:1] = ["snapshot", "create"]
    main()
