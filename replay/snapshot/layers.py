"""Layers: the changes that a snapshot adds to the chunks of an earlier one.

Changes are spread over all chunks, so rewriting each changed chunk would write most of them.
Instead a snapshot lists the chunks of the previous one, followed by a layer: the objects that were
added or changed since then, and those that were removed. When the layers grow too large relative to
their base, the whole image is written as the next base.

The manifest distinguishes the chunks by their part's name: chunks of the base have part `topics`,
those of layer 3 have part `topics+3` (added or changed) or `topics-3` (removed, with their last
state).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Self

import msgspec

from replay.image.digest import PartDigest, part_digests
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance
from replay.snapshot.chunks import Chunk, chunk_of
from replay.snapshot.parts import STORED, Parts

DIGESTS = "digests"
"""Name of the chunk with the parts' digests, from which the next snapshot computes its own."""

LAYERED_SIZE_MIN_BYTES = 1024 * 1024
"""A smaller snapshot is quickly written whole; it is never the base of layers."""

OVERLAY_SHARE_MAX = 0.1
"""Maximum total size of the layers, as a share of the base: loading slows down by this share."""

LAYERS_MAX = 64
"""Maximum number of layers: each layer has chunks of its own, however small."""

_LAYER = re.compile(r"(?P<part>\w+)(?P<kind>[+-])(?P<layer>\d+)")

_digests_decoder = msgspec.msgpack.Decoder(dict[str, PartDigest])


class Overlay(msgspec.Struct, frozen=True):
    """The objects that differ between two images.

    Attributes:
        before: Changed or removed objects, in their older state.
        after: Changed or added objects, in their newer state.
        removed: Removed objects, in their older state.
    """

    before: Parts
    after: Parts
    removed: Parts

    @classmethod
    def between(cls, old: MetadataImage, new: MetadataImage) -> Self:
        """Compare two images: O(objects) time, but fast for objects that both images share."""
        (before, after), removed = Parts.differing(old, new), Parts()
        for part, key in STORED.items():
            kept = {key(each) for each in after.objects[part]}
            gone = (each for each in before.objects[part] if key(each) not in kept)
            removed.objects[part] += gone
        return cls(before, after, removed)

    def digests(self, old: dict[str, PartDigest]) -> dict[str, PartDigest]:
        """Compute the digests of the newer image's parts from the older ones: O(differences)."""
        gone, come = (
            part_digests(parts.image(Provenance())) for parts in (self.before, self.after)
        )
        return {part: digest - gone[part] + come[part] for part, digest in old.items()}

    def chunks(self, layer: int) -> Iterator[tuple[str, int, Chunk]]:
        """Yield the chunks of a layer: part name, position in the part, and content."""
        for kind, parts in (("+", self.after), ("-", self.removed)):
            for part, ordinal, chunk in parts.chunks():
                yield f"{part}{kind}{layer}", ordinal, chunk


class Layout(msgspec.Struct):
    """The base and the layers of a snapshot.

    Attributes:
        digests: Digests of the image's parts; None if no layer may be added to the snapshot.
        base_size: Octets of the base, before compression.
        overlay_size: Octets of all layers, before compression.
        layers: Number of layers.
    """

    digests: dict[str, PartDigest] | None = None
    base_size: int = 0
    overlay_size: int = 0
    layers: int = 0


class LayeredParts:
    """Decodes the chunks of a snapshot, in any order; `layout` describes those decoded so far."""

    def __init__(self, empty: Parts) -> None:
        """Start with no objects; the class of `empty` determines how chunks are decoded."""
        self.layout = Layout()
        self._base = empty
        self._changes: list[tuple[int, str, str, list[Any]]] = []

    def decode(self, name: str, plain: bytes) -> None:
        """Add a chunk, given as MessagePack.

        Raises:
            KeyError: there is no such part.
            msgspec.DecodeError, ValueError, IndexError: the content is not a list of objects of
                this part.
        """
        if name == DIGESTS:
            self.layout.digests = _digests_decoder.decode(plain)
        elif (found := _LAYER.fullmatch(name)) is None:
            self._base.decode(name, plain)
            self.layout.base_size += len(plain)
        else:
            part, kind, layer = found["part"], found["kind"], int(found["layer"])
            self._changes.append((layer, kind, part, self._base.decoded(part, plain)))
            self.layout.overlay_size += len(plain)
            self.layout.layers = max(self.layout.layers, layer)

    def image(self, provenance: Provenance) -> MetadataImage:
        """Build the image from all chunks: O(objects)."""
        changes = sorted(self._changes, key=lambda change: change[0])
        for part in {part for _, _, part, _ in changes}:
            self._apply(part, [(kind, objects) for _, kind, of, objects in changes if of == part])
        return self._base.image(provenance)

    def _apply(self, part: str, changes: list[tuple[str, list[Any]]]) -> None:
        key = STORED[part]
        held = {key(each): each for each in self._base.objects[part]}
        for kind, objects in changes:
            if kind == "+":
                held.update((key(each), each) for each in objects)
            else:
                for each in objects:
                    held.pop(key(each), None)
        self._base.objects[part] = list(held.values())


def layers_of(part: str, names: Iterable[str]) -> list[int]:
    """Return the layer numbers of a part, ascending, from the part names in a manifest."""
    found = filter(None, map(_LAYER.fullmatch, names))
    return sorted({int(match["layer"]) for match in found if match["part"] == part})


def digests_chunk(digests: dict[str, PartDigest]) -> Chunk:
    """Return the chunk that stores the digests of the parts."""
    return chunk_of(msgspec.msgpack.encode(digests))
