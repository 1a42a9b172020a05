"""Invariants that hold at every offset; docs/invariants.md gives the reasons."""
