"""What the callers of decisions are told when batches of the log fail.

The log says of each batch whether it may stand; this adds up what that means for each decision.
"""

from collections.abc import Sequence

import msgspec

from controller.pending_answers import PendingAnswer
from records.errors import FencedError, MetadataLogError, Outcome, RequestError

END_DIFFERS = "INVALID_UPDATE_VERSION"
"""The code of a batch that was to stand behind one that failed."""


class FailedBatch(msgspec.Struct, frozen=True):
    """A batch that was not committed, as far as is known."""

    base_offset: int
    error: MetadataLogError


def failed_batch(base_offset: int, error: BaseException) -> FailedBatch:
    """Return what became of a batch; of an error that no log raises nothing is known."""
    if not isinstance(error, MetadataLogError):
        error = FencedError(f"the log could not be written: {error!r}; the outcome is unknown")
    return FailedBatch(base_offset, error)


def error_for(
    pending: PendingAnswer, failed: Sequence[FailedBatch], committed_end: int
) -> MetadataLogError:
    """Return the error for a decision whose answer cannot be given.

    Args:
        failed: The batches that failed, in order; at least one.
        committed_end: Where the committed records end, exclusive.
    """
    own = [
        f.error for f in failed if pending.start_offset <= f.base_offset < pending.answer.end_offset
    ]
    if not own:
        return _behind(failed[0].error, Outcome.NOTHING)
    unknown = [error for error in own if error.outcome is Outcome.UNKNOWN]
    if unknown:
        return unknown[0]
    first = own[0]
    if pending.start_offset < committed_end and not pending.in_transaction:
        return _partial(first, committed_end - 1)
    if isinstance(first, RequestError) and first.code == END_DIFFERS:
        return _behind(failed[0].error, first.outcome)
    return first


def _behind(cause: MetadataLogError, outcome: Outcome) -> RequestError:
    message = f"a batch before this failed, and nothing of this was written: {cause}"
    return RequestError("NOT_CONTROLLER", message, outcome=outcome)


def _partial(error: MetadataLogError, done_to: int) -> MetadataLogError:
    message = f"the records up to offset {done_to} are committed, the rest is not: {error}"
    return error.with_outcome(Outcome.PARTIAL, message, done_to=done_to)
