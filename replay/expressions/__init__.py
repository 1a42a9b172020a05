"""Expressions over an image, in a subset of CEL; see docs/expressions.md."""
