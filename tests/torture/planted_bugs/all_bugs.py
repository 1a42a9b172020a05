"""All planted bugs, in a fixed order."""

from tests.torture.planted_bugs import nodes, reading, taking_over, writing

BUGS = (*writing.BUGS, *taking_over.BUGS, *reading.BUGS, *nodes.BUGS)
