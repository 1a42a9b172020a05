"""Nodes of a shared log in virtual time, on simulated disks, over a store that misbehaves."""
