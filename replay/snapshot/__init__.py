"""Snapshots: images stored in an SQL database."""
