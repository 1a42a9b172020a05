"""Images that differ from each other in known ways."""

from collections.abc import Iterable

from replay.image.metadata import MetadataImage
from tests.replay.builders import batches, image_after, partition, topic


def cluster_of(topics: Iterable[int]) -> MetadataImage:
    """Return an image of numbered topics, three partitions each; every topic takes four offsets."""
    return image_after(
        batches(
            *(
                [topic(f"topic-{number}"), *(partition(f"topic-{number}", n) for n in range(3))]
                for number in topics
            )
        )
    )
