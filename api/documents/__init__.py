"""Documents: answers in the shape of their JSON, as printed by `--json` and rendered to text."""
