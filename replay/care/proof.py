"""Proves by replay that a copied log has the same image as its source."""

from collections.abc import Callable

import msgspec

from records.errors import CorruptLogError
from replay.image.digest import image_digest
from replay.image.provenance import NotUnderstood
from replay.loader import BatchSource, load_image


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """An image's digest and its offset.

    `pending_transaction` is the offset of the Begin if the point is inside an open transaction,
    which the image does not contain.
    """

    as_of: int
    digest: str
    pending_transaction: int | None
    not_understood: NotUnderstood | None = None


def prove(source: BatchSource, at: int, progress: Callable[[int], None] | None = None) -> Proof:
    """Replay a log to offset `at`, inclusive, and return the digest of the image.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as `load_image`.
    """
    image = load_image(source, at, progress=progress)
    return Proof(
        as_of=at,
        digest=image_digest(image),
        pending_transaction=image.provenance.pending_transaction,
        not_understood=image.provenance.not_understood,
    )


def check_equal(expected: Proof, copy: BatchSource) -> Proof:
    """Replay a copy to its end and compare the digests.

    Raises:
        CorruptLogError: they differ.
    """
    found = prove(copy, copy.end_offset - 1)
    if found.digest != expected.digest:
        raise CorruptLogError(
            f"the copy's image as of offset {found.as_of} has digest {found.digest}, the source's "
            f"as of {expected.as_of} {expected.digest}; run `metalog verify` on the source"
        )
    return found
