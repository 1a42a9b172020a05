"""Decodes segments into Arrow columns in Spark's Python workers, with a decoder of its own."""
