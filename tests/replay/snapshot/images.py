"""Images with known differences."""

from collections.abc import Iterable

from replay.image.metadata import MetadataImage
from tests.replay.builders import batches, image_after, partition, topic


def cluster_of(topics: Iterable[int]) -> MetadataImage:
    """Return an image of numbered topics with three partitions each; every topic uses four
    offsets.
    """
    return image_after(
        batches(
            *(
                [topic(f"topic-{number}"), *(partition(f"topic-{number}", n) for n in range(3))]
                for number in topics
            )
        )
    )
