"""Mutated real logs: the result of replay, compared with that of a separate, naive replay."""
