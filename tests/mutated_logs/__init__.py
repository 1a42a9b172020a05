"""Mutated real logs: what replay makes of them, against a naive replay of its own."""
