"""The reference broker: a process that follows the controller and stores partitions."""
