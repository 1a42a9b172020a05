"""Logs that several nodes share in a store that replicates: PostgreSQL, or a bucket."""
