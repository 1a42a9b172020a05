"""Partitions and their replicas: leaders, states, reassignments."""
