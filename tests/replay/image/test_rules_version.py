"""Stored images made with other replay rules are not used: each change of the rules has a
number.
"""

import hashlib

from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.image.rules import RULES_VERSION
from replay.loader import load_image
from tests.golden import release_directory

IMAGES = {4: "5483691be571f7c92ad793db69da489f40d116359291d3f612b337332ba76368"}
"""For the newest version of the rules, a hash over the images of logs that never change."""


def test_version_of_the_rules_changes_with_what_they_make_of_a_log() -> None:
    found = hashlib.sha256()
    for kind in ("own", "mirror", "retained"):
        with LogReader.open(release_directory("0.1.0") / kind) as reader:
            start = None
            for at in range(reader.history_start - 1, reader.end_offset):
                image = load_image(reader, at, start=start)
                if not (image.provenance.mid_batch or image.provenance.pending_transaction):
                    start = image
                kept: list[tuple[object, int]] = [
                    (topic.topic_id, image.topic_version(topic.topic_id))
                    for topic in sorted(image.topics(), key=lambda topic: topic.topic_id)
                ]
                kept += [
                    (controller.controller_id, controller.version)
                    for controller in sorted(
                        image.controllers(), key=lambda controller: controller.controller_id
                    )
                ]
                found.update(f"{kind} {at} {image_digest(image)} {kept}\n".encode())
    assert found.hexdigest() == IMAGES[RULES_VERSION], (
        "the rules make other images of old logs: raise RULES_VERSION and add the hash"
    )
