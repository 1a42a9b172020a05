"""Spark: audit."""
