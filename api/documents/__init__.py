"""Answers in the form of their JSON, as printed by `--json` and rendered to text."""
