"""The reference broker: a process that follows the log and keeps records of partitions."""
