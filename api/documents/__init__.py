"""Answers in the shape of their JSON: what `--json` prints, and what text is rendered from."""
