"""Incidents: outages of brokers and partitions, their times and causes (see docs/causes.md)."""
