"""Images that were kept under other rules are made anew, so a change of the rules has a number."""

import hashlib

from metadata_log.log_reader import LogReader
from replay.image.digest import image_digest
from replay.image.rules import RULES_VERSION
from replay.loader import load_image
from tests.golden import release_directory

IMAGES = {1: "006acd5c9331f29cfe3efd63fb9325af6c21c1fbb8c716d523e0e4a6d4afb1f5"}
"""For each version of the rules, a hash over the images of logs that never change."""


def test_version_of_the_rules_changes_with_what_they_make_of_a_log() -> None:
    found = hashlib.sha256()
    for kind in ("own", "mirror", "retained"):
        with LogReader.open(release_directory("0.1.0") / kind) as reader:
            start = None
            for at in range(reader.history_start - 1, reader.end_offset):
                image = load_image(reader, at, start=start)
                if not (image.provenance.mid_batch or image.provenance.pending_transaction):
                    start = image
                kept = [
                    (topic.topic_id, image.topic_version(topic.topic_id))
                    for topic in sorted(image.topics(), key=lambda topic: topic.topic_id)
                ]
                found.update(f"{kind} {at} {image_digest(image)} {kept}\n".encode())
    assert found.hexdigest() == IMAGES[RULES_VERSION], (
        "the rules make other images of old logs: raise RULES_VERSION and add the hash"
    )
