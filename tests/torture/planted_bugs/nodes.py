"""Bugs in how nodes share a log."""

from tests.torture.planted_bugs.bug import Bug

_COMMIT = "metadata_log/writer/shared_commit.py"
_SETTLE = "metadata_log/shared/settlement.py"
_STANDBY = "api/nodes/standby.py"
_LEASE = "api/nodes/lease.py"
_NODE = "api/nodes/node.py"

BUGS = (
    Bug(
        name="no answer taken for a refusal",
        what="A group without an answer is told to have done nothing.",
        file=_COMMIT,
        old="            await self._settle(group, error)\n",
        new="            raise error.with_outcome(Outcome.NOTHING)\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="had outcome nothing|is no copy|ended",
    ),
    Bug(
        name="no answer taken for a success",
        what="A group without an answer is acknowledged.",
        file=_COMMIT,
        old="            await self._settle(group, error)\n",
        new="            pass\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="acknowledged up to|is no copy|nodes lead",
    ),
    Bug(
        name="folder before store",
        what="The leader writes its folder, then asks the store.",
        file=_COMMIT,
        old="        try:\n            await self._commit(blocks)\n",
        new="        self._writer.commit()\n        try:\n            await self._commit(blocks)\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="is no copy|LostRecordsError|ended|nodes lead",
    ),
    Bug(
        name="goes on in the old epoch",
        what="After its own claim a leader goes on with blocks of the epoch before.",
        file=_COMMIT,
        old="""            raise FencedError(
                f"{error}; nothing of the last batches was committed", outcome=Outcome.NOTHING
            ) from error
""",
        new="""            raise UnavailableError("nothing", outcome=Outcome.NOTHING) from error
""",
        campaign="nodes",
        seeds=(0, 1, 2, 3),
        expects="batch of epoch",
    ),
    Bug(
        name="another's group taken for one's own",
        what="A settlement whose claim is refused believes that the group is there.",
        file=_SETTLE,
        old="            await self._append_again(log, fenced)\n",
        new="            pass\n",
        campaign="nodes",
        seeds=(0, 1, 2, 3),
        expects="acknowledged up to|is no copy|ended|nodes lead|batch of epoch",
    ),
    Bug(
        name="own group not recognised",
        what="A settlement whose group is there says that it is not.",
        file=_SETTLE,
        old="            return Settled(is_committed=True, end=self._group.end)\n",
        new="            return Settled(is_committed=False, end=self._group.end)\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="had outcome nothing|batch of epoch|ended",
    ),
    Bug(
        name="visible taken for committed",
        what="A standby copies up to the end that the store shows.",
        file=_STANDBY,
        old="        end = await self._log.confirmed_end()\n",
        new="        end = await self._log.end()\n",
        campaign="nodes",
        seeds=(0, 1, 2, 3),
        expects="is no copy|ended|nodes lead|acknowledged up to",
    ),
    Bug(
        name="damage after a power loss",
        what="A node's folder that lost unsynced bytes is refused as damaged.",
        file="metadata_log/writer/owned_log.py",
        old="        if not is_copy:\n            raise\n        return cut_back(",
        new="        raise\n        return cut_back(",
        campaign="nodes",
        seeds=(0, 1),
        expects="CorruptLogError",
    ),
    Bug(
        name="lease never runs out",
        what="A standby waits for a leader that is gone.",
        file=_LEASE,
        old="        return now_ns - self._since_ns >= (duration_ms + patience_ms) * _NS_PER_MS\n",
        new="        return False\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="0 nodes lead|was not acknowledged",
    ),
    Bug(
        name="what the folder has is passed over",
        what="A node that stands by again goes on with the next group, not with its folder.",
        file=_NODE,
        old="            await self._follow_folder(self._service)\n",
        new="",
        campaign="tests/api/nodes/test_node.py",
        seeds=(0,),
        expects="test_node",
    ),
    Bug(
        name="its own announcement is passed over",
        what="A leader decides on a state without the first batch of its epoch.",
        file=_NODE,
        old="            await self._follow_folder(service)  # the announcement of the epoch\n",
        new="            pass\n",
        campaign="tests/api/nodes/test_node.py",
        seeds=(0,),
        expects="each_batch_once",
    ),
    Bug(
        name="the lease is given away before the leader stops",
        what="Another node may lead while this one still commits.",
        file=_NODE,
        old="                await service.stand_by()\n                await held.release()\n",
        new="                await held.release()\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="nodes lead|ended|answers from another state|is no copy",
    ),
    Bug(
        name="a batch is passed over",
        what="A standby's image lacks batches of several records.",
        file="controller/follower.py",
        old="        if batch.end_offset <= self._latest.next_offset:\n            return\n",
        new="        if batch.end_offset >= self._latest.next_offset + 2:\n            return\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="answers from another state|missing|ended|nodes lead",
    ),
)
