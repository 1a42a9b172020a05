"""Snapshots: images stored in SQL."""
