"""Placement of new partitions' replicas. Pure: randomness is passed in."""
