"""Nodes of a shared log: appends, a standby's lag, a held snapshot, and a bucket."""
