"""All planted bugs, in a fixed order."""

from tests.torture.planted_bugs import (
    fencing,
    network,
    nodes,
    nodes_disks,
    nodes_power,
    nodes_reads,
    reader,
    writer,
)

BUGS = (
    *writer.BUGS,
    *fencing.BUGS,
    *reader.BUGS,
    *network.BUGS,
    *nodes.BUGS,
    *nodes_reads.BUGS,
    *nodes_disks.BUGS,
    *nodes_power.BUGS,
)
