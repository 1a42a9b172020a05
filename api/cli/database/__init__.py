"""Commands about snapshots and SQL."""
