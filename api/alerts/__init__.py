"""Alerts about a growing log: checks of new records, and delivery of notifications."""
