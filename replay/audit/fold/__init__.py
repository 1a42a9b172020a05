"""The state, folded from Arrow batches in Spark's Python workers."""
