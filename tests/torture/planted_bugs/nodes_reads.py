"""Bugs in what nodes read from their store, and in how old they say that their answers may be."""

from tests.torture.planted_bugs.bug import Bug

BUGS = (
    Bug(
        name="a lag that counts from the answer",
        what="A standby has just asked whether it leads: it says that it has all as of now.",
        file="api/nodes/node.py",
        old="            service.caught_up(standby.known_s)\n",
        new="            service.caught_up(asyncio.get_running_loop().time())\n",
        campaign="tests/simulated_nodes/test_ages.py",
        seeds=(0,),
        expects="counts_from_when_it_asked",
    ),
    Bug(
        name="a leader that overslept its lease answers as one",
        what="The first answers of a leader that was suspended do not say how old they may be.",
        file="api/nodes/node_service.py",
        old="        if self.is_active and self._lease_left_s() >= 0:\n",
        new="        if self.is_active:\n",
        campaign="tests/simulated_nodes/test_ages.py",
        seeds=(0,),
        expects="suspended_beyond_its_lease",
    ),
    Bug(
        name="a lost group taken for the end",
        what="A node waits without end for a group that the bucket has lost.",
        file="metadata_log/shared/bucket.py",
        old="                        await self._check_not_lost(number)\n",
        new="                        pass\n",
        campaign="tests/simulated_nodes/test_lost_group.py",
        seeds=(0,),
        expects="without_its_records",
    ),
    Bug(
        name="a repeated request is decided again",
        what="A new leader does not look whether a request was committed under the old one.",
        file="api/service/service.py",
        old="        committed = await self._committed_before(origin, found.name, request)\n",
        new="        committed = None\n",
        campaign="tests/simulated_nodes/test_stories.py",
        seeds=(0,),
        expects="every_step_changes_nothing",
    ),
)
