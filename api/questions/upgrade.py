"""Upgrade check: obstacles to moving to another version of Kafka, with offsets."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question
from controller.upgrade.findings import Finding, state_findings, voters_of
from controller.upgrade.releases import Target, parse_target
from controller.upgrade.unreadable import unreadable_records
from metadata_log.format.batch import Batch
from metadata_log.format.needles import Needles
from records.control import LeaderChangeMessage
from records.envelope import Envelope
from replay.image.metadata import MetadataImage
from replay.time_travel.kinds import KINDS
from replay.time_travel.objects import parse_object


class CheckUpgrade(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the obstacles to a version, such as `4.0`, `3.9.1` or `4.0-IV1`."""

    to: str


def upgrade_findings(past: Past, at: int, request: CheckUpgrade) -> Computed:
    """Return the obstacles to a version as of an offset, in the order of the log.

    Raises:
        RequestError: INVALID_REQUEST, there is no such version.
        CorruptLogError: the log is damaged.
    """
    target = parse_target(request.to)
    image = past.image(at)
    voter_ids = voters_of(image, _last_named_voters(past, at))
    found = [_placed(past, at, image, each) for each in state_findings(image, target, voter_ids)]
    found += _of_records(past, at, image, target)
    found.sort(key=lambda each: (-1 if each.offset is None else each.offset, each.object))
    return Computed(items=found, about=lambda: past.about_image(image, at))


def _placed(past: Past, at: int, image: MetadataImage, finding: Finding) -> Finding:
    """Return a finding with the offset of the record that last set its object."""
    kind = finding.object.partition(":")[0]
    if finding.offset is not None or kind not in KINDS:
        return finding
    name = parse_object(finding.object)
    if name.key(image) is None:
        return finding  # A level that was never written is the oldest.
    set_by = past.timeline.blame(name, at).values()
    offsets = [each.offset for each in set_by if each.offset is not None]
    return msgspec.structs.replace(finding, offset=max(offsets, default=None))


def _last_named_voters(past: Past, at: int) -> tuple[int, ...]:
    """Return the voters that the latest leader announced.

    In a static quorum, no record sets the voters.
    """
    needles = Needles()
    needles.add_type(LeaderChangeMessage)
    found: tuple[int, ...] = ()
    for row in _rows(past.reader.skim(needles, at + 1), at):
        if isinstance(row.payload, LeaderChangeMessage):
            found = tuple(voter.voter_id for voter in row.payload.voters)
    return found


def _of_records(past: Past, at: int, image: MetadataImage, target: Target) -> list[Finding]:
    level = image.feature("metadata.version") or 1
    if target.level >= level:
        return []
    with past.progress("reading", at + 1) as advance:
        return list(unreadable_records(_rows(past.reader.batches(), at, advance), target))


def _rows(
    batches: Iterable[Batch], at: int, advance: Callable[[int], None] | None = None
) -> Iterator[Envelope]:
    for batch in batches:
        if batch.base_offset > at:
            return
        yield from (row for row in batch.rows if row.offset <= at)
        if advance is not None:
            advance(batch.end_offset)


UPGRADE_CHECK = Question(
    name="upgrade-check", request=CheckUpgrade, item=Finding, tell=upgrade_findings
)
"""The question for what prevents a change to another version of Kafka."""
