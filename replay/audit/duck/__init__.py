"""The audit in DuckDB: the named queries over Arrow, in this process, without Spark."""
