"""Computes the state by folding the records in Arrow batches, in Spark's Python workers."""
