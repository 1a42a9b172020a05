"""Replay of real Kafka logs, compared with images that another program computed."""

import json
import re
from pathlib import Path

import pytest

from records.registry import CONTROL_TYPES
from replay.image.delta import MetadataDelta
from replay.image.digest import PartDigest, part_digests
from replay.image.kraft_json import kraft_json
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.loader import Replayer
from tests.replay.oracles import (
    REAL_LOGS,
    batches,
    decoded_checkpoints,
    decoded_logs,
    envelopes,
    final_images,
    needs_real_logs,
)

pytestmark = needs_real_logs


def _name(path: Path) -> str:
    return str(path.relative_to(REAL_LOGS))


def _image_at(paths: list[Path], end_offset: int) -> MetadataImage:
    replayer = Replayer()
    for batch in batches(paths):
        replayer.replay(batch, up_to=end_offset - 1)
    return replayer.image()


def _without_producer_ids(image: MetadataImage) -> dict[str, PartDigest]:
    return {part: digest for part, digest in part_digests(image).items() if part != "producer_ids"}


@pytest.mark.parametrize("final_image", final_images(), ids=_name)
def test_replay_of_a_real_log_gives_its_final_image(final_image: Path) -> None:
    expected = json.loads(final_image.read_text())
    image = _image_at(
        decoded_logs(final_image.parent / "__cluster_metadata-0"), expected["endOffset"]
    )
    # Through JSON, because tuples and lists are the same there.
    assert json.loads(json.dumps(kraft_json(image))) == expected


@pytest.mark.parametrize("checkpoint", decoded_checkpoints(), ids=_name)
def test_a_real_checkpoint_holds_all_of_the_image_but_who_got_the_producer_ids(
    checkpoint: Path,
) -> None:
    logs = decoded_logs(checkpoint.parent)
    found = re.match(r"(\d{20})-\d{10}", checkpoint.name)
    assert found is not None
    delta = MetadataDelta(MetadataImage.EMPTY)
    for row in envelopes(checkpoint):
        if type(row.payload) not in CONTROL_TYPES:
            delta.replay(row)
    image, loaded = _image_at(logs, int(found[1])), delta.apply(Provenance())
    assert _without_producer_ids(loaded) == _without_producer_ids(image)
    # Kafka's checkpoints keep the next id, and -1 for the broker and its epoch.
    assert kraft_json(loaded)["producer"] == kraft_json(image)["producer"]
    assert image.provenance.mid_batch is False
