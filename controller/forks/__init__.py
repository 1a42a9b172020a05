"""Forks: re-deciding the past of a log, unchanged (to verify each record) or with changes."""
