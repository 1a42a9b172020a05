"""Alerts about a growing log: checks as records come, and notifications that are delivered."""
