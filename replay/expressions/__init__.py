"""Expressions over an image, in a subset of CEL: docs/expressions.md."""
