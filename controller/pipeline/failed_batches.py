"""Errors for the callers of decisions whose batches failed.

The log reports an outcome for each batch; this module combines them into the outcome of each
decision.
"""

from collections.abc import Mapping

from controller.pipeline.sent_batches import PendingAnswer
from records.errors import FencedError, MetadataLogError, Outcome, RequestError

END_DIFFERS = "INVALID_UPDATE_VERSION"
"""Error code of a batch that was refused because the batch before it failed."""


def log_error(error: BaseException) -> MetadataLogError:
    """Return the error of a batch for its callers.

    An error of another type than MetadataLogError becomes a FencedError: the batch may have been
    written or not.
    """
    if isinstance(error, MetadataLogError):
        return error
    return FencedError(f"the log could not be written: {error!r}; the outcome is unknown")


def error_for(
    pending: PendingAnswer, failed: Mapping[int, MetadataLogError], committed_end: int
) -> MetadataLogError:
    """Return the error for a decision that was not committed completely.

    Args:
        failed: The errors of the failed batches by base offset, in order; at least one.
        committed_end: End of the committed records, exclusive.
    """
    cause = next(iter(failed.values()))
    offsets = range(pending.start_offset, pending.answer.end_offset)
    own = [error for base_offset, error in failed.items() if base_offset in offsets]
    if not own:
        return _behind(cause, Outcome.NOTHING)
    unknown = [error for error in own if error.outcome is Outcome.UNKNOWN]
    if unknown:
        return unknown[0]
    first = own[0]
    if pending.start_offset < committed_end and not pending.in_transaction:
        return _partial(first, committed_end - 1)
    if isinstance(first, RequestError) and first.code == END_DIFFERS:
        return _behind(cause, first.outcome)
    return first


def _behind(cause: MetadataLogError, outcome: Outcome) -> RequestError:
    message = f"nothing was written, because an earlier batch failed: {cause}"
    return RequestError("NOT_CONTROLLER", message, outcome=outcome)


def _partial(error: MetadataLogError, done_to: int) -> MetadataLogError:
    message = f"the records up to offset {done_to} are committed, the rest is not: {error}"
    return error.with_outcome(Outcome.PARTIAL, message, done_to=done_to)
