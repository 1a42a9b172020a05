"""Bugs in what nodes do when their disks are full."""

from tests.torture.planted_bugs.bug import Bug

BUGS = (
    Bug(
        name="a full disk taken for nothing",
        what="A leader without room says that nothing is written, though the store has it.",
        file="metadata_log/writer/shared_commit.py",
        old="        with _full_as_fenced():\n            self._writer.commit()\n",
        new="        self._writer.commit()\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="had outcome nothing|ended|is no copy|nodes lead",
    ),
    Bug(
        name="a leader that does not follow again",
        what="A leader whose folder cannot be closed when it stops leading never follows again.",
        file="api/nodes/node_service.py",
        old="            self._controller = self._new_follower(controller.state)\n"
        "            self._log = self._followed\n"
        "        try:\n"
        "            await give_away()\n"
        "        finally:\n"
        "            try:\n"
        "                await log.close()\n",
        new="        try:\n"
        "            await give_away()\n"
        "        finally:\n"
        "            try:\n"
        "                await log.close()\n"
        "                if isinstance(controller, Controller):\n"
        "                    self._controller = self._new_follower(controller.state)\n"
        "                    self._log = self._followed\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="a leader follows nobody",
    ),
    Bug(
        name="a mark without room ends a node",
        what="A standby whose disk fails at a sync is not opened again.",
        file="api/nodes/node.py",
        old="                except OSError as error:\n",
        new="                except FileNotFoundError as error:\n",
        campaign="nodes",
        seeds=(0, 1),
        expects="No space left",
    ),
)
