"""Verifies by replay that a copied log has the same image as its source."""

from collections.abc import Callable

import msgspec

from records.errors import ContradictionError, CorruptLogError
from replay.image.digest import image_digest
from replay.image.provenance import NotUnderstood
from replay.loader import BatchSource, load_image
from replay.not_understood import count_not_understood
from replay.time_travel.contradictions import explained


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """The digest of an image as of an offset, for comparison.

    Attributes:
        digest: None if a record up to `as_of` contradicts the state before it.
        pending_transaction: Offset of the begin record if a transaction is open at `as_of`; its
            records are not in the image.
        contradiction: The error that names the first record that contradicts the state (mirrors
            only).
        digest_before: Digest of the image immediately before the contradicting record.
    """

    as_of: int
    digest: str | None
    pending_transaction: int | None
    not_understood: NotUnderstood | None = None
    contradiction: ContradictionError | None = None
    digest_before: str | None = None

    def differs_from(self, other: "Proof") -> bool:
        """True if the digests differ, including those before contradicting records."""
        return (self.digest, self.digest_before) != (other.digest, other.digest_before)


def prove(source: BatchSource, at: int, progress: Callable[[int], None] | None = None) -> Proof:
    """Replay a log to offset `at`, inclusive, and return the proof of the image as of `at`.

    Raises:
        UnknownHistoryError, RequestError, CorruptLogError: as `load_image`.
    """
    try:
        with explained(source):
            image = load_image(source, at, progress=progress)
    except ContradictionError as error:
        return _proof_before(source, at, error)
    return Proof(
        as_of=at,
        digest=image_digest(image),
        pending_transaction=image.provenance.pending_transaction,
        not_understood=image.provenance.not_understood,
    )


def _proof_before(source: BatchSource, at: int, error: ContradictionError) -> Proof:
    """Return the proof of a log with a contradiction up to `at`; such a log can still be copied."""
    assert error.record is not None, "replay named the record"
    before = load_image(source, error.record.offset - 1)
    return Proof(
        as_of=at,
        digest=None,
        pending_transaction=None,
        not_understood=count_not_understood(source, at),
        contradiction=error,
        digest_before=image_digest(before),
    )


def check_equal(expected: Proof, copy: BatchSource) -> Proof:
    """Replay a copy to its end and compare its proof with that of the source.

    Raises:
        CorruptLogError: the digests differ.
    """
    found = prove(copy, copy.end_offset - 1)
    if found.differs_from(expected):
        raise CorruptLogError(
            f"the copy's image as of offset {found.as_of} has digest {found.digest}, the source's "
            f"as of {expected.as_of} {expected.digest}; run `metalog verify` on the source"
        )
    return found
