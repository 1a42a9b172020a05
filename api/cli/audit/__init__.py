"""The audit in Spark."""
