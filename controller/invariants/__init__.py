"""What must hold at every offset; docs/invariants.md says why, in words."""
